#!/usr/bin/env python3
"""arrow_fdw.py - foreign tables over Arrow and Parquet files answer what is in the files, or with an error.

Files are written by pyarrow, in every type, compression and encoding, and by polars and DuckDB; what the server
answers is compared with the values that were written. `--only` takes cases by name: the functions of CASES.
Must never: leave the folder of its own server, or take an answer of the server for the truth.
Called by: make test-arrow-fdw, test/run_all.py, with the Python of build/python, which has pyarrow.
"""

import argparse
import datetime
import decimal
import os
import random
import re
import shutil
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import arrow_columns  # noqa: E402
import arrow_mutations  # noqa: E402
import cluster  # noqa: E402
import other_writers  # noqa: E402
from cache_bench import Bench  # noqa: E402

COLUMNS = arrow_columns.columns()
PARQUET_COLUMNS = [column for column in COLUMNS if column.in_parquet]
SESSION = {"TimeZone": "UTC", "extra_float_digits": "1"}
READER = "turbine-file-re"  # as /proc shows it
# SQLSTATEs.
DENIED, NO_COLUMN, WRONG_TYPE, BAD_OPTION, BAD_VALUE = "42501", "HV005", "HV004", "HV00D", "HV024"
CORRUPT, CHANGED, NO_FILE, NOT_REGULAR, CANCELLED = "XX001", "55000", "58P01", "42809", "57014"


class Files:
    """Files of a server, in a folder that its account can read."""

    def __init__(self, server):
        self.folder = server.directory / "files"
        self.folder.mkdir()
        os.chmod(self.folder, 0o755)

    def place(self, name):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def arrow(self, name, table, batch_rows=None, compression=None, stream=False):
        path = self.place(name)
        options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=False, unify_dictionaries=not stream)
        new = pa.ipc.new_stream if stream else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, new(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=batch_rows)
        return path

    def parquet(self, name, table, **options):
        path = self.place(name)
        pq.write_table(table, path, **options)
        return path


def make_foreign(session, name, definition, **options):
    listed = ", ".join("{} '{}'".format(key, str(value).replace("'", "''")) for key, value in options.items())
    session.query(f"DROP FOREIGN TABLE IF EXISTS {name}; CREATE FOREIGN TABLE {name} ({definition}) SERVER arrow_fdw OPTIONS ({listed})")


def compare(bench, session, name, wanted, values, path):
    make_foreign(session, "t", arrow_columns.definition(wanted), file=path)
    outcome = session.run(f"SELECT {arrow_columns.select_list(wanted)} FROM t")
    complaint = outcome.error or arrow_columns.first_difference(wanted, values, outcome.rows)
    bench.check(name, complaint)


def number_table(first, count, **more):
    """id, name and price of `count` rows from `first`."""
    numbers = range(first, first + count)
    return pa.table({"id": pa.array(numbers, pa.int64()), "name": pa.array([f"name {i % 50}" for i in numbers]),
                     "price": pa.array([decimal.Decimal(i) / 4 for i in numbers], pa.decimal128(12, 2)), **more})


NUMBERS = "id bigint, name text, price numeric(12,2)"


def types(bench, session, files, rng):
    """Every type in every format, in all compressions and encodings, with NULLs or without."""
    for nulls in (0, 0.2, 1):
        values = arrow_columns.make_values(COLUMNS, rng, 500, nulls)
        table = arrow_columns.make_table(COLUMNS, values)
        parquet_table = arrow_columns.make_table(PARQUET_COLUMNS, values)
        for compression in (None, "lz4", "zstd"):
            for stream in (False, True):
                name = f"arrow, {compression}, stream {stream}, nulls {nulls}"
                compare(bench, session, name, COLUMNS, values,
                        files.arrow("types.arrow", table, rng.choice((1, 70, 500)), compression, stream))
        for compression in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
            options = {"row_group_size": rng.choice((64, 200, 1000)), "data_page_version": rng.choice(("1.0", "2.0")),
                       "use_dictionary": rng.random() < 0.5, "data_page_size": rng.choice((100, 1 << 20))}
            compare(bench, session, f"parquet, {compression}, {options}, nulls {nulls}", PARQUET_COLUMNS, values,
                    files.parquet("types.parquet", parquet_table, compression=compression, **options))
        part = {name: column[13:400] for name, column in values.items()}
        compare(bench, session, "sliced", COLUMNS, part, files.arrow("sliced.arrow", table.slice(13, 387), 100))
        compare(bench, session, "sliced parquet", PARQUET_COLUMNS, part, files.parquet("s.parquet", parquet_table.slice(13, 387)))
    none = {column.name: [] for column in COLUMNS}
    for stream in (False, True):
        compare(bench, session, "no rows", COLUMNS, none,
                files.arrow("none.arrow", arrow_columns.make_table(COLUMNS, none), stream=stream))
    compare(bench, session, "no rows, parquet", PARQUET_COLUMNS, none,
            files.parquet("none.parquet", arrow_columns.make_table(PARQUET_COLUMNS, none)))
    encodings(bench, session, files, rng)


def others(bench, session, files, rng):
    """Files that polars and DuckDB write, of every type that they have."""
    def of(names, rows, nulls):
        wanted = [column for column in names if column.name not in lacking]
        values = arrow_columns.make_values(wanted, rng, rows, nulls)
        return wanted, values, arrow_columns.make_table(wanted, values)

    lacking = other_writers.LACKING["polars"]
    for rows, nulls in ((300, 0.2), (0, 0)):
        wanted, values, table = of(COLUMNS, rows, nulls)
        for name, path in other_writers.by_polars(table, files.folder):
            compare(bench, session, f"{name}, {rows} rows", wanted, values, path)
    for version in (1, 2):
        lacking = [*other_writers.LACKING["DuckDB"], *(other_writers.DELTAS if version == 2 else ())]
        wanted, values, table = of(COLUMNS, 2100, 0.2)
        for name, path in other_writers.by_duckdb(table, files.folder, (version,)):
            compare(bench, session, name, wanted, values, path)
        none = {column.name: [] for column in wanted}
        for name, path in other_writers.by_duckdb(table.slice(0, 0), files.folder, (version,)):
            compare(bench, session, f"{name}, no rows", wanted, none, path)


