#!/usr/bin/env python3
"""streaming.py - where the time of a scan goes: reading, transfer, decode, kernels.

Loads lineorder, vacuums it, and runs scans and aggregates over it on one device,
warm, printing the median and, of the median's neighbour under EXPLAIN (ANALYZE,
VERBOSE), the service's phases. Their times are sums over threads and over chunks
that overlap; GB/s is the table's size over the query's time.
Needs python3 and the built tree or a bundle (TURBINE_PG_BIN). Called by hand.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import workload  # noqa: E402

QUERIES = {
    "scan, few rows": "SELECT lo_orderkey FROM lineorder WHERE lo_discount = 3 AND lo_quantity = 7 AND lo_tax = 1"
                      " AND lo_custkey < 3000",
    "count": "SELECT count(*) FROM lineorder WHERE lo_quantity < 25",
    "sum": "SELECT sum(lo_extendedprice * lo_discount) FROM lineorder WHERE lo_orderdate BETWEEN 19930101 AND 19931231"
           " AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25",
    "group by discount": "SELECT lo_discount, count(*), sum(lo_revenue) FROM lineorder GROUP BY lo_discount",
    "group by customer": "SELECT lo_custkey, count(*), sum(lo_revenue) FROM lineorder GROUP BY lo_custkey",
}
STAGES = ("Read Time", "Transfer Time", "Decode Time", "Compute Time", "Finish Time")


def stages_of(session, sql):
    """The engine's node of EXPLAIN (ANALYZE, VERBOSE)."""
    text = session.value(f"EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {sql}")
    return workload.custom_scan(list(workload.plan_nodes(json.loads(text)[0]["Plan"])))


def measure(server, options):
    with server.connect() as session:
        workload.apply(session, workload.accelerated(options.device, workers=0, force=True))
        size = int(session.value("SELECT pg_relation_size('lineorder')"))
        print(f"lineorder: {size / 1e9:.2f} GB, direct_threshold {session.value('SHOW pg_turbine.direct_threshold')}, "
              f"shared_buffers {session.value('SHOW shared_buffers')}")
        print(f"{'query':20} {'first':>8} {'median':>8} {'GB/s':>6} {'read':>8} {'copy':>8} {'decode':>8} {'kernels':>8} "
              f"{'finish':>8}  ms; device")
        for name, sql in QUERIES.items():
            first, _ = workload.timed(session, sql)
            median = statistics.median(workload.timed(session, sql)[0] for _ in range(options.runs))
            node = stages_of(session, sql) or {}
            times = " ".join(f"{node.get(stage, 0):8.1f}" for stage in STAGES)
            print(f"{name:20} {first:8.1f} {median:8.1f} {size / median / 1e6:6.1f} {times}  {node.get('Device', '?')} "
                  f"{node.get('Fallback', '')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=10)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--shared-buffers", default="1GB")
    options = parser.parse_args()
    settings = {"shared_buffers": options.shared_buffers, "work_mem": "256MB", "max_wal_size": "32GB",
                "wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "30min"}
    started = time.monotonic()
    with cluster.Cluster("streaming", settings=settings) as server:
        workload.load_table(server, "lineorder", 0, options.sf, max(1, min(16, os.cpu_count() or 2)))
        with server.connect() as session:
            session.query("VACUUM (FREEZE, ANALYZE) lineorder")
            session.query("CHECKPOINT")
        print(f"loaded in {time.monotonic() - started:.0f} s", flush=True)
        measure(server, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
