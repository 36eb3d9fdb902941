#!/usr/bin/env python3
"""topology.py - what an administrator sees of GPUs and drives, and which GPU a tablespace's tables go to.

A tree as sysfs has it stands in for the machine: two GPUs behind two switches, a drive below each. The drives have the
numbers of two real file systems, so tablespaces on these are near to one GPU each. Stand-in drivers show the GPUs.
Also: turbine.storage_test() and its program.
Called by: make test-topology, test/run_all.py. Where there is a driver, the tests of GPUs are left out.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from run_sql import FORCED  # noqa: E402
from stand_in import has_driver, stand_in  # noqa: E402

SWITCH = {0: "pci0000:00/0000:00:01.0/0000:01:00.0", 1: "pci0000:80/0000:80:01.0/0000:81:00.0"}
GPU = {0: SWITCH[0] + "/0000:02:00.0/0000:03:00.0", 1: SWITCH[1] + "/0000:82:00.0/0000:83:00.0"}
DRIVE = {0: SWITCH[0] + "/0000:02:01.0/0000:04:00.0", 1: SWITCH[1] + "/0000:82:01.0/0000:84:00.0"}
MEMORY_FOLDER = "/dev/shm"
COLUMNS = "i AS id, i % 1000 AS k"


class Sysfs:
    """A folder as the kernel's /sys."""

    def __init__(self, numbers):
        self.root = Path(tempfile.mkdtemp(prefix="pgt-sysfs-"))
        os.chmod(self.root, 0o755)
        for node, distances in enumerate(("10 21", "21 10")):
            self.write(f"devices/system/node/node{node}/distance", distances)
            self.write(f"devices/system/node/node{node}/cpulist", "0-1023")
        for node in (0, 1):
            for path in (GPU[node], DRIVE[node]):
                self.write(f"devices/{path}/numa_node", str(node))
                self.link(f"bus/pci/devices/{path.rsplit('/', 1)[1]}", f"devices/{path}")
            folder = f"devices/{DRIVE[node]}/nvme/nvme{node}"
            self.write(f"{folder}/model", f"Drive {node}")
            self.write(f"{folder}/nvme{node}n1/dev", numbers[node])
            self.write(f"{folder}/nvme{node}n1/size", "1000000")
            self.link(f"{folder}/nvme{node}n1/device", folder)
            self.link(f"block/nvme{node}n1", f"{folder}/nvme{node}n1")
        self.write("devices/virtual/block/md0/md/level", "raid0")
        self.write("devices/virtual/block/md0/dev", "9:0")
        for node in (0, 1):
            self.link(f"devices/virtual/block/md0/slaves/nvme{node}n1", f"devices/{DRIVE[node]}/nvme/nvme{node}/nvme{node}n1")
        self.link("block/md0", "devices/virtual/block/md0")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text + "\n")

    def link(self, path, target):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).symlink_to(os.path.relpath(self.root / target, (self.root / path).parent))


def device_number(path):
    number = os.stat(path).st_dev
    return f"{os.major(number)}:{os.minor(number)}"


