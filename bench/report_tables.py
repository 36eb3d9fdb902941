"""report_tables.py - loads the tables of SSB, of TPC-H and of the web log into a server.

A variant says how: measures as integers or numerics, fact tables partitioned
or not, foreign keys with NULLs sprinkled in (every 37th row), vacuumed or
never vacuumed.
Used by: bench/reports.py, test/report_queries.py.
"""

import itertools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ssb
import tpch
import web_log
import workload
from cluster import BUILD

PARTITIONED = {  # table: (hash key, range key, [range bounds])
    "lineorder": ("lo_orderkey", "lo_orderdate", [19930101, 19940101, 19950101, 19960101, 19970101, 19980101]),
    "lineitem": ("l_orderkey", "l_shipdate", [f"'{year}-01-01'" for year in range(1993, 1999)]),
    "orders": ("o_orderkey", "o_orderdate", [f"'{year}-01-01'" for year in range(1993, 1999)]),
    "page_views": ("visitor_id", "seen_on", [f"'2025-06-{day:02}'" for day in (6, 11, 16, 21, 26)]),
}
NULLED = {"lineorder": ("lo_custkey", "lo_partkey", "lo_suppkey", "lo_orderdate"),
          "lineitem": ("l_partkey", "l_suppkey"), "orders": ("o_custkey",)}


@dataclass(frozen=True)
class Variant:
    numeric: bool = False        # SSB's measures as numeric(12,2) instead of integer
    partitioned: str = ""        # "", "hash" or "range"
    nulls: bool = False
    vacuumed: bool = True

    @property
    def label(self):
        parts = ["numeric" if self.numeric else "", self.partitioned, "nulls" if self.nulls else "",
                 "" if self.vacuumed else "never vacuumed"]
        return ", ".join(filter(None, parts)) or "plain"


def _create(session, name, columns, variant):
    """The table to COPY into: the final one, or a staging table where rows are rewritten."""
    if variant.partitioned and name in PARTITIONED:
        hash_key, range_key, bounds = PARTITIONED[name]
        session.query(f"CREATE TABLE {name} ({columns}) PARTITION BY "
                      + (f"HASH ({hash_key})" if variant.partitioned == "hash" else f"RANGE ({range_key})"))
        if variant.partitioned == "hash":
            for i in range(4):
                session.query(f"CREATE TABLE {name}_{i} PARTITION OF {name} "
                              f"FOR VALUES WITH (MODULUS 4, REMAINDER {i})")
        else:
            edges = ["MINVALUE", *bounds, "MAXVALUE"]
            for i, (low, high) in enumerate(itertools.pairwise(edges)):
                session.query(f"CREATE TABLE {name}_{i} PARTITION OF {name} FOR VALUES FROM ({low}) TO ({high})")
            session.query(f"CREATE TABLE {name}_default PARTITION OF {name} DEFAULT")
    else:
        session.query(f"CREATE TABLE {name} ({columns}) WITH (autovacuum_enabled = off)")


def _finish(server, name, key, indexes, variant):
    with server.connect() as session:
        if variant.partitioned and name in PARTITIONED:
            session.query(f"CREATE INDEX ON {name} ({key})" if key else "SELECT")
        elif key:
            session.query(f"ALTER TABLE {name} ADD PRIMARY KEY ({key})")
        for columns in indexes:
            session.query(f"CREATE INDEX ON {name} ({columns})")
        session.query(f"{'VACUUM (ANALYZE)' if variant.vacuumed else 'ANALYZE'} {name}")


def _sprinkle(session, name):
    for i, column in enumerate(NULLED.get(name, ())):
        session.query(f"UPDATE {name} SET {column} = NULL WHERE {column} % 37 = {i}")


def load_ssb(server, factor, variant=Variant()):
    parts = max(1, min(32, os.cpu_count() or 1))
    for table in ssb.TABLES:
        name = workload.table_name(table)
        columns = workload.TABLES[table]
        plain = table != "lineorder" or not (variant.numeric or variant.partitioned)
        if plain:
            workload.load_table(server, table, 0, factor, parts if table == "lineorder" else 1)
        else:
            workload.load_table(server, table, 0, factor, parts)
            with server.connect() as session:
                session.query("ALTER TABLE lineorder RENAME TO loaded")
                if variant.numeric:
                    for measure in ssb.MEASURES:
                        columns = columns.replace(f"{measure} int", f"{measure} numeric(12,2)")
                _create(session, name, columns, variant)
                session.query(f"INSERT INTO {name} SELECT * FROM loaded")
                session.query("DROP TABLE loaded")
        if variant.nulls:
            with server.connect() as session:
                _sprinkle(session, name)
        _finish(server, name, ssb.PRIMARY_KEYS.get(name), (), variant)


def tpchgen_program():
    """tpchgen-cli of PyPI: in TURBINE_TPCHGEN, in the build tree, or on PATH."""
    installed = BUILD / "python" / "bin" / "tpchgen-cli"
    found = os.environ.get("TURBINE_TPCHGEN") or (str(installed) if installed.exists() else shutil.which("tpchgen-cli"))
    if not found:
        raise RuntimeError("tpchgen-cli is not installed (make python-packages)")
    return found


def load_tpch(server, factor, variant=Variant()):
    folder = Path(tempfile.mkdtemp(prefix="pgt-tpch-"))
    try:
        for table, columns in tpch.TABLES.items():
            subprocess.run([tpchgen_program(), "csv", "-q", "-s", str(factor), "-T", table, "-o", str(folder)],
                           check=True)
            with server.connect() as session, open(folder / f"{table}.csv", "rb") as rows:
                _create(session, table, columns, variant)
                outcome = session.copy_in(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)", rows)
                if outcome.error:
                    raise outcome.error
                if variant.nulls:
                    _sprinkle(session, table)
            (folder / f"{table}.csv").unlink()
            _finish(server, table, tpch.PRIMARY_KEYS[table], tpch.INDEXES.get(table, ()), variant)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def load_web_log(server, factor, variant=Variant()):
    """`numeric` and `nulls` change nothing: the table has numerics and NULLs."""
    for table in web_log.TABLES:
        workload.load_table(server, table, 0, factor, max(1, min(8, os.cpu_count() or 1)))
        if variant.partitioned:
            with server.connect() as session:
                session.query(f"ALTER TABLE {table} RENAME TO loaded")
                _create(session, table, workload.TABLES[table], variant)
                session.query(f"INSERT INTO {table} SELECT * FROM loaded")
                session.query("DROP TABLE loaded")
        _finish(server, table, None, (), variant)


# suite: (loader, queries, {table: its columns})
SUITES = {"ssb": (load_ssb, ssb.QUERIES, {workload.table_name(t): workload.TABLES[t] for t in ssb.TABLES}),
          "tpch": (load_tpch, tpch.QUERIES, tpch.TABLES),
          "weblog": (load_web_log, web_log.QUERIES, {t: workload.TABLES[t] for t in web_log.TABLES})}
# suite: {a query's text: its text for DuckDB}
DIALECTS = {"weblog": {web_log.QUERIES[name]: sql for name, sql in web_log.DUCKDB_QUERIES.items()}}
