#!/usr/bin/env python3
"""geometry.py - PostGIS's functions on devices give PostGIS's bits.

Two ways. The bodies of the device library are called row by row with the bytes that PostgreSQL stores, over random pairs of
shapes (random_geometries.py), and compared with PostGIS: what a body decides must be equal to the last bit, and must be no
error; what it leaves to PostgreSQL is counted, and limited. Then every function runs in forced queries, over rows that its
body decides, where nothing may fall back; over all rows, where much does; and over toasted shapes. Last, the extension is
dropped and created again.
Called by: test/run_all.py. Options: --pairs, --rounds, --seed, --device, --without-postgis (pass if it is not installed).
"""

import argparse
import ctypes
import io
import math
import random
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE.parent / "catalog")]

import cluster  # noqa: E402
import function_rows  # noqa: E402
from random_geometries import GeometryMaker  # noqa: E402

PAGE, BLOCKS = 8192, 500
ROWS_IN_QUERIES = 4000
# Of all pairs; those of a point with a polygon are decided nearly always.
LEAST_DECIDED = 0.12
C_TYPES = {"FLOAT8": ctypes.c_double, "INT4": ctypes.c_int32, "BOOL": ctypes.c_bool}


def one_of(*numbers):
    """SQL that takes one number after the other, as the row's number (id) grows."""
    kind = "float8" if isinstance(numbers[0], float) else "int4"
    arms = " ".join(f"WHEN {i} THEN {kind} '{number}'" for i, number in enumerate(numbers))
    return f"CASE id % {len(numbers)} {arms} END"


# What arguments that are no geometries are made of, beside the row's number (id).
NUMBERS = {"st_setsrid": [one_of(0, 4326, 3857, 999999)],
           "st_snaptogrid": [one_of(0.0, 0.1, 7.25), one_of(0.0, -0.7), one_of(0.1, 1.0, 0.0, 3e-5), one_of(0.3, 0.0, 10.0)],
           "st_dwithin": ["r"]}
RADII = one_of(0.0, 1.0, 0.1, 1e6, 1e-9, math.inf, 0.5)
# PostGIS's own distance, for which it may raise an error, and the numbers next to it; and others.
SET_RADIUS = f"""
CREATE OR REPLACE FUNCTION distance_of(a geometry, b geometry) RETURNS float8 LANGUAGE plpgsql AS
$$ BEGIN RETURN st_distance(a, b); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;
UPDATE pairs SET r = COALESCE(CASE WHEN id % 2 = 0 THEN distance_of(a, b) * (1 + (id / 2 % 5 - 2) * 2e0 ^ -52) END, {RADII})
"""
FILTERS_ONLY = ("st_crosses", "st_touches", "st_overlaps", "st_equals")
ERRORS = """
SELECT count(*) FROM pairs WHERE st_contains(a, st_setsrid(b, 27700))
SELECT count(*) FROM pairs WHERE st_dwithin(a, b, -1)
SELECT sum(st_x(a)) FROM pairs
SELECT count(*) FROM pairs WHERE st_distance(a, st_point(1, 2, 27700)) > 1
""".strip().splitlines()


class Bench:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED: {what} {detail}", flush=True)


def library():
    return ctypes.CDLL(str(cluster.BUILD / "rt" / "librt_check.so"))


