#!/usr/bin/env python3
"""column_cache.py - what the column cache holds, shows, forgets, and that it keeps its size.

`view`: turbine.column_cache after queries, DDL and changes. `rows`: tuples of a GpuScan whose
filters ran over cached columns. `few`: tables of few blocks. `costs`: plans that change with what is
cached. `drop`: turbine.cache_drop, and who may call it. `small`: a table of many times the cache's size, from several
sessions. `small_texts`: the same for dictionaries and kept join tables. `off`: no cache at all.
`kept_longest`: who gives way. `service`: killed while queries run. Whether cached
answers are right beside writers is checked by races.py and mvcc.py; loads, policies and
restarts by cache_loading.py.
Must never: take a query that read nothing from the cache for one that did.
Called by: make test-column-cache, test/run_all.py.
"""

import argparse
import itertools
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import CPU, QUERY, ROWS, Bench, blocks_of, cached_blocks, make, shown  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import FEEDING, OFF  # noqa: E402


# More than a cache of 4 MB takes, less than what small_texts would have it keep.
MOST_GROWTH = 32 << 20
# Until the columns that a query lacks are loaded beside it.
LOAD_SECONDS = 60


def view(bench, server):
    with server.connect(settings=CPU) as session, server.connect(settings=OFF) as plain:
        expected = plain.run(QUERY)
        blocks = blocks_of(session, "t")
        bench.equal("nothing yet", shown(session, "t"), {})
        bench.check("first", answers.difference(expected, session.run(QUERY)))
        bench.equal("columns of a query", shown(session, "t"), {"k": (ROWS, blocks, 0, 0), "price": (ROWS, blocks, 0, 0)})
        bench.check("second", answers.difference(expected, session.run(QUERY)))
        bench.equal("hits", shown(session, "t")["k"], (ROWS, blocks, 0, 1))
        bench.equal("all blocks", cached_blocks(session, QUERY), blocks)
        bench.equal("last hit", session.value("SELECT bool_and(last_hit BETWEEN now() - interval '1 minute' AND now() + "
                                              "interval '1 second') FROM turbine.column_cache"), "t")
        session.query("SET pg_turbine.enable_cache = off")
        bench.equal("off in this session", cached_blocks(session, QUERY), 0)
        session.query("RESET pg_turbine.enable_cache")
        plain.query("UPDATE t SET price = price + 1 WHERE id = 100")
        expected = plain.run(QUERY)
        bench.check("updated", answers.difference(expected, session.run(QUERY)))
        plain.query("VACUUM t")
        plain.query("CHECKPOINT")
        bench.check("vacuumed", answers.difference(expected, session.run(QUERY)))
        found = cached_blocks(session, QUERY)
        bench.check("most stays", None if found >= blocks - 2 else f"{found} of {blocks} blocks")
        plain.query("ALTER TABLE t RENAME price TO cost")
        bench.equal("renamed", set(shown(session, "t")), {"k", "cost"})
        plain.query("ALTER TABLE t DROP cost")
        bench.equal("dropped", set(shown(session, "t")), {"k"})
        plain.query("TRUNCATE t")
        bench.equal("truncated", shown(session, "t"), {})
        bench.equal("nobody's files", session.value("SELECT count(*) FROM turbine.column_cache"), "0")


