#!/usr/bin/env python3
"""cold_scans.py - scans of a table larger than memory: rows and GB a second, beside a plain O_DIRECT read of its file.

Loads t_64g (id int, x float8, y float8, z float8, memo text), scaled to --mb, and runs three scans of it by each storage
path, cold and warm; SSB's Q1.1 over --ssb-sf if that is given. Each cold run is paired with a sequential read of the same
file with O_DIRECT, 4 MB at a time, just before it: drives of virtual machines change their speed by the second. Prints
medians, the processor's time of turbined a GB, and what the page cache has of the table and of another one afterwards.
With --memory the server runs in a control group (version 1 or 2, as root) of so many MB. Stops if answers differ.
Needs python3 and the built tree. Called by: make bench-cold-scans.
"""

import argparse
import json
import mmap
import os
import resource
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import report_tables  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from page_cache import PageCache  # noqa: E402

SCANS = {
    "x between": "SELECT count(*) FROM t_64g WHERE x BETWEEN y - 2 AND y + 2",
    "distance": "SELECT count(*) FROM t_64g WHERE sqrt((x - 200)^2 + (y - 300)^2 + (z - 400)^2) < 10",
    "like": "SELECT count(*) FROM t_64g WHERE memo LIKE '%abcd%'",
}
BASE = {"pg_turbine.debug_force_offload": "on", "pg_turbine.enable_cache": "off"}
PATHS = {
    "page cache": {"pg_turbine.storage_path": "page_cache"},
    "direct": {"pg_turbine.storage_path": "direct"},
    "auto": {"pg_turbine.storage_path": "auto"},
}
READ_BYTES = 4 << 20


class ControlGroup:
    """This process, and all that it starts, may use so much memory."""

    def __init__(self, megabytes):
        first = Path("/sys/fs/cgroup/memory")
        base, limit = (first, "memory.limit_in_bytes") if first.is_dir() else (Path("/sys/fs/cgroup"), "memory.max")
        self.home = base / "cgroup.procs"
        self.folder = base / f"pgt-bench-{os.getpid()}"
        self.peak = self.folder / ("memory.max_usage_in_bytes" if first.is_dir() else "memory.peak")
        self.folder.mkdir()
        (self.folder / limit).write_text(str(megabytes << 20))
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self):
        self.home.write_text(str(os.getpid()))
        self.folder.rmdir()


def load(session, megabytes):
    rows = megabytes * (1 << 20) * 77 // 8192  # of a page
    session.query("SELECT setseed(0.5)")
    session.query("CREATE TABLE t_64g (id int, x float8, y float8, z float8, memo text)")
    session.query("INSERT INTO t_64g SELECT i, random() * 1000, random() * 1000, random() * 1000, md5(i::text) || "
                  f"CASE WHEN i % 5 = 0 THEN '' ELSE 'x' END FROM generate_series(1, {rows}) i")
    session.query("VACUUM (FREEZE, ANALYZE) t_64g")
    session.query("CREATE TABLE other AS SELECT i AS id, md5(i::text) AS memo FROM generate_series(1, 300000) i")
    session.query("VACUUM (FREEZE, ANALYZE) other")
    session.query("CHECKPOINT")
    return rows


def files_of(server, session, table):
    first = server.data / session.value(f"SELECT pg_relation_filepath('{table}')")
    return [first] + sorted(first.parent.glob(f"{first.name}.[0-9]*"), key=lambda path: int(path.suffix[1:]))


def plain_read(paths):
    """(bytes, seconds, processor seconds) of reading the files one after the other with O_DIRECT."""
    memory = mmap.mmap(-1, READ_BYTES)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    started, size = time.perf_counter(), 0
    for path in paths:
        fd, at = os.open(path, os.O_RDONLY | os.O_DIRECT), 0
        while count := os.preadv(fd, [memory], at):
            at += count
        size += at
        os.close(fd)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    return size, seconds, after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime


def threads_seconds(pid):
    """Processor seconds of a process by the kind of its threads."""
    ticks = os.sysconf("SC_CLK_TCK")
    seconds = {"drive": 0.0, "others": 0.0}
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text()
        name = fields[fields.index("(") + 1:fields.rindex(")")]
        user, system = fields[fields.rindex(")") + 2:].split()[11:13]
        # io_uring's own threads work for the drive too.
        kind = "drive" if name == "drive" or name.startswith("iou-") else "others"
        seconds[kind] += (int(user) + int(system)) / ticks
    return seconds


