#!/usr/bin/env python3
"""several_gpus.py - a query on one GPU and the same query on all of them.

A fact table and three dimensions, or SSB's tables (`--ssb SCALE`), made by several sessions, cached. Each query runs on
each GPU alone, on all of them (pg_turbine.split_over_gpus = on), and as `auto` chooses, in turns: medians of the whole
query's time and of its kernels.
Answers are compared with those of PostgreSQL's own plan, or with `--no-postgres` with those of the first GPU. Then several
sessions at once. Writes several_gpus.json. Exit status 1 if an answer differed.
Called by hand, on a machine with several GPUs.
"""

import argparse
import json
import os
import re
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import report_tables  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402

WARM_UP = 3
TABLES = ("fact", "customers", "parts", "days")
FACT = "customer int, part int, day int, quantity int, price int, cost float8, discount float8"
VALUES = ("(i * 48271 % 1000003)::int, (i * 69621 % 200003)::int, (i % 2556)::int, (i * 16807 % 50)::int, "
          "(i * 39373 % 100003)::int, (i % 1013) / 8.0::float8, (i * 75 % 65537) / 65536.0::float8")
DIMENSIONS = """
    CREATE TABLE customers AS SELECT i AS id, i % 25 AS nation, i % 5 AS region FROM generate_series(0, 1000002) i;
    CREATE TABLE parts AS SELECT i AS id, i % 1000 AS brand, i % 5 AS maker FROM generate_series(0, 200002) i;
    CREATE TABLE days AS SELECT i AS id, 1992 + i / 365 AS year FROM generate_series(0, 2555) i;
    ALTER TABLE customers ADD PRIMARY KEY (id); ALTER TABLE parts ADD PRIMARY KEY (id); ALTER TABLE days ADD PRIMARY KEY (id)"""
QUERIES = {
    "filtered sum": "SELECT sum(price::bigint * quantity) FROM fact WHERE day < 1800 AND discount < 0.7 AND quantity < 40",
    "float sums": "SELECT sum(cost), sum(cost * discount), avg(discount), max(cost - discount) FROM fact",
    "one join": "SELECT year, sum(price::bigint) FROM fact JOIN days ON day = days.id GROUP BY year",
    "three joins": """SELECT year, nation, sum(price::bigint) FROM fact JOIN days ON day = days.id
        JOIN customers ON customer = customers.id JOIN parts ON part = parts.id
        WHERE region = 2 AND maker < 3 GROUP BY year, nation""",
    "two joins and more groups": """SELECT year, brand, sum(price::bigint), count(*) FROM fact JOIN days ON day = days.id
        JOIN parts ON part = parts.id WHERE maker = 1 GROUP BY year, brand""",
    "a million groups": "SELECT count(*), sum(s) FROM (SELECT customer, sum(price) AS s FROM fact GROUP BY customer) g",
    "first rows": "SELECT customer, part, price FROM fact ORDER BY price DESC, customer, part LIMIT 20",
}
FLOAT_COLUMNS = {"float sums": (0, 1, 2)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--loaders", type=int, default=os.cpu_count() or 2, help="sessions that make rows")
    parser.add_argument("--ssb", type=float, metavar="SCALE", help="SSB's tables and queries at this scale factor instead")
    parser.add_argument("--queries", help="by name, separated by commas; by default all")
    parser.add_argument("--show", default="", help="a query whose plans are printed")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5, help="of the sessions, for each choice of GPUs")
    parser.add_argument("--shared-buffers", default="2GB")
    parser.add_argument("--no-postgres", action="store_true")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    options = parser.parse_args()
    known = ssb.QUERIES if options.ssb else QUERIES
    options.queries = {name: known[name] for name in options.queries.split(",")} if options.queries else known
    return options


def load(server, options):
    def part(number):
        with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
            session.query(f"INSERT INTO fact SELECT {VALUES} FROM generate_series({number}::bigint, {options.rows - 1}, "
                          f"{options.loaders}) i")
    with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
        session.query(f"CREATE TABLE fact ({FACT})")
        session.query(DIMENSIONS)
        with ThreadPoolExecutor(options.loaders) as pool:
            list(pool.map(part, range(options.loaders)))


def cache(server, tables):
    def vacuum(table):
        with server.connect() as session:
            session.query(f"VACUUM ANALYZE {table}")
    with ThreadPoolExecutor(len(tables)) as pool:
        list(pool.map(vacuum, tables))
    with server.connect() as session:
        for table in tables:
            log(f"  {table}: {int(session.value(f'SELECT turbine.cache_load({table!r})')) / 1e9:.2f} GB cached")


