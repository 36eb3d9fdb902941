#!/usr/bin/env python3
"""neighbours.py - pg_turbine beside other extensions: every order in which the libraries are loaded, and their SQL.

`orders`: pg_turbine, pg_stat_statements, auto_explain and pgaudit share hooks, so all 24 orders are tried, with pg_cron
and pg_partman's worker behind them and, every other time, before them. In each, queries run on a device, give
PostgreSQL's rows, and each neighbour has seen them as it would have without us. `refused`: what is loaded without
shared_preload_libraries. `objects`: functions, types and tables of hll, orafce, PostGIS, pg_partman and pgvector in accelerated
queries. `cron`: a job of pg_cron runs on a device.
Must never: leave a neighbour out because its package is missing; that is a failure.
Called by: make test-neighbours, test/run_all.py. Its packages: tools/install_deps.sh neighbours. Options: --only.
"""

import argparse
import itertools
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402

EXTENSIONS = ("pg_stat_statements", "pgaudit", "pg_cron", "hll", "orafce", "postgis")
# These set hooks that pg_turbine sets too.
SHARE_HOOKS = ("pg_turbine", "pg_stat_statements", "auto_explain", "pgaudit")
WORKERS = ("pg_cron", "pg_partman_bgw")
SETTINGS = {
    "pg_stat_statements.track": "all", "pg_stat_statements.track_planning": "on",
    "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on", "auto_explain.log_nested_statements": "on",
    "pgaudit.log": "read,write", "pgaudit.log_relation": "on",
    "cron.database_name": "postgres", "cron.use_background_workers": "on",
    "pg_partman_bgw.interval": "3600", "pg_partman_bgw.dbname": "postgres", "pg_partman_bgw.role": "postgres",
    "max_worker_processes": "24",
    # orafce's functions.
    "search_path": "public, oracle",
}
START_SECONDS = 60
PARTMAN_STARTED = b"dynamic background worker initialized"
# A job's first run is at the beginning of a minute.
CRON_SECONDS = 150
# While tables and extensions are made. PostGIS refuses to be installed while pgaudit writes.
QUIET = {**OFF, "pgaudit.log": "none", "auto_explain.log_min_duration": "-1"}

