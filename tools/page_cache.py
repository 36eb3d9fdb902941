"""page_cache.py - what the page cache has of a file: asks, drops, fills.

Must never: change a file. Used by: test/direct_reads.py, bench/cold_scans.py.
"""

import ctypes
import mmap
import os


class PageCache:
    """What the page cache has of a file."""

    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    _libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    _libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)

    @classmethod
    def share(cls, path):
        """From 0 to 1."""
        fd = os.open(path, os.O_RDONLY)
        size = os.fstat(fd).st_size
        pages = -(-size // mmap.PAGESIZE)
        there = (ctypes.c_ubyte * pages)()
        at = cls._libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        os.close(fd)
        if cls._libc.mincore(at, size, there) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        cls._libc.munmap(at, size)
        return sum(flags & 1 for flags in there) / pages

    @staticmethod
    def drop(path, offset=0, size=0):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, offset, size, os.POSIX_FADV_DONTNEED)
        os.close(fd)

    @staticmethod
    def fill(path):
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
