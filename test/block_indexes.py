#!/usr/bin/env python3
"""block_indexes.py - blocks in which GiST, SP-GiST and GIN indexes have no row are not read, and rows are none the fewer.

`skipped` compares what EXPLAIN (ANALYZE) says with the blocks that PostgreSQL's own bitmap scan looks at, exact and lossy
ones, and with the answers of a sequential scan; `chosen` asks the planner at default costs; `races` reads one snapshot twice,
by a sequential scan and by our nodes with indexes, while others insert, update, delete, vacuum, and build indexes anew.
What brin.py checks of the nodes themselves holds here too: they are the same.
Must never: take EXPLAIN's word alone for what was read.
Called by: test/run_all.py. Options: --races, --seed, --device, --without-postgis (only other types, if it is not installed).
"""

import argparse
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cache_bench  # noqa: E402
import cluster  # noqa: E402
from brin import BITMAP, BUFFERED, SEQUENTIAL, counter, explain, nodes  # noqa: E402
from run_sql import DIRECT, OFF  # noqa: E402

ROWS = 40000
# Bitmaps of more blocks than this work_mem holds become lossy.
LOSSY = {"work_mem": "64kB"}
NODES = {"GpuPreAgg": "SELECT count(*), sum(v), min(id) FROM {table} WHERE {condition} AND v >= 0",
         "GpuScan": "SELECT id, v FROM {table} WHERE {condition} AND v >= 0",
         "GpuJoin": "SELECT name, count(*) FROM {table} JOIN kinds ON v = kind WHERE {condition} GROUP BY name"}

# Conditions over places, and the least fraction of its blocks that they exclude. The device cannot compute those of
# ranges: PostgreSQL filters what a scan returns.
PLAIN_CONDITIONS = (("span @> 4444", 0.9), ("span && int4range(100, 300)", 0.9),
                    ("note LIKE '%note77%'", 0.8), ("note LIKE '%note77%' OR note LIKE '%note12%'", 0.7), ("note LIKE '%absent%'", 1.0))
SHAPE_CONDITIONS = (("place && st_makeenvelope(10, 0, 12, 100, 4326)", 0.9),
                    ("st_contains('SRID=4326;POLYGON((10 10,14 10,12 60,10 10))'::geometry, place)", 0.9),
                    ("st_dwithin(place, 'SRID=4326;POINT(50 50)'::geometry, 3)", 0.9),
                    ("st_within(place, st_makeenvelope(10, 0, 12, 100, 4326)) AND note LIKE '%note1%'", 0.9),
                    ("(place && st_makeenvelope(1, 0, 2, 9, 4326) OR place && st_makeenvelope(80, 0, 81, 9, 4326))", 0.9),
                    ("place && st_makeenvelope(-9, -9, 200, 200, 4326)", 0.0),
                    ("place && st_makeenvelope(-9, -9, -8, -8, 4326)", 1.0))


class Bench(cache_bench.Bench):
    def __init__(self, server, options, has_postgis):
        super().__init__()
        self.server, self.options, self.has_postgis = server, options, has_postgis
        self.conditions = PLAIN_CONDITIONS + (SHAPE_CONDITIONS if has_postgis else ())

    def session(self, settings):
        if "pg_turbine.enabled" in settings:
            settings = {**settings, "pg_turbine.device": self.options.device}
        return self.server.connect(settings=settings)


def row(i, has_postgis):
    """Its columns go with i, as if places had been sorted."""
    place = f", st_setsrid(st_makepoint({i} / {ROWS / 100}, {i} * 7919 % 1000 / 10.0), 4326)" if has_postgis else ""
    return f"{i}, {i} % 97, 'note' || {i} / 400, int4range({i}, {i} + 3), repeat('x', 300){place}"


