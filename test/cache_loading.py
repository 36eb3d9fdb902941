#!/usr/bin/env python3
"""cache_loading.py - what is read into the column cache before anybody asks, and which tables may be.

`load`: cache_load, its progress, policies of tables. `obstacles`: what it says of tables that cannot
be loaded. `restore`: policies after pg_dump with pg_restore, and after pg_dumpall. `drop_database`: DROP
DATABASE while tables of this database and of another one are loaded. `restart`: what is loaded after one.
`many_databases`: very many in the list, and such as are gone. `standby`: a replica, restarted, promoted.
Must never: wait for a load longer than its own limit.
Called by: make test-cache-loading, test/run_all.py.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import CPU, OFF, ROWS, Bench, blocks_of, cached_blocks, make, shown  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402

# DROP DATABASE itself waits 5 s for other sessions.
DROP_SECONDS = 20
LOAD_SECONDS = 60
SERVICE_MISSING = "55000"
# With cached tables, behind others in the list; and as many as are loaded at most.
DATABASES = 3
OTHER_DATABASES = 70
GONE_DATABASES = 2000
FIRST_DATABASE = 4000000000
MOST_DATABASES = 1024
# Lines of a server's log that are a failure, and the words of those that are none.
BAD_LINES = ("ERROR:", "FATAL:", "PANIC:", "TRAP:", "was terminated by signal")
GOOD_WORDS = ("the database system is", "due to administrator command")


def bad_lines(server):
    return [line for line in server.logfile.read_text(errors="replace").splitlines()
            if any(word in line for word in BAD_LINES) and not any(word in line for word in GOOD_WORDS)]


def soon(condition, seconds):
    """Whether it became true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def restart_server(server):
    server.stop()
    server.start()
    server.wait_for_service()


