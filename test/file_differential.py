#!/usr/bin/env python3
"""file_differential.py - random queries over files, forced onto a device, agree with PostgreSQL over heap tables.

Each random table of random_tables.py is written to Arrow and Parquet files as well, of random formats, numbers of
files, batch sizes, types, compressions and encodings. A foreign table of the same name, first in the search path of
the forced session, reads them. Each query runs twice there: from the files, and from what was cached of them.
Some tables are partitioned by id, with files as old partitions beside a heap table.
Prints the seed and the query of a difference; `--seed S --tables N` runs a table again. A run of many tables fails
too if too few of the queries were offloaded.
Called by: make test-file-differential, test/run_all.py, with the Python of build/python, which has pyarrow.
"""

import argparse
import datetime
import decimal
import os
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import differential  # noqa: E402
import random_tables  # noqa: E402
from run_sql import CACHED, OFF  # noqa: E402

QUERIES_A_TABLE = 20
LEAST_OFFLOADED = 0.5
MANY_TABLES = 20
# Arrow has no infinite dates, and no numerics whose number of digits changes from row to row.
WITHOUT_FILES = ("n_free", "n_plain", "n_mixed", "n_zeros", "n_odd", "d_edge", "tz_edge")
UTC = datetime.timezone.utc


def timestamp(text):
    return datetime.datetime.fromisoformat(text.replace("+00", "+00:00") if "+" in text else text)


READ = {"bool": lambda text: text == "t", "int2": int, "int4": int, "int8": int, "float4": float, "float8": float, "wild": float,
        "positive": float, "numeric": decimal.Decimal, "date": datetime.date.fromisoformat, "timestamp": timestamp,
        "timestamptz": timestamp, "text": str, "bpchar": str}


def text_types(source):
    return source.choice((pa.string(), pa.large_string(), pa.string(), pa.dictionary(pa.int32(), pa.string())))


def numeric_type(source, kind):
    precision, scale = (int(part) for part in kind.sql_type[len("numeric("):-1].split(","))
    widest = pa.decimal256(precision + 5, scale) if source.random() < 0.2 else pa.decimal128(precision, scale)
    return source.choice((widest, pa.decimal64(precision, scale))) if precision <= 18 else widest


def arrow_type(source, kind):
    """A random type of files that becomes the column's without a loss."""
    family = kind.family
    zone = "UTC" if family == "timestamptz" else None
    if family == "numeric":
        return numeric_type(source, kind)
    if family in ("text", "bpchar"):
        return text_types(source)
    return {"bool": pa.bool_(), "int2": pa.int16(), "int4": source.choice((pa.int32(), pa.int32())), "int8": pa.int64(),
            "float4": pa.float32(), "date": source.choice((pa.date32(), pa.date64())),
            "timestamp": pa.timestamp(source.choice(("us", "ns", "ms", "s"))),
            "timestamptz": pa.timestamp(source.choice(("us", "ns", "ms", "s")), zone)}.get(family, pa.float64())


def make_finite(session, table):
    """A column added later may have infinity as its default, which no file holds."""
    for column in table.columns:
        if column.family in ("date", "timestamp", "timestamptz"):
            session.query(f"UPDATE {table.name} SET {column.name} = NULL WHERE NOT isfinite({column.name})")


def read_table(session, table):
    """Its rows, a list of values a column."""
    names = [column.name for column in table.columns]
    rows = session.query(f"SELECT {', '.join(names)} FROM {table.name}")
    return [[None if row[i] is None else READ[column.family](row[i]) for row in rows] for i, column in enumerate(table.columns)]


def parquet_type(arrow):
    """libparquet writes no decimals of 32 and 64 bits."""
    return pa.decimal128(arrow.precision, arrow.scale) if pa.types.is_decimal64(arrow) else arrow


def write_file(source, path, names, types, values):
    """One file of random properties."""
    if path.suffix == ".parquet":
        types = [parquet_type(arrow) for arrow in types]
    data = pa.table([pa.array(column, arrow) for column, arrow in zip(values, types, strict=True)], names=names)
    rows = max(1, source.choice((100, 1000, 5000, 100000)))
    if path.suffix == ".parquet":
        blooms = {name: {"ndv": 100, "fpp": 0.01} for name, arrow in zip(names, types, strict=True)
                  if not pa.types.is_boolean(arrow) and source.random() < 0.3}
        pq.write_table(data, path, row_group_size=rows, compression=source.choice(("none", "snappy", "zstd", "gzip", "lz4", "brotli")),
                       use_dictionary=source.random() < 0.7, data_page_version=source.choice(("1.0", "2.0")),
                       write_statistics=source.random() < 0.8, data_page_size=source.choice((1000, 100000)),
                       write_page_index=source.random() < 0.5, write_batch_size=source.choice((200, 1024)),
                       bloom_filter_options=blooms)
    else:
        # One dictionary a column, as files must have it.
        data = data.combine_chunks()
        new = source.choice((pa.ipc.new_file, pa.ipc.new_file, pa.ipc.new_stream))
        with new(str(path), data.schema, options=pa.ipc.IpcWriteOptions(
                compression=source.choice((None, "lz4", "zstd")))) as writer:
            writer.write_table(data, max_chunksize=rows)
    os.chmod(path, 0o644)


