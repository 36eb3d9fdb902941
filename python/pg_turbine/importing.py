"""importing.py - from a token to arrays: redeem it, check the grant, map the memory.

Called by: ipc_import() of users, opening.py, batching.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import cuda_driver, cuda_memory, host_memory
from .buffers import EMPTY, Buffer, array_at
from .columns import Column, Columns, Storage
from .errors import NoTensor
from .exchange import Answer, redeem
from .formats import NUMERIC
from .grants import ColumnLayout, Device, Grant, parse_grant
from .tensors import DeviceTensor
from .tokens import Token


def import_columns(token: bytes) -> Columns:
    """All columns behind a token, mapped."""
    answer = redeem(Token.parse(token))
    try:
        grant = parse_grant(answer.grant, len(answer.fds))
        device = _device_here(grant.device)
        mapped = _map_on_host(grant, answer) if device.kind == "host" else _map_on_gpu(grant, answer, device)
    finally:
        # The mappings keep the memory; descriptors are only in the way of a process that may open few.
        answer.close_fds()
    columns = [Column(layout.name, layout.sql_type, layout.format, grant.rows, layout.nulls, storage, device,
                      layout.precision, layout.scale) for layout, storage in zip(grant.columns, mapped)]
    return Columns(columns, grant.rows, device, grant.revision, grant.source)


def _device_here(device: Device) -> Device:
    """The device by its number in this process."""
    if device.kind == "host":
        return device
    return replace(device, ordinal=cuda_driver.driver().find_device(device.uuid))


def _map_on_host(grant: Grant, answer: Answer) -> list[Storage]:
    files = {fd: host_memory.File(answer.fds[fd]) for fd in {layout.fd for layout in grant.columns}}
    return [Storage(**{name: files[layout.fd].map_region(region, answer.lease) for name, region in layout.regions().items()})
            for layout in grant.columns]


def _map_on_gpu(grant: Grant, answer: Answer, device: Device) -> list[Storage]:
    driver = cuda_driver.driver()
    mapped = []
    for layout in grant.columns:
        regions = layout.regions()
        if not any(region.bytes for region in regions.values()):
            mapped.append(Storage(**dict.fromkeys(regions, EMPTY)))
            continue
        memory = cuda_memory.map_allocations(driver, device.ordinal, [answer.fds[layout.fd]], [layout.allocation_bytes],
                                             answer.lease)
        mapped.append(Storage(**{name: Buffer(memory.address + region.offset, region.bytes, memory) if region.bytes else EMPTY
                                 for name, region in regions.items()}))
    return mapped


def ipc_import(token: bytes, columns: Sequence[str] | None = None) -> Any:
    """The columns behind a token as one array of rows x columns, all of one numeric type and without NULLs.

    On the host it is a numpy array, on a GPU a DeviceTensor. Nothing is copied: each column is mapped behind the one before.
    The columns are contiguous, and the stride from one to the next may be larger than a column.
    """
    answer = redeem(Token.parse(token))
    try:
        grant = parse_grant(answer.grant, len(answer.fds))
        chosen = _choose(grant, columns)
        dtype = np.dtype(chosen[0].format.tensor)
        device = _device_here(grant.device)
        shape = (grant.rows, len(chosen))
        if grant.rows == 0:
            if device.kind == "host":
                return np.empty(shape, dtype, order="F")
            return DeviceTensor(0, shape, (dtype.itemsize, 0), dtype.str, device, None)
        if device.kind == "host":
            return _host_matrix(chosen, answer, shape, dtype)
        return _gpu_matrix(chosen, answer, shape, dtype, device)
    finally:
        answer.close_fds()


def _choose(grant: Grant, names: Sequence[str] | None) -> list[ColumnLayout]:
    """The layouts of the wanted columns, which must fit into one array."""
    if isinstance(names, str):
        raise TypeError("columns is a list of names")
    by_name = {layout.name: layout for layout in grant.columns}
    missing = [name for name in names or () if name not in by_name]
    if missing:
        raise KeyError(f"there is no column {missing[0]!r}; there are {', '.join(by_name)}")
    chosen = list(grant.columns) if names is None else [by_name[name] for name in names]
    if not chosen:
        raise ValueError("an array needs a column")
    for layout in chosen:
        if layout.format.name not in NUMERIC:
            raise NoTensor(f"column {layout.name!r} is {layout.sql_type}; cast it in SQL, or leave it out with columns=[...]")
        if layout.nulls:
            raise NoTensor(f"column {layout.name!r} has {layout.nulls} NULLs; remove them in SQL, or use pg_turbine.open()")
        if layout.format is not chosen[0].format:
            raise NoTensor(f"column {layout.name!r} is {layout.sql_type}, column {chosen[0].name!r} is {chosen[0].sql_type}: "
                           "an array has one type; cast them in SQL, or use pg_turbine.open()")
    return chosen


def _host_matrix(chosen: list[ColumnLayout], answer: Answer, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    files = {fd: host_memory.File(answer.fds[fd]) for fd in {layout.fd for layout in chosen}}
    regions = [layout.values for layout in chosen]
    if host_memory.can_stand_side_by_side(regions):
        memory, distance = host_memory.map_side_by_side([files[layout.fd] for layout in chosen], regions, answer.lease)
        return array_at(memory.address, shape, (dtype.itemsize, distance), dtype.str, memory)
    # Values that begin within a page cannot be moved next to others: they are copied.
    matrix = np.empty(shape, dtype, order="F")
    for number, layout in enumerate(chosen):
        matrix[:, number] = files[layout.fd].map_region(layout.values, answer.lease).array(dtype.str, shape[0])
    return matrix


def _gpu_matrix(chosen: list[ColumnLayout], answer: Answer, shape: tuple[int, int], dtype: np.dtype, device: Device) -> DeviceTensor:
    if any(layout.values.offset != chosen[0].values.offset for layout in chosen):
        raise NoTensor("the columns begin at different places of their allocations; use pg_turbine.open()")
    memory = cuda_memory.map_allocations(cuda_driver.driver(), device.ordinal, [answer.fds[layout.fd] for layout in chosen],
                                         [layout.allocation_bytes for layout in chosen], answer.lease)
    return DeviceTensor(memory.address + chosen[0].values.offset, shape, (dtype.itemsize, memory.distance), dtype.str, device,
                        memory)
