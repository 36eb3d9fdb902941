#!/usr/bin/env python3
"""operations.py - replication, backups and restores of accelerated tables, while queries of them run on devices.

`logical`: tables that are published and subscribed, cached and pinned on both sides. `base_backup`: pg_basebackup beside
writers, pg_verifybackup, and a server from it. `dump`: pg_dump and pg_restore with parallel jobs. `conflicts`: a
standby whose queries conflict with replay end with PostgreSQL's error or with PostgreSQL's rows. `promotion`: a standby
is promoted under running queries; the old primary diverges, and pg_rewind makes it the new one's standby.
`read_only`: folders that the service may not write to. Each compares with PostgreSQL's own plans on the same server,
and with the other server. docs/replication-and-backup.md says what users get.
Must never: take a query that PostgreSQL ran for one that a device ran.
Called by: make test-operations, test/run_all.py. Options: --only, --rounds.
"""

import argparse
import os
import re
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import CPU, Bench  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from run_sql import OFF  # noqa: E402

# What replication needs, and pg_rewind (wal_log_hints).
SETTINGS = {"wal_level": "logical", "max_wal_senders": "10", "max_replication_slots": "10", "wal_log_hints": "on",
            "hot_standby": "on", "wal_keep_size": "1GB", "max_logical_replication_workers": "8",
            # Large transactions are sent before they end.
            "logical_decoding_work_mem": "64kB"}
TABLES = """
CREATE TABLE sales (id int PRIMARY KEY, k int, price numeric(12,2), name text, day date);
CREATE TABLE parts (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (20000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (20000) TO (1000000);
CREATE TABLE loose (id int, note text);
ALTER TABLE parts REPLICA IDENTITY FULL;
ALTER TABLE parts_1 REPLICA IDENTITY FULL;
ALTER TABLE parts_2 REPLICA IDENTITY FULL;
ALTER TABLE loose REPLICA IDENTITY FULL;
"""
ROWS = """
INSERT INTO sales SELECT i, i % 7, i / 8.0, 'name ' || i % 50, date '2024-01-01' + i % 366 FROM generate_series(1, 60000) i;
INSERT INTO parts SELECT i, i % 11 FROM generate_series(1, 40000) i;
INSERT INTO loose SELECT i, repeat('x', 50 + i % 100) FROM generate_series(1, 5000) i;
"""
QUERIES = (
    "SELECT k, count(*), sum(price), max(name COLLATE \"C\") FROM sales GROUP BY k",
    "SELECT count(*), sum(id), min(day) FROM sales WHERE price > 3000",
    "SELECT k, count(*), sum(id) FROM parts GROUP BY k",
    "SELECT s.k, count(*), sum(p.k) FROM sales s JOIN parts p USING (id) GROUP BY s.k",
    "SELECT length(note), count(*), sum(id) FROM loose GROUP BY 1",
    "SELECT id, name FROM sales WHERE k = 3 AND price > 7400")
# One transaction each, on the server that is written to.
CHANGES = (
    "INSERT INTO sales SELECT i, i % 7, i / 4.0, 'new ' || i % 9, date '2025-01-01' + i % 30 FROM generate_series(60001, 75000) i",
    "UPDATE sales SET price = price + 1, name = name || '!' WHERE k = 2",
    "DELETE FROM sales WHERE id % 13 = 0",
    "UPDATE parts SET id = id + 20000 WHERE id BETWEEN 19900 AND 19999",
    "BEGIN; UPDATE loose SET note = note || 'y' WHERE id % 30 = 0; SAVEPOINT s; DELETE FROM loose; ROLLBACK TO s; "
    "DELETE FROM loose WHERE id % 17 = 0; COMMIT",
    "TRUNCATE loose; INSERT INTO loose SELECT i, 'again' FROM generate_series(1, 3000) i",
    "VACUUM (FREEZE, ANALYZE) sales",
    "BEGIN; INSERT INTO parts SELECT i, i % 11 FROM generate_series(50000, 90000) i; ROLLBACK",
    "INSERT INTO parts SELECT i, i % 5 FROM generate_series(50000, 60000) i")
