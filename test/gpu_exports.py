#!/usr/bin/env python3
"""gpu_exports.py - columns that queries leave in a GPU's memory: what importers read there is what SELECT returns.

`values`: random rows of every type that a GPU makes, whole tables in the order of ctid and queries in any, through inserts,
deletes, updates and VACUUM, over and over. `times`: the first export of a column of 1 GB, and of 40 M rows (bool, 4 reals) right
after their commit and later; beside them how long the same takes by way of the host.
With --stand-in the GPU is one whose kernels are interpreted: `values` in a short form, and importers read what the
descriptors that they are given have.
Called by: test/run_all.py with --stand-in; by hand on a machine with a GPU, numpy and CuPy. The last line is
`N passed, N failed`.
"""

import argparse
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE), str(HERE.parent / "python")]

import cluster  # noqa: E402
import numpy as np  # noqa: E402
from cache_bench import Bench  # noqa: E402
from import_columns import bytes_of, redeem  # noqa: E402
from stand_in import stand_in  # noqa: E402

ROWS = (70000, 200000, 400000)
STAND_IN_ROWS = (33, 70000, 150000)
COLUMNS = {
    "b": "random() < 0.3", "s": "(random() * 100)::int::smallint", "i": "(random() * 1e9)::int", "l": "(random() * 1e18)::bigint",
    "f": "random()::real", "d": "random() - 0.5", "t": "date '1900-01-01' + (random() * 80000)::int",
    "ts": "timestamp '1999-12-31' + random() * interval '4000 days'",
    "tz": "timestamptz '1999-12-31+02' + random() * interval '4000 days'", "n": "(random() * 1e6)::numeric(12,3)"}
SECONDS = {"t": "(t - date '1970-01-01')", "ts": "(extract(epoch FROM ts) * 1000000)::bigint",
           "tz": "(extract(epoch FROM tz) * 1000000)::bigint", "n": "(n * 1000)::bigint"}
AS_BYTES = {"b": "bool", "s": "<i2", "i": "<i4", "l": "<i8", "f": "<f4", "d": "<f8", "t": "<i4", "ts": "<i8", "tz": "<i8"}


def random_value(name, nulls):
    value = f"CASE WHEN random() < {nulls} THEN NULL ELSE {COLUMNS[name]} END"
    return f"({value})::numeric(12,3)" if name == "n" else value


def parsed(name, texts):
    """What an importer has to find for texts of SELECT; NULLs as 0."""
    if name == "b":
        return np.array([text == "t" for text in texts])
    kind = float if name in "fd" else int
    return np.array([0 if text is None else kind(text) for text in texts], AS_BYTES.get(name, "<i8"))


class GpuImports:
    """Columns in the memory of a GPU, by the Python package and CuPy."""

    def __init__(self):
        import cupy
        import pg_turbine
        self._cupy, self.package = cupy, pg_turbine

    def take(self, token):
        return self.package.importing.import_columns(token)

    def kind(self, columns):
        return columns.device.kind

    def read(self, columns, name):
        """A column's values and mask on the host."""
        cupy, column = self._cupy, columns[name]
        if name == "n":  # 16 bytes a value, of which the values here need 8
            storage = column.storage.values
            words = self.package.columns.DeviceTensor(storage.address, (len(column) * 2,), (8,), "<i8", column.device,
                                                      storage.owner)
            values = cupy.asnumpy(cupy.asarray(words)).reshape(-1, 2)[:, 0]
        else:
            values = cupy.asnumpy(cupy.asarray(column.values))
        return values, cupy.asnumpy(column.mask)


class StandInImports:
    """The same where the GPU's memory is the host's."""

    def take(self, token):
        return redeem(token)

    def kind(self, columns):
        return columns.description["device"]["kind"]

    def read(self, columns, name):
        column = columns.columns[name]
        data, mask = columns.region(column, "values"), ~np.array(columns.valid(column), bool)
        if name == "n":
            values = np.frombuffer(data, "<i8").reshape(-1, 2)[:, 0]
        elif name == "b":
            bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
            values = np.frombuffer(data, np.uint8) != 0 if len(data) >= columns.rows else bits[:columns.rows] != 0
        else:
            values = np.frombuffer(data, AS_BYTES.get(name, "<i4" if name == "id" else "<i8"))
        return values[:columns.rows], mask


