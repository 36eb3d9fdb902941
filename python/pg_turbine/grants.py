"""grants.py - what a grant says, checked: types, formats, and regions that lie within their allocations.

Must never: let a number through that a mapping or an array would trust.
Called by: importing.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .errors import ProtocolError
from .formats import FORMATS, Format

_MAX_BYTES = 1 << 62
_MAX_ROWS = 1 << 50


@dataclass(frozen=True)
class Region:
    """A stretch of an allocation."""

    offset: int
    bytes: int


@dataclass(frozen=True)
class Device:
    """Where memory is. `kind` is "host" or "cuda"; `ordinal` is the number in this process, not the server's."""

    kind: str
    ordinal: int = 0
    uuid: str = ""
    name: str = ""

    def __str__(self) -> str:
        return "host" if self.kind == "host" else f"cuda:{self.ordinal}"


HOST = Device("host")


@dataclass(frozen=True)
class ColumnLayout:
    """One column of a grant."""

    name: str
    sql_type: str
    format: Format
    precision: int | None
    scale: int | None
    nulls: int
    fd: int
    allocation_bytes: int
    values: Region
    validity: Region | None
    bytes: Region | None
    bits: Region | None

    def regions(self) -> dict[str, Region]:
        found = {"values": self.values, "validity": self.validity, "bytes": self.bytes, "bits": self.bits}
        return {name: region for name, region in found.items() if region is not None}


@dataclass(frozen=True)
class Grant:
    """A whole grant."""

    rows: int
    source: str | None
    revision: str
    device: Device
    columns: tuple[ColumnLayout, ...]


def parse_grant(grant: dict[str, Any], descriptors: int) -> Grant:
    """The grant, or a ProtocolError that says what is wrong with it."""
    if grant.get("version") != 1:
        raise ProtocolError(f"the grant has version {grant.get('version')!r}, this package reads version 1")
    rows = _number(grant, "rows", _MAX_ROWS)
    source = grant.get("source")
    if source is not None and not isinstance(source, str):
        raise ProtocolError("the grant's source is not a text")
    columns = grant.get("columns")
    if not isinstance(columns, list):
        raise ProtocolError("the grant has no list of columns")
    device = _parse_device(grant.get("device"))
    layouts = tuple(_parse_column(column, rows, descriptors, device) for column in columns)
    return Grant(rows, source, str(grant.get("revision", "")), device, layouts)


def _number(values: dict[str, Any], name: str, limit: int) -> int:
    value = values.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limit:
        raise ProtocolError(f"{name} is {value!r} in the grant")
    return value


def _parse_device(device: Any) -> Device:
    if not isinstance(device, dict) or device.get("kind") not in ("host", "cuda"):
        raise ProtocolError(f"the grant's device is {device!r}")
    if device["kind"] == "host":
        return HOST
    identity = str(device.get("uuid", "")).replace("-", "").lower()
    if not re.fullmatch("[0-9a-f]{32}", identity):
        raise ProtocolError(f"the grant's device has the uuid {device.get('uuid')!r}")
    return Device("cuda", _number(device, "ordinal", 1 << 16), identity, str(device.get("name", "")))


def _parse_region(column: dict[str, Any], name: str) -> Region | None:
    region = column.get(name)
    if region is None:
        return None
    if not isinstance(region, list) or len(region) != 2:
        raise ProtocolError(f"region {name} of column {column.get('name')!r} is {region!r}")
    numbers = {"offset": region[0], "length": region[1]}
    return Region(_number(numbers, "offset", _MAX_BYTES), _number(numbers, "length", _MAX_BYTES))


def _parse_column(column: Any, rows: int, descriptors: int, device: Device) -> ColumnLayout:
    if not isinstance(column, dict) or not isinstance(column.get("name"), str):
        raise ProtocolError("a column of the grant has no name")
    name = column["name"]
    kind = FORMATS.get(str(column.get("format")))
    if kind is None:
        raise ProtocolError(f"column {name!r} has the unknown format {column.get('format')!r}; a newer pg_turbine may read it")
    precision = scale = None
    if kind.name == "decimal128":
        precision, scale = _number(column, "precision", 38), _number(column, "scale", 38)
        if precision == 0 or scale > precision:
            raise ProtocolError(f"column {name!r} is a numeric({precision}, {scale})")
    values = _parse_region(column, "values")
    if values is None:
        raise ProtocolError(f"column {name!r} has no values")
    layout = ColumnLayout(
        name, str(column.get("sql_type", "")), kind, precision, scale, _number(column, "nulls", rows),
        _number(column, "fd", max(descriptors - 1, 0)), _number(column, "allocation_bytes", _MAX_BYTES), values,
        _parse_region(column, "validity"), _parse_region(column, "bytes"), _parse_region(column, "bits"))
    if descriptors == 0:
        raise ProtocolError(f"column {name!r} has no descriptor")
    _check_regions(layout, rows, device)
    return layout


def _check_regions(layout: ColumnLayout, rows: int, device: Device) -> None:
    """Each region holds what `rows` rows need. Whether a file is as long as they say shows when it is mapped."""
    offsets = rows + 1 if layout.format.is_variable and (rows or layout.values.bytes) else rows
    needed = {"values": offsets * layout.format.width}
    if layout.nulls and layout.validity is None:
        raise ProtocolError(f"column {layout.name!r} has NULLs and says not where")
    if layout.validity is not None:
        needed["validity"] = (rows + 7) // 8
    if layout.format.name == "bool":
        needed["bits"] = (rows + 7) // 8
    if layout.format.is_variable:
        needed["bytes"] = 0
    regions = layout.regions()
    for name, length in needed.items():
        region = regions.get(name)
        if region is None:
            if length:
                raise ProtocolError(f"column {layout.name!r} has no region {name}")
        elif region.bytes < length:
            raise ProtocolError(f"region {name} of column {layout.name!r} has {region.bytes} bytes, {rows} rows need {length}")
        elif region.offset % min(layout.format.width, 8) and region.bytes and name == "values":
            raise ProtocolError(f"region {name} of column {layout.name!r} is not aligned")
    for name, region in regions.items():
        if device.kind == "cuda" and region.offset + region.bytes > layout.allocation_bytes:
            raise ProtocolError(f"region {name} of column {layout.name!r} ends beyond its allocation")
