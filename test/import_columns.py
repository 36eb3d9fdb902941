"""import_columns.py - what an importer says at the export socket, by hand: apart from the Python package, so that each
can be tested against the other.

`redeem` turns a token into an Imported; `Refused` is the server's no. `values` reads a column of host memory as Python
values.
Must never: trust what the server says further than its files reach.
"""

import array
import datetime
import decimal
import itertools
import json
import mmap
import os
import socket
import struct
import uuid

HEAD = struct.Struct("<4sB3x32s16sH")
FIXED = {"bool": "B", "int16": "h", "int32": "i", "int64": "q", "uint32": "I", "float32": "f", "float64": "d",
         "date32": "i", "time64us": "q", "timestampus": "q", "timestamptzus": "q"}
EPOCH = datetime.datetime(1970, 1, 1)


class Refused(Exception):
    """The server's status and message."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


def bytes_of(text):
    """A bytea as the server prints it."""
    return bytes.fromhex(text[2:])


def secret_of(token):
    return HEAD.unpack_from(token)[2]


def path_of(token):
    length = HEAD.unpack_from(token)[4]
    return token[HEAD.size:HEAD.size + length].decode()


def ask(path, request, timeout=20):
    """Sends a request; returns the socket, status, JSON and descriptors."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    connection.connect(path)
    connection.sendall(request)
    head = receive(connection, 16)
    magic, status, length, count = struct.unpack("<4sIII", head)
    if magic != b"PGTR":
        raise OSError("no answer of an export server")
    answer = json.loads(receive(connection, length))
    files = []
    while len(files) < count:
        _, found, _, _ = socket.recv_fds(connection, 1, 250)
        if not found:
            raise OSError("descriptors are missing")
        files += found
    return connection, status, answer, files


def receive(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise OSError("the export server has closed the connection")
        data += part
    return data


def redeem(token, path=None, secret=None):
    request = b"PGTI" + struct.pack("<I", 1) + (secret or secret_of(token))
    connection, status, answer, files = ask(path or path_of(token), request)
    if status != 0:
        connection.close()
        raise Refused(status, answer["message"])
    return Imported(connection, answer, files)


class Imported:
    """An open copy. close() ends the lease; what has been mapped stays."""

    def __init__(self, connection, description, files):
        self.connection, self.description, self.files = connection, description, files
        self.rows = description["rows"]
        self.columns = {column["name"]: column for column in description["columns"]}

    def close(self):
        self.connection.close()
        for file in self.files:
            os.close(file)
        self.files = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def region(self, column, which):
        """The bytes of a region of a column of host memory."""
        offset, size = column[which]
        if size == 0:
            return b""
        file = self.files[column["fd"]]
        # Memory that stands for a GPU's: its regions begin anywhere.
        if offset % mmap.PAGESIZE != 0:
            return os.pread(file, size, offset)
        with mmap.mmap(file, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ, offset=offset) as memory:
            return memory[:]

    def valid(self, column):
        if column["validity"] is None:
            return [True] * self.rows
        bits = self.region(column, "validity")
        return [bits[i // 8] >> (i % 8) & 1 == 1 for i in range(self.rows)]

    def values(self, name):
        """All values of a column, None for NULL."""
        column = self.columns[name]
        raw = self.raw(column)
        return [value if valid else None for value, valid in zip(raw, self.valid(column), strict=True)]

    def raw(self, column):
        kind, data = column["format"], self.region(column, "values")
        if kind in ("utf8", "binary"):
            offsets, text = array.array("q", data), self.region(column, "bytes")
            parts = [text[a:b] for a, b in itertools.pairwise(offsets)]
            return [part.decode() for part in parts] if kind == "utf8" else parts
        if kind == "uuid":
            return [uuid.UUID(bytes=data[i:i + 16]) for i in range(0, len(data), 16)]
        if kind == "decimal128":
            whole = [int.from_bytes(data[i:i + 16], "little", signed=True) for i in range(0, len(data), 16)]
            return [decimal.Decimal(value).scaleb(-column["scale"]) for value in whole]
        numbers = list(array.array(FIXED[kind], data))
        if kind == "bool":
            bits = self.region(column, "bits")
            if [bits[i // 8] >> (i % 8) & 1 for i in range(self.rows)] != numbers:
                raise ValueError("bytes and bits of a bool differ")
            return [value == 1 for value in numbers]
        if kind == "date32":
            return [EPOCH.date() + datetime.timedelta(days=value) for value in numbers]
        if kind.startswith("timestamp"):
            return [EPOCH + datetime.timedelta(microseconds=value) for value in numbers]
        if kind == "time64us":
            return [(EPOCH + datetime.timedelta(microseconds=value)).time() for value in numbers]
        return numbers