class Topology:
    def __init__(self, server, bench):
        self.server, self.bench = server, bench
        self.session = server.connect()

    def rows(self, sql):
        return [tuple(row) for row in self.session.query(sql)]

    def devices(self):
        found = self.rows("SELECT name, compute_capability, clock_mhz, l2_bytes, pci_address, numa_node, "
                          "memory_free = memory_budget - memory_used, cache_hits, cache_misses FROM turbine.devices "
                          "WHERE kind = 'cuda' ORDER BY index")
        fixed = ("Fake GPU", "9.0", "1980", str(50 << 20))
        self.bench.equal("devices", found, [(*fixed, "0000:03:00.0", "0", "t", "0", "0"), (*fixed, "0000:83:00.0", "1", "t", "0", "0")])
        self.bench.equal("the host is no GPU", self.rows(
            "SELECT compute_capability, clock_mhz, l2_bytes, pci_address, numa_node, cache_hits, memory_free > 0 "
            "FROM turbine.devices WHERE kind = 'host'"), [(None, None, None, None, None, None, "t")])

    def view(self):
        self.bench.equal("topology", self.rows("SELECT name, kind, model, numa_node, routes, distances, near_gpus FROM turbine.topology"), [
            ("gpu0", "gpu", "Fake GPU", "0", None, None, None), ("gpu1", "gpu", "Fake GPU", "1", None, None, None),
            ("nvme0n1", "nvme", "Drive 0", "0", "{PIX,SYS}", "{4,420}", "{gpu0}"),
            ("nvme1n1", "nvme", "Drive 1", "1", "{SYS,PIX}", "{420,4}", "{gpu1}"),
            ("md0", "raid0", None, None, "{SYS,SYS}", "{212,212}", "{gpu0,gpu1}")])
        self.bench.equal("members", self.rows("SELECT members, pci_path FROM turbine.topology WHERE name = 'md0'"),
                         [("{nvme0n1,nvme1n1}", None)])
        self.bench.equal("the tree", self.rows("SELECT pci_path FROM turbine.topology WHERE name = 'nvme1n1'"),
                         [("{" + DRIVE[1].replace("/", ",") + "}",)])

    def log(self):
        text = self.server.logfile.read_text(errors="replace")
        for line in ("GPU0: Fake GPU, 2 multiprocessors, 1980 MHz, L2 50 MB, memory 4096 MB",
                     "compute capability 9.0, PCI 0000:83:00.0, NUMA node 1", "topology:         0000:04:00.0 nvme0n1 Drive 0",
                     "topology: nvme0n1: GPU0=PIX/4* GPU1=SYS/420",
                     "topology: md0 (raid0 of nvme0n1, nvme1n1): GPU0=SYS/212* GPU1=SYS/212*"):
            self.bench.check(f"log: {line}", None if line in text else "is not in the log")

    def preferences(self):
        return {name: rest for name, *rest in self.rows(
            "SELECT tablespace, gpus, decided_by FROM turbine.tablespace_gpus WHERE tablespace <> 'pg_global'")}

    def tablespaces(self, folder):
        self.session.query(f"CREATE TABLESPACE second LOCATION '{folder}'")
        self.bench.equal("by distance", self.preferences(), {"pg_default": ["{gpu0}", "distance"], "second": ["{gpu1}", "distance"]})
        self.session.query("SET pg_turbine.gpu_tablespace_map = 'second=gpu1:gpu0, pg_default = gpu1'")
        self.bench.equal("by the map", self.preferences(), {"pg_default": ["{gpu1}", "map"], "second": ["{gpu1,gpu0}", "map"]})
        self.session.query("SET pg_turbine.gpu_tablespace_map = 'second=gpu7'")
        self.bench.equal("GPUs that are not there", self.preferences()["second"], ["{gpu1}", "distance"])
        self.session.query("RESET pg_turbine.gpu_tablespace_map")

    def settings(self):
        for value in ('"a ""b"", c" = GPU3 , /data/logs = gpu0:gpu1', "", "  ", "a=gpu0"):
            self.bench.equal(f"map {value!r}", self.session.run(f"SET pg_turbine.gpu_tablespace_map = '{value}'").sqlstate, "00000")
        for value in ("a", "=gpu0", "a=", "a=cpu", "a=gpu", "a=gpu16", "a=gpu0,", ",a=gpu0", "a=gpu0 gpu1", "a=gpu0:", '"a=gpu0'):
            self.bench.fails(f"map {value!r}", self.session, f"SET pg_turbine.gpu_tablespace_map = '{value}'", "22023")
        self.session.query("RESET pg_turbine.gpu_tablespace_map")

    def queries_of_gpus(self):
        return [int(row[0]) for row in self.rows("SELECT queries_total FROM turbine.devices WHERE kind = 'cuda' ORDER BY index")]

    def goes_to(self, name, sql, gpu, settings=""):
        """Which GPU has one query more; the answer is PostgreSQL's, since no kernel runs."""
        before = self.queries_of_gpus()
        with self.server.connect(settings=FORCED) as session:
            session.query("SET pg_turbine.device = gpu")
            if settings:
                session.query(settings)
            session.query(sql)
        after = self.queries_of_gpus()
        chosen = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if new > old]
        self.bench.equal(name, chosen, [gpu])

    def prefers(self, table, sql, gpu, analyze):
        """EXPLAIN names the GPU near the table's drives."""
        with self.server.connect(settings=FORCED) as session:
            session.query("SET pg_turbine.device = gpu")
            lines = [row[0].strip() for row in session.query(f"EXPLAIN ({analyze}COSTS off) {sql.format(table)}")]
        self.bench.check(f"preference of {table}, {analyze}",
                         None if f"GPU Preference: GPU{gpu} (Fake GPU)" in lines else "\n".join(lines))

    def choices(self):
        for table, tablespace in (("here", "pg_default"), ("there", "second")):
            self.session.query(f"CREATE TABLE {table} TABLESPACE {tablespace} AS SELECT {COLUMNS} FROM generate_series(1, 20000) i")
            self.session.query(f"VACUUM ANALYZE {table}")
        total = "SELECT k, count(*) FROM {} GROUP BY k"
        scan = "SELECT id FROM {} WHERE k < 10"
        for sql in (total, scan):
            self.goes_to("near drives of the first", sql.format("here"), 0)
            self.goes_to("near drives of the second", sql.format("there"), 1)
            self.goes_to("the map", sql.format("here"), 1, "SET pg_turbine.gpu_tablespace_map = 'pg_default=gpu1'")
            self.goes_to("the session's word", sql.format("there"), 0, "SET pg_turbine.device = gpu0")
            for analyze in ("", "ANALYZE, "):
                self.prefers("here", sql, 0, analyze)
                self.prefers("there", sql, 1, analyze)
        self.session.query("CREATE TABLE parts (id int, k int) PARTITION BY RANGE (id)")
        self.session.query("CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000)")
        self.session.query("CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (90000) TABLESPACE second")
        self.session.query(f"INSERT INTO parts SELECT {COLUMNS} FROM generate_series(1, 20000) i")
        self.session.query("VACUUM ANALYZE parts")
        self.goes_to("where most of the partitions are", total.format("parts"), 1)

    def files(self, folder):
        """A foreign table's files are wherever they are."""
        self.session.query(f"SELECT turbine.to_arrow('SELECT * FROM here', '{folder}/rows.arrow')")
        self.session.query(f"CREATE FOREIGN TABLE rows (id int, k int) SERVER arrow_fdw OPTIONS (file '{folder}/rows.arrow')")
        total = "SELECT k, count(*) FROM rows GROUP BY k"
        self.goes_to("near the file's drive", total, 1)
        self.goes_to("the map of a folder", total, 0, f"SET pg_turbine.gpu_tablespace_map = '{folder}/=gpu0, /dev=gpu1'")
        self.goes_to("the map of another folder", total, 1, f"SET pg_turbine.gpu_tablespace_map = '{folder}/row=gpu0'")
        self.session.query("DROP FOREIGN TABLE rows")

    def end(self):
        for table in ("there", "parts"):
            self.session.query(f"DROP TABLE {table}")
        self.session.query("DROP TABLESPACE second")


