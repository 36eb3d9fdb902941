#!/usr/bin/env python3
"""never_slower.py - hundreds of queries at default costs, with pg_turbine and without: none may become slower.

SSB, TPC-H, the web log, and random reports over random schemas (random_reports.py) of several sizes. Each query runs
with pg_turbine.enabled off and on in turn, and its medians are compared; where the second seems to have lost, it is measured
again, more often. A query has lost if it takes more than 10 % and 5 ms longer. A plan without a node of
ours is PostgreSQL's own, and is not timed. Answers are compared, up to the last digits of floating-point numbers.
The first run, which may compile and reads uncached rows, is told apart.
Writes never_slower.json and never_slower.md. Exit status 1 if a query lost or an answer differed.
Called by: make never-slower [BENCH_ARGS=...].
"""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import random_reports  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from report_tables import SUITES, Variant  # noqa: E402

LOST_SHARE, LOST_MS = 1.10, 5.0
MORE_RUNS = 9
QUERY_CANCELED = "57014"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", default="random,ssb,tpch,weblog")
    parser.add_argument("--sizes", default="20000,200000,1500000", help="rows of random schemas' fact table")
    parser.add_argument("--schemas", type=int, default=3, help="random schemas of each size")
    parser.add_argument("--reports", type=int, default=60, help="for each random schema")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="queries whose names contain this")
    parser.add_argument("--sf", type=float, default=0.5, help="of SSB, TPC-H and the web log")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-cache", action="store_true", help="pg_turbine.enable_cache = off")
    parser.add_argument("--never-vacuumed", action="store_true")
    parser.add_argument("--indexes", action="store_true", help="of random schemas; the others have theirs")
    parser.add_argument("--stale", action="store_true", help="statistics of a hundredth of the rows")
    parser.add_argument("--timeout", type=int, default=60, help="seconds a run may take")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


def settings_of(options, enabled):
    return {"pg_turbine.enabled": enabled, "max_parallel_workers_per_gather": str(options.workers),
            "statement_timeout": f"{options.timeout}s", "pg_turbine.enable_cache": "off" if options.no_cache else "on"}


def same_cell(x, y):
    if x == y:
        return True
    try:
        return workload.close(x, y)
    except ValueError:
        return False


def same_rows(left, right):
    return len(left) == len(right) and all(
        len(a) == len(b) and all(map(same_cell, a, b))
        for a, b in zip(sorted(left, key=str), sorted(right, key=str)))


def shop(server, seed, rows, options):
    """A random schema in a schema of its own; its name and its reports."""
    tables = random_reports.ShopSchema(seed, rows)
    name = f"shop_{seed}_{rows}"
    with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
        session.query(f"CREATE SCHEMA {name}")
        session.query(f"SET search_path = {name}")
        for statement in tables.statements():
            if options.stale and statement.startswith("INSERT INTO sales"):
                session.query(statement.replace(f"generate_series(1, {rows})", f"generate_series(1, {rows // 100})"))
                session.query("ANALYZE sales")
                session.query("TRUNCATE sales")  # keeps the statistics
            session.query(statement)
        if options.indexes:
            for index in tables.INDEXES:
                session.query(f"CREATE INDEX ON {index}")
        for table in tables.TABLES:
            if table != "sales" or not options.stale:
                session.query(f"ANALYZE {table}")
            if not options.never_vacuumed:
                session.query(f"VACUUM {table}")
    return name, random_reports.reports(seed, tables, options.reports)


class Judge:
    """Sessions without and with pg_turbine over the tables of one schema."""

    def __init__(self, server, search_path, options):
        self.options, self.server, self.search_path = options, server, search_path
        self.sides = [self._session(enabled) for enabled in ("off", "on")]

    def _session(self, enabled):
        session = self.server.connect(settings=settings_of(self.options, enabled))
        session.query(f"SET search_path = {self.search_path}, public")
        return session

    def _runs(self, sql, count):
        """Milliseconds of both sides, of `count` runs in turn."""
        times = [[], []]
        for _ in range(count):
            for mine, session in zip(times, self.sides):
                mine.append(workload.timed(session, sql)[0])
        return times

    def measure(self, sql):
        nodes = [n["Custom Plan Provider"] for n in workload.explain(self.sides[1], sql, analyze=False)
                 if n.get("Custom Plan Provider", "").startswith("Gpu")]
        if not nodes:
            return {"nodes": []}
        try:
            off_first, expected = workload.timed(self.sides[0], sql)
        except DatabaseError as error:
            if error.sqlstate != QUERY_CANCELED:
                raise
            return {"nodes": nodes, "too_long": "for PostgreSQL, so there is nothing to compare with"}
        on_first, rows = workload.timed(self.sides[1], sql)
        equal = same_rows(expected, rows)
        del expected, rows
        if off_first > self.options.timeout * 500:  # ms: half of what it may take
            return {"nodes": nodes, "off": off_first, "on": on_first, "equal": equal, "off_first": off_first,
                    "on_first": on_first}
        off, on = self._runs(sql, self.options.runs)
        if lost(statistics.median(off), statistics.median(on)):
            off, on = self._runs(sql, MORE_RUNS)
        return {"nodes": nodes, "off": statistics.median(off), "on": statistics.median(on), "equal": equal,
                "off_first": off_first, "on_first": on_first}

    def close(self):
        for session in self.sides:
            session.close()


