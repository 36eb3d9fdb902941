#!/usr/bin/env python3
"""brin.py - a window of an append-ordered log: PostgreSQL's bitmap scan, and ours without and with BRIN.

Loads a log table of --rows rows in the order of their time, with a BRIN index on
it, and aggregates and returns rows of windows of 1 % and 10 %. Prints medians of
warm runs in ms, the blocks that were read, and stops if two answers differ.
Needs python3 and the built tree or a bundle (TURBINE_PG_BIN). Called by hand.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import workload  # noqa: E402

# Seconds from one row to the next: the window below is so many days.
ROWS_A_DAY = 86400
SQL = {
    "aggregate": "SELECT host, count(*), sum(bytes), avg(millis), max(taken) FROM log WHERE {} AND status < 500 GROUP BY host",
    "rows": "SELECT taken, host, path FROM log WHERE {} AND status >= 500 AND millis > 40",
}
WAYS = {
    "PostgreSQL, sequential": {"pg_turbine.enabled": "off", "enable_bitmapscan": "off", "max_parallel_workers_per_gather": "0"},
    "PostgreSQL, BRIN": {"pg_turbine.enabled": "off", "enable_seqscan": "off", "max_parallel_workers_per_gather": "0"},
    "ours, without": {"pg_turbine.debug_force_offload": "on", "pg_turbine.enable_brin": "off"},
    "ours, BRIN": {"pg_turbine.debug_force_offload": "on"},
}


def load(session, rows):
    session.query("CREATE TABLE log (taken timestamp, host int, status smallint, bytes int, millis float8, path text)")
    session.query("INSERT INTO log SELECT timestamp '2024-01-01' + i * interval '1 second', i % 200, "
                  "(ARRAY[200, 200, 200, 304, 404, 500])[1 + i % 6], i % 9000, (i % 641) / 8.0, '/item/' || i % 100000 "
                  f"FROM generate_series(0, {rows - 1}) i")
    session.query("CREATE INDEX log_taken ON log USING brin (taken)")
    session.query("VACUUM (FREEZE, ANALYZE) log")
    session.query("CHECKPOINT")


def blocks_read(session, sql):
    """What EXPLAIN (ANALYZE) says was looked at."""
    plan = json.loads(session.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}"))[0]["Plan"]
    for node in workload.plan_nodes(plan):
        if "Blocks Buffered" in node:
            return node["Blocks Buffered"] + node["Blocks Direct"] + node["Blocks Cached"]
        if "Lossy Heap Blocks" in node:
            return node["Lossy Heap Blocks"] + node["Exact Heap Blocks"]
    return int(session.value("SELECT pg_relation_size('log') / 8192"))


def measure(server, settings, device, sql, runs):
    with server.connect(settings={**settings, "pg_turbine.device": device}) as session:
        answer = sorted(session.query(sql))
        session.query(sql)
        times = [workload.timed(session, sql)[0] for _ in range(runs)]
        return statistics.median(times), blocks_read(session, sql), answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    with cluster.Cluster("bench-brin", settings={"shared_buffers": "512MB", "work_mem": "64MB"}) as server:
        with server.connect() as session:
            load(session, options.rows)
        days = options.rows / ROWS_A_DAY
        for share in (0.01, 0.1):
            first = days * 0.6
            window = (f"taken >= timestamp '2024-01-01' + interval '{first * ROWS_A_DAY:.0f} seconds' AND "
                      f"taken < timestamp '2024-01-01' + interval '{(first + days * share) * ROWS_A_DAY:.0f} seconds'")
            for name, text in SQL.items():
                expected = None
                for way, settings in WAYS.items():
                    median, blocks, answer = measure(server, settings, options.device, text.format(window), options.runs)
                    print(f"{share:4.0%} {name:10} {way:24} {median:9.1f} ms {blocks:8} blocks", flush=True)
                    if expected is not None and not workload.same_answer(expected, answer, float_columns=(3,)):
                        print("the answers differ")
                        return 1
                    expected = answer
    return 0


if __name__ == "__main__":
    sys.exit(main())