CATCH_UP_SECONDS = 60
# A conflict ends a query at once, as max_standby_streaming_delay = 0 says; slow machines are slow.
CONFLICT_SECONDS = 10
# Of PostgreSQL's: "canceling statement due to conflict with recovery".
CONFLICT = "40001"


def client(server):
    return ["-h", server.directory, "-p", str(server.port), "-U", "postgres"]


def soon(condition, seconds=CATCH_UP_SECONDS):
    """Whether it became true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def run_all(session, text):
    for statement in text.split(";\n"):
        if statement.strip():
            session.query(statement)


def same(bench, name, server, reference=None, database="postgres"):
    """Each query, twice: as PostgreSQL plans it on `reference`, and on a device of `server`, in this database."""
    with server.connect(database, settings=CPU) as session, (reference or server).connect(settings=OFF) as plain:
        for sql in QUERIES:
            expected = plain.run(sql)
            bench.equal(f"{name}, PostgreSQL: {sql}", expected.sqlstate, "00000")
            for run in ("first", "second"):
                bench.check(f"{name}, {run}: {sql}", answers.difference(expected, session.run(sql)))
            plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (COSTS OFF) {sql}"))
            bench.check(f"{name}, on a device: {sql}", None if "Custom Scan (Gpu" in plan else plan)


def crashes(bench, name, *servers):
    for server in servers:
        text = server.logfile.read_text(errors="replace")
        bench.equal(f"{name}, the log", re.findall(r".*(?:terminated by signal|PANIC|TRAP:|does not answer).*", text), [])


def copy_of(server, name, *options):
    """A cluster whose data directory is a base backup of the server."""
    copy = cluster.Cluster(name, settings=SETTINGS)
    cluster.run_as_server([server.bindir / "pg_basebackup", *client(server), "-D", copy.data, "-c", "fast", "-X", "stream", *options])
    copy._write_settings()
    return copy


def replayed(server, standby):
    """The standby has all that the server has written."""
    with server.connect() as primary, standby.connect() as reader:
        # A commit, so that what VACUUM has written is flushed.
        primary.query("SELECT txid_current()")
        end = primary.value("SELECT pg_current_wal_flush_lsn()")
        return soon(lambda: reader.value(f"SELECT pg_last_wal_replay_lsn() >= '{end}'") == "t")


def make(server):
    with server.connect(settings=OFF) as session:
        run_all(session, TABLES + ROWS)
        session.query("VACUUM (ANALYZE)")
        session.query("CHECKPOINT")


def logical(bench, server):
    """Every change is seen on both sides by queries that had the columns cached before it."""
    with cluster.Cluster("subscriber", settings=SETTINGS) as subscriber:
        with server.connect(settings=OFF) as session, subscriber.connect(settings=OFF) as other:
            run_all(other, TABLES)
            session.query("CREATE PUBLICATION all_of_it FOR TABLE sales, parts, loose WITH (publish_via_partition_root = true)")
            other.query(f"CREATE SUBSCRIPTION copy CONNECTION 'host={server.directory} port={server.port} user=postgres dbname=postgres' "
                        "PUBLICATION all_of_it WITH (streaming = on)")
            synchronized = soon(lambda: other.value("SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel") == "t")
            bench.equal("tables are synchronized", synchronized, True)
            for one in (session, other):
                one.query("SELECT turbine.pin('sales')")
                one.query("VACUUM (ANALYZE)")
                one.query("CHECKPOINT")
            same(bench, "after the copy", subscriber, server)

            def applied():
                end = session.value("SELECT pg_current_wal_lsn()")
                return soon(lambda: session.value(
                    f"SELECT bool_and(replay_lsn >= '{end}') FROM pg_stat_replication WHERE application_name = 'copy'") == "t")

            for change in CHANGES:
                session.query(change)
                bench.equal(f"applied: {change}", applied(), True)
                same(bench, f"published, {change}", server)
                same(bench, f"subscribed, {change}", subscriber, server)
            # What cannot be published is refused in PostgreSQL's words.
            session.query("CREATE FOREIGN TABLE file_rows (id int) SERVER arrow_fdw OPTIONS (file '/tmp/none.arrow')")
            bench.fails("a foreign table", session, "CREATE PUBLICATION none FOR TABLE file_rows", "22023")
            other.query("DROP SUBSCRIPTION copy")
            session.query("DROP PUBLICATION all_of_it; SELECT turbine.unpin('sales'); DROP FOREIGN TABLE file_rows")
        crashes(bench, "logical", server, subscriber)


class Writer(threading.Thread):
    """Changes rows until it is told to stop, in a way that leaves one sum as it is."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.stopped, self.rounds, self.end = server, threading.Event(), 0, None

    def run(self):
        try:
            with self.server.connect(settings=OFF) as session:
                while not self.stopped.is_set():
                    session.query(f"UPDATE sales SET price = price + CASE WHEN id % 2 = 0 THEN 1 ELSE -1 END "
                                  f"WHERE id BETWEEN {self.rounds % 20 * 2000 + 1} AND {self.rounds % 20 * 2000 + 2000}")
                    self.rounds += 1
        except (DatabaseError, ConnectionLost, OSError) as error:
            self.end = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()


