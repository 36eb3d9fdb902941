#!/usr/bin/env python3
"""exports.py - results and exports: what other processes open is what PostgreSQL would return, and who may open what.

`values`: random rows of every type, against SELECT. `order`: as ctid, after changes. `results`: queries of every kind, and
what is refused. `cursors`: batch by batch. `rights`: columns, policies, roles, transactions that have changed the table.
`tokens`: stolen, used twice, forged, damaged, ended, revoked. `lifetime`: sessions, kept copies, importers, killed
backends and services, cancelled statements. `memory`: no more than half of the budget, and all of it comes back. `gpu`:
memory of a GPU, by a driver that stands in for one.
Must never: compare an export with an export.
Called by: make test-exports, test/run_all.py.
"""

import argparse
import contextlib
import datetime
import decimal
import itertools
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import import_columns  # noqa: E402
from cache_bench import CPU, Bench  # noqa: E402
from cache_loading import soon  # noqa: E402
from import_columns import Refused, bytes_of, redeem  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from run_sql import OFF  # noqa: E402

ANOTHER_USER = 65534  # nobody
TYPES = ("bool", "int2", "int4", "int8", "oid", "float4", "float8", "date", "time", "timestamp", "timestamptz",
         "numeric(18,4)", "numeric(38,0)", "numeric", "uuid", "text", "varchar(40)", "char(5)", "bytea", "json", "jsonb",
         "interval", "int[]", "inet")
SCENES = ("values", "order", "results", "cursors", "rights", "tokens", "lifetime", "memory", "gpu")
AS_TEXT = ("numeric", "text", "varchar(40)", "char(5)", "json", "jsonb", "interval", "int[]", "inet")


def literal(kind, rng):
    """A random value of a type, as SQL text."""
    whole = rng.choice([0, 1, -1, rng.randrange(-30000, 30000)])
    text = "".join(rng.choice("abc äß\\\"'{}\n€𝄞") for _ in range(rng.choice([0, 1, 5, 30])))
    if kind in ("float4", "float8"):
        return rng.choice(["NaN", "Infinity", "-0", str(whole / 7)])
    if kind.startswith("numeric"):
        return str(whole) if kind == "numeric(38,0)" else f"{whole}.{rng.randrange(10000):04}"
    return {
        "bool": str(whole > 0), "int2": str(whole), "int4": str(whole * 70000), "int8": str(whole << 40),
        "oid": str(abs(whole) * 100000), "date": str(datetime.date(1900, 1, 1) + datetime.timedelta(days=whole + 30000)),
        "time": f"{rng.randrange(24):02}:{rng.randrange(60):02}:00.{rng.randrange(1000000):06}",
        "timestamp": f"{1900 + abs(whole) % 200}-02-03 04:05:06.{rng.randrange(1000000):06}",
        "timestamptz": f"{1900 + abs(whole) % 200}-02-03 04:05:06.5+02",
        "uuid": str(uuid.UUID(int=rng.getrandbits(128))), "text": text * rng.choice([1, 1, 200]), "varchar(40)": text,
        "char(5)": "ab", "bytea": "\\x" + rng.randbytes(rng.randrange(9)).hex(), "json": '{"a": 1}', "jsonb": '[1, null]',
        "interval": f"{whole} days 3 hours", "int[]": "{1,NULL,3}", "inet": "10.0.0.1/8"}[kind]


