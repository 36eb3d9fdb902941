#!/usr/bin/env python3
"""streams.py - cursors whose batches the service writes while it reads: rows, order, errors, and what is left behind.

`values`: random files and tables of every type, batch by batch, against PostgreSQL's own rows in their order. `shapes`: no
row, one row, batches of other sizes in between, FETCH in between, queries that cannot stream. `errors`: a value that only
PostgreSQL can take, or nobody, in the middle. `ends`: cancelled, closed, terminated, a killed service, a changed file.
`memory`: backend and service stay small while a large file goes by.
Must never: compare a stream with a stream; count a query as streamed that was not.
Called by: make test-streams, test/run_all.py.
"""

import argparse
import datetime
import decimal
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from cache_bench import CPU, Bench  # noqa: E402
from cache_loading import soon  # noqa: E402
from exports import same, token  # noqa: E402
from import_columns import redeem  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from run_sql import OFF  # noqa: E402

COLUMNS = {"i": "int4", "l": "int8", "s": "int2", "d": "float8", "r": "float4", "b": "bool", "day": "date", "at": "timestamp",
           "tz": "timestamptz", "n": "numeric(12,2)", "w": "numeric(30,5)", "t": "text", "k": "text", "v": "varchar(40)"}
ARROW = {"int4": pa.int32(), "int8": pa.int64(), "int2": pa.int16(), "float8": pa.float64(), "float4": pa.float32(), "bool": pa.bool_(),
         "date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", tz="UTC"),
         "numeric(12,2)": pa.decimal128(12, 2), "numeric(30,5)": pa.decimal128(30, 5), "text": pa.string(),
         "varchar(40)": pa.string()}
WORDS = ["", "a", "Straße", "𝄞", "two words", "x" * 19]
SCENES = ("values", "shapes", "errors", "ends", "memory")


def random_column(name, kind, count, rng):
    """Values of a column, some of them None."""
    nulls = 0 if name in ("i", "d") else rng.choice([0, 0.01, 0.5])
    make = {
        "int4": lambda: rng.randrange(-1000, 1000), "int8": lambda: rng.randrange(-1 << 60, 1 << 60),
        "int2": lambda: rng.randrange(-30000, 30000), "float8": lambda: rng.choice([rng.random(), -0.0, float("inf"), float("nan")]),
        "float4": lambda: float(rng.randrange(1000)) / 8, "bool": lambda: rng.random() < 0.5,
        "date": lambda: datetime.date(1970, 1, 1) + datetime.timedelta(days=rng.randrange(-20000, 30000)),
        "timestamp": lambda: datetime.datetime(1990, 1, 1) + datetime.timedelta(microseconds=rng.randrange(1 << 50)),
        "timestamptz": lambda: datetime.datetime(1990, 1, 1, tzinfo=datetime.timezone.utc)
        + datetime.timedelta(microseconds=rng.randrange(1 << 50)),
        "numeric(12,2)": lambda: decimal.Decimal(rng.randrange(-10**10, 10**10)) / 100,
        "numeric(30,5)": lambda: decimal.Decimal(rng.randrange(-10**20, 10**20)) / 100000,
        "text": (lambda: rng.choice(WORDS)) if name == "k" else (lambda: "".join(rng.choices("abcäß€", k=rng.choice([0, 3, 40])))),
        "varchar(40)": lambda: rng.choice(WORDS)}[kind]
    return [None if rng.random() < nulls else make() for _ in range(count)]


def random_batches(counts, rng):
    schema = pa.schema([(name, pa.dictionary(pa.int32(), pa.string()) if name == "k" else ARROW[kind])
                        for name, kind in COLUMNS.items()])
    for count in counts:
        arrays = []
        for name, kind in COLUMNS.items():
            values = pa.array(random_column(name, kind, count, rng), ARROW[kind])
            arrays.append(values.dictionary_encode() if name == "k" else values)
        yield pa.record_batch(arrays, schema=schema)


