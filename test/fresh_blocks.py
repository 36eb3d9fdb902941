#!/usr/bin/env python3
"""fresh_blocks.py - rows that are not all-visible yet are cached, and each snapshot sees its own.

Each scene makes its own table, does to it what transactions can do, and asks the same questions from cached columns
and from PostgreSQL under one snapshot: while they run and after they have ended, from snapshots taken before and after,
with the cache filled by either. No table is ever vacuumed unless the scene says so.
Must never: take an answer that came from shared buffers for one from the cache.
Called by: test/run_all.py, mutants.py. Options: --only, --until-difference, --feeders.
"""

import argparse
import re
import io
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import CPU, OFF, Bench, cached_blocks  # noqa: E402
from cache_loading import caught_up, replica  # noqa: E402
from run_sql import FEEDING  # noqa: E402

ROWS = 12000
QUESTIONS = ("SELECT count(*), sum(v), min(id), max(id), max(memo COLLATE \"C\") FROM {t}",
             "SELECT k, count(*), sum(v) FROM {t} GROUP BY k",
             "SELECT id, v, memo FROM {t} WHERE v % 500 < 3")
MOST_SUBTRANSACTIONS = 70  # more than a process keeps in shared memory, so that a snapshot is overflowed


class Found(Exception):
    """A difference, where the first one is enough."""


