"""tensors.py - the tensor protocols: DLPack for both kinds of memory, __cuda_array_interface__ for GPUs.

Capsules are numpy's. It counts references to the memory in C, at any time: while an exception is being raised, and after
the interpreter has ended, when a deleter written in Python would swallow the exception or crash. For memory of a GPU numpy
is given the address, which it never reads, and the device is written into its structure afterwards:

OFFSET SIZE  DLManagedTensor ("dltensor")     OFFSET SIZE  DLManagedTensorVersioned ("dltensor_versioned")
     0    8  address                               0    8  version
     8    4  type of device                        8    8  manager's context
    12    4  number of device                     16    8  deleter
   ...       the rest of the tensor               24    8  flags
                                                  32    8  address
                                                  40    4  type of device
                                                  44    4  number of device
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .buffers import array_at
from .grants import Device

CPU, CUDA = 1, 2
_LEGACY, _VERSIONED = b"dltensor", b"dltensor_versioned"
_DEVICE_OFFSET = {_LEGACY: 8, _VERSIONED: 40}
# Versioned capsules exist since this release of numpy; an older one makes legacy capsules, which all consumers accept.
_NUMPY_HAS_VERSIONS = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 1)

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p


def make_capsule(array: np.ndarray, max_version: Any, copy: bool | None) -> Any:
    """numpy's capsule of an array."""
    if not _NUMPY_HAS_VERSIONS:
        if copy:
            array = array.copy()
        try:
            return array.__dlpack__()
        except TypeError as error:      # before 1.25: booleans
            raise BufferError(f"numpy {np.__version__} makes no DLPack of {array.dtype}; a newer one does") from error
    return array.__dlpack__(max_version=max_version, copy=copy)


def make_cuda_capsule(array: np.ndarray, ordinal: int, max_version: Any) -> Any:
    """A capsule of an array whose address is a GPU's."""
    capsule = make_capsule(array, max_version, None)
    for name, offset in _DEVICE_OFFSET.items():
        if _is_valid(capsule, name):
            device = (ctypes.c_int32 * 2).from_address(_get_pointer(capsule, name) + offset)
            if device[0] != CPU:
                raise BufferError("numpy's DLPack structure is not the expected one")
            device[0], device[1] = CUDA, ordinal
            if array.size == 0:     # numpy's own address would be host memory
                ctypes.c_uint64.from_address(ctypes.addressof(device) - 8).value = 0
            return capsule
    raise BufferError("numpy made no DLPack capsule")


class DeviceTensor:
    """An array in GPU memory. torch.from_dlpack(), cupy.asarray(), jax.dlpack.from_dlpack() and numba.cuda.as_cuda_array()
    take it without a copy. The rows were complete before the token was handed out, so no stream has to be waited for."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, device: Device,
                 owner: Any) -> None:
        self.address = address
        self.shape = shape
        self.strides = strides
        self.dtype = np.dtype(dtype)
        self.device = device
        self._owner = owner

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DeviceTensor {self.dtype} {self.shape} on {self.device}>"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # The consumer keeps this object, and through it the memory. "stream": None means that nothing is to be waited for.
        return {"version": 3, "shape": self.shape, "strides": self.strides, "typestr": self.dtype.str,
                "descr": self.dtype.descr, "data": (self.address if 0 not in self.shape else 0, False), "stream": None}

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("this array is in GPU memory; cupy.asnumpy() or torch's .cpu() copy it, device='host' avoids that")

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device.ordinal

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError("the array is in GPU memory and is not moved by DLPack; ask for device='host' instead")
        if copy:
            raise BufferError("a copy in GPU memory is left to the library that imports: import without one, then copy")
        shown = array_at(self.address, self.shape, self.strides, self.dtype.str, self._owner)
        return make_cuda_capsule(shown, self.device.ordinal, max_version)
