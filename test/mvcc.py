#!/usr/bin/env python3
"""mvcc.py - writers keep an invariant that cached and direct reads must see, whatever happens to the table.

Writers move money between accounts, in one table and between two, with savepoints, rollbacks,
prepared transactions, HOT and other updates; others vacuum, freeze, cluster, rewrite, truncate
and alter beside them, and readers at every isolation level ask for the sum, which never
changes, and within a REPEATABLE READ transaction for the same answer twice, the second
time from PostgreSQL's own plan. Half of the time the cache is so small that it evicts all
the time.
Must never: count a run in which nothing came from the cache.
Called by: make test-mvcc, test/run_all.py. Options: --seconds (of each half), --seed, --device.
"""

import argparse
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import DIRECT, OFF  # noqa: E402

ACCOUNTS = 36000
START = 1000
WRITERS = 3
READERS = 3
SMALL = 1 << 20

TABLES = ("accounts", "savings")
# Noise is never NULL, and has no short codes: with it the columns do not fit in the small cache.
SUMS = (
    "SELECT sum(balance), count(*) FROM (SELECT balance FROM accounts UNION ALL SELECT balance FROM savings) both_tables",
    "SELECT sum(a.balance + s.balance), 2 * count(a.more_noise) FROM accounts a JOIN savings s ON s.id = a.id",
    "SELECT sum(a.balance) + (SELECT sum(balance) FROM savings), count(a.noise) + (SELECT count(noise) FROM savings) FROM accounts a",
    "SELECT sum(total), sum(n) FROM (SELECT k, sum(balance) AS total, count(more_noise) AS n FROM accounts GROUP BY k "
    "UNION ALL SELECT k, sum(balance), count(more_noise) FROM savings GROUP BY k) groups",
    # Rows of a GpuScan, since nobody else may call random().
    "SELECT sum(balance), sum(n) FROM (SELECT balance + (0 * random())::int AS balance, 1 AS n FROM accounts WHERE id % 40 = 3 "
    "UNION ALL SELECT sum(balance), count(*) FROM accounts WHERE id % 40 <> 3 "
    "UNION ALL SELECT balance + (0 * random())::int, 1 FROM savings WHERE id < 1500 "
    "UNION ALL SELECT sum(balance), count(*) FROM savings WHERE id >= 1500) parts",
)
NOISE = "('x' || left(md5(i || '{}'), 16))::bit(64)::bigint"
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
# What may be done beside transfers. Each leaves all balances as they were.
UPKEEP = (
    "VACUUM {t}", "VACUUM {t}", "VACUUM {t}", "VACUUM (FREEZE) {t}", "CHECKPOINT", "CHECKPOINT", "ANALYZE {t}",
    "CLUSTER {t} USING {t}_pkey", "VACUUM (FULL) {t}", "REINDEX TABLE {t}",
    "BEGIN; ALTER TABLE {t} ADD extra int DEFAULT {n}; ROLLBACK",
    "ALTER TABLE {t} ADD extra int DEFAULT {n}; ALTER TABLE {t} DROP extra",
    "BEGIN; ALTER TABLE {t} ALTER balance TYPE numeric; ROLLBACK",
    "ALTER TABLE {t} ALTER k TYPE bigint; ALTER TABLE {t} ALTER k TYPE int",
    "BEGIN; TRUNCATE {t}; ROLLBACK",
    "BEGIN; LOCK TABLE {t}; CREATE TEMP TABLE saved ON COMMIT DROP AS SELECT * FROM {t}; TRUNCATE {t}; "
    "INSERT INTO {t} SELECT * FROM saved; COMMIT",
    "BEGIN; UPDATE {t} SET balance = balance + {n} WHERE id % 100 = {n}; ROLLBACK",
    "BEGIN; SELECT count(*) FROM (SELECT 1 FROM {t} WHERE id % 50 = {n} % 50 FOR UPDATE) locked; COMMIT",
    "DELETE FROM junk; INSERT INTO junk SELECT i, repeat('x', {n}) FROM generate_series(1, 2000) i; VACUUM junk; DROP TABLE junk; "
    "CREATE TABLE junk (id int, t text)",
)
EXPECTED = {"40001", "40P01", "25P02", "55P03", "42P01", "42701", "42704"}


