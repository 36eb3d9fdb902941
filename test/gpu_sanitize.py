#!/usr/bin/env python3
"""gpu_sanitize.py - generated and hand-written kernels under compute-sanitizer.

Owns: turbined started under a tool of compute-sanitizer (pg_turbine.service_path
names a wrapper that this makes), queries that use every kind of kernel, their
answers compared with PostgreSQL's, the service ended so that the tool sums up,
and the verdict: `ERROR SUMMARY: 0 errors`, or failed. Where there are unit test
programs (TURBINE_BUNDLE_ROOT, or the build) the hand-written kernels too, and
one that does fault: a tool that does not see it counts as failed.
Must never: take a missing summary, or work that did not reach the GPU, for
success.
Called by hand, on a machine with an NVIDIA GPU and compute-sanitizer. Options:
--tools, --output (folder for the reports), --seconds (a tool), --parts.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402

PLACES = ("/usr/local/cuda/bin", "/opt/nvidia/cuda/bin")
# memcheck and its kin; racecheck.
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")

SETUP = (
    """CREATE TABLE s AS SELECT i AS id, i % 1000 AS a, i % 9000 AS wide, (i * 7919) % 10007 AS b,
        i * 0.5::float8 AS f, ((i % 97) / 4.0)::numeric(10,2) AS n, '2020-01-01'::date + i % 800 AS d,
        CASE WHEN i % 11 <> 0 THEN 'text number ' || i % 40 END AS t,
        CASE WHEN i % 7 <> 0 THEN i * 1000003::bigint END AS big
        FROM generate_series(1, 30000) i""",
    "ALTER TABLE s ALTER wide SET (n_distinct = 20), ALTER t SET STORAGE EXTENDED",
    # Rows that the backend has to detoast: a chunk of columns.
    "INSERT INTO s SELECT i, i, i, i, i, i, '2021-01-01', repeat('long ' || i, 1000), i FROM generate_series(1, 20) i",
    "VACUUM ANALYZE s",
    """CREATE TABLE j AS SELECT i AS id, i % 40 AS k, (i * 31) % 997 AS b, i * 1000003::bigint AS big,
        ((i % 97) / 4.0)::numeric(10,2) AS n, 'text number ' || i % 50 AS t FROM generate_series(1, 1500) i""",
    "VACUUM ANALYZE j",
)
QUERIES = (
    "SELECT id FROM s WHERE b < 300 AND a > 10",
    "SELECT id, t FROM s WHERE t LIKE '%number 3%' OR t LIKE '%long 7%'",
    "SELECT id FROM s WHERE big IS NULL AND d < '2020-06-01' AND a IN (1, 2, 3, 500, 501)",
    "SELECT count(*), sum(b), min(a), max(d), avg(n), sum(big), max(f) FROM s WHERE a < 900",
    "SELECT count(*) FROM s WHERE length(t) > 10",
    "SELECT wide, count(*), sum(b), max(n) FROM s GROUP BY wide",
    "SELECT t, count(*), max(b), sum(n) FROM s GROUP BY t",
    "SELECT a % 3, d, count(big), avg(b) FROM s WHERE b > 100 GROUP BY a % 3, d",
    # Joins: tables by key order, by place and by hash; rows, groups, and chains of equal keys.
    "SELECT s.id, j.t, j.n FROM s JOIN j ON j.id = s.a WHERE s.b < 2000",
    "SELECT j.t, count(*), sum(s.b), max(j.n) FROM s LEFT JOIN j ON j.id = s.wide AND j.b < s.b GROUP BY j.t",
    "SELECT count(*), sum(s.b + j.id), min(j.n) FROM s JOIN j ON j.k = s.a % 40 WHERE s.b < 500",
    "SELECT s.id, j.id FROM s JOIN (SELECT * FROM j OFFSET 0) j ON j.t = s.t AND j.n = s.n WHERE s.b < 3000",
    "SELECT count(*), sum(s.b) FROM s WHERE EXISTS (SELECT 1 FROM j WHERE j.k = s.a AND j.b < s.b)",
    "SELECT s.id FROM s WHERE s.b < 900 AND NOT EXISTS (SELECT 1 FROM j WHERE j.big = s.id)",
    "SELECT i.t, count(*) FROM s JOIN j ON j.id = s.a JOIN (SELECT id, t FROM j) i ON i.id = j.b GROUP BY i.t",
)


def find_tool():
    for place in [None, *PLACES]:
        found = shutil.which("compute-sanitizer", path=place)
        if found:
            return found
    return None


def log_name(output, name):
    return str(output / f"{name}.%p.log")


def command_of(sanitizer, tool, log, with_children):
    return [sanitizer, "--tool", tool, "--error-exitcode", "99", "--log-file", log, "--print-limit", "20",
            "--target-processes", "all" if with_children else "application-only"]


def write_wrapper(folder, sanitizer, tool, output, through_shell):
    """The program that the supervisor starts instead of turbined. The nonce moves
    to standard input, which every launcher passes on. Where the tool starts its
    program from a thread that ends, turbined would take that for the end of its
    parent: then a shell stands between."""
    wrapper = folder / f"turbined-{tool}"
    command = " ".join(command_of(sanitizer, tool, log_name(output, f"service-{tool}"), through_shell))
    run = 'sh -c \'"$@"; exit $?\' sh "$turbined" "$@"' if through_shell else '"$turbined" "$@"'
    program = service_program()
    wrapper.write_text(f"#!/bin/sh\nturbined={program}\nexec 0<&3 3<&-\nexec {command} {run} --nonce-fd 0\n")
    wrapper.chmod(0o755)
    return wrapper


def service_program():
    """The turbined that the server would start."""
    bindir = cluster.stage()
    library = subprocess.run([str(bindir / "pg_config"), "--pkglibdir"], check=True, capture_output=True,
                             text=True).stdout.strip()
    return Path(library) / "pg_turbine" / "turbined"


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"  {name}: {complaint}", flush=True)
        else:
            self.passed += 1


def reports(output, name):
    return sorted(output.glob(f"{name}.*.log"))


def errors_told(output, name):
    """Sum of the reports' error counts; None if a summary is missing."""
    texts = [path.read_text(errors="replace") for path in reports(output, name)]
    counts = [SUMMARY.findall(text) for text in texts]
    if not texts or not any(counts):
        return None
    return sum(int(memory or races) for found in counts for memory, races in found)


