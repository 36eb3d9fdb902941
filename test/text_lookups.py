#!/usr/bin/env python3
"""text_lookups.py - conditions over texts that are computed once for each entry of a dictionary give PostgreSQL's answers.

`random` draws expressions over one text column (LIKE, comparisons, IN, length, CASE, NULL tests) and uses them as filters,
keys, outputs, keys of joins, and arguments and filters of aggregates, over tables whose dictionaries are small, large, overflown, or
several: partitions, changed blocks, files. `raising` has entries whose value would raise: of rows that are deleted or that
another condition drops, nothing raises; of others PostgreSQL's error comes. `changes` adds texts and rows beside queries.
`explained` asks EXPLAIN whether entries were looked up, and that nothing else was. Collations: the database's, C, and one
that is not deterministic, which stays with PostgreSQL.
Must never: pass if the queries of loaded tables look up no entries.
Called by: test/run_all.py, also on a stand-in GPU. Options: --device, --queries, --seed, --rows.
"""

import argparse
import json
import random
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import DIRECT, OFF  # noqa: E402

TABLES = ("words", "parted", "overflown")
WORDS = ("", "a", "abc", "äöü", "日本語 text", "x_y", "50%", "back\\slash", "abcabcabc", "Zebra", "zebra", " pad", "pad ")
PATTERNS = ("%", "", "a%", "%c", "%b%", "_", "__c%", "%ö%", "\\_%", "%\\%", "%\\_y", "a_c", "%a%b%", "text 1%", "%7", "%日%")
COMPARISONS = ("=", "<>", "=", "<>", "<", ">=")
LEAST_LOOKED_UP = 0.5


def literal(text):
    return "'" + text.replace("'", "''") + "'"


class Expressions:
    """Draws expressions over one column; `ordered`: its collation orders by bytes."""

    def __init__(self, chance, column, ordered=True):
        self.chance, self.column, self.ordered = chance, column, ordered

    def word(self):
        return literal(self.chance.choice((*WORDS, f"text {self.chance.randrange(40)}")))

    def condition(self, depth=0):
        chance, column = self.chance, self.column
        kind = chance.randrange(11 if depth < 2 else 7)
        if kind <= 1:
            return f"{column} {chance.choice(('LIKE', 'NOT LIKE'))} {literal(chance.choice(PATTERNS))}"
        if kind == 2:
            operators = COMPARISONS if self.ordered else COMPARISONS[:4]
            return f"{column} {chance.choice(operators)} {self.word()}"
        if kind == 3:
            listed = ", ".join(self.word() for _ in range(chance.randrange(1, 6)))
            return f"{column} {chance.choice(('IN', 'NOT IN'))} ({listed})"
        if kind == 4:
            return f"{self.number()} {chance.choice(COMPARISONS)} {chance.randrange(12)}"
        if kind == 5:
            return f"{column} IS {chance.choice(('', 'NOT '))}DISTINCT FROM {self.word()}"
        if kind == 6:
            return f"{column} IS {chance.choice(('NULL', 'NOT NULL'))}"
        if kind == 7:
            return f"({self.condition(depth + 1)} OR {self.condition(depth + 1)})"
        if kind == 8:
            return f"({self.condition(depth + 1)} AND {self.condition(depth + 1)})"
        if kind == 9:
            return f"(NOT {self.condition(depth + 1)})"
        return f"(({self.condition(depth + 1)}) IS {chance.choice(('TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE'))})"

    def number(self, depth=0):
        chance, column = self.chance, self.column
        kind = chance.randrange(5 if depth < 2 else 3)
        if kind == 0:
            return f"length({column})"
        if kind == 1:
            return f"octet_length({column})"
        if kind == 2:
            return f"strpos({column}, {self.word()})"
        if kind == 3:
            return f"length(substr({column}, {chance.randrange(1, 4)}))"
        return f"CASE WHEN {self.condition(2)} THEN {self.number(depth + 1)} ELSE {chance.randrange(9)} END"