def reader(device):
    return {**DIRECT, "pg_turbine.device": device}


class Run:
    def __init__(self, server, seconds, seed, device):
        self.server, self.seed = server, seed
        # Queries on the processor fill the cache for all.
        self.readers = [reader(device if number else "cpu") for number in range(READERS)]
        self.end = time.monotonic() + seconds
        self.violations, self.errors = [], []
        self.transfers = self.questions = self.upkeeps = 0
        self.total = [str(2 * ACCOUNTS * START), str(2 * ACCOUNTS)]

    def going(self):
        return time.monotonic() < self.end and not self.violations

    def guard(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001 - a thread's failure is the run's
            self.errors.append(f"{work.__name__}: {error!r}")

    def attempt(self, session, sql):
        """Whether it was done; what two transactions may do to each other is no failure."""
        for statement in sql.split("; "):
            try:
                session.query(statement)
            except DatabaseError as error:
                session.run("ROLLBACK")
                if error.sqlstate not in EXPECTED:
                    self.errors.append(f"{statement}: {error}")
                return False
        return True

    def write(self, number):
        source = random.Random(self.seed * 100 + number)
        with self.server.connect(settings=OFF) as session:
            while self.going():
                self.transfer(session, source, number)
                self.transfers += 1

    def transfer(self, session, source, number):
        # Most of them where the others are, so that most blocks stay as they are.
        spread = ACCOUNTS if source.random() < 0.1 else ACCOUNTS // 20
        pay = [(source.choice(TABLES), source.randrange(1, spread)) for _ in range(2)]
        amount = source.randrange(1, 50)
        kind = source.random()
        end = "COMMIT"
        if kind < 0.15:
            end = "ROLLBACK"
        elif kind < 0.25:
            name = f"'w{number}'"
            end = f"PREPARE TRANSACTION {name}; {source.choice(('COMMIT', 'ROLLBACK'))} PREPARED {name}"
        undone = ""
        if source.random() < 0.2:
            undone = f"SAVEPOINT a; UPDATE {pay[0][0]} SET balance = 0 WHERE id = {pay[0][1]}; ROLLBACK TO a; "
        touch = ", k = k + 1" if source.random() < 0.3 else ""  # indexed: no HOT update
        self.attempt(session, "BEGIN; "
                     f"UPDATE {pay[0][0]} SET balance = balance - {amount}{touch} WHERE id = {pay[0][1]}; {undone}"
                     f"UPDATE {pay[1][0]} SET balance = balance + {amount} WHERE id = {pay[1][1]}; {end}")

    def keep_up(self):
        source = random.Random(self.seed)
        with self.server.connect(settings={**OFF, "lock_timeout": "200ms"}) as session:
            while self.going():
                sql = source.choice(UPKEEP).format(t=source.choice(TABLES), n=source.randrange(100))
                self.upkeeps += self.attempt(session, sql)
                if "DEFAULT" in sql:
                    for table in TABLES:
                        self.attempt(session, f"ALTER TABLE {table} DROP COLUMN IF EXISTS extra")
                time.sleep(source.random() * 0.1)

    def read(self, number):
        source = random.Random(self.seed * 1000 + number)
        with self.server.connect(settings=self.readers[number]) as session:
            while self.going():
                level = source.choice(LEVELS)
                sql = source.choice(SUMS)
                try:
                    session.query(f"BEGIN ISOLATION LEVEL {level}")
                    # Before the snapshot: to an older one a rewritten table looks empty, to PostgreSQL too.
                    session.query("LOCK TABLE accounts, savings IN ACCESS SHARE MODE")
                    found = session.query(sql)
                    again = found
                    if level == "REPEATABLE READ":
                        session.query("SET LOCAL pg_turbine.enabled = off")
                        again = session.query(sql)
                    session.query("COMMIT")
                except DatabaseError as error:
                    session.run("ROLLBACK")
                    if error.sqlstate not in EXPECTED:
                        self.errors.append(f"{sql}: {error}")
                    continue
                self.questions += 1
                for rows in (found, again):
                    if [str(value) for value in rows[0]] != self.total:
                        self.violations.append(f"{level}: {sql}: {rows[0]}, PostgreSQL: {again[0]}")


def make(server):
    with server.connect(settings=OFF) as session:
        for table in TABLES:
            session.query(f"CREATE TABLE {table} (id int PRIMARY KEY, balance bigint, k int, pad text, noise bigint, more_noise bigint) "
                          "WITH (fillfactor = 90)")
            session.query(f"CREATE INDEX ON {table} (k)")
            session.query(f"INSERT INTO {table} SELECT i, {START}, i % 10, repeat('p', 84), "
                          f"{NOISE.format('a')}, {NOISE.format('b')} FROM generate_series(1, {ACCOUNTS}) i")
        session.query("CREATE TABLE junk (id int, t text)")
        session.query("VACUUM (ANALYZE)")
        session.query("CHECKPOINT")


def counters(server):
    with server.connect() as session:
        return {name: int(value) for name, value in session.query("SELECT * FROM turbine.stat_queries")}


def cached_bytes(server):
    """What all questions leave in the cache."""
    with server.connect(settings=reader("cpu")) as session:
        session.query("VACUUM accounts, savings")
        for sql in SUMS:
            session.query(sql)
        return int(session.value("SELECT sum(bytes) FROM turbine.column_cache"))


def half(name, settings, seconds, seed, device):
    """(number of questions, complaints)."""
    with cluster.Cluster(name, settings={**settings, "max_prepared_transactions": "10", "autovacuum_naptime": "1s",
                                         "autovacuum_vacuum_scale_factor": "0.01"}) as server:
        server.create_extension("postgres")
        make(server)
        run = Run(server, seconds, seed, device)
        work = [(run.write, number) for number in range(WRITERS)] + [(run.read, number) for number in range(READERS)]
        threads = [threading.Thread(target=run.guard, args=arguments) for arguments in [*work, (run.keep_up,)]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = counters(server)
        print(f"  {name}: {run.questions} questions beside {run.transfers} transfers and {run.upkeeps} times upkeep; blocks "
              f"cached {after['blocks_cached']}, direct {after['blocks_direct']}, buffered {after['blocks_buffered']}", flush=True)
        complaints = run.violations[:5] + run.errors[:5]
        kept, small = cached_bytes(server), "pg_turbine.cache_size_host" in settings
        if small and kept > SMALL * 1.25 or not small and kept < SMALL * 1.1:
            complaints.append(f"{kept >> 10} kB are cached: " + ("too much" if small else "the small cache has room for all"))
        for what, count in (("questions", run.questions), ("transfers", run.transfers), ("upkeep", run.upkeeps),
                            ("cached blocks", after["blocks_cached"])):
            if not count:
                complaints.append(f"no {what}")
        return run.questions, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=40, help="of each half")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="of all readers but one")
    options = parser.parse_args()
    passed = failed = 0
    for name, settings in (("mvcc", {}), ("mvccsmall", {"pg_turbine.cache_size_host": f"{SMALL >> 20}MB",
                                                             "pg_turbine.cache_size_gpu": f"{SMALL >> 20}MB"})):
        questions, complaints = half(name, settings, options.seconds, options.seed, options.device)
        for complaint in complaints:
            print(f"  {complaint}", flush=True)
        passed, failed = passed + questions, failed + len(complaints)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
