#!/usr/bin/env python3
"""run_core.py - PostgreSQL's own regress and isolation suites under the extension.

Modes: `stock` (no extension: proves the harness), `default` (extension loaded
at default costs: every test must pass unmodified, except that EXPLAIN may show a plan of the engine) and `forced` (every
offloadable plan is offloaded, and small tables are cached too; compared with the
default run's output, rows as multisets: nothing but what allow_list.txt documents may
differ, and most blocks of the regress suite must come from the column cache).
Must never: change the suites, or write outside its temporary folder and .deps/.
Called by: make test-core, test/run_all.py.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))

import cluster  # noqa: E402
import classify  # noqa: E402
import postgres_source  # noqa: E402

BASE = {"listen_addresses": "", "port": "5432", "fsync": "off", "max_prepared_transactions": "10"}
FORCED = {"pg_turbine.debug_force_offload": "on", "pg_turbine.debug_plain_explain": "on", "pg_turbine.direct_threshold": "0"}
# Of the blocks that the regress suite reads. Its scripts vacuum the tables that they read most.
LEAST_CACHED = 0.5
DATABASE_SETTINGS = {"lc_messages": "C", "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C",
                     "timezone_abbreviations": "Default", "bytea_output": "hex"}


def own_everything(folder):
    """The suites run under the servers' account and write beside themselves."""
    account = cluster._server_account()
    if account:
        subprocess.run(["chown", "-R", f"{account[0]}:{account[1]}", str(folder)], check=True)


def prepare_database(server, name):
    with server.connect() as session:
        session.query(f"CREATE DATABASE {name} TEMPLATE template0")
        for key, value in DATABASE_SETTINGS.items():
            session.query(f"ALTER DATABASE {name} SET {key} = '{value}'")


def suite_command(suite, server, suites, output, schedule):
    library = Path(cluster.pg_config("--pkglibdir")) / "pgxs/src/test"
    source = suites / "src/test" / suite
    program = {"regress": library / "regress/pg_regress",
               "isolation": library / "isolation/pg_isolation_regress"}[suite]
    command = [program, "--use-existing", f"--inputdir={source}", f"--outputdir={output}",
               f"--bindir={suites / 'client' if (suites / 'client').exists() else server.bindir}", f"--host={server.directory}",
               f"--port={server.port}",
               "--user=postgres", "--max-concurrent-tests=20", f"--schedule={schedule}"]
    if suite == "regress":
        command += ["--dbname=regression", f"--dlpath={suites / 'dl'}"]
    else:
        command += ["--dbname=isolation_regression"]
    return command


def outcome_of(line):
    """(name, passed) of a test, from a line of pg_regress; (None, None) of other lines."""
    if found := re.match(r"(?:test|\s+)\s*(\S+)\s+\.\.\. (ok|FAILED)", line):
        return found.group(1), found.group(2) == "ok"
    # Since PostgreSQL 16, lines are those of the Test Anything Protocol.
    if found := re.match(r"(not ok|ok)\s+\d+\s+[-+]\s+(\S+)", line):
        return found.group(2), found.group(1) == "ok"
    return None, None


