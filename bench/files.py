#!/usr/bin/env python3
"""files.py - the Star Schema Benchmark with lineorder as an Arrow and as a Parquet file.

The files are written by turbine.to_arrow and turbine.to_parquet from the heap table, whose other tables stay. Each
query runs from the heap table, from either file without and with the column cache, in DuckDB over the same
Parquet file and, through pyarrow, over the same Arrow file; its dimensions are tables of its own. The engines take turns; files
are in the page cache. Prints medians and geometric means, checks that all answers agree, and shows what a query of one
month reads of a file in order of time. Writes files.json. Wants an idle machine.
Called by: make bench-files [BENCH_ARGS="--sf 1 --runs 5"].
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
import ssb  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from engines import DuckEngine, PostgresEngine, agrees  # noqa: E402
from report_tables import load_ssb  # noqa: E402
from reports import geometric, processor  # noqa: E402

LINEORDER = workload.TABLES["lineorder"]


def write_files(server, folder):
    """Seconds and bytes of each file, with foreign tables over them in schemas called as they are."""
    written = {}
    with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
        for kind in ("arrow", "parquet"):
            path = folder / f"lineorder.{kind}"
            started = time.monotonic()
            rows = session.value(f"SELECT turbine.to_{kind}('SELECT * FROM lineorder', '{path}')")
            written[kind] = {"rows": int(rows), "seconds": round(time.monotonic() - started, 2), "bytes": path.stat().st_size}
            session.query(f"CREATE SCHEMA {kind}; CREATE FOREIGN TABLE {kind}.lineorder ({LINEORDER}) SERVER arrow_fdw "
                          f"OPTIONS (file '{path}'); ANALYZE {kind}.lineorder")
        path = folder / "ordered.parquet"
        session.query(f"SELECT turbine.to_parquet('SELECT * FROM lineorder ORDER BY lo_orderdate', '{path}')")
        session.query(f"CREATE FOREIGN TABLE ordered ({LINEORDER}) SERVER arrow_fdw OPTIONS (file '{path}')")
    return written


def month_of(server, folder):
    """The fraction of the file in order of time that a query of one month reads."""
    sql = "SELECT count(*), sum(lo_revenue) FROM ordered WHERE lo_orderdate BETWEEN 19940301 AND 19940331"
    with server.connect(settings={"pg_turbine.enable_cache": "off", "pg_turbine.debug_force_offload": "on"}) as session:
        nodes = [node for node in workload.explain(session, sql) if "File Bytes Read" in node]
    size = (folder / "ordered.parquet").stat().st_size
    return {"bytes": nodes[0]["File Bytes Read"], "of": size, "batches": nodes[0]["File Batches"],
            "excluded": nodes[0]["File Batches Excluded"]}


class DuckFiles(DuckEngine):
    """DuckDB with its own dimensions and a file."""

    def __init__(self, server, threads, label, relation):
        tables = {workload.table_name(name): workload.TABLES[name] for name in ssb.TABLES if name != "lineorder"}
        super().__init__(server, tables, threads)
        self.label = label
        relation(self.connection)


def of_parquet(path):
    return lambda connection: connection.execute(f"CREATE VIEW lineorder AS SELECT * FROM read_parquet('{path}')")


def of_arrow(path):
    import pyarrow.dataset
    return lambda connection: connection.register("lineorder", pyarrow.dataset.dataset(path, format="ipc"))


def make_engines(server, folder, threads):
    common = {"work_mem": "512MB", "pg_turbine.device": "cpu"}
    uncached = {**common, "pg_turbine.enable_cache": "off"}
    return [PostgresEngine(server, "heap, cached", common),
            PostgresEngine(server, "Parquet", uncached, "parquet, public"),
            PostgresEngine(server, "Parquet, cached", common, "parquet, public"),
            PostgresEngine(server, "Arrow", uncached, "arrow, public"),
            PostgresEngine(server, "Arrow, cached", common, "arrow, public"),
            DuckFiles(server, threads, "DuckDB, Parquet", of_parquet(folder / "lineorder.parquet")),
            DuckFiles(server, threads, "DuckDB, Arrow", of_arrow(folder / "lineorder.arrow"))]


def measure(engines, sql, runs):
    """{label: median ms}, {label: ms of the first run}."""
    times = {engine.label: [] for engine in engines}
    for _ in range(runs + 1):
        reference = None
        for engine in engines:
            ms, rows = engine.run(sql)
            times[engine.label].append(ms)
            reference = rows if reference is None else reference
            if not agrees(reference, rows):
                raise RuntimeError(f"{engine.label} has another answer: {sql}")
    return ({label: statistics.median(ms[1:]) for label, ms in times.items()}, {label: ms[0] for label, ms in times.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=5, help="besides the first")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2, help="DuckDB's")
    parser.add_argument("--output", type=Path, default=cluster.BUILD / "bench" / "files.json")
    options = parser.parse_args()
    with cluster.Cluster("bench-files", settings={"shared_buffers": "2GB"}) as server:
        log(f"loading the Star Schema Benchmark, scale factor {options.sf:g}")
        load_ssb(server, options.sf)
        folder = server.directory / "files"
        folder.mkdir()
        os.chmod(folder, 0o777)
        written = write_files(server, folder)
        engines = make_engines(server, folder, options.threads)
        medians, first = {}, {}
        for name, sql in ssb.QUERIES.items():
            medians[name], first[name] = measure(engines, sql, options.runs)
            log(f"  {name}: " + ", ".join(f"{label} {ms:.1f}" for label, ms in medians[name].items()))
        month = month_of(server, folder)
        for engine in engines:
            engine.close()
    means = {engine.label: geometric([row[engine.label] for row in medians.values()]) for engine in engines}
    print(f"Star Schema Benchmark, scale factor {options.sf:g}, {processor()}, {options.threads} threads: geometric means, ms")
    for label, mean in means.items():
        print(f"  {label}: {mean:.1f} (first runs {geometric([row[label] for row in first.values()]):.1f})")
    print(f"  Parquet is {means['Parquet'] / means['DuckDB, Parquet']:.2f} of DuckDB's time, Arrow "
          f"{means['Arrow'] / means['DuckDB, Arrow']:.2f}, Parquet cached {means['Parquet, cached'] / means['heap, cached']:.2f} of heap's")
    for kind, file in written.items():
        print(f"  to_{kind}: {file['rows']} rows, {file['bytes'] / 1e6:.0f} MB in {file['seconds']} s")
    print(f"  a month of the ordered file: {month['excluded']} of {month['batches']} row groups excluded, "
          f"{100 * month['bytes'] / month['of']:.2f} % of its bytes read")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"means": means, "medians": medians, "first": first, "written": written,
                                          "month": month}, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
