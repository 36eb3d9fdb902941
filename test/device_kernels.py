#!/usr/bin/env python3
"""device_kernels.py - random queries over tables large enough for the kernels that are written by hand.

Sorts and windows of a GPU have at least 64 K rows, groups grow where an estimate is too low, and joins build their tables on
the GPU. The GPU is one whose kernels are interpreted. Each query runs over pages and over cached columns, and must give
PostgreSQL's rows, in its order where there is one; and at the end every kernel must have run.
Called by: test/run_all.py. Options: --queries, --seed. The last line is `N passed, N failed`.
"""

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from run_sql import CACHED, DIRECT, OFF  # noqa: E402
from stand_in import stand_in  # noqa: E402

ROWS = 80000
TABLES = f"""
    CREATE TABLE t AS SELECT i AS id, hashint4(i) AS h, (hashint4(i + 7) % 500)::smallint AS k, hashint8(i) AS l,
        CASE WHEN i % 11 > 0 THEN hashint4(i * 3) / 1000.0 END::float8 AS d, CASE WHEN i % 5 > 0 THEN i % 3000 END AS n,
        CASE WHEN i % 7 > 0 THEN date '2000-01-01' + hashint4(i) % 4000 END AS day, i % 3 = 0 AS b,
        CASE WHEN i % 13 > 0 THEN 'text ' || i % 900 END AS s, ((i * 31) % 100000 / 100.0)::numeric(10,2) AS price
        FROM generate_series(1, {ROWS}) i;
    -- An estimate that is too low, so that tables of groups have to grow.
    ALTER TABLE t ALTER n SET (n_distinct = 20);
    ALTER TABLE t ALTER id SET (n_distinct = 50);
    CREATE TABLE u AS SELECT i * 2 AS id, i % 17 AS w, 'text ' || i AS s, hashint4(i) % 1000 AS x FROM generate_series(1, 6000) i"""
