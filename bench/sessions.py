#!/usr/bin/env python3
"""sessions.py - how much several sessions get done together: rounds a second.

A round is each of some Star Schema queries once. 1, 4, 8 and 32 sessions go through
their rounds for some seconds, each starting with another query; after a warm-up
every answer is compared with the first. Engines: PostgreSQL with its parallel
workers, and pg_turbine on each device, with a cache of any size and without one. Writes sessions.json and sessions.md.
Exit status 1 if an answer differed, or if pg_turbine did less with several sessions
than `--least` of what one does.
Called by: make bench-sessions [BENCH_ARGS=...].
"""

import argparse
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from report_tables import Variant, load_ssb  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--queries", default="q1_1,q3_1")
    parser.add_argument("--sessions", default="1,4,8,32")
    parser.add_argument("--seconds", type=float, default=8, help="at least, for each number of sessions")
    parser.add_argument("--repeat", type=int, default=3, help="times each number is measured, in turn; the median counts")
    parser.add_argument("--workers", type=int, default=min(16, os.cpu_count() or 2))
    parser.add_argument("--devices", default="", help="pg_turbine.device, comma-separated; default: those there are")
    parser.add_argument("--no-postgres", action="store_true")
    parser.add_argument("--never-vacuumed", action="store_true")
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--trace", default="", help="folder for a trace of each number of sessions")
    parser.add_argument("--shared-buffers", default="2GB")
    parser.add_argument("--cache-size", default="", help="pg_turbine.cache_size_host; compares with enable_cache = off")
    parser.add_argument("--cache-size-gpu", default="", help="pg_turbine.cache_size_gpu")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


class Crowd:
    """`count` sessions that run the queries in turn until told to stop."""

    def __init__(self, server, settings, queries, count):
        self.queries = queries
        self.sessions = []
        self.done = [(0, 0.0)] * count     # queries, and seconds until the last of them ended
        self.different = 0
        self.stop = threading.Event()
        for _ in range(count):
            session = server.connect()
            workload.apply(session, workload.Plan("crowd", settings))
            self.sessions.append(session)

    def run(self, seconds, expected):
        """Rounds a second."""
        threads = [threading.Thread(target=self._one, args=(i, expected)) for i in range(len(self.sessions))]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        while True:
            time.sleep(0.1)
            done = list(self.done)
            elapsed = time.monotonic() - started
            if elapsed > 20 * seconds or elapsed > seconds and min(queries for queries, _ in done) >= 2:
                break
        self.stop.set()
        for thread in threads:
            thread.join()
        return sum(queries / (ended - started) for queries, ended in done if queries) / len(self.queries)

    def _one(self, index, expected):
        turn = index
        while not self.stop.is_set():
            name = list(self.queries)[turn % len(self.queries)]
            rows = self.sessions[index].query(self.queries[name])
            if not workload.same_answer(expected[name], rows):
                self.different += 1
            self.done[index] = (self.done[index][0] + 1, time.monotonic())
            turn += 1

    def close(self):
        for session in self.sessions:
            session.close()


def engines_of(server, options):
    with server.connect() as session:
        kinds = [kind for kind, in session.query("SELECT kind FROM turbine.devices WHERE usable")]
    devices = options.devices.split(",") if options.devices else \
        ["cpu"] + (["gpu"] if any(kind != "host" for kind in kinds) else [])
    common = {"max_parallel_workers_per_gather": str(options.workers), "work_mem": "64MB"}
    engines = {} if options.no_postgres else \
        {f"PostgreSQL, {options.workers} workers": {**common, "pg_turbine.enabled": "off"}}
    for device in devices:
        engines[f"pg_turbine, {device}"] = {**common, "pg_turbine.device": device}
        if options.cache_size:
            engines[f"pg_turbine, {device}, no cache"] = {**common, "pg_turbine.device": device,
                                                          "pg_turbine.enable_cache": "off"}
    return engines


def measure(server, options):
    queries = {name: ssb.QUERIES[name] for name in options.queries.split(",")}
    numbers = [int(n) for n in options.sessions.split(",")]
    with server.connect() as session:
        session.query("SET pg_turbine.enabled = off")
        expected = {name: session.query(sql) for name, sql in queries.items()}
    results, different = {}, 0
    for label, settings in engines_of(server, options).items():
        warm = Crowd(server, settings, queries, 2)
        warm.run(3, expected)   # compiles, fully too
        warm.close()
        rates = {n: [] for n in numbers}
        for repeat in range(options.repeat):
            for n in numbers:
                own = dict(settings)
                if options.trace and repeat == 0 and label.startswith("pg_turbine"):
                    own["pg_turbine.trace_file"] = str(Path(options.trace) / f"{label.split()[-1]}-{n}.json")
                crowd = Crowd(server, own, queries, n)
                rates[n].append(crowd.run(options.seconds, expected))
                different += crowd.different
                crowd.close()
        results[label] = {n: round(statistics.median(r), 3) for n, r in rates.items()}
        log(f"  {label}: " + ", ".join(f"{n}: {rate:.2f} ({min(rates[n]):.2f}-{max(rates[n]):.2f})"
                                       for n, rate in results[label].items()))
    return results, different


def markdown(results, options):
    numbers = list(next(iter(results.values())))
    lines = [f"# Rounds a second, queries {options.queries}, scale factor {options.sf:g}, {os.cpu_count()} processors",
             "", "| sessions | " + " | ".join(map(str, numbers)) + " |", "|---" * (len(numbers) + 1) + "|"]
    for label, rates in results.items():
        lines.append(f"| {label} | " + " | ".join(f"{rates[n]:.2f}" for n in numbers) + " |")
    return "\n".join(lines)


def main():
    options = parse_arguments()
    settings = {"shared_buffers": options.shared_buffers, "max_wal_size": "16GB", "random_page_cost": "1.1",
                "max_parallel_workers": str(max(8, options.workers)),
                "max_worker_processes": str(max(16, options.workers + 8)),
                "max_connections": str(20 + max(int(n) for n in options.sessions.split(","))), **cluster.AS_INSTALLED}
    if options.cache_size:
        settings["pg_turbine.cache_size_host"] = options.cache_size
    if options.cache_size_gpu:
        settings["pg_turbine.cache_size_gpu"] = options.cache_size_gpu
    with cluster.Cluster("sessions", settings=settings) as server:
        log(f"loading ssb, scale factor {options.sf:g}")
        load_ssb(server, options.sf, Variant(vacuumed=not options.never_vacuumed))
        with server.connect() as session:
            session.query("CHECKPOINT")
        results, different = measure(server, options)
        with server.connect() as session:
            cached = int(session.value("SELECT coalesce(sum(bytes), 0) FROM turbine.column_cache"))
            log(f"cached at the end: {cached / 1e6:.1f} MB")
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sessions.json").write_text(json.dumps({"settings": vars(options), "results": results}, indent=1))
    text = markdown(results, options)
    (folder / "sessions.md").write_text(text + "\n")
    print(text)
    if different:
        log(f"{different} answers differed")
    less = [f"{label}, {n} sessions" for label, rates in results.items() if label.startswith("pg_turbine")
            for n, rate in rates.items() if rate < options.least * rates[min(rates)]]
    if less:
        log("less than asked: " + "; ".join(less))
    return 1 if different or less else 0


if __name__ == "__main__":
    sys.exit(main())
