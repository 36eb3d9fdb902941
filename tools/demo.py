#!/usr/bin/env python3
"""demo.py - `make demo`: the same queries, plain and accelerated, side by side.

Starts a private server in a temporary folder, generates its tables, runs every
query of workload.py plain (without and with 2 parallel workers) and
accelerated (first and warm), checks that all answers are equal, and prints
times, speed-ups and the device that did it. Leaves nothing running.
Exit status: 0 only if every answer was equal and every query was accelerated
where --require-offload asks for it.
"""

import argparse
import os
import statistics
import sys
import time

import cluster
import workload
from cluster import log


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of t (default 5,000,000)")
    parser.add_argument("--sf", type=float, default=1.0, help="scale factor of the Star Schema Benchmark (default 1)")
    parser.add_argument("--runs", type=int, default=3, help="warm runs a query; the median counts")
    parser.add_argument("--device", default="auto", help="pg_turbine.device")
    parser.add_argument("--shared-buffers", default="512MB")
    parser.add_argument("--force", action="store_true", help="offload whatever the planner's costs say")
    parser.add_argument("--require-offload", action="store_true", help="fail if a query was not accelerated")
    return parser.parse_args()


def load(server, options):
    parts = max(1, min(4, os.cpu_count() or 1))
    for table in workload.TABLES:
        started = time.monotonic()
        rows = workload.load_table(server, table, options.rows, options.sf,
                                   parts if table in ("t", "lineorder") else 1)
        with server.connect() as session:
            session.query(f"VACUUM (FREEZE, ANALYZE) {workload.table_name(table)}")
        log(f"  {workload.table_name(table)}: {rows:,} rows, {time.monotonic() - started:.1f} s")


def measure(server, plan, sql, runs):
    """(first ms, warm median ms, rows) in a fresh session."""
    with server.connect() as session:
        workload.apply(session, plan)
        first, rows = workload.timed(session, sql)
        warm = [workload.timed(session, sql)[0] for _ in range(runs)]
        return first, statistics.median(warm), rows


def where_it_ran(server, plan, query):
    """(node name or '-', device) from EXPLAIN ANALYZE."""
    with server.connect() as session:
        workload.apply(session, plan)
        node = workload.custom_scan(workload.explain(session, query.sql))
    if node is None:
        return "-", "PostgreSQL"
    return node["Custom Plan Provider"], node.get("Device", "?")


def run_query(server, query, options):
    """One line of the table; returns (equal, accelerated, speed-ups)."""
    fast = workload.accelerated(options.device, force=options.force)
    plain = measure(server, workload.PLAIN, query.sql, options.runs)
    parallel = measure(server, workload.PLAIN_PARALLEL, query.sql, options.runs)
    first = measure(server, fast, query.sql, options.runs)
    equal = workload.same_answer(plain[2], first[2]) and workload.same_answer(plain[2], parallel[2])
    node, device = where_it_ran(server, fast, query)
    print(f"{query.name:<20}{plain[1]:>10.1f}{parallel[1]:>11.1f}{first[0]:>10.1f}{first[1]:>10.1f}"
          f"{plain[1] / first[1]:>8.1f}x{parallel[1] / first[1]:>8.1f}x  {'yes' if equal else 'NO':<7}"
          f"{node:<11}{device}",
          flush=True)
    return equal, node != "-", (plain[1] / first[1], parallel[1] / first[1])


def main():
    options = parse_arguments()
    settings = {"shared_buffers": options.shared_buffers, "work_mem": "64MB", "autovacuum": "off"}
    log("starting a private server")
    with cluster.Cluster("demo", settings=settings) as server:
        log("generating tables")
        load(server, options)
        print(f"{'query (times in ms)':<20}{'plain':>10}{'2 workers':>11}{'first':>10}{'warm':>10}"
              f"{'vs plain':>9}{'vs 2 w.':>9}  {'equal':<7}{'node':<11}device")
        outcomes = [run_query(server, query, options) for query in workload.QUERIES]
        with server.connect() as session:
            devices = session.query("SELECT * FROM turbine.devices")
    print("devices:")
    for row in devices:
        print("  " + " | ".join("" if value is None else value for value in row))
    ratios = [ratios for _, _, ratios in outcomes]
    print(f"geometric mean: {statistics.geometric_mean(r[0] for r in ratios):.1f}x plain, "
          f"{statistics.geometric_mean(r[1] for r in ratios):.1f}x plain with 2 workers")
    wrong = sum(not equal for equal, _, _ in outcomes)
    missing = sum(not fast for _, fast, _ in outcomes)
    print(f"{len(outcomes) - wrong} of {len(outcomes)} answers equal, {len(outcomes) - missing} accelerated")
    return 1 if wrong or (missing and options.require_offload) else 0


if __name__ == "__main__":
    sys.exit(main())
