#!/usr/bin/env python3
"""cache_cycles.py - filling, dropping and killing leave no memory behind.

Each cycle fills the cache by queries, then drops what is kept, or replaces the table, or ends
a backend in the middle of a query; some kill the service. After the first cycles the memory
of the device is a baseline: on a GPU what the driver counts as used, on the processor the
resident memory of turbined; at the end, with nothing cached, it must be that again.
Must never: count a cycle whose query did not come from the cache.
Called by: make test-cache-cycles, test/run_all.py. Options: --cycles, --device, --seed.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from run_sql import DIRECT, OFF  # noqa: E402

ROWS = 200_000
TABLE = f"""
    CREATE TABLE events AS SELECT i AS id, i % 977 AS k, (i * 7919) % 100003 AS v, i::bigint * 1000003 AS wide,
        'name ' || i % 5000 AS name FROM generate_series(1, {ROWS}) i;
    CREATE TABLE kinds AS SELECT i AS k, i % 17 AS kind FROM generate_series(0, 976) i"""
QUERIES = (
    "SELECT kind, count(*), sum(v), max(wide) FROM events JOIN kinds USING (k) GROUP BY kind ORDER BY kind",
    "SELECT count(*), sum(v) FROM events WHERE name LIKE 'name 4%'",
    "SELECT k, sum(wide) FROM events GROUP BY k ORDER BY 2 DESC, 1 LIMIT 5",
)
SETTLED = 20            # cycles until caches of the allocator and the driver are what they stay
# What the driver and the allocator may keep of what was given back.
SLACK = {"cpu": 48 << 20, "gpu": 64 << 20}


class Cycles:
    def __init__(self, server, options):
        self.server, self.device = server, options.device
        self.random = random.Random(options.seed)
        self.settings = {**DIRECT, "pg_turbine.device": options.device}
        self.admin = server.connect(settings=OFF)
        self.done = {}
        self.complaints = []
        self.connect()
        self.expected = {sql: self.admin.query(sql) for sql in QUERIES}

    def connect(self):
        self.session = self.server.connect(settings=self.settings)

    def counter(self, name):
        return int(self.admin.query(f"SELECT value FROM turbine.stat_queries WHERE counter = '{name}'")[0][0])

    def ask(self):
        for sql in QUERIES:
            if self.session.query(sql) != self.expected[sql]:
                self.complaints.append(f"another answer: {sql}")

    def fill(self):
        """By the processor, which decodes; a GPU then copies what is cached."""
        before = self.counter("blocks_cached")
        self.session.query("SET pg_turbine.device = cpu")
        self.ask()
        self.session.query(f"SET pg_turbine.device = {self.device}")
        self.ask()
        if self.counter("blocks_cached") <= before:
            self.complaints.append("nothing came from the cache")

    def drop(self):
        self.admin.query("SELECT turbine.cache_drop('events')")

    def replace(self):
        """The same rows in another file. What is cached of a dropped table stays until it is evicted, so it goes before."""
        self.admin.query("DROP TABLE IF EXISTS old; CREATE TABLE new_events AS TABLE events; ALTER TABLE events RENAME TO old; "
                         "ALTER TABLE new_events RENAME TO events")
        self.admin.query("SELECT turbine.cache_drop('old')")
        self.admin.query("DROP TABLE old")
        self.admin.query("VACUUM ANALYZE events")

    def kill_backend(self):
        pid = int(self.session.query("SELECT pg_backend_pid()")[0][0])
        asker = threading.Thread(target=self.ask_in_vain)
        asker.start()
        time.sleep(self.random.random() * 0.01)
        self.admin.query(f"SELECT pg_terminate_backend({pid})")
        asker.join()
        self.connect()

    def ask_in_vain(self):
        try:
            for _ in range(50):
                self.ask()
        except (ConnectionLost, DatabaseError, OSError):
            pass

    def kill_service(self):
        victim = self.server.service_pid()
        os.kill(victim, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while self.server.service_pid() in (None, victim) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.server.wait_for_service()
        if self.device == "gpu":
            self.wait_for_gpu(deadline)

    def wait_for_gpu(self, deadline):
        while not self.admin.query("SELECT 1 FROM turbine.devices WHERE kind = 'cuda' AND usable"):
            if time.monotonic() > deadline:
                raise RuntimeError("no usable GPU after the service was killed")
            time.sleep(0.02)

    def memory(self):
        """Bytes, once they have stayed the same for a while, with nothing cached."""
        self.drop()
        self.admin.query("SELECT turbine.cache_drop('kinds')")
        least, since = None, time.monotonic()
        while time.monotonic() - since < 1.0:
            now = gpu_bytes() if self.device == "gpu" else resident_bytes(self.server.service_pid())
            if least is None or now < least - (1 << 20):
                least, since = now, time.monotonic()
            time.sleep(0.1)
        return least

    def run(self, cycles, kill_service):
        weights = {self.drop: 10, self.replace: 2, self.kill_backend: 6}
        if kill_service:
            weights[self.kill_service] = 2
        for _ in range(cycles):
            self.fill()
            step = self.random.choices(list(weights), list(weights.values()))[0]
            step()
            self.done[step.__name__] = self.done.get(step.__name__, 0) + 1
            if len(self.complaints) > 5:
                break


def resident_bytes(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise RuntimeError(f"process {pid} tells no resident memory")


def gpu_bytes():
    output = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"],
                            check=True, capture_output=True, text=True).stdout
    return int(output) << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with cluster.Cluster("cycles") as server:
        with server.connect(settings=OFF) as session:
            session.query(TABLE)
            session.query("VACUUM ANALYZE events")
            session.query("VACUUM ANALYZE kinds")
        cycles = Cycles(server, options)
        # A new service has a baseline of its own, so the first part leaves it alive.
        cycles.run(SETTLED, kill_service=False)
        before = cycles.memory()
        cycles.run(options.cycles // 2, kill_service=False)
        after = cycles.memory()
        cycles.run(options.cycles - options.cycles // 2, kill_service=True)
        cycles.run(SETTLED, kill_service=False)
        end = cycles.memory()
    print(f"  MB used by the device with nothing cached: {before >> 20} after {SETTLED} cycles, {after >> 20} after "
          f"{SETTLED + options.cycles // 2}, {end >> 20} at the end; " + ", ".join(f"{name} {n}" for name, n in cycles.done.items()))
    complaints = cycles.complaints[:]
    for what, bytes_used in (("cycles", after), ("killed services", end)):
        if bytes_used > before + SLACK[options.device]:
            complaints.append(f"{(bytes_used - before) >> 20} MB more after {what}")
    for complaint in complaints:
        print(f"  {complaint}")
    print(f"{sum(cycles.done.values()) + 2 - len(complaints)} passed, {len(complaints)} failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
