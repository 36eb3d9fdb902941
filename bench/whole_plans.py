#!/usr/bin/env python3
"""whole_plans.py - queries with a part that devices lack, beside PostgreSQL with parallel workers.

One function that is not in the catalogue, as a grouping key, in a filter of the large table or of a joined one, in the
select list; constant and repeated keys; orders and HAVING over what is computed of aggregates; long IN lists; grouping sets,
subqueries, windows by months and days, joins many to many. Over the
tables of a shop (random_reports.py), vacuumed and warm, at default costs: medians, the two taking turns, answers
compared. Tells which nodes of ours each plan has. Writes whole_plans.json and whole_plans.md. Exit status 1 if an answer differs.
Called by: make whole-plans [BENCH_ARGS=...].
"""

import argparse
import json
import math
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import random_reports  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from foundation import processor  # noqa: E402
from never_slower import same_rows  # noqa: E402

_CUSTOMERS = "sales s JOIN customers c ON s.customer_id = c.customer_id"
_ITEMS = "sales s JOIN items i ON s.item_id = i.item_id"
_STORES = "sales s JOIN stores t ON s.store_id = t.store_id"
_GENERATOR = random.Random(1)


def _numbers(count, most):
    return ", ".join(map(str, sorted(_GENERATOR.sample(range(1, most), count))))


FUNCTIONS = """CREATE FUNCTION band(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 / 10; END';
CREATE FUNCTION tidy(text) RETURNS text LANGUAGE sql STABLE AS $$ SELECT initcap(regexp_replace($1, '[^a-z]', '', 'g')) $$;
CREATE FUNCTION is_busy(date) RETURNS bool LANGUAGE plpgsql STABLE AS 'BEGIN RETURN extract(dow FROM $1) IN (5, 6); END'"""

