#!/usr/bin/env python3
"""pg2arrow.py - files that pg2arrow writes hold what the server has.

The oracles: pyarrow, DuckDB and polars read the files, and PostgreSQL's text output says what
is in the tables. Checked are every type with random values, edge values and NULLs, zero rows,
many batches, append, statistics, parallel workers under concurrent updates, Parquet with each
compression, errors and what is left behind by them.
Must never: compare with what another run of pg2arrow says, except where both must be equal.
Called by: make test-pg2arrow, test/run_all.py. Options: --only.
"""

import argparse
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date, datetime, time as day_time, timezone
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import pyarrow  # noqa: E402
import pyarrow.compute  # noqa: E402
import pyarrow.parquet  # noqa: E402

import cluster  # noqa: E402
import file_readers  # noqa: E402
import postgres_values  # noqa: E402
from exported_files import Checks, read_ipc, read_parquet, run_program, statistics  # noqa: E402

ROWS = 3000
USAGE, CONNECTION, SERVER, VALUE, FILE = 1, 2, 3, 4, 5


def moment(text):
    return datetime.fromisoformat(text.replace("+00", "+00:00"))


def local(text):
    return datetime.fromisoformat(text)


def month_day_nano(text):
    months, days, micros = json.loads(text)
    return (months, days, micros * 1000)


INTERVAL_TEXT = ("json_build_array(extract(year FROM {0})::int * 12 + extract(month FROM {0})::int, "
                 "extract(day FROM {0})::int, (extract(epoch FROM {0} - date_trunc('day', {0})) * 1000000)::int8)")
DIGITS = "(random() * 2 - 1)::numeric"

