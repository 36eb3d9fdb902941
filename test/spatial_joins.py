#!/usr/bin/env python3
"""spatial_joins.py - joins of points with shapes by a grid give PostGIS's answers.

Owns: tables of random points (on edges and corners, empty, NULL) and shapes (rectangles that touch, stars, holes,
multipolygons, lines, points; some empty, NULL, or much larger than the others), and queries of each kind of join over
them. Each query runs without us and forced; EXPLAIN must show a GpuGiSTJoin where a grid is due, and none where it is
not. Then what a grid cannot place (NaN, two SRIDs, shapes that grew after the plan was made), and several sessions.
Must never: pass if most queries fall back to PostgreSQL's plan.
Called by: make test-spatial-joins, test/run_all.py. Options: --rounds, --seed, --device, --picture
(write the picture that the page of recipes shows).
"""

import argparse
import json
import math
import random
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402
from workload import plan_nodes  # noqa: E402

REPOSITORY = Path(__file__).resolve().parent.parent
RECIPES = REPOSITORY / "docs" / "spatial-joins.md"
PICTURE = REPOSITORY / "docs" / "pictures" / "heat-map.svg"
POINT_COUNTS = (0, 1, 33, 700, 4000)
SHAPE_COUNTS = (0, 1, 33, 300)
MOST_IN_VAIN = 0.2

# {p}: the table of points, {z}: that of shapes.
ON = ("st_contains(z.g, p.g)", "st_within(p.g, z.g)", "st_covers(z.g, p.g)", "st_coveredby(p.g, z.g)",
      "st_intersects(p.g, z.g)", "st_intersects(z.g, p.g)", "st_dwithin(p.g, z.g, 1.5)", "st_dwithin(z.g, p.g, 0)",
      "st_contains(z.g, st_makepoint(p.x, p.y))")
QUERIES = (
    "SELECT p.id, z.id FROM {p} p JOIN {z} z ON {on}",
    "SELECT z.name, count(*), sum(p.v), min(p.id) FROM {p} p JOIN {z} z ON {on} GROUP BY z.name",
    "SELECT p.id, z.id FROM {p} p JOIN {z} z ON {on} AND p.v > z.w WHERE p.v % 3 <> 1 AND z.w < 70",
    "SELECT p.id, z.id, z.name FROM {p} p LEFT JOIN {z} z ON {on}",
    "SELECT count(*), count(z.id), sum(z.w) FROM {p} p LEFT JOIN {z} z ON {on} AND z.w > 20",
    "SELECT p.id FROM {p} p WHERE EXISTS (SELECT FROM {z} z WHERE {on})",
    "SELECT p.id, p.v FROM {p} p WHERE NOT EXISTS (SELECT FROM {z} z WHERE {on} AND z.w <> 5)",
    "SELECT o.kind, count(*), sum(z.w) FROM {p} p JOIN {z} z ON {on} JOIN owners o ON o.id = p.owner GROUP BY o.kind",
    "SELECT o.kind, z.name, count(*) FROM owners o JOIN {p} p ON p.owner = o.id LEFT JOIN {z} z ON {on} GROUP BY 1, 2",
    "SELECT a.id, b.id, p.id FROM {p} p JOIN {z} z ON {on} JOIN {z} a ON a.id = z.id JOIN {z} b ON b.id = z.id % 7",
)
# A grid is of no use: keys find the rows, or the points are on the side that cannot stream.
WITHOUT_GRID = (
    "SELECT p.id, z.id FROM {p} p JOIN {z} z ON {on} AND p.v = z.w",
    "SELECT z.id, p.id FROM {z} z LEFT JOIN {p} p ON {on}",
    "SELECT z.id FROM {z} z WHERE NOT EXISTS (SELECT FROM {p} p WHERE {on})",
)


