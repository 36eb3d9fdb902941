#!/usr/bin/env python3
"""geo_files.py - geometries in Arrow and Parquet files are what PostGIS makes of the same well-known binary.

Owns: files with well-known binary and with GeoArrow's native forms, of all shapes, layouts and dimensions, with the metadata
of GeoParquet and of GeoArrow; tables over them, declared by hand and by IMPORT FOREIGN SCHEMA. Each query runs over a heap
table that PostGIS has filled, over the file without us, and over the file forced onto a device, which may fall back only
where the case says so. Then coordinate reference systems, what is refused, and spatial joins over points of files.
Must never: take the engine's word for a value.
Called by: test/run_all.py, with a Python that has pyarrow. Options: --seed, --device, --without-postgis.
"""

import argparse
import io
import json
import os
import random
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from random_geometries import GeometryMaker  # noqa: E402
from run_sql import CACHED, OFF  # noqa: E402

ROWS = 3000
NAME, METADATA = b"ARROW:extension:name", b"ARROW:extension:metadata"
DIMENSIONS = ("xy", "xyz", "xym", "xyzm")
LEVELS = {"point": 0, "linestring": 1, "multipoint": 1, "polygon": 2, "multilinestring": 2, "multipolygon": 3}
SHOWN = "id, st_asewkb(g), st_memsize(g), box3d(g)::text, st_srid(g)"
TYPE_OF_G = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'g'"
# Over points.
QUERIES = ("SELECT id, st_x(g), st_y(g), st_z(g), st_m(g), st_srid(g) FROM {t} WHERE id % 3 = 1",
           "SELECT id, st_asewkb(g), st_memsize(g) FROM {t} WHERE id % 3 <> 1",
           "SELECT count(*), count(g), sum(id) FROM {t} WHERE g && 'SRID={srid};POLYGON((-40 -30,50 -30,50 20,-40 -30))'",
           "SELECT count(*), sum(id) FROM {t} WHERE st_contains('SRID={srid};POLYGON((-40 -30,50 -30,50 20,-40 -30))', g)",
           "SELECT count(*), sum(id) FROM {t} WHERE st_dwithin(g, 'SRID={srid};POINT(3 4)', 30)",
           "SELECT id FROM {t} WHERE g IS NULL",
           "SELECT count(*), min(st_x(g)), max(st_y(g)) FROM {t} WHERE st_distance(g, 'SRID={srid};LINESTRING(0 0,9 9)') < 50",
           "SELECT st_srid(g), count(*) FROM {t} GROUP BY 1")


class Bench:
    def __init__(self, server, device):
        self.passed = self.failed = 0
        self.folder = server.directory / "geo"
        self.folder.mkdir()
        self.log = server.logfile
        os.chmod(self.folder, 0o755)
        self.plain = server.connect(settings=OFF)
        self.forced = server.connect(settings={**CACHED, "pg_turbine.device": device, "pg_turbine.debug_force_offload": "on"})

    def check(self, what, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED: {what} {detail}"[:2000], flush=True)

    def fallbacks(self):
        return sum(int(value) for name, value in self.plain.query("SELECT * FROM turbine.stat_queries") if name.startswith("fallback"))

    def last_reason(self):
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if 'file "' in line]
        return lines[-1] if lines else ""

    def write(self, name, table, rows=None, **options):
        path = self.folder / name
        if name.endswith("parquet"):
            pq.write_table(table, path, row_group_size=rows or 1000, **options)
        else:
            with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
                writer.write_table(table, max_chunksize=rows or 1000)
        os.chmod(path, 0o644)
        return path

    def declare(self, columns, path):
        self.plain.query(f"DROP FOREIGN TABLE IF EXISTS t; CREATE FOREIGN TABLE t ({columns}) SERVER arrow_fdw OPTIONS (file '{path}')")

    def compare(self, what, query, truth, engine=True):
        """`query` over {t} is the same over the heap table, by the wrapper's own scan, and on a device, twice: read from
        the file, and cached. `engine`: nothing may fall back; None: something may."""
        expected = sorted(self.plain.query(query.format(t=truth)), key=str)
        own = self.plain.run(query.format(t="t"))
        self.check(f"{what}: {query}: as PostGIS", own.error is None and sorted(own.rows, key=str) == expected,
                   own.error or first_difference(own.rows, expected))
        for time in ("read", "cached"):
            before = self.fallbacks()
            found = self.forced.run(query.format(t="t"))
            self.check(f"{what}: {query}: forced, {time}", found.error is None and sorted(found.rows, key=str) == expected,
                       found.error or first_difference(found.rows, expected))
            plan = "\n".join(line for line, in self.forced.query("EXPLAIN (COSTS OFF) " + query.format(t="t")))
            if engine is not None:
                self.check(f"{what}: {query}: planned for a device", "Custom Scan (Gpu" in plan, plan)
                self.check(f"{what}: {query}: nothing fell back", self.fallbacks() == before, self.last_reason())

    def refused(self, what, sqlstate, text, sql="SELECT count(st_srid(g)) FROM t"):
        for session in (self.plain, self.forced):
            outcome = session.run(sql)
            self.check(f"{what}: refused", outcome.sqlstate == sqlstate and text in str(outcome.error), outcome.error or outcome.rows[:2])