def choices_of(session):
    gpus = [int(id) - 1 for id, in session.query("SELECT index FROM turbine.devices WHERE kind <> 'host' AND usable ORDER BY 1")]
    choices = {f"gpu{gpu}": {"pg_turbine.device": f"gpu{gpu}"} for gpu in gpus}
    choices["split"] = {"pg_turbine.device": "gpu", "pg_turbine.split_over_gpus": "on"}
    choices["auto"] = {"pg_turbine.device": "auto"}
    return choices


def kernels_ms(session, sql):
    """Of the GPU that worked longest."""
    plan = "\n".join(row for row, in session.query(f"EXPLAIN (ANALYZE, VERBOSE) {sql}"))
    found = re.findall(r"GPU\d+: rows=\d+ kernels=([0-9.]+)", plan) or re.findall(r"Stages:.*?compute=([0-9.]+)", plan)
    return max(map(float, found), default=0), plan


def measure(server, options):
    with server.connect() as session:
        choices = choices_of(session)
    sessions = {name: server.connect(settings=settings) for name, settings in choices.items()}
    plain = None if options.no_postgres else server.connect(settings={
        "pg_turbine.enabled": "off", "max_parallel_workers_per_gather": str(min(16, os.cpu_count() or 2))})
    results, different, plans = {}, 0, {}
    for query, sql in options.queries.items():
        expected = plain.query(sql) if plain else None
        times = {name: [] for name in choices}
        kernels = {name: [] for name in choices}
        for run in range(options.runs + WARM_UP):
            for name, session in sessions.items():
                begin = time.monotonic()
                rows = session.query(sql)
                ms = (time.monotonic() - begin) * 1000
                expected = expected or rows
                if not workload.same_answer(expected, rows, FLOAT_COLUMNS.get(query, ())):
                    different += 1
                    log(f"  {query}, {name}: another answer")
                if run >= WARM_UP:
                    times[name].append(ms)
                    ms, plans[f"{query}, {name}"] = kernels_ms(session, sql)
                    kernels[name].append(ms)
        results[query] = {name: (round(statistics.median(times[name]), 2), round(statistics.median(kernels[name]), 2))
                          for name in choices}
        if query == options.show:
            for name in choices:
                log(plans[f"{query}, {name}"])
        log(f"  {query}: " + ", ".join(f"{name} {ms:.2f} ({kernel:.2f})" for name, (ms, kernel) in results[query].items()))
    return results, different, plans


def crowd(server, settings, options):
    """Queries a second of several sessions at once."""
    sessions = [server.connect(settings=settings) for _ in range(options.sessions)]
    done, stop, queries = [0] * len(sessions), threading.Event(), list(options.queries.values())

    def run(number):
        turn = number
        while not stop.is_set():
            sessions[number].query(queries[turn % len(queries)])
            done[number] += 1
            turn += 1
    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(sessions))]
    for thread in threads:
        thread.start()
    time.sleep(1)
    before, begin = sum(done), time.monotonic()
    time.sleep(options.seconds)
    rate = (sum(done) - before) / (time.monotonic() - begin)
    stop.set()
    for thread in threads:
        thread.join()
    for session in sessions:
        session.close()
    return round(rate, 1)


def main():
    options = parse_arguments()
    settings = {"shared_buffers": options.shared_buffers, "max_wal_size": "64GB", "max_connections": "100",
                "max_parallel_workers": "16", "max_worker_processes": "32"}
    with cluster.Cluster("several-gpus-bench", settings=settings) as server:
        server.create_extension("postgres")
        log((f"SSB, scale factor {options.ssb:g}" if options.ssb else f"{options.rows / 1e6:g} M rows")
            + "; milliseconds of a query (of its kernels)")
        if options.ssb:
            report_tables.load_ssb(server, options.ssb)
        else:
            load(server, options)
        cache(server, [workload.table_name(table) for table in ssb.TABLES] if options.ssb else TABLES)
        results, different, plans = measure(server, options)
        rates = {}
        with server.connect() as session:
            choices = choices_of(session)
        for name, choice in {**choices, "gpu": {"pg_turbine.device": "gpu"}}.items():
            rates[name] = crowd(server, choice, options)
        log(f"  {options.sessions} sessions, queries a second: " + ", ".join(f"{name} {rate}" for name, rate in rates.items()))
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "several_gpus.json").write_text(json.dumps(
        {"settings": vars(options), "results": results, "sessions": rates, "plans": plans}, indent=1))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