def rows(bench, server):
    few = "SELECT ctid, * FROM r WHERE price % 1000 = 7"
    ordered = "SELECT ctid, id, note FROM r WHERE id BETWEEN 30001 AND 30020 AND price > 0"
    many = "SELECT ctid, id FROM r WHERE id > 0 AND price < 1000000"
    raises = "SELECT id, 100 / (id - 59000) FROM r WHERE 100 / (id - 59000) < 10 AND price > 1"
    with server.connect(settings=CPU) as session, server.connect(settings=OFF) as plain:
        plain.query("CREATE TABLE r (id int, price int, note text)")
        plain.query(f"INSERT INTO r SELECT i, i, repeat('n', 440 + i % 50) FROM generate_series(1, {ROWS}) i")
        plain.query("DELETE FROM r WHERE id % 13 = 0")
        plain.query("VACUUM (ANALYZE) r")
        plain.query("CHECKPOINT")
        blocks = blocks_of(session, "r")

        def compare(name, sql):
            for run in ("first", "second"):
                bench.check(f"{name}, {run}", answers.difference(plain.run(sql), session.run(sql)))

        session.query("SELECT sum(id), sum(price) FROM r")
        bench.equal("line pointers are not there yet", cached_blocks(session, few), 0)
        bench.equal("rows from the cache", cached_blocks(session, few), blocks)
        bench.equal("line pointers", shown(session, "r")["ctid"][:2], (int(plain.value("SELECT count(*) FROM r")), blocks))
        compare("few rows", few)
        compare("excluded segments", ordered)
        plan = session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {ordered}")
        found = re.search(r"excluded=(\d+)", str(plan))
        bench.check("most is excluded", None if found and int(found.group(1)) > blocks * 0.8 else str(plan))
        removed = re.search(r"Removed by GPU Filter: (\d+)", str(plan))
        expected = int(plain.value("SELECT count(*) FROM r")) - len(plain.query(ordered))
        bench.equal("rows removed", removed and int(removed.group(1)), expected)
        compare("most rows", many)
        found = cached_blocks(session, many)
        bench.check("given up where most pages are wanted", None if 0 < found < blocks - 64 else f"{found} of {blocks} blocks")
        compare("a row that raises", raises)
        compare("none that raises before the limit", f"{raises} LIMIT 5")

        # The snapshot is the cursor's, whatever happens meanwhile.
        expected = plain.query(few)
        session.query("BEGIN")
        session.query(f"DECLARE c NO SCROLL CURSOR FOR {few}")
        found = session.query("FETCH 5 FROM c")
        plain.query("UPDATE r SET note = 'changed', price = -price WHERE id % 100 = 7")
        plain.query("DELETE FROM r WHERE id % 1000 = 7")
        plain.query("VACUUM r")
        found += session.query("FETCH ALL FROM c")
        session.query("COMMIT")
        bench.equal("a cursor beside changes", found, expected)
        compare("changed", few)
        plain.query("VACUUM r")
        plain.query("CHECKPOINT")
        compare("changed and vacuumed", few)
        compare("changed and vacuumed, other rows", "SELECT ctid, * FROM r WHERE price % 1000 = 8")
        session.query("DROP TABLE r")


def dirty(bench, server):
    """Blocks that VACUUM has left all-visible in shared buffers alone are kept too, before any checkpoint."""
    sql = "SELECT count(*), sum(price), min(note) FROM v"
    listing = "SELECT ctid, id FROM v WHERE price < 0"
    with server.connect(settings=OFF) as plain:
        plain.query("CREATE TABLE v (id int, price bigint, note text)")
        plain.query(f"INSERT INTO v SELECT i, i, repeat('n', 440 + i % 50) FROM generate_series(1, {ROWS}) i")
        plain.query("VACUUM (ANALYZE) v")
        plain.query("CHECKPOINT")
        for name, settings in (("one process", CPU), ("feeders", {**CPU, **FEEDING, "pg_turbine.enable_cache": "on"})):
            with server.connect(settings=settings) as session:
                session.query(sql)
                for turn, price in enumerate(("-price", "price + 5000000000", "NULL")):
                    plain.query(f"UPDATE v SET price = {price} WHERE id % 1000 = {turn + 7}")
                    plain.query("VACUUM v")
                    blocks = blocks_of(session, "v")
                    for run in ("first", "second"):
                        bench.check(f"{name}, {price}, {run}", answers.difference(plain.run(sql), session.run(sql)))
                    bench.equal(f"{name}, {price}, all is kept", cached_blocks(session, sql), blocks)
                    bench.check(f"{name}, {price}, rows", answers.difference(plain.run(listing), session.run(listing)))
                plain.query("UPDATE v SET price = 1 WHERE id % 1000 = 500")
                bench.check(f"{name}, not vacuumed", answers.difference(plain.run(sql), session.run(sql)))
                plain.query("CHECKPOINT")
                bench.check(f"{name}, after a checkpoint", answers.difference(plain.run(sql), session.run(sql)))
        plain.query("DROP TABLE v")


