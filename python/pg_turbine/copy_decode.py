"""copy_decode.py - rows of COPY TO STDOUT (FORMAT binary) as columns, for rows that cannot be shared.

A message of COPY is a row: a count of fields, then for each its length and its bytes; NULL has the length -1. Columns are
taken out of all rows at once by numpy: where each row's next field begins is an array of positions. Only numeric needs a loop
over values.
Called by: opening.py, batching.py.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from .buffers import Buffer
from .columns import Column, Columns, Storage
from .errors import TurbineError
from .formats import FORMATS
from .pg_types import NUMERIC, PG_TYPES, PgType
from .sessions import Field

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_END = b"\xff\xff"
_HEAD_BYTES = 19


class Rows:
    """Takes the messages of a COPY. As soon as there are `batch` rows, calls `emit` with their columns; at the end the caller
    calls finish() for the rest."""

    def __init__(self, fields: list[Field], batch: int | None, emit: Callable[[Columns], None]) -> None:
        self._fields = fields
        self._types = [PG_TYPES[field.oid] for field in fields]
        self._batch = batch
        self._emit = emit
        self._messages: list[bytes] = []
        self._is_first = True
        self._emitted = 0

    def take(self, message: bytes) -> None:
        if self._is_first:      # the head comes with the first row, or with the end
            self._is_first = False
            if not message.startswith(SIGNATURE):
                raise TurbineError("the server's answer is no binary COPY")
            message = message[_HEAD_BYTES + struct.unpack_from(">i", message, 15)[0]:]
        if not message or message == _END:
            return
        self._messages.append(message)
        if len(self._messages) == self._batch:
            self._flush()

    def finish(self, even_empty: bool) -> None:
        if self._messages or (even_empty and not self._emitted):
            self._flush()

    def _flush(self) -> None:
        messages, self._messages = self._messages, []
        self._emitted += 1
        self._emit(Columns(decode(messages, self._fields, self._types), len(messages), is_copy=True))


def is_column(field: Field) -> bool:
    """Whether columns have the type: a numeric without a declared scale fits into no decimal."""
    if field.oid == NUMERIC:
        return field.precision is not None and field.scale is not None and 0 <= field.scale <= field.precision <= 38
    return field.oid in PG_TYPES


def decode(messages: list[bytes], fields: list[Field], types: list[PgType]) -> list[Column]:
    """The columns of rows, a message each."""
    rows = len(messages)
    data = np.frombuffer(b"".join(messages), np.uint8)
    lengths = np.fromiter(map(len, messages), np.int64, rows)
    # Where each row's next field begins, behind the count of fields.
    at = np.zeros(rows, np.int64)
    np.cumsum(lengths[:-1], out=at[1:])
    at += 2
    columns = []
    for field, kind in zip(fields, types):
        sizes = _gather(data, at, 4).view(">i4").reshape(rows).astype(np.int64)
        at = at + 4
        columns.append(_decode_column(data, at, sizes, field, kind))
        at = at + np.maximum(sizes, 0)
    return columns


def _gather(data: np.ndarray, at: np.ndarray, width: int) -> np.ndarray:
    """`width` bytes at each position, a row each."""
    return data[at[:, None] + np.arange(width)]


def _decode_column(data: np.ndarray, at: np.ndarray, sizes: np.ndarray, field: Field, kind: PgType) -> Column:
    rows, valid = len(at), sizes >= 0
    nulls = rows - int(np.count_nonzero(valid))
    validity = Buffer.of_array(np.packbits(valid, bitorder="little")) if nulls else None
    format, precision, scale = FORMATS[kind.format], None, None
    text = bits = None
    if kind.format == "decimal128":
        precision, scale = field.precision, field.scale
        values = _decode_numeric(data, at, sizes, field.name, scale or 0)
    elif format.is_variable:
        offsets = np.zeros(rows + 1, np.int64)
        np.cumsum(np.maximum(sizes, 0), out=offsets[1:])
        source = np.arange(offsets[-1]) + np.repeat(at - offsets[:-1], np.maximum(sizes, 0))
        values, text = offsets, Buffer.of_array(data[source])
    else:
        wire = np.zeros((rows, kind.width), np.uint8)
        if (sizes[valid] != kind.width).any():
            raise TurbineError(f"column {field.name!r} has values of another size than {kind.name}")
        wire[valid] = _gather(data, at[valid], kind.width)
        values = _from_wire(wire.view(kind.wire).reshape(rows), valid, field, kind)
        if kind.format == "bool":
            bits = Buffer.of_array(np.packbits(values, bitorder="little"))
    return Column(field.name, kind.name, format, rows, nulls, Storage(Buffer.of_array(values), validity, text, bits),
                  precision=precision, scale=scale)


def _from_wire(wire: np.ndarray, valid: np.ndarray, field: Field, kind: PgType) -> np.ndarray:
    """Numbers in the byte order and from the epoch of columns."""
    values = wire.astype(FORMATS[kind.format].tensor or kind.wire)
    if kind.epoch:
        limits = np.iinfo(values.dtype)
        if ((values == limits.min) | (values == limits.max)).any():
            raise TurbineError(f"column {field.name!r} has infinite values, which no column can hold; remove them in SQL: "
                               "nullif(), or WHERE isfinite()")
        values[valid] += kind.epoch
    return values


def _decode_numeric(data: np.ndarray, at: np.ndarray, sizes: np.ndarray, name: str, scale: int) -> np.ndarray:
    """16 bytes a value, which is the number times 10 ** scale."""
    text = data.tobytes()
    packed = bytearray()
    for begin, size in zip(at.tolist(), sizes.tolist()):
        if size < 0:
            packed += bytes(16)
            continue
        count, weight, sign, _ = struct.unpack_from(">hhHH", text, begin)
        if sign not in (0, 0x4000):
            raise TurbineError(f"column {name!r} has NaN, which a decimal cannot hold; cast it to double precision")
        number = 0
        for digit in struct.unpack_from(f">{count}h", text, begin + 8):
            number = number * 10000 + digit
        # The digits are groups of four; the last stands for 10000 ** (weight - count + 1).
        exponent = 4 * (weight - count + 1) + scale
        number = number * 10 ** exponent if exponent >= 0 else number // 10 ** -exponent
        packed += (-number if sign else number).to_bytes(16, "little", signed=True)
    return np.frombuffer(bytes(packed), "|V16")


def columns_of_arrow(table: Any) -> Columns:
    """Columns over a pyarrow table that came through a connection."""
    import pyarrow as pa

    table = table.combine_chunks() if isinstance(table, pa.Table) else pa.Table.from_batches([table])
    return Columns([_column_of_arrow(name, column) for name, column in zip(table.column_names, table.columns)], table.num_rows,
                   is_copy=True)


def _column_of_arrow(name: str, column: Any) -> Column:
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column, kind = column.cast(kind.storage_type), kind.storage_type
    wanted = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(kind, kind)
    if pa.types.is_timestamp(kind):
        wanted = pa.timestamp("us", "UTC" if kind.tz else None)
    elif pa.types.is_time(kind):
        wanted = pa.time64("us")
    array = column.cast(wanted).combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], wanted)
    precision, scale = (wanted.precision, wanted.scale) if pa.types.is_decimal128(wanted) else (None, None)
    format = next((row for row in FORMATS.values() if row.arrow_type(precision or 1, scale or 0) == wanted), None)
    if format is None:
        raise TurbineError(f"column {name!r} comes as {kind}, which is no column of this package; cast it in SQL, to text for example")
    if array.offset:
        array = pa.concat_arrays([array, pa.array([], wanted)])     # rows are to begin where the buffers do
    if array.offset:
        array = array.take(pa.array(np.arange(len(array))))
    return Column(name, str(kind), format, len(array), array.null_count, _storage_of_arrow(array, format.name), precision=precision,
                  scale=scale)


def _storage_of_arrow(array: Any, format: str) -> Storage:
    """NULLs have any value in Arrow, and 0 here; so values of columns with NULLs are copied."""
    def lent(buffer: Any) -> Buffer | None:
        return None if buffer is None else Buffer(buffer.address if buffer.size else 0, buffer.size, (array, buffer))

    buffers = array.buffers()
    validity = lent(buffers[0]) if array.null_count else None
    if format in ("utf8", "binary"):
        return Storage(lent(buffers[1]) or Buffer(0, 0, None), validity, lent(buffers[2]) or Buffer(0, 0, None))
    if format == "bool":
        filled = array.fill_null(False) if array.null_count else array
        return Storage(Buffer.of_array(filled.to_numpy(zero_copy_only=False).astype(bool)), validity, None, lent(buffers[1]))
    values = lent(buffers[1]) or Buffer(0, 0, None)
    if array.null_count:
        width = FORMATS[format].width
        rows = values.array(f"|V{width}", len(array)).copy()
        rows[array.is_null().to_numpy(zero_copy_only=False)] = b"\0" * width
        values = Buffer.of_array(rows)
    return Storage(values, validity)