def load(bench, server):
    """Loading, policies, and who may."""
    with server.connect(settings=CPU) as session, server.connect(settings=OFF) as plain, \
            server.connect(user="stranger", settings=CPU) as stranger:
        plain.query("CREATE TABLE l (id int, k int, price numeric(12,2), free numeric, doc json, gone int, name text)")
        plain.query("ALTER TABLE l DROP gone")
        plain.query(f"INSERT INTO l SELECT i, i % 7, i / 8.0, i, '{{}}', 'name ' || i FROM generate_series(1, {ROWS}) i")
        plain.query("VACUUM (ANALYZE) l")
        plain.query("CHECKPOINT")
        blocks = blocks_of(session, "l")
        loaded = int(session.value("SELECT turbine.cache_load('l', '{k,price}')"))
        whole = (ROWS, blocks, 0, 0)
        bench.equal("two columns, and tuple ids", shown(session, "l"), {"k": whole, "price": whole, "ctid": whole})
        bench.equal("bytes", str(loaded), session.value("SELECT sum(bytes) FROM turbine.column_cache WHERE relation = 'l'::regclass"))
        query = "SELECT k, sum(price), max(name) FROM l GROUP BY k"
        bench.equal("one column is missing", cached_blocks(session, query), 0)
        session.query("SELECT turbine.cache_drop('l')")
        session.query("SELECT turbine.cache_load('l')")
        bench.equal("all that devices know", set(shown(session, "l")), {"id", "k", "price", "name", "ctid"})
        bench.equal("and used", cached_blocks(session, query), blocks)
        bench.check("right", answers.difference(plain.run(query), session.run(query)))
        bench.equal("settings stay", session.value("SHOW pg_turbine.debug_force_offload"), CPU["pg_turbine.debug_force_offload"])
        bench.equal("nothing is loaded now", session.query("SELECT * FROM turbine.cache_loads"), [])
        bench.equal("partitions", str(int(session.value("SELECT turbine.cache_load('pt', '{id}')")) > 0), "True")
        bench.equal("of all", {row[0] for row in session.query("SELECT relation FROM turbine.column_cache WHERE column_name = 'id'")} -
                    {"l"}, {"pt_1", "pt_2"})
        bench.fails("no such column", session, "SELECT turbine.cache_load('l', '{k,nope}')", "42703")
        bench.fails("no columns", session, "SELECT turbine.cache_load('l', '{}')", "22023")
        bench.fails("a null", session, "SELECT turbine.cache_load('l', ARRAY[NULL])", "22004")
        bench.fails("no relation", session, "SELECT turbine.cache_load(1::regclass)", "42P01")
        bench.fails("a stranger", stranger, "SELECT turbine.cache_load('l')", "42501")
        plain.query("GRANT SELECT ON l TO stranger")
        bench.fails("a stranger who may read", stranger, "SELECT turbine.cache_load('l')", "00000")
        plain.query("ALTER TABLE l ENABLE ROW LEVEL SECURITY")
        bench.fails("but not all rows", stranger, "SELECT turbine.cache_load('l')", "42501")

        progress_seen = False
        for _ in range(50):
            session.query("SELECT turbine.cache_drop('l')")
            loader = threading.Thread(target=lambda: plain.query("SELECT turbine.cache_load('l')"))
            loader.start()
            while loader.is_alive():
                rows = session.query("SELECT relation, blocks_done, blocks_total FROM turbine.cache_loads")
                progress_seen = progress_seen or any(row[0] == "l" and int(row[1]) <= int(row[2]) == blocks for row in rows)
            loader.join()
            if progress_seen:
                break
        bench.equal("progress", progress_seen, True)

        policy = "SELECT turbine.cache_policy('{}', '{}')"
        bench.fails("a stranger's policy", stranger, policy.format("l", "off"), "42501")
        bench.fails("no such policy", session, policy.format("l", "never"), "22023")
        bench.fails("no such label", session, "SECURITY LABEL FOR pg_turbine ON TABLE l IS 'mine'", "22023")
        bench.fails("no table's", session, "SECURITY LABEL FOR pg_turbine ON SCHEMA public IS 'cache off'", "0A000")
        bench.fails("a view's", session, "SECURITY LABEL FOR pg_turbine ON VIEW turbine.column_cache IS 'cache off'", "42809")
        session.query(policy.format("l", "off"))
        bench.equal("off", cached_blocks(session, query), 0)
        bench.equal("off, again", cached_blocks(session, query), 0)
        dump = server.dump("postgres", "-t", "l", "-s")
        bench.check("dumped", None if "ON TABLE public.l IS 'cache off'" in dump else dump)
        with server.connect() as other:
            bench.fails("nobody's label", other, "SECURITY LABEL ON TABLE l IS 'cache off'", "22023")
            bench.fails("one by name", other, "SECURITY LABEL FOR pg_turbine ON TABLE l IS 'cache off'", "00000")
        session.query(policy.format("l", "auto"))
        bench.equal("on again", cached_blocks(session, query), blocks)
        session.query(policy.format("pt", "off"))
        session.query("SELECT turbine.cache_drop('pt')")
        grouped = "SELECT k, sum(id) FROM pt GROUP BY k"
        for _ in range(2):
            bench.equal("off for partitions", cached_blocks(session, grouped), 0)
        session.query(policy.format("pt_2", "auto"))
        session.query(grouped)
        bench.equal("but for one", cached_blocks(session, grouped), blocks_of(session, "pt_2"))
        session.query("SECURITY LABEL FOR pg_turbine ON TABLE pt IS NULL")
        session.query(grouped)
        bench.equal("no label", cached_blocks(session, grouped), blocks_of(session, "pt_1") + blocks_of(session, "pt_2"))
        session.query("DROP TABLE l")


def fresh(bench, server):
    """A table that was never vacuumed is loaded like others."""
    with server.connect(settings=CPU) as session:
        session.query("CREATE TABLE fresh AS SELECT i AS a, i % 9 AS b FROM generate_series(1, 40000) i")
        session.query("SELECT turbine.cache_load('fresh')")
        bench.equal("fresh, all blocks", cached_blocks(session, "SELECT b, sum(a) FROM fresh GROUP BY b"), blocks_of(session, "fresh"))
        session.query("DROP TABLE fresh")


def notices_of(session, sql):
    """Each NOTICE of the statement: message, detail and hint."""
    session.notices.clear()
    session.query(sql)
    return [(n.get("M", ""), n.get("D", ""), n.get("H", "")) for n in session.notices if n.get("S") == "NOTICE"]


