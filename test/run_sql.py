#!/usr/bin/env python3
"""run_sql.py - every script of test/sql, plain and forced, compared statement by statement.

PostgreSQL itself is the expected output: each script runs in a fresh database
with pg_turbine.enabled=off, in another with every offloadable plan forced, and,
of what direct reads may change, in a third where besides every ANALYZE also vacuums and checkpoints, so that
blocks are read directly from the files; with --feeders only, in one where parallel
workers feed what is not, with --cached only, in one where every ANALYZE also loads all
columns of all tables into the cache. Statements must agree in rows,
SQLSTATE and message. What makes tables and the like must succeed. Statements marked
`-- offloaded: NODE` must be planned with that node, or the test would compare
PostgreSQL with itself.
Where TURBINE_PLAIN_ANSWERS names a folder, answers of the plain run are left there for
another run of the same script by the same server: test/run_all.py, which runs scripts
several times, begins with an empty one.
Must never: keep expected output longer than that.
Called by: make test-sql, test/run_all.py, test/mutants.py. Options: --device, --only, --feeders, --cached,
--until-difference, --full-code, --stock
(no extension: proves the scripts themselves).
"""

import argparse
import hashlib
import json
import os
import pickle
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
import server_features  # noqa: E402
import sql_script  # noqa: E402
import workload  # noqa: E402
from cached_tables import CacheUse, checkpoint  # noqa: E402
from pg_client import ConnectionLost  # noqa: E402

OFF = {"pg_turbine.enabled": "off"}
FORCED = {"pg_turbine.enabled": "on", "pg_turbine.debug_force_offload": "on"}
DIRECT = {**FORCED, "pg_turbine.direct_threshold": "0"}
CACHED = DIRECT
# What quick code does in the other mode, full code does in direct mode: of scripts on what values become. Of all others
# with --full-code, since compiling in full is most of their time.
FULL_CODE = {"pg_turbine.debug_full_code": "on"}
FULL_CODE_SCRIPTS = ("aggregates", "datetime", "float_sums", "free_numeric", "lazy_errors", "numeric", "text",
                     "time_zones", "toast", "types")
# What direct reads may change. Unless they are named, other scripts run in direct mode with --full-code only: with
# --cached they read the same blocks directly, and then their columns.
DIRECT_SCRIPTS = (*FULL_CODE_SCRIPTS, "brin", "cached_columns", "excluded_segments", "filter_order", "found_segments",
                  "full_joins", "join_keys", "parallel_scans", "partitions", "row_counts", "scan_costs", "table_shapes", "visibility")
# Of the blocks that statements over loaded tables read; those that a script has changed come otherwise.
LEAST_CACHED = 0.5
# 16 gave it another name, since it is no setting for users.
PARALLEL_EVERYWHERE = "force_parallel_mode" if cluster.major_version() < 16 else "debug_parallel_query"
# Parallel workers feed wherever they may, and the backend leaves all of it to them. Nothing is cached, so that there is
# something to feed each time.
FEEDING = {**FORCED, "pg_turbine.enable_cache": "off", PARALLEL_EVERYWHERE: "on", "max_parallel_workers_per_gather": "2",
           "parallel_leader_participation": "off"}
# What scripts do to have something to ask about. PostgreSQL itself must do it, or all that follows asks about nothing.
PREPARATIONS = ("ALTER", "ANALYZE", "COPY", "CREATE", "DELETE", "INSERT", "PREPARE", "UPDATE")
# Expected of no script: each would mean that the service, not a value, failed.
SERVICE_FAULTS = ("no_service", "no_device", "device_lost", "compile", "protocol")


def plan_of(session, statement):
    """The root of the statement's plan, None if EXPLAIN fails."""
    outcome = session.run(f"EXPLAIN (FORMAT JSON) {statement.text}")
    # In a failed transaction nothing can be explained; the statement itself tells.
    return None if outcome.error else json.loads(outcome.rows[0][0])[0]["Plan"]


def node_names(plan):
    """Names of the engine's nodes in the plan, "" if there are none."""
    names = set()
    for node in workload.plan_nodes(plan):
        if node.get("Custom Plan Provider", "").startswith("Gpu"):
            names.add(node["Custom Plan Provider"])
            if node.get("Parallel Aware"):
                names.add("Parallel" + node["Custom Plan Provider"])
    return " ".join(sorted(names))


def node_shown(session, statement):
    """The same of the statement's plan, "" if EXPLAIN fails."""
    plan = plan_of(session, statement)
    return node_names(plan) if plan else ""


def joins_shown(group):
    """The joins of a stream as text: "(a, left b(c))"."""
    joins = []
    while f"Depth {len(joins) + 1}" in group:
        join = group[f"Depth {len(joins) + 1}"]
        kind = "" if join["Join Type"] == "Inner" else join["Join Type"].lower() + " "
        joins.append(kind + join["Inner Relation"].split()[-1] + joins_shown(join))
    return f"({', '.join(joins)})" if joins else ""


