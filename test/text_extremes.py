#!/usr/bin/env python3
"""text_extremes.py - min and max of texts give PostgreSQL's answers on each device.

`random` draws min and max of text columns and of expressions over them, plain and by groups, with FILTER, beside other
aggregates, over joins, partitions and foreign tables, where segments have codes of a dictionary and where they have
texts. `long` has texts that outgrow the memory in which a group table begins: many, long, and in rising order, so that
each row replaces the one before. `device` asks EXPLAIN whether the device that was asked for has run the query.
Must never: pass if a query of a GPU ran on the host.
Called by: test/run_all.py, also on a stand-in GPU. Options: --device, --queries, --seed, --rows.
"""

import argparse
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from run_sql import DIRECT, OFF  # noqa: E402

WORDS = ("", "a", "abc", "abcdefgh", "abcdefghi", "abcdefgh\x7f", "äöü", "日本語 text", "Zebra", "zebra", " pad", "z" * 70)
TABLES = ("words", "parted", "plain")
ARGUMENTS = ("few", "many", "padded", "substr(many, 3)", "coalesce(few, 'none')",
             "CASE WHEN n % 3 = 0 THEN few WHEN n % 3 = 1 THEN many END")
GROUPS = ("n % 7", "n % 1000", "few", "length(many)", "left(few, 2)", "(n % 2 = 0)")
CONDITIONS = ("true", "n % 4 = 1", "few <> ''", "many LIKE '%7%'", "n < 0", "length(few) < 6")


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def make_tables(session, rows):
    few = (f"CASE WHEN i % 11 = 0 THEN NULL ELSE (ARRAY[{', '.join(literal(word) for word in WORDS)}])"
           f"[1 + i * 7 % {len(WORDS)}] END")
    many = "repeat('m', i % 13) || md5((i % 20000)::text)"
    columns = 'id int, few text COLLATE "C", many text COLLATE "C", padded char(9) COLLATE "C", n int'
    values = f"i, {few}, {many}, left({few}, 9), i * 31 % 1009"
    session.query(f"CREATE TABLE words ({columns})")
    session.query(f"INSERT INTO words SELECT {values} FROM generate_series(1, {rows}) i")
    session.query(f"CREATE TABLE parted ({columns}) PARTITION BY RANGE (id)")
    for part in range(3):
        session.query(f"CREATE TABLE parted{part} PARTITION OF parted FOR VALUES FROM ({part * rows // 3}) "
                      f"TO ({(part + 1) * rows // 3})")
    session.query(f"INSERT INTO parted SELECT {values} FROM generate_series(0, {rows} - 3) i")
    # Never loaded to the cache: rows come from pages.
    session.query("CREATE TABLE plain AS SELECT * FROM words WHERE id % 2 = 0")
    session.query('CREATE TABLE names (k int, name text COLLATE "C")')
    session.query("INSERT INTO names SELECT i % 40, md5(i::text) FROM generate_series(1, 90) i")
    # A text of `wide` grows by the row, so that each is the greatest so far; those of `deep` are longer than a page.
    session.query('CREATE TABLE rising (id int, wide text COLLATE "C", deep text COLLATE "C", n int)')
    session.query("INSERT INTO rising SELECT i, lpad(i::text, 12, '0') || repeat('x', 400), "
                  "CASE WHEN i % 100 = 0 THEN lpad(i::text, 9, '0') || repeat(md5(i::text), 500) ELSE i::text END, i % 5 "
                  f"FROM generate_series(1, {max(rows // 2, 4000)}) i")
    session.query("VACUUM ANALYZE")
    session.query("CHECKPOINT")