class Shapes:
    """Makes geometries as text, over [0, 100] in both directions."""

    def __init__(self, chance):
        self.chance = chance

    def number(self, low, high):
        # Whole numbers meet edges and corners.
        return self.chance.randint(low, high) if self.chance.random() < 0.5 else round(self.chance.uniform(low, high), 3)

    def point(self):
        kind = self.chance.random()
        if kind < 0.03:
            return None
        if kind < 0.05:
            return "POINT EMPTY"
        return f"POINT({self.number(-5, 105)} {self.number(-5, 105)})"

    def ring(self, x, y, radius):
        far = [self.chance.uniform(0.3, 1) for _ in range(self.chance.randint(3, 12))]
        # Of many edges few lie in a cell.
        if len(far) % 4 == 0:
            far = [0.3 + 0.7 * math.sin(i * i) ** 2 for i in range(16 * len(far))]
        points = []
        for i, part in enumerate(far):
            angle = 2 * math.pi * i / len(far)
            points.append(f"{x + radius * part * math.cos(angle):.4f} {y + radius * part * math.sin(angle):.4f}")
        return f"({', '.join([*points, points[0]])})"

    def box(self, x, y, w, h):
        return f"({x} {y}, {x + w} {y}, {x + w} {y + h}, {x} {y + h}, {x} {y})"

    def polygon(self, size):
        x, y = self.chance.randint(0, 100), self.chance.randint(0, 100)
        kind = self.chance.random()
        if kind < 0.4:
            return f"({self.box(x, y, self.chance.randint(1, size), self.chance.randint(1, size))})"
        if kind < 0.7:
            return f"({self.ring(x, y, size)})"
        return f"({self.box(x, y, 2 * size, 2 * size)}, {self.box(x + size // 2, y + size // 2, size, 1 + size // 2)})"

    def shape(self):
        kind = self.chance.random()
        size = 40 if kind > 0.98 else self.chance.randint(1, 6)
        if kind < 0.03:
            return None
        if kind < 0.06:
            return self.chance.choice(("POLYGON EMPTY", "MULTIPOLYGON EMPTY"))
        if kind < 0.16:
            return f"MULTIPOLYGON({', '.join(self.polygon(size) for _ in range(self.chance.randint(1, 4)))})"
        if kind < 0.20:
            return self.point() or "POINT(50 50)"
        if kind < 0.26:
            line = [f"{self.number(0, 100)} {self.number(0, 100)}" for _ in range(self.chance.randint(2, 5))]
            return f"LINESTRING({', '.join(line)})"
        return f"POLYGON{self.polygon(size)}"


def literal(text):
    return "NULL" if text is None else f"'{text}'"


def load(session, chance, npoints, nshapes, index):
    shapes = Shapes(chance)
    session.query("DROP TABLE IF EXISTS p, z, owners")
    session.query("CREATE TABLE owners AS SELECT i AS id, 'kind ' || i % 3 AS kind FROM generate_series(0, 9) i")
    declared = chance.choice(("geometry", "geometry(Point)"))
    session.query(f"CREATE TABLE p (id int, g {declared}, v int, owner int, x float8, y float8)")
    session.query("CREATE TABLE z (id int, g geometry, w int, name text)")
    for first in range(0, npoints, 1000):
        rows = (f"({i}, {literal(shapes.point())}, {chance.randint(0, 99)}, {chance.randint(0, 12)}, "
                f"{shapes.number(0, 100)}, {shapes.number(0, 100)})" for i in range(first, min(first + 1000, npoints)))
        session.query(f"INSERT INTO p VALUES {', '.join(rows)}")
    if nshapes:
        rows = (f"({i}, {literal(shapes.shape())}, {chance.randint(0, 99)}, 'zone {i % 5}')" for i in range(nshapes))
        session.query(f"INSERT INTO z VALUES {', '.join(rows)}")
    if index:
        session.query("CREATE INDEX ON z USING gist (g)")
        session.query("CREATE INDEX ON p USING gist (g)")
    session.query("VACUUM (ANALYZE) p, z, owners")


def methods(plan):
    """The method of each join of ours in the plan."""
    return [join["Join"] for join in joins(plan)]


def joins(plan):
    """What EXPLAIN says of each join of ours."""
    found = []

    def walk(group):
        for name, value in group.items():
            if isinstance(value, dict) and name.startswith("Depth"):
                found.append(value)
                walk(value)

    for node in plan_nodes(plan):
        walk(node)
    return found