def few(bench, server):
    """Tables of fewer blocks than are worth direct reads are kept too, from shared buffers, and so are their join tables."""
    settings = {**CPU, "pg_turbine.direct_threshold": "64"}
    sql = "SELECT count(*), sum(price), min(name) FROM f"
    join = "SELECT f.name, count(*) FROM lines JOIN f ON lines.k = f.id WHERE f.price < 100 GROUP BY f.name"
    with server.connect(settings=settings) as session, server.connect(settings=OFF) as plain:
        plain.query("CREATE TABLE f (id int, price bigint, name text)")
        plain.query("INSERT INTO f SELECT i, i, 'name ' || i % 50 FROM generate_series(1, 4000) i")
        plain.query("CREATE TABLE lines AS SELECT i % 4000 AS k FROM generate_series(1, 30000) i")
        plain.query("VACUUM (ANALYZE) lines")
        for name, change in (("new", None), ("changed", "UPDATE f SET price = price + 1 WHERE id % 1000 = 3")):
            if change:
                plain.query(change)
                for query in (sql, join):
                    bench.check(f"few blocks, {name}, before VACUUM", answers.difference(plain.run(query), session.run(query)))
            plain.query("VACUUM (ANALYZE) f")
            blocks = blocks_of(session, "f")
            bench.check("few", None if blocks < 64 else f"{blocks} blocks")
            for run in ("first", "second"):
                for query in (sql, join):
                    bench.check(f"few blocks, {name}, {run}", answers.difference(plain.run(query), session.run(query)))
            bench.equal(f"few blocks, {name}, all is kept", cached_blocks(session, sql), blocks)
            plan = str(session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {join}"))
            bench.check(f"few blocks, {name}, the join table is kept", None if " kept" in plan else plan)
        session.query("DROP TABLE f, lines")


def kept(bench, server):
    """Join tables that are built once, and again when their source has changed."""
    def plan(session, sql):
        return "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {sql}"))

    sql = "SELECT b.k, sum(a.v) FROM f a JOIN d b ON b.id = a.k WHERE b.k < {} GROUP BY b.k"
    with server.connect(settings=CPU) as session, server.connect(settings=OFF) as plain:
        plain.query("CREATE TABLE f (k int, v int)")
        plain.query("CREATE TABLE d (id int, k int, note text)")
        plain.query("INSERT INTO f SELECT i % 30000, i FROM generate_series(1, 60000) i")
        plain.query("INSERT INTO d SELECT i, i % 10, repeat('n', 30) FROM generate_series(1, 30000) i")
        plain.query("VACUUM (ANALYZE) f, d")
        plain.query("CHECKPOINT")
        found = [" kept" in plan(session, sql.format(5)) for _ in range(4)]
        bench.equal("kept from the third time on", found, [False, False, True, True])
        bench.check("right", answers.difference(plain.run(sql.format(5)), session.run(sql.format(5))))
        session.query("SELECT turbine.cache_drop('d')")
        bench.equal("forgotten with its table", " kept" in plan(session, sql.format(5)), False)
        found = [" kept" in plan(session, sql.format(5)) for _ in range(3)]
        bench.equal("kept again", found[2], True)
        bench.equal("other constants", " kept" in plan(session, sql.format(6)), False)
        plain.query("UPDATE d SET k = 1 WHERE id = 77")
        bench.equal("a block is not all-visible", " kept" in plan(session, sql.format(5)), False)
        bench.check("updated", answers.difference(plain.run(sql.format(5)), session.run(sql.format(5))))
        plain.query("VACUUM d")
        plain.query("CHECKPOINT")
        found = [" kept" in plan(session, sql.format(5)) for _ in range(4)]
        bench.equal("anew", found[0] or not found[3], False)
        bench.check("vacuumed", answers.difference(plain.run(sql.format(5)), session.run(sql.format(5))))
        session.query("SET pg_turbine.enable_cache = off")
        bench.equal("without the cache", " kept" in plan(session, sql.format(5)), False)
        session.query("RESET pg_turbine.enable_cache")
        # A leaf alone and the same as part of a table are different sources.
        leaf = "SELECT b.k, sum(a.v) FROM f a JOIN {} b ON b.id = a.k GROUP BY b.k"
        for _ in range(4):
            for table in ("pt_1", "pt"):
                bench.check(f"over {table}", answers.difference(plain.run(leaf.format(table)), session.run(leaf.format(table))))
        session.query("DROP TABLE f, d")


