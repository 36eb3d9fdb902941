#!/usr/bin/env python3
"""shape_joins.py - joins whose pairs devices cannot decide stay on the device, and PostGIS decides these pairs.

Owns: tables of random shapes of all kinds, joined with each other by every predicate; and points joined with shapes of which
some are collections, curves or multipoints. Each query runs without us and forced. EXPLAIN must show a GpuGiSTJoin, EXPLAIN
ANALYZE how many pairs were sent to PostGIS, and no query may fall back.
Must never: pass if pairs that are far from each other are sent.
Called by: test/run_all.py. Options: --rounds, --seed, --device.
"""

import argparse
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from spatial_joins import Checks, Shapes, joins, literal  # noqa: E402
from workload import plan_nodes  # noqa: E402

PREDICATES = ("st_intersects", "st_contains", "st_within", "st_covers", "st_coveredby", "st_crosses", "st_touches", "st_overlaps")
SHAPE_COUNTS = (0, 1, 33, 400)

# {on}: a condition on a.g and b.g, in either order.
PAIRS = (
    "SELECT a.id, b.id FROM a JOIN b ON {on}",
    "SELECT a.id, b.name, a.g FROM a JOIN b ON {on} AND a.w > b.w WHERE a.w % 3 <> 1",
    "SELECT a.name, count(*), sum(b.w), min(b.id) FROM a JOIN b ON {on} GROUP BY a.name",
    "SELECT a.id, b.id FROM a JOIN b ON {on} ORDER BY a.id, b.id LIMIT 20",
    "SELECT a.id, b.id, o.kind FROM a JOIN b ON {on} JOIN owners o ON o.id = b.w % 10",
    "SELECT a.id, b.id, c.id FROM a JOIN b ON {on} LEFT JOIN owners c ON c.id = a.w % 17",
    "SELECT a.id, st_area(b.g) FROM a JOIN b ON {on} WHERE NOT st_equals(a.g, b.g)",
    "SELECT b.id FROM a, b WHERE {on} AND EXISTS (SELECT FROM owners o WHERE o.id = b.id % 13)",
)
POINTS = (
    "SELECT p.id, z.id FROM p JOIN z ON {on}",
    "SELECT p.id, z.name, z.g FROM p JOIN z ON {on} WHERE p.v > 20",
    "SELECT z.name, count(*), sum(p.v) FROM p JOIN z ON {on} GROUP BY z.name",
    "SELECT count(*) FROM p JOIN z ON {on} AND p.v < z.w",
    "SELECT p.id, o.kind FROM p JOIN z ON {on} JOIN owners o ON o.id = z.w % 10",
)
ON_POINTS = ("st_contains(z.g, p.g)", "st_within(p.g, z.g)", "st_covers(z.g, p.g)", "st_coveredby(p.g, z.g)", "st_intersects(p.g, z.g)",
             "st_intersects(z.g, st_makepoint(p.x, p.y))")
ODD_SHAPES = ("GEOMETRYCOLLECTION(POLYGON((10 10, 20 10, 20 20, 10 10)), POINT(30 30), LINESTRING(5 5, 40 20))",
              "CURVEPOLYGON(CIRCULARSTRING(20 20, 25 25, 30 20, 25 15, 20 20))",
              "COMPOUNDCURVE(CIRCULARSTRING(0 0, 5 5, 10 0), (10 0, 20 0))", "MULTIPOINT(1 1, 2 2, 50 50)",
              "MULTILINESTRING((0 0, 30 30), (60 60, 60 20))", "GEOMETRYCOLLECTION EMPTY")


def valid_shapes(session, table, shapes, count, odd=0):
    """GEOS raises errors for polygons that cross themselves: of those the hull."""
    session.query(f"CREATE TABLE {table} (id int, g geometry, w int, name text)")
    texts = [shapes.shape() for _ in range(count)] + [shapes.chance.choice(ODD_SHAPES) for _ in range(odd)]
    for first in range(0, len(texts), 500):
        rows = (f"({i}, {literal(text)}, {shapes.chance.randint(0, 99)}, '{table} {i % 5}')"
                for i, text in enumerate(texts[first:first + 500], first))
        session.query(f"INSERT INTO {table} VALUES {', '.join(rows)}")
    session.query(f"UPDATE {table} SET g = st_convexhull(g) WHERE geometrytype(g) IN ('POLYGON', 'MULTIPOLYGON') AND NOT st_isvalid(g)")


