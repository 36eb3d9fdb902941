#!/usr/bin/env python3
"""brin.py - block ranges that BRIN indexes exclude are not read, and rows are none the fewer.

Three kinds of checks: `skipped` compares what EXPLAIN (ANALYZE) says with the
blocks that PostgreSQL's own bitmap scan looks at, with PostgreSQL's counter of
buffers fetched and with turbine.stat_queries; `chosen` asks the planner at
default costs; `races` reads one snapshot twice, once by a sequential scan and
once by our nodes with BRIN, while others insert, delete, vacuum, summarize and
desummarize, autovacuum among them, and kills the service under a cursor. With
--cached the first and the third over tables that are loaded into the column cache.
Must never: take EXPLAIN's word alone for what was read.
Called by: make test-brin, test/run_all.py. Options: --races, --seed, --device, --cached.
"""

import argparse
import json
import os
import random
import re
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cached_tables import CacheUse  # noqa: E402
from run_sql import CACHED, DIRECT, FORCED, OFF  # noqa: E402

ROWS = 60000
MOST_ROWS_A_BLOCK = 130
BUFFERED = {**FORCED, "pg_turbine.direct_threshold": "1000000"}
# PostgreSQL by the same indexes, and without any.
BITMAP = {**OFF, "enable_seqscan": "off", "max_parallel_workers_per_gather": "0"}
SEQUENTIAL = {**OFF, "enable_bitmapscan": "off", "enable_indexscan": "off"}

# Conditions over log, and the least fraction of its blocks that they exclude. The last
# range, which is not full, has no summary.
CONDITIONS = (
    ("ts BETWEEN '2024-01-10' AND '2024-01-11'", 0.9),
    ("ts = '2024-01-10 05:00'", 0.98),
    ("ts < '2024-01-02' OR ts > '2024-02-10'", 0.9),
    ("id IN (5, 30000, 59999)", 0.98),
    ("id < 1000 AND ts > '2024-01-01 10:00'", 0.97),
    ("tag = 'tag77'", 0.95),
    ("gap IS NULL", 0.4),
    ("gap IS NOT NULL AND id > 50000", 0.8),
    ("span @> 4444 AND v < 90", 0.97),
    ("id < 0", 0.99),
    ("id >= 0", 0.0),
)


class Bench:
    def __init__(self, server, options):
        self.server, self.options = server, options
        self.passed = self.failed = 0
        self.use = CacheUse(server, options.device) if options.cached else None
        # How blocks are read, each in turn.
        self.ways = (CACHED,) if options.cached else (BUFFERED, DIRECT)

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"{name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def session(self, settings):
        return self.server.connect(settings={**settings, "pg_turbine.device": self.options.device}
                                   if "pg_turbine.enabled" in settings else settings)


def make_log(session, name, rows, autosummarize=False):
    option = ", autosummarize = on" if autosummarize else ""
    session.query(f"CREATE TABLE {name} (ts timestamp, id int, v int, tag text, gap int, span int4range)")
    session.query(f"CREATE INDEX {name}_ts ON {name} USING brin (ts) WITH (pages_per_range = 4{option})")
    session.query(f"CREATE INDEX {name}_id ON {name} USING brin (id int4_minmax_multi_ops) WITH (pages_per_range = 2{option})")
    session.query(f"CREATE INDEX {name}_tag ON {name} USING brin (tag text_bloom_ops) WITH (pages_per_range = 2{option})")
    session.query(f"CREATE INDEX {name}_gap ON {name} USING brin (gap) WITH (pages_per_range = 1{option})")
    session.query(f"CREATE INDEX {name}_span ON {name} USING brin (span) WITH (pages_per_range = 4{option})")
    session.query(f"INSERT INTO {name} SELECT {row('i')} FROM generate_series(1, {rows}) i")
    session.query(f"VACUUM (ANALYZE) {name}")


def row(i):
    return (f"timestamp '2024-01-01' + {i} * interval '1 minute', {i}, {i} % 97, 'tag' || {i} / 50, "
            f"CASE WHEN {i} / 2000 % 2 = 0 THEN {i} END, int4range({i}, {i} + 3)")


def nodes(plan):
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def explain(session, query):
    return json.loads(session.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}"))[0]["Plan"]


def our_node(plan):
    return next((n for n in nodes(plan) if "BRIN cond" in n), None)