def encodings(bench, session, files, rng):
    values = arrow_columns.make_values(PARQUET_COLUMNS, rng, 3000, 0.1)
    for name, encoding in (("int32", "DELTA_BINARY_PACKED"), ("int64", "DELTA_BINARY_PACKED"), ("text", "DELTA_BYTE_ARRAY"),
                           ("bytes", "DELTA_LENGTH_BYTE_ARRAY"), ("float64", "BYTE_STREAM_SPLIT"), ("float32", "BYTE_STREAM_SPLIT"),
                           ("bool", "RLE"), ("text", "PLAIN"), ("decimal128", "BYTE_STREAM_SPLIT"), ("uuid", "DELTA_BYTE_ARRAY")):
        wanted = [column for column in PARQUET_COLUMNS if column.name in ("id", name)]
        path = files.parquet("encoded.parquet", arrow_columns.make_table(wanted, values), use_dictionary=False,
                             column_encoding={name: encoding, "id": "PLAIN"}, row_group_size=1024)
        compare(bench, session, f"{name} as {encoding}", wanted, values, path)


def imports(bench, session, files, rng):
    """IMPORT FOREIGN SCHEMA makes columns that hold what the files hold."""
    values = arrow_columns.make_values(COLUMNS, rng, 50, 0.1)
    path = files.arrow("import.arrow", arrow_columns.make_table(COLUMNS, values))
    session.query(f"IMPORT FOREIGN SCHEMA everything FROM SERVER arrow_fdw INTO public OPTIONS (file '{path}')")
    made = dict(session.query("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                              "WHERE attrelid = 'everything'::regclass AND attnum > 0"))
    for column in COLUMNS:
        plain = {"char(3)": "character(3)", "time": "time without time zone"}.get(column.imported, column.imported)
        bench.equal(f"type of {column.name}", made[column.name], plain)
    bench.equal("rows", session.value("SELECT count(e) FROM everything e"), "50")
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([5])])
    odd = pa.table({"Select": [1], "x" * 100: [2], "a b\"c": [3], "x": union})
    session.query(f"IMPORT FOREIGN SCHEMA odd FROM SERVER arrow_fdw INTO public OPTIONS (file '{files.arrow('odd.arrow', odd)}')")
    bench.equal("odd names", session.query(f"SELECT \"Select\", \"{'x' * 63}\", \"a b\"\"c\" FROM odd"), [("1", "2", "3")])
    same = pa.table([[1], [2]], names=["a", "a"])
    bench.fails("two columns of a name", session, "IMPORT FOREIGN SCHEMA same FROM SERVER arrow_fdw INTO public "
                f"OPTIONS (file '{files.arrow('same.arrow', same)}')", "42701")
    make_foreign(session, "same", "a int", file=files.place("same.arrow"))
    bench.fails("which of them", session, "SELECT a FROM same", NO_COLUMN)
    bench.fails("no file", session, "IMPORT FOREIGN SCHEMA x FROM SERVER arrow_fdw INTO public "
                f"OPTIONS (dir '{files.folder}', suffix '.x')", NO_FILE)


def places(bench, session, files, rng):
    """dir, files, patterns, and virtual columns."""
    for year in (2023, 2024):
        for region in ("north", "south"):
            files.parquet(f"hive/year={year}/region={region}/a.parquet", number_table(year, 3))
            files.arrow(f"tree/{year}-{region}/part-1.arrow", number_table(year * 10, 2))
    files.parquet("hive/year=2025/region=__HIVE_DEFAULT_PARTITION__/b.parquet", number_table(1, 1))
    files.parquet("hive/year=2025/region=a%2Fb%20%zz/c.parquet", number_table(1, 1))
    files.parquet("hive/_temporary/year=1/c.parquet", number_table(1, 1))
    files.parquet("hive/year=2025/region=x/.hidden.parquet", number_table(1, 1))
    files.place("hive/year=2025/region=x/_SUCCESS").write_text("")
    files.place("hive/readme.txt").write_text("no file of columns")
    files.place("hive/year=1").symlink_to(files.folder / "hive")
    make_foreign(session, "hive", f"{NUMBERS}, year int, region text", dir=files.folder / "hive", suffix=".parquet")
    bench.equal("hive", session.query("SELECT year, region, count(*), min(id) FROM hive GROUP BY 1, 2 ORDER BY 1, 2"),
                [("2023", "north", "3", "2023"), ("2023", "south", "3", "2023"), ("2024", "north", "3", "2024"),
                 ("2024", "south", "3", "2024"), ("2025", "a/b %zz", "1", "1"), ("2025", None, "1", "1")])
    bench.equal("virtual columns alone", session.query("SELECT DISTINCT year FROM hive ORDER BY 1"), [("2023",), ("2024",), ("2025",)])
    for condition, skipped in (("year = 2024", 4), ("region IN ('north', 'x')", 4), ("2024 < year", 4),
                               ("year = 2024 AND id > 0", 4), ("region > 'south'", 6), ("region IS NULL", None),
                               ("year + 0 = 2024", None), ("1 / (year - 2023) = 1", None)):
        outcome = session.run(f"EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM hive WHERE {condition}")
        found = re.search(r"Files Skipped: (\d+)", "\n".join(row[0] for row in outcome.rows))
        bench.equal(f"files skipped: {condition}", found and int(found.group(1)), skipped)
    bench.equal("rows of the others", session.query("SELECT DISTINCT region FROM hive WHERE year = 2024 ORDER BY 1"),
                [("north",), ("south",)])
    session.query("PREPARE of_year(int) AS SELECT count(*) FROM hive WHERE year = $1; SET plan_cache_mode = force_generic_plan")
    bench.equal("a parameter", [session.query(f"EXECUTE of_year({year})") for year in (2024, 2025, 1)], [[("6",)], [("2",)], [("0",)]])
    session.query("RESET plan_cache_mode")
    session.query(f"IMPORT FOREIGN SCHEMA hive2 FROM SERVER arrow_fdw INTO public OPTIONS (dir '{files.folder}/hive', suffix '.parquet')")
    bench.equal("imported keys", session.query("SELECT year, count(region) FROM hive2 GROUP BY 1 ORDER BY 1"),
                [("2023", "6"), ("2024", "6"), ("2025", "1")])
    make_foreign(session, "tree", "id bigint, y int OPTIONS (column_name 'year'), region text",
                 pattern=f"{files.folder}/tree/${{year}}-${{region}}/*.arrow")
    bench.equal("pattern", session.query("SELECT y, region, sum(id) FROM tree GROUP BY 1, 2 ORDER BY 1, 2"),
                [("2023", "north", "40461"), ("2023", "south", "40461"), ("2024", "north", "40481"), ("2024", "south", "40481")])
    make_foreign(session, "tree", "id bigint", pattern=f"{files.folder}/tree/2024-?orth/part-*.arrow")
    bench.equal("wildcards", session.value("SELECT count(*) FROM tree"), "2")
    make_foreign(session, "tree", "id bigint", pattern=f"{files.folder}/nothing*/*.arrow")
    bench.equal("nothing matches", session.query("SELECT id FROM tree"), [])
    paths = [files.arrow("two/a,b.arrow", number_table(0, 1)), files.arrow("two/c.arrow", number_table(5, 1))]
    make_foreign(session, "two", "id bigint", files=f"{files.folder}/two/c.arrow, {paths[1]}")
    bench.equal("files", session.query("SELECT id FROM two"), [("5",), ("5",)])
    make_foreign(session, "two", "year int", pattern=f"{files.folder}/tree/${{year}}/nothing/*.arrow")
    bench.equal("no folder is called so", session.query("SELECT * FROM two"), [])
    make_foreign(session, "two", "region int", pattern=f"{files.folder}/tree/2024-${{region}}/*.arrow")
    bench.fails("a value that is no number", session, "SELECT * FROM two", "22P02")
    broken_options(bench, session, files)