TABLES = """
CREATE SCHEMA partman;
CREATE EXTENSION pg_partman SCHEMA partman;
CREATE TABLE sales (id int, k int, price numeric(12,2), day date, name text, note text);
INSERT INTO sales SELECT i, i % 97, i / 8.0, date '2024-01-01' + i % 366, 'name ' || i % 50, NULLIF('n' || i % 3, 'n0')
  FROM generate_series(1, 50000) i;
CREATE TABLE shops (k int PRIMARY KEY, town text, spot geometry(Point, 4326));
INSERT INTO shops SELECT k, 'town ' || k % 10, ST_SetSRID(ST_MakePoint(8 + k / 100.0, 50 + k % 13 / 10.0), 4326)
  FROM generate_series(0, 96) k;
CREATE INDEX ON shops USING gist (spot);
CREATE TABLE visitors (day date, seen hll);
INSERT INTO visitors SELECT day, hll_add_agg(hll_hash_integer(id)) FROM sales GROUP BY day;
CREATE TABLE measured (id int, taken date NOT NULL, v int) PARTITION BY RANGE (taken);
SELECT partman.create_parent('public.measured', 'taken', {partitioning}, p_start_partition := '2024-01-01');
CREATE TABLE public.cron_result (town text, n bigint, total numeric);
INSERT INTO measured SELECT i, date '2024-01-01' + i % 366, i % 11 FROM generate_series(1, 30000) i;
SELECT partman.run_maintenance('public.measured');
VACUUM (ANALYZE);
"""
# What pg_partman calls partitions by month: until 4, and since.
PARTITIONING = ("'native', 'monthly'", "'1 month'")
# Debian has pgvector since 13.
VECTORS = """
CREATE EXTENSION vector;
CREATE TABLE items (id int PRIMARY KEY, k int, v vector(3));
INSERT INTO items SELECT i, i % 97, format('[%s,%s,%s]', i % 11, i % 13, i % 17)::vector FROM generate_series(1, 20000) i;
VACUUM (ANALYZE);
"""
# Every statement has a part that a device takes, beside what a neighbour adds.
STATEMENTS = {
    "hll": (
        "SELECT k, hll_cardinality(hll_add_agg(hll_hash_integer(id))) FROM sales WHERE price > 100 GROUP BY k",
        "SELECT hll_cardinality(hll_union_agg(seen)) FROM visitors WHERE day > '2024-02-01'",
        "SELECT s.k, count(*), max(#v.seen) FROM sales s JOIN visitors v USING (day) WHERE s.k < 20 GROUP BY s.k"),
    "orafce": (
        "SELECT nvl(note, 'none'), count(*), sum(price) FROM sales GROUP BY 1",
        "SELECT k, sum(price), max(oracle.add_months(day, 2)) FROM sales GROUP BY k",
        "SELECT oracle.last_day(day::oracle.date), count(*) FROM sales WHERE k < 50 GROUP BY 1",
        "SELECT oracle.substr(name, 1, 6), count(*), avg(price) FROM sales WHERE price > 10 GROUP BY 1",
        "SELECT k, oracle.decode(k % 3, 0, 'zero', 1, 'one', 'many'), count(*) FROM sales GROUP BY 1, 2",
        "SELECT k, listagg(DISTINCT nvl(note, '-')) FROM sales WHERE k < 5 GROUP BY k",
        "SELECT dummy, (SELECT count(*) FROM sales WHERE k > 3) FROM dual"),
    "postgis": (
        "SELECT h.town, count(*), sum(s.price) FROM sales s JOIN shops h USING (k) "
        "WHERE ST_DWithin(h.spot, ST_SetSRID(ST_MakePoint(8.3, 50.4), 4326), 0.4) GROUP BY h.town",
        "SELECT h.town, ST_AsText(ST_Centroid(ST_Collect(h.spot ORDER BY h.k))), count(*) FROM shops h GROUP BY h.town",
        "SELECT h.k, ST_AsText(h.spot), t.n FROM shops h JOIN (SELECT k, count(*) AS n FROM sales GROUP BY k) t USING (k)",
        "SELECT ST_GeometryType(spot), count(*) FROM shops GROUP BY 1",
        "SELECT a.k, b.k FROM shops a JOIN shops b ON ST_DWithin(a.spot, b.spot, 0.05) AND a.k < b.k",
        "SELECT auth_name, count(*), max(srid) FROM spatial_ref_sys GROUP BY auth_name"),
    "pg_partman": (
        "SELECT v, count(*), min(taken), max(taken) FROM measured GROUP BY v",
        "SELECT count(*), sum(v) FROM measured WHERE taken BETWEEN '2024-03-10' AND '2024-05-02'",
        "SELECT m.v, sum(s.price) FROM measured m JOIN sales s USING (id) GROUP BY m.v",
        "SELECT parent_table, control, partition_interval FROM partman.part_config",
        "SELECT * FROM partman.check_default()"),
    "pg_stat_statements": (
        "SELECT count(*) > 0 FROM pg_stat_statements",
        "SELECT k, count(*) FROM sales WHERE k IN (SELECT 3 FROM pg_stat_statements) GROUP BY k"),
    "pg_cron": (
        "SELECT count(*) FROM cron.job",),
    "pgvector": (
        "SELECT k, count(*), sum(id) FROM items WHERE v <-> '[3,4,5]' < 6 GROUP BY k",
        "SELECT s.k, count(*), min(i.v <-> '[1,2,3]') FROM sales s JOIN items i USING (id) WHERE s.price > 50 GROUP BY s.k",
        "SELECT id, v FROM items WHERE k = 5 ORDER BY v <-> '[1,1,1]', id LIMIT 7",
        "SELECT k % 5, avg(v), count(*) FROM items GROUP BY 1"),
}
# At least as many of a neighbour's statements have a node of ours in their plan.
LEAST_OFFLOADED = {"hll": 3, "orafce": 6, "postgis": 3, "pg_partman": 3, "pg_stat_statements": 1, "pg_cron": 0,
                   "pgvector": 2}
