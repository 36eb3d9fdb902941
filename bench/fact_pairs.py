#!/usr/bin/env python3
"""fact_pairs.py - two fact tables joined many to many, with dimensions that filter either.

Orders and visits of the same customers, some of whom have very many of both, joined by
customer, or by customer and day; dimensions of orders, of visits or of both leave few of
their rows. Each query is run by PostgreSQL with 2 workers, by us with all tables but the
largest built by themselves (the chain), and by us in the shape that costs choose; the
three take turns, and their answers are compared. Writes fact_pairs.json.
Exit status 1 if an answer differed.
Called by: make bench-fact-pairs [BENCH_ARGS=...].
"""

import argparse
import contextlib
import json
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from foundation import processor  # noqa: E402

TABLES = (
    "products(id int PRIMARY KEY, brand int, name text)",
    "brands(id int PRIMARY KEY, label text)",
    "campaigns(id int PRIMARY KEY, channel int)",
    "customers(id int PRIMARY KEY, region int)",
    "days(id int PRIMARY KEY, month int)",
    "orders(id int, customer int, day int, product int, amount int)",
    "visits(id int, customer int, day int, campaign int, seconds int)",
)
# A random number squared: the first customers have most of the rows.
FILL = (
    "products SELECT i, i % 500, 'product ' || i FROM generate_series(0, 49999) i",
    "brands SELECT i, 'brand ' || i FROM generate_series(0, 499) i",
    "campaigns SELECT i, i % 100 FROM generate_series(0, 1999) i",
    "customers SELECT i, i % 25 FROM generate_series(0, {customers} - 1) i",
    "days SELECT i, i / 30 FROM generate_series(0, 364) i",
    "orders SELECT i, (random() ^ 2 * {customers})::int % {customers}, (random() * 364)::int, (random() * 49999)::int,"
    " i % 1000 FROM generate_series(1, {rows}) i",
    "visits SELECT i, (random() ^ 2 * {customers})::int % {customers}, (random() * 364)::int, (random() * 1999)::int,"
    " i % 600 FROM generate_series(1, {rows} * 4 / 5) i",
)
BY_CUSTOMER = "FROM orders o JOIN visits v ON o.customer = v.customer"
BY_DAY = f"{BY_CUSTOMER} AND o.day = v.day"
PRODUCTS, CAMPAIGNS = "JOIN products p ON p.id = o.product", "JOIN campaigns c ON c.id = v.campaign"
SUMS = "count(*), sum(o.amount), sum(v.seconds)"
QUERIES = {
    "both filtered": f"SELECT {SUMS} {BY_CUSTOMER} {PRODUCTS} {CAMPAIGNS} WHERE p.brand < 5 AND c.channel = 7",
    "visits filtered": f"SELECT {SUMS} {BY_CUSTOMER} {CAMPAIGNS} WHERE c.channel = 7",
    "orders filtered": f"SELECT {SUMS} {BY_CUSTOMER} {PRODUCTS} WHERE p.brand < 5",
    "by day, both": f"SELECT c.channel, {SUMS} {BY_DAY} {PRODUCTS} {CAMPAIGNS} WHERE p.brand < 50 AND c.channel < 10"
                    " GROUP BY c.channel",
    "by day, visits": f"SELECT o.day, {SUMS} {BY_DAY} {CAMPAIGNS} WHERE c.channel < 10 GROUP BY o.day",
    "shared": f"SELECT k.region, {SUMS} {BY_CUSTOMER} JOIN customers k ON k.id = o.customer {CAMPAIGNS}"
              " WHERE k.region < 3 AND c.channel = 7 GROUP BY k.region",
    "snowflake": f"SELECT b.label, {SUMS} {BY_CUSTOMER} {PRODUCTS} JOIN brands b ON b.id = p.brand {CAMPAIGNS}"
                 " JOIN days d ON d.id = v.day WHERE b.id BETWEEN 20 AND 24 AND c.channel < 3 AND d.month = 5"
                 " GROUP BY b.label",
    "orders, visits or none": f"SELECT {SUMS}, count(v.id) FROM orders o JOIN customers k ON k.id = o.customer LEFT JOIN visits v"
                              " ON v.customer = o.customer AND v.day < o.day WHERE k.region = 3 AND o.day < 9",
    "orders without visits": "SELECT count(*), sum(o.amount) FROM orders o JOIN customers k ON k.id = o.customer WHERE k.region = 3"
                             " AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.customer = o.customer AND v.day = o.day"
                             " AND v.campaign < 1000)",
    "nothing filtered": f"SELECT count(*), sum(o.amount) {BY_DAY}",
}
PLANS = (
    workload.PLAIN_PARALLEL,
    workload.Plan("chain", {"pg_turbine.debug_join_shape": "chain", "pg_turbine.debug_force_offload": "on"}),
    workload.Plan("costs", {}),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000000, help="of orders; visits are four fifths of that")
    parser.add_argument("--customers", type=int, default=50000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--query", default="", help="one of them alone")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


def load(server, options):
    with server.connect() as session:
        session.query("SELECT setseed(0.5)")
        for table in TABLES:
            session.query(f"CREATE TABLE {table} WITH (autovacuum_enabled = off)")
        for rows in FILL:
            session.query("INSERT INTO " + rows.format(rows=options.rows, customers=options.customers))
            session.query(f"VACUUM (ANALYZE) {rows.split()[0]}")
        session.query("CHECKPOINT")


def shape_of(session, sql):
    """The streaming table and the joins that EXPLAIN shows."""
    lines = session.query(f"EXPLAIN (COSTS off) {sql}")
    return [line[0].strip() for line in lines if "Outer Scan:" in line[0] or "Depth " in line[0]]


def measure(server, sql, runs):
    """{label: median in ms}, whether all answers agree, and the shape that costs choose."""
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(server.connect()) for _ in PLANS]
        answers, times = [], [[] for _ in PLANS]
        for session, plan in zip(sessions, PLANS, strict=True):
            workload.apply(session, plan)
            answers.append(session.query(sql))
            session.query(sql)
        for _ in range(runs):
            for session, taken in zip(sessions, times, strict=True):
                taken.append(workload.timed(session, sql)[0])
        agree = all(workload.same_answer(answers[0], answer) for answer in answers)
        medians = {plan.label: round(statistics.median(taken), 1) for plan, taken in zip(PLANS, times, strict=True)}
        return medians, agree, shape_of(sessions[-1], sql)


def main():
    options = parse_arguments()
    results, different = {}, 0
    with cluster.Cluster("fact_pairs", settings={"shared_buffers": "2GB", "work_mem": "256MB"}) as server:
        log(f"loading {options.rows} orders")
        load(server, options)
        for name, sql in QUERIES.items():
            if options.query not in ("", name):
                continue
            medians, agree, shape = measure(server, sql, options.runs)
            different += not agree
            results[name] = {**medians, "shape": shape}
            log(f"  {name}: " + ", ".join(f"{label} {ms}" for label, ms in medians.items())
                + f"  {'; '.join(shape)}" + ("" if agree else "  ANSWERS DIFFER"))
    means = {plan.label: round(math.exp(statistics.mean(math.log(result[plan.label]) for result in results.values())), 1)
             for plan in PLANS}
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fact_pairs.json").write_text(json.dumps(
        {"processor": processor(), "settings": vars(options), "results": results, "geometric means": means}, indent=1))
    log(f"geometric means: {means}; {processor()}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