def draw_query(chance, table, column):
    expressions = Expressions(chance, column)
    condition, number = expressions.condition, expressions.number
    kind = chance.randrange(15)
    if kind >= 12:
        return draw_join(chance, table, column, condition, number)
    if kind == 11:
        return f"SELECT min({column}), max({column}) FROM {table} WHERE {chance.choice((condition(), 'n % 4 = 1', 'true'))}"
    if kind == 0:
        return f"SELECT count(*), sum(n) FROM {table} WHERE {condition()}"
    if kind == 9:
        return f"SELECT count(DISTINCT {column}) FROM {table} WHERE {chance.choice((condition(), 'n % 4 = 1', 'true'))}"
    if kind == 10:
        return (f"SELECT count(*), count({column}), min(length({column})) FROM (SELECT DISTINCT {column} FROM {table} t "
                f"{chance.choice(('', 'JOIN other o ON o.k = t.n % 9 '))}WHERE {condition()} OR n < 20) d")
    if kind == 1:
        return f"SELECT count(*), sum(n) FROM {table} WHERE {condition()} AND n % 3 <> 1 AND {condition()}"
    if kind == 2:
        return f"SELECT id, {column} FROM {table} WHERE {condition()} ORDER BY id LIMIT 50"
    if kind == 3:
        return f"SELECT {condition()} AS k, count(*), sum(n) FROM {table} GROUP BY k ORDER BY k"
    if kind == 4:
        return f"SELECT {number()} AS k, count(*), min(n) FROM {table} WHERE {condition()} GROUP BY k ORDER BY k"
    if kind == 5:
        return (f"SELECT n % 5 AS k, sum({number()}), count(*) FILTER (WHERE {condition()}), max({number()}), "
                f"count({number()}) FROM {table} GROUP BY k ORDER BY k")
    if kind == 6:
        return f"SELECT sum({number()}), avg({number()}), count(*) FILTER (WHERE {condition()}) FROM {table}"
    if kind == 7:
        return (f"SELECT o.g, count(*), sum({number()}) FROM {table} t JOIN other o ON o.k = t.n % 7 "
                f"WHERE {condition()} OR o.g > 2 GROUP BY o.g ORDER BY o.g")
    return (f"SELECT CASE WHEN {condition()} THEN 'one' WHEN n > 50 AND {condition()} THEN 'two' ELSE 'three' END AS k, "
            f"count(*), count(DISTINCT {column}) FROM {table} GROUP BY k ORDER BY k")


def draw_join(chance, table, column, condition, number):
    """Keys that are functions of the column: a match for each entry. Some have several rows, some have none."""
    key = chance.choice((f"named.t = {column}", f"named.t = {column}", f"named.t = {column} AND named.size = length({column})",
                         f"named.t = substr({column}, 1, 4)", f"named.t = {column} AND named.g <> t.n % 3"))
    wanted = chance.choice(("true", "true", condition(), "t.n % 4 = 1"))
    kind = chance.randrange(4)
    if kind == 0:
        return f"SELECT g, count(*), sum(t.n) FROM {table} t JOIN named ON {key} WHERE {wanted} GROUP BY g ORDER BY g"
    if kind == 1:
        return f"SELECT g, count(*), sum({number()}) FROM {table} t LEFT JOIN named ON {key} WHERE {wanted} GROUP BY g ORDER BY g"
    if kind == 2:
        exists = chance.choice(("EXISTS", "NOT EXISTS"))
        return (f"SELECT count(*), sum(t.n) FROM {table} t WHERE {wanted} AND {exists} (SELECT FROM named WHERE {key})")
    return (f"SELECT named.g, o.g, count(*) FROM {table} t JOIN named ON {key} JOIN other o ON o.k = t.n % 7 WHERE {wanted} "
            "GROUP BY 1, 2 ORDER BY 1, 2")


class Bench:
    def __init__(self, server, options):
        self.server, self.options = server, options
        self.passed = self.failed = 0
        self.looked_up = self.asked = 0

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"{name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def session(self, settings):
        ours = {**settings, "pg_turbine.device": self.options.device} if settings is not OFF else settings
        return self.server.connect(settings=ours)

    def compare(self, ours, other, query, name=""):
        expected, found = answer(other, query), answer(ours, query)
        self.check(f"{name}{query}", found != expected and f"{str(expected)[:300]} became {str(found)[:300]}")


def answer(session, query):
    try:
        return session.query(query)
    except DatabaseError as error:
        return f"error {error}"