def broken_options(bench, session, files):
    path = files.arrow("o.arrow", number_table(0, 5))
    for name, options, sqlstate in (
            ("relative path", "file 'o.arrow'", BAD_VALUE), ("unknown option", f"file '{path}', color 'red'", BAD_OPTION),
            ("two places", f"file '{path}', dir '/tmp'", BAD_OPTION), ("suffix alone", f"file '{path}', suffix 'x'", BAD_OPTION),
            ("no place", "suffix 'x'", "HV002"), ("writable", f"files '{path}', writable 'true'", BAD_OPTION),
            ("name twice", "pattern '/a/${b}/${b}'", BAD_VALUE), ("no name", "pattern '/a/${}'", BAD_VALUE),
            ("no end", "pattern '/a/${x/b'", BAD_VALUE), ("parent", "pattern '/a/*/../b'", BAD_VALUE)):
        bench.fails(name, session, f"CREATE FOREIGN TABLE broken (id int) SERVER arrow_fdw OPTIONS ({options})", sqlstate)
    bench.fails("column option", session, "CREATE FOREIGN TABLE broken (id int OPTIONS (field 'x')) "
                f"SERVER arrow_fdw OPTIONS (file '{path}')", BAD_OPTION)
    make_foreign(session, "w", "id bigint", file=path, writable="false")
    for change, sqlstate in (("INSERT INTO w VALUES (1)", "55000"), ("UPDATE w SET id = 1", "0A000"), ("DELETE FROM w", "0A000")):
        bench.fails(change, session, change, sqlstate)