def costs(bench, server):
    """What is cached and compiled makes plans cheaper, and only as long as it is."""
    grouped = "SELECT k, count(*), sum(price) FROM e GROUP BY k"
    keyed = "SELECT * FROM e WHERE id = 77"

    def node(session, sql):
        return session.query(f"EXPLAIN (COSTS OFF) {sql}")[0][0]

    with server.connect(settings={"pg_turbine.device": "cpu"}) as session, server.connect(settings=CPU) as forced:
        session.query("CREATE TABLE e (id int PRIMARY KEY, k int, price int)")
        session.query(f"INSERT INTO e SELECT i, i % 7, i FROM generate_series(1, {ROWS}) i")
        session.query("VACUUM (ANALYZE) e")
        session.query("CHECKPOINT")
        first = node(session, grouped)
        bench.check("a small table", f"{first}" if "Gpu" in first else None)
        for _ in range(2):
            forced.query(grouped)
        bench.check("cached", None if "GpuPreAgg" in node(session, grouped) else node(session, grouped))
        bench.check("other columns", node(session, "SELECT id % 7, count(*) FROM e GROUP BY 1") if "Gpu" in node(
            session, "SELECT id % 7, count(*) FROM e GROUP BY 1") else None)
        forced.query("SELECT sum(id), sum(price), sum(k) FROM e WHERE id = 77")
        bench.check("an index is still better", None if "Index" in node(session, keyed) else node(session, keyed))
        # Scans of one cached column are cheaper than reading another once; so that one is loaded meanwhile.
        session.query("CREATE TABLE w (id int, k int, pad text)")
        session.query(f"INSERT INTO w SELECT i, i % 1000, repeat('p', 700) FROM generate_series(1, {ROWS}) i")
        session.query("VACUUM (ANALYZE) w")
        session.query("CHECKPOINT")
        forced.query("SELECT count(*) FROM w WHERE k < 1 AND random() < 2")
        few = "SELECT sum(id) FROM w WHERE k < {}"
        nodes = []
        deadline = time.monotonic() + LOAD_SECONDS
        for i in itertools.count():
            nodes.append(" ".join(row[0] for row in session.query(f"EXPLAIN (COSTS OFF) {few.format(20 + i % 5)}")))
            if "GpuPreAgg" in nodes[-1] or time.monotonic() > deadline:
                break
            session.query(few.format(20 + i % 5))
        bench.check("a scan at first", None if "GpuScan" in nodes[0] else nodes[0])
        bench.check("and the columns at last", None if len(nodes) > 1 and "GpuPreAgg" in nodes[-1] else f"{len(nodes)}: {nodes[-1]}")
        session.query("DROP TABLE w")
        session.query("SET pg_turbine.enable_cache = off")
        bench.equal("not for this session", node(session, grouped), first)
        session.query("RESET pg_turbine.enable_cache")
        os.kill(server.service_pid(), signal.SIGKILL)
        server.wait_for_service()
        bench.equal("gone with the service", node(session, grouped), first)
        session.query("DROP TABLE e")


def drop(bench, server):
    query = "SELECT k, sum(id) FROM pt GROUP BY k"
    with server.connect(settings=CPU) as session, server.connect(user="stranger", settings=CPU) as stranger:
        session.query(query)
        bench.equal("leaves", {row[0] for row in session.query("SELECT relation FROM turbine.column_cache")}, {"pt_1", "pt_2"})
        bench.check("a stranger sees it", None if stranger.query("SELECT * FROM turbine.column_cache") else "no rows")
        bench.fails("a stranger drops it", stranger, "SELECT turbine.cache_drop('pt')", "42501")
        bench.fails("no such relation", session, "SELECT turbine.cache_drop(1::regclass)", "42P01")
        kept = int(session.value("SELECT sum(bytes) FROM turbine.column_cache"))
        freed = int(session.value("SELECT turbine.cache_drop('pt')"))
        bench.check("bytes", None if freed >= kept > 0 else f"{freed} freed of {kept}")
        bench.equal("nothing left", session.value("SELECT count(*) FROM turbine.column_cache"), "0")
        bench.equal("again", session.value("SELECT turbine.cache_drop('pt')"), "0")
        bench.equal("not a table", session.value("SELECT turbine.cache_drop('turbine.column_cache')"), "0")
        session.query(query)
        bench.check("filled again", None if cached_blocks(session, query) else "nothing cached")