def make_tables(session, rows):
    text = ("CASE WHEN {i} % 11 = 0 THEN NULL WHEN {i} % 3 = 0 THEN (ARRAY[" + ", ".join(literal(w) for w in WORDS) +
            "])[1 + {i} / 3 % " + str(len(WORDS)) + "] ELSE 'text ' || {i}::bigint * 7919 % {entries} END")
    few, many = text.format(i="i", entries=40), text.format(i="i", entries=rows // 2)
    session.query("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    session.query("CREATE TABLE words (id int, few text, many text, bytes text COLLATE \"C\", loose text COLLATE loose, "
                  "padded char(12), n int)")
    session.query(f"INSERT INTO words SELECT i, {few}, {many}, {few}, {few}, left({few}, 12), i * 31 % 101 "
                  f"FROM generate_series(1, {rows}) i")
    # Texts that lie beside the table.
    session.query("INSERT INTO words (id, few, many, n) SELECT -i, repeat('abc', 1000 * i), repeat('long ', 100 * i), i "
                  "FROM generate_series(1, 3) i")
    session.query(f"CREATE TABLE large AS SELECT i AS id, CASE WHEN i % 500 = 0 THEN repeat('abc', i * 200) ELSE few END AS few, n "
                  f"FROM words JOIN generate_series(1, {rows // 10}) i ON i = id")
    session.query("CREATE TABLE parted (id int, few text, many text, bytes text COLLATE \"C\", padded char(12), n int) "
                  "PARTITION BY RANGE (id)")
    for part in range(3):
        session.query(f"CREATE TABLE parted{part} PARTITION OF parted FOR VALUES FROM ({part * rows // 3}) "
                      f"TO ({(part + 1) * rows // 3})")
    session.query(f"INSERT INTO parted SELECT i, {few}, {many} || i / {rows // 3 + 1}, {few}, left({few}, 12), i * 17 % 101 "
                  f"FROM generate_series(0, {rows} - 3) i")
    # More texts than a dictionary takes: some segments have numbers of entries, the others texts.
    session.query("CREATE TABLE overflown (id int, few text, many text, bytes text COLLATE \"C\", padded char(12), n int)")
    session.query(f"INSERT INTO overflown SELECT i, {few}, 'text ' || i::bigint * 104729 % 1000003, 'text ' || i, 'x', i % 101 "
                  f"FROM generate_series(1, greatest({rows}, 90000)) i")
    # Words and texts, some twice, some that nobody has.
    listed = ", ".join(f"({literal(word)})" for word in WORDS)
    session.query("CREATE TABLE named AS SELECT t, length(t) AS size, (row_number() OVER ())::int % 4 AS g FROM ("
                  f"VALUES {listed}, (NULL)) AS w(t)")
    session.query("INSERT INTO named SELECT 'text ' || i % 60, length('text ' || i % 60), i % 5 FROM generate_series(1, 90) i")
    session.query("INSERT INTO named SELECT 'text ' || i * 7, length('text ' || i * 7), i % 5 FROM generate_series(1, 3000) i")
    session.query("CREATE TABLE other AS SELECT i AS k, i % 4 AS g FROM generate_series(0, 6) i")
    session.query("VACUUM ANALYZE")
    session.query("CHECKPOINT")


def load(bench, *tables):
    with bench.session(OFF) as session:
        for table in tables:
            session.query("VACUUM ANALYZE " + table)
        session.query("CHECKPOINT")
        names = session.query("SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relname ~ "
                              f"'^({'|'.join(tables)})[0-9]*$'")
        for (name,) in names:
            session.query(f"SELECT turbine.cache_load('{name}')")


def dictionaries(session, query):
    """Entries that were looked up; None without a node of ours."""
    def nodes(plan):
        yield plan
        for child in plan.get("Plans", ()):
            yield from nodes(child)

    plan = json.loads(session.value(f"EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {query}"))[0]["Plan"]
    ours = [node for node in nodes(plan) if node.get("Node Type") == "Custom Scan"]
    return sum(node.get("Dictionary Entries", 0) for node in ours) if ours else None


def random_queries(bench, queries):
    chance = random.Random(bench.options.seed)
    with bench.session(DIRECT) as ours, bench.session(OFF) as other:
        for number in range(queries):
            table = chance.choice(TABLES)
            columns = ["few", "many", "bytes"] + (["padded"] if table != "overflown" else [])
            query = draw_query(chance, table, chance.choice(columns))
            bench.compare(ours, other, query)
            if number % 5 == 0:
                entries = dictionaries(ours, query)
                bench.asked += entries is not None
                bench.looked_up += bool(entries)


def other_texts(bench):
    """A collation that calls different texts equal, and texts of 1 MB."""
    with bench.session(DIRECT) as ours, bench.session(OFF) as other:
        for condition in ("few LIKE '%cab%'", "length(few) > 300000", "few = 'abc'", "few <> 'abc'", "few IS NULL"):
            bench.compare(ours, other, f"SELECT count(*), sum(n) FROM large WHERE {condition}")
        for condition in ("loose = 'ZEBRA'", "loose IN ('abc', 'zebra')", "loose <> 'a'", "length(loose) > 4"):
            bench.compare(ours, other, f"SELECT count(*), sum(n) FROM words WHERE {condition}")


def raising(bench):
    """Texts of 13 letters divide by zero."""
    queries = ("SELECT count(*) FROM fragile WHERE 100 / (length(t) - 13) > 3",
               "SELECT sum(100 / (length(t) - 13)) FROM fragile",
               "SELECT 100 / (length(t) - 13) AS k, count(*) FROM fragile GROUP BY k ORDER BY k",
               "SELECT count(*) FROM fragile WHERE n < 50 AND 100 / (length(t) - 13) > 3",
               "SELECT count(CASE WHEN n < 50 THEN 100 / (length(t) - 13) END) FROM fragile",
               "SELECT count(*) FILTER (WHERE substr(t, 1, length(t) - 3) LIKE 'tex%') FROM fragile WHERE length(t) >= 3")
    with bench.session(OFF) as other, bench.session(DIRECT) as ours:
        other.query("CREATE TABLE fragile (id int, t text, n int)")
        other.query("INSERT INTO fragile SELECT i, 'text ' || i % 300, i % 50 FROM generate_series(1, 8000) i")
        other.query("INSERT INTO fragile SELECT i, 'thirteen text', 77 FROM generate_series(8001, 8020) i")
        load(bench, "fragile")
        for query in queries:
            bench.compare(ours, other, query, "raised where met: ")
        other.query("DELETE FROM fragile WHERE id > 8000")
        load(bench, "fragile")
        for query in queries:
            bench.compare(ours, other, query, "of deleted rows: ")
            node = json.loads(ours.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}"))[0]["Plan"]
            bench.check(f"of deleted rows: {query}", "Fallback" in json.dumps(node) and "PostgreSQL's plan ran")


def changes(bench, rounds):
    """Other sessions add texts that no dictionary has, change rows, and vacuum, while queries run."""
    queries = [draw_query(random.Random(seed), "moving", column) for seed in range(rounds) for column in ("few", "many")]
    with bench.session(OFF) as other:
        other.query("CREATE TABLE moving AS SELECT id, few, many, n FROM words WHERE id > 0")
        load(bench, "moving")
        stop = threading.Event()

        def write():
            with bench.session(OFF) as writer:
                for number in range(100000):
                    if stop.is_set():
                        break
                    writer.query(f"UPDATE moving SET few = 'new {number}' || id, many = few WHERE id % 997 = {number % 997}")
                    if number % 4 == 3:
                        writer.query("VACUUM moving")

        thread = threading.Thread(target=write)
        thread.start()
        try:
            with bench.session(DIRECT) as ours, bench.session(OFF) as plain:
                for query in queries:
                    for session in (ours, plain):
                        session.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
                    snapshot = plain.value("SELECT pg_export_snapshot()")
                    ours.query(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
                    bench.compare(ours, plain, query, "beside changes: ")
                    for session in (ours, plain):
                        session.query("ROLLBACK")
        finally:
            stop.set()
            thread.join()


def files(bench, rounds):
    """Columns of an Arrow file and of a Parquet file, at their first reading and from the cache."""
    with bench.session(OFF) as other, bench.session(DIRECT) as ours:
        for kind in ("arrow", "parquet"):
            path = Path(bench.server.directory) / f"words.{kind}"
            other.query(f"SELECT turbine.to_{kind}('SELECT id, few, many, n FROM words WHERE id > 0', '{path}')")
            other.query(f"CREATE FOREIGN TABLE words_{kind} (id int, few text, many text, n int) SERVER arrow_fdw "
                        f"OPTIONS (file '{path}')")
            for seed in range(rounds):
                query = draw_query(random.Random(seed), f"words_{kind}", ("few", "many")[seed % 2])
                for reading in ("first", "again"):
                    bench.compare(ours, other, query, f"{kind}, {reading}: ")


def explained(bench):
    with bench.session(DIRECT) as session:
        for condition, wanted in (("few LIKE '%x%'", True), ("few = 'abc'", True), ("length(many) > 3", True), ("n > 3", False),
                                  ("few IS NULL", False), ("few IN (SELECT t FROM named)", True)):
            entries = dictionaries(session, f"SELECT count(*) FROM words WHERE {condition}")
            bench.check(f"entries for {condition}", bool(entries) != wanted and f"{entries}")
        text = "\n".join(row[0] for row in session.query(
            "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) SELECT count(*) FROM words WHERE few LIKE '%x%'"))
        bench.check("EXPLAIN", "Texts Looked Up: dictionaries=1 entries=" not in text and text)
    share = bench.looked_up / max(bench.asked, 1)
    bench.check("share of queries that looked entries up", share < LEAST_LOOKED_UP and f"{bench.looked_up} of {bench.asked}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rows", type=int, default=30000)
    parser.add_argument("--seed", type=int, default=47)
    options = parser.parse_args()
    with cluster.Cluster("text_lookups", settings={"shared_buffers": "128MB"}) as server:
        bench = Bench(server, options)
        with bench.session(OFF) as session:
            make_tables(session, options.rows)
        random_queries(bench, options.queries // 5)
        load(bench, *TABLES, "large")
        random_queries(bench, options.queries)
        other_texts(bench)
        raising(bench)
        changes(bench, max(options.queries // 20, 3))
        files(bench, max(options.queries // 20, 3))
        explained(bench)
    print(f"{bench.looked_up} of {bench.asked} queries looked entries up")
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