def write_file(path, batches, compression=None):
    batches = list(batches)
    schema = batches[0].schema
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, schema, compression=compression or "none") as writer:
            for batch in batches:
                writer.write_table(pa.table(batch), row_group_size=max(batch.num_rows, 1))
    else:
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False, compression=compression)
        table = pa.Table.from_batches(batches).unify_dictionaries()
        sizes = [batch.num_rows for batch in batches]
        with pa.ipc.new_file(path, schema, options=options) as writer:
            first = 0
            for size in sizes:
                writer.write_table(table.slice(first, size))
                first += size
    path.chmod(0o644)


def make_foreign(session, name, options, columns=None):
    listed = ", ".join(f"{column} {kind}" for column, kind in (columns or COLUMNS).items())
    session.query(f"CREATE FOREIGN TABLE {name} ({listed}) SERVER arrow_fdw OPTIONS ({options})")


def batch_files(server):
    """Memory of batches that the service has open."""
    folder = f"/proc/{server.service_pid()}/fd"
    count = 0
    for file in os.listdir(folder):
        try:
            count += "pg_turbine batch" in os.readlink(f"{folder}/{file}")
        except OSError:
            continue
    return count


class Stream:
    """A cursor, and its batches as Python values by column."""

    def __init__(self, server, session, query, name="c"):
        self.server, self.session, self.name = server, session, name
        self.is_streamed = False
        session.query(f"BEGIN; SELECT turbine.open_cursor('{name}', $query${query}$query$)")

    def next(self, rows):
        """The batch's columns, each a list; None at the end."""
        result = self.session.value(f"SELECT turbine.fetch_result('{self.name}', {rows})")
        self.is_streamed = self.is_streamed or batch_files(self.server) > 0
        if result is None:
            return None
        with redeem(token(self.session, f"turbine.export('{result}')")) as imported:
            values = [imported.values(name) for name in imported.columns]
        self.session.query(f"SELECT turbine.release('{result}'::turbine.result)")
        return values

    def all(self, rows):
        """All rows as lists of columns, and the batches' sizes."""
        columns, sizes = [], []
        while (batch := self.next(rows)) is not None:
            sizes.append(len(batch[0]))
            columns = [have + more for have, more in zip(columns, batch, strict=True)] if columns else batch
        return columns, sizes

    def close(self):
        self.session.query("ROLLBACK")


def complaint(found, kinds, rows):
    """Where a stream's columns are not the rows that PostgreSQL has returned, in their order; None: nowhere."""
    if not found:
        return f"no rows, expected {len(rows)}" if rows else None
    for number, (kind, column) in enumerate(zip(kinds, found, strict=True)):
        if len(column) != len(rows):
            return f"{len(column)} rows, expected {len(rows)}"
        for row, value in enumerate(column):
            if not same(kind, value, rows[row][number]):
                return f"row {row}, column {number}: {value!r}, expected {rows[row][number]!r}"
    return None


def compare(bench, server, name, query, kinds, sizes=(1000, 8192, 100001), streams=True):
    """Batches of several sizes against PostgreSQL's own rows. `streams`: None where it is not known whether one is seen."""
    with server.connect(settings={**OFF, "timezone": "UTC"}) as plain:
        rows = plain.query(query)
    for size in sizes:
        with server.connect(settings={**CPU, "timezone": "UTC"}) as session:
            stream = Stream(server, session, query)
            found, counts = stream.all(size)
            stream.close()
        bench.check(f"{name}, batches of {size}", complaint(found, kinds, rows))
        whole, rest = divmod(len(rows), size)
        bench.equal(f"{name}, sizes of {size}", counts, [size] * whole + [rest] * (rest > 0))
        if rows and streams is not None:
            bench.equal(f"{name}, streamed", stream.is_streamed, streams)


def in_any_order(bench, server, query):
    """Numbers and booleans of a query that is not streamed: its rows may come in any order."""
    with server.connect(settings=OFF) as plain:
        wanted = sorted(plain.query(query), key=str)
    with server.connect(settings=CPU) as session:
        stream = Stream(server, session, query)
        found, _ = stream.all(4000)
        stream.close()
    printed = [["tf"[not value] if isinstance(value, bool) else value if value is None else str(value) for value in column]
               for column in found]
    bench.equal(f"{query}, streamed", stream.is_streamed, False)
    bench.check(query, None if sorted(zip(*printed, strict=True), key=str) == wanted else "other rows")


