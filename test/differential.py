#!/usr/bin/env python3
"""differential.py - random queries over random tables and joins of them, plain and forced, must agree.

Rows as multisets, SQLSTATE and message of errors; float columns may differ in
their last digits. Prints the seed, the table and the query of a difference;
`--seed S --tables N` runs a table again. A run of many tables fails too if too
few of the queries were offloaded, or no block was read directly: then it would
compare PostgreSQL with itself. With --cached all tables are loaded into the column
cache first, and it fails too if the queries did not take them from there.
Called by: make test-differential, test/run_all.py.
"""

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cached_tables import CacheUse  # noqa: E402
from pg_client import ConnectionLost  # noqa: E402
from random_indexes import with_indexes  # noqa: E402
from random_joins import JoinMaker, make_tables  # noqa: E402
from random_queries import ZONES, QueryMaker  # noqa: E402
from random_scales import OneScaleMaker  # noqa: E402
from random_tables import make_table  # noqa: E402
from random_unions import Unions  # noqa: E402
from run_sql import CACHED, DIRECT, OFF, check_counters  # noqa: E402
from server_features import leave_out_kinds  # noqa: E402

QUERIES_A_TABLE = 25
LEAST_OFFLOADED = 0.5
# Of the queries of one table, those that read it in parts.
UNION_SHARE = 0.15
# Of so many tables some have all-visible blocks; of one, it is chance.
MANY_TABLES = 40
# Of the blocks that queries over loaded tables read. Of texts in TOAST tables and of numerics without a form nothing is kept.
LEAST_CACHED = 0.5
STATEMENT_TIMEOUT = "60s"
TIMED_OUT = "57014"
# Of equal numerics that print differently a hash aggregate shows the first row's,
# a sort any: both sides hash.
SAME_REPRESENTATIVE = {"enable_sort": "off"}
# What is sorted nevertheless looks so dear then that PostgreSQL compiles it, which takes longer than all else.
WITHOUT_JIT = {"jit": "off"}
# Of so many tables one is read with it.
JIT_EVERY = 9


def create(server, table):
    with server.connect() as session:
        session.query(f"DROP TABLE IF EXISTS {table.name}")
        for statement in table.statements:
            for part in statement.split("; "):
                outcome = session.run(part)
                if outcome.error:
                    raise RuntimeError(f"{part}\n{outcome.error}")
        # Written pages of all-visible blocks are read directly from the file.
        session.query("CHECKPOINT")


class Sessions:
    """The plain and the forced session, opened again when lost."""

    def __init__(self, server, device, forced=DIRECT):
        self.device = device
        self._server = server
        both = {**SAME_REPRESENTATIVE, **WITHOUT_JIT, "statement_timeout": STATEMENT_TIMEOUT}
        self._settings = ({**OFF, **both}, {**forced, **both, "pg_turbine.device": device})
        self.open()

    def open(self):
        self.plain, self.forced = (self._server.connect(settings=s) for s in self._settings)


def uses(session, query, words):
    """Which of the words the plan shows."""
    outcome = session.run(f"EXPLAIN (FORMAT JSON) {query}")
    return [not outcome.error and word in outcome.rows[0][0] for word in words]


def run_patiently(session, query):
    """Planners guess few rows, ours as PostgreSQL's, and put nested loops on top
    of the guess: what takes too long with them gets a second chance without."""
    outcome = session.run(query)
    if outcome.sqlstate == TIMED_OUT:
        session.query("SET enable_nestloop = off")
        outcome = session.run(query)
        session.query("RESET enable_nestloop")
    return outcome


def check_query(sessions, query):
    """None if both agree, else what differs."""
    try:
        plain = run_patiently(sessions.plain, query)
        forced = run_patiently(sessions.forced, query)
    except ConnectionLost as lost:
        time.sleep(2)
        sessions.open()
        return str(lost)
    found = answers.difference(plain, forced, floats=True)
    if found is None and not plain.error and getattr(query, "keys", 0):
        return answers.order_difference(plain, forced, query.keys)
    return found


