"""engines.py - who answers a benchmark's queries: PostgreSQL with and without
the extension, and DuckDB on the same rows.

An engine has a label and run(sql) -> (ms, rows). Rows are tuples of text (or
None) from PostgreSQL and of Python values from DuckDB; agrees() compares them.
DuckDB gets its rows as CSV. Loading fails if a column then has another number
of NULLs or of empty texts than PostgreSQL's.
Used by: bench/reports.py.
"""

import datetime
import decimal
import re
import time
from pathlib import Path

import workload


class PostgresEngine:
    def __init__(self, server, label, settings, search_path="public"):
        self.label = label
        self.session = server.connect()
        self.session.query(f"SET search_path = {search_path}")
        workload.apply(self.session, workload.Plan(label, settings))

    def run(self, sql):
        return workload.timed(self.session, sql)

    def explain(self, sql):
        return workload.explain(self.session, sql)

    def close(self):
        self.session.close()


class DuckEngine:
    """DuckDB in this process, with its own storage in memory."""

    def __init__(self, server, tables, threads, dialect=None):
        """`tables`: {name: its columns}, as for CREATE TABLE. `dialect`: {a query's text: its text for DuckDB}."""
        import duckdb
        self.dialect = dialect or {}
        self.label = f"DuckDB {duckdb.__version__}, {threads} threads"
        self.connection = duckdb.connect(":memory:", config={"threads": threads})
        for name, columns in tables.items():
            with server.connect(settings={"pg_turbine.enabled": "off"}) as session:
                self._load(session, name, columns, Path(server.directory) / f"{name}.csv")

    def _load(self, session, name, columns, path):
        # NULL is empty and an empty text is "" in PostgreSQL's CSV; DuckDB takes both for NULL unless told.
        session.query(f"COPY (SELECT {_exported(columns)} FROM {name}) TO '{path}' (FORMAT csv)")
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self.connection.execute(f"COPY {name} FROM '{path}' (FORMAT csv, HEADER false, DELIMITER ',', QUOTE '\"', "
                                "NULLSTR '', ALLOW_QUOTED_NULLS false)")
        path.unlink()
        census = _census(name, columns)
        theirs, ours = session.query(census), self.connection.execute(census).fetchall()
        if not agrees(theirs, ours):
            raise RuntimeError(f"{name} has other NULLs or empty texts in DuckDB: {theirs} became {ours}")

    def run(self, sql):
        sql = self.dialect.get(sql, sql)
        started = time.perf_counter()
        rows = self.connection.execute(sql).fetchall()
        return (time.perf_counter() - started) * 1000, rows

    def close(self):
        self.connection.close()


def _columns(columns):
    """[(name, type)] of a CREATE TABLE's list."""
    return [tuple(column.split(None, 1)) for column in re.split(r",\s*(?![^(]*\))", columns)]


def _exported(columns):
    """The select list: char(n) without its padding, which DuckDB would keep."""
    return ", ".join(f"{name}::text" if kind.startswith("char(") else name for name, kind in _columns(columns))


def _census(table, columns):
    """A query for the rows, and for the values and the empty texts of each column."""
    counts = ["count(*)"]
    for name, kind in _columns(columns):
        counts.append(f"count({name})")
        if kind.startswith(("text", "varchar", "char")):
            counts.append(f"sum(CASE WHEN {name} = '' THEN 1 ELSE 0 END)")
    return f"SELECT {', '.join(counts)} FROM {table}"


def _value(value):
    """A number where it is one, else text without trailing blanks (char(n))."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime) and value.microsecond:
        return str(value).rstrip("0")
    if isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool):
        return float(value)
    text = str(value).rstrip(" ")
    try:
        return float(text)
    except ValueError:
        return text


def _order(row):
    return tuple((v is None, isinstance(v, str), f"{v:.6g}" if isinstance(v, float) else v or "") for v in row)


def agrees(left, right, tolerance=1e-9):
    """Whether two engines' answers hold the same rows, up to formatting of numbers."""
    if len(left) != len(right):
        return False
    a = sorted((tuple(map(_value, row)) for row in left), key=_order)
    b = sorted((tuple(map(_value, row)) for row in right), key=_order)
    for x, y in zip(a, b, strict=True):
        for p, q in zip(x, y, strict=True):
            if p == q:
                continue
            if not (isinstance(p, float) and isinstance(q, float)) or \
                    abs(p - q) > tolerance * max(abs(p), abs(q), 1e-300):
                return False
    return True
