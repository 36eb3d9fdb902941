#!/usr/bin/env python3
"""first_rows.py - the first rows of an order are PostgreSQL's, although only their keys go through the engine.

GpuSort with a limit reads sort keys, conditions and tuple ids; the backend fetches all other columns of the rows that are
left. `answers` compares such queries with PostgreSQL's own, over columns of all kinds, while blocks are read in each of
their ways; `columns` asks the column cache which columns were read, and EXPLAIN how many were fetched; `loaded` reads no
page of a loaded table; `snapshots` changes the rows, vacuums, and rewrites pages between snapshot and fetch; on a GPU `bus`
looks how many bytes have come to the host.
Must never: take EXPLAIN's word for an answer.
Called by: test/run_all.py, also on a stand-in GPU. Options: --device.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from run_sql import DIRECT, FORCED, OFF  # noqa: E402

ROWS = 30000
ROW_BYTES = 25  # on their way from a GPU: two keys, a tuple id, and whether a key is NULL
BUFFERED = {**FORCED, "pg_turbine.direct_threshold": "1000000"}
WAYS = {"buffered": {**BUFFERED, "pg_turbine.enable_cache": "off"}, "direct": {**DIRECT, "pg_turbine.enable_cache": "off"},
        "filling": DIRECT, "cached": DIRECT}

# A total order each, so that the answer is one.
QUERIES = (
    "SELECT * FROM wide ORDER BY at DESC, id LIMIT 10",
    "SELECT * FROM wide ORDER BY at DESC NULLS LAST, id LIMIT 10 OFFSET 700",
    "SELECT * FROM wide ORDER BY at NULLS FIRST, id DESC LIMIT 25",
    "SELECT * FROM wide WHERE word <> '' ORDER BY at, id LIMIT 10",
    "SELECT word, upper(word), doc->>'a', numbers[2] FROM wide WHERE n % 7 = 3 ORDER BY amount, id LIMIT 12",
    "SELECT id, large FROM wide WHERE length(word) > 3 ORDER BY n, id DESC LIMIT 5",
    "SELECT doc, added, id FROM wide WHERE large LIKE '%9_9%' ORDER BY at, id LIMIT 5",
    "SELECT * FROM wide WHERE n < 0 ORDER BY at, id LIMIT 10",
    "SELECT * FROM wide ORDER BY at, id LIMIT 0",
    "SELECT word, doc FROM (SELECT * FROM wide ORDER BY n DESC, id LIMIT 30) few WHERE numbers[1] > 3 ORDER BY id",
    "SELECT word, count(*), max(doc->>'a') FROM (SELECT * FROM wide ORDER BY at, id LIMIT 200) few GROUP BY word ORDER BY word",
    "SELECT word || '!', doc FROM wide ORDER BY small, id LIMIT 900",
    "SELECT tableoid::regclass, word, numbers FROM wide ORDER BY id DESC LIMIT 3",
    "SELECT word, kind FROM wide WHERE small = ANY ('{3,4}') ORDER BY at, id LIMIT 1000",
)


class Bench:
    def __init__(self, server, device):
        self.server, self.device = server, device
        self.passed = self.failed = 0

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"{name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def session(self, settings):
        ours = {**settings, "pg_turbine.device": self.device} if settings is not OFF else settings
        return self.server.connect(settings=ours)


def make_tables(session):
    """Wide rows in no order, short ones among them, dead ones, moved ones, and values out of line."""
    session.query("CREATE TYPE colour AS ENUM ('red', 'green')")
    session.query("CREATE TABLE wide (id bigint, gone int, at timestamp, n int NOT NULL, small smallint, word text, "
                  "large text, doc jsonb, numbers int[], kind colour, mark uuid, amount numeric(12,2), flags bit(3))")
    session.query("ALTER TABLE wide ALTER large SET STORAGE EXTERNAL")
    session.query(
        f"INSERT INTO wide SELECT i, 1, CASE WHEN i % 11 > 0 THEN timestamp '2024-01-01' + i * 7919 % 30011 * interval '1 s' "
        f"END, i * 31 % 1009, i % 9, CASE WHEN i % 3 > 0 THEN 'word' || i % 100 ELSE '' END, "
        f"CASE WHEN i % 50 = 0 THEN repeat(i::text || ' ', 900) ELSE i::text END, jsonb_build_object('a', i, 'b', 'x'), "
        f"ARRAY[i % 5, i], CASE WHEN i % 2 = 0 THEN 'red' ELSE 'green' END::colour, md5(i::text)::uuid, i * 37 % 5000 / 4.0, "
        f"(i % 8)::bit(3) FROM generate_series(1, {ROWS}) i")
    session.query("ALTER TABLE wide DROP gone")
    session.query("ALTER TABLE wide ADD added text DEFAULT 'from before'")
    session.query("DELETE FROM wide WHERE id % 13 = 5")
    session.query("UPDATE wide SET n = n + 1 WHERE id % 17 = 4")
    session.query("INSERT INTO wide (id, at, n, word, added) SELECT -i, '2023-12-31', i, NULL, 'new' FROM generate_series(1, 50) i")
    session.query("VACUUM ANALYZE wide")
    session.query("CHECKPOINT")


def explained(session, query):
    """Our sorting node's figures; None without such a node."""
    def nodes(plan):
        yield plan
        for child in plan.get("Plans", ()):
            yield from nodes(child)

    plan = json.loads(session.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}"))[0]["Plan"]
    return next((node for node in nodes(plan) if node.get("Custom Plan Provider") == "GpuSort"), None)


def answers(bench):
    with bench.session(OFF) as session:
        expected = {query: session.query(query) for query in QUERIES}
    for way, settings in WAYS.items():
        with bench.session(settings) as session:
            for query in QUERIES:
                found = session.query(query)
                bench.check(f"{way}: {query}", found != expected[query] and f"{found[:3]} instead of {expected[query][:3]}")


