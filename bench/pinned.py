#!/usr/bin/env python3
"""pinned.py - the Star Schema Benchmark on tables of gstore_fdw, beside the same rows in ordinary tables.

All five tables twice: made by CREATE TABLE, and by CREATE FOREIGN TABLE ... SERVER gstore_fdw, with the same rows in the same
order, primary keys and statistics. Then the 13 queries, the two in turns, from the third run on: medians, their geometric
mean, and the ratio. Answers are compared. Writes pinned.json. Exit status 1 if an answer differed.
Called by: make bench-pinned [BENCH_ARGS=...].
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from report_tables import Variant, load_ssb  # noqa: E402

WARM_UP = 2


def pinned_copies(server, place):
    """The tables once more, in schema pinned."""
    with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
        session.query("CREATE SCHEMA pinned")
        for table in ssb.TABLES:
            name = workload.table_name(table)
            session.query(f"CREATE FOREIGN TABLE pinned.{name} ({workload.TABLES[table]}) SERVER gstore_fdw "
                          f"OPTIONS (pinning '{place}')")
            session.query(f"INSERT INTO pinned.{name} SELECT * FROM public.{name} ORDER BY ctid")
            if name in ssb.PRIMARY_KEYS:
                session.query(f"ALTER TABLE pinned.{name} ADD PRIMARY KEY ({ssb.PRIMARY_KEYS[name]})")
            session.query(f"VACUUM (ANALYZE) pinned.{name}")
        for table in ssb.TABLES:
            session.query(f"SELECT turbine.cache_load('public.{workload.table_name(table)}')")
        while int(session.value("SELECT count(*) FROM turbine.gstore WHERE waiting_blocks + waiting_bytes > 0")):
            time.sleep(0.2)


def measure(sessions, runs):
    """{schema: {query: ms}}, and how many answers differed."""
    found = {schema: {} for schema in sessions}
    different = 0
    for query, sql in ssb.QUERIES.items():
        times = {schema: [] for schema in sessions}
        answers = {}
        for _ in range(runs + WARM_UP):
            for schema, session in sessions.items():
                begin = time.monotonic()
                answers[schema] = session.query(sql)
                times[schema].append((time.monotonic() - begin) * 1000)
        different += answers["public"] != answers["pinned"]
        for schema in sessions:
            found[schema][query] = statistics.median(times[schema][WARM_UP:])
    return found, different


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--place", default="host", help="where the tables are pinned: host, or a GPU's number")
    parser.add_argument("--devices", default="auto", help="comma-separated settings of pg_turbine.device")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    options = parser.parse_args()
    results, wrong = {}, 0
    with cluster.Cluster("bench-pinned", settings={"shared_buffers": "1GB", "max_wal_size": "16GB"}) as server:
        server.create_extension("postgres")
        log(f"loading ssb, scale factor {options.sf:g}")
        load_ssb(server, options.sf, Variant())
        pinned_copies(server, options.place)
        for device in options.devices.split(","):
            sessions = {schema: server.connect(settings={"search_path": f"{schema}, turbine", "pg_turbine.device": device})
                        for schema in ("public", "pinned")}
            found, different = measure(sessions, options.runs)
            wrong += different
            results[device] = found
            means = {schema: statistics.geometric_mean(times.values()) for schema, times in found.items()}
            ratios = {query: found["pinned"][query] / found["public"][query] for query in ssb.QUERIES}
            worst = max(ratios, key=ratios.get)
            print(f"{device}: ordinary {means['public']:.2f} ms, gstore {means['pinned']:.2f} ms, "
                  f"ratio {means['pinned'] / means['public']:.3f}; worst {worst} {ratios[worst]:.3f}; "
                  f"{different} of {len(ratios)} answers differ", flush=True)
    output = Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    (output / "pinned.json").write_text(json.dumps({"sf": options.sf, "place": options.place, "ms": results}, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
