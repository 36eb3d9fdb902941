"""copy_encode.py - columns as rows of COPY FROM STDIN (FORMAT binary), made by numpy.

Rows without NULLs whose fields have one width are a structured array: its bytes are the message. Otherwise the lengths of all
fields say where each begins, and the fields of a column are put there at once. Values of variable width (text, numeric) are
encoded one by one before; all others by numpy.
Called by: writing.py.
"""

from __future__ import annotations

import datetime
import decimal
import struct
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .copy_decode import SIGNATURE
from .errors import TurbineError
from .incoming import Incoming
from .pg_types import EPOCH_DAYS, EPOCH_MICROSECONDS, JSONB, PG_TYPES

_HEAD = SIGNATURE + struct.pack(">ii", 0, 0)
_END = b"\xff\xff"
_ROWS_AT_A_TIME = 1 << 16
_INTEGERS = (16, 20, 21, 23, 26)


class Encoded(NamedTuple):
    """A column: fixed-width values in the server's byte order, or texts as offsets and bytes."""

    fixed: np.ndarray | None
    texts: tuple[np.ndarray, np.ndarray] | None
    mask: np.ndarray | None


def encode(name: str, column: Incoming, oid: int, type_name: str, is_enum: bool) -> Encoded:
    """A column in the form of the table's type."""
    try:
        kind = PG_TYPES.get(oid)
        if oid == JSONB or is_enum or (kind is not None and kind.width == 0):
            return Encoded(None, _encode_texts(column, oid), column.mask)
        if kind is None:
            raise TypeError("binary COPY of that type is not known here; write it to a text column and cast it in SQL")
        values = column.values
        if column.texts is not None:
            raise TypeError("these are texts")
        if column.mask is not None:
            values = _filled(values, column.mask)
        return Encoded(_FIXED[kind.format](values, kind.wire), None, column.mask)
    except (TypeError, ValueError, OverflowError, decimal.InvalidOperation) as error:
        raise TurbineError(f"column {name!r} cannot be written as {type_name}: {error}") from error


