#!/usr/bin/env python3
"""gstore_crashes.py - pinned tables while processes are killed: what was committed stays, and all who read see the same.

Writers move money between accounts and append a row for each transfer, so that every snapshot must satisfy: balance = base +
what came - what went. They roll back, also to savepoints, and remember of each row whether its COMMIT was acknowledged, lost
or never sent (Ledger). In each round something is killed at a random moment: a backend, the service, the postmaster, one after
another, or the server is stopped. Beside that, and after it, every snapshot is read in three ways: by PostgreSQL, by
accelerated queries, and by an importer of exports (inspect). After each round the pins are there, the tables are cached
again, exports have gone and so has their memory; what was opened before the kill reads as ever.
`self_test`: the checks notice what they are for. `rounds`: the above. `insert_speed`: rows of a pinned table beside those of
another one, and exported at once. `large`, by --large only: a column of more than 1 GB.
Must never: excuse an error that a round's kill does not explain.
Called by: make test-gstore-crashes, test/run_all.py. Options: --rounds, --seed, --first (a round to begin with), --self-test,
--large.
"""

import argparse
import collections
import functools
import hashlib
import itertools
import random
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import CPU, Bench, cached_blocks  # noqa: E402
from cache_loading import soon  # noqa: E402
from import_columns import Refused, bytes_of, redeem  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from run_sql import OFF  # noqa: E402

ACCOUNTS = 2000
START = 1000
WRITERS = 3
STEP = 10**9            # ids of a writer's rows begin at its number times this
FOLD_AT = 12000         # rows of `moves`, after which they are taken into `base`
SECONDS = 40            # a keeper's look, and a load
UNDECIDED_SECONDS = 10
HANGS_SECONDS = 20      # a statement of a round that is not answered
GONE_SECONDS = 15       # processes of a killed postmaster, exports of a killed backend
TABLES = {
    "accounts": ("id int PRIMARY KEY, balance bigint, base bigint, name text", ("id", "balance", "base", "name")),
    "moves": ("id bigint PRIMARY KEY, source int, target int, amount int, note text", ("id", "source", "target", "amount", "note")),
}
IDS = "SELECT id, amount FROM moves WHERE amount > 0"
QUERIES = (
    "SELECT sum(balance), count(*), sum(base), max(name COLLATE \"C\") FROM accounts",
    "SELECT amount, count(*), min(id), max(id), sum(source - target), max(note COLLATE \"C\") FROM moves GROUP BY amount",
    "SELECT a.id % 10, count(*), sum(m.amount), sum(a.base) FROM accounts a JOIN moves m ON m.target = a.id GROUP BY 1",
    IDS,
)
# Pages by which a file was made longer, and which a kill left without rows: they have no LSN, and are not cached.
NEVER_USED = ("SELECT count(*) FROM generate_series(0, pg_relation_size('{0}') / 8192 - 1) AS block "
              "WHERE (page_header(get_raw_page('{0}', block::int))).upper = 0")
# Each a list of strikes, one soon after the other. What they break: sessions, or exports only.
KINDS = (("backend",), ("service",), ("postmaster",), ("immediate",), ("restart",), ("terminate",), ("service", "backend"),
         ("postmaster", "service"), ("service", "service"))
# What an export says without its service, or with one that has ended meanwhile.
NO_EXPORT = ("55000", "57P03", "08006")
ACKNOWLEDGED, UNKNOWN, ROLLED_BACK = "acknowledged", "unknown", "rolled back"
INSERTED = 400000
LARGE_ROWS, LARGE_BYTES = 140000, 8000


