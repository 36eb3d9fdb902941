#!/usr/bin/env python3
"""file_mutation_bases.py FOLDER - sound Arrow and Parquet files, which turbine_file_mutations spoils.

Owns: which types, compressions, encodings, page versions and sizes they have between them. The same files on every run.
Must never: write a file that a reader refuses as it is.
Used by: file_mutations.py.
"""

import random
import sys
from pathlib import Path

import arrow_columns
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, BATCH_ROWS, PARTS = 40, 25, 6
ARROW = (None, "lz4", "zstd", None)
PARQUET = (
    ("plain", {"compression": "none", "use_dictionary": False}),
    ("dictionary", {"compression": "none", "write_page_index": True}),
    ("v2", {"compression": "none", "data_page_version": "2.0", "data_page_size": 60, "write_batch_size": 8}),
    ("snappy", {"compression": "snappy", "data_page_size": 60, "write_batch_size": 8, "write_page_index": True}),
    ("zstd", {"compression": "zstd"}),
    ("zstd_v2", {"compression": "zstd", "data_page_version": "2.0", "use_dictionary": False, "store_decimal_as_integer": True}),
    ("gzip_checked", {"compression": "gzip", "write_page_checksum": True}),
    ("brotli", {"compression": "brotli"}),
    ("lz4_int96", {"compression": "lz4", "use_deprecated_int96_timestamps": True}),
)


def write_arrow(folder, name, table, compression, new=pa.ipc.new_file, batch_rows=BATCH_ROWS):
    with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink:
        with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
            for batch in table.to_batches(max_chunksize=batch_rows):
                writer.write_batch(batch)


def tables(rng, in_parquet, rows):
    wanted = [column for column in arrow_columns.columns() if column.in_parquet or not in_parquet]
    for part in range(PARTS):
        some = [wanted[0]] + wanted[1 + part::PARTS]
        yield part, arrow_columns.make_table(some, arrow_columns.make_values(some, rng, rows, 0.2))


def main():
    folder, rng = Path(sys.argv[1]), random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    for rows in (ROWS, 0):
        for part, table in tables(rng, False, rows):
            for number, compression in enumerate(dict.fromkeys(ARROW)):
                write_arrow(folder, f"{rows}_{part}_{number}", table, compression)
            if rows > 0:
                write_arrow(folder, f"stream_{part}", table, None, pa.ipc.new_stream)
    for rows in (ROWS, 0):
        for part, table in tables(rng, True, rows):
            for name, options in PARQUET:
                pq.write_table(table, folder / f"{rows}_{part}_{name}.parquet", row_group_size=BATCH_ROWS, **options)
    numbers = pa.table({"i": pa.array(range(300), pa.int32()), "l": pa.array([n * n for n in range(300)], pa.int64()),
                        "t": [f"text {n % 50}" for n in range(300)], "f": [n / 3 for n in range(300)]})
    encodings = {"i": "DELTA_BINARY_PACKED", "l": "DELTA_BINARY_PACKED", "t": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT"}
    # Indexes of many pages, and Bloom filters.
    blooms = {name: {"ndv": 50, "fpp": 0.1} for name in ("i", "l", "t")}
    for name, compression in (("indexed", "none"), ("indexed_zstd", "zstd"), ("indexed_snappy", "snappy")):
        pq.write_table(numbers, folder / f"{name}.parquet", row_group_size=200, write_page_index=True, data_page_size=100,
                       write_batch_size=16, compression=compression, bloom_filter_options=blooms)
    pq.write_table(numbers, folder / "distances.parquet", use_dictionary=False, column_encoding=encodings, compression="none",
                   row_group_size=200)


if __name__ == "__main__":
    main()
