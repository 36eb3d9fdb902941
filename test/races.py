#!/usr/bin/env python3
"""races.py - forced reads against everything that changes a table meanwhile.

One race is one comparison: in one snapshot (REPEATABLE READ) the plain and the
forced answer must be the same rows, while writers insert, update, delete,
lock, roll back, prepare, truncate, COPY FREEZE, vacuum, freeze and checkpoint.
Besides, READ COMMITTED sums over accounts whose total no transaction changes,
of the table alone and joined with itself. Two of five snapshots are of joins.

Three kinds: `snapshot` and `account` leave the moment to chance. `cursor` holds
the reader at the worst one: it has copied the visibility map and waits between
two FETCHes while blocks that it has yet to read are changed and written to the
file. Only the look at the map after the read can notice that.
Must never: compare answers of two snapshots.
Called by: test/run_all.py, feeders.py, mutants.py. Options: --races, --seed, --device,
--storage-path, --feeders, --kinds, --accounts, --until-difference.
"""

import argparse
import io
import json
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
import workload  # noqa: E402
from run_sql import FEEDING, FORCED, OFF  # noqa: E402

TABLES = 4
ROWS = 3000
WRITERS = 3
READERS = 2
# Of a cursor's table: so many that most blocks come after the first chunks,
# which are read ahead.
CURSOR_ROWS = 9000
KINDS = {"snapshot": 0.75, "account": 0.2, "cursor": 0.05}
# What a writer may meet: serialization, deadlock, lock not available, unique.
EXPECTED_ERRORS = ("40001", "40P01", "55P03", "57014")

QUERIES = (
    "SELECT count(*), sum(v), sum(id), min(v), max(id) FROM {t}",
    "SELECT k, count(*), sum(v) FROM {t} GROUP BY k",
    "SELECT id, v, memo FROM {t} WHERE k = 3",
    "SELECT id FROM {t} WHERE memo LIKE '%ab%' AND v % 2 = 0",
    "SELECT v, count(*) FROM {t} WHERE k < 4 GROUP BY v",
)
# Two tables, which may be one, change meanwhile; both are read in one snapshot.
JOINS = (
    "SELECT a.k, count(*), sum(b.v), min(b.id) FROM {t} a JOIN {u} b ON b.id = a.id GROUP BY a.k",
    "SELECT a.id, b.v, b.memo FROM {t} a LEFT JOIN {u} b ON b.id = a.id AND b.k = 3 WHERE a.k < 2",
    "SELECT a.id, a.v, b.memo FROM {t} a JOIN {u} b ON b.id = a.id + 5 AND b.v < a.v WHERE a.memo LIKE '%ab%'",
    # Many to many.
    "SELECT count(*), sum(a.id), max(b.id) FROM {t} a JOIN {u} b ON b.v = a.v AND b.k = a.k",
    # The inner side is rows of another plan.
    "SELECT count(*), sum(a.v), sum(b.top) FROM {t} a"
    " JOIN (SELECT k, max(v) AS top FROM {u} GROUP BY k OFFSET 0) b ON b.k = a.k AND a.v <= b.top",
    "SELECT a.id FROM {t} a WHERE EXISTS (SELECT 1 FROM {u} b WHERE b.id = a.id AND b.v <> a.v)",
    "SELECT count(*), sum(a.id) FROM {t} a WHERE NOT EXISTS (SELECT 1 FROM {u} b WHERE b.id = a.id + 7 AND b.k > 0)",
    "SELECT a.k, count(*) FROM {t} a JOIN {u} b ON b.id = a.id LEFT JOIN {t} c ON c.id = b.v GROUP BY a.k",
)
JOIN_SHARE = 0.4
# Their totals no transaction changes.
ACCOUNT_QUERIES = (
    "SELECT sum(balance), count(*) FROM accounts",
    "SELECT sum(a.balance), count(*) FROM accounts a JOIN accounts b ON b.id = a.id",
    "SELECT sum(b.balance), count(*) FROM accounts a JOIN accounts b ON b.id = a.id",
)


# The last table is partitioned; one part has its columns in another order.
PARTITIONED = f"r{TABLES - 1}"
HALF = ROWS // 2
UPPER_HALF = f"FOR VALUES FROM ({HALF}) TO (MAXVALUE)"


