"""incoming.py - what callers hand to write(), in one shape: an array and a mask of NULLs.

NULL is what a library calls missing: a masked value, None, NaT, pandas.NA, a NULL of Arrow. NaN is a number to PostgreSQL and
stays one, unless the caller wants NULLs for it.
Called by: writing.py. Libraries are recognised by what their objects have, so that none is imported for its own sake.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .columns import Column


class Incoming(NamedTuple):
    """`values` may be of any type where `mask` is true. `texts` are offsets and bytes of strings that came so."""

    values: np.ndarray
    mask: np.ndarray | None
    # What the source calls the type, if numpy has no such type.
    kind: str = ""
    texts: tuple[np.ndarray, np.ndarray] | None = None


def columns_of(source: Any) -> dict[str, Any]:
    """Names and arrays of a mapping, a data frame or an Arrow table."""
    if isinstance(source, Mapping):
        return dict(source)
    package = type(source).__module__.partition(".")[0]
    if package == "pandas":
        return {str(name): source[name] for name in source.columns}
    if package == "polars":
        return {column.name: column for column in source.get_columns()}
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "column_names"):
        import pyarrow

        source = pyarrow.table(source)
    if hasattr(source, "column_names") and hasattr(source, "columns"):
        return dict(zip(source.column_names, source.columns))
    if hasattr(source, "schema") and hasattr(source, "columns"):       # a record batch
        return dict(zip(source.schema.names, source.columns))
    raise TypeError(f"{type(source).__name__} is no mapping of names to arrays, no data frame and no Arrow table")


def incoming(name: str, source: Any, nan_as_null: bool) -> Incoming:
    """One column."""
    found = _read(source)
    if found.values.ndim == 2 and found.values.shape[1] == 1:       # what a model with one output predicts
        found = found._replace(values=found.values[:, 0], mask=None if found.mask is None else found.mask[:, 0])
    if found.values.ndim != 1:
        raise ValueError(f"column {name!r} has {found.values.ndim} dimensions, a column has one")
    values, mask = found.values, found.mask
    if values.dtype.kind == "M":
        mask = _either(mask, np.isnat(values))
    elif values.dtype.kind == "f" and nan_as_null:
        mask = _either(mask, np.isnan(values))
    elif values.dtype.kind == "O":
        mask = _either(mask, np.fromiter((_is_missing(value, nan_as_null) for value in values), bool, len(values)))
    if mask is not None and not mask.any():
        mask = None
    return found._replace(values=values, mask=mask)


def _either(mask: np.ndarray | None, other: np.ndarray) -> np.ndarray:
    return other if mask is None else mask | other


def _is_missing(value: Any, nan_as_null: bool) -> bool:
    if value is None:
        return True
    if isinstance(value, float):
        return nan_as_null and value != value
    # NaT differs from itself; pandas.NA is neither true nor false.
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, np.datetime64) and bool(np.isnat(value)))


def _read(source: Any) -> Incoming:
    package = type(source).__module__.partition(".")[0]
    if isinstance(source, Column):
        return _read_column(source)
    if package == "pyarrow":
        return _read_arrow(source)
    if package == "polars":
        return _read_arrow(source.to_arrow())
    if package == "pandas":
        return _read_pandas(source)
    if hasattr(source, "detach"):               # torch
        return Incoming(source.detach().cpu().numpy(), None)
    if hasattr(source, "__cuda_array_interface__"):
        if hasattr(source, "get"):              # CuPy
            return Incoming(source.get(), None)
        raise TypeError(f"{type(source).__name__} is in GPU memory: bring it to the host first")
    if isinstance(source, np.ma.MaskedArray):
        return Incoming(np.asarray(source.data), np.ma.getmaskarray(source))
    # numpy's own type for bytes forgets zeros at their ends.
    if isinstance(source, (list, tuple)) and any(value is None or isinstance(value, bytes) for value in source):
        values = np.empty(len(source), object)
        values[:] = source
        return Incoming(values, None)
    return Incoming(np.asarray(source), None)


def _read_column(source: Column) -> Incoming:
    if source.device.kind != "host":
        raise TypeError(f"column {source.name!r} is in GPU memory: open it with device='host'")
    if source.format.name in ("utf8", "binary", "decimal128"):
        return _read_arrow(source.to_arrow())
    kind = source.format.name if source.format.name in ("time64us", "timestamptzus") else ""
    values = source.storage.values.array(source.format.numpy or source.format.tensor or "", len(source))
    if source.format.name == "date32":
        values = values.astype("<M8[D]")
    return Incoming(values, source.mask if source.null_count else None, kind)


def _read_pandas(source: Any) -> Incoming:
    if isinstance(source.dtype, np.dtype):
        return Incoming(source.to_numpy(), None)
    if hasattr(source.dtype, "tz"):
        import pandas

        return Incoming(source.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), pandas.isna(source).to_numpy(), "timestamptzus")
    if "pyarrow" in sys.modules or hasattr(source.array, "__arrow_array__"):
        try:
            import pyarrow

            return _read_arrow(pyarrow.array(source.array))
        except ImportError:
            pass
    return Incoming(source.to_numpy(dtype=object, na_value=None), None)


def _read_arrow(source: Any) -> Incoming:
    import pyarrow as pa

    array = source.combine_chunks() if isinstance(source, pa.ChunkedArray) else source
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _read_texts(array.cast(pa.large_string()), mask, "utf8")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _read_texts(array.cast(pa.large_binary()), mask, "binary")
    name = ""
    if pa.types.is_timestamp(kind):
        name = "timestamptzus" if kind.tz else ""
        array = array.cast(pa.timestamp(kind.unit))
    elif pa.types.is_time(kind):
        name, array = "time64us", array.cast(pa.time64("us")).cast(pa.int64())
    elif pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_nested(kind) or pa.types.is_null(kind):
        values = np.empty(len(array), object)
        values[:] = array.to_pylist()
        return Incoming(values, mask, "uuid" if pa.types.is_fixed_size_binary(kind) and kind.byte_width == 16 else "")
    if mask is not None:
        array = array.fill_null(pa.scalar(0, pa.int64()).cast(array.type) if pa.types.is_temporal(kind) and name != "time64us"
                                and not pa.types.is_date32(kind) else _zero(array.type))
    return Incoming(array.to_numpy(zero_copy_only=False), mask, name)


def _zero(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return pa.scalar(False)
    if pa.types.is_date32(kind):
        return pa.scalar(0, pa.int32()).cast(kind)
    return pa.scalar(0).cast(kind)


def _read_texts(array: Any, mask: np.ndarray | None, kind: str) -> Incoming:
    """Strings stay in Arrow's buffers."""
    _, offsets, data = array.buffers()
    if len(array) == 0:
        return Incoming(np.empty(0, object), None, kind, (np.zeros(1, np.int64), np.empty(0, np.uint8)))
    where = np.frombuffer(offsets, np.int64)[array.offset:array.offset + len(array) + 1]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return Incoming(np.empty(len(array), "|V1"), mask, kind, (where, text))