# Column: SQL type, a random value, Arrow's type, from PostgreSQL's text to Python's value,
# and the expression whose text is taken if that is not the column.
TYPES = {
    "c_bool": ("bool", "random() < 0.5", "bool", lambda t: t == "true"),
    "c_int2": ("int2", "(random() * 65535 - 32768)::int2", "int16", int),
    "c_int4": ("int4", "(random() * 4294967295 - 2147483648)::int4", "int32", int),
    "c_int8": ("int8", "(random() * 18e18 - 9e18)::int8", "int64", int),
    "c_oid": ("oid", "(random() * 4294967295)::int8::oid", "uint32", int),
    "c_float4": ("float4", "(random() * 1e6)::float4", "float", lambda t: struct.unpack("f", struct.pack("f", float(t)))[0]),
    "c_float8": ("float8", "random() * 1e200", "double", float),
    "c_num_5_2": ("numeric(5,2)", f"{DIGITS} * 999", "decimal128(5, 2)", Decimal),
    "c_num_38_10": ("numeric(38,10)", f"{DIGITS} * 10::numeric ^ (random() * 27)::int", "decimal128(38, 10)", Decimal),
    "c_num_38_0": ("numeric(38,0)", f"{DIGITS} * 10::numeric ^ 38", "decimal128(38, 0)", Decimal),
    "c_num_60_25": ("numeric(60,25)", f"{DIGITS} * {DIGITS} * 10::numeric ^ (random() * 34)::int", "decimal256(60, 25)", Decimal),
    "c_num_neg": ("numeric(5,-3)", f"{DIGITS} * 90000000", "decimal128(8, 0)", Decimal),
    "c_num_frac": ("numeric(3,7)", f"{DIGITS} * 0.00009", "decimal128(7, 7)", Decimal),
    "c_numeric": ("numeric", f"{DIGITS} * 10::numeric ^ (random() * 80 - 40)::int", "string", str),
    "c_text": ("text", "repeat(chr(8364 + (random() * 9)::int), (random() * 40)::int)", "string", str),
    "c_varchar": ("varchar(20)", "left(md5(random()::text), (random() * 20)::int)", "string", str),
    "c_char": ("char(9)", "left(md5(random()::text), (random() * 9)::int)", "string", str, "rpad({0}, 9)"),
    "c_name": ("name", "md5(random()::text)::name", "string", str),
    "c_bytea": ("bytea", "decode(md5(random()::text), 'hex')", "binary", lambda t: bytes.fromhex(t[2:])),
    "c_date": ("date", "date '0001-01-01' + (random() * 3652058)::int", "date32[day]", date.fromisoformat),
    "c_time": ("time", "time '00:00' + random() * interval '24 hours'", "time64[us]", day_time.fromisoformat),
    "c_timestamp": ("timestamp", "timestamp '0001-01-02' + random() * interval '3600000 days'", "timestamp[us]", local,
                    "to_char({0}, 'YYYY-MM-DD HH24:MI:SS.US')"),
    "c_timestamptz": ("timestamptz", "timestamptz '0001-01-02' + random() * interval '3600000 days'",
                      "timestamp[us, tz=UTC]", lambda t: local(t).replace(tzinfo=timezone.utc),
                      "to_char({0}, 'YYYY-MM-DD HH24:MI:SS.US')"),
    "c_interval": ("interval", "make_interval(months => (random() * 2000 - 1000)::int, days => (random() * 99)::int, "
                               "secs => (random() * 86399)::int)", "month_day_nano_interval", month_day_nano, INTERVAL_TEXT),
    "c_uuid": ("uuid", "gen_random_uuid()", "fixed_size_binary[16]", lambda t: bytes.fromhex(t.replace("-", ""))),
    "c_json": ("json", "json_build_object('a', random())", "string", str),
    "c_jsonb": ("jsonb", "jsonb_build_object('b', random(), 'a', NULL)", "string", str),
    "c_enum": ("mood", "(ARRAY['sad', 'ok', 'happy'])[1 + (random() * 2)::int]::mood",
               "dictionary<values=string, indices=int32, ordered=0>", str),
    "c_inet": ("inet", "('10.0.' || (random() * 255)::int || '.1/24')::inet", "string", str),
    "c_timetz": ("timetz", "timetz '12:00+02' + random() * interval '3 hours'", "string", str),
    "c_bits": ("bit(5)", "(random() * 31)::int::bit(5)", "string", str),
    "c_range": ("int4range", "int4range((random() * 9)::int, 10 + (random() * 9)::int)", "string", str),
    "c_quoted\"name": ("int4", "1", "int32", int),
    "c_domain": ("price", "random() * 100", "decimal128(8, 3)", Decimal),
    "c_ints": ("int4[]", "(SELECT array_agg(CASE WHEN x % 3 = 0 THEN NULL ELSE x END) FROM generate_series(1, n % 7) x)",
               "list<item: int32>", json.loads, "to_json({0})"),
    "c_texts": ("text[]", "ARRAY['a', NULL, md5(random()::text)]", "list<item: string>", json.loads, "to_json({0})"),
    "c_inets": ("inet[]", "ARRAY['10.0.0.1'::inet, NULL]", "list<item: string>", json.loads, "to_json({0}::text::text[])"),
    "c_moods": ("mood[]", "ARRAY['ok', 'sad']::mood[]", "list<item: string>", json.loads, "to_json({0})"),
    "c_pair": ("pair", "ROW((random() * 9)::int, md5(random()::text), ARRAY[1.5, n])::pair",
               "struct<a: int32, b: string, c: list<item: decimal128(9, 2)>>",
               lambda t: json.loads(t, parse_float=Decimal), "to_json({0})"),
    "c_pairs": ("pair[]", "ARRAY[ROW(n, NULL, NULL), NULL]::pair[]",
                "list<item: struct<a: int32, b: string, c: list<item: decimal128(9, 2)>>>", json.loads, "to_json({0})"),
}
SCHEMA = """CREATE TYPE mood AS ENUM ('happy', 'ok'); ALTER TYPE mood ADD VALUE 'sad' BEFORE 'ok';
            CREATE DOMAIN price AS numeric(8,3) CHECK (VALUE >= 0);
            CREATE TYPE pair AS (a int4, gone int4, b text, c numeric(9,2)[]); ALTER TYPE pair DROP ATTRIBUTE gone;
            CREATE TABLE numbers (id int4, grp int2, amount numeric(12,2), note text, f float8);
            INSERT INTO numbers SELECT i, i % 10, i * 1.25, CASE WHEN i % 5 > 0 THEN 'note ' || i END, i / 7.0
              FROM generate_series(1, 200000) i;
            CREATE TABLE parted (id int4, v text) PARTITION BY RANGE (id);
            CREATE TABLE parted_a PARTITION OF parted FOR VALUES FROM (0) TO (1000);
            CREATE TABLE parted_b (extra int4, v text, id int4); ALTER TABLE parted_b DROP COLUMN extra;
            ALTER TABLE parted ATTACH PARTITION parted_b FOR VALUES FROM (1000) TO (9000);
            INSERT INTO parted SELECT i, 'v' || i FROM generate_series(0, 8999) i;
            CREATE VIEW few AS SELECT id, note FROM numbers WHERE id <= 100;
            CREATE TABLE empty (LIKE numbers)"""


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Suite:
    def __init__(self, server, folder, checks):
        self.server, self.folder, self.checks = server, Path(folder), checks
        self.session = server.connect(settings={"timezone": "UTC"})
        self.create_everything()

    def create_everything(self):
        self.session.run("SELECT setseed(0.25)")
        for statement in SCHEMA.split(";"):
            self.session.query(statement)
        columns = ", ".join(f"{quoted(name)} {spec[0]}" for name, spec in TYPES.items())
        self.session.query(f"CREATE TABLE everything (n int4, {columns})")
        values = ", ".join(f"CASE WHEN random() > 0.15 THEN {spec[1]} END" for spec in TYPES.values())
        self.session.query(f"INSERT INTO everything SELECT n, {values} FROM generate_series(1, {ROWS}) n")
        postgres_values.make_edges(self.session)
        self.everything = {column: self.expected(column, spec) for column, spec in TYPES.items()}

    def path(self, name):
        return self.folder / name

    def run(self, *arguments, **options):
        connection = ["-h", self.server.directory, "-p", self.server.port, "-U", "postgres", "-d", "postgres"]
        return run_program("pg2arrow", connection + list(arguments), **options)

    def export(self, *arguments, **options):
        done = self.run(*arguments, **options)
        if done.returncode != 0:
            raise AssertionError(f"pg2arrow {arguments}: exit status {done.returncode}: {done.stderr}")
        return done

    def refused(self, name, status, text, *arguments, **options):
        """A run that must fail, leave nothing behind and say why."""
        before = sorted(self.folder.iterdir())
        done = self.run(*arguments, **options)
        self.checks.equal(f"{name}: exit status", done.returncode, status)
        self.checks.check(f"{name}: message", "" if text in done.stderr else done.stderr or "none")
        self.checks.equal(f"{name}: files", sorted(self.folder.iterdir()), before)

    def expected(self, name, spec, table="everything"):
        """The column's values by n, from the server's text."""
        shown = (spec[4] if len(spec) > 4 else "{0}").format(quoted(name))
        rows = self.session.query(f"SELECT n, ({shown})::text FROM {table}")
        if "interval" in spec[2]:
            rows = [(n, None if text is None or "null" in text else text) for n, text in rows]
        return {int(n): None if text is None else spec[3](text) for n, text in rows}

    def compare_everything(self, name, path):
        """The file has what the table everything has, in each engine. Parquet has intervals as texts."""
        parquet = path.suffix == ".parquet"
        table = (read_parquet if parquet else read_ipc)(path)[0]
        expected = {"n": list(range(1, ROWS + 1))}
        for column, spec in TYPES.items():
            values = self.everything[column]
            if parquet and column == "c_interval":
                values = {int(n): text for n, text in self.session.query("SELECT n, c_interval::text FROM everything")}
            else:
                # Parquet calls a list's values so.
                self.checks.equal(f"{name}: type of {column}", str(table.column(column).type).replace("<element:", "<item:"), spec[2])
            expected[column] = [file_readers.exact(values[n]) for n in expected["n"]]
        file_readers.compare(self.checks, name, path, "n", expected)

    def compare_edges(self, name, path, condition="true"):
        expected = postgres_values.expected_of(self.session, "edges", "n", path.suffix == ".parquet", condition)
        file_readers.compare(self.checks, name, path, "n", expected)

    # Every type.
    def test_types(self):
        self.export("-t", "everything", "-o", self.path("types.arrow"))
        self.checks.equal("types: batches", read_ipc(self.path("types.arrow"))[1], [ROWS])
        self.compare_everything("types", self.path("types.arrow"))

    def test_types_of_query(self):
        query = "SELECT * FROM everything ORDER BY n DESC -- all\n ; "
        self.export("-c", query, "-o", self.path("query.arrow"), "-s", "100k")
        table, batches = read_ipc(self.path("query.arrow"))
        self.checks.check("query: batches", "" if len(batches) > 5 else batches)
        self.compare_everything("query", self.path("query.arrow"))
        self.checks.equal("query: order", table.column("n").to_pylist(), list(range(ROWS, 0, -1)))

    def test_types_in_parallel(self):
        self.export("-t", "everything", "-n", "3", "-o", self.path("parallel.arrow"))
        self.compare_everything("parallel", self.path("parallel.arrow"))

    def test_types_in_parquet(self):
        for compression in ("zstd", "snappy", "lz4", "none"):
            path = self.path(f"types-{compression}.parquet")
            self.export("-t", "everything", "--parquet", f"--compression={compression}", "-o", path)
            self.compare_everything(compression, path)
            chunk = pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(3)
            wanted = {"none": "UNCOMPRESSED"}.get(compression, compression.upper())
            self.checks.equal(f"{compression}: codec", chunk.compression, wanted)
            self.checks.check(f"{compression}: statistics", "" if chunk.statistics.has_min_max else "none")

    def test_edges(self):
        parquet = "--parquet"
        for name, *options in (("edges.arrow",), ("zstd.arrow", "--compression=zstd"), ("lz4.arrow", "--compression=lz4"),
                               ("many.arrow", "-s", "1k", "-n", "2", "--stat"), ("edges.parquet", parquet),
                               ("snappy.parquet", parquet, "--compression=snappy"), ("lz4.parquet", parquet, "--compression=lz4"),
                               ("none.parquet", parquet, "--compression=none", "--dictionary=off"),
                               ("many.parquet", parquet, "-s", "1k", "-n", "2")):
            path = self.path(name)
            self.export("-t", "edges", "-o", path, *options)
            self.compare_edges(name, path)
            batches = (read_parquet if parquet in options else read_ipc)(path)[1]
            self.checks.check(f"{name}: batches", "" if (len(batches) > 1) == ("many" in name) else batches)
            # Only a table has several workers.
            of_query = [option for option in options if option not in ("-n", "2")]
            self.export("-c", "SELECT * FROM edges WHERE n < 0", "-o", path, *of_query)
            self.compare_edges(f"{name}: zero rows", path, "n < 0")

    def test_dictionary_of_parquet(self):
        for setting in ("on", "off"):
            path = self.path(f"dictionary-{setting}.parquet")
            self.export("-t", "numbers", "--parquet", f"--dictionary={setting}", "-o", path)
            chunk = pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(1)
            self.checks.equal(f"dictionary {setting}", chunk.has_dictionary_page, setting == "on")

    def test_choices_of_types(self):
        self.export("-c", "SELECT n, c_numeric, c_enum FROM everything", "--numeric=float8", "--enum=text",
                    "-o", self.path("choices.arrow"))
        table, _ = read_ipc(self.path("choices.arrow"))
        rows = self.session.query("SELECT c_numeric::float8, c_enum FROM everything")
        self.checks.equal("--numeric=float8", table.column("c_numeric").to_pylist(),
                          [None if value is None else float(value) for value, _ in rows])
        self.checks.equal("--enum=text", table.column("c_enum").to_pylist(), [label for _, label in rows])

    def test_compressed_ipc(self):
        for compression in ("zstd", "lz4"):
            self.export("-t", "numbers", "-o", self.path("small.arrow"), f"--compression={compression}")
            table, _ = read_ipc(self.path("small.arrow"))
            self.checks.equal(f"{compression} of Arrow IPC", sum(table.column("id").to_pylist()), 200000 * 200001 // 2)

    # Edges.
    def test_zero_rows(self):
        self.export("-t", "empty", "-o", self.path("empty.arrow"), "--stat")
        table, batches = read_ipc(self.path("empty.arrow"))
        self.checks.equal("zero rows", (table.num_rows, batches, table.num_columns), (0, [], 5))
        self.export("-t", "empty", "-o", self.path("empty.parquet"), "--parquet", "-n", "2")
        self.checks.equal("zero rows of Parquet", read_parquet(self.path("empty.parquet"))[0].num_rows, 0)

    def test_special_numbers(self):
        query = ("SELECT * FROM (VALUES ('NaN'::float8, 'NaN'::numeric, 0.00::numeric), ('Infinity', 'Infinity', 1e-30), "
                 "('-Infinity', '-Infinity', -12345678901234567890.5), ('-0', '0.000', 1e40)) v(f, n, m)")
        self.export("-c", query, "-o", self.path("special.arrow"))
        table, _ = read_ipc(self.path("special.arrow"))
        expected = self.session.query(query)
        self.checks.equal("numeric as text", [list(row) for row in zip(*(table.column(i).to_pylist() for i in (1, 2)), strict=True)],
                          [list(row[1:]) for row in expected])
        self.checks.equal("special floats", str(table.column(0).to_pylist()), "[nan, inf, -inf, -0.0]")

    def test_extreme_dates(self):
        query = ("SELECT * FROM (VALUES (date '5874897-12-31', timestamp '4713-01-01 BC'), "
                 "(date '4713-01-01 BC', timestamp '294246-12-31 23:59:59.999999')) v(d, t)")
        self.export("-c", query, "-o", self.path("dates.arrow"))
        table, _ = read_ipc(self.path("dates.arrow"))
        rows = self.session.query(f"SELECT d - date '1970-01-01', (extract(epoch FROM t) * 1000000)::int8 FROM ({query}) q")
        self.checks.equal("days", table.column(0).cast("int32").to_pylist(), [int(row[0]) for row in rows])
        self.checks.equal("microseconds", table.column(1).cast("int64").to_pylist(), [int(row[1]) for row in rows])

    def test_values_that_cannot_be_held(self):
        self.session.query("CREATE TABLE nans (fine int4, wrong numeric(5,2))")
        self.session.query("INSERT INTO nans VALUES (1, 'NaN'), (2, NULL)")
        for name, expression in (("NaN", "nans"), ("Infinity", "'infinity'::date"),
                                 ("infinity", "'-infinity'::timestamptz"), ("24:00:00", "time '24:00'"),
                                 ("294246", "timestamp '294276-01-01'"), ("dimensions", "ARRAY[[1],[2]]"),
                                 ("292 years", "interval '9000000 hours'")):
            query = f"SELECT 1 AS fine, {expression} AS wrong UNION ALL SELECT 2, NULL"
            query = "SELECT * FROM nans" if expression == "nans" else query
            self.refused(f"{expression} is refused", VALUE, 'column "wrong"', "-c", query, "-o", self.path("no.arrow"))
            done = self.export("-c", query, "--invalid=null", "-o", self.path("invalid.arrow"))
            table, _ = read_ipc(self.path("invalid.arrow"))
            self.checks.equal(f"{expression} becomes NULL ({name})", table.column("wrong").null_count, 2)
            self.checks.check("a warning", "" if '"wrong": 1 values' in done.stderr else done.stderr or "none")

    def test_same_names(self):
        self.export("-c", "SELECT 1 AS a, 2 AS a, inet '10.0.0.1' AS a", "-o", self.path("names.arrow"))
        self.checks.equal("columns of one name", read_ipc(self.path("names.arrow"))[0].column_names, ["a", "a", "a"])

    def test_file_behind_a_link(self):
        target, link = self.path("target.arrow"), self.path("link.arrow")
        target.write_bytes(b"old")
        target.chmod(0o640)
        link.symlink_to(target)
        self.export("-t", "few", "-o", link)
        self.checks.equal("the link stays", (link.is_symlink(), read_ipc(target)[0].num_rows), (True, 100))
        self.checks.equal("the file's mode stays", target.stat().st_mode & 0o777, 0o640)
        link.unlink()

    # Several workers.
    def test_partitions(self):
        for workers in ("1", "2", "5"):
            self.export("-t", "parted", "-n", workers, "-o", self.path("parted.arrow"))
            rows = read_ipc(self.path("parted.arrow"))[0].to_pylist()
            self.checks.equal(f"partitions by {workers}", sorted((row["id"], row["v"]) for row in rows),
                              [(i, f"v{i}") for i in range(9000)])

    def test_view_by_several_workers(self):
        self.export("-t", "few", "-n", "4", "-o", self.path("few.arrow"))
        self.checks.equal("a view", sorted(read_ipc(self.path("few.arrow"))[0].column("id").to_pylist()), list(range(1, 101)))

    def test_row_security(self):
        self.session.query("CREATE ROLE reader LOGIN")
        self.session.query("CREATE TABLE secured (id int4) PARTITION BY RANGE (id)")
        self.session.query("CREATE TABLE secured_a PARTITION OF secured FOR VALUES FROM (0) TO (100)")
        self.session.query("INSERT INTO secured SELECT generate_series(0, 99)")
        self.session.query("ALTER TABLE secured ENABLE ROW LEVEL SECURITY")
        self.session.query("CREATE POLICY first_ones ON secured USING (id < 7)")
        self.session.query("GRANT SELECT ON secured, secured_a TO reader")
        self.export("-U", "reader", "-t", "secured", "-n", "3", "-o", self.path("secured.arrow"))
        self.checks.equal("row-level security", sorted(read_ipc(self.path("secured.arrow"))[0].column(0).to_pylist()),
                          list(range(7)))

    def test_tables_that_copy_does_not_take_by_name(self):
        """And one that it does, of which a column was dropped."""
        for statement in ("CREATE TABLE dropped (a int4, gone text, b text)", "INSERT INTO dropped VALUES (1, 'x', 'one'), (2, 'y', NULL)",
                          "ALTER TABLE dropped DROP COLUMN gone",
                          "CREATE TABLE made (a int4, twice int4 GENERATED ALWAYS AS (a * 2) STORED)", "INSERT INTO made VALUES (1), (2)",
                          "CREATE TABLE parent (a int4)", "CREATE TABLE child (more text) INHERITS (parent)",
                          "INSERT INTO parent VALUES (1)", "INSERT INTO child VALUES (2, 'x')",
                          "CREATE MATERIALIZED VIEW stored AS SELECT 7 AS a",
                          "CREATE TABLE watched (a int4)", "INSERT INTO watched VALUES (1), (2)",
                          "ALTER TABLE watched ENABLE ROW LEVEL SECURITY", "CREATE POLICY one ON watched USING (a = 1)",
                          "CREATE ROLE watcher LOGIN", "GRANT SELECT ON watched TO watcher"):
            self.session.query(statement)
        for name, user, expected in (("dropped", (), [{"a": 1, "b": "one"}, {"a": 2, "b": None}]),
                                     ("made", (), [{"a": 1, "twice": 2}, {"a": 2, "twice": 4}]), ("parent", (), [{"a": 1}, {"a": 2}]),
                                     ("stored", (), [{"a": 7}]), ("watched", ("-U", "watcher"), [{"a": 1}])):
            self.export(*user, "-t", name, "-o", self.path("named.arrow"))
            self.checks.equal(name, read_ipc(self.path("named.arrow"))[0].to_pylist(), expected)

    def test_one_snapshot(self):
        """Sums stay what they are while rows move between blocks: each row is seen once."""
        self.session.query("CREATE TABLE moving AS SELECT i AS id, 100 AS v FROM generate_series(1, 50000) i")
        stop = threading.Event()

        def move():
            with self.server.connect() as session:
                chance = random.Random(7)
                while not stop.is_set():
                    low = chance.randrange(50000)
                    session.query(f"UPDATE moving SET v = v + CASE WHEN id % 2 = 0 THEN 1 ELSE -1 END "
                                  f"WHERE id BETWEEN {low // 2 * 2 + 1} AND {low // 2 * 2 + 200}")
        mover = threading.Thread(target=move)
        mover.start()
        try:
            for _ in range(5):
                self.export("-t", "moving", "-n", "4", "-o", self.path("moving.arrow"))
                table, _ = read_ipc(self.path("moving.arrow"))
                self.checks.equal("rows of one snapshot", (table.num_rows, len(set(table.column("id").to_pylist())),
                                                           sum(table.column("v").to_pylist())), (50000, 50000, 5000000))
        finally:
            stop.set()
            mover.join()

    # Append and statistics.
    def test_append(self):
        path = self.path("grown.arrow")
        query = "SELECT id, amount, note, grp, 'ok'::mood AS m FROM numbers WHERE id % 3 = {} ORDER BY id"
        self.export("-c", query.format(0), "-o", path, "-s", "1m")
        first, batches = read_ipc(path)
        for part in (1, 2):
            self.export("-c", query.format(part), "--append", path, "-s", "1m")
        table, more = read_ipc(path)
        self.checks.equal("old batches stay", (more[:len(batches)], table.slice(0, first.num_rows).equals(first)),
                          (batches, True))
        self.checks.equal("all rows", sorted(table.column("id").to_pylist()), list(range(1, 200001)))
        self.checks.equal("enums", set(table.column("m").to_pylist()), {"ok"})
        self.refused("other columns", USAGE, "other columns", "-t", "few", "--append", path)
        before = path.read_bytes()
        self.refused("a failing query", SERVER, "division by zero", "-c",
                     query.format("0 AND 1 / (id - 150000) IS NOT NULL"), "--append", path)
        self.checks.check("the old file stays", "" if path.read_bytes() == before else "it changed")
        self.refused("no file", FILE, "absent", "-t", "few", "--append", self.path("absent.arrow"))
        broken = self.path("broken.arrow")
        broken.write_bytes(before[:-20])
        self.refused("half a file", FILE, "not a complete", "-t", "few", "--append", broken)

    def test_append_of_other_writers(self):
        path = self.path("foreign.arrow")
        foreign = pyarrow.table({"id": pyarrow.array([1, 2], "int32"), "note": ["x", None]})
        with pyarrow.ipc.new_file(str(path), foreign.schema) as writer:
            writer.write_table(foreign)
        self.export("-t", "few", "--append", path, "--stat")
        table, batches = read_ipc(path)
        self.checks.equal("a file of pyarrow's", (batches, table.slice(0, 2).equals(foreign)), ([2, 100], True))
        self.checks.equal("its statistics", statistics(path, "id"), [(None, None), (1, 100)])

    def test_append_with_labels_added(self):
        path = self.path("labels.arrow")
        self.session.query("CREATE TYPE colour AS ENUM ('red', 'blue')")
        self.session.query("CREATE TABLE coloured AS SELECT 'red'::colour AS c")
        self.export("-t", "coloured", "--append", self._created(path, "coloured"))
        self.session.query("ALTER TYPE colour ADD VALUE 'green' BEFORE 'blue'")
        self.refused("another dictionary", USAGE, "another dictionary", "-t", "coloured", "--append", path)

    def _created(self, path, table):
        self.export("-t", table, "-o", path)
        return path

    def test_statistics(self):
        path = self.path("stat.arrow")
        query = "SELECT id, amount, f, note, '2024-01-01'::date + id AS d FROM numbers"
        self.export("-c", query, "-o", path, "--stat", "-s", "1m")
        table, batches = read_ipc(path)
        self.check_ranges(path, table, batches)
        self.checks.equal("no statistics of text", statistics(path, "note"), [])
        self.export("-c", query, "--append", path, "-s", "1m", "--stat=id")
        table, more = read_ipc(path)
        self.checks.equal("ranges of appended batches", len(statistics(path, "id")), len(more))
        self.checks.equal("none known of others", set(statistics(path, "amount")[len(batches):]), {(None, None)})
        self.check_ranges(path, table, batches)
        self.refused("--stat of text", USAGE, "note", "-c", query, "-o", self.path("no.arrow"), "--stat=note")
        self.refused("--stat of nothing", USAGE, "nothing", "-c", query, "-o", self.path("no.arrow"), "--stat=nothing")

    def check_ranges(self, path, table, batches):
        def bits(value):
            if isinstance(value, float):
                return struct.unpack("q", struct.pack("d", value))[0]
            if isinstance(value, Decimal):
                return int(value.scaleb(2))
            return (value - date(1970, 1, 1)).days if isinstance(value, date) else value
        for column in ("id", "amount", "f", "d"):
            start, expected = 0, []
            for rows in batches:
                values = table.column(column).slice(start, rows).to_pylist()
                expected.append((bits(min(values)), bits(max(values))))
                start += rows
            self.checks.equal(f"ranges of {column}", statistics(path, column)[:len(batches)], expected)

    def test_statistics_of_special_values(self):
        query = "SELECT f, NULL::int4 AS n, -f AS g FROM (VALUES ('NaN'::float8), (1), (NULL)) v(f)"
        self.export("-c", query, "-o", self.path("nan.arrow"), "--stat")
        found = [statistics(self.path("nan.arrow"), column) for column in ("f", "n")]
        self.checks.equal("NaN and NULL have no range", found, [[(None, None)]] * 2)

    # The program around it.
    def test_dump(self):
        path = self.path("dumped.arrow")
        self.export("-t", "numbers", "-o", path, "--stat=id,grp", "-s", "4m")
        shown = run_program("pg2arrow", ["--dump", path]).stdout
        _, batches = read_ipc(path)
        for text in ("format: Arrow IPC", "rows: 200000", "amount: decimal128(12, 2)", f"batch 0: {batches[0]} rows",
                     f"id: 1 to {batches[0]}", "grp: 0 to 9"):
            self.checks.check(f"--dump says {text}", "" if text in shown else shown)
        self.export("-t", "numbers", "-o", self.path("dumped.parquet"), "--parquet")
        shown = run_program("pg2arrow", ["--dump", self.path("dumped.parquet")]).stdout
        for text in ("format: Parquet", "rows: 200000", "id: zstd", "1 to 200000"):
            self.checks.check(f"--dump says {text}", "" if text in shown else shown)
        self.path("text").write_text("no such file, but ARROW1 of text")
        self.refused("--dump of text", FILE, "neither", "--dump", self.path("text"))

    def test_settings(self):
        self.export("-c", "SELECT current_setting('work_mem') AS m, inet '10.0.0.1'", "--set", "work_mem:77MB",
                    "-o", self.path("set.arrow"))
        self.checks.equal("--set", read_ipc(self.path("set.arrow"))[0].column("m").to_pylist(), ["77MB"])
        self.refused("--set of nonsense", SERVER, "nonsense", "--set", "nonsense:1", "-t", "few", "-o", self.path("no.arrow"))

    def test_progress(self):
        done = self.export("-t", "numbers", "--progress", "-o", self.path("progress.arrow"))
        self.checks.check("--progress", "" if "200000 rows" in done.stderr and "rows/s" in done.stderr else done.stderr)

    def test_wrong_options(self):
        out = ("-o", self.path("no.arrow"))
        for text, arguments in (("one of -t", out), ("one of -t", ("-t", "few", "-c", "SELECT 1") + out),
                                ("needs -t", ("-c", "SELECT 1", "-n", "2") + out), ("up to 1g", ("-t", "few", "-s", "0") + out),
                                ("--append", ("-t", "few", "--parquet", "--append", self.path("no.arrow"))),
                                ("snappy", ("-t", "few", "--compression=snappy") + out),
                                ("no option", ("nonsense", "-t", "few") + out),
                                ("--nonsense", ("--nonsense",)), ("zstd", ("-t", "few", "--compression=gzip") + out)):
            self.refused(f"wrong options {text}", USAGE, text, *arguments)

    def test_arguments(self):
        """Database and user as psql takes them, and the user's own letters."""
        query, place = "SELECT current_user::text AS u, current_database()::text AS d", ["-h", self.server.directory]
        self.session.query("CREATE ROLE other LOGIN")
        self.session.query("CREATE DATABASE elsewhere")
        cases = ((["elsewhere", "other"], ("other", "elsewhere")), (["-d", "elsewhere", "other"], ("other", "elsewhere")),
                 (["-u", "other", "elsewhere"], ("other", "elsewhere")), (["--user=other", "-d", "elsewhere"], ("other", "elsewhere")),
                 (["-U", "other", "elsewhere"], ("other", "elsewhere")))
        for number, (arguments, expected) in enumerate(cases):
            path = self.path(f"arguments{number}.arrow")
            done = run_program("pg2arrow", place + arguments + ["-c", query, "-o", path])
            self.checks.equal(f"exit status of {arguments}: {done.stderr}", done.returncode, 0)
            row = read_ipc(path)[0].to_pylist()[0]
            self.checks.equal(f"user and database of {arguments}", (row["u"], row["d"]), expected)

    def test_temporary_file(self):
        """Without -o the file is a temporary one, whose name is the program's output."""
        folder = self.path("temporary")
        folder.mkdir()
        environment = {**os.environ, "TMPDIR": str(folder)}
        for arguments, suffix, read in (((), ".arrow", read_ipc), (("--parquet",), ".parquet", read_parquet)):
            done = self.export("-t", "few", *arguments, env=environment)
            name = Path(done.stdout.rstrip("\n"))
            self.checks.equal(f"its name: {name}", (name.parent, name.suffix, name.name.startswith("pg2arrow.")),
                              (folder, suffix, True))
            self.checks.equal(f"its rows: {name}", read(name)[0].num_rows, 100)
        self.checks.equal("with -o nothing is printed", self.export("-t", "few", "-o", self.path("named.arrow")).stdout, "")
        before = sorted(folder.iterdir())
        done = self.run("-c", "SELECT 1 / (id - 150000) FROM numbers", env=environment)
        self.checks.equal("a failure: status, output, files", (done.returncode, done.stdout, sorted(folder.iterdir())),
                          (SERVER, "", before))
        done = self.run("-t", "few", env={**environment, "TMPDIR": "/absent"})
        self.checks.equal("no folder", (done.returncode, "temporary file" in done.stderr), (FILE, True))

    def test_errors(self):
        out = ("-o", self.path("no.arrow"))
        self.refused("no table", SERVER, "does not exist", "-t", "nothing", *out)
        self.refused("a late error", SERVER, "division by zero", "-c", "SELECT 1 / (id - 150000) FROM numbers", *out)
        self.refused("no columns", USAGE, "no columns", "-c", "SELECT FROM numbers", *out)
        self.refused("no server", CONNECTION, "nowhere", "-h", "/nowhere", "-t", "few", *out)
        self.refused("no folder", FILE, "cannot write", "-t", "few", "-o", self.path("absent") / "a.arrow")
        self.refused("a folder", FILE, "not a regular file", "-t", "few", "-o", self.folder)

    def test_lost_connection(self):
        out = self.path("no.arrow")
        command = ["SELECT pg_terminate_backend(pg_backend_pid()) FROM numbers WHERE id = 100000"]
        self.refused("a lost connection", CONNECTION, "terminat", "-c", *command, "-o", out)

    def test_signal(self):
        before = sorted(self.folder.iterdir())
        command = [cluster.BUILD / "src/export/pg2arrow", "-h", self.server.directory, "-U", "postgres", "-o",
                   self.path("no.arrow"), "-c", "SELECT id, pg_sleep(id) FROM numbers ORDER BY id"]
        with subprocess.Popen([str(part) for part in command]) as process:
            for _ in range(500):
                if sorted(self.folder.iterdir()) != before:
                    break
                time.sleep(0.02)
            self.checks.check("a temporary file", "" if sorted(self.folder.iterdir()) != before else "none")
            process.send_signal(signal.SIGTERM)
            self.checks.equal("SIGTERM", process.wait(30), 128 + signal.SIGTERM)
        self.checks.equal("nothing is left", sorted(self.folder.iterdir()), before)

    def test_kill_while_appending(self):
        path = self.path("kept.arrow")
        self.export("-t", "few", "-o", path)
        before = path.read_bytes()
        command = [cluster.BUILD / "src/export/pg2arrow", "-h", self.server.directory, "-U", "postgres", "--append", path,
                   "-s", "1k", "-c", "SELECT id, note FROM numbers WHERE pg_sleep(0.0001) IS NOT NULL"]
        with subprocess.Popen([str(part) for part in command]) as process:
            for _ in range(500):
                grown = [file for file in self.folder.glob(".kept.arrow.*") if file.stat().st_size > len(before) + 4096]
                if grown:
                    break
                time.sleep(0.02)
            process.kill()
            process.wait(30)
        self.checks.check("a killed append had begun", "" if grown else "it had not")
        self.checks.check("the old file is whole", "" if path.read_bytes() == before else "it changed")
        for file in grown:
            file.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name contains this")
    options = parser.parse_args()
    checks = Checks(options.only)
    with cluster.Cluster("pg2arrow", extension=False) as server, tempfile.TemporaryDirectory(prefix="pgt-files-") as folder:
        return checks.run(Suite(server, folder, checks))


if __name__ == "__main__":
    sys.exit(main())
