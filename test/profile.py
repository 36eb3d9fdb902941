#!/usr/bin/env python3
"""profile.py - EXPLAIN's split of wall time, traces, and ranges for NVIDIA's profilers.

Proves that the phases that EXPLAIN (ANALYZE) shows add up to the execution time,
that a trace is a whole JSON file whose spans nest on every track and cover the
query, whoever writes to it at the same time, and that a trace which cannot be
written costs a WARNING and nothing else.
Must never: judge a query by how long it took.
Called by: make test-profile, test/run_all.py. Option: --device.
"""

import argparse
import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
import trace_summary  # noqa: E402
import workload  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402

TABLES = """
    CREATE TABLE big AS SELECT i AS id, i % 1000 AS k, (i::bigint * 7919 % 10007)::int AS v, md5(i::text) AS memo
        FROM generate_series(1, 400000) i;
    CREATE TABLE side AS SELECT i AS k, 'name ' || i % 17 AS name FROM generate_series(0, 999) i;
    CREATE TABLE fresh AS SELECT * FROM big"""
QUERIES = {
    "scan": "SELECT id, memo FROM big WHERE v < 40",
    "aggregate": "SELECT k, count(*), sum(v), max(memo COLLATE \"C\") FROM big GROUP BY k",
    "join": "SELECT s.name, count(*), sum(b.v) FROM big b JOIN side s ON s.k = b.k GROUP BY s.name",
    "sort": "SELECT id, v FROM big ORDER BY v, id LIMIT 20",
    "copied": "SELECT k, count(*), sum(v) FROM fresh GROUP BY k",
    "two nodes": "SELECT id, v FROM big WHERE v < 30 UNION ALL SELECT k, length(name) FROM side WHERE k < 100",
    "rows of a plan": "SELECT count(*), sum(b.v) FROM big b JOIN (SELECT k FROM side OFFSET 0) s ON s.k = b.k",
}
PHASES = ("Plan", "Compile", "Wait", "Read", "Decode", "Copy", "Compute", "Result", "PostgreSQL")
# Of a query's time, what its phases may miss: start and end of the executor.
SHARE_MISSED, MS_MISSED = 0.05, 0.3
RUNS = 5


class Bench:
    def __init__(self, server, device):
        self.server = server
        self.settings = {**FORCED, "pg_turbine.device": device, "pg_turbine.direct_threshold": "0",
                         "pg_turbine.enable_cache": "off"}
        self.passed = self.failed = 0
        with server.connect(settings=OFF) as session:
            self.expected = {name: session.run(sql) for name, sql in QUERIES.items()}

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"  {name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def session(self, **settings):
        return self.server.connect(settings={**self.settings, **settings})

    def trace(self, name):
        return str(self.server.directory / f"{name}.json")


def explained(session, sql, options="ANALYZE, FORMAT JSON"):
    return json.loads(session.value(f"EXPLAIN ({options}) {sql}"))[0]


def phases_add_up(bench):
    with bench.session() as session:
        for name, sql in QUERIES.items():
            session.query(sql)  # compiles
            missed, work = [], 0
            for _ in range(RUNS):
                plan = explained(session, sql)
                if name == "two nodes":
                    break
                node = workload.custom_scan(workload.plan_nodes(plan["Plan"]))
                times = (node or {}).get("Time")
                if not times or tuple(times) != PHASES:
                    bench.check(f"{name}, phases", f"{times}")
                    return
                if any(ms < 0 for ms in times.values()):
                    bench.check(f"{name}, phases", f"{times}")
                missed.append((plan["Execution Time"] - sum(times.values()), plan["Execution Time"]))
                work = max(work, times["Decode"] + times["Compute"] + times["Copy"])
            if not missed:
                continue
            # What no phase counts, every run misses; what the machine stole from one run, the others have.
            difference, execution = min(missed, key=lambda run: abs(run[0]))
            wrong = not -0.01 <= difference <= max(SHARE_MISSED * execution, MS_MISSED)
            bench.check(f"{name}, sum", f"{difference:.3f} of {execution:.3f} ms have no phase" if wrong else None)
            # Of the service's work only what the backend waits for counts, which on a busy machine is little.
            bench.check(f"{name}, work", None if work > 0 else f"{times}")