def values(bench, server, folder, rng):
    every = list(COLUMNS.values())
    with server.connect(settings={**CPU, "timezone": "UTC"}) as session:
        for number, (suffix, compression) in enumerate((("parquet", None), ("parquet", "zstd"), ("arrow", None), ("arrow", "lz4"))):
            path = folder / f"v{number}.{suffix}"
            write_file(path, random_batches((5000, 1, 16384, 3000), rng), compression)
            make_foreign(session, f"v{number}", f"file '{path}'")
        for number in range(3):
            (folder / "many").mkdir(exist_ok=True)
            (folder / "many").chmod(0o755)
            write_file(folder / "many" / f"{number}.parquet", random_batches((2000, 777), rng))
        make_foreign(session, "many", f"dir '{folder / 'many'}'")
        session.query("CREATE TABLE h (id int, " + ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()) + ")")
        session.query("INSERT INTO h SELECT row_number() OVER (), v.* FROM v0 v")
        session.query("DELETE FROM h WHERE id % 7 = 0; UPDATE h SET l = l + 1 WHERE id % 11 = 0 AND l < 1000000")
        session.query("CREATE TABLE all_visible AS SELECT * FROM h")
        session.query("VACUUM (FREEZE) all_visible")
    for table in ("v0", "v1", "v2", "v3", "many"):
        compare(bench, server, table, f"SELECT * FROM {table}", every)
    for table in ("h", "all_visible"):
        compare(bench, server, table, f"SELECT * FROM {table}", ["int4", *every])
    for table in ("v0", "v2", "many", "h"):
        compare(bench, server, f"filter of {table}", f"SELECT b, t, n, i FROM {table} WHERE i % 3 = 0 AND l > 0",
                ["bool", "text", "numeric(12,2)", "int4"], sizes=(999,))
        in_any_order(bench, server, f"SELECT i + 1 AS a, i > 5 AS g, l FROM {table} WHERE i < 500")
    compare(bench, server, "nothing passes", "SELECT i, t FROM v0 WHERE i > 5000", ["int4", "text"])


def shapes(bench, server, folder, rng):
    with server.connect(settings=CPU) as session:
        for name, counts in (("empty", (0,)), ("one", (1,)), ("edges", (16383, 16384, 16385, 1))):
            write_file(folder / f"{name}.parquet", random_batches(counts, rng))
            make_foreign(session, name, f"file '{folder / f'{name}.parquet'}'")
    every = list(COLUMNS.values())
    compare(bench, server, "no row", "SELECT * FROM empty", every)
    compare(bench, server, "one row", "SELECT * FROM one", every, sizes=(1, 2))
    compare(bench, server, "edges", "SELECT * FROM edges", every, sizes=(16384, 64, 1 << 21))
    # Columns of fixed width go straight to their batch.
    fixed = ["i", "b", "at", "n", "l", "i", "r", "w", "day"]
    compare(bench, server, "fixed width", "SELECT i, b, at, n, l, i AS again, r, w, day FROM edges", [COLUMNS[name] for name in fixed],
            sizes=(16384, 20000, 64, 30000, 1 << 21))
    some = [pa.record_batch([pa.array(values, pa.int64())], names=["l"])
            for values in ([None] * 100, list(range(20000)), [None, 1] * 10000, [7] * 16384)]
    write_file(folder / "some.parquet", some)
    with server.connect(settings=CPU) as session:
        make_foreign(session, "sparse", f"file '{folder / 'some.parquet'}'", {"l": "int8"})
    compare(bench, server, "NULLs here and there", "SELECT l FROM sparse", ["int8"], sizes=(100, 19999, 30000, 1 << 20))
    # What has no order, or is computed at the end, takes the other way.
    for query, kinds in (("SELECT i, l FROM edges ORDER BY l, i LIMIT 5000", ["int4", "int8"]),
                         ("SELECT i, count(*) FROM edges GROUP BY i ORDER BY i", ["int4", "int8"]),
                         ("SELECT i, d FROM edges OFFSET 100 LIMIT 3000", ["int4", "float8"])):
        compare(bench, server, query, query, kinds, sizes=(777,), streams=False)
    with server.connect(settings=OFF) as plain:
        rows = plain.query("SELECT i, l FROM edges")
    with server.connect(settings=CPU) as session:
        # Other sizes in between, and FETCH.
        stream = Stream(server, session, "SELECT i, l FROM edges")
        found = [[], []]
        for size in (1000, 1000, 5000, 17, 17, 1 << 20):
            for column, more in zip(found, stream.next(size), strict=True):
                column.extend(more)
        bench.equal("the end", stream.next(5), None)
        bench.check("batches of other sizes", complaint(found, ["int4", "int8"], rows))
        bench.equal("they are a stream's", stream.is_streamed, True)
        stream.close()
        stream = Stream(server, session, "SELECT i, l FROM edges")
        found = stream.next(4000)
        for row in session.query("FETCH 10 FROM c"):
            for column, value in zip(found, row, strict=True):
                column.append(None if value is None else int(value))
        while (batch := stream.next(4000)) is not None:
            for column, more in zip(found, batch, strict=True):
                column.extend(more)
        bench.check("FETCH in between", complaint(found, ["int4", "int8"], rows))
        stream.close()
        # Two at once in one session.
        session.query("BEGIN; SELECT turbine.open_cursor('a', 'SELECT i FROM edges'), turbine.open_cursor('z', 'SELECT l FROM edges')")
        sizes = []
        while (result := session.value("SELECT turbine.fetch_result('a', 20000)")) is not None:
            sizes.append(redeem(token(session, f"turbine.export('{result}')")).rows)
            sizes.append(redeem(token(session, "turbine.export(turbine.fetch_result('z', 20000))")).rows)
        bench.equal("two cursors", sizes, [20000, 20000, 20000, 20000, 9153, 9153])
        session.query("ROLLBACK")
    bench.equal("their memory is gone", soon(lambda: batch_files(server) == 0, 10), True)


