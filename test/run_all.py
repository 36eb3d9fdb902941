#!/usr/bin/env python3
"""run_all.py - runs the test suites and sums up.

Owns: the list of suites, each a command whose last line says `N passed, N
failed`, and the last line of `make test`. A suite that dies, or whose output
ends otherwise, counts as a failure.
Suites that check how soon something happens run first and alone, all others two
at a time. Must never: hide a failure; the exit status is 0 only if all suites passed.
Called by: the Makefile.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

import cluster  # noqa: E402

BUILD = Path(os.environ.get("TURBINE_BUILD", REPOSITORY / "build"))
PYTHON = [sys.executable]
# With the packages of `make python-packages`.
PACKAGES_PYTHON = [str(BUILD / "python" / "bin" / "python")]

IN_C = ["env", "TURBINE_LOCALE=C"]
COMPILED = BUILD / "compiled-code"
ASSERTED = ["env", "TURBINE_MUTANT=asserted"]

# What workers read and decode, and how a scan ends; not what is done with its results. Every statement starts workers.
FED_SCRIPTS = ("aggregates,brin,cached_columns,collations,errors,feeders,filter_order,free_numeric,full_joins,join_filters,"
               "join_keys,joins,lazy_errors,numeric,parallel_scans,partitions,rights,row_counts,table_shapes,"
               "text,toast,types,visibility")

# suite: (command, what the nightly run adds)
SUITES = {
    "layers": (PYTHON + ["tools/check_tree.py"], []),
    "format": (PYTHON + ["tools/check_format.py"], []),
    "unit": (PYTHON + ["test/run_unit.py"], []),
    "pg-units": (PYTHON + ["test/pg_units.py"], []),
    "sql": (PYTHON + ["test/run_sql.py"], []),
    "truth": (PYTHON + ["test/truth_table.py"], []),
    "brin": (PYTHON + ["test/brin.py"], ["--races", "20000"]),
    "differential": (PYTHON + ["test/differential.py", "--queries", "900"], ["--queries", "1000000"]),
    "sqlsmith": (PYTHON + ["test/sqlsmith.py"], ["--queries", "1000000"]),
    "faults": (PYTHON + ["test/faults.py"], ["--rounds", "1000"]),
    "feeders": (PYTHON + ["test/feeders.py"], ["--rounds", "200"]),
    # Everything cached: tables are loaded into the column cache first.
    "cached-sql": (PYTHON + ["test/run_sql.py", "--cached"], []),
    "cached-truth": (PYTHON + ["test/truth_table.py", "--cached"], []),
    "cached-differential": (PYTHON + ["test/differential.py", "--cached", "--seed", "1001", "--queries", "250"],
                            ["--queries", "100000"]),
    "cached-joins": (PYTHON + ["test/join_fuzz.py", "--cached", "--seed", "1001", "--sets", "8", "--queries", "200"],
                     ["--queries", "100000"]),
    "cached-brin": (PYTHON + ["test/brin.py", "--cached", "--races", "100"], ["--races", "20000"]),
    "cached-reports": (PYTHON + ["test/report_queries.py", "--cached"], ["--sf", "0.2"]),
    # With the module whose assertions are switched on.
    "feeder-sql": (ASSERTED + PYTHON + ["test/run_sql.py", "--feeders", "--only", FED_SCRIPTS], ["--only", ""]),
    "feeder-faults": (PYTHON + ["test/faults.py", "--feeders", "--only", "cancel,statement_timeout,many_sessions,"
                                "terminate_backends,kill_service,stop_service,kill_backend"], ["--rounds", "1000"]),
    "feeder-races": (PYTHON + ["test/races.py", "--feeders", "--races", "2000"], ["--races", "100000"]),
    "joins": (PYTHON + ["test/join_fuzz.py", "--queries", "400"], ["--queries", "100000"]),
    "join-faults": (PYTHON + ["test/join_faults.py"], ["--rounds", "30"]),
    "gpu-faults": (PYTHON + ["test/gpu_faults.py"], ["--sticky", "40"]),
    "profile": (PYTHON + ["test/profile.py"], []),
    "protocol": (PYTHON + ["test/protocol.py"], ["--fuzz", "5000"]),
    "column-cache": (PYTHON + ["test/column_cache.py"], []),
    "cache-loading": (PYTHON + ["test/cache_loading.py"], []),
    "compile-hints": (PYTHON + ["test/compile_hints.py"], []),
    "device-choice": (PYTHON + ["test/device_choice.py"], []),
    "paid-plans": (PYTHON + ["test/paid_plans.py"], []),
    "cache-cycles": (PYTHON + ["test/cache_cycles.py"], ["--cycles", "1000"]),
    "mvcc": (PYTHON + ["test/mvcc.py"], ["--seconds", "1800"]),
    "file-scans": ([str(BUILD / "python/bin/python"), "test/file_scans.py"], []),
    "file-values": ([str(BUILD / "python/bin/python"), "test/file_values.py"], []),
    "to-file": ([str(BUILD / "python/bin/python"), "test/to_file.py"], []),
    "write-files": ([str(BUILD / "python/bin/python"), "test/write_files.py"], []),
    "write-faults": ([str(BUILD / "python/bin/python"), "test/write_faults.py"], ["--rounds", "300"]),
    "file-differential": ([str(BUILD / "python/bin/python"), "test/file_differential.py"], ["--queries", "100000"]),
    "file-mutations": ([str(BUILD / "python/bin/python"), "test/file_mutations.py"],
                       ["--arrow", "1000000", "--parquet", "100000"]),
    "arrow-fdw": ([str(BUILD / "python/bin/python"), "test/arrow_fdw.py"], ["--mutations", "100000"]),
    "moved-pages": (PYTHON + ["test/moved_pages.py"], []),
    "races": (PYTHON + ["test/races.py"], ["--races", "100000"]),
    "mutants": (PYTHON + ["test/mutants.py"], []),
    "reports": (PYTHON + ["test/report_queries.py"], ["--sf", "0.2"]),
    "core": (PYTHON + ["test/core/run_core.py"], []),
    "pg2arrow": (PACKAGES_PYTHON + ["test/pg2arrow.py"], []),
    "mysql2arrow": (PACKAGES_PYTHON + ["test/mysql2arrow.py"], []),
    "c-sql": (IN_C + PYTHON + ["test/run_sql.py", "--only",
                               "aggregates,collations,join_keys,sorting,text,windows"], []),
    "c-reports": (IN_C + PYTHON + ["test/report_queries.py", "--variants", "1"], []),
}
# What the collation of a cluster decides, in C besides: all others run in C.UTF-8, which a
# new cluster has. Where TURBINE_LOCALE makes all of them run in C, these would repeat them.
ONLY_IN_C = ("c-sql", "c-reports")
ON_REQUEST = {
    "sanitize": (PYTHON + ["test/run_unit.py", "--sanitize"], []),
    # After that one, which builds the programs.
    "sanitize-protocol": (PYTHON + ["test/protocol.py", "--fuzz", "500",
                                    "--turbined", "build-sanitize/src/daemon/turbined",
                                    "--compiler", "build-sanitize/src/compiler/turbine-compiler"], []),
}
_SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$")


# What these check does not depend on how soon something happens, so two of them run side by side: the longest first,
# and behind them those whose programs they have compiled (tools/compiled_code.py).
# Each has clusters of its own, and none keeps two processors busy.
UNTIMED = ("sql", "core", "differential", "arrow-fdw", "joins", "reports", "races", "truth", "file-mutations",
           "file-differential", "cache-loading", "compile-hints", "device-choice", "paid-plans", "file-scans", "file-values", "to-file",
           "write-files",
           "brin", "sqlsmith", "moved-pages", "pg2arrow", "mysql2arrow", "feeder-races", "feeder-sql", "cached-sql", "mutants",
           "cached-differential", "cached-joins", "cached-truth", "cached-brin", "cached-reports", "c-reports", "c-sql")
# Of these, what asks whether something is compiled begins without the programs of other suites.
COMPILING = ("compile-hints",)
_terminal = threading.Lock()
# Of a suite that failed, the summary shows the last lines again: a log may be read from its end only.
REPEATED_LINES = 25


def default_suites():
    in_c = cluster.cluster_locale() == "C"
    return [name for name in SUITES if not (in_c and name in ONLY_IN_C)]


def passed_and_failed(name, last_line, status):
    found = _SUMMARY.match(last_line)
    passed, failed = (int(found.group(1)), int(found.group(2))) if found else (0, 1)
    if status != 0 and failed == 0:
        print(f"{name}: exit status {status}", flush=True)
        failed = 1
    return passed, failed


def run(name, command, side_by_side):
    """Runs one suite, its output passed on, at once or in one piece at the end.

    Returns (passed, failed, the output's last lines)."""
    if not side_by_side:
        print(f"=== {name}", flush=True)
    started = time.monotonic()
    lines = []
    environment = dict(os.environ)
    if side_by_side and name not in COMPILING:
        environment["TURBINE_COMPILED_CODE"] = str(COMPILED)
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE,
                          text=True, errors="replace", env=environment) as process:
        for line in process.stdout:
            lines.append(line)
            if not side_by_side:
                print(line, end="", flush=True)
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    with _terminal:
        if side_by_side:
            print(f"=== {name}\n" + "".join(lines), end="", flush=True)
        passed, failed = passed_and_failed(name, last, process.returncode)
        print(f"=== {name}: {passed} passed, {failed} failed, {time.monotonic() - started:.0f} s", flush=True)
    return passed, failed, lines[-REPEATED_LINES:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--nightly", action="store_true")
    options = parser.parse_args()
    known = {**SUITES, **ON_REQUEST}
    names = options.suites or default_suites()
    untimed = [name for name in UNTIMED if name in names]
    if len(untimed) < 2:
        untimed = []

    def outcome(name):
        command, nightly = known[name]
        return run(name, command + (nightly if options.nightly else []), name in untimed)

    outcomes = {name: outcome(name) for name in names if name not in untimed}
    if untimed:
        shutil.rmtree(COMPILED, ignore_errors=True)
        cluster.stage()     # what both would do at once
    with ThreadPoolExecutor(max_workers=2) as lanes:
        outcomes.update(zip(untimed, lanes.map(outcome, untimed)))
    failing = [name for name, (_, failed, _) in outcomes.items() if failed]
    for name in failing:
        print(f"=== {name}, how it ended\n" + "".join(outcomes[name][2]), end="")
    if failing:
        print(f"failing suites: {' '.join(failing)}")
    passed, failed = (sum(outcome[part] for outcome in outcomes.values()) for part in (0, 1))
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