def fallbacks(session):
    return sum(int(value) for name, value in session.query("SELECT * FROM turbine.stat_queries") if name.startswith("fallback"))


class Checks:
    def __init__(self, server, options):
        self.server, self.options = server, options
        self.passed = self.failed = self.grids = self.in_vain = 0
        self.plain = server.connect(settings={**OFF, "statement_timeout": "300s"})
        self.forced = self.session()
        self.lock = threading.Lock()
        # Other versions than 3.3 round distances otherwise: st_distance and <-> stay with them.
        self.has_distances = self.plain.value("SELECT postgis_lib_version()").startswith("3.3.")

    def session(self, **settings):
        return self.server.connect(settings={**FORCED, "pg_turbine.device": self.options.device, "statement_timeout": "300s",
                                             **settings})

    def note(self, name, complaint):
        with self.lock:
            if complaint:
                self.failed += 1
                print(f"{name}\n    {complaint}", flush=True)
            else:
                self.passed += 1

    def plan(self, session, sql):
        return json.loads(session.value(f"EXPLAIN (FORMAT JSON) {sql}"))[0]["Plan"]

    def compare(self, sql, grid=None, falls_back=None, counts=True):
        """grid: whether EXPLAIN must show one; falls_back: whether PostgreSQL's plan must run in the end. None: either.
        counts: it is one of the queries of which few may fall back."""
        session = self.forced
        before = fallbacks(self.plain)
        shown = methods(self.plan(session, sql))
        complaint = answers.difference(self.plain.run(sql), session.run(sql), floats=True)
        if not complaint and grid is not None and ("GpuGiSTJoin" in shown) != grid:
            complaint = f"EXPLAIN shows the joins {shown or 'none'}"
        fell_back = fallbacks(self.plain) > before
        if not complaint and falls_back is not None and fell_back != falls_back:
            complaint = "the device did not fall back" if falls_back else "the device fell back"
        if counts and falls_back is None and "GpuGiSTJoin" in shown:
            self.grids += 1
            self.in_vain += fell_back
        self.note(sql, complaint)


def check_random(checks, rounds, seed):
    for number in range(rounds):
        chance = random.Random(seed + number)
        npoints, nshapes = chance.choice(POINT_COUNTS), chance.choice(SHAPE_COUNTS)
        if number == 0:
            npoints, nshapes = POINT_COUNTS[-1], SHAPE_COUNTS[-1]
        load(checks.plain, chance, npoints, nshapes, index=number % 2 == 0)
        # With few rows a column of plain geometries may show no point.
        due = True if npoints > 100 and nshapes > 0 else None
        for i, query in enumerate(QUERIES):
            for on in (ON[(i + number) % len(ON)], ON[(i + number + 4) % len(ON)]):
                checks.compare(query.format(p="p", z="z", on=on), due)
        for query in WITHOUT_GRID:
            checks.compare(query.format(p="p", z="z", on=ON[number % 4]), False)


def check_far_and_large(checks):
    """One shape that covers all others, cells far from the origin, coordinates of very different sizes."""
    session = checks.plain
    session.query("DROP TABLE IF EXISTS p, z")
    for scale, shift in (("1", "0"), ("1e-9", "0"), ("1e6", "-5e11"), ("1e-2", "1e3")):
        session.query(f"CREATE TABLE z AS SELECT i AS id, st_makeenvelope({shift} + {scale} * (i % 40), "
                      f"{shift} + {scale} * (i / 40), {shift} + {scale} * (i % 40 + 1), {shift} + {scale} * (i / 40 + 1)) AS g "
                      "FROM generate_series(0, 1599) i")
        session.query(f"INSERT INTO z VALUES (-1, st_makeenvelope({shift} - {scale}, {shift} - {scale}, "
                      f"{shift} + 50 * {scale}, {shift} + 50 * {scale}))")
        session.query("CREATE TABLE p AS SELECT i AS id, st_makepoint("
                      f"{shift} + {scale} * (i % 91) / 2, {shift} + {scale} * (i / 91) / 2)::geometry(Point) AS g "
                      "FROM generate_series(0, 8000) i")
        session.query("VACUUM ANALYZE p, z")
        checks.compare("SELECT z.id, count(*), sum(p.id) FROM p JOIN z ON st_contains(z.g, p.g) GROUP BY z.id", True)
        checks.compare("SELECT z.id, count(*) FROM p JOIN z ON st_intersects(z.g, p.g) GROUP BY z.id", True)
        session.query("DROP TABLE p, z")


