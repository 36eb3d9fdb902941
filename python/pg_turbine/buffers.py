"""buffers.py - a stretch of memory, and the object that keeps it mapped.

Ownership: a Buffer refers to its owner, arrays made of it refer to the owner as well. Nothing is ever unmapped by hand: the
owner's last reference does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


class Shown:
    """Lends memory to numpy, which keeps this object, and through it the owner, as the array's base."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: str, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "strides": strides,
                                    "typestr": np.dtype(dtype).str, "descr": np.dtype(dtype).descr}


def array_at(address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: str, owner: Any) -> np.ndarray:
    """An array over memory that `owner` keeps. Nothing is read: the address may be a GPU's."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(Shown(address, shape, strides, dtype, owner))


@dataclass(frozen=True)
class Buffer:
    """`bytes` bytes at `address`, there as long as `owner` is referred to. An empty one has address 0."""

    address: int
    bytes: int
    owner: Any

    @classmethod
    def of_array(cls, array: np.ndarray) -> Buffer:
        return cls(array.ctypes.data if array.nbytes else 0, array.nbytes, array)

    def array(self, dtype: str, count: int) -> np.ndarray:
        """The first `count` values; of host memory only."""
        return array_at(self.address, (count,), None, dtype, self.owner)


EMPTY = Buffer(0, 0, None)