class Ledger:
    """What writers were told. An entry is rolled back until COMMIT is sent, and unknown until that is answered: so a snapshot
    shows all that were acknowledged before it, and none that is rolled back after it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.state = {}
        self.lost = collections.Counter()

    def note(self, ids, state):
        with self.lock:
            self.state.update(dict.fromkeys(ids, state))

    def of(self, state):
        with self.lock:
            return {row for row, found in self.state.items() if found == state}

    def complaint(self, name, acknowledged, found):
        """`acknowledged` is from before the snapshot, `found` the ids in it."""
        found = set(found)
        missing, undone = acknowledged - found, found & self.of(ROLLED_BACK)
        strange = found - self.state.keys()
        if missing:
            return f"{name}: {len(missing)} rows are lost whose COMMIT was acknowledged: {sorted(missing)[:3]}"
        if undone or strange:
            return f"{name}: {len(undone | strange)} rows were never committed: {sorted(undone | strange)[:3]}"
        return None

    def settle(self, found):
        """Nobody writes, and no old session is left: what became of the unknown ones is now known, and must stay so."""
        found, unknown = set(found), self.of(UNKNOWN)
        self.note(unknown & found, ACKNOWLEDGED)
        self.note(unknown - found, ROLLED_BACK)
        self.lost.update(committed=len(unknown & found), rolled_back=len(unknown - found))

    def clear(self):
        with self.lock:
            self.state.clear()


def out_of_balance(accounts, moves):
    """A complaint about rows of one snapshot: (id, balance, base, ...) and (id, source, target, amount, ...)."""
    due = {row[0]: row[2] for row in accounts}
    for _, source, target, amount, *_ in moves:
        due[source] -= amount
        due[target] += amount
    wrong = [(row[0], row[1], due[row[0]]) for row in accounts if row[1] != due[row[0]]]
    total = sum(row[1] for row in accounts)
    if wrong:
        return f"{len(wrong)} accounts are out of balance; account, balance, due: {wrong[:3]}"
    return None if (total, len(accounts)) == (ACCOUNTS * START, ACCOUNTS) else f"{len(accounts)} accounts have {total}"


def typed(rows):
    """Rows as an importer finds them: all columns but the last are numbers."""
    return [(*map(int, row[:-1]), row[-1]) for row in rows]


def rows_of(imported, table):
    return list(zip(*(imported.values(column) for column in TABLES[table][1]), strict=True))


def export(session, table):
    return bytes_of(session.value(f"SELECT turbine.export('{table}')"))


def import_table(token, table):
    with redeem(token) as imported:
        return rows_of(imported, table)


def inspect(session, ledger, exports):
    """Complaints about one snapshot, read by PostgreSQL, by accelerated queries and, if asked, by exports; and its ids."""
    acknowledged, fast, exported = ledger.of(ACKNOWLEDGED), {}, {}
    session.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
    if exports:
        exported = {table: export(session, table) for table in TABLES}
    for sql in QUERIES:
        fast[sql] = session.run(sql)
        if fast[sql].error:
            raise fast[sql].error
    if exports:
        exported = {table: import_table(token, table) for table, token in exported.items()}
    session.query("SET LOCAL pg_turbine.enabled = off")
    plain = {sql: session.run(sql) for sql in QUERIES}
    rows = {table: typed(session.query(f"SELECT * FROM {table} ORDER BY ctid")) for table in TABLES}
    session.query("COMMIT")
    complaints = [f"{sql}: {found}" for sql in QUERIES if (found := answers.difference(plain[sql], fast[sql]))]
    for name, found in (("PostgreSQL", rows), ("export", exported)):
        if found:
            complaints.append(out_of_balance(found["accounts"], found["moves"]))
            complaints.append(ledger.complaint(name, acknowledged, (row[0] for row in found["moves"])))
    for table, found in exported.items():
        wrong = [pair for pair in itertools.zip_longest(rows[table], found) if pair[0] != pair[1]]
        complaints.append(wrong and f"export of {table}: {len(wrong)} rows differ, expected and found: {wrong[0]}")
    complaints.append(ledger.complaint("accelerated", acknowledged, (int(row[0]) for row in fast[IDS].rows)))
    return [complaint for complaint in complaints if complaint], [row[0] for row in rows["moves"]]


def inspect_statement(session, ledger):
    """Complaints about two exports of one statement: they have one snapshot, at every isolation level."""
    acknowledged = ledger.of(ACKNOWLEDGED)
    tokens = session.query("SELECT turbine.export('accounts'), turbine.export('moves')")[0]
    found = {table: import_table(bytes_of(token), table) for table, token in zip(TABLES, tokens, strict=True)}
    complaints = (out_of_balance(found["accounts"], found["moves"]),
                  ledger.complaint("exports of a statement", acknowledged, (row[0] for row in found["moves"])))
    return [complaint for complaint in complaints if complaint]


class Round:
    """Writers, readers and exporters beside one kill. The seed decides what is killed and when; threads are as they are."""

    def __init__(self, server, ledger, seed, number):
        self.server, self.ledger, self.seed = server, ledger, f"{seed}-{number}"
        self.random = random.Random(self.seed)
        self.kind = KINDS[self.random.randrange(len(KINDS))]
        self.number = number
        self.done = threading.Event()
        self.complaints = []
        self.counts = collections.Counter()
        self.victims = {}
        self.only_victim = None
        # Between these errors are excused.
        self.struck = self.recovered = float("inf")

    def complain(self, text):
        self.complaints.append(f"{'+'.join(self.kind)}: {text}")

    def excuses(self, name, error, began):
        """Whether the kill explains an error of a thread's work that began then. A kill of the service costs exports only, and a
        backend that is terminated only itself."""
        if time.monotonic() < self.struck or began > self.recovered or isinstance(error, TimeoutError):
            return False
        state = getattr(error, "sqlstate", None)
        if set(self.kind) != {"service"} and self.only_victim in (None, name) and (
                isinstance(error, (ConnectionLost, OSError)) or state in cluster.RECOVERS):
            return True
        return name == "exporter" and self.only_victim in (None, name) and (
            isinstance(error, (Refused, OSError)) or state in NO_EXPORT)

    def repeat(self, name, work, settings):
        """A thread: does the work again and again, with a new session after each error."""
        source = random.Random(f"{self.seed}-{name}")
        session = None
        while not self.done.is_set():
            began = time.monotonic()
            try:
                if session is None:
                    session = self.server.connect(settings=settings, timeout=HANGS_SECONDS)
                    self.victims[name] = session.backend_pid
                work(session, source)
                self.counts[name.split()[0]] += 1
            except (DatabaseError, ConnectionLost, Refused, OSError) as error:
                if not self.excuses(name, error, began):
                    self.complain(f"{name}: {error!r}")
                    return
                self.counts["errors"] += 1
                self.victims.pop(name, None)
                if session:
                    session.close()
                session = None
                time.sleep(0.02)
            except Exception as error:  # noqa: BLE001 - a thread's failure is the round's
                self.complain(f"{name}: {error!r}")
                return
        if session:
            session.close()

    def transfer(self, writer, ids, session, source):
        """One transaction, remembered."""
        made, undone = next(ids), [next(ids)]
        self.ledger.note([made, *undone], ROLLED_BACK)
        a, b = sorted(source.sample(range(1, ACCOUNTS + 1), 2))
        sign, amount = source.choice((-1, 1)), source.randrange(1, 50)
        first, second = (a, b) if sign > 0 else (b, a)

        def move(row, amount):
            # In the order of ids, so that nobody waits in a circle.
            return (f"UPDATE accounts SET balance = balance - {sign * amount} WHERE id = {a}; "
                    f"UPDATE accounts SET balance = balance + {sign * amount} WHERE id = {b}; "
                    f"INSERT INTO moves VALUES ({row}, {first}, {second}, {amount}, 'writer {writer} moves {amount}')")
        script, kind = f"BEGIN; {move(made, amount)}", source.random()
        if kind < 0.2:
            script += f"; SAVEPOINT s; {move(undone[0], amount + 1)}; ROLLBACK TO s"
        elif kind < 0.3:
            script = f"BEGIN; SAVEPOINT s; {move(undone[0], 77)}; ROLLBACK TO s; SAVEPOINT s; {move(made, amount)}; RELEASE s"
        session.query(script)
        if source.random() < 0.15:
            session.query("ROLLBACK")
            return
        self.ledger.note([made], UNKNOWN)
        outcome = session.run("COMMIT")
        if outcome.error is None and outcome.results[-1].tag == "COMMIT":
            self.ledger.note([made], ACKNOWLEDGED)
        elif outcome.error and outcome.sqlstate in cluster.RECOVERS:
            raise outcome.error
        else:
            self.complain(f"COMMIT: {answers.describe_error(outcome)}")

    def query(self, session, _source):
        self.complaints += inspect(session, self.ledger, False)[0]

    def export(self, session, source):
        if source.random() < 0.5:
            self.complaints += inspect(session, self.ledger, True)[0]
        else:
            self.complaints += inspect_statement(session, self.ledger)

    def upkeep(self, session, source):
        session.query(source.choice(("VACUUM accounts", "VACUUM moves", "CHECKPOINT", "ANALYZE moves")))
        time.sleep(0.05 + source.random() * 0.2)

    def strike(self, what):
        """Kills, and starts again what does not start by itself."""
        server = self.server
        if what == "service":
            cluster.signal_running(filter(None, [server.service_pid()]), signal.SIGKILL)
        elif what in ("backend", "terminate"):
            name = self.random.choice(sorted(self.victims) or [None])
            if what == "terminate":
                self.only_victim = name
            if self.victims.get(name) in server.descendants():
                cluster.signal_running([self.victims[name]], signal.SIGKILL if what == "backend" else signal.SIGTERM)
                self.counts["killed backends"] += 1
        elif what == "restart":
            server.stop()
            server.start()
        else:
            below = list(server.descendants())
            server.process.send_signal(signal.SIGKILL if what == "postmaster" else signal.SIGQUIT)
            server.process.wait()
            if not soon(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), GONE_SECONDS):
                self.complain("processes outlive the postmaster")
            (server.data / "postmaster.pid").unlink(missing_ok=True)
            server.start()

    def run(self):
        """Complaints of a round; when it ends, nobody works."""
        counters = [itertools.count(writer * STEP + self.number * 100000) for writer in range(WRITERS)]
        work = [(f"writer {i}", functools.partial(self.transfer, i, counters[i]), OFF) for i in range(WRITERS)]
        work += [("reader", self.query, CPU), ("exporter", self.export, CPU), ("upkeep", self.upkeep, OFF)]
        holder = Holder(self.server)
        threads = [threading.Thread(target=self.repeat, args=arguments) for arguments in work]
        for thread in threads:
            thread.start()
        try:
            time.sleep(0.1 + self.random.random() * 0.4)
            before = self.server.service_pid()
            self.struck = time.monotonic()
            for number, what in enumerate(self.kind):
                time.sleep(number and self.random.random() * 0.2)
                self.strike(what)
            # All but a terminated backend end the service, with the backend's shared memory or before it.
            if self.kind != ("terminate",) and not soon(lambda: self.server.service_pid() not in (None, before), SECONDS):
                self.complain("no new service")
            self.server.wait_for_service()
            self.recovered = time.monotonic() + 0.2     # the export socket, too
            time.sleep(0.3)
        finally:
            self.done.set()
            for thread in threads:
                thread.join()
            holder.check(self)
        self.after()
        return self.complaints

    def after(self):
        with self.server.connect(settings=CPU) as session:
            complaints, found = inspect(session, self.ledger, True)
            self.complaints += complaints
            self.ledger.settle(found)
            self.complaints += inspect(session, self.ledger, True)[0] + inspect_statement(session, self.ledger)
            for sql in QUERIES:
                if "Gpu" not in str(session.query(f"EXPLAIN {sql}")):
                    self.complain(f"not accelerated: {sql}")
            self.counts["cached blocks"] += cached_blocks(session, QUERIES[0])
            if len(found) > FOLD_AT:
                fold(session, self.random)
                self.ledger.clear()
        with self.server.connect(settings=OFF) as session:
            if not soon(lambda: pins(session) == expected_pins(session), UNDECIDED_SECONDS):
                # A row whose end is a multixact keeps its block from being cached until VACUUM comes.
                session.query("VACUUM accounts, moves")
                self.counts["vacuums"] += 1
            if not soon(lambda: pins(session) == expected_pins(session), SECONDS):
                self.complain(f"pins: {pins(session)}, expected {expected_pins(session)}; {why_buffered(self.server)}")
            # Exports of sessions that have ended, killed or not.
            if not soon(lambda: left_of_exports(session) == (0, 0), GONE_SECONDS):
                self.complain(f"exports and memory that are left: {left_of_exports(session)}")


class Holder:
    """An importer that has a table open over the kill, of a session that may be killed."""

    def __init__(self, server):
        self.session = server.connect(settings=OFF)
        self.session.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        self.imported = redeem(export(self.session, "moves"))
        self.expected = typed(self.session.query("SELECT * FROM moves ORDER BY ctid"))
        self.session.query("COMMIT")

    def check(self, one_round):
        with self.imported as imported:
            if rows_of(imported, "moves") != self.expected:
                one_round.complain("what an importer has open has changed")
        self.session.close()


def pins(session):
    return session.query("SELECT relation::text, device, waiting_blocks FROM turbine.gstore ORDER BY 1")


def expected_pins(session):
    return [(table, "host", session.value(NEVER_USED.format(table))) for table in TABLES]


def left_of_exports(session):
    """(exports, bytes that queries and exports use)"""
    return tuple(map(int, session.query("SELECT (SELECT count(*) FROM turbine.exports), sum(memory_used) FROM turbine.devices")[0]))


def why_buffered(server):
    """What EXPLAIN says of blocks that are not cached."""
    with server.connect(settings=CPU) as session:
        plans = [session.query(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(note), count(id) FROM {table}".replace(
            "note", TABLES[table][1][-1])) for table in TABLES]
    return "; ".join(row[0].strip() for plan in plans for row in plan if "Blocks:" in row[0] or "Because" in row[0])


def fold(session, source):
    """Takes all moves into the accounts."""
    session.query("BEGIN; SET LOCAL pg_turbine.enabled = off; UPDATE accounts SET base = balance; "
                  f"{source.choice(('TRUNCATE moves', 'DELETE FROM moves'))}; COMMIT")
    session.query("VACUUM accounts, moves")


def make(server):
    with server.connect(settings=OFF) as session:
        for table, (columns, _) in TABLES.items():
            session.query(f"CREATE FOREIGN TABLE {table} ({columns}) SERVER gstore_fdw OPTIONS (pinning 'host')")
        session.query(f"INSERT INTO accounts SELECT i, {START}, {START}, 'account ' || i FROM generate_series(1, {ACCOUNTS}) i")
        session.query("CREATE EXTENSION pageinspect")
        session.query("VACUUM (ANALYZE)")


def self_test(bench, server):
    """What the checks are for is noticed: each time something is broken behind the ledger's back, and mended again."""
    ledger = Ledger()
    with server.connect(settings=OFF) as plain, server.connect(settings=CPU) as session:
        plain.query("INSERT INTO moves SELECT i, 1, 2, 3, 'x' FROM generate_series(1, 3000) i; "
                    "UPDATE accounts SET balance = balance + CASE id WHEN 1 THEN -9000 ELSE 9000 END WHERE id < 3")
        ledger.note(range(1, 3001), ACKNOWLEDGED)
        ledger.note((4001, 4003), UNKNOWN)
        ledger.note((4002,), ROLLED_BACK)

        def noticed(name, words=None, times=0):
            complaints = inspect(session, ledger, True)[0] + inspect_statement(session, ledger)
            found = [complaint for complaint in complaints if words is None or words in complaint]
            bench.check(f"self-test, {name}", None if len(found) == times else f"{complaints}")

        # By PostgreSQL, an accelerated query, an export, and two exports of a statement.
        noticed("nothing is wrong")
        plain.query("DELETE FROM moves WHERE id = 1234")
        noticed("an acknowledged row is deleted", "acknowledged: [1234]", 4)
        noticed("and no longer in the accounts", "out of balance", 3)
        plain.query("INSERT INTO moves VALUES (1234, 1, 2, 3, 'x'), (4002, 1, 1, 3, 'x')")
        noticed("a row that was rolled back", "never committed: [4002]", 4)
        plain.query("UPDATE moves SET id = 4001 WHERE id = 4002")
        noticed("an unknown one may be there")
        ledger.settle([4001])
        plain.query("UPDATE moves SET id = 4003 WHERE id = 4001")
        noticed("but then it has to stay", "acknowledged: [4001]", 4)
        ledger.note((4001,), ROLLED_BACK)
        noticed("and one that was not there must not come", "never committed: [4003]", 4)
        plain.query("DELETE FROM moves WHERE id = 4003; UPDATE accounts SET balance = balance + 1 WHERE id = 5")
        noticed("money from nowhere", "out of balance", 3)
        plain.query("UPDATE accounts SET balance = balance - 1 WHERE id = 5")
        noticed("all is mended")
        stale = import_table(export(session, "moves"), "moves")
        plain.query("INSERT INTO moves VALUES (5000, 1, 1, 1, 'x')")
        ledger.note((5000,), ACKNOWLEDGED)
        bench.check("self-test, an old export", None if ledger.complaint("export", {5000}, (row[0] for row in stale)) else "not noticed")
        plain.query("DELETE FROM moves WHERE id = 5000")
        fold(session, random.Random(1))


