#!/usr/bin/env python3
"""gpu_faults.py - every driver call of a query fails in turn, through SQL.

Owns: the promise that a GPU's failure stays in its query: for a handful of
queries the Nth driver call fails (pg_turbine.debug_fault), for every N until the
query needs no more calls: equal answers, a counter and a line in the log that
say why, no device memory kept, the device usable again where the failure leaves
its context whole, out of use until turbined restarts where it does not.
With --gpus every query is split over so many GPUs, and the fault is armed on each of them.
Without a GPU turbined gets a stand-in driver that interprets kernels.
Must never: end a process that its own cluster did not start; pass without
having made a call fail.
Called by: make test-gpu-faults, test/run_all.py. Options: --driver (auto, gpu,
stand-in), --gpus, --every (of so many calls one fails), --sticky (points a query), --seconds (stop asking for more after).
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
import workload  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402
from stand_in import has_driver, stand_in  # noqa: E402

OUT_OF_MEMORY, LAUNCH_OUT_OF_RESOURCES = 2, 701
DEVICE_UNAVAILABLE, ILLEGAL_ADDRESS, LAUNCH_FAILED = 46, 700, 719
STICKY = (ILLEGAL_ADDRESS, LAUNCH_FAILED, DEVICE_UNAVAILABLE)

# A query is through when so many calls in a row could fail without an effect:
# more than those in a row whose failure a query survives (an allocation for a
# further lane, giving things back).
QUIET_CALLS = 40
MOST_CALLS = 5000
RELEASE_SECONDS = 2.0

TABLE = """
    CREATE TABLE f AS SELECT i AS id, i % 1000 AS a, i % 12000 AS wide, (i * 7919) % 10007 AS b,
        ((i % 97) / 4.0)::numeric(10,2) AS n, CASE WHEN i % 11 <> 0 THEN 'text number ' || i % 40 END AS t
        FROM generate_series(1, 60000) i;
    -- An estimate that is too low, so that the table of groups has to grow.
    ALTER TABLE f ALTER wide SET (n_distinct = 20);
    CREATE TABLE g AS SELECT i AS id, (i * 31) % 101 AS b, 'text number ' || i % 60 AS t FROM generate_series(1, 4000) i"""
QUERIES = {
    "scan": "SELECT id, b FROM f WHERE b < 300 AND a > 10",
    "ungrouped": "SELECT count(*), sum(b), min(n), max(a), avg(n) FROM f WHERE a < 900",
    "grouped": "SELECT wide, count(*), sum(b) FROM f GROUP BY wide",
    "text": "SELECT t, count(*), max(b) FROM f WHERE t LIKE '%1%' GROUP BY t",
    # Join tables are copied to the GPU: a look-up in key order, and a hash table whose
    # text keys are repeated, of rows of another plan.
    "join": "SELECT f.id, g.b FROM f JOIN g ON g.id = f.a WHERE f.b < 900",
    "join, grouped": "SELECT g.t, count(*), sum(f.b) FROM f LEFT JOIN g ON g.id = f.wide AND g.b > 40 GROUP BY g.t",
    "join, many": "SELECT count(*), sum(f.b + h.id) FROM f JOIN (SELECT id, t FROM g OFFSET 0) h ON h.t = f.t"
                  " WHERE f.b < 200",
    "semi": "SELECT f.id FROM f WHERE f.b < 500 AND EXISTS (SELECT 1 FROM g WHERE g.id = f.wide AND g.b < f.b)",
    "sorted": "SELECT id, b FROM f ORDER BY b DESC, id LIMIT 200",
    "top groups": "SELECT a, sum(b), rank() OVER (ORDER BY sum(b)) FROM f GROUP BY a ORDER BY sum(b) DESC, a LIMIT 10",
    "anti": "SELECT count(*), max(f.b) FROM f WHERE NOT EXISTS (SELECT 1 FROM g WHERE g.id = f.wide)",
}
# What a fault can do to one statement: it sends a query back, and PostgreSQL's plan
# of a join has scans, which try the device again, each with the fault of its own.
MOST_REASONS = {name: 3 if " JOIN " in sql or "EXISTS" in sql else 1 for name, sql in QUERIES.items()}
# The others: GpuPreAgg.
NODES = {"scan": "GpuScan", "join": "GpuJoin", "semi": "GpuJoin", "sorted": "GpuSort", "top groups": "GpuSort"}


class Service:
    """turbined as the test sees it: counters, what the GPUs say together, restarts."""

    def __init__(self, server, gpus):
        self.server, self.gpus = server, gpus
        self.admin = server.connect(settings=OFF)

    def counters(self):
        rows = self.admin.query("SELECT counter, value FROM turbine.stat_queries")
        return {name: int(value) for name, value in rows if name.startswith("fallback_") or name == "host_instead"}

    def gpu(self):
        rows = self.admin.query("SELECT usable, memory_used, queries_running, message FROM turbine.devices"
                                " WHERE kind = 'cuda' ORDER BY index")[:self.gpus]
        return {"usable": all(row[0] == "t" for row in rows), "used": sum(int(row[1]) for row in rows),
                "running": sum(int(row[2]) for row in rows),
                "message": "; ".join(filter(None, (row[3] for row in rows)))} if rows else None

    def released(self):
        """Waits until the GPU holds nothing for queries; the complaint if it never does."""
        deadline = time.monotonic() + RELEASE_SECONDS
        while (gpu := self.gpu()) and (gpu["used"] or gpu["running"]):
            if time.monotonic() > deadline:
                return f"the device keeps {gpu['used']} bytes, {gpu['running']} queries"
            time.sleep(0.005)
        return None

    def restart(self):
        victim = self.server.service_pid()
        os.kill(victim, signal.SIGTERM)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            gpu = self.gpu() if self.server.service_pid() not in (None, victim) else None
            # The planner's copy of the device table is younger than the service's word.
            if gpu and gpu["usable"]:
                self.server.wait_for_service()
                return
            time.sleep(0.02)
        raise RuntimeError(f"no usable GPU 30 s after a restart; the log ends:\n{self.server.log_tail()}")


class Bench:
    def __init__(self, service, options):
        self.service, self.options = service, options
        self.deadline = time.monotonic() + options.seconds
        self.passed = self.failed = 0
        self.reasons = set()
        with service.server.connect(settings=OFF) as session:
            self.expected = {name: session.run(sql) for name, sql in QUERIES.items()}
        self.session = None

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"  {name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def connect(self):
        if self.session:
            self.session.close()
        gpus = {"pg_turbine.device": "gpu0", "pg_turbine.split_over_gpus": "off"} if self.service.gpus == 1 else \
            {"pg_turbine.device": "gpu", "pg_turbine.split_over_gpus": "on"}
        self.session = self.service.server.connect(settings={**FORCED, **gpus, "pg_turbine.direct_threshold": "0"})

    def run(self, name, nth_call, result):
        """Runs a query with a fault; returns the reasons that were counted."""
        fault = f"{nth_call}:{result}" if nth_call else ""
        before = self.service.counters()
        self.session.query(f"SET pg_turbine.debug_fault = '{fault}'")
        outcome = self.session.run(QUERIES[name])
        after = self.service.counters()
        reasons = {key: after[key] - before[key] for key in after if after[key] != before[key]}
        self.check(f"{name}, {fault}, answer", answers.difference(self.expected[name], outcome))
        self.reasons.update(reasons)
        return reasons

    def unharmed(self, name):
        """Without a fault: the GPU does the work again, to the end."""
        reasons = self.run(name, 0, 0)
        self.check(f"{name}, no fault", f"counted {reasons}" if reasons else None)

    def fail_every_call(self, name, result, own_reasons):
        """A result that leaves the context whole, at every call; returns the last call that mattered."""
        last, nth_call, started, hits = 0, 0, time.monotonic(), 0
        quiet = max(QUIET_CALLS, 3 * self.options.every)
        while nth_call - last < quiet and nth_call < MOST_CALLS:
            nth_call += self.options.every
            where = f"{name}, {nth_call}:{result}"
            reasons = self.run(name, nth_call, result)
            wrong = sum(reasons.values()) > MOST_REASONS[name] or not set(reasons) <= own_reasons
            self.check(f"{where}, counted", f"{reasons}" if wrong else None)
            if set(reasons) & own_reasons:
                last, hits = nth_call, hits + 1
            self.check(f"{where}, released", self.service.released())
            gpu = self.service.gpu()
            self.check(f"{where}, usable", None if gpu and gpu["usable"] else f"{gpu}")
            if time.monotonic() > self.deadline:
                print(f"  {name}, result {result}: stopped after {nth_call} calls, --seconds is over", flush=True)
                break
        print(f"  {name}, result {result}: {hits} of {nth_call // self.options.every} failing calls sent the query back, the last was call "
              f"{last}, {time.monotonic() - started:.1f} s", flush=True)
        self.check(f"{name}, result {result}, faults were made", None if hits * self.options.every >= 10 else f"only {hits} had an effect")
        self.unharmed(name)
        return last

    def lose_device(self, name, nth_call, result):
        """A result that does not: the device is out of use until turbined restarts."""
        reasons = self.run(name, nth_call, result)
        # How often the worker looks, and so the number of calls, varies: this time there may have been fewer.
        while not reasons and nth_call > 1:
            nth_call //= 2
            reasons = self.run(name, nth_call, result)
        where = f"{name}, {nth_call}:{result}"
        told = 1 <= sum(reasons.values()) <= MOST_REASONS[name]
        self.check(f"{where}, counted", None if told else f"{reasons}")
        gpu = self.service.gpu()
        self.check(f"{where}, out of use", None if gpu and not gpu["usable"] and gpu["message"] else f"{gpu}")
        self.check(f"{where}, released", self.service.released())
        self.run(name, 0, 0)  # without the device
        self.check(f"{where}, stays out of use", None if not self.service.gpu()["usable"] else "it came back")
        self.service.restart()
        self.connect()

    def lose_device_at(self, name, last_call):
        # Not to the end: the number of calls varies.
        last_call = last_call * 3 // 4
        points = sorted({1 + (last_call - 1) * i // max(1, self.options.sticky - 1) for i in range(self.options.sticky)})
        started, done = time.monotonic(), 0
        for i, nth_call in enumerate(points):
            if time.monotonic() > self.deadline:
                print(f"  {name}: stopped, --seconds is over", flush=True)
                break
            self.lose_device(name, nth_call, STICKY[i % len(STICKY)])
            done += 1
        self.unharmed(name)
        print(f"  {name}: device lost at {done} calls, {time.monotonic() - started:.1f} s", flush=True)

    def log_tells(self):
        """A line for every reason that was counted (not for every time: the log is spared)."""
        log = self.service.server.logfile.read_text(errors="replace")
        for reason in sorted(self.reasons):
            line = "the host device does the work" if reason == "host_instead" else \
                f"went back to PostgreSQL ({reason.removeprefix('fallback_')})"
            self.check(f"log, {reason}", None if line in log else f"no line with: {line}")
        self.check("reasons", None if self.reasons else "nothing was counted")
        told = [line for line in log.splitlines() if "stand-in driver:" in line]
        self.check("stand-in driver", "; ".join(told[:5]) if told else None)

    def rights(self):
        """The setting is a superuser's, and takes only what it can mean."""
        self.service.admin.query("CREATE ROLE plain LOGIN")
        with self.service.server.connect(user="plain") as session:
            outcome = session.run("SET pg_turbine.debug_fault = '1:2'")
            self.check("rights", None if outcome.sqlstate == "42501" else answers.describe_error(outcome))
        for value in ("1", "x", "0:2", "1:0", "1:2x", "-1:2", "1:70000", "5000000000:2", " 1:2"):
            outcome = self.service.admin.run(f"SET pg_turbine.debug_fault = '{value}'")
            self.check(f"value {value!r}", None if outcome.sqlstate == "22023" else answers.describe_error(outcome))