def show(output, name, lines=60):
    for path in reports(output, name):
        text = path.read_text(errors="replace").splitlines()
        print(f"--- {path.name}, {len(text)} lines", *text[:lines], sep="\n", flush=True)


def judge(tally, output, name):
    errors = errors_told(output, name)
    tally.check(f"{name}, summary", "the tool gave no summary" if errors is None else None)
    tally.check(f"{name}, errors", f"{errors} errors" if errors else None)
    if errors != 0:
        show(output, name)


def counter(session, name):
    return int(session.value(f"SELECT value FROM turbine.stat_queries WHERE counter = '{name}'"))


def run_on_gpu(tally, server, label, deadline, expected, cache):
    settings = {**FORCED, "pg_turbine.device": "gpu", "pg_turbine.direct_threshold": "0",
                "pg_turbine.enable_cache": cache}
    with server.connect(settings=settings) as session:
        cached_before = counter(session, "blocks_cached")
        for sql in QUERIES:
            if time.monotonic() > deadline:
                tally.check(f"{label}, time", f"not reached: {sql}")
                continue
            started = time.monotonic()
            tally.check(f"{label}, answer", answers.difference(expected[sql], session.run(sql)))
            print(f"  {label}, {time.monotonic() - started:.1f} s: {sql[:70]}", flush=True)
        taken = counter(session, "blocks_cached") - cached_before
        tally.check(f"{label}, blocks from the cache", None if (taken > 0) == (cache == "on") else f"{taken}")


def run_queries(tally, server, tool, deadline):
    """Each query over pages, and over stored columns, which the cores have read into the cache."""
    with server.connect(settings=OFF) as session:
        for statement in SETUP:
            session.query(statement)
        session.query("CHECKPOINT")
        expected = {sql: session.run(sql) for sql in QUERIES}
    run_on_gpu(tally, server, f"{tool}, pages", deadline, expected, "off")
    with server.connect(settings={**FORCED, "pg_turbine.device": "cpu", "pg_turbine.direct_threshold": "0"}) as session:
        for sql in QUERIES:
            session.run(sql)
    run_on_gpu(tally, server, f"{tool}, stored", deadline, expected, "on")
    with server.connect(settings=OFF) as session:
        counters = session.query("SELECT counter, value FROM turbine.stat_queries"
                                 " WHERE (counter LIKE 'fallback%' OR counter = 'host_instead') AND value > 0")
        tally.check(f"{tool}, all on the GPU", f"{counters}" if counters else None)
        gpu = session.query("SELECT queries_total, usable, message FROM turbine.devices WHERE kind = 'cuda'")
        tally.check(f"{tool}, queries reached the GPU",
                    None if gpu and int(gpu[0][0]) >= 2 * len(QUERIES) and gpu[0][1] == "t" else f"{gpu}")