def make_places(session, name, rows, has_postgis, method="gist"):
    place = ", place geometry(Point, 4326)" if has_postgis else ""
    session.query(f"CREATE TABLE {name} (id int, v int, note text, span int4range, filler text{place})")
    session.query(f"INSERT INTO {name} SELECT {row('i', has_postgis)} FROM generate_series(1, {rows}) i")
    session.query(f"CREATE INDEX {name}_note ON {name} USING gin (note gin_trgm_ops)")
    session.query(f"CREATE INDEX {name}_span ON {name} USING {method} (span)")
    if has_postgis:
        session.query(f"CREATE INDEX CONCURRENTLY {name}_place ON {name} USING {method} (place)")
    session.query(f"VACUUM (ANALYZE) {name}")


def our_node(plan):
    return next((n for n in nodes(plan) if "Index cond" in n), None)


def postgres_blocks(session, table, condition):
    """(all, lossy) that PostgreSQL looks at by the same indexes; None without."""
    found = [n for n in nodes(explain(session, f"SELECT * FROM {table} WHERE {condition}")) if n["Node Type"] == "Bitmap Heap Scan"]
    return (found[0]["Exact Heap Blocks"] + found[0]["Lossy Heap Blocks"], found[0]["Lossy Heap Blocks"]) if found else None


def skipped(bench, table="places"):
    lossy_blocks = 0
    for condition, least in bench.conditions:
        for work_mem in ({}, LOSSY):
            with bench.session({**BITMAP, **work_mem}) as session:
                same = postgres_blocks(session, table, condition)
            lossy_blocks += same[1] if same else 0
            for node_name, text in NODES.items():
                if "span" in condition and node_name != "GpuScan":
                    continue
                query = text.format(table=table, condition=condition)
                for settings in (BUFFERED, DIRECT):
                    compare(bench, query, {**settings, **work_mem}, least, same)
    bench.check("lossy bitmaps", None if lossy_blocks else "there were none")


def compare(bench, query, settings, least, same):
    with bench.session(settings) as session:
        found = session.run(query)
        before = counter(session, "blocks_buffered", "blocks_direct", "blocks_cached")
        node = our_node(explain(session, query))
        read = counter(session, "blocks_buffered", "blocks_direct", "blocks_cached") - before
    with bench.session(SEQUENTIAL) as session:
        bench.check(query, answers.difference(session.run(query), found))
    if node is None:
        bench.check(query, "no node of ours uses an index")
        return
    left = node["Index blocks"] - node["Index skipped"]
    kinds = int("kinds" in query)
    bench.check(query, None if left <= read <= left + kinds else f"{left} blocks are left, the counters say {read}")
    bench.check(query, None if node["Index skipped"] >= least * node["Index blocks"]
                else f"only {node['Index skipped']} of {node['Index blocks']} blocks were skipped")
    # PostgreSQL may leave out an index that it thinks does not pay.
    bench.check(query, f"PostgreSQL looks at {same[0]} blocks, we at {left}" if same is not None and left > same[0] else None)


