#!/usr/bin/env python3
"""truth_table.py - every row of the function catalogue over boundary values.

For each row of turbine.functions but PostGIS's: the cross product of edge values of its
argument types is evaluated by PostgreSQL and by the device, as a grouping key
of a forced GpuPreAgg, and must be the same value; arguments for which
PostgreSQL raises must raise the same SQLSTATE and message. A row whose call is
not offloaded fails: then the catalogue promises what the planner never does. With
--cached the tables of edge values are loaded into the column cache first.
Must never: know what a function means.
Called by: test/run_all.py. Options: --only NAME,..., --device, --cached.
"""

import argparse
import itertools
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cached_tables import CacheUse  # noqa: E402
from run_sql import CACHED, FORCED, OFF, node_shown  # noqa: E402
from sql_script import Statement  # noqa: E402

EDGES = {
    "boolean": ("true", "false"),
    "smallint": ("0", "1", "-1", "2", "7", "100", "-100", "181", "182", "32767", "-32768", "-32767"),
    "integer": ("0", "1", "-1", "2", "-7", "31", "32", "46341", "65536", "-65536", "2147483647", "-2147483648",
                "-2147483647"),
    "bigint": ("0", "1", "-1", "2", "-7", "63", "3037000500", "4294967296", "-2147483649", "9223372036854775807",
               "-9223372036854775808", "-9223372036854775807"),
    "real": ("0", "-0", "1", "-1", "0.5", "-0.5", "1.5", "2.5", "3.4028235e38", "-3.4028235e38", "1.2e-38", "1e-45",
             "Infinity", "-Infinity", "NaN", "32767.5", "2147483520", "2147483648", "9.3e18", "0.1"),
    "double precision": ("0", "-0", "1", "-1", "0.5", "2.5", "-2.5", "1e308", "-1e308", "5e-324", "1e-300", "Infinity",
                         "-Infinity", "NaN", "709.78", "-745.1", "32767.5", "2147483647.5", "9.2233720368547748e18",
                         "9.3e18", "0.1", "3.14159", "10", "-1024"),
    "numeric": ("0", "1", "-1", "0.01", "-0.01", "0.5", "2.5", "-2.5", "99999999.99", "-99999999.99", "12.34", "32767.5",
                "32768", "10"),
    "wide numeric": ("0", "1", "-1", "0.000001", "-0.5", "2.5", "999999999999999999999999999999.999999", "10",
                     "-999999999999999999999999999999.999999", "9223372036854775807.5", "2147483647.4", "123456789012345678901.5"),
    "date": ("2000-01-01", "1999-12-31", "2000-02-29", "1900-02-28", "0001-01-01", "0044-03-15 BC", "4713-01-01 BC",
             "5874897-12-31", "infinity", "-infinity", "2024-12-30", "294277-01-01"),
    "timestamp": ("2000-01-01", "1999-12-31 23:59:59.999999", "2000-02-29 12:34:56.789", "0044-03-15 01:02:03 BC",
                  "4713-01-01 BC", "294276-12-31 23:59:59.999999", "infinity", "-infinity", "1970-01-01 00:00:00.000001",
                  "2024-03-31 02:30", "2024-03-10 02:30", "2024-11-03 01:30", "2024-11-03 06:30", "1883-11-18 12:01"),
    "text": ("", "a", "ab", "abc", "ABC", " a", "a ", "äöü", "日本語", "a%b", "a_b", "a\\b", "xxxxxxxxxxxxxxxxxxxxxxxxxab",
             "ab\n", "bab", "\ud7ff", "\ue000", "\uffff", "\U00010000"),
}
EDGES["timestamptz"] = tuple(v + "+00" if v.startswith("294276") else v for v in EDGES["timestamp"])
EDGES["bpchar"] = EDGES["text"]
SHORT = {"integer": ("0", "1", "2", "3", "-1", "100", "2147483647", "-2147483648")}
COLUMN_TYPES = {"numeric": ("numeric(10,2)", "numeric(12,4)"), "wide numeric": ("numeric(36,6)", "numeric(36,6)"),
                "bpchar": ("char(30)",) * 2}
PATTERNS = {"contains": "%ab%", "prefix": "ab%", "suffix": "%ab", "exact": "abc", "general": "a_%"}
CONSTANT_DIGITS = ("0", "1")
INTERVALS = ("1", "-13", "100000000")
ZONES = ("Europe/Berlin", "EST", "Asia/Kolkata")
TYPMODS = ((9, 2), (4, 0), (20, 6), (38, 6))
SESSION_ZONE = "America/New_York"
BATCH = 8
# Of the blocks that queries over loaded tables read: all but of numerics that have no form.
LEAST_CACHED = 0.9
ERROR_ROWS = 2