def postgres_blocks(bench, condition):
    """How many blocks PostgreSQL looks at by the same indexes; None without."""
    with bench.session(BITMAP) as session:
        plan = explain(session, f"SELECT * FROM log WHERE {condition}")
    found = [n for n in nodes(plan) if n["Node Type"] == "Bitmap Heap Scan"]
    return found[0]["Exact Heap Blocks"] + found[0]["Lossy Heap Blocks"] if found else None


def counter(session, *names):
    return sum(int(session.value(f"SELECT value FROM turbine.stat_queries WHERE counter = '{name}'")) for name in names)


def complaint_of_counts(node, fetched, counted, cached, buffered):
    """What the figures of one execution have against each other."""
    left = node["BRIN blocks"] - node["BRIN skipped"]
    read = sum(node.get(f"Blocks {how}", 0) for how in ("Buffered", "Direct", "Cached"))
    if read != left or counted != left:
        return f"{left} blocks are left, EXPLAIN says {read} were read, the counters {counted}"
    # A scan reads its rows' pages where many are wanted.
    if cached and node["Custom Plan Provider"] != "GpuScan" and node.get("Blocks Cached", 0) != left:
        return f"{left} blocks are left, of which {node.get('Blocks Cached', 0)} came from the cache"
    if buffered and fetched != left:
        return f"{left} blocks are left, PostgreSQL fetched {fetched}"
    # What the service has decoded, whatever the way that it came.
    rows = node.get("Rows Removed by GPU Filter", 0)
    if rows > left * MOST_ROWS_A_BLOCK:
        return f"{left} blocks are left, but {rows} rows were filtered"
    return None


def skipped(bench):
    """Skipped blocks are not read, neither through buffers nor from the file."""
    queries = ("SELECT id, v FROM log WHERE {} AND v >= 0", "SELECT count(*), sum(v) FROM log WHERE {} AND v >= 0",
               "SELECT count(*) FROM log JOIN days ON id / 1440 = day WHERE {} AND v >= 0")
    blocks = None
    for condition, least in CONDITIONS:
        same = postgres_blocks(bench, condition)
        for text in queries:
            query = text.format(condition)
            # Ranges are no type of devices: only a scan leaves their conditions to PostgreSQL.
            if "span" in condition and not text.startswith("SELECT id"):
                continue
            for settings in bench.ways:
                with bench.session(settings) as session:
                    session.query("BEGIN")
                    before = counter(session, "blocks_buffered", "blocks_direct", "blocks_cached")
                    node = our_node(explain(session, query))
                    after = counter(session, "blocks_buffered", "blocks_direct", "blocks_cached")
                    fetched = int(session.value("SELECT pg_stat_get_xact_blocks_fetched('log'::regclass)"))
                    session.query("COMMIT")
                if node is None:
                    bench.check(query, "no node of ours uses an index")
                    continue
                days = int("days" in query and after > before)
                bench.check(query, complaint_of_counts(node, fetched, after - before - days, bench.use is not None,
                                                        settings is BUFFERED))
                blocks = node["BRIN blocks"]
                bench.check(query, None if node["BRIN skipped"] >= least * blocks
                            else f"only {node['BRIN skipped']} of {blocks} blocks were skipped")
                # PostgreSQL may leave out an index that it thinks does not pay.
                if same is not None and blocks - node["BRIN skipped"] > same:
                    bench.check(query, f"PostgreSQL looks at {same} blocks, we at {blocks - node['BRIN skipped']}")


def join_tables(bench):
    """Join tables leave out blocks too; their figures are their own."""
    query = "SELECT count(*) FROM log a JOIN log b ON a.id = b.id WHERE a.ts > '2024-01-20' AND b.id BETWEEN 40000 AND 40100"
    with bench.session(BUFFERED) as session:
        plan = explain(session, query)
    text = json.dumps(plan)
    found = {name: [int(n) for n in re.findall(rf'"{name}": (\d+)', text)]
             for name in ("Inner BRIN skipped", "Inner BRIN blocks", "Inner Blocks Buffered", "BRIN skipped")}
    ok = all(len(v) == 1 for v in found.values()) and found["BRIN skipped"][0] > 0 and \
        found["Inner BRIN blocks"][0] - found["Inner BRIN skipped"][0] == found["Inner Blocks Buffered"][0] < 20
    bench.check("join tables", None if ok else f"{found}")


