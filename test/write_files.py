#!/usr/bin/env python3
"""write_files.py - INSERT, COPY and TRUNCATE of writable foreign tables.

Files that pyarrow has made get rows of every type, and pyarrow, DuckDB and polars must find in them what was inserted;
new files must be what turbine.to_arrow writes, with the edge values of every type; and what a transaction sees, keeps and
takes back is compared with a heap table to which the same is done. Processes that are killed, and full disks: write_faults.py.
Called by: make test-write-files, test/run_all.py, with the Python of build/python, which has pyarrow.
"""

import io
import json
import os
import random
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import file_readers  # noqa: E402
import postgres_values  # noqa: E402
from arrow_columns import TYPES, columns, definition, make_table, make_values  # noqa: E402
from cache_bench import Bench  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402
from to_file import COLUMNS, ROWS  # noqa: E402

DENIED, NO_SUPPORT, BAD_OPTION, BAD_TYPE, BAD_VALUE, NOT_WRITABLE = "42501", "0A000", "HV00D", "HV004", "22003", "55000"
# Types of files in which values of the table's type have no form: read, not written.
ONLY_READ = ("tens", "duration", "runs", "view", "matrix", "ragged", "struct", "struct_json", "structs", "map", "entries", "mixed",
             "map_of_ints")


def read(path):
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def write(path, table, rows=1 << 20):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    os.chmod(path, 0o666)
    if os.geteuid() == 0:
        # The server's own: it cannot give files away.
        os.chown(path, path.parent.stat().st_uid, path.parent.stat().st_gid)
    return path


