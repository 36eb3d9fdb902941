"""tokens.py - the bytes of turbine.export(): a secret, and where to redeem it.

OFFSET SIZE
     0    4  the letters PGTX
     4    1  version, 1
     5    3  zero
     8   32  the secret
    40   16  boot id of the server's kernel, in the order of bytes of a uuid
    56    2  length of the path, little-endian
    58    n  path of the export socket, UTF-8
"""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass, field

from .errors import TokenError

MAGIC = b"PGTX"
VERSION = 1
SECRET_BYTES = 32
_HEAD = struct.Struct("<4sB3s32s16sH")
_BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True)
class Token:
    """A token, taken apart. The secret is kept out of repr(): whoever reads a log must not be able to redeem it."""

    secret: bytes = field(repr=False)
    host: uuid.UUID
    path: str

    @classmethod
    def parse(cls, data: bytes) -> Token:
        data = bytes(data)
        if len(data) < _HEAD.size or data[:4] != MAGIC:
            raise TokenError("these bytes are not a token of turbine.export()")
        _, version, zeros, secret, host, length = _HEAD.unpack_from(data)
        if version != VERSION:
            raise TokenError(f"the token has version {version}, this package reads version {VERSION}")
        if zeros != b"\0\0\0" or len(data) != _HEAD.size + length:
            raise TokenError("the token is damaged")
        try:
            path = data[_HEAD.size:].decode("utf-8")
        except UnicodeDecodeError as error:
            raise TokenError("the token is damaged: its path is not UTF-8") from error
        if not path or "\0" in path:
            raise TokenError("the token is damaged: it names no socket")
        return cls(secret, uuid.UUID(bytes=host), path)

    def pack(self) -> bytes:
        path = self.path.encode("utf-8")
        return _HEAD.pack(MAGIC, VERSION, b"\0\0\0", self.secret, self.host.bytes, len(path)) + path


def this_host() -> uuid.UUID | None:
    """The boot id of this kernel, which containers share; None on systems other than Linux."""
    try:
        with open(_BOOT_ID_FILE, encoding="ascii") as file:
            return uuid.UUID(file.read().strip())
    except (OSError, ValueError):
        return None