def partitions(bench):
    """Of each partition its own indexes leave out blocks; one has none."""
    with bench.server.connect() as session:
        session.query("CREATE TABLE parts (ts timestamp, id int, v int) PARTITION BY RANGE (id)")
        for n in range(3):
            session.query(f"CREATE TABLE parts_{n} PARTITION OF parts FOR VALUES FROM ({n * 10000}) TO ({n * 10000 + 10000})")
        for n in (0, 2):
            session.query(f"CREATE INDEX ON parts_{n} USING brin (ts) WITH (pages_per_range = 1)")
        session.query("INSERT INTO parts SELECT timestamp '2024-01-01' + i * interval '1 minute', i, i % 97 "
                      "FROM generate_series(0, 29999) i")
        session.query("VACUUM (ANALYZE) parts")
        blocks = [int(session.value(f"SELECT pg_relation_size('parts_{n}') / 8192")) for n in range(3)]
    if bench.use:
        bench.use.load()
    query = "SELECT count(*), sum(v) FROM parts WHERE ts < '2024-01-01 05:00' OR ts > '2024-01-21 10:00'"
    for settings in bench.ways:
        with bench.session(settings) as session:
            found = session.run(query)
            node = our_node(explain(session, query))
        with bench.session(SEQUENTIAL) as session:
            bench.check("partitions", answers.difference(session.run(query), found))
        if node is None:
            bench.check("partitions", "no index is used")
            continue
        read = node["Blocks Buffered"] + node["Blocks Direct"] + node["Blocks Cached"]
        bench.check("partitions, blocks", None if node["BRIN blocks"] == sum(blocks) and read == sum(blocks) - node["BRIN skipped"]
                    and blocks[1] < read < blocks[1] + 0.2 * (blocks[0] + blocks[2]) else f"{read} of {blocks}: {node}")


def rescans(bench):
    """Each rescan asks the indexes again, with the parameters of its turn."""
    query = "SELECT day, (SELECT count(*) FROM log WHERE id BETWEEN day * 1440 AND day * 1440 + 99) FROM days"
    with bench.session(BUFFERED) as session:
        session.query("BEGIN")
        found = session.run(query)
        fetched = int(session.value("SELECT pg_stat_get_xact_blocks_fetched('log'::regclass)"))
        plan = explain(session, query)
        session.query("COMMIT")
    with bench.session(SEQUENTIAL) as session:
        bench.check("rescans", answers.difference(session.run(query), found))
    bench.check("rescans", None if our_node(plan) else "no index is used")
    bench.check("rescans read little", None if 0 < fetched < 40 * 8 else f"{fetched} blocks fetched")


def formats(bench):
    query = "SELECT count(*) FROM log WHERE id < 1000"
    with bench.session(BUFFERED) as session:
        text = "\n".join(r[0] for r in session.query(f"EXPLAIN (ANALYZE, TIMING off) {query}"))
        bench.check("text", None if re.search(r"BRIN cond: \(id < 1000\)", text) and
                    re.search(r"BRIN skipped: \d+ blocks \(of \d+\)", text) else text)
        plain = "\n".join(r[0] for r in session.query(f"EXPLAIN {query}"))
        bench.check("not run", None if "BRIN cond" in plain and "BRIN skipped" not in plain else plain)
        for name, pattern in (("xml", r"<BRIN-skipped>\d+</BRIN-skipped>"), ("yaml", r"BRIN skipped: \d+\n"),
                              ("json", r'"BRIN skipped": \d+,')):
            other = "\n".join(r[0] for r in session.query(f"EXPLAIN (ANALYZE, FORMAT {name}) {query}"))
            bench.check(name, None if re.search(pattern, other) and "cond" in other else other)
        session.query("SET pg_turbine.enable_brin = off")
        off = "\n".join(r[0] for r in session.query(f"EXPLAIN (ANALYZE) {query}"))
        bench.check("enable_brin = off", off if "BRIN" in off or "Index" in off else None)