class Exports:
    def __init__(self, server, bench, imports, sizes):
        self.server, self.bench, self.imports, self.sizes = server, bench, imports, sizes
        self.left = 0
        self.session = server.connect(settings={"extra_float_digits": "3", "timezone": "UTC", "pg_turbine.device": "gpu"})

    def queries(self):
        return int(self.session.value("SELECT sum(queries_total) FROM turbine.devices WHERE kind = 'cuda'"))

    def fallbacks(self):
        return self.session.query("SELECT counter, value FROM turbine.stat_queries WHERE counter LIKE 'fallback%'")

    def settled(self):
        """(queries, fallbacks) once the view has the latest: it is made anew every second."""
        time.sleep(1.5)
        return self.queries(), self.fallbacks()

    def take(self, sql):
        return self.imports.take(bytes_of(self.session.value(f"SELECT {sql}")))

    def compare(self, name, columns, rows, names):
        complaint = None if self.imports.kind(columns) == "cuda" else "it is not on the GPU"
        for i, column_name in enumerate(names):
            found, mask = self.imports.read(columns, column_name)
            texts = [row[i] for row in rows]
            if len(found) != len(texts):
                complaint = f"{len(found)} rows, expected {len(texts)}"
                break
            wrong = np.flatnonzero((found != parsed(column_name, texts)) | (mask != np.array([text is None for text in texts])))
            if len(wrong):
                complaint = complaint or f"column {column_name}, row {wrong[0]}: {found[wrong[0]]}, expected {texts[wrong[0]]}"
        self.bench.check(name, complaint)

    def values(self, rounds):
        rng = random.Random(7)
        for number in range(rounds):
            rows, nulls = rng.choice(self.sizes), rng.choice([0, 0, 0.2])
            names = rng.sample(list(COLUMNS), rng.randrange(1, len(COLUMNS) + 1))
            skew = rng.choice(["random()", "random() ^ 8", "0.5::float8"])
            self.session.query("DROP TABLE IF EXISTS t")
            made = ", ".join(f"{random_value(name, nulls)} AS {name}" for name in names).replace("random()", skew)
            self.session.query(f"SELECT setseed({rng.random()})")
            self.session.query(f"CREATE TABLE t AS SELECT i AS id, {made} FROM generate_series(1, {rows}) i")
            self.session.query("SELECT turbine.pin('t')")
            listed = ", ".join(SECONDS.get(name, name) for name in names)
            array = "ARRAY[" + ", ".join(f"'{name}'" for name in names) + "]"
            for step in ("inserted", "read again", "deleted", "vacuumed", "updated", "vacuumed again"):
                if step == "deleted":
                    self.session.query(f"DELETE FROM t WHERE id % {rng.choice([3, 100, 5000])} = 0")
                if step == "updated":
                    self.session.query(f"UPDATE t SET id = -id WHERE id % {rng.choice([7, 1000])} = 0")
                if step.startswith("vacuumed"):
                    self.session.query("VACUUM t")
                cached = rng.random() < 0.7
                if cached:
                    self.session.query("SELECT turbine.cache_load('t')")
                expected = self.session.query(f"SELECT {listed} FROM t ORDER BY ctid")
                checked = cached and step.startswith("vacuumed")
                before = self.settled() if checked else None
                self.compare(f"round {number}, {step}", self.take(f"turbine.export('t', {array})"), expected, names)
                # Of a table all of whose blocks are cached, the GPU's own query leaves the columns, if they are large.
                # A copy of the same rows may be there already.
                if checked:
                    queries, fallbacks = self.settled()
                    self.left += queries - before[0]
                    self.bench.equal(f"round {number}, {step}: fallbacks", fallbacks, before[1])
            # A query's rows, in any order: by a number that they have.
            query = f"SELECT id, {', '.join(names)} FROM t WHERE abs(id) % {rng.choice([2, 3, 11])} = 0"
            result = self.take(f"turbine.export(turbine.gpu_result($$ {query} $$))")
            order = np.argsort(self.imports.read(result, "id")[0])
            rows = self.session.query(query.replace(", ".join(names), listed) + " ORDER BY id")
            complaint = None
            for i, name in enumerate(names):
                found, mask = self.imports.read(result, name)
                texts = [row[i + 1] for row in rows]
                if len(found) != len(rows) or (found[order] != parsed(name, texts)).any() or \
                        (mask[order] != np.array([text is None for text in texts])).any():
                    complaint = complaint or f"column {name} differs"
            self.bench.check(f"round {number}, a query's rows", complaint)
        self.bench.check("columns that the GPU's queries left", None if self.left > rounds / 3 else f"only {self.left}")

    def timed(self, name, sql, times=6):
        found = []
        for _ in range(times):
            before, begin = self.queries(), time.monotonic()
            token = self.session.value(f"SELECT {sql}")
            found.append((time.monotonic() - begin) * 1000)
            on_gpu = self.queries() - before
            with self.imports.take(bytes_of(token)):
                pass
            self.session.query(f"SELECT turbine.release('{token}'::bytea)")
        print(f"{name}: {', '.join(f'{ms:.0f}' for ms in found)} ms; queries on the GPU a time: {on_gpu}", flush=True)

    def insert(self, table, values, rows, sessions=8):
        """By several sessions: one alone makes a million rows a second."""
        def part(number):
            with self.server.connect() as session:
                session.query(f"INSERT INTO {table} SELECT {values} FROM generate_series({number + 1}, {rows}, {sessions})")
        with ThreadPoolExecutor(sessions) as pool:
            list(pool.map(part, range(sessions)))

    def times(self, rows, wide_rows):
        query = self.session.query
        query("SET pg_turbine.device = 'auto'")
        query("CREATE TABLE g (x float8)")
        self.insert("g", "random()", rows)
        query("VACUUM g")
        query("SELECT turbine.pin('g')")
        query("SELECT turbine.cache_load('g')")
        self.timed(f"export of {rows * 8 >> 20} MB, one column", "turbine.export('g')")
        self.timed("the same by a query", "turbine.export(turbine.gpu_result('SELECT x FROM g'))")
        self.timed("those above 0.5", "turbine.export(turbine.gpu_result('SELECT x FROM g WHERE x > 0.5'))")
        query("SET pg_turbine.device = 'cpu'")
        self.timed("by way of the host", "turbine.export('g')", times=2)
        query("SET pg_turbine.device = 'auto'")
        query("DROP TABLE g")
        query("CREATE FOREIGN TABLE w (t bool, x1 real, x2 real, x3 real, x4 real) SERVER gstore_fdw OPTIONS (pinning '0')")
        for again in range(2):
            begin = time.monotonic()
            query(f"INSERT INTO w SELECT random() < 0.5, random(), random(), random(), random() FROM generate_series(1, {wide_rows})")
            done = time.monotonic()
            self.timed(f"insert {done - begin:.1f} s; export {'right after the commit' if again == 0 else 'after more rows'}",
                       "turbine.export('w')", times=1)
            if again == 0:
                query("SELECT turbine.cache_load('w')")
                self.timed("later", "turbine.export('w')")
                self.timed("gpu_result", "turbine.export(turbine.gpu_result('SELECT * FROM w'))")