def rounds(bench, server, options):
    ledger, counts, kinds = Ledger(), collections.Counter(), collections.Counter()
    for number in range(options.first, options.first + options.rounds):
        one = Round(server, ledger, options.seed, number)
        started = time.monotonic()
        complaints = one.run()
        for complaint in complaints[:10]:
            bench.check(f"round {number}", complaint)
        if complaints:
            print(f"  again: --seed {options.seed} --first {number} --rounds 1\n{server.log_tail(20)}", flush=True)
            # What is lost is lost in all that follows.
            break
        bench.check("round", None)
        counts.update(one.counts)
        kinds["+".join(one.kind)] += 1
        if options.verbose:
            print(f"  round {number}: {'+'.join(one.kind)}, {time.monotonic() - started:.1f} s, {dict(one.counts)}", flush=True)
    for what in ("writer", "reader", "exporter", "cached blocks"):
        bench.check(f"work of a round: {what}", None if counts[what] else "none")
    print(f"  {sum(kinds.values())} rounds {dict(kinds)}: {counts['writer']} transfers, {counts['reader']} snapshots queried, "
          f"{counts['exporter']} exported; COMMITs "
          f"without an answer: {dict(ledger.lost)}; VACUUM was needed {counts['vacuums']} times", flush=True)


def insert_speed(bench, server):
    """Rows of a bool and four reals: a pinned table takes them as another one does, and they can be exported at once."""
    columns = "(b bool, x real, y real, z real, w real)"
    rows = f"SELECT i % 3 = 0, i, i * 0.5, i % 1000, -i FROM generate_series(1, {INSERTED}) i"
    best = {}
    with server.connect(settings=OFF) as session:
        session.query(f"CREATE TABLE heap {columns}; CREATE FOREIGN TABLE pinned {columns} SERVER gstore_fdw OPTIONS (pinning 'host')")
        for _ in range(3):
            for table in ("heap", "pinned"):
                session.query(f"TRUNCATE {table}; CHECKPOINT")
                started = time.monotonic()
                session.query(f"BEGIN; INSERT INTO {table} {rows}; COMMIT")
                best[table] = min(best.get(table, float("inf")), time.monotonic() - started)
        started = time.monotonic()
        token = export(session, "pinned")
        exported = time.monotonic() - started
        with redeem(token) as imported:
            numbers = range(1, INSERTED + 1)
            for column, expected in (("b", [i % 3 == 0 for i in numbers]), ("x", list(numbers)), ("y", [i * 0.5 for i in numbers]),
                                     ("z", [i % 1000 for i in numbers]), ("w", [-i for i in numbers])):
                bench.check(f"inserted {column}", None if imported.values(column) == expected else "other values")
        session.query("DROP TABLE heap; DROP FOREIGN TABLE pinned")
    print(f"  {INSERTED} rows: {best['pinned']:.2f} s into a pinned table, {best['heap']:.2f} s into another one, "
          f"ratio {best['pinned'] / best['heap']:.2f}; exported in {exported:.2f} s", flush=True)