OBSTACLES = (
    # (name, what makes the table o, words of the detail, words of the hint)
    ("empty", "CREATE TABLE o (a int)", "is empty", ""),
    ("temporary", "CREATE TEMP TABLE o AS SELECT generate_series(1, 20000) AS a; VACUUM o", "temporary", ""),
    ("unlogged", "CREATE UNLOGGED TABLE o AS SELECT generate_series(1, 20000) AS a; VACUUM o", "unlogged", "SET LOGGED"),
    ("no column", "CREATE TABLE o AS SELECT '{}'::json AS a FROM generate_series(1, 20000); VACUUM o", "type that devices know", ""),
    ("few blocks", "CREATE TABLE o AS SELECT generate_series(1, 40000) AS a; VACUUM o; SET pg_turbine.direct_threshold = 1000",
     "fewer than pg_turbine.direct_threshold", "Lower"),
    ("serializable", "CREATE TABLE o AS SELECT generate_series(1, 20000) AS a; VACUUM o; "
     "SET default_transaction_isolation = 'serializable'", "serializable", "isolation"),
    ("new", "CREATE TABLE o AS SELECT generate_series(1, 20000) AS a; VACUUM o; BEGIN; TRUNCATE o; INSERT INTO o VALUES (1)",
     "created or rewritten", "Commit"),
)


def obstacles(bench, server):
    """A load that can load nothing says why; others say nothing."""
    for name, script, detail, hint in OBSTACLES:
        with server.connect(settings={"pg_turbine.direct_threshold": "64"}) as session:
            for sql in script.split("; "):
                session.query(sql)
            notices = notices_of(session, "SELECT turbine.cache_load('o')")
            right = len(notices) == 1 and "\"o\" is not loaded" in notices[0][0] and detail in notices[0][1] and hint in notices[0][2]
            bench.check(name, None if right and bool(hint) == bool(notices[0][2]) else f"notices {notices}")
            bench.equal(f"{name}: bytes", session.value("SELECT turbine.cache_load('o')"), "0")
            session.run("ROLLBACK")
            session.query("DROP TABLE o")
    with server.connect(settings={"pg_turbine.direct_threshold": "64"}) as session:
        for rows in (1, 1000, 60000):
            for sql in (f"CREATE TABLE o AS SELECT generate_series(1, {rows}) AS a", "VACUUM o", "CHECKPOINT"):
                session.query(sql)
            bench.equal(f"{rows} rows", notices_of(session, "SELECT turbine.cache_load('o')"), [])
            bench.equal(f"{rows} rows are loaded", int(session.value("SELECT turbine.cache_load('o')")) > 0, True)
            session.query("DROP TABLE o")
        session.query("CREATE VIEW no_table AS SELECT 1 AS a")
        session.query("CREATE SEQUENCE no_table_either")
        bench.fails("a view", session, "SELECT turbine.cache_load('no_table')", "42809")
        bench.fails("a sequence", session, "SELECT turbine.cache_load('no_table_either')", "42809")
        session.query("CREATE TABLE o (a int) PARTITION BY LIST (a)")
        session.query("CREATE UNLOGGED TABLE o_1 PARTITION OF o FOR VALUES IN (1)")
        session.query("CREATE TABLE o_2 PARTITION OF o FOR VALUES IN (2)")
        session.query("INSERT INTO o SELECT 1 + i % 2 FROM generate_series(1, 50000) i")
        session.query("VACUUM o")
        session.query("CHECKPOINT")
        notices = notices_of(session, "SELECT turbine.cache_load('o')")
        bench.equal("one partition of two", [notice[0] for notice in notices], ['table "o_1" is not loaded'])
        session.query("DROP TABLE o")