def end_service(server, output, name, seconds):
    """Ends turbined itself, not the tool, and waits for the tool's summary."""
    pid = server.service_pid()
    if pid:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and errors_told(output, name) is None:
        time.sleep(0.1)


def gpu_is_there(server, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with server.connect() as session:
            if session.query("SELECT 1 FROM turbine.devices WHERE kind = 'cuda' AND usable"):
                return True
        time.sleep(0.2)
    return False


class WrappedCluster(cluster.Cluster):
    """Does not expect the service at once: a tool takes its time."""

    def wait_for_service(self, seconds=90):
        try:
            return super().wait_for_service(45)
        except RuntimeError:
            return None


def sanitize_service(tally, sanitizer, tool, folder, output, seconds):
    name = f"service-{tool}"
    for through_shell in (False, True):
        for path in reports(output, name):
            path.unlink()
        wrapper = write_wrapper(folder, sanitizer, tool, output, through_shell)
        started = time.monotonic()
        with WrappedCluster("sanitize", settings={"pg_turbine.service_path": str(wrapper)}) as server:
            if not gpu_is_there(server, 5):
                print(f"  {tool}: no GPU in turbined {'through a shell' if through_shell else 'directly'} under the tool; "
                      f"the log ends:\n{server.log_tail(8)}", flush=True)
                continue
            run_queries(tally, server, tool, started + seconds)
            end_service(server, output, name, 30)
        judge(tally, output, name)
        print(f"  {name}: {time.monotonic() - started:.0f} s", flush=True)
        return
    tally.check(name, "turbined did not start under the tool")
    show(output, name, 20)


def unit_program():
    root = os.environ.get("TURBINE_BUNDLE_ROOT")
    program = Path(root) / "unit" / "turbine_cuda_test" if root else cluster.BUILD / "src/engine/turbine_cuda_test"
    return program if program.exists() else None


def sanitize_unit(tally, sanitizer, tool, output, seconds):
    program = unit_program()
    if program is None:
        print("  unit: no turbine_cuda_test here", flush=True)
        return
    # What only measures, and what faults on purpose, is left out.
    runs = {f"unit-{tool}": "GpuTest.*-*BadCode*:*StreamingRate*:*MachineCode*"}
    if tool == "memcheck":
        runs["unit-fault"] = "GpuDeathTest.*"
    for name, tests in runs.items():
        started = time.monotonic()
        command = command_of(sanitizer, tool, log_name(output, name), False) + [str(program), f"--gtest_filter={tests}"]
        environment = {**os.environ, **({"TURBINE_FAULT_HERE": "1"} if name == "unit-fault" else {})}
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=seconds, check=False, env=environment)
        except subprocess.TimeoutExpired:
            tally.check(name, f"took more than {seconds:.0f} s")
            continue
        ran = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
        if name == "unit-fault":
            tally.check(name, None if errors_told(output, name) else "the tool did not see a write to a bad address")
        else:
            tally.check(f"{name}, tests", None if ran and int(ran.group(1)) >= 4 else done.stdout[-2000:])
            judge(tally, output, name)
        print(f"  {name}: {time.monotonic() - started:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", default="memcheck,racecheck")
    parser.add_argument("--parts", default="unit,service")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--output", default="")
    options = parser.parse_args()
    sanitizer = find_tool()
    if sanitizer is None:
        print("skipped: no compute-sanitizer\n0 passed, 0 failed")
        return 1
    tally = Tally()
    folder = Path(tempfile.mkdtemp(prefix="pgt-sanitize-"))
    folder.chmod(0o755)
    output = folder / "reports"
    output.mkdir()
    output.chmod(0o777)  # the server's account writes there
    try:
        for tool in options.tools.split(","):
            if "unit" in options.parts.split(","):
                sanitize_unit(tally, sanitizer, tool, output, options.seconds)
            if "service" in options.parts.split(","):
                sanitize_service(tally, sanitizer, tool, folder, output, options.seconds)
    finally:
        if options.output:
            shutil.copytree(output, options.output, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