def test_storage(server, bench, file, has_stand_in):
    """The program, and the function around it."""
    session = server.connect()
    rows = [tuple(row) for row in session.query(
        "SELECT way, error, bytes, drive_bytes + cached_bytes = bytes, requests > 0, seconds > 0 "
        "FROM turbine.storage_test('pg_default', 8) WHERE way IN ('direct', 'page-cache')")]
    bench.equal("storage_test", rows, [(way, None, str(8 << 20), "t", "t", "t") for way in ("direct", "page-cache") for _ in range(4)])
    left = list((server.data / "base" / "pgsql_tmp").glob("*"))
    bench.equal("nothing is left", left, [])
    session.query("CREATE ROLE somebody")
    session.query("SET ROLE somebody")
    bench.fails("not a superuser", session, "SELECT * FROM turbine.storage_test('pg_default')", "42501")
    session.query("RESET ROLE")
    bench.fails("no such tablespace", session, "SELECT * FROM turbine.storage_test('nowhere')", "42704")
    bench.fails("no size", session, "SELECT * FROM turbine.storage_test('pg_default', 0)", "22023")
    session.query("SET statement_timeout = '300ms'")
    bench.fails("cancelled", session, "SELECT * FROM turbine.storage_test('pg_default', 4000)", "57014")
    bench.equal("nothing is left of it", list((server.data / "base" / "pgsql_tmp").glob("*")), [])

    program = server.service_program().with_name("turbine-storage-test")
    chart = Path(str(file) + ".svg")
    ran = subprocess.run([program, "--json", "--ways", "page-cache", "--sizes", "64kB", "--depths", "2", "--chart", chart, file],
                         capture_output=True, text=True, check=True)
    report = json.loads(ran.stdout)
    bench.equal("JSON", [(p["way"], p["engine"], p["bytes"], p["drive_bytes"] + p["cached_bytes"], p["error"]) for p in report["passes"]],
                [("page-cache", "pread", 3 << 20, 3 << 20, None)])
    bench.check("the chart", None if chart.read_text().startswith("<svg") else "is no SVG")
    if has_stand_in:
        # The ways to a GPU, with a driver that reports what is not given back.
        ran = subprocess.run([program, "--json", "--ways", "pinned,gpu", "--threads", "2", "--sizes", "64kB", file],
                             capture_output=True, text=True, check=True)
        bench.equal("ways to a GPU", [(p["way"], p["bytes"], p["error"]) for p in json.loads(ran.stdout)["passes"]],
                    [(way, 3 << 20, None) for way in ("pinned", "gpu") for _ in range(2)])
        bench.equal("nothing is kept of the GPU", ran.stderr, "")
    for arguments, status in ((["--sizes", "1", file], 2), ([], 2), (["/nonexistent"], 1)):
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        bench.equal(f"arguments {arguments}", (ran.returncode, "turbine-storage-test: " in ran.stderr), (status, True))


