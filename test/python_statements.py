"""python_statements.py - cases of the Python package that need a PostgreSQL server: open(), write(), batches().

The server is a stock one. SQL functions with the names of the extension's hand out tokens of an export server of this test, so
that every statement of the package is run by PostgreSQL, by every client library. WHOLE runs against the extension.
Called by: test/python_package.py.
"""

import contextlib
import datetime
import decimal
import gc
import os
import subprocess
import sys
import threading
import time
import unittest
import uuid
import warnings
from pathlib import Path

import adbc_driver_postgresql.dbapi
import cluster
import export_server
import numpy as np
import pandas as pd
import pg_turbine
import polars as pl
import psycopg
import psycopg2
import pyarrow as pa
from export_server import SAMPLES, ExportServer, host_column
from pg_turbine import batching, sessions

EXAMPLE = Path(__file__).resolve().parent.parent / "python" / "examples" / "trip_prices.py"
FUNCTIONS = """
CREATE SCHEMA turbine;
CREATE DOMAIN turbine.result AS uuid;
CREATE TABLE turbine.here (host uuid, socket text);
CREATE TABLE turbine.tokens (number serial, query text, device text, result uuid DEFAULT gen_random_uuid(), token bytea,
  is_fetched boolean DEFAULT false);
CREATE TABLE turbine.log (entry text);
CREATE FUNCTION turbine.export_endpoint(OUT host uuid, OUT socket text) LANGUAGE sql STABLE AS 'SELECT host, socket FROM turbine.here';
CREATE FUNCTION turbine.gpu_result(query text, device text DEFAULT NULL) RETURNS turbine.result LANGUAGE plpgsql AS $$
  DECLARE found uuid;
  BEGIN
    INSERT INTO turbine.log VALUES ('result');
    SELECT t.result INTO STRICT found FROM turbine.tokens t
      WHERE t.query = gpu_result.query AND t.device IS NOT DISTINCT FROM gpu_result.device;
    RETURN found;
  END $$;
CREATE FUNCTION turbine.export(result turbine.result, columns text[] DEFAULT NULL, keep boolean DEFAULT false) RETURNS bytea
  LANGUAGE sql AS 'INSERT INTO turbine.log VALUES (''export''); SELECT token FROM turbine.tokens t WHERE t.result = $1';
CREATE FUNCTION turbine.export(relation regclass, columns text[] DEFAULT NULL, keep boolean DEFAULT false) RETURNS bytea
  LANGUAGE sql AS 'INSERT INTO turbine.log VALUES (''table''); SELECT token FROM turbine.tokens t WHERE t.query = $1::text';
CREATE FUNCTION turbine.release(turbine.result) RETURNS boolean
  LANGUAGE sql AS 'INSERT INTO turbine.log VALUES (''release''); SELECT true';
CREATE FUNCTION turbine.release(token bytea) RETURNS boolean
  LANGUAGE sql AS 'INSERT INTO turbine.log VALUES (''release token''); SELECT true';
CREATE FUNCTION turbine.open_cursor(cursor text, query text) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE cursor_ refcursor := cursor;
  BEGIN
    OPEN cursor_ NO SCROLL FOR EXECUTE query;
    RETURN cursor;
  END $$;
CREATE FUNCTION turbine.fetch_result(cursor text, rows bigint, device text DEFAULT NULL) RETURNS turbine.result LANGUAGE plpgsql AS $$
  DECLARE found uuid; cursor_ refcursor := cursor; count int := rows;
  BEGIN
    MOVE FORWARD count FROM cursor_;
    UPDATE turbine.tokens SET is_fetched = true
      WHERE number = (SELECT min(number) FROM turbine.tokens WHERE NOT is_fetched AND query = 'batch')
      RETURNING result INTO found;
    RETURN found;
  END $$;
CREATE TABLE t (id int, x float8, name text);
INSERT INTO t VALUES (1, 1.5, 'one'), (2, NULL, NULL), (3, 3.5, 'three');
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
"""
EVERYTHING = """SELECT true AS b, 1::int2 AS i2, -2 AS i4, 3::int8 AS i8, 4::oid AS o, 1.5::float4 AS f4, -2.5::float8 AS f8,
  date '1999-12-31' AS d, time '12:34:56.000789' AS ti, timestamp '2024-02-29 01:02:03.000004' AS ts,
  timestamptz '2024-02-29 01:02:03+01' AS tz, 12345.678::numeric(20,3) AS n, '00000000-0000-0000-0000-000000000001'::uuid AS u,
  'zwölf 🐘'::text AS s, '\\x00ff'::bytea AS by"""