class Scenes:
    def __init__(self, server, bench, options):
        self.server, self.bench, self.options = server, bench, options
        self.settings = CPU
        if options.feeders:
            self.settings = {**CPU, **FEEDING, "pg_turbine.enable_cache": "on", "parallel_leader_participation": "on"}
        self.cached = server.connect(settings=self.settings)
        self.plain = server.connect(settings=OFF)
        self.scene = self.table = None
        self.sessions = []

    def session(self, cached=False):
        session = self.server.connect(settings=self.settings if cached else OFF)
        self.sessions.append(session)
        return session

    def make(self, options="", rows=ROWS):
        self.plain.query(f"DROP TABLE IF EXISTS t; CREATE TABLE t (id int, k int, v int, memo text) {options}")
        self.plain.query(f"INSERT INTO t SELECT i, i % 7, i % 1000, 'memo ' || i % 90 FROM generate_series(1, {rows}) i")

    def say(self, name, complaint):
        self.bench.check(f"{self.scene}, {name}", complaint)
        if complaint and self.options.until_difference and "became" in complaint:
            raise Found

    def ask(self, name, session=None, table="t", times=2):
        """All questions, from the cache as soon as it has the blocks, against PostgreSQL in the same transaction."""
        session = session or self.cached
        for question in QUESTIONS:
            sql = question.format(t=table)
            for number in range(times):
                found = session.run(sql)
                session.query("SET pg_turbine.enabled = off")
                expected = session.run(sql)
                session.query("SET pg_turbine.enabled = on")
                self.say(f"{name}, {number + 1}", answers.difference(expected, found))

    def is_cached(self, name, least, session=None, table="t"):
        """A vacuous scene proves nothing: so much of the table came from the cache."""
        session = session or self.cached
        # Blocks that have rows: since 16 a table grows by several blocks at once.
        session.query("SET pg_turbine.enabled = off")
        blocks = int(session.value(f"SELECT count(DISTINCT (ctid::text::point)[0]) FROM {table}"))
        session.query("SET pg_turbine.enabled = on")
        found = cached_blocks(session, QUESTIONS[0].format(t=table))
        self.say(f"{name}: cached", None if found >= least * blocks else f"{found} of {blocks} blocks")

    def reads_ahead(self, server):
        """Since 18 the server tells how many reads brought how many bytes: blocks that shared buffers lack come in pieces."""
        if server.major_version() < 18:
            return
        self.plain.query("CREATE TABLE cold AS SELECT i AS id, repeat('x', 100) AS memo FROM generate_series(1, 60000) i")
        server.stop()
        server.start()
        server.wait_for_service()
        with server.connect(settings={**self.settings, "pg_turbine.enable_cache": "off"}) as session:
            look = "SELECT sum(reads)::int, (sum(read_bytes) / 8192)::int FROM pg_stat_io WHERE backend_type = 'client backend'"
            before = session.query(look)[0]
            session.query("SELECT count(*), max(id) FROM cold")
            session.query("SELECT pg_stat_force_next_flush()")
            reads, blocks = (int(later) - int(earlier) for earlier, later in zip(before, session.query(look)[0], strict=True))
        self.say("reads ahead", None if blocks > 500 and reads * 4 < blocks else f"{reads} reads of {blocks} blocks")

    def plan(self, sql, session=None):
        return "\n".join(row[0] for row in (session or self.cached).query(f"EXPLAIN (ANALYZE) {sql}"))

    def run(self, name):
        self.scene = name
        try:
            getattr(self, name)()
        finally:
            for session in self.sessions:
                session.close()
            self.sessions = []
            self.plain.run("ROLLBACK")

    # What a transaction does, while it runs and after.

    def inserted(self):
        self.make()
        self.ask("committed")
        self.is_cached("committed", 1)
        writer = self.session()
        writer.query("BEGIN; INSERT INTO t SELECT i, 3, 77, 'new' FROM generate_series(1, 300) i")
        self.ask("open")
        writer.query("COMMIT")
        self.ask("committed")
        self.is_cached("committed later", 1)
        writer.query("BEGIN; INSERT INTO t SELECT i, 4, 88, 'never' FROM generate_series(1, 300) i")
        self.ask("open again")
        writer.query("ROLLBACK")
        self.ask("rolled back")
        self.is_cached("rolled back", 1)

    def new_pages(self):
        """Since PostgreSQL 16 COPY leaves pages at the table's end that are still new: they hide no row, and cost nothing."""
        self.make(rows=0)
        rows = "".join(f"{i}\t{i % 7}\t{i % 1000}\tmemo {i % 90}\n" for i in range(ROWS))
        self.plain.copy_in("COPY t FROM STDIN", io.BytesIO(rows.encode()))
        self.ask("copied")
        self.plain.query("VACUUM t")
        self.ask("vacuumed")
        plan = self.plan(QUESTIONS[0].format(t="t"))
        self.say("nothing is buffered", None if "buffered=0" in plan else plan)
        reader, writer = self.session(cached=True), self.session()
        reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t")
        writer.query("BEGIN; INSERT INTO t SELECT i, 3, 77, 'new' FROM generate_series(1, 3000) i")
        self.ask("filled, open")
        self.ask("filled, its own", writer)
        writer.query("COMMIT")
        self.ask("filled")
        self.ask("filled later than the snapshot", reader)
        reader.query("COMMIT")
        self.plain.query("DELETE FROM t")
        self.ask("empty")
        self.plain.query("VACUUM t")
        self.ask("empty, vacuumed")

    def deleted(self):
        self.make()
        self.ask("all")
        for end in ("ROLLBACK", "COMMIT"):
            writer = self.session()
            writer.query("BEGIN; DELETE FROM t WHERE id % 50 = 3")
            self.ask(f"open before {end}")
            writer.query(end)
            self.ask(f"after {end}")
            self.is_cached(f"after {end}", 1)

    def updated(self):
        self.make("WITH (fillfactor = 70)")
        self.ask("all")
        for end in ("ROLLBACK", "COMMIT", "COMMIT"):
            writer = self.session()
            writer.query("BEGIN; UPDATE t SET v = v + 1000 WHERE id % 40 = 7")
            self.ask(f"open before {end}")
            writer.query(end)
            self.ask(f"after {end}")
            self.is_cached(f"after {end}", 1)

    def locked(self):
        """A row lock leaves the row as it is, alone, shared, and with an updater among the lockers."""
        self.make("WITH (fillfactor = 70)")
        self.plain.query("ALTER TABLE t ADD PRIMARY KEY (id)")
        self.ask("all")
        first, second = self.session(), self.session()
        first.query("BEGIN; SELECT count(*) FROM (SELECT 1 FROM t WHERE id % 30 = 1 FOR UPDATE) s")
        self.ask("locked")
        self.is_cached("locked", 1)
        first.query("COMMIT; BEGIN; SELECT count(*) FROM (SELECT 1 FROM t WHERE id % 30 = 1 FOR KEY SHARE) s")
        second.query("BEGIN; SELECT count(*) FROM (SELECT 1 FROM t WHERE id % 30 = 1 FOR SHARE) s")
        self.ask("shared")
        self.is_cached("shared", 1)
        second.query("COMMIT; BEGIN; UPDATE t SET v = v + 1000 WHERE id % 30 = 1")
        self.ask("an updater among lockers")
        second.query("COMMIT")
        self.ask("the updater has committed")
        first.query("COMMIT")
        self.ask("all have")
        third = self.session()
        first.query("BEGIN; SELECT count(*) FROM (SELECT 1 FROM t WHERE id % 30 = 2 FOR KEY SHARE) s")
        third.query("BEGIN; UPDATE t SET v = v + 1000 WHERE id % 30 = 2")
        self.ask("another updater")
        third.query("ROLLBACK")
        self.ask("it has not committed")
        first.query("COMMIT")
        self.ask("end")

    def multixact(self):
        """An updater among lockers; the new rows lie in other blocks, so that the old ones wait for it alone."""
        self.make()
        self.plain.query("ALTER TABLE t ADD PRIMARY KEY (id)")
        self.ask("all")
        for end in ("COMMIT", "ROLLBACK"):
            locker, updater = self.session(), self.session()
            locker.query("BEGIN; SELECT count(*) FROM (SELECT 1 FROM t WHERE id % 30 = 1 FOR KEY SHARE) s")
            updater.query("BEGIN; UPDATE t SET v = v + 1000 WHERE id % 30 = 1")
            self.ask(f"open before {end}")
            updater.query(end)
            self.ask(f"{end} of the updater")
            locker.query("COMMIT")
            self.ask(f"end, {end}")

    def prepared(self):
        self.make()
        self.ask("all")
        for end in ("COMMIT", "ROLLBACK"):
            self.plain.query("BEGIN; INSERT INTO t SELECT i, 5, 99, 'two' FROM generate_series(1, 200) i; "
                             "DELETE FROM t WHERE id % 60 = 5; PREPARE TRANSACTION 'p'")
            self.ask(f"prepared for {end}")
            self.plain.query(f"{end} PREPARED 'p'")
            self.ask(f"{end} PREPARED")
            self.is_cached(f"{end} PREPARED", 1)

    def speculative(self):
        """An insertion that another one makes void leaves a row without xmin."""
        self.make()
        self.plain.query("ALTER TABLE t ADD PRIMARY KEY (id)")
        self.ask("all")
        self.plain.query("INSERT INTO t SELECT i, 1, 1, 'twice' FROM generate_series(1, 500) i ON CONFLICT (id) DO NOTHING")
        writer = self.session()
        writer.query("BEGIN; INSERT INTO t SELECT i, 1, 5000, 'again' FROM generate_series(1, 15000, 100) i "
                     "ON CONFLICT (id) DO UPDATE SET v = 5000")
        self.ask("open")
        writer.query("COMMIT")
        self.ask("committed")
        self.is_cached("committed", 1)

    def subtransactions(self):
        self.make()
        self.ask("all")
        writer = self.session()
        writer.query("BEGIN; SAVEPOINT a; INSERT INTO t SELECT i, 1, 11, 'kept' FROM generate_series(1, 200) i; RELEASE a; "
                     "SAVEPOINT b; INSERT INTO t SELECT i, 2, 22, 'undone' FROM generate_series(1, 200) i; "
                     "DELETE FROM t WHERE id % 70 = 1; ROLLBACK TO b; SAVEPOINT c; DELETE FROM t WHERE id % 90 = 1; RELEASE c")
        self.ask("open")
        writer.query("COMMIT")
        self.ask("committed")
        self.is_cached("committed", 1)

    def overflowed(self):
        """So many subtransactions that snapshots do not name them all: they are between xmin and xmax all the same."""
        self.make()
        self.ask("all")
        reader = self.session(cached=True)
        writer = self.session()
        steps = "".join(f"SAVEPOINT s{n}; INSERT INTO t SELECT {n}, 1, 11, 'deep' FROM generate_series(1, 10); RELEASE s{n}; "
                        for n in range(MOST_SUBTRANSACTIONS))
        writer.query(f"BEGIN; SELECT pg_current_xact_id(); {steps}")
        self.plain.query("CREATE TABLE IF NOT EXISTS other (a int); INSERT INTO other VALUES (1)")
        reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        self.ask("open")
        writer.query("COMMIT")
        # Those who see it fill the cache; the reader does not.
        self.ask("committed")
        self.is_cached("committed", 1)
        self.ask("from before", reader)
        reader.query("COMMIT")
        self.ask("after", reader)

    # Whose snapshot.

    def own_changes(self):
        self.make()
        self.ask("all")
        own, other = self.session(cached=True), self.session(cached=True)
        own.query("BEGIN; SELECT pg_current_xact_id()")
        self.ask("nothing yet", own)
        own.query("INSERT INTO t SELECT i, 6, 66, 'own' FROM generate_series(1, 300) i")
        self.ask("own", own)
        self.ask("another's", other)
        own.query("DELETE FROM t WHERE id % 80 = 9")
        self.ask("own deletions", own)
        self.ask("another's deletions", other)
        own.query("SAVEPOINT a; UPDATE t SET v = v + 1 WHERE id % 80 = 10; ROLLBACK TO a")
        self.ask("undone", own)
        own.query("COMMIT")
        self.ask("committed", own)
        self.ask("committed, another", other)

    def older_snapshots(self):
        """The cache is filled by those who see the changes, then by those who do not."""
        self.make("WITH (fillfactor = 80)")
        for change in ("INSERT INTO t SELECT i, 1, 12, 'late' FROM generate_series(1, 300) i", "DELETE FROM t WHERE id % 33 = 5",
                       "UPDATE t SET v = v + 7 WHERE id % 44 = 6"):
            old, new = self.session(cached=True), self.session(cached=True)
            self.ask("before", new)
            old.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
            self.plain.query(change)
            self.ask(f"{change}: new", new)
            self.is_cached(f"{change}: new", 1, new)
            self.ask(f"{change}: old", old)
            self.ask(f"{change}: new again", new)
            old.query("COMMIT")
            old.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
            self.plain.query(change)
            self.ask(f"{change}: old first", old)
            self.ask(f"{change}: new after", new)
            old.query("COMMIT")

    def between(self):
        """A transaction ends before an older one: the newest one that rows depend on has ended, another has not."""
        self.make()
        self.ask("all")
        early, late = self.session(), self.session()
        early.query("BEGIN; SELECT pg_current_xact_id()")
        late.query("BEGIN; SELECT pg_current_xact_id()")
        reader = self.session(cached=True)
        early.query("INSERT INTO t SELECT i, 1, 31, 'early' FROM generate_series(1, 5) i")
        late.query("INSERT INTO t SELECT i, 1, 32, 'late' FROM generate_series(1, 5) i")
        late.query("COMMIT")
        reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        early.query("COMMIT")
        self.ask("both", times=3)
        self.is_cached("both", 1)
        self.ask("one of them is open", reader)
        reader.query("COMMIT")
        self.ask("end", reader)

    def open_elsewhere(self):
        """What is open to a snapshot has changed nothing here: the blocks are as good to it."""
        self.make()
        self.plain.query("CREATE TABLE IF NOT EXISTS other (a int)")
        writer = self.session()
        writer.query("BEGIN; INSERT INTO other VALUES (1)")
        self.plain.query("INSERT INTO t SELECT i, 1, 40, 'more' FROM generate_series(1, 2000) i")
        self.ask("open elsewhere")
        # All but the block that has rows from before and after the one that is open.
        self.is_cached("open elsewhere", 0.98)
        self.plain.query("INSERT INTO other VALUES (2)")
        self.ask("another transaction ended")
        self.is_cached("another transaction ended", 0.98)
        writer.query("COMMIT")
        self.ask("end")

    def served(self):
        """Snapshots of the same bounds, in which others are open."""
        self.make()
        self.ask("all")
        first, second, third = self.session(), self.session(), self.session()
        for session in (first, second, third):
            session.query("BEGIN; SELECT pg_current_xact_id()")
        third.query("COMMIT")
        self.ask("both open", times=3)
        self.is_cached("both open", 1)
        second.query("DELETE FROM t WHERE id % 40 = 1; COMMIT")
        self.ask("one open", times=3)
        first.query("UPDATE t SET v = v + 1 WHERE id % 41 = 1; COMMIT")
        self.ask("none", times=3)

    # What happens to the table.

    def vacuumed(self):
        self.make("WITH (fillfactor = 80)")
        self.ask("fresh")
        for change in ("UPDATE t SET v = v + 1 WHERE id % 25 = 4", "DELETE FROM t WHERE id % 26 = 4",
                       "INSERT INTO t SELECT i, 2, 61, 'more' FROM generate_series(1, 500) i"):
            self.plain.query(change)
            self.ask(change)
            self.plain.query("VACUUM t")
            self.ask("vacuumed")
            self.is_cached("vacuumed", 1)
            self.plain.query("VACUUM (FREEZE) t")
            self.ask("frozen")
            self.is_cached("frozen", 1)
        self.plain.query("CHECKPOINT")
        self.ask("on file")

    def found_again(self):
        """A list of found segments ends with the map, although the table has the same bits."""
        self.make("WITH (fillfactor = 70)", rows=16 * ROWS)
        self.plain.query("VACUUM t")
        self.ask("vacuumed", times=4)
        self.is_cached("vacuumed", 1)
        for change in ("UPDATE t SET v = v + 1 WHERE id % 900 = 4", "UPDATE t SET v = v + 1 WHERE id % 900 = 5"):
            self.plain.query(change)
            self.plain.query("VACUUM t")
            self.ask(change, times=4)

    def renewed(self):
        """A list of found segments serves the next snapshot but for what has changed meanwhile."""
        self.make("WITH (fillfactor = 70)", rows=16 * ROWS)
        self.plain.query("VACUUM t")
        self.plain.query("CREATE TABLE IF NOT EXISTS other (a int)")
        self.ask("vacuumed", times=3)
        for number in range(3):
            self.plain.query(f"UPDATE t SET v = v + 1000 WHERE id IN ({5 + number}, {8 * ROWS + number})")
            self.ask(f"few changes, {number}")
            self.plain.query(f"DELETE FROM t WHERE id = {9 * ROWS + number}")
            self.plain.query("INSERT INTO t SELECT -i, 1, 1, 'new' FROM generate_series(1, 9) i")
            self.ask(f"gone and added, {number}")
            self.is_cached(f"gone and added, {number}", 1)
            self.plain.query("INSERT INTO other VALUES (1)")
            self.ask(f"another table's commit, {number}")
            self.is_cached(f"another table's commit, {number}", 1)
        self.plain.query("VACUUM t")
        self.ask("vacuumed again", times=3)
        self.is_cached("vacuumed again", 0.99)

    def kept_join_table(self):
        """A join table of fresh blocks outlives commits of others, and no change of its own table."""
        self.make()
        self.plain.query("DROP TABLE IF EXISTS d; CREATE TABLE d AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 6) i")
        self.plain.query("CREATE TABLE IF NOT EXISTS other (a int)")
        question = "SELECT d.name, count(*), sum(t.v) FROM t JOIN d USING (k) GROUP BY d.name"
        def asked(name, is_kept):
            expected = self.plain.run(question)
            for number in range(3):
                self.say(f"{name}, {number}", answers.difference(expected, self.cached.run(question)))
            for number in range(3 if is_kept else 0):
                self.plain.query("INSERT INTO other VALUES (1)")
                plan = self.plan(question)
                # It was kept for its snapshot; from the first commit on its list is known.
                found = re.search(r"Inner Table: .* kept", plan)
                self.say(f"{name}: kept after commit {number}", None if found or number == 0 else plan)
        asked("fresh", True)
        self.plain.query("UPDATE d SET name = 'another' WHERE k = 3")
        asked("changed", True)
        self.plain.query("INSERT INTO d VALUES (3, 'a second match')")
        asked("added", True)
        self.plain.query("DROP TABLE d")

    def on_file(self):
        """Pages that are not in shared buffers are looked at in the file."""
        self.make()
        self.ask("dirty")
        self.plain.query("CHECKPOINT")
        self.plain.query("CREATE TABLE IF NOT EXISTS other (a int); INSERT INTO other VALUES (1)")
        self.ask("clean")
        self.is_cached("clean", 1)
        self.plain.query("UPDATE t SET v = v + 1 WHERE id % 300 = 4")
        self.plain.query("CHECKPOINT")
        self.ask("changed and written")
        self.plain.query("UPDATE t SET v = v + 1 WHERE id % 300 = 5")
        self.ask("changed and not written")
        self.is_cached("changed and not written", 1)

    def rewritten(self):
        self.make()
        self.plain.query("CREATE INDEX ON t (v)")
        self.ask("fresh")
        for change in ("CLUSTER t USING t_v_idx", "VACUUM (FULL) t", "ALTER TABLE t ALTER k TYPE bigint",
                       "BEGIN; CREATE TEMP TABLE saved ON COMMIT DROP AS TABLE t; TRUNCATE t; INSERT INTO t TABLE saved; COMMIT",
                       "BEGIN; TRUNCATE t; ROLLBACK", "ALTER TABLE t ADD extra int DEFAULT 5", "ALTER TABLE t DROP extra",
                       "TRUNCATE t", "INSERT INTO t SELECT i, i % 7, i, 'anew' FROM generate_series(1, 9000) i"):
            self.plain.query(change)
            self.ask(change)
        self.is_cached("in the end", 1)

    def joined(self):
        """Join tables of fresh blocks are kept for those who see the same."""
        self.make()
        self.plain.query("DROP TABLE IF EXISTS u; CREATE TABLE u AS SELECT i AS id, i % 9 AS w FROM generate_series(0, 999) i")
        sql = "SELECT u.w, count(*), sum(t.v) FROM t JOIN u ON u.id = t.v GROUP BY u.w"
        writer, old = self.session(), self.session(cached=True)

        def both(name, session):
            for number in range(3):
                found = session.run(sql)
                session.query("SET pg_turbine.enabled = off")
                expected = session.run(sql)
                session.query("SET pg_turbine.enabled = on")
                self.say(f"{name}, {number + 1}", answers.difference(expected, found))
        both("first", self.cached)
        old.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        for change in ("UPDATE u SET w = w + 1 WHERE id % 5 = 0", "INSERT INTO u SELECT i, 3 FROM generate_series(0, 50) i",
                       "DELETE FROM u WHERE id % 7 = 0"):
            writer.query(f"BEGIN; {change}")
            both(f"{change}, open", self.cached)
            writer.query("COMMIT")
            both(change, self.cached)
            both(f"{change}, from before", old)
            both(f"{change}, again", self.cached)
        old.query("COMMIT")
        old.query("BEGIN; SELECT pg_current_xact_id(); INSERT INTO u SELECT i, 4 FROM generate_series(0, 50) i")
        both("own", old)
        both("another's", self.cached)
        old.query("COMMIT")

        # Built once, by whoever comes first.
        for number in range(2):
            plan = self.plan(sql)
            self.say(f"kept, {number + 1}", None if number == 0 or "kept" in plan else plan)

    def explained(self):
        """Why blocks were buffered; and what turbine.why_not says of the table."""
        def reason(name, expected, session=None):
            found = [line for line in self.plan(QUESTIONS[0].format(t="t"), session).splitlines() if "Buffered Because" in line]
            self.say(name, None if bool(found) == bool(expected) and all(expected in line for line in found) else f"{found}")

        def hint(name, expected):
            rows = self.cached.query("SELECT part, reason FROM turbine.why_not('SELECT count(*) FROM t')")
            found = [text for part, text in rows if part == "blocks of t"]
            self.say(name, None if bool(found) == bool(expected) and all(expected in text for text in found) else f"{rows}")
        self.make()
        reason("nothing cached", "not all-visible=")
        reason("all cached", "")
        writer = self.session()
        writer.query("BEGIN; INSERT INTO t SELECT i, 1, 81, 'open' FROM generate_series(1, 900) i")
        reason("open", "undecided=")
        writer.query("ROLLBACK")
        self.ask("rolled back")
        self.plain.query("UPDATE t SET v = v + 1 WHERE id % 200 = 2")
        reason("changed", "changed=")
        self.plain.query("ANALYZE t")
        hint("never vacuumed", "never vacuumed")
        holder = self.session()
        holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t")
        self.plain.query("UPDATE t SET v = v + 1")
        self.plain.query("VACUUM t")
        holder_pid = holder.value("SELECT pg_backend_pid()")
        # The collector of statistics hears of VACUUM a little later.
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and "process" not in str(self.cached.query("SELECT turbine.why_not('SELECT count(*) FROM t')")):
            time.sleep(0.2)
        hint("held back", f"process {holder_pid} has a snapshot")
        holder.query("COMMIT")
        self.plain.query("VACUUM t")
        hint("vacuumed", "")

    def partitions(self):
        self.plain.query("DROP TABLE IF EXISTS p; CREATE TABLE p (id int, k int, v int, memo text) PARTITION BY RANGE (id); "
                         "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (6000); "
                         "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (6000) TO (100000)")
        self.plain.query(f"INSERT INTO p SELECT i, i % 7, i % 1000, 'memo' FROM generate_series(1, {ROWS}) i")
        self.ask("fresh", table="p")
        writer = self.session()
        writer.query("BEGIN; UPDATE p SET v = v + 1 WHERE id % 100 = 5; INSERT INTO p SELECT i, 1, 1, 'new' "
                     "FROM generate_series(5900, 6100) i")
        self.ask("open", table="p")
        writer.query("COMMIT")
        self.ask("committed", table="p")

    def wide(self):
        """Rows with values out of line are PostgreSQL's; their blocks are cached for questions that do not read them."""
        self.make()
        self.plain.query("INSERT INTO t SELECT i, 1, 71, (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 200) j) "
                         "FROM generate_series(1, 40) i")
        self.ask("with long texts")

    def few_blocks(self):
        self.make(rows=300)
        self.ask("few")
        self.is_cached("few", 1)
        self.plain.query("UPDATE t SET v = v + 1 WHERE id = 7")
        self.ask("changed")
        self.is_cached("changed", 1)

    def standby(self):
        """On a standby a snapshot names what its server knows of; after a promotion it is like others."""
        self.make("WITH (fillfactor = 80)")
        writer = self.session()
        other = replica(self.server)
        try:
            other.start()
            other.wait_for_service()
            with other.connect(settings=self.settings) as reader, other.connect(settings=self.settings) as old:
                def both(name):
                    caught_up(self.server, other)
                    self.ask(name, reader)
                both("copied")
                self.is_cached("copied", 1, reader)
                for change in ("INSERT INTO t SELECT i, 1, 91, 'new' FROM generate_series(1, 300) i", "DELETE FROM t WHERE id % 37 = 2",
                               "UPDATE t SET v = v + 1 WHERE id % 38 = 3"):
                    old.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
                    writer.query(f"BEGIN; {change}")
                    both(f"{change}: open")
                    writer.query("COMMIT")
                    both(change)
                    self.ask(f"{change}: from before", old)
                    old.query("COMMIT")
                    both(f"{change}: again")
                    self.is_cached(change, 1, reader)
                writer.query("VACUUM t")
                both("vacuumed")
                reader.query("SELECT pg_promote()")
                self.ask("promoted", reader)
                with other.connect(settings=OFF) as own:
                    own.query("UPDATE t SET v = v + 1 WHERE id % 39 = 3")
                self.ask("changed after the promotion", reader)
                self.is_cached("changed after the promotion", 1, reader)
        finally:
            other.remove()