def base_backup(bench, server):
    """A backup that is taken beside a writer and accelerated readers, with a tablespace."""
    place, moved = server.directory / "place", server.directory / "moved"
    for folder in (place, moved):
        cluster.run_as_server(["mkdir", "-p", folder])
    with server.connect(settings=OFF) as session:
        session.query(f"CREATE TABLESPACE elsewhere LOCATION '{place}'")
        session.query("ALTER TABLE loose SET TABLESPACE elsewhere")
        session.query("VACUUM (ANALYZE)")
        session.query("CHECKPOINT")
        session.query("DELETE FROM sales WHERE id > 40000")
        total = session.value("SELECT sum(price) FROM sales")
    same(bench, "before the backup", server)
    with Writer(server) as writer:
        soon(lambda: writer.rounds > 2)
        copy = copy_of(server, "backup", "-T", f"{place}={moved}", "--checkpoint=fast")
        soon(lambda: writer.rounds > 4)
    bench.check("the writer", writer.end)
    bench.equal("it has written", writer.rounds > 4, True)
    try:
        held = {path.name for path in (copy.data / "pg_turbine").iterdir()} if (copy.data / "pg_turbine").exists() else set()
        bench.equal("no socket in the backup", any("sock" in name for name in held), False)
        copy.start()
        copy.wait_for_service()
        with copy.connect(settings=CPU) as session:
            bench.equal("a consistent state", session.value("SELECT sum(price) FROM sales"), total)
        same(bench, "the backup", copy)
        crashes(bench, "base_backup", server, copy)
    finally:
        copy.remove()
    # One that nobody writes into, checked by PostgreSQL's own program.
    checked = server.directory / "checked"
    cluster.run_as_server([server.bindir / "pg_basebackup", *client(server), "-D", checked, "-c", "fast", "-T", f"{place}={checked}-space"])
    bench.equal("pg_verifybackup", "successfully verified" in cluster.run_as_server([server.bindir / "pg_verifybackup", checked]), True)
    with server.connect(settings=OFF) as session:
        session.query("ALTER TABLE loose SET TABLESPACE pg_default")
        session.query("DROP TABLESPACE elsewhere")