def left_beside(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


def make_writable(session, name, sql, path, more=""):
    session.query(f"DROP FOREIGN TABLE IF EXISTS {name}; CREATE FOREIGN TABLE {name} ({sql}) "
                  f"SERVER arrow_fdw OPTIONS (file '{path}', writable 'true'{more})")


def values_of(column, array):
    """As Python's, for a comparison: dictionaries and runs as their values, JSON by its meaning."""
    values = array.to_pylist()
    return [json.loads(value) if column.sql == "jsonb" and isinstance(value, str) else value for value in values]


def types_of_files(bench, server, folder):
    """A file with a column of each Arrow type, made by pyarrow; what is read of another one is inserted into it, twice."""
    rng = random.Random(7)
    with server.connect(settings=OFF) as session:
        session.query(TYPES)
        for column in columns()[1:]:
            wanted = [columns()[0], column]
            tables = []
            for _ in range(3):
                values = make_values(wanted, rng, 60, 0.2)
                if column.name == "fixed_char":
                    # A char(3) of two characters has three and four bytes with its blank.
                    values[column.name] = [value and b"abc" for value in values[column.name]]
                tables.append(make_table(wanted, values))
            path = write(folder / f"type_{column.name}.arrow", tables[0])
            make_writable(session, "w", definition(wanted), path)
            for part in (1, 2):
                source = write(folder / "source.arrow", tables[part])
                session.query(f"DROP FOREIGN TABLE IF EXISTS source; CREATE FOREIGN TABLE source ({definition(wanted)}) "
                              f"SERVER arrow_fdw OPTIONS (file '{source}')")
                outcome = session.run("INSERT INTO w SELECT * FROM source")
                if column.name in ONLY_READ:
                    bench.equal(f"{column.name}: only read", outcome.sqlstate, BAD_TYPE)
                    continue
                bench.equal(f"{column.name}: INSERT", (outcome.sqlstate, str(outcome.error and outcome.error.fields)), ("00000", "None"))
            expected = tables[:1] if column.name in ONLY_READ else tables
            found = read(path)
            bench.equal(f"{column.name}: type", found.schema.field(column.name).type, column.arrow)
            for name, part in (("id", wanted[0]), (column.name, column)):
                right = [value for table in expected for value in values_of(part, table[name])]
                bench.equal(f"{column.name}: {name}", values_of(part, found[name]), right)
            # JSON's texts may differ.
            if column.name not in ONLY_READ and column.sql != "jsonb":
                parts = {name: [table[name] for table in tables] for name in ("id", column.name)}
                file_readers.compare(bench, f"{column.name}: read", path, None, {
                    name: [value for part in same for value in file_readers.exact_column(part, file_readers.kind_of(part.type))]
                    for name, same in parts.items()})


def new_files(bench, server, folder):
    """A file that is not there, and an empty one, become what turbine.to_arrow writes."""
    types = ", ".join(f"c{i} {kind}" for i, kind in enumerate(COLUMNS))
    values = ", ".join(f"CASE WHEN i % 11 <> {i % 11} THEN ({value})::{kind} END"
                       for i, (kind, value) in enumerate(COLUMNS.items()))
    with server.connect(settings=OFF) as session:
        session.query(f"CREATE TABLE t (id int, {types}); INSERT INTO t SELECT i, {values} FROM generate_series(1, {ROWS}) i")
        session.query(f"SELECT turbine.to_arrow('SELECT * FROM t', '{folder}/right.arrow')")
        right = read(folder / "right.arrow")
        for name in ("new", "empty"):
            path = folder / f"{name}.arrow"
            if name == "empty":
                path.touch()
                os.chmod(path, 0o640)
                if os.geteuid() == 0:
                    os.chown(path, folder.stat().st_uid, folder.stat().st_gid)
            make_writable(session, "w", f"id int, {types}", path)
            bench.equal(f"{name}: no rows yet", session.query("SELECT * FROM w"), [])
            session.query("INSERT INTO w SELECT * FROM t WHERE false")
            bench.equal(f"{name}: no rows, no file", path.exists() and path.stat().st_size, name == "empty" and 0)
            session.query("INSERT INTO w SELECT * FROM t")
            found = read(path)
            bench.check(f"{name}: schema", None if found.schema.equals(right.schema) else str(found.schema))
            bench.check(f"{name}: rows", None if found.equals(right) else "they differ")
            bench.equal(f"{name}: rows back", session.value("SELECT count(*) FROM (SELECT * FROM t EXCEPT ALL SELECT * FROM w) x"), "0")
        postgres_values.make_edges(session)
        path = folder / "edges.arrow"
        make_writable(session, "w", postgres_values.definition(), path)
        # Each INSERT adds a batch.
        for condition in ("n < 5", "n < 0", "n >= 5"):
            session.query(f"INSERT INTO w SELECT * FROM edges WHERE {condition}")
        file_readers.compare(bench, "edges", path, "n", postgres_values.expected_of(session, "edges", "n", False))
        session.query("TRUNCATE w")
        file_readers.compare(bench, "edges, emptied", path, "n", postgres_values.expected_of(session, "edges", "n", False, "n < 0"))
        bench.equal("the empty file's rights", oct((folder / "empty.arrow").stat().st_mode & 0o777), "0o640")


def rows(bench, server, folder):
    """COPY, large rows, columns that are dropped, called otherwise, computed or missing; constraints."""
    path = folder / "rows.arrow"
    with server.connect(settings=OFF) as session:
        make_writable(session, "w", "id int, name text, at timestamptz", path)
        lines = "".join(f"{i}\t{'name ' + str(i % 77) if i % 5 else chr(92) + 'N'}\t2026-01-01 00:00:{i % 60:02}+00\n"
                        for i in range(100000))
        outcome = session.copy_in("COPY w FROM STDIN", io.BytesIO(lines.encode()))
        bench.equal("COPY", outcome.sqlstate, "00000")
        table = read(path)
        bench.equal("COPY: ids", table["id"].to_pylist(), list(range(100000)))
        bench.equal("COPY: names", table["name"].to_pylist(), [f"name {i % 77}" if i % 5 else None for i in range(100000)])
        outcome = session.copy_in("COPY w FROM STDIN", io.BytesIO(b"1\ta\t2026-01-01\n2\tb\tnever\n"))
        bench.equal("COPY with an error", outcome.sqlstate, "22007")
        bench.equal("COPY with an error: rows", read(path).num_rows, 100000)

        path = folder / "large.arrow"
        make_writable(session, "w", "id int, name text, gone int, bytes bytea", path)
        session.query("ALTER FOREIGN TABLE w DROP COLUMN gone")
        session.query("INSERT INTO w SELECT i, repeat(md5(i::text), 1000000), decode(repeat('ab', 3000000), 'hex') "
                      "FROM generate_series(1, 3) i")
        table = read(path)
        bench.equal("large rows", [(len(row["name"]), row["name"][:4], len(row["bytes"])) for row in table.to_pylist()],
                    [(32000000, "c4ca", 3000000), (32000000, "c81e", 3000000), (32000000, "eccb", 3000000)])
        bench.equal("large rows: columns", table.schema.names, ["id", "name", "bytes"])

        named = {"Key": pa.array([1], pa.int64()), "other": pa.array(["x"]), "n": pa.array([2], pa.int8())}
        path = write(folder / "named.arrow", pa.table(named))
        make_writable(session, "w", "n int DEFAULT 5, id bigint OPTIONS (column_name 'Key'), CHECK (n < 1000)", path)
        bench.equal("RETURNING", session.query("INSERT INTO w (id) VALUES (7), (8) RETURNING id * 2, n"), [("14", "5"), ("16", "5")])
        bench.equal("names and defaults", read(path).to_pylist(), [{"Key": 1, "other": "x", "n": 2}, {"Key": 7, "other": None, "n": 5},
                                                                   {"Key": 8, "other": None, "n": 5}])
        for name, sql, sqlstate in (("CHECK", "INSERT INTO w VALUES (1000, 1)", "23514"), ("a value that does not fit",
                                                                                           "INSERT INTO w VALUES (300, 1)", BAD_VALUE),
                                    ("ON CONFLICT", "INSERT INTO w VALUES (1) ON CONFLICT DO NOTHING", NO_SUPPORT),
                                    ("UPDATE", "UPDATE w SET n = 1", NO_SUPPORT), ("DELETE", "DELETE FROM w", NO_SUPPORT)):
            outcome = session.run(sql)
            bench.equal(name, outcome.sqlstate, sqlstate)
            words = str(outcome.error and outcome.error.fields)
            bench.check(f"{name}: words", None if name != "a value that does not fit" or ('"n"' in words and "300" in words) else words)
        make_writable(session, "w", "id int NOT NULL, twice int GENERATED ALWAYS AS (id * 2) STORED", folder / "computed.arrow")
        session.query("INSERT INTO w (id) VALUES (1), (2)")
        bench.equal("generated columns", read(folder / "computed.arrow")["twice"].to_pylist(), [2, 4])
        bench.fails("NOT NULL", session, "INSERT INTO w (id) VALUES (3), (NULL)", "23502")

        write(path, pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([1], pa.int32())},
                             pa.schema([pa.field("a", pa.int32()), pa.field("b", pa.int32(), nullable=False)])))
        make_writable(session, "w", "a int", path)
        bench.fails("a column that takes no NULL is missing", session, "INSERT INTO w VALUES (1)", BAD_TYPE)
        make_writable(session, "w", "a int, b int", path)
        bench.fails("NULL where the file takes none", session, "INSERT INTO w VALUES (1, NULL)", BAD_VALUE)
        session.query("INSERT INTO w VALUES (NULL, 2)")
        bench.equal("and others", read(path).to_pylist(), [{"a": 1, "b": 1}, {"a": None, "b": 2}])
        for kind, arrow, value in (("double precision", pa.float32(), "0.1"), ("numeric", pa.decimal128(5, 2), "1.234"),
                                   ("timestamp", pa.timestamp("s"), "'2026-01-01 00:00:00.5'"), ("numeric", pa.int64(), "1.5"),
                                   ("date", pa.date32(), "'infinity'"), ("text", pa.binary(3), "'four'"), ("text", pa.null(), "'x'"),
                                   ("int[]", pa.list_(pa.int8()), "'{1,300}'"), ("int[]", pa.list_(pa.int32(), 2), "'{1,2,3}'"),
                                   ("int[]", pa.list_(pa.int32()), "'{{1},{2}}'")):
            write(path, pa.table({"v": pa.array([], arrow)}))
            make_writable(session, "w", f"v {kind}", path)
            outcome = session.run(f"INSERT INTO w VALUES (NULL), ({value})")
            bench.equal(f"{value} as {arrow}", outcome.sqlstate, BAD_VALUE)
            bench.check(f"{value} as {arrow}: names", None if '"v"' in str(outcome.error and outcome.error.fields) else str(outcome.error))
            bench.equal(f"{value} as {arrow}: rows", read(path).num_rows, 0)
        make_writable(session, "w", "", folder / "none.arrow")
        bench.fails("no columns", session, "INSERT INTO w DEFAULT VALUES", NO_SUPPORT)
        for table, column in (("w", "a int"), ("w2", "b text")):
            make_writable(session, table, column, folder / "two.arrow")
        bench.fails("two tables of one new file", session, "WITH a AS (INSERT INTO w VALUES (1)) INSERT INTO w2 VALUES ('b')", BAD_TYPE)
        bench.equal("left beside", [(folder / "two.arrow").exists()] + left_beside(folder), [False])


