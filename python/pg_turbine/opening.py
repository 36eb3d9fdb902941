"""opening.py - open(): the rows of a table or query, shared if the server is on this host, else copied.

Phases: one statement asks who the server is, and exports if that is this host; the token is redeemed; the result is released
on the server, where the lease keeps its memory. If the memory cannot be shared, the rows come through the connection.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from .columns import Columns
from .copy_decode import Rows, columns_of_arrow, is_column
from .errors import CopyWarning, NotReachable
from .importing import import_columns
from .pg_types import TEXT
from .sessions import Field, Session, as_subquery, session_of
from .tokens import this_host

_QUOTED = re.compile(r'"[^"]*"')
_QUERY = re.compile(r"(select|with|values|table)\b|\(|\s", re.IGNORECASE)

# Each part runs once, and the query only if the server is on this host, whose boot id is $3.
_EXPORT_QUERY = """
WITH endpoint AS MATERIALIZED (SELECT host, socket FROM turbine.export_endpoint()),
     made AS MATERIALIZED (
       SELECT turbine.gpu_result($1::text, $2::text) AS result FROM endpoint
       WHERE host::text = $3::text AND socket IS NOT NULL)
SELECT made.result::text, CASE WHEN made.result IS NOT NULL THEN turbine.export(made.result) END
FROM endpoint LEFT JOIN made ON true"""
_EXPORT_TABLE = """
SELECT NULL, CASE WHEN host::text = $2::text AND socket IS NOT NULL THEN turbine.export($1::text::regclass) END
FROM turbine.export_endpoint()"""


def is_query(text: str) -> bool:
    """Whether this is a query and not the name of a table. Blanks between quotes belong to a name."""
    return _QUERY.search(_QUOTED.sub("x", text.strip())) is not None


def boot_id() -> str:
    """This host's, or a text that is no host's."""
    return str(this_host() or "")


def share(session: Session, result: str | None, token: bytes) -> Columns | None:
    """Redeems a token. Then the server need not hold the rows for others: from here on our lease does.
    None: the export socket cannot be reached from here."""
    try:
        columns = import_columns(token)
    except NotReachable:
        columns = None
    if result is not None:      # with its token
        session.fetch("SELECT turbine.release($1::uuid::turbine.result)", result)
    else:
        session.fetch("SELECT turbine.release($1::bytea)", token)
    return columns


def copy_rows(session: Session, query: str) -> Columns:
    """All rows, through the connection."""
    if session.gives_arrow:
        return columns_of_arrow(session.fetch_arrow(query))
    found: list[Columns] = []
    statement, fields = copy_statement(query, session.describe(query))
    rows = Rows(fields, None, found.append)
    session.copy_out(statement, rows.take)
    rows.finish(even_empty=True)
    return found[0]


def copy_statement(query: str, fields: list[Field]) -> tuple[str, list[Field]]:
    """The COPY of a query's rows, and its fields. As in exports, a type that columns lack becomes its text."""
    names = ", ".join(f"c{number}" for number in range(len(fields)))
    values = ", ".join(f"c{number}" if is_column(field) else f"c{number}::text" for number, field in enumerate(fields))
    as_sent = [field if is_column(field) else field._replace(oid=TEXT) for field in fields]
    return f"COPY (SELECT {values} FROM {as_subquery(query)} AS rows({names})) TO STDOUT (FORMAT binary)", as_sent


def open(connection: Any, table_or_query: str, device: str | None = None) -> Columns:
    """The rows of a table or query as columns.

    `connection` is one of psycopg, psycopg2 or ADBC, or a DSN; its transaction is what the rows are seen in. `device` is where
    the server is to put them: 'host', 'gpu', 'gpu1' and so on; by default it decides. A table is shared as the server holds
    it, unless a device is named. Rows of a server on another host are copied, with a CopyWarning.
    """
    with session_of(connection) as session:
        query = table_or_query if is_query(table_or_query) else f"TABLE {table_or_query}"
        if query is table_or_query or device is not None:
            found = session.fetch(_EXPORT_QUERY, query, device, boot_id())
        else:
            found = session.fetch(_EXPORT_TABLE, table_or_query, boot_id())
        result, token = found[0]
        columns = None if token is None else share(session, result, bytes(token))
        if columns is None:
            warnings.warn(CopyWarning("the server's memory cannot be shared with this process (it is on another host, or its export "
                                      "socket is out of reach): the rows are copied through the connection"), stacklevel=2)
            columns = copy_rows(session, query)
        return columns