def columns(bench):
    """Only keys, conditions and tuple ids are read; the others are fetched."""
    with bench.session(DIRECT) as session:
        session.query("SELECT turbine.cache_drop('wide')")
        node = explained(session, "SELECT * FROM wide WHERE small > 2 ORDER BY at DESC, id LIMIT 10")
        bench.check("EXPLAIN", (node or {}).get("Fetched Columns") != 11 and f"{node}")
        if bench.device == "cpu":
            read = sorted(row[0] for row in session.query(
                "SELECT column_name FROM turbine.column_cache WHERE relation = 'wide'::regclass AND column_name IS NOT NULL"))
            bench.check("columns that were read", read != ["at", "ctid", "id", "small"] and f"{read}")
        # Few bytes that could be spared, and rows that are many.
        for query in ("SELECT id, n FROM wide ORDER BY n, id LIMIT 10", "SELECT * FROM wide ORDER BY n, id LIMIT 1001",
                      "SELECT word FROM wide ORDER BY n FETCH FIRST 3 ROWS WITH TIES"):
            node = explained(session, query)
            bench.check(query, node and "Fetched Columns" in node and "columns are fetched")


def loaded(bench):
    """A load keeps tuple ids as well, so that the first such query reads no page for them."""
    query = "SELECT * FROM narrow WHERE small > 2 ORDER BY at DESC, id LIMIT 10"
    with bench.session(OFF) as other, bench.session(DIRECT) as session:
        other.query("CREATE TABLE narrow AS SELECT id, at, n, small, word, doc, mark FROM wide")
        other.query("DELETE FROM narrow WHERE id % 10 = 3")
        other.query("VACUUM ANALYZE narrow")
        other.query("CHECKPOINT")
        expected = other.query(query)
        session.query("SELECT turbine.cache_load('narrow')")
        node = explained(session, query)
        read = node["Blocks Direct"] + node["Blocks Buffered"]
        bench.check("blocks of a loaded table", read > 0 and f"{read} are read, {node['Blocks Cached']} come from the cache")
        found = session.query(query)
        bench.check("rows of a loaded table", found != expected and f"{found[:3]} instead of {expected[:3]}")


def snapshots(bench):
    """Rows of a snapshot are fetched as it sees them, whatever becomes of them meanwhile."""
    query = "SELECT id, n, word, doc, added FROM wide ORDER BY at DESC NULLS LAST, id LIMIT 40"
    changes = ("UPDATE wide SET word = 'changed', n = n + 100 WHERE id % 3 = 0", "DELETE FROM wide WHERE id % 5 = 1",
               "INSERT INTO wide (id, at, n) SELECT (SELECT max(id) FROM wide) + i, '2025-01-01', 1 FROM generate_series(1, 3000) i",
               "VACUUM wide")
    for way in ("direct", "filling", "cached"):
        with bench.session(WAYS[way]) as session, bench.session(OFF) as other, bench.session(OFF) as writer:
            for held in (session, other):
                held.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
            expected = other.query(query)
            session.query("SELECT 1 FROM wide LIMIT 1")
            session.query(f"DECLARE c NO SCROLL CURSOR FOR {query}")
            first = session.query("FETCH 3 FROM c")
            for change in changes:
                writer.query(change)
            # Pages are pruned as they are read.
            writer.query("SET enable_indexscan = off")
            writer.query("SELECT count(word) FROM wide")
            rest = session.query("FETCH ALL FROM c")
            bench.check(f"{way}: a cursor", first + rest != expected and f"{(first + rest)[:3]} instead of {expected[:3]}")
            found = session.query(query)
            bench.check(f"{way}: an old snapshot", found != expected and f"{found[:3]} instead of {expected[:3]}")
            # A transaction's own rows.
            for held in (session, other):
                held.query("COMMIT")
            for held in (session, other):
                held.query("BEGIN")
                held.query("UPDATE wide SET word = 'mine' WHERE id % 4 = 2")
                if held is session:
                    found = held.query(query)
                else:
                    expected = held.query(query)
                held.query("ROLLBACK")
            bench.check(f"{way}: own changes", found != expected and f"{found[:3]} instead of {expected[:3]}")
    with bench.session(OFF) as session:
        session.query("VACUUM wide")
        session.query("CHECKPOINT")


def bus(bench):
    """Of the rows of a table few come to the host, once the driver has compiled the kernels that drop the others."""
    if not bench.device.startswith("gpu"):
        return
    with bench.session(DIRECT) as session:
        for order in ("at, id", "at DESC, id", "n DESC, id", "small NULLS FIRST, id", "at NULLS FIRST, id DESC"):
            query = f"SELECT * FROM wide ORDER BY {order} LIMIT 10"
            deadline = time.monotonic() + 20
            while True:
                node = explained(session, query)
                came = node.get("Transferred From Device", 0)
                # Rows with equal keys may be among the first: a ninth of all, or an eleventh.
                most = ROWS * ROW_BYTES // (25 if order in ("at, id", "n DESC, id") else 6)
                if came < most or time.monotonic() > deadline:
                    break
            bench.check(f"bytes from the GPU, {order}", came >= most and f"{came} for {ROWS} rows")
            with bench.session(OFF) as other:
                expected, found = other.query(query), session.query(query)
            bench.check(f"on a bound, {order}", found != expected and f"{found[:3]} instead of {expected[:3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with cluster.Cluster("first_rows", settings={"autovacuum": "off", "shared_buffers": "64MB"}) as server:
        bench = Bench(server, options.device)
        with server.connect() as session:
            make_tables(session)
        for part in (answers, columns, loaded, bus, snapshots, answers):
            part(bench)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
