#!/usr/bin/env python3
"""running_upgrade.py - this build is installed under a server that runs the last release.

The last release's library is compiled from the repository's history. A server of it runs, with its extension and
tables. Then this build's files are installed in their places. `under_old_library`: the service that starts from now
on is this build's. The handshake tells both that they do not fit, the log says so once and what to do, and PostgreSQL
runs all queries. `restarted`: the library is this build's, the old release's objects work. `updated`: ALTER EXTENSION
UPDATE.
A newer service in place of an older one, of the same release's protocol, is what test/packages.py installs.
Must never: run where the history is missing as if that were a success.
Called by: make test-running-upgrade. Wants the commit of the last release in the checkout.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402

# The release, and its last commit.
RELEASE, COMMIT = "0.1", "2a85bb6a5759ecdcfb2046e53f2ebbb8e32e2b32"
QUERIES = ("SELECT k, count(*), sum(price) FROM sales GROUP BY k", "SELECT id, k FROM sales WHERE price > 124500",
           "SELECT s.k, count(*) FROM sales s JOIN sales t ON s.id = t.id WHERE t.k < 3 GROUP BY s.k")
# The service's; a library of 0.1 says nothing itself.
REFUSAL = ("turbined", "restart PostgreSQL")
# Between two lines of a log about the same thing.
SETTLED = 5


def release_library():
    """The path of the last release's library."""
    folder = cluster.BUILD / "releases" / RELEASE
    library = folder / "build/src/pg/pg_turbine.so"
    if library.exists():
        return library
    if subprocess.run(["git", "-C", REPOSITORY, "cat-file", "-e", f"{COMMIT}^{{commit}}"], check=False).returncode != 0:
        raise RuntimeError(f"this checkout lacks {COMMIT}, the last commit of {RELEASE}: fetch the whole history")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = subprocess.run(["git", "-C", REPOSITORY, "archive", COMMIT], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-xf", "-", "-C", folder], input=files, check=True)
    (folder / ".deps").mkdir(exist_ok=True)
    (folder / ".deps/arrow").symlink_to(REPOSITORY / ".deps/arrow")
    subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                    "-DTURBINE_TESTS=OFF"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder / "build", "--target", "pg_turbine", "-j", "2"], check=True, stdout=subprocess.DEVNULL)
    return library


class Installation:
    """A staged PostgreSQL of its own, whose files of pg_turbine are those of one release and then of this build."""

    def __init__(self, folder):
        # Programs are copies, as PostgreSQL looks for its folders beside them.
        staged = cluster.stage()
        pkglibdir, sharedir = (cluster.pg_config(option) for option in ("--pkglibdir", "--sharedir"))
        self.bindir = folder / cluster.pg_config("--bindir").lstrip("/")
        self.pkglibdir, self.scripts = folder / pkglibdir.lstrip("/"), folder / sharedir.lstrip("/") / "extension"
        self.bindir.mkdir(parents=True)
        for program in staged.iterdir():
            shutil.copy2(program, self.bindir / program.name)
        for system in (pkglibdir, sharedir):
            cluster._link_tree(Path(system), folder / system.lstrip("/"), "pg_turbine")
        self.folder = folder

    def install_release(self, library):
        """Its library, and its control file and script."""
        shutil.copy2(library, self.pkglibdir / library.name)
        for name in ("pg_turbine.control", f"pg_turbine--{RELEASE}.sql"):
            shutil.copy2(cluster.BUILD / "releases" / RELEASE / "src/pg/sql" / name, self.scripts)

    def install_build(self):
        subprocess.run(["cmake", "--install", str(cluster.BUILD)], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": str(self.folder)})


def check_answers(bench, name, server, on_device):
    """Forced plans give PostgreSQL's rows; the costs choose a device, or none."""
    with server.connect(settings=FORCED) as forced, server.connect() as usual, server.connect(settings=OFF) as plain:
        for sql in QUERIES:
            expected = plain.run(sql)
            bench.equal(f"{name}, PostgreSQL: {sql}", expected.sqlstate, "00000")
            bench.check(f"{name}, forced: {sql}", answers.difference(expected, forced.run(sql)))
            bench.check(f"{name}: {sql}", answers.difference(expected, usual.run(sql)))
        plan = "\n".join(row[0] for row in usual.query(f"EXPLAIN (COSTS OFF) {QUERIES[0]}"))
        bench.check(f"{name}, its plan", None if ("Custom Scan (Gpu" in plan) == on_device else plan)


def said(server, words):
    return [line for line in server.logfile.read_text(errors="replace").splitlines() if all(word in line for word in words)]


def under_old_library(bench, server, installation):
    """The old library and the new service."""
    with server.connect() as session:
        session.query(f"CREATE EXTENSION pg_turbine VERSION '{RELEASE}'")
        session.query("CREATE TABLE sales AS SELECT i AS id, i % 7 AS k, i / 8.0::numeric(12,2) AS price "
                      "FROM generate_series(1, 1000000) i")
        session.query("VACUUM ANALYZE sales")
        session.query("SELECT turbine.cache_policy('sales', 'pinned')")
        check_answers(bench, "without a service", server, False)
        # What a package manager does.
        installation.install_build()
        started = time.monotonic()
        while not said(server, REFUSAL) and time.monotonic() - started < 30:
            time.sleep(0.1)
        bench.equal("the log says what to do", len(said(server, REFUSAL)), 1)
        check_answers(bench, "beside the new service", server, False)
        bench.equal("no device is shown", session.query("SELECT * FROM turbine.devices WHERE usable"), [])
        bench.equal("rows are written", session.run("INSERT INTO sales VALUES (1000001, 3, 1)").sqlstate, "00000")
        # The service is killed, restarts and is refused again, without a line for each attempt.
        for pid in [pid for pid, name in server.descendants().items() if name == "turbined"]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(SETTLED)
        check_answers(bench, "after the service has restarted", server, False)
        bench.equal("once for each service", len(said(server, REFUSAL)), 2)
        bench.equal("no new session fails", len(server.connect(settings=FORCED).query("SELECT 1")), 1)


def restarted(bench, server):
    """The library is this build's, the objects are the old release's."""
    server.stop()
    server.start()
    server.wait_for_service()
    with server.connect() as session:
        check_answers(bench, "restarted", server, True)
        bench.equal("still the old objects", session.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'"), RELEASE)
        bench.equal("its views", session.value("SELECT count(*) > 0 FROM turbine.devices WHERE usable"), "t")
        labels = session.query("SELECT objoid::regclass::text FROM pg_seclabel WHERE provider = 'pg_turbine'")
        bench.equal("its labels", labels, [("sales",)])


def updated(bench, server):
    with server.connect() as session:
        session.query("ALTER EXTENSION pg_turbine UPDATE")
        version = session.value("SELECT turbine.version()")
        bench.equal("the version", session.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'"),
                    re.sub(r"\.\d+$", "", version))
        check_answers(bench, "updated", server, True)
    text = server.logfile.read_text(errors="replace")
    bench.equal("crashes", re.findall(r".*(?:server process .* was terminated|PANIC).*", text), [])


def main():
    bench = Bench()
    library = release_library()
    with tempfile.TemporaryDirectory(prefix="pgt-release-") as folder:
        os.chmod(folder, 0o755)
        installation = Installation(Path(folder))
        installation.install_release(library)
        os.environ["TURBINE_PG_BIN"] = str(installation.bindir)
        server = cluster.Cluster("runningupgrade")
        try:
            server.start()
            under_old_library(bench, server, installation)
            restarted(bench, server)
            updated(bench, server)
        finally:
            server.remove()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (DatabaseError, RuntimeError) as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