def shapes_shown(plan):
    """The shape of each join of the engine's in the plan."""
    return [node["Outer Scan"].split()[-1] + joins_shown(node) for node in workload.plan_nodes(plan)
            if "Outer Scan" in node]


def check_node(session, statement):
    """A complaint about where and how the statement is planned to run, or None."""
    if not (statement.node or statement.stays or statement.shape or statement.shows) and statement.subplans is None:
        return None
    plan = plan_of(session, statement)
    shown = node_names(plan) if plan else ""
    if statement.stays:
        return f"offloaded to {shown}, should stay" if shown else None
    if statement.node and statement.node not in shown.split():
        return f"EXPLAIN shows {shown or 'no node of ours'}, not {statement.node}"
    subplans = [node for node in workload.plan_nodes(plan) if node.get("Parent Relationship") == "SubPlan"] if plan else []
    if statement.subplans not in (None, len(subplans)):
        return f"EXPLAIN shows {len(subplans)} subqueries that run for each row, not {statement.subplans}"
    properties = [f"{name}: {value}" for node in workload.plan_nodes(plan) for name, value in node.items()] if plan else []
    if statement.shows and statement.shows not in properties:
        return f"EXPLAIN does not show {statement.shows}"
    shapes = shapes_shown(plan) if plan else []
    if statement.shape and statement.shape not in shapes:
        return f"EXPLAIN shows {'; '.join(shapes) or 'no join of ours'}, not {statement.shape}"
    return None


def clean_pages(server, session, statement, database, use):
    """After ANALYZE of a table: makes its blocks all-visible and clean; and loads all tables, if `use` is of the cache."""
    if statement.text.upper().startswith("ANALYZE ") and session.transaction_status == "I":
        session.query("VACUUM " + statement.text[len("ANALYZE "):])
        if use:
            return use.load(database, checkpoint)
        # The script may have taken a role that may not.
        with server.connect(database) as admin:
            admin.query("CHECKPOINT")


def first_difference(statements, plain):
    """What tells of the i-th statement and its outcome whether that is another answer than plain's."""
    return lambda i, outcome: i < len(plain) and plain[i][0] and answers.difference(
        plain[i][0], outcome, statements[i].ordered, statements[i].floats)