def _filled(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The values with something valid in the place of NULLs: they must not be out of range, and are not sent."""
    valid = np.flatnonzero(~mask)
    filled = values.copy()
    if len(valid):
        filled[mask] = values[valid[0]]
        return filled
    return np.zeros(len(values), values.dtype if values.dtype.kind != "O" else np.int64)


def _plain(values: np.ndarray) -> np.ndarray:
    """Objects as the type that they have: numpy finds the common one."""
    return np.array(values.tolist()) if values.dtype.kind == "O" and len(values) else values


def _fixed_integer(values: np.ndarray, wire: str) -> np.ndarray:
    values = _plain(values)
    if values.dtype.kind == "f":
        if not (np.isfinite(values).all() and (values == np.trunc(values)).all()):
            raise ValueError("there are fractions or NaN; round them, or pass nan_as_null=True")
    elif values.dtype.kind not in "iub" and len(values):
        raise TypeError(f"these are {values.dtype}")
    limits = np.iinfo(wire)
    # As floats, the limits of bigint are rounded: 2 ** 63 itself is too large.
    if len(values) and not (values.min() >= limits.min and int(values.max()) <= limits.max):
        raise ValueError("out of range")
    return values.astype(wire)


def _fixed_float(values: np.ndarray, wire: str) -> np.ndarray:
    values = _plain(values)
    if values.dtype.kind not in "iubf" and len(values):
        values = np.array([float(value) if isinstance(value, decimal.Decimal) else value for value in values.tolist()])
        if values.dtype.kind not in "iubf":
            raise TypeError(f"these are {values.dtype}")
    with np.errstate(over="ignore"):
        found = values.astype(wire)
    if values.dtype.kind == "f" and (np.isinf(found) & ~np.isinf(values)).any():
        raise ValueError("out of range")
    return found


def _fixed_boolean(values: np.ndarray, wire: str) -> np.ndarray:
    values = _plain(values)
    if values.dtype.kind not in "biu" and len(values):
        raise TypeError(f"these are {values.dtype}")
    if values.dtype.kind != "b" and ((values != 0) & (values != 1)).any():
        raise ValueError("there are other numbers than 0 and 1")
    return values.astype(wire)


def _dates(values: np.ndarray, unit: str) -> np.ndarray:
    """Days or microseconds since 1970."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind == "O":
        values = np.array([_without_zone(value) for value in values.tolist()], f"M8[{unit}]")
    if values.dtype.kind != "M" and len(values):
        raise TypeError(f"these are {values.dtype}")
    return values.astype(f"M8[{unit}]").astype(np.int64)


def _without_zone(value: Any) -> Any:
    """A moment in UTC. datetime64 has no zones."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return value


def _fixed_date(values: np.ndarray, wire: str) -> np.ndarray:
    return _fixed_integer(_dates(values, "D") - EPOCH_DAYS, wire)


def _fixed_timestamp(values: np.ndarray, wire: str) -> np.ndarray:
    return (_dates(values, "us") - EPOCH_MICROSECONDS).astype(wire)


def _fixed_time(values: np.ndarray, wire: str) -> np.ndarray:
    if values.dtype.kind == "O":
        values = np.array([((time.hour * 60 + time.minute) * 60 + time.second) * 1_000_000 + time.microsecond
                           for time in values.tolist()], np.int64)
    if values.dtype.kind == "m":
        values = values.astype("m8[us]").astype(np.int64)
    return _fixed_integer(values, wire)


def _fixed_uuid(values: np.ndarray, wire: str) -> np.ndarray:
    if values.dtype.kind in "SV" and values.dtype.itemsize == 16:
        return values.view(wire)
    found = [value.bytes if isinstance(value, uuid.UUID) else value if isinstance(value, bytes) and len(value) == 16 else
             bytes(16) if value == 0 else uuid.UUID(value).bytes for value in values.tolist()]
    return np.frombuffer(b"".join(found), wire)


_FIXED: dict[str, Callable[[np.ndarray, str], np.ndarray]] = {
    "bool": _fixed_boolean, "int16": _fixed_integer, "int32": _fixed_integer, "int64": _fixed_integer, "uint32": _fixed_integer,
    "float32": _fixed_float, "float64": _fixed_float, "date32": _fixed_date, "time64us": _fixed_time,
    "timestampus": _fixed_timestamp, "timestamptzus": _fixed_timestamp, "uuid": _fixed_uuid,
}


def _encode_texts(column: Incoming, oid: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and bytes; those of a NULL are empty."""
    wants_bytes = oid == 17
    if column.texts is not None and oid not in (JSONB, 1700) and wants_bytes == (column.kind == "binary"):
        return column.texts
    one = _numeric if oid == 1700 else _bytes if wants_bytes else _jsonb if oid == JSONB else _text
    values: Any = column.values.tolist()
    if column.texts is not None:
        offsets, data = column.texts[0].tolist(), column.texts[1].tobytes()
        values = [data[begin:end].decode() if column.kind == "utf8" else data[begin:end] for begin, end in zip(offsets, offsets[1:])]
    missing = column.mask.tolist() if column.mask is not None else [False] * len(values)
    pieces = [b"" if is_null else one(value) for value, is_null in zip(values, missing)]
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=offsets[1:])
    return offsets, np.frombuffer(b"".join(pieces), np.uint8)


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is {type(value).__name__}, not str")
    return value.encode()