class Statements(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster("python", extension=False, settings={"timezone": "UTC"})
        cls.addClassCleanup(cls.cluster.remove)
        cls.cluster.start()
        cls.dsn = f"host={cls.cluster.directory} port={cls.cluster.port} user=postgres dbname=postgres"
        with psycopg.connect(cls.dsn) as connection:
            connection.execute(FUNCTIONS)

    def setUp(self):
        self.server = ExportServer()
        self.addCleanup(self.server.__exit__)
        self.admin = psycopg.connect(self.dsn, autocommit=True)
        self.addCleanup(self.admin.close)
        self.admin.execute("TRUNCATE turbine.here, turbine.tokens, turbine.log")
        self.here()

    def here(self, host=None):
        self.admin.execute("DELETE FROM turbine.here")
        self.admin.execute("INSERT INTO turbine.here VALUES (%s, %s)", (host or self.server.boot_id(), self.server.path))

    def offer(self, query, token, device=None):
        self.admin.execute("INSERT INTO turbine.tokens (query, token, device) VALUES (%s, %s, %s)", (query, token, device))

    def log(self):
        return [entry for entry, in self.admin.execute("SELECT entry FROM turbine.log")]

    @contextlib.contextmanager
    def connections(self):
        """One of each kind, and a DSN."""
        with contextlib.ExitStack() as stack:
            third, second = psycopg.connect(self.dsn), psycopg2.connect(self.dsn)
            third.row_factory = psycopg.rows.dict_row
            uri = f"postgresql://postgres@/postgres?host={self.cluster.directory}&port={self.cluster.port}"
            adbc = adbc_driver_postgresql.dbapi.connect(uri)
            for connection in (third, second, adbc):
                stack.callback(connection.close)
            yield {"psycopg": third, "psycopg2": second, "adbc": adbc, "dsn": self.dsn}

    def released(self):
        gc.collect()
        self.assertTrue(self.server.wait_until_released())

    # open()

    def test_query(self):
        query = "SELECT 'it''s %s \\', id -- a comment"
        with self.connections() as connections:
            for name, connection in connections.items():
                with self.subTest(name), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    self.admin.execute("TRUNCATE turbine.tokens, turbine.log")
                    self.offer(query, self.server.host(x=("int32", [1, 2])))
                    columns = pg_turbine.open(connection, query)
                    self.assertEqual(columns["x"].values.tolist(), [1, 2])
                    self.assertFalse(columns.is_copy)
                    if name != "dsn":       # which is rolled back
                        commit(connection)
                        self.assertEqual(self.log(), ["result", "export", "release"])
                    columns.close()
                    self.released()

    def test_device_and_table(self):
        self.offer("SELECT 1", self.server.host(x=("int32", [1])), "host")
        self.assertEqual(len(pg_turbine.open(self.admin, "SELECT 1", device="host")), 1)
        self.offer("t", self.server.host(x=("int32", [1, 2])))
        self.admin.execute("TRUNCATE turbine.log")
        self.assertEqual(pg_turbine.open(self.admin, "public.t").rows, 2)
        self.assertEqual(self.log(), ["table", "release token"])
        self.offer("TABLE t", self.server.host(x=("int32", [1, 2, 3])), "gpu")
        self.assertEqual(pg_turbine.open(self.admin, "t", "gpu").rows, 3)

    def test_errors_of_the_server(self):
        with self.assertRaises(psycopg.errors.UndefinedTable):
            pg_turbine.open(self.admin, "nowhere")
        self.offer("SELECT 1", self.server.token(bytes(32)))
        with self.assertRaises(pg_turbine.ImportRefused):
            pg_turbine.open(self.admin, "SELECT 1")
        with self.assertRaisesRegex(TypeError, "no connection"):
            pg_turbine.open(object(), "t")

    def copied(self, connection, query):
        with self.assertWarns(pg_turbine.CopyWarning) as caught:
            columns = pg_turbine.open(connection, query)
        self.assertEqual(caught.filename, __file__)
        self.assertTrue(columns.is_copy)
        return columns

    def test_another_host(self):
        self.here(uuid.uuid4())
        expected = psycopg.connect(self.dsn).execute(EVERYTHING).fetchone()
        with self.connections() as connections:
            for name, connection in connections.items():
                with self.subTest(name):
                    found = self.copied(connection, EVERYTHING + ";").to_arrow().to_pylist()[0]
                    values = dict(zip(found, expected, strict=True))
                    values["u"] = values["u"].bytes
                    if name == "adbc":      # it has a numeric as text
                        values["n"] = str(values["n"])
                    self.assertEqual(found, values)
                    self.assertEqual(self.copied(connection, "t").to_arrow().to_pylist(), [
                        {"id": 1, "x": 1.5, "name": "one"}, {"id": 2, "x": None, "name": None}, {"id": 3, "x": 3.5, "name": "three"}])
                    nothing = self.copied(connection, "SELECT * FROM t WHERE false")
                    self.assertEqual((nothing.rows, list(nothing)), (0, ["id", "x", "name"]))
                    nulls = self.copied(connection, "SELECT i, nullif(i % 3, 0) AS n, nullif(i % 7, 1)::text AS s "
                                        "FROM generate_series(1, 1000) i")
                    self.assertEqual(int(nulls["i"].values.sum()), 500500)
                    self.assertEqual((nulls["n"].null_count, nulls["n"].values[2], int(nulls["n"].mask.sum())), (333, 0, 333))
                    self.assertEqual(nulls["s"].to_arrow().to_pylist()[:8], ["None" if False else None, "2", "3", "4", "5", "6", "0", None])
        self.assertEqual(self.log(), [])

    def test_socket_out_of_reach(self):
        self.offer("SELECT * FROM t", self.server.token(bytes(32), path="/nonexistent"))
        self.assertEqual(self.copied(self.admin, "SELECT * FROM t").rows, 3)
        self.assertEqual(self.log(), ["result", "export", "release"])

    def test_numerics(self):
        self.here(uuid.uuid4())
        values = ["0", "1", "-1", "0.0001", "10000", "12345678.00009", "-99999999999999999999.5", "1e10", "0.10", None]
        columns = self.copied(self.admin, "SELECT v::numeric(38, 5) AS v FROM (VALUES " + ", ".join(
            f"({'NULL' if value is None else repr(value)})" for value in values) + ") AS x(v)")
        self.assertEqual(columns["v"].to_arrow().to_pylist(), [None if value is None else decimal.Decimal(value) for value in values])
        others = self.copied(self.admin, "SELECT 1e40::numeric AS x, 'NaN'::numeric AS x, interval '1 day' AS i, 5::numeric(3,-2) AS z, "
                             "'{1}'::int[] AS a").to_arrow()
        self.assertEqual(others.to_pylist(), [{"x": "1" + "0" * 40, "x_2": "NaN", "i": "1 day", "z": "0", "a": "{1}"}])
        for query in ("SELECT 'NaN'::numeric(5,2) AS x", "SELECT 'infinity'::date AS x", "SELECT '-infinity'::timestamp AS x"):
            with self.assertRaisesRegex(pg_turbine.TurbineError, "'x'"), self.assertWarns(pg_turbine.CopyWarning):
                pg_turbine.open(self.dsn, query)

    # write()

    def test_round_trip(self):
        """Every format, with and without NULLs, comes back as it went."""
        self.here(uuid.uuid4())
        for nulls in (False, True):
            rows = [{format: values[number] for format, values in SAMPLES.items()} for number in range(3)]
            columns = {format: with_nulls(values) if nulls else values for format, values in SAMPLES.items()}
            made = [host_column(format, format, values) for format, values in columns.items()]
            shared = pg_turbine.importing.import_columns(self.server.grant(made, 3 + nulls))
            for source in (shared, shared.to_arrow()):
                with self.subTest(nulls=nulls, source=type(source)):
                    self.admin.execute("DROP TABLE IF EXISTS wide")
                    self.admin.execute("CREATE TABLE wide (" + ", ".join(
                        f'"{format}" {export_server.SQL_TYPES[format]}' for format in SAMPLES) + ")")
                    self.assertEqual(pg_turbine.write(self.admin, "wide", source), 3 + nulls)
                    found = self.copied(self.admin, "wide").to_arrow()
                    self.assertEqual(found.to_pylist(), shared.to_arrow().to_pylist())
            self.assertEqual(len(rows), 3)

    def test_create(self):
        moments = np.array(["2024-02-29T01:02:03.000004", "NaT"], "M8[us]")
        made = {"a b": np.array([1, 2], np.int32), "f": np.array([1.5, np.nan]), "g": np.array([1.5, 2.5], "f4"), "m": moments,
                "day": moments.astype("M8[D]"), "s": ["one", None], "y": np.array([True, False]), "w": np.array([1, 2], "u8"),
                "by": [b"\0", b""], "u": [uuid.UUID(int=5), None], "n": [decimal.Decimal("1.50"), None],
                "o": np.ma.array([7, 8], mask=[0, 1])}
        with self.connections() as connections:
            for name, connection in connections.items():
                with self.subTest(name):
                    self.admin.execute('DROP SCHEMA IF EXISTS "New" CASCADE; CREATE SCHEMA "New"')
                    data = {key: value for key, value in made.items() if name != "adbc" or key not in ("u", "n", "w")}
                    self.assertEqual(pg_turbine.write(connection, '"New"."p q"', data, create=True), 2)
                    self.assertEqual(self.admin.execute("SELECT to_regclass('\"New\".\"p q\"')::text").fetchone()[0],
                                     '"New"."p q"' if name == "dsn" else None)
                    if name != "dsn":
                        commit(connection)
                    types = dict(self.admin.execute("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid "
                                                    "= '\"New\".\"p q\"'::regclass AND attnum > 0").fetchall())
                    self.assertEqual(types["a b"], "integer")
                    self.assertEqual(types["day"], "date")
                    self.assertEqual(types["m"], "timestamp without time zone")
                    found = self.admin.execute('SELECT "a b", f, g, m, day, s, y, by, o FROM "New"."p q" ORDER BY 1').fetchall()
                    self.assertEqual(found[0], (1, 1.5, 1.5, datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.date(2024, 2, 29),
                                                "one", True, b"\0", 7))
                    self.assertNotEqual(found[1][1], found[1][1])
                    self.assertEqual(found[1][2:], (2.5, None, None, None, False, b"", None))

    def test_frames(self):
        self.admin.execute("DROP TABLE IF EXISTS f; CREATE TABLE f (a int8, b text, c timestamptz, d real, e mood, j jsonb, p positive, "
                           "ignored int DEFAULT 42)")
        zone = pd.to_datetime(["2024-01-01 01:00", None]).tz_localize("Europe/Berlin")
        frame = pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": ["x", None], "c": zone, "d": [1.5, float("nan")],
                              "e": pd.Categorical(["sad", "happy"]), "j": ['{"k": 1}', None], "p": [1, 2]})
        for source in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
            with self.subTest(type(source)):
                self.admin.execute("TRUNCATE f")
                pg_turbine.write(self.admin, "f", source, nan_as_null=True)
                found = self.admin.execute("SELECT a, b, c AT TIME ZONE 'UTC', d, e::text, j, p, ignored FROM f ORDER BY p").fetchall()
                self.assertEqual(found, [(1, "x", datetime.datetime(2024, 1, 1), 1.5, "sad", {"k": 1}, 1, 42),
                                         (None, None, None, None, "happy", None, 2, 42)])

    def test_many_rows(self):
        rows = 200_000
        self.admin.execute("DROP TABLE IF EXISTS m; CREATE TABLE m (i int, x float8, s text)")
        number = np.arange(rows)
        pg_turbine.write(self.dsn, "m", {"i": number, "x": number * 0.5})
        pg_turbine.write(self.dsn, "m", {"i": np.ma.array(number, mask=number % 3 == 0), "x": number * 0.5,
                                         "s": pa.array([None if i % 5 else "s" * (i % 11) for i in range(rows)])})
        self.assertEqual(self.admin.execute("SELECT count(*), count(i), sum(x), count(s), sum(length(s)) FROM m").fetchone(),
                         (2 * rows, rows + sum(i % 3 != 0 for i in range(rows)), float(number.sum()), rows // 5,
                          sum(i % 11 for i in range(0, rows, 5))))

    def test_refused(self):
        self.admin.execute("DROP TABLE IF EXISTS r; CREATE TABLE r (i2 int2, i8 int8, f4 real, d date, s text, v interval, b bool)")
        for columns, words in (({"i2": [40000]}, "i2.*out of range"), ({"i8": [2.0 ** 63]}, "out of range"), ({"i8": [1.5]}, "fractions"),
                               ({"i8": [float("nan")]}, "fractions or NaN"), ({"f4": [1e300]}, "out of range"), ({"s": [1]}, "not str"),
                               ({"d": ["a"]}, "d"), ({"v": [1]}, "interval"), ({"x": [1]}, "no column 'x'"), ({"b": [2]}, "0 and 1"),
                               ({"i8": ["1"]}, "i8")):
            with self.assertRaisesRegex(pg_turbine.TurbineError, words):
                pg_turbine.write(self.admin, "r", columns)
        for columns in ({}, {"i2": [1], "i8": [1, 2]}, {"i2": np.ones((2, 2))}):
            with self.assertRaises(ValueError):
                pg_turbine.write(self.admin, "r", columns)
        self.assertEqual(pg_turbine.write(self.admin, "r", {"i8": np.array([[1], [2]]), "f4": [1, None], "b": np.array([0, 1])}), 2)
        self.assertEqual(pg_turbine.write(self.admin, "r", {"i8": np.array([])}), 0)
        with self.admin.transaction(force_rollback=True):
            pg_turbine.write(self.admin, "r", {"i8": [100]})
        self.assertEqual(self.admin.execute("SELECT count(*), sum(i8), count(f4) FROM r").fetchone(), (2, 3, 1))

    # batches()

    def offer_batches(self, count, rows=100):
        self.admin.execute("TRUNCATE turbine.tokens")
        for number in range(count):
            self.offer("batch", self.server.host(x=("int64", np.arange(rows) + number * rows)))

    def threads(self):
        return [thread for thread in threading.enumerate() if thread.name == "pg_turbine.batches"]

    def ended(self):
        self.assertEqual(self.threads(), [])
        deadline = time.monotonic() + 5
        while self.admin.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchone()[0] > 1:
            self.assertLess(time.monotonic(), deadline, "a connection is left")
            time.sleep(0.01)

    def test_batches(self):
        self.offer_batches(7)
        found = [batch["x"].values.copy() for batch in pg_turbine.batches(self.dsn, "SELECT 1;", 100)]
        self.assertEqual(np.concatenate(found).tolist(), list(range(700)))
        del found
        self.ended()
        self.released()

    def test_shuffled(self):
        orders = []
        for seed in (1, 1, 2):
            self.offer_batches(7)
            batches = [batch["x"].values for batch in pg_turbine.batches(self.dsn, "SELECT 1", 100, shuffle_seed=seed)]
            for batch in batches:       # rows stay in their batch
                self.assertEqual(sorted(batch // 100), [batch[0] // 100] * 100)
            orders.append(np.concatenate(batches).tolist())
            self.assertEqual(sorted(orders[-1]), list(range(700)))
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertNotEqual([order // 100 for order in orders[0]], sorted(order // 100 for order in orders[0]))

    def test_stopped_early(self):
        for how in ("break", "close", "with", "exception"):
            with self.subTest(how):
                self.offer_batches(20)
                batches = pg_turbine.batches(self.dsn, "SELECT 1", 100)
                self.assertEqual(next(batches).rows, 100)
                time.sleep(0.3)
                # At most: one here, two in the queue, one being put there.
                self.assertLessEqual(self.server.requests, 4)
                self.server.requests = 0
                if how == "close":
                    batches.close()
                    self.assertRaises(StopIteration, next, batches)
                elif how == "with":
                    with batches:
                        pass
                elif how == "exception":
                    with contextlib.suppress(ZeroDivisionError):
                        for batch in batches:
                            del batch
                            raise ZeroDivisionError
                del batches
                self.ended()
                self.released()

    def test_slow_statement_is_cancelled(self):
        self.admin.execute("""CREATE OR REPLACE FUNCTION slow() RETURNS int LANGUAGE sql AS 'SELECT pg_sleep(60); SELECT 1'""")
        self.offer_batches(1)
        self.here(uuid.uuid4())
        batches = pg_turbine.batches(self.dsn, "SELECT slow()", 100)
        time.sleep(0.3)
        started = time.monotonic()
        batches.close()
        self.assertLess(time.monotonic() - started, 5)
        self.ended()

    def test_errors_come_to_the_caller(self):
        self.offer_batches(1)
        with self.assertRaises(psycopg.errors.UndefinedColumn):
            next(pg_turbine.batches(self.dsn, "SELECT nothing", 100))
        self.ended()
        with self.assertRaises(psycopg.OperationalError):
            next(pg_turbine.batches(f"host={self.cluster.directory} port=1", "SELECT 1", 100))
        self.offer_batches(2)
        self.offer("batch", self.server.token(bytes(32)))
        batches = pg_turbine.batches(self.dsn, "SELECT 1", 100)
        self.assertEqual([next(batches).rows, next(batches).rows], [100, 100])
        with self.assertRaises(pg_turbine.ImportRefused):
            next(batches)
        self.assertRaises(StopIteration, next, batches)
        with self.assertRaises(ValueError):
            pg_turbine.batches(self.dsn, "SELECT 1", 0)
        self.ended()

    def test_batches_of_another_host(self):
        self.here(uuid.uuid4())
        query = "SELECT i::int8 AS x, i::text AS s FROM generate_series(0, 249) i"
        for connect in (self.dsn, lambda: psycopg.connect(self.dsn), lambda: psycopg2.connect(self.dsn)):
            for seed in (None, 3):
                with self.assertWarns(pg_turbine.CopyWarning):
                    found = list(pg_turbine.batches(connect, query, 100, shuffle_seed=seed))
                self.assertEqual(sorted(batch.rows for batch in found), [50, 100, 100])
                rows = [(row["x"], row["s"]) for batch in found for row in batch.to_arrow().to_pylist()]
                self.assertEqual(rows if seed is None else sorted(rows), [(i, str(i)) for i in range(250)])
                self.assertEqual(rows == sorted(rows), seed is None)
        self.assertEqual(list(pg_turbine.batches(self.dsn, "SELECT 1 WHERE false", 100)), [])
        self.ended()

    def test_socket_out_of_reach_of_batches(self):
        self.offer("batch", self.server.token(bytes(32), path="/nonexistent"))
        with self.assertWarns(pg_turbine.CopyWarning):
            found = list(pg_turbine.batches(self.dsn, "SELECT id FROM t ORDER BY 1", 2))
        self.assertEqual([batch["id"].values.tolist() for batch in found], [[1, 2], [3]])

    def test_example(self):
        self.here(uuid.uuid4())
        self.admin.execute("DROP TABLE IF EXISTS trips, predicted_prices")
        self.admin.execute("CREATE TABLE trips AS SELECT i AS id, (i % 50)::float8 AS distance, nullif(i % 70, 69)::float8 AS minutes, "
                           "2.5 * (i % 50) + 0.5 * (i % 70) + 3::float8 AS price FROM generate_series(1, 25000) i")
        done = subprocess.run([sys.executable, str(EXAMPLE), self.dsn], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(EXAMPLE.parent.parent)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 batches; price = 2.50 * km + 0.50 * minutes + 3.00", done.stdout)
        self.assertIn("25000 predictions written", done.stdout)
        found = self.admin.execute("SELECT max(abs(p.price - t.price)) FROM predicted_prices p JOIN trips t USING (id) "
                                   "WHERE minutes IS NOT NULL").fetchone()
        self.assertLess(found[0], 0.01)

    def test_pieces(self):
        self.assertEqual(sessions.literal("a'b\\"), "E'a''b\\\\'")
        self.assertEqual(batching.QUEUED, 1)


def with_nulls(values):
    return [values[0], None, *values[1:]]


def commit(connection):
    connection.commit()


class Whole(unittest.TestCase):
    """Against a server with the extension."""

    @classmethod
    def setUpClass(cls):
        if "TURBINE_PG_BIN" not in os.environ and not cluster.BUILD.joinpath("cmake_install.cmake").exists():
            raise unittest.SkipTest(f"nothing is built in {cluster.BUILD}")
        cls.cluster = cluster.Cluster("pythonwhole")
        cls.addClassCleanup(cls.cluster.__exit__, None)
        cls.cluster.__enter__()
        cls.dsn = f"host={cls.cluster.directory} port={cls.cluster.port} user=postgres dbname=postgres"
        with psycopg.connect(cls.dsn) as connection:
            if connection.execute("SELECT to_regproc('turbine.gpu_result')").fetchone()[0] is None:
                raise unittest.SkipTest("the extension has no turbine.export() yet")
            connection.execute("CREATE TABLE t AS SELECT i AS id, i::float8 / 4 AS x, nullif(i % 10, 3) AS k, i::text AS name, "
                               "i % 2 = 0 AS even FROM generate_series(1, 100000) i")

    def setUp(self):
        warnings.simplefilter("error", pg_turbine.CopyWarning)
        self.addCleanup(warnings.resetwarnings)

    def test_query(self):
        with psycopg.connect(self.dsn) as connection, pg_turbine.open(connection, "SELECT * FROM t", device="host") as columns:
            self.assertEqual(columns.rows, 100000)
            self.assertFalse(columns.is_copy)
            expected = connection.execute("SELECT sum(id), sum(x), sum(k), count(k), min(name), count(*) FILTER (WHERE even) "
                                          "FROM t").fetchone()
            table = columns.to_arrow()
            table.validate(full=True)
            self.assertEqual((int(columns["id"].values.sum()), float(np.asarray(columns["x"]).sum()), int(columns["k"].values.sum()),
                              columns.rows - columns["k"].null_count, min(table["name"].to_pylist()),
                              int(columns["even"].values.sum())), expected)

    def test_copy_has_the_same_rows(self):
        with psycopg.connect(self.dsn) as connection, pg_turbine.open(connection, "SELECT * FROM t", device="host") as columns:
            copy = pg_turbine.opening.copy_rows(sessions.session_of(connection), "SELECT * FROM t")
            self.assertEqual(columns.to_arrow().sort_by("id"), copy.to_arrow().sort_by("id"))

    def test_batches(self):
        found = [batch["id"].values.copy() for batch in pg_turbine.batches(self.dsn, "SELECT id FROM t ORDER BY id", 30000, device="host")]
        self.assertEqual([len(batch) for batch in found], [30000, 30000, 30000, 10000])
        self.assertEqual(np.concatenate(found).tolist(), list(range(1, 100001)))

    def test_memory_outlives_the_result(self):
        columns = pg_turbine.open(self.dsn, "SELECT id FROM t", device="host")
        array = np.asarray(columns["id"])
        columns.close()
        self.assertEqual(int(array.sum()), 5000050000)

    def test_table_and_texts(self):
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            with pg_turbine.open(connection, "t") as columns:
                self.assertEqual((columns.rows, columns.is_copy), (100000, False))
            with pg_turbine.open(connection, "SELECT interval '1 day' AS i, 1.50 AS n, 1.5::numeric(5,2) AS d, 'a'::name AS s, "
                                 "'infinity'::float8 AS f, NULL::text AS t", device="host") as columns:
                self.assertEqual(columns.to_arrow().to_pylist(), pg_turbine.opening.copy_rows(
                    sessions.session_of(connection), "SELECT interval '1 day' AS i, 1.50 AS n, 1.5::numeric(5,2) AS d, 'a'::name AS s, "
                    "'infinity'::float8 AS f, NULL::text AS t").to_arrow().to_pylist())
            del columns
            gc.collect()
            deadline = time.monotonic() + 5
            while connection.execute("SELECT count(*) FROM turbine.exports").fetchone()[0] and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(connection.execute("SELECT * FROM turbine.exports").fetchall(), [])

    def test_no_socket(self):
        with cluster.Cluster("pythonnone", settings={"pg_turbine.export_socket": "none"}) as server:
            dsn = f"host={server.directory} port={server.port} user=postgres dbname=postgres"
            with self.assertWarns(pg_turbine.CopyWarning):
                self.assertEqual(pg_turbine.open(dsn, "SELECT 1 AS x")["x"].values.tolist(), [1])

    def test_revoked(self):
        with psycopg.connect(self.dsn) as connection:
            token = connection.execute("SELECT turbine.export(turbine.gpu_result('SELECT id, id AS again FROM t', 'host'))").fetchone()[0]
            self.assertEqual(pg_turbine.ipc_import(token).shape, (100000, 2))
            connection.execute("SELECT turbine.release(%b::bytea)", [token])
            with self.assertRaises(pg_turbine.ImportRefused):
                pg_turbine.ipc_import(token)
