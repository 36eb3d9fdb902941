#!/usr/bin/env python3
"""two_servers.py - two servers share the GPUs of one machine: neither fails because the other came first.

Two clusters, each with a service of its own, load SSB and ask its 13 queries at once from several sessions each. The
second starts when the first has loaded its cache. Each answer is compared with PostgreSQL's own plan. No query may leave
the GPU for want of memory, and what both services may use together must fit into each GPU.
Must never: count a query that did not run on a GPU.
Called by hand, on a machine with an NVIDIA GPU. The last line is `N passed, N failed`.
"""

import argparse
import re
import sys
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tools"), str(REPOSITORY / "bench")]

import cluster  # noqa: E402
import report_tables  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from cache_bench import Bench  # noqa: E402

SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "16GB"}
OFF = {"pg_turbine.enabled": "off"}
ON_GPU = {"pg_turbine.device": "gpu", "pg_turbine.debug_force_offload": "on"}


class Server:
    def __init__(self, server, options):
        self.server, self.options = server, options
        self.queries, self.errors = 0, []

    def load(self):
        self.server.create_extension("postgres")
        report_tables.load_ssb(self.server, self.options.sf)
        with self.server.connect(settings=OFF) as session:
            self.expected = {name: session.query(sql) for name, sql in ssb.QUERIES.items()}
        with self.server.connect(settings=ON_GPU) as session:
            for table in ssb.TABLES:
                session.query(f"SELECT turbine.cache_load('{workload.table_name(table)}')")
            self.ask(session, 0)

    def ask(self, session, turn):
        name = list(ssb.QUERIES)[turn % len(ssb.QUERIES)]
        rows = session.query(ssb.QUERIES[name])
        if not workload.same_answer(self.expected[name], rows):
            self.errors.append(f"{name}: another answer")
        self.queries += 1

    def ask_until(self, end, first):
        try:
            with self.server.connect(settings=ON_GPU) as session:
                turn = first
                while time.monotonic() < end:
                    self.ask(session, turn)
                    turn += 1
                plan = "\n".join(row for row, in session.query(f"EXPLAIN (ANALYZE) {ssb.QUERIES['q2_1']}"))
                if not re.search(r"Device: .*(NVIDIA|GPU)", plan):
                    self.errors.append(f"not on a GPU: {plan}")
        except Exception as error:  # noqa: BLE001 - the test's result
            self.errors.append(str(error))

    def fallbacks(self):
        """Queries that left the GPU for want of memory or of the device."""
        with self.server.connect(settings=OFF) as session:
            return int(session.value("SELECT sum(value) FROM turbine.stat_queries WHERE counter IN ('fallback_device_memory',"
                                     " 'fallback_no_device', 'fallback_device_lost', 'fallback_admission')"))

    def devices(self):
        with self.server.connect(settings=OFF) as session:
            return session.query("SELECT name, memory_total, memory_budget, memory_used, cache_size, usable"
                                 " FROM turbine.devices WHERE kind <> 'host' ORDER BY index")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--sessions", type=int, default=4, help="of each server")
    options = parser.parse_args()
    bench = Bench()
    with cluster.Cluster("first-server", settings=SETTINGS) as one, cluster.Cluster("second-server", settings=SETTINGS) as other:
        servers = [Server(one, options), Server(other, options)]
        for server in servers:
            server.load()
        end = time.monotonic() + options.seconds
        threads = [threading.Thread(target=server.ask_until, args=(end, 3 * number))
                   for server in servers for number in range(options.sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, server in enumerate(servers, 1):
            print(f"  server {number}: {server.queries} queries, {server.queries / options.seconds:.1f} a second; "
                  f"left the GPU: {server.fallbacks()}; {server.devices()}")
            bench.check(f"server {number}: answers", "; ".join(server.errors[:5]))
            bench.passed += server.queries
            bench.equal(f"server {number}: left the GPU", server.fallbacks(), 0)
        for first, second in zip(*(server.devices() for server in servers), strict=True):
            bench.check(f"{first[0]}: budgets", None if int(first[2]) + int(second[2]) <= int(first[1]) else (first, second))
            bench.check(f"{first[0]}: usable", None if (first[5], second[5]) == ("t", "t") else (first, second))
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
