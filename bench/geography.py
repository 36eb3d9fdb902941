#!/usr/bin/env python3
"""geography.py - points counted by the polygon that they lie in: PostGIS with GiST and workers, pg_turbine, DuckDB, SedonaDB.

Loads --points random points and --polygons polygons of --edges edges, which overlap a little, with a GiST index over the
polygons. All engines have 2 threads, and run in turn, --runs rounds; other work on the machine slows them alike. Prints
medians in ms, the ratios to ours, processor time where other work disturbs less, and fails if answers differ. Others run
if --others-python names a Python that has their wheels: duckdb with duckdb-extension-spatial, sedonadb with pyarrow.

With --arrow-file the points are in an Arrow file, as GeoArrow's native coordinates, and the polygons have 20 edges and
tile the area (tiled_points.py), so the answer is known. Prints the first run, which reads the file, and later ones over the
column cache, on --device and, with --beside, on the processor's cores beside it. --folder has the cluster and the file: 16
bytes a point, and 400 a polygon.
With --trips the tables are SpatialBench's trips and buildings (spatial_trips.py), made by --spatialbench, the program of the
wheel spatialbench-cli; the scale factors are --trips and --buildings.
Needs python3, PostGIS and the built tree; --arrow-file a Python with pyarrow and numpy. Called by hand.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402

SQL = "SELECT z.id, count(*) FROM points p JOIN polygons z ON st_contains(z.g, p.g) GROUP BY z.id"
POSTGIS = {"pg_turbine.enabled": "off", "max_parallel_workers_per_gather": "2", "jit": "off"}

# Reads a line, runs the query, answers with a line of JSON: seconds, and the answer's size and checksum.
DUCKDB = """
import glob, json, sys, time
import duckdb, duckdb_extension_spatial
db = duckdb.connect(config={"threads": 2})
db.execute("SET enable_progress_bar = false")
db.execute("LOAD '" + glob.glob(list(duckdb_extension_spatial.__path__)[0] + "/extensions/*/*.duckdb_extension")[0] + "'")
db.execute(f"CREATE TABLE points AS SELECT ST_Point(x, y) AS g FROM read_csv('{sys.argv[1]}', columns={{'x': 'DOUBLE', 'y': 'DOUBLE'}})")
columns = "columns={'id': 'INTEGER', 'g': 'VARCHAR'}"
db.execute(f"CREATE TABLE polygons AS SELECT id, ST_GeomFromText(g) AS g FROM read_csv('{sys.argv[2]}', delim='|', {columns})")
for line in sys.stdin:
    began = time.perf_counter()
    rows = db.execute("SELECT z.id, count(*) FROM points p JOIN polygons z ON ST_Contains(z.g, p.g) GROUP BY z.id").fetchall()
    taken = time.perf_counter() - began
    print(json.dumps([taken, len(rows), sum(n for _, n in rows), sum(i * n for i, n in rows)]), flush=True)
"""


SEDONA = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import pyarrow, pyarrow.csv, sedonadb
db = sedonadb.connect()
db.sql("SET datafusion.execution.target_partitions = 2").count()
read = lambda path, names, mark: pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(column_names=names),
                                                      pyarrow.csv.ParseOptions(delimiter=mark))
db.create_data_frame(read(sys.argv[1], ["x", "y"], ",")).to_view("xy")
db.create_data_frame(read(sys.argv[2], ["id", "g"], "|")).to_view("texts")
db.sql("SELECT ST_Point(x, y) AS g FROM xy").to_memtable().to_view("points")
db.sql("SELECT id, ST_GeomFromText(g) AS g FROM texts").to_memtable().to_view("polygons")
for line in sys.stdin:
    began = time.perf_counter()
    found = pyarrow.table(db.sql("SELECT z.id, count(*) AS n FROM points p JOIN polygons z ON ST_Contains(z.g, p.g) GROUP BY z.id"))
    taken = time.perf_counter() - began
    rows = list(zip(found["id"].to_pylist(), found["n"].to_pylist()))
    print(json.dumps([taken, len(rows), sum(n for _, n in rows), sum(i * n for i, n in rows)]), flush=True)
"""

OTHERS = {"DuckDB": ("duckdb_extension_spatial", DUCKDB), "SedonaDB": ("sedonadb", SEDONA)}


