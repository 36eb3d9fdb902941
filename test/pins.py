#!/usr/bin/env python3
"""pins.py - pinned tables: what stays in memory, who may pin what, and that a pin outlives everything but unpin().

`pin`: pin, gstore, unpin. `columns`: some columns, renamed and dropped. `refused`: what cannot be pinned, and by whom.
`stays`: nothing else's need for room moves it. `full`: more than there is room for: answers stay right, and the view says
so. `keeper`: rows that no query has read, a killed service, a restarted server, DROP DATABASE. `partitions`: those to come.
`dump`: pg_dump and back. `standby`: a replica has the pin.
Must never: take a table for loaded because a query of its own has just read it.
Called by: make test-pins, test/run_all.py.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import CPU, QUERY, ROWS, Bench, blocks_of, cached_blocks, filled_blocks, make, shown  # noqa: E402
from cache_loading import caught_up, replica, soon  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import OFF  # noqa: E402

KEEPER_SECONDS = 40  # a look, at most 8 seconds after the last, and a load
GSTORE = ("SELECT relation::text, columns, device, places, rows, bytes > 0, gpu_bytes, waiting_blocks, waiting_bytes "
          "FROM turbine.gstore ORDER BY 1")


def waiting(session, table):
    """Blocks that wait to be read; None: it is not pinned."""
    rows = session.query(f"SELECT waiting_blocks FROM turbine.gstore WHERE relation = '{table}'::regclass")
    return int(rows[0][0]) if rows else None


def cached(session, table):
    """Blocks that the cache has of each of its columns. Asks nothing of pins: that alone would wake a keeper."""
    return int(session.value("SELECT coalesce(min(good_blocks + doubtful_blocks), 0) FROM turbine.column_cache "
                             f"WHERE relation = '{table}'::regclass AND column_name <> 'ctid'"))


def is_kept(bench, name, session, table, blocks=None):
    """All blocks, as many as told, are cached soon, although nobody asks for them."""
    blocks = blocks or filled_blocks(session, table)
    soon(lambda: cached(session, table) >= blocks > 0, KEEPER_SECONDS)
    found = cached(session, table)
    bench.check(name, None if found >= blocks > 0 else f"{found} of {blocks} blocks")


def pin(bench, server):
    with server.connect(settings=CPU) as session:
        bench.equal("nothing yet", session.query(GSTORE), [])
        size = int(session.value("SELECT turbine.pin('t')"))
        bench.check("size", None if size > 2 * ROWS else f"{size} bytes")
        bench.equal("shown", session.query(GSTORE), [("t", None, "gpu", "host", str(ROWS), "t", "0", "0", "0")])
        bench.equal("bytes", session.value("SELECT bytes FROM turbine.gstore"), str(size))
        bench.equal("cached", cached_blocks(session, QUERY), blocks_of(session, "t"))
        bench.fails("policy", session, "SELECT turbine.cache_policy('t', 'off')", "55000")
        session.query("BEGIN; SELECT turbine.unpin('t'); ROLLBACK")
        bench.equal("rolled back", waiting(session, "t"), 0)
        session.query("SELECT turbine.unpin('t')")
        bench.equal("unpinned", session.query(GSTORE), [])
        bench.fails("again", session, "SELECT turbine.unpin('t')", "55000")
        session.query("BEGIN; SELECT turbine.pin('t'); ROLLBACK")
        bench.equal("not pinned", session.query(GSTORE), [])
        session.query("BEGIN; CREATE TABLE young AS TABLE t; SELECT turbine.pin('young', device => 'gpu3'); COMMIT")
        bench.equal("young", session.value("SELECT device FROM turbine.gstore"), "gpu3")
        is_kept(bench, "young is loaded", session, "young")
        session.query("DROP TABLE young")
        bench.equal("dropped", session.query(GSTORE), [])
        session.query("SELECT turbine.cache_policy('t', 'pinned')")
        bench.equal("the old word", session.value("SELECT label FROM pg_seclabels WHERE objname = 't'"), "cache keep")
        session.query("SECURITY LABEL FOR pg_turbine ON TABLE t IS 'cache pinned'; SECURITY LABEL FOR pg_turbine ON TABLE t IS NULL")


def columns(bench, server):
    with server.connect(settings=CPU) as session:
        session.query("SELECT turbine.cache_drop('t')")
        session.query("SELECT turbine.pin('t', ARRAY['price', 'k'], 'host')")
        bench.equal("some", session.query(GSTORE), [("t", "{k,price}", "host", "host", str(ROWS), "t", "0", "0", "0")])
        bench.equal("read", session.query("SELECT column_name FROM turbine.column_cache WHERE relation = 't'::regclass ORDER BY 1"),
                    [("k",), ("price",)])
        session.query("ALTER TABLE t RENAME price TO cost")
        bench.equal("renamed", session.value("SELECT columns FROM turbine.gstore"), "{k,cost}")
        session.query("ALTER TABLE t RENAME cost TO price")
        session.query("CREATE TABLE copy AS SELECT id, k, k AS other FROM t; SELECT turbine.pin('copy', ARRAY['other', 'k'])")
        session.query("ALTER TABLE copy DROP other")
        bench.equal("dropped", session.value("SELECT columns FROM turbine.gstore WHERE relation = 'copy'::regclass"), "{k}")
        session.query("ALTER TABLE copy DROP k")
        bench.equal("none left", waiting(session, "copy"), None)
        session.query("DROP TABLE copy")
        session.query("CREATE TABLE sure (id int PRIMARY KEY, k bigint NOT NULL); INSERT INTO sure VALUES (1, 1), (2, 2)")
        session.query("SELECT turbine.pin('sure')")
        bench.equal("read, although none can be NULL", set(shown(session, "sure")), {"id", "k"})
        session.query("DROP TABLE sure")
        session.query("SELECT turbine.pin('t')")
        bench.equal("all", session.value("SELECT columns FROM turbine.gstore"), None)
        bench.equal("no labels of columns", session.value("SELECT count(*) FROM pg_seclabel WHERE objsubid <> 0"), "0")
        session.query("SELECT turbine.unpin('t')")


REFUSED = {
    "temporary": ("CREATE TEMP TABLE x (a int)", "x", "42809"),
    "unlogged": ("CREATE UNLOGGED TABLE x (a int)", "x", "42809"),
    "view": ("CREATE VIEW x AS SELECT 1 AS a", "x", "42809"),
    "index": ("CREATE TABLE y (a int PRIMARY KEY)", "y_pkey", "42809"),
    "sequence": ("CREATE SEQUENCE x", "x", "42809"),
    "foreign": ("CREATE FOREIGN TABLE x (a int) SERVER arrow_fdw OPTIONS (file '/nowhere.arrow')", "x", "42809"),
    "catalog": ("SELECT 1", "pg_class", "42809"),
}


def refused(bench, server):
    with server.connect(settings=CPU) as session:
        for name, (create, table, code) in REFUSED.items():
            session.query("BEGIN")
            session.query(create)
            outcome = session.run(f"SELECT turbine.pin('{table}')")
            bench.equal(name, outcome.sqlstate, code)
            bench.check(f"{name}: says what it is", None if outcome.error.fields.get("D") else "no detail")
            session.query("ROLLBACK")
        bench.fails("no such column", session, "SELECT turbine.pin('t', ARRAY['x'])", "42703")
        bench.fails("no columns", session, "SELECT turbine.pin('t', ARRAY[]::text[])", "22023")
        bench.fails("a NULL", session, "SELECT turbine.pin('t', ARRAY[NULL])", "22004")
        bench.fails("no such device", session, "SELECT turbine.pin('t', device => 'tpu')", "22023")
        bench.fails("a word of pg_turbine.device alone", session, "SELECT turbine.pin('t', device => 'auto')", "22023")
        bench.fails("a number too large", session, "SELECT turbine.pin('t', device => 'gpu99')", "22023")
        bench.fails("no such table", session, "SELECT turbine.pin(1::regclass)", "42P01")
        bench.fails("label", session, "SECURITY LABEL FOR pg_turbine ON TABLE t IS 'pin nowhere'", "22023")
        bench.fails("label of a column", session, "SECURITY LABEL FOR pg_turbine ON COLUMN t.k IS 'cache keep'", "22023")
        bench.equal("NULL", session.value("SELECT turbine.pin(NULL)"), None)
        bench.equal("nothing is pinned", session.query(GSTORE), [])
    with server.connect(user="stranger", settings=CPU) as session:
        with server.connect(settings=OFF) as owner:
            owner.query("BEGIN; LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE")
            session.query("SET lock_timeout = '5s'")
            bench.fails("not the owner, who need not wait for that", session, "SELECT turbine.pin('t')", "42501")
        bench.fails("not the owner's to end", session, "SELECT turbine.unpin('t')", "42501")


def stays(bench):
    with cluster.Cluster("pinstays", settings={"pg_turbine.cache_size_host": "4MB"}) as server:
        server.create_extension("postgres")
        make(server)
        with server.connect(settings=CPU) as session:
            session.query("CREATE TABLE larger AS SELECT random() AS a, random() AS b FROM generate_series(1, 300000)")
            session.query("SELECT turbine.pin('t', ARRAY['k', 'price'])")
            session.query("CHECKPOINT")
            for _ in range(6):
                session.query("SELECT sum(a), sum(b) FROM larger")
                session.query("SELECT turbine.cache_load('larger')")
            bench.equal("stays", waiting(session, "t"), 0)
            bench.equal("and is found", cached_blocks(session, QUERY), blocks_of(session, "t"))


def full(bench):
    with cluster.Cluster("pinfull", settings={"pg_turbine.cache_size_host": "2MB"}) as server:
        server.create_extension("postgres")
        make(server)
        with server.connect(settings=CPU) as session, server.connect(settings=OFF) as plain:
            session.query("CREATE TABLE larger AS SELECT i AS id, random() AS a, random() AS b FROM generate_series(1, 300000) i")
            session.query("SELECT turbine.pin('larger')")
            left = waiting(session, "larger")
            bench.check("waits", None if 0 < left <= blocks_of(session, "larger") else f"{left} blocks")
            question = "SELECT count(*), sum(id), max(a), min(b) FROM larger"
            for number in range(3):
                bench.check(f"answer {number}", answers.difference(plain.run(question), session.run(question)))
                bench.check(f"others {number}", answers.difference(plain.run(QUERY), session.run(QUERY)))
            used = int(session.value("SELECT sum(bytes) FROM turbine.column_cache"))
            bench.check("size", None if used < 3 << 20 else f"{used} bytes")
            session.query("SELECT turbine.unpin('larger')")
            bench.equal("unpinned", waiting(session, "larger"), None)


def keeper(bench):
    # What was cached is not loaded again but by keepers.
    with cluster.Cluster("pinkeeper", settings={"pg_turbine.cache_autoload": "off"}) as server:
        server.create_extension("postgres")
        make(server)
        with server.connect(settings=OFF) as plain:
            plain.query("SELECT turbine.pin('t'); SELECT turbine.pin('pt')")
            plain.query("INSERT INTO t SELECT i, 1, 1, 'more', date '2020-01-01' FROM generate_series(1, 5000) i")
            bench.check("new rows wait", None if cached(plain, "t") < blocks_of(plain, "t") else "none")
            is_kept(bench, "new rows", plain, "t")
            plain.query("TRUNCATE t")
            plain.query("INSERT INTO t SELECT i, 1, 1, 'new', date '2020-01-01' FROM generate_series(1, 20000) i")
            is_kept(bench, "another file", plain, "t")
            os.kill(server.service_pid(), signal.SIGKILL)
            server.wait_for_service()
            is_kept(bench, "after a kill", plain, "t")
            is_kept(bench, "partitions, too", plain, "pt_2")
            plain.query("CREATE DATABASE other")
        server.create_extension("other")
        with server.connect("other", settings=OFF) as other:
            other.query("CREATE TABLE own AS SELECT i FROM generate_series(1, 30000) i")
            other.query("SELECT turbine.pin('own')")
        server.stop()
        server.start()
        server.wait_for_service()
        with server.connect(settings=OFF) as plain:
            is_kept(bench, "after a restart", plain, "t")
            with server.connect("other", settings=OFF) as other:
                is_kept(bench, "of the other database", other, "own")
            started = time.monotonic()
            plain.query("DROP DATABASE other")
            bench.check("a database can be dropped", None if time.monotonic() - started < 10 else "it took long")
            plain.query("INSERT INTO t SELECT i, 1, 1, 'last', date '2020-01-01' FROM generate_series(1, 5000) i")
            is_kept(bench, "the others are looked after", plain, "t")
        listed = server.data / "pg_turbine" / "pinned_databases"
        soon(lambda: len(listed.read_text().split()) == 1, KEEPER_SECONDS)
        bench.equal("a dropped database is forgotten", len(listed.read_text().split()), 1)


def partitions(bench, server):
    with server.connect(settings=CPU) as session:
        session.query("SELECT turbine.pin('pt', ARRAY['id'])")
        bench.equal("partitions", session.query(GSTORE),
                    [(name, "{id}", "gpu", "host", rows, "t", "0", "0", "0") for name, rows in (("pt_1", "19999"), ("pt_2", "20001"))])
        session.query("CREATE TABLE pt_3 PARTITION OF pt FOR VALUES FROM (1000000) TO (2000000)")
        session.query("INSERT INTO pt SELECT i, 1 FROM generate_series(1000000, 1030000) i")
        is_kept(bench, "a later one", session, "pt_3")
        bench.fails("a partition has no pin of its own", session, "SELECT turbine.unpin('pt_3')", "55000")
        session.query("SELECT turbine.cache_policy('pt_3', 'off')")
        bench.equal("but may have a policy", waiting(session, "pt_3"), None)
        session.query("SECURITY LABEL FOR pg_turbine ON TABLE pt_3 IS NULL")
        bench.equal("and is pinned again", waiting(session, "pt_3"), 0)
        session.query("ALTER TABLE pt DETACH PARTITION pt_3")
        bench.equal("detached", waiting(session, "pt_3"), None)
        session.query("SELECT turbine.unpin('pt')")
        session.query("DROP TABLE pt_3")
        session.query("CREATE TABLE old_way () INHERITS (t); INSERT INTO old_way SELECT * FROM ONLY t")
        session.query("SELECT turbine.pin('t')")
        bench.equal("a child is not", session.query("SELECT relation::text FROM turbine.gstore"), [("t",)])
        bench.equal("nor loaded", cached(session, "old_way"), 0)
        session.query("SELECT turbine.unpin('t'); DROP TABLE old_way")


def dump(bench, server):
    with server.connect(settings=CPU) as session:
        session.query("SELECT turbine.pin('t', ARRAY['k'], 'host'); SELECT turbine.pin('pt')")
        session.query("CREATE DATABASE again")
        bench.check("restored", server.restore(server.dump(), "again"))
        with server.connect("again", settings=CPU) as again:
            bench.equal("pins", again.query("SELECT relation::text, columns, device FROM turbine.gstore ORDER BY 1"),
                        [("pt_1", None, "gpu"), ("pt_2", None, "gpu"), ("t", "{k}", "host")])
            is_kept(bench, "loaded", again, "t")
        session.query("SELECT turbine.unpin('t'); SELECT turbine.unpin('pt')")
        soon(lambda: session.run("DROP DATABASE again").sqlstate is None, KEEPER_SECONDS)


def standby(bench, server):
    with server.connect(settings=CPU) as session:
        session.query("SELECT turbine.pin('t')")
        other = replica(server)
        try:
            other.start()
            other.wait_for_service()
            caught_up(server, other)
            with other.connect(settings=OFF) as reader:
                # A replica hears of a pin by the first that asks for the table, or for pins.
                bench.equal("the replica has the pin", reader.value("SELECT relation::text FROM turbine.gstore"), "t")
                # Counted by the primary: to read rows of the replica sets bits in their pages, which have to be written then.
                is_kept(bench, "the replica's", reader, "t", filled_blocks(session, "t"))
                session.query("INSERT INTO t SELECT i, 1, 1, 'new', date '2020-01-01' FROM generate_series(1, 5000) i")
                session.query("VACUUM t")
                session.query("CHECKPOINT")
                caught_up(server, other)
                # A replica caches all-visible blocks from their file.
                reader.query("CHECKPOINT")
                is_kept(bench, "what has come since", reader, "t", filled_blocks(session, "t"))
                session.query("SELECT turbine.unpin('t')")
                caught_up(server, other)
                bench.equal("unpinned", waiting(reader, "t"), None)
        finally:
            other.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    bench = Bench()
    with cluster.Cluster("pins") as server:
        server.create_extension("postgres")
        make(server)
        for scene in (pin, columns, refused, partitions, dump, standby):
            scene(bench, server)
    for scene in (stays, full, keeper):
        scene(bench)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(error)
        sys.exit(1)