def check_equal_distances(checks):
    """On grids the distance is often the tolerance, where versions of PostGIS round to either side: pairs come back marked."""
    session = checks.plain
    for step in (1.0, 0.1, 0.07):
        session.query(f"CREATE TABLE p AS SELECT i AS id, st_makepoint(i % 60 * {step}, i / 60 * {step})::geometry(Point) AS g "
                      "FROM generate_series(0, 3599) i")
        session.query(f"CREATE TABLE z AS SELECT i AS id, st_makeenvelope(i % 7 * {step} * 9, i / 7 * {step} * 9, "
                      f"i % 7 * {step} * 9 + {step} * (1 + i % 5), i / 7 * {step} * 9 + {step} * (1 + i % 3)) AS g "
                      "FROM generate_series(0, 48) i")
        session.query("VACUUM ANALYZE p, z")
        for reach in (0, 1, 2, 3):
            on = f"st_dwithin(z.g, p.g, {reach} * float8 '{step}')"
            checks.compare(f"SELECT p.id, z.id FROM p JOIN z ON {on}", True, False)
            falls_back = False if checks.has_distances or reach == 0 else None
            checks.compare(f"SELECT z.id, count(*), sum(p.id) FROM p JOIN z ON {on} GROUP BY z.id", True, falls_back, counts=False)
            checks.compare(f"SELECT p.id, z.id FROM p LEFT JOIN z ON {on}", True, falls_back, counts=False)
        checks.compare(f"SELECT id FROM p WHERE st_dwithin(g, st_makeenvelope({step}, {step}, 49 * {step}, 49 * {step}), {step})",
                       False, False)
        session.query("DROP TABLE p, z")


def check_what_no_grid_places(checks):
    session = checks.plain
    # Beyond floats, in which PostGIS has its boxes.
    session.query("CREATE TABLE p AS SELECT i AS id, st_makepoint(1e150 * i, -1e150 * i)::geometry(Point) AS g "
                  "FROM generate_series(0, 99) i")
    session.query("CREATE TABLE z AS SELECT i AS id, st_makeenvelope(1e150 * i, -1e150 * i, 1e150 * i + 2e150, 0) AS g "
                  "FROM generate_series(0, 9) i")
    session.query("VACUUM ANALYZE p, z")
    checks.compare("SELECT p.id, z.id FROM p JOIN z ON st_contains(z.g, p.g)")
    session.query("DROP TABLE p, z")
    # NaN: PostGIS's own answer.
    session.query("CREATE TABLE p AS SELECT i AS id, st_makepoint(CASE WHEN i = 77 THEN float8 'NaN' ELSE i % 45 / 2.0 END, i / 90.0)"
                  "::geometry(Point) AS g FROM generate_series(0, 1999) i")
    session.query("CREATE TABLE z AS SELECT i AS id, st_makeenvelope(i % 20, i / 20, i % 20 + 1, i / 20 + 1) AS g "
                  "FROM generate_series(0, 399) i")
    session.query("VACUUM ANALYZE p, z")
    for on in ("st_contains(z.g, p.g)", "st_intersects(z.g, p.g)", "st_dwithin(z.g, p.g, 1)"):
        checks.compare(f"SELECT p.id, z.id FROM p JOIN z ON {on}", True, True)
    # Two SRIDs: PostGIS's error.
    session.query("DELETE FROM p WHERE id = 77")
    session.query("UPDATE z SET g = st_setsrid(g, 4326) WHERE id = 3")
    checks.compare("SELECT p.id, z.id FROM p JOIN z ON st_contains(z.g, p.g)", True, falls_back=True)
    session.query("UPDATE z SET g = st_setsrid(g, 4326)")
    session.query("ALTER TABLE p ALTER g TYPE geometry(Point, 4326) USING st_setsrid(g, 4326)")
    checks.compare("SELECT p.id, z.id FROM p JOIN z ON st_contains(z.g, p.g)", True)
    # A plan that is kept while shapes grow beyond what a grid of its cells may have.
    with checks.session(plan_cache_mode="force_generic_plan") as prepared:
        prepared.query("PREPARE grown AS SELECT p.id, z.id FROM p JOIN z ON st_contains(z.g, p.g)")
        prepared.query("EXECUTE grown")
        session.query("INSERT INTO z VALUES (100, st_makeenvelope(-1e9, -1e9, 1e9, 1e9, 4326))")
        before = fallbacks(session)
        reference = session.run("SELECT p.id, z.id FROM p JOIN z ON st_contains(z.g, p.g)")
        checks.note("EXECUTE grown", answers.difference(reference, prepared.run("EXECUTE grown")) or
                    (None if fallbacks(session) > before else "cells without end did not fall back"))
    # Who looks for points of lines finds none; PostGIS decides.
    session.query("CREATE TABLE lines AS SELECT 1 AS id, 'LINESTRING(0 0, 5 5)'::geometry AS g")
    checks.compare("SELECT l.id, z.id FROM lines l JOIN z ON st_intersects(z.g, st_setsrid(l.g, 4326))", False,
                   falls_back=False)
    session.query("DROP TABLE p, z, lines")