def errors(bench, server, folder, rng):
    counts = (20000, 20000, 20000)
    batches = list(random_batches(counts, rng))
    schema = batches[0].schema
    # A NULL in a column declared NOT NULL: PostgreSQL returns it, the engine does not take it.
    ones = [pa.array([1] * count, pa.int32()) for count in counts]
    ones[2] = pa.array([1] * 15000 + [None] + [1] * 4999, pa.int32())
    zeros = [pa.array([2] * count, pa.int32()) for count in counts]
    zeros[2] = pa.array([2] * 15000 + [0] + [2] * 4999, pa.int32())
    late = [pa.record_batch([*batch.columns, one, zero], names=[*schema.names, "o", "z"])
            for batch, one, zero in zip(batches, ones, zeros, strict=True)]
    write_file(folder / "late.parquet", late)
    with server.connect(settings=CPU) as session:
        make_foreign(session, "late", f"file '{folder / 'late.parquet'}'", {"i": "int4", "t": "text", "o": "int4 NOT NULL", "z": "int4"})
    compare(bench, server, "a value that only PostgreSQL takes", "SELECT i, t, o FROM late", ["int4", "text", "int4"],
            sizes=(3000, 100000), streams=None)
    with server.connect(settings=CPU) as session:
        for query, state in (("SELECT i, 10 / z AS q FROM late", "22012"), ("SELECT i FROM late WHERE 10 / z > 0", "22012")):
            stream = Stream(server, session, query)
            rows, outcome = 0, None
            while True:
                outcome = session.run("SELECT turbine.fetch_result('c', 5000)")
                if outcome.sqlstate != "00000":
                    break
                rows += 5000
                if rows > 60000:
                    break
            bench.equal(f"{query}: the error", outcome.sqlstate, state)
            bench.equal(f"{query}: batches before it", rows, 55000)
            stream.close()
        bench.equal("the session is usable", session.value("SELECT 1"), "1")
        # Values without a form.
        session.query("CREATE TABLE odd (id int, day date); INSERT INTO odd SELECT i, CASE WHEN i = 70000 THEN 'infinity' "
                      "ELSE date '2020-01-01' END FROM generate_series(1, 80000) i")
        stream = Stream(server, session, "SELECT id, day FROM odd")
        outcomes = [session.run("SELECT turbine.fetch_result('c', 30000)") for _ in range(3)]
        bench.equal("an infinite date", [outcome.sqlstate for outcome in outcomes], ["00000", "00000", "22008"])
        stream.close()
        # Values that are stored out of line have to come from PostgreSQL.
        session.query("CREATE TABLE toasted (id int, t text); ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL; INSERT INTO toasted "
                      "SELECT i, CASE WHEN i = 20000 THEN repeat('x', 10000) ELSE 'short' END FROM generate_series(1, 30000) i")
    compare(bench, server, "a value out of line", "SELECT id, t FROM toasted", ["int4", "text"], sizes=(4000,), streams=None)