class Row:
    """A row of turbine.functions."""

    def __init__(self, name, signature, variant, arguments, raises):
        self.name, self.signature, self.variant, self.raises = name, signature, variant, raises
        wide = "NUM128" in name
        kind = variant.partition(":")[0]
        if kind == "zone" or kind in ("field", "interval") and arguments[-1] == "text":
            arguments = arguments[:-1]  # the time zone, which SQL does not have there
        if kind.startswith("division"):
            arguments = arguments[:2]  # the display scales
        self.arguments = tuple("wide numeric" if wide and a == "numeric" else a for a in arguments)
        self.function = signature[:signature.index("(")]

    def column_types(self):
        """Argument types that vary by row: constant ones are in the call."""
        if self.variant.split(":")[0] in ("like", "notlike", "interval", "typmod"):
            return self.arguments[:1]
        if self.constant_digits():
            return self.arguments[:1]
        return self.arguments

    def constant_digits(self):
        """round(numeric, n): the result's scale has to be known when planning."""
        return len(self.arguments) == 2 and "numeric" in self.arguments[0] and self.arguments[1] == "integer"

    def calls(self):
        columns = [f"a{i}" for i in range(len(self.column_types()))]
        kind, _, detail = self.variant.partition(":")
        if kind == "field":
            lists = [[f"'{detail}'", *columns]]
        elif kind == "interval":
            lists = [[*columns, f"'{count} {detail}'::interval"] for count in INTERVALS]
        elif kind == "typmod":
            lists = [[*columns, str((digits << 16 | scale) + 4)] for digits, scale in TYPMODS]
        elif self.variant == "zone:name":
            lists = [[f"'{zone}'", *columns] for zone in ZONES]
        elif kind in ("like", "notlike"):
            lists = [[*columns, f"'{PATTERNS[detail]}'"]]
        elif self.constant_digits():
            lists = [[*columns, digits] for digits in CONSTANT_DIGITS]
        elif self.function == "right":
            # For the least integer PostgreSQL's own answer depends on the compiler that built it.
            lists = [[columns[0], f"nullif({columns[1]}, -2147483648)"]]
        else:
            lists = [columns]
        return [f'pg_catalog."{self.function}"({", ".join(arguments)})' for arguments in lists]


def quoted(value):
    return "'" + value.replace("'", "''") + "'"


class Tables:
    """One table of edge values for each list of argument types. `use`: of the cache, that they are loaded into."""

    def __init__(self, session, use):
        self.session, self.use, self.names = session, use, {}

    def name(self, types):
        if types in self.names:
            return self.names[types]
        name = self.names[types] = f"edges{len(self.names)}"
        definitions, lists = [], []
        for position, sql_type in enumerate(types):
            own = COLUMN_TYPES.get(sql_type, (sql_type,) * 2)
            definitions.append(f"a{position} {own[min(position, 1)]}")
            values = SHORT.get(sql_type, EDGES[sql_type]) if len(types) > 2 else EDGES[sql_type]
            lists.append([*map(quoted, values), "NULL"])
        rows = [f"({number}, {', '.join(row)})" for number, row in enumerate(itertools.product(*lists), 1)]
        self.session.query(f"CREATE TABLE {name} (id int NOT NULL, {', '.join(definitions)})")
        for first in range(0, len(rows), 1000):
            self.session.query(f"INSERT INTO {name} VALUES {', '.join(rows[first:first + 1000])}")
        self.session.query(f"ANALYZE {name}")
        if self.use:
            self.use.load()
        return name


def outcomes_by_row(session, table, call):
    """{SQLSTATE: [ids]} of the call over a table, by PostgreSQL."""
    session.query(_attempt_function(table, call))
    states = defaultdict(list)
    for row_id, state in session.query("SELECT row_id, state FROM attempt()"):
        states[state].append(int(row_id))
    return states


def _attempt_function(table, call):
    on_row = re.sub(r"\ba(\d)\b", r"r.a\1", call)
    return f"""
        CREATE OR REPLACE FUNCTION attempt() RETURNS TABLE (row_id int, state text) LANGUAGE plpgsql AS $$
        DECLARE r record;
        BEGIN
          FOR r IN SELECT * FROM {table} LOOP
            row_id := r.id;
            state := '00000';
            BEGIN
              PERFORM {on_row};
            EXCEPTION WHEN others THEN state := SQLSTATE;
            END;
            RETURN NEXT;
          END LOOP;
        END $$"""


def listed(ids, length):
    """The ids as SQL writes them, some of them more than once: lists of one length are parameters of one compiled program."""
    return ",".join(map(str, itertools.islice(itertools.cycle(ids), length)))