def dump(bench, server):
    """A dump by two jobs, restored by two jobs into a new database."""
    archive = server.directory / "dump"
    with server.connect(settings=CPU) as session:
        session.query("SELECT turbine.cache_policy('parts', 'pinned')")
        session.query("CREATE DATABASE restored TEMPLATE template0")
    cluster.run_as_server([server.bindir / "pg_dump", *client(server), "-Fd", "-j", "2", "-f", archive, "postgres"])
    cluster.run_as_server([server.bindir / "pg_restore", *client(server), "-j", "2", "--exit-on-error", "-d", "restored", archive])
    with server.connect("restored", settings=CPU) as session, server.connect(settings=OFF) as plain:
        session.query("VACUUM (ANALYZE)")
        session.query("CHECKPOINT")
        same(bench, "restored", server, database="restored")
        bench.equal("the policy", session.query("SELECT objoid::regclass::text, label FROM pg_seclabel"), plain.query(
            "SELECT objoid::regclass::text, label FROM pg_seclabel"))
        bench.equal("an extension", session.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'"),
                    plain.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'"))
    with server.connect() as session:
        session.query("SECURITY LABEL FOR pg_turbine ON TABLE parts IS NULL")
        soon(lambda: session.run("DROP DATABASE restored").sqlstate == "00000")


def attempt(session, sql):
    """The outcome of a statement in a session that the server may have ended: then the error that it left."""
    try:
        session.send(sql)
    except OSError:
        pass
    return session.finish()


def attempt_again(session, sql):
    """The same, once more after each conflict: replay may go on."""
    for _ in range(20):
        outcome = attempt(session, sql)
        if outcome.sqlstate != CONFLICT:
            break
    return outcome


def outcome_of(session, sql, found):
    """In a thread: what a statement did, and how long it took."""
    started = time.monotonic()
    try:
        found.append((attempt(session, sql), time.monotonic() - started))
    except (ConnectionLost, OSError) as error:
        found.append((error, time.monotonic() - started))


def conflict(bench, name, primary, standby, changes, feedback):
    """One cursor of an accelerated query on the standby, and what the primary does meanwhile."""
    query = "SELECT id, price, name FROM sales WHERE price > 10"
    with standby.connect(settings=CPU) as reader, standby.connect(settings=OFF) as plain, primary.connect(settings=OFF) as writer:
        plain.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        snapshot = plain.value("SELECT pg_export_snapshot()") if feedback else None
        if snapshot:
            reader.query(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        reader.query(f"DECLARE c CURSOR FOR {query}")
        first = reader.run("FETCH 500 FROM c")
        bench.equal(f"{name}, starts", first.sqlstate, "00000")
        if not feedback:
            plain.query("COMMIT")
        for statement in changes:
            writer.query(statement)
        if not feedback:
            started = time.monotonic()
            bench.equal(f"{name}, replay goes on", replayed(primary, standby), True)
            bench.check(f"{name}, replay is not held up", None if time.monotonic() - started < CONFLICT_SECONDS else "it was")

            def ended():
                # Again: another session of the primary's may have held VACUUM back.
                if "VACUUM" in changes[-1]:
                    writer.query(changes[-1])
                return plain.value(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {reader.backend_pid}") == "0"
            bench.equal(f"{name}, the session is ended", soon(ended), True)
        else:
            time.sleep(0.5)
        rest = attempt(reader, "FETCH ALL FROM c")
        if feedback:
            bench.check(f"{name}, no conflict", rest.error and rest.error.fields)
            expected = plain.run(query)
            bench.equal(f"{name}, the old snapshot's rows", sorted(first.rows + rest.rows), sorted(expected.rows))
            plain.query("ROLLBACK")
            reader.query("ROLLBACK")
        else:
            # It waited for its client in a transaction, so PostgreSQL ends the session.
            bench.equal(f"{name}, the error", rest.sqlstate, CONFLICT)
    with standby.connect(settings=CPU) as reader, primary.connect(settings=OFF) as reference:
        replayed(primary, standby)
        bench.check(f"{name}, afterwards", answers.difference(reference.run(QUERIES[0]), reader.run(QUERIES[0])))


def conflicts(bench, primary, rounds):
    """Removed row versions, an exclusive lock, and long queries that are hit at any point."""
    standby = copy_of(primary, "standby", "-R")
    standby.settings["max_standby_streaming_delay"] = "0"
    standby._write_settings()
    try:
        standby.start()
        standby.wait_for_service()
        replayed(primary, standby)
        same(bench, "standby", standby, primary)
        remove = "UPDATE sales SET price = price + 1"
        conflict(bench, "vacuum", primary, standby, (remove, "VACUUM sales"), False)
        conflict(bench, "lock", primary, standby, ("ALTER TABLE sales ADD COLUMN extra int",), False)
        # Queries that are hit while devices compute: their rows are right, or the error is PostgreSQL's.
        hit = 0
        slow = ("SELECT a.k, count(*), sum(a.price * b.k) FROM sales a JOIN parts p ON a.k = p.k % 7 JOIN loose b0 ON b0.id = p.id "
                "JOIN parts b ON b.k = a.k GROUP BY a.k")
        for number in range(rounds):
            with standby.connect(settings=CPU) as reader, primary.connect(settings=OFF) as writer:
                # A snapshot that is older than the change, and a query that starts while it is replayed.
                reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
                expected = attempt(reader, "SELECT count(*), sum(id) FROM sales")
                if expected.sqlstate == CONFLICT:
                    # Of the round before.
                    continue
                found = []
                thread = threading.Thread(target=outcome_of, args=(reader, slow if number % 2 else QUERIES[0], found))
                writer.query(remove)
                thread.start()
                writer.query("VACUUM sales")
                thread.join()
                outcome, seconds = found[0]
                bench.check(f"round {number}, ends", None if seconds < CONFLICT_SECONDS * 3 else f"{seconds:.1f} s")
                bench.check(f"round {number}", None if outcome.sqlstate in ("00000", CONFLICT) else outcome.error)
                again = attempt(reader, "SELECT count(*), sum(id) FROM sales") if outcome.sqlstate == "00000" else outcome
                if again.sqlstate == "00000":
                    bench.check(f"round {number}, the same snapshot", answers.difference(expected, again))
                hit += CONFLICT in (outcome.sqlstate, again.sqlstate)
                if outcome.error and outcome.error.fields["S"] == "ERROR":
                    # Cancelled, not ended.
                    reader.query("ROLLBACK")
                    bench.equal(f"round {number}, the session works on", attempt_again(reader, QUERIES[0]).sqlstate, "00000")
        bench.equal("some rounds met a conflict", hit > 0, True)
        replayed(primary, standby)
        with standby.connect() as session:
            running = soon(lambda: session.value("SELECT sum(queries_running) FROM turbine.devices") == "0", 10)
            bench.equal("nothing runs on", running, True)
        with open(standby.data / "postgresql.conf", "a", encoding="utf-8") as conf:
            conf.write("hot_standby_feedback = on\nwal_receiver_status_interval = 1\n")
        replayed(primary, standby)
        with standby.connect() as session:
            session.query("SELECT pg_reload_conf()")
            # The primary knows a row version that the standby still needs.
            session.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
            session.query("SELECT count(*) FROM sales")
            with primary.connect() as writer:
                told = soon(lambda: writer.value("SELECT count(backend_xmin) FROM pg_stat_replication") == "1")
            bench.equal("feedback arrives", told, True)
            conflict(bench, "feedback", primary, standby, (remove, "VACUUM (TRUNCATE false) sales"), True)
            session.query("COMMIT")
        replayed(primary, standby)
        same(bench, "standby, at the end", standby, primary)
        crashes(bench, "conflicts", primary, standby)
    finally:
        standby.remove()


def promotion(bench, primary):
    """A failover under load, and the way back."""
    standby = copy_of(primary, "promoted", "-R")
    try:
        standby.start()
        standby.wait_for_service()
        replayed(primary, standby)
        same(bench, "standby", standby, primary)
        with standby.connect(settings=CPU) as reader, standby.connect() as other:
            reader.query("BEGIN")
            reader.query("DECLARE c CURSOR FOR SELECT id, price FROM sales WHERE price > 10")
            first = reader.query("FETCH 500 FROM c")
            found = []
            thread = threading.Thread(target=outcome_of, args=(other, "SELECT count(*) FROM sales a JOIN parts p ON a.k = p.k", found))
            thread.start()
            with standby.connect() as session:
                bench.equal("promoted", session.value("SELECT pg_promote()"), "t")
            thread.join()
            bench.equal("a query under way", getattr(found[0][0], "sqlstate", found[0][0]), "00000")
            rest = reader.query("FETCH ALL FROM c")
            reader.query("COMMIT")
            with primary.connect(settings=OFF) as plain:
                bench.equal("a cursor under way", sorted(first + rest), sorted(plain.query("SELECT id, price FROM sales WHERE price > 10")))
        same(bench, "promoted", standby, primary)
        # Both are written to, so the old primary has to go back.
        with standby.connect(settings=OFF) as session:
            session.query("UPDATE sales SET price = price * 2 WHERE k = 1")
            session.query("INSERT INTO parts SELECT i, 3 FROM generate_series(100000, 120000) i")
            session.query("VACUUM (ANALYZE)")
            session.query("CHECKPOINT")
        with primary.connect(settings=OFF) as session:
            session.query("DELETE FROM sales WHERE k = 4")
            session.query("CREATE TABLE lost AS SELECT * FROM parts")
        same(bench, "new primary", standby)
        same(bench, "old primary", primary)
        primary.stop()
        cluster.run_as_server([primary.bindir / "pg_rewind", "-D", primary.data, "-R", "--no-sync", "--source-server",
                               f"host={standby.directory} port={standby.port} user=postgres dbname=postgres"])
        primary._write_settings()
        primary.start()
        primary.wait_for_service()
        with primary.connect() as session:
            bench.equal("a standby now", session.value("SELECT pg_is_in_recovery()"), "t")
            bench.equal("follows", replayed(standby, primary), True)
            bench.equal("what it had written is gone", session.value("SELECT to_regclass('lost')"), None)
        same(bench, "rewound", primary, standby)
        with standby.connect(settings=OFF) as session:
            session.query("DELETE FROM sales WHERE id % 10 = 1")
        bench.equal("follows on", replayed(standby, primary), True)
        same(bench, "rewound, after a change", primary, standby)
        crashes(bench, "promotion", primary, standby)
    finally:
        standby.remove()


def read_only(bench, server):
    """Folders without the right to write: PostgreSQL's plans, or code that is not kept on disk."""
    ours = server.data / "pg_turbine"
    server.stop()
    log_starts = server.logfile.stat().st_size
    os.chmod(ours / "cache", 0o500)
    try:
        server.start()
        server.wait_for_service()
        with server.connect(settings=CPU) as session, server.connect(settings=OFF) as plain:
            # Nothing of the kind is compiled yet.
            sql = "SELECT k % 3, count(*), sum(id * 3 - k) FROM parts WHERE k * 5 + id <> 17 GROUP BY 1"
            bench.check("a cache that is read-only", answers.difference(plain.run(sql), session.run(sql)))
            plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {sql}"))
            bench.check("code is kept in memory", None if "cached in memory" in plan else plan)
    finally:
        os.chmod(ours / "cache", 0o700)
    server.stop()
    os.chmod(ours, 0o500)
    try:
        server.start()
        with server.connect(settings=CPU) as session, server.connect(settings=OFF) as plain:
            time.sleep(2)
            bench.equal("no device", session.query("SELECT * FROM turbine.devices WHERE usable"), [])
            for sql in QUERIES:
                bench.check(f"no service: {sql}", answers.difference(plain.run(sql), session.run(sql)))
        text = server.logfile.read_text(errors="replace")[log_starts:]
        said = [line for line in text.splitlines() if "turbine" in line and "ermission denied" in line]
        bench.equal("the log says why", bool(said), True)
        bench.check("and not too often", None if len(said) < 30 else f"{len(said)} lines")
    finally:
        os.chmod(ours, 0o700)
    server.wait_for_service()
    same(bench, "writable again", server)
    server.stop()
    os.chmod(server.data, 0o500)
    try:
        cluster.run_as_server([server.bindir / "postgres", "-D", server.data])
        bench.check("a data directory that is read-only", "the server ran")
    except RuntimeError as error:
        bench.check("a data directory that is read-only", None if "could not create lock file" in str(error) else str(error))
    finally:
        os.chmod(server.data, 0o700)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated check names")
    parser.add_argument("--rounds", type=int, default=10, help="queries that are hit by a conflict")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else []
    bench = Bench()
    checks = {"logical": logical, "base_backup": base_backup, "dump": dump,
              "conflicts": lambda bench, server: conflicts(bench, server, options.rounds), "promotion": promotion, "read_only": read_only}
    for name, check in checks.items():
        if not only or name in only:
            started, before = time.monotonic(), bench.failed
            with cluster.Cluster(name, settings=SETTINGS) as server:
                make(server)
                check(bench, server)
            print(f"  {name}: {'ok' if bench.failed == before else 'FAILED'}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
