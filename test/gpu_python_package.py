#!/usr/bin/env python3
"""gpu_python_package.py - the Python package on a GPU: torch, CuPy, JAX and numba read memory of another process.

The other process allocates as turbined does (CUDA's virtual memory, handles that are descriptors) and exports by
export_server.py. Checked: what each library reads, at which address, that importing 1 GB takes less than 5 ms in a process that
has a context, and that memory goes back to the GPU. Libraries that are not importable are skipped, and it says so.
Called by hand, on a machine with a GPU and numpy. The last line is `N passed, N failed`.
"""

import ctypes
import gc
import subprocess
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "python"), str(Path(__file__).resolve().parent)]

import export_server  # noqa: E402
import numpy as np  # noqa: E402
import pg_turbine  # noqa: E402
from pg_turbine import importing  # noqa: E402

ROWS = 1_000_000
LARGE = (1 << 30) // 4
SEVERAL = ("bool", "int16", "int32", "int64", "float32", "float64")


class Allocator:
    """The other process's side: allocations with descriptors, filled."""

    class Properties(ctypes.Structure):
        """CUmemAllocationProp"""

        _fields_ = (("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location_type", ctypes.c_int),
                    ("location_id", ctypes.c_int), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8))

    class Access(ctypes.Structure):
        _fields_ = (("location_type", ctypes.c_int), ("location_id", ctypes.c_int), ("flags", ctypes.c_int))

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxPushCurrent_v2", context)
        identity = (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetUuid_v2", identity, 0)
        self.device = {"kind": "cuda", "ordinal": 0, "uuid": bytes(identity).hex(), "name": "a GPU"}

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} failed with {status}")

    def column(self, name, format, values):
        """As export_server.gpu_column()."""
        data, nulls = export_server.regions_of(format, values)
        regions, end = {}, 0
        for region, content in data.items():
            regions[region] = [end, len(content)]
            end += -(-len(content) // 256) * 256
        size = max(-(-end // (2 << 20)), 1) * (2 << 20)
        handle, address, fd = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_int()
        wanted = self.Properties(1, 1, 1, 0)
        self.call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(wanted), ctypes.c_uint64(0))
        self.call("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_size_t(0), ctypes.c_uint64(0),
                  ctypes.c_uint64(0))
        self.call("cuMemMap", address, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
        access = self.Access(1, 0, 3)
        self.call("cuMemSetAccess", address, ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))
        for region, content in data.items():
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address.value + regions[region][0]), content, ctypes.c_size_t(len(content)))
        self.call("cuMemExportToShareableHandle", ctypes.byref(fd), handle, 1, ctypes.c_uint64(0))
        # What is left is the descriptor's: the memory goes with it and its importers.
        self.call("cuMemUnmap", address, ctypes.c_size_t(size))
        self.call("cuMemAddressFree", address, ctypes.c_size_t(size))
        self.call("cuMemRelease", handle)
        return export_server._column(name, format, nulls, regions, size), fd.value


def serve():
    """The other process: prints tokens, serves until its input ends."""
    allocator = Allocator()
    numbers = np.arange(ROWS)
    with export_server.ExportServer() as server:
        def offer(rows, **columns):
            made = [allocator.column(name, format, values) for name, (format, values) in columns.items()]
            print(server.grant(made, rows, allocator.device).hex(), flush=True)
        for _ in range(2):
            offer(ROWS, **{format: (format, numbers % 100) for format in SEVERAL})
        offer(ROWS, a=("float32", numbers), b=("float32", numbers + 1))
        for _ in range(3):
            offer(LARGE, x=("float32", np.ones(LARGE, "<f4")))
        offer(4, s=("utf8", ["one", None, "", "four"]), x=("int32", [1, None, 3, 4]))
        sys.stdin.read()
        print("all leases are closed" if server.wait_until_released() else f"{server.leases} leases are open", flush=True)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def equal(self, name, found, expected):
        if found == expected:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{name}: {found}, expected {expected}", flush=True)

    def of(self, name, check, *arguments):
        """A library's checks; an exception is a failure, a library that is not there is none."""
        try:
            check(self, *arguments)
        except ImportError as error:
            print(f"skipped: {name}: {error}", flush=True)
        except Exception as error:
            self.failed += 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)


SUM = int((np.arange(ROWS) % 100).sum())