def expected(kind, text):
    """What an importer has to find for the text that SELECT returns."""
    if text is None or kind in AS_TEXT:
        return text
    if kind == "bool":
        return text == "t"
    if kind in ("int2", "int4", "int8", "oid"):
        return int(text)
    if kind in ("float4", "float8"):
        return text
    if kind.startswith("numeric"):
        return decimal.Decimal(text)
    if kind == "uuid":
        return uuid.UUID(text)
    if kind == "bytea":
        return bytes_of(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "time":
        return datetime.time.fromisoformat(text.ljust(15, "0") if "." in text else text)
    stamp = text.removesuffix("+00")
    return datetime.datetime.fromisoformat(stamp.ljust(26, "0") if "." in stamp else stamp)


def same(kind, found, text):
    if kind in ("float4", "float8") and found is not None and text is not None:
        value = float(text)
        if kind == "float4":
            import_columns_float = memoryview(bytearray(4)).cast("f")
            import_columns_float[0] = value
            value = import_columns_float[0]
        return repr(found) == repr(value)
    return found == expected(kind, text)


def token(session, sql):
    return bytes_of(session.value(f"SELECT {sql}"))


def compare(bench, name, imported, rows, kinds):
    """All columns of an import against rows of SELECT."""
    if imported.rows != len(rows):
        bench.check(name, f"{imported.rows} rows, expected {len(rows)}")
        return
    complaint = None
    for i, (column, kind) in enumerate(zip(imported.columns, kinds, strict=True)):
        found = imported.values(column)
        wrong = [n for n, (a, row) in enumerate(zip(found, rows, strict=True)) if not same(kind, a, row[i])]
        if wrong and not complaint:
            complaint = f"column {column} ({kind}), row {wrong[0]}: {found[wrong[0]]!r}, expected {rows[wrong[0]][i]!r}"
    bench.check(name, complaint)


def values(bench, server, rng):
    with server.connect(settings={**CPU, "timezone": "UTC"}) as session:
        columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(TYPES))
        for count, share in ((0, 0), (1, 0), (1, 1), (7, 0.5), (8192, 0.02), (20001, 0)):
            session.query(f"DROP TABLE IF EXISTS v; CREATE TABLE v (n int, {columns})")
            for first in range(0, count, 2000):
                rows = []
                for n in range(first, min(first + 2000, count)):
                    # NULLs only late, and texts long enough to end a block early.
                    drawn = ["NULL" if n > count // 2 and rng.random() < share else
                             "E'" + literal(kind, rng).replace("\\", "\\\\").replace("'", "''") + "'" for kind in TYPES]
                    rows.append(f"({n}, {', '.join(drawn)})")
                session.query(f"INSERT INTO v VALUES {', '.join(rows)}")
            kinds = ("int4", *TYPES)
            with redeem(token(session, "turbine.export('v')")) as imported:
                compare(bench, f"table of {count} rows", imported, session.query("SELECT * FROM v"), kinds)
                bench.equal("host memory", imported.description["device"], {"kind": "host"})
            with redeem(token(session, "turbine.export(turbine.gpu_result('SELECT * FROM v ORDER BY n DESC'))")) as imported:
                compare(bench, f"result of {count} rows", imported, session.query("SELECT * FROM v ORDER BY n DESC"), kinds)
        # Values without a form.
        for value, kind in (("infinity", "date"), ("-infinity", "timestamp"), ("infinity", "timestamptz"), ("NaN", "numeric(8,2)")):
            state = "22003" if kind.startswith("numeric") else "22008"
            bench.fails(f"{value} {kind}", session, f"SELECT turbine.gpu_result('SELECT ''{value}''::{kind} AS x')", state)
        odd = """'SELECT 1 AS "quote"" back\\ tab	é", 2 AS "x"'"""
        with redeem(token(session, f"turbine.export(turbine.gpu_result({odd}))")) as imported:
            bench.equal("names", list(imported.columns), ['quote" back\\ tab\té', "x"])


def order(bench, server):
    with server.connect(settings=CPU) as session:
        session.query("CREATE TABLE o AS SELECT i, 'row ' || i AS s FROM generate_series(1, 30000) i")
        session.query("DELETE FROM o WHERE i % 3 = 0")
        session.query("UPDATE o SET s = s || '!' WHERE i % 5 = 0")
        session.query("BEGIN; DELETE FROM o; ROLLBACK")
        for step in ("fresh", "vacuumed"):
            for settings in ("", "SET pg_turbine.debug_force_offload = on", "SET synchronize_seqscans = on"):
                session.query(settings or "RESET ALL")
                with redeem(token(session, "turbine.export('o')")) as imported:
                    compare(bench, f"{step}, {settings}", imported, session.query("SELECT * FROM o ORDER BY ctid"),
                            ("int4", "text"))
            session.query("RESET ALL")
            session.query("VACUUM o")
        with redeem(token(session, "turbine.export('o', '{s,i}')")) as imported:
            bench.equal("columns as asked", list(imported.columns), ["s", "i"])
        bench.equal("synchronize_seqscans is as it was", session.value("SHOW synchronize_seqscans"), "on")
        session.query("CREATE TABLE po (i int, s text) PARTITION BY RANGE (i); "
                      "CREATE TABLE po1 PARTITION OF po FOR VALUES FROM (0) TO (50); "
                      "CREATE TABLE po2 (s text, i int); ALTER TABLE po ATTACH PARTITION po2 FOR VALUES FROM (50) TO (100); "
                      "INSERT INTO po SELECT i, 's' || i FROM generate_series(0, 99) i; ALTER TABLE po ADD gone int; "
                      "ALTER TABLE po DROP gone")
        with redeem(token(session, "turbine.export('po')")) as imported:
            compare(bench, "partitions", imported, session.query("SELECT * FROM po ORDER BY i"), ("int4", "text"))
        # The revision that it was made of.
        early = token(session, "turbine.export('po')")
        session.query("UPDATE po SET s = 'later'; DROP TABLE o")
        with redeem(early) as imported:
            bench.equal("as it was", imported.values("s")[0], "s0")
            bench.equal("its name", imported.description["source"], "public.po")


