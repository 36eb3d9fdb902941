#!/usr/bin/env python3
"""exports.py - how fast pg2arrow writes a table, beside psql's COPY to a file.

lineorder of the Star Schema Benchmark, read from shared buffers or the page cache. The cases
take turns. Of each run: wall time, and processor time of the client and of the server, by which
runs on a busy machine can still be compared. Prints medians, with the ratio to psql's, and
says which of the targets are met: Arrow IPC at least as fast as psql, compressed Parquet within
1.5 of it, two workers 1.6 times as fast as one. Writes exports.json. Wants an idle machine with
four processors: the workers' backends want their own.
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

COPY = "\\copy lineorder TO '{file}' (FORMAT binary)"
CASES = {
    "psql, COPY binary": None,
    "Arrow": [],
    "Arrow with statistics": ["--stat"],
    "Arrow, 2 workers": ["-n", "2"],
    "Parquet, zstd": ["--parquet"],
    "Parquet, snappy": ["--parquet", "--compression=snappy"],
    "Parquet, lz4": ["--parquet", "--compression=lz4"],
    "Parquet, zstd, 2 workers": ["--parquet", "-n", "2"],
}
# (case, the case that it is compared with, the greatest ratio of wall times that is asked for)
TARGETS = (("Arrow", "psql, COPY binary", 1.0), ("Parquet, zstd", "psql, COPY binary", 1.5),
           ("Arrow, 2 workers", "Arrow", 1 / 1.6))


def children_seconds(pid):
    """Processor time of a process's children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def command_of(server, options, file):
    connection = ["-h", str(server.directory), "-p", server.port, "-U", "postgres", "-d", "postgres"]
    if options is None:
        return [str(server.bindir / "psql"), "-X", "-q", *connection, "-c", COPY.format(file=file)]
    return [str(cluster.BUILD / "src/export/pg2arrow"), *connection, "-t", "lineorder", "-o", str(file), *options]


def run_case(server, options, file):
    """(wall, client's, server's seconds, bytes, greatest memory of the client in MB)."""
    file.unlink(missing_ok=True)
    before = children_seconds(server.process.pid)
    started = time.monotonic()
    process = subprocess.Popen(command_of(server, options, file))
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    if status != 0:
        raise RuntimeError(f"{command_of(server, options, file)}: status {status}")
    time.sleep(0.2)     # until the backends have ended
    served = children_seconds(server.process.pid) - before
    return wall, usage.ru_utime + usage.ru_stime, served, file.stat().st_size, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default="", help="only those whose name contains this, besides psql's")
    parser.add_argument("--output", type=Path, default=cluster.BUILD / "bench" / "exports.json")
    options = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if case is None or options.cases in name}
    runs = {name: [] for name in cases}
    with cluster.Cluster("exports", extension=False, settings={"shared_buffers": "1GB"}) as server, \
            tempfile.TemporaryDirectory(prefix="pgt-exports-") as folder:
        rows = workload.load_table(server, "lineorder", 0, options.sf, 2)
        with server.connect() as session:
            session.query("VACUUM (FREEZE, ANALYZE) lineorder")
        log(f"lineorder: {rows:,} rows")
        for number in range(options.rounds + 1):
            for name, case in cases.items():
                run = run_case(server, case, Path(folder) / "file")
                if number > 0:      # the first round warms caches
                    runs[name].append(run)
    medians = {name: [statistics.median(values) for values in zip(*found)] for name, found in runs.items()}
    base = medians["psql, COPY binary"]
    print(f"{rows:,} rows, {processor()}, {os.cpu_count()} processors, {options.rounds} rounds, medians\n\n"
          "| case | wall s | ratio | client's processor s | server's | file MB | client's memory MB |\n"
          "|---|---:|---:|---:|---:|---:|---:|")
    for name, (wall, client, served, size, memory) in medians.items():
        print(f"| {name} | {wall:.2f} | {wall / base[0]:.2f} | {client:.2f} | {served:.2f} | {size / 1e6:.0f} | {memory:.0f} |")
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