NUMBERS = ("h", "k", "l", "n", "price", "id")
KEYS = (*NUMBERS, "d", "day", "b")
AGGREGATES = ("count(*)", "sum(k)", "min(h)", "max(l)", "sum(n)", "count(n)", "min(day)", "max(d)", "sum(price)", "avg(price)")
FRAMES = ("", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
WINDOWS = ("rank()", "row_number()", "dense_rank()", "sum(k)", "count(n)", "min(h)", "max(n)", "sum(l % 1000)")
FILTERS = ("h % 7 = 0", "d > 0", "s > 'text 5'", "price < 20", "s LIKE '%7%'")
KERNELS = {"tb_decode", "tb_rows", "tb_probe", "tb_project", "tb_reserve", "tb_apply", "tb_reduce", "tb_group_grow",
           "tb_sort_count", "tb_sort_pass", "tb_key_ranges", "tb_key_pack", "tb_window_scan", "tb_window_emit", "tb_table_bounds",
           "tb_table_place", "tb_table_buckets"}


class Maker:
    """Random queries; each is (SQL, number of columns at the front by which its rows are ordered, or None)."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def condition(self):
        return self.rng.choice(["", "", " WHERE b", " WHERE k < 450 OR n IS NULL", " WHERE h > -1900000000", " WHERE d IS NOT NULL"])

    def keys(self, most=3):
        """A total order: the last key is unique."""
        keys = self.rng.sample(KEYS, self.rng.randrange(1, most))
        return [*(key for key in keys if key != "id"), "id"]

    def order(self, keys):
        return ", ".join(f"{key}{self.rng.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for key in keys)

    def sort(self):
        keys = self.keys()
        limit = self.rng.choice(["", "", f" LIMIT {self.rng.choice([1, 33, 1000, 70000])}",
                                 f" OFFSET {self.rng.randrange(2000)} LIMIT 500"])
        return f"SELECT {', '.join(keys)}, {self.rng.choice(NUMBERS)} FROM t{self.condition()} ORDER BY {self.order(keys)}{limit}", True

    def window(self):
        partition = self.rng.choice(["", "PARTITION BY k ", "PARTITION BY n, b ", "PARTITION BY day "])
        function = self.rng.choice(WINDOWS)
        frame = self.rng.choice(FRAMES) if "(" in function and function[-2] != "(" else ""
        inner = (f"SELECT id, {function} OVER ({partition}ORDER BY {self.order(self.keys())}{frame}) AS r FROM t{self.condition()}")
        return f"SELECT id, r FROM ({inner}) x WHERE r {self.rng.choice(['<= 3', '> 100', '< 50', 'IS NOT NULL'])}", False

    def groups(self):
        keys = self.rng.choice([["n"], ["id"], ["id", "b"], ["k", "b"], ["s"], ["day"], ["n", "s"], ["h"]])
        functions = ", ".join(self.rng.sample(AGGREGATES, 3))
        return f"SELECT {', '.join(keys)}, {functions} FROM t{self.condition()} GROUP BY {', '.join(keys)}", False

    def total(self):
        return f"SELECT {', '.join(self.rng.sample(AGGREGATES, 4))} FROM t{self.condition()}", False

    def join(self):
        kind = self.rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        key = self.rng.choice(["u.id = t.n", "u.id = t.id", "u.s = t.s", "u.x = t.k"])
        if self.rng.random() < 0.5:
            return f"SELECT u.w, count(*), sum(t.k), min(t.h) FROM t {kind} u ON {key} GROUP BY u.w", False
        where = " WHERE (t.id < 4000 OR t.id IS NULL)" if key == "u.x = t.k" else ""
        return f"SELECT t.id, u.id, u.x FROM t {kind} u ON {key}{where}", False

    def semi(self):
        word = self.rng.choice(["", "NOT "])
        return f"SELECT id, h FROM t WHERE {word}EXISTS (SELECT 1 FROM u WHERE u.id = t.n AND u.x > t.k)", False

    def scan(self):
        return f"SELECT id, h, s FROM t WHERE {self.rng.choice(FILTERS)}", False

    def query(self, number):
        forms = (self.sort, self.window, self.groups, self.join, self.total, self.semi, self.window, self.sort, self.scan)
        return forms[number % len(forms)]()


def check(bench, plain, session, name, sql, ordered):
    expected, found = plain.run(sql), session.run(sql)
    complaint = answers.difference(expected, found, floats=True)
    if complaint is None and ordered and expected.rows != found.rows:
        complaint = "the order of the rows differs"
    bench.check(f"{name}: {sql}", complaint)


def run(options, bench):
    with cluster.Cluster("device-kernels") as server:
        plain = server.connect(settings=OFF)
        plain.query(TABLES)
        for table in ("t", "u"):
            plain.query(f"VACUUM ANALYZE {table}")
        plain.query("CHECKPOINT")
        gpu = {"pg_turbine.device": "gpu", "work_mem": "64MB"}
        sessions = {"pages": server.connect(settings={**DIRECT, **gpu}), "cached": server.connect(settings={**CACHED, **gpu})}
        # Loads the kernels that are written by hand, while the host does the work.
        for sql in ("SELECT h, id FROM t ORDER BY h, id", "SELECT id FROM (SELECT id, rank() OVER (ORDER BY h) AS r FROM t) x WHERE r < 9",
                    "SELECT id, count(*) FROM t GROUP BY id"):
            sessions["pages"].query(sql)
        maker = Maker(options.seed)
        before = ran(plain)
        for number in range(options.queries):
            sql, ordered = maker.query(number)
            for name, session in sessions.items():
                check(bench, plain, session, name, sql, ordered)
        counters = {name: int(value) for name, value in plain.query("SELECT counter, value FROM turbine.stat_queries") if value != "0"}
        print(f"  {counters}", flush=True)
        fallbacks = sum(value for name, value in counters.items() if name.startswith("fallback_"))
        bench.equal("fallbacks", fallbacks, 0)
        on_gpu = ran(plain) - before
        bench.check("on the GPU", None if on_gpu >= 2 * options.queries else f"{on_gpu} of {2 * options.queries} queries")


def ran(session):
    return int(session.value("SELECT queries_total FROM turbine.devices WHERE kind = 'cuda'"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=54)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    bench = Bench()
    with stand_in(seed=options.seed) as report:
        if report is None:
            print("skipped: there is no stand-in driver in this build\n0 passed, 0 failed")
            return 0
        run(options, bench)
        launches = report.launches()
        bench.equal("the driver", report.complaints()[:5], [])
    print("  " + ", ".join(f"{kernel} ran {times} times" for kernel, times in sorted(launches.items())))
    bench.equal("kernels that never ran", sorted(KERNELS - launches.keys()), [])
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