RESULTS = (
    ("SELECT k, sum(x), count(*) FROM f GROUP BY k ORDER BY k", ("int4", "float8", "int8")),
    ("SELECT f.id, d.name FROM f JOIN d USING (k) WHERE x > 0.5 ORDER BY 1", ("int4", "text")),
    ("SELECT id, rank() OVER (PARTITION BY k ORDER BY x, id) AS r FROM f ORDER BY 1", ("int4", "int8")),
    ("SELECT x FROM f ORDER BY x DESC LIMIT 10", ("float8",)),
    ("VALUES (1, 'a'), (2, NULL)", ("int4", "text")),
    ("WITH w AS (SELECT * FROM f WHERE k = 1) SELECT count(*) FROM w", ("int8",)),
    ("SELECT * FROM d WHERE false", ("int4", "text")),
    ("SELECT id, x, x > 0.5 AS b FROM f WHERE x > 0.25 ORDER BY id", ("int4", "float8", "bool")),
)
REFUSED = (
    ("INSERT INTO d VALUES (99, 'z') RETURNING *", "0A000"), ("SELECT 1; SELECT 2", "0A000"), ("CREATE TABLE zz ()", "0A000"),
    ("WITH w AS (DELETE FROM d RETURNING *) SELECT * FROM w", "0A000"), ("SELECT", "22023"), ("SELEC 1", "42601"),
    ("SELECT 1 FROM nowhere", "42P01"), ("SELECT 1 / k FROM d", "22012"), ("", "0A000"), ("EXPLAIN SELECT 1", "0A000"),
    ("SELECT * FROM d FOR UPDATE", "0A000"))


def results(bench, server):
    with server.connect(settings=CPU) as session:
        session.query("CREATE TABLE f AS SELECT i AS id, i % 7 AS k, (i * 37 % 1024) / 1024.0::float8 AS x "
                      "FROM generate_series(1, 50000) i; "
                      "CREATE TABLE d AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 6) i")
        session.query("VACUUM ANALYZE f, d")
        for forced in ("off", "on"):
            session.query(f"SET pg_turbine.debug_force_offload = {forced}")
            for query, kinds in RESULTS:
                quoted = query.replace("'", "''")
                result = session.value(f"SELECT turbine.gpu_result('{quoted}')")
                with redeem(token(session, f"turbine.export('{result}')")) as imported:
                    compare(bench, f"{query}, forced {forced}", imported, session.query(query), kinds)
                columns = session.query(f"SELECT name, rows FROM turbine.result_columns('{result}')")
                bench.equal("result_columns", columns, [(name, str(imported.rows)) for name in imported.columns])
                bench.equal("released", session.value(f"SELECT turbine.release('{result}'::turbine.result)"), "t")
                bench.equal("twice", session.value(f"SELECT turbine.release('{result}'::turbine.result)"), "f")
                bench.fails("no such result", session, f"SELECT turbine.export('{result}')", "42704")
        for query, state in REFUSED:
            quoted = query.replace("'", "''")
            bench.fails(f"refused: {query}", session, f"SELECT turbine.gpu_result('{quoted}')", state)
        for device, state in (("auto", "22023"), ("gpu7", "55000"), ("gpu", "55000"), ("", "22023")):
            bench.fails(f"device {device}", session, f"SELECT turbine.gpu_result('SELECT 1', '{device}')", state)
        bench.equal("host by name", session.value("SELECT turbine.gpu_result('SELECT 1', 'host') IS NOT NULL"), "t")
        bench.equal("NULL", session.value("SELECT turbine.gpu_result(NULL) IS NULL"), "t")
        # The statement's snapshot, in a transaction that has changed something.
        session.query("BEGIN; UPDATE d SET name = 'mine'")
        result = session.value("SELECT turbine.gpu_result('SELECT DISTINCT name FROM d')")
        session.query("ROLLBACK")
        with redeem(token(session, f"turbine.export('{result}'::turbine.result, '{{name}}')")) as imported:
            bench.equal("own changes", imported.values("name"), ["mine"])
        bench.fails("column", session, f"SELECT turbine.export('{result}'::turbine.result, '{{nix}}')", "42703")
        bench.fails("empty", session, f"SELECT turbine.export('{result}'::turbine.result, '{{}}')", "22023")
        many = ", ".join(f"{i} AS c{i}" for i in range(1664))
        with redeem(token(session, f"turbine.export(turbine.gpu_result('SELECT {many}'))")) as imported:
            bench.equal("many columns", [imported.values(f"c{i}") for i in range(1664)], [[i] for i in range(1664)])