def large(bench):
    """A column of more than 1 GB, row by row."""
    started = time.monotonic()
    with cluster.Cluster("gstorelarge", settings={"pg_turbine.memory_budget": "4GB", "pg_turbine.cache_size_host": "64MB"}) as server:
        with server.connect(settings=OFF) as session:
            session.query("CREATE FOREIGN TABLE big (id int, t text) SERVER gstore_fdw OPTIONS (pinning 'host')")
            # Lengths differ, so that offsets do.
            session.query(f"INSERT INTO big SELECT i, i % 10 || repeat(md5(i::text), {LARGE_BYTES // 32} + i % 3) "
                          f"FROM generate_series(1, {LARGE_ROWS}) i")
            expected = session.query("SELECT id, length(t), md5(t) FROM big ORDER BY ctid")
            made = time.monotonic()
            token = export(session, "big")
            exported = time.monotonic()
            with redeem(token) as imported:
                size = imported.columns["t"]["bytes"][1]
                bench.check("more than 1 GB", None if size > 1 << 30 else f"{size} bytes")
                found = [(str(id_), str(len(text)), hashlib.md5(text.encode()).hexdigest())
                         for id_, text in zip(imported.values("id"), imported.values("t"), strict=True)]
            bench.check("its texts", None if found == expected else "they differ")
            session.close()
        with server.connect(settings=OFF) as session:
            bench.check("its memory comes back", None if soon(lambda: left_of_exports(session) == (0, 0), GONE_SECONDS)
                        else f"{left_of_exports(session)}")
    print(f"  a column of {size / 1e9:.2f} GB: made in {made - started:.0f} s, exported in {exported - made:.1f} s, "
          f"all in {time.monotonic() - started:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the first round's number")
    parser.add_argument("--self-test", action="store_true", help="only whether the checks notice what they are for")
    parser.add_argument("--large", action="store_true", help="only a column of more than 1 GB, which takes 5 GB of memory")
    parser.add_argument("--verbose", action="store_true", help="a line for each round")
    options = parser.parse_args()
    bench = Bench()
    if options.large:
        large(bench)
    else:
        with cluster.Cluster("gstorecrashes") as server:
            server.create_extension("postgres")
            make(server)
            self_test(bench, server)
            if not options.self_test:
                insert_speed(bench, server)
                rounds(bench, server, options)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(error)
        sys.exit(1)
