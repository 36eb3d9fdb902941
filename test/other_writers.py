"""other_writers.py - files that polars and DuckDB write, for the readers of files.

Owns: which forms of files each of them writes (compressions, row groups, pages, dictionaries, texts as views), and the table of
what they cannot write, or write as another type.
Must never: look at what reads the files.
Used by: arrow_fdw.py, file_scans.py.
"""

import datetime
import decimal
import os

import duckdb
import polars
import pyarrow as pa

# {writer: {column of arrow_columns.py: why it is left out}}
LACKING = {
    "polars": {
        "decimal256": "its decimals have up to 38 digits", "tens": "nor a negative scale", "interval": "it has no intervals",
        "runs": "it takes no runs", "view": "it takes no list views", "date64": "becomes a timestamp",
        "fixed_char": "loses its fixed size, and is bytea", "uuid": "loses its fixed size, and is bytea",
        "uuid_type": "loses its fixed size, and is bytea", "mixed": "its times are of nanoseconds, which JSON shows",
    },
    "DuckDB": {
        "decimal256": "its decimals have up to 38 digits", "tens": "nor a negative scale", "float16": "it takes none",
        "mixed": "has a float16", "interval": "Parquet's have no sign", "duration": "becomes an interval",
        "fixed_char": "loses its fixed size, and is bytea", "uuid": "loses its fixed size, and is bytea",
        "three": "NULL has three values, which libparquet refuses",
    },
}
# Of 32 bits: DuckDB's deltas then take more, which libparquet refuses. Only its files of version 2 have deltas.
DELTAS = ("int32", "uint32", "ints")
# Compression, record batches, texts as views.
POLARS_ARROW = (("uncompressed", 1, True), ("lz4", 7, True), ("zstd", 300, False), ("uncompressed", 2, False))
# Compression, row groups, bytes of a page.
POLARS_PARQUET = (("uncompressed", 1, None), ("snappy", 8, None), ("gzip", 2, 100), ("brotli", 1, 1000), ("zstd", 7, 100), ("lz4", 2, None))
DUCKDB = (("uncompressed", 1), ("snappy", 2), ("gzip", 1), ("zstd", 2), ("brotli", 1), ("lz4_raw", 2))


def placed(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


def by_polars(table, folder):
    """(name, path) of a file of each form, each written when it is asked for."""
    frame = polars.from_arrow(table)
    for compression, parts, views in POLARS_ARROW:
        path = placed(folder / "polars.arrow")
        frame.write_ipc(path, compression=compression, record_batch_size=max(1, frame.height // parts),
                        compat_level=polars.CompatLevel.newest() if views else polars.CompatLevel.oldest())
        os.chmod(path, 0o644)
        yield f"polars, Arrow, {compression}, {parts} batches, views {views}", path
    for compression, parts, page in POLARS_PARQUET:
        path = placed(folder / "polars.parquet")
        frame.write_parquet(path, compression=compression, row_group_size=max(1, frame.height // parts), data_page_size=page)
        os.chmod(path, 0o644)
        yield f"polars, Parquet, {compression}, {parts} row groups, pages of {page}", path


def by_duckdb(table, folder, versions=(1, 2)):
    for compression, version in DUCKDB:
        if version not in versions:
            continue
        path = placed(folder / "duckdb.parquet")
        with duckdb.connect() as connection:
            connection.register("source", table)
            connection.execute(f"COPY (SELECT * FROM source) TO '{path}' (FORMAT parquet, COMPRESSION {compression}, "
                               f"PARQUET_VERSION v{version}, ROW_GROUP_SIZE 2048)")
        os.chmod(path, 0o644)
        yield f"DuckDB, Parquet {version}, {compression}", path


ROWS = 6000
COLUMNS = ("a int, l bigint, s smallint, b boolean, f float8, r real, n numeric(12,2), w numeric(30,4), d date, at timestamptz, "
           "k text, t text")


def engine_table():
    """Types that the engine reads; `k` is a dictionary of polars', and every number but 77 is in `s`."""
    rows = range(ROWS)
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    kinds = [i * 7919 % 1000 for i in rows]
    return pa.table({
        "a": pa.array(rows, pa.int32()), "l": pa.array([None if i % 5 == 0 else i * 10 ** 12 for i in rows], pa.int64()),
        "s": pa.array([78 if kind == 77 else kind for kind in kinds], pa.int16()),
        "b": pa.array([None if i % 7 == 0 else i % 3 == 0 for i in rows]),
        "f": pa.array([float("nan") if i == 5 else i / 8 for i in rows]), "r": pa.array([i / 8 for i in rows], pa.float32()),
        "n": pa.array([decimal.Decimal(i).scaleb(-2) for i in rows], pa.decimal128(12, 2)),
        "w": pa.array([decimal.Decimal(i * 10 ** 20).scaleb(-4) for i in rows], pa.decimal128(30, 4)),
        "d": pa.array([19000 + i // 100 for i in rows], pa.int32()).cast(pa.date32()),
        "at": pa.array([start + datetime.timedelta(minutes=i) for i in rows], pa.timestamp("us", "UTC")),
        "k": pa.array([f"kind {i % 7}" if i % 11 else None for i in rows]).dictionary_encode(),
        "t": pa.array([f"text {kind}" if i % 13 else None for i, kind in enumerate(kinds)])})


# Of a query that groups: what its rows satisfy.
CONDITIONS = ("true", "a BETWEEN 5000 AND 5100 AND NOT b", "l > 5500000000000000", "s = 77", "f = 'NaN' OR r < 2", "n = 12.34",
              "w > 5.9e19", "d = '2022-02-01'", "at >= '2024-01-04 12:00+00'", "k = 'kind 3' AND l IS NULL", "k = 'no kind'",
              "t IN ('none', 'text 5')")
QUERY = ("SELECT k, b, count(*), sum(a), sum(l), min(s), max(d), sum(n), sum(w), max(at), max(r), count(f), min(t) FROM t "
         "WHERE {} GROUP BY k, b")
