#!/usr/bin/env python3
"""version_upgrade.py - pg_upgrade from PostgreSQL 15 to a later version, with the extension and what it keeps.

In a copy of the later version's root file system, Debian's PostgreSQL 15 is installed beside it, as on a machine that apt
has upgraded. `refused`: without the extension's library for the new version, and without shared_preload_libraries,
pg_upgrade stops before it changes anything, and says why. `upgraded`: by copy and by --link; tables, cache policies, pins,
foreign tables over files and of gstore_fdw, functions of LANGUAGE turbine and rights arrive; queries give the rows that
the old server gave, on a device and in PostgreSQL; the cache fills and notices changes. docs/replication-and-backup.md says
what users do.
Must never: change the root file system that the copy is of.
Called by: make test-version-upgrade, test/run_all.py. Options: --to.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

from cache_bench import Bench  # noqa: E402
from cluster import BUILD  # noqa: E402
from debian_root import RELEASES, DebianRoot, RootError, sources  # noqa: E402

OLD = "15"
HOME = "/srv/upgrade"
PRELOAD = "shared_preload_libraries = 'pg_turbine'\n"
SETTINGS = f"listen_addresses = ''\nunix_socket_directories = '{HOME}'\nfsync = off\nautovacuum = off\n"
SERVICE_READY = 60
OBJECTS = """CREATE EXTENSION pg_turbine;
CREATE ROLE reader;
CREATE TABLE sales (id int PRIMARY KEY, k int, price numeric(12,2), name text, day date);
INSERT INTO sales SELECT i, i % 7, i / 8.0, 'name ' || i % 50, date '2024-01-01' + i % 366 FROM generate_series(1, 60000) i;
CREATE TABLE parts (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (20000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (20000) TO (1000000);
INSERT INTO parts SELECT i, i % 11 FROM generate_series(1, 40000) i;
CREATE TABLE changed (id int, v int, later int DEFAULT 5);
INSERT INTO changed SELECT i, i % 9 FROM generate_series(1, 30000) i;
ALTER TABLE changed ADD COLUMN fast text DEFAULT 'added', DROP COLUMN later;
DELETE FROM changed WHERE id % 3 = 0;
CREATE FUNCTION twice(x int) RETURNS int LANGUAGE turbine IMMUTABLE AS $$ x * 2 $$;
SELECT turbine.to_parquet('SELECT id, name FROM sales WHERE id < 5000', '{home}/sales.parquet');
CREATE FOREIGN TABLE file_sales (id int, name text) SERVER arrow_fdw OPTIONS (file '{home}/sales.parquet');
CREATE FOREIGN TABLE kept (id int, v float8) SERVER gstore_fdw OPTIONS (pinning '0');
INSERT INTO kept SELECT i, i / 4.0 FROM generate_series(1, 10000) i;
SELECT turbine.pin('sales');
SELECT turbine.cache_policy('parts', 'off');
REVOKE SELECT ON turbine.column_cache FROM PUBLIC;
GRANT SELECT ON turbine.column_cache TO reader;
GRANT SELECT ON file_sales TO reader;
VACUUM (ANALYZE);
DELETE FROM sales WHERE id % 1000 = 1;
CHECKPOINT"""
# Each gives the same on both servers, whoever runs it.
QUERIES = (
    "SELECT k, count(*), sum(price), max(name) FROM sales GROUP BY k ORDER BY k",
    "SELECT count(*), sum(id), min(day) FROM sales WHERE price > 3000",
    "SELECT k, count(*), sum(id) FROM parts GROUP BY k ORDER BY k",
    "SELECT s.k, count(*), sum(p.k) FROM sales s JOIN parts p USING (id) GROUP BY s.k ORDER BY s.k",
    "SELECT v, fast, count(*), sum(id) FROM changed GROUP BY v, fast ORDER BY v",
    "SELECT sum(twice(k)), count(*) FROM sales WHERE twice(id) > 1000",
    "SELECT count(*), sum(id), max(name) FROM file_sales",
    "SELECT count(*), sum(v) FROM kept WHERE id > 100")
ACCELERATED = QUERIES[:6]
KEPT = (
    "SELECT objoid::regclass, label FROM pg_seclabel WHERE provider = 'pg_turbine' ORDER BY 1",
    "SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'",
    # 17 has one right more, of owners.
    "SELECT relname, grantee::regrole, privilege_type FROM pg_class, aclexplode(relacl) WHERE oid IN "
    "('turbine.column_cache'::regclass, 'file_sales'::regclass) AND privilege_type <> 'MAINTAIN' ORDER BY 1, 2, 3",
    "SELECT lanname FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE proname = 'twice'")
FORCED = "SET pg_turbine.debug_force_offload = on; SET pg_turbine.compile_wait = '60s';"
AFTERWARDS = "UPDATE sales SET price = price + 1 WHERE k = 2; DELETE FROM parts WHERE id % 5 = 0; INSERT INTO changed VALUES (99999, 3)"


def install_extension(root, version):
    """The programs of this build, and the module for the version, where the version's PostgreSQL looks."""
    library, share, programs = (f"/usr/lib/postgresql/{version}/lib", f"/usr/share/postgresql/{version}/extension",
                                f"/usr/lib/postgresql/{version}/bin")
    module = BUILD / f"pg{version}" / "pg_turbine.so"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "--install", BUILD], check=True, stdout=subprocess.DEVNULL,
                       env={"DESTDIR": folder, "PATH": "/usr/bin:/bin"})
        staged = Path(folder)
        for source, target in ((next(staged.rglob("turbined")).parent, f"{library}/pg_turbine"),
                               (next(staged.rglob("pg_turbine.control")).parent, share),
                               (next(staged.rglob("pg2arrow")).parent, programs)):
            subprocess.run(["cp", "-aT", source, root.path(target)], check=True)
        root.copy_in(module if module.exists() else next(staged.rglob("pg_turbine.so")), f"{library}/pg_turbine.so")