def mistakes(bench, session, files, rng):
    """Columns that are missing or of another type, values that do not fit, texts that are none."""
    path = files.arrow("m.arrow", number_table(0, 5))
    make_foreign(session, "m", "id bigint, missing int", file=path)
    bench.fails("a column that is missing", session, "SELECT id FROM m", NO_COLUMN)
    for sql in ("id text", "id boolean", "id date", "name int", "name bytea", "price bigint", "id real", "name text[]", "name json[]"):
        make_foreign(session, "m", sql, file=path)
        outcome = session.run("SELECT * FROM m")
        bench.equal(f"{sql}: SQLSTATE", outcome.sqlstate, WRONG_TYPE)
        words = str(outcome.error and outcome.error.fields)
        bench.check(f"{sql}: names", None if "m.arrow" in words and f'"{sql.split()[0]}"' in words else words)
    far = {
        "int": (pa.int64(), [1, 2 ** 31], "integer", "22003"), "small": (pa.uint16(), [2 ** 15], "smallint", "22003"),
        "big": (pa.uint64(), [2 ** 63], "bigint", "22003"), "date": (pa.date32(), [2 ** 31 - 1], "date", "22008"),
        "early": (pa.date32(), [-2 ** 31], "date", "22008"), "moment": (pa.timestamp("s"), [2 ** 62], "timestamp", "22008"),
        "first": (pa.timestamp("us"), [-2 ** 63], "timestamp", "22008"),
        "zone": (pa.timestamp("us"), [0], "timestamptz", WRONG_TYPE), "no_zone": (pa.timestamp("us", "UTC"), [0], "timestamp", WRONG_TYPE),
        "length": (pa.string(), ["four"], "varchar(3)", "22001"), "nul": (pa.string(), ["a\0b"], "text", "22021"),
        "digits": (pa.decimal128(10, 2), [decimal.Decimal("12345.67")], "numeric(4,1)", "22003"),
        "lists": (pa.list_(pa.list_(pa.int32())), [[[1], [1, 2]]], "int[]", "2202E"),
        "null_list": (pa.list_(pa.list_(pa.int32())), [[[1], None]], "int[]", "2202E"),
        "enum": (pa.string(), ["mad"], "mood", "22P02"), "json": (pa.string(), ["{"], "jsonb", "22P02"),
        "domain": (pa.int32(), [1, -1], "positive", "23514"), "null": (pa.int32(), [1, None], "positive", "23502"),
        "fixed": (pa.binary(2), [b"\xff\xfe"], "char(2)", "22021"),
        "struct": (pa.struct([("x", pa.int32())]), [{"x": 1}], "pair", WRONG_TYPE),
    }
    session.query("CREATE DOMAIN positive AS int NOT NULL CHECK (value > 0)")
    for name, (arrow, values, sql, sqlstate) in far.items():
        for kind in ("arrow", "parquet"):
            if kind == "parquet" and name in ("moment", "early"):
                continue
            table = pa.table({"v": pa.array(values, arrow)})
            path = files.arrow("far.arrow", table) if kind == "arrow" else files.parquet("far.parquet", table)
            make_foreign(session, "far", f"v {sql}", file=path)
            outcome = session.run("SELECT v FROM far")
            bench.equal(f"{name}, {kind}", outcome.sqlstate, sqlstate)
            if sqlstate in (WRONG_TYPE, "2202E", "22008", "22021") or sqlstate == "22003" and name != "digits":
                words = str(outcome.error and outcome.error.fields)
                bench.check(f"{name}, {kind}: names", None if f"far.{kind}" in words and '"v"' in words else words)
    edges(bench, session, files)
    for content, name in ((b"", "empty"), (b"PAR1", "magic alone"), (b"ARROW1\0\0", "arrow magic"), (b"\xff" * 100, "ones"),
                          (b"text " * 99, "text")):
        path = files.place("bad")
        path.write_bytes(content)
        make_foreign(session, "bad", "id int", file=path)
        bench.fails(name, session, "SELECT * FROM bad", CORRUPT)


def edges(bench, session, files):
    """The first and last values of PostgreSQL's types, and what is rounded."""
    table = pa.table({
        "d": pa.array([-2440588, 2145031948 + 10957], pa.int32()).cast(pa.date32()),
        "t": pa.array([-210866803200000000, 9222424646399999999], pa.int64()).cast(pa.timestamp("us")),
        "n": pa.array([-1, 1999], pa.int64()).cast(pa.timestamp("ns")),
        "day": pa.array([86399, 0], pa.int32()).cast(pa.time32("s"))})
    make_foreign(session, "e", "d date, t timestamp, n timestamp, day time", file=files.arrow("edges.arrow", table.slice(0, 1)))
    bench.equal("first values", session.query("SELECT * FROM e"), [
        ("4714-11-24 BC", "4714-11-24 00:00:00 BC", "1969-12-31 23:59:59.999999", "23:59:59")])
    make_foreign(session, "e", "d date, t timestamp, n timestamp, day time", file=files.arrow("edges.arrow", table.slice(1, 1)))
    bench.equal("last values", session.query(
        "SELECT d - date '1970-01-01', t - timestamp '1970-01-01' < interval '106742000 days', n, day FROM e"), [
        (str(2145031948 + 10957), "t", "1970-01-01 00:00:00.000001", "00:00:00")])