def draw_query(chance):
    table = chance.choice(TABLES)
    extremes = []
    for _ in range(chance.randrange(1, 4)):
        extreme = f"{chance.choice(('min', 'max'))}({chance.choice(ARGUMENTS)})"
        extremes.append(extreme + chance.choice(("", "", f" FILTER (WHERE {chance.choice(CONDITIONS)})")))
    others = chance.choice(("", ", count(*)", ", count(*), sum(n)", ", avg(n), max(n)", ", sum(n::float8), count(few)"))
    listed, condition = ", ".join(extremes) + others, chance.choice(CONDITIONS)
    kind = chance.randrange(6)
    if kind == 0:
        return f"SELECT {listed} FROM {table} WHERE {condition}"
    if kind == 1:
        return (f"SELECT {listed}, min(name), max(name) FROM {table} JOIN names ON k = n % 60 WHERE {condition}")
    key = chance.choice(GROUPS)
    if kind == 2:
        return (f"SELECT {key} AS key, {listed}, max(name) FROM {table} LEFT JOIN names ON k = n % 60 WHERE {condition} "
                "GROUP BY key ORDER BY key")
    if kind == 3:
        return (f"SELECT {key} AS key, {listed} FROM {table} WHERE {condition} GROUP BY key "
                f"HAVING min(many) > '5' ORDER BY max(many), key LIMIT 20")
    return f"SELECT {key} AS key, {listed} FROM {table} WHERE {condition} GROUP BY key ORDER BY key"


LONG = ("SELECT min(wide), max(wide), count(*) FROM rising",
        "SELECT max(deep), min(deep) FROM rising",
        "SELECT n, max(wide), max(deep), sum(id) FROM rising GROUP BY n ORDER BY n",
        "SELECT id, min(wide), max(deep) FROM rising WHERE id <= 6000 GROUP BY id ORDER BY id",
        "SELECT md5(max(wide)), md5(min(deep)), max(name) FROM rising JOIN names ON k = n")


class Extremes:
    def __init__(self, options):
        self.options = options
        self.passed = self.failed = self.on_device = 0

    def check(self, name, complaint):
        self.passed += not complaint
        self.failed += bool(complaint)
        if complaint:
            print(f"{name}: {complaint}", flush=True)

    def compare(self, ours, other, query):
        expected, found = other.query(query), ours.query(query)
        self.check(query, found != expected and f"{str(expected)[:300]} became {str(found)[:300]}")

    def ask_device(self, session, query):
        def nodes(plan):
            yield plan
            for child in plan.get("Plans", ()):
                yield from nodes(child)

        plan = json.loads(session.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}"))[0]["Plan"]
        aggregates = [node for node in nodes(plan) if node.get("Custom Plan Provider") == "GpuPreAgg" or
                      (node.get("Node Type") == "Custom Scan" and "Reduction" in node)]
        kind = "= 'cuda'" if self.options.device == "gpu" else "<> 'cuda'"
        wanted = [name for (name,) in session.query(f"SELECT name FROM turbine.devices WHERE kind {kind}")]
        for node in aggregates:
            ran = node.get("Device")
            fell = "Fallback" in json.dumps(node)
            self.on_device += 1
            self.check(f"device of {query}", (fell or ran not in wanted) and f"{ran!r}, fallback {fell}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--rows", type=int, default=30000)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args()
    bench = Extremes(options)
    chance = random.Random(options.seed)
    with cluster.Cluster("text_extremes", settings={"shared_buffers": "128MB"}) as server:
        ours_settings = {**DIRECT, "pg_turbine.device": options.device}
        with server.connect(settings=ours_settings) as ours, server.connect(settings=OFF) as other:
            make_tables(other, options.rows)
            for number in range(options.queries):
                if number == options.queries // 3:
                    for table in ("words", "parted0", "parted1", "parted2", "rising"):
                        other.query(f"SELECT turbine.cache_load('{table}')")
                query = draw_query(chance)
                bench.compare(ours, other, query)
                if number % 4 == 0:
                    bench.ask_device(ours, query)
            for query in LONG:
                bench.compare(ours, other, query)
                bench.ask_device(ours, query)
    bench.check("queries of a device", bench.on_device < options.queries // 8 and f"only {bench.on_device}")
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