class Function:
    """A row of the catalogue, as SQL and as a call of its body."""

    def __init__(self, row, bodies):
        self.row, self.name = row, row.signature[:row.signature.index("(")]
        self.geometries = [i for i, arg in enumerate(row.args) if arg == "GEOMETRY"]
        numbers = iter(NUMBERS.get(self.name, ()))
        names = iter(("a", "b"))
        self.args = [next(names) if arg == "GEOMETRY" else next(numbers, f"(id % {7 + i})" + "::float8 / 4" * (arg == "FLOAT8"))
                     for i, arg in enumerate(row.args)]
        self.sql = f"{self.name}({', '.join(self.args)})"
        self.body = getattr(bodies, row.symbol)
        self.body.restype = C_TYPES.get(row.result)
        self.built, self.bytes, self.size = ctypes.create_string_buffer(64), ctypes.c_char_p(), ctypes.c_uint32()
        self.null, self.errors = ctypes.c_bool(), ctypes.c_uint32()

    def call(self, values):
        """(decided, result): bytes of a geometry, or a number, or None."""
        operands = []
        for kind, value in zip(self.row.args, values, strict=True):
            operands += [ctypes.c_char_p(value), ctypes.c_uint32(len(value))] if kind == "GEOMETRY" else [C_TYPES[kind](value)]
        operands += [self.built] * ("BUILDS" in self.row.flags)
        self.result = ctypes.c_void_p()
        if self.row.result == "GEOMETRY":
            operands += [ctypes.byref(self.result), ctypes.byref(self.size)]
        self.null.value, self.errors.value = False, 0
        operands += [ctypes.byref(self.null)] * ("NULLS" in self.row.flags)
        operands += [ctypes.byref(self.errors)] * ("RAISES" in self.row.flags)
        returned = self.body(*operands)
        if self.errors.value:
            return False, None
        if self.row.result == "GEOMETRY":
            return True, ctypes.string_at(self.result.value, self.size.value)
        return True, None if self.null.value else returned

    def read(self, text):
        """PostGIS's answer, as `call` gives it."""
        if text is None or self.row.result == "GEOMETRY":
            return text
        return {"BOOL": lambda t: t == "t", "INT4": int, "FLOAT8": float}[self.row.result](text)


def bits(value):
    return struct.pack("<d", value) if isinstance(value, float) else value


def attributes(tuple_bytes, shapes):
    """The varlenas of a tuple without NULLs behind its number: the bytes behind their headers."""
    at, values = 4, []
    for _ in range(shapes):
        if tuple_bytes[at] & 1:
            size = tuple_bytes[at] >> 1
            values.append(tuple_bytes[at + 1:at + size])
        else:
            at = (at + 7) // 8 * 8
            size = int.from_bytes(tuple_bytes[at:at + 4], "little") >> 2
            values.append(tuple_bytes[at + 4:at + size])
        at += size
    return int.from_bytes(tuple_bytes[:4], "little"), values


def stored(session, table, shapes):
    """{id: [bytes of its geometries]}, as they lie on the table's pages."""
    values = {}
    pages = int(session.value(f"SELECT pg_relation_size('{table}') / {PAGE}"))
    for first in range(0, pages, BLOCKS):
        rows = session.query(f"SELECT encode(t_data, 'hex') FROM generate_series({first}, {min(first + BLOCKS, pages) - 1}) page, "
                             f"heap_page_items(get_raw_page('{table}', page::int)) WHERE t_data IS NOT NULL")
        values.update(attributes(bytes.fromhex(data), shapes) for data, in rows)
    return values


def create_pairs(session, count, seed):
    session.query("DROP TABLE IF EXISTS pairs")
    session.query("CREATE TABLE pairs (id int NOT NULL, a geometry NOT NULL, b geometry NOT NULL, r float8 NOT NULL DEFAULT 0)")
    session.query("ALTER TABLE pairs ALTER a SET STORAGE plain, ALTER b SET STORAGE plain")
    lines = (f"{i}\t{a}\t{b}\n" for i, (a, b) in enumerate(GeometryMaker(random.Random(seed)).pairs(count)))
    session.copy_in("COPY pairs (id, a, b) FROM stdin", io.BytesIO("".join(lines).encode()))
    # Points whose coordinates are all NaN are empty as WKB, other boxes than computed ones have no other source.
    session.query("UPDATE pairs SET b = st_makepoint('NaN', 'NaN') WHERE id % 301 = 7 AND st_srid(a) = 0")
    session.query("UPDATE pairs SET b = postgis_addbbox(b) WHERE id % 97 = 5")
    session.query("UPDATE pairs SET a = postgis_dropbbox(a) WHERE id % 89 = 5")
    session.query(SET_RADIUS)
    session.query("VACUUM (FULL, ANALYZE) pairs")