def skipping(bench, session, files, rng):
    """Batches are left out where their bounds allow it, and rows are right."""
    rows, batch = 20000, 1000
    numbers = list(range(rows))
    floats = [i / 2 for i in numbers]
    floats[1500] = float("nan")
    stamps = [datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=i) for i in numbers]
    table = number_table(0, rows, f=pa.array(floats), u=pa.array(numbers, pa.uint64()), day=pa.array(numbers, pa.int32()).cast(pa.date32()),
                         at=pa.array(stamps, pa.timestamp("ms")), clock=pa.array(numbers, pa.int32()).cast(pa.time32("s")),
                         word=pa.array([f"w{i:06d}" for i in numbers]),
                         maybe=pa.array([None if i < 5000 else i for i in numbers], pa.int32()))
    path = files.parquet("skip.parquet", table, row_group_size=batch)

    def listed(values):
        return ",".join(str(value) for value in values)

    bounded = table.select(["id", "price"])
    chunks = [numbers[at:at + batch] for at in range(0, rows, batch)]
    bounded = bounded.cast(pa.schema([
        bounded.schema.field(name).with_metadata({"min_values": listed(c[0] * unit for c in chunks),
                                                  "max_values": listed(c[-1] * unit for c in chunks)})
        for name, unit in (("id", 1), ("price", 25))]))
    arrow_path = files.arrow("skip.arrow", bounded, batch)
    session.query("CREATE TABLE plain AS SELECT i AS id, 'name ' || i % 50 AS name, (i / 4.0)::numeric(12,2) AS price, "
                  "CASE i WHEN 1500 THEN 'NaN' ELSE i / 2.0 END::float8 AS f, i::numeric AS u, date '1970-01-01' + i AS day, "
                  "timestamp '2024-01-01' + i * interval '1 minute' AS at, time '0:00' + i * interval '1 second' AS clock, "
                  "'w' || lpad(i::text, 6, '0') AS word, CASE WHEN i >= 5000 THEN i END AS maybe FROM generate_series(0, 19999) i")
    make_foreign(session, "skip", NUMBERS + ", f float8, u numeric, day date, at timestamp, clock time, word text COLLATE \"C\", maybe int",
                 file=path)
    make_foreign(session, "skip_arrow", "id bigint, price numeric(12,2)", file=arrow_path)
    make_foreign(session, "rounded", "id bigint, price numeric(12,1), at timestamp(0)", file=path)
    for table_name, condition, most in (
            ("skip", "id = 5000", 1), ("skip", "id BETWEEN 3990 AND 4010", 2), ("skip", "id IN (1, 19999, 7)", 2), ("skip", "id < 10", 1),
            ("skip", "19990 <= id", 1), ("skip", "id > 100000", 0), ("skip", "id = 7::smallint", 1), ("skip", "price < 2.5", 1),
            ("skip", "price = 1000.25::numeric", 1), ("skip", "f < 3", 1), ("skip", "f > 9000", 20), ("skip", "f = 700", 1),
            ("skip", "f = 'NaN'", 20), ("skip", "u > 19500", 1), ("skip", "day = date '1970-02-01'", 1), ("skip", "day > 'infinity'", 0),
            ("skip", "at < timestamp '2024-01-01 02:00'", 1), ("skip", "clock > time '05:30'", 1), ("skip", "word = 'w000777'", 1),
            ("skip", "word >= 'w0199'", 1), ("skip", "word IN ('w000001', 'x')", 1), ("skip", "maybe < 5100", 6),
            ("skip", "maybe IS NULL", 20), ("skip", "id <> 5", 20), ("skip", "id = ANY (ARRAY[NULL, 5])", 1),
            ("skip", "id < (SELECT 10)", 20), ("skip", "id < 5 OR id > 19990", 20), ("skip_arrow", "id = 5000", 1),
            ("skip_arrow", "price > 4999", 1), ("rounded", "id < 10", 1), ("rounded", "price < 1", 20)):
        columns = "id, price" if table_name == "skip_arrow" else "*"
        found = session.query(f"SELECT {columns} FROM {table_name} WHERE {condition} ORDER BY id")
        if table_name == "rounded":
            rounded = condition.replace("price", "price::numeric(12,1)")
            right = session.query(f"SELECT id, price::numeric(12,1), at::timestamp(0) FROM plain WHERE {rounded} ORDER BY id")
        else:
            right = session.query(f"SELECT {columns} FROM plain WHERE {condition} ORDER BY id")
        bench.check(f"{table_name}: {condition}",
                    None if found == right else f"{len(found)} rows, expected {len(right)}: {found[:2]} {right[:2]}")
        plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM {table_name} WHERE {condition}"))
        read = int(re.search(r"Batches Read: (\d+)", plan).group(1))
        bench.check(f"batches of {table_name}: {condition}", None if read == most else f"{read} batches were read, {most} expected")
    session.query("PREPARE p(int) AS SELECT count(*) FROM skip WHERE id < $1")
    session.query("SET plan_cache_mode = force_generic_plan")
    bench.equal("parameter", session.query("EXECUTE p(1500)"), [("1500",)])
    plan = "\n".join(row[0] for row in session.query("EXPLAIN (ANALYZE, COSTS OFF) EXECUTE p(1500)"))
    bench.check("parameter's batches", None if "Batches Read: 2" in plan else plan)
    session.query("RESET plan_cache_mode")
    nested = session.query("SELECT v, count(s.id) FROM (VALUES (5), (1999), (NULL)) AS w(v) LEFT JOIN LATERAL "
                           "(SELECT id FROM skip WHERE id <= w.v OFFSET 0) s ON true GROUP BY v ORDER BY v")
    bench.equal("rescans", nested, [("5", "6"), ("1999", "2000"), (None, "0")])


def queries(bench, session, files, rng, server):
    """Joins, partitions, cursors, prepared statements, ANALYZE and whole rows, against a heap table of the same rows."""
    path = files.parquet("q.parquet", number_table(0, 5000), row_group_size=700)
    make_foreign(session, "q", NUMBERS, file=path)
    session.query("CREATE TABLE h AS SELECT * FROM q")
    session.query("ANALYZE h")
    estimate = session.query("EXPLAIN SELECT * FROM q WHERE name = 'name 7'")[0][0]
    session.query("ANALYZE q")
    bench.equal("rows of ANALYZE", session.value("SELECT reltuples FROM pg_class WHERE relname = 'q'"), "5000")
    bench.equal("distinct names", session.value("SELECT n_distinct FROM pg_stats WHERE tablename = 'q' AND attname = 'name'"), "50")
    better = session.query("EXPLAIN SELECT * FROM q WHERE name = 'name 7'")[0][0]
    bench.check("estimate", None if "rows=100 " in better and better != estimate else f"{estimate} {better}")
    for sql in ("SELECT count(*) FROM {0}", "SELECT name, sum(price), min(id) FROM {0} GROUP BY name ORDER BY name",
                "SELECT x FROM {0} x ORDER BY id",
                "SELECT a.id, b.name FROM {0} a JOIN {0} b ON a.id = b.id + 1 WHERE a.price > 1200 ORDER BY 1",
                "SELECT id FROM {0} WHERE EXISTS (SELECT 1 FROM {0} y WHERE y.id = {0}.id / 2 AND y.price > 600) ORDER BY 1",
                "SELECT tableoid = '{0}'::regclass, id FROM {0} ORDER BY id LIMIT 3",
                "SELECT id, row_number() OVER (ORDER BY price) FROM {0} ORDER BY 1",
                "SELECT (SELECT count(*) FROM {0} z WHERE z.id < v) FROM generate_series(1, 4) v"):
        bench.equal(sql, session.query(sql.format("q")), session.query(sql.format("h")))
    encodings_of_databases(bench, session, files, server)
    session.query("BEGIN; DECLARE c CURSOR FOR SELECT id FROM q")
    bench.equal("cursor", session.query("FETCH 3 FROM c"), [("0",), ("1",), ("2",)])
    bench.equal("beside it", session.value("SELECT sum(id) FROM q"), "12497500")
    session.query("SAVEPOINT s")
    bench.fails("an error beside it", session, "SELECT 1 / (id - 4000) FROM q", "22012")
    session.query("ROLLBACK TO s")
    bench.equal("goes on", session.query("FETCH 2 FROM c"), [("3",), ("4",)])
    session.query("COMMIT")
    session.query("CREATE TABLE parts (id bigint, name text, price numeric(12,2)) PARTITION BY RANGE (id)")
    session.query("CREATE TABLE parts_heap PARTITION OF parts FOR VALUES FROM (5000) TO (9000)")
    session.query("CREATE FOREIGN TABLE parts_file PARTITION OF parts FOR VALUES FROM (0) TO (5000) "
                  f"SERVER arrow_fdw OPTIONS (file '{path}')")
    session.query("INSERT INTO parts SELECT i, 'heap', i FROM generate_series(5000, 5999) i")
    bench.equal("partitions", session.query("SELECT count(*), sum(id), count(DISTINCT name) FROM parts"), [("6000", "17997000", "51")])
    plan = "\n".join(row[0] for row in session.query("EXPLAIN SELECT * FROM parts WHERE id > 5500"))
    bench.check("pruned", None if "parts_file" not in plan else plan)
    with_forced(bench, session)
    changed_definitions(bench, session, files)


