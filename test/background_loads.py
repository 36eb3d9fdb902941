#!/usr/bin/env python3
"""background_loads.py - columns that a query would gain from are loaded in the background, and only then.

A selective report over cached filter columns takes its other columns from pages, which is cheaper each time than reading
them once. So the service has them loaded after the first run, and the second one reads no page. A query that an index
leads to a tenth of the table asks for nothing. While others run statements the load takes a tenth of the time. Nothing is
loaded into a full cache, nor of a table that is changed in a way that its readers would wait for.
At default costs, on the host. Rows are compared with PostgreSQL's.
Called by: make test-background-loads, test/run_all.py.
"""

import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import workload  # noqa: E402
from cache_bench import Bench, filled_blocks, shown  # noqa: E402

ROWS = 400000
SETTINGS = {"shared_buffers": "512MB", "max_parallel_workers_per_gather": "0", "pg_turbine.device": "cpu",
            "pg_turbine.host_threads": "1", "log_min_messages": "debug1"}
SECONDS = 60
# A load that was not asked for would have begun by then.
QUIET_SECONDS = 3
# Of the time beside others, that a load takes: a tenth, and what is measured besides.
MOST_SHARE = 0.3
WANTED = {"name", "place", "word", "day"}
# Each time with other aggregates: what has been compiled already is cheaper, and would be taken at once.
REPORT = ("SELECT name, place, word, count(*), sum(price), min(day){} FROM {} WHERE site < 12 AND kind >= 0 "
          "GROUP BY name, place, word ORDER BY 4 DESC, 1, 2, 3 LIMIT 20")
TENTH = ("SELECT name, place, word, count(*), sum(price), min(day) FROM {} WHERE id BETWEEN 1000 AND 41000 "
         "GROUP BY name, place, word ORDER BY 4 DESC, 1, 2, 3 LIMIT 20")
# Wide enough that a few rows are wanted of many pages.
TABLE = f"""
    CREATE TABLE {{}} AS SELECT i AS id, i % 1000 AS site, i % 37 AS kind, i % 91 AS day,
        ((i % 100000) / 100.0)::numeric(12,2) AS price, 'name ' || i % 3000 AS name, 'place ' || i % 500 AS place,
        'word ' || i % 20 AS word, repeat(chr(97 + i % 26), 150) || i AS note FROM generate_series(1, {ROWS}) i;
"""