def run(arguments, bench, imports):
    settings = {} if arguments.stand_in else {"shared_buffers": "8GB", "max_wal_size": "32GB"}
    with cluster.Cluster("gpu-exports", settings=settings) as server:
        server.create_extension("postgres")
        server.wait_for_service()
        exports = Exports(server, bench, imports, STAND_IN_ROWS if arguments.stand_in else ROWS)
        if "values" in arguments.only:
            exports.values(arguments.rounds)
        if "times" in arguments.only and not arguments.stand_in:
            exports.times(arguments.rows, arguments.wide_rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--rows", type=int, default=134217728, help="of the large column")
    parser.add_argument("--wide-rows", type=int, default=40_000_000)
    parser.add_argument("--only", default="values,times")
    parser.add_argument("--stand-in", action="store_true", help="a GPU whose kernels are interpreted")
    arguments = parser.parse_args()
    bench = Bench()
    if not arguments.stand_in:
        run(arguments, bench, GpuImports())
    else:
        with stand_in() as report:
            if report is None:
                print("skipped: there is no stand-in driver in this build\n0 passed, 0 failed")
                return 0
            run(arguments, bench, StandInImports())
            bench.equal("the driver", report.complaints()[:5], [])
            bench.check("kernels of exports", None if "tb_export_values" in report.launches() else f"{report.launches()}")
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
