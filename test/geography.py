#!/usr/bin/env python3
"""geography.py - ST_DWithin of geographies on devices answers as PostGIS, and leaves little to it.

Two ways. The body of the device library is called with pairs of points at all distances and azimuths, near the poles and
across the antimeridian among them, with radii that differ from the distance that PostGIS measures by little or nothing: what
it decides must be PostGIS's answer, on the spheroid and on the sphere, and what it leaves to PostGIS must lie within the
bounds that src/rt/geography.cc derives. Then filters and joins run in forced queries: columns of points, columns of any
geography, empty ones, other shapes, other SRIDs.
Called by: test/run_all.py. Options: --pairs, --seed, --device, --without-postgis (pass if it is not installed).
"""

import argparse
import ctypes
import math
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools")]

import cluster  # noqa: E402

CHUNK = 50000
# A point of SRID 4326, of form 2, geodetic.
HEAD = bytes((0, 0x10, 0xe6, 0x48)) + struct.pack("<II", 1, 1)
# The radii of curvature of WGS 84, and the radius of its sphere.
LEAST, GREATEST, SPHERE = 6335439.327, 6399593.626, 6371008.771
FAR, ROUNDING = 2e6, 4.1e-5

# Pairs: where one point lies, how far and in which direction the other, and how the radius differs from the distance.
PAIRS = """
SELECT st_x(a::geometry), st_y(a::geometry), st_x(b::geometry), st_y(b::geometry), on_spheroid,
       CASE WHEN i % 50 = 0 THEN (ARRAY[0, -1, 'NaN', 'Infinity', 1e-300, 2e7, 20015087, 4e6])[1 + i / 50 % 8]::float8
            ELSE st_distance(a, b, on_spheroid) * (1 + by) END AS radius, st_distance(a, b, on_spheroid)
FROM (SELECT i, a, CASE WHEN i % 37 = 0 THEN a
                        WHEN i % 11 = 0 THEN st_setsrid(st_makepoint(random() * 360 - 180, random() * 180 - 90), 4326)::geography
                        ELSE st_project(a, 10 ^ (random() * 10.3 - 3), random() * 2 * pi()) END AS b, i % 2 = 0 AS on_spheroid,
             (ARRAY[0, 1e-14, -1e-14, 1e-11, -1e-11, 1e-8, -1e-8, 1e-6, -1e-6, 1e-4, -1e-4, 0.003, -0.003, 0.01, -0.01, 0.5, -0.5])
             [1 + (random() * 16)::int] AS by
      FROM (SELECT i, st_setsrid(st_makepoint(
                CASE i % 7 WHEN 1 THEN 180 - random() * 1e-3 WHEN 2 THEN random() * 1e-3 - 180 WHEN 3 THEN (i % 5 - 2) * 90
                           ELSE random() * 360 - 180 END,
                CASE i % 9 WHEN 1 THEN 90 - random() * 1e-3 WHEN 2 THEN random() * 1e-3 - 90 WHEN 3 THEN (i % 5 - 2) * 45
                           WHEN 4 THEN random() * 1e-6 ELSE degrees(asin(random() * 2 - 1)) END), 4326)::geography AS a
            FROM generate_series({first}, {last}) i) one) two
"""
ASKED = """
SELECT x1, y1, x2, y2, on_spheroid::int, radius, distance,
       st_dwithin(st_setsrid(st_makepoint(x1, y1), 4326)::geography, st_setsrid(st_makepoint(x2, y2), 4326)::geography,
                  radius, on_spheroid)::int
FROM ({pairs}) AS pairs (x1, y1, x2, y2, on_spheroid, radius, distance) OFFSET 0
"""


class Bench:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED: {what} {detail}", flush=True)


def body_of_library():
    body = ctypes.CDLL(str(cluster.BUILD / "rt" / "librt_check.so")).rt_geography_dwithin
    body.argtypes = [ctypes.c_char_p, ctypes.c_uint32] * 2 + [ctypes.c_double, ctypes.c_bool, ctypes.POINTER(ctypes.c_uint32)]
    body.restype = ctypes.c_bool
    return body


def call(body, a, b, radius, on_spheroid):
    """None: PostgreSQL decides."""
    errors = ctypes.c_uint32(0)
    result = body(a, len(a), b, len(b), radius, on_spheroid, ctypes.byref(errors))
    return None if errors.value else result


def point(x, y):
    return HEAD + struct.pack("<dd", x, y)


def widest_doubt(radius, on_spheroid):
    """Metres on both sides of the radius that the bounds leave open at most."""
    if radius > FAR:
        return radius * ((GREATEST - LEAST) / LEAST if on_spheroid else 0) * 1.01 + 1e-3
    half = radius / (2 * LEAST)
    between = 2 * LEAST * half ** 3 / 6 * (1 - (LEAST / GREATEST) ** 2 + 3e-6) if on_spheroid else 0
    return (between + 2 * LEAST * half ** 7 / 5040) * 1.03 / math.cos(half) + 1e-14 * radius + ROUNDING


