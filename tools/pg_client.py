"""pg_client.py - a PostgreSQL client over unix sockets, standard library only.

Owns: the frontend/backend protocol (version 3) as far as tests, demo and
benchmarks need it: simple queries, COPY in, cancel. Values stay the text that
the server sent, so that comparisons see what a user sees.
Must never: interpret, round or reorder a result.
Used by: everything under test/, bench/ and tools/demo.py.
"""

import socket
import struct

_HEADER = struct.Struct("!cI")
_PROTOCOL = 196608
_CANCEL = 80877102


class DatabaseError(Exception):
    """An ErrorResponse. `sqlstate` and `message` are the server's."""

    def __init__(self, fields):
        self.sqlstate = fields.get("C", "?????")
        self.message = fields.get("M", "")
        self.fields = fields
        super().__init__(f"{self.sqlstate}: {self.message}")

    def __reduce__(self):
        return DatabaseError, (self.fields,)


class ConnectionLost(Exception):
    """The server closed the connection without an answer."""


class Result:
    """One statement's answer: column names, type OIDs, rows of text or None."""

    __slots__ = ("columns", "types", "rows", "tag")

    def __init__(self):
        self.columns, self.types, self.rows, self.tag = [], [], [], ""


class Outcome:
    """What a query string did: the results it got to, and the error that ended it."""

    __slots__ = ("results", "error")

    def __init__(self, results, error):
        self.results, self.error = results, error

    @property
    def sqlstate(self):
        return self.error.sqlstate if self.error else "00000"

    @property
    def rows(self):
        return self.results[-1].rows if self.results else []


def _fields(payload):
    """The key/value fields of an ErrorResponse or NoticeResponse."""
    fields = {}
    for part in payload.split(b"\0"):
        if part:
            fields[chr(part[0])] = part[1:].decode("utf-8", "replace")
    return fields


def _row_description(payload, result):
    (count,) = struct.unpack_from("!H", payload)
    at = 2
    for _ in range(count):
        end = payload.index(b"\0", at)
        result.columns.append(payload[at:end].decode("utf-8", "replace"))
        result.types.append(struct.unpack_from("!I", payload, end + 7)[0])
        at = end + 19


def _data_row(payload):
    (count,) = struct.unpack_from("!H", payload)
    at, row = 2, []
    for _ in range(count):
        (length,) = struct.unpack_from("!i", payload, at)
        at += 4
        if length < 0:
            row.append(None)
        else:
            row.append(payload[at:at + length].decode("utf-8", "surrogateescape"))
            at += length
    return tuple(row)


class Connection:
    """One session. Not thread-safe, except that cancel() may come from anywhere."""

    def __init__(self, directory, port, user="postgres", database="postgres", settings=None, timeout=None):
        self._address = f"{directory}/.s.PGSQL.{port}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._socket.connect(self._address)
        self._input = self._socket.makefile("rb", 1 << 18)
        self.notices = []
        self.backend_pid, self._secret = 0, 0
        self.transaction_status = "I"
        self._start(user, database, settings or {})

    def _start(self, user, database, settings):
        options = {"user": user, "database": database, "client_encoding": "UTF8"}
        options.update(settings)
        body = struct.pack("!I", _PROTOCOL)
        for key, value in options.items():
            body += key.encode() + b"\0" + str(value).encode() + b"\0"
        body += b"\0"
        self._socket.sendall(struct.pack("!I", len(body) + 4) + body)
        outcome = self._collect()
        if outcome.error:
            self.close()
            raise outcome.error

    def _send(self, kind, body=b""):
        self._socket.sendall(_HEADER.pack(kind, len(body) + 4) + body)

    def _receive(self):
        try:
            header = self._input.read(5)
            if len(header) < 5:
                raise ConnectionLost("server closed the connection")
            kind, length = _HEADER.unpack(header)
            payload = self._input.read(length - 4)
        except ConnectionResetError as lost:
            raise ConnectionLost(str(lost)) from lost
        if len(payload) < length - 4:
            raise ConnectionLost("server closed the connection")
        return kind, payload

    def _collect(self):
        """Reads up to ReadyForQuery. A FATAL error ends the session: it is
        reported as the outcome's error, the next use raises ConnectionLost."""
        results, current, error = [], Result(), None
        while True:
            try:
                kind, payload = self._receive()
            except ConnectionLost:
                if error:
                    return Outcome(results, error)
                raise
            if kind == b"D":
                current.rows.append(_data_row(payload))
            elif kind == b"T":
                _row_description(payload, current)
            elif kind == b"C":
                current.tag = payload[:-1].decode()
                results.append(current)
                current = Result()
            elif kind in (b"I", b"s"):
                results.append(current)
                current = Result()
            elif kind == b"E":
                error = DatabaseError(_fields(payload))
                current = Result()
            elif kind == b"N":
                self.notices.append(_fields(payload))
            elif kind == b"K":
                self.backend_pid, self._secret = struct.unpack("!iI", payload)
            elif kind == b"R" and struct.unpack_from("!I", payload)[0] != 0:
                raise DatabaseError({"C": "28000", "M": "server asks for a password"})
            elif kind == b"Z":
                self.transaction_status = chr(payload[0])
                return Outcome(results, error)

    def send(self, sql):
        """Starts a query string; finish() reads its outcome."""
        self._send(b"Q", sql.encode("utf-8", "surrogateescape") + b"\0")

    def finish(self):
        return self._collect()

    def run(self, sql):
        """Runs a query string by the simple protocol; never raises for SQL errors."""
        self.send(sql)
        return self._collect()

    def query(self, sql):
        """Runs a query string and returns the last statement's rows, or raises."""
        outcome = self.run(sql)
        if outcome.error:
            raise outcome.error
        return outcome.rows

    def value(self, sql):
        """The single value of a query."""
        return self.query(sql)[0][0]

    def copy_in(self, sql, stream, block=1 << 20):
        """COPY ... FROM STDIN from a readable stream; returns the outcome."""
        self.send(sql)
        while True:
            kind, payload = self._receive()
            if kind == b"G":
                break
            if kind == b"E":
                outcome = self._collect()
                outcome.error = DatabaseError(_fields(payload))
                return outcome
        while data := stream.read(block):
            self._send(b"d", data)
        self._send(b"c")
        return self._collect()

    def cancel(self):
        """Asks the server to cancel what runs in this session."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as canceller:
            canceller.connect(self._address)
            canceller.sendall(struct.pack("!IIiI", 16, _CANCEL, self.backend_pid, self._secret))
            canceller.recv(1)

    def close(self):
        try:
            self._send(b"X")
        except OSError:
            pass
        self._input.close()
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