def run_script(server, statements, database, settings, check=False, use=None, until=None):
    """[(outcome, complaint)] of all statements, or of those until one of which until(i, outcome) holds; in a
    database of their own."""
    with server.connect() as admin:
        admin.query(f"CREATE DATABASE {database} TEMPLATE template1")
    outcomes = []
    try:
        with server.connect(database, settings=settings) as session:
            for statement in statements:
                complaint = check_node(session, statement) if check else None
                outcomes.append((session.run(statement.text), complaint))
                if until and until(len(outcomes) - 1, outcomes[-1][0]):
                    break
                if database in ("direct", "cached"):
                    clean_pages(server, session, statement, database, use)
    except ConnectionLost as lost:
        outcomes.append((None, str(lost)))
    finally:
        with server.connect() as admin:
            admin.run(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
    return outcomes


def leave_out(server, statements, left_out):
    """The statements whose needs the server meets; counts the others in `left_out` by what they need."""
    needed = sorted({statement.needs for statement in statements if statement.needs})
    if not needed:
        return statements
    with server.connect() as session:
        lacking = {name for name in needed if not server_features.has(session, name)}
    left_out.update(statement.needs for statement in statements if statement.needs in lacking)
    return [statement for statement in statements if statement.needs not in lacking]


def plain_answers(server, script, statements):
    """Outcomes of all statements without us, as run_script() returns them."""
    folder = os.environ.get("TURBINE_PLAIN_ANSWERS")
    if not folder:
        return run_script(server, statements, "plain", OFF)
    key = "\n".join((script.read_text(encoding="utf-8"), str(len(statements)), cluster.cluster_locale(), cluster.pg_config("--version")))
    kept = Path(folder) / f"{script.stem}.{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    outcomes = run_script(server, statements, "plain", OFF)
    if outcomes[-1][0]:
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Another suite may do the same beside this one.
        temporary = kept.with_name(f"{kept.name}.{os.getpid()}")
        temporary.write_bytes(pickle.dumps(outcomes))
        temporary.replace(kept)
    return outcomes


def compare(name, statements, plain, forced):
    """Prints the differences; returns (passed, failed) statements."""
    failed = 0
    for i, statement in enumerate(statements):
        if i >= len(plain) or i >= len(forced) or plain[i][0] is None or forced[i][0] is None:
            side = forced if i >= len(forced) or forced[i][0] is None else plain
            print(f"{name}: session lost at: {statement.text[:300]}\n    {side[-1][1]}", flush=True)
            return i - failed, failed + len(statements) - i
        found = forced[i][1] or answers.difference(plain[i][0], forced[i][0], statement.ordered, statement.floats)
        if plain[i][0].error and statement.text.split()[0].upper() in PREPARATIONS:
            found = f"PostgreSQL itself says {plain[i][0].error}"
        if found:
            failed += 1
            print(f"{name}: {statement.text[:600]}\n    {found}", flush=True)
    return len(statements) - failed, failed


def check_counters(server, long_enough=True, blocks="blocks_direct"):
    """(passed, failed): the service did its part; and, of a run that is long
    enough to have it all, devices ran queries and blocks were read that way."""
    with server.connect() as session:
        counters = {name: int(value) for name, value in session.query("SELECT * FROM turbine.stat_queries")}
        gpus = int(session.value("SELECT count(*) FROM turbine.devices WHERE kind <> 'host'"))
    print("  " + ", ".join(f"{name} {value}" for name, value in counters.items() if value), flush=True)
    complaints = [f"{counters[f'fallback_{name}']} fallbacks for reason {name}" for name in SERVICE_FAULTS
                  if counters.get(f"fallback_{name}")]
    if long_enough and not counters["queries"]:
        complaints.append("no query ran on a device")
    if long_enough and not counters[blocks]:
        complaints.append(f"{blocks} is zero")
    if long_enough and blocks == "blocks_direct" and not gpus and not counters["blocks_cached"]:
        complaints.append("no block was taken from the cache")
    for complaint in complaints:
        print(f"  {complaint}", flush=True)
    return int(not complaints), len(complaints)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated script names")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--stock", action="store_true", help="without the extension: proves the scripts")
    parser.add_argument("--full-code", action="store_true", help="all scripts in direct mode, and in full code")
    parser.add_argument("--until-difference", action="store_true", help="ends with the first answer that differs")
    parser.add_argument("--cached", action="store_true", help="forced, with all columns loaded first, and nothing else")
    parser.add_argument("--feeders", action="store_true", help="forced, with parallel workers feeding, and nothing else")
    options = parser.parse_args()
    modes = (("forced", FORCED), ("direct", DIRECT))
    if options.feeders or options.cached:
        modes = (("feeders", FEEDING),) if options.feeders else (("cached", CACHED),)
    if options.until_difference:
        # What is wrong on purpose shows in direct reads and cached columns, more often than not.
        modes = modes[::-1]
    scripts = sorted((HERE / "sql").glob("*.sql"))
    if options.only:
        scripts = [s for s in scripts if s.stem in options.only.split(",")]
    passed = failed = 0
    left_out = Counter()
    with cluster.Cluster("sql", extension=not options.stock) as server:
        use = CacheUse(server, options.device) if options.cached else None
        version = server.major_version()
        for script in scripts:
            statements = leave_out(server, sql_script.read_script(script.read_text(encoding="utf-8"), version), left_out)
            if not statements:
                continue
            began = time.monotonic()
            plain = plain_answers(server, script, statements)
            plain_seconds = time.monotonic() - began
            device = {"pg_turbine.device": options.device}
            for mode, settings in modes:
                if mode == "direct" and not (options.only or options.full_code or script.stem in DIRECT_SCRIPTS):
                    continue
                until = first_difference(statements, plain) if options.until_difference else None
                began = time.monotonic()
                in_full = mode == "direct" and (options.full_code or script.stem in FULL_CODE_SCRIPTS)
                actual = run_script(server, statements, mode, {**settings, **device, **(FULL_CODE if in_full else {})},
                                    not options.stock, use, until)
                run = statements[:len(actual)] if until and actual[-1][0] else statements
                good, bad = compare(f"{script.stem} ({mode})", run, plain, actual)
                print(f"  {script.stem}, {mode}: {good} statements equal, {bad} not, "
                      f"{time.monotonic() - began:.1f} s, plain {plain_seconds:.1f} s", flush=True)
                passed, failed = passed + good, failed + bad
                if until and actual[-1][0] and until(len(actual) - 1, actual[-1][0]):
                    print(f"{passed} passed, {failed} failed")
                    return 1
        if not options.stock:
            # A script alone may have no table whose blocks can be read directly.
            blocks = "blocks_fed" if options.feeders else "blocks_cached" if options.cached else "blocks_direct"
            good, bad = check_counters(server, options.feeders or not options.only, blocks)
            passed, failed = passed + good, failed + bad
        for complaint in use.complaints(LEAST_CACHED) if use and not options.only else ():
            print(f"  {complaint}", flush=True)
            failed += 1
    for name, count in sorted(left_out.items()):
        print(f"  left out: {count} statements, which need {name}: this build of the server lacks it")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
