#!/usr/bin/env python3
"""geometry_pairs.py - pairs of geometries that devices leave undecided are decided by PostGIS, row by row.

Owns: tables of pairs of random shapes of every kind (random_geometries.py), most of which GEOS decides, and filters by
each predicate, with a constant on either side or two columns. Valid pairs run together: rows come back in their order, none
of their chunks is evaluated as a whole, and EXPLAIN ANALYZE tells how many were sent to PostGIS. The others (not valid, NaN,
two SRIDs, no box) run one by one: rows and errors are PostGIS's.
Must never: pass if devices decide nothing.
Called by: test/run_all.py. Options: --pairs, --seed, --device.
"""

import argparse
import io
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from random_geometries import GeometryMaker  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402
from workload import plan_nodes  # noqa: E402

PREDICATES = ("st_crosses", "st_touches", "st_equals", "st_overlaps", "st_intersects", "st_contains", "st_within", "st_covers",
              "st_coveredby", "st_disjoint")
# Of the rows of a predicate that are far from each other, so many must not be sent.
MOST_SENT = 0.9
ODD_ROWS = 40


class Checks:
    def __init__(self, server, device):
        self.plain = server.connect(settings={**OFF, "statement_timeout": "300s"})
        self.forced = server.connect(settings={**FORCED, "pg_turbine.device": device, "statement_timeout": "300s"})
        self.passed = self.failed = 0

    def note(self, what, complaint):
        self.passed += not complaint
        self.failed += bool(complaint)
        if complaint:
            print(f"{what}\n    {complaint}", flush=True)

    def compare(self, sql):
        """Rows must come in the same order."""
        self.note(sql, answers.difference(self.plain.run(sql), self.forced.run(sql), ordered=True))

    def figures(self, sql):
        """What EXPLAIN ANALYZE says of the GpuScan."""
        plan = json.loads(self.forced.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}"))[0]["Plan"]
        return next((node for node in plan_nodes(plan) if node.get("Custom Plan Provider") == "GpuScan"), None)


def create_pairs(session, count, seed):
    """Shapes of one scale and SRID meet each other; some are the same one."""
    maker = GeometryMaker(random.Random(seed))
    rows = []
    while len(rows) < count:
        maker.begin()
        shapes = [maker.shape() for _ in range(4)]
        for _ in range(8):
            a, b = maker.random.choice(shapes), maker.random.choice(shapes)
            srid = 3857 if maker.chance(0.01) else maker.srid
            rows.append((maker.wkb(a, maker.srid).hex(), maker.wkb(b, srid).hex()))
    session.query("DROP TABLE IF EXISTS pairs, valid, odd")
    session.query("CREATE TABLE pairs (id int NOT NULL, a geometry, b geometry)")
    session.copy_in("COPY pairs FROM stdin", io.BytesIO("".join(f"{i}\t{a}\t{b}\n" for i, (a, b) in enumerate(rows)).encode()))
    session.query("UPDATE pairs SET a = postgis_dropbbox(a) WHERE id % 41 = 3")
    session.query("UPDATE pairs SET b = postgis_addbbox(b) WHERE id % 43 = 5")
    session.query("UPDATE pairs SET a = NULL WHERE id % 47 = 7")
    session.query("CREATE TABLE valid (filler text, LIKE pairs)")
    session.query("INSERT INTO valid SELECT repeat('x', id % 50), * FROM pairs WHERE (st_isvalid(a) AND st_isvalid(b) AND "
                  "st_srid(a) = st_srid(b) OR a IS NULL) AND NOT geometrytype(a) LIKE 'GEOMETRYCOLLECTION%' AND "
                  "NOT geometrytype(b) LIKE 'GEOMETRYCOLLECTION%'")
    # A row whose shapes are out of line, amid those that are not.
    session.query("UPDATE valid SET a = st_segmentize(a, st_length(a) / 900) WHERE id % 61 = 9 AND st_length(a) BETWEEN 1e-3 AND 1e6")
    session.query("CREATE TABLE odd AS SELECT * FROM pairs WHERE id NOT IN (SELECT id FROM valid)")
    session.query("VACUUM ANALYZE pairs, valid, odd")