def chosen(bench):
    """At default costs: an index that excludes much is used, a costly one that excludes nothing is not."""
    with bench.server.connect() as session:
        session.query("CREATE TABLE big AS SELECT i AS id, (hashint4(i) % 1000)::int AS noise, i % 50 AS v, md5(i::text) AS m "
                      "FROM generate_series(1, 1500000) i")
        session.query("CREATE INDEX big_id ON big USING brin (id)")
        session.query("CREATE INDEX big_noise ON big USING brin (noise int4_minmax_multi_ops) WITH (pages_per_range = 1)")
        session.query("VACUUM (ANALYZE) big")
    # The operators make the scan costly enough for any machine to take it.
    heavy = "sum(v * 3 + 1), sum(v * 5 + 2), max(v % 7), min(v % 11), sum(id - v), max(id % 17), sum(v * v)"
    with bench.server.connect(settings={"pg_turbine.device": bench.options.device}) as session:
        # Wide enough for PostgreSQL's estimate not to hang on the correlation that ANALYZE finds in noise.
        for condition, uses in (("id < 600000", True), ("noise BETWEEN 1 AND 100", False), ("v = 7", False)):
            query = f"SELECT {heavy} FROM big WHERE {condition}"
            plan = explain(session, query)
            ours = any("Custom Plan Provider" in n for n in nodes(plan))
            used = our_node(plan) is not None
            bench.check(f"default costs, {condition}", None if ours and used == uses
                        else f"ours: {ours}, by an index: {used}")
        session.query("SET enable_bitmapscan = off")
        bench.check("enable_bitmapscan = off", "an index is used"
                    if our_node(explain(session, f"SELECT {heavy} FROM big WHERE id < 600000")) else None)


class Writer(threading.Thread):
    """Changes the table and its indexes until told to stop."""

    def __init__(self, bench, seed, stop):
        super().__init__(daemon=True)
        self.session, self.random = bench.session({**OFF, "lock_timeout": "2s"}), random.Random(seed)
        self.stop_event, self.next_id, self.problem, self.actions = stop, 100000 * seed, None, 0

    def run(self):
        while not self.stop_event.is_set() and not self.problem:
            statement = self.random.choice((self.append, self.append, self.old_values, self.delete, self.update,
                                            self.index, self.index, lambda: "VACUUM moving", self.roll_back))()
            outcome = self.session.run(statement)
            if outcome.error and outcome.sqlstate not in ("40001", "40P01", "55P03"):
                self.problem = f"{statement}: {outcome.error}"
            if self.session.transaction_status != "I":
                self.session.run("ROLLBACK")
            self.actions += 1
            time.sleep(0.005)
        self.session.close()

    def append(self):
        self.next_id += 300
        return f"INSERT INTO moving SELECT {row(f'({self.next_id} + i)')} FROM generate_series(1, 300) i"

    def old_values(self):
        """Values that lie in ranges of others: summaries have to widen."""
        first = self.random.randrange(20000)
        return f"INSERT INTO moving SELECT {row(f'({first} + i * 7)')} FROM generate_series(1, 60) i"

    def delete(self):
        first = self.random.randrange(20000)
        return f"DELETE FROM moving WHERE id BETWEEN {first} AND {first + self.random.choice((20, 900))} OR id > 10000000"

    def update(self):
        first = self.random.randrange(20000)
        return (f"UPDATE moving SET id = id + {self.random.choice((0, 1, 5000))}, ts = ts + interval '1 hour' "
                f"WHERE id BETWEEN {first} AND {first + 200}")

    def roll_back(self):
        return f"BEGIN; {self.append()}; {self.old_values()}; ROLLBACK"

    def index(self):
        name = self.random.choice(("ts", "id", "tag", "gap", "span"))
        block = self.random.randrange(300)
        return self.random.choice((f"SELECT brin_desummarize_range('moving_{name}', {block})",
                                   f"SELECT brin_summarize_range('moving_{name}', {block})",
                                   f"SELECT brin_summarize_new_values('moving_{name}')"))


