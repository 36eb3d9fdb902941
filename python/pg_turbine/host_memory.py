"""host_memory.py - maps regions of memfds, each by itself or side by side in one range.

Pages are private: what an importer writes is its own, and the server's memory stays as it is.
Must never: map a file that can shrink (reading beyond its end kills the process), or beyond its end.
Called by: importing.py. Linux only, as memfds are.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import weakref
from typing import Any

from .buffers import EMPTY, Buffer
from .errors import ProtocolError
from .grants import Region

PAGE = mmap.PAGESIZE
_PROT_NONE = 0
_MAP_FIXED = 0x10
_MAP_NORESERVE = 0x4000
_FAILED = ctypes.c_void_p(-1).value
_F_GET_SEALS, _F_SEAL_SHRINK = 1034, 0x0002

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
_munmap = _libc.munmap
_munmap.restype = ctypes.c_int
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def rounded_up(length: int, unit: int) -> int:
    return -(-length // unit) * unit


def _checked_mmap(address: int | None, length: int, protection: int, flags: int, fd: int, offset: int) -> int:
    found = _mmap(address, length, protection, flags, fd, offset)
    if found == _FAILED or found is None:
        error = ctypes.get_errno()
        raise OSError(error, f"{length} bytes could not be mapped: {os.strerror(error)}")
    return found


class Range:
    """Mapped addresses, with the lease of the memory behind them. The last reference unmaps them."""

    def __init__(self, address: int, length: int, lease: Any) -> None:
        self.address = address
        self.lease = lease
        # No module's name is looked up when this runs, which may be while the interpreter ends.
        self._unmap = weakref.finalize(self, _munmap, address, length)
        self._unmap.atexit = False


class File:
    """A memfd that was checked once, although several regions are mapped from it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.bytes = os.fstat(fd).st_size
        try:
            seals = fcntl.fcntl(fd, _F_GET_SEALS)
        except OSError as error:
            raise ProtocolError("the server sent a descriptor that is no memory file") from error
        if not seals & _F_SEAL_SHRINK:
            raise ProtocolError("the server sent a memory file that may shrink")

    def check(self, region: Region) -> None:
        if region.offset + region.bytes > self.bytes:
            raise ProtocolError(f"a region ends at byte {region.offset + region.bytes} of a file of {self.bytes} bytes")

    def map_region(self, region: Region, lease: Any) -> Buffer:
        """Maps one region by itself: others may be terabytes away."""
        if region.bytes == 0:
            return EMPTY
        self.check(region)
        before = region.offset % PAGE
        length = rounded_up(before + region.bytes, PAGE)
        address = _checked_mmap(None, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, self.fd, region.offset - before)
        return Buffer(address + before, region.bytes, Range(address, length, lease))


def can_stand_side_by_side(regions: list[Region]) -> bool:
    """Whether each region begins where a page does, so that all can be put at equal distances."""
    return all(region.bytes and region.offset % PAGE == 0 for region in regions)


def map_side_by_side(files: list[File], regions: list[Region], lease: Any) -> tuple[Range, int]:
    """Maps regions into one range of addresses; returns it and the distance from one to the next."""
    for file, region in zip(files, regions):
        file.check(region)
    distance = max(rounded_up(region.bytes, PAGE) for region in regions)
    length = distance * len(regions)
    # First the addresses alone, so that no other thread's mapping comes between.
    address = _checked_mmap(None, length, _PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE, -1, 0)
    addresses = Range(address, length, lease)
    for number, (file, region) in enumerate(zip(files, regions)):
        _checked_mmap(address + number * distance, rounded_up(region.bytes, PAGE), mmap.PROT_READ | mmap.PROT_WRITE,
                      mmap.MAP_PRIVATE | _MAP_FIXED, file.fd, region.offset)
    return addresses, distance
