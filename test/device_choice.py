#!/usr/bin/env python3
"""device_choice.py - which device the planner takes at default costs, where there is a GPU.

What is read into the column cache is decoded by the host, whichever device asks. So a query that a GPU would take less than
half as long for with cached columns is the host's first, and the GPU's from then on. What a GPU cannot compute of windows
is the host's, cached or not; so are aggregates that a GPU has no code for, also where a GPU is asked for.
Where there is no GPU it is the stand-in driver's: only plans are looked at, and what is run is the host's.
Called by: make test-device-choice, test/run_all.py.
"""

import contextlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from stand_in import has_driver, stand_in  # noqa: E402

ROWS = 2000000
# Few threads, which a GPU of any size beats.
SETTINGS = {"shared_buffers": "512MB", "pg_turbine.host_threads": "2"}
COLUMNS = "i AS id, i % 1000 AS k, hashint4(i) % 100000 AS v"
SUMS = "SELECT k, count(*), sum(v), sum(v + k), sum(v * 2), min(v), max(v), sum(v - k), sum(k - v) FROM {} GROUP BY k"
RANKS = "SELECT k, v FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM {}) s WHERE r <= 2"


class DeviceChoice:
    def __init__(self, server, bench):
        self.session, self.bench = server.connect(), bench
        self.session.query("SET work_mem = '512MB'")

    def table(self, name, kind="", vacuumed=True):
        self.session.query(f"CREATE {kind} TABLE {name} AS SELECT {COLUMNS} FROM generate_series(1, {ROWS}) i")
        self.session.query(f"{'VACUUM ' if vacuumed else ''}ANALYZE {name}")

    def device(self, sql):
        lines = [row[0].strip() for row in self.session.query("EXPLAIN (VERBOSE) " + sql)]
        devices = [line.split()[1] for line in lines if line.startswith("Device:")]
        return devices[0] if devices else "none"

    def expect(self, name, sql, device):
        self.bench.equal(f"{name}: {sql}", self.device(sql), device)

    def first_on_host(self):
        for name, form in (("groups", SUMS), ("ranks", RANKS)):
            table = f"of_{name}"
            self.table(table, vacuumed=form == RANKS)
            sql = form.format(table)
            self.expect(f"{name}, nothing cached", sql, "CPU")
            self.session.query(sql)  # so it runs there, and reads the columns
            self.expect(f"{name}, cached", sql, "GPU0")

    def nothing_to_wait_for(self):
        self.table("loose", "UNLOGGED", vacuumed=False)
        self.expect("unlogged, so that nothing is cached", SUMS.format("loose"), "GPU0")
        self.table("uncached")
        self.session.query("SET pg_turbine.enable_cache = off")
        self.expect("without the cache", SUMS.format("uncached"), "GPU0")
        self.session.query("RESET pg_turbine.enable_cache")
        self.session.query("SET pg_turbine.device = gpu")
        self.expect("asked for", SUMS.format("uncached"), "GPU0")
        self.session.query("RESET pg_turbine.device")

    def without_gpu_code(self):
        """Least and greatest wide numerics; those of texts have code."""
        self.session.query("CREATE TABLE texts AS SELECT i % 1000 AS k, ('text ' || hashint4(i)) COLLATE \"C\" AS t, "
                           f"(i || '000000000000000000.5')::numeric(38,1) AS wide FROM generate_series(1, {ROWS // 4}) i")
        self.session.query("VACUUM ANALYZE texts")
        self.session.query("SELECT turbine.cache_load('texts')")
        many = "count(*), sum(k), sum(k + 1), sum(k * 2), max(k), min(k)"
        self.expect("both have code", f"SELECT k, {many} FROM texts GROUP BY k", "GPU0")
        for value in ("auto", "gpu", "gpu0"):
            self.session.query(f"SET pg_turbine.device = {value}")
            for function in ("min", "max"):
                self.expect(value, f"SELECT k, {many}, {function}(wide) FROM texts GROUP BY k", "CPU")
                if value != "auto":
                    self.expect(value, f"SELECT k, {many}, {function}(t) FROM texts GROUP BY k", "GPU0")
        self.session.query("RESET pg_turbine.device")

    def named(self):
        """Lists of GPUs, of which there is one."""
        for value, device in (("gpu0", "GPU0"), ("gpu0,gpu1", "GPU0"), (" GPU1 , gpu0", "GPU0"), ("gpu0,gpu99", "GPU0"), ("cpu", "CPU"),
                              ("gpu1", "none"), ("gpu1,gpu2", "none"), ("gpu99", "none")):
            self.session.query(f"SET pg_turbine.device = '{value}'")
            self.expect(f"device {value!r}", SUMS.format("uncached"), device)
        for value in ("", "gpu0,", ",gpu0", "gpu0 gpu1", "gpu0,cpu", "gpu0,gpu", "gpux", "gpu0,gpu123"):
            self.bench.fails(f"device {value!r}", self.session, f"SET pg_turbine.device = '{value}'", "22023")
        self.session.query("RESET pg_turbine.device")
        self.bench.fails("a pin to several", self.session, "SELECT turbine.pin('uncached', NULL, 'gpu0,gpu1')", "22023")


def main():
    bench = Bench()
    with contextlib.nullcontext() if has_driver() else stand_in(), cluster.Cluster("device-choice", settings=SETTINGS) as server:
        choice = DeviceChoice(server, bench)
        choice.first_on_host()
        choice.nothing_to_wait_for()
        choice.without_gpu_code()
        choice.named()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
