#!/usr/bin/env python3
"""to_file.py - turbine.to_arrow and turbine.to_parquet write what the query returns, or nothing.

What was written is read by pyarrow, DuckDB and polars and compared with what the server returns for the same query, and
read back by arrow_fdw and compared by the server itself. Errors, cancelled queries and killed programs leave an older file as it was,
and nothing beside it.
Called by: make test-to-file, test/run_all.py, with the Python of build/python, which has pyarrow.
"""

import decimal
import os
import signal
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
from cache_bench import Bench  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402

DENIED, BAD_PATH, BAD_VALUE, BAD_OPTION, NO_FILE, CANCELLED, ENDED = ("42501", "42602", "22003", "22023", "58030", "57014",
                                                                      "38000")
# Columns that arrow_fdw reads back as the same type, by the types' names.
COLUMNS = {
    "boolean": "i % 3 = 0", "smallint": "i % 30000", "integer": "i * 7 - 5", "bigint": "i::bigint * 1000000007",
    "real": "i / 8.0", "double precision": "i / 7.0", "numeric(12,2)": "i * 1.25", "numeric(30,4)": "i * 123456789012.3456",
    "text": "'text ' || i % 100", "varchar(20)": "left(md5(i::text), i % 20)", "bytea": "decode(md5(i::text), 'hex')",
    "date": "date '1970-01-01' + i % 30000", "time": "time '00:00' + i * interval '7 seconds'",
    "timestamp": "timestamp '2001-02-03 04:05:06.789' + i * interval '13 minutes'",
    "timestamptz": "timestamptz '2001-02-03 04:05:06+00' + i * interval '17 minutes'",
    "interval": "i % 40 * interval '1 month 3 days 2 hours'", "uuid": "md5(i::text)::uuid", "int[]": "ARRAY[i, NULL, i + 1]",
}
ROWS = 20000
# (file, function, its options)
FILES = (("none.arrow", "to_arrow", ""), ("lz4.arrow", "to_arrow", ", 'lz4'"), ("zstd.arrow", "to_arrow", ", 'zstd', false"),
         ("zstd.parquet", "to_parquet", ""), ("snappy.parquet", "to_parquet", ", 'snappy'"), ("lz4.parquet", "to_parquet", ", 'lz4'"),
         ("none.parquet", "to_parquet", ", 'none'"))