def cursors(bench, server):
    with server.connect(settings=CPU) as session:
        for forced, query in (("off", "SELECT id FROM f ORDER BY id"), ("on", "SELECT id FROM f WHERE x >= 0 ORDER BY id")):
            session.query(f"SET pg_turbine.debug_force_offload = {forced}")
            opened = f"DECLARE c CURSOR FOR {query}" if forced == "off" else f"SELECT turbine.open_cursor('c', '{query}')"
            session.query(f"BEGIN; {opened}")
            found = []
            while (result := session.value("SELECT turbine.fetch_result('c', 17001)")) is not None:
                with redeem(token(session, f"turbine.export('{result}')")) as imported:
                    found.append(imported.values("id"))
                    # FETCH and fetch_result go on where the other stopped.
                    found.append([int(row[0]) for row in session.query("FETCH 3 FROM c")])
            bench.equal(f"batches, {query}", [len(part) for part in found], [17001, 3, 17001, 3, 15992, 0])
            bench.equal(f"rows, {query}", list(itertools.chain.from_iterable(found)), list(range(1, 50001)))
            bench.equal("at the end", session.value("SELECT turbine.fetch_result('c', 1) IS NULL"), "t")
            bench.fails("no rows", session, "SELECT turbine.fetch_result('c', 0)", "22023")
            session.query("ROLLBACK")
        bench.fails("no SELECT", session, "SELECT turbine.open_cursor('c', 'DELETE FROM f')", "0A000")
        bench.fails("no cursor", session, "SELECT turbine.fetch_result('c', 1)", "34000")
        session.query("BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT id FROM f ORDER BY id LIMIT 5; COMMIT")
        with redeem(token(session, "turbine.export(turbine.fetch_result('h', 3))")) as imported:
            bench.equal("held", imported.values("id"), [1, 2, 3])


def rights(bench, server):
    with server.connect(settings=OFF) as admin:
        admin.query("CREATE TABLE r (a int, b int); INSERT INTO r VALUES (1, 2); CREATE ROLE reader LOGIN; CREATE ROLE other LOGIN; "
                    "GRANT SELECT (a) ON r TO reader; CREATE TABLE rls (a int); INSERT INTO rls VALUES (1), (2); "
                    "ALTER TABLE rls ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON rls USING (a = 1); GRANT SELECT ON rls TO reader")
        with redeem(token(admin, "turbine.export('rls')")) as imported:
            bench.equal("whom the policy does not filter", imported.values("a"), [1, 2])
        kept = token(admin, "turbine.export('r', keep => true)")
        admin.query("BEGIN; INSERT INTO r VALUES (3, 4)")
        bench.fails("changed", admin, "SELECT turbine.export('r')", "25001")
        admin.query("ROLLBACK; BEGIN; SAVEPOINT s; DELETE FROM r; ROLLBACK TO s")
        bench.equal("rolled back", admin.run("SELECT turbine.export('r')").sqlstate, "00000")
        admin.query("COMMIT; BEGIN; CREATE TABLE made (a int)")
        bench.fails("made here", admin, "SELECT turbine.export('made')", "25001")
        admin.query("ROLLBACK")
        for name, state in (("nowhere", "42P01"), ("pg_class_oid_index", "42809")):
            bench.fails(f"export of {name}", admin, f"SELECT turbine.export('{name}')", state)
        admin.query("CREATE VIEW rv AS SELECT a + 1 AS c FROM r")
        with redeem(token(admin, "turbine.export('rv')")) as imported:
            bench.equal("view", imported.values("c"), [2])
        result = admin.value("SELECT turbine.gpu_result('SELECT 1 AS x')")
        admin.query("SET ROLE other")
        bench.fails("another role's result", admin, f"SELECT turbine.export('{result}')", "42704")
        bench.equal("nor to release", admin.value(f"SELECT turbine.release('{result}'::turbine.result)"), "f")
        admin.query("RESET ROLE")
        bench.equal("nor seen", admin.value("SELECT count(*) FROM turbine.exports WHERE kept"), "1")
        with server.connect(user="reader") as session:
            bench.fails("column without SELECT", session, "SELECT turbine.export('r')", "42501")
            bench.fails("that column", session, "SELECT turbine.export('r', '{b}')", "42501")
            with redeem(token(session, "turbine.export('r', '{a}')")) as imported:
                bench.equal("the other one", imported.values("a"), [1])
            bench.fails("policies", session, "SELECT turbine.export('rls')", "42501")
            with redeem(token(session, "turbine.export(turbine.gpu_result('SELECT a FROM rls'))")) as imported:
                bench.equal("policies apply", imported.values("a"), [1])
            bench.fails("another session's result", session, f"SELECT turbine.export('{result}')", "42704")
            shown = session.query("SELECT owner, relation, kept FROM turbine.exports WHERE relation IS NOT NULL")
            bench.equal("only one's own", shown, [("reader", "r", "f")])
            bench.equal("revoke another's", session.value(f"SELECT turbine.release('\\x{kept.hex()}'::bytea)"), "f")
        bench.equal("revoke", admin.value(f"SELECT turbine.release('\\x{kept.hex()}'::bytea)"), "t")


