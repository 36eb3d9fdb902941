#!/usr/bin/env python3
"""upgrade.py - ALTER EXTENSION UPDATE from every release ends where CREATE EXTENSION begins.

`scripts`: released scripts are unchanged, and a way leads from each release to the default version. `catalogs`: both ways
give the same rows of the catalogs (extension_objects.py). `forgotten`: the same comparison, with one statement of the
last step left out, finds a difference, for every statement. `used`: an old extension, with what users build on it,
works with the new library before and after the update, in sessions that stay open too. `dumped`: pg_dump and pg_restore
of an updated database, and of one that was not. `other_release`: a package is installed under a running server, and its
service speaks another protocol than the library that the server has loaded.
Must never: leave a script of its own in the installation.
Called by: make test-upgrade, test/run_all.py, with the Python of build/python, which has pyarrow.
"""

import argparse
import hashlib
import os
import re
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from extension_objects import differences, extension_objects, without_comment  # noqa: E402
from pg_client import DatabaseError  # noqa: E402
from run_sql import FORCED  # noqa: E402

# Scripts of releases never change: databases exist that were made with them. A release adds its script here.
RELEASED = {"0.1": "3dd47503ba242de1c476322434be4500d73b19a8c885138ad6e34c6a64e144d6"}
# Shown of a comparison that fails.
MOST_LINES = 20

# What users build on an extension.
DEPENDENTS = """
CREATE ROLE reader LOGIN;
CREATE ROLE loader LOGIN;
GRANT CREATE ON SCHEMA public TO loader;
CREATE TABLE sales (id int, k int, price numeric(12,2));
INSERT INTO sales SELECT i, i % 7, i / 8.0 FROM generate_series(1, 20000) i;
CREATE TABLE parts (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
SELECT turbine.cache_policy('sales', 'pinned');
SELECT turbine.cache_policy('parts', 'off');
CREATE FOREIGN TABLE trips (id int, city text) SERVER arrow_fdw OPTIONS (file '{arrow}');
CREATE SERVER archive FOREIGN DATA WRAPPER arrow_fdw;
CREATE FOREIGN TABLE old_trips (id int) SERVER archive OPTIONS (file '{arrow}');
GRANT SELECT ON trips TO reader;
CREATE VIEW usable AS SELECT kind, usable FROM turbine.devices WHERE usable;
CREATE VIEW of_cities AS SELECT t.city, sum(s.price) FROM trips t JOIN sales s USING (id) GROUP BY t.city;
CREATE MATERIALIZED VIEW known AS SELECT name, count(*) FROM turbine.functions GROUP BY name;
CREATE FUNCTION why(query text) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM turbine.why_not(query)';
CREATE FUNCTION cached(c turbine.column_cache) RETURNS bigint LANGUAGE sql AS 'SELECT c.bytes';
REVOKE SELECT ON turbine.column_cache FROM PUBLIC;
GRANT SELECT ON turbine.column_cache TO reader;
REVOKE EXECUTE ON FUNCTION turbine.cache_load(regclass, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION turbine.cache_load(regclass, text[]) TO loader;
VACUUM (ANALYZE) sales;
"""
# Statements over them; each gives the same before and after.
QUERIES = (
    "SELECT * FROM usable", "SELECT * FROM of_cities", "SELECT * FROM known", "SELECT id, city FROM trips",
    "SELECT count(*) FROM old_trips", "SELECT why('SELECT count(*) FROM sales')",
    "SELECT sum(cached(c)) IS NULL FROM turbine.column_cache c WHERE relation = 'parts'::regclass",
    "SELECT k, count(*), sum(price) FROM sales GROUP BY k",
    "SELECT objoid::regclass, label FROM pg_seclabel WHERE provider = 'pg_turbine'",
    "SELECT relacl FROM pg_class WHERE oid = 'turbine.column_cache'::regclass",
    "SELECT proacl FROM pg_proc WHERE oid = 'turbine.cache_load(regclass, text[])'::regprocedure",
    "SELECT count(*) > 100 FROM turbine.functions", "SELECT count(*) > 0 FROM turbine.stat_queries",
    "SELECT count(*) FROM turbine.cache_loads", "SELECT turbine.cache_load('sales') > 0",
    "SELECT turbine.cache_drop('sales') > 0",
)


