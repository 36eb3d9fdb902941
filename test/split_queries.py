#!/usr/bin/env python3
"""split_queries.py - queries that are split over several GPUs, through SQL.

Owns: the setting pg_turbine.split_over_gpus, what EXPLAIN says of several GPUs, and answers equal to PostgreSQL's whatever
becomes of the query: on GPUs that run kernels, on some of them only, or on PostgreSQL's own plan.
On a machine without a GPU they are four stand-ins, whose kernels are interpreted.
Must never: ask for more GPUs than there are.
Called by: make test-split-queries, test/run_all.py.
"""

import contextlib
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402
from stand_in import has_driver, stand_in  # noqa: E402

STAND_IN_GPUS = 4
RELEASE_SECONDS = 5.0
TABLES = """
    CREATE TABLE f AS SELECT i AS id, i % 1000 AS a, (i * 7919) % 10007 AS b, ((i % 97) / 4.0)::numeric(10,2) AS n,
        (i % 1013)::float8 / 8 AS x, CASE WHEN i % 11 <> 0 THEN 'text number ' || i % 40 END AS t
        FROM generate_series(1, 60000) i;
    CREATE TABLE g AS SELECT i AS id, (i * 31) % 101 AS b FROM generate_series(500, 4000) i"""
# Each with the node that the GPUs run. Sums of x are exact in any order.
QUERIES = {
    "ungrouped": "SELECT count(*), sum(b), min(n), max(a), avg(n), sum(x) FROM f WHERE a < 900",
    "grouped": "SELECT a, count(*), sum(b), max(n) FROM f GROUP BY a",
    "text keys": "SELECT t, count(*), sum(n) FROM f GROUP BY t",
    "joined": "SELECT g.b, count(*), sum(f.b) FROM f JOIN g ON g.id = f.a GROUP BY g.b",
    "full join": "SELECT count(*), sum(f.b), sum(g.b) FROM f FULL JOIN g ON g.id = f.b",
    "sorted": "SELECT id, b FROM f WHERE a < 300 ORDER BY b, id",
    "first rows": "SELECT id, b FROM f ORDER BY b DESC, id LIMIT 50",
    "window": "SELECT id, rank() OVER (PARTITION BY a ORDER BY b) FROM f WHERE a < 50",
    "grouped twice": "SELECT k, count(*) FROM (SELECT a % 10 AS k, b, count(*) FROM f GROUP BY 1, 2) s GROUP BY k",
}


class SeveralGpus:
    def __init__(self, server, bench):
        self.bench = bench
        self.plain = server.connect(settings=OFF)
        self.session = server.connect(settings=FORCED)
        self.session.query("SET pg_turbine.device = gpu")
        self.gpus = int(self.plain.value("SELECT count(*) FROM turbine.devices WHERE kind <> 'host'"))
        self.plain.query(TABLES)
        for table in ("f", "g"):
            self.plain.query(f"VACUUM ANALYZE {table}")

    def explain(self, sql, options=""):
        return [row[0].strip() for row in self.session.query(f"EXPLAIN ({options}COSTS off) {sql}")]

    def preference(self):
        """Which GPUs may run a node, by the setting."""
        name = self.plain.value("SELECT name FROM turbine.devices WHERE kind <> 'host' LIMIT 1")
        every = ", ".join(f"GPU{i}" for i in range(self.gpus))
        several = f"{every} ({self.gpus} x {name})" if self.gpus > 1 else f"GPU0 ({name})"
        for device, expected in (("gpu", several), ("gpu0", f"GPU0 ({name})"), ("gpu0,gpu99", f"GPU0 ({name})")):
            self.session.query(f"SET pg_turbine.device = '{device}'")
            lines = self.explain(QUERIES["grouped"])
            self.bench.check(f"preference of {device}",
                             None if f"GPU Preference: {expected}" in lines else "\n".join(lines))
        if self.gpus > 1:
            self.session.query("SET pg_turbine.device = 'gpu0,gpu1'")
            lines = self.explain(QUERIES["grouped"])
            self.bench.check("preference of two",
                             None if f"GPU Preference: GPU0, GPU1 (2 x {name})" in lines else "\n".join(lines))
        self.session.query("SET pg_turbine.device = cpu")
        lines = self.explain(QUERIES["grouped"])
        self.bench.check("none of the host", "\n".join(lines) if any("GPU Preference" in line for line in lines) else None)
        self.session.query("SET pg_turbine.device = gpu")

    def settings(self):
        for value in ("on", "off", "auto"):
            self.session.query(f"SET pg_turbine.split_over_gpus = {value}")
            self.bench.equal(f"setting {value}", self.session.value("SHOW pg_turbine.split_over_gpus"), value)
        self.bench.fails("no such value", self.session, "SET pg_turbine.split_over_gpus = maybe", "22023")

    def answers(self):
        for name, sql in QUERIES.items():
            expected = sorted(map(repr, self.plain.query(sql)))
            for value in ("off", "on", "on", "auto"):
                self.session.query(f"SET pg_turbine.split_over_gpus = {value}")
                self.bench.equal(f"{name}, split {value}", sorted(map(repr, self.session.query(sql))), expected)

    def shares(self):
        """EXPLAIN ANALYZE says that several GPUs have run the query, and what each has done."""
        self.session.query("SET pg_turbine.split_over_gpus = on")
        lines = self.explain(QUERIES["grouped"], "ANALYZE, TIMING off, SUMMARY off, ")
        devices = [line for line in lines if line.startswith("Device: ")]
        if self.gpus > 1:
            self.bench.check("several GPUs", None if devices and devices[0].startswith(f"Device: {self.gpus} x ")
                             else "\n".join(lines))
            shares = [line for line in lines if line.startswith("GPU") and ": rows=" in line]
            self.bench.equal("a line for each GPU", [line.split(":")[0] for line in shares],
                             [f"GPU{i}" for i in range(self.gpus)])
            if not any(line.startswith("Fallback") for line in lines):
                self.bench.equal("rows of all GPUs", sum(int(line.split("rows=")[1].split()[0]) for line in shares), 60000)
        self.session.query("SET pg_turbine.split_over_gpus = off")
        lines = self.explain(QUERIES["grouped"], "ANALYZE, TIMING off, SUMMARY off, ")
        self.bench.check("one GPU", "\n".join(lines) if any(": rows=" in line for line in lines) else None)

    def nothing_stays(self):
        """Grants are given back by all GPUs."""
        until = time.monotonic() + RELEASE_SECONDS
        while True:
            used = self.plain.value("SELECT sum(memory_used) FROM turbine.devices WHERE kind <> 'host'")
            if int(used) == 0 or time.monotonic() > until:
                break
            time.sleep(0.05)
        self.bench.equal("memory that queries have of GPUs", int(used), 0)
        self.bench.equal("queries that run", int(self.plain.value("SELECT sum(queries_running) FROM turbine.devices")), 0)


def main():
    bench = Bench()
    driver = contextlib.nullcontext() if has_driver() else stand_in(gpus=STAND_IN_GPUS)
    with driver as report:
        with cluster.Cluster("split-queries") as server:
            gpus = SeveralGpus(server, bench)
            gpus.preference()
            gpus.settings()
            gpus.answers()
            gpus.shares()
            gpus.nothing_stays()
        if report:
            bench.equal("the driver", report.complaints()[:5], [])
            bench.check("kernels", None if report.launches() else "none ran")
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
