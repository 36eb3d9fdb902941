#!/usr/bin/env python3
"""paid_plans.py - columns that many plans would have gained from are read, and only then.

A join by an index costs PostgreSQL less than reading whole columns into the cache once, so a node of ours loses, and
would lose for ever. What it would have saved each time pays for reading them: after some runs the node is taken, and from
then on it is the cheaper one by itself. Without the cache, or where columns do not stay, PostgreSQL's plan is kept.
At default costs, on the host. What ran tells the counter of the service's queries, for EXPLAIN plans as well.
Called by: make test-paid-plans, test/run_all.py.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402

ROWS = 400000
MOST_RUNS = 40
SETTINGS = {"shared_buffers": "512MB", "max_parallel_workers_per_gather": "0", "pg_turbine.device": "cpu", "pg_turbine.host_threads": "2",
            "random_page_cost": "1.1"}
QUERY = "SELECT sum(s.cost * s.quantity), count(*) FROM {} s JOIN makers m ON m.id = s.maker WHERE m.nation = 7"


class PaidPlans:
    def __init__(self, server, bench):
        self.server, self.bench = server, bench
        self.session = server.connect()
        self.session.query("CREATE TABLE makers AS SELECT i AS id, i % 60 AS nation FROM generate_series(1, 5000) i")
        self.session.query("CREATE INDEX ON makers (nation)")
        self.session.query("VACUUM ANALYZE makers")

    def table(self, name):
        self.session.query(f"CREATE TABLE {name} AS SELECT i AS part, 1 + abs(hashint4(i)) % 5000 AS maker, i % 1000 AS quantity, "
                           f"(i % 100000) / 100.0::numeric(12,2) AS cost, repeat('x', 100) AS note FROM generate_series(1, {ROWS}) i")
        self.session.query(f"CREATE INDEX ON {name} (maker)")
        self.session.query(f"VACUUM ANALYZE {name}")
        self.session.query("CHECKPOINT")

    def queries(self):
        return int(self.session.value("SELECT value FROM turbine.stat_queries WHERE counter = 'queries'"))

    def is_ours(self, sql, expected):
        """Runs it once."""
        before = self.queries()
        self.bench.equal(f"rows of {sql}", self.session.query(sql), expected)
        return self.queries() > before

    def runs_until_ours(self, sql):
        """How many were PostgreSQL's; None: all."""
        self.session.query("SET pg_turbine.enabled = off")
        expected = self.session.query(sql)
        self.session.query("RESET pg_turbine.enabled")
        for run in range(MOST_RUNS):
            if self.is_ours(sql, expected):
                return run
        return None

    def paid_for(self):
        self.table("asked_often")
        sql = QUERY.format("asked_often")
        runs = self.runs_until_ours(sql)
        print(f"  {runs} runs were PostgreSQL's")
        self.bench.equal("the first runs are PostgreSQL's, then ours", runs is not None and runs > 0, True)
        expected = self.session.query(sql)
        self.bench.equal("of 5 more all are ours", sum(self.is_ours(sql, expected) for _ in range(5)), 5)

    def without_cache(self):
        self.table("not_kept")
        self.session.query("SET pg_turbine.enable_cache = off")
        self.bench.equal("without the cache none is ours", self.runs_until_ours(QUERY.format("not_kept")), None)
        self.session.query("RESET pg_turbine.enable_cache")

    def read_at_once(self):
        """What stands on a GpuScan would read pages each time: groups whose columns are kept are taken at once."""
        self.session.query(f"CREATE TABLE visits AS SELECT 'country ' || i % 50 AS country, 'currency ' || i % 9 AS currency, "
                           f"CASE WHEN i % 80 = 0 THEN i END AS sale, (i % 1000)::numeric(12,2) AS price, i % 7 AS items, "
                           f"i % 9000 AS visitor, i % 10 AS kind, repeat('x', 600) AS note FROM generate_series(1, {ROWS}) i")
        self.session.query("VACUUM ANALYZE visits")
        self.session.query("SET max_parallel_workers_per_gather = 2")
        sql = ("SELECT country, currency, count(*), sum(price), sum(items), max(visitor), min(kind) "
               "FROM visits WHERE sale IS NOT NULL GROUP BY country, currency")
        plan = "\n".join(row[0] for row in self.session.query("EXPLAIN " + sql))
        self.bench.equal(f"groups are one node, in\n{plan}", "GpuPreAgg" in plan or "GpuSort" in plan, True)
        self.session.query("SET pg_turbine.enable_aggregate = off")
        plan = "\n".join(row[0] for row in self.session.query("EXPLAIN " + sql))
        self.bench.equal(f"else a GpuScan would read them, in\n{plan}", "GpuScan" in plan, True)
        self.session.query("RESET pg_turbine.enable_aggregate")
        self.session.query("RESET max_parallel_workers_per_gather")


def main():
    bench = Bench()
    with cluster.Cluster("paid-plans", settings=SETTINGS) as server:
        plans = PaidPlans(server, bench)
        plans.paid_for()
        plans.without_cache()
        plans.read_at_once()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
