#!/usr/bin/env python3
"""results.py - how fast rows become columns that another process has open: results and exports, and batches of a file.

A table of (bool, 4 reals) and a Parquet file of 8 reals, which is also copied to a heap table. Cases: export and gpu_result of
all rows, of some and of one column, and a report with a join; from the statement until the columns are open in this process.
Beside them psycopg with numpy. Then batches of the file and of the heap table, beside the engine's own sum over them, pyarrow's
dataset and DuckDB, if it is installed: in turns, so that all meet the same machine. Every case runs once before it is timed;
prints medians in milliseconds, and of batches the rate and its share of the engine's. --only-batches leaves the first part out.
Wants an idle machine. Called by: make bench-results [BENCH_ARGS="--rows 40000000 --runs 5"]; 10 GB of Parquet are
--only-batches --file-rows 335000000 --heap-rows 0.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("tools", "python")]

import cluster  # noqa: E402
import numpy as np  # noqa: E402
import pg_turbine  # noqa: E402
import psycopg  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.dataset  # noqa: E402
import pyarrow.parquet  # noqa: E402

try:
    import duckdb
except ImportError:
    duckdb = None

COLUMNS = [f"x{i}" for i in range(8)]
SOME = "SELECT x1, x2, x3, x4 FROM t WHERE x1 < 0.1"
REPORT = "SELECT d.k, d.y, sum(f.v) AS v FROM f JOIN d USING (k) WHERE q BETWEEN 20 AND 60 GROUP BY d.k, d.y"
CASES = {
    "a table's export": "t",
    "all columns": "SELECT b, x1, x2, x3, x4 FROM t",
    "one column": "SELECT x1 FROM t",
    "a tenth of the rows, 4 columns": SOME,
    "a report of 2,556 groups": REPORT}


def median(work, runs):
    """Milliseconds."""
    work()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def show(name, milliseconds):
    print(f"{name:<46}{milliseconds:10.1f}", flush=True)


def make(connection, rows):
    connection.execute("CREATE FOREIGN TABLE t (b bool, x1 real, x2 real, x3 real, x4 real) SERVER gstore_fdw")
    connection.execute("CREATE TABLE f AS SELECT (random() * 2555)::int AS k, (random() * 100)::int AS q, (random() * 10000)::int AS v "
                       f"FROM generate_series(1, {rows // 2})")
    connection.execute("CREATE TABLE d AS SELECT i AS k, i % 7 AS y FROM generate_series(0, 2555) i")
    started = time.perf_counter()
    connection.execute("INSERT INTO t SELECT random() < 0.5, random(), random(), random(), random() "
                       f"FROM generate_series(1, {rows})")
    show("insert of all rows", (time.perf_counter() - started) * 1000)
    started = time.perf_counter()
    with pg_turbine.open(connection, "t") as columns:
        rows_found = columns.rows
    show("a table's export, right after the insert", (time.perf_counter() - started) * 1000)
    if rows_found != rows:
        raise ValueError(f"{rows_found} rows were exported")
    for table in ("t", "f", "d"):
        connection.execute(f"VACUUM ANALYZE {table}")


def open_all(connection, what):
    with pg_turbine.open(connection, what) as columns:
        if columns.is_copy:
            raise ValueError("the rows were copied")
        return columns.rows


def write_parquet(path, rows):
    rng, writer = np.random.default_rng(1), None
    group = 1 << 20
    for first in range(0, rows, group):
        count = min(group, rows - first)
        table = pa.table({name: rng.random(count, dtype=np.float32) for name in COLUMNS})
        writer = writer or pa.parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table, row_group_size=group)
    writer.close()
    path.chmod(0o644)


def in_turns(cases, size, runs):
    """Medians of cases that run one after the other, again and again; the first is what others are measured by."""
    times = {name: [] for name in cases}
    for run in range(runs + 1):
        for name, work in cases.items():
            started = time.perf_counter()
            work()
            if run > 0:
                times[name].append((time.perf_counter() - started) * 1000)
    first = statistics.median(times[next(iter(cases))])
    for name, of_case in times.items():
        milliseconds = statistics.median(of_case)
        print(f"{name:<46}{milliseconds:10.1f}{size / milliseconds / 1e6:8.2f} GB/s{first / milliseconds * 100:6.0f} %", flush=True)


def batches_of(dsn, table, batch, **options):
    """Reads all rows; each batch is forgotten before the next."""
    return sum(b.rows for b in pg_turbine.batches(dsn, f"SELECT {', '.join(COLUMNS)} FROM {table}", rows=batch, **options))


def engine_reads(connection, table):
    connection.execute("SET pg_turbine.enable_cache = off")
    connection.execute(f"SELECT {', '.join(f'sum({name})' for name in COLUMNS)} FROM {table}")
    connection.execute("RESET pg_turbine.enable_cache")


def files(connection, dsn, path, options):
    batch, size = options.batch, path.stat().st_size
    connection.execute(f"CREATE FOREIGN TABLE p ({', '.join(f'{name} real' for name in COLUMNS)}) SERVER arrow_fdw "
                       f"OPTIONS (file '{path}')")
    print(f"\n{size >> 20} MB of Parquet, batches of {batch} rows; medians of {options.runs} runs, ms", flush=True)
    reader = f"SELECT * FROM '{path}'"
    cases = {
        "the engine reads it: a sum of each column": lambda: engine_reads(connection, "p"),
        "pg_turbine.batches": lambda: batches_of(dsn, "p", batch),
        "pg_turbine.batches, in host memory": lambda: batches_of(dsn, "p", batch, device="host"),
        "pyarrow's dataset": lambda: sum(b.num_rows for b in pa.dataset.dataset(path).to_batches(batch_size=batch))}
    if duckdb is not None:
        cases["DuckDB"] = lambda: sum(b.num_rows for b in duckdb.sql(reader).to_arrow_reader(batch))
    in_turns(cases, size, options.runs)


def heap(connection, dsn, options):
    connection.execute(f"CREATE TABLE h AS SELECT * FROM p LIMIT {options.heap_rows}")
    connection.execute("VACUUM (FREEZE, ANALYZE) h")
    size = 4 * len(COLUMNS) * options.heap_rows
    print(f"\na heap table of {options.heap_rows} of these rows, {size >> 20} MB of values", flush=True)
    in_turns({"the engine reads it: a sum of each column": lambda: engine_reads(connection, "h"),
              "pg_turbine.batches": lambda: batches_of(dsn, "h", options.batch)}, size, options.runs)


def results(connection, options):
    print(f"{options.rows} rows; medians of {options.runs} runs, ms", flush=True)
    make(connection, options.rows)
    for name, what in CASES.items():
        show(name, median(lambda what=what: open_all(connection, what), options.runs))
    show("that report, psycopg and numpy", median(lambda: np.array(connection.execute(REPORT).fetchall()), options.runs))
    show("that tenth, psycopg and numpy", median(lambda: np.array(connection.execute(SOME).fetchall()), 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the table")
    parser.add_argument("--file-rows", type=int, default=33_600_000, help="of the Parquet file")
    parser.add_argument("--heap-rows", type=int, default=5_000_000, help="of these, in a heap table; 0: none")
    parser.add_argument("--only-batches", action="store_true")
    parser.add_argument("--batch", type=int, default=1 << 20)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgt-results-") as folder, \
            cluster.Cluster("results", settings={"shared_buffers": "2GB", "max_wal_size": "20GB"}) as server:
        os.chmod(folder, 0o755)
        server.create_extension("postgres")
        server.wait_for_service()
        dsn = f"host={server.directory} port={server.port} user=postgres dbname=postgres"
        with psycopg.connect(dsn, autocommit=True) as connection:
            if not options.only_batches:
                results(connection, options)
            path = Path(folder) / "data.parquet"
            write_parquet(path, options.file_rows)
            files(connection, dsn, path, options)
            if options.heap_rows > 0:
                heap(connection, dsn, options)


if __name__ == "__main__":
    main()