def other_methods(bench):
    with bench.server.connect() as session:
        make_places(session, "spread", ROWS // 4, bench.has_postgis, "spgist")
    for condition, _ in bench.conditions:
        if "span" not in condition:
            compare(bench, NODES["GpuPreAgg"].format(table="spread", condition=condition), BUFFERED, 0.0, None)


def partial_and_parameters(bench):
    """Partial indexes, prepared statements, and parameters of an outer row."""
    with bench.server.connect() as session:
        session.query("CREATE INDEX places_odd ON places USING gin (note gin_trgm_ops) WHERE v > 90")
    queries = ["SELECT count(*), sum(id) FROM places WHERE v > 90 AND note LIKE '%note7%'",
               "SELECT kind, (SELECT count(*) FROM places WHERE note LIKE '%note' || kind || '%' AND v = kind) FROM kinds"]
    if bench.has_postgis:
        queries.append("SELECT kind, (SELECT count(*) FROM places WHERE place && st_makeenvelope(kind, 0, kind + 1, 50, 4326)) FROM kinds")
    for query in queries:
        with bench.session(BUFFERED) as session:
            found, plan = session.run(query), explain(session, query)
        with bench.session(SEQUENTIAL) as session:
            bench.check(query, answers.difference(session.run(query), found))
        bench.check(query, None if "|| kind" in query or our_node(plan) else "no index is used")
    with bench.session(BUFFERED) as session, bench.session(SEQUENTIAL) as plain:
        for one in (session, plain):
            one.query("PREPARE noted(text) AS SELECT count(*), sum(id) FROM places WHERE note LIKE $1 AND v >= 0")
        for pattern in ("%note7%", "%note12%", "%none%", "%", "note1%", "%note99%", "%note5%"):
            execute = f"EXECUTE noted('{pattern}')"
            bench.check(execute, answers.difference(plain.run(execute), session.run(execute)))
    with bench.server.connect() as session:
        session.query("DROP INDEX places_odd")


def shown(bench):
    query = "SELECT count(*) FROM places WHERE note LIKE '%note77%'"
    with bench.session(BUFFERED) as session:
        text = "\n".join(r[0] for r in session.query(f"EXPLAIN (ANALYZE, TIMING off) {query}"))
        bench.check("text", None if "Index cond: (note ~~ '%note77%'::text)" in text and "Index skipped: " in text and
                    "Bitmap Index Scan on places_note" in text else text)
        for setting in ("pg_turbine.enable_block_indexes", "enable_bitmapscan"):
            session.query(f"SET {setting} = off")
            off = "\n".join(r[0] for r in session.query(f"EXPLAIN (ANALYZE) {query}"))
            bench.check(f"{setting} = off", off if "Index" in off or "GpuPreAgg" not in off else None)
            session.query(f"RESET {setting}")


def chosen(bench):
    """At default costs: an index that excludes much is used, one that excludes little is not."""
    if not bench.has_postgis:
        return
    with bench.server.connect() as session:
        session.query("CREATE TABLE many AS SELECT i AS id, i % 50 AS v, repeat('x', 200) AS filler, "
                      "st_setsrid(st_makepoint(i / 4000.0, i % 10007 * 7919 % 10000 / 100.0), 4326)::geometry(Point, 4326) AS place "
                      "FROM generate_series(1, 400000) i")
        session.query("CREATE INDEX many_place ON many USING gist (place)")
        session.query("VACUUM (ANALYZE) many")
    heavy = "sum(v * 3 + 1), sum(v * 5 + 2), max(v % 7), min(v % 11), sum(id - v), max(id % 17), sum(v * v)"
    # What is not cached has to be read.
    with bench.server.connect(settings={"pg_turbine.device": bench.options.device, "pg_turbine.enable_cache": "off"}) as session:
        for width, ours, uses in ((0.01, False, False), (3, True, True), (80, True, False)):
            query = f"SELECT {heavy} FROM many WHERE st_contains(st_makeenvelope(10, 0, {10 + width}, 100, 4326), place)"
            # Its code is compiled once, which is no part of the question.
            session.query("SET pg_turbine.debug_force_offload = on")
            session.query(query)
            session.query("RESET pg_turbine.debug_force_offload")
            plan = explain(session, query)
            is_ours = any("Custom Plan Provider" in n for n in nodes(plan))
            used = our_node(plan) is not None
            bench.check(f"default costs, width {width}", None if is_ours == ours and used == uses
                        else f"ours: {is_ours}, by an index: {used}")


class Writer(threading.Thread):
    """Changes the table and its indexes until told to stop."""

    def __init__(self, bench, seed, stop):
        super().__init__(daemon=True)
        self.bench, self.session, self.random = bench, bench.session({**OFF, "lock_timeout": "2s"}), random.Random(seed)
        self.stop_event, self.problem, self.actions = stop, None, 0

    def run(self):
        while not self.stop_event.is_set() and not self.problem:
            for statement in self.random.choice((self.append, self.append, self.delete, self.update, self.update_in_place,
                                                 lambda: ["VACUUM moving"], self.roll_back, self.rebuild))():
                outcome = self.session.run(statement)
                if outcome.error and outcome.sqlstate not in ("40001", "40P01", "55P03"):
                    self.problem = f"{statement}: {outcome.error}"
            if self.session.transaction_status != "I":
                self.session.run("ROLLBACK")
            self.actions += 1
            time.sleep(0.005)
        self.session.close()

    def append(self):
        first = self.random.randrange(ROWS)
        return [f"INSERT INTO moving SELECT {row(f'({first} + i)', self.bench.has_postgis)} FROM generate_series(1, 200) i"]

    def delete(self):
        first = self.random.randrange(ROWS)
        return [f"DELETE FROM moving WHERE id BETWEEN {first} AND {first + self.random.choice((20, 900))}"]

    def update(self):
        first = self.random.randrange(ROWS)
        place = ", place = st_translate(place, 3, 0)" if self.bench.has_postgis else ""
        return [f"UPDATE moving SET note = 'note' || id % 100, span = int4range(v, v + 2){place} "
                f"WHERE id BETWEEN {first} AND {first + 200}"]

    def update_in_place(self):
        """No index has the column: versions of a row share an entry."""
        first = self.random.randrange(ROWS)
        return [f"UPDATE moving SET v = v + 1 WHERE id BETWEEN {first} AND {first + 200}"]

    def roll_back(self):
        return ["BEGIN", *self.append(), *self.update(), "ROLLBACK"]

    def rebuild(self):
        name = self.random.choice(("note", "span") + ("place",) * self.bench.has_postgis)
        return [f"REINDEX INDEX {'CONCURRENTLY ' * self.random.randrange(2)}moving_{name}"]


def moving_query(source, has_postgis):
    number = source.randrange(ROWS // 400)
    conditions = [f"note LIKE '%note{number}%'", f"note LIKE '%note{number}' OR note LIKE '%note{number + 1}'"]
    if has_postgis:
        conditions += [f"place && st_makeenvelope({number}, 0, {number + source.choice((1, 9))}, 100, 4326)",
                       f"st_dwithin(place, 'SRID=4326;POINT({number} 50)'::geometry, {source.choice((1, 8))})"]
    spans = f"span @> {number * 400}"
    return source.choice((f"SELECT count(*), sum(v), max(id) FROM moving WHERE ({source.choice(conditions)}) AND v < 95",
                          f"SELECT id, v, note FROM moving WHERE ({source.choice([*conditions, spans])}) AND v < 95",
                          f"SELECT v, count(*) FROM moving WHERE {source.choice(conditions)} GROUP BY v"))


def races(bench):
    with bench.server.connect() as session:
        make_places(session, "moving", ROWS // 2, bench.has_postgis)
    source, stop, used = random.Random(bench.options.seed), threading.Event(), 0
    writers = [Writer(bench, bench.options.seed + n, stop) for n in range(2)]
    for writer in writers:
        writer.start()
    try:
        with bench.session(BUFFERED) as reader:
            for number in range(bench.options.races):
                query = moving_query(source, bench.has_postgis)
                reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
                # The snapshot is taken here; what comes now must be invisible to both.
                reader.query("SELECT count(*) FROM kinds")
                time.sleep(source.choice((0, 0, 0.03)))
                found = reader.run(query)
                reader.query("SET LOCAL pg_turbine.enabled = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = off")
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


CHECKS = (skipped, other_methods, partial_and_parameters, shown, chosen, races)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--races", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="comma-separated check names")
    parser.add_argument("--without-postgis", action="store_true", help="pass if PostGIS is not installed")
    options = parser.parse_args()
    has_postgis = cluster.has_extension("postgis")
    if not has_postgis and not options.without_postgis:
        print("PostGIS is not installed\n0 passed, 1 failed")
        return 1
    with cluster.Cluster("block-indexes") as server:
        with server.connect() as session:
            session.query("CREATE EXTENSION pg_trgm")
            if has_postgis:
                session.query("CREATE EXTENSION postgis")
            make_places(session, "places", ROWS, has_postgis)
            session.query("CREATE TABLE kinds AS SELECT kind, 'kind ' || kind AS name FROM generate_series(0, 39) kind")
            session.query("VACUUM (ANALYZE) kinds")
            session.query("CHECKPOINT")
        bench = Bench(server, options, has_postgis)
        for check in CHECKS:
            if options.only and check.__name__ not in options.only.split(","):
                continue
            started, before = time.monotonic(), bench.failed
            check(bench)
            print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
