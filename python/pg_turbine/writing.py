"""writing.py - write(): arrays become rows of a table, in the caller's transaction.

Phases: the columns in one shape (incoming.py); the table, made if the caller wants it; its types; COPY (copy_encode.py).
Connections of ADBC have no COPY of their own: they take an Arrow table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .copy_encode import copy_messages, encode
from .errors import TurbineError
from .incoming import Incoming, columns_of, incoming
from .pg_types import JSONB, PG_TYPES
from .sessions import Adbc, Session, quoted, session_of, split_name

# A domain is copied as the type below it.
_TYPES_QUERY = """
SELECT a.attname::text, base.oid::bigint, base.is_enum, pg_catalog.format_type(a.atttypid, a.atttypmod)
FROM pg_catalog.pg_attribute a, LATERAL (
  WITH RECURSIVE below(oid) AS (
    SELECT a.atttypid UNION ALL
    SELECT t.typbasetype FROM below JOIN pg_catalog.pg_type t ON t.oid = below.oid WHERE t.typtype = 'd')
  SELECT t.oid, t.typtype = 'e' AS is_enum
  FROM below JOIN pg_catalog.pg_type t ON t.oid = below.oid WHERE t.typtype <> 'd') base
WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped"""

_SQL_TYPES = {"b1": "boolean", "i1": "smallint", "i2": "smallint", "u1": "smallint", "i4": "integer", "u2": "integer", "i8": "bigint",
              "u4": "bigint", "u8": "numeric(20)", "f2": "real", "f4": "real", "f8": "double precision"}
_OBJECT_TYPES = {"str": "text", "bytes": "bytea", "bool": "boolean", "int": "bigint", "float": "double precision", "Decimal": "numeric",
                 "date": "date", "datetime": "timestamp", "Timestamp": "timestamp", "time": "time", "UUID": "uuid"}
_KINDS = {"utf8": "text", "binary": "bytea", "time64us": "time", "timestamptzus": "timestamptz", "uuid": "uuid"}


class _Target(NamedTuple):
    oid: int
    is_enum: bool
    name: str


def write(connection: Any, table: str, columns: Any, create: bool = False, nan_as_null: bool = False) -> int:
    """Appends rows to a table and returns their number.

    `connection` is one of psycopg, psycopg2 or ADBC, whose transaction this joins; of a DSN, the rows are committed. `table`
    is a name as in SQL: table, schema.table, "Table". `columns` is a mapping from names to arrays, a data frame of pandas or
    polars, or an Arrow table; columns that it lacks get their defaults. `create` makes the table first, with types that follow
    from the arrays. Missing values (None, NaT, NA, masked, Arrow's NULLs) become NULL. NaN stays NaN unless `nan_as_null`.
    Numbers are converted if nothing is lost except digits of real; else an error says which column.
    """
    parts = split_name(table)
    arrays = {name: incoming(name, source, nan_as_null) for name, source in columns_of(columns).items()}
    if not arrays:
        raise ValueError("there are no columns to write")
    rows = len(next(iter(arrays.values())).values)
    for name, array in arrays.items():
        if len(array.values) != rows:
            raise ValueError(f"column {name!r} has {len(array.values)} rows, the first one has {rows}")
    with session_of(connection) as session:
        if create:
            types = ", ".join(f"{quoted(name)} {_sql_type(name, array)}" for name, array in arrays.items())
            session.execute(f"CREATE TABLE {quoted(*parts)} ({types})")
        targets = _targets(session, parts, list(arrays))
        if isinstance(session, Adbc):
            _ingest(session, parts, arrays, targets)
        else:
            encoded = [encode(name, array, *_arguments(targets[name])) for name, array in arrays.items()]
            names = ", ".join(quoted(name) for name in arrays)
            session.copy_in(f"COPY {quoted(*parts)} ({names}) FROM STDIN (FORMAT binary)", copy_messages(encoded, rows))
        if isinstance(connection, str):
            session.connection.commit()
    return rows


def _arguments(target: _Target) -> tuple[int, str, bool]:
    return target.oid, target.name, target.is_enum


def _targets(session: Session, parts: list[str], names: list[str]) -> dict[str, _Target]:
    found = {name: _Target(int(oid), is_enum, kind) for name, oid, is_enum, kind in session.fetch(_TYPES_QUERY, quoted(*parts))}
    for name in names:
        if name not in found:
            raise TurbineError(f"table {'.'.join(parts)} has no column {name!r}; it has {', '.join(found)}")
    return found


def _sql_type(name: str, array: Incoming) -> str:
    """The type of a column that is made for an array."""
    if array.kind:
        return _KINDS[array.kind]
    dtype = array.values.dtype
    if dtype.kind in "biuf":
        kind = _SQL_TYPES.get(f"{dtype.kind}{dtype.itemsize}")
        if kind:
            return kind
    if dtype.kind == "M":
        return "date" if np.datetime_data(dtype)[0] == "D" else "timestamp"
    if dtype.kind == "m":
        return "time"
    if dtype.kind in "UT":
        return "text"
    if dtype.kind == "S":
        return "bytea"
    if dtype.kind == "O":
        missing = array.mask if array.mask is not None else np.zeros(len(array.values), bool)
        kinds = {type(value) for value in array.values[~missing]}
        if kinds == {int, float}:
            kinds = {float}
        if len(kinds) == 1:
            kind = _OBJECT_TYPES.get(next(iter(kinds)).__name__)
            if kind == "timestamp" and all(value.tzinfo is not None for value in array.values[~missing]):
                return "timestamptz"
            if kind:
                return kind
    raise TurbineError(f"column {name!r} is {dtype}: which type is it to have? Create the table first")


def _ingest(session: Adbc, parts: list[str], arrays: dict[str, Incoming], targets: dict[str, _Target]) -> None:
    import pyarrow as pa

    from .formats import FORMATS

    made = {}
    for name, array in arrays.items():
        target = targets[name]
        kind = PG_TYPES.get(target.oid)
        if kind is None or kind.format in ("decimal128", "uuid") or target.oid == JSONB:
            raise TurbineError(f"column {name!r} is {target.name}, which ADBC does not write: use a connection of psycopg")
        wanted = FORMATS[kind.format].arrow_type(None, None)
        if array.texts is not None:
            offsets, data = array.texts
            validity = None if array.mask is None else pa.py_buffer(np.packbits(~array.mask, bitorder="little"))
            made[name] = pa.Array.from_buffers(wanted, len(array.values), [validity, pa.py_buffer(np.ascontiguousarray(offsets)),
                                                                           pa.py_buffer(data)])
            continue
        values = array.values
        if kind.width and values.dtype.kind != "O":
            # The same checks as for COPY: the values in the table's type, here in the order of this machine.
            fixed = encode(name, array, *_arguments(target)).fixed
            assert fixed is not None
            plain = fixed.astype(fixed.dtype.newbyteorder("="))
            if kind.epoch:
                plain = plain + plain.dtype.type(kind.epoch)
            storage = pa.array(plain if kind.format != "bool" else plain.astype(bool), mask=array.mask)
            made[name] = storage if storage.type == wanted else storage.cast(wanted)
        else:
            made[name] = pa.array(values.tolist(), mask=array.mask, type=wanted)
    session.ingest(parts[0] if len(parts) == 2 else None, parts[-1], pa.table(made))
