"""columns.py - Columns, what open() returns, and Column, which every array library takes.

A Column is rows in memory of the host or of a GPU. It has the protocols of tensors (tensors.py) and of Arrow
(arrow_export.py), none of which copies. Tensors have no NULLs: a column with NULLs refuses to be one, and offers `values`,
in which a NULL is 0, and `mask` or `validity` instead.
Ownership: arrays that were made of a column keep its memory. Columns.close() only lets go of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrow_export
from .buffers import EMPTY, Buffer
from .errors import NoTensor, ProtocolError
from .formats import Format
from .grants import HOST, Device
from .tensors import CPU, CUDA, DeviceTensor, make_capsule

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import torch


@dataclass(frozen=True)
class Storage:
    """The buffers of a column. `bits` are a boolean's values as Arrow has them, `bytes` those of texts."""

    values: Buffer
    validity: Buffer | None = None
    bytes: Buffer | None = None
    bits: Buffer | None = None


class Column:
    """One column. len() is its number of rows."""

    def __init__(self, name: str, sql_type: str, format: Format, rows: int, null_count: int, storage: Storage,
                 device: Device = HOST, precision: int | None = None, scale: int | None = None) -> None:
        self.name = name
        self.sql_type = sql_type
        self.format = format
        self.null_count = null_count
        self.storage = storage
        self.device = device
        self.precision = precision
        self.scale = scale
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        nulls = f", {self.null_count} NULLs" if self.null_count else ""
        return f"<Column {self.name} {self.sql_type}: {self._rows} rows{nulls} on {self.device}>"

    @property
    def arrow_type(self) -> pyarrow.DataType:
        arrow_export.arrow()
        return self.format.arrow_type(self.precision, self.scale)

    # Tensors

    @property
    def values(self) -> Any:
        """The values as a tensor, NULLs as 0: a numpy array, or a DeviceTensor. Dates and times are integers."""
        if self.format.tensor is None:
            raise NoTensor(f"column {self.name!r} is {self.sql_type or self.format.name}, which no tensor holds; cast it in "
                           f"SQL (to real, for example), or take it as Arrow: to_arrow()")
        return self._tensor(self.storage.values, self.format.tensor, self._rows)

    @property
    def validity(self) -> Any:
        """Arrow's bits, 8 rows in a byte, lowest first: 1 is a value, 0 a NULL. None: there are no NULLs."""
        if self.storage.validity is None or self.null_count == 0:
            return None
        return self._tensor(self.storage.validity, "|u1", (self._rows + 7) // 8)

    @property
    def mask(self) -> Any:
        """True where a row is NULL, as numpy.ma means it. Made from `validity` at each call; on a GPU, CuPy makes it."""
        validity = self.validity
        if self.device.kind == "host":
            if validity is None:
                return np.zeros(self._rows, bool)
            return np.unpackbits(validity, count=self._rows, bitorder="little") == 0
        import cupy

        if validity is None:
            return cupy.zeros(self._rows, bool)
        return cupy.unpackbits(cupy.asarray(validity), bitorder="little")[:self._rows] == 0

    def _tensor(self, buffer: Buffer, dtype: str, count: int) -> Any:
        if self.device.kind == "host":
            return buffer.array(dtype, count)
        return DeviceTensor(buffer.address, (count,), (np.dtype(dtype).itemsize,), dtype, self.device, buffer.owner)

    def _without_nulls(self) -> Any:
        values = self.values
        if self.null_count:
            raise NoTensor(f"column {self.name!r} has {self.null_count} NULLs, which a tensor cannot hold; take .values, where "
                           "they are 0, with .mask, or remove them in SQL: coalesce(), or WHERE ... IS NOT NULL")
        return values

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CPU, 0) if self.device.kind == "host" else (CUDA, self.device.ordinal)

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        values = self._without_nulls()
        if isinstance(values, DeviceTensor):
            return values.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if dl_device is not None and tuple(dl_device) != (CPU, 0):
            raise BufferError("the column is in host memory; device='gpu' asks the server for GPU memory")
        return make_capsule(values, max_version, copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.kind == "host":
            raise AttributeError("the column is in host memory")
        return self._without_nulls().__cuda_array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.to_numpy()
        if dtype is not None and np.dtype(dtype) != found.dtype:
            if copy is False:
                raise ValueError(f"{found.dtype} becomes {np.dtype(dtype)} by a copy only")
            return found.astype(dtype)
        return found.copy() if copy else found

    # Arrow

    def __arrow_c_schema__(self) -> Any:
        return self.arrow_type.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.to_arrow().__arrow_c_array__(requested_schema)

    def __arrow_c_device_array__(self, requested_schema: Any = None, **_: Any) -> tuple[Any, Any]:
        """`requested_schema` is a wish, which a conversion on a GPU would have to grant: the column's own type is given."""
        return arrow_export.device_array(self)

    # Libraries

    def to_numpy(self) -> np.ndarray:
        """No copy of numbers, booleans, timestamps and uuids. Dates become datetime64[D], which is wider; text, bytea and
        numeric become objects."""
        self._need_host("to_numpy()")
        if self.format.name in ("utf8", "binary", "decimal128"):
            return self.to_arrow().to_numpy(zero_copy_only=False)
        if self.null_count:
            self._without_nulls()
        if self.format.name == "date32":
            return self.values.astype("<M8[D]")
        return self.storage.values.array(self.format.numpy or self.format.tensor or "", self._rows)

    def to_arrow(self) -> pyarrow.Array:
        """A pyarrow array, NULLs included, without a copy."""
        self._need_host("to_arrow()")
        return arrow_export.host_array(self)

    def to_torch(self) -> torch.Tensor:
        import torch

        return torch.from_dlpack(self)

    def _need_host(self, what: str) -> None:
        if self.device.kind != "host":
            raise TypeError(f"{what} needs host memory, and the column is on {self.device}: ask for device='host', or take it "
                            "by DLPack, __cuda_array_interface__ or __arrow_c_device_array__")


class Columns(Mapping[str, Column]):
    """The rows of a table or query: a mapping from names to columns, in the query's order.

    As a context manager it is closed at the end. If two columns have one name, the later one is called name_2 and so on.
    """

    def __init__(self, columns: list[Column], rows: int, device: Device = HOST, revision: str = "", source: str | None = None,
                 is_copy: bool = False, permutation: np.ndarray | None = None) -> None:
        self._columns: dict[str, Column] | None = {}
        for column in columns:
            name, number = column.name, 1
            while name in self._columns:
                number += 1
                name = f"{column.name}_{number}"
            self._columns[name] = column
        self.rows = rows
        self.device = device
        # What the server calls this state of the rows.
        self.revision = revision
        # The table, if it is one.
        self.source = source
        # The rows are a copy of this process's own: they came through the connection, or were shuffled.
        self.is_copy = is_copy
        # batches() with a seed: the order in which to take the rows of GPU memory, which are not moved.
        self.permutation = permutation

    # Mapping

    @property
    def _open(self) -> dict[str, Column]:
        if self._columns is None:
            raise ValueError("these Columns are closed")
        return self._columns

    def __getitem__(self, name: str) -> Column:
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._open)

    def __len__(self) -> int:
        """The number of columns, as that of a mapping's keys; rows are counted in `rows`."""
        return len(self._open)

    def __repr__(self) -> str:
        if self._columns is None:
            return "<Columns, closed>"
        return f"<Columns {', '.join(self._columns)}: {self.rows} rows on {self.device}{', a copy' if self.is_copy else ''}>"

    # Lifetime

    def close(self) -> None:
        """Lets go of the columns. Memory that no array uses any more goes back to the server."""
        self._columns = None

    def __enter__(self) -> Columns:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Arrow

    def __arrow_c_schema__(self) -> Any:
        pa = arrow_export.arrow()
        return pa.schema([(name, column.arrow_type) for name, column in self._open.items()]).__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._batch().__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_device_array__(self, requested_schema: Any = None, **_: Any) -> tuple[Any, Any]:
        if self.device.kind == "host":
            return self._batch().__arrow_c_device_array__(requested_schema)
        return arrow_export.device_batch(self._open, self.device.ordinal)

    def _batch(self) -> pyarrow.RecordBatch:
        pa = arrow_export.arrow()
        arrays = [column.to_arrow() for column in self._open.values()]
        if not arrays:      # a table without columns has rows all the same
            return pa.RecordBatch.from_struct_array(pa.array([{}] * self.rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, names=list(self._open))

    # Libraries

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table over the same memory."""
        return arrow_export.arrow().Table.from_batches([self._batch()])

    def to_numpy(self) -> dict[str, np.ndarray]:
        return {name: column.to_numpy() for name, column in self._open.items()}

    def to_polars(self) -> polars.DataFrame:
        import polars

        found = polars.from_arrow(self.to_arrow())
        assert isinstance(found, polars.DataFrame)
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """Columns that are tensors become numpy's types, all others pandas' types of Arrow, so that nothing is copied and an
        integer with NULLs stays an integer."""
        import pandas

        def converted(column: Column) -> Any:
            if column.null_count == 0 and (column.format.tensor is not None and column.format.name not in ("date32", "time64us")):
                found = pandas.Series(column.to_numpy(), copy=False)
                return found.dt.tz_localize("UTC") if column.format.name == "timestamptzus" else found
            return pandas.Series(pandas.arrays.ArrowExtensionArray(column.to_arrow()))

        return pandas.DataFrame({name: converted(column) for name, column in self._open.items()}, copy=False,
                                index=pandas.RangeIndex(self.rows))

    def to_torch(self) -> dict[str, torch.Tensor]:
        """A tensor of each column, without a copy. Batches of GPU memory that are to be shuffled are shuffled here."""
        tensors = {name: column.to_torch() for name, column in self._open.items()}
        if self.permutation is None or not tensors:
            return tensors
        import torch

        order = torch.from_numpy(self.permutation).to(next(iter(tensors.values())).device)
        return {name: tensor[order] for name, tensor in tensors.items()}

    # Rows

    def take(self, order: np.ndarray) -> Columns:
        """Rows in another order, copied; of host memory only."""
        columns = [_take(column, order) for column in self._open.values()]
        for name, column in zip(self._open, columns):
            column.name = name
        return Columns(columns, len(order), self.device, self.revision, self.source, True)


def _take(column: Column, order: np.ndarray) -> Column:
    column._need_host("take()")
    nulls, validity, bits = 0, None, None
    if column.null_count:
        valid = ~column.mask[order]
        nulls = len(order) - int(np.count_nonzero(valid))
        validity = Buffer.of_array(np.packbits(valid, bitorder="little"))
    storage = column.storage
    text = None
    if column.format.is_variable:
        values, text = _take_texts(column, order)
    else:
        rows = storage.values.array(column.format.tensor or f"|V{column.format.width}", len(column))[order]
        values = Buffer.of_array(rows)
        if column.format.name == "bool":
            bits = Buffer.of_array(np.packbits(rows, bitorder="little"))
    return Column(column.name, column.sql_type, column.format, len(order), nulls, Storage(values, validity, text, bits),
                  HOST, column.precision, column.scale)


def _take_texts(column: Column, order: np.ndarray) -> tuple[Buffer, Buffer]:
    """Offsets and bytes of the rows in `order`."""
    if len(order) == 0:
        return EMPTY, EMPTY
    offsets = column.storage.values.array("<i8", len(column) + 1)
    size = column.storage.bytes.bytes if column.storage.bytes else 0
    if offsets[0] < 0 or offsets[-1] > size or (np.diff(offsets) < 0).any():
        raise ProtocolError(f"the offsets of column {column.name!r} are damaged")
    starts, lengths = offsets[:-1][order], np.diff(offsets)[order]
    taken = np.zeros(len(order) + 1, np.int64)
    np.cumsum(lengths, out=taken[1:])
    # Each byte of the result comes from its place in the result, moved by what its row was moved by.
    source = np.arange(taken[-1]) + np.repeat(starts - taken[:-1], lengths)
    text = (column.storage.bytes or EMPTY).array("|u1", size)[source]
    return Buffer.of_array(taken), Buffer.of_array(text)
