#!/usr/bin/env python3
"""reports.py - SSB's 13 queries, TPC-H's 22 and 43 of a web log: PostgreSQL
without and with workers, pg_turbine on each device, and DuckDB on the same rows.

Every run of a query goes through all engines in turn, so that a noisy moment
hits them alike; the warm median counts. Answers are compared: pg_turbine's
exactly with PostgreSQL's, DuckDB's up to formatting. Writes reports.json,
reports.md and a chart a suite. Exit status 1 if an answer differed.
Called by: make bench [Q=q2_1] [BENCH_ARGS=...].
"""

import argparse
import json
import os
import platform
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import chart  # noqa: E402
import cluster  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from engines import DuckEngine, PostgresEngine, agrees  # noqa: E402
from report_tables import DIALECTS, SUITES, Variant  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=[*SUITES, "all"], default="all")
    parser.add_argument("--query", default="", help="one query only: q1_1 ... q4_3, h1 ... h22, w1 ... w43")
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=5, help="warm runs of each query")
    parser.add_argument("--workers", type=int, default=min(16, len(os.sched_getaffinity(0))),
                        help="parallel workers of PostgreSQL's faster plan")
    parser.add_argument("--devices", default="", help="pg_turbine.device, comma-separated; default: those there are")
    parser.add_argument("--never-vacuumed", action="store_true")
    parser.add_argument("--partitioned", choices=["hash", "range"], default="",
                        help="lineorder, lineitem, orders and page_views")
    parser.add_argument("--numeric", action="store_true", help="SSB's measures as numeric(12,2)")
    parser.add_argument("--force", action="store_true", help="offload whatever the costs say")
    parser.add_argument("--serial", action="store_true", help="also PostgreSQL without workers")
    parser.add_argument("--no-duckdb", action="store_true")
    parser.add_argument("--no-postgres", action="store_true", help="pg_turbine and DuckDB only")
    parser.add_argument("--timeout", type=int, default=120, help="seconds a run of a query may take")
    parser.add_argument("--shared-buffers", default="2GB")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def devices_of(server, options):
    with server.connect() as session:
        rows = session.query("SELECT kind, name FROM turbine.devices WHERE usable")
    if options.devices:
        chosen = options.devices.split(",")
    else:
        chosen = ["cpu"] + (["gpu"] if any(kind != "host" for kind, _ in rows) else [])
    return chosen, [f"{kind} {name}" for kind, name in rows]


def make_engines(server, suite, devices, options):
    workers = str(options.workers)
    common = {"statement_timeout": f"{options.timeout}s", "work_mem": "512MB"}
    engines = []
    if options.serial and not options.no_postgres:
        engines.append(PostgresEngine(server, "PostgreSQL, no workers",
                                      {**common, "pg_turbine.enabled": "off", "max_parallel_workers_per_gather": "0"}))
    if not options.no_postgres:
        engines.append(PostgresEngine(server, f"PostgreSQL, {workers} workers",
                                      {**common, "pg_turbine.enabled": "off", "max_parallel_workers_per_gather": workers}))
    for device in devices:
        engines.append(PostgresEngine(server, f"pg_turbine, {device}",
                                      {**common, "pg_turbine.device": device,
                                       "max_parallel_workers_per_gather": workers,
                                       "pg_turbine.debug_force_offload": "on" if options.force else "off"}))
    if not options.no_duckdb:
        try:
            log("  loading DuckDB")
            engines.append(DuckEngine(server, SUITES[suite][2], len(os.sched_getaffinity(0)), DIALECTS.get(suite)))
        except ImportError:
            log("  DuckDB is not installed (pip install duckdb): left out")
    return engines


def measure(engines, sql, options):
    """{label: {'first', 'warm', 'runs', 'equal', ...}} of one query."""
    entry = {engine.label: {"runs": []} for engine in engines}
    reference = None
    for run in range(options.runs + 1):
        for engine in engines:
            mine = entry[engine.label]
            if "error" in mine:
                continue
            try:
                ms, rows = engine.run(sql)
            except Exception as error:  # noqa: BLE001 - an engine's failure is a result
                mine["error"] = str(error)[:200]
                continue
            if run == 0:
                mine["first"] = round(ms, 2)
                if reference is None:
                    reference = rows
                exact = isinstance(engine, PostgresEngine)
                mine["equal"] = workload.same_answer(reference, rows) if exact else agrees(reference, rows)
            else:
                mine["runs"].append(round(ms, 2))
    for mine in entry.values():
        if mine["runs"]:
            mine["warm"] = round(statistics.median(mine["runs"]), 2)
    return entry