def make(server):
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(COLUMNS))
    values = ", ".join(f"CASE WHEN i % 11 <> {i % 11} THEN ({value})::{kind} END"
                       for i, (kind, value) in enumerate(COLUMNS.items()))
    with server.connect(settings=OFF) as session:
        session.query(f"CREATE TABLE t (id int, {columns}); INSERT INTO t SELECT i, {values} FROM generate_series(1, {ROWS}) i")
        session.query("CREATE TABLE sold (id int, region text, amount numeric(12,2)); INSERT INTO sold "
                      f"SELECT i, 'region ' || i % 7, i / 4.0 FROM generate_series(1, {ROWS}) i; "
                      "CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN; GRANT pg_write_server_files TO writer; "
                      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO writer, reader; GRANT USAGE ON SCHEMA turbine TO writer, reader")
        session.query("VACUUM (ANALYZE)")


def round_trips(bench, server, folder):
    """Every type, both formats, each compression: as pyarrow and arrow_fdw read them."""
    with server.connect(settings=OFF) as session:
        for name, function, options in FILES:
            path = folder / name
            bench.equal(f"{name}: rows", session.value(f"SELECT turbine.{function}('SELECT * FROM t', '{path}'{options})"), str(ROWS))
            table = pq.read_table(path) if name.endswith("parquet") else pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            bench.equal(f"{name}: rows in pyarrow", table.num_rows, ROWS)
            ids = [int(row[0]) for row in session.query("SELECT id FROM t")]
            bench.equal(f"{name}: ids in pyarrow", table["id"].to_pylist(), ids)
            prices = [row[0] and decimal.Decimal(row[0]) for row in session.query("SELECT c6 FROM t")]
            bench.equal(f"{name}: decimals in pyarrow", table["c6"].to_pylist(), prices)
            # Parquet has intervals as texts.
            kinds = {f"c{i}": "text" if kind == "interval" and name.endswith("parquet") else kind for i, kind in enumerate(COLUMNS)}
            definition = ", ".join(["id int"] + [f"{column} {kind}" for column, kind in kinds.items()])
            session.query(f"DROP FOREIGN TABLE IF EXISTS back; CREATE FOREIGN TABLE back ({definition}) "
                          f"SERVER arrow_fdw OPTIONS (file '{path}')")
            there = ", ".join(["id"] + [f"{column}::{kind}" for column, kind in kinds.items()])
            found = session.value(f"SELECT count(*) FROM (SELECT {there} FROM t EXCEPT ALL SELECT * FROM back) x")
            bench.equal(f"{name}: rows that do not come back", found, "0")


def edges(bench, server, folder):
    """The least, greatest and oddest values of every type, no rows, and many batches, as each engine reads them."""
    with server.connect(settings=OFF) as session:
        postgres_values.make_edges(session)
        # Some 40 MB, of which a batch takes 16.
        session.query("CREATE TABLE many AS SELECT row_number() OVER () AS id, e.* FROM edges e, generate_series(1, 20)")
        for table, key, condition, files in (("edges", "n", "true", FILES), ("edges", "n", "n < 0", FILES),
                                             ("many", "id", "true", (FILES[0], FILES[3]))):
            for name, function, options in files:
                path, label = folder / f"edges-{name}", f"{name}: {table} where {condition}"
                session.query(f"SELECT turbine.{function}('SELECT * FROM {table} WHERE {condition}', '{path}'{options})")
                expected = postgres_values.expected_of(session, table, key, function == "to_parquet", condition)
                file_readers.compare(bench, label, path, key, expected)


def queries(bench, server, folder):
    """Whatever a query is: aggregates on the device, no rows, types without a form of their own."""
    with server.connect(settings=FORCED) as session:
        sql = "SELECT region, count(*), sum(amount)::numeric(14,2) AS total FROM sold GROUP BY region ORDER BY region"
        path = folder / "groups.parquet"
        bench.equal("groups", session.value(f"SELECT turbine.to_parquet($q${sql}$q$, '{path}')"), "7")
        written = [(row["region"], str(row["count"]), str(row["total"])) for row in pq.read_table(path).to_pylist()]
        bench.equal("groups: rows", written, session.query(sql))
        path = folder / "dictionaries.parquet"
        rows = "SELECT i AS differ, i % 5 AS few, i / 4 AS runs FROM generate_series(1, 40000) i"
        session.query(f"SELECT turbine.to_parquet('{rows}', '{path}')")
        columns = [pq.read_metadata(path).row_group(0).column(i) for i in range(3)]
        bench.equal("columns with a dictionary", [c.path_in_schema for c in columns if c.has_dictionary_page], ["few"])
        path = folder / "none.parquet"
        bench.equal("no rows", session.value(f"SELECT turbine.to_parquet('SELECT * FROM t WHERE id < 0', '{path}')"), "0")
        bench.equal("no rows: columns", pq.read_table(path).num_columns, len(COLUMNS) + 1)
        path = folder / "other.arrow"
        other = "SELECT inet '10.0.0.1' AS a, point '(1,2)' AS b, sum(amount) AS c FROM sold"
        session.query(f"SELECT turbine.to_arrow($q${other}$q$, '{path}')")
        bench.equal("texts of other types", pa.ipc.open_file(str(path)).read_all().to_pylist(),
                    [{"a": "10.0.0.1", "b": "(1,2)", "c": session.value("SELECT sum(amount) FROM sold")}])
        session.query("BEGIN; INSERT INTO sold VALUES (0, 'mine', 1)")
        session.query(f"SELECT turbine.to_parquet($q$SELECT id FROM sold WHERE region = 'mine'$q$, '{path}')")
        session.query("ROLLBACK")
        bench.equal("its own snapshot", pq.read_table(path)["id"].to_pylist(), [0])


def device_rows(bench, server, folder):
    """Rows that a node on a device returns leave it as columns: the same files as of PostgreSQL's rows."""
    shared = ", ".join(f"c{i}" for i, kind in enumerate(COLUMNS) if kind not in ("bytea", "interval", "int[]", "time", "uuid"))
    with server.connect(settings=OFF) as session:
        session.query(f"CREATE TABLE kinds AS SELECT id, {shared}, left('abcdefgh', id % 9)::char(8) AS padded, "
                      "(CASE WHEN id % 3 > 0 THEN -id END)::numeric(38,3) AS wide, repeat('long text ', id % 400) AS long FROM t; "
                      "CREATE TABLE fewer AS SELECT * FROM kinds WHERE id % 4 = 0; CREATE TABLE infinite AS SELECT id, "
                      "CASE WHEN id = 19000 THEN 'infinity' WHEN id % 2 = 0 THEN date '2026-11-01' + id % 100 END AS day FROM kinds; "
                      "ANALYZE kinds; ANALYZE fewer; ANALYZE infinite; "
                      f"SELECT turbine.to_parquet('SELECT * FROM kinds', '{folder}/kinds.parquet')")
        columns = ", ".join(row[0] + " " + row[1] for row in session.query(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'kinds'::regclass AND attnum > 0"))
        session.query(f"CREATE FOREIGN TABLE of_file ({columns}) SERVER arrow_fdw OPTIONS (file '{folder}/kinds.parquet')")
    with server.connect(settings=FORCED) as session, server.connect(settings=OFF) as plain:
        for node, sql, ordered in (
                ("GpuSort", "SELECT * FROM fewer ORDER BY id DESC", True),
                ("GpuSort", "SELECT c8, c3, padded FROM kinds ORDER BY c5 DESC NULLS LAST, id", True),
                ("GpuSort", f"SELECT {shared}, padded, long, id FROM kinds WHERE c2 % 5 > 1 ORDER BY c3, id", True),
                ("GpuSort", "SELECT id, rank() OVER w, sum(c6) OVER w AS total, sum(c2) OVER w, lag(c8) OVER w FROM kinds WINDOW w AS "
                            "(PARTITION BY c8 ORDER BY id)", False),
                ("GpuJoin", "SELECT a.*, b.c8 AS other, b.c7 AS c, b.wide AS w FROM kinds a LEFT JOIN fewer b ON a.id = b.id", False),
                ("GpuJoin", "SELECT b.c11, a.c0, a.c2 + b.c2 AS sum FROM kinds a, fewer b WHERE a.c2 = b.c2", False),
                ("GpuFileScan", "SELECT * FROM of_file WHERE id % 7 < 5", False)):
            plan = session.query(f"EXPLAIN (COSTS OFF) {sql}")[0][0]
            bench.check(f"{node} is first in the plan: {sql}", None if node in plan else plan)
            tables = []
            for function in ("to_arrow", "to_parquet"):
                for connection in (session, plain):
                    path = folder / f"columns.{function}"
                    connection.query(f"SELECT turbine.{function}($q${sql}$q$, '{path}')")
                    found = pq.read_table(path) if function == "to_parquet" else pa.ipc.open_file(str(path)).read_all()
                    found = found.replace_schema_metadata(None).cast(pa.schema([f.remove_metadata() for f in found.schema]))
                    tables.append(found if ordered else found.sort_by([(name, "ascending") for name in found.column_names]))
                    bench.check(f"{function} of {sql}: rows", None if found.num_rows > 1000 else f"{found.num_rows} rows")
                bench.check(f"{function} of {sql}", None if tables[-1].equals(tables[-2]) else
                            f"{tables[-2].slice(0, 3).to_pylist()} and {tables[-1].slice(0, 3).to_pylist()}")
        sql = "SELECT day, id FROM infinite ORDER BY id"
        found = [connection.run(f"SELECT turbine.to_parquet($q${sql}$q$, '{folder}/infinite.parquet')").error.fields
                 for connection in (session, plain)]
        bench.equal("a value without a form among columns", found[0]["D"], found[1]["D"])
        bench.check("its row", None if 'column "day", row 19000 of' in found[0]["D"] else found[0]["D"])


def mistakes(bench, server, folder):
    """An error, and the older file stays; nothing is left beside it."""
    path = folder / "kept.parquet"
    with server.connect(settings=OFF) as session:
        session.query(f"SELECT turbine.to_parquet('SELECT 42 AS a', '{path}')")
        for name, sql, sqlstate in (
                ("a value without a form", f"SELECT turbine.to_parquet($q$SELECT date 'infinity' AS a$q$, '{path}')", BAD_VALUE),
                ("an error of the query", f"SELECT turbine.to_parquet('SELECT 1 / (id - 500) FROM t', '{path}')", "22012"),
                ("a relative path", "SELECT turbine.to_parquet('SELECT 1', 'a.parquet')", BAD_PATH),
                ("a folder that is not there", f"SELECT turbine.to_arrow('SELECT 1', '{folder}/none/a')", NO_FILE),
                ("an unknown compression", f"SELECT turbine.to_parquet('SELECT 1', '{path}', 'rar')", BAD_OPTION),
                ("snappy for Arrow", f"SELECT turbine.to_arrow('SELECT 1', '{path}', 'snappy')", BAD_OPTION),
                ("no columns", f"SELECT turbine.to_arrow('SELECT FROM t', '{path}')", BAD_OPTION),
                ("two queries", f"SELECT turbine.to_arrow('SELECT 1; SELECT 2', '{path}')", BAD_OPTION)):
            bench.fails(name, session, sql, sqlstate)
            bench.equal(f"{name}: the older file", pq.read_table(path)["a"].to_pylist(), [42])
        for value in ("date '2020-01-01' + i", "timestamp '2020-01-01' + i * interval '1 hour'", "time '00:00' + i * interval '1 second'",
                      "ARRAY[timestamptz '2020-01-01 00:00:00+00' + i * interval '1 hour']"):
            bad = ("ARRAY['infinity'::timestamptz]" if "ARRAY" in value else
                   "time '24:00'" if value.startswith("time ") else f"{value.split()[0]} 'infinity'")
            query = f"SELECT i, CASE WHEN i = 2500 THEN {bad} WHEN i % 3 <> 0 THEN {value} END AS wrong FROM generate_series(1, 5000) i"
            error = session.run(f"SELECT turbine.to_arrow($q${query}$q$, '{path}')").error
            detail = error.fields.get("D", "") if error else "no error"
            bench.check(f"which row: {bad}", None if 'column "wrong", row 2500 of' in detail else detail)
        query = ("SELECT i, (CASE WHEN i = 2500 THEN 'NaN' WHEN i % 3 <> 0 THEN i / 4.0 END)::numeric(12,2) AS wrong "
                 "FROM generate_series(1, 5000) i")
        error = session.run(f"SELECT turbine.to_arrow($q${query}$q$, '{path}')").error
        detail = error.fields.get("D", "") if error else "no error"
        bench.check("which row: NaN", None if 'column "wrong", row 2500 of' in detail and "NaN" in detail else detail)
        outcome = session.run(f"SELECT turbine.to_arrow('CREATE TABLE x ()', '{path}')")
        bench.check("no query", None if outcome.error else "a table was made")
    for role, sqlstate in (("reader", DENIED), ("writer", "00000")):
        with server.connect(user=role) as session:
            sql = f"SELECT turbine.to_arrow('SELECT id FROM sold', '{folder}/{role}.arrow')"
            bench.equal(f"as {role}", session.run(sql).sqlstate, sqlstate)
    bench.equal("files left beside", [name for name in os.listdir(folder) if name.startswith(".")], [])


def retention(bench, server, folder):
    """The documents' recipe: a partition moves to a file, and the table answers as before."""
    path = folder / "old.parquet"
    with server.connect(settings=FORCED) as session:
        session.query("CREATE TABLE log (at timestamptz, path text, ms int) PARTITION BY RANGE (at)")
        for day in (1, 2):
            session.query(f"CREATE TABLE log_{day} PARTITION OF log FOR VALUES FROM ('2026-10-0{day}') TO ('2026-10-0{day + 1}')")
        session.query("INSERT INTO log SELECT timestamptz '2026-10-01' + i * interval '1 second', 'page ' || i % 50, i % 900 "
                      "FROM generate_series(0, 172799) i; ANALYZE log")
        asked = ("SELECT path, count(*), sum(ms) FROM log GROUP BY path ORDER BY path",
                 "SELECT count(*), max(ms) FROM log WHERE at >= '2026-10-01 23:30' AND at < '2026-10-02 00:30'")
        before = [session.query(sql) for sql in asked]
        session.query(f"SELECT turbine.to_parquet('SELECT * FROM log_1 ORDER BY at', '{path}')")
        session.query(f"BEGIN; ALTER TABLE log DETACH PARTITION log_1; CREATE FOREIGN TABLE log_1_file PARTITION OF log FOR VALUES "
                      f"FROM ('2026-10-01') TO ('2026-10-02') SERVER arrow_fdw OPTIONS (file '{path}'); DROP TABLE log_1; COMMIT")
        for sql, rows in zip(asked, before, strict=True):
            bench.equal(f"retention: {sql}", session.query(sql), rows)
            plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {sql}"))
            bench.check(f"retention, one node: {sql}", None if "Gpu" in plan and "Files: 1" in plan else plan)


def running_writer(server):
    """The pid of the writer that a backend has started, once there is one."""
    for _ in range(200):
        for pid in server.descendants():
            try:
                if Path(f"/proc/{pid}/comm").read_text().startswith("turbine-file-wr"):
                    return pid
            except OSError:
                continue
        time.sleep(0.05)
    return None


def interrupted(bench, server, folder):
    """A cancelled query, a killed program: an error at once, no file."""
    sql = "SELECT g, md5(g::text) AS a FROM generate_series(1, 100000000) g"
    for name, sqlstate, end in (("cancelled", CANCELLED, None), ("killed", ENDED, signal.SIGKILL)):
        path = folder / f"{name}.parquet"
        with server.connect() as session, server.connect() as other:
            backend = session.value("SELECT pg_backend_pid()")
            outcomes = []
            write = f"SELECT turbine.to_parquet($q${sql}$q$, '{path}')"
            thread = threading.Thread(target=lambda: outcomes.append(session.run(write)))
            thread.start()
            writer = running_writer(server)
            bench.check(f"{name}: a writer runs", None if writer else "there is none")
            time.sleep(0.5)
            if end is None:
                other.query(f"SELECT pg_cancel_backend({backend})")
            elif writer:
                os.kill(writer, end)
            thread.join(30)
            bench.equal(name, [outcome.sqlstate for outcome in outcomes], [sqlstate])
            bench.equal(f"{name}: usable afterwards", session.value("SELECT 1"), "1")
        bench.check(f"{name}: no file", "there is one" if path.exists() else None)


def main():
    bench = Bench()
    with cluster.Cluster("to-file") as server:
        folder = server.directory / "files"
        folder.mkdir()
        # The server's account writes there, and we read.
        os.chmod(folder, 0o777)
        make(server)
        for case in (round_trips, edges, queries, device_rows, mistakes, retention, interrupted):
            started = time.monotonic()
            case(bench, server, folder)
            print(f"  {case.__name__}: {time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