class Server:
    """A cluster in the root, of one version."""

    def __init__(self, root, version, data):
        self.root, self.version, self.data = root, version, f"{HOME}/{data}"
        self.bindir = f"/usr/lib/postgresql/{version}/bin"

    def make(self, preload=True):
        # Old and new cluster must agree about checksums, which are the default since 18.
        plain = "--no-data-checksums" if int(self.version) >= 18 else ""
        self.root.run(f"{self.bindir}/initdb -D {self.data} -U postgres -A trust -N --locale=C.UTF-8 -E UTF8 {plain}", user="postgres")
        with open(self.root.path(f"{self.data}/postgresql.conf"), "a", encoding="utf-8") as conf:
            conf.write(SETTINGS + PRELOAD * preload)

    def control(self, action):
        self.root.run(f"{self.bindir}/pg_ctl -D {self.data} -l {self.data}/log -w {action} >/dev/null || "
                      f"{{ tail -n 20 {self.data}/log; exit 1; }}", user="postgres")

    def sql(self, text):
        """The rows of all statements, as lines."""
        self.root.path("/tmp/statements.sql").write_text(text, encoding="utf-8")
        return self.root.run(f"{self.bindir}/psql -X -q -A -t -v ON_ERROR_STOP=1 -h {HOME} -U postgres -d postgres -f /tmp/statements.sql",
                             user="postgres").strip()

    def wait_for_service(self):
        deadline = time.monotonic() + SERVICE_READY
        while self.sql("SELECT count(*) FROM turbine.devices WHERE usable") == "0":
            if time.monotonic() > deadline:
                raise RootError(f"no usable device:\n{self.log()}")
            time.sleep(0.2)

    def log(self):
        return self.root.path(f"{self.data}/log").read_text(errors="replace")


def pg_upgrade(old, new, *options):
    """Its output; RootError if it fails."""
    return new.root.run(f"cd {HOME} && {new.bindir}/pg_upgrade -b {old.bindir} -B {new.bindir} -d {old.data} -D {new.data} -U postgres "
                        f"-s {HOME} {' '.join(options)}", user="postgres")


def answers_of(server):
    return [server.sql(f"SET pg_turbine.enabled = off; {sql}") for sql in QUERIES]