def make_partitioned(session):
    session.query(f"CREATE TABLE {PARTITIONED} (id bigint, k int, v int, memo text) PARTITION BY RANGE (id)")
    session.query(f"CREATE TABLE {PARTITIONED}_low PARTITION OF {PARTITIONED} "
                  f"FOR VALUES FROM (MINVALUE) TO ({HALF}) WITH (fillfactor = 90)")
    session.query(f"CREATE TABLE {PARTITIONED}_high (memo text, gone int, v int, k int, id bigint) WITH (fillfactor = 90)")
    session.query(f"ALTER TABLE {PARTITIONED}_high DROP COLUMN gone")
    session.query(f"ALTER TABLE {PARTITIONED} ATTACH PARTITION {PARTITIONED}_high {UPPER_HALF}")


def make_tables(server, accounts):
    with server.connect() as session:
        for number in range(TABLES):
            if f"r{number}" == PARTITIONED:
                make_partitioned(session)
            else:
                session.query(f"CREATE TABLE r{number} (id bigint, k int, v int, memo text) WITH (fillfactor = 90)")
            session.query(f"INSERT INTO r{number} SELECT i, i % 7, i % 100, md5(i::text) "
                          f"FROM generate_series(1, {ROWS}) i")
        session.query("CREATE TABLE accounts (id int PRIMARY KEY, balance bigint)")
        session.query(f"INSERT INTO accounts SELECT i, 1000 FROM generate_series(1, {accounts}) i")
        session.query("VACUUM (FREEZE, ANALYZE)")