def write_files(source, folder, table, values):
    """The rows in one to four files of the folder."""
    folder.mkdir(parents=True)
    os.chmod(folder, 0o755)
    names = [column.name for column in table.columns]
    types = [arrow_type(source, column.kind) for column in table.columns]
    count = len(values[0])
    cuts = sorted(source.randint(0, count) for _ in range(source.randint(0, 3)))
    for i, (first, end) in enumerate(zip([0, *cuts], [*cuts, count], strict=True)):
        path = folder / f"{i}.{source.choice(('arrow', 'parquet'))}"
        write_file(source, path, names, types, [column[first:end] for column in values])


def definition_of(table):
    return ", ".join(f"{column.name} {'int' if column.name == 'id' else column.kind.sql_type}" for column in table.columns)


class FileTables:
    """The files of a seed's tables, and the foreign tables over them."""

    def __init__(self, server):
        self._server = server
        self._folder = server.directory / "files"
        self._folder.mkdir()
        os.chmod(self._folder, 0o755)
        self._number = 0

    def _foreign(self, session, source, name, table, values, partition=""):
        self._number += 1
        folder = self._folder / str(self._number)
        write_files(source, folder, table, values)
        of = f"PARTITION OF {partition}" if partition else f"({definition_of(table)})"
        session.query(f"CREATE FOREIGN TABLE {name} {of} SERVER arrow_fdw OPTIONS (dir '{folder}')")

    def _partitioned(self, session, source, table, values):
        """Old rows in files, new ones in a heap table."""
        name = f"files.{table.name}"
        border = source.choice((1, 100, 1000, 4000))
        session.query(f"CREATE TABLE {name} ({definition_of(table)}) PARTITION BY RANGE (id)")
        old = [i for i, value in enumerate(values[0]) if value is not None and value < border]
        self._foreign(session, source, f"{name}_old", table, [[column[i] for i in old] for column in values],
                      f"{name} FOR VALUES FROM (MINVALUE) TO ({border})")
        session.query(f"CREATE TABLE {name}_new PARTITION OF {name} DEFAULT")
        session.query(f"INSERT INTO {name} SELECT {', '.join(c.name for c in table.columns)} FROM public.{table.name} "
                      f"WHERE id >= {border} OR id IS NULL")

    def make(self, source, tables, partitioned):
        with self._server.connect(settings={**OFF, "TimeZone": "UTC", "DateStyle": "ISO"}) as session:
            session.query("DROP SCHEMA IF EXISTS files CASCADE; CREATE SCHEMA files")
            for table in tables:
                make_finite(session, table)
                values = read_table(session, table)
                if partitioned and source.random() < 0.4:
                    self._partitioned(session, source, table, values)
                else:
                    self._foreign(session, source, f"files.{table.name}", table, values)
                session.query(f"ANALYZE files.{table.name}")


def run_table(server, sessions, files, seed, queries, partitioned):
    """(agreed, differed, offloaded) of the queries over the seed's tables."""
    source = random.Random(seed)
    tables, maker = differential.make_maker(source, seed, sessions.device == "gpu")
    for table in tables:
        differential.create(server, table)
    files.make(source, tables, partitioned)
    zone = source.choice(differential.ZONES)
    sessions.plain.query(f"SET timezone = '{zone}'")
    sessions.forced.query(f"SET timezone = '{zone}'")
    failed = fast = 0
    for _ in range(queries):
        query = maker.query()
        fast += differential.uses(sessions.forced, query, ("Gpu",))[0]
        found = differential.check_query(sessions, query) or differential.check_query(sessions, query)
        if found:
            differential.report(seed, tables, query, found, failed)
            failed += 1
    return queries - failed, failed, fast


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1, help="of the first table; the next ones follow")
    parser.add_argument("--tables", type=int, help="number of tables instead of --queries")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-partitions", action="store_true", help="no partitioned tables with files beside a heap")
    options = parser.parse_args()
    random_tables.KINDS = tuple(kind for kind in random_tables.KINDS if kind.name not in WITHOUT_FILES)
    tables = options.tables or -(-options.queries // QUERIES_A_TABLE)
    passed = failed = fast = 0
    with cluster.Cluster("file-differential") as server:
        files = FileTables(server)
        sessions = differential.Sessions(server, options.device, {**CACHED, "search_path": "files, public"})
        for seed in range(options.seed, options.seed + tables):
            good, bad, more = run_table(server, sessions, files, seed, QUERIES_A_TABLE, not options.no_partitions)
            passed, failed, fast = passed + good, failed + bad, fast + more
        with server.connect() as session:
            counters = dict(session.query("SELECT * FROM turbine.stat_queries"))
    total = passed + failed
    print(f"  {total} queries over {tables} tables, {fast} offloaded ({100 * fast // total} %); " + ", ".join(
        f"{name} {value}" for name, value in counters.items() if name.startswith("fallback") and int(value)))
    if tables >= MANY_TABLES and fast < LEAST_OFFLOADED * total:
        print(f"too few were offloaded: at least {LEAST_OFFLOADED:.0%} must be")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