# A service whose WELCOME tells another version; the layout is TbWelcome's.
FOREIGN_SERVICE = """#!/usr/bin/env python3
import socket
import struct
import sys
import threading

def answer(peer):
    peer.recv(1 << 16)
    peer.sendall(struct.pack("<IIIIQ", 2, 16, 1000000, 1, 1))
    while peer.recv(1 << 16):
        pass

listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listening.bind(sys.argv[sys.argv.index("--socket") + 1])
listening.listen(100)
while True:
    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
"""


def script_folder(server):
    """Where the installation has the scripts of extensions."""
    sharedir = os.path.relpath(cluster.pg_config("--sharedir"), cluster.pg_config("--bindir"))
    return (server.bindir / sharedir / "extension").resolve()


def default_version(session):
    return session.value("SELECT default_version FROM pg_available_extensions WHERE name = 'pg_turbine'")


def scripts(bench, server):
    """Releases are what they were, and every one leads to the default version."""
    folder = script_folder(server)
    for version, expected in RELEASED.items():
        text = (folder / f"pg_turbine--{version}.sql").read_bytes()
        bench.equal(f"script of {version}", hashlib.sha256(text).hexdigest(), expected)
    with server.connect() as session:
        newest = default_version(session)
        versions = {row[0] for row in session.query("SELECT version FROM pg_available_extension_versions WHERE name = 'pg_turbine'")}
        bench.equal("versions", versions, RELEASED.keys() | {newest})
        for source in RELEASED.keys() - {newest}:
            bench.equal(f"{source} to {newest}", bool(session.value(
                f"SELECT path FROM pg_extension_update_paths('pg_turbine') WHERE source = '{source}' AND target = '{newest}'")), True)
        bench.equal("created", session.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'"), newest)
        bench.equal("the library's", re.sub(r"\.\d+$", "", session.value("SELECT turbine.version()")), newest)
        bench.equal("without a comment", without_comment(session), [])


def compared(created, updated):
    """A complaint about what both ways give, or None."""
    lines = differences(created, updated)
    return "\n".join([f"{len(lines)} differences between CREATE (-) and UPDATE (+)", *lines[:MOST_LINES]]) if lines else None


def updated_objects(session, source, target):
    session.query("DROP EXTENSION IF EXISTS pg_turbine")
    session.query(f"CREATE EXTENSION pg_turbine VERSION '{source}'")
    session.query(f"ALTER EXTENSION pg_turbine UPDATE TO '{target}'")
    return extension_objects(session)


def catalogs(bench, server):
    """CREATE EXTENSION beside the updates of every release."""
    with server.connect() as session:
        newest = default_version(session)
        session.query("DROP EXTENSION pg_turbine")
        session.query("CREATE EXTENSION pg_turbine")
        created = extension_objects(session)
        # The comparison sees what it should see.
        for name in ("view turbine.devices", "function turbine.cache_load(pg_catalog.regclass,pg_catalog.text[])",
                     "schema turbine", "server arrow_fdw", "type turbine.devices", "extension pg_turbine"):
            bench.equal(f"compared: {name}", len(created.get(name, ())) > 1, True)
        for source in RELEASED.keys() - {newest}:
            bench.check(f"{source} updated", compared(created, updated_objects(session, source, newest)))


def statements(text):
    """The statements of a script, comments and psql's line left out."""
    lines = [line for line in text.splitlines() if not line.startswith(("--", "\\"))]
    return [statement.strip() for statement in re.split(r";\n", "\n".join(lines) + "\n") if statement.strip()]


def step_differences(session, folder, before, newest, step, created):
    """What differs after an update by these statements, except the version, which is one of its own."""
    version = f"{newest}edited"
    script = folder / f"pg_turbine--{before}--{version}.sql"
    script.write_text(";\n".join([*step, ""]), encoding="utf-8")
    try:
        updated = updated_objects(session, before, version)
    except DatabaseError as error:
        # A statement that others of the step need.
        session.query("DROP EXTENSION IF EXISTS pg_turbine")
        return [str(error)]
    finally:
        script.unlink()
    return [line for line in differences(created, updated) if "extension pg_turbine: pg_extension" not in line]


def made_by(statement):
    """A pattern of the name that a CREATE gives, or None. The name of a cast is its types."""
    name = (re.match(r"CREATE (CAST \(.*?\))", statement) or
            re.match(r"CREATE (?:OR REPLACE )?(?:FOREIGN DATA WRAPPER|\w+) ([\w.]+)", statement))
    return rf"(?<![\w.]){re.escape(name.group(1))}(?!\w)" if name else None


def without(step, statement):
    """The statements of a step except this one, and except those about an object that is not made then."""
    left_out = [statement]
    for one in left_out:
        made = made_by(one)
        left_out += [other for other in step if made and other not in left_out and re.search(made, other)]
    return [other for other in step if other not in left_out]


def forgotten(bench, server):
    """Each statement of the last step is missed if it is left out."""
    folder = script_folder(server)
    with server.connect() as session:
        newest = default_version(session)
        before = max(RELEASED.keys() - {newest}, key=lambda version: tuple(map(int, version.split("."))))
        session.query("DROP EXTENSION pg_turbine")
        session.query("CREATE EXTENSION pg_turbine")
        created = extension_objects(session)
        step = statements((folder / f"pg_turbine--{before}--{newest}.sql").read_text(encoding="utf-8"))
        bench.equal("the step has statements", len(step) > 0, True)
        bench.equal("nothing is left out", step_differences(session, folder, before, newest, step, created), [])
        for statement in step:
            found = step_differences(session, folder, before, newest, without(step, statement), created)
            bench.check(f"left out: {statement.splitlines()[0]}", None if found else "nobody would notice")
        session.query("DROP EXTENSION pg_turbine")
        session.query("CREATE EXTENSION pg_turbine")


def outcomes(session):
    return {sql: session.run(sql) for sql in QUERIES}


def check_outcomes(bench, name, expected, found):
    for sql in QUERIES:
        bench.equal(f"{name}, {sql}, before", expected[sql].sqlstate, "00000")
        bench.check(f"{name}, {sql}", answers.difference(expected[sql], found[sql]))


def write_trips(server):
    """An Arrow file that the dependents read."""
    path = server.directory / "trips.arrow"
    table = pa.table({"id": pa.array(range(1, 1001), pa.int32()), "city": [f"city {i % 5}" for i in range(1, 1001)]})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    os.chmod(path, 0o644)
    return path


def make_old(server, database, version, arrow, with_roles):
    with server.connect() as session:
        session.query(f"CREATE DATABASE {database} TEMPLATE template0")
    with server.connect(database) as session:
        session.query(f"CREATE EXTENSION pg_turbine VERSION '{version}'")
        for statement in DEPENDENTS.format(arrow=arrow).split(";\n"):
            if statement.strip() and (with_roles or not statement.strip().startswith("CREATE ROLE")):
                session.query(statement)


def check_rights(bench, name, server, database):
    """Who may do what, as the dependents' REVOKE and GRANT say."""
    with server.connect(database, user="reader") as reader, server.connect(database, user="loader") as loader:
        bench.fails(f"{name}, reader reads", reader, "SELECT count(*) FROM turbine.column_cache", "00000")
        bench.fails(f"{name}, loader reads", loader, "SELECT count(*) FROM turbine.column_cache", "42501")
        bench.fails(f"{name}, reader loads", reader, "SELECT turbine.cache_load('sales')", "42501")
        loader.query("CREATE TABLE mine AS SELECT 1 AS id")
        bench.fails(f"{name}, loader loads", loader, "SELECT turbine.cache_load('mine')", "00000")
        loader.query("DROP TABLE mine")


def used(bench, server):
    """Dependents of an old extension, before and after the update."""
    arrow = write_trips(server)
    for number, version in enumerate(sorted(RELEASED)):
        database = f"used_{number}"
        make_old(server, database, version, arrow, number == 0)
        with server.connect(database) as session, server.connect(database) as other:
            newest = default_version(session)
            before = outcomes(session)
            for i, sql in enumerate(QUERIES):
                other.query(f"PREPARE q{i} AS {sql}")
                other.query(f"EXECUTE q{i}")
            check_rights(bench, f"{version}, before", server, database)
            session.query("ALTER EXTENSION pg_turbine UPDATE")
            bench.equal(f"{version}, updated", session.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'"), newest)
            check_outcomes(bench, f"{version}, after", before, outcomes(session))
            check_outcomes(bench, f"{version}, prepared before", before,
                           {sql: other.run(f"EXECUTE q{i}") for i, sql in enumerate(QUERIES)})
            check_rights(bench, f"{version}, after", server, database)
            bench.fails(f"{version}, new objects", session, "SELECT turbine.version()", "00000")


def restored(bench, server, name, source, expected):
    """pg_dump and pg_restore of a database: dependents, rights, and the extension as CREATE makes it."""
    client = ["-h", str(server.directory), "-p", str(server.port), "-U", "postgres"]
    archive, target = server.directory / f"{source}.dump", f"{source}_restored"
    cluster.run_as_server([server.bindir / "pg_dump", *client, "-Fc", "-f", archive, source])
    with server.connect() as session:
        session.query(f"CREATE DATABASE {target} TEMPLATE template0")
    cluster.run_as_server([server.bindir / "pg_restore", *client, "--exit-on-error", "-d", target, archive])
    with server.connect(target) as session:
        session.query("VACUUM (ANALYZE) sales")
        bench.equal(f"{name}, version", session.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'"),
                    default_version(session))
        check_outcomes(bench, name, expected, outcomes(session))
    check_rights(bench, name, server, target)
    with server.connect(source) as one, server.connect(target) as other:
        if one.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_turbine'") == default_version(one):
            bench.check(f"{name}, catalogs", compared(extension_objects(one), extension_objects(other)))


def dumped(bench, server):
    """Dumps of an updated database and of one that was not."""
    arrow = write_trips(server)
    version = min(RELEASED)
    make_old(server, "dumped_old", version, arrow, False)
    make_old(server, "dumped_updated", version, arrow, False)
    for database in ("dumped_old", "dumped_updated"):
        with server.connect(database) as session:
            if database == "dumped_updated":
                session.query("ALTER EXTENSION pg_turbine UPDATE")
            expected = outcomes(session)
        restored(bench, server, database, database, expected)


def other_release(bench, _):
    """Queries are PostgreSQL's, the log says why once, and the right service is taken as soon as it is there."""
    server = cluster.Cluster("otherrelease")
    service = server.directory / "service"
    (server.directory / "foreign").write_text(FOREIGN_SERVICE, encoding="utf-8")
    os.chmod(server.directory / "foreign", 0o755)
    service.symlink_to("foreign")
    server.settings["pg_turbine.service_path"] = str(service)
    query = "SELECT k, count(*), sum(id) FROM t GROUP BY k ORDER BY k"
    try:
        server.start()
        server.create_extension()
        with server.connect(settings=FORCED) as session:
            session.query("CREATE TABLE t AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 20000) i")
            session.query("ANALYZE t")
            expected = [(str(k), str(len(range(k or 7, 20001, 7))), str(sum(range(k or 7, 20001, 7)))) for k in range(7)]
            for _ in range(3):
                bench.equal("the answer", session.query(query), expected)
                time.sleep(1)
            bench.equal("no device", session.query("SELECT * FROM turbine.devices WHERE usable"), [])
            lines = [line for line in server.logfile.read_text(errors="replace").splitlines() if "cannot be used" in line]
            bench.equal("the log says it once", len(lines), 1)
            service.unlink()
            service.symlink_to(server.service_program())
            os.kill(int(re.search(r"service \(PID (\d+)\)", lines[0]).group(1)), signal.SIGKILL)
            server.wait_for_service()
            bench.equal("the right service", session.query(query), expected)
            plan = "\n".join(row[0] for row in session.query(f"EXPLAIN {query}"))
            bench.check("on a device", None if "Custom Scan" in plan else plan)
    finally:
        server.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated check names")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else []
    bench = Bench()
    with cluster.Cluster("upgrade") as server:
        for check in (scripts, catalogs, forgotten, used, dumped, other_release):
            if not only or check.__name__ in only:
                started, before = time.monotonic(), bench.failed
                check(bench, server)
                print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, "
                      f"{time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DatabaseError as error:
        print(f"{error}\n0 passed, 1 failed")
        sys.exit(1)
