"""export_server.py - an export server and a libcuda that tests of the Python package talk to.

ExportServer: a socket, memfds laid out as turbined lays them out, and answers that may be damaged on purpose.
FakeCuda: stands in for libcuda.so.1. GPU memory is memfds, so that tests can read what was mapped; it counts what is open.
Must never: reuse code of the package for what goes over the wire, or both could be wrong alike.
Used by: test/python_package.py.
"""

import array
import ctypes
import datetime
import decimal
import fcntl
import json
import mmap
import os
import secrets
import socket
import struct
import tempfile
import threading
import uuid
from pathlib import Path

import numpy as np

PAGE = 4096
GPU_UUID = "00112233445566778899aabbccddeeff"
F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE = 1033, 2, 4, 16
ALL_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE
# Regions of a memfd are this far apart.
DISTANCE = 1 << 32
EPOCH = datetime.datetime(1970, 1, 1)

SQL_TYPES = {"bool": "boolean", "int16": "smallint", "int32": "integer", "int64": "bigint", "uint32": "oid", "float32": "real",
             "float64": "double precision", "date32": "date", "time64us": "time without time zone",
             "timestampus": "timestamp without time zone", "timestamptzus": "timestamp with time zone",
             "decimal128": "numeric(20,3)", "uuid": "uuid", "utf8": "text", "binary": "bytea"}
DTYPES = {"bool": "?", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint32": "<u4", "float32": "<f4", "float64": "<f8",
          "date32": "<i4", "time64us": "<i8", "timestampus": "<i8", "timestamptzus": "<i8"}


def microseconds(value):
    return (value - datetime.timedelta(0) - EPOCH) // datetime.timedelta(microseconds=1)


def _fixed(format, value):
    if format == "decimal128":
        return int(value.scaleb(3)).to_bytes(16, "little", signed=True)
    if format == "uuid":
        return value.bytes
    if format == "date32":
        value = (value - EPOCH.date()).days
    elif format == "time64us":
        value = microseconds(datetime.datetime.combine(EPOCH.date(), value))
    elif format in ("timestampus", "timestamptzus"):
        value = microseconds(value)
    return np.array([value], DTYPES[format]).tobytes()


def regions_of(format, values):
    """{region: bytes} of Python values, None for NULL."""
    found = {}
    if isinstance(values, np.ndarray):
        found["values"] = values.astype(DTYPES[format]).tobytes()
        valid = np.ones(len(values), bool)
    elif format in ("utf8", "binary"):
        pieces = [b"" if value is None else value.encode() if isinstance(value, str) else value for value in values]
        found["values"] = np.cumsum([0] + [len(piece) for piece in pieces]).astype("<i8").tobytes()
        found["bytes"] = b"".join(pieces)
        valid = np.array([value is not None for value in values], bool)
    else:
        zero = {"decimal128": bytes(16), "uuid": bytes(16)}.get(format)
        zero = bytes(np.dtype(DTYPES[format]).itemsize) if zero is None else zero
        found["values"] = b"".join(zero if value is None else _fixed(format, value) for value in values)
        valid = np.array([value is not None for value in values], bool)
    if not valid.all():
        found["validity"] = np.packbits(valid, bitorder="little").tobytes()
    if format == "bool":
        found["bits"] = np.packbits(np.frombuffer(found["values"], bool), bitorder="little").tobytes()
    return found, len(valid) - int(valid.sum())


