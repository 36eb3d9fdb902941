"""cuda_driver.py - the few calls of libcuda.so.1 that importing needs, each checked.

Owns: finding a device by its UUID, for CUDA_VISIBLE_DEVICES renumbers them; which context is current during a call.
A process has a primary context per device, which torch, CuPy, numba and JAX share. It is retained, and made if nobody has
made it yet. If a context of the device is current already, that one is used.
Must never: leave another context current than it found; touch the driver before memory of a GPU arrives.
Called by: cuda_memory.py. Tests put a stand-in for the library into Driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

from .errors import DeviceError

POSIX_FILE_DESCRIPTOR = 1
_LOCATION_DEVICE = 1
_READ_AND_WRITE = 3


class _AccessDescription(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location_type", ctypes.c_int), ("location_id", ctypes.c_int), ("flags", ctypes.c_int))


class _Uuid(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_ubyte * 16),)


_ADDRESS, _SIZE, _HANDLE = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64
_SIGNATURES = {
    "cuInit": (ctypes.c_uint,),
    "cuDeviceGetCount": (ctypes.POINTER(ctypes.c_int),),
    "cuDeviceGet": (ctypes.POINTER(ctypes.c_int), ctypes.c_int),
    "cuDeviceGetUuid_v2": (ctypes.POINTER(_Uuid), ctypes.c_int),
    "cuCtxGetCurrent": (ctypes.POINTER(ctypes.c_void_p),),
    "cuCtxGetDevice": (ctypes.POINTER(ctypes.c_int),),
    "cuCtxPushCurrent_v2": (ctypes.c_void_p,),
    "cuCtxPopCurrent_v2": (ctypes.POINTER(ctypes.c_void_p),),
    "cuCtxSynchronize": (),
    "cuDevicePrimaryCtxRetain": (ctypes.POINTER(ctypes.c_void_p), ctypes.c_int),
    "cuDevicePrimaryCtxRelease_v2": (ctypes.c_int,),
    "cuMemImportFromShareableHandle": (ctypes.POINTER(_HANDLE), ctypes.c_void_p, ctypes.c_int),
    "cuMemAddressReserve": (ctypes.POINTER(_ADDRESS), _SIZE, _SIZE, _ADDRESS, ctypes.c_uint64),
    "cuMemMap": (_ADDRESS, _SIZE, _SIZE, _HANDLE, ctypes.c_uint64),
    "cuMemSetAccess": (_ADDRESS, _SIZE, ctypes.POINTER(_AccessDescription), _SIZE),
    "cuMemUnmap": (_ADDRESS, _SIZE),
    "cuMemRelease": (_HANDLE,),
    "cuMemAddressFree": (_ADDRESS, _SIZE),
}


class Driver:
    """The library, and the devices that it shows to this process."""

    def __init__(self, library: Any = None) -> None:
        if library is None:
            try:
                library = ctypes.CDLL("libcuda.so.1")
            except OSError as error:
                raise DeviceError("the rows are in GPU memory, and this machine has no libcuda.so.1; "
                                  "device='host' asks for host memory") from error
            for name, arguments in _SIGNATURES.items():
                function = getattr(library, name)
                function.argtypes, function.restype = arguments, ctypes.c_int
        self._library = library
        self._lock = threading.Lock()
        self._devices: dict[str, int] | None = None
        self._call("cuInit", 0)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise DeviceError(f"{name} failed with CUDA error {status}")

    def find_device(self, uuid: str) -> int:
        """The ordinal, in this process, of the device with this UUID."""
        with self._lock:
            if self._devices is None:
                count = ctypes.c_int()
                self._call("cuDeviceGetCount", ctypes.byref(count))
                self._devices = {}
                for ordinal in range(count.value):
                    identity = _Uuid()
                    self._call("cuDeviceGetUuid_v2", ctypes.byref(identity), self._device(ordinal))
                    self._devices[bytes(identity.bytes).hex()] = ordinal
        if uuid not in self._devices:
            raise DeviceError(f"the rows are on the GPU with UUID {uuid}, which this process does not see; look at "
                              "CUDA_VISIBLE_DEVICES, or ask for device='host'")
        return self._devices[uuid]

    def _device(self, ordinal: int) -> int:
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        return device.value

    def retain_context(self, ordinal: int) -> Context:
        """A context of the device: the current one if it is of this device, else the primary one."""
        current, device = ctypes.c_void_p(), ctypes.c_int()
        self._call("cuCtxGetCurrent", ctypes.byref(current))
        if current.value:
            self._call("cuCtxGetDevice", ctypes.byref(device))
            if device.value == self._device(ordinal):
                return Context(self, ordinal, current.value, None)
        primary = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(primary), self._device(ordinal))
        return Context(self, ordinal, primary.value or 0, self._device(ordinal))

    @contextlib.contextmanager
    def current(self, context: Context) -> Iterator[None]:
        self._call("cuCtxPushCurrent_v2", context.handle)
        try:
            yield
        finally:
            popped = ctypes.c_void_p()
            self._call("cuCtxPopCurrent_v2", ctypes.byref(popped))

    def import_handle(self, fd: int) -> int:
        handle = _HANDLE()
        self._call("cuMemImportFromShareableHandle", ctypes.byref(handle), fd, POSIX_FILE_DESCRIPTOR)
        return handle.value

    def reserve(self, length: int) -> int:
        address = _ADDRESS()
        self._call("cuMemAddressReserve", ctypes.byref(address), length, 0, 0, 0)
        return address.value

    def map(self, address: int, length: int, handle: int) -> None:
        self._call("cuMemMap", address, length, 0, handle, 0)

    def allow_access(self, address: int, length: int, ordinal: int) -> None:
        access = _AccessDescription(_LOCATION_DEVICE, ordinal, _READ_AND_WRITE)
        self._call("cuMemSetAccess", address, length, ctypes.byref(access), 1)

    def synchronize(self) -> None:
        self._call("cuCtxSynchronize")

    def unmap(self, address: int, length: int) -> None:
        self._call("cuMemUnmap", address, length)

    def release_handle(self, handle: int) -> None:
        self._call("cuMemRelease", handle)

    def free_addresses(self, address: int, length: int) -> None:
        self._call("cuMemAddressFree", address, length)

    def release_primary(self, device: int) -> None:
        self._call("cuDevicePrimaryCtxRelease_v2", device)


class Context:
    """A context, with the device whose primary context was retained for it, if one was."""

    def __init__(self, driver: Driver, ordinal: int, handle: int, retained: int | None) -> None:
        self.driver = driver
        self.ordinal = ordinal
        self.handle = handle
        self._retained = retained

    def release(self) -> None:
        retained, self._retained = self._retained, None
        if retained is not None:
            self.driver.release_primary(retained)


_driver: Driver | None = None
_driver_lock = threading.Lock()


def driver() -> Driver:
    """The one of this process; loaded when GPU memory first arrives."""
    global _driver  # noqa: PLW0603
    with _driver_lock:
        if _driver is None:
            _driver = Driver()
        return _driver


def replace_driver(replacement: Driver | None) -> Driver | None:
    """For tests: another driver, or None for the real one. Returns the one before."""
    global _driver  # noqa: PLW0603
    with _driver_lock:
        before, _driver = _driver, replacement
        return before