def only_where_asked(bench):
    with bench.session() as session:
        sql = QUERIES["aggregate"]
        for options in ("FORMAT JSON", "ANALYZE, TIMING OFF, FORMAT JSON"):
            node = workload.custom_scan(workload.plan_nodes(explained(session, sql, options)["Plan"]))
            bench.check(options, "shows phases" if "Time" in node else None)
        text = "\n".join(row[0] for row in session.query("EXPLAIN ANALYZE " + sql))
        bench.check("text", None if "  Time: plan=" in text and "PostgreSQL=" not in text else text)
    # Planned where devices may, run where they may not.
    for name in ("scan", "aggregate"):
        with bench.session(plan_cache_mode="force_generic_plan") as session:
            session.query(f"PREPARE p AS {QUERIES[name]}; EXECUTE p")
            session.query("BEGIN ISOLATION LEVEL SERIALIZABLE")
            node = workload.custom_scan(workload.plan_nodes(explained(session, "EXECUTE p")["Plan"]))
            times = (node or {}).get("Time", {})
            most = max(times, key=times.get) if times else None
            bench.check(f"{name}, fallback", None if most == "PostgreSQL" else f"{times}")


def nesting(spans):
    """A complaint if spans of one track overlap without one lying within the other."""
    tracks = {}
    for span in spans:
        tracks.setdefault(span["track"], []).append(span)
    for track, own in tracks.items():
        open_spans = []
        for span in sorted(own, key=lambda s: (s["begin"], -s["end"])):
            while open_spans and open_spans[-1]["end"] <= span["begin"]:
                open_spans.pop()
            if open_spans and span["end"] > open_spans[-1]["end"]:
                return f"{span} and {open_spans[-1]} of track {track}"
            open_spans.append(span)
    return None


def runs_on_gpu(bench, sql):
    with bench.session() as session:
        node = workload.custom_scan(workload.plan_nodes(explained(session, sql)["Plan"]))
    return "NVIDIA" in (node or {}).get("Device", "")


def uncovered(bench, name):
    """None if in one of some traces of the query its spans name 95 % of its time, else what they name."""
    seen = []
    for run in range(RUNS):
        path = bench.trace(f"covered-{name.replace(' ', '-')}-{run}")
        with bench.session(**{"pg_turbine.trace_file": path}) as session:
            session.query(QUERIES[name])
        spans, _ = trace_summary.load(path)
        (wall, named, _), = trace_summary.coverage(spans).values()
        if named >= 0.95 * wall:
            return None
        seen.append(f"{named} of {wall} us")
    return ", ".join(seen)


def traces_are_whole(bench):
    for name, sql in QUERIES.items():
        path = bench.trace(name.replace(" ", "-"))
        with bench.session(**{"pg_turbine.trace_file": path}) as session:
            outcome = session.run(sql)
            bench.check(f"{name}, traced", answers.difference(bench.expected[name], outcome))
        spans, names = trace_summary.load(path)
        bench.check(f"{name}, nesting", nesting(spans))
        found = {span["name"] for span in spans}
        wanted = {"prepare", "wait for the service", "CHUNK", "CHUNK_RELEASE", "compile"} | \
            ({"copy to GPU", "launch", "tb_decode", "sink"} if runs_on_gpu(bench, sql) else {"decode", "pipeline"})
        bench.check(f"{name}, spans", None if wanted <= found else f"no {wanted - found} in {found}")
        threads = set(names.values())
        bench.check(f"{name}, tracks", None if any(t.startswith("backend") for t in threads) and
                    any(t.startswith(("worker", "GPU")) for t in threads) else f"{threads}")
        bench.check(f"{name}, coverage", uncovered(bench, name))


def rates_add_up(bench):
    """Counters of GB/s hold the bytes that were read, of the way by which they were read."""
    with bench.server.connect() as session:
        size = int(session.value("SELECT pg_relation_size('big')"))
    for way, name in (("direct", "drive"), ("page_cache", "page cache")):
        path = bench.trace(f"rates-{way}")
        with bench.session(**{"pg_turbine.trace_file": path, "pg_turbine.storage_path": way}) as session:
            session.query(QUERIES["aggregate"])
        with open(path, encoding="utf-8") as file:
            counters = [event for event in json.load(file) if event["ph"] == "C"]
        # Each holds for a millisecond.
        found = {}
        for event in counters:
            found[event["name"]] = found.get(event["name"], 0) + event["args"]["GB/s"] * 1e6
        good = set(found) >= {name} and abs(found[name] - size) < 0.01 * size
        bench.check(f"rates, {way}", None if good else f"{found}, not {size} of {name}")