def compare(bench, name, server, expected):
    """Each query against the rows of PostgreSQL's own plan of the old server."""
    for sql, rows in zip(QUERIES, expected, strict=True):
        bench.equal(f"{name}, PostgreSQL: {sql}", server.sql(f"SET pg_turbine.enabled = off; {sql}"), rows)
        for run in ("first", "second"):
            bench.equal(f"{name}, {run}: {sql}", server.sql(f"{FORCED} {sql}"), rows)
    for sql in ACCELERATED:
        plan = server.sql(f"{FORCED} EXPLAIN (COSTS OFF) {sql}")
        bench.check(f"{name}, on a device: {sql}", None if "Custom Scan (Gpu" in plan else plan)


def refused(bench, old, root):
    """What pg_upgrade says where something is missing."""
    new = Server(root, bench.to, "unready")
    new.make(preload=False)
    for name, expected in (("no library", "could not access file"), ("no preload", "must be loaded via shared_preload_libraries")):
        try:
            output = pg_upgrade(old, new, "--check")
        except RootError as error:
            output = str(error)
        found = root.run(f"cat {new.data}/pg_upgrade_output.d/*/loadable_libraries.txt 2>/dev/null || true")
        bench.check(f"refused, {name}", None if expected in found else f"{output}\n{found}")
        root.run(f"rm -rf {new.data}/pg_upgrade_output.d")
        install_extension(root, bench.to)
    root.run(f"rm -rf {new.data}")


def upgraded(bench, old, root, mode, expected, kept):
    """By copy, which leaves the old cluster as it was, or by --link."""
    name = f"upgraded{mode}"
    new = Server(root, bench.to, f"new{mode}")
    new.make()
    pg_upgrade(old, new, mode)
    new.control("start")
    new.wait_for_service()
    bench.equal(f"{name}: version", new.sql("SHOW server_version_num")[:2], bench.to)
    for sql, rows in zip(KEPT, kept, strict=True):
        bench.equal(f"{name}: {sql}", new.sql(sql), rows)
    # pg_upgrade brings no statistics before 18, and no column cache.
    compare(bench, f"{name}, at once", new, expected)
    new.sql("VACUUM (ANALYZE)")
    bench.equal(f"{name}: a pinned table is loaded", new.sql(
        "SELECT turbine.cache_load('sales') >= 0; SELECT count(*) > 0 FROM turbine.column_cache "
        "WHERE relation = 'sales'::regclass"), "t\nt")
    compare(bench, f"{name}, vacuumed", new, expected)
    new.sql(AFTERWARDS)
    for sql in ACCELERATED:
        bench.equal(f"{name}, changed: {sql}", new.sql(f"{FORCED} {sql}"), new.sql(f"SET pg_turbine.enabled = off; {sql}"))
    bench.equal(f"{name}: the log", [line for line in new.log().splitlines() if "terminated by signal" in line or "PANIC" in line], [])
    new.control("stop -m fast")
    root.run(f"rm -rf {new.data}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", default="17", choices=[version for version in RELEASES if version not in ("15", "16")])
    bench = Bench()
    bench.to = parser.parse_args().to
    with DebianRoot(RELEASES[bench.to], bench.to) as root:
        # Packages of the release before stay where apt has upgraded a machine.
        with open(root.path("/etc/apt/sources.list"), "a", encoding="ascii") as file:
            file.write(sources(RELEASES[OLD]))
        root.install(f"postgresql-{OLD}")
        root.run(f"mkdir {HOME} && chown postgres: {HOME}")
        install_extension(root, OLD)
        old = Server(root, OLD, "old")
        old.make()
        old.control("start")
        old.sql(OBJECTS.replace("{home}", HOME))
        old.wait_for_service()
        expected = answers_of(old)
        kept = [old.sql(sql) for sql in KEPT]
        compare(bench, "before", old, expected)
        old.control("stop -m fast")
        for name, check in (("refused", lambda: refused(bench, old, root)),
                            ("by copy", lambda: upgraded(bench, old, root, "--copy", expected, kept)),
                            ("by link", lambda: upgraded(bench, old, root, "--link", expected, kept))):
            started, before = time.monotonic(), bench.failed
            check()
            print(f"  {name}: {'ok' if bench.failed == before else 'FAILED'}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RootError as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