def compare_bodies(bench, session, count):
    body, differences, doubts, beyond, asked = body_of_library(), [], 0, [], 0
    for first in range(1, count + 1, CHUNK):
        pairs = PAIRS.format(first=first, last=min(first + CHUNK - 1, count))
        for row in session.query(ASKED.format(pairs=pairs)):
            x1, y1, x2, y2, on_spheroid, radius, distance, expected = map(float, row)
            found = call(body, point(x1, y1), point(x2, y2), radius, bool(on_spheroid))
            asked += 1
            if found is None:
                doubts += 1
                # Far away, and opposite to each other, the sphere's chords tell little.
                known = math.isfinite(radius) and radius < 1.9e7
                if known and abs(distance - radius) > widest_doubt(radius, on_spheroid):
                    beyond.append((row, widest_doubt(radius, on_spheroid)))
            elif found != bool(expected):
                differences.append(row)
    print(f"  {asked} pairs, {doubts} left to PostGIS, {len(differences)} different", flush=True)
    bench.check("as PostGIS", not differences, differences[:3])
    bench.check("doubts are within the bounds", not beyond, f"{len(beyond)} {beyond[:3]}")
    bench.check("all pairs were asked", asked == count, asked)


def refused_and_empty(bench):
    """What is no point of SRID 4326 is PostgreSQL's; spoilt bytes too."""
    body, good = body_of_library(), point(1, 2)
    empty = HEAD[:8] + struct.pack("<I", 0)
    for what, value in (("geometry", HEAD[:3] + b"\x40" + good[4:]), ("SRID", b"\x00\x10\xe7\x48" + good[4:]),
                        ("line", HEAD[:4] + struct.pack("<II", 2, 1) + good[12:]), ("cut off", good[:20]), ("nothing", b""),
                        ("NaN", point(math.nan, 2)), ("infinite", point(math.inf, 2)), ("too far east", point(180.5, 2)),
                        ("too far north", point(1, 90.1))):
        for a, b in ((good, value), (value, good)):
            bench.check(f"{what} is left to PostGIS", call(body, a, b, 10, True) is None)
    for other in (good, empty, HEAD[:4] + struct.pack("<II", 2, 1) + good[12:]):
        bench.check("empty ones are never near", call(body, empty, other, 1e9, True) is False)
    bench.check("NaN as a radius is left to PostGIS", call(body, good, good, math.nan, True) is None)
    bench.check("equal points, radius 0", call(body, good, good, 0.0, True) is True)
    bench.check("equal points, radius below 0", call(body, good, good, -1e-9, True) is False)


def fallbacks(session):
    return sum(int(value) for name, value in session.query("SELECT * FROM turbine.stat_queries") if name.startswith("fallback"))


# Of each: whether all is decided on the device.
QUERIES = (
    ("SELECT count(*), sum(id) FROM places WHERE st_dwithin(place, 'POINT(139.7 35.6)', 300000)", True),
    ("SELECT id FROM places WHERE st_dwithin(place, 'POINT(139.7 35.6)', 300000, false)", True),
    ("SELECT id, st_astext(place) FROM places WHERE st_dwithin('POINT(-180 -20)'::geography, place, 1500000)", True),
    ("SELECT count(*) FROM places WHERE NOT st_dwithin(place, 'POINT(0 90)', 1000000)", True),
    ("SELECT count(*) FROM places WHERE st_dwithin(place, other, 900000)", True),
    ("SELECT count(*) FROM places WHERE st_dwithin(place, other, id * 100.0, id % 2 = 0)", True),
    ("SELECT id % 10, count(*) FROM places WHERE st_dwithin(other, 'POINT EMPTY', 300000) GROUP BY 1", True),
    ("SELECT c.id, count(*) FROM centres c JOIN places p ON st_dwithin(p.place, c.place, 200000) GROUP BY c.id", True),
    ("SELECT c.id, count(p.id) FROM centres c LEFT JOIN places p ON st_dwithin(p.other, c.place, 200000) GROUP BY c.id", True),
    ("SELECT count(*) FROM places p WHERE EXISTS (SELECT FROM centres c WHERE st_dwithin(p.place, c.place, 400000, false))", True),
    ("SELECT id, st_distance(place, 'POINT(139.7 35.6)') FROM places WHERE st_dwithin(place, 'POINT(139.7 35.6)', 300000)", True),
    ("SELECT count(*) FROM places WHERE st_dwithin(place, 'LINESTRING(139 35, 140 36)', 300000)", False),
    ("SELECT count(*) FROM mixed WHERE st_dwithin(shape, 'POINT(10 10)', 100000)", False),
    ("SELECT count(*) FROM mixed WHERE id % 4 = 0 AND st_dwithin(shape, 'SRID=4269;POINT(10 10)', 100000)", False),
    ("SELECT count(*) FROM deep WHERE st_dwithin(place, 'SRID=4269;POINT(10 10)', 100000)", False),
    ("SELECT count(*) FROM deep WHERE st_dwithin(place, 'POINT Z (139.7 35.6 1e6)', 3000000)", True),
    ("SELECT place FROM places WHERE st_dwithin(place, 'POINT(139.7 35.6)', 100000)", True),
    ("SELECT place, count(*) FROM places GROUP BY place", None),
    ("SELECT id FROM places ORDER BY place, id LIMIT 5", None),
)