def kept_longest(bench):
    """A table whose policy is keep stays where others go."""
    with cluster.Cluster("keptcache", settings={"pg_turbine.cache_size_host": "2MB"}) as server:
        server.create_extension("postgres")
        make(server)
        with server.connect(settings=OFF) as session:
            session.query("CREATE TABLE larger AS SELECT random() AS a, random() AS b FROM generate_series(1, 200000)")
            session.query("VACUUM larger")
        with server.connect(settings=CPU) as session:
            session.query("SELECT turbine.cache_policy('pt', 'keep')")
            grouped = "SELECT k, sum(id) FROM pt GROUP BY k"
            session.query(grouped)
            whole = blocks_of(session, "pt_1") + blocks_of(session, "pt_2")
            for _ in range(5):
                session.query("SELECT turbine.cache_load('larger')")
            bench.equal("stays", cached_blocks(session, grouped), whole)
            # What is found stays as well, so it must be read anew.
            session.query("SELECT turbine.cache_policy('pt', 'auto')")
            session.query("SELECT turbine.cache_drop('pt')")
            session.query(grouped)
            for _ in range(5):
                session.query("SELECT turbine.cache_load('larger')")
            found = cached_blocks(session, grouped)
            bench.check("goes", None if found < whole else f"{found} of {whole}")


def small(bench):
    """Eviction all the time, and never more than there may be."""
    capacity = 2 << 20
    columns = "abcd"
    # Values that have no short codes: a column takes 8 bytes a row.
    value = "('x' || left(md5(i || '{}'), 16))::bit(64)::bigint AS {}"
    queries = [f"SELECT k, count(*), min({column}), max({column}) FROM wide GROUP BY k" for column in columns]
    with cluster.Cluster("smallcache", settings={"pg_turbine.cache_size_host": "2MB"}) as server:
        server.create_extension("postgres")
        with server.connect(settings=OFF) as session:
            session.query(f"CREATE TABLE wide AS SELECT i % 7 AS k, {', '.join(value.format(c, c) for c in columns)} "
                          f"FROM generate_series(1, {2 * ROWS}) i")
            session.query("VACUUM (ANALYZE) wide")
            session.query("CHECKPOINT")
            expected = [session.run(query) for query in queries]
        largest, stop = [0], threading.Event()

        def watch():
            with server.connect() as session:
                while not stop.is_set():
                    largest[0] = max(largest[0], int(session.value("SELECT coalesce(sum(bytes), 0) FROM turbine.column_cache")))

        def ask(number):
            with server.connect(settings=CPU) as session:
                for i in range(25):
                    which = (number + i) % len(queries)
                    bench.check(f"session {number}, {i}", answers.difference(expected[which], session.run(queries[which])))

        watcher = threading.Thread(target=watch)
        watcher.start()
        askers = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in askers:
            thread.start()
        for thread in askers:
            thread.join()
        stop.set()
        watcher.join()
        # A version more than fits may be there while its thread looks for room.
        bench.check("size", None if capacity / 2 < largest[0] <= capacity * 1.5 else f"{largest[0]} bytes of {capacity}")


