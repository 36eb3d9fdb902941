#!/usr/bin/env python3
"""foundation.py - benchmark of scans and aggregation against PostgreSQL itself.

The demo's queries, warm medians, over vacuumed tables (all-visible: blocks are
read directly) and over never-vacuumed copies (every block through the
buffers): plain without workers, plain with 2 workers, accelerated, taking turns.
Answers are compared; a wrong one fails the run. First executions are measured apart: as
often as asked for, the server is started with no compiled code left, and each
query runs once. Writes a JSON file and a Markdown table.
Needs python3 and the built tree or a bundle (TURBINE_PG_BIN), no network.
Called by: make bench-foundation.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402

STATES = ("vacuumed", "never vacuumed")
CODE_FOLDER = "pg_turbine/cache"  # below the data directory: compiled code


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def load(server, options):
    """Both copies of t and lineorder: those in schema `fresh` are never vacuumed."""
    parts = max(1, min(8, (os.cpu_count() or 2) // 2))
    with server.connect() as session:
        session.query("CREATE SCHEMA fresh")
    for table in ("t", "lineorder"):
        log(f"loading {table}")
        workload.load_table(server, table, options.rows, options.sf, parts)
        with server.connect() as session:
            session.query(f"CREATE TABLE fresh.{table} (LIKE public.{table}) WITH (autovacuum_enabled = off)")
            session.query(f"INSERT INTO fresh.{table} SELECT * FROM public.{table}")
            session.query(f"ANALYZE fresh.{table}")
            session.query(f"VACUUM (ANALYZE) public.{table}")
            session.query("CHECKPOINT")


def prepare(session, state, plan, query):
    """Rows of the first of two executions, after which code and pages are warm."""
    session.query(f"SET search_path = {'public' if state == STATES[0] else 'fresh'}")
    workload.apply(session, plan)
    rows = workload.timed(session, query.sql)[1]
    workload.timed(session, query.sql)
    return rows


def entry_of(session, query, times):
    """{'warm': median ms, 'runs': [...], 'node': of EXPLAIN}"""
    entry = {"warm": round(statistics.median(times), 2), "runs": [round(t, 2) for t in times]}
    node = workload.custom_scan(workload.explain(session, query.sql))
    if node:
        entry["node"] = {key: value for key, value in node.items() if not key.startswith(("Plan", "Output"))}
    return entry


def measure(server, state, plans, query, runs):
    """An entry of each plan by its label, and whether all gave the same rows. The
    plans take turns, so that what else the machine does meets each of them."""
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(server.connect()) for _ in plans]
        answers = [prepare(session, state, plan, query) for session, plan in zip(sessions, plans, strict=True)]
        times = [[workload.timed(session, query.sql)[0] for session in sessions] for _ in range(runs)]
        entries = {plan.label: entry_of(session, query, [round_times[i] for round_times in times])
                   for i, (session, plan) in enumerate(zip(sessions, plans, strict=True))}
    return entries, all(workload.same_answer(answers[0], other) for other in answers[1:])


def run(server, options):
    """[{'query', 'state', 'plain', 'plain, 2 workers', 'accelerated', 'equal'}]"""
    plans = (workload.PLAIN, workload.PLAIN_PARALLEL, workload.accelerated(options.device, force=options.force))
    results = []
    for state in STATES:
        for query in workload.QUERIES:
            entries, equal = measure(server, state, plans, query, options.runs)
            entry = {"query": query.name, "state": state, "equal": equal, **entries}
            results.append(entry)
            log(f"  {state}, {query.name}: " + ", ".join(f"{p.label} {entry[p.label]['warm']:.1f}" for p in plans)
                + ("" if entry["equal"] else "  DIFFERENT ANSWER"))
    return results


def measure_firsts(server, options, results):
    """Adds 'firsts' (one of each round) and 'first', their median, to the accelerated entries."""
    plan = workload.accelerated(options.device, force=options.force)
    for number in range(options.firsts):
        log(f"  first executions, round {number + 1}")
        server.stop()
        shutil.rmtree(server.data / CODE_FOLDER, ignore_errors=True)
        server.start()
        with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
            for schema in ("public", "fresh"):
                session.query(f"SELECT count(*) FROM {schema}.t; SELECT count(*) FROM {schema}.lineorder")
        with server.connect() as session:  # the service has started, and its compiler
            workload.apply(session, workload.accelerated(options.device, force=True))
            session.query("SELECT count(*) FROM fresh.t WHERE id < 0")
        for entry in results:
            query = next(q for q in workload.QUERIES if q.name == entry["query"])
            with server.connect() as session:
                session.query(f"SET search_path = {'public' if entry['state'] == STATES[0] else 'fresh'}")
                workload.apply(session, plan)
                entry["accelerated"].setdefault("firsts", []).append(round(workload.timed(session, query.sql)[0], 2))
    for entry in results:
        entry["accelerated"]["first"] = statistics.median(entry["accelerated"]["firsts"])


def markdown(report):
    lines = [f"# Scans and aggregation, {report['processor']}, {report['processors']} processors", "",
             f"Devices: {', '.join(report['devices'])}. {report['settings']['rows']:,} rows of t, scale factor "
             f"{report['settings']['sf']:g}; medians of {report['settings']['runs']} warm runs, ms.", ""]
    for state in STATES:
        rows = [r for r in report["results"] if r["state"] == state]
        lines += [f"## {state}", "",
                  "| query | plain | plain, 2 workers | accelerated | first | speed-up | vs 2 workers | device |",
                  "|---|---|---|---|---|---|---|---|"]
        for r in rows:
            plain, workers, fast = r["plain"]["warm"], r["plain, 2 workers"]["warm"], r["accelerated"]["warm"]
            node = r["accelerated"].get("node")
            lines.append(f"| {r['query']} | {plain:.1f} | {workers:.1f} | {fast:.1f} | {r['accelerated']['first']:.1f} | "
                         f"{plain / fast:.1f} | {workers / fast:.1f} | {node.get('Device', '?') if node else 'PostgreSQL'} |")
        mean = statistics.geometric_mean(r["plain"]["warm"] / r["accelerated"]["warm"] for r in rows)
        other = statistics.geometric_mean(r["plain, 2 workers"]["warm"] / r["accelerated"]["warm"] for r in rows)
        lines += [f"| geometric mean | | | | | {mean:.1f} | {other:.1f} | |", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--firsts", type=int, default=5, help="first executions of each query")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--shared-buffers", default="1GB")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"), help="folder for foundation.json and .md")
    options = parser.parse_args()
    settings = {"shared_buffers": options.shared_buffers, "work_mem": "256MB", "max_wal_size": "16GB"}
    with cluster.Cluster("bench", settings=settings) as server:
        load(server, options)
        with server.connect() as session:
            devices = [f"{kind} {name}" for kind, name in session.query("SELECT kind, name FROM turbine.devices")]
        results = run(server, options)
        measure_firsts(server, options, results)
    report = {"processor": processor(), "processors": os.cpu_count(), "devices": devices, "settings": vars(options),
              "results": results}
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "foundation.json").write_text(json.dumps(report, indent=1))
    (folder / "foundation.md").write_text(markdown(report))
    print(markdown(report))
    return 0 if all(r["equal"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