def report(seed, tables, query, found, shown):
    print(f"--- seed {seed}: {found}\n{query};", flush=True)
    if not shown:
        for table in tables:
            print("  table:\n    " + ";\n    ".join(table.statements) + ";", flush=True)


def make_maker(source, seed, one_scale):
    """(tables, maker of queries) of a seed: every other one joins several.

    `one_scale`: it must not matter which of equal numerics comes first."""
    if seed % 2 == 0:
        tables = make_tables(source)
        return tables, JoinMaker(source, tables)
    table = make_table(source, "fuzzed")
    return [table], (OneScaleMaker if one_scale else QueryMaker)(source, table)


def run_table(server, sessions, seed, queries, use=None):
    """(agreed, differed, offloaded, of those with indexes) of the queries over the seed's tables.

    `use`: of the cache, which the tables are loaded into."""
    source = random.Random(seed)
    tables, maker = make_maker(source, seed, sessions.device == "gpu")
    tables = [with_indexes(source, table) for table in tables]
    for table in tables:
        create(server, table)
    if use:
        use.load()
    zone = source.choice(ZONES)
    sessions.plain.query(f"SET timezone = '{zone}'")
    sessions.forced.query(f"SET timezone = '{zone}'")
    for session in (sessions.plain, sessions.forced):
        session.query(f"SET jit = {'on' if seed % JIT_EVERY == 0 else 'off'}")
    sessions.forced.query(f"SET pg_turbine.debug_full_code = {source.choice(('on', 'off'))}")
    failed = fast = indexed = 0
    unions = Unions(seed, tables[0], UNION_SHARE) if len(tables) == 1 else None
    for _ in range(queries):
        query = unions.of(maker.query()) if unions else maker.query()
        shown = uses(sessions.forced, query, ("Gpu", "BRIN cond"))
        fast, indexed = fast + shown[0], indexed + shown[1]
        found = check_query(sessions, query)
        if found:
            report(seed, tables, query, found, failed)
            failed += 1
    return queries - failed, failed, fast, indexed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1, help="of the first table; the next ones follow")
    parser.add_argument("--tables", type=int, help="number of tables instead of --queries")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--cached", action="store_true", help="with all tables loaded into the column cache")
    parser.add_argument("--stock", action="store_true", help="without the extension: proves the generator")
    options = parser.parse_args()
    tables = options.tables or -(-options.queries // QUERIES_A_TABLE)
    passed = failed = fast = indexed = 0
    with cluster.Cluster("differential", extension=not options.stock) as server:
        leave_out_kinds(server)
        sessions = Sessions(server, options.device, CACHED if options.cached else DIRECT)
        use = CacheUse(server, options.device) if options.cached else None
        for seed in range(options.seed, options.seed + tables):
            good, bad, more, by_index = run_table(server, sessions, seed, QUERIES_A_TABLE, use)
            passed, failed, fast, indexed = passed + good, failed + bad, fast + more, indexed + by_index
            if seed % 10 == 0:
                print(f"  seed {seed}: {passed} agree, {failed} differ, {fast} offloaded", flush=True)
        many = tables >= MANY_TABLES
        blocks = "blocks_cached" if use else "blocks_direct"
        faults = 0 if options.stock else check_counters(server, long_enough=many, blocks=blocks)[1]
        for complaint in use.complaints(LEAST_CACHED) if use else ():
            print(complaint)
            faults += 1
    total = passed + failed
    print(f"  {total} queries over {tables} tables, {fast} offloaded ({100 * fast // total} %), {indexed} with BRIN")
    if many and fast < LEAST_OFFLOADED * total and not options.stock:
        print(f"too few were offloaded: at least {LEAST_OFFLOADED:.0%} must be")
        failed += 1
    if many and not indexed and not options.stock:
        print("no query used a BRIN index")
        failed += 1
    failed += faults
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