def restart(bench, server):
    """What was cached is cached again."""
    with server.connect(settings=CPU) as session:
        session.query("SELECT turbine.cache_drop('t'), turbine.cache_drop('pt')")
        session.query("CREATE TABLE a (id int, k int, name text)")
        session.query(f"INSERT INTO a SELECT i, i % 7, 'name ' || i FROM generate_series(1, {ROWS}) i")
        session.query("VACUUM (ANALYZE) a")
        session.query("CHECKPOINT")
        session.query("SELECT sum(id), max(name) FROM a")
        session.query("SELECT k, sum(id) FROM pt GROUP BY k")
        # Loads keep tuple ids, too.
        expected = {table: {"ctid", *shown(session, table)} for table in ("a", "pt_1", "pt_2")}
    server.stop()
    server.start()
    server.wait_for_service()
    with server.connect(settings=CPU) as session:
        for _ in range(100):
            found = {table: set(shown(session, table)) for table in expected}
            if found == expected and shown(session, "a")["name"][1] == blocks_of(session, "a"):
                break
            time.sleep(0.1)
        bench.equal("after a restart", found, expected)
        bench.equal("whole", cached_blocks(session, "SELECT sum(id), max(name) FROM a"), blocks_of(session, "a"))
        plain_file = Path(server.data) / "pg_turbine" / "cached_columns"
    server.stop()
    for content in ("2\n1 2 3\n", "1\n5 1663 99999999 1 1\n4294967295 0 0 0 0\nx", ""):
        plain_file.write_text(content)
        server.start()
        server.wait_for_service()
        time.sleep(1)
        with server.connect(settings=CPU) as session:
            bench.equal(f"a list of {content!r}", session.query("SELECT * FROM turbine.column_cache"), [])
        server.stop()
    server.start()
    server.wait_for_service()


def policies(session):
    return session.query("SELECT objoid::regclass::text, label FROM pg_seclabel WHERE provider = 'pg_turbine' ORDER BY 1")


def check_policies(bench, server, name, database, expected):
    """The labels, and that they are obeyed."""
    with server.connect(database, settings=CPU) as session:
        session.query("VACUUM (ANALYZE)")
        session.query("CHECKPOINT")
        bench.equal(f"{name}, labels", policies(session), expected)
        # The second partition has no label: what the table above it says holds.
        for table, blocks in (("never", 0), ("m", 0), ("whole_2", 0), ("whole_1", blocks_of(session, "whole_1"))):
            query = f"SELECT k, sum(id) FROM {table} GROUP BY k"
            session.query(query)
            bench.equal(f"{name}, {table}", cached_blocks(session, query), blocks)
        query = "SELECT k, sum(id) FROM whole GROUP BY k"
        bench.equal(f"{name}, of all partitions", cached_blocks(session, query), blocks_of(session, "whole_1"))


def restore(bench, server):
    """Labels are dumped, restored before the data or after, and taken for policies then."""
    client = ["-h", str(server.directory), "-p", str(server.port), "-U", "postgres"]
    with server.connect() as session:
        session.query("CREATE DATABASE dumped TEMPLATE template1")
        session.query("CREATE DATABASE restored TEMPLATE template0")
    with server.connect("dumped") as session:
        session.query("CREATE TABLE never AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 20000) i")
        session.query("CREATE MATERIALIZED VIEW m AS SELECT * FROM never")
        session.query("CREATE TABLE whole (id int, k int) PARTITION BY RANGE (id)")
        session.query("CREATE TABLE whole_1 PARTITION OF whole FOR VALUES FROM (0) TO (20000)")
        session.query("CREATE TABLE whole_2 PARTITION OF whole FOR VALUES FROM (20000) TO (50000)")
        session.query("INSERT INTO whole SELECT i, i % 7 FROM generate_series(1, 40000) i")
        for table, policy in (("never", "off"), ("m", "off"), ("whole", "off"), ("whole_1", "auto")):
            session.query(f"SELECT turbine.cache_policy('{table}', '{policy}')")
        expected = policies(session)
    bench.equal("policies", len(expected), 4)
    check_policies(bench, server, "before", "dumped", expected)
    archive = server.directory / "archive"
    cluster.run_as_server([server.bindir / "pg_dump", *client, "-Fc", "-f", archive, "dumped"])
    cluster.run_as_server([server.bindir / "pg_restore", *client, "-j", "2", "--exit-on-error", "-d", "restored", archive])
    check_policies(bench, server, "pg_restore", "restored", expected)
    everything = server.directory / "everything.sql"
    cluster.run_as_server([server.bindir / "pg_dumpall", *client, "-f", everything])
    with cluster.Cluster("restored") as other:
        done = cluster.run_as_server([other.bindir / "psql", "-X", "-q", "-h", other.directory, "-p", str(other.port), "-U", "postgres",
                                      "-f", everything, "postgres"])
        # The role exists, as it does in every cluster.
        bench.equal("pg_dumpall, errors", [line for line in done.splitlines()
                                           if "ERROR" in line and 'role "postgres" already exists' not in line], [])
        check_policies(bench, other, "pg_dumpall", "restored", expected)
    with server.connect() as session:
        session.query("DROP DATABASE dumped")
        session.query("DROP DATABASE restored")