def load(session, chance, na, nb):
    shapes = Shapes(chance)
    session.query("DROP TABLE IF EXISTS a, b, p, z, owners")
    session.query("CREATE TABLE owners AS SELECT i AS id, 'kind ' || i % 3 AS kind FROM generate_series(0, 9) i")
    valid_shapes(session, "a", shapes, na)
    valid_shapes(session, "b", shapes, nb, odd=3 if nb else 0)
    session.query("CREATE INDEX ON b USING gist (g)")
    session.query("VACUUM (ANALYZE) a, b, owners")


def load_points(session, chance):
    shapes = Shapes(chance)
    session.query("DROP TABLE IF EXISTS p, z")
    session.query("CREATE TABLE p (id int, g geometry(Point), v int, x float8, y float8)")
    rows = (f"({i}, {literal(shapes.point())}, {chance.randint(0, 99)}, {shapes.number(0, 100)}, {shapes.number(0, 100)})"
            for i in range(3000))
    session.query(f"INSERT INTO p VALUES {', '.join(rows)}")
    valid_shapes(session, "z", shapes, 200, odd=8)
    session.query("VACUUM (ANALYZE) p, z")


def sent(session, sql):
    plan = json.loads(session.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}"))[0]["Plan"]
    return sum(node.get("Sent to PostGIS", 0) for node in plan_nodes(plan)), plan


def check_pairs(checks, rounds, seed):
    for number in range(rounds):
        chance = random.Random(seed + number)
        na, nb = (SHAPE_COUNTS[-1],) * 2 if number == 0 else (chance.choice(SHAPE_COUNTS), chance.choice(SHAPE_COUNTS))
        load(checks.plain, chance, na, nb)
        due = True if min(na, nb) > 100 else None
        for i, predicate in enumerate(PREDICATES):
            for j, on in enumerate((f"{predicate}(a.g, b.g)", f"{predicate}(b.g, a.g)")):
                for query in {PAIRS[0], PAIRS[(i + j + number) % len(PAIRS)], PAIRS[(i + 3 * j + number + 4) % len(PAIRS)]}:
                    checks.compare(query.format(on=on), due, False if due else None)
        # With 3.3 alone.
        checks.compare("SELECT a.id, b.id FROM a JOIN b ON st_dwithin(a.g, b.g, 2.5)", None)
        checks.compare("SELECT a.id, b.id FROM a JOIN b ON a.g && b.g", due, False if due else None)


def check_figures(checks):
    """Boxes that are apart are not sent; each other pair is sent once, whatever the number of cells that both have."""
    checks.plain.query("DROP TABLE IF EXISTS a, b")
    for table, shift in (("a", 0), ("b", 0.25)):
        checks.plain.query(f"CREATE TABLE {table} AS SELECT i AS id, st_makeenvelope({shift} + i % 30, {shift} + i / 30, "
                           f"{shift} + i % 30 + CASE WHEN i = 77 THEN 20 ELSE 0.5 END, {shift} + i / 30 + 0.5) AS g "
                           "FROM generate_series(0, 899) i")
    checks.plain.query("VACUUM ANALYZE a, b")
    sql = "SELECT a.id, b.id FROM a JOIN b ON st_intersects(a.g, b.g)"
    checks.compare(sql, True, False)
    near = int(checks.plain.value("SELECT count(*) FROM a JOIN b ON a.g && b.g"))
    pairs, plan = sent(checks.forced, sql)
    checks.note(sql, None if pairs == near else f"{pairs} pairs were sent, and the boxes of {near} meet")
    checks.note(sql, None if "GpuGiSTJoin" in [join["Join"] for join in joins(plan)] else f"no grid in {plan}")


def check_scales(checks):
    """Cells far from the origin, and of any size; shapes that touch at their corners, and are points of boxes."""
    for scale, shift in (("1e-9", "0"), ("1e6", "-5e11"), ("1e-2", "1e3"), ("1e40", "0")):
        checks.plain.query("DROP TABLE IF EXISTS a, b")
        for table, side in (("a", 1), ("b", 0.5)):
            x, y = f"{shift} + {scale} * (i % 20)", f"{shift} + {scale} * (i / 20)"
            to_x, to_y = f"{shift} + {scale} * (i % 20 + {side})", f"{shift} + {scale} * (i / 20 + {side})"
            checks.plain.query(f"CREATE TABLE {table} AS SELECT i AS id, CASE WHEN i % 7 = 3 THEN st_makepoint({x}, {y}) "
                               f"ELSE st_makeenvelope({x}, {y}, {to_x}, {to_y}) END AS g FROM generate_series(0, 399) i")
        checks.plain.query("VACUUM ANALYZE a, b")
        for on in ("st_touches(a.g, b.g)", "st_intersects(b.g, a.g)"):
            checks.compare(f"SELECT a.id, b.id FROM a JOIN b ON {on}", True)