# kind: queries. {list:N} is a list of N numbers of items.
QUERIES = {
    "key": (
        "SELECT regexp_replace(s.note, '[0-9]+', '#', 'g') AS o, count(*), sum(s.quantity) FROM sales s GROUP BY 1",
        "SELECT left(md5(s.note), 2) AS o, count(*), avg(s.price) FROM sales s GROUP BY 1",
        "SELECT to_char(s.day, 'YYYY-MM') AS o, count(*), sum(s.price) FROM sales s GROUP BY 1 ORDER BY 1",
        "SELECT to_char(s.day, 'Dy') AS o, s.status, count(*), max(s.sold_at) FROM sales s GROUP BY 1, 2",
        "SELECT initcap(s.status) AS o, sum(s.price * s.quantity) FROM sales s WHERE s.quantity < 25 GROUP BY 1",
        "SELECT band(s.quantity) AS o, count(*), avg(s.quantity) FROM sales s GROUP BY 1 HAVING count(*) > 10",
        "SELECT tidy(s.status) AS o, s.online, count(*), min(s.day) FROM sales s GROUP BY 1, 2",
        "SELECT md5(s.store_id::text) AS o, count(*) AS n FROM sales s GROUP BY 1 ORDER BY n DESC, o LIMIT 10",
        "SELECT DISTINCT to_char(s.day, 'IYYY-IW') FROM sales s WHERE s.online",
        "SELECT count(DISTINCT reverse(s.status)), max(s.day) FROM sales s WHERE s.quantity > 3",
        "SELECT to_char(s.day, 'YYYY') AS y, initcap(s.status) AS o, count(*) FROM sales s GROUP BY ROLLUP (1, 2)",
        "SELECT s.status, upper(reverse(s.status)), count(*), sum(s.quantity) FROM sales s GROUP BY s.status"),
    "key over a join": (
        f"SELECT to_char(s.day, 'YYYY-MM') AS o, c.segment, count(*), sum(s.quantity) FROM {_CUSTOMERS} GROUP BY 1, 2",
        f"SELECT tidy(i.category) AS o, count(*), sum(s.price) FROM {_ITEMS} GROUP BY 1",
        f"SELECT format('%s/%s', i.brand, s.status) AS o, count(*) FROM {_ITEMS} WHERE i.size < 20 GROUP BY 1",
        f"SELECT band(t.area) AS o, sum(s.quantity) FROM {_STORES} GROUP BY 1 ORDER BY 1"),
    "filter of the large table": (
        "SELECT count(*), sum(s.price) FROM sales s WHERE s.note ~ '^[0-4][a-f]'",
        "SELECT s.status, count(*), avg(s.quantity) FROM sales s WHERE s.note ~ '^[0-4][a-f]' GROUP BY 1",
        "SELECT s.store_id, count(*) FROM sales s WHERE to_char(s.day, 'DD') = '07' GROUP BY 1",
        "SELECT sum(s.price) FROM sales s WHERE is_busy(s.day) AND s.quantity > 10",
        "SELECT s.status, count(*) FROM sales s WHERE s.status SIMILAR TO '(paid|open)%' GROUP BY 1",
        "SELECT s.day, sum(s.quantity) FROM sales s WHERE md5(s.status) > '8' GROUP BY 1 ORDER BY 1",
        f"SELECT c.segment, count(*) FROM {_CUSTOMERS} WHERE initcap(s.status) = 'Paid' GROUP BY 1",
        f"SELECT i.brand, sum(s.quantity) FROM {_ITEMS} WHERE is_busy(s.day) GROUP BY 1",
        f"SELECT i.category, count(*) FROM {_ITEMS} WHERE s.note ~ 'a[0-9]b' AND i.size < 9 GROUP BY 1",
        f"SELECT count(*) FROM {_ITEMS} WHERE md5(s.sale_id::text) < '2'"),
    "filter of a joined table": (
        f"SELECT s.status, count(*), sum(s.price) FROM {_CUSTOMERS} WHERE c.customer_name ~ '7[0-3]$' GROUP BY 1",
        f"SELECT i.brand, sum(s.quantity) FROM {_ITEMS} WHERE i.item_name ~ '^[a-f]' GROUP BY 1",
        f"SELECT s.day, count(*) FROM {_ITEMS} WHERE tidy(i.category) = 'Category' GROUP BY 1",
        f"SELECT t.region_id, sum(s.price) FROM {_STORES} WHERE to_char(t.opened, 'MM') = '03' GROUP BY 1",
        f"SELECT count(*) FROM {_CUSTOMERS} JOIN items i ON s.item_id = i.item_id WHERE md5(c.city) < '8' AND i.item_name ~ '1'",
        f"SELECT s.sale_id, c.city FROM {_CUSTOMERS} WHERE c.customer_name ~ '77' AND s.quantity > 48 AND s.day < date '2021-03-01'"),
    "argument and FILTER": (
        "SELECT count(*) FILTER (WHERE s.note ~ '^[0-4]'), sum(s.price) FROM sales s WHERE s.online",
        "SELECT s.day, count(*) FILTER (WHERE initcap(s.status) = 'Paid'), sum(s.price) FILTER (WHERE s.status ~ 'pen$') FROM sales s "
        "GROUP BY 1",
        "SELECT s.store_id, sum(length(initcap(s.status))), avg(s.quantity) FROM sales s GROUP BY 1",
        "SELECT s.status, max(to_char(s.day, 'Dy')), sum(band(s.quantity)) FROM sales s GROUP BY 1",
        "SELECT to_char(s.day, 'YYYY') AS y, max(md5(s.status)), count(*) FROM sales s GROUP BY 1",
        f"SELECT i.brand, max(tidy(i.category)), sum(s.quantity) FROM {_ITEMS} GROUP BY 1",
        f"SELECT c.segment, count(*) FILTER (WHERE c.city ~ '[0-4]$'), sum(s.price) FROM {_CUSTOMERS} GROUP BY 1"),
    "constant and repeated keys": (
        "SELECT 'all' AS o, s.status, count(*), sum(s.price) FROM sales s GROUP BY 1, 2",
        "SELECT s.status, s.status AS again, count(*) FROM sales s GROUP BY 1, 2",
        "SELECT 1 AS one, count(*), sum(s.quantity) FROM sales s GROUP BY 1"),
    "order and HAVING over aggregates": (
        "SELECT s.item_id, avg(s.quantity) AS a FROM sales s GROUP BY 1 ORDER BY a DESC, 1 LIMIT 10",
        "SELECT s.customer_id, sum(s.quantity) * 100 / count(*) AS p FROM sales s GROUP BY 1 ORDER BY p DESC, 1 LIMIT 10",
        "SELECT s.customer_id, count(*) AS n FROM sales s GROUP BY 1 HAVING avg(s.price) > 900 ORDER BY n DESC, 1 LIMIT 10",
        "SELECT s.store_id, count(DISTINCT s.customer_id) AS n FROM sales s GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
        f"SELECT i.brand, sum(s.price - s.cost) / sum(s.quantity) AS m FROM {_ITEMS} GROUP BY 1 ORDER BY m DESC, 1 LIMIT 5"),
    "first of very many groups": (
        "SELECT s.sale_id / 2 AS o, avg(s.quantity) AS a FROM sales s GROUP BY 1 ORDER BY a DESC, 1 LIMIT 10",
        "SELECT s.sale_id, sum(s.price) / sum(s.quantity) AS m FROM sales s WHERE s.quantity > 0 GROUP BY 1 ORDER BY m DESC LIMIT 10",
        "SELECT s.sale_id, count(*) AS n FROM sales s GROUP BY 1 HAVING avg(s.price) > 900 ORDER BY n DESC, 1 LIMIT 10",
        "SELECT s.sale_id / 2 AS o, round(1.0 * sum(s.cost) / sum(s.price), 4) AS p FROM sales s WHERE s.price > 0 GROUP BY 1 "
        "ORDER BY p, 1 LIMIT 10"),
    "distinct values of many groups": (
        "SELECT s.customer_id AS o, count(DISTINCT s.item_id) AS n FROM sales s GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
        "SELECT s.customer_id AS o, count(DISTINCT s.store_id), count(*), sum(s.price) FROM sales s GROUP BY 1",
        "SELECT s.sale_id / 3 AS o, count(DISTINCT s.status) AS n, avg(s.quantity) FROM sales s GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10"),
    "set operations": (
        "SELECT s.item_id FROM sales s WHERE s.online UNION SELECT s.item_id FROM sales s WHERE s.quantity > 40",
        "SELECT s.store_id, s.status FROM sales s WHERE s.day < date '2021-01-01' INTERSECT SELECT s.store_id, s.status FROM sales s "
        "WHERE s.price > 900",
        "SELECT s.customer_id FROM sales s WHERE s.online EXCEPT SELECT s.customer_id FROM sales s WHERE s.quantity > 45",
        "SELECT s.status FROM sales s UNION SELECT i.brand FROM items i ORDER BY 1 LIMIT 10",
        f"SELECT i.brand, s.store_id FROM {_ITEMS} WHERE s.online EXCEPT SELECT i.brand, s.store_id FROM {_ITEMS} WHERE NOT s.online",
        "SELECT count(*) FROM (SELECT to_char(s.day, 'YYYY-MM') FROM sales s UNION SELECT md5(s.status) FROM sales s) u"),
    "grouping sets": (
        "SELECT count(*), sum(x.n), max(x.p) FROM (SELECT s.status, s.online, s.store_id, s.quantity % 7 AS q, s.discount, "
        "extract(year FROM s.day) AS y, extract(month FROM s.day) AS m, s.item_id % 5 AS i, count(*) AS n, sum(s.price) AS p "
        "FROM sales s GROUP BY ROLLUP (1, 2, 3, 4, 5, 6, 7, 8)) x",
        "SELECT count(*), sum(x.n), max(x.q), max(x.p) FROM (SELECT s.status, s.online, s.quantity % 7 AS r, s.discount, s.store_id, "
        "count(*) AS n, sum(s.quantity) AS q, avg(s.price) AS p FROM sales s GROUP BY CUBE (1, 2, 3, 4, 5)) x",
        "SELECT x.r, count(*), min(x.q), max(x.q) FROM (SELECT s.status, s.store_id, s.day, sum(s.quantity) AS q, rank() OVER ("
        "PARTITION BY s.store_id ORDER BY sum(s.quantity) DESC) AS r FROM sales s GROUP BY ROLLUP (1, 2, 3)) x WHERE x.r < 4 GROUP BY 1",
        "SELECT s.status, s.store_id, count(DISTINCT s.item_id), count(*) FROM sales s GROUP BY ROLLUP (1, 2)",
        f"SELECT i.category, i.brand, s.store_id, sum(s.price) AS p FROM {_ITEMS} GROUP BY CUBE (1, 2, 3) ORDER BY p DESC, 1, 2, 3 "
        "LIMIT 20"),
    "NOT IN and correlated subqueries": (
        "SELECT s.status, count(*) FROM sales s WHERE s.item_id NOT IN (SELECT r.item_id FROM returns r WHERE r.reason = 'late') "
        "GROUP BY 1",
        "SELECT count(*) FROM sales s WHERE s.customer_id NOT IN (SELECT r.customer_id FROM returns r WHERE r.refund > 300)",
        "SELECT i.brand, count(*) FROM items i WHERE i.cost < (SELECT max(r.refund) FROM returns r WHERE r.item_id = i.item_id) "
        "GROUP BY 1",
        "SELECT c.segment, count(*) FROM customers c WHERE 3 < (SELECT count(*) FROM returns r WHERE r.customer_id = c.customer_id) "
        "GROUP BY 1",
        "SELECT c.customer_id, (SELECT sum(s.price) FROM sales s WHERE s.customer_id = c.customer_id) AS p FROM customers c "
        "ORDER BY p DESC NULLS LAST, 1 LIMIT 10"),
    "windows by months and days": (
        "SELECT w.store_id, max(w.m) FROM (SELECT s.store_id, sum(s.quantity) OVER (PARTITION BY s.store_id ORDER BY s.day RANGE "
        "BETWEEN interval '1 month' PRECEDING AND CURRENT ROW) AS m FROM sales s) w GROUP BY 1",
        "SELECT w.status, min(w.n) FROM (SELECT s.status, count(*) OVER (PARTITION BY s.customer_id ORDER BY s.sold_at RANGE BETWEEN "
        "interval '3 days' PRECEDING AND interval '1 month' FOLLOWING) AS n FROM sales s) w GROUP BY 1",
        "SELECT w.item_id, max(w.q) FROM (SELECT s.item_id, avg(s.quantity) OVER (PARTITION BY s.item_id ORDER BY s.day RANGE BETWEEN "
        "interval '7 days' PRECEDING AND CURRENT ROW) AS q FROM sales s) w GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10"),
    "many to many": (
        f"SELECT i.category, count(*), sum(s.quantity * r.quantity) FROM {_ITEMS} JOIN returns r ON s.item_id = r.item_id "
        "JOIN customers c ON r.customer_id = c.customer_id WHERE c.segment = 'office' AND i.brand = 'brand 13' AND s.online GROUP BY 1",
        "SELECT r.reason, count(*), sum(r.refund) FROM sales s JOIN returns r ON s.customer_id = r.customer_id "
        "JOIN stores t ON s.store_id = t.store_id JOIN items i ON r.item_id = i.item_id "
        "WHERE t.area > 800 AND i.size BETWEEN 5 AND 7 AND s.day >= r.day GROUP BY 1"),
    "select list above rows": (
        f"SELECT s.sale_id, regexp_replace(s.note, '[0-9]+', '#', 'g') FROM {_ITEMS} WHERE i.brand = 'brand 13' AND s.quantity > 40",
        "SELECT s.sale_id, md5(s.note), to_char(s.sold_at, 'YYYY') FROM sales s WHERE s.price > 900 AND s.online",
        f"SELECT s.sale_id, initcap(c.city), band(s.quantity) FROM {_CUSTOMERS} WHERE c.segment = 'office' AND s.quantity < 5"),
    "long lists": tuple(
        f"SELECT count(*), sum(s.quantity) FROM sales s WHERE s.item_id IN ({_numbers(count, 20000)})"
        for count in (20, 200, 2000, 10000)) + (
        f"SELECT s.status, count(*) FROM sales s WHERE s.item_id NOT IN ({_numbers(1000, 20000)}) GROUP BY 1",),
}

