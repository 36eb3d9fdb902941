"""server_features.py - what a build of PostgreSQL may lack.

Owns: the names of parts that PostgreSQL may be built without, and how a server is asked for them. The server of 16
(tools/debian_root.py) has neither ICU nor libxml, nor the extensions that Debian puts beside its servers.
Must never: leave something out because its name is unknown.
Used by: run_sql.py, differential.py, join_fuzz.py, map_promise.py; test/sql by `-- needs: NAME`.
"""

import random_tables

# Statements that fail without the part.
PROBES = {
    "icu": 'SELECT \'a\' < \'b\' COLLATE "und-x-icu"',
    "xml": "SELECT xmlparse(CONTENT '<a/>')",
    "lz4": "SET default_toast_compression = 'lz4'",
}
EXTENSIONS = ("file_fdw", "pageinspect")


def has(session, name):
    """Whether the session's server has the part, or an extension of that name to create."""
    if name in EXTENSIONS:
        return session.value(f"SELECT count(*) FROM pg_available_extensions WHERE name = '{name}'") == "1"
    outcome = session.run(PROBES[name])
    if name == "lz4":
        session.run("RESET default_toast_compression")
    return outcome.error is None


def leave_out_kinds(server):
    """Random tables get no columns that the server lacks; says which."""
    with server.connect() as session:
        if has(session, "icu"):
            return
    random_tables.KINDS = tuple(kind for kind in random_tables.KINDS if "-x-icu" not in kind.sql_type)
    print("  left out: columns of ICU's collations, which this build of the server lacks", flush=True)