def partitions(bench, server, folder):
    """Rows find their partition, and a partition takes no others."""
    with server.connect(settings=FORCED) as session:
        session.query("CREATE TABLE log (day date, v int) PARTITION BY RANGE (day)")
        session.query("CREATE TABLE log_heap PARTITION OF log FOR VALUES FROM ('2026-01-03') TO ('2027-01-01')")
        for day in (1, 2):
            session.query(f"CREATE FOREIGN TABLE log_{day} PARTITION OF log FOR VALUES FROM ('2026-01-0{day}') TO ('2026-01-0{day + 1}') "
                          f"SERVER arrow_fdw OPTIONS (file '{folder}/log_{day}.arrow', writable 'true')")
        session.query("INSERT INTO log SELECT date '2026-01-01' + i % 4, i FROM generate_series(0, 9999) i")
        bench.equal("routed", [read(folder / f"log_{day}.arrow")["v"].to_pylist() for day in (1, 2)],
                    [list(range(day, 10000, 4)) for day in (0, 1)])
        bench.equal("one table", session.query("SELECT day, count(*), sum(v) FROM log GROUP BY day ORDER BY day"),
                    [(f"2026-01-0{day + 1}", "2500", str(sum(range(day, 10000, 4)))) for day in range(4)])
        lines = "".join(f"2026-01-0{i % 3 + 1}\t{i}\n" for i in range(300))
        bench.equal("COPY", session.copy_in("COPY log FROM STDIN", io.BytesIO(lines.encode())).sqlstate, "00000")
        bench.equal("COPY: rows", [read(folder / f"log_{day}.arrow").num_rows for day in (1, 2)], [2600, 2600])
        bench.fails("a row of another partition", session, "INSERT INTO log_1 VALUES ('2026-01-02', 1)", "23514")
        bench.fails("UPDATE", session, "UPDATE log SET v = 1", NO_SUPPORT)
        session.query("TRUNCATE log")
        bench.equal("TRUNCATE", [read(folder / f"log_{day}.arrow").num_rows for day in (1, 2)], [0, 0])
        session.query("BEGIN; INSERT INTO log VALUES ('2026-01-01', 1), ('2026-01-02', 2)")
        session.run("INSERT INTO log VALUES ('2030-01-01', 1)")
        session.run("COMMIT")
        bench.equal("all or none", session.value("SELECT count(*) FROM log"), "0")