def main():
    bench = Bench()
    driver = not has_driver()
    space = Path(tempfile.mkdtemp(prefix="pgt-space-", dir=MEMORY_FOLDER))
    files = Path(tempfile.mkdtemp(prefix="pgt-files-", dir=MEMORY_FOLDER))
    file = Path(tempfile.mkdtemp(prefix="pgt-file-")) / "file"
    file.write_bytes(os.urandom(3 << 20))
    sysfs = Sysfs((device_number(tempfile.gettempdir()), device_number(space)))
    if driver:
        os.environ["TURBINE_SYSFS"] = str(sysfs.root)
    stand_ins = stand_in(gpus=2, pci="0000:03:00.0,00000000:83:00.0") if driver else contextlib.nullcontext()
    try:
        if os.geteuid() == 0:
            for folder in (space, files):
                shutil.chown(folder, cluster.SERVER_USER)
        with stand_ins, cluster.Cluster("topology") as server:
            topology = Topology(server, bench)
            if driver:
                topology.devices()
                topology.view()
                topology.log()
                topology.tablespaces(space)
                topology.choices()
                topology.files(files)
                topology.end()
            topology.settings()
            test_storage(server, bench, file, driver)
    finally:
        for folder in (space, files, file.parent, sysfs.root):
            if folder:
                shutil.rmtree(folder)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