def ends(bench, server, folder, rng):
    write_file(folder / "ends.parquet", random_batches((16384,) * 12, rng))
    query = "SELECT i, t, l FROM ends"
    kinds = ["int4", "text", "int8"]
    with server.connect(settings=CPU) as session:
        make_foreign(session, "ends", f"file '{folder / 'ends.parquet'}'")
    with server.connect(settings=OFF) as plain:
        rows = plain.query(query)
        # Killed after some batches: the rest is PostgreSQL's.
        for after in (0, 1, 5):
            with server.connect(settings=CPU) as session:
                stream = Stream(server, session, query)
                found = [[], [], []]
                for _ in range(after):
                    for column, more in zip(found, stream.next(7000), strict=True):
                        column.extend(more)
                os.kill(server.service_pid(), signal.SIGKILL)
                server.wait_for_service()
                while (batch := stream.next(7000)) is not None:
                    for column, more in zip(found, batch, strict=True):
                        column.extend(more)
                bench.check(f"service killed after {after} batches", complaint(found, kinds, rows))
                bench.equal(f"{after} were streamed", stream.is_streamed, True) if after else None
                stream.close()
        with server.connect(settings=CPU) as session:
            # Cancelled at any moment: the session goes on.
            for delay in (0.001, 0.003, 0.01, 0.03, 0.1):
                stream = Stream(server, session, query)
                timer = threading.Timer(delay, session.cancel)
                timer.start()
                states = set()
                while True:
                    outcome = session.run("SELECT turbine.fetch_result('c', 500)")
                    states.add(outcome.sqlstate)
                    if outcome.sqlstate != "00000" or outcome.rows[0][0] is None:
                        break
                timer.join()
                session.run("SELECT 1")
                bench.check(f"cancelled after {delay} s", None if states <= {"00000", "57014"} else str(states))
                session.run("ROLLBACK")
            session.query("SELECT turbine.release(result) FROM turbine.exports")
            bench.equal("a cancelled stream leaves nothing", soon(lambda: batch_files(server) == 0, 10), True)
            # Left in the middle; and by a rollback to a savepoint.
            stream = Stream(server, session, query)
            stream.next(1000)
            session.query("CLOSE c; COMMIT")
            bench.equal("a closed cursor leaves nothing", soon(lambda: batch_files(server) == 0, 10), True)
            session.query("BEGIN; SAVEPOINT s")
            session.query(f"SELECT turbine.open_cursor('c', '{query}'); SELECT turbine.fetch_result('c', 1000); ROLLBACK TO s; COMMIT")
            session.query("SELECT turbine.release(result) FROM turbine.exports")
            bench.equal("nor does a savepoint", soon(lambda: batch_files(server) == 0, 10), True)
            # Snapshot: what is committed later does not show.
            session.query("CREATE TABLE grows AS SELECT i FROM generate_series(1, 100000) i")
            stream = Stream(server, session, "SELECT i FROM grows")
            found = stream.next(10000)
            with server.connect(settings=CPU) as other:
                other.query("INSERT INTO grows SELECT i FROM generate_series(1, 50000) i; DELETE FROM grows WHERE i > 60000")
            while (batch := stream.next(10000)) is not None:
                found[0].extend(batch[0])
            bench.equal("one snapshot", found[0], list(range(1, 100001)))
            stream.close()
        # The session ends: an importer keeps what it has.
        session = server.connect(settings=CPU)
        stream = Stream(server, session, query)
        result = session.value("SELECT turbine.fetch_result('c', 5000)")
        imported = redeem(token(session, f"turbine.export('{result}')"))
        pid = int(session.value("SELECT pg_backend_pid()"))
        try:
            session.query(f"SELECT pg_terminate_backend({pid})")
            session.query("SELECT 1")
        except (ConnectionLost, DatabaseError):
            pass
        bench.check("an importer reads on", complaint([imported.values(name) for name in ("i", "t", "l")], kinds, rows[:5000]))
        imported.close()
        bench.equal("then all is gone", soon(lambda: batch_files(server) == 0, 10), True)
        bench.equal("and nothing counts", soon(lambda: plain.value("SELECT count(*) FROM turbine.exports") == "0", 10), True)
        # The file changes, and the service is lost: no mixture of both.
        with server.connect(settings=CPU) as session:
            stream = Stream(server, session, query)
            stream.next(7000)
            write_file(folder / "other.parquet", random_batches((16384,) * 12, rng))
            os.replace(folder / "other.parquet", folder / "ends.parquet")
            os.kill(server.service_pid(), signal.SIGKILL)
            states = [session.run("SELECT turbine.fetch_result('c', 7000)").sqlstate for _ in range(4)]
            bench.check("a file that has changed", None if "55000" in states else str(states))
            session.run("ROLLBACK")
        server.wait_for_service()