def changed_definitions(bench, session, files):
    """Tables and types that were altered, rows that are locked, and files that feed other statements."""
    session.query("ALTER FOREIGN TABLE q DROP COLUMN name; ALTER FOREIGN TABLE q ADD title text OPTIONS (column_name 'name')")
    bench.equal("dropped and added", session.query("SELECT * FROM q ORDER BY id LIMIT 2"),
                [("0", "0.00", "name 0"), ("1", "0.25", "name 1")])
    bench.equal("locked rows", session.query("SELECT q.id, h.name FROM q JOIN h USING (id) WHERE q.id < 2 ORDER BY 1 FOR UPDATE"),
                [("0", "name 0"), ("1", "name 1")])
    session.query("UPDATE h SET price = q.price + 1 FROM q WHERE q.id = h.id AND h.id < 100")
    session.query("DELETE FROM h USING q WHERE q.id = h.id AND h.id > 200")
    bench.equal("updated by it", session.query("SELECT count(*), sum(price) FROM h"), [("201", "5125.00")])
    session.query("CREATE TYPE wide AS (x int, gone int, y text); ALTER TYPE wide DROP ATTRIBUTE gone")
    table = pa.table({"s": pa.array([{"y": "a", "x": 1, "z": 2}, None, {"y": None, "x": 3, "z": 4}])})
    make_foreign(session, "w", "s wide", file=files.arrow("wide.arrow", table))
    bench.equal("a composite's dropped attribute", session.query("SELECT s, (s).y FROM w"), [("(1,a)", "a"), (None, None), ("(3,)", None)])
    outcome = session.run("DO $$ DECLARE r record; n int := 0; BEGIN FOR r IN SELECT id FROM q LOOP "
                          "BEGIN n := n + 1 / (r.id % 1000); EXCEPTION WHEN division_by_zero THEN n := n + 1000; END; END LOOP; "
                          "IF n <> 5005 THEN RAISE 'n is %', n; END IF; END $$")
    bench.check("subtransactions within a scan", outcome.error)