def run(options):
    with cluster.Cluster("gpu-faults") as server:
        service = Service(server, options.gpus)
        if int(service.admin.value("SELECT count(*) FROM turbine.devices WHERE kind = 'cuda'")) < options.gpus:
            return None
        service.admin.query(TABLE)
        service.admin.query("VACUUM ANALYZE f")
        service.admin.query("VACUUM ANALYZE g")
        bench = Bench(service, options)
        bench.connect()
        bench.rights()
        for name, sql in QUERIES.items():
            node = workload.custom_scan(workload.explain(bench.session, sql, analyze=False))
            wanted = NODES.get(name, "GpuPreAgg")
            found = node["Custom Plan Provider"] if node else None
            bench.check(f"{name}, plan", None if found == wanted else f"{found}, not {wanted}")
            joined = found == "GpuJoin" or node and node.get("Combined GpuJoin") == "enabled"
            if MOST_REASONS[name] > 1:
                bench.check(f"{name}, joined", None if joined else "the join stayed with PostgreSQL")
            bench.run(name, 0, 0)  # compiles
            bench.unharmed(name)
        bench.reasons.clear()
        if bench.failed:
            return bench  # what fails without a fault says nothing with one
        last = {name: bench.fail_every_call(name, OUT_OF_MEMORY, {"fallback_device_memory", "host_instead"})
                for name in QUERIES}
        # A trace asks the driver for more.
        bench.session.query(f"SET pg_turbine.trace_file = '{server.directory}/trace.json'")
        bench.fail_every_call("join, grouped", OUT_OF_MEMORY, {"fallback_device_memory", "host_instead"})
        bench.session.query("RESET pg_turbine.trace_file")
        bench.fail_every_call("grouped", LAUNCH_OUT_OF_RESOURCES, {"fallback_device_lost", "host_instead"})
        for name in QUERIES:
            bench.lose_device_at(name, last[name])
        bench.session.close()
        service.restart()  # what it leaks it tells at its end
        bench.log_tells()
    return bench


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", choices=("auto", "gpu", "stand-in"), default="auto")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--sticky", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    if options.driver == "stand-in" or (options.driver == "auto" and not has_driver()):
        print("no GPU: a stand-in driver, which interprets kernels", flush=True)
        with stand_in(gpus=options.gpus) as report:
            bench = run(options) if report else None
    else:
        bench = run(options)
    if bench is None:
        print("skipped: too few GPUs\n0 passed, 0 failed")
        return 1 if options.driver == "gpu" else 0
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