def lost(off, on):
    return on > off * LOST_SHARE and on > off + LOST_MS


def judge(server, search_path, queries, options):
    results = {}
    referee = Judge(server, search_path, options)
    for name, sql in queries.items():
        if options.only not in name:
            continue
        try:
            entry = referee.measure(sql)
        except Exception as error:  # noqa: BLE001 - a failure is a result
            entry = {"nodes": ["?"], "error": str(error)[:300]}
            referee.close()
            referee = Judge(server, search_path, options)
        entry["sql"] = sql
        results[name] = entry
        if "off" in entry and (lost(entry["off"], entry["on"]) or not entry["equal"]) or "error" in entry:
            log(f"  {search_path} {name}: {entry.get('error') or ''} "
                + (f"{entry['off']:.1f} became {entry['on']:.1f} ms, {'' if entry['equal'] else 'OTHER ROWS, '}"
                   f"{entry['nodes']}" if "off" in entry else "") + f"\n    {sql}")
    referee.close()
    return results


def new_server():
    return cluster.Cluster("never_slower", settings={"max_wal_size": "8GB"})


def run_random(options):
    results = {}
    with new_server() as server:
        for rows in map(int, options.sizes.split(",")):
            for seed in range(options.seed, options.seed + options.schemas):
                name, queries = shop(server, seed, rows, options)
                log(name)
                results[name] = judge(server, name, queries, options)
                with server.connect() as session:
                    session.query(f"DROP SCHEMA {name} CASCADE")
    return results


def run_all(options):
    """{suite: {query: result}}. Suites have tables of the same names, so each has a server."""
    results = {}
    for suite in options.suites.split(","):
        if suite == "random":
            results.update(run_random(options))
            continue
        load, queries, _ = SUITES[suite]
        with new_server() as server:
            load(server, options.sf, Variant(vacuumed=not options.never_vacuumed))
            log(suite)
            results[suite] = judge(server, "public", queries, options)
    return results


def timed_of(entries):
    return [e for e in entries if "off" in e]


def geometric(entries, off="off", on="on"):
    return statistics.geometric_mean([e[on] / e[off] for e in entries]) if entries else float("nan")


def markdown(results, options):
    lines = [f"Workers {options.workers}, cache {'off' if options.no_cache else 'on'}, indexes of random schemas "
             f"{'on' if options.indexes else 'off'}, {'never vacuumed' if options.never_vacuumed else 'vacuumed'}, statistics "
             f"{'stale' if options.stale else 'fresh'}; {os.cpu_count()} processors.", "",
             "| tables | queries | with a node of ours | time, of PostgreSQL's | first run | lost | lost at first | answers differ |",
             "|---|---|---|---|---|---|---|---|"]
    for name, entries in [*results.items(), ("all", {f"{s}.{q}": e for s, r in results.items() for q, e in r.items()})]:
        timed = timed_of(entries.values())
        lines.append(
            f"| {name} | {len(entries)} | {sum(bool(e['nodes']) for e in entries.values())} | {geometric(timed):.2f} | "
            f"{geometric(timed, 'off_first', 'on_first'):.2f} | {sum(lost(e['off'], e['on']) for e in timed)} | "
            f"{sum(lost(e['off_first'], e['on_first']) for e in timed)} | {sum(not e['equal'] for e in timed)} |")
    return "\n".join(lines)


def main():
    options = parse_arguments()
    results = run_all(options)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "never_slower.json").write_text(json.dumps(results, indent=1))
    text = markdown(results, options)
    (folder / "never_slower.md").write_text(text + "\n")
    print(text)
    entries = [e for r in results.values() for e in r.values()]
    failed = sum("error" in e or "off" in e and (lost(e["off"], e["on"]) or not e["equal"]) for e in entries)
    print(f"{len(entries) - failed} passed, {failed} failed")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
