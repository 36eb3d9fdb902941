#!/usr/bin/env python3
"""report_queries.py - SSB's 13 queries, TPC-H's 22 and 43 of a web log give PostgreSQL's rows.

Each on plain heap tables, with numeric measures and NULLs sprinkled into keys,
and on tables partitioned by hash and by range; at default costs and forced. The
web log, whose rows are wide and have NULLs anyway, on fewer variants. With --cached
forced only, with all tables loaded into the column cache first.
Rows are compared as multisets, and in order where ORDER BY fixes it whole.
Forced, a query is one accelerated node except for Sort and Limit (a scan of
rows: one for each partition), or turbine.why_not says what is not. Prints which queries an accelerated node ran.
Ends with `N passed, N failed`.
Called by: test/run_all.py.
"""

import argparse
import json
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))
sys.path.insert(0, str(REPOSITORY / "bench"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cached_tables import CacheUse  # noqa: E402
from report_tables import SUITES, Variant  # noqa: E402
from run_sql import CACHED, OFF  # noqa: E402
from workload import explain  # noqa: E402

VARIANTS = (Variant(), Variant(numeric=True, nulls=True), Variant(partitioned="hash"),
            Variant(partitioned="range", nulls=True), Variant(vacuumed=False))
MODES = {"default": {"pg_turbine.enabled": "on"},
         "forced": {"pg_turbine.enabled": "on", "pg_turbine.debug_force_offload": "on"}}
CACHED_VARIANTS = (Variant(numeric=True, partitioned="range", nulls=True),)
CACHED_MODES = {"cached": CACHED}
# Of the blocks that queries over loaded tables read.
LEAST_CACHED = 0.9

# So many queries are one node but for Sort and Limit: with fewer, the planner has lost something.
WHOLE = {"ssb": 13, "tpch": 16, "weblog": 0}
WEB_LOG_VARIANTS = (Variant(), Variant(partitioned="range", nulls=True), *CACHED_VARIANTS)


def nodes(session, sql):
    return [n["Custom Plan Provider"] for n in explain(session, sql, analyze=False)
            if n.get("Custom Plan Provider", "").startswith("Gpu")]


def is_whole(session, sql):
    """Whether nothing but Sort and Limit stands above one accelerated node, or above one for each partition."""
    plan = json.loads(session.value(f"EXPLAIN (FORMAT JSON) {sql}"))[0]["Plan"]
    while plan["Node Type"] in ("Sort", "Limit") and len(plan["Plans"]) == 1:
        plan = plan["Plans"][0]
    parts = plan["Plans"] if plan["Node Type"] == "Append" else [plan]
    return all(part.get("Custom Plan Provider", "").startswith("Gpu") for part in parts)


def check_whole(suite, variant, session):
    """(passed, failed): enough queries are whole, and of the others it is told why not."""
    queries = SUITES[suite][1]
    rest = [name for name, sql in queries.items() if not is_whole(session, sql)]
    silent = [name for name in rest
              if not session.query("SELECT FROM turbine.why_not($query$" + queries[name] + "$query$)")]
    print(f"{suite}, {variant.label}: whole but for {', '.join(rest) or 'none'}", flush=True)
    if silent:
        print(f"{suite}, {variant.label}: no reason why {', '.join(silent)} is not whole")
    enough = len(queries) - len(rest) >= WHOLE[suite]
    if not enough:
        print(f"{suite}, {variant.label}: {len(queries) - len(rest)} queries are whole, not {WHOLE[suite]}")
    return enough + (not silent), (not enough) + bool(silent)


def check(suite, variant, options):
    """(passed, failed) of one suite over one variant of its tables."""
    load, queries, _ = SUITES[suite]
    passed = failed = 0
    with cluster.Cluster("reports", settings={"work_mem": "64MB", "random_page_cost": "1.1"}) as server:
        load(server, options.sf, variant)
        with server.connect() as session:
            session.query("CHECKPOINT")
        use = CacheUse(server, options.device) if options.cached else None
        if use:
            use.load()
        modes = CACHED_MODES if use else MODES
        plain = server.connect(settings={**OFF, "statement_timeout": "300s"})
        sessions = {mode: server.connect(settings={**settings, "pg_turbine.device": options.device,
                                                   "statement_timeout": "300s"})
                    for mode, settings in modes.items()}
        accelerated = dict.fromkeys(modes, 0)
        for name, sql in queries.items():
            if options.query and name != options.query:
                continue
            reference = plain.run(sql)
            for mode, session in sessions.items():
                found = nodes(session, sql)
                accelerated[mode] += bool(found)
                difference = answers.difference(reference, session.run(sql))
                if difference or reference.error:
                    failed += 1
                    print(f"{suite} {name}, {variant.label}, {mode} ({', '.join(found) or 'PostgreSQL'}): "
                          f"{difference or answers.describe_error(reference)}", flush=True)
                else:
                    passed += 1
        print(f"{suite}, {variant.label}: accelerated " +
              ", ".join(f"{n} of {len(queries)} {mode}" for mode, n in accelerated.items()), flush=True)
        good, bad = (0, 0) if options.query or use else check_whole(suite, variant, sessions["forced"])
        for complaint in use.complaints(LEAST_CACHED) if use else ():
            print(f"{suite}, {variant.label}: {complaint}", flush=True)
            bad += 1
    return passed + good, failed + bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=0.02)
    parser.add_argument("--suite", default="")
    parser.add_argument("--query", default="")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--variants", type=int, default=len(VARIANTS))
    parser.add_argument("--cached", action="store_true", help="with all tables loaded into the column cache")
    options = parser.parse_args()
    variants = CACHED_VARIANTS if options.cached else VARIANTS
    totals = [check(suite, variant, options) for variant in variants[:options.variants]
              for suite in ([options.suite] if options.suite else SUITES)
              if suite != "weblog" or variant in WEB_LOG_VARIANTS]
    print(f"{sum(p for p, _ in totals)} passed, {sum(f for _, f in totals)} failed")
    return 1 if any(f for _, f in totals) else 0


if __name__ == "__main__":
    sys.exit(main())