def load(session, options):
    side = round(options.polygons ** 0.5)
    session.query("CREATE EXTENSION postgis")
    session.query("SELECT setseed(0.5)")
    # Stars around the middle of each square, whose corners reach a little beyond it.
    session.query(f"""CREATE TABLE polygons AS
        SELECT id, st_makepolygon(st_makeline(ring || ring[1])) AS g FROM (
            SELECT s.id, array_agg(st_makepoint(s.id % {side} + 0.5 + far * cos(2 * pi() * e / {options.edges}),
                                                s.id / {side} + 0.5 + far * sin(2 * pi() * e / {options.edges})) ORDER BY e) AS ring
            FROM generate_series(0, {side * side - 1}) s (id)
            CROSS JOIN LATERAL (SELECT e, 0.35 + 0.25 * random() + 0 * s.id AS far FROM generate_series(1, {options.edges}) e) t
            GROUP BY s.id) rings""")
    session.query(f"""CREATE TABLE points AS
        SELECT st_makepoint(random() * {side}, random() * {side})::geometry(Point) AS g FROM generate_series(1, {options.points})""")
    session.query("CREATE INDEX ON polygons USING gist (g)")
    session.query("VACUUM (FREEZE, ANALYZE)")
    session.query("CHECKPOINT")


def checksum(rows):
    counts = [(int(i), int(n)) for i, n in rows]
    return [len(counts), sum(n for _, n in counts), sum(i * n for i, n in counts)]


def timed_query(session):
    began = time.perf_counter()
    rows = session.query(SQL)
    return time.perf_counter() - began, checksum(rows)


def write_files(session, points, polygons):
    points.write_text("\n".join(f"{x},{y}" for x, y in session.query("SELECT st_x(g), st_y(g) FROM points")), encoding="ascii")
    polygons.write_text("\n".join(f"{i}|{g}" for i, g in session.query("SELECT id, st_astext(g, 17) FROM polygons")), encoding="ascii")


def processor_seconds(pid, of_children=False):
    """Of a process, or of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
    first = 13 if of_children else 11
    return (int(fields[first]) + int(fields[first + 1])) / os.sysconf("SC_CLK_TCK")


def postmaster_of(session):
    return int(Path(session.value("SHOW data_directory"), "postmaster.pid").read_text(encoding="ascii").split()[0])


def service_of(session):
    """The process of turbined below the session's server."""
    postmaster = postmaster_of(session)
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text(encoding="ascii", errors="replace").split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        parents[int(stat.parent.name)] = (int(rest.split()[1]), name)
    for pid, (parent, name) in parents.items():
        while name == "turbined" and parent in parents:
            if parent == postmaster:
                return pid
            parent = parents[parent][0]
    return None