def many_write_one_file(bench):
    path, problems = bench.trace("many"), []

    def work(name):
        with bench.session(**{"pg_turbine.trace_file": path}) as session:
            for _ in range(5):
                problem = answers.difference(bench.expected[name], session.run(QUERIES[name]))
                if problem:
                    problems.append(problem)

    threads = [threading.Thread(target=work, args=(name,)) for name in list(QUERIES) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.check("many, answers", "; ".join(problems))
    spans, _ = trace_summary.load(path)
    bench.check("many, sessions", None if len(trace_summary.coverage(spans)) == len(threads) else "some are missing")
    bench.check("many, nesting", nesting(spans))


def what_cannot_be_written(bench):
    own = bench.server.directory / "notes.txt"
    own.write_text("no trace at all")
    os.chmod(own, 0o666)
    fifo = bench.server.directory / "fifo"
    os.mkfifo(fifo, 0o666)
    os.chmod(fifo, 0o666)
    for name, path in (("another file", own), ("a folder", bench.server.directory), ("no folder", "/nowhere/t.json"),
                       ("a fifo", fifo)):
        with bench.session(**{"pg_turbine.trace_file": str(path)}) as session:
            for query in ("aggregate", "join"):
                bench.check(f"{name}, {query}", answers.difference(bench.expected[query], session.run(QUERIES[query])))
            warnings = [n for n in session.notices if "could not write the trace" in n.get("M", "")]
            bench.check(f"{name}, warnings", None if len(warnings) == 1 else f"{len(warnings)} of them")
    bench.check("another file, kept", None if own.read_text() == "no trace at all" else own.read_text()[:80])


def rights(bench):
    with bench.session() as admin:
        admin.query("CREATE ROLE plain LOGIN; GRANT SELECT ON big TO plain")
    with bench.server.connect(user="plain") as session:
        outcome = session.run(f"SET pg_turbine.trace_file = '{bench.trace('plain')}'")
        bench.check("a plain role sets it", None if outcome.sqlstate == "42501" else answers.describe_error(outcome))
        outcome = session.run("SHOW pg_turbine.trace_file")
        bench.check("a plain role sees it", None if outcome.sqlstate == "42501" else answers.describe_error(outcome))


def cancelled(bench):
    """A query that ends early leaves a whole file."""
    path = bench.trace("cancelled")
    with bench.session(**{"pg_turbine.trace_file": path, "statement_timeout": "40ms"}) as session:
        for _ in range(20):
            outcome = session.run("SELECT count(*) FROM big a JOIN big b ON a.k = b.k WHERE a.v + b.v < 100")
            wrong = outcome.error and outcome.sqlstate != "57014"
            bench.check("cancelled", answers.describe_error(outcome) if wrong else None)
        session.query("SET statement_timeout = 0")
        bench.check("after cancels", answers.difference(bench.expected["join"], session.run(QUERIES["join"])))
    spans, _ = trace_summary.load(path)
    bench.check("cancelled, nesting", nesting(spans))


def ranges_for_profilers(bench, log):
    """What the recorder has seen: pushes and pops match on every thread, once the service is idle."""
    with bench.session() as session:
        session.query(QUERIES["join"])
    until = time.monotonic() + 10
    while True:
        depth, seen, wrong = {}, set(), 0
        whole = log.read_text().rpartition("\n")[0]
        for line in whole.splitlines():
            thread, what, *name = line.split(" ", 2)
            depth[thread] = depth.get(thread, 0) + (1 if what == "push" else -1)
            wrong += depth[thread] < 0
            seen.update(name)
        if not any(depth.values()) or time.monotonic() > until:
            break
        time.sleep(0.05)
    bench.check("ranges, names", None if {"decode", "pipeline", "start query"} <= seen else f"{seen}")
    bench.check("ranges, pairs", f"{wrong} too many, {depth}" if wrong or any(depth.values()) else None)


def recorder():
    """A copy of the recorder that the server's account can load, or None (a bundle has none)."""
    library = cluster.BUILD / "src" / "engine" / "nvtx_recorder.so"
    if not library.exists():
        return None
    folder = Path("/tmp") / f"pgt-nvtx-{os.getpid()}"
    folder.mkdir(mode=0o777)
    os.chmod(folder, 0o777)
    shutil.copy2(library, folder)
    os.chmod(folder / library.name, 0o755)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    folder = recorder()
    if folder:
        os.environ["NVTX_INJECTION64_PATH"] = str(folder / "nvtx_recorder.so")
        os.environ["TURBINE_NVTX_LOG"] = str(folder / "log")
    try:
        with cluster.Cluster("profile") as server:
            with server.connect(settings=OFF) as admin:
                admin.query(TABLES)
                for table in ("big", "side"):
                    admin.query(f"VACUUM ANALYZE {table}")
                admin.query("ANALYZE fresh")
                admin.query("CHECKPOINT")
            bench = Bench(server, options.device)
            phases_add_up(bench)
            only_where_asked(bench)
            traces_are_whole(bench)
            rates_add_up(bench)
            many_write_one_file(bench)
            what_cannot_be_written(bench)
            rights(bench)
            cancelled(bench)
            if folder:
                ranges_for_profilers(bench, folder / "log")
    finally:
        if folder:
            shutil.rmtree(folder)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
