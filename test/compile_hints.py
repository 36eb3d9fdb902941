#!/usr/bin/env python3
"""compile_hints.py - a query that stays with PostgreSQL only because its programs were never compiled
is accelerated when it comes again, though nobody ran them.

A star join of cached columns, which takes PostgreSQL less than five compilations take: planned once it is
PostgreSQL's, and soon after a plan of ours. A query that is over in no time has nothing compiled. A service
that hangs does not hold planning up.
Must never: run the query before its plan has changed.
Called by: make test-compile-hints, test/run_all.py.
"""

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import OFF, Bench  # noqa: E402

SOON_S = 20
ROWS = 120000
TABLES = "abcd"


def star(aggregates):
    joins = " ".join(f"JOIN dim_{t} ON {t} = dim_{t}.id" for t in TABLES)
    wanted = " AND ".join(f"dim_{t}.g < 6" for t in TABLES)
    return f"SELECT dim_a.g, {aggregates} FROM fact {joins} WHERE {wanted} GROUP BY dim_a.g"


def is_ours(session, sql):
    return any("Custom Scan" in row[0] for row in session.query("EXPLAIN " + sql))


def becomes_ours(session, sql):
    deadline = time.monotonic() + SOON_S
    while not is_ours(session, sql):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def prepare(session):
    columns = ", ".join(f"(i * {7 + n}) % 1000 AS {t}" for n, t in enumerate(TABLES))
    session.query(f"CREATE TABLE fact AS SELECT {columns}, i AS v FROM generate_series(1, {ROWS}) i")
    session.query("CREATE TABLE small AS SELECT i AS id, i % 7 AS g FROM generate_series(1, 3000) i")
    for table in TABLES:
        session.query(f"CREATE TABLE dim_{table} AS SELECT i AS id, i % 7 AS g FROM generate_series(0, 999) i")
    session.query("VACUUM (FREEZE, ANALYZE)")
    for table in ["fact", "small"] + [f"dim_{t}" for t in TABLES]:
        session.query(f"SELECT turbine.cache_load('{table}')")


def main():
    bench = Bench()
    with cluster.Cluster("hints") as server:
        with server.connect() as session, server.connect(settings=OFF) as plain:
            session.query("SET pg_turbine.device = cpu")
            prepare(session)
            time.sleep(2)
            ran = session.value("SELECT value FROM turbine.stat_queries WHERE counter = 'queries'")
            sql = star("count(*), sum(v)")
            bench.equal("ours when planned for the first time", is_ours(session, sql), False)
            bench.equal("ours soon after", becomes_ours(session, sql), True)
            bench.equal("queries that ran", session.value("SELECT value FROM turbine.stat_queries WHERE counter = 'queries'"), ran)
            bench.check("its rows", answers.difference(plain.run(sql), session.run(sql)))

            session.query("SET geqo_threshold = 2")
            others = star("count(*), max(v), min(a)")
            bench.equal("ours soon after a genetic search", becomes_ours(session, others), True)
            bench.check("its rows", answers.difference(plain.run(others), session.run(others)))
            session.query("RESET geqo_threshold")

            quick = "SELECT g, count(*), sum(id) FROM small GROUP BY g"
            for _ in range(5):
                ours = is_ours(session, quick)
                time.sleep(0.2)
            bench.equal("ours, of what is over in no time", ours, False)

            service = server.service_pid()
            os.kill(service, signal.SIGSTOP)
            try:
                begin = time.monotonic()
                session.query("EXPLAIN " + star("count(*), min(v)"))
                taken = time.monotonic() - begin
            finally:
                os.kill(service, signal.SIGCONT)
            bench.check("planning beside a service that hangs", None if taken < 1 else f"took {taken:.1f} s")
    print(f"{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