def minimal(bench, options):
    """Under wal_level = minimal a table's own transaction logs none of its pages, and COPY FREEZE none of the map's."""
    # With checksums, as 18 has by default, a hint that is set later gives pages an LSN.
    settings = {"wal_level": "minimal", "max_wal_senders": "0", "wal_skip_threshold": "0"}
    with cluster.Cluster("freshminimal", checksums=False, settings=settings) as server:
        server.create_extension("postgres")
        scenes = Scenes(server, bench, options)
        scenes.scene = "minimal"
        rows = f"SELECT i AS id, i % 7 AS k, i % 1000 AS v, 'memo ' || i % 90 AS memo FROM generate_series(1, {ROWS}) i"
        scenes.plain.query(f"CREATE TABLE t AS {rows}")
        scenes.ask("never vacuumed")
        plan = scenes.plan(QUESTIONS[0].format(t="t"))
        scenes.say("says why", None if "Buffered Because: no LSN=" in plan else plan)
        scenes.plain.query("VACUUM t")
        scenes.ask("vacuumed")
        scenes.is_cached("vacuumed", 1)
        for change in ("UPDATE t SET v = v + 1 WHERE id % 50 = 4", "DELETE FROM t WHERE id % 51 = 4"):
            scenes.plain.query(change)
            scenes.ask(change)
            scenes.plain.query("VACUUM t")
            scenes.ask(f"{change}, vacuumed")
        scenes.is_cached("changed and vacuumed", 1)
        # Bits that nothing has logged.
        copied = "\n".join(f"{i}\t{i % 7}\t{i % 1000}\tmemo" for i in range(ROWS))
        own = scenes.session(cached=True)
        own.query("BEGIN; CREATE TABLE f (id int, k int, v int, memo text); TRUNCATE f")
        own.copy_in("COPY f FROM STDIN (FREEZE)", io.BytesIO((copied + "\n").encode()))
        scenes.ask("own, frozen", own, "f")
        own.copy_in("COPY f FROM STDIN (FREEZE)", io.BytesIO(b"1\t1\t1\tmore\n" * 50))
        scenes.ask("own, more", own, "f")
        own.query("COMMIT")
        scenes.ask("frozen", table="f")
        scenes.is_cached("frozen", 1, table="f")
        scenes.plain.query("UPDATE f SET v = v + 1 WHERE id % 60 = 1")
        scenes.ask("frozen, changed", table="f")
        scenes.plain.query("VACUUM f")
        scenes.ask("frozen, vacuumed", table="f")
        scenes.reads_ahead(server)


SCENES = [name for name, value in vars(Scenes).items() if callable(value) and not name.startswith("_")
          and name not in ("session", "make", "say", "ask", "is_cached", "reads_ahead", "plan", "run")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated scenes")
    parser.add_argument("--until-difference", action="store_true", help="stop at the first")
    parser.add_argument("--feeders", action="store_true", help="parallel workers copy the pages")
    options = parser.parse_args()
    bench = Bench()
    with cluster.Cluster("freshblocks", settings={"max_prepared_transactions": "4"}) as server:
        server.create_extension("postgres")
        scenes = Scenes(server, bench, options)
        try:
            for name in SCENES:
                if not options.only or name in options.only.split(","):
                    scenes.run(name)
            if not options.only or "minimal" in options.only.split(","):
                minimal(bench, options)
        except Found:
            pass
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