def moving_query(source):
    first = source.randrange(22000)
    # Writers append from 100000 on, and from 200000 on.
    new = source.choice((first, 100000 + first // 2, 200000 + first // 2))
    condition = source.choice((
        f"id BETWEEN {new} AND {new + 400}", f"ts >= timestamp '2024-01-01' + {new} * interval '1 minute'",
        f"tag = 'tag{new // 50}'", f"gap BETWEEN {first} AND {first + 50}", f"gap IS NULL AND id > {new}",
        f"id < {first // 4} OR ts > timestamp '2024-01-01' + {new} * interval '1 minute'",
        f"id IN ({first}, {first + 3000}, {new})", f"id > {new} AND tag < 'tag3'"))
    return source.choice((f"SELECT count(*), sum(v), min(ts), max(id) FROM moving WHERE {condition}",
                          f"SELECT id, ts, tag FROM moving WHERE {condition} AND v < 95",
                          f"SELECT v, count(*) FROM moving WHERE {condition} GROUP BY v",
                          f"SELECT count(*), sum(a.v) FROM moving a JOIN days ON a.v = day WHERE {condition.replace('v <', 'a.v <')}"))


def races(bench):
    source = random.Random(bench.options.seed)
    stop = threading.Event()
    writers = [Writer(bench, bench.options.seed + n, stop) for n in range(2)]
    for writer in writers:
        writer.start()
    used = 0
    try:
        with bench.session(bench.ways[-1]) as reader:
            for number in range(bench.options.races):
                query = moving_query(source)
                reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
                # The snapshot is taken here; what comes now must be invisible to both.
                reader.query("SELECT count(*) FROM days")
                time.sleep(source.choice((0, 0, 0.03)))
                found = reader.run(query)
                reader.query("SET LOCAL pg_turbine.enabled = off; SET LOCAL enable_bitmapscan = off")
                bench.check(query, answers.difference(reader.run(query), found))
                reader.query("COMMIT")
                if number % 10 == 0:
                    used += our_node(explain(reader, query)) is not None
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    for writer in writers:
        bench.check("writer", writer.problem or (None if writer.actions > 10 else "did next to nothing"))
    bench.check("races", None if used else "no index was ever used")


def service_dies_under_cursor(bench):
    """What is left is read by the backend: the remaining blocks of the set, no others."""
    query = "SELECT id, ts FROM log WHERE (id BETWEEN 2000 AND 12000 OR id > 50000) AND v >= 0"
    with bench.session(SEQUENTIAL) as session:
        expected = sorted(session.query(query))
    with bench.session(BUFFERED) as session:
        session.query(f"BEGIN; DECLARE c NO SCROLL CURSOR FOR {query}")
        first = session.query("FETCH 100 FROM c")
        os.kill(bench.server.service_pid(), signal.SIGKILL)
        rest = session.run("FETCH ALL FROM c")
        fetched = int(session.value("SELECT pg_stat_get_xact_blocks_fetched('log'::regclass)"))
        blocks = int(session.value("SELECT pg_relation_size('log') / 8192"))
        session.query("COMMIT")
    bench.check("service dies", str(rest.error) if rest.error else None if sorted(first + rest.rows) == expected
                else f"{len(first + rest.rows)} rows instead of {len(expected)}")
    bench.check("service dies, blocks", None if fetched < 0.6 * blocks else f"{fetched} of {blocks} blocks fetched")
    bench.server.wait_for_service()


CHECKS = (skipped, join_tables, partitions, rescans, formats, chosen, races, service_dies_under_cursor)
# And how many of the blocks that they read come from the cache at least. Writers change the table of the races.
CACHED_CHECKS = {skipped: 0.6, partitions: 0.6, races: 0.05}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--races", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="comma-separated check names")
    parser.add_argument("--cached", action="store_true", help="with all tables loaded into the column cache")
    options = parser.parse_args()
    checks = [c for c in (CACHED_CHECKS if options.cached else CHECKS) if not options.only or c.__name__ in options.only.split(",")]
    with cluster.Cluster("brin", settings={"autovacuum": "on", "autovacuum_naptime": "1s"}) as server:
        with server.connect() as session:
            make_log(session, "log", ROWS)
            make_log(session, "moving", 20000, autosummarize=True)
            session.query("CREATE TABLE days AS SELECT day FROM generate_series(0, 39) day")
            session.query("VACUUM (ANALYZE) days")
            session.query("CHECKPOINT")
        bench = Bench(server, options)
        if bench.use:
            bench.use.load()
        for check in checks:
            started, before = time.monotonic(), bench.failed
            check(bench)
            if bench.use:
                bench.check(check.__name__, "; ".join(bench.use.complaints(CACHED_CHECKS[check])))
                bench.use = CacheUse(server, options.device)
            print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, "
                  f"{time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
