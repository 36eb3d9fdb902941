#!/usr/bin/env python3
"""never_slower.py - hundreds of queries at default costs, with pg_turbine and without: none may become slower.

The queries are asked in the forms of query_forms.py. Each runs with pg_turbine.enabled off and on in turn, and the
medians are compared. A query has lost if it takes more than 10 % and 5 ms longer; where it seems so it is measured again,
more often, before that is said. A plan without a node of ours is PostgreSQL's own: only its planning is timed, and has lost if
it adds more than 2 % to the query. Answers are compared, up to the last digits of floating-point numbers.
The first run, which may compile and reads uncached rows, is told apart; which plan a warm query has is asked behind it.
Writes never_slower.json and never_slower.md. Exit status 1 if a query lost, failed, or answered otherwise.
Called by: make never-slower [BENCH_ARGS=...].
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
from cluster import log  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from query_forms import FORMS, load  # noqa: E402
from report_tables import SUITES  # noqa: E402

LOST_SHARE, LOST_MS = 1.10, 5.0
PLANNING_SHARE = 1.02  # of the whole statement
MORE_RUNS = (9, 15)    # of what seems to have lost, again and again
PLANNINGS = 15         # of each side, in turn
QUERY_CANCELED = "57014"
EMPTY_CACHE = "SELECT turbine.cache_drop(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forms", default="", help="names, separated by semicolons; all without")
    parser.add_argument("--queries", type=int, default=560, help="of all forms together, at most")
    parser.add_argument("--minutes", type=float, default=0, help="for the whole run, shared among the forms; 0: no limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="queries whose names contain this")
    parser.add_argument("--sf", type=float, default=0.5, help="scale factor of SSB, TPC-H and the web log")
    parser.add_argument("--runs", type=int, default=3, help="of each side, after the first")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--timeout", type=int, default=60, help="seconds that a run may take")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


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
        for a, b in zip(sorted(left, key=str), sorted(right, key=str), strict=True))


def lost(off, on):
    return on > off * LOST_SHARE and on > off + LOST_MS


class Judge:
    """Sessions of one form, without and with pg_turbine."""

    def __init__(self, server, form, options):
        self.form, self.options = form, options
        common = {"max_parallel_workers_per_gather": str(form.workers), "statement_timeout": f"{options.timeout}s",
                  "pg_turbine.device": options.device}
        self.sides = [server.connect(settings={**common, "pg_turbine.enabled": enabled}) for enabled in ("off", "on")]

    def _run(self, side, sql):
        """(milliseconds, rows)"""
        if self.form.cold and side == 1:
            self.sides[1].query(EMPTY_CACHE)
        return workload.timed(self.sides[side], sql)

    def _runs(self, sql, count):
        """Milliseconds of both sides, of `count` runs in turn; who begins alternates."""
        times = [[], []]
        for number in range(count):
            for side in (0, 1) if number % 2 else (1, 0):
                times[side].append(self._run(side, sql)[0])
        return times

    def _planning(self, sql, count):
        """Milliseconds of both sides' planning: the least, since it does the same work each time, and whatever else
        the machine does only adds to it."""
        times = [[], []]
        for number in range(count):
            for side in (0, 1) if number % 2 else (1, 0):
                shown = json.loads(self.sides[side].value(f"EXPLAIN (SUMMARY, FORMAT JSON) {sql}"))
                times[side].append(shown[0]["Planning Time"])
        return [min(side) for side in times]

    def _judge_planning(self, sql):
        """Of a plan that is PostgreSQL's own; its one run says what a query takes that has lost nothing."""
        off, on = self._planning(sql, PLANNINGS)
        entry = {"nodes": [], "planning_off": off, "planning_on": on}
        if on - off < (PLANNING_SHARE - 1) * off:
            return entry
        entry["off"] = min(self._run(0, sql)[0] for _ in range(2))
        for more in MORE_RUNS:
            if not planning_lost(entry):
                break
            entry["planning_off"], entry["planning_on"] = self._planning(sql, PLANNINGS + more)
        return entry

    def measure(self, sql):
        try:
            off_first, expected = self._run(0, sql)
        except DatabaseError as error:
            if error.sqlstate != QUERY_CANCELED:
                raise
            return {"nodes": [], "too_long": "for PostgreSQL, so there is nothing to compare with"}
        on_first, rows = self._run(1, sql)
        if not self.form.cold:
            self._run(1, sql)  # the plan is another where the first run has left columns and code
        nodes = [n["Custom Plan Provider"] for n in workload.explain(self.sides[1], sql, analyze=False)
                 if n.get("Custom Plan Provider", "").startswith("Gpu")]
        if not nodes:
            return self._judge_planning(sql)
        entry = {"nodes": nodes, "off": off_first, "on": on_first, "off_first": off_first, "on_first": on_first,
                 "equal": same_rows(expected, rows)}
        del expected, rows
        if off_first > self.options.timeout * 500:  # ms: half of what it may take
            if lost(off_first, on_first):
                off, on = self._runs(sql, 1)
                entry["off"], entry["on"] = min(off_first, off[0]), min(on_first, on[0])
            return entry
        times = self._runs(sql, self.options.runs)
        for more in MORE_RUNS:
            if not lost(*map(statistics.median, times)):
                break
            times = self._runs(sql, more)
        entry["off"], entry["on"] = map(statistics.median, times)
        return entry

    def close(self):
        for session in self.sides:
            session.close()