def host_column(name, format, values, seals=ALL_SEALS):
    """(the column's JSON, its memfd)"""
    data, nulls = regions_of(format, values)
    fd = os.memfd_create("column", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    regions = {}
    for number, (region, content) in enumerate(data.items()):
        os.pwrite(fd, content, number * DISTANCE)
        regions[region] = [number * DISTANCE, len(content)]
    os.ftruncate(fd, len(data) * DISTANCE)
    fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return _column(name, format, nulls, regions, -(-len(data["values"]) // PAGE) * PAGE), fd


def gpu_column(name, format, values):
    """The same as an allocation of FakeCuda: all regions in one, of whole 2 MB."""
    data, nulls = regions_of(format, values)
    regions, end = {}, 0
    fd = os.memfd_create("allocation", os.MFD_CLOEXEC)
    for region, content in data.items():
        os.pwrite(fd, content, end)
        regions[region] = [end, len(content)]
        end += -(-len(content) // 256) * 256
    size = max(-(-end // (2 << 20)), 1) * (2 << 20)
    os.ftruncate(fd, size)
    return _column(name, format, nulls, regions, size), fd


def _column(name, format, nulls, regions, allocation_bytes):
    column = {"name": name, "sql_type": SQL_TYPES[format], "format": format, "nulls": nulls,
              "allocation_bytes": allocation_bytes, "validity": None}
    if format == "decimal128":
        column.update(precision=20, scale=3)
    column.update(regions)
    return column


def grant_of(columns, rows, device=None, source=None):
    """(grant, descriptors) of pairs of column and descriptor."""
    listed = [dict(column, fd=number) for number, (column, _) in enumerate(columns)]
    return ({"version": 1, "rows": rows, "source": source, "revision": "17", "device": device or {"kind": "host"},
             "columns": listed}, [fd for _, fd in columns])


GPU = {"kind": "cuda", "ordinal": 3, "uuid": GPU_UUID, "name": "a GPU"}


class Damage:
    """What a lying server does instead of what it should."""

    def __init__(self, head=None, text=None, hang_up_after=None, fds=None, status=0, silent=False, magic=b"PGTR", group=200):
        self.head, self.text, self.hang_up_after, self.fds = head, text, hang_up_after, fds
        self.status, self.silent, self.magic, self.group = status, silent, magic, group


class ExportServer:
    """Use as a context manager. Tokens of grant() can be redeemed once, unless `keep`."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pgt-export-")
        self.path = str(Path(self.folder.name) / "export")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.lock = threading.Lock()
        self.grants = {}
        self.leases = 0
        self.requests = 0
        self.all_gone = threading.Condition(self.lock)
        # Requests that are answered with "busy" before one is granted.
        self.busy = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.folder.cleanup()
        for _, fds, _, _ in self.grants.values():
            for fd in fds:
                os.close(fd)

    def boot_id(self):
        return uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip())

    def token(self, secret, host=None, path=None):
        path = (path or self.path).encode()
        return b"PGTX\x01\0\0\0" + secret + (host or self.boot_id()).bytes + struct.pack("<H", len(path)) + path

    def grant(self, columns, rows, device=None, source=None, damage=None, keep=False, change=None):
        """A token for columns; `change` alters the grant first."""
        grant, fds = grant_of(columns, rows, device, source)
        if change:
            change(grant)
        secret = secrets.token_bytes(32)
        with self.lock:
            self.grants[secret] = (grant, fds, damage or Damage(), keep)
        return self.token(secret)

    def host(self, rows=None, **columns):
        """A token for columns given as name=(format, values)."""
        made = [host_column(name, format, values) for name, (format, values) in columns.items()]
        return self.grant(made, rows if rows is not None else len(next(iter(columns.values()))[1]))

    def gpu(self, **columns):
        made = [gpu_column(name, format, values) for name, (format, values) in columns.items()]
        return self.grant(made, len(next(iter(columns.values()))[1]), GPU)

    def wait_until_released(self, leases=0, seconds=5):
        with self.all_gone:
            return self.all_gone.wait_for(lambda: self.leases == leases, seconds)

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            magic, version, secret = struct.unpack("<4sI32s", connection.recv(40, socket.MSG_WAITALL))
            assert (magic, version) == (b"PGTI", 1)
            with self.lock:
                self.requests += 1
                is_busy, self.busy = self.busy > 0, max(self.busy - 1, 0)
                found = None if is_busy else self.grants.get(secret) if secret in self.grants and self.grants[secret][3] else \
                    self.grants.pop(secret, None)
            if found is None:
                self._answer(connection, {"message": "no such token", "hint": "export again"}, [], Damage(status=2 if is_busy else 1))
                return
            grant, fds, damage, keep = found
            with self.lock:
                self.leases += 1
            try:
                self._answer(connection, grant, fds, damage)
                if not keep:
                    for fd in fds:
                        os.close(fd)
                if damage.hang_up_after is None:
                    connection.recv(1)      # until the importer hangs up
            except OSError:
                pass
            finally:
                with self.all_gone:
                    self.leases -= 1
                    self.all_gone.notify_all()

    def _answer(self, connection, grant, fds, damage):
        if damage.silent:
            connection.recv(1)
            return
        text = json.dumps(grant).encode() if damage.text is None else damage.text
        announced = len(fds) if damage.fds is None else damage.fds
        head = damage.head or struct.pack("<4sIII", damage.magic, damage.status, len(text), announced)
        message = head + text
        if damage.hang_up_after is not None:
            connection.sendall(message[:damage.hang_up_after])
            if damage.hang_up_after < len(message):
                return
        else:
            connection.sendall(message)
        for begin in range(0, len(fds), damage.group):
            group = array.array("i", fds[begin:begin + damage.group])
            connection.sendmsg([b"F"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, group)])


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class FakeCuda:
    """The functions that the package calls. `open` counts what must be given back; `fail` names a function that fails, and
    after how many calls."""

    def __init__(self, devices=("f" * 32, GPU_UUID), current=None):
        self.devices = devices
        self.stack = [current] if current else []
        self.open = {"handles": 0, "ranges": 0, "maps": 0, "contexts": 0}
        self.calls = []
        self.fail = {}
        self.handles = {}
        self.mapped = {}
        self.accessible = set()

    def __getattribute__(self, name):
        function = object.__getattribute__(self, name)
        if not name.startswith("cu"):
            return function

        def counted(*arguments):
            self.calls.append(name)
            if name in self.fail:
                self.fail[name] -= 1
                if self.fail[name] < 0:
                    return 999
            return function(*arguments) or 0
        return counted

    def is_balanced(self):
        return not any(self.open.values()) and not self.mapped

    def cuInit(self, flags):
        assert flags == 0

    def cuDeviceGetCount(self, count):
        count._obj.value = len(self.devices)

    def cuDeviceGet(self, device, ordinal):
        device._obj.value = 100 + ordinal

    def cuDeviceGetUuid_v2(self, identity, device):
        identity._obj.bytes[:] = bytes.fromhex(self.devices[device - 100])

    def cuCtxGetCurrent(self, context):
        context._obj.value = self.stack[-1] if self.stack else None

    def cuCtxGetDevice(self, device):
        device._obj.value = self.stack[-1] - 900

    def cuCtxPushCurrent_v2(self, context):
        self.stack.append(context)

    def cuCtxPopCurrent_v2(self, context):
        context._obj.value = self.stack.pop()

    def cuCtxSynchronize(self):
        assert self.stack

    def cuDevicePrimaryCtxRetain(self, context, device):
        context._obj.value = 1000 + device
        self.open["contexts"] += 1

    def cuDevicePrimaryCtxRelease_v2(self, device):
        self.open["contexts"] -= 1

    def cuMemImportFromShareableHandle(self, handle, fd, kind):
        assert kind == 1 and self.stack
        handle._obj.value = os.dup(fd)
        self.open["handles"] += 1

    def cuMemRelease(self, handle):
        os.close(handle)
        self.open["handles"] -= 1

    def cuMemAddressReserve(self, address, length, alignment, fixed, flags):
        address._obj.value = _libc.mmap(None, length, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        self.open["ranges"] += 1

    def cuMemMap(self, address, length, offset, handle, flags):
        assert offset == 0 and length % (2 << 20) == 0
        _libc.mmap(address, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | 0x10, handle, 0)
        self.mapped[address] = length
        self.open["maps"] += 1

    def cuMemSetAccess(self, address, length, access, count):
        assert self.mapped[address] == length and count == 1 and access._obj.flags == 3
        self.accessible.add(access._obj.location_id)

    def cuMemUnmap(self, address, length):
        assert self.mapped.pop(address) == length
        self.open["maps"] -= 1

    def cuMemAddressFree(self, address, length):
        _libc.munmap(address, length)
        self.open["ranges"] -= 1


SAMPLES = {
    "bool": [True, False, True],
    "int16": [1, -2, 32767],
    "int32": [1, -2, 2 ** 31 - 1],
    "int64": [1, -2, 2 ** 63 - 1],
    "uint32": [1, 2, 2 ** 32 - 1],
    "float32": [1.5, -2.25, float("inf")],
    "float64": [1.5, -2.25, float("inf")],
    "date32": [datetime.date(2024, 2, 29), datetime.date(1900, 1, 1), datetime.date(9999, 12, 31)],
    "time64us": [datetime.time(0, 0), datetime.time(12, 34, 56, 789), datetime.time(23, 59, 59, 999999)],
    "timestampus": [datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.datetime(1900, 1, 1), datetime.datetime(1970, 1, 1)],
    "timestamptzus": [datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.datetime(1900, 1, 1), datetime.datetime(1970, 1, 1)],
    "decimal128": [decimal.Decimal("1.500"), decimal.Decimal("-12345678901234567.001"), decimal.Decimal("0.000")],
    "uuid": [uuid.UUID(int=1), uuid.UUID(int=2 ** 127), uuid.UUID(int=0)],
    "utf8": ["one", "", "zwölf 🐘"],
    "binary": [b"one", b"", b"\0\xff"],
}