def check_torch(checks, columns, matrix):
    import torch

    for format in SEVERAL:
        column = columns[format]
        tensor = column.to_torch()
        checks.equal(f"torch's {format} is not copied", tensor.data_ptr(), column.storage.values.address)
        checks.equal(f"torch's {format}", tensor.double().sum().item() if format != "bool" else int(tensor.sum()),
                     SUM if format != "bool" else ROWS - ROWS // 100)
    whole = torch.from_dlpack(matrix)
    checks.equal("torch's matrix", (tuple(whole.shape), whole[-1].tolist(), whole.data_ptr()),
                 ((ROWS, 2), [ROWS - 1, ROWS], matrix.address))
    interface = torch.as_tensor(columns["float32"], device="cuda")
    checks.equal("torch by __cuda_array_interface__", interface.data_ptr(), columns["float32"].storage.values.address)


def check_cupy(checks, columns, matrix):
    import cupy

    for how in (cupy.asarray, cupy.from_dlpack):
        for format in SEVERAL:
            array = how(columns[format])
            checks.equal(f"CuPy's {format} is not copied", array.data.ptr, columns[format].storage.values.address)
        checks.equal("CuPy's sum", int(how(columns["int64"]).sum()), SUM)
        checks.equal("CuPy's matrix", how(matrix)[-1].tolist(), [ROWS - 1, ROWS])


def check_jax(checks, columns, _):
    import jax

    checks.equal("JAX's sum", int(jax.dlpack.from_dlpack(columns["int32"]).sum()), SUM)


def check_numba(checks, columns, matrix):
    from numba import cuda

    array = cuda.as_cuda_array(columns["float64"])
    checks.equal("numba's sum", float(array.copy_to_host().sum()), SUM)
    checks.equal("numba's matrix", cuda.as_cuda_array(matrix)[:, 1].copy_to_host()[-1].item(), ROWS)


def check_nulls(checks, columns):
    checks.equal("NULLs are refused", refuses(columns["x"].__dlpack__), True)
    schema, array = columns.__arrow_c_device_array__()
    checks.equal("Arrow's capsules", ("arrow_schema" in repr(schema), "arrow_device_array" in repr(array)), (True, True))
    del schema, array
    checks.equal("mask", columns["x"].mask.tolist(), [False, True, False, False])


def refuses(call):
    try:
        call()
    except BufferError:
        return True
    return False


def check_time(checks, tokens):
    """Of an import, without the server's part: importing is asked for with a context that is there already."""
    for number, token in enumerate(tokens):
        before = free_memory()
        started = time.perf_counter()
        columns = importing.import_columns(token)
        seconds = time.perf_counter() - started
        print(f"1 GB imported in {seconds * 1000:.2f} ms", flush=True)
        if number:      # the first one loads code
            checks.equal("1 GB in less than 5 ms", seconds < 0.005, True)
        checks.equal("maps, and takes no memory", before - free_memory() < 64 << 20, True)
        checks.equal("rows", columns.rows, LARGE)
        del columns
        gc.collect()
        time.sleep(0.2)
        checks.equal("1 GB is given back", free_memory() - before > 900 << 20, True)


def free_memory():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver = pg_turbine.importing.cuda_driver.driver()
    context = driver.retain_context(0)
    with driver.current(context):
        driver._library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    context.release()
    return free.value


def main():
    if sys.argv[1:] == ["serve"]:
        serve()
        return 0
    checks = Checks()
    with subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        tokens = [bytes.fromhex(server.stdout.readline()) for _ in range(7)]
        # As in a process that computes: its context is made once and stays.
        driver = pg_turbine.importing.cuda_driver.driver()
        context = driver.retain_context(0)
        columns, matrix = importing.import_columns(tokens[0]), pg_turbine.ipc_import(tokens[2])
        for name, check in (("torch", check_torch), ("CuPy", check_cupy), ("JAX", check_jax), ("numba", check_numba)):
            checks.of(name, check, columns, matrix)
        again = importing.import_columns(tokens[1])
        checks.of("time", check_time, tokens[3:6])
        checks.of("NULLs", check_nulls, importing.import_columns(tokens[6]))
        del columns, matrix, again
        gc.collect()
        server.stdin.close()
        checks.equal("the server", server.stdout.readline().strip(), "all leases are closed")
        context.release()
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