def refused(bench, name, attempt, status=1):
    try:
        attempt().close()
        bench.check(name, "it was opened")
    except Refused as error:
        bench.check(name, None if error.status == status else str(error))


def as_user(uid, data, queue):
    """In a process of its own: what another user is told."""
    os.setgid(uid)
    os.setuid(uid)
    try:
        redeem(data).close()
        queue.put("opened")
    except Refused as error:
        queue.put(error.status)
    except OSError as error:
        queue.put(str(error))


def told(uid, data):
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=as_user, args=(uid, data, queue))
    process.start()
    answer = queue.get(timeout=30)
    process.join()
    return answer


def by_tcp(server, sql):
    """A statement's value over TCP; the session stays open until the caller has used it."""
    process = cluster.start_as_server([*server.client("psql"), "-h", "127.0.0.1", "-XAt"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(sql + ";\n")
    process.stdin.flush()
    return process, process.stdout.readline().strip()


def tokens(bench, server):
    with server.connect(settings=OFF) as session:
        good = token(session, "turbine.export('d')")
        for _ in range(3):
            redeem(good).close()
        bench.check("several imports", None)
        if os.geteuid() == 0:
            bench.equal("stolen by another user", told(ANOTHER_USER, good), 1)
        # From TCP nobody knows whose it is: good once, for anybody.
        process, text = by_tcp(server, "SELECT turbine.export('d')")
        once = bytes_of(text)
        bench.equal("once, by anybody", told(ANOTHER_USER, once) if os.geteuid() == 0 else redeem(once).close() or "opened", "opened")
        refused(bench, "replayed", lambda: redeem(once))
        process.communicate()
        # Wrong ones, at speed: none is good, and others are not held up.
        path, opened, busy = import_columns.path_of(good), 0, 0
        for _ in range(10000):
            try:
                redeem(good, secret=random.randbytes(32)).close()
                opened += 1
            except Refused as error:
                busy += error.status == 2
        bench.equal("10,000 forged tokens", opened, 0)
        bench.check("forgers are slowed down", None if busy > 0 else "none was told to wait")
        time.sleep(1.1)
        redeem(good).close()
        for name, request in (("another magic", b"NIX!" + bytes(36)), ("another version", b"PGTI" + b"\2" + bytes(35))):
            connection, status, _, _ = import_columns.ask(path, request)
            connection.close()
            bench.equal(name, status, 3)
        # Who sends half of a request, or nothing, holds up nobody.
        silent = []
        for data in (b"", b"PGTI", bytes(39)):
            silent.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            silent[-1].connect(path)
            silent[-1].sendall(data)
        redeem(good).close()
        for one in silent:
            one.settimeout(20)
            bench.equal("it is shut out in the end", one.recv(1), b"")
            one.close()
        bench.equal("revoked", session.value(f"SELECT turbine.release('\\x{good.hex()}'::bytea)"), "t")
        refused(bench, "after that", lambda: redeem(good))
        session.query("SET pg_turbine.export_lifetime = '1s'")
        short = token(session, "turbine.export('d')")
        redeem(short).close()
        soon(lambda: session.value("SELECT count(*) FROM turbine.exports WHERE relation = 'd'::regclass") == "0", 10)
        refused(bench, "ended", lambda: redeem(short))
        bench.equal("and its copy is gone", session.value("SELECT count(*) FROM turbine.exports WHERE relation = 'd'::regclass"), "0")
        for data in ("", "00", "00" * 58):
            bench.equal("no token", session.value(f"SELECT turbine.release('\\x{data}'::bytea)"), "f")


def count_exports(session):
    return int(session.value("SELECT count(*) FROM turbine.exports"))


def used(session):
    return int(session.value("SELECT memory_used FROM turbine.devices WHERE index = 0"))


def lifetime(bench, server):
    with server.connect(settings=OFF) as admin:
        bench.equal("nothing is left of other scenes", soon(lambda: count_exports(admin) == 0, 10), True)
        before = used(admin)
        session = server.connect(settings=CPU)
        plain, kept = token(session, "turbine.export('f')"), token(session, "turbine.export('d', keep => true)")
        result = session.value("SELECT turbine.gpu_result('SELECT 5 AS five')")
        named = token(session, f"turbine.export('{result}', keep => true)")
        imported = redeem(plain)
        bench.equal("gstore knows none of them", admin.query("SELECT * FROM turbine.gstore"), [])
        session.close()
        bench.equal("only kept ones stay", soon(lambda: count_exports(admin) == 2, 10), True)
        refused(bench, "a token of the session that ended", lambda: redeem(plain))
        bench.equal("who has it open reads on", imported.values("id")[-1], 50000)
        bench.check("its memory counts", None if used(admin) > before + 100000 else f"{used(admin)} of {before}")
        imported.close()
        bench.equal("until it is closed", soon(lambda: used(admin) < before + 100000, 10), True)
        with redeem(named) as opened:
            bench.equal("kept result", opened.values("five"), [5])
        with server.connect(settings=CPU) as later:
            with redeem(token(later, f"turbine.export('{result}')")) as opened:
                bench.equal("kept, from another session", opened.values("five"), [5])
            bench.equal("released there", later.value(f"SELECT turbine.release('{result}'::turbine.result)"), "t")
            bench.equal("and the table's", later.value(f"SELECT turbine.release('\\x{kept.hex()}'::bytea)"), "t")
        refused(bench, "released", lambda: redeem(kept))
        bench.equal("no memory is left", soon(lambda: used(admin) <= before, 10), True)
        # Cancelled in the middle: nothing of it stays, and the session's other results do.
        with server.connect(settings=CPU) as session:
            stays = session.value("SELECT turbine.gpu_result('SELECT 1 AS x')")
            for delay in (0.01, 0.05, 0.2, 0.5):
                timer = threading.Timer(delay, session.cancel)
                timer.start()
                state = session.run("SELECT turbine.gpu_result('SELECT i, i + 1, i::text FROM generate_series(1, 3000000) i')").sqlstate
                timer.join()
                bench.check(f"cancelled after {delay} s", None if state in ("57014", "00000") else state)
            bench.equal("others are there", redeem(token(session, f"turbine.export('{stays}')")).values("x"), [1])
            state = session.run("SET statement_timeout = '30ms'; SELECT turbine.gpu_result('SELECT pg_sleep(5)')").sqlstate
            bench.equal("timed out", state, "57014")
            session.query("RESET statement_timeout")
            session.run("SELECT turbine.gpu_result('SELECT i, 1 / (100000 - i) FROM generate_series(1, 200000) i')")
            bench.check("files are closed", None if open_files(session) < 40 else f"{open_files(session)} files")
        # Importers that are killed.
        with server.connect(settings=CPU) as session:
            data = token(session, "turbine.export('f')")
            process = multiprocessing.Process(target=open_and_sleep, args=(data,))
            process.start()
            bench.equal("importers", soon(lambda: importers(admin) == 1, 10), True)
            process.kill()
            process.join()
            bench.equal("killed", soon(lambda: importers(admin) == 0, 10), True)
        # A killed service takes them along; the session makes new ones.
        with server.connect(settings=CPU) as session:
            data = token(session, "turbine.export('f')")
            imported = redeem(data)
            os.kill(server.service_pid(), signal.SIGKILL)
            server.wait_for_service()
            bench.equal("an importer reads on", imported.values("id")[0], 1)
            refused(bench, "of the service before", lambda: patiently(lambda: redeem(data)))
            bench.equal("new ones", redeem(token(session, "turbine.export('f')")).rows, 50000)
            imported.close()
        killed_meanwhile(bench, server)
        with server.connect(settings=CPU) as session:
            pid = int(session.value("SELECT pg_backend_pid()"))
            data = token(session, "turbine.export('d', keep => true)")
            plain = token(session, "turbine.export('d')")
            with contextlib.suppress(ConnectionLost, DatabaseError):
                session.query(f"SELECT pg_terminate_backend({pid})")
                session.query("SELECT 1")
        bench.equal("a terminated session's", soon(lambda: count_exports(admin) == 1, 10), True)
        redeem(data).close()
        refused(bench, "but for kept ones", lambda: redeem(plain))
        admin.query(f"SELECT turbine.release('\\x{data.hex()}'::bytea)")


def killed_meanwhile(bench, server):
    """A service that dies while rows are on their way: all of them come from PostgreSQL's plan, or none."""
    outcomes = {}
    with server.connect(settings={**CPU, "pg_turbine.debug_force_offload": "on"}) as session:
        session.query("CREATE TABLE m AS SELECT i AS id, i % 1000 AS k, CASE WHEN i % 7 > 0 THEN i END AS n "
                      "FROM generate_series(1, 1500000) i")
        session.query("VACUUM ANALYZE m")
        query = "SELECT id, n FROM m WHERE k >= 0"
        session.query(f"SELECT turbine.gpu_result('{query}')")
        for i in range(12):
            timer = threading.Timer(0.005 + i * 0.01, lambda: os.kill(server.service_pid(), signal.SIGKILL))
            timer.start()
            outcome = session.run(f"SELECT turbine.gpu_result('{query}')")
            timer.join()
            outcomes[outcome.sqlstate] = outcomes.get(outcome.sqlstate, 0) + 1
            if outcome.sqlstate == "00000":
                # The service that has it may be the one that was killed.
                server.wait_for_service()
                answer = session.run(f"SELECT turbine.export('{outcome.rows[0][0]}')")
                if answer.sqlstate == "00000":
                    with redeem(bytes_of(answer.rows[0][0])) as imported:
                        right = sorted(imported.values("id")) == list(range(1, 1500001))
                        nulls = imported.columns["n"]["nulls"] == 1500000 // 7
                        bench.check(f"rows of a service killed after {5 + i * 10} ms", None if right and nulls else "others")
            else:
                bench.check("refused", None if outcome.sqlstate in ("08006", "53200") else str(outcome.error))
            server.wait_for_service()
        session.query("DROP TABLE m")
    print(f"  killed meanwhile: {outcomes}", flush=True)


def patiently(attempt):
    """The socket may not be back yet."""
    for _ in range(100):
        try:
            return attempt()
        except OSError:
            time.sleep(0.05)
    return attempt()


def open_files(session):
    """Of the session's backend."""
    return len(os.listdir(f"/proc/{session.value('SELECT pg_backend_pid()')}/fd")) if os.geteuid() == 0 else 0


def importers(session):
    return int(session.value("SELECT coalesce(sum(importers), 0) FROM turbine.exports"))


def open_and_sleep(data):
    imported = redeem(data)
    time.sleep(60)
    imported.close()


def memory(bench):
    settings = {"pg_turbine.memory_budget": "256MB", "max_files_per_process": "400"}
    with cluster.Cluster("exports", settings=settings) as server:
        server.create_extension("postgres")
        server.wait_for_service()
        with server.connect(settings=CPU) as session:
            before = used(session)
            large = "SELECT i, i, i, i FROM generate_series(1, 3000000) i"
            first = session.value(f"SELECT turbine.gpu_result('{large}')")
            bench.check("it counts", None if used(session) >= before + 48000000 else f"{used(session)}")
            outcome = session.run(f"SELECT turbine.gpu_result('{large.replace('3000000', '30000000')}')")
            bench.equal("too large", outcome.sqlstate, "53200")
            bench.check("it says what to do", None if "turbine.exports" in outcome.error.fields.get("H", "") else str(outcome.error))
            bench.equal("what was there stays", redeem(token(session, f"turbine.export('{first}')")).rows, 3000000)
            bench.equal("queries have the other half", session.run("SELECT count(*) FROM generate_series(1, 10)").sqlstate, "00000")
            session.query(f"SELECT turbine.release('{first}'::turbine.result)")
            bench.equal("all comes back", soon(lambda: used(session) <= before, 10), True)
            for columns, state in ((200, "53000"), (100, "00000")):
                many = ", ".join(f"{i} AS c{i}" for i in range(columns))
                bench.equal(f"{columns} columns", session.run(f"SELECT turbine.gpu_result('SELECT {many}')").sqlstate, state)
    with cluster.Cluster("exports", settings={"pg_turbine.export_socket": "none"}) as server:
        server.create_extension("postgres")
        server.wait_for_service()
        with server.connect(settings=CPU) as session:
            session.query("CREATE TABLE x AS SELECT 1 AS a")
            bench.fails("no socket", session, "SELECT turbine.export('x')", "55000")
            bench.equal("no endpoint", session.value("SELECT socket IS NULL FROM turbine.export_endpoint()"), "t")
    with tempfile.TemporaryDirectory(prefix="pgt-socket-") as folder:
        os.chmod(folder, 0o777)
        path = f"{folder}/elsewhere"
        with cluster.Cluster("exports", settings={"pg_turbine.export_socket": path}) as server:
            server.create_extension("postgres")
            server.wait_for_service()
            with server.connect(settings=CPU) as session:
                session.query("CREATE TABLE x AS SELECT 1 AS a")
                data = token(session, "turbine.export('x')")
                bench.equal("another path", import_columns.path_of(data), path)
                redeem(data).close()
            bench.equal("its mode", oct(os.stat(path).st_mode & 0o777), "0o666")
        bench.equal("gone with the server", os.path.exists(path), False)


def gpu(bench):
    """turbined finds a GPU whose memory is host memory: what is placed there is read back by its descriptors."""
    library = cluster.BUILD / "src" / "engine" / "stand_in" / "libcuda.so.1"
    if not library.exists():
        print("  gpu: there is no stand-in driver in this build", flush=True)
        return
    folder = tempfile.mkdtemp(prefix="pgt-driver-")
    os.chmod(folder, 0o755)
    shutil.copy2(library, folder)
    os.environ["LD_LIBRARY_PATH"] = folder
    try:
        with cluster.Cluster("exports") as server:
            server.create_extension("postgres")
            server.wait_for_service()
            with server.connect(settings={**OFF, "timezone": "UTC"}) as session:
                session.query("CREATE TABLE g AS SELECT i, i % 2 = 0 AS b, CASE WHEN i % 3 > 0 THEN 'text ' || i END AS s, "
                              "i * 0.25::float4 AS x FROM generate_series(1, 300000) i")
                with redeem(token(session, "turbine.export('g')")) as imported:
                    device = imported.description["device"]
                    bench.equal("on a GPU", (device["kind"], device["ordinal"], device["uuid"]), ("cuda", 0, "f0" * 16))
                    bench.check("pages of 2 MB", None if all(c["allocation_bytes"] % (2 << 20) == 0 for c in imported.columns.values())
                                else "other sizes")
                    compare(bench, "its rows", imported, session.query("SELECT * FROM g"), ("int4", "bool", "text", "float8"))
                    bench.equal("shown", session.query("SELECT device, rows FROM turbine.exports"), [("gpu0", "300000")])
                result = session.value("SELECT turbine.gpu_result('SELECT i FROM g', 'gpu0')")
                with redeem(token(session, f"turbine.export('{result}')")) as imported:
                    bench.equal("by name", imported.description["device"]["kind"], "cuda")
                    bench.equal("its rows", imported.values("i")[:2], [1, 2])
                with redeem(token(session, "turbine.export(turbine.gpu_result('SELECT i FROM g', 'host'))")) as imported:
                    bench.equal("the host", imported.description["device"], {"kind": "host"})
                session.query("SELECT turbine.pin('g', device => 'host')")
                with redeem(token(session, "turbine.export('g')")) as imported:
                    bench.equal("where it is pinned", imported.description["device"], {"kind": "host"})
                session.query("SELECT turbine.pin('g', device => 'gpu7')")
                with redeem(token(session, "turbine.export('g')")) as imported:
                    bench.equal("pinned to a GPU that is not there", imported.description["device"], {"kind": "host"})
                bench.equal("in gstore", session.value("SELECT exported_bytes > 0 FROM turbine.gstore"), "t")
                # More than the fake GPU has.
                session.query("SELECT turbine.gpu_result('SELECT 1')")
        log = server.logfile.read_text(errors="replace") if server.logfile.exists() else ""
        bench.check("the driver was used well", None if "stand-in driver:" not in log else log[-500:])
    finally:
        del os.environ["LD_LIBRARY_PATH"]
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=SCENES)
    options = parser.parse_args()
    bench = Bench()
    # Columns go to host memory, where they can be read here, whatever the machine has.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    wanted = set(options.only)
    if wanted - {"memory", "gpu"}:
        with cluster.Cluster("exports", settings={"listen_addresses": "127.0.0.1", "port": free_port()}) as server:
            server.create_extension("postgres")
            server.wait_for_service()
            if "values" in wanted:
                values(bench, server, random.Random(options.seed))
            for scene in (order, results, cursors, rights, tokens, lifetime):
                if scene.__name__ in wanted:
                    scene(bench, server)
    for scene in (memory, gpu):
        if scene.__name__ in wanted:
            scene(bench)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(error)
        sys.exit(1)