def first_difference(found, expected):
    found = sorted(found, key=str)
    pairs = [(a, b) for a, b in zip(found, expected, strict=False) if a != b]
    return f"{len(found)} rows, {len(expected)} expected; {pairs[:1]}"


def geoarrow(name, kind, metadata=None):
    extra = {NAME: b"geoarrow." + kind.encode()}
    if metadata is not None:
        extra[METADATA] = json.dumps(metadata).encode()
    return lambda array: pa.field(name, array.type, metadata=extra)


def geoparquet(encoding, crs=..., **more):
    column = {"encoding": encoding, "geometry_types": [], **more}
    if crs is not ...:
        column["crs"] = crs
    return {b"geo": json.dumps({"version": "1.1.0", "primary_column": "g", "columns": {"g": column}}).encode()}


def projjson(authority, code):
    return {"type": "GeographicCRS", "name": "some", "id": {"authority": authority, "code": code}}


def table_of(array, field, metadata=None):
    ids = pa.array(range(len(array)), pa.int32())
    schema = pa.schema([pa.field("id", pa.int32()), field(array)], metadata=metadata)
    return pa.Table.from_arrays([ids, array], schema=schema)


# ---- Well-known binary ----

def load_truth(bench, values):
    bench.plain.query("DROP TABLE IF EXISTS truth; CREATE TABLE truth (id int, g geometry)")
    rows = "".join(f"{i}\t{value.hex() if value is not None else chr(92) + 'N'}\n" for i, value in enumerate(values))
    bench.plain.copy_in("COPY truth FROM stdin", io.BytesIO(rows.encode()))
    bench.plain.query("VACUUM ANALYZE truth")