# Made before the queries of a kind and dropped behind them: without, PostgreSQL takes hours.
INDEXES = {"NOT IN and correlated subqueries": ("returns (item_id)", "returns (customer_id)", "sales (customer_id)")}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000000, help="of the largest table")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="kinds that contain this")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


def load(server, options):
    schema = random_reports.ShopSchema(options.seed, options.rows)
    with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
        for statement in list(schema.statements()) + FUNCTIONS.split(";\n"):
            session.query(statement)
        for table in schema.TABLES:
            session.query(f"VACUUM (ANALYZE) {table}")
        session.query("CHECKPOINT")


def measure(sides, sql, runs):
    """An entry of the report: medians of both sides in ms, equality, the nodes of ours."""
    plan = workload.explain(sides[1], sql, analyze=False)
    answers = [workload.timed(side, sql)[1] for side in sides]
    workload.timed(sides[1], sql)  # what the first run has compiled and cached is there
    times = [[workload.timed(side, sql)[0] for side in sides] for _ in range(runs)]
    plain, ours = (statistics.median(round_[i] for round_ in times) for i in (0, 1))
    return {"sql": sql, "plain": round(plain, 1), "ours": round(ours, 1), "equal": same_rows(*answers),
            "nodes": [n["Custom Plan Provider"] for n in plan if n.get("Custom Plan Provider", "").startswith("Gpu")]}