def check_reason(checks):
    """turbine.why_not tells of a spatial join that has no grid."""
    load(checks.plain, random.Random(5), 700, 300, index=False)
    reasons = checks.forced.query("SELECT part, reason FROM turbine.why_not("
                                  "'SELECT z.id, p.id FROM z LEFT JOIN p ON st_contains(z.g, p.g)')")
    checks.note("why_not", None if any("not known to be points" in reason for _, reason in reasons) else f"it says {reasons}")


def check_figures(checks):
    """EXPLAIN ANALYZE: a point meets the few shapes in whose cells it lies, not all."""
    session = checks.plain
    session.query("DROP TABLE IF EXISTS p, z, owners")
    session.query("CREATE TABLE p AS SELECT i AS id, st_makepoint(i * 7919 % 100003 / 2500.0, i::int8 * 104729 % 100003 / 2500.0)"
                  "::geometry(Point) AS g FROM generate_series(1, 5000) i")
    session.query("CREATE TABLE z AS SELECT i AS id, st_buffer(st_makepoint(i % 40 + 0.5, i / 40 + 0.5), 0.6, 25) AS g "
                  "FROM generate_series(0, 1599) i")
    session.query("CREATE INDEX ON z USING gist (g)")
    session.query("VACUUM ANALYZE p, z")
    for on, most in (("st_contains(z.g, p.g)", 8), ("st_intersects(z.g, p.g)", 8), ("st_dwithin(z.g, p.g, 0.5)", 40)):
        matches = int(checks.plain.value(f"SELECT count(*) FROM p JOIN z ON {on}"))
        for query in ("SELECT count(*) FROM p JOIN z ON {on}", "SELECT count(*), count(z.id), sum(z.id) FROM p LEFT JOIN z ON {on}",
                      "SELECT count(*) FROM p WHERE EXISTS (SELECT FROM z WHERE {on})"):
            sql = query.format(on=on)
            checks.compare(sql, True, False)
            plan = json.loads(checks.forced.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}"))[0]["Plan"]
            candidates = joins(plan)[0]["Grid Candidates"]
            # EXISTS stops at the first match.
            least = 1 if "EXISTS" in sql else matches
            checks.note(sql, None if least <= candidates <= most * 5000 else
                        f"{candidates} candidates for {matches} matches of 5000 points")
    session.query("DROP TABLE p, z")