def transactions(bench, server, folder):
    """Random statements, savepoints and rollbacks, done to a file and to a heap table."""
    path = folder / "steps.arrow"
    rng = random.Random(11)
    with server.connect(settings=OFF) as session:
        make_writable(session, "w", "id int, name text", path)
        session.query("CREATE TABLE h (id int, name text)")
        number = 0

        def compare(name):
            rows = "(SELECT id, name FROM {} EXCEPT ALL SELECT id, name FROM {})"
            found = session.query(f"SELECT count(*) FROM w UNION ALL SELECT count(*) FROM h UNION ALL SELECT count(*) FROM "
                                  f"({rows.format('w', 'h')} UNION ALL {rows.format('h', 'w')}) x")
            bench.check(name, None if found[0] == found[1] and found[2] == ("0",) else str(found))

        for round_number in range(25):
            session.query("BEGIN")
            savepoints = []
            for step in range(rng.randrange(1, 9)):
                action = rng.choice(("insert", "insert", "insert", "savepoint", "savepoint", "rollback to", "release", "truncate", "fail"))
                number += 1
                if action == "insert":
                    for table in ("w", "h"):
                        session.query(f"INSERT INTO {table} SELECT i, 'round {round_number}' "
                                      f"FROM generate_series({number * 100}, {number * 100 + number % 7}) i")
                elif action == "savepoint":
                    savepoints.append(f"s{number}")
                    session.query(f"SAVEPOINT s{number}")
                elif action in ("rollback to", "release") and savepoints:
                    place = rng.randrange(len(savepoints))
                    session.query(f"{action} {savepoints[place]}")
                    del savepoints[place + (action == "rollback to"):]
                elif action == "truncate" and rng.random() < 0.5:
                    for table in ("w", "h"):
                        session.query(f"TRUNCATE {table}")
                elif action == "fail" and savepoints:
                    bench.fails("a failed INSERT", session, "INSERT INTO w SELECT i, (1 / (5 - i))::text FROM generate_series(1, 9) i",
                                "22012")
                    session.query(f"ROLLBACK TO {savepoints[-1]}")
                compare(f"round {round_number}, step {step}")
            session.query(rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
            compare(f"round {round_number}")
            bench.equal(f"round {round_number}: pyarrow", path.exists() and read(path).num_rows or 0,
                        int(session.value("SELECT count(*) FROM h")))
            bench.equal(f"round {round_number}: left beside", left_beside(folder), [])
        session.query("TRUNCATE w, h")
        for table in ("w", "h"):
            session.query(f"DO $$ BEGIN FOR i IN 1..6 LOOP BEGIN INSERT INTO {table} SELECT g, 'x' FROM generate_series(1, i) g; "
                          "IF i % 2 = 0 THEN RAISE EXCEPTION 'no'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; END LOOP; END $$")
        compare("exceptions that a function catches")
        for table in ("w", "h"):
            session.query(f"WITH a AS (INSERT INTO {table} VALUES (100, 'a') RETURNING id), "
                          f"b AS (INSERT INTO {table} VALUES (101, 'b') RETURNING id) "
                          f"INSERT INTO {table} SELECT id + 1, 'c' FROM {table}")
        compare("statements in one another")
        session.query("BEGIN; DECLARE early CURSOR FOR SELECT count(*) FROM w; DECLARE rows CURSOR FOR SELECT id FROM w")
        for name, value in FORCED.items():
            session.query(f"SET LOCAL {name} = '{value}'")
        session.query("DECLARE engine CURSOR FOR SELECT count(*), sum(id) FROM w")
        sums = session.query("SELECT count(*), sum(id) FROM h")
        count = session.value("SELECT count(*) FROM h")
        session.query("INSERT INTO w VALUES (1, 'late')")
        bench.equal("a cursor sees no later rows", session.query("FETCH early")[0][0], count)
        bench.equal("nor one of the engine", session.query("FETCH engine"), sums)
        bench.equal("nor this one", len(session.query("FETCH ALL rows")), int(count))
        session.query("ROLLBACK; BEGIN; INSERT INTO w VALUES (1, 'late')")
        bench.fails("PREPARE TRANSACTION", session, "PREPARE TRANSACTION 'w'", NO_SUPPORT)
        session.run("ROLLBACK")
        compare("afterwards")
        for table in ("w", "h"):
            session.query("BEGIN; " + f"INSERT INTO {table} VALUES (1, 'one of many'); " * 600)
        compare("many statements")
        session.query("COMMIT")
        compare("many statements, committed")


def waits(session, pid):
    return session.value(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND wait_event_type = 'Lock'") == "1"


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def sessions(bench, server, folder):
    """Writers of one file wait for each other, whatever they call it; readers for nobody."""
    path = write(folder / "shared.arrow", pa.table({"id": pa.array(range(1000), pa.int32())}), 100)
    os.symlink(folder, folder / "link")
    with server.connect() as a, server.connect(settings=OFF) as b, server.connect("template1") as c, server.connect() as look:
        make_writable(a, "w", "id int", path)
        make_writable(a, "v", "id int", folder / "link" / "shared.arrow")
        make_writable(c, "x", "id int", path)
        a.query("BEGIN; INSERT INTO w VALUES (-1)")
        b.query("BEGIN; DECLARE rows CURSOR FOR SELECT id FROM w; FETCH 10 FROM rows; DECLARE unread CURSOR FOR SELECT id FROM w")
        for number, (name, session, table) in enumerate((("the table", look, "w"), ("another path", look, "v"), ("another database", c,
                                                                                                                 "x"))):
            pid = session.value("SELECT pg_backend_pid()")
            outcomes = []
            thread = threading.Thread(target=lambda: outcomes.append(session.run(f"INSERT INTO {table} VALUES (-2)")))
            thread.start()
            bench.check(f"{name}: waits", None if until(lambda: waits(b, pid)) else "it does not wait")
            bench.equal(f"{name}: not yet there", b.value("SELECT count(*) FROM w WHERE id < 0"), str(2 * number))
            a.query("COMMIT")
            thread.join(30)
            bench.equal(f"{name}: afterwards", [outcome.sqlstate for outcome in outcomes], ["00000"])
            bench.equal(f"{name}: both", b.value("SELECT count(*) FROM w WHERE id < 0"), str(2 * number + 2))
            a.query("BEGIN; INSERT INTO w VALUES (-1)")
        a.query("ROLLBACK")
        bench.equal("an open cursor", sorted(int(row[0]) for row in b.query("FETCH ALL FROM rows")), list(range(10, 1000)))
        bench.equal("one that was not read yet", sorted(int(row[0]) for row in b.query("FETCH ALL FROM unread")), list(range(1000)))
        b.query("COMMIT")

        make_writable(a, "w2", "id int", folder / "second.arrow")
        a.query("BEGIN; INSERT INTO w VALUES (-5)")
        look.query("BEGIN; INSERT INTO w2 VALUES (-5)")
        outcomes = []
        pid = look.value("SELECT pg_backend_pid()")
        thread = threading.Thread(target=lambda: outcomes.append(look.run("INSERT INTO w VALUES (-6)")))
        thread.start()
        until(lambda: waits(b, pid))
        outcomes.append(a.run("INSERT INTO w2 VALUES (-6)"))
        thread.join(30)
        bench.equal("a deadlock is noticed", sorted(outcome.sqlstate for outcome in outcomes), ["00000", "40P01"])
        a.run("ROLLBACK")
        look.run("ROLLBACK")

        a.query("BEGIN; INSERT INTO w VALUES (-7)")
        write(path, pa.table({"id": pa.array([5], pa.int32())}))
        bench.fails("another program's change", a, "COMMIT", "40001")
        bench.equal("which stays", read(path)["id"].to_pylist(), [5])
        bench.equal("left beside", left_beside(folder), [])


def many_writers(bench, server, folder):
    """Each of some sessions adds rows, while others read: nobody sees a part of a statement, nothing is lost."""
    path = folder / "many.arrow"
    with server.connect() as session:
        make_writable(session, "w", "writer int, n int", path)
    errors = []
    done = threading.Event()

    def add(writer):
        with server.connect() as session:
            for n in range(8):
                outcome = session.run(f"INSERT INTO w SELECT {writer}, {n} FROM generate_series(1, 100)")
                if outcome.error:
                    errors.append(str(outcome.error.fields))

    def look(settings):
        with server.connect(settings=settings) as session:
            while not done.is_set():
                outcome = session.run("SELECT count(*) FROM w")
                if outcome.error or int(outcome.rows[0][0]) % 100:
                    errors.append(f"a reader: {outcome.error and outcome.error.fields} {outcome.rows}")

    def look_outside():
        while not done.is_set():
            if path.exists() and read(path).num_rows % 100:
                errors.append("pyarrow read a part")

    readers = [threading.Thread(target=look, args=(settings,)) for settings in (OFF, FORCED)] + [threading.Thread(target=look_outside)]
    writers = [threading.Thread(target=add, args=(writer,)) for writer in range(3)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    bench.equal("errors", errors, [])
    with server.connect(settings=OFF) as session:
        bench.equal("all rows", session.query("SELECT writer, n, count(*) FROM w GROUP BY 1, 2 ORDER BY 1, 2"),
                    [(str(writer), str(n), "100") for writer in range(3) for n in range(8)])


def places(bench, server, folder):
    """Whose file it is, who may name it, and which files are none to write to."""
    path = write(folder / "mine.arrow", pa.table({"id": pa.array([1], pa.int32())}))
    os.chmod(path, 0o604)
    with server.connect(settings=OFF) as session:
        make_writable(session, "w", "id int", path)
        before = path.stat()
        session.query("INSERT INTO w VALUES (2)")
        after = path.stat()
        bench.equal("owner and rights", (after.st_uid, after.st_gid, oct(after.st_mode)), (before.st_uid, before.st_gid,
                                                                                           oct(before.st_mode)))
        bench.check("a new file", None if after.st_ino != before.st_ino else "the old one was written to")
        if os.geteuid() == 0:
            os.chown(path, 0, 0)
            bench.fails("another one's file", session, "INSERT INTO w VALUES (3)", DENIED)
            bench.equal("stays", (read(path).num_rows, path.stat().st_uid), (2, 0))
        session.query("CREATE ROLE reader LOGIN; GRANT pg_read_server_files TO reader; CREATE ROLE writer LOGIN; "
                      "GRANT pg_read_server_files, pg_write_server_files TO writer; CREATE ROLE plain LOGIN; "
                      "GRANT USAGE ON FOREIGN SERVER arrow_fdw TO reader, writer, plain; CREATE SCHEMA own; "
                      "GRANT ALL ON SCHEMA own TO PUBLIC")
        for role, sqlstate in (("plain", DENIED), ("reader", DENIED), ("writer", "00000")):
            with server.connect(user=role) as other:
                sql = f"CREATE FOREIGN TABLE own.{role} (id int) SERVER arrow_fdw OPTIONS (file '{folder}/{role}.arrow', writable 'true')"
                bench.equal(f"as {role}", other.run(sql).sqlstate, sqlstate)
                bench.equal(f"as {role}, to be read", other.run(sql.replace(", writable 'true'", "").replace(f"own.{role}",
                                                                                                             f"own.{role}_r")).sqlstate,
                            DENIED if role == "plain" else "00000")
        with server.connect(user="reader") as other:
            bench.fails("set later", other, "ALTER FOREIGN TABLE own.reader_r OPTIONS (ADD writable 'true')", DENIED)
        session.query("GRANT INSERT ON own.writer TO plain")
        with server.connect(user="plain") as other:
            bench.equal("INSERT by privilege", other.run("INSERT INTO own.writer VALUES (1)").sqlstate, "00000")
            bench.fails("and nothing else", other, "TRUNCATE own.writer", DENIED)
        session.query("ALTER FOREIGN TABLE own.writer OWNER TO reader")
        with server.connect(user="plain") as other:
            bench.fails("an owner without the right", other, "INSERT INTO own.writer VALUES (1)", DENIED)

        os.symlink(folder / "mine.arrow", folder / "symbolic.arrow")
        os.mkfifo(folder / "fifo")
        (folder / "folder").mkdir()
        (folder / "text").write_text("no file of Arrow's")
        pq.write_table(pa.table({"id": [1]}), folder / "rows.parquet")
        with pa.OSFile(str(folder / "rows.stream"), "wb") as sink, pa.ipc.new_stream(sink, pa.schema([("id", pa.int32())])) as stream:
            stream.write_table(pa.table({"id": pa.array([1], pa.int32())}))
        (folder / "cut.arrow").write_bytes(path.read_bytes()[:-20])
        for name, sqlstate in (("symbolic.arrow", DENIED), ("fifo", "42809"), ("folder", "42809"), ("text", NO_SUPPORT), ("rows.parquet",
                                                                                                                          NO_SUPPORT),
                               ("rows.stream", NO_SUPPORT), ("cut.arrow", "58030"), ("none/a.arrow", "58P01")):
            if (folder / name).is_file():
                os.chmod(folder / name, 0o666)
            content = (folder / name).read_bytes() if (folder / name).is_file() else None
            make_writable(session, "bad", "id int", folder / name)
            bench.fails(name, session, "INSERT INTO bad VALUES (1)", sqlstate)
            bench.check(f"{name}: as it was", None if content is None or (folder / name).read_bytes() == content else "it was changed")
        bench.check("the link", None if (folder / "symbolic.arrow").is_symlink() else "it was replaced")
        bench.equal("left beside", left_beside(folder), [])


def engine(bench, server, folder):
    """Queries of the engine after each change, cached or not; batches that are left out; where buffers lie."""
    path = folder / "engine.arrow"
    with server.connect(settings=FORCED) as session:
        make_writable(session, "w", "id int, k int, name text, price numeric(12,2)", path)
        session.query("CREATE TABLE h2 (id int, k int, name text, price numeric(12,2))")
        asked = "SELECT k, name, count(*), sum(price), min(id), max(id) FROM {} GROUP BY k, name ORDER BY k, name"
        for step in range(6):
            for table in ("w", "h2"):
                session.query(f"INSERT INTO {table} SELECT i, i % 5, 'name ' || i % 3, i / 4.0 "
                              f"FROM generate_series({step * 20000}, {step * 20000 + 19999}) i")
            for attempt in ("first", "again"):
                bench.equal(f"step {step}, {attempt}", session.query(asked.format("w")), session.query(asked.format("h2")))
            session.query("BEGIN; INSERT INTO w VALUES (-1, 1, 'mine', 1)")
            bench.equal(f"step {step}: in the transaction", session.value("SELECT count(*) FROM w WHERE k >= 0"), str(step * 20000 + 20001))
            session.query("ROLLBACK")
        plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {asked.format('w')}"))
        bench.check("the engine reads it", None if "Gpu" in plan and "batches=6" in plan else plan)
        with server.connect(settings=OFF) as plain:
            plan = "\n".join(row[0] for row in plain.query("EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM w WHERE id = 50000"))
            bench.check("batches are left out", None if "Batches Skipped: 5" in plan else plan)
            # A file without statistics gets them of its new batches.
            write(path, pa.table({"id": pa.array(range(50), pa.int32()), "k": pa.array([1] * 50, pa.int32()), "name": ["x"] * 50,
                                  "price": pa.array([None] * 50, pa.decimal128(12, 2))}), 25)
            plain.query("INSERT INTO w SELECT i, i, 'x', i FROM generate_series(100, 20000) i")
            table = read(path)
            bench.equal("statistics", [table.schema.field(name).metadata for name in ("id", "name")],
                        [{b"min_values": b"null,null,100", b"max_values": b"null,null,20000"}, None])
        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source)
            batch = file.get_batch(file.num_record_batches - 1)
            # A map begins at a page, so addresses show places in the file.
            buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None and buffer.size > 0]
            bench.check("buffers", None if len(buffers) >= 5 else f"only {len(buffers)}")
            bench.equal("aligned to 64 bytes", [buffer.address % 64 for buffer in buffers], [0] * len(buffers))
            large = [buffer.address % 4096 for buffer in buffers if buffer.size >= 65536]
            bench.equal("large ones to pages", large, [0] * max(1, len(large)))


def dictionaries(bench, server, folder):
    """A dictionary gets what it lacks, as far as its indexes reach; the engine groups by all of it."""
    path = write(folder / "d.arrow", pa.table({"k": pa.array(["a", "b", None, "a"], pa.dictionary(pa.int8(), pa.string())),
                                               "n": pa.array([1, 2, 3, 4], pa.int32())}))
    asked = "SELECT k, count(*), sum(n) FROM {} GROUP BY k ORDER BY k"
    with server.connect(settings=FORCED) as session:
        make_writable(session, "w", "k text, n int", path)
        session.query("CREATE TABLE d (k text, n int); INSERT INTO d VALUES ('a', 1), ('b', 2), (NULL, 3), ('a', 4)")
        bench.equal("before", session.query(asked.format("w")), session.query(asked.format("d")))
        for step, words in enumerate(("ARRAY['b', 'c', NULL]", "ARRAY['a', 'b']", "ARRAY['d', 'e', 'a', '']")):
            for table in ("w", "d"):
                session.query(f"INSERT INTO {table} SELECT ({words})[i % 5], i FROM generate_series(1, 3000) i")
            for attempt in ("first", "again"):
                bench.equal(f"step {step}, {attempt}", session.query(asked.format("w")), session.query(asked.format("d")))
        table = read(path)
        bench.equal("one dictionary", table.schema.field("k").type, pa.dictionary(pa.int8(), pa.string()))
        bench.equal("its values", table["k"].chunk(table["k"].num_chunks - 1).dictionary.to_pylist(), ["a", "b", "c", "d", "e", ""])
        bench.fails("too many values", session, "INSERT INTO w SELECT 'word ' || i, i FROM generate_series(1, 200) i", BAD_VALUE)
        bench.equal("and none of them", session.query(asked.format("w")), session.query(asked.format("d")))
        for table in ("w", "d"):
            session.query(f"BEGIN; TRUNCATE {table}; INSERT INTO {table} VALUES ('z', 1); COMMIT")
        bench.equal("emptied", session.query(asked.format("w")), session.query(asked.format("d")))
        bench.equal("with a new dictionary", read(path)["k"].chunk(0).dictionary.to_pylist(), ["z"])


CASES = (types_of_files, new_files, rows, partitions, transactions, sessions, many_writers, places, engine, dictionaries)


def main():
    bench = Bench()
    wanted = sys.argv[1:]
    with cluster.Cluster("write-files") as server:
        for case in CASES:
            if wanted and case.__name__ not in wanted:
                continue
            folder = server.directory / case.__name__
            folder.mkdir()
            os.chown(folder, server.directory.stat().st_uid, server.directory.stat().st_gid)
            # The server's account writes there, and we do.
            os.chmod(folder, 0o777)
            started = time.monotonic()
            case(bench, server, folder)
            print(f"  {case.__name__}: {time.monotonic() - started:.0f} s, {bench.failed} failed so far", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