def markdown(results, options):
    lines = [f"{options.rows} rows, {processor()}, {options.workers} workers, medians of {options.runs} in ms", "",
             "| kind | query | PostgreSQL | ours | nodes |", "|---|---|---|---|---|"]
    for kind, entries in results.items():
        for entry in entries:
            sql = entry["sql"] if len(entry["sql"]) < 160 else entry["sql"][:150] + " ..."
            lines.append(f"| {kind} | `{sql.replace('|', chr(92) + '|')}` | {entry['plain']} | {entry['ours']} | "
                         f"{', '.join(entry['nodes']) or '–'} |")
        mean = math.exp(statistics.fmean(math.log(e["ours"] / e["plain"]) for e in entries))
        lines.append(f"| {kind} | geometric mean of ours to PostgreSQL's | 1 | {mean:.2f} | |")
    return "\n".join(lines) + "\n"


def main():
    options = parse_arguments()
    output = Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    results = {}
    with cluster.Cluster("whole_plans", settings={"max_wal_size": "8GB"}) as server:
        load(server, options)
        common = {"max_parallel_workers_per_gather": str(options.workers)}
        sides = [server.connect(settings={**common, "pg_turbine.enabled": enabled}) for enabled in ("off", "on")]
        for kind, queries in QUERIES.items():
            if options.only not in kind:
                continue
            results[kind] = []
            for number, index in enumerate(INDEXES.get(kind, ())):
                sides[0].query(f"CREATE INDEX of_kind_{number} ON {index}")
            for sql in queries:
                entry = measure(sides, sql, options.runs)
                results[kind].append(entry)
                log(f"  {kind}: {entry['plain']:.1f} became {entry['ours']:.1f} ms, {', '.join(entry['nodes']) or 'none'}"
                    f"{'' if entry['equal'] else ', OTHER ROWS'}\n    {sql[:200]}")
            for number in range(len(INDEXES.get(kind, ()))):
                sides[0].query(f"DROP INDEX of_kind_{number}")
    (output / "whole_plans.json").write_text(json.dumps(results, indent=1))
    (output / "whole_plans.md").write_text(markdown(results, options))
    print(markdown(results, options))
    return 0 if all(entry["equal"] for entries in results.values() for entry in entries) else 1


if __name__ == "__main__":
    sys.exit(main())