def memory_of(pid):
    """Its own pages, in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


def small_texts(bench):
    """Dictionaries and kept join tables of a cache that is too small for what they come of."""
    capacity = 4 << 20
    # Texts with a dictionary, and such as outgrow it; tables that are kept, one for each constant.
    texts = [f"SELECT {column}, count(*), max(id) FROM s GROUP BY {column}" for column in ("few", "some", "many")]
    texts.append("SELECT few, some, count(*), min(many COLLATE \"C\") FROM s WHERE k < 5 GROUP BY few, some")
    joined = "SELECT s.few, count(*), sum(b.k) FROM s JOIN b ON b.name = s.some AND b.k < {} GROUP BY s.few"
    with cluster.Cluster("smalltexts", settings={"pg_turbine.cache_size_host": "4MB"}) as server:
        server.create_extension("postgres")
        with server.connect(settings=OFF) as plain:
            plain.query("CREATE TABLE s AS SELECT i AS id, i % 7 AS k, 'few ' || i % 9 AS few, 'some ' || i % 3000 AS some, "
                        f"md5(i::text) AS many FROM generate_series(1, {2 * ROWS}) i")
            plain.query("CREATE TABLE b AS SELECT 'some ' || i AS name, i AS k FROM generate_series(1, 3000) i")
            plain.query("VACUUM (ANALYZE) s, b")
            plain.query("CHECKPOINT")
            queries = texts + [joined.format(constant) for constant in range(2000, 2600)]
            expected = {sql: plain.run(sql) for sql in texts + queries[len(texts)::25]}
        largest = kept_tables = 0
        with server.connect(settings=CPU) as session:
            for sql in texts * 2:
                bench.check(sql, answers.difference(expected[sql], session.run(sql)))
            session.query(queries[-1])
            before = memory_of(server.service_pid())
            for number, sql in enumerate(queries):
                # The first run has the columns cached, if they were not; then tables are kept.
                for run in range(2 if number % 25 == 0 else 1):
                    found = session.run(sql)
                    if sql in expected:
                        bench.check(f"{sql}, {run}", answers.difference(expected[sql], found))
                if number % 25 == 0:
                    kept_tables += " kept" in str(session.query(f"EXPLAIN (ANALYZE, COSTS OFF) {sql}"))
                    largest = max(largest, int(session.value("SELECT coalesce(sum(bytes), 0) FROM turbine.column_cache")))
                if number % 100 == 50:
                    for other in texts:
                        bench.check(f"{other}, after {number}", answers.difference(expected[other], session.run(other)))
            grown = memory_of(server.service_pid()) - before
        print(f"  small_texts: {kept_tables} times kept, {largest >> 10} kB of columns, {grown >> 20} MB more memory", flush=True)
        bench.check("columns", None if capacity / 2 < largest <= capacity * 1.25 else f"{largest} bytes of {capacity}")
        bench.check("join tables are kept", None if kept_tables else "none is")
        bench.check("not all of them", f"{grown >> 20} MB" if grown > MOST_GROWTH else None)


def off(bench):
    with cluster.Cluster("nocache", settings={"pg_turbine.cache_size_host": "0"}) as server:
        server.create_extension("postgres")
        make(server)
        with server.connect(settings=OFF) as session:
            expected = session.run(QUERY)
        with server.connect(settings=CPU) as session:
            for run in range(2):
                bench.check(f"run {run}", answers.difference(expected, session.run(QUERY)))
            bench.equal("no block", cached_blocks(session, QUERY), 0)
            bench.equal("no column", session.value("SELECT count(*) FROM turbine.column_cache"), "0")
            bench.equal("nothing to drop", session.value("SELECT turbine.cache_drop('t')"), "0")


def service(bench, server):
    """The cache dies with the service, and no query with it."""
    sql = "SELECT k, count(*), sum(id) FROM pt GROUP BY k"
    with server.connect(settings=OFF) as session:
        expected = session.run(sql)
    stop, wrong = threading.Event(), []

    def ask():
        with server.connect(settings=CPU) as session:
            while not stop.is_set():
                wrong.append(answers.difference(expected, session.run(sql)))

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for thread in askers:
        thread.start()
    for _ in range(8):
        os.kill(server.service_pid(), signal.SIGKILL)
        time.sleep(0.3)
        server.wait_for_service()
    stop.set()
    for thread in askers:
        thread.join()
    bench.equal("queries beside kills", [complaint for complaint in wrong if complaint], [])
    bench.check("many", None if len(wrong) > 20 else f"{len(wrong)} queries")
    with server.connect(settings=CPU) as session:
        os.kill(server.service_pid(), signal.SIGKILL)
        server.wait_for_service()
        bench.equal("empty", session.value("SELECT count(*) FROM turbine.column_cache"), "0")
        bench.equal("dropping nothing", session.value("SELECT turbine.cache_drop('pt')"), "0")
        session.query(sql)
        bench.check("and full again", None if cached_blocks(session, sql) else "nothing cached")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    bench = Bench()
    with cluster.Cluster("columncache") as server:
        server.create_extension("postgres")
        make(server)
        for part in (view, rows, dirty, few, kept, costs, drop, service):
            part(bench, server)
    kept_longest(bench)
    small(bench)
    small_texts(bench)
    off(bench)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