class HeldCursor:
    """A cursor held between two FETCHes while its table changes behind it."""

    CHANGES = (
        "INSERT INTO {t} SELECT {n} + i, 3, -7, 'late' FROM generate_series(1, 300) i",
        "UPDATE {t} SET v = v + 1 WHERE id > {n}",
        "UPDATE {t} SET memo = md5(memo), k = 3 WHERE id > {n} AND id % 5 = 0",
        "DELETE FROM {t} WHERE id > {n} AND id % 2 = 0",
        "BEGIN; INSERT INTO {t} SELECT {n} + i, 3, -7, 'never' FROM generate_series(1, 300) i; ROLLBACK",
        "BEGIN; UPDATE {t} SET v = -1 WHERE id > {n}; ROLLBACK",
    )

    def __init__(self, server, number):
        self.writer = server.connect(settings=OFF)
        self.table = f"c{number}"
        self.writer.query(f"CREATE TABLE {self.table} (id bigint, k int, v int, memo text) WITH (fillfactor = 80)")
        self._refill()

    def _refill(self):
        self.writer.query(f"TRUNCATE {self.table}")
        self.writer.query(f"INSERT INTO {self.table} SELECT i, i % 7, i % 100, md5(i::text) "
                          f"FROM generate_series(1, {CURSOR_ROWS}) i")

    def race(self, source, reader):
        """One comparison: what differs, or None."""
        if source.random() < 0.2:
            self._refill()
        self.writer.query(f"VACUUM {self.table}")
        self.writer.query("CHECKPOINT")
        query = source.choice(("SELECT * FROM {t} WHERE id > 0", "SELECT id, memo FROM {t} WHERE k = 3 OR v < 50",
                               "SELECT id, v FROM {t} WHERE memo LIKE '%a%'")).format(t=self.table)
        change = source.choice(self.CHANGES).format(t=self.table, n=source.randrange(CURSOR_ROWS * 2 // 3))
        reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL pg_turbine.enabled = off")
        expected = reader.run(query)
        reader.query(f"SET LOCAL pg_turbine.enabled = on; DECLARE held NO SCROLL CURSOR FOR {query}")
        found = reader.run("FETCH 1 FROM held")
        self.writer.query(change)
        self.writer.query("CHECKPOINT")
        rest = reader.run("FETCH ALL FROM held")
        reader.run("COMMIT")
        if rest.error:
            return f"{query}: {rest.error}"
        found.results[0].rows += rest.rows
        found.results[0].tag = expected.results[0].tag
        found = answers.difference(expected, found)
        return f"{query}, meanwhile {change}: {found}" if found else None

    def close(self):
        self.writer.close()


class Writer(threading.Thread):
    """Changes tables until told to stop; `problem` says what it did not expect."""

    def __init__(self, server, seed, accounts, stop):
        super().__init__(daemon=True)
        self.session = server.connect(settings={**OFF, "lock_timeout": "500ms"})
        self.random, self.accounts, self.stop_event = random.Random(seed), accounts, stop
        self.problem, self.actions = None, 0

    def run(self):
        actions = (self.insert, self.insert, self.update, self.update, self.update, self.delete, self.lock, self.roll_back,
                   self.savepoint, self.vacuum, self.vacuum, self.vacuum, self.freeze, self.refill, self.prepare,
                   self.checkpoint, self.transfer, self.transfer, self.transfer, self.reattach)
        try:
            while not self.stop_event.is_set() and not self.problem:
                self.random.choice(actions)()
                self.actions += 1
        except Exception as error:  # the thread's only way to tell
            self.problem = repr(error)
        finally:
            self.session.close()

    def do(self, *statements):
        """Runs statements up to the first error; ends a failed transaction."""
        for statement in statements:
            outcome = self.session.run(statement)
            if outcome.error:
                if outcome.sqlstate not in EXPECTED_ERRORS:
                    self.problem = f"{statement}: {outcome.error}"
                if self.session.transaction_status != "I":
                    self.session.run("ROLLBACK")
                return False
        return True

    def table(self):
        return f"r{self.random.randrange(TABLES)}"

    def span(self):
        """A random range of ids, as a condition."""
        first = self.random.randrange(ROWS)
        return f"id BETWEEN {first} AND {first + self.random.choice((1, 10, 100, 600))}"

    def insert(self):
        start = self.random.randrange(10**6)
        self.do(f"INSERT INTO {self.table()} SELECT {start} + i, i % 7, i % 100, md5(i::text) "
                f"FROM generate_series(1, {self.random.choice((1, 20, 200))}) i")

    def update(self):
        column = self.random.choice(("v = v + 1", "k = (k + 1) % 7", "memo = md5(memo)"))
        self.do(f"UPDATE {self.table()} SET {column} WHERE {self.span()}")

    def delete(self):
        name = self.table()
        self.do(f"DELETE FROM {name} WHERE id > {ROWS} OR {self.span()} AND id % 3 = 0")

    def lock(self):
        strength = self.random.choice(("UPDATE", "SHARE", "KEY SHARE", "NO KEY UPDATE"))
        self.do("BEGIN", f"SELECT id FROM {self.table()} WHERE {self.span()} FOR {strength}",
                self.random.choice(("COMMIT", "ROLLBACK")))

    def roll_back(self):
        self.do("BEGIN", f"UPDATE {self.table()} SET v = -1 WHERE {self.span()}",
                f"INSERT INTO {self.table()} VALUES (-1, 3, -1, 'never')", "ROLLBACK")

    def savepoint(self):
        name = self.table()
        self.do("BEGIN", f"UPDATE {name} SET v = v + 1 WHERE {self.span()}", "SAVEPOINT s",
                f"DELETE FROM {name} WHERE {self.span()}", self.random.choice(("ROLLBACK TO s", "RELEASE s")),
                f"UPDATE {name} SET k = 3 WHERE {self.span()}", "COMMIT")

    def vacuum(self):
        self.do(f"VACUUM {self.table()}")

    def freeze(self):
        self.do(f"VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) {self.table()}")

    def refill(self):
        """Rows under all-visible bits set in the transaction that made the storage."""
        name, most = self.table(), ROWS
        if name == PARTITIONED:  # which itself takes no FREEZE
            name, most = f"{name}_low", HALF - 51
        if not self.do("BEGIN", f"TRUNCATE {name}"):
            return
        rows = "".join(f"{i}\t{i % 7}\t{i % 100}\t{i:032x}\n" for i in range(1, most + 1))
        outcome = self.session.copy_in(f"COPY {name} FROM STDIN (FREEZE)", io.BytesIO(rows.encode()))
        if outcome.error:
            # A partition's COPY looks at its parent, which another writer may have locked.
            if outcome.sqlstate not in EXPECTED_ERRORS:
                self.problem = str(outcome.error)
            self.session.run("ROLLBACK")
            return
        self.do(f"INSERT INTO {name} SELECT {most} + i, 3, 1, 'ab' FROM generate_series(1, 50) i", "COMMIT")

    def reattach(self):
        """A partition goes, is changed, and comes back."""
        leaf = f"{PARTITIONED}_high"
        self.do("BEGIN", f"ALTER TABLE {PARTITIONED} DETACH PARTITION {leaf}", f"UPDATE {leaf} SET v = v + 3 WHERE {self.span()}",
                f"ALTER TABLE {PARTITIONED} ATTACH PARTITION {leaf} {UPPER_HALF}", "COMMIT")

    def prepare(self):
        name = f"p{threading.get_ident()}"
        if self.do("BEGIN", f"UPDATE {self.table()} SET v = v + 7 WHERE {self.span()}", f"PREPARE TRANSACTION '{name}'"):
            time.sleep(0.01)
            self.do(f"{self.random.choice(('COMMIT', 'ROLLBACK'))} PREPARED '{name}'")

    def checkpoint(self):
        if self.random.random() < 0.2:
            self.do("CHECKPOINT")

    def transfer(self):
        giver, taker = self.random.sample(range(1, self.accounts + 1), 2)
        self.do("BEGIN", f"UPDATE accounts SET balance = balance - 5 WHERE id = {giver}",
                f"UPDATE accounts SET balance = balance + 5 WHERE id = {taker}", "COMMIT")
        if self.random.random() < 0.05:
            self.do("VACUUM accounts")


class Reader(threading.Thread):
    """Runs its share of the comparisons; `differences` collects what was wrong."""

    def __init__(self, server, number, options, stop):
        super().__init__(daemon=True)
        forced = FEEDING if options.feeders else FORCED
        self.session = server.connect(settings={**forced, "pg_turbine.device": options.device,
                                                "pg_turbine.direct_threshold": "0",
                                                "pg_turbine.storage_path": options.storage_path})
        self.random, self.stop_event = random.Random(options.seed * 2000 + number), stop
        self.races, self.until_difference = -(-options.races // READERS), options.until_difference
        self.kinds, self.accounts = options.kinds.split(","), options.accounts
        self.held = HeldCursor(server, number) if "cursor" in self.kinds else None
        self.done, self.differences, self.problem = 0, [], None

    def run(self):
        try:
            while self.done < self.races and not self.stop_event.is_set():
                found = self.race()
                self.done += 1
                if found:
                    self.differences.append(found)
                    if self.until_difference:
                        self.stop_event.set()
        except Exception as error:  # the thread's only way to tell
            self.problem = repr(error)
        finally:
            self.session.close()
            if self.held:
                self.held.close()

    def race(self):
        (kind,) = self.random.choices(self.kinds, [KINDS[kind] for kind in self.kinds])
        if kind == "cursor":
            return self.held.race(self.random, self.session)
        return self.account_race() if kind == "account" else self.snapshot_race()

    def snapshot_race(self):
        forms = JOINS if self.random.random() < JOIN_SHARE else QUERIES
        query = self.random.choice(forms).format(t=f"r{self.random.randrange(TABLES)}",
                                                 u=f"r{self.random.randrange(TABLES)}")
        level = "SERIALIZABLE" if self.random.random() < 0.1 else "REPEATABLE READ"
        order = [("on", "forced"), ("off", "plain")]
        self.random.shuffle(order)
        outcomes = {}
        self.session.query(f"BEGIN ISOLATION LEVEL {level}")
        for enabled, side in order:
            self.session.run(f"SET LOCAL pg_turbine.enabled = {enabled}")
            outcomes[side] = self.session.run(query)
            if outcomes[side].error:
                break
        self.session.run("ROLLBACK")
        errors = [o.sqlstate for o in outcomes.values() if o.error]
        if errors:
            return None if errors[0] in ("40001", "40P01") else f"{query}: {errors}"
        found = answers.difference(outcomes["plain"], outcomes["forced"])
        return f"{query} ({level}, {order[0][1]} first): {found}" if found else None

    def account_race(self):
        query = self.random.choice(ACCOUNT_QUERIES)
        total = self.session.run(query)
        expected = (str(1000 * self.accounts), str(self.accounts))
        return None if total.rows == [expected] else f"{query}: {total.rows} {total.error}, not {expected}"


def keep_self_joins(server):
    """PostgreSQL 18 reads a table that is joined with itself by its key only once."""
    if server.major_version() >= 18:
        with server.connect() as session:
            session.query("ALTER SYSTEM SET enable_self_join_elimination = off")
            session.query("SELECT pg_reload_conf()")


def not_joined(server):
    """How many join queries the engine would not join: those would prove nothing."""
    queries = [form.format(t="r0", u="r1") for form in JOINS] + list(ACCOUNT_QUERIES[1:])
    with server.connect(settings=FORCED) as session:
        plans = {query: session.value(f"EXPLAIN (FORMAT JSON) {query}") for query in queries}
    missing = [query for query, plan in plans.items() if "GpuJoin" not in plan]
    for query in missing:
        print(f"  not joined by the engine: {query}", flush=True)
    return len(missing)


def not_past_cache(server):
    """1 if the engine does not read with O_DIRECT here: races would prove nothing of it."""
    with server.connect(settings={**FORCED, "pg_turbine.direct_threshold": "0", "pg_turbine.storage_path": "direct",
                                  "pg_turbine.enable_cache": "off"}) as session:
        plan = json.loads(session.value("EXPLAIN (ANALYZE, FORMAT JSON) SELECT sum(balance) FROM accounts"))[0]["Plan"]
    methods = {node["Direct SQL"] for node in workload.plan_nodes(plan) if "Direct SQL" in node}
    if methods <= {"io_uring", "threads"} and methods:
        print(f"  direct reads by {methods.pop()}", flush=True)
        return 0
    print(f"  not read with O_DIRECT: {methods}", flush=True)
    return 1


def judge(readers, writers, started):
    passed = failed = 0
    for reader in readers:
        for difference in reader.differences[:5]:
            print(f"  {difference}", flush=True)
        failed += len(reader.differences) + bool(reader.problem)
        passed += reader.done - len(reader.differences)
    for thread in readers + writers:
        if thread.problem:
            print(f"  {type(thread).__name__}: {thread.problem}", flush=True)
    failed += sum(bool(writer.problem) for writer in writers)
    actions = sum(writer.actions for writer in writers)
    print(f"  {passed + failed} races against {actions} actions of {len(writers)} writers, "
          f"{time.monotonic() - started:.0f} s", flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--races", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of races, comma-separated")
    parser.add_argument("--accounts", type=int, default=2000)
    parser.add_argument("--until-difference", action="store_true", help="stop at the first difference")
    parser.add_argument("--storage-path", default="auto", help="auto, direct or page_cache: how direct blocks are read")
    parser.add_argument("--feeders", action="store_true", help="parallel workers feed what is not read directly")
    parser.add_argument("--stock", action="store_true", help="without the extension: proves the harness")
    options = parser.parse_args()
    settings = {"shared_buffers": "2MB"}  # small: pages are evicted, written and read again all the time
    with cluster.Cluster("races", extension=not options.stock, settings=settings) as server:
        make_tables(server, options.accounts)
        keep_self_joins(server)
        unused = 0 if options.stock else not_joined(server)
        if options.storage_path == "direct":
            unused += not_past_cache(server)
        stop, started = threading.Event(), time.monotonic()
        writers = [Writer(server, options.seed * 1000 + i, options.accounts, stop) for i in range(WRITERS)]
        readers = [Reader(server, i, options, stop) for i in range(READERS)]
        for thread in writers + readers:
            thread.start()
        for reader in readers:
            reader.join()
        stop.set()
        for writer in writers:
            writer.join(30)
        passed, failed = judge(readers, writers, started)
        failed += unused
        if not options.stock:
            with server.connect() as session:
                counters = dict(session.query("SELECT counter, value FROM turbine.stat_queries WHERE value > 0"))
            print("  " + ", ".join(f"{name} {value}" for name, value in counters.items()))
            # A race that ends the service costs only time, and would go unnoticed.
            if int(counters.get("service_starts", 0)) != 1:
                print("  the service did not run to the end:")
                told = [line for line in server.logfile.read_text(errors="replace").splitlines()
                        if "pg_turbine service" in line or "SIGBUS" in line]
                print("\n".join(f"    {line}" for line in told[:10]))
                failed += 1
            if int(counters.get("blocks_direct", 0)) == 0:
                print("  no block was read directly: the races proved nothing")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