class Loader(threading.Thread):
    """Loads a table again and again, until it is told to stop or its session is ended."""

    def __init__(self, server, database, table):
        super().__init__(daemon=True)
        self.session, self.table = server.connect(database, settings=CPU), table
        self.stopped, self.loads, self.end = threading.Event(), 0, None

    def run(self):
        try:
            while not self.stopped.is_set():
                self.session.query(f"SELECT turbine.cache_drop('{self.table}')")
                outcome = self.session.run(f"SELECT turbine.cache_load('{self.table}')")
                # A service that was stopped is found missing for a moment.
                if outcome.error and outcome.sqlstate != SERVICE_MISSING:
                    raise outcome.error
                self.loads += outcome.error is None
            self.session.close()
        except (DatabaseError, ConnectionLost, OSError) as error:
            self.end = error

    def stop(self):
        self.stopped.set()
        self.join(LOAD_SECONDS)
        return not self.is_alive()


def open_files(server, folder):
    """Descriptors of processes of the server in a folder of its data, deleted files included."""
    found = []
    for pid, name in server.descendants().items():
        try:
            links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        found += [f"{name}: {link}" for link in links if f"{server.data}/{folder}/" in link]
    return found


def timed_drop(server, database, force=False):
    """(SQLSTATE, seconds)"""
    started = time.monotonic()
    with server.connect(timeout=DROP_SECONDS + 1) as session:
        try:
            outcome = session.run(f"DROP DATABASE {database}{' WITH (FORCE)' if force else ''}")
        except OSError:
            return "it hangs", time.monotonic() - started
    return outcome.sqlstate, time.monotonic() - started


def make_database(server, name, rows):
    with server.connect() as session:
        session.query(f"CREATE DATABASE {name} TEMPLATE template1")
    with server.connect(name) as session:
        session.query(f"CREATE TABLE big AS SELECT i AS id, i % 7 AS k, 'name ' || i AS name FROM generate_series(1, {rows}) i")
        session.query("VACUUM (ANALYZE) big")
        session.query("CHECKPOINT")
        return f"base/{session.value('SELECT oid FROM pg_database WHERE datname = current_database()')}"


def check_drop(bench, server, database, force, state):
    found, seconds = timed_drop(server, database, force)
    bench.equal(f"DROP DATABASE {database}, force {force}", found, state)
    bench.check(f"DROP DATABASE {database}, force {force}", f"{seconds:.0f} s" if seconds > DROP_SECONDS else None)


def drop_database(bench, server):
    """Loads keep DROP DATABASE no longer from its work than other sessions do, and turbined keeps no file."""
    folder = make_database(server, "doomed", 600000)
    idle_folder = make_database(server, "idle", 50000)
    here = Loader(server, "postgres", "pt")
    there = Loader(server, "doomed", "big")
    with server.connect("idle", settings=CPU) as session:
        session.query("SELECT turbine.cache_load('big')")
        session.query("SELECT k, count(*), max(name) FROM big GROUP BY k")
    here.start()
    there.start()
    bench.check("loads", None if soon(lambda: here.loads > 1 and there.loads > 1, LOAD_SECONDS) else "no table is loaded")
    check_drop(bench, server, "doomed", False, "55006")
    bench.equal("the load goes on", there.end, None)
    # Both loads wait for an answer now, and for interrupts.
    service = server.service_pid()
    os.kill(service, signal.SIGSTOP)
    try:
        time.sleep(0.2)
        check_drop(bench, server, "idle", False, "00000")
        check_drop(bench, server, "doomed", True, "00000")
    finally:
        with contextlib.suppress(ProcessLookupError):   # it is killed after a minute
            os.kill(service, signal.SIGCONT)
    there.join(LOAD_SECONDS)
    bench.check("the load ends with its session", None if there.end else "it goes on")
    for name in (folder, idle_folder):
        soon(lambda name=name: not open_files(server, name), DROP_SECONDS)
        bench.equal(f"files of {name}", open_files(server, name), [])
        bench.equal(f"folder {name}", (server.data / name).exists(), False)
    before = here.loads
    bench.check("other loads go on", None if soon(lambda: here.loads > before, LOAD_SECONDS) else str(here.end))
    bench.equal("and end", here.stop(), True)

    # The same while a worker loads after a start.
    folder = make_database(server, "doomed", 600000)
    with server.connect("doomed", settings=CPU) as session:
        session.query("SELECT turbine.cache_load('big')")
    server.stop()
    server.start()
    deadline, seen = time.monotonic() + 10, False
    with server.connect() as session:
        while not seen and time.monotonic() < deadline:
            seen = bool(session.query("SELECT 1 FROM pg_stat_activity WHERE datname = 'doomed' AND "
                                      "backend_type = 'pg_turbine cache loader'"))
    found, seconds = timed_drop(server, "doomed")
    bench.equal("a loader was there", seen, True)
    print(f"  DROP DATABASE beside a loader: {found} in {seconds:.1f} s", flush=True)
    bench.check("beside a loader", None if found in ("00000", "55006") and seconds < DROP_SECONDS else f"{found}, {seconds:.0f} s")
    if found == "55006":
        bench.equal("after the loader", soon(lambda: timed_drop(server, "doomed")[0] == "00000", LOAD_SECONDS), True)
    server.wait_for_service()
    soon(lambda: not open_files(server, folder), DROP_SECONDS)
    bench.equal("files of a loader", open_files(server, folder), [])