def encodings_of_databases(bench, session, files, server):
    """Texts reach clients and databases of other encodings as any others."""
    table = pa.table({"é": ["grün", "plain"], "j": ['{"ü": "é"}', None], "l": [["ä", None], []]})
    path = files.arrow("latin/word.arrow", table)
    session.query("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0; ")
    session.query("CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    server.create_extension("latin", "ascii")
    for database in ("postgres", "latin", "ascii"):
        with server.connect(database) as other:
            make_foreign(other, "e", "\"é\" text, j jsonb, l text[], d text", pattern=path.with_name("${d}.arrow"))
            bench.equal(f"texts in {database}", other.query("SELECT * FROM e WHERE d = 'word' AND \"é\" IN ('grün', 'x')"),
                        [("grün", '{"ü": "é"}', "{ä,NULL}", "word")])
            bench.equal(f"length in {database}", other.value("SELECT length(\"é\") FROM e LIMIT 1"), "5" if database == "ascii" else "4")
            other.query(f"IMPORT FOREIGN SCHEMA imported FROM SERVER arrow_fdw INTO public OPTIONS (file '{path}')")
            bench.equal(f"imported in {database}", other.query("SELECT \"é\" FROM imported"), [("grün",), ("plain",)])
            bench.fails(f"no such column in {database}", other, "ALTER FOREIGN TABLE e ADD \"ö\" int; SELECT * FROM e", NO_COLUMN)
    with server.connect(settings={"client_encoding": "LATIN1"}) as other:
        bench.equal("client of another encoding",
                    other.value("SELECT encode(convert_to(j->>(chr(252)), 'UTF8'), 'hex') FROM e LIMIT 1"), "c3a9")
    files.arrow("latin/word.arrow", pa.table({"é": ["✓"], "j": ["{}"], "l": [[]]}))
    with server.connect("latin") as other:
        bench.fails("a character that LATIN1 lacks", other, "SELECT * FROM e", "22P05")


def with_forced(bench, session):
    """The nodes of devices leave foreign tables alone, or answer the same."""
    session.query("SET pg_turbine.debug_force_offload = on")
    for sql in ("SELECT name, count(*), sum(price) FROM parts GROUP BY name ORDER BY 1", "SELECT count(*) FROM q JOIN h USING (id)",
                "SELECT name, max(id) FROM q GROUP BY name ORDER BY 1"):
        forced = session.query(sql)
        session.query("SET pg_turbine.enabled = off")
        bench.equal(f"forced: {sql}", forced, session.query(sql))
        session.query("RESET pg_turbine.enabled")
    session.query("RESET pg_turbine.debug_force_offload")


def rights(bench, session, files, rng, server):
    """Who may name files, and which files are opened."""
    path = files.arrow("r/a.arrow", number_table(0, 5))
    make_foreign(session, "r", "id bigint", file=path)
    session.query("CREATE ROLE plain_user LOGIN; CREATE ROLE reader LOGIN; GRANT pg_read_server_files TO reader; "
                  "GRANT USAGE ON FOREIGN SERVER arrow_fdw TO plain_user, reader; GRANT CREATE ON SCHEMA public TO plain_user, reader")
    create = f"CREATE FOREIGN TABLE own (id bigint) SERVER arrow_fdw OPTIONS (file '{path}')"
    with server.connect(user="plain_user") as plain, server.connect(user="reader") as reader:
        bench.fails("plain role creates", plain, create, DENIED)
        bench.fails("plain role imports", plain, "IMPORT FOREIGN SCHEMA own FROM SERVER arrow_fdw INTO public "
                    f"OPTIONS (file '{path}')", DENIED)
        bench.fails("plain role reads", plain, "SELECT * FROM r", DENIED)
        session.query("GRANT SELECT ON r TO plain_user")
        bench.equal("granted", plain.value("SELECT count(*) FROM r"), "5")
        reader.query(create)
        bench.equal("reader's own", reader.value("SELECT count(*) FROM own"), "5")
        session.query("ALTER FOREIGN TABLE own OWNER TO plain_user")
        bench.fails("given to a plain role", plain, "SELECT * FROM own", DENIED)
        bench.fails("which cannot change it", plain, "ALTER FOREIGN TABLE own OPTIONS (SET file '/etc/passwd')", DENIED)
        bench.fails("nor add", plain, "ALTER FOREIGN TABLE own OPTIONS (ADD writable 'false')", DENIED)
        bench.fails("nor may set memory", plain, "SET pg_turbine.file_reader_memory = '1GB'", DENIED)
    outside = server.directory / "outside.arrow"
    outside.write_bytes(path.read_bytes())
    for name, make, sqlstate in (
            ("link.arrow", lambda place: place.symlink_to(outside), DENIED), ("fifo.arrow", os.mkfifo, NOT_REGULAR),
            ("gone.arrow", lambda place: place.symlink_to("/nowhere"), NO_FILE),
            ("secret.arrow", lambda place: (place.write_bytes(path.read_bytes()), os.chmod(place, 0)), DENIED)):
        place = files.place(f"r/{name}")
        make(place)
        make_foreign(session, "f", "id bigint", dir=place.parent)
        bench.fails(f"dir with {name}", session, "SELECT * FROM f", sqlstate)
        make_foreign(session, "f", "id bigint", pattern=f"{files.folder}/${{x}}/{name}")
        bench.fails(f"pattern with {name}", session, "SELECT * FROM f", sqlstate)
        place.unlink()
    files.place("r/inside.arrow").symlink_to(path)
    make_foreign(session, "f", "id bigint", dir=path.parent)
    bench.equal("a link inside", session.value("SELECT count(*) FROM f"), "10")
    make_foreign(session, "f", "id bigint", file=files.folder / "r" / "inside.arrow")
    bench.equal("a link named as such", session.value("SELECT count(*) FROM f"), "5")
    files.place("r2/x").symlink_to(path.parent)
    make_foreign(session, "f", "id bigint", pattern=f"{files.folder}/r2/${{x}}/*.arrow")
    bench.fails("a folder's link out", session, "SELECT * FROM f", DENIED)
    for place, sqlstate in (("/dev/zero", NOT_REGULAR), ("/proc/self/environ", CORRUPT), (files.folder, NOT_REGULAR),
                             ("/nowhere/x", NO_FILE)):
        make_foreign(session, "f", "id bigint", file=place)
        bench.fails(f"{place}", session, "SELECT * FROM f", sqlstate)


def changes(bench, session, files, rng):
    """Files that come, go and change, between queries and during them."""
    folder = files.folder / "c"
    files.arrow("c/1.arrow", number_table(0, 10))
    make_foreign(session, "c", "id bigint", dir=folder)
    session.query("PREPARE count_c AS SELECT count(*) FROM c")
    bench.equal("one", session.query("EXECUTE count_c"), [("10",)])
    files.parquet("c/2.parquet", number_table(10, 5))
    bench.equal("one more", session.query("EXECUTE count_c"), [("15",)])
    for rows in range(20, 40):
        # The same size as often as not, and within a clock tick of each other.
        files.arrow("c/new", number_table(0, rows)).rename(folder / "1.arrow")
        bench.equal("renamed over", session.query("EXECUTE count_c"), [(str(rows + 5),)])
        files.arrow("c/2.parquet", number_table(rows, 5))
        bench.equal("written over", session.query("SELECT max(id) FROM c"), [(str(rows + 4),)])
    (folder / "1.arrow").unlink()
    bench.equal("gone", session.query("EXECUTE count_c"), [("5",)])
    for index in range(10):
        files.arrow(f"c/big{index}.arrow", number_table(index * 100000, 100000), 5000)
    for name, change, sqlstates in (
            ("truncated", lambda path: os.truncate(path, 1000), {CHANGED, CORRUPT}),
            ("written into", lambda path: path.write_bytes(b"x" * path.stat().st_size), {CHANGED, CORRUPT}),
            ("removed", lambda path: path.unlink(), {NO_FILE}),
            ("replaced", lambda path: files.arrow("c/.new", number_table(0, 1)).rename(path), {CHANGED})):
        session.query("BEGIN; DECLARE k CURSOR FOR SELECT id FROM c")
        bench.equal("first rows", len(session.query("FETCH 100 FROM k")), 100)
        change(folder / "big9.arrow")
        outcome = session.run("FETCH ALL FROM k")
        bench.check(f"{name} during a query", None if outcome.sqlstate in sqlstates else outcome.sqlstate)
        session.query("ROLLBACK")
        (folder / "big9.arrow").unlink(missing_ok=True)
        files.arrow("c/big9.arrow", number_table(900000, 100000), 5000)
    bench.equal("whole again", session.value("SELECT count(*) FROM c"), "1000005")
    shutil.rmtree(folder)


def processes(bench, session, files, rng, server):
    """Readers end with their queries and sessions, and what ends them is an error at most."""
    path = files.arrow("p.arrow", number_table(0, 400000), 10000)
    make_foreign(session, "p", NUMBERS, file=path)

    def readers():
        return [pid for pid, name in server.descendants().items() if name == READER]

    def soon(condition):
        deadline = time.monotonic() + 20
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.02)
        return condition()

    busy = server.connect()
    before = set(readers())
    # Wide rows, so that few of them are on their way.
    make_foreign(session, "wide_rows", "v text", file=files.arrow("wide_rows.arrow", pa.table({"v": ["v" * 8000] * 20000}), 100, "zstd"))
    slow = "SELECT count(v) FROM wide_rows WHERE pg_sleep(0.001) IS NOT NULL"
    busy.send(slow)
    bench.check("a reader of its own", None if soon(lambda: set(readers()) - before) else "none")
    busy.cancel()
    bench.equal("cancelled", busy.finish().sqlstate, CANCELLED)
    bench.check("its reader ended", None if soon(lambda: not set(readers()) - before) else "it lives")
    busy.send(slow)
    soon(lambda: set(readers()) - before)
    for pid in set(readers()) - before:
        os.kill(pid, 9)
    bench.equal("killed reader", busy.finish().sqlstate, "HV000")
    bench.equal("the next query", busy.value("SELECT count(id) FROM p"), "400000")
    session.query(f"SELECT pg_terminate_backend({busy.backend_pid})")
    bench.check("ends with its session", None if soon(lambda: not set(readers()) - before) else "it lives")
    busy.close()
    with server.connect() as many:
        many.query("BEGIN; " + "; ".join(f"DECLARE c{i} CURSOR FOR SELECT id FROM p" for i in range(20)))
        for i in range(20):
            bench.equal("many scans", many.query(f"FETCH 1 FROM c{i}"), [("0",)])
        bench.check("as many readers", None if len(readers()) >= 20 else readers())
        many.query("COMMIT")
        bench.check("one is kept", None if soon(lambda: len(set(readers()) - before) <= 1) else readers())
    leaks(bench, server, files)
    threads, failures = [], []

    def count():
        with server.connect() as one:
            if one.value("SELECT sum(id) FROM p") != "79999800000":
                failures.append("wrong")
    for _ in range(8):
        threads.append(threading.Thread(target=count))
        threads[-1].start()
    for thread in threads:
        thread.join()
    bench.equal("eight sessions", failures, [])
    memory(bench, server, files)


