"""cache_bench.py - what the suites of the column cache share: tables, and what is cached of them.

Owns: the tables that they make, and how they ask EXPLAIN and the views what came from the cache.
Must never: take a query that read nothing from the cache for one that did.
Used by: column_cache.py, cache_loading.py.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from run_sql import DIRECT, OFF  # noqa: E402

ROWS = 60000
CPU = {**DIRECT, "pg_turbine.device": "cpu"}
TABLE = f"""
    CREATE TABLE t (id int, k int, price numeric(12,2), name text, day date);
    INSERT INTO t SELECT i, i % 7, i / 8.0, 'name ' || i % 50, date '2020-01-01' + i % 700 FROM generate_series(1, {ROWS}) i;
    CREATE TABLE pt (id int, k int) PARTITION BY RANGE (id);
    CREATE TABLE pt_1 PARTITION OF pt FOR VALUES FROM (0) TO (20000);
    CREATE TABLE pt_2 (k int, id int);
    ALTER TABLE pt ATTACH PARTITION pt_2 FOR VALUES FROM (20000) TO (1000000);
    INSERT INTO pt SELECT i, i % 7 FROM generate_series(1, 40000) i;
    CREATE ROLE stranger LOGIN;
    GRANT SELECT ON t TO stranger;
"""
QUERY = "SELECT k, count(*), sum(price) FROM t GROUP BY k"


class Bench:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"{name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def equal(self, name, found, expected):
        self.check(name, None if found == expected else f"{found}, expected {expected}")

    def fails(self, name, session, sql, sqlstate):
        outcome = session.run(sql)
        self.equal(name, outcome.sqlstate, sqlstate)


def make(server):
    with server.connect(settings=OFF) as session:
        session.query(TABLE)
        session.query("VACUUM (ANALYZE)")
        session.query("CHECKPOINT")


def cached_blocks(session, sql):
    """Of the node that reads the first table."""
    plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {sql}"))
    found = re.search(r"cached=(\d+)", plan)
    return int(found.group(1)) if found else 0


def filled_blocks(session, table):
    """All blocks up to the last one with a row: since 16 CREATE TABLE AS, say, leaves empty ones behind that."""
    session.query("SET pg_turbine.enabled = off")
    last = session.value(f"SELECT coalesce(max((ctid::text::point)[0]), -1) FROM {table}")
    session.query("RESET pg_turbine.enabled")
    return int(float(last)) + 1


def blocks_of(session, table):
    return int(session.value(f"SELECT pg_relation_size('{table}') / 8192"))


def shown(session, table):
    return {name: (int(rows), int(good), int(doubtful), int(hits)) for name, rows, good, doubtful, hits in session.query(
        "SELECT column_name, rows, good_blocks, doubtful_blocks, hits FROM turbine.column_cache "
        f"WHERE relation = '{table}'::regclass")}