def make_many(server):
    """One table in each of some databases, cached; returns the list of cached columns that the server leaves."""
    for number in range(DATABASES):
        with server.connect() as session:
            session.query(f"CREATE DATABASE many_{number} TEMPLATE template1")
        with server.connect(f"many_{number}", settings=CPU) as session:
            session.query("CREATE TABLE one AS SELECT i AS id FROM generate_series(1, 1000) i")
            session.query("VACUUM one")
            session.query("SELECT sum(id) FROM one")
    server.stop()
    return (server.data / "pg_turbine" / "cached_columns").read_text()


def list_others(server, listed, present, gone):
    """Puts columns of other databases ahead of those that are listed: some whose files are there, and some whose are not.

    To the supervisor the first are databases like all others; that there is no such database their worker learns."""
    others = []
    for number in range(present + gone):
        database = FIRST_DATABASE + number
        others.append(f"{database} 1663 16384 1 {10**9 - number}")
        if number < present:
            folder = server.data / "base" / str(database)
            folder.mkdir(exist_ok=True)
            (folder / "16384").touch()
    head, _, rest = listed.partition("\n")
    (server.data / "pg_turbine" / "cached_columns").write_text("\n".join([head, *others, rest]))


def is_cached(server, database, table):
    with server.connect(database) as session:
        return bool(shown(session, table))


def many_databases(bench):
    """Those behind many others are loaded too, and nobody is sent to those that are gone."""
    # A table of a few blocks is enough, also for the workers that load it.
    with cluster.Cluster("manydbs", settings={"pg_turbine.direct_threshold": "0"}) as server:
        listed = make_many(server)
        bench.equal("listed", len(listed.splitlines()), 1 + DATABASES)
        list_others(server, listed, OTHER_DATABASES, GONE_DATABASES)
        server.start()
        server.wait_for_service()
        started = time.monotonic()
        names = [f"many_{number}" for number in range(DATABASES)]
        soon(lambda: all(is_cached(server, name, "one") for name in names), LOAD_SECONDS)
        bench.equal("loaded", [name for name in names if is_cached(server, name, "one")], names)
        print(f"  those behind {OTHER_DATABASES} others were loaded in {time.monotonic() - started:.0f} s", flush=True)
        asked = [line for line in bad_lines(server) if "FATAL:  database " in line and "does not exist" in line]
        bench.equal("workers for nothing", len(asked), OTHER_DATABASES)
        bench.equal("the log", [line for line in bad_lines(server) if line not in asked], [])
        server.stop()
        list_others(server, listed, MOST_DATABASES, 0)
        server.start()
        server.wait_for_service()
        told = f"LOG:  {DATABASES} columns were not loaded into the column cache again"
        bench.check("more than are loaded", None if soon(lambda: told in server.logfile.read_text(errors="replace"), LOAD_SECONDS)
                    else "the log does not tell")