class Other:
    """Another engine, in a process of its own."""

    def __init__(self, python, program, *arguments):
        self.process = subprocess.Popen([python, "-c", program, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, query=""):
        self.process.stdin.write(query + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        while line and not line.startswith("["):
            line = self.process.stdout.readline()
        seconds, *answer = json.loads(line)
        return seconds, answer


def run_over_file(server, folder, options):
    """0 if all answers are the known ones."""
    import tiled_points  # noqa: PLC0415 - the other mode needs no pyarrow
    side = round(options.polygons ** 0.5)
    began = time.perf_counter()
    path = folder / "points.arrow"
    expected = tiled_points.write_points(path, options.points, side)
    path.chmod(0o644)
    print(f"{options.points} points written in {time.perf_counter() - began:.0f} s", flush=True)
    with server.connect() as session:
        began = time.perf_counter()
        session.query("CREATE EXTENSION postgis; CREATE TABLE polygons (id int, g geometry)")
        session.query(tiled_points.polygons_sql(side))
        session.query("VACUUM (FREEZE, ANALYZE) polygons")
        session.query(f"IMPORT FOREIGN SCHEMA points FROM SERVER arrow_fdw INTO public OPTIONS (file '{path}')")
        print(f"{side * side} polygons of {session.value('SELECT st_npoints(g) - 1 FROM polygons LIMIT 1')} edges loaded in "
              f"{time.perf_counter() - began:.0f} s", flush=True)
    numbers = range(side * side)
    known = [int((expected > 0).sum()), int(expected.sum()), sum(int(n) * i for i, n in zip(numbers, expected, strict=True))]
    summary = f"SELECT count(*), sum(n), sum(n * id::numeric) FROM ({SQL.replace('count(*)', 'count(*) AS n')}) counts"
    wrong = 0
    for device in [options.device, *(["cpu"] if options.beside else [])]:
        ours = server.connect(settings={"pg_turbine.enabled": "on", "pg_turbine.device": device, "work_mem": "1GB",
                                        "pg_turbine.debug_force_offload": "on"})
        if device == options.device:
            print("\n".join(row[0] for row in ours.query("EXPLAIN (COSTS OFF) " + summary)), flush=True)
        times = []
        for _ in range(options.runs + 1):
            began = time.perf_counter()
            found = [int(value) for value in ours.query(summary)[0]]
            times.append(time.perf_counter() - began)
            wrong += found != known
            if found != known:
                print(f"WRONG on {device}: {found}, known are {known}", flush=True)
        later = statistics.median(times[1:])
        print(f"{device}: first run {times[0]:.2f} s, then {', '.join(f'{t:.2f}' for t in times[1:])} s: median {later:.2f} s, "
              f"{options.points / later / 1e6:.1f} M points/s", flush=True)
        print("\n".join(row[0] for row in ours.query("EXPLAIN (ANALYZE, COSTS OFF) " + summary)), flush=True)
        # Polygon by polygon.
        counts = {int(i): int(n) for i, n in ours.query(SQL)}
        different = [i for i in numbers if counts.get(i, 0) != expected[i]]
        wrong += len(different)
        print(f"{device}: {len(counts)} polygons with points, {len(different)} counts differ from the known ones {different[:5]}",
              flush=True)
        ours.close()
    with server.connect() as session:
        cached = int(session.value("SELECT turbine.cache_drop('points')"))
        print(f"{cached / options.points:.2f} bytes a point in the column cache", flush=True)
    fallbacks = [(name, value) for name, value in server.connect().query("SELECT * FROM turbine.stat_queries")
                 if name.startswith("fallback") and int(value) > 0]
    print(f"fallbacks: {fallbacks}", flush=True)
    return 1 if wrong or fallbacks else 0


def run_over_trips(server, folder, options):
    """0 if all answers are equal."""
    import spatial_trips  # noqa: PLC0415 - of this mode
    spatial_trips.generate(options.spatialbench, folder, options.trips, options.buildings)
    with server.connect() as session:
        spatial_trips.load(session, folder)
        print(", ".join(f"{session.value(f'SELECT count(*) FROM {name}')} rows in {name}" for name in spatial_trips.TABLES), flush=True)
    plain = server.connect(settings=POSTGIS)
    ours = server.connect(settings={"pg_turbine.enabled": "on", "pg_turbine.device": options.device})

    def timed(session, name):
        began = time.perf_counter()
        rows = spatial_trips.rows_of(session, name)
        return time.perf_counter() - began, [rows]

    engines = {"pg_turbine": lambda name: timed(ours, name), "PostGIS": lambda name: timed(plain, name)}
    if options.others_python:
        engines["DuckDB"] = Other(options.others_python, spatial_trips.DUCKDB, spatial_trips.arguments_of_duckdb(folder)).run
    wrong = 0
    for name in spatial_trips.QUERIES:
        # Columns are loaded in the background, and code is compiled, before the second run.
        answers = [{engine: run(name)[1] for engine, run in engines.items()} for _ in range(3)]
        times = {engine: [] for engine in engines}
        for _ in range(options.runs):
            for engine, run in engines.items():
                times[engine].append(run(name)[0])
        differ = [engine for found in answers for engine in engines if found[engine] != found["PostGIS"]]
        wrong += len(differ)
        plan = [row[0].strip() for row in ours.query("EXPLAIN (COSTS OFF) " + spatial_trips.sql_of(name))]
        node = next((line for line in plan if "GpuGiSTJoin" in line or "Custom Scan" in line), plan[0])
        print(f"{name} ({len(answers[0]['PostGIS'][0])} rows, {node}): "
              + ", ".join(f"{engine} {statistics.median(taken) * 1000:.0f} ms" for engine, taken in times.items())
              + (f"; DIFFERENT: {sorted(set(differ))}" if differ else ""), flush=True)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--polygons", type=int, default=10_000)
    parser.add_argument("--edges", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--others-python", default="", help="a Python with the wheels of other engines")
    parser.add_argument("--arrow-file", action="store_true", help="points in an Arrow file, polygons that tile the area")
    parser.add_argument("--folder", default="", help="with --arrow-file: where the cluster and the file are")
    parser.add_argument("--beside", action="store_true", help="with --arrow-file: the processor's cores, too")
    parser.add_argument("--trips", type=float, default=0, help="SpatialBench's scale factor of trips: 6 million each")
    parser.add_argument("--buildings", type=float, default=1, help="with --trips: scale factor of buildings")
    parser.add_argument("--spatialbench", default="spatialbench-cli", help="with --trips: its generator")
    options = parser.parse_args()
    settings = {"shared_buffers": "512MB", "work_mem": "64MB"}
    if options.arrow_file:
        # Points, grid and results, and what a copy of the polygons takes.
        megabytes = (options.points * 20 + options.polygons * 4000 >> 20) + 1024
        settings |= {"pg_turbine.cache_size_host": f"{megabytes}MB", "pg_turbine.memory_budget": f"{max(megabytes, 4096)}MB"}
        tempfile.tempdir = options.folder or None
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            with cluster.Cluster("bench-geography", settings=settings) as server:
                return run_over_file(server, Path(folder), options)
    with cluster.Cluster("bench-geography", settings=settings) as server, tempfile.TemporaryDirectory() as folder:
        if options.trips:
            Path(folder).chmod(0o755)
            return run_over_trips(server, Path(folder), options)
        with server.connect() as session:
            load(session, options)
        plain = server.connect(settings=POSTGIS)
        ours = server.connect(settings={"pg_turbine.enabled": "on", "pg_turbine.device": options.device})
        print("\n".join(row[0] for row in plain.query("EXPLAIN (COSTS OFF) " + SQL)), flush=True)
        engines = {"pg_turbine": lambda: timed_query(ours), "PostGIS": lambda: timed_query(plain)}
        points, polygons = Path(folder) / "points.csv", Path(folder) / "polygons.csv"
        processes = {}
        if options.others_python:
            write_files(plain, points, polygons)
        for name, (module, program) in OTHERS.items():
            if not options.others_python or subprocess.call([options.others_python, "-c", f"import {module}"], stderr=subprocess.DEVNULL):
                continue
            other = Other(options.others_python, program, points, polygons)
            engines[name], processes[name] = other.run, other.process.pid
        times, processor_times = {name: [] for name in engines}, {}
        found = {name: run() for name, run in engines.items()}
        # What each engine has taken: PostgreSQL's workers are children of the postmaster.
        backends = {name: int(session.value("SELECT pg_backend_pid()")) for name, session in (("pg_turbine", ours), ("PostGIS", plain))}
        service, postmaster = service_of(plain), postmaster_of(plain)
        taken_by = {name: lambda pid=pid: processor_seconds(pid) for name, pid in processes.items()}
        taken_by["PostGIS"] = lambda: processor_seconds(backends["PostGIS"]) + processor_seconds(postmaster, of_children=True)
        if service:
            taken_by["pg_turbine"] = lambda: processor_seconds(service) + processor_seconds(backends["pg_turbine"])
        print("first run: " + ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, (seconds, _) in found.items()), flush=True)
        for _ in range(options.runs):
            for name, run in engines.items():
                before = taken_by[name]() if name in taken_by else 0
                times[name].append(run()[0])
                if name in taken_by:
                    processor_times.setdefault(name, []).append(taken_by[name]() - before)
        print("\n".join(row[0] for row in ours.query("EXPLAIN (ANALYZE, COSTS OFF) " + SQL)), flush=True)
        base = statistics.median(times["pg_turbine"])
        for name, taken in times.items():
            median = statistics.median(taken)
            used = f", {statistics.median(processor_times[name]):.2f} s of processors" if name in processor_times else ""
            print(f"{name}: {median * 1000:.0f} ms, {median / base:.2f} of ours, {options.points / median / 1e6:.2f} M points/s{used}")
        if len({str(answer) for _, answer in found.values()}) > 1:
            print(f"answers differ: {found}")
            return 1
        return 0 if any("GpuGiSTJoin" in row[0] for row in ours.query("EXPLAIN (COSTS OFF) " + SQL)) else 1


if __name__ == "__main__":
    sys.exit(main())
