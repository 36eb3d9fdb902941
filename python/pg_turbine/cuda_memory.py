"""cuda_memory.py - maps allocations of a GPU, one or several, into one range of addresses.

Ownership: Allocations owns the addresses and what is mapped there. The handles are released as soon as they are mapped: the
mapping keeps the memory. With the last reference everything is unmapped, after the device has finished what it was doing:
a library may drop an array while a kernel still reads it.
Called by: importing.py.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

from .cuda_driver import Context, Driver
from .errors import DeviceError

GRANULARITY = 2 << 20


class Allocations:
    """Allocations of one device, `distance` bytes apart."""

    def __init__(self, driver: Driver, context: Context, fds: list[int], sizes: list[int], lease: Any) -> None:
        self.ordinal = context.ordinal
        self.distance = max(sizes)
        self.lease = lease
        length = self.distance * len(sizes)
        mapped: list[tuple[int, int]] = []
        with driver.current(context):
            self.address = driver.reserve(length)
            try:
                for number, (fd, size) in enumerate(zip(fds, sizes)):
                    handle = driver.import_handle(fd)
                    try:
                        driver.map(self.address + number * self.distance, size, handle)
                        mapped.append((self.address + number * self.distance, size))
                    finally:
                        driver.release_handle(handle)
                for address, size in mapped:
                    driver.allow_access(address, size, context.ordinal)
            except BaseException:
                _unmap(driver, mapped)
                driver.free_addresses(self.address, length)
                raise
        self._release = weakref.finalize(self, _release, driver, context, mapped, self.address, length, os.getpid())
        # A process that ends gives everything back by itself, and the driver may have gone before.
        self._release.atexit = False


def _unmap(driver: Driver, mapped: list[tuple[int, int]]) -> None:
    for address, size in mapped:
        driver.unmap(address, size)


def _release(driver: Driver, context: Context, mapped: list[tuple[int, int]], address: int, length: int, pid: int) -> None:
    if os.getpid() != pid:      # a forked child has no CUDA
        return
    try:
        with driver.current(context):
            driver.synchronize()
    except DeviceError:
        pass                    # the context is gone, and all work with it
    try:
        _unmap(driver, mapped)
        driver.free_addresses(address, length)
        context.release()
    except DeviceError:
        pass                    # the driver has shut down


def map_allocations(driver: Driver, ordinal: int, fds: list[int], sizes: list[int], lease: Any) -> Allocations:
    """Maps allocations at equal distances, in the order of `fds`."""
    for size in sizes:
        if size == 0 or size % GRANULARITY:
            raise DeviceError(f"an allocation has {size} bytes, which is no multiple of {GRANULARITY}")
    context = driver.retain_context(ordinal)
    try:
        return Allocations(driver, context, fds, sizes, lease)
    except BaseException:
        context.release()
        raise
