#!/usr/bin/env python3
"""several_gpus.py - queries on a machine with several GPUs: which GPU runs them, and PostgreSQL's answers from each.

The GPUs are stand-ins, whose kernels are interpreted, so that each machine can run this. A scene gets a server with as many
GPUs as it asks for; SCENES lists them all.
Called by: test/run_all.py. Options: --only. The last line is `N passed, N failed`.
"""

import argparse
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402
from stand_in import stand_in  # noqa: E402

ROWS = 120000
TABLES = f"""
    CREATE TABLE t AS SELECT i AS id, i % 700 AS k, hashint4(i) % 1000 AS v, CASE WHEN i % 9 > 0 THEN 'text ' || i % 50 END AS s
        FROM generate_series(1, {ROWS}) i;
    CREATE TABLE u AS SELECT i AS id, i % 13 AS w FROM generate_series(1, 5000) i"""
QUERIES = (
    "SELECT id, v FROM t WHERE v > 990",
    "SELECT count(*), sum(v), min(s), max(id) FROM t WHERE k < 600",
    "SELECT k, count(*), sum(v), min(id) FROM t GROUP BY k",
    "SELECT s, count(*), max(v) FROM t GROUP BY s",
    "SELECT u.w, count(*), sum(t.v) FROM t JOIN u ON u.id = t.k GROUP BY u.w",
    "SELECT t.id, u.id FROM t FULL JOIN u ON u.id = t.id AND t.v > 0 WHERE t.id < 900 OR t.id IS NULL",
    "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 50",
    "SELECT id, r FROM (SELECT id, rank() OVER (PARTITION BY k ORDER BY v, id) AS r FROM t) x WHERE r <= 2",
)
SESSIONS = 6


class Server:
    """A cluster with GPUs, and what they have run."""

    def __init__(self, server, gpus):
        self.server, self.gpus = server, gpus
        self.admin = server.connect(settings=OFF)
        self.admin.query(TABLES)
        for table in ("t", "u"):
            self.admin.query(f"VACUUM ANALYZE {table}")
        self.expected = {sql: self.admin.run(sql) for sql in QUERIES}

    def connect(self, device):
        return self.server.connect(settings={**FORCED, "pg_turbine.device": device, "pg_turbine.direct_threshold": "0"})

    def ran(self):
        """Queries of each GPU so far."""
        return [int(count) for (count,) in self.admin.query(
            "SELECT queries_total FROM turbine.devices WHERE kind = 'cuda' ORDER BY index")]

    def fallbacks(self):
        """Not those to the host: it sorts the first time, while the GPU's kernels are loaded."""
        return {name: int(value) for name, value in self.admin.query("SELECT counter, value FROM turbine.stat_queries")
                if name.startswith("fallback_") and value != "0"}

    def run_all(self, bench, name, session):
        for sql in QUERIES:
            bench.check(f"{name}: {sql}", answers.difference(self.expected[sql], session.run(sql)))


def named(bench, server):
    """A GPU that is named runs all queries, and no other one any."""
    for gpu in range(server.gpus):
        before = server.ran()
        with server.connect(f"gpu{gpu}") as session:
            server.run_all(bench, f"gpu{gpu}", session)
        more = [after - count for after, count in zip(server.ran(), before, strict=True)]
        bench.check(f"gpu{gpu} alone", None if more[gpu] >= len(QUERIES) and sum(more) == more[gpu] else f"queries: {more}")
    bench.equal("fallbacks", server.fallbacks(), {})


def spread(bench, server):
    """Sessions side by side spread over the GPUs of a list; a session alone stays on one."""
    listed = ",".join(f"gpu{gpu}" for gpu in range(server.gpus))
    before = server.ran()
    with server.connect(listed) as session:
        for _ in range(4):
            session.query(QUERIES[2])
    more = [after - count for after, count in zip(server.ran(), before, strict=True)]
    bench.equal("one session, one GPU", sorted(more), [0] * (server.gpus - 1) + [4])

    before = server.ran()

    def work(number):
        with server.connect(listed) as session:
            for _ in range(2):
                server.run_all(bench, f"session {number}", session)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    more = [after - count for after, count in zip(server.ran(), before, strict=True)]
    bench.check("side by side", None if min(more) > 0 and sum(more) >= 2 * SESSIONS * len(QUERIES) else f"queries: {more}")
    bench.equal("fallbacks", server.fallbacks(), {})


def lost(bench, server):
    """A GPU that fails is out of use; others run its queries from then on."""
    with server.connect("gpu0,gpu1") as session:
        session.query("SET pg_turbine.device = 'gpu0'")
        session.query("SET pg_turbine.debug_fault = '40:700'")
        bench.check("the query that it costs", answers.difference(server.expected[QUERIES[2]], session.run(QUERIES[2])))
        session.query("SET pg_turbine.debug_fault = ''")
        usable = server.admin.query("SELECT usable FROM turbine.devices WHERE kind = 'cuda' ORDER BY index")
        bench.equal("usable", [row[0] for row in usable[:2]], ["f", "t"])
        session.query("SET pg_turbine.device = 'gpu0,gpu1'")
        before = server.ran()
        server.run_all(bench, "without gpu0", session)
        more = [after - count for after, count in zip(server.ran(), before, strict=True)]
        bench.check("by gpu1", None if more[0] == 0 and more[1] >= len(QUERIES) else f"queries: {more}")


def full(bench, server):
    """Where one GPU's memory is taken, the next one is."""
    held = server.server.connect(settings={"pg_turbine.device": "gpu0"})
    # Each export is memory of gpu0 until its session ends; together they may have half of it.
    exports = 0
    while exports < 64:
        outcome = held.run("SELECT turbine.gpu_result('SELECT g, g * 2.0 AS x FROM generate_series(1, 150000) g', 'gpu0')")
        if outcome.error:
            break
        exports += 1
    used = int(server.admin.value("SELECT memory_used FROM turbine.devices WHERE name LIKE '%' AND index = 1"))
    print(f"  {exports} exports take {used >> 20} MB of gpu0: {outcome.error or ''}", flush=True)
    before = server.ran()
    with server.connect("gpu0,gpu1") as session:
        session.query("SET work_mem = '1GB'")
        server.run_all(bench, "gpu0 is full", session)
    more = [after - count for after, count in zip(server.ran(), before, strict=True)]
    print(f"  queries then: {more}", flush=True)
    bench.check("gpu1 had some", None if more[1] > 0 else f"queries: {more}")
    held.close()


# The scene, its GPUs, and megabytes of each.
SCENES = {"named": (named, 2, 4096), "spread": (spread, 4, 4096), "lost": (lost, 2, 4096), "full": (full, 2, 64)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(SCENES))
    options = parser.parse_args()
    bench = Bench()
    for name in options.only:
        scene, gpus, memory = SCENES[name]
        with stand_in(gpus=gpus, memory=memory) as report:
            if report is None:
                print("skipped: there is no stand-in driver in this build")
                break
            with cluster.Cluster("several-gpus") as server:
                scene(bench, Server(server, gpus))
            bench.equal(f"{name}: the driver", report.complaints()[:5], [])
            bench.check(f"{name}: kernels", None if report.launches() else "none ran")
        print(f"  {name}: {bench.passed} passed so far, {bench.failed} failed", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
