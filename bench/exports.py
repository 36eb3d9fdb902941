#!/usr/bin/env python3
"""exports.py - how fast a table becomes a file: pg2arrow, to_arrow and to_parquet, beside psql's COPY and DuckDB's.

lineorder of the Star Schema Benchmark, read from shared buffers or the page cache; DuckDB copies the same rows from a
database file of its own to Parquet. The cases take turns. Of each run: wall time; processor time of the client, of the server
with the program that writes for to_arrow and to_parquet, and of all other processes; and the idle share of the machine's cores.
By these, runs on a busy machine can still be compared. Prints medians, with the ratio to psql's, and says which of the targets are met:
Arrow IPC at least as fast as psql, compressed Parquet within 1.5 of it, two workers 1.6 times as fast as one.
Writes exports.json. Wants an idle machine with four processors: the workers' backends want their own.
Called by: make bench-exports [BENCH_ARGS="--sf 1 --rounds 5"].
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
import workload  # noqa: E402
from cluster import log  # noqa: E402
from foundation import processor  # noqa: E402

PSQL = "psql, COPY binary"
DUCKDB = "DuckDB, COPY to Parquet, zstd"
PROCESSORS = os.cpu_count() or 2
# In a process of its own, as the others' clients are: so it is measured as they are.
DUCKDB_RUN = """import sys, duckdb
duckdb.connect(sys.argv[1], config={"threads": int(sys.argv[2])}).execute(sys.argv[3])"""


def psql(command):
    return lambda server, file: [str(server.bindir / "psql"), "-X", "-q", *connection(server), "-c", command.format(file=file)]


def pg2arrow(*options):
    return lambda server, file: [str(cluster.BUILD / "src/export/pg2arrow"), *connection(server), "-t", "lineorder", "-o", str(file),
                                 *options]


def duckdb(command, file, threads=PROCESSORS):
    return [sys.executable, "-c", DUCKDB_RUN, str(file.parent / "duckdb"), str(threads), command.format(file=file)]


CASES = {
    PSQL: psql("\\copy lineorder TO '{file}' (FORMAT binary)"),
    "pg2arrow, Arrow": pg2arrow(),
    "pg2arrow, Arrow with statistics": pg2arrow("--stat"),
    "pg2arrow, Arrow, 2 workers": pg2arrow("-n", "2"),
    "pg2arrow, Parquet, zstd": pg2arrow("--parquet"),
    "pg2arrow, Parquet, snappy": pg2arrow("--parquet", "--compression=snappy"),
    "pg2arrow, Parquet, lz4": pg2arrow("--parquet", "--compression=lz4"),
    "pg2arrow, Parquet, zstd, 2 workers": pg2arrow("--parquet", "-n", "2"),
    "turbine.to_arrow": psql("SELECT turbine.to_arrow('SELECT * FROM lineorder', '{file}')"),
    "turbine.to_parquet, zstd": psql("SELECT turbine.to_parquet('SELECT * FROM lineorder', '{file}')"),
    DUCKDB: lambda server, file: duckdb("COPY lineorder TO '{file}' (FORMAT parquet, COMPRESSION zstd)", file),
}
# (case, the case that it is compared with, the greatest ratio of wall times that is asked for)
TARGETS = (("pg2arrow, Arrow", PSQL, 1.0), ("pg2arrow, Parquet, zstd", PSQL, 1.5),
           ("pg2arrow, Arrow, 2 workers", "pg2arrow, Arrow", 1 / 1.6))


def connection(server):
    return ["-h", str(server.directory), "-p", server.port, "-U", "postgres", "-d", "postgres"]


def children_seconds(pid):
    """Processor time of a process's children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def machine_seconds():
    """(busy, idle) time of all cores."""
    fields = [int(field) / os.sysconf("SC_CLK_TCK") for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, idle


def run_case(server, case, file):
    """(wall, client's, server's, others' seconds, idle share of the cores, bytes, greatest memory of the client in MB)."""
    file.unlink(missing_ok=True)
    served, (busy, idle), started = children_seconds(server.process.pid), machine_seconds(), time.monotonic()
    process = subprocess.Popen(case(server, file), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall, (busy_after, idle_after) = time.monotonic() - started, machine_seconds()
    if status != 0:
        raise RuntimeError(f"{case(server, file)}: status {status}")
    time.sleep(0.2)     # until the backends have ended
    served = children_seconds(server.process.pid) - served
    busy, idle, client = busy_after - busy, idle_after - idle, usage.ru_utime + usage.ru_stime
    return (wall, client, served, max(0, busy - client - served), idle / (busy + idle), file.stat().st_size, usage.ru_maxrss / 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default="", help="only those whose name contains this, besides psql's")
    parser.add_argument("--output", type=Path, default=cluster.BUILD / "bench" / "exports.json")
    options = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if name == PSQL or options.cases in name}
    runs = {name: [] for name in cases}
    with cluster.Cluster("exports", settings={"shared_buffers": "1GB"}) as server, \
            tempfile.TemporaryDirectory(prefix="pgt-exports-") as folder:
        os.chmod(folder, 0o777)     # the server's account writes there, too
        rows = workload.load_table(server, "lineorder", 0, options.sf, 2)
        with server.connect() as session:
            session.query("VACUUM (FREEZE, ANALYZE) lineorder")
        log(f"lineorder: {rows:,} rows")
        if DUCKDB in cases:
            file = Path(folder) / "file"
            run_case(server, CASES["turbine.to_parquet, zstd"], file)
            load = duckdb("CREATE TABLE lineorder AS SELECT * FROM read_parquet('{file}')", file)
            subprocess.run(load, stdout=subprocess.DEVNULL, check=True)
        for number in range(options.rounds + 1):
            for name, case in cases.items():
                run = run_case(server, case, Path(folder) / "file")
                if number > 0:      # the first round warms caches
                    runs[name].append(run)
                    log(f"  {name}: {run[0]:.2f} s, {run[4]:.0%} idle, others {run[3]:.1f} s")
    medians = {name: [statistics.median(values) for values in zip(*found, strict=True)] for name, found in runs.items()}
    base = medians[PSQL]
    print(f"{rows:,} rows, {processor()}, {os.cpu_count()} processors, {options.rounds} rounds, medians"
          "\n\n| case | wall s | ratio | client's processor s | server's | others' | cores idle | file MB | client's memory MB |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, (wall, client, served, others, idle, size, memory) in medians.items():
        print(f"| {name} | {wall:.2f} | {wall / base[0]:.2f} | {client:.2f} | {served:.2f} | {others:.2f} | {idle:.0%} "
              f"| {size / 1e6:.0f} | {memory:.0f} |")
    print()
    for case, other, most in TARGETS:
        if case in medians and other in medians:
            ratio = medians[case][0] / medians[other][0]
            print(f"{case} against {other}: {ratio:.2f}, asked for {most:.2f}: {'met' if ratio <= most else 'missed'}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"rows": rows, "processor": processor(), "runs": runs}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