def _jsonb(value: Any) -> bytes:
    return b"\x01" + _text(value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{value!r} is {type(value).__name__}, not bytes")
    return bytes(value)


def _numeric(value: Any) -> bytes:
    """Groups of four digits, the weight of the first, the sign, and the digits behind the point."""
    if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal)):
        raise TypeError(f"{value!r} is {type(value).__name__}, not a number")
    # repr() of a float is the shortest number that is read back as the same one.
    number = decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
    if not number.is_finite():
        return struct.pack(">hhHh", 0, 0, 0xC000 if number.is_nan() else 0xF000 if number < 0 else 0xD000, 0)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    # Groups are counted from the point: zeros are added so that the last one is whole.
    text = "".join(map(str, digits)) + "0" * (exponent if exponent > 0 else -scale % 4)
    behind = (scale + 3) // 4
    text = "0" * (-len(text) % 4) + text
    groups = [int(text[at:at + 4]) for at in range(0, len(text), 4)]
    weight = len(groups) - behind - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    if not groups:
        weight, sign = 0, 0
    return struct.pack(f">hhHh{len(groups)}h", len(groups), weight, 0x4000 if sign else 0, scale, *groups)


def copy_messages(columns: list[Encoded], rows: int) -> Iterator[bytes]:
    """The whole COPY, in pieces of bounded size."""
    yield _HEAD
    for begin in range(0, rows, _ROWS_AT_A_TIME):
        end = min(begin + _ROWS_AT_A_TIME, rows)
        part = [_slice(column, begin, end) for column in columns]
        if all(column.fixed is not None and column.mask is None for column in part):
            yield _structured(part, end - begin)
        else:
            yield _scattered(part, end - begin)
    yield _END


def _slice(column: Encoded, begin: int, end: int) -> Encoded:
    mask = None if column.mask is None else column.mask[begin:end]
    if mask is not None and not mask.any():
        mask = None
    texts = None if column.texts is None else (column.texts[0][begin:end + 1], column.texts[1])
    return Encoded(None if column.fixed is None else column.fixed[begin:end], texts, mask)


def _structured(columns: list[Encoded], rows: int) -> bytes:
    kinds: list[tuple[str, Any]] = [("count", ">i2")]
    for number, column in enumerate(columns):
        assert column.fixed is not None
        kinds += [(f"size{number}", ">i4"), (f"value{number}", column.fixed.dtype)]
    message = np.empty(rows, kinds)
    message["count"] = len(columns)
    for number, column in enumerate(columns):
        assert column.fixed is not None
        message[f"size{number}"] = column.fixed.dtype.itemsize
        message[f"value{number}"] = column.fixed
    return message.tobytes()


def _scattered(columns: list[Encoded], rows: int) -> bytes:
    """Rows of different lengths."""
    sizes = []
    for column in columns:
        size = np.full(rows, column.fixed.dtype.itemsize) if column.fixed is not None else np.diff(column.texts[0])  # type: ignore
        sizes.append(size if column.mask is None else np.where(column.mask, 0, size))
    lengths = np.full(rows, 2 + 4 * len(columns)) + np.sum(sizes, axis=0, dtype=np.int64)
    at = np.zeros(rows, np.int64)
    np.cumsum(lengths[:-1], out=at[1:])
    message = np.empty(int(lengths.sum()), np.uint8)
    _put(message, at, np.full(rows, len(columns), ">i2"))
    at = at + 2
    for column, size in zip(columns, sizes):
        announced = size if column.mask is None else np.where(column.mask, -1, size)
        _put(message, at, announced.astype(">i4"))
        at = at + 4
        if column.fixed is not None:
            valid = slice(None) if column.mask is None else ~column.mask
            _put(message, at[valid], column.fixed[valid])
        else:
            assert column.texts is not None
            offsets, text = column.texts
            # Each byte's place in the message, and in the text, which NULLs leave out.
            ends = np.cumsum(size)
            inside = np.arange(ends[-1] if rows else 0) - np.repeat(ends - size, size)
            message[np.repeat(at, size) + inside] = text[np.repeat(offsets[:-1], size) + inside]
        at = at + size
    return message.tobytes()


def _put(message: np.ndarray, at: np.ndarray, values: np.ndarray) -> None:
    """Values of one width to the positions `at`."""
    width = values.dtype.itemsize
    if len(values):
        message[at[:, None] + np.arange(width)] = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), width)