class BackgroundLoads:
    def __init__(self, server, bench):
        self.server, self.bench = server, bench
        self.reports = 0
        self.session = server.connect()
        self.plain = server.connect(settings={"pg_turbine.enabled": "off"})

    def table(self, name):
        """A table with the filters' columns, and where rows lie, in the cache."""
        self.session.query(TABLE.format(name))
        self.session.query(f"CREATE INDEX ON {name} (id)")
        self.session.query(f"VACUUM ANALYZE {name}")
        self.session.query("CHECKPOINT")
        for _ in range(2):
            self.session.query(f"SELECT * FROM {name} WHERE site = 5 AND kind >= 0")

    def report(self, table):
        self.reports += 1
        return REPORT.format("".join(f", max(id + {i})" for i in range(1, self.reports)), table)

    def cached(self, name):
        return {row[0] for row in self.session.query(
            f"SELECT column_name FROM turbine.column_cache WHERE relation = '{name}'::regclass")}

    def wait(self, name, seconds=SECONDS):
        """Until all blocks of what is wanted are cached and no load is under way: seconds that took; None: too long."""
        started = time.monotonic()
        blocks = filled_blocks(self.plain, name)
        while time.monotonic() - started < seconds:
            whole = {column for column, (_, good, _, _) in shown(self.session, name).items() if good == blocks}
            if whole >= WANTED and not self.session.query("SELECT 1 FROM turbine.cache_loads"):
                return time.monotonic() - started
            time.sleep(0.02)
        return None

    def same(self, what, sql):
        self.bench.equal(f"rows, {what}", self.session.query(sql), self.plain.query(sql))

    def second_run(self):
        self.table("asked_twice")
        sql = self.report("asked_twice")
        self.bench.equal("before", WANTED & self.cached("asked_twice"), set())
        self.session.query(f"EXPLAIN {sql}")
        time.sleep(QUIET_SECONDS)
        self.bench.equal("EXPLAIN asks for nothing", WANTED & self.cached("asked_twice"), set())
        self.same("first run", sql)
        self.bench.equal("the first run has them loaded", self.wait("asked_twice") is not None, True)
        direct = int(self.session.value("SELECT value FROM turbine.stat_queries WHERE counter = 'blocks_direct'"))
        node = workload.custom_scan(workload.explain(self.session, sql))
        self.bench.equal("the second run's node groups", node["Custom Plan Provider"] in ("GpuSort", "GpuPreAgg"), True)
        self.bench.equal("it reads no page", int(self.session.value(
            "SELECT value FROM turbine.stat_queries WHERE counter = 'blocks_direct'")), direct)
        self.same("second run", sql)

    def a_tenth(self):
        self.table("tenth")
        sql = TENTH.format("tenth")
        for _ in range(3):
            self.same("a tenth", sql)
        time.sleep(QUIET_SECONDS)
        self.bench.equal("a tenth of the table asks for nothing", WANTED & self.cached("tenth"), set())

    def beside_others(self):
        self.table("busy")
        other = self.server.connect()
        other.send("SELECT pg_sleep(120)")
        sql = self.report("busy")
        self.session.query(sql)
        self.bench.equal("nothing is cached by the query itself", WANTED & self.cached("busy"), set())
        beside = self.wait("busy")
        time.sleep(1)  # until it is logged
        other.cancel()
        relid = self.session.value("SELECT 'busy'::regclass::oid")
        loading = sum(int(ms) for ms in re.findall(rf"loaded relation {relid} up to block \d+ in (\d+) ms",
                                                   self.server.logfile.read_text())) / 1000
        print(f"  beside another statement loaded for {loading:.2f} of {beside:.2f} s")
        self.bench.equal("a load yields to others", 0 < loading < MOST_SHARE * beside, True)
        self.same("after a slow load", sql)

    def partitions(self):
        """Those that the plan scans; the second one's columns have other numbers."""
        self.session.query("CREATE TABLE parted (id int, site int, kind int, day int, price numeric(12,2), name text, place text, "
                           "word text, note text) PARTITION BY RANGE (id)")
        self.session.query("CREATE TABLE part_1 PARTITION OF parted FOR VALUES FROM (0) TO (200001)")
        self.session.query("CREATE TABLE part_2 (note text, word text, place text, name text, price numeric(12,2), day int, kind int, "
                           "site int, id int)")
        self.session.query("ALTER TABLE parted ATTACH PARTITION part_2 FOR VALUES FROM (200001) TO (1000000)")
        self.session.query("INSERT INTO parted SELECT * FROM asked_twice")
        self.session.query("VACUUM ANALYZE parted")
        self.session.query("CHECKPOINT")
        for _ in range(2):
            self.session.query("SELECT * FROM parted WHERE site = 5 AND kind >= 0")
        sql = self.report("parted")
        self.same("partitions, first run", sql)
        self.bench.equal("both are loaded", None in (self.wait("part_1"), self.wait("part_2")), False)
        self.same("partitions, second run", sql)

    def changed_meanwhile(self):
        """Rows change and go while they are loaded: another statement makes the load slow."""
        self.table("changed")
        sql = self.report("changed")
        other = self.server.connect()
        other.send("SELECT pg_sleep(120)")
        self.same("before changes", sql)
        for step in range(8):
            self.session.query(f"UPDATE changed SET word = 'new ' || {step} WHERE id % 20000 = {step}")
            self.session.query(f"DELETE FROM changed WHERE id % 30000 = {step}")
            self.same("changed", sql)
            time.sleep(0.2)
        other.cancel()
        self.wait("changed", 10)
        for _ in range(2):
            self.same("after changes", sql)

    def dropped_meanwhile(self):
        self.table("dropped")
        other = self.server.connect()
        other.send("SELECT pg_sleep(120)")
        self.session.query(self.report("dropped"))
        time.sleep(0.5)
        started = time.monotonic()
        self.session.query("DROP TABLE dropped")
        self.bench.equal("DROP waits for a slice at most", time.monotonic() - started < 5, True)
        other.cancel()
        self.bench.equal("nothing is logged of it", [line for line in self.server.logfile.read_text().splitlines()
                                                     if "ERROR:" in line and "canceling statement" not in line], [])

    def drop_database(self):
        """Of which a table is being loaded, slowly."""
        self.session.query("CREATE DATABASE short_lived TEMPLATE template1")
        with self.server.connect("short_lived") as inside:
            kept, self.session = self.session, inside
            self.table("inside")
            inside.query(self.report("inside"))
            self.session = kept
        other = self.server.connect()
        other.send("SELECT pg_sleep(120)")
        time.sleep(0.5)
        self.session.query("DROP DATABASE short_lived")
        other.cancel()
        self.bench.equal("the database is gone", self.session.query("SELECT 1 FROM pg_database WHERE datname = 'short_lived'"), [])

    def switched_off(self):
        self.table("off")
        self.session.query("ALTER SYSTEM SET pg_turbine.cache_background_load = off")
        self.session.query("SELECT pg_reload_conf()")
        time.sleep(0.5)
        sql = self.report("off")
        self.same("switched off", sql)
        time.sleep(QUIET_SECONDS)
        self.bench.equal("switched off", WANTED & self.cached("off"), set())
        self.session.query("ALTER SYSTEM RESET pg_turbine.cache_background_load")
        self.session.query("SELECT pg_reload_conf()")

    def full(self):
        """In a small cache, which texts of another table have filled."""
        self.table("filler")
        self.table("asked")
        self.session.query("SELECT count(*) FROM filler WHERE note LIKE '%0%'")
        used = int(self.session.value("SELECT sum(bytes) FROM turbine.column_cache"))
        print(f"  {used / 1e6:.1f} MB cached")
        sql = self.report("asked")
        self.same("full", sql)
        time.sleep(QUIET_SECONDS)
        self.bench.equal("nothing is loaded into a full cache", WANTED & self.cached("asked"), set())


def main():
    bench = Bench()
    with cluster.Cluster("background-loads", settings=SETTINGS) as server:
        server.wait_for_service()
        loads = BackgroundLoads(server, bench)
        loads.second_run()
        loads.a_tenth()
        loads.partitions()
        loads.beside_others()
        loads.changed_meanwhile()
        loads.dropped_meanwhile()
        loads.drop_database()
        loads.switched_off()
    with cluster.Cluster("background-loads-full", settings={**SETTINGS, "pg_turbine.cache_size_host": "12MB"}) as server:
        server.wait_for_service()
        BackgroundLoads(server, bench).full()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