def leaks(bench, server, files):
    """Failing queries leave no descriptors and no processes."""
    path = files.arrow("leak.arrow", pa.table({"v": pa.array(range(100000), pa.int64())}), 1000)
    with server.connect() as session:
        make_foreign(session, "leak", "v bigint", file=path)
        statements = ("SELECT 1 / (v - 500) FROM leak", "SELECT v::int2 FROM leak", "SELECT v FROM leak LIMIT 1",
                      "DO $$ BEGIN PERFORM 1 / (v - 500) FROM leak; EXCEPTION WHEN division_by_zero THEN NULL; END $$")

        def held():
            children = [pid for pid in server.descendants() if f"PPid:\t{session.backend_pid}\n" in status(pid)]
            return len(os.listdir(f"/proc/{session.backend_pid}/fd")), len(children)

        session.value("SELECT count(v) FROM leak")
        before = held()
        for _ in range(10):
            for statement in statements:
                session.run(statement)
        session.value("SELECT count(v) FROM leak")
        bench.equal("descriptors and processes", held(), before)


def status(pid):
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def memory(bench, server, files):
    """What unpacks to more than the reader may have."""
    wide = pa.table({"v": pa.array(["a" * (1 << 20)] * 300)})
    arrow = files.arrow("bomb.arrow", wide, compression="zstd")
    with server.connect(settings={"pg_turbine.file_reader_memory": "64MB"}) as session:
        make_foreign(session, "bomb", "v text", file=arrow)
        bench.fails("bomb", session, "SELECT count(v) FROM bomb", "53200")
        bench.check("it is one", None if arrow.stat().st_size < 1 << 20 else arrow.stat().st_size)
        make_foreign(session, "bomb", "id bigint", file=files.parquet("flat.parquet", number_table(0, 2000000), row_group_size=2000000))
        bench.equal("flat memory", session.value("SELECT sum(id) FROM bomb"), "1999999000000")
        session.query("SET pg_turbine.file_reader_memory = '2GB'")
        make_foreign(session, "bomb", "v text", file=arrow)
        bench.equal("with more memory", session.value("SELECT sum(length(v)) FROM bomb"), str(300 << 20))


def mutations(bench, session, files, rng, server, count):
    arrow_mutations.run(bench, session, files, rng, server, count)


CASES = (types, others, imports, places, mistakes, skipping, queries, rights, changes, processes, mutations)
WITH_SERVER = (queries, rights, processes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutations", type=int, default=3000)
    parser.add_argument("--only", default="", help="comma-separated cases")
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    bench = Bench()
    with cluster.Cluster("arrow") as server:
        files = Files(server)
        with server.connect() as session:
            session.query(arrow_columns.TYPES)
        for case in CASES:
            if only and case.__name__ not in only:
                continue
            started = time.monotonic()
            rng = random.Random(f"{options.seed} {case.__name__}")
            with server.connect(settings=SESSION) as session:
                if case is mutations:
                    case(bench, session, files, rng, server, options.mutations)
                elif case in WITH_SERVER:
                    case(bench, session, files, rng, server)
                else:
                    case(bench, session, files, rng)
            print(f"{case.__name__}: {bench.passed} passed, {bench.failed} failed so far, {time.monotonic() - started:.1f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