def resident(pid):
    """Bytes of a process' memory that are not a file's."""
    with open(f"/proc/{pid}/status") as status:
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith(("RssAnon", "RssShmem")))


def memory(bench, server, folder, rng):
    """A file that is large beside a batch: what is used after the first half is no more than before."""
    rows, group, size = 24_000_000, 1 << 20, 262144
    schema = pa.schema([(f"x{i}", pa.float32()) for i in range(4)])
    path = folder / "large.parquet"
    column = pa.array([float(row % 1000) for row in range(group)], pa.float32())
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, rows, group):
            writer.write_table(pa.table([column.slice(0, min(group, rows - first))] * 4, schema=schema), row_group_size=group)
    path.chmod(0o644)
    with server.connect(settings=CPU) as session:
        make_foreign(session, "large", f"file '{path}'", {f"x{i}": "real" for i in range(4)})
        processes = {"backend": int(session.value("SELECT pg_backend_pid()")), "service": server.service_pid()}
        before = {name: resident(pid) for name, pid in processes.items()}
        most = {name: [0, 0] for name in processes}  # of either half
        files, count = 0, 0
        stream = Stream(server, session, "SELECT x0, x1, x2, x3 FROM large")
        while (result := session.value(f"SELECT turbine.fetch_result('c', {size})")) is not None:
            half = count * 2 >= rows
            with redeem(token(session, f"turbine.export('{result}')")) as imported:
                count += imported.rows
            session.query(f"SELECT turbine.release('{result}'::turbine.result)")
            if count == 4 * size:
                # A reader that waits is not overrun.
                time.sleep(1)
            files = max(files, batch_files(server))
            for name, pid in processes.items():
                most[name][half] = max(most[name][half], resident(pid) - before[name])
        stream.close()
        bench.equal("all rows", count, rows)
        bench.check("few batches at once", None if files <= 2 * 4 * 8 else f"{files} files")
        for name, (first, second) in most.items():
            bench.check(f"the {name} stays as it is", None if second < first + (16 << 20) else f"{first >> 20} MB, later {second >> 20}")
            bench.check(f"the {name} stays small", None if max(first, second) < 192 << 20 else f"{max(first, second) >> 20} MB")
        grown = ", ".join(f"{name} + {max(both) >> 20} MB" for name, both in most.items())
        print(f"{path.stat().st_size >> 20} MB streamed: {grown}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=SCENES)
    options = parser.parse_args()
    bench = Bench()
    # Batches stay in host memory, where they can be read here.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    with tempfile.TemporaryDirectory(prefix="pgt-streams-") as folder, cluster.Cluster("streams") as server:
        os.chmod(folder, 0o755)
        server.create_extension("postgres")
        server.wait_for_service()
        for scene in (values, shapes, errors, ends, memory):
            if scene.__name__ in options.only:
                scene(bench, server, Path(folder), random.Random(options.seed))
    print(f"{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(error)
        sys.exit(1)
