"""arrow_export.py - columns as Arrow arrays, which pyarrow makes.

Arrow's C structures have a release callback. One written in Python fails while an exception is being raised (it replaces the
exception), so the structures are pyarrow's, whose callbacks are in C++, and whoever takes Arrow data through this package
needs pyarrow. For memory of a GPU pyarrow is given addresses of zeros that it may read. The GPU's addresses and the device
are written into the exported structure afterwards:

OFFSET SIZE  ArrowArray                       OFFSET SIZE  ArrowDeviceArray
    24    8  number of buffers                     0   80  ArrowArray
    32    8  number of children                   80    8  number of device
    40    8  addresses of buffers                 88    4  type of device
    48    8  addresses of children                96    8  event to wait for, or NULL
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, Any

from .buffers import Buffer
from .errors import ProtocolError
from .host_memory import Range, _checked_mmap, rounded_up
from .tensors import CUDA, _get_pointer

if TYPE_CHECKING:
    from .columns import Column

_N_BUFFERS, _N_CHILDREN, _BUFFERS, _CHILDREN = 24, 32, 40, 48
_DEVICE_ID, _DEVICE_TYPE = 80, 88


def arrow() -> Any:
    """pyarrow, or an error that says why it is needed."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow's structures are made by pyarrow: pip install pyarrow") from error
    return pyarrow


def buffers_of(column: Column) -> list[Buffer | None]:
    """In Arrow's order: validity, then values, then the bytes of texts."""
    storage = column.storage
    if column.format.name == "bool":
        return [storage.validity, storage.bits]
    if column.format.is_variable:
        return [storage.validity, storage.values, storage.bytes]
    return [storage.validity, storage.values]


def host_array(column: Column) -> Any:
    """A pyarrow array over the column's memory."""
    pa = arrow()
    buffers = [None if buffer is None else pa.py_buffer(b"") if buffer.bytes == 0 else
               pa.foreign_buffer(buffer.address, buffer.bytes, base=buffer.owner) for buffer in buffers_of(column)]
    if column.format.is_variable and len(column) == 0:
        buffers[1] = pa.py_buffer(bytes(8))     # the one offset of no rows is always there
    if column.null_count == 0:
        buffers[0] = None
    try:
        found = pa.Array.from_buffers(column.arrow_type, len(column), buffers, column.null_count)
        found.validate()
    except pa.ArrowInvalid as error:
        raise ProtocolError(f"column {column.name!r} is damaged: {error}") from error
    return found


def _zeros(length: int, owner: Any) -> Any:
    """A pyarrow buffer of zeros, which takes addresses and no memory, and keeps `owner`."""
    pa = arrow()
    room = rounded_up(max(length, 1), mmap.PAGESIZE)
    address = _checked_mmap(None, room, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    return pa.foreign_buffer(address, length, base=Range(address, room, owner))


def _stand_in(column: Column) -> Any:
    """An array of the column's type and length whose buffers are zeros that keep the GPU's memory."""
    pa = arrow()
    lengths = [None if buffer is None else max(buffer.bytes, 8) for buffer in buffers_of(column)]
    buffers = [None if length is None else _zeros(length, column.storage) for length in lengths]
    if column.null_count == 0:
        buffers[0] = None
    return pa.Array.from_buffers(column.arrow_type, len(column), buffers, column.null_count)


def _word(address: int) -> Any:
    return ctypes.c_uint64.from_address(address)


def _point_to_gpu(array: int, column: Column) -> None:
    """Writes the addresses of a column's buffers into its ArrowArray."""
    buffers = buffers_of(column)
    if column.null_count == 0:
        buffers[0] = None
    if _word(array + _N_BUFFERS).value != len(buffers) or _word(array + _N_CHILDREN).value:
        raise BufferError("pyarrow's structure is not the expected one")
    for number, buffer in enumerate(buffers):
        _word(_word(array + _BUFFERS).value + 8 * number).value = 0 if buffer is None else buffer.address


def _mark_device(structure: int, ordinal: int) -> None:
    ctypes.c_int64.from_address(structure + _DEVICE_ID).value = ordinal
    ctypes.c_int32.from_address(structure + _DEVICE_TYPE).value = CUDA


def device_array(column: Column) -> tuple[Any, Any]:
    """Capsules of ArrowSchema and ArrowDeviceArray."""
    if column.device.kind == "host":
        return host_array(column).__arrow_c_device_array__()
    schema, capsule = _stand_in(column).__arrow_c_device_array__()
    structure = _get_pointer(capsule, b"arrow_device_array")
    _point_to_gpu(structure, column)
    _mark_device(structure, column.device.ordinal)
    return schema, capsule


def device_batch(columns: dict[str, Column], ordinal: int) -> tuple[Any, Any]:
    """The same for several columns of a GPU: a struct, whose fields are the columns."""
    pa = arrow()
    batch = pa.RecordBatch.from_arrays([_stand_in(column) for column in columns.values()], names=list(columns))
    schema, capsule = batch.__arrow_c_device_array__()
    structure = _get_pointer(capsule, b"arrow_device_array")
    for number, column in enumerate(columns.values()):
        _point_to_gpu(_word(_word(structure + _CHILDREN).value + 8 * number).value, column)
    _mark_device(structure, ordinal)
    return schema, capsule