SEEN = "SELECT k, count(*), sum(price) FROM sales WHERE price > {} GROUP BY k"
JOB = ("INSERT INTO public.cron_result SELECT h.town, count(*), sum(s.price) FROM public.sales s JOIN public.shops h USING (k) "
       "GROUP BY h.town")


def has_vectors():
    return cluster.has_extension("vector")


def run_all(session, script):
    for statement in script.split(";\n"):
        if statement.strip():
            session.query(statement)


def libraries(order, number):
    """A value of shared_preload_libraries."""
    return ",".join((*WORKERS, *order) if number % 2 else (*order, *WORKERS))


def plan_of(session, sql):
    return "\n".join(row[0] for row in session.query(f"EXPLAIN (COSTS OFF) {sql}"))


def logged_plan(text, sql):
    """The last entry of auto_explain's in a piece of the log about this statement, or nothing."""
    found = [entry for entry in text.split("LOG:  duration: ")[1:] if f"Query Text: {sql}" in entry]
    return found[-1].partition(" LOG:  ")[0] if found else ""


def restart(server, preload):
    """With another order of libraries."""
    server.stop()
    with open(server.data / "postgresql.conf", "a", encoding="utf-8") as conf:
        conf.write(f"shared_preload_libraries = '{preload}'\n")
    log_starts = server.logfile.stat().st_size
    server.start()
    # pg_partman 4.7 does not hear a shutdown before its first worker has started, with or without us; 5 does.
    deadline = time.monotonic() + START_SECONDS
    while server.partman < 5 and "pg_partman" in preload and PARTMAN_STARTED not in server.logfile.read_bytes()[log_starts:]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"pg_partman's worker did not start; the log ends:\n{server.log_tail()}")
        time.sleep(0.05)


def check_order(bench, server, number, name):
    """One query, and what each neighbour says of it."""
    sql = SEEN.format(1000 + number)
    log_starts = server.logfile.stat().st_size
    with server.connect(settings=OFF) as plain:
        expected = plain.run(sql)
    with server.connect(settings=FORCED) as session:
        session.query("SELECT pg_stat_statements_reset()")
        found = session.run(sql)
        bench.equal(f"{name}, an error", found.sqlstate, "00000")
        bench.check(f"{name}, rows", answers.difference(expected, found))
        bench.check(f"{name}, on a device", None if "GpuPreAgg" in plan_of(session, sql) else plan_of(session, sql))
        statement = sql.format(number).replace(str(1000 + number), "$1")
        bench.equal(f"{name}, pg_stat_statements", session.query(
            f"SELECT calls, rows, plans, total_exec_time > 0 FROM pg_stat_statements WHERE query = '{statement}'"), [("1", "97", "1", "t")])
        failing = session.run("SELECT k / (k - k) FROM sales")
        bench.equal(f"{name}, an error of PostgreSQL's", failing.sqlstate, "22012")
        bench.equal(f"{name}, the session goes on", session.value("SELECT count(*) FROM sales"), "50000")
    text = server.logfile.read_bytes()[log_starts:].decode("utf-8", "replace")
    shown = logged_plan(text, sql)
    seen = "GpuPreAgg" in shown and re.search(r"actual time=.*rows=97", shown)
    bench.check(f"{name}, auto_explain", None if seen else shown or "no entry")
    # Both runs, PostgreSQL's and ours.
    audited = [line for line in text.splitlines() if "AUDIT: SESSION," in line and "READ,SELECT,TABLE,public.sales," in line and
               line.partition("public.sales,")[2].strip('"').startswith(sql)]
    bench.equal(f"{name}, pgaudit", len(audited), 2)
    bench.equal(f"{name}, crashes", re.findall(r"terminated by signal.*|PANIC.*", text), [])


