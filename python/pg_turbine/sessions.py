"""sessions.py - the same few calls for every kind of connection: psycopg 3, psycopg2, ADBC.

Owns: how parameters are written for each, and what each gives back. Statements are written with $1, $2.
Connections of the caller stay open and in their transaction; one that was made of a DSN is closed by its Session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .errors import TurbineError

_PARAMETER = re.compile(r"\$(\d+)")


class Field(NamedTuple):
    """A column of a result as the server describes it; precision and scale are those of a numeric that declares them."""

    name: str
    oid: int
    precision: int | None
    scale: int | None


def as_subquery(query: str) -> str:
    """The query in parentheses, whatever it ends with: a semicolon, or a comment."""
    return f"({query.strip().rstrip(';')}\n)"


class Session:
    """What this package asks of a connection."""

    # Whether rows come as Arrow tables, and not as COPY's binary format.
    gives_arrow = False

    def __init__(self, connection: Any, is_own: bool) -> None:
        self.connection = connection
        self._is_own = is_own

    def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def execute(self, sql: str) -> None:
        raise NotImplementedError

    def describe(self, query: str) -> list[Field]:
        raise NotImplementedError

    def copy_out(self, sql: str, take: Callable[[bytes], None]) -> None:
        """Calls `take` with each message of a COPY TO STDOUT."""
        raise NotImplementedError

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> None:
        raise NotImplementedError

    def fetch_arrow(self, query: str) -> Any:
        """The rows as a pyarrow table; of connections that give Arrow."""
        raise NotImplementedError

    def fetch_arrow_batches(self, query: str) -> Any:
        """The rows as an iterable of pyarrow's record batches; of connections that give Arrow."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Ends the statement that another thread is waiting for."""
        self.connection.cancel()

    def close(self) -> None:
        if self._is_own:
            self.connection.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Psycopg(Session):
    """What both releases of psycopg have in common."""

    def _cursor(self) -> Any:
        raise NotImplementedError

    def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._cursor() as cursor:
            named = {f"p{number}": value for number, value in enumerate(parameters, 1)}
            cursor.execute(_PARAMETER.sub(r"%(p\1)s", sql), named)
            return list(cursor.fetchall())

    def execute(self, sql: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(sql)

    def describe(self, query: str) -> list[Field]:
        with self._cursor() as cursor:
            cursor.execute(f"SELECT * FROM {as_subquery(query)} AS rows LIMIT 0")
            return [Field(column.name, column.type_code, column.precision, column.scale) for column in cursor.description]


class Psycopg3(_Psycopg):
    def _cursor(self) -> Any:
        from psycopg import Cursor
        from psycopg.rows import tuple_row

        # The connection may have another cursor or row factory.
        return Cursor(self.connection, row_factory=tuple_row)

    def copy_out(self, sql: str, take: Callable[[bytes], None]) -> None:
        with self._cursor() as cursor, cursor.copy(sql) as copy:
            for message in copy:
                take(bytes(message))

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> None:
        with self._cursor() as cursor, cursor.copy(sql) as copy:
            for chunk in chunks:
                copy.write(chunk)


class _Sink:
    """A file to psycopg2."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take

    def write(self, message: bytes) -> int:
        self._take(bytes(message))
        return len(message)


class _Source:
    """A file to psycopg2, made of chunks."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        piece, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return piece


class Psycopg2(_Psycopg):
    def _cursor(self) -> Any:
        from psycopg2.extensions import cursor

        return self.connection.cursor(cursor_factory=cursor)

    def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        # A bytea comes as a memoryview.
        return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
                for row in super().fetch(sql, *parameters)]

    def copy_out(self, sql: str, take: Callable[[bytes], None]) -> None:
        with self._cursor() as cursor:
            cursor.copy_expert(sql, _Sink(take))

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> None:
        with self._cursor() as cursor:
            cursor.copy_expert(sql, _Source(chunks), 1 << 20)


def literal(value: Any) -> str:
    """A value as SQL. Only for ADBC, whose connections speak UTF-8, and which cannot pass a NULL of every type."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"decode('{value.hex()}', 'hex')"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value).replace("\\", "\\\\").replace("'", "''")
    return f"E'{text}'"


class Adbc(Session):
    gives_arrow = True

    def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(_PARAMETER.sub(lambda found: literal(parameters[int(found.group(1)) - 1]), sql))
            return list(cursor.fetchall())

    def execute(self, sql: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)

    def fetch_arrow(self, query: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table()

    def fetch_arrow_batches(self, query: str) -> Iterator[Any]:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            yield from cursor.fetch_record_batch()

    def ingest(self, schema: str | None, table: str, rows: Any) -> None:
        """Appends a pyarrow table."""
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(table, rows, mode="append", db_schema_name=schema)

    def cancel(self) -> None:
        self.connection.adbc_cancel()


def _connect(dsn: str) -> Session:
    """A connection of our own: psycopg 3 if there is one, else psycopg2."""
    try:
        import psycopg
    except ImportError:
        pass
    else:
        return Psycopg3(psycopg.connect(dsn), True)
    try:
        import psycopg2
    except ImportError:
        pass
    else:
        return Psycopg2(psycopg2.connect(dsn), True)
    raise ImportError("a DSN needs psycopg or psycopg2: pip install 'psycopg[binary]'")


def session_of(connection: Any) -> Session:
    """The session of a connection or a DSN."""
    if isinstance(connection, Session):
        return connection
    if isinstance(connection, str):
        return _connect(connection)
    for kind in type(connection).__mro__:
        package = kind.__module__.partition(".")[0]
        if package == "psycopg":
            if hasattr(connection, "__aenter__"):
                raise TypeError("asynchronous connections are not supported; pass a psycopg.Connection or a DSN")
            return Psycopg3(connection, False)
        if package == "psycopg2":
            return Psycopg2(connection, False)
        if package in ("adbc_driver_manager", "adbc_driver_postgresql"):
            return Adbc(connection, False)
    raise TypeError(f"{type(connection).__name__} is no connection of psycopg, psycopg2 or ADBC, and no DSN")


_PARTS = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\s".]+))\s*(?:\.|$)')


def split_name(name: str) -> list[str]:
    """The parts of a table's name as SQL reads it: without quotes, in lower case."""
    parts, at = [], 0
    while at < len(name):
        found = _PARTS.match(name, at)
        if found is None:
            break
        quoted, plain = found.groups()
        parts.append(quoted.replace('""', '"') if quoted else plain.lower())
        at = found.end()
    if at < len(name) or not 1 <= len(parts) <= 2 or name.rstrip().endswith("."):
        raise TurbineError(f"{name!r} is no name of a table; write table, schema.table or \"Table\"")
    return parts


def quoted(*parts: str) -> str:
    """An identifier, or several with dots between."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
