#!/usr/bin/env python3
"""packages.py - packages install, work, upgrade and go without a trace.

`installed`: `cmake --install` with DESTDIR, and `make uninstall`. `made`: the packages are built without a network, and
lintian finds no error and no warning. `clean`: in a minimal Debian with nothing but the package and what it depends on,
PostgreSQL preloads the library, README.md's example runs on a device and gives PostgreSQL's rows, files are written and
read, the export programs connect. `newer`: a newer package is installed under the running server, which works on before
and after its restart. `removed`: after what docs/operations.md says about removal, no file, row or process is left.
Takes half an hour where nothing is compiled yet. Wants root, a network for apt, and `tools/install_deps.sh packages`.
Must never: touch packages or servers of this machine.
Called by: make test-packages.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

from cache_bench import Bench  # noqa: E402
from cluster import BUILD, pg_config  # noqa: E402
from debian_root import RELEASES, DebianRoot, RootError  # noqa: E402

DEBS = BUILD / "deb"
# What a package is called that is newer, and has the same files.
NEWER = "99"
# Answers are compared with those of PostgreSQL's own plans. Sums of floating-point numbers may differ in their last digits.
EXAMPLE = """SELECT sensor, count(*), round(avg(celsius)::numeric, 6), max(taken) FROM readings WHERE celsius > 25
  GROUP BY sensor ORDER BY sensor"""
FILES = """SELECT turbine.to_parquet('SELECT * FROM readings WHERE sensor < 10', '/tmp/readings.parquet');
CREATE FOREIGN TABLE file_readings (sensor int, taken timestamp, celsius float8)
  SERVER arrow_fdw OPTIONS (file '/tmp/readings.parquet');
SELECT count(*), sum(sensor), max(taken) FROM file_readings"""
SERVICE_READY = 60


def run(*command, **environment):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=REPOSITORY,
                          errors="replace", env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        raise RootError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def installed(bench):
    """make install and make uninstall, into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        destination = Path(folder)
        neighbour = destination / pg_config("--pkglibdir").lstrip("/") / "neighbour.so"
        neighbour.parent.mkdir(parents=True)
        neighbour.touch()
        run("cmake", "--install", BUILD, DESTDIR=folder)
        present = {Path(name).name for name in files_below(destination)}
        for name in ("pg_turbine.so", "pg_turbine.control", "turbined", "turbine-compiler", "turbine-file-reader", "turbine-file-writer",
                     "turbine-plcuda", "turbine-storage-test", "pg2arrow", "mysql2arrow"):
            bench.equal(f"installed: {name}", name in present, True)
        run("packaging/uninstall.sh", DESTDIR=folder, TURBINE_BUILD=str(BUILD))
        bench.equal("uninstalled", files_below(destination), [str(neighbour.relative_to(destination))])
        bench.equal("no folder is left", list(destination.rglob("*pg_turbine*")), [])


def made(bench, pg):
    """The package; it and its source pass lintian."""
    package = Path(run("packaging/make_deb.sh", "-p", pg, "-o", DEBS, TURBINE_BUILD=str(BUILD)).splitlines()[-1])
    changes = max(DEBS.glob("*.changes"), key=lambda path: path.stat().st_mtime)
    found = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", changes], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    bench.check("lintian", found.stdout if found.returncode != 0 else None)
    return package


class Server:
    """The server in a root, as Debian's packages make it."""

    def __init__(self, root, pg):
        self.root, self.pg = root, pg
        self.data = f"/var/lib/postgresql/{pg}/main"

    def control(self, action):
        self.root.run(f"pg_ctlcluster {self.pg} main {action}")

    def psql(self, sql, database="postgres"):
        """The last statement's rows, as lines."""
        self.root.path("/tmp/statements.sql").write_text(sql, encoding="utf-8")
        return self.root.run(f"psql -X -q -A -t -v ON_ERROR_STOP=1 -d {database} -f /tmp/statements.sql", user="postgres").strip()

    def wait_for_service(self):
        deadline = time.monotonic() + SERVICE_READY
        while time.monotonic() < deadline:
            if self.psql("SELECT count(*) FROM turbine.devices WHERE usable") != "0":
                return
            time.sleep(0.2)
        raise RootError(f"no usable device:\n{self.log()}")

    def log(self):
        return self.root.path(f"/var/log/postgresql/postgresql-{self.pg}-main.log").read_text(errors="replace")