def bit_string(ids, count):
    """For get_bit."""
    mask = bytearray(count // 8 + 1)
    for i in ids:
        mask[i // 8] |= 1 << i % 8
    return "'\\x" + mask.hex() + "'::bytea"


def compare_bodies(bench, session, functions, pairs, count):
    """{function: ids that its body decides}"""
    decided_by = {}
    everything = sorted(pairs)
    for function in functions:
        numbers = [arg for arg in function.args if arg not in ("a", "b")]
        columns = [[float(v) for v in row] for row in session.query(
            f"SELECT {', '.join(f'({n})::float8' for n in numbers)} FROM pairs ORDER BY id")] if numbers else [[]] * len(everything)
        # What the body says
        answers = {}
        for i, row in zip(everything, columns, strict=True):
            shapes, rest = iter(pairs[i]), iter(row)
            values = [next(shapes) if kind == "GEOMETRY" else int(next(rest)) if kind == "INT4" else next(rest)
                      for kind in function.row.args]
            decided, result = function.call(values)
            if decided:
                answers[i] = result
        decided_by[function] = answers.keys()
        # What PostGIS says of the same rows
        rows = f"(SELECT * FROM pairs WHERE get_bit({bit_string(answers, count)}, id) = 1 OFFSET 0) p"
        if function.row.result == "GEOMETRY":
            session.query("CREATE TABLE results (id int NOT NULL, shape geometry NOT NULL)")
            session.query("ALTER TABLE results ALTER shape SET STORAGE plain")
            session.query(f"INSERT INTO results SELECT id, {function.sql} FROM {rows}")
            session.query("VACUUM results")
            expected = {i: shape[0] for i, shape in stored(session, "results", 1).items()}
            session.query("DROP TABLE results")
        else:
            outcome = session.run(f"SELECT id, {function.sql} FROM {rows}")
            bench.check(f"{function.sql}: decided rows raise no error", outcome.error is None, outcome.error)
            expected = {int(i): function.read(text) for i, text in outcome.rows} if outcome.error is None else answers
        different = [i for i in answers if bits(answers[i]) != bits(expected[i]) and
                     not (answers[i] != answers[i] and expected[i] != expected[i])]
        share = len(answers) / len(everything)
        print(f"  {function.row.id}: {len(answers)} decided ({share:.1%}), {len(different)} different", flush=True)
        bench.check(f"{function.sql}: as PostGIS", not different, "".join(
            "\n    " + str((i, answers[i], expected[i], session.query(f"SELECT st_asewkt(a), st_asewkt(b) FROM pairs WHERE id = {i}")))
            for i in different[:3]))
        bench.check(f"{function.sql}: decides enough", share >= LEAST_DECIDED, f"{share:.1%}")
    return decided_by


def fallbacks(session):
    return sum(int(value) for name, value in session.query("SELECT * FROM turbine.stat_queries") if name.startswith("fallback"))


def by_row(function):
    """A query that has the function's result for each row."""
    if function.row.result == "GEOMETRY":
        shown = [f"max({part}({function.sql}))" for part in ("st_x", "st_y", "st_z", "st_m", "st_srid")]
    elif function.row.result == "BOOL":
        shown = [f"bool_or({function.sql})"]
    else:
        shown = [f"max({function.sql})"]
    return f"SELECT id, {', '.join(shown)} FROM {{table}} GROUP BY id"


def compare_queries(bench, plain, forced, functions, decided_by):
    for function in functions:
        ids = sorted(decided_by[function])[:ROWS_IN_QUERIES]
        if function.row.result == "GEOMETRY":     # the result's coordinates are asked for
            ids = [int(i) for i, in plain.query("SELECT id FROM pairs WHERE geometrytype(a) LIKE 'POINT%' AND NOT st_isempty(a)")
                   if int(i) in decided_by[function]][:ROWS_IN_QUERIES]
        plain.query("DROP TABLE IF EXISTS decided")
        plain.query(f"CREATE TABLE decided AS SELECT * FROM pairs WHERE id = ANY ('{{{','.join(map(str, ids))}}}')")
        plain.query("VACUUM ANALYZE decided")
        # Beside filters, what PostGIS decides for most shapes stays with it.
        queries = [] if function.name in FILTERS_ONLY else [by_row(function).format(table="decided")]
        if function.row.result == "BOOL":
            queries += [f"SELECT id FROM decided WHERE {function.sql}", f"SELECT count(*), sum(id) FROM decided WHERE NOT {function.sql}"]
        before = fallbacks(plain)
        for query in queries:
            plan = "\n".join(line for line, in forced.query("EXPLAIN (COSTS OFF) " + query))
            bench.check(f"{query}: on a device", "Custom Scan (Gpu" in plan, plan)
            bench.check(f"{query}: as PostGIS", sorted(plain.query(query), key=str) == sorted(forced.query(query), key=str))
        bench.check(f"{function.sql}: no fall back over decided rows", fallbacks(plain) == before)
    plain.query("DROP TABLE decided")


def compare_all_rows(bench, plain, forced, functions):
    """What a device leaves to PostgreSQL, PostgreSQL computes; its errors are those of PostGIS."""
    raising = ("st_x", "st_y", "st_z", "st_m", "st_setsrid")
    for function in functions:
        if function.row.result != "BOOL" and function.name in raising:
            continue
        where = "st_srid(a) = st_srid(b)"
        if function.row.result == "BOOL" and function.geometries == [0, 1]:
            query = f"SELECT id FROM pairs WHERE {where} AND id < 3000 AND {function.sql}"
        else:
            query = f"SELECT count({function.sql}) FROM pairs WHERE id < 3000 AND {where}"
        left, right = plain.run(query), forced.run(query)
        same = left.sqlstate == right.sqlstate and sorted(left.rows) == sorted(right.rows)
        bench.check(f"{query}: as PostGIS", same, f"{left.error} {right.error}")
    for query in ERRORS:
        left, right = plain.run(query), forced.run(query)
        bench.check(f"{query}: PostGIS's error", left.error is not None and right.error is not None and
                    (left.sqlstate, left.error.message) == (right.sqlstate, right.error.message), f"{left.error}, {right.error}")


def compare_toasted(bench, plain, forced):
    """Polygons that are compressed or out of line, short points, NULLs; a polygon that is a parameter."""
    plain.query("CREATE TABLE zones AS SELECT i id, st_buffer(st_makepoint(i % 10, i / 10), 0.7, n) g, NULLIF(i % 7, 0) n "
                "FROM generate_series(0, 99) i, (VALUES (2), (100), (700)) v(n)")
    plain.query("CREATE TABLE positions AS SELECT i id, st_makepoint(i % 97 * 0.1, i % 89 * 0.11) g FROM generate_series(1, 3000) i")
    plain.query("INSERT INTO positions VALUES (0, NULL)")
    plain.query("VACUUM ANALYZE zones, positions")
    zone = "(SELECT g FROM zones ORDER BY st_npoints(g) DESC, id LIMIT 1)"
    for query in ("SELECT id, count(*) FROM zones WHERE st_contains(g, 'POINT(3.2 4.1)') GROUP BY id",
                  "SELECT count(*), sum(st_area(g)) FROM zones WHERE g && st_makepoint(2, n)",
                  f"SELECT count(*), sum(id) FROM positions WHERE st_intersects({zone}, g)",
                  "SELECT id, st_asewkb(g) FROM positions WHERE st_x(g) > 9.5",
                  "SELECT z.id, count(*) FROM zones z JOIN positions p ON z.id = p.id WHERE st_dwithin(z.g, p.g, 1) GROUP BY z.id",
                  "SELECT p.id, st_astext(z.g), p.g FROM zones z JOIN positions p ON z.id = p.id WHERE st_y(p.g) < 1",
                  "SELECT st_srid(g), count(*) FROM positions GROUP BY 1",
                  "SELECT st_snaptogrid(g, 0.5), count(*) FROM positions GROUP BY 1",
                  "SELECT g, count(*) FROM positions GROUP BY g",
                  "SELECT DISTINCT g FROM positions",
                  "SELECT count(DISTINCT g) FROM positions",
                  "SELECT g FROM positions UNION SELECT g FROM zones",
                  "SELECT id, rank() OVER (PARTITION BY g ORDER BY id) FROM positions WHERE st_x(g) > 9",
                  "SELECT p.id, q.id FROM positions p JOIN positions q ON p.g = q.g WHERE p.id < 100",
                  "SELECT id FROM positions ORDER BY g, id LIMIT 5"):
        left, right = plain.run(query), forced.run(query)
        close = [tuple(v if "." not in (v or "") or len(v) > 20 else f"{float(v):.9g}" for v in row) for row in left.rows], [
            tuple(v if "." not in (v or "") or len(v) > 20 else f"{float(v):.9g}" for v in row) for row in right.rows]
        bench.check(f"{query}: as PostGIS", left.error is None and right.error is None and
                    sorted(close[0], key=str) == sorted(close[1], key=str), f"{left.error} {right.error}")


def rows_of_version(version):
    """Rows of functions of geometries. 3.3 has the answers of all; elsewhere a row by bounds takes the place of the exact one."""
    rows = [row for row in function_rows.read(HERE.parent / "catalog" / "functions.def") if row.of_postgis and not row.of_geography]
    by_bounds = {row.signature for row in rows if row.variant == "bounds"}
    return [row for row in rows if version.startswith("3.3.") or row.variant == "bounds" or row.signature not in by_bounds]


def offered(bench, forced, plain, functions, version):
    """Those that devices compute with this version of PostGIS; of 3.3 all."""
    create_pairs(plain, 100, 1)
    found = []
    for function in functions:
        result = f"st_x({function.sql})" if function.row.result == "GEOMETRY" else function.sql
        shown = "id" if function.name in FILTERS_ONLY else "count(*)"
        plan = [line for line, in forced.query(f"EXPLAIN (COSTS OFF) SELECT {shown} FROM pairs WHERE ({result}) IS NOT NULL")]
        if any("GPU Filter" in line for line in plan):
            found.append(function)
    left = sorted({function.name for function in functions} - {function.name for function in found})
    print(f"left to PostGIS: {', '.join(left) or 'none'}", flush=True)
    bench.check("most functions are computed", len(found) >= len(functions) - 6, left)
    bench.check("and of 3.3 all", not left or not version.startswith("3.3."), left)
    return found


def drop_and_create(bench, session):
    """The same session, with other OIDs; in another schema, too."""
    for schema in ("public", "elsewhere"):
        session.query("DROP EXTENSION postgis CASCADE")
        outcome = session.run("SELECT st_contains('POINT(0 0)', 'POINT(0 0)')")
        bench.check("without the extension there is no function", outcome.sqlstate == "42883", outcome.error)
        session.query(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        session.query(f"CREATE EXTENSION postgis SCHEMA {schema}")
        session.query(f"SET search_path = {schema}, public")
        session.query("CREATE TABLE again AS SELECT i id, st_makepoint(i, i) g FROM generate_series(1, 1000) i")
        query = "SELECT count(*), sum(id) FROM again WHERE st_contains('POLYGON((0 0,0 50.5,50.5 50.5,50.5 0,0 0))', g)"
        plan = "\n".join(line for line, in session.query("EXPLAIN (COSTS OFF) " + query))
        bench.check("created again, it is known again", "GPU Filter: " in plan and "st_contains" in plan, plan)
        bench.check("and right", session.query(query) == [("50", "1275")])
        session.query("DROP TABLE again")
    # A function of that name that is not the extension's
    session.query("CREATE FUNCTION public.st_x(path) RETURNS float8 LANGUAGE sql STRICT AS 'SELECT 1.5::float8'")
    session.query("CREATE TABLE paths AS SELECT '((0,0),(1,1))'::path p FROM generate_series(1, 10)")
    bench.check("a function of one's own is not PostGIS's", session.query("SELECT sum(public.st_x(p)) FROM paths") == [("15",)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=1, help="so many sets of pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--without-postgis", action="store_true", help="pass if PostGIS is not installed")
    options = parser.parse_args()
    installed = cluster.has_extension("postgis")
    if not installed and options.without_postgis:
        print("passed over, as asked: PostGIS is not installed\n0 passed, 0 failed")
        return 0
    bench = Bench()
    with cluster.Cluster("geometry", settings={"pg_turbine.device": options.device}) as server:
        server.wait_for_service()
        with server.connect() as plain, server.connect() as forced:
            plain.query("SET pg_turbine.enabled = off")
            plain.query("CREATE EXTENSION postgis")
            plain.query("CREATE EXTENSION pageinspect")
            forced.query("SET pg_turbine.debug_force_offload = on")
            version = plain.value("SELECT postgis_lib_version()")
            print(f"PostGIS {version}, {options.rounds} times {options.pairs} pairs, seed {options.seed}", flush=True)
            bodies = library()
            functions = [Function(row, bodies) for row in rows_of_version(version)]
            functions = offered(bench, forced, plain, functions, version)
            for seed in range(options.seed, options.seed + options.rounds):
                create_pairs(plain, options.pairs, seed)
                decided_by = compare_bodies(bench, plain, functions, stored(plain, "pairs", 2), options.pairs)
            compare_queries(bench, plain, forced, functions, decided_by)
            compare_all_rows(bench, plain, forced, functions)
            compare_toasted(bench, plain, forced)
            drop_and_create(bench, forced)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