def check_valid(checks, pairs):
    total = int(checks.plain.value("SELECT count(*) FROM valid"))
    checks.note("enough rows are valid", None if total > pairs / 4 else f"{total} rows")
    polygon = "'POLYGON((-90 -60, 100 -50, 80 70, -50 90, -90 -60), (10 10, 20 10, 20 20, 10 10))'::geometry"
    line = "'LINESTRING(-3 -3, 0 0, 0.5 2.5, 4 -1)'::geometry"
    decided = 0
    for predicate in PREDICATES:
        for a, b in (("a", "b"), ("b", "a"), ("a", polygon), (line, "b")):
            srid = "" if (a, b) in (("a", "b"), ("b", "a")) else f"st_srid({a if a in 'ab' else b}) = 0 AND "
            for condition in (f"{predicate}({a}, {b})", f"NOT {predicate}({a}, {b})"):
                checks.compare(f"SELECT id, filler FROM valid WHERE {srid}{condition}")
            # What follows an undecided conjunct is PostgreSQL's, and so is one before it that stays with PostgreSQL.
            checks.compare(f"SELECT id FROM valid WHERE {srid}{predicate}({a}, {b}) AND id % 3 <> 1 AND filler ~ 'xx'")
        sql = f"SELECT id FROM valid WHERE {predicate}(a, b)"
        figures = checks.figures(sql)
        if figures is None:
            checks.note(sql, "no GpuScan")
            continue
        sent = figures.get("Sent to PostGIS", 0)
        decided += total - sent
        checks.note(sql, None if sent <= MOST_SENT * total else f"{sent} of {total} rows were sent to PostGIS")
        checks.note(sql, "whole chunks were evaluated" if "Chunks Evaluated By PostgreSQL" in figures else None)
        print(f"  {predicate}: {sent} of {total} rows sent to PostGIS", flush=True)
    checks.note("devices decide", None if decided > total else f"{decided} in all")
    for sql in ("SELECT id FROM valid WHERE st_touches(a, b) OR st_crosses(a, b)",
                "SELECT id FROM valid WHERE CASE WHEN st_overlaps(a, b) THEN id % 2 = 0 ELSE st_equals(a, b) END",
                "SELECT id, st_relate(a, b) FROM valid WHERE st_intersects(a, b) AND NOT st_touches(a, b)",
                "SELECT id FROM valid WHERE st_intersects(a, b) LIMIT 7 OFFSET 3",
                "SELECT count(*), sum(id) FROM valid WHERE st_crosses(a, b)"):
        checks.compare(sql)


def check_odd(checks):
    """Each row alone, since the first error ends a query."""
    # PostGIS compares no shapes of different reference systems.
    checks.plain.query("INSERT INTO odd (id, a, b) VALUES (-1, 'SRID=4326;POLYGON((0 0,1 0,1 1,0 0))', 'SRID=3857;LINESTRING(0 0,1 1)')")
    ids = [-1, *(int(i) for i, in checks.plain.query(f"SELECT id FROM odd ORDER BY random() LIMIT {ODD_ROWS}"))]
    errors = 0
    for i in ids:
        for predicate in PREDICATES:
            sql = f"SELECT id FROM odd WHERE id = {i} AND {predicate}(a, b)"
            outcome = checks.plain.run(sql)
            errors += outcome.error is not None
            checks.note(sql, answers.difference(outcome, checks.forced.run(sql)))
    checks.note("some raise", None if errors > 0 else "no pair raised an error")


def check_order_of_evaluation(checks):
    """A filter that drops a row keeps PostGIS from its error; one behind it does not."""
    checks.plain.query("CREATE TABLE mixed AS SELECT i AS id, st_makeenvelope(i, 0, i + 2, 2, CASE WHEN i = 50 THEN 3857 ELSE 0 END)"
                       " AS g FROM generate_series(1, 100) i")
    checks.plain.query("VACUUM ANALYZE mixed")
    shape = "'POLYGON((10 1, 30 1, 30 5, 10 1))'::geometry"
    for sql in (f"SELECT id FROM mixed WHERE st_touches(g, {shape})", f"SELECT id FROM mixed WHERE id <> 50 AND st_touches(g, {shape})",
                f"SELECT id FROM mixed WHERE st_overlaps(g, {shape}) AND id <> 50",
                f"SELECT id FROM mixed WHERE st_srid(g) = 0 AND st_intersects(g, {shape})"):
        checks.compare(sql)


def check_counter(checks):
    before = dict(checks.plain.query("SELECT * FROM turbine.stat_queries"))
    rows = checks.forced.query("SELECT id FROM valid WHERE st_equals(a, b)")
    after = dict(checks.plain.query("SELECT * FROM turbine.stat_queries"))
    sent = int(after["rows_undecided"]) - int(before["rows_undecided"])
    checks.note("rows_undecided", None if sent > 0 and len(rows) > 0 else f"{sent} for {len(rows)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with cluster.Cluster("geometry_pairs", settings={"pg_turbine.device": options.device}) as server:
        with server.connect() as session:
            if not session.query("SELECT FROM pg_available_extensions WHERE name = 'postgis'"):
                print("PostGIS is not installed: nothing was checked\n1 passed, 0 failed")
                return 0
            session.query("CREATE EXTENSION postgis")
        checks = Checks(server, options.device)
        create_pairs(checks.plain, options.pairs, options.seed)
        check_valid(checks, options.pairs)
        check_odd(checks)
        check_order_of_evaluation(checks)
        check_counter(checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
