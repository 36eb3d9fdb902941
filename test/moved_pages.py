#!/usr/bin/env python3
"""moved_pages.py - blocks that change between the look at the map and their reading.

A rogue service (rogue_service.py) holds the first chunk of a query while another
session changes a block of it and writes it to the file, so that the service reads,
and decodes ahead, what the query must not see. The query is to answer as PostgreSQL
did before, from blocks read again, and to say that it did. Each query is asked on
a table whose other blocks are not touched: what was read of those must not be lost.
Must never: take a query that was not held, or found nothing to read again, for one
that passed.
Called by: test/run_all.py, mutants.py.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
from protocol import CHUNK, Bench, make_server  # noqa: E402

# What of the pages is wanted after they were decoded: nothing, texts, the rows.
QUERIES = {
    "sum": "SELECT count(*), sum(price), max(id) FROM t",
    "groups": "SELECT kind, count(*), sum(price), min(made) FROM t GROUP BY kind",
    "join": "SELECT u.kind, count(*), sum(t.price) FROM t JOIN u ON u.id = t.kind GROUP BY u.kind",
    "texts": "SELECT name, count(*), max(memo) FROM t GROUP BY name",
    "rows": "SELECT id, name FROM t WHERE price >= 0",
}
INNER = "CREATE TABLE u AS SELECT id, id % 3 AS kind FROM generate_series(0, 6) id"
# Leaves its pages in the slots, so that pages which nobody has put there are not by chance
# those of an earlier query.
OTHER = """CREATE TABLE other AS
           SELECT id + 5000000 AS id, kind + 1 AS kind, name || '+' AS name, price + 1 AS price, share, made, memo FROM t"""
FILL_SLOTS = "SELECT id FROM other WHERE price >= 0"
# The new row goes where the free space map says: into a block that was all-visible.
CHANGES = {
    "insert": ("INSERT INTO t SELECT 1000000, 1, 'new', 77, 1, NULL, 'x'", "DELETE FROM t WHERE id = 1000000"),
    "update": ("UPDATE t SET price = price + 1000 WHERE id % 3000 = 1", "UPDATE t SET price = price - 1000 WHERE id % 3000 = 1"),
    "delete": ("DELETE FROM t WHERE id = 4000",
               "INSERT INTO t SELECT i, i % 7, 'name ' || i % 40, i / 8.0, i / 16.0, date '2020-01-01' + i % 700, md5(i::text) "
               "FROM generate_series(4000, 4000) i"),
}


def settle(session):
    """Blocks all-visible, with room in them, and in the file."""
    session.query("VACUUM (ANALYZE) t")
    session.query("CHECKPOINT")


def counter(session, name):
    return int(session.value(f"SELECT coalesce(sum(value), 0) FROM turbine.stat_queries WHERE counter = '{name}'"))


def held(bench, sql, change, file):
    """The answer to a query that is held while the change is made and written."""
    file.unlink(missing_ok=True)
    tables_before = sql.count("JOIN")  # whose chunk comes first
    case = bench.order({"to": "daemon", "message": CHUNK, "do": "hold_until", "file": str(file), "nth": tables_before})
    bench.session.send(sql)
    deadline = time.monotonic() + 10
    while not bench.took_place(case) and time.monotonic() < deadline:
        time.sleep(0.002)
    bench.witness.query(change)
    bench.witness.query("CHECKPOINT")
    file.touch()
    outcome = bench.session.finish()
    return outcome, bench.took_place(case)


def check(bench, query, change):
    """A complaint, or None."""
    do, undo = CHANGES[change]
    settle(bench.witness)
    expected = bench.witness.run(QUERIES[query])
    before = counter(bench.witness, "blocks_moved")
    bench.session.query(FILL_SLOTS)
    outcome, took_place = held(bench, QUERIES[query], do, bench.server.directory / "changed")
    moved = counter(bench.witness, "blocks_moved") - before
    bench.witness.query(undo)
    complaint = answers.difference(expected, outcome)
    if complaint is None and not took_place:
        complaint = "the query was not held"
    if complaint is None and moved == 0:
        complaint = "no block was read again"
    return complaint


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turbined", help="the program, if not the one installed")
    parser.add_argument("--compiler", help="its turbine-compiler")
    options = parser.parse_args()
    with make_server(options) as server:
        bench = Bench(server)
        bench.prepare()  # whose session reads all from pages
        bench.witness.query(INNER)
        bench.witness.query(OTHER)
        bench.witness.query("VACUUM (ANALYZE) u, other")
        for query in QUERIES:
            for change in CHANGES:
                bench.tell(f"{query}, {change}", check(bench, query, change))
        bench.witness.close()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
