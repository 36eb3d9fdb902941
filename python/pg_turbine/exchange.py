"""exchange.py - redeems a token at the export socket: a grant in JSON, and descriptors of memory.

Phases: connect; send the secret; read the header, the JSON, then the descriptors. The connection that is left over is the
lease: the server keeps the memory while it is open.
Must never: leak a descriptor, whatever the server sends; wait for ever; believe a length.
Called by: importing.py. What the JSON says is checked in grants.py.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from .errors import ImportRefused, NotReachable, ProtocolError, ServerBusy
from .tokens import Token, this_host

GRANTED, REFUSED, BUSY, DAMAGED = range(4)
_REQUEST = struct.Struct("<4sI32s")
_HEADER = struct.Struct("<4sIII")
# A descriptor per column at most, and PostgreSQL has at most 1,600 columns; result columns 1,664.
_MAX_DESCRIPTORS = 4096
_MAX_JSON = 64 << 20
_GROUP = 200
_SECONDS = 30.0
# A busy server is asked again after these pauses.
_PAUSES = (0.01, 0.05, 0.2, 0.5)
# Descriptors must not leak into programs that another thread starts at this moment. Linux only, as the protocol is.
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Lease:
    """The connection that keeps the server's memory alive. Every mapping refers to it; with the last of them it closes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection: socket.socket | None = connection

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        self.close()


@dataclass
class Answer:
    """What a granted request brought. `fds` belong to it until close_fds()."""

    grant: dict[str, Any]
    fds: list[int] = field(default_factory=list)
    lease: Lease | None = None

    def close_fds(self) -> None:
        fds, self.fds = self.fds, []
        for fd in fds:
            os.close(fd)


def redeem(token: Token) -> Answer:
    """Asks for the memory behind a token. A busy server is asked a few times."""
    if token.host != this_host():
        raise NotReachable(f"the memory is on another host, whose boot id is {token.host}")
    for pause in _PAUSES:
        try:
            return _redeem_once(token)
        except ServerBusy:
            time.sleep(pause)
    return _redeem_once(token)


def _redeem_once(token: Token) -> Answer:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    answer = Answer({})
    try:
        connection.settimeout(_SECONDS)
        try:
            connection.connect(token.path)
        except OSError as error:
            raise NotReachable(f"the export socket {token.path} cannot be reached: {error}") from error
        try:
            # A server that refuses may close before it has read everything: its answer counts, not the failed send.
            try:
                connection.sendall(_REQUEST.pack(b"PGTI", 1, token.secret))
            except (BrokenPipeError, ConnectionResetError):
                pass
            _read_answer(connection, answer, time.monotonic() + _SECONDS)
        except socket.timeout as error:
            raise ProtocolError(f"the export socket did not answer within {_SECONDS:.0f} s") from error
        except OSError as error:
            raise ProtocolError(f"the export socket failed: {error}") from error
        connection.settimeout(None)
        answer.lease = Lease(connection)
        return answer
    except BaseException:
        answer.close_fds()
        connection.close()
        raise


def _read_answer(connection: socket.socket, answer: Answer, deadline: float) -> None:
    magic, status, json_bytes, descriptors = _HEADER.unpack(_read(connection, _HEADER.size, deadline))
    if magic != b"PGTR":
        raise ProtocolError("the export socket speaks another protocol")
    if json_bytes > _MAX_JSON or descriptors > _MAX_DESCRIPTORS:
        raise ProtocolError(f"the server announced {json_bytes} bytes and {descriptors} descriptors, which is too much")
    text = _read(connection, json_bytes, deadline)
    try:
        grant = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the server's answer is not JSON: {error}") from error
    if not isinstance(grant, dict):
        raise ProtocolError("the server's answer is not a JSON object")
    if status != GRANTED:
        _refuse(status, grant)
    answer.grant = grant
    _read_descriptors(connection, descriptors, answer.fds, deadline)


def _refuse(status: int, grant: dict[str, Any]) -> None:
    message = str(grant.get("message") or "the server refused")
    if grant.get("hint"):
        message += f" ({grant['hint']})"
    if status == REFUSED:
        raise ImportRefused(message)
    if status == BUSY:
        raise ServerBusy(message)
    if status == DAMAGED:
        raise ProtocolError(f"the server could not read the request: {message}")
    raise ProtocolError(f"the server answered with the unknown status {status}: {message}")


def _wait(connection: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    connection.settimeout(left)


def _read(connection: socket.socket, length: int, deadline: float) -> bytes:
    """Exactly `length` bytes: the next one may already carry descriptors."""
    pieces = bytearray()
    while len(pieces) < length:
        _wait(connection, deadline)
        piece = connection.recv(min(length - len(pieces), 1 << 20))
        if not piece:
            raise ProtocolError(f"the server hung up after {len(pieces)} of {length} bytes")
        pieces += piece
    return bytes(pieces)


def _read_descriptors(connection: socket.socket, wanted: int, fds: list[int], deadline: float) -> None:
    size = array.array("i").itemsize
    # Room for more than one group: a server that sends too many must not make the kernel cut off what we check for.
    room = socket.CMSG_SPACE(253 * size)
    while len(fds) < wanted:
        _wait(connection, deadline)
        marker, messages, flags, _ = connection.recvmsg(1, room, _CLOEXEC)
        before = len(fds)
        for level, kind, data in messages:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(data[:len(data) - len(data) % size])
                fds.extend(received)
        if not marker:
            raise ProtocolError(f"the server hung up after {len(fds)} of {wanted} descriptors")
        if flags & socket.MSG_CTRUNC:
            raise ProtocolError("not all descriptors arrived: this process may open too few files (ulimit -n)")
        if marker != b"F" or len(fds) - before != min(_GROUP, wanted - before):
            raise ProtocolError(f"the server sent {len(fds) - before} descriptors where {min(_GROUP, wanted - before)} "
                                "were expected")