class Checker:
    """Compares both sides. A query whose values the device cannot hold, or that
    raises, is answered by PostgreSQL and says nothing about the device: such a
    set of arguments is halved until the device has answered for all others."""

    QUERY = "SELECT id, {calls} FROM {table} WHERE id = ANY (ARRAY[{ids}]) GROUP BY id, {calls}"

    def __init__(self, server, device, cached):
        forced = CACHED if cached else {**FORCED, "pg_turbine.debug_full_code": "on"}
        self.plain = server.connect(settings={**OFF, "timezone": SESSION_ZONE})
        self.forced = server.connect(settings={**forced, "timezone": SESSION_ZONE, "pg_turbine.device": device})
        self.use = CacheUse(server, device) if cached else None
        self.tables = Tables(self.plain, self.use)
        self.failures = defaultdict(list)
        self.on_device = self.elsewhere = 0

    def fallbacks(self):
        return self.plain.value("SELECT sum(value) FROM turbine.stat_queries WHERE counter LIKE 'fallback%'")

    def computed(self, query, ids, length):
        """(number of arguments that the device answered for, first complaint). length: of the list of ids in the query."""
        if not ids:
            return 0, None
        before = self.fallbacks()
        text = query.format(ids=listed(ids, length))
        complaint = answers.difference(self.plain.run(text), self.forced.run(text))
        if complaint:
            return 0, f"{complaint}\n    {text[:400]}"
        if self.fallbacks() == before:
            return len(ids), None
        if len(ids) == 1:
            return 0, None
        middle = len(ids) // 2
        left, complaint = self.computed(query, ids[:middle], length)
        if complaint:
            return left, complaint
        right, complaint = self.computed(query, ids[middle:], length)
        return left + right, complaint

    def check(self, row, table, call, ids, length):
        query = self.QUERY.format(calls=call, table=table, ids="{ids}")
        if "GpuPreAgg" not in node_shown(self.forced, Statement(query.format(ids=listed([1], length)))):
            self.failures[row.name].append(f"not offloaded\n    {query}")
            return
        count, complaint = self.computed(query, ids, length)
        if complaint or not count:
            self.failures[row.name].append(complaint or f"the device never answered\n    {query}")
        self.on_device += count
        self.elsewhere += len(ids) - count

    def check_batch(self, rows, table):
        """Rows that never raise: several calls as the keys of one query; one by
        one if anything is amiss."""
        calls = [call for row in rows for call in row.calls()]
        ids = [int(r[0]) for r in self.plain.query(f"SELECT id FROM {table}")]
        query = self.QUERY.format(calls=", ".join(calls), table=table, ids="{ids}")
        if "GpuPreAgg" in node_shown(self.forced, Statement(query.format(ids=1))):
            before = self.fallbacks()
            text = query.format(ids=",".join(map(str, ids)))
            if not answers.difference(self.plain.run(text), self.forced.run(text)) and self.fallbacks() == before:
                self.on_device += len(ids) * len(calls)
                return
        for row in rows:
            for call in row.calls():
                self.check(row, table, call, ids, len(ids))

    def check_raising(self, row, table):
        for call in row.calls():
            states = outcomes_by_row(self.plain, table, call)
            length = sum(map(len, states.values()))
            self.check(row, table, call, states.pop("00000", []), length)
            for ids in states.values():
                for row_id in (ids[0], ids[-1])[:ERROR_ROWS]:
                    text = self.QUERY.format(calls=call, table=table, ids=listed([row_id], length))
                    complaint = answers.difference(self.plain.run(text), self.forced.run(text))
                    if complaint:
                        self.failures[row.name].append(f"{complaint}\n    {text[:400]}")


def read_rows(session, only):
    rows = []
    for name, signature, variant, arguments, raises in session.query(
            "SELECT name, signature, variant, array_to_string(arguments, '|'), raises FROM turbine.functions "
            "WHERE 'geometry' <> ALL (result || arguments)"):  # geometry.py has those of PostGIS
        if not only or name in only:
            rows.append(Row(name, signature, variant or "", arguments.split("|"), raises == "t"))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--cached", action="store_true", help="with all tables loaded into the column cache")
    options = parser.parse_args()
    with cluster.Cluster("truth") as server:
        checker = Checker(server, options.device, options.cached)
        rows = read_rows(checker.plain, [n for n in options.only.split(",") if n])
        batches = defaultdict(list)
        for row in rows:
            table = checker.tables.name(row.column_types())
            if row.raises:
                checker.check_raising(row, table)
            else:
                batches[table].append(row)
        for table, members in batches.items():
            for first in range(0, len(members), BATCH):
                checker.check_batch(members[first:first + BATCH], table)
        if checker.use and (complaints := checker.use.complaints(LEAST_CACHED)):
            checker.failures["the cache"] = complaints
    for name, complaints in checker.failures.items():
        print(f"  {name}: {complaints[0]}", flush=True)
    print(f"  {checker.on_device} values computed by the device, {checker.elsewhere} left to PostgreSQL")
    failed = len(checker.failures)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
