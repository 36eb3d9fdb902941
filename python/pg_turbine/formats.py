"""formats.py - the one table of column formats: how wide a value is, and which type numpy and Arrow give it.

Names are those of the export protocol. pyarrow is imported only when an Arrow type is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Format:
    """One row of the table."""

    name: str
    # Bytes of a value; of text and bytea those of an offset.
    width: int
    # The type of the tensor; None: tensors have no such type.
    tensor: str | None
    # What numpy calls the same bytes, if it is not the tensor's type.
    numpy: str | None = None
    is_variable: bool = False

    def arrow_type(self, precision: int | None, scale: int | None) -> Any:
        """The type of pyarrow."""
        import pyarrow as pa

        if self.name == "decimal128":
            return pa.decimal128(precision, scale)
        return {
            "bool": pa.bool_, "int16": pa.int16, "int32": pa.int32, "int64": pa.int64, "uint32": pa.uint32,
            "float32": pa.float32, "float64": pa.float64, "date32": pa.date32,
            "time64us": lambda: pa.time64("us"),
            "timestampus": lambda: pa.timestamp("us"),
            "timestamptzus": lambda: pa.timestamp("us", "UTC"),
            "uuid": lambda: pa.binary(16),
            "utf8": pa.large_utf8, "binary": pa.large_binary,
        }[self.name]()


# Dates and times are tensors of integers: neither DLPack nor GPU libraries know them.
FORMATS = {row.name: row for row in (
    Format("bool", 1, "|b1"),
    Format("int16", 2, "<i2"),
    Format("int32", 4, "<i4"),
    Format("int64", 8, "<i8"),
    Format("uint32", 4, "<u4"),
    Format("float32", 4, "<f4"),
    Format("float64", 8, "<f8"),
    Format("date32", 4, "<i4"),
    Format("time64us", 8, "<i8", "<m8[us]"),
    Format("timestampus", 8, "<i8", "<M8[us]"),
    Format("timestamptzus", 8, "<i8", "<M8[us]"),
    Format("decimal128", 16, None),
    Format("uuid", 16, None, "|V16"),
    Format("utf8", 8, None, is_variable=True),
    Format("binary", 8, None, is_variable=True),
)}

# What ipc_import() puts side by side.
NUMERIC = ("bool", "int16", "int32", "int64", "uint32", "float32", "float64")