def run_suite(suite, mode, suites, work, only):
    """Runs one suite; returns (names that passed, names that failed, results folder)."""
    source = suites / "src/test" / suite
    schedule = source / ("parallel_schedule" if suite == "regress" else "isolation_schedule")
    if only:
        schedule = work / f"schedule-{suite}"
        schedule.write_text("".join(f"test: {name}\n" for name in only))
    output = work / f"{suite}-{mode}"
    output.mkdir()
    own_everything(work)
    settings = FORCED if mode == "forced" else {}
    server = cluster.Cluster(f"core-{mode}", extension=mode != "stock", settings=settings, base=BASE)
    try:
        server.start()
        if mode != "stock":
            # In a database of its own: the suites' databases stay as they are.
            server.create_extension("postgres")
            server.wait_for_service()
        prepare_database(server, "regression" if suite == "regress" else "isolation_regression")
        process = cluster.start_as_server(suite_command(suite, server, suites, output, schedule),
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        passed, failed = [], []
        for line in process.stdout:
            name, ok = outcome_of(line)
            if name:
                (passed if ok else failed).append(name)
            if (name and not ok) or "crash" in line:
                print("   ", line.rstrip(), flush=True)
        process.wait()
        crashed = crash_lines(server)
        if crashed:
            failed.append("server-crash")
            print("\n".join(crashed), flush=True)
        report_offload(server, mode, suite, only)
    finally:
        server.remove()
    return passed, failed, output


def crash_lines(server):
    words = ("was terminated by signal", "terminating any other active server processes", "PANIC:", "TRAP:")
    return [line for line in server.logfile.read_text(errors="replace").splitlines()
            if any(word in line for word in words)]


def report_offload(server, mode, suite, only):
    """Says how many queries the engine ran, so that a forced run that forced
    nothing is seen, and of the regress suite one that the cache had no part in.
    Returns nothing; the forced comparison checks it."""
    if mode != "forced":
        return
    with server.connect() as session:
        count = int(session.value("SELECT value FROM turbine.stat_queries WHERE counter = 'queries'"))
        counters = session.query("SELECT counter, value FROM turbine.stat_queries WHERE value > 0")
    print(f"    {suite}, forced: {count} queries ran on devices: "
          + ", ".join(f"{name} {value}" for name, value in counters), flush=True)
    if count == 0:
        raise RuntimeError("the forced run offloaded nothing: it proves nothing")
    counts = {name: int(value) for name, value in counters}
    cached = counts.get("blocks_cached", 0)
    read = cached + counts.get("blocks_direct", 0) + counts.get("blocks_buffered", 0)
    if suite == "regress" and not only and cached < LEAST_CACHED * read:
        raise RuntimeError(f"only {cached} of {read} blocks came from the cache")


def excuse_like_stock(suite, mode, suites, work, only, failed, results):
    """Where the suites are of another minor version than the server, a test
    that fails is judged by the stock server instead: the same output, byte
    for byte, is a pass. Returns (excused, still failed)."""
    if mode != "default" or not failed or postgres_source.matches_server():
        return [], failed
    print(f"    {suite}: {len(failed)} failed with suites of another minor version; running the stock server",
          flush=True)
    _, _, stock = run_suite(suite, "stock", suites, work, only)
    same = [name for name in failed if name != "server-crash"
            and (results / "results" / f"{name}.out").read_bytes() == (stock / "results" / f"{name}.out").read_bytes()]
    if same:
        print(f"    {suite}: the stock server does the same, passed: {' '.join(same)}", flush=True)
    return same, [name for name in failed if name not in same]


def is_accelerated_plan(kind, shown):
    """Whether the difference is that EXPLAIN shows a node of the engine."""
    return kind == "plan" and any("Custom Scan (Gpu" in line for line in shown)


def excuse_accelerated_plans(suite, suites, failed, results):
    """At default costs the only difference may be that EXPLAIN shows a node of the engine, where it is estimated to win.
    Returns (excused, still failed)."""
    excused = []
    for name in failed if suite == "regress" else []:
        actual = results / "results" / f"{name}.out"
        source = suites / "src/test/regress"
        script = source / "sql" / f"{name}.sql"
        if not actual.exists() or not script.exists():
            continue
        texts = [path.read_text(errors="surrogateescape") for path in (actual, script)]
        for expected in sorted((source / "expected").glob(f"{name}*.out")):
            found = classify.compare(expected.read_text(errors="surrogateescape"), *texts)
            if all(is_accelerated_plan(kind, shown) for kind, _, _, shown in found):
                excused.append(name)
                print(f"    {suite}: {name} passed, except that EXPLAIN shows {len(found)} plans of the engine", flush=True)
                break
    return excused, [name for name in failed if name not in excused]


def allow_list():
    """[(suite, test, kind, statement pattern)]; see allow_list.txt."""
    entries = []
    for line in (HERE / "allow_list.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            suite, test, kind, pattern, _reason = (part.strip() for part in line.split(" | ", 4))
            entries.append((suite, test, kind, re.compile(pattern, re.DOTALL)))
    return entries


def compare_forced(suite, suites, reference, forced, names):
    """Names of tests whose forced output differs in more than the list allows."""
    allowed, bad, counts = allow_list(), [], {}
    for name in names:
        script_file = suites / "src/test" / suite / "sql" / f"{name}.sql"
        script = script_file.read_text(errors="surrogateescape") if suite == "regress" else None
        out = [folder / "results" / f"{name}.out" for folder in (reference, forced)]
        if not all(path.exists() for path in out):
            bad.append(name)
            continue
        texts = [path.read_text(errors="surrogateescape") for path in out]
        for kind, statement, left, right in classify.compare(*texts, script):
            counts[kind] = counts.get(kind, 0) + 1
            # Forced runs show plans of PostgreSQL only.
            if kind == "order" or is_accelerated_plan(kind, left) or any(
                    s == suite and t in (name, "*") and k == kind and p.search(statement) for s, t, k, p in allowed):
                continue
            if name not in bad:
                bad.append(name)
            show_difference(name, kind, statement, left, right)
    print(f"    {suite}, forced: differences by kind: {counts or 'none'}", flush=True)
    return bad


def show_difference(name, kind, statement, left, right):
    print(f"--- {name}: {kind}\n{statement[-1500:]}", flush=True)
    for sign, lines, others in (("-", left, right), ("+", right, left)):
        known = set(others)
        for line in [other for other in lines if other not in known][:12]:
            print(f"    {sign} {line}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modes", default="default,forced")
    parser.add_argument("--suites", default="regress,isolation")
    parser.add_argument("--tests", default="", help="comma-separated tests instead of the schedule")
    parser.add_argument("--keep", help="folder that the results are copied to")
    options = parser.parse_args()
    modes = options.modes.split(",")
    if not postgres_source.exists():
        print(f"skipped: Debian has no source of PostgreSQL {cluster.server_root.VERSION}\n0 passed, 0 failed")
        return 0
    work = Path(tempfile.mkdtemp(prefix="pgt-core-"))
    os.chmod(work, 0o755)
    total_passed = total_failed = 0
    try:
        suites = postgres_source.unpack_suites(work)
        postgres_source.unpack_client(work)
        for suite in options.suites.split(","):
            results = {}
            # Forced output is judged against the default run's, made on the same machine.
            wanted = ["default"] + modes if "forced" in modes and "default" not in modes else modes
            for mode in wanted:
                only = [t for t in options.tests.split(",") if t]
                passed, failed, results[mode] = run_suite(suite, mode, suites, work, only)
                excused, failed = excuse_like_stock(suite, mode, suites, work, only, failed, results[mode])
                passed += excused
                if mode == "default":
                    excused, failed = excuse_accelerated_plans(suite, suites, failed, results[mode])
                    passed += excused
                names = passed + failed
                if mode == "forced":
                    crashed = [n for n in failed if n == "server-crash"]
                    names = [n for n in names if n != "server-crash"]
                    failed = compare_forced(suite, suites, results["default"], results[mode], names) + crashed
                    passed = [n for n in names if n not in failed]
                print(f"core {suite}, {mode}: {len(passed)} passed, {len(failed)} failed"
                      + (f": {' '.join(failed)}" if failed else ""), flush=True)
                if mode in modes:
                    total_passed += len(passed)
                    total_failed += len(failed)
        if options.keep:
            for folder in work.glob("*-*/"):
                shutil.copytree(folder, Path(options.keep) / folder.name, dirs_exist_ok=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed or not total_passed else 0


if __name__ == "__main__":
    sys.exit(main())