def well_known_binary(bench, chance):
    maker = GeometryMaker(chance)
    nasty = [bytes.fromhex(side) for pair in maker.pairs(ROWS // 2) for side in pair]
    bench.plain.query("CREATE TABLE shapes (id int, g geometry)")
    bench.plain.copy_in("COPY shapes FROM stdin", io.BytesIO(
        "".join(f"{i}\t{value.hex()}\n" for i, value in enumerate(nasty)).encode()))
    # What PostGIS itself writes, in both orders of bytes, by ISO's standard and by its own extension.
    fine = [bytes.fromhex(text[2:]) for text, in bench.plain.query(
        "SELECT CASE id % 4 WHEN 0 THEN st_asbinary(g) WHEN 1 THEN st_asbinary(g, 'XDR') WHEN 2 THEN st_asewkb(g) "
        "ELSE st_asewkb(g, 'XDR') END FROM shapes WHERE st_astext(g) !~* '(nan|inf)' AND st_isvalid(st_setsrid(g, 0)) ORDER BY id")]
    bench.check("enough shapes are fine", len(fine) > ROWS / 5, len(fine))
    fine[5::17] = [None] * len(fine[5::17])
    load_truth(bench, fine)
    layouts = {"fine.arrow": pa.binary(), "fine_large.arrow": pa.large_binary(), "fine_view.arrow": pa.binary_view(),
               "fine.parquet": pa.binary()}
    for name, kind in layouts.items():
        array = pa.array(fine, kind)
        metadata = geoparquet("WKB", None) if name.endswith("parquet") else None
        bench.declare("id int, g geometry", bench.write(name, table_of(array, geoarrow("g", "wkb"), metadata)))
        bench.compare(name, f"SELECT {SHOWN} FROM {{t}} WHERE id % 2 = 0", "truth")
        bench.compare(name, "SELECT count(*), count(g), sum(st_srid(g)) FROM {t} WHERE id > 7", "truth")
        near = "st_setsrid('POLYGON((-3 -3,9 -3,9 9,-3 -3))'::geometry, st_srid(g))"
        bench.compare(name, f"SELECT id FROM {{t}} WHERE g && {near}", "truth", None)
    # Of a column without metadata it is the same; compressed, too.
    bench.declare("id int, g geometry", bench.write("none.arrow", table_of(pa.array(fine, pa.binary()), lambda a: pa.field("g", a.type)),
                                                    compression="lz4"))
    bench.compare("without metadata", f"SELECT {SHOWN} FROM {{t}}", "truth", None)
    # PostGIS looks at what devices refuse.
    load_truth(bench, nasty)
    bench.declare("id int, g geometry", bench.write("nasty.arrow", table_of(pa.array(nasty, pa.binary()), geoarrow("g", "wkb"))))
    bench.compare("nasty", "SELECT id, st_asewkb(g), st_memsize(g) FROM {t} WHERE id % 2 = 0", "truth", None)


def damaged(bench):
    """Errors are PostGIS's own."""
    good = bytes.fromhex("0101000000000000000000F03F0000000000000040")
    for name, value in {"short": good[:12], "unclosed": bytes.fromhex(
            "010300000001000000040000000000000000000000000000000000000000000000000000000000000000000040"
            "00000000000000400000000000000040000000000000f03f000000000000f03f"), "unknown": b"\x01\x63\0\0\0" + good[5:],
            "empty": b"", "order": b"\x07" + good[1:]}.items():
        array = pa.array([good] * 50 + [value] + [good] * 50, pa.binary())
        bench.declare("id int, g geometry", bench.write(f"{name}.arrow", table_of(array, geoarrow("g", "wkb"))))
        for sql in ("SELECT sum(st_x(g)) FROM t", "SELECT id, g FROM t WHERE id < 1000"):
            left, right = bench.plain.run(sql), bench.forced.run(sql)
            bench.check(f"{name}: {sql}: an error, the same", left.error is not None and left.sqlstate == right.sqlstate and
                        left.error.message == right.error.message, f"{left.error}, {right.error}")


# ---- Native forms ----

def number(chance):
    return chance.choice((chance.randint(-50, 50), chance.uniform(-180, 180), 0.1 * chance.randint(-9, 9)))


def native_value(chance, kind, dims):
    """Nested lists of positions."""
    def position():
        return tuple(float(number(chance)) for _ in range(dims))

    def positions(least, most):
        return [position() for _ in range(chance.randint(least, most))]

    def ring():
        points = positions(3, 7)
        return [*points, points[0]]
    if kind == "point":
        return position()
    if kind in ("linestring", "multipoint"):
        return positions(2, 6) if chance.random() > 0.1 else []
    if kind == "multilinestring":
        return [positions(2, 4) for _ in range(chance.randint(0, 3))]
    rings = [ring() for _ in range(chance.randint(1, 3))]
    return rings if kind == "polygon" else [rings, [ring()]][:chance.randint(0, 2)]


def as_text(value, kind, dims):
    """Well-known text."""
    tag = {"xy": "", "xyz": " Z", "xym": " M", "xyzm": " ZM"}[dims]

    def text(part, level):
        if level == 0:
            return " ".join(map(repr, part))
        return "(" + ", ".join(text(p, level - 1) for p in part) + ")"
    if kind == "point":
        return f"POINT{tag}({text(value, 0)})"
    if not value:
        return f"{kind}{tag} EMPTY"
    return f"{kind}{tag}{text(value, LEVELS[kind])}"


def native_array(values, kind, dims, separated, large):
    def coordinates(part):
        return dict(zip(dims, part, strict=True)) if separated else list(part)

    def nested(part, level):
        return coordinates(part) if level == 0 else [nested(p, level - 1) for p in part]
    item = pa.struct([pa.field(d, pa.float64()) for d in dims]) if separated else pa.list_(pa.field(dims, pa.float64()), len(dims))
    kind_type = item
    for _ in range(LEVELS[kind]):
        kind_type = (pa.large_list if large else pa.list_)(kind_type)
    return pa.array([None if v is None else nested(v, LEVELS[kind]) for v in values], kind_type)


def native(bench, chance):
    for kind in LEVELS:
        for dims in DIMENSIONS if kind in ("point", "polygon") else ("xy", "xyz"):
            values = [native_value(chance, kind, len(dims)) if i % 19 != 7 else None for i in range(700)]
            if kind == "point":
                values[3] = (float("nan"),) * len(dims)
            texts = [None if v is None else as_text(v, kind, dims) for v in values]
            if kind == "point":
                texts[3] = f"POINT {dims[2:].upper()} EMPTY"
            bench.plain.query("DROP TABLE IF EXISTS truth; CREATE TABLE truth (id int, g geometry)")
            rows = "".join(f"{i}\t{'SRID=4326;' + t if t else chr(92) + 'N'}\n" for i, t in enumerate(texts))
            bench.plain.copy_in("COPY truth FROM stdin", io.BytesIO(rows.encode()))
            for form in ("separated", "interleaved"):
                array = native_array(values, kind, dims, form == "separated", chance.random() < 0.3)
                name = f"{kind}_{dims}_{form}"
                field = geoarrow("g", kind, {"crs": chance.choice(("EPSG:4326", projjson("EPSG", 4326), "OGC:CRS84"))})
                paths = [bench.write(f"{name}.arrow", table_of(array, field), 190)]
                if form == "separated":
                    paths.append(bench.write(f"{name}.parquet", table_of(array, lambda a: pa.field("g", a.type), geoparquet(kind)), 190))
                typmod = f"{kind}{dims[2:]}"
                for path in paths:
                    bench.declare("id int, g geometry", path)
                    bench.compare(path.name, f"SELECT {SHOWN} FROM {{t}} WHERE id % 5 <> 2", "truth")
                    bench.declare(f"id int, g geometry({typmod}, 4326)", path)
                    for query in QUERIES if kind == "point" else QUERIES[1:2]:
                        bench.compare(f"{path.name} as {typmod}", query.replace("{srid}", "4326"), "truth")


def sliced_points(bench):
    """Batches that begin within their buffers, and points whose NULLs have values of their own."""
    x, y = pa.array([float(i) for i in range(1000)]), pa.array([float(-i) for i in range(1000)])
    array = pa.StructArray.from_arrays([x, y], fields=[pa.field("x", pa.float64()), pa.field("y", pa.float64())],
                                       mask=pa.array([i % 10 == 3 for i in range(1000)]))
    table = table_of(array, geoarrow("g", "point", {"crs": "EPSG:3857"})).slice(13, 777)
    bench.plain.query("DROP TABLE IF EXISTS truth; CREATE TABLE truth AS SELECT i id, CASE WHEN i % 10 <> 3 THEN "
                      "st_setsrid(st_makepoint(i, -i), 3857) END g FROM generate_series(13, 789) i")
    for name in ("sliced.arrow", "sliced.parquet"):
        bench.declare("id int, g geometry(Point, 3857)", bench.write(name, table, 100))
        for query in QUERIES:
            bench.compare(name, query.replace("{srid}", "3857"), "truth")
    inside = pa.StructArray.from_arrays([pa.array([1.0, None, 3.0]), pa.array([1.0, 2.0, 3.0])], names=["x", "y"])
    for kind in ("geometry", "geometry(Point)"):
        bench.declare(f"id int, g {kind}", bench.write("null_inside.arrow", table_of(inside, geoarrow("g", "point"))))
        bench.refused("a NULL coordinate", "XX001", "a NULL within a shape")


# ---- Metadata ----

def reference_systems(bench):
    """(metadata of GeoArrow, of GeoParquet, SRID)"""
    point = native_array([(1.0, 2.0)] * 40, "point", "xy", True, False)
    cases = [({"crs": "EPSG:3857"}, ..., 3857), ({"crs": projjson("EPSG", 27700)}, ..., 27700),
             ({"crs": projjson("EPSG", "2154")}, ..., 2154),
             ({"crs": projjson("OGC", "CRS84")}, ..., 4326), ({}, ..., 0), (None, ..., 0), ({"crs": None}, ..., 0),
             ({"crs": "GEOGCS[\"odd\"]"}, ..., 0), ({"crs": projjson("ESRI", 102100)}, ..., 0), ({"crs": "EPSG:99999999"}, ..., 0),
             ({"edges": "planar"}, ..., 0),
             (None, geoparquet("point"), 4326), (None, geoparquet("point", None), 0),
             (None, geoparquet("point", projjson("EPSG", 3857)), 3857),
             ({"crs": "EPSG:3857"}, geoparquet("point", projjson("EPSG", 27700)), 27700), (None, geoparquet("point", {"name": "odd"}), 0)]
    for number_of, (arrow, parquet, srid) in enumerate(cases):
        table = table_of(point, geoarrow("g", "point", arrow), None if parquet is ... else parquet)
        for suffix in ("arrow", "parquet"):
            path = bench.write(f"crs{number_of}.{suffix}", table)
            name = f"{arrow}, {parquet}, {suffix}"
            bench.declare("id int, g geometry", path)
            for session in (bench.plain, bench.forced):
                found = session.query("SELECT st_srid(g), count(*) FROM t WHERE id >= 0 GROUP BY 1")
                bench.check(f"{name}: SRID", found == [(str(srid), "40")], found)
            # Imported, it has that SRID, and is read as coordinates.
            bench.plain.query("DROP FOREIGN TABLE t")
            bench.plain.query(f"IMPORT FOREIGN SCHEMA t FROM SERVER arrow_fdw INTO public OPTIONS (file '{path}')")
            kind = bench.plain.value(TYPE_OF_G)
            bench.check(f"{name}: imported type", kind == (f"geometry(Point,{srid})" if srid else "geometry(Point)"), kind)
            before = bench.fallbacks()
            found = bench.forced.query("SELECT st_srid(g), st_x(g), st_y(g), count(*) FROM t GROUP BY 1, 2, 3")
            bench.check(f"{name}: imported", found == [(str(srid), "1", "2", "40")] and bench.fallbacks() == before, found)
            # Another SRID that is declared is PostGIS's error, or the points' if they have none.
            bench.declare("id int, g geometry(Point, 32654)", path)
            if srid:
                bench.refused(name, "22023", "does not match column SRID")
            else:
                for session in (bench.plain, bench.forced):
                    found = session.query("SELECT st_srid(g), count(*) FROM t GROUP BY 1")
                    bench.check(f"{name}: takes the declared SRID", found == [("32654", "40")], found)


def refusals(bench):
    point = native_array([(1.0, 2.0)] * 40, "point", "xy", True, False)
    for name, table in {"edges.arrow": table_of(point, geoarrow("g", "point", {"edges": "spherical"})),
                        "edges.parquet": table_of(point, lambda a: pa.field("g", a.type), geoparquet("point", edges="spherical")),
                        "encoding.parquet": table_of(point, lambda a: pa.field("g", a.type), geoparquet("WKT"))}.items():
        path = bench.write(name, table)
        bench.declare("id int, g geometry(Point, 4326)", path)
        bench.refused(name, "HV004", "its edges are spherical" if "edges" in name else "is not known")
        bench.plain.query("DROP FOREIGN TABLE t")
        bench.plain.query(f"IMPORT FOREIGN SCHEMA t FROM SERVER arrow_fdw INTO public OPTIONS (file '{path}')")
        kind = bench.plain.value(TYPE_OF_G)
        bench.check(f"{name}: imported as it is stored", kind == "jsonb", kind)
    # Types that do not fit the declared one are PostGIS's errors.
    lines = native_array([[(1.0, 2.0), (3.0, 4.0)]] * 40, "linestring", "xy", True, False)
    for kind, array, text in (("Polygon", lines, "does not match column type"), ("Point", lines, "does not match column type"),
                              ("PointZ", point, "Column has Z dimension"), ("LineString", lines, None), ("Geometry", lines, None)):
        bench.declare(f"id int, g geometry({kind}, 4326)", bench.write("typmod.arrow", table_of(array, geoarrow(
            "g", "point" if array is point else "linestring"))))
        if text:
            bench.refused(kind, "22023", text)
        else:
            for session in (bench.plain, bench.forced):
                bench.check(kind, session.query("SELECT st_srid(g), count(*) FROM t GROUP BY 1") == [("4326", "40")])
    # Metadata that is nonsense makes no geometry of a column.
    for nonsense in (b"", b"{", b"[]", b'{"columns": []}', b'{"columns": {"g": 5}}', b'{"columns": {"g": {"encoding": 7, "crs": []}}}',
                     b"[" * 100000):
        path = bench.write("nonsense.parquet", table_of(point, lambda a: pa.field("g", a.type), {b"geo": nonsense}))
        bench.plain.query("DROP FOREIGN TABLE IF EXISTS t")
        outcome = bench.plain.run(f"IMPORT FOREIGN SCHEMA t FROM SERVER arrow_fdw INTO public OPTIONS (file '{path}')")
        bench.check(f"{nonsense[:40]}: imported", outcome.error is None, outcome.error)


# ---- Joins ----

def joins(bench, chance):
    """Points of a file by the shape that they lie in."""
    points = [(chance.uniform(-1, 11), chance.uniform(-1, 11)) if i % 5 else (float(chance.randint(0, 10)), float(chance.randint(0, 10)))
              for i in range(20000)]
    values = [None if i % 1000 == 3 else p for i, p in enumerate(points)]
    array = native_array(values, "point", "xy", True, False)
    bench.plain.query("CREATE TABLE areas AS SELECT x * 10 + y id, st_makeenvelope(x, y, x + 1, y + 1, 4326) shape "
                      "FROM generate_series(0, 9) x, generate_series(0, 9) y")
    bench.plain.query("CREATE TABLE places (id int, g geometry)")
    rows = "".join(f"{i}\t{f'SRID=4326;POINT({v[0]!r} {v[1]!r})' if v else chr(92) + 'N'}\n" for i, v in enumerate(values))
    bench.plain.copy_in("COPY places FROM stdin", io.BytesIO(rows.encode()))
    bench.plain.query("VACUUM ANALYZE areas, places")
    field = geoarrow("g", "point", {"crs": "EPSG:4326"})
    for path in (bench.write("places.arrow", table_of(array, field), 3000),
                 bench.write("places.parquet", table_of(array, field, geoparquet("point")), 3000)):
        bench.declare("id int, g geometry(Point, 4326)", path)
        bench.plain.query("ANALYZE t")
        for query in ("SELECT a.id, count(*), sum(t.id) FROM {t} t JOIN areas a ON st_contains(a.shape, t.g) GROUP BY a.id",
                      "SELECT a.id, count(*) FROM {t} t JOIN areas a ON st_covers(a.shape, t.g) GROUP BY a.id",
                      "SELECT count(*), sum(t.id) FROM {t} t LEFT JOIN areas a ON st_contains(a.shape, t.g) WHERE a.id IS NULL",
                      "SELECT count(*), sum(t.id) FROM {t} t WHERE EXISTS (SELECT FROM areas a WHERE st_dwithin(a.shape, t.g, 0.1))"):
            bench.compare(path.name, query, "places")
            plan = "\n".join(line for line, in bench.forced.query("EXPLAIN (COSTS OFF) " + query.format(t="t")))
            bench.check(f"{path.name}: {query}: by a grid", "GpuGiSTJoin" in plan, plan)
    # Of both kinds of tables together.
    bench.plain.query("CREATE TABLE parts (id int, g geometry(Point, 4326)) PARTITION BY RANGE (id)")
    bench.plain.query("CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1000000) TO (2000000)")
    bench.plain.query("INSERT INTO parts SELECT id + 1000000, g FROM places WHERE id % 3 = 0")
    bench.plain.query("ALTER TABLE parts ATTACH PARTITION t FOR VALUES FROM (0) TO (1000000)")
    bench.plain.query("VACUUM ANALYZE parts")
    query = "SELECT a.id, count(*), sum(p.id) FROM parts p JOIN areas a ON st_contains(a.shape, p.g) GROUP BY a.id"
    before = bench.fallbacks()
    left, right = bench.plain.query(query), bench.forced.query(query)
    bench.check("partitions in a heap and in a file", sorted(left) == sorted(right) and bench.fallbacks() == before)
    bench.plain.query("ALTER TABLE parts DETACH PARTITION t")


def close(found, expected):
    """Sums of floating-point numbers may differ in their last digits."""
    pairs = [(a, b) for r, s in zip(found, expected, strict=False) for a, b in zip(r, s, strict=True) if a != b]
    return len(found) == len(expected) and all(abs(float(a) - float(b)) <= 1e-12 * abs(float(b)) for a, b in pairs)


def heap_points(bench):
    """A heap's column of points is kept as numbers: 16 bytes a row, and its NULLs."""
    bench.plain.query("CREATE TABLE fixes (id int, g geometry(Point, 4326), h geometry(PointZM, 4326), v geometry(Point))")
    bench.plain.query("INSERT INTO fixes SELECT i, CASE WHEN i % 13 > 0 THEN st_setsrid(st_makepoint(i * 0.37, -i / 7.0), 4326) END, "
                      "st_setsrid(st_makepoint(i, i / 3.0, -i, i * i::float8), 4326), st_setsrid(st_makepoint(i, i), i % 3 * 2000) "
                      "FROM generate_series(1, 200000) i")
    bench.plain.query("UPDATE fixes SET g = st_setsrid('POINT EMPTY'::geometry, 4326) WHERE id % 1000 = 7")
    bench.plain.query("VACUUM (FREEZE, ANALYZE) fixes")
    for query in ("SELECT count(*), count(g), sum(st_x(g)), max(st_y(g)) FROM fixes",
                  "SELECT id, st_asewkb(g), st_asewkb(h) FROM fixes WHERE id % 500 = 7 OR g IS NULL AND id < 900",
                  "SELECT count(*), sum(id) FROM fixes WHERE st_z(h) < -3 AND st_m(h) < 5e7 AND st_srid(g) = 4326",
                  "SELECT count(*), sum(id) FROM fixes WHERE st_dwithin(g, 'SRID=4326;POINT(30 -20)', 12.5)",
                  "SELECT st_srid(v), count(*), max(st_x(v)) FROM fixes GROUP BY 1"):
        expected = sorted(bench.plain.query(query))
        for _ in range(2):
            before = bench.fallbacks()
            found = sorted(bench.forced.query(query))
            bench.check(f"{query}: as PostGIS", close(found, expected), first_difference(found, expected))
            bench.check(f"{query}: nothing fell back", bench.fallbacks() == before)
    # Segments that no point of the box lies in are left out.
    query = "SELECT count(*) FROM fixes WHERE st_contains('SRID=4326;POLYGON((10 -100,60 -100,60 0,10 0,10 -100))', g)"
    bench.check("by a box: as PostGIS", bench.plain.query(query) == bench.forced.query(query))
    plan = "\n".join(line for line, in bench.forced.query("EXPLAIN (ANALYZE, COSTS OFF) " + query))
    bench.check("by a box: segments are left out", re.search(r"excluded=[1-9]", plan), plan)
    # A point that has no form as coordinates is read all the same.
    bench.plain.query("UPDATE fixes SET g = st_setsrid(st_makepoint('NaN', 'NaN'), 4326) WHERE id = 77")
    bench.plain.query("VACUUM fixes")
    query = "SELECT count(*), count(st_x(g)), sum(id) FILTER (WHERE NOT st_isempty(g)) FROM fixes"
    bench.check("a point of two NaN", bench.plain.query(query) == bench.forced.query(query))
    query = "SELECT id, st_asewkb(g) FROM fixes WHERE id BETWEEN 70 AND 80"
    bench.check("a point of two NaN, returned", bench.plain.query(query) == bench.forced.query(query))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--without-postgis", action="store_true", help="pass if PostGIS is not installed")
    options = parser.parse_args()
    installed = cluster.has_extension("postgis")
    if not installed and options.without_postgis:
        print("passed over, as asked: PostGIS is not installed\n0 passed, 0 failed")
        return 0
    chance = random.Random(options.seed)
    with cluster.Cluster("geo-files") as server:
        server.wait_for_service()
        bench = Bench(server, options.device)
        bench.plain.query("CREATE EXTENSION postgis")
        native(bench, chance)
        sliced_points(bench)
        well_known_binary(bench, chance)
        damaged(bench)
        reference_systems(bench)
        refusals(bench)
        joins(bench, chance)
        heap_points(bench)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