def check_what_no_grid_places(checks):
    """No box, NaN, two SRIDs, cells without end: PostgreSQL's plan runs, and errors are PostGIS's."""
    checks.plain.query("DROP TABLE IF EXISTS a, b")
    for table, shift in (("a", 0), ("b", 0.25)):
        checks.plain.query(f"CREATE TABLE {table} AS SELECT i AS id, st_makeenvelope({shift} + i % 20, {shift} + i / 20, "
                           f"{shift} + i % 20 + 0.5, {shift} + i / 20 + 0.5) AS g FROM generate_series(0, 399) i")
    checks.plain.query("VACUUM ANALYZE a, b")
    sql = "SELECT a.id, b.id FROM a JOIN b ON st_intersects(a.g, b.g)"
    for table, shape in (("a", "postgis_dropbbox(g)"), ("b", "postgis_dropbbox(g)"),
                         ("a", "st_makeline(st_makepoint(0, 'NaN'), st_makepoint(9, 2))"),
                         ("b", "st_makeline(st_makepoint(0, 'NaN'), st_makepoint(5, 5))"),
                         ("a", "st_makeenvelope(-1e9, -1e9, 1e9, 1e9)"),
                         ("b", "st_makeenvelope(-1e9, -1e9, 1e9, 1e9)"), ("b", "st_setsrid(g, 4326)"), ("a", "NULL")):
        checks.plain.query(f"CREATE TABLE kept AS SELECT * FROM {table} WHERE id = 77")
        checks.plain.query(f"UPDATE {table} SET g = {shape} WHERE id = 77")
        checks.compare(sql)
        checks.plain.query(f"UPDATE {table} SET g = (SELECT g FROM kept) WHERE id = 77")
        checks.plain.query("DROP TABLE kept")


def check_points(checks, seed):
    load_points(checks.plain, random.Random(seed))
    for query in POINTS:
        for on in ON_POINTS:
            checks.compare(query.format(on=on), True, False)
    for on in ON_POINTS:
        sql = POINTS[0].format(on=on)
        pairs, _ = sent(checks.forced, sql)
        checks.note(sql, None if 0 < pairs < 3 * 3000 else f"{pairs} pairs were sent")
    # Where a pair is no row of its own, PostgreSQL's plan runs.
    for query in ("SELECT p.id, z.id FROM p LEFT JOIN z ON {on}", "SELECT p.id FROM p WHERE EXISTS (SELECT FROM z WHERE {on})",
                  "SELECT p.id FROM p WHERE NOT EXISTS (SELECT FROM z WHERE {on})",
                  "SELECT p.id, z.id FROM p FULL JOIN z ON p.id = z.id AND {on}"):
        checks.compare(query.format(on=ON_POINTS[0]))
    # PostGIS's error, once rows have been returned; and none for pairs that are apart.
    checks.plain.query("UPDATE z SET g = st_setsrid(g, 4326) WHERE id = 205")
    for on in ON_POINTS[:2]:
        checks.compare(POINTS[0].format(on=on))
    # Plans that are kept, and rescans.
    with checks.session(plan_cache_mode="force_generic_plan") as prepared:
        prepared.query("PREPARE few AS SELECT p.id, z.id FROM p JOIN z ON st_intersects(p.g, z.g) WHERE z.id <> 205 AND p.v < $1")
        for bound in (10, 50):
            reference = checks.plain.query("SELECT p.id, z.id FROM p JOIN z ON st_intersects(p.g, z.g) "
                                           f"WHERE z.id <> 205 AND p.v < {bound}")
            found = prepared.query(f"EXECUTE few ({bound})")
            checks.note(f"EXECUTE few ({bound})", None if sorted(found) == sorted(reference) else
                        f"{len(found)} rows instead of {len(reference)}")
    checks.compare("SELECT o.id, (SELECT count(*) FROM (SELECT p.id FROM p JOIN z ON st_covers(z.g, p.g) WHERE z.id <> 205 AND "
                   "p.v > o.id * 9 OFFSET 0) x) FROM owners o")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    with cluster.Cluster("shape_joins", settings={"work_mem": "64MB"}) as server:
        with server.connect() as session:
            if not session.query("SELECT FROM pg_available_extensions WHERE name = 'postgis'"):
                print("PostGIS is not installed: nothing was checked\n1 passed, 0 failed")
                return 0
            session.query("CREATE EXTENSION postgis")
        checks = Checks(server, options)
        check_pairs(checks, options.rounds, options.seed)
        check_figures(checks)
        check_scales(checks)
        check_what_no_grid_places(checks)
        check_points(checks, options.seed)
        print(f"{checks.grids} queries had a grid, {checks.in_vain} of them fell back", flush=True)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
