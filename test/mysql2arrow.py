#!/usr/bin/env python3
"""mysql2arrow.py - files that mysql2arrow writes hold what the server has.

The oracles: pyarrow, DuckDB and polars read the files, and PyMySQL, a client of its own, the
tables. Checked are every type with random values, edge values and NULLs, zero dates, zero rows,
many batches, append, workers under concurrent updates, Parquet, passwords and errors. What the
program shares with pg2arrow is tested there.
Called by: make test-mysql2arrow, test/run_all.py. Options: --only.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
from datetime import timezone
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import file_readers  # noqa: E402
from exported_files import Checks, read_ipc, read_parquet, run_program, statistics  # noqa: E402
from mysql_server import DATABASE, MysqlServer  # noqa: E402

ROWS = 2000
USAGE, CONNECTION, SERVER, VALUE = 1, 2, 3, 4
LETTERS = "abc äöü € 漢字 🙂 '\\ \n"


def integers(low, high):
    return lambda chance: chance.choice((low, high, 0, chance.randint(low, high)))


def decimals(digits, scale):
    return lambda chance: Decimal(chance.randint(-10 ** digits + 1, 10 ** digits - 1)).scaleb(-scale)


def text(chance):
    return "".join(chance.choice(LETTERS) for _ in range(chance.randrange(chance.choice((5, 60)))))


def long_text(chance):
    return text(chance) * chance.choice((1, 1, 1, 500))


def raw(chance):
    return chance.randbytes(chance.randrange(chance.choice((5, 3000))))


def moments(start, end):
    return lambda chance: f"{chance.randint(start, end):04d}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d} " \
        f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:{chance.randrange(60):02d}.{chance.randrange(1000000):06d}"


def lengths(chance):
    sign, hours = chance.choice(("", "-")), chance.randrange(839)
    return f"{sign}{hours:02d}:{chance.randrange(60):02d}:{chance.randrange(59):02d}.{chance.randrange(1000):03d}"


def number_of(value):
    return int.from_bytes(value, "big")


def same(value):
    return value


# Column: MySQL's type, a random value, Arrow's type, from PyMySQL's value to pyarrow's,
# and the expression to select if that is not the column.
TYPES = {
    "c_tiny": ("TINYINT", integers(-128, 127), "int8", same),
    "c_utiny": ("TINYINT UNSIGNED", integers(0, 255), "uint8", same),
    "c_small": ("SMALLINT", integers(-32768, 32767), "int16", same),
    "c_usmall": ("SMALLINT UNSIGNED", integers(0, 65535), "uint16", same),
    "c_medium": ("MEDIUMINT", integers(-8388608, 8388607), "int32", same),
    "c_umedium": ("MEDIUMINT UNSIGNED", integers(0, 16777215), "uint32", same),
    "c_int": ("INT", integers(-2147483648, 2147483647), "int32", same),
    "c_uint": ("INT UNSIGNED", integers(0, 4294967295), "uint32", same),
    "c_big": ("BIGINT", integers(-2 ** 63, 2 ** 63 - 1), "int64", same),
    "c_ubig": ("BIGINT UNSIGNED", integers(0, 2 ** 64 - 1), "uint64", same),
    "c_float": ("FLOAT", lambda chance: chance.uniform(-1e6, 1e6), "float", same, "`c_float` + 0e0"),
    "c_double": ("DOUBLE", lambda chance: chance.uniform(-1e300, 1e300), "double", same),
    "c_dec_9_4": ("DECIMAL(9,4)", decimals(9, 4), "decimal128(9, 4)", same),
    "c_udec": ("DECIMAL(10,3) UNSIGNED", lambda chance: abs(decimals(10, 3)(chance)), "decimal128(10, 3)", same),
    "c_dec_38_0": ("DECIMAL(38,0)", decimals(38, 0), "decimal128(38, 0)", same),
    "c_dec_65_30": ("DECIMAL(65,30)", decimals(65, 30), "decimal256(65, 30)", same),
    "c_bit1": ("BIT(1)", integers(0, 1), "bool", lambda value: number_of(value) == 1),
    "c_bit37": ("BIT(37)", integers(0, 2 ** 37 - 1), "uint64", number_of),
    "c_bit64": ("BIT(64)", integers(0, 2 ** 64 - 1), "uint64", number_of),
    "c_date": ("DATE", lambda chance: moments(1, 9999)(chance)[:10], "date32[day]", same),
    "c_datetime": ("DATETIME(6)", moments(1000, 9999), "timestamp[us]", same),
    "c_seconds": ("DATETIME", lambda chance: moments(1000, 9999)(chance)[:19], "timestamp[us]", same),
    "c_timestamp": ("TIMESTAMP(6) NULL", moments(1971, 2037), "timestamp[us, tz=UTC]",
                    lambda value: value.replace(tzinfo=timezone.utc)),
    "c_time": ("TIME(3)", lengths, "duration[us]", same),
    "c_year": ("YEAR", integers(1901, 2155), "int16", same),
    "c_char": ("CHAR(30)", lambda chance: text(chance)[:30], "string", same),
    "c_varchar": ("VARCHAR(60)", text, "string", same),
    "c_latin": ("VARCHAR(30) CHARACTER SET latin1", lambda chance: "äöü€"[chance.randrange(4):], "string", same),
    "c_text": ("LONGTEXT", long_text, "string", same),
    "c_json": ("JSON", lambda chance: json.dumps({"a": chance.random(), "b": [None, text(chance)]}), "string", same),
    "c_enum": ("ENUM('one','it''s','drei,vier')", lambda chance: chance.choice(("one", "it's", "drei,vier")),
               "dictionary<values=string, indices=int32, ordered=0>", same),
    "c_set": ("SET('a','b','c')", lambda chance: ",".join(x for x in "abc" if chance.random() < 0.5), "string", same),
    "c_binary": ("BINARY(8)", lambda chance: chance.randbytes(8), "binary", same),
    "c_varbinary": ("VARBINARY(3000)", raw, "binary", same),
    "c_blob": ("LONGBLOB", lambda chance: raw(chance) * chance.choice((1, 1, 100)), "binary", same),
    "c_odd`name": ("INT", integers(0, 9), "int32", same),
}
# What random values leave out, in the first rows.
EDGES = {
    "c_float": (-3.4028234663852886e38, 3.4028234663852886e38, 1.1754943508222875e-38, 0.0),
    "c_double": (-1.7976931348623157e308, 1.7976931348623157e308, 2.2250738585072014e-308, 0.0),
    "c_dec_9_4": ("99999.9999", "-99999.9999", "0.0001", "0"), "c_udec": ("9999999.999", "0.001", "0"),
    "c_dec_38_0": ("9" * 38, "-" + "9" * 38, "0"), "c_dec_65_30": ("9" * 35 + "." + "9" * 30, "-" + "9" * 35 + "." + "9" * 30, "1e-30"),
    "c_date": ("0001-01-01", "1969-12-31", "1970-01-01", "9999-12-31"),
    "c_datetime": ("1000-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01", "9999-12-31 23:59:59.999999"),
    "c_timestamp": ("1970-01-01 00:00:01", "2038-01-19 03:14:07.999999"), "c_time": ("-838:59:59", "838:59:59", "-00:00:00.001", "0"),
    "c_char": ("",), "c_varchar": ("",), "c_text": ("", "é" * 500000), "c_set": ("", "a,b,c"), "c_varbinary": (b"", bytes(3000)),
    "c_blob": (b"", bytes(range(256)) * 2000),
}


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


class Suite:
    def __init__(self, server, folder, checks):
        self.server, self.folder, self.checks = server, Path(folder), checks
        self.session = server.connect()
        self.query("SET time_zone = '+00:00'")
        self.create_tables()

    def query(self, sql, values=None):
        with self.session.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall()

    def create_tables(self):
        chance = random.Random(11)
        columns = ", ".join(f"{quoted(name)} {spec[0]}" for name, spec in TYPES.items())
        self.query(f"CREATE TABLE everything (n INT PRIMARY KEY, {columns})")
        edges = {(column, n): value for column, values in EDGES.items() for n, value in enumerate(values)}
        rows = [[n] + [edges.get((column, n), None if chance.random() < 0.15 else spec[1](chance)) for column, spec in TYPES.items()]
                for n in range(ROWS)]
        with self.session.cursor() as cursor:
            cursor.executemany(f"INSERT INTO everything VALUES ({', '.join(['%s'] * (len(TYPES) + 1))})", rows)
        self.everything = {"n": list(range(ROWS)), **{column: self.expected(column, spec) for column, spec in TYPES.items()}}
        self.query("CREATE TABLE numbers (id BIGINT PRIMARY KEY, v INT, note VARCHAR(20))")
        self.query("INSERT INTO numbers SELECT seq, seq % 10, CONCAT('n', seq) FROM seq_1_to_100000")
        self.query("CREATE TABLE empty LIKE numbers")
        self.query("CREATE TABLE pair (v INT)")
        self.query("INSERT INTO pair VALUES (1), (2)")
        self.query("CREATE TABLE keyless (v INT)")
        self.query("INSERT INTO keyless SELECT seq FROM seq_1_to_1000")

    def expected(self, column, spec):
        """The exact values of the table everything."""
        rows = self.query(f"SELECT {spec[4] if len(spec) > 4 else quoted(column)} FROM everything ORDER BY n")
        return [None if value is None else file_readers.exact(spec[3](value)) for value, in rows]

    def path(self, name):
        return self.folder / name

    def run(self, *arguments, **options):
        connection = ["-h", self.server.socket, "-U", "root", "-d", DATABASE]
        return run_program("mysql2arrow", connection + list(arguments), **options)

    def export(self, *arguments, **options):
        done = self.run(*arguments, **options)
        if done.returncode != 0:
            raise AssertionError(f"mysql2arrow {arguments}: exit status {done.returncode}: {done.stderr}")
        return done

    def refused(self, name, status, message, *arguments, **options):
        before = sorted(self.folder.iterdir())
        done = self.run(*arguments, **options)
        self.checks.equal(f"{name}: exit status", done.returncode, status)
        self.checks.check(f"{name}: message", "" if message in done.stderr else done.stderr or "none")
        self.checks.equal(f"{name}: files", sorted(self.folder.iterdir()), before)

    def compare_everything(self, name, path):
        """The file has what the table everything has, in each engine."""
        table = (read_parquet if path.suffix == ".parquet" else read_ipc)(path)[0]
        for column, spec in TYPES.items():
            self.checks.equal(f"{name}: type of {column}", str(table.column(column).type), spec[2])
        file_readers.compare(self.checks, name, path, "n", self.everything)

    def test_types(self):
        self.export("-t", "everything", "-o", self.path("types.arrow"), "--invalid=error")
        self.compare_everything("types", self.path("types.arrow"))

    def test_types_of_query(self):
        self.export("-c", "SELECT * FROM everything ORDER BY n DESC", "-o", self.path("query.arrow"), "-s", "200k",
                    "--invalid=error")
        table, batches = read_ipc(self.path("query.arrow"))
        self.checks.check("query: batches", "" if len(batches) > 5 else batches)
        self.compare_everything("query", self.path("query.arrow"))
        self.checks.equal("query: order", table.column("n").to_pylist(), list(range(ROWS - 1, -1, -1)))

    def test_types_in_parallel(self):
        self.export("-t", f"{DATABASE}.everything", "-n", "3", "-o", self.path("parallel.arrow"), "--invalid=error")
        self.compare_everything("parallel", self.path("parallel.arrow"))

    def test_types_in_parquet(self):
        for compression in ("zstd", "snappy", "lz4", "none"):
            path = self.path(f"{compression}.parquet")
            self.export("-t", "everything", "--parquet", f"--compression={compression}", "-s", "1m", "-o", path, "--invalid=error")
            self.compare_everything(compression, path)
            self.checks.check(f"{compression}: row groups", "" if len(read_parquet(path)[1]) > 1 else "one")

    def test_compressed_ipc(self):
        for compression in ("zstd", "lz4"):
            path = self.path(f"{compression}.arrow")
            self.export("-t", "everything", f"--compression={compression}", "-s", "1m", "-o", path, "--invalid=error")
            self.compare_everything(compression, path)

    def test_enum_as_text(self):
        self.export("-c", "SELECT c_enum FROM everything ORDER BY n", "--enum=text", "-o", self.path("enum.arrow"))
        column = read_ipc(self.path("enum.arrow"))[0].column(0)
        self.checks.equal("--enum=text", (str(column.type), column.to_pylist()),
                          ("string", [row[0] for row in self.query("SELECT c_enum FROM everything ORDER BY n")]))

    def test_computed_columns(self):
        self.export("-c", "SELECT count(*) AS n, sum(v) AS s, avg(v) AS a, max(note) AS m, NULL AS x, 1 = 1 AS t FROM numbers",
                    "-o", self.path("sums.arrow"))
        row = read_ipc(self.path("sums.arrow"))[0].to_pylist()[0]
        expected = self.query("SELECT count(*), sum(v), avg(v), max(note), NULL, 1 = 1 FROM numbers")[0]
        self.checks.equal("computed columns", tuple(row.values()), expected)

    def test_zero_dates(self):
        self.query("CREATE TABLE zeros (d DATE, t DATETIME, m TIMESTAMP, e ENUM('a'))")
        self.query("INSERT INTO zeros VALUES ('0000-00-00', '0000-00-00 00:00:00', '0000-00-00', 'b'), "
                   "('2024-00-00', '2024-05-00', '2024-01-01', 'a'), ('2024-02-29', '2024-02-29', '2024-02-29', 'a')")
        done = self.export("-t", "zeros", "-o", self.path("zeros.arrow"))
        table, _ = read_ipc(self.path("zeros.arrow"))
        self.checks.equal("zero dates are NULL", [column.null_count for column in table.columns], [2, 2, 1, 1])
        for column, count in (("d", 2), ("t", 2), ("m", 1), ("e", 1)):
            self.checks.check(f"a warning of {column}", "" if f'"{column}": {count} values' in done.stderr else done.stderr)
        for column, shown in (("d", "0000-00-00"), ("t", "0000-00-00"), ("m", "0000-00-00"), ("e", "label")):
            self.refused(f"zero dates of {column} as errors", VALUE, shown, "-c", f"SELECT {column} FROM zeros",
                         "-o", self.path("no.arrow"), "--invalid=error")

    def test_zero_rows(self):
        for workers in ("1", "3"):
            self.export("-t", "empty", "-n", workers, "-o", self.path("empty.arrow"))
            self.checks.equal("zero rows", read_ipc(self.path("empty.arrow"))[0].num_rows, 0)
        for name, options in (("none.arrow", ()), ("none.parquet", ("--parquet",))):
            self.export("-c", "SELECT * FROM everything WHERE n < 0", "-o", self.path(name), *options)
            nothing = {column: [] for column in ("n", *TYPES)}
            file_readers.compare(self.checks, f"zero rows of every type, {name}", self.path(name), "n", nothing)

    def test_append_and_statistics(self):
        path = self.path("grown.arrow")
        self.export("-c", "SELECT * FROM numbers WHERE id <= 50000 ORDER BY id", "-o", path, "--stat=id", "-s", "200k")
        self.export("-c", "SELECT * FROM numbers WHERE id > 50000 ORDER BY id", "--append", path, "--stat=id", "-s", "200k")
        table, batches = read_ipc(path)
        ids = table.column("id").to_pylist()
        self.checks.equal("rows", ids, list(range(1, 100001)))
        starts = [sum(batches[:i]) for i in range(len(batches))]
        self.checks.equal("statistics", statistics(path, "id"),
                          [(ids[start], ids[start + rows - 1]) for start, rows in zip(starts, batches, strict=True)])
        self.refused("other columns", USAGE, "other columns", "-t", "keyless", "--append", path)

    def test_workers(self):
        self.export("-t", "keyless", "-n", "3", "-o", self.path("keyless.arrow"))
        self.checks.equal("no key", sorted(read_ipc(self.path("keyless.arrow"))[0].column("v").to_pylist()), list(range(1, 1001)))
        self.query("CREATE TABLE ends (id BIGINT PRIMARY KEY)")
        values = [-2 ** 63, -2 ** 63 + 1, -1, 0, 5, 2 ** 63 - 2, 2 ** 63 - 1]
        self.query("INSERT INTO ends VALUES " + ", ".join(f"({value})" for value in values))
        self.export("-t", "ends", "-n", "2", "-o", self.path("ends.arrow"))
        self.checks.equal("extreme keys", sorted(read_ipc(self.path("ends.arrow"))[0].column("id").to_pylist()), values)

    def test_one_snapshot(self):
        """Sums stay what they are while values move between rows of different workers."""
        total = self.query("SELECT sum(v) FROM numbers")[0][0]
        stop = threading.Event()

        def move():
            chance = random.Random(5)
            session = self.server.connect()
            session.autocommit(False)
            while not stop.is_set():
                with session.cursor() as cursor:
                    low = chance.randint(1, 40000)
                    cursor.execute("UPDATE numbers SET v = v + 1 WHERE id BETWEEN %s AND %s", (low, low + 500))
                    cursor.execute("UPDATE numbers SET v = v - 1 WHERE id BETWEEN %s AND %s", (low + 50000, low + 50500))
                session.commit()
            session.close()
        mover = threading.Thread(target=move)
        mover.start()
        try:
            for _ in range(4):
                self.export("-t", "numbers", "-n", "3", "-o", self.path("moving.arrow"))
                table, _ = read_ipc(self.path("moving.arrow"))
                self.checks.equal("rows of one snapshot", (table.num_rows, sum(table.column("v").to_pylist())), (100000, total))
        finally:
            stop.set()
            mover.join()

    def test_passwords(self):
        self.query("CREATE USER careful IDENTIFIED BY 'secret'")
        self.query(f"GRANT SELECT ON {DATABASE}.* TO careful")
        arguments = ("-U", "careful", "-t", "keyless", "-o", self.path("password.arrow"))
        self.refused("no password", CONNECTION, "Access denied", "-w", *arguments)
        self.export("-w", *arguments, env={**os.environ, "MYSQL_PWD": "secret"})
        self.checks.equal("with a password", read_ipc(self.path("password.arrow"))[0].num_rows, 1000)

    def test_arguments(self):
        """The database stands without an option, as the server's own client has it; without -o a temporary file is named."""
        query = "SELECT database() AS d"
        place = ["-h", self.server.socket, "-u", "root"]
        for arguments in ([DATABASE], ["-d", DATABASE]):
            done = run_program("mysql2arrow", place + arguments + ["-c", query], env={**os.environ, "TMPDIR": str(self.folder)})
            self.checks.equal(f"exit status of {arguments}: {done.stderr}", done.returncode, 0)
            name = Path(done.stdout.rstrip("\n"))
            self.checks.equal("a temporary file", (name.parent, name.suffix, name.name.startswith("mysql2arrow.")),
                              (self.folder, ".arrow", True))
            self.checks.equal("its row", read_ipc(name)[0].to_pylist(), [{"d": DATABASE}])
        self.refused("a second argument", USAGE, "no option", "-t", "numbers", "other")

    def test_settings_and_progress(self):
        done = self.export("-c", "SELECT @@sort_buffer_size AS b, @@sql_mode AS m FROM numbers", "--set", "sort_buffer_size:1048576",
                           "--set", "sql_mode:ANSI_QUOTES", "--progress", "-o", self.path("set.arrow"))
        row = read_ipc(self.path("set.arrow"))[0].slice(0, 1).to_pylist()[0]
        self.checks.equal("--set", (row["b"], row["m"]), (1048576, "ANSI_QUOTES"))
        self.checks.check("--progress", "" if "100000 rows" in done.stderr else done.stderr)

    def test_errors(self):
        out = ("-o", self.path("no.arrow"))
        self.refused("no table", SERVER, "doesn't exist", "-t", "nothing", *out)
        self.refused("no server", CONNECTION, "nowhere", "-h", "/nowhere", "-t", "numbers", *out)
        self.refused("no rows at all", USAGE, "no columns", "-c", "SET @a = 1", *out)
        self.refused("a late error", SERVER, "Subquery returns more", "-c",
                     "SELECT (SELECT k.v FROM pair k WHERE k.v <= n.id DIV 40000) FROM numbers n", *out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="tests whose name contains this")
    options = parser.parse_args()
    checks = Checks(options.only)
    with MysqlServer() as server, tempfile.TemporaryDirectory(prefix="pgt-files-") as folder:
        return checks.run(Suite(server, folder, checks))


if __name__ == "__main__":
    sys.exit(main())