def nodes_of(engines, sql):
    """{label: the custom scans' names in its plan, and the top-most one's properties}."""
    found = {}
    for engine in engines:
        if isinstance(engine, PostgresEngine) and engine.label.startswith("pg_turbine"):
            nodes = [n for n in engine.explain(sql) if n.get("Custom Plan Provider", "").startswith("Gpu")]
            found[engine.label] = [{k: v for k, v in n.items() if k not in ("Plans", "Output")} for n in nodes]
    return found


def run_suite(server, suite, options):
    load, queries, _ = SUITES[suite]
    variant = Variant(numeric=options.numeric, partitioned=options.partitioned, vacuumed=not options.never_vacuumed)
    log(f"loading {suite}, scale factor {options.sf:g}, {variant.label}")
    load(server, options.sf, variant)
    with server.connect() as session:
        session.query("CHECKPOINT")
    devices, names = devices_of(server, options)
    engines = make_engines(server, suite, devices, options)
    results = {}
    for name, sql in queries.items():
        if options.query and name != options.query:
            continue
        results[name] = measure(engines, sql, options)
        plans = nodes_of(engines, sql) if not any("error" in e for e in results[name].values()) else {}
        for label, nodes in plans.items():
            results[name][label]["nodes"] = nodes
        log(f"  {name}: " + ", ".join(
            f"{label} {mine['warm']:.1f}{'' if mine['equal'] else ' DIFFERENT ANSWER'}" if "warm" in mine
            else f"{label} failed: {mine.get('error')}" for label, mine in results[name].items()))
    for engine in engines:
        engine.close()
    return {"suite": suite, "variant": variant.label, "devices": names, "labels": [e.label for e in engines],
            "results": results}


def geometric(values):
    return statistics.geometric_mean(values) if values else float("nan")


def markdown(report):
    lines = [f"# Report queries, {report['processor']}, {report['processors']} processors", "",
             f"Scale factor {report['settings']['sf']:g}; medians of {report['settings']['runs']} warm runs, ms.", ""]
    for suite in report["suites"]:
        labels = suite["labels"]
        lines += [f"## {suite['suite']}, {suite['variant']}", "", f"Devices: {', '.join(suite['devices'])}.", "",
                  "| query | " + " | ".join(labels) + " | first | node |", "|---" * (len(labels) + 3) + "|"]
        for name, entry in suite["results"].items():
            cells = []
            for label in labels:
                mine = entry[label]
                cells.append(f"{mine['warm']:.1f}{'' if mine['equal'] else ' **differs**'}" if "warm" in mine else "failed")
            fast = [entry[label] for label in labels if label.startswith("pg_turbine")]
            nodes = sorted({n["Custom Plan Provider"] for e in fast for n in e.get("nodes", [])})
            first = " / ".join(f"{e['first']:.0f}" for e in fast if "first" in e)
            lines.append(f"| {name} | " + " | ".join(cells) + f" | {first} | {', '.join(nodes) or 'PostgreSQL'} |")
        whole = [e for e in suite["results"].values() if all("warm" in e[label] for label in labels)]
        means = [geometric([e[label]["warm"] for e in whole]) for label in labels]
        lines += ["| geometric mean | " + " | ".join(f"{m:.1f}" for m in means) + " | | |", ""]
    return "\n".join(lines)


def write(report, options):
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reports.json").write_text(json.dumps(report, indent=1))
    text = markdown(report)
    (folder / "reports.md").write_text(text)
    for suite in report["suites"]:
        series = [(label, {q: e[label]["warm"] for q, e in suite["results"].items() if "warm" in e[label]})
                  for label in suite["labels"]]
        title = f"{suite['suite']}, scale factor {options.sf:g}, {report['processor']}, {report['processors']} processors"
        (folder / f"{suite['suite']}.svg").write_text(chart.svg(title, list(suite["results"]), series))
    print(text)
    log(f"written to {folder}")


def main():
    options = parse_arguments()
    suites = list(SUITES) if options.suite == "all" else [options.suite]
    if options.query:
        suites = [suite for suite, (_, queries, _) in SUITES.items() if options.query in queries]
        if not suites:
            sys.exit(f"there is no query {options.query}")
    settings = {"shared_buffers": options.shared_buffers, "max_wal_size": "16GB",
                "max_parallel_workers": str(max(8, options.workers)),
                "max_worker_processes": str(max(16, options.workers + 8)), "random_page_cost": "1.1",
                "effective_cache_size": "12GB", **cluster.AS_INSTALLED}
    report = {"processor": processor(), "processors": len(os.sched_getaffinity(0)), "settings": vars(options), "suites": []}
    for suite in suites:
        with cluster.Cluster("bench", settings=settings) as server:
            report["suites"].append(run_suite(server, suite, options))
    write(report, options)
    wrong = [name for suite in report["suites"] for name, entry in suite["results"].items()
             for mine in entry.values() if not mine.get("equal", False) and "error" not in mine]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