def planning_lost(entry):
    """Whether the time that planning adds counts beside the query's own."""
    return "off" in entry and entry["planning_on"] - entry["planning_off"] > (PLANNING_SHARE - 1) * entry["off"]


def failed(entry):
    if "error" in entry:
        return True
    if not entry["nodes"]:
        return planning_lost(entry)
    return "off" in entry and (lost(entry["off"], entry["on"]) or not entry["equal"])


def complaint(entry):
    if "error" in entry:
        return entry["error"]
    if not entry["nodes"]:
        return f"planning {entry['planning_off']:.2f} became {entry['planning_on']:.2f} ms, of {entry['off']:.1f}"
    return (f"{entry['off']:.1f} became {entry['on']:.1f} ms{'' if entry['equal'] else ', OTHER ROWS'},"
            f" {' '.join(entry['nodes'])}")


def judge(server, form, queries, options, deadline):
    """{query: result} of as many as there is time for."""
    results = {}
    referee = Judge(server, form, options)
    for name, sql in queries.items():
        if options.only not in name:
            continue
        if time.monotonic() > deadline:
            log(f"  {form.name}: no time for {len(queries) - len(results)} of {len(queries)}")
            break
        try:
            entry = referee.measure(sql)
        except Exception as error:  # noqa: BLE001 - a failure is a result
            entry = {"nodes": ["?"], "error": str(error)[:300]}
            referee.close()
            referee = Judge(server, form, options)
        entry["sql"] = sql
        results[name] = entry
        if failed(entry):
            log(f"  {form.name}, {name}: {complaint(entry)}\n    {sql}")
    referee.close()
    return results


def share_of(forms, count):
    """{form: queries}: what a suite has no queries for goes to the random ones."""
    fixed = {form: min(len(SUITES[form.suite][1]), count // len(forms)) for form in forms if form.suite != "random"}
    others = [form for form in forms if form not in fixed]
    left = max(count - sum(fixed.values()), 0)
    return {form: fixed[form] if form in fixed else max(left // len(others), 1) for form in forms}


def run_all(options):
    """{form: {query: result}}. Tables have the same names in several, so each has a server."""
    wanted = [name.strip() for name in options.forms.split(";") if name.strip()]
    forms = [form for form in FORMS if not wanted or form.name in wanted]
    if len(forms) < len(wanted):
        raise SystemExit(f"forms are: {'; '.join(form.name for form in FORMS)}")
    counts = share_of(forms, options.queries)
    end = time.monotonic() + (options.minutes * 60 or float("inf"))
    results = {}
    for number, form in enumerate(forms):
        deadline = time.monotonic() + (end - time.monotonic()) / (len(forms) - number)
        with cluster.Cluster("never_slower", settings={"max_wal_size": "8GB", **cluster.AS_INSTALLED}) as server:
            queries = load(server, form, options.seed * 1000 + FORMS.index(form), counts[form], options.sf)
            log(form.name)
            results[form.name] = judge(server, form, queries, options, deadline)
    return results


def geometric(entries, off="off", on="on"):
    ratios = [e[on] / e[off] for e in entries if e.get(off) and e.get(on)]
    return f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"


def markdown(results):
    lines = [f"{os.cpu_count()} processors.", "",
             "| form | queries | with a node of ours | time, of PostgreSQL's | first run | lost | lost at first"
             " | planning of the others | lost by planning | answers differ, failed |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    everything = {f"{form}.{name}": e for form, entries in results.items() for name, e in entries.items()}
    for form, entries in [*results.items(), ("all", everything)]:
        entries = list(entries.values())
        timed = [e for e in entries if e["nodes"] and "off" in e]
        plain = [e for e in entries if not e["nodes"]]
        lines.append(
            f"| {form} | {len(entries)} | {len(entries) - len(plain)} | {geometric(timed)} |"
            f" {geometric(timed, 'off_first', 'on_first')} | {sum(lost(e['off'], e['on']) for e in timed)} |"
            f" {sum(lost(e['off_first'], e['on_first']) for e in timed)} |"
            f" {geometric(plain, 'planning_off', 'planning_on')} | {sum(map(planning_lost, plain))} |"
            f" {sum('error' in e or not e.get('equal', True) for e in entries)} |")
    return "\n".join(lines)


def main():
    options = parse_arguments()
    results = run_all(options)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "never_slower.json").write_text(json.dumps(results, indent=1))
    text = markdown(results)
    (folder / "never_slower.md").write_text(text + "\n")
    print(text)
    entries = [e for r in results.values() for e in r.values()]
    bad = sum(map(failed, entries))
    print(f"{len(entries) - bad} passed, {bad} failed")
    return 1 if bad or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
