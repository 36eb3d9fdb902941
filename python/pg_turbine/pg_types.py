"""pg_types.py - the one table of PostgreSQL's types that COPY's binary format is read and written for.

`width` is that of a value in a message; 0: it varies. Dates and times count from 2000 there and from 1970 in columns.
"""

from __future__ import annotations

from typing import NamedTuple

EPOCH_DAYS = 10957
EPOCH_MICROSECONDS = EPOCH_DAYS * 86_400_000_000


class PgType(NamedTuple):
    oid: int
    name: str
    # A name of formats.FORMATS.
    format: str
    width: int
    wire: str = ""
    epoch: int = 0


PG_TYPES = {row.oid: row for row in (
    PgType(16, "boolean", "bool", 1, "|u1"),
    PgType(21, "smallint", "int16", 2, ">i2"),
    PgType(23, "integer", "int32", 4, ">i4"),
    PgType(20, "bigint", "int64", 8, ">i8"),
    PgType(26, "oid", "uint32", 4, ">u4"),
    PgType(700, "real", "float32", 4, ">f4"),
    PgType(701, "double precision", "float64", 8, ">f8"),
    PgType(1082, "date", "date32", 4, ">i4", EPOCH_DAYS),
    PgType(1083, "time without time zone", "time64us", 8, ">i8"),
    PgType(1114, "timestamp without time zone", "timestampus", 8, ">i8", EPOCH_MICROSECONDS),
    PgType(1184, "timestamp with time zone", "timestamptzus", 8, ">i8", EPOCH_MICROSECONDS),
    PgType(2950, "uuid", "uuid", 16, "|V16"),
    PgType(1700, "numeric", "decimal128", 0),
    PgType(25, "text", "utf8", 0),
    PgType(1043, "character varying", "utf8", 0),
    PgType(1042, "character", "utf8", 0),
    PgType(18, "\"char\"", "utf8", 0),
    PgType(19, "name", "utf8", 0),
    PgType(114, "json", "utf8", 0),
    PgType(17, "bytea", "binary", 0),
)}
TEXT, NUMERIC, JSONB = 25, 1700, 3802
