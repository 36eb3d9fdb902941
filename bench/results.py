#!/usr/bin/env python3
"""results.py - how fast rows become columns that another process has open: results and exports, and batches of a file.

A table of (bool, 4 reals) and a Parquet file of 8 reals. Cases: export and gpu_result of all rows, of some and of one column,
and a report with a join; from the statement until the columns are open in this process. Beside them psycopg with numpy, and for
the file pyarrow's dataset and DuckDB, if it is installed. Every case runs once before it is timed; prints medians in milliseconds.
Wants an idle machine. Called by: make bench-results [BENCH_ARGS="--rows 40000000 --runs 5"].
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


def files(connection, dsn, path, runs, batch):
    names = ", ".join(COLUMNS)
    connection.execute(f"CREATE FOREIGN TABLE p ({', '.join(f'{name} real' for name in COLUMNS)}) SERVER arrow_fdw "
                       f"OPTIONS (file '{path}')")
    print(f"\n{path.stat().st_size >> 20} MB of Parquet, batches of {batch} rows", flush=True)

    def read():
        connection.execute("SET pg_turbine.enable_cache = off")
        connection.execute(f"SELECT {', '.join(f'sum({name})' for name in COLUMNS)} FROM p")
        connection.execute("RESET pg_turbine.enable_cache")

    show("the engine reads it: a sum of each column", median(read, runs))
    show("pg_turbine.batches", median(lambda: sum(b.rows for b in pg_turbine.batches(dsn, f"SELECT {names} FROM p", rows=batch)), runs))
    show("pyarrow's dataset", median(lambda: sum(b.num_rows for b in pa.dataset.dataset(path).to_batches(batch_size=batch)), runs))
    if duckdb is None:
        return
    reader = f"SELECT * FROM '{path}'"
    show("DuckDB", median(lambda: sum(b.num_rows for b in duckdb.sql(reader).to_arrow_reader(batch)), runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the table")
    parser.add_argument("--file-rows", type=int, default=20_000_000, help="of the Parquet file")
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
            print(f"{options.rows} rows; medians of {options.runs} runs, ms", flush=True)
            make(connection, options.rows)
            for name, what in CASES.items():
                show(name, median(lambda what=what: open_all(connection, what), options.runs))
            show("that report, psycopg and numpy", median(lambda: np.array(connection.execute(REPORT).fetchall()), options.runs))
            show("that tenth, psycopg and numpy", median(lambda: np.array(connection.execute(SOME).fetchall()), 1))
            path = Path(folder) / "data.parquet"
            write_parquet(path, options.file_rows)
            files(connection, dsn, path, options.runs, options.batch)


if __name__ == "__main__":
    main()