def readme_example():
    """README.md's SQL, without its EXPLAIN."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)
    before, explain, _ = block.partition("EXPLAIN (")
    if not explain:
        raise RootError("README.md has no example with EXPLAIN")
    return before


def clean(bench, root, server, package):
    """A minimal system: the package, its dependencies, and README.md's example."""
    root.copy_in(package, f"/srv/{package.name}")
    root.run(f"apt-get update -qq && apt-get install -y -qq --no-install-recommends /srv/{package.name}")
    missing = root.run(f"dpkg -L {package.name.partition('_')[0]} | "
                       "while read -r file; do if [ -f \"$file\" ]; then ldd \"$file\" 2>/dev/null; fi; done | grep 'not found' || true")
    bench.equal("libraries that are missing", missing, "")
    root.run(f"pg_conftool {server.pg} main set shared_preload_libraries pg_turbine")
    server.control("start")
    server.psql(readme_example())
    server.wait_for_service()
    forced = "SET pg_turbine.debug_force_offload = on; SET pg_turbine.compile_wait = '60s';"
    plan = server.psql(f"{forced} EXPLAIN (ANALYZE) {EXAMPLE}")
    bench.check("the example runs on a device", None if "Custom Scan (Gpu" in plan and "Device:" in plan else plan)
    same = server.psql(f"{forced} {EXAMPLE}") == server.psql(f"SET pg_turbine.enabled = off; {EXAMPLE}")
    bench.equal("the example's rows are PostgreSQL's", same, True)
    bench.equal("a file", server.psql(f"SET client_min_messages = warning; {FILES}").splitlines()[-1],
                server.psql("SELECT count(*), sum(sensor), max(taken) FROM readings WHERE sensor < 10"))
    bindir = f"/usr/lib/postgresql/{server.pg}/bin"
    root.run(f"{bindir}/pg2arrow -h /var/run/postgresql -d postgres -c 'SELECT * FROM readings WHERE sensor = 1' -o /tmp/one.arrow",
             user="postgres")
    bench.equal("pg2arrow's file", root.path("/tmp/one.arrow").read_bytes()[:6], b"ARROW1")
    bench.equal("mysql2arrow starts", "mysql2arrow" in root.run(f"{bindir}/mysql2arrow --help"), True)


def newer_package(package, folder):
    """The same files as a package of a later version."""
    tree = Path(folder) / "tree"
    run("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {NEWER}", control.read_text(encoding="utf-8"), flags=re.MULTILINE),
                       encoding="utf-8")
    newer = Path(folder) / f"{package.name.partition('_')[0]}_{NEWER}_amd64.deb"
    run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", tree, newer)
    return newer


def newer(bench, root, server, package):
    """A package is replaced while the server runs."""
    before = server.psql(EXAMPLE)
    postmaster = root.path(f"{server.data}/postmaster.pid").read_text(encoding="ascii").split()[0]
    with tempfile.TemporaryDirectory(dir=DEBS) as folder:
        later = newer_package(package, folder)
        root.copy_in(later, f"/srv/{later.name}")
    root.run(f"apt-get install -y -qq --no-install-recommends /srv/{later.name}")
    bench.equal("no restart", root.path(f"{server.data}/postmaster.pid").read_text(encoding="ascii").split()[0], postmaster)
    bench.equal("rows under the newer package", server.psql(EXAMPLE) == before, True)
    # The old program's file is gone; the supervisor starts the new one.
    root.run("kill -9 $(pidof turbined)")
    time.sleep(1)
    server.wait_for_service()
    bench.equal("rows of the newer service", server.psql(EXAMPLE) == before, True)
    server.control("restart")
    server.wait_for_service()
    bench.equal("rows after the restart", server.psql(EXAMPLE) == before, True)


def removed(bench, root, server, package):
    """docs/operations.md, Removal; then purge."""
    server.psql("SELECT turbine.cache_policy('readings', 'off')")
    labels = server.psql("SELECT objoid::regclass FROM pg_seclabel WHERE provider = 'pg_turbine'").splitlines()
    bench.equal("labels before", labels, ["readings"])
    for table in labels:
        server.psql(f"SECURITY LABEL FOR pg_turbine ON TABLE {table} IS NULL")
    server.psql("SET client_min_messages = warning; DROP EXTENSION pg_turbine CASCADE")
    root.run(f"pg_conftool {server.pg} main remove shared_preload_libraries")
    server.control("restart")
    root.run(f"rm -rf {server.data}/pg_turbine")
    name = package.name.partition("_")[0]
    owned = [line for line in root.run(f"dpkg -L {name}").splitlines() if "turbine" in line or "2arrow" in line]
    bench.equal("the package has files", len(owned) > 20, True)
    root.run(f"apt-get purge -y -qq {name}")
    bench.equal("files that are left", [path for path in owned if root.path(path).exists()], [])
    root.run("apt-get clean; rm -rf /srv/* /tmp/*")
    bench.equal("anything of that name", root.run("find / -xdev \\( -iname '*turbine*' -o -name '*2arrow*' \\) ! -path '/proc/*'"), "")
    bench.equal("the package is forgotten", root.run(f"dpkg-query -W -f '${{Status}}' {name} 2>/dev/null || true").replace(
        "unknown ok not-installed", ""), "")
    server.control("restart")
    bench.equal("the server works on", server.psql("SELECT count(*) FROM readings"), "5000000")
    bench.equal("the catalogs are clean", server.psql(
        "SELECT (SELECT count(*) FROM pg_seclabel) + (SELECT count(*) FROM pg_extension WHERE extname LIKE '%turbine%') + "
        "(SELECT count(*) FROM pg_namespace WHERE nspname = 'turbine') + (SELECT count(*) FROM pg_language WHERE lanname IN "
        "('turbine', 'plcuda')) + (SELECT count(*) FROM pg_foreign_data_wrapper)"), "0")
    bench.equal("processes that are left", root.run("pidof turbined turbine-compiler || true"), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pg", default="15", choices=RELEASES, help="PostgreSQL's version")
    parser.add_argument("--deb", type=Path, help="a package that is there already")
    options = parser.parse_args()
    bench = Bench()
    installed(bench)
    package = options.deb.resolve() if options.deb else made(bench, options.pg)
    with DebianRoot(RELEASES[options.pg]) as root:
        server = Server(root, options.pg)
        for check in (clean, newer, removed):
            started, before = time.monotonic(), bench.failed
            check(bench, root, server, package)
            print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RootError as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