def shares(paths):
    sizes = [os.path.getsize(path) for path in paths]
    return sum(PageCache.share(path) * size for path, size in zip(paths, sizes, strict=True)) / sum(sizes)


def measure(server, name, sql, files, rows, options, other):
    size = sum(os.path.getsize(path) for path in files)
    answers = set()
    for way, settings in PATHS.items():
        with server.connect(settings={**BASE, "pg_turbine.device": options.device, **settings}) as session:
            answers.add(str(sorted(session.query(sql))))  # compiles
            for state in ("cold", "warm"):
                times, ratios, drive, all_threads, plain = [], [], [], [], []
                for _ in range(options.runs):
                    for path in files:
                        PageCache.drop(path)
                    if state == "cold":
                        bytes_read, seconds, _ = plain_read(files)
                        plain.append(bytes_read / seconds)
                    else:
                        for path in files:
                            PageCache.fill(path)
                    PageCache.fill(other)
                    before = threads_seconds(server.service_pid())
                    ms, found = workload.timed(session, sql)
                    after = threads_seconds(server.service_pid())
                    answers.add(str(sorted(found)))
                    times.append(ms)
                    drive.append((after["drive"] - before["drive"]) / (size / 1e9))
                    all_threads.append(sum(after.values()) - sum(before.values()))
                    if plain:
                        ratios.append(size / (ms / 1e3) / plain[-1])
                ms = statistics.median(times)
                line = (f"{name:10} {way:11} {state:5} {ms:9.1f} ms {rows / ms / 1e3:8.1f} M rows/s {size / ms / 1e6:6.2f} GB/s, "
                        f"processor s/GB {statistics.median(all_threads) / (size / 1e9):.3f} (drive's thread "
                        f"{statistics.median(drive):.3f})")
                if plain:
                    line += (f", {statistics.median(ratios):.2f} of a plain read ({statistics.median(plain) / 1e9:.2f} GB/s), "
                             f"then in the page cache {shares(files):.2f}, other table {PageCache.share(other):.2f}")
                print(line, flush=True)
    return len(answers) == 1


def explain(server, sql, options):
    with server.connect(settings={**BASE, **PATHS["auto"], "pg_turbine.device": options.device}) as session:
        plan = json.loads(session.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}"))[0]["Plan"]
    node = workload.custom_scan(workload.plan_nodes(plan)) or {}
    print(f"  auto reads by {node.get('Direct SQL')}: {node.get('Drive Blocks')} blocks at {node.get('Drive Rate')} GB/s, "
          f"{node.get('Page Cache Blocks')} from the page cache", flush=True)


def run(options):
    good = True
    with cluster.Cluster("bench-cold", settings={"shared_buffers": "64MB", "max_wal_size": "1GB"}) as server:
        with server.connect() as session:
            rows = load(session, options.mb)
            files, other = files_of(server, session, "t_64g"), files_of(server, session, "other")[0]
        print(f"t_64g: {rows} rows, {sum(os.path.getsize(path) for path in files) / 1e9:.2f} GB", flush=True)
        for name, sql in SCANS.items():
            good &= measure(server, name, sql, files, rows, options, other)
        for path in files:
            PageCache.drop(path)
        explain(server, SCANS["x between"], options)
        if options.ssb_sf:
            report_tables.load_ssb(server, options.ssb_sf)
            with server.connect() as session:
                session.query("CHECKPOINT")
                files = files_of(server, session, "lineorder")
                rows = int(session.value("SELECT count(*) FROM lineorder"))
            good &= measure(server, "SSB Q1.1", ssb.QUERIES["q1_1"], files, rows, options, other)
    if not good:
        print("the answers differ")
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=512, help="of t_64g")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ssb-sf", type=float, default=0, help="SSB's scale factor; 0: without")
    parser.add_argument("--memory", type=int, default=0, help="MB that server and benchmark may use together; 0: all")
    options = parser.parse_args()
    group = ControlGroup(options.memory) if options.memory else None
    try:
        result = run(options)
        if group:
            print(f"most memory that was used: {int(group.peak.read_text()) >> 20} MB of {options.memory}")
        return result
    finally:
        if group:
            group.leave()


if __name__ == "__main__":
    sys.exit(main())