def create_tables(session):
    session.query("""
CREATE TABLE places AS
    SELECT i AS id,
           CASE WHEN i % 997 = 0 THEN NULL WHEN i % 499 = 0 THEN 'POINT EMPTY'::geography
                ELSE st_setsrid(st_makepoint(i * 7919 % 360000 / 1000.0 - 180, degrees(asin(i * 104729 % 20000 / 10000.0 - 1))), 4326)
           END::geography(Point, 4326) AS place,
           st_setsrid(st_makepoint(i * 7907 % 360000 / 1000.0 - 180, degrees(asin(i * 104711 % 20000 / 10000.0 - 1))), 4326)::geography
               AS other
    FROM generate_series(1, 20000) i;
CREATE TABLE centres AS SELECT i AS id, st_setsrid(st_makepoint(i * 37 % 360 - 180, i * 61 % 180 - 89.5), 4326)::geography AS place
    FROM generate_series(1, 60) i;
CREATE TABLE mixed AS
    SELECT i AS id, CASE i % 4 WHEN 0 THEN st_setsrid(st_makepoint(i % 20, i % 19), 4326)::geography
                               WHEN 1 THEN st_buffer(st_setsrid(st_makepoint(i % 20, i % 19), 4326), 0.1)::geography
                               WHEN 2 THEN 'LINESTRING EMPTY'::geography
                               ELSE 'SRID=4326;MULTIPOINT(7 1, 3 4)'::geography END
           AS shape
    FROM generate_series(1, 2000) i;
CREATE TABLE deep AS SELECT i AS id, st_setsrid(st_makepoint(i % 360 - 180, i % 180 - 90, i), 4326)::geography(PointZ, 4326) AS place
    FROM generate_series(1, 3000) i;
CREATE INDEX ON places USING gist (place)
""")
    session.query("VACUUM ANALYZE places, centres, mixed, deep")


def compare_queries(bench, plain, forced):
    for query, decided in QUERIES:
        for indexes in ("on", "off"):
            forced.query(f"SET pg_turbine.enable_block_indexes = {indexes}")
            before = fallbacks(plain)
            left, right = plain.run(query), forced.run(query)
            same = left.sqlstate == right.sqlstate and sorted(left.rows, key=str) == sorted(right.rows, key=str)
            bench.check(f"{query}: as PostGIS", same, f"{left.error} {right.error} {left.rows[:3]} {right.rows[:3]}")
            if decided:
                plan = "\n".join(line for line, in forced.query("EXPLAIN (COSTS OFF) " + query))
                bench.check(f"{query}: on a device", "Custom Scan (Gpu" in plan and "st_dwithin" in plan, plan)
                bench.check(f"{query}: nothing falls back", fallbacks(plain) == before)
    forced.query("RESET pg_turbine.enable_block_indexes")
    plan = "\n".join(line for line, in forced.query("EXPLAIN (COSTS OFF) SELECT count(*) FROM places WHERE "
                                                    "st_dwithin(place, 'POINT(1 1)', 9)"))
    bench.check("the GiST index is used", "GpuPreAgg" in plan and "Index cond: st_dwithin" in plan, plan)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100000)
    parser.add_argument("--seed", type=float, default=0.5, help="from -1 to 1")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--without-postgis", action="store_true", help="pass if PostGIS is not installed")
    options = parser.parse_args()
    installed = cluster.has_extension("postgis")
    if not installed and options.without_postgis:
        print("passed over, as asked: PostGIS is not installed\n0 passed, 0 failed")
        return 0
    bench = Bench()
    with cluster.Cluster("geography", settings={"pg_turbine.device": options.device}) as server:
        server.wait_for_service()
        with server.connect() as plain, server.connect() as forced:
            plain.query("SET pg_turbine.enabled = off")
            plain.query("CREATE EXTENSION postgis")
            forced.query("SET pg_turbine.debug_force_offload = on")
            print(f"PostGIS {plain.value('SELECT postgis_lib_version()')}, {options.pairs} pairs, seed {options.seed}", flush=True)
            plain.query(f"SELECT setseed({options.seed})")
            compare_bodies(bench, plain, options.pairs)
            refused_and_empty(bench)
            create_tables(plain)
            compare_queries(bench, plain, forced)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