def check_nearest(checks):
    """The rows nearest to a point are sorted on a device, for each row of a LATERAL too; or found within a distance."""
    load(checks.plain, random.Random(7), 4000, 33, index=False)
    by = "g <-> 'POINT(50 50)'"
    near = ("SELECT z.id, p.id AS near, st_distance(z.g, p.g) AS far, "
            "row_number() OVER (PARTITION BY z.id ORDER BY z.g <-> p.g, p.id) AS place FROM p JOIN z ON st_dwithin(p.g, z.g, 5)")
    for sql in (f"SELECT id, {by} FROM p WHERE g IS NOT NULL ORDER BY {by}, id LIMIT 7",
                "SELECT id FROM p WHERE g IS NOT NULL ORDER BY st_distance(g, 'POINT(0 0)'), id LIMIT 7",
                "SELECT z.id, n.id FROM (SELECT * FROM z WHERE id < 5) z CROSS JOIN LATERAL "
                "(SELECT p.id FROM p WHERE p.g IS NOT NULL ORDER BY p.g <-> z.g, p.id LIMIT 3) n",
                f"SELECT id, near, far FROM ({near}) found WHERE place <= 3"):
        checks.compare(sql, "st_dwithin" in sql)
        plan = [row[0] for row in checks.forced.query(f"EXPLAIN {sql}")]
        sorts = any("(GpuSort)" in line for line in plan)
        checks.note(sql, None if sorts == checks.has_distances else f"GpuSort is {'' if sorts else 'not '}in\n" + "\n".join(plan))
    reasons = checks.forced.query("SELECT reason FROM turbine.why_not('SELECT z.id, n.id FROM z CROSS JOIN LATERAL "
                                  "(SELECT p.id FROM p ORDER BY p.g <-> z.g LIMIT 3) n')")
    checks.note("why_not", None if any("laterally" in reason for reason, in reasons) else f"it says {reasons}")


def check_sessions(checks):
    load(checks.plain, random.Random(6), 4000, 300, index=True)

    def run(number):
        with checks.session() as session, checks.server.connect(settings=OFF) as plain:
            for i in range(6):
                sql = QUERIES[(i + number) % len(QUERIES)].format(p="p", z="z", on=ON[(i * number) % len(ON)])
                checks.note(sql, answers.difference(plain.run(sql), session.run(sql)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def recipe_statements():
    """The SQL of docs/spatial-joins.md, in order."""
    text = RECIPES.read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```sql\n")[1:]]
    return [statement.strip() for block in blocks for statement in block.split(";\n") if statement.strip()]


def check_picture(server, checks, write):
    """The file that the recipe makes is the one that the page shows."""
    with server.connect() as session:
        svg = session.value("SELECT svg FROM heat_map") + "\n"
    squares = ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")
    checks.note("the picture", None if len(squares) > 100 else f"it has {len(squares)} squares")
    if write:
        PICTURE.write_text(svg, encoding="ascii")
    checks.note("the picture is that of the page", None if PICTURE.read_text(encoding="ascii") == svg else
                "docs/pictures/heat-map.svg is an older one: --picture writes it")


def check_recipes(server, checks):
    """Statements that make tables run once; each query must have a grid and PostGIS's answer."""
    with server.connect() as session:
        session.query("DROP TABLE IF EXISTS areas, positions, fences")
    for statement in recipe_statements():
        if statement.startswith("SELECT"):
            checks.compare(statement, True)
        else:
            with server.connect() as session:
                session.query(statement)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--picture", action="store_true", help="write the picture that docs/spatial-joins.md shows")
    options = parser.parse_args()
    with cluster.Cluster("spatial", settings={"work_mem": "64MB"}) as server:
        with server.connect() as session:
            if not session.query("SELECT FROM pg_available_extensions WHERE name = 'postgis'"):
                print("PostGIS is not installed: nothing was checked\n1 passed, 0 failed")
                return 0
            session.query("CREATE EXTENSION postgis")
        checks = Checks(server, options)
        check_random(checks, options.rounds, options.seed)
        check_far_and_large(checks)
        check_equal_distances(checks)
        check_what_no_grid_places(checks)
        check_reason(checks)
        check_figures(checks)
        check_nearest(checks)
        check_sessions(checks)
        check_recipes(server, checks)
        check_picture(server, checks, options.picture)
        print(f"{checks.grids} queries had a grid, {checks.in_vain} of them fell back", flush=True)
        # PostGIS decides what its two procedures may disagree about: points on edges of both rings, tiny segments.
        checks.note("devices answer", None if checks.in_vain < MOST_IN_VAIN * checks.grids else "too many fell back")
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