def orders(bench, server):
    for number, order in enumerate(itertools.permutations(SHARE_HOOKS)):
        preload = libraries(order, number)
        restart(server, preload)
        server.wait_for_service()
        check_order(bench, server, number, preload)


def refused(bench, server):
    """A session that loads the library by itself gets an error that says what to do, whichever neighbours are there."""
    restart(server, "pg_stat_statements,auto_explain,pgaudit,pg_cron")
    with server.connect() as session:
        outcome = session.run("LOAD 'pg_turbine'")
        bench.check("LOAD", None if outcome.error and "shared_preload_libraries" in str(outcome.error.fields) else outcome.error)
        bench.equal("queries run", session.value("SELECT count(*) FROM sales"), "50000")


def objects(bench, server):
    """Each neighbour's statements: PostgreSQL's plans, forced ones, and at the costs' choice."""
    with (server.connect(settings=OFF) as plain, server.connect(settings=FORCED) as forced, server.connect() as usual):
        for neighbour, statements in STATEMENTS.items():
            if neighbour == "pgvector" and not has_vectors():
                print("  left out: pgvector, which this release of Debian lacks", flush=True)
                continue
            offloaded = 0
            for sql in statements:
                expected = plain.run(sql)
                bench.check(f"{neighbour}, {sql}, before", expected.error)
                if expected.error:
                    continue
                bench.check(f"{neighbour}, {sql}", answers.difference(expected, forced.run(sql), floats=True))
                bench.check(f"{neighbour}, {sql}, by costs", answers.difference(expected, usual.run(sql), floats=True))
                offloaded += "Custom Scan (Gpu" in plan_of(forced, sql)
            bench.check(f"{neighbour}, on devices", None if offloaded >= LEAST_OFFLOADED[neighbour] else
                        f"{offloaded} of {len(statements)} statements, expected {LEAST_OFFLOADED[neighbour]}")


def cron(bench, server):
    """A job runs in a background worker, with the database's settings."""
    with server.connect(settings=OFF) as session:
        for key, value in FORCED.items():
            session.query(f"ALTER DATABASE postgres SET {key} = '{value}'")
        expected = session.run("SELECT h.town, count(*), sum(s.price) FROM sales s JOIN shops h USING (k) GROUP BY h.town")
        log_starts = server.logfile.stat().st_size
        session.query(f"SELECT cron.schedule('report', '* * * * *', $${JOB}$$)")
        deadline = time.monotonic() + CRON_SECONDS
        while time.monotonic() < deadline and session.value("SELECT count(*) FROM cron_result") == "0":
            time.sleep(0.5)
        session.query("SELECT cron.unschedule('report')")
        details = session.query("SELECT status, return_message FROM cron.job_run_details")
        bench.check("the job's rows", answers.difference(expected, session.run(
            "SELECT DISTINCT town AS town, n AS count, total AS sum FROM cron_result")))
        bench.check("the job's end", None if any(row[0] == "succeeded" for row in details) else details)
        for key in FORCED:
            session.query(f"ALTER DATABASE postgres RESET {key}")
    text = server.logfile.read_bytes()[log_starts:].decode("utf-8", "replace")
    shown = logged_plan(text, JOB)
    bench.check("the job ran on a device", None if "Custom Scan (Gpu" in shown else shown or "auto_explain has no entry")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated check names")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else []
    bench = Bench()
    settings = {**SETTINGS, "shared_preload_libraries": ",".join((*SHARE_HOOKS[1:], *WORKERS))}
    with cluster.Cluster("neighbours", settings=settings) as server:
        with server.connect(settings=QUIET) as session:
            for extension in EXTENSIONS:
                session.query(f"CREATE EXTENSION {extension}")
            partman = session.value("SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'")
            server.partman = int(partman.split(".")[0])
            run_all(session, TABLES.format(partitioning=PARTITIONING[server.partman > 4]))
            if has_vectors():
                run_all(session, VECTORS)
        for check in (objects, cron, orders, refused):
            if not only or check.__name__ in only:
                started, before = time.monotonic(), bench.failed
                check(bench, server)
                print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, "
                      f"{time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
