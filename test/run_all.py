#!/usr/bin/env python3
"""run_all.py - runs the test suites and sums up.

Owns: the list of suites, each a command whose last line says `N passed, N
failed`, the table of what ran, and the last line of `make test`. A suite that dies, or whose output
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
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

import cluster  # noqa: E402
import server_root  # noqa: E402

BUILD = Path(os.environ.get("TURBINE_BUILD", REPOSITORY / "build"))
PYTHON = [sys.executable]
# With the packages of `make python-packages`.
PACKAGES_PYTHON = [str(BUILD / "python" / "bin" / "python")]

IN_C = ["env", "TURBINE_LOCALE=C"]
COMPILED = BUILD / "compiled-code"
PLAIN_ANSWERS = BUILD / "plain-answers"
ASSERTED = ["env", "TURBINE_MUTANT=asserted"]

# What workers read and decode, and how a scan ends; not what is done with its results. Every statement starts workers.
FED_SCRIPTS = ("aggregates,brin,cached_columns,collations,errors,feeders,filter_order,free_numeric,full_joins,"
               "join_filters,join_keys,joins,lazy_errors,numeric,parallel_scans,partitions,rights,row_counts,"
               "table_shapes,text,toast,types,visibility")

# Versions whose servers lack so much (ICU, libxml, most of contrib) that only the short forms say what they leave out.
LIMITED_BUILDS = ("16",)

# What differs between GPUs and the host. Kernels that all of them together must run.
GPU_SCRIPTS = "aggregates,float_sums,following_keys,full_joins,joins,late_parts,partitions,set_operations,several_distinct,text"
GPU_KERNELS = "tb_decode,tb_rows,tb_probe,tb_project,tb_reserve,tb_apply,tb_reduce,tb_table_place,tb_table_buckets"


class Suite(NamedTuple):
    """One suite: a command, what it proves, and how it runs among the others."""
    command: list
    proves: str
    # What the nightly run adds.
    nightly: tuple = ()
    # Nothing may run beside it: it checks how soon something happens, or keeps all processors busy. All other suites
    # run two at a time; each has clusters of its own.
    alone: bool = False
    # It asks whether something is compiled, so it starts without the programs of other suites.
    compiles: bool = False
    # It runs another suite once more in the collation C. `make test LOCALE=C` leaves it out: all suites run in C then.
    repeats_in_c: bool = False
    # It starts no PostgreSQL, or one with programs that are built for this machine's version alone: not run against
    # another one (TURBINE_PG).
    own_version: bool = False
    # Only if it is named.
    on_request: bool = False


# The one list of suites: `make test-NAME` takes every name. First run those that run alone, then all others, in this
# order: the longest first, and suites that compile programs before suites that reuse them (tools/compiled_code.py).
SUITES = {
    "layers": Suite(
        PYTHON + ["tools/check_tree.py"],
        "the tree keeps its layers, sizes and words",
        own_version=True),
    "format": Suite(
        PYTHON + ["tools/check_format.py"],
        "files look as the style says",
        own_version=True),
    "lint": Suite(
        PYTHON + ["tools/check_lint.py"],
        "Python and shell programs have no defect that linters know",
        own_version=True),
    "unit": Suite(
        PYTHON + ["test/run_unit.py"],
        "classes and functions do what they state, without a server; the harness notices what is wrong",
        ("--long",), alone=True, own_version=True),
    "pg-units": Suite(
        PYTHON + ["test/pg_units.py"],
        "pure functions of the extension do what they state",
        own_version=True),
    "faults": Suite(
        PYTHON + ["test/faults.py"],
        "cancelled, killed and starved processes cost a query at most, never an answer",
        ("--rounds", "1000"), alone=True),
    "feeders": Suite(
        PYTHON + ["test/feeders.py"],
        "feeder workers start, share, stop and fail without a wrong answer",
        ("--rounds", "200"), alone=True),
    "feeder-faults": Suite(
        PYTHON + ["test/faults.py", "--feeders", "--only", "cancel,statement_timeout,many_sessions,"
            "terminate_backends,kill_service,stop_service,kill_backend"],
        "the same faults while feeder workers read",
        ("--rounds", "1000"), alone=True),
    "join-faults": Suite(
        PYTHON + ["test/join_faults.py"],
        "joins end, or are cancelled, in time and within their memory",
        ("--rounds", "30"), alone=True),
    "profile": Suite(
        PYTHON + ["test/profile.py"],
        "phases add up to the execution time, traces are whole",
        alone=True),
    "pg16": Suite(
        PYTHON + ["test/other_version.py", "16"],
        "short forms of suites against PostgreSQL 16", alone=True, own_version=True),
    "pg17": Suite(
        PYTHON + ["test/other_version.py", "17"],
        "the same against PostgreSQL 17", alone=True, own_version=True),
    "pg18": Suite(
        PYTHON + ["test/other_version.py", "18"],
        "the same against PostgreSQL 18", alone=True, own_version=True),
    "sql": Suite(
        PYTHON + ["test/run_sql.py"],
        "every statement of test/sql gives PostgreSQL's answer, forced and not, direct and buffered",
        ("--full-code",)),
    "core": Suite(
        PYTHON + ["test/core/run_core.py"],
        "PostgreSQL's own regression and isolation tests pass"),
    "differential": Suite(
        PYTHON + ["test/differential.py", "--queries", "500"],
        "random queries give PostgreSQL's answers",
        ("--queries", "1000000")),
    "arrow-fdw": Suite(
        PACKAGES_PYTHON + ["test/arrow_fdw.py"],
        "foreign tables show what pyarrow, polars and DuckDB have written",
        ("--mutations", "100000")),
    "joins": Suite(
        PYTHON + ["test/join_fuzz.py", "--queries", "250"],
        "random joins give PostgreSQL's answers",
        ("--queries", "100000")),
    "spatial-joins": Suite(
        PYTHON + ["test/spatial_joins.py"],
        "joins of points with shapes by a grid give PostGIS's answers",
        ("--rounds", "200")),
    "shape-joins": Suite(
        PYTHON + ["test/shape_joins.py"],
        "joins whose pairs devices cannot decide stay on the device, and PostGIS decides these pairs",
        ("--rounds", "40")),
    "reports": Suite(
        PYTHON + ["test/report_queries.py"],
        "SSB, TPC-H and web log reports give PostgreSQL's answers over tables of many shapes",
        ("--sf", "0.2")),
    "races": Suite(
        PYTHON + ["test/races.py", "--races", "4000"],
        "answers hold while others write",
        ("--races", "100000")),
    # So many of one small table that is written to all the time: what a query finds cached changes with each.
    "account-races": Suite(
        PYTHON + ["test/races.py", "--kinds", "account", "--races", "20000"],
        "sums that no transaction changes hold while others write",
        ("--races", "500000")),
    "truth": Suite(
        PYTHON + ["test/truth_table.py"],
        "every function of the catalogue agrees with PostgreSQL at the edges of its types"),
    "mvcc": Suite(
        PYTHON + ["test/mvcc.py"],
        "an invariant holds beside everything that may happen to a table",
        ("--seconds", "1800")),
    "map-promise": Suite(
        PYTHON + ["test/map_promise.py"],
        "PostgreSQL keeps the promise about its visibility map that direct and cached reads rest on"),
    "version-upgrade": Suite(
        PYTHON + ["test/version_upgrade.py"],
        "pg_upgrade from PostgreSQL 15 to 17 keeps the extension, its tables, policies and pins",
        on_request=True),
    "fresh-blocks": Suite(
        PYTHON + ["test/fresh_blocks.py"],
        "rows that are not all-visible yet are cached, and each snapshot sees its own"),
    "first-rows": Suite(
        PYTHON + ["test/first_rows.py"],
        "first rows of an order have the columns of their snapshot, which are fetched"),
    "gpu-first-rows": Suite(
        PYTHON + ["test/on_stand_in.py", "--kernels", "tb_first_take,tb_first_return", "first_rows.py", "--device", "gpu"],
        "the same on a GPU, from which few rows come"),
    "text-lookups": Suite(
        PYTHON + ["test/text_lookups.py"],
        "conditions over texts that are computed once for each entry of a dictionary give PostgreSQL's answers",
        ("--queries", "5000")),
    "gpu-text-lookups": Suite(
        PYTHON + ["test/on_stand_in.py", "text_lookups.py", "--device", "gpu", "--queries", "60", "--rows", "6000"],
        "the same on a GPU",
        ("--queries", "1500")),
    "text-extremes": Suite(
        PYTHON + ["test/text_extremes.py"],
        "min and max of texts give PostgreSQL's answers",
        ("--queries", "2000")),
    "gpu-text-extremes": Suite(
        PYTHON + ["test/on_stand_in.py", "--kernels", "tb_reserve", "text_extremes.py", "--device", "gpu",
                  "--queries", "60", "--rows", "6000"],
        "the same on a GPU",
        ("--queries", "600")),
    "gpu-faults": Suite(
        PYTHON + ["test/gpu_faults.py", "--every", "7"],
        "a driver call that fails stays in its query, whichever it is",
        ("--every", "1", "--sticky", "40", "--seconds", "7200")),
    "split-faults": Suite(
        PYTHON + ["test/gpu_faults.py", "--gpus", "2", "--every", "11"],
        "a driver call that fails on any of two GPUs stays in the query that is split over them",
        ("--every", "1", "--sticky", "40", "--seconds", "7200")),
    # On GPUs whose kernels are interpreted (test/stand_in.py).
    "gpu-sql": Suite(
        PYTHON + ["test/on_stand_in.py", "--kernels", GPU_KERNELS, "run_sql.py", "--device", "gpu", "--only", GPU_SCRIPTS],
        "statements of test/sql that ask much of GPUs, on one whose kernels are interpreted"),
    "device-kernels": Suite(
        PYTHON + ["test/device_kernels.py"],
        "sorts, windows, growing groups and joins of a GPU give PostgreSQL's answers over large tables",
        ("--queries", "2000")),
    "gpu-differential": Suite(
        PYTHON + ["test/on_stand_in.py", "differential.py", "--device", "gpu", "--seed", "2001", "--queries", "250"],
        "random queries on a GPU give PostgreSQL's answers, and touch no memory but their own",
        ("--queries", "20000")),
    "gpu-cached-differential": Suite(
        PYTHON + ["test/on_stand_in.py", "--seed", "2", "differential.py", "--device", "gpu", "--cached", "--seed", "3001",
            "--queries", "250"],
        "random queries of cached tables on a GPU give PostgreSQL's answers",
        ("--queries", "20000")),
    "gpu-geometry": Suite(
        PYTHON + ["test/on_stand_in.py", "--seed", "4", "geometry.py", "--device", "gpu", "--pairs", "400"],
        "PostGIS's functions on a GPU give PostGIS's bits",
        ("--pairs", "4000")),
    "gpu-geometry-pairs": Suite(
        PYTHON + ["test/on_stand_in.py", "--seed", "6", "geometry_pairs.py", "--device", "gpu", "--pairs", "600"],
        "pairs of geometries that a GPU leaves undecided are decided by PostGIS",
        ("--pairs", "6000")),
    "gpu-geography": Suite(
        PYTHON + ["test/on_stand_in.py", "--seed", "7", "geography.py", "--device", "gpu", "--pairs", "400"],
        "distances on the spheroid are decided on a GPU as PostGIS does, or left to it",
        ("--pairs", "4000")),
    "gpu-spatial-joins": Suite(
        PYTHON + ["test/on_stand_in.py", "--seed", "5", "--kernels", "tb_probe,tb_project", "spatial_joins.py", "--device", "gpu",
            "--rounds", "1"],
        "joins of points with shapes by a grid on a GPU give PostGIS's answers",
        ("--rounds", "40")),
    "gpu-shape-joins": Suite(
        PYTHON + ["test/on_stand_in.py", "--seed", "7", "--kernels", "tb_probe,tb_project", "shape_joins.py", "--device", "gpu",
            "--rounds", "1"],
        "joins whose pairs a GPU cannot decide stay on the GPU, and PostGIS decides these pairs",
        ("--rounds", "10")),
    "gpu-joins": Suite(
        PYTHON + ["test/on_stand_in.py", "--seed", "3", "join_fuzz.py", "--device", "gpu", "--seed", "2001", "--queries", "1000"],
        "random joins on a GPU give PostgreSQL's answers",
        ("--queries", "50000")),
    "gpu-exports": Suite(
        PACKAGES_PYTHON + ["test/gpu_exports.py", "--stand-in", "--rounds", "6"],
        "columns that queries leave on a GPU are what SELECT returns",
        ("--rounds", "100")),
    "several-gpus": Suite(
        PYTHON + ["test/several_gpus.py"],
        "queries take the GPU that they name, that is idle, that has memory, or that has not failed"),
    "protocol": Suite(
        PYTHON + ["test/protocol.py"],
        "a service or a backend that lies harms neither",
        ("--fuzz", "5000")),
    "column-cache": Suite(
        PYTHON + ["test/column_cache.py"],
        "the cache shows, forgets and evicts what it should"),
    "pins": Suite(
        PYTHON + ["test/pins.py"],
        "pinned tables stay in memory, over restarts, dumps and replicas"),
    "gstore": Suite(
        PYTHON + ["test/gstore.py"],
        "statements about foreign tables of gstore_fdw make and change pinned tables, and harm no others"),
    "gstore-crashes": Suite(
        PYTHON + ["test/gstore_crashes.py"],
        "kills lose no committed row of a pinned table, and bring back none that was rolled back",
        ("--rounds", "1000")),
    "language": Suite(
        PYTHON + ["test/language.py"],
        "functions of LANGUAGE turbine mean the same on devices, in PostgreSQL and in PL/pgSQL, and harm nothing",
        ("--functions", "2000")),
    "geometry": Suite(
        PYTHON + ["test/geometry.py"],
        "PostGIS's functions on devices give PostGIS's bits, or leave the row to it",
        ("--rounds", "50")),
    "geometry-pairs": Suite(
        PYTHON + ["test/geometry_pairs.py"],
        "pairs of geometries that devices leave undecided are decided by PostGIS, row by row",
        ("--pairs", "20000")),
    "geography": Suite(
        PYTHON + ["test/geography.py"],
        "distances on the spheroid are decided as PostGIS does, or left to it",
        ("--pairs", "10000000")),
    "geo-files": Suite(
        PACKAGES_PYTHON + ["test/geo_files.py"],
        "geometries in Arrow and Parquet files are what PostGIS makes of the same well-known binary"),
    "plcuda": Suite(
        PYTHON + ["test/plcuda.py"],
        "functions of LANGUAGE plcuda return what they should, and harm nothing whatever they do",
        ("--cublas",),
        alone=True),
    "plcuda-faults": Suite(
        PYTHON + ["test/plcuda_faults.py"],
        "functions of LANGUAGE plcuda that misbehave cost their own call, whatever queries run beside them",
        ("--rounds", "20"),
        alone=True),
    "exports": Suite(
        PYTHON + ["test/exports.py"],
        "other processes open results and tables as PostgreSQL returns them, and only those who may"),
    "learning": Suite(
        PACKAGES_PYTHON + ["test/learning.py"],
        "trainings and predictions in SQL find what NumPy finds, on the device and in PostgreSQL",
        ("--long", "--sklearn")),
    "streams": Suite(
        PACKAGES_PYTHON + ["test/streams.py"],
        "cursors that the service streams return PostgreSQL's rows in order, whatever happens in the middle"),
    "cache-cycles": Suite(
        PYTHON + ["test/cache_cycles.py"],
        "fills, drops and kills leave no memory behind",
        ("--cycles", "1000")),
    "write-faults": Suite(
        PACKAGES_PYTHON + ["test/write_faults.py"],
        "kills and full disks leave files whole",
        ("--rounds", "300")),
    "file-mutations": Suite(
        PACKAGES_PYTHON + ["test/file_mutations.py"],
        "no spoilt file harms a reader",
        ("--arrow", "1000000", "--parquet", "100000")),
    "file-differential": Suite(
        PACKAGES_PYTHON + ["test/file_differential.py"],
        "random queries of files give PostgreSQL's answers",
        ("--queries", "100000")),
    "cache-loading": Suite(
        PYTHON + ["test/cache_loading.py"],
        "loads, policies, restarts and standbys fill the cache as they state"),
    "compile-hints": Suite(
        PYTHON + ["test/compile_hints.py"],
        "a query that only compilation kept from devices is accelerated when it comes again",
        compiles=True),
    "device-choice": Suite(
        PYTHON + ["test/device_choice.py"],
        "the planner takes the device that its costs favour"),
    "split-queries": Suite(
        PYTHON + ["test/split_queries.py"],
        "queries that are split over several GPUs give PostgreSQL's answers, and say who did what"),
    "topology": Suite(
        PYTHON + ["test/topology.py"],
        "GPUs, drives and their distances are shown, and choose the GPU of a table's queries"),
    "paid-plans": Suite(
        PYTHON + ["test/paid_plans.py"],
        "columns are read into the cache if many plans would have gained, and only then"),
    "background-loads": Suite(
        PYTHON + ["test/background_loads.py"],
        "columns that a query would gain from are loaded in the background, beside others, and only then"),
    "file-scans": Suite(
        PACKAGES_PYTHON + ["test/file_scans.py"],
        "the engine reads declared types, changed files and all encodings of Parquet"),
    "direct-reads": Suite(
        PACKAGES_PYTHON + ["test/direct_reads.py"],
        "reads past the page cache bring what PostgreSQL reads, and leave the page cache alone"),
    "direct-races": Suite(
        PYTHON + ["test/races.py", "--storage-path", "direct", "--races", "2000"],
        "answers hold while others write and blocks are read past the page cache",
        ("--races", "100000")),
    "file-values": Suite(
        PACKAGES_PYTHON + ["test/file_values.py"],
        "values at the edges of every type and unit are exact or errors, in both readers of files"),
    "to-file": Suite(
        PACKAGES_PYTHON + ["test/to_file.py"],
        "files that SQL functions write hold the rows that PostgreSQL has"),
    "write-files": Suite(
        PACKAGES_PYTHON + ["test/write_files.py"],
        "rows written to foreign tables keep transactions, rights and types"),
    "python-package": Suite(
        PACKAGES_PYTHON + ["test/python_package.py"],
        "the Python package shares memory with every library, without a copy, a leak or a crash"),
    "upgrade": Suite(
        PACKAGES_PYTHON + ["test/upgrade.py"],
        "an old extension can be updated, dumped and restored"),
    "operations": Suite(
        PYTHON + ["test/operations.py"],
        "replicas, subscribers, backups and rewound servers give PostgreSQL's answers, while devices run queries",
        ("--rounds", "200")),
    "neighbours": Suite(
        PYTHON + ["test/neighbours.py"],
        "other extensions work beside ours, in every order of their libraries"),
    "running-upgrade": Suite(
        PYTHON + ["test/running_upgrade.py"],
        "this build is installed under a running server of the last release, and no answer is wrong",
        on_request=True),
    "packages": Suite(
        PYTHON + ["test/packages.py"],
        "packages install, work, are replaced and go without a trace, in a minimal Debian",
        on_request=True),
    "new-input": Suite(
        PYTHON + ["test/new_input.py"],
        "an input that is added from outside gives PostgreSQL's answers",
        own_version=True),
    "brin": Suite(
        PYTHON + ["test/brin.py"],
        "blocks that BRIN indexes exclude hold no row of the answer",
        ("--races", "20000")),
    "block-indexes": Suite(
        PYTHON + ["test/block_indexes.py"],
        "blocks that GiST, SP-GiST and GIN indexes exclude hold no row of the answer",
        ("--races", "5000")),
    "sqlsmith": Suite(
        PYTHON + ["test/sqlsmith.py"],
        "SQLsmith's queries crash nothing and meet no internal error",
        ("--queries", "1000000")),
    "moved-pages": Suite(
        PYTHON + ["test/moved_pages.py"],
        "pages that change under a read are read again"),
    "pg2arrow": Suite(
        PACKAGES_PYTHON + ["test/pg2arrow.py"],
        "exported files hold what the server has"),
    "mysql2arrow": Suite(
        PACKAGES_PYTHON + ["test/mysql2arrow.py"],
        "files exported from MariaDB hold what the server has",
        own_version=True),
    "feeder-races": Suite(
        PYTHON + ["test/races.py", "--feeders", "--races", "2000"],
        "answers hold while others write and feeders read",
        ("--races", "100000")),
    # With the module whose assertions are switched on.
    "feeder-sql": Suite(
        ASSERTED + PYTHON + ["test/run_sql.py", "--feeders", "--only", FED_SCRIPTS],
        "test/sql with every scan fed by workers, assertions switched on",
        ("--only", ""),
        own_version=True),
    # Everything cached: tables are loaded into the column cache first.
    "cached-sql": Suite(
        PYTHON + ["test/run_sql.py", "--cached"],
        "test/sql with every table cached"),
    "mutants": Suite(
        PYTHON + ["test/mutants.py"],
        "each defect put in on purpose is noticed",
        own_version=True),
    "cached-differential": Suite(
        PYTHON + ["test/differential.py", "--cached", "--seed", "1001", "--queries", "250"],
        "random queries of cached tables give PostgreSQL's answers",
        ("--queries", "100000")),
    "cached-joins": Suite(
        PYTHON + ["test/join_fuzz.py", "--cached", "--seed", "1001", "--sets", "8",
            "--queries", "200"],
        "random joins of cached tables give PostgreSQL's answers",
        ("--queries", "100000")),
    "cached-truth": Suite(
        PYTHON + ["test/truth_table.py", "--cached"],
        "every function over cached columns agrees with PostgreSQL"),
    "cached-brin": Suite(
        PYTHON + ["test/brin.py", "--cached", "--races", "100"],
        "BRIN beside cached columns",
        ("--races", "20000")),
    "cached-reports": Suite(
        PYTHON + ["test/report_queries.py", "--cached"],
        "reports over cached tables give PostgreSQL's answers",
        ("--sf", "0.2")),
    # What the collation of a cluster decides: all others run in C.UTF-8, which a new cluster has.
    "c-reports": Suite(
        IN_C + PYTHON + ["test/report_queries.py", "--variants", "1"],
        "reports in the collation C",
        repeats_in_c=True),
    "c-sql": Suite(
        IN_C + PYTHON + ["test/run_sql.py", "--only",
            "aggregates,collations,join_keys,sorting,text,windows"],
        "what collations decide, in C",
        repeats_in_c=True),
    "sanitize": Suite(
        PYTHON + ["test/run_unit.py", "--sanitize"],
        "unit tests under ASAN and UBSAN",
        alone=True, on_request=True),
    # After that one, which builds the programs.
    "sanitize-protocol": Suite(
        PYTHON + ["test/protocol.py", "--fuzz", "500",
            "--turbined", "build-sanitize/src/daemon/turbined",
            "--compiler", "build-sanitize/src/compiler/turbine-compiler"],
        "the protocol suite against a service under ASAN and UBSAN",
        alone=True, on_request=True),
}
_SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$")
_terminal = threading.Lock()
# Of a suite that failed, the summary shows the last lines again: a log may be read from its end only.
REPEATED_LINES = 25


def default_suites():
    if server_root.VERSION in LIMITED_BUILDS:
        return [f"pg{server_root.VERSION}"]
    in_c = cluster.cluster_locale() == "C"
    return [name for name, suite in SUITES.items()
            if not suite.on_request and not (in_c and suite.repeats_in_c) and not (server_root.VERSION and suite.own_version)]


def passed_and_failed(name, last_line, status):
    found = _SUMMARY.match(last_line)
    passed, failed = (int(found.group(1)), int(found.group(2))) if found else (0, 1)
    if status != 0 and failed == 0:
        print(f"{name}: exit status {status}", flush=True)
        failed = 1
    return passed, failed


class Outcome(NamedTuple):
    passed: int
    failed: int
    seconds: float
    # Of the suite and of all processes it has waited for, its servers among them.
    processor_seconds: float
    # The output's end.
    last_lines: list
    # Why nothing ran, or what did.
    told: str


def run(name, nightly, side_by_side):
    """Runs one suite, its output passed on, at once or in one piece at the end."""
    if not side_by_side:
        print(f"=== {name}", flush=True)
    suite = SUITES[name]
    command = suite.command + list(suite.nightly if nightly else ())
    started = time.monotonic()
    lines = []
    environment = dict(os.environ)
    if side_by_side and not suite.compiles:
        environment["TURBINE_COMPILED_CODE"] = str(COMPILED)
        environment["TURBINE_PLAIN_ANSWERS"] = str(PLAIN_ANSWERS)
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE,
                          text=True, errors="replace", env=environment) as process:
        for line in process.stdout:
            lines.append(line)
            if not side_by_side:
                print(line, end="", flush=True)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - started
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    with _terminal:
        if side_by_side:
            print(f"=== {name}\n" + "".join(lines), end="", flush=True)
        passed, failed = passed_and_failed(name, last, process.returncode)
        print(f"=== {name}: {passed} passed, {failed} failed, {seconds:.0f} s", flush=True)
    told = next((line.strip() for line in lines if line.startswith(("skipped: ", "ran: "))), "")
    return Outcome(passed, failed, seconds, used.ru_utime + used.ru_stime, lines[-REPEATED_LINES:], told)


def print_table(outcomes):
    """What ran, how long, and what it proves."""
    print(f"{'suite':<20}{'seconds':>8}{'processor':>11}{'passed':>8}{'failed':>8}  proves")
    for name, outcome in outcomes.items():
        print(f"{name:<20}{outcome.seconds:>8.0f}{outcome.processor_seconds:>11.0f}{outcome.passed:>8}"
              f"{outcome.failed:>8}  {outcome.told if outcome.told.startswith('skipped') else SUITES[name].proves}")


def print_versions(outcomes):
    """What ran against which version of PostgreSQL."""
    others = {name: outcome for name, outcome in outcomes.items() if name.startswith("pg") and name[2:].isdigit()}
    own = {name: outcome for name, outcome in outcomes.items() if name not in others}
    if own:
        skipped = [name for name, outcome in own.items() if outcome.told.startswith("skipped")]
        print(f"PostgreSQL {cluster.pg_config('--version').split()[1]}: {len(own) - len(skipped)} suites, "
              f"{sum(outcome.passed for outcome in own.values())} passed, {sum(outcome.failed for outcome in own.values())} failed"
              + f"; skipped: {', '.join(skipped)}" * bool(skipped))
    for name, outcome in others.items():
        print(f"PostgreSQL {name[2:]}: {outcome.told or 'ended early'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--nightly", action="store_true", help="the long forms")
    parser.add_argument("--list", action="store_true", help="the suites: what each proves, and its command")
    options = parser.parse_args()
    if options.list:
        for name, suite in SUITES.items():
            print(f"{name:<20}{suite.proves}\n{'':<20}{' '.join(Path(word).name for word in suite.command)}")
        return 0
    names = options.suites or default_suites()
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        parser.error(f"no suite is called {' or '.join(unknown)}; there are {' '.join(SUITES)}")
    beside = [name for name, suite in SUITES.items() if name in names and not suite.alone]
    if len(beside) < 2:
        beside = []

    outcomes = {name: run(name, options.nightly, False) for name in names if name not in beside}
    if beside:
        shutil.rmtree(COMPILED, ignore_errors=True)
        shutil.rmtree(PLAIN_ANSWERS, ignore_errors=True)
        cluster.stage()     # what both would do at once
    with ThreadPoolExecutor(max_workers=2) as lanes:
        outcomes.update(zip(beside, lanes.map(lambda name: run(name, options.nightly, True), beside), strict=True))
    failing = [name for name, outcome in outcomes.items() if outcome.failed]
    print_table(outcomes)
    print_versions(outcomes)
    # Behind the table: where only the end of the output is kept, as of a job of CI, this is what says why.
    for name in failing:
        print(f"=== {name}, how it ended\n" + "".join(outcomes[name].last_lines), end="")
    if failing:
        print(f"failing suites: {' '.join(failing)}")
    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(outcome.failed for outcome in outcomes.values())
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
