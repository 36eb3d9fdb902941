"""spatial_trips.py - trips and buildings of SpatialBench's generator, and queries that ask of trips what is near where.

Owns: the tables as spatialbench-cli writes them offline, its zones being a download; and queries in the manner of the
benchmark's: trips around a place, by month around an area, in buildings, and near buildings. Their numbers are exact, so
that answers of different engines are compared as they are.
Used by: geography.py.
"""

import json
import subprocess

TABLES = {
    "trip": "t_tripkey BIGINT, t_custkey BIGINT, t_driverkey BIGINT, t_vehiclekey BIGINT, t_pickuptime TIMESTAMP, "
            "t_dropofftime TIMESTAMP, t_fare DECIMAL(15, 2), t_tip DECIMAL(15, 2), t_totalamount DECIMAL(15, 2), "
            "t_distance DECIMAL(15, 2), t_pickup {point}, t_dropoff {point}",
    "building": "b_buildingkey BIGINT, b_name TEXT, b_boundary {polygon}",
}
QUERIES = {
    "around a place": "SELECT count(*), sum(t_fare), max(t_distance) FROM trip WHERE st_dwithin(t_pickup, {place}, 5)",
    "by month around an area": "SELECT CAST(EXTRACT(month FROM t_pickuptime) AS INTEGER), count(*), sum(t_distance), sum(t_totalamount) "
                               "FROM trip WHERE st_dwithin(t_pickup, {area}, 0.045) GROUP BY 1",
    "in buildings": "SELECT b_buildingkey, count(*), sum(t_fare) FROM trip JOIN building ON st_contains(b_boundary, t_pickup) "
                    "GROUP BY b_buildingkey",
    "near buildings": "SELECT b_buildingkey, b_name, count(*) FROM trip JOIN building ON st_dwithin(t_pickup, b_boundary, 0.0045) "
                      "GROUP BY b_buildingkey, b_name",
}
PLACE = "POINT(139.7 35.6)"
AREA = "POLYGON((100 20, 120 20, 125 30, 120 40, 100 40, 95 30, 100 20))"

# Reads the name of a query a line, runs it, answers with a line of JSON: seconds, and the rows.
DUCKDB = """
import glob, json, sys, time
import duckdb, duckdb_extension_spatial
tables, queries, folder = json.loads(sys.argv[1])
db = duckdb.connect(config={"threads": 2})
db.execute("SET enable_progress_bar = false")
db.execute("LOAD '" + glob.glob(list(duckdb_extension_spatial.__path__)[0] + "/extensions/*/*.duckdb_extension")[0] + "'")
for name, columns in tables.items():
    db.execute(f"CREATE TABLE texts_{name} ({columns.format(point='TEXT', polygon='TEXT')})")
    db.execute(f"COPY texts_{name} FROM '{folder}/{name}.csv' (HEADER)")
db.execute("CREATE TABLE trip AS SELECT * REPLACE (ST_GeomFromText(t_pickup) AS t_pickup, ST_GeomFromText(t_dropoff) AS t_dropoff) "
           "FROM texts_trip")
db.execute("CREATE TABLE building AS SELECT * REPLACE (ST_GeomFromText(b_boundary) AS b_boundary) FROM texts_building")
for line in sys.stdin:
    began = time.perf_counter()
    rows = db.execute(queries[line.strip()]).fetchall()
    taken = time.perf_counter() - began
    print(json.dumps([taken, sorted([str(value) for value in row] for row in rows)]), flush=True)
"""


def generate(program, folder, trips, buildings):
    """CSV files of the tables, at these scale factors: 6 million trips, 20,000 buildings each."""
    for table, scale in (("trip", trips), ("building", buildings)):
        subprocess.run([program, "--tables", table, "--scale-factor", str(scale), "--format", "csv", "--output-dir", str(folder)],
                       check=True, stdout=subprocess.DEVNULL)
        (folder / f"{table}.csv").chmod(0o644)


def load(session, folder):
    session.query("CREATE EXTENSION postgis")
    for name, columns in TABLES.items():
        session.query(f"CREATE TABLE {name} ({columns.format(point='geometry(Point, 4326)', polygon='geometry(Polygon, 4326)')})")
        session.query(f"COPY {name} FROM '{folder}/{name}.csv' (FORMAT csv, HEADER)")
    session.query("CREATE INDEX ON trip USING gist (t_pickup)")
    session.query("CREATE INDEX ON building USING gist (b_boundary)")
    session.query("VACUUM (FREEZE, ANALYZE)")
    session.query("CHECKPOINT")


def sql_of(name):
    """PostGIS's."""
    return QUERIES[name].format(place=f"'SRID=4326;{PLACE}'::geometry", area=f"'SRID=4326;{AREA}'::geometry")


def arguments_of_duckdb(folder):
    queries = {name: text.format(place=f"ST_GeomFromText('{PLACE}')", area=f"ST_GeomFromText('{AREA}')") for name, text in QUERIES.items()}
    return json.dumps([TABLES, queries, str(folder)])


def rows_of(session, name):
    return sorted(list(row) for row in session.query(sql_of(name)))