def replica(server):
    """A standby of the server, which has its list of cached columns too."""
    standby = cluster.Cluster("standby")
    cluster.run_as_server([server.bindir / "pg_basebackup", "-h", server.directory, "-p", str(server.port), "-U", "postgres",
                           "-D", standby.data, "-R", "-c", "fast", "-X", "stream"])
    standby._write_settings()
    return standby


def caught_up(server, standby):
    with server.connect() as primary, standby.connect() as reader:
        end = primary.value("SELECT pg_current_wal_flush_lsn()")
        return soon(lambda: reader.value(f"SELECT pg_last_wal_replay_lsn() >= '{end}'") == "t", LOAD_SECONDS)


STANDBY_QUERIES = ("SELECT k, count(*), sum(price), max(name COLLATE \"C\") FROM t GROUP BY k",
                   "SELECT k, count(*), sum(id) FROM pt GROUP BY k", "SELECT id, name FROM t WHERE price > 7400 AND k = 3")


def same_answers(bench, name, server, expected_from):
    """Twice, so that the second run has the cache that the first one left."""
    with server.connect(settings=CPU) as session, expected_from.connect(settings=OFF) as plain:
        for sql in STANDBY_QUERIES:
            for run in ("first", "second"):
                bench.check(f"{name}, {run}: {sql}", answers.difference(plain.run(sql), session.run(sql)))


def standby(bench):
    """What a standby had cached it loads again after a restart, and goes on with when it is promoted."""
    with cluster.Cluster("primary") as server:
        make(server)
        with server.connect(settings=CPU) as session:
            for sql in STANDBY_QUERIES:
                session.query(sql)
        restart_server(server)
        other = replica(server)
        try:
            other.start()
            other.wait_for_service()
            check_standby(bench, server, other)
            bench.equal("the standby's log", bad_lines(other), [])
        finally:
            other.remove()


def wait_for_columns(server, expected):
    """What is cached after a restart."""
    with server.connect() as session:
        found = {}

        def loaded():
            found.update({table: set(shown(session, table)) for table in expected})
            return found == expected
        soon(loaded, 15)
        return found


def check_standby(bench, server, other):
    columns = {"t": {"k", "price", "name", "ctid"}, "pt_1": {"k", "id", "ctid"}, "pt_2": {"k", "id", "ctid"}}
    bench.check("caught up", None if caught_up(server, other) else "the standby does not follow")
    with other.connect() as session:
        bench.equal("in recovery", session.value("SELECT pg_is_in_recovery()"), "t")
    same_answers(bench, "standby", other, server)
    restart_server(other)
    bench.equal("loaded on a standby", wait_for_columns(other, columns), columns)
    same_answers(bench, "restarted standby", other, server)
    with server.connect() as primary:
        primary.query("UPDATE t SET price = price + 1, name = 'new ' || id WHERE id % 1000 = 3")
        primary.query("DELETE FROM pt WHERE id % 500 = 1")
    caught_up(server, other)
    same_answers(bench, "changed", other, server)
    with server.connect() as primary:
        primary.query("VACUUM t, pt")
        primary.query("CHECKPOINT")
    caught_up(server, other)
    same_answers(bench, "vacuumed", other, server)
    with other.connect(settings=CPU) as session:
        bench.check("from the cache", None if cached_blocks(session, STANDBY_QUERIES[0]) else "nothing")
        bench.equal("promoted", session.value("SELECT pg_promote()"), "t")
    same_answers(bench, "promoted", other, other)
    with other.connect() as session:
        session.query("UPDATE t SET price = price - 2 WHERE id % 700 = 5")
    same_answers(bench, "promoted and changed", other, other)
    with other.connect() as session:
        session.query("VACUUM t")
        session.query("CHECKPOINT")
    same_answers(bench, "promoted and vacuumed", other, other)
    restart_server(other)
    bench.equal("loaded after the promotion", wait_for_columns(other, columns), columns)
    same_answers(bench, "promoted and restarted", other, other)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated check names")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else []
    bench = Bench()

    def run(check, *arguments):
        started, before = time.monotonic(), bench.failed
        check(bench, *arguments)
        print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, {time.monotonic() - started:.0f} s", flush=True)

    with cluster.Cluster("cacheloading") as server:
        make(server)
        for check in (load, obstacles, restart, restore, drop_database):
            if not only or check.__name__ in only:
                run(check, server)
    for check in (many_databases, standby):
        if not only or check.__name__ in only:
            run(check)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
