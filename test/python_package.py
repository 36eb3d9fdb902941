#!/usr/bin/env python3
"""python_package.py - the Python package shares memory with every library, without a copy, a leak or a crash.

Sharing: against an export server of this test (export_server.py), which hands out every format and lies on purpose; GPUs are
a stand-in for libcuda. Statements: against a PostgreSQL server without the extension, where SQL functions of the same names
hand out tokens of that export server; write(), batches() and copies run there as well. Whole: against a server with the
extension. Must never: need a GPU. What is not importable (torch, CuPy, JAX, numba) is skipped, and says so.
Called by: make test-python-package, test/run_all.py.
"""

import contextlib
import ctypes
import gc
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "python"), str(REPOSITORY / "tools"), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
import pyarrow as pa  # noqa: E402

import export_server  # noqa: E402
import pg_turbine  # noqa: E402
import python_statements  # noqa: E402
from export_server import GPU, SAMPLES, Damage, ExportServer, FakeCuda, host_column  # noqa: E402
from pg_turbine import cuda_driver, exchange, importing, sessions  # noqa: E402

TENSORS = ("bool", "int16", "int32", "int64", "uint32", "float32", "float64")
# Tensors of integers.
TIMES = ("date32", "time64us", "timestampus", "timestamptzus")
# Values of 1,000 rows, so that regions are larger than a page.
MANY = np.arange(1000)


def with_null(values):
    return [values[0], None, *values[1:]]


class Case(unittest.TestCase):
    """With an export server; in the end nothing may be left of what was imported."""

    def setUp(self):
        self.server = ExportServer()
        self.addCleanup(self.server.__exit__)
        self.descriptors = len(os.listdir("/proc/self/fd"))

    def released(self):
        gc.collect()
        self.assertTrue(self.server.wait_until_released(), f"{self.server.leases} leases are still held")

    def open(self, **columns):
        return importing.import_columns(self.server.host(**columns))

    def refused(self, token, error, words=""):
        with self.assertRaisesRegex(error, words):
            importing.import_columns(token)
        self.released()


def address_of(array):
    return array.__array_interface__["data"][0]


class Formats(Case):
    def test_tensors(self):
        for format in TENSORS:
            with self.subTest(format):
                column = self.open(x=(format, SAMPLES[format]))["x"]
                place = column.storage.values.address
                for array in (np.asarray(column), np.from_dlpack(column), column.values, column.to_numpy()):
                    self.assertEqual(array.tolist(), SAMPLES[format])
                    self.assertEqual(array.dtype, np.dtype(export_server.DTYPES[format]))
                    self.assertEqual(address_of(array), place)

    def test_times_are_tensors_of_integers(self):
        for format in TIMES:
            with self.subTest(format):
                column = self.open(x=(format, SAMPLES[format]))["x"]
                self.assertEqual(np.from_dlpack(column).dtype.kind, "i")
                self.assertEqual(address_of(np.from_dlpack(column)), column.storage.values.address)
                found = column.to_numpy()
                self.assertIn(found.dtype.kind, "mM")
                if format != "time64us":
                    self.assertEqual(found.tolist(), SAMPLES[format])

    def test_arrow(self):
        for format, values in SAMPLES.items():
            for rows in (values, with_null(values), [None] * 9, values * 5, []):
                with self.subTest(format, rows=rows):
                    column = self.open(x=(format, rows))["x"]
                    array = pa.array(column)
                    array.validate(full=True)
                    self.assertEqual(self.plain(array), rows)
                    self.assertEqual(array.null_count, sum(value is None for value in rows))
                    buffers = array.buffers()
                    if format == "bool" and rows:
                        self.assertEqual(buffers[1].address, column.storage.bits.address)
                    elif rows:
                        self.assertEqual(buffers[1].address, column.storage.values.address)
                    if format in ("utf8", "binary") and column.storage.bytes.bytes:
                        self.assertEqual(buffers[2].address, column.storage.bytes.address)

    def plain(self, array):
        """Python values as they were given: moments have no zone there, uuids are no bytes."""
        if array.type == pa.binary(16):
            return [None if value is None else uuid.UUID(bytes=value) for value in array.to_pylist()]
        if pa.types.is_timestamp(array.type):
            self.assertIn(array.type.tz, (None, "UTC"))
            return [None if value is None else value.replace(tzinfo=None) for value in array.to_pylist()]
        return array.to_pylist()

    def test_all_columns_at_once(self):
        columns = self.open(**{format: (format, with_null(values)) for format, values in SAMPLES.items()})
        self.assertEqual(list(columns), list(SAMPLES))
        table = pa.table(columns)
        table.validate(full=True)
        self.assertEqual(table, columns.to_arrow())
        self.assertEqual(pa.record_batch(columns).num_rows, 4)
        for format, values in SAMPLES.items():
            self.assertEqual(self.plain(table[format]), with_null(values))

    def test_polars(self):
        columns = self.open(**{format: (format, with_null(values)) for format, values in SAMPLES.items()})
        for frame in (pl.DataFrame(columns), columns.to_polars()):
            self.assertEqual(frame.shape, (4, len(SAMPLES)))
            self.assertEqual(frame["utf8"].to_list(), with_null(SAMPLES["utf8"]))
            self.assertEqual(frame["decimal128"].to_list(), with_null(SAMPLES["decimal128"]))
            self.assertEqual(frame["bool"].to_list(), with_null(SAMPLES["bool"]))
        column = self.open(x=("float64", MANY))["x"]
        series = pl.Series(column)
        self.assertEqual(address_of(series.to_numpy(allow_copy=False)), column.storage.values.address)
        self.assertEqual(series.sum(), 499500)

    def test_pandas(self):
        frame = self.open(**{format: (format, with_null(values)) for format, values in SAMPLES.items()}).to_pandas()
        self.assertEqual(frame["int64"].isna().tolist(), [False, True, False, False])
        self.assertEqual(int(frame["int64"][3]), 2 ** 63 - 1)
        columns = self.open(**{format: (format, values) for format, values in SAMPLES.items()})
        frame = columns.to_pandas()
        self.assertEqual(address_of(frame["float64"].to_numpy()), columns["float64"].storage.values.address)
        self.assertEqual(frame["int32"].dtype, np.int32)
        self.assertEqual(str(frame["timestamptzus"].dt.tz), "UTC")
        self.assertEqual(frame["utf8"].tolist(), SAMPLES["utf8"])
        self.assertEqual(frame["date32"].tolist(), SAMPLES["date32"])

    def test_nulls(self):
        column = self.open(x=("int32", [5, None, 7] * 5))["x"]
        for attempt in (np.asarray, np.from_dlpack, pg_turbine.Column.to_numpy):
            with self.assertRaisesRegex(pg_turbine.NoTensor, "5 NULLs"):
                attempt(column)
        self.assertEqual(column.values.tolist(), [5, 0, 7] * 5)
        self.assertEqual(column.mask.tolist(), [False, True, False] * 5)
        self.assertEqual(column.validity.tolist(), [0b01101101, 0b01011011][:1] + column.validity.tolist()[1:])
        self.assertEqual(np.ma.array(column.values, mask=column.mask).sum(), 60)
        whole = self.open(x=("int32", [5, 7]))["x"]
        self.assertIsNone(whole.validity)
        self.assertEqual(whole.mask.tolist(), [False, False])

    def test_no_tensor(self):
        for format in ("utf8", "binary", "decimal128", "uuid"):
            column = self.open(x=(format, SAMPLES[format]))["x"]
            for error in (BufferError, TypeError):
                with self.assertRaisesRegex(error, "cast it in SQL"):
                    np.from_dlpack(column)
        self.assertEqual(self.open(x=("utf8", ["a", None]))["x"].to_numpy().tolist(), ["a", None])
        self.assertEqual(self.open(x=("uuid", SAMPLES["uuid"]))["x"].to_numpy().tobytes()[15], 1)

    def test_no_rows(self):
        for format in SAMPLES:
            with self.subTest(format):
                columns = self.open(x=(format, []))
                self.assertEqual(pa.table(columns).num_rows, 0)
                self.assertEqual(len(columns["x"].to_numpy()), 0)
                self.assertEqual(len(columns.to_pandas()), 0)
                if format in TENSORS:
                    self.assertEqual(np.from_dlpack(columns["x"]).shape, (0,))
                    self.assertEqual(pg_turbine.ipc_import(self.server.host(x=(format, []), y=(format, []))).shape, (0, 2))

    def test_dlpack_arguments(self):
        column = self.open(x=("float32", [1, 2]))["x"]
        legacy, versioned = column.__dlpack__(), column.__dlpack__(max_version=(1, 0))
        self.assertIn('"dltensor"', repr(legacy))
        self.assertIn('"dltensor_versioned"', repr(versioned))
        self.assertEqual(column.__dlpack_device__(), (1, 0))
        with self.assertRaises(BufferError):
            column.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(AttributeError):
            column.__cuda_array_interface__     # noqa: B018
        copied = np.from_dlpack(column, copy=True)
        self.assertNotEqual(address_of(copied), column.storage.values.address)
        self.assertEqual(np.asarray(column, dtype=np.float64).tolist(), [1, 2])
        del legacy, versioned, column
        self.released()

    def test_other_libraries(self):
        column = self.open(x=("float32", MANY))["x"]
        torch = optional("torch")
        if torch:
            tensor = torch.from_dlpack(column)
            self.assertEqual(tensor.data_ptr(), column.storage.values.address)
            self.assertEqual(tensor.sum().item(), 499500)
        jax = optional("jax")
        if jax:
            self.assertEqual(float(jax.dlpack.from_dlpack(column).sum()), 499500)

    def test_take(self):
        columns = self.open(**{format: (format, with_null(values)) for format, values in SAMPLES.items()})
        order = np.array([3, 1, 0, 2, 1])
        taken = columns.take(order)
        for name in columns:
            self.assertEqual(taken[name].to_arrow().to_pylist(), columns[name].to_arrow().take(order).to_pylist())
        self.assertTrue(taken.is_copy)

    def test_names_twice(self):
        made = [host_column("x", "int32", [number]) for number in range(3)]
        columns = importing.import_columns(self.server.grant(made, 1))
        self.assertEqual({name: column.values[0] for name, column in columns.items()}, {"x": 0, "x_2": 1, "x_3": 2})

    def test_many_columns(self):
        made = [host_column(f"c{number}", "int16", [number]) for number in range(450)]
        columns = importing.import_columns(self.server.grant(made, 1))
        self.assertEqual([column.values[0] for column in columns.values()], list(range(450)))

    def test_writes_stay_here(self):
        fd = host_column("x", "int32", [1, 2])
        token = self.server.grant([fd], 2, keep=True)
        first, second = (np.asarray(importing.import_columns(token)["x"]) for _ in range(2))
        first[0] = 100
        self.assertEqual((first[0], second[0]), (100, 1))


skipped = set()


def optional(name):
    """A library that is too large for `make test`, or None."""
    try:
        return __import__(name)
    except ImportError:
        skipped.add(name)
        return None


class Matrix(Case):
    def test_side_by_side(self):
        for format in TENSORS:
            values = np.array(SAMPLES[format] * 700)
            found = pg_turbine.ipc_import(self.server.host(a=(format, values), b=(format, values[::-1]), c=(format, values)))
            self.assertEqual(found.shape, (2100, 3))
            self.assertEqual(found[:, 1].tolist(), values[::-1].tolist())
            size = found.dtype.itemsize
            self.assertEqual(found.strides, (size, -(-2100 * size // 4096) * 4096))
            self.assertEqual(found.flags.owndata, False)

    def test_columns_chosen(self):
        token = self.server.host(a=("float32", MANY), b=("utf8", ["x"] * 1000), c=("float32", MANY + 1))
        found = pg_turbine.ipc_import(token, ["c", "a"])
        self.assertEqual(found.sum(axis=0).tolist(), [500500, 499500])
        lone = pg_turbine.ipc_import(self.server.host(a=("int32", MANY)))
        self.assertEqual(lone.shape, (1000, 1))
        found = found[1:2, :]
        gc.collect()
        self.assertEqual(found.tolist(), [[2, 1]])
        del found, lone
        self.released()

    def test_refused(self):
        for columns, words in (({"a": ("utf8", ["x"])}, "text"), ({"a": ("int32", [None])}, "1 NULLs"),
                               ({"a": ("int32", [1]), "b": ("int64", [1])}, "one type"),
                               ({"a": ("date32", [SAMPLES["date32"][0]])}, "date")):
            with self.assertRaisesRegex(pg_turbine.NoTensor, words):
                pg_turbine.ipc_import(self.server.host(**columns))
        with self.assertRaisesRegex(KeyError, "no column 'x'"):
            pg_turbine.ipc_import(self.server.host(a=("int32", [1])), ["x"])
        with self.assertRaises(TypeError):
            pg_turbine.ipc_import(self.server.host(a=("int32", [1])), "a")
        self.released()

    def test_values_within_a_page(self):
        def move(grant):
            grant["columns"][0]["values"] = [8, 7992]
        made = [host_column(name, "int64", MANY) for name in "ab"]
        with self.assertRaises(pg_turbine.ProtocolError):       # ends where it should, has a row too few
            pg_turbine.ipc_import(self.server.grant(made, 1000, change=move))
        made = [host_column(name, "int64", MANY) for name in "ab"]

        def shorter(grant):
            grant["rows"] = 999
            move(grant)
        found = pg_turbine.ipc_import(self.server.grant(made, 999, change=shorter))
        self.assertEqual(found[0].tolist(), [1, 0])
        self.assertTrue(found.flags.f_contiguous)


class Lifetime(Case):
    def test_arrays_outlive_columns(self):
        columns = self.open(a=("float64", MANY), b=("utf8", ["x"] * 1000))
        array, text, tensor = np.asarray(columns["a"]), pa.array(columns["b"]), np.from_dlpack(columns["a"])
        columns.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            columns["a"]
        gc.collect()
        self.assertEqual((array.sum(), tensor.sum(), text[999].as_py()), (499500, 499500, "x"))
        self.assertEqual(self.server.leases, 1)
        del array
        self.assertEqual(tensor[-1], 999)
        del tensor
        self.assertEqual(self.server.leases, 1)
        del text
        self.released()

    def test_capsules_that_nobody_takes(self):
        columns = self.open(a=("float64", MANY))
        held = [columns["a"].__dlpack__(), columns["a"].__arrow_c_array__(), columns.__arrow_c_stream__(),
                columns.__arrow_c_device_array__()]
        del columns
        gc.collect()
        self.assertEqual(self.server.leases, 1)
        held.clear()
        self.released()

    def test_released_while_an_exception_is_raised(self):
        def fails():
            return len(pa.array(self.open(a=("float64", MANY))["a"]), np.from_dlpack(self.open(a=("float64", MANY))["a"]), 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            fails()
        self.released()

    def open_files(self, most):
        """No more are open, as soon as the server's threads have closed theirs."""
        deadline = time.monotonic() + 5
        while (found := len(os.listdir("/proc/self/fd"))) > most and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertLessEqual(found, most)

    def test_descriptors(self):
        columns = [self.open(**{f"c{number}": ("int32", MANY) for number in range(20)}) for _ in range(5)]
        # Five leases here, as many at the server, which is in this process, with a thread each.
        self.open_files(self.descriptors + 10)
        columns.clear()
        self.released()
        self.open_files(self.descriptors)

    def test_mappings_go(self):
        def mappings():
            return sum("memfd:column" in line for line in Path("/proc/self/maps").read_text().splitlines())
        columns = self.open(a=("bool", MANY > 5), b=("utf8", ["x"] * 1000))
        self.assertEqual(mappings(), 4)
        del columns
        gc.collect()
        self.assertEqual(mappings(), 0)
        found = pg_turbine.ipc_import(self.server.host(a=("int32", MANY), b=("int32", MANY)))
        self.assertEqual(mappings(), 2)
        del found
        gc.collect()
        self.assertEqual(mappings(), 0)

    def test_end_of_the_interpreter(self):
        """Arrays that live until the end, in modules and in cycles, crash nothing."""
        program = """
import sys
sys.path[:0] = sys.argv[2:]
import numpy as np, pyarrow as pa
from pg_turbine import importing
columns = importing.import_columns(bytes.fromhex(sys.argv[1]))
kept = [np.from_dlpack(columns["a"]), pa.array(columns["a"]), pa.table(columns), columns["a"].__dlpack__()]
kept.append(kept)
pa.kept = kept
print(kept[0].sum())
"""
        token = self.server.host(a=("int64", MANY))
        done = subprocess.run([sys.executable, "-c", program, token.hex(), str(REPOSITORY / "python")], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout.strip(), done.stderr), (0, "499500", ""))
        self.released()


class Refusals(Case):
    def grant(self, damage=None, change=None, columns=None):
        return self.server.grant(columns or [host_column("x", "int32", MANY), host_column("y", "utf8", ["x"] * 1000)], 1000,
                                 damage=damage, change=change)

    def test_tokens(self):
        token = self.server.host(x=("int32", [1]))
        importing.import_columns(token)
        self.refused(token, pg_turbine.ImportRefused, "no such token .export again")
        for bad in (b"", b"PGTX", token[:-1], token + b"x", b"XXXX" + token[4:], token[:4] + b"\2" + token[5:],
                    token[:5] + b"\1" + token[6:]):
            self.refused(bad, pg_turbine.TokenError)
        self.assertNotIn(token[8:40].hex(), repr(importing.Token.parse(token)))
        self.refused(self.server.token(bytes(32), host=uuid.uuid4()), pg_turbine.NotReachable, "another host")
        self.refused(self.server.token(bytes(32), path="/nonexistent/socket"), pg_turbine.NotReachable, "/nonexistent/socket")
        self.refused(self.server.token(bytes(32), path="x" * 300), pg_turbine.NotReachable)

    def test_busy(self):
        self.server.busy = 2
        self.assertEqual(self.open(x=("int32", [1]))["x"].values.tolist(), [1])
        self.server.busy = 100
        self.refused(self.server.host(x=("int32", [1])), pg_turbine.ServerBusy)

    def test_damaged_answers(self):
        head = struct.Struct("<4sIII")
        for damage, words in (
                (Damage(text=b"{"), "not JSON"), (Damage(text=b"[]"), "not a JSON object"), (Damage(text=b"[" * 100000), "not JSON"),
                (Damage(text=b"\xff\xfe\xfd"), "not JSON"),
                (Damage(magic=b"HTTP"), "another protocol"), (Damage(hang_up_after=0), "hung up"), (Damage(hang_up_after=10), "hung up"),
                (Damage(hang_up_after=100), "hung up"), (Damage(fds=3, hang_up_after=10 ** 6), "were expected"),
                (Damage(fds=1), "were expected"), (Damage(fds=0), "descriptor"), (Damage(fds=10 ** 6), "too much"),
                (Damage(head=head.pack(b"PGTR", 0, 2 ** 31, 2)), "too much"), (Damage(status=7), "unknown status"),
                (Damage(status=3, text=b'{"message": "no"}'), "could not read"), (Damage(group=1), "were expected")):
            with self.subTest(words, damage=vars(damage)):
                self.refused(self.grant(damage), pg_turbine.ProtocolError, words)
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), self.descriptors + 50)

    def test_silent(self):
        before, exchange._SECONDS = exchange._SECONDS, 0.2
        try:
            self.refused(self.grant(Damage(silent=True)), pg_turbine.ProtocolError, "did not answer")
        finally:
            exchange._SECONDS = before

    def test_damaged_grants(self):
        def setter(*path, value):
            def change(grant):
                for step in path[:-1]:
                    grant = grant[step]
                grant[path[-1]] = value
            return change
        column = ("columns", 0)
        for path, value in (
                (("version",), 2), (("rows",), -1), (("rows",), 1 << 60), (("rows",), "1000"), (("rows",), 1.5), (("rows",), True),
                (("rows",), 1001), (("device",), None), (("device",), {"kind": "tpu"}), (("device",), {"kind": "cuda", "uuid": "x"}),
                (("columns",), None), (("columns",), [None]), (("columns",), {"x": 1}), (("source",), 7),
                ((*column, "name"), None), ((*column, "format"), "float16"), ((*column, "nulls"), 1001), ((*column, "nulls"), 1),
                ((*column, "fd"), 2), ((*column, "fd"), -1), ((*column, "fd"), None), ((*column, "values"), None),
                ((*column, "values"), [0, 100]), ((*column, "values"), [1 << 61, 4000]), ((*column, "values"), [-4096, 4000]),
                ((*column, "values"), [1 << 40, 4000]), ((*column, "values"), [1, 4000]), ((*column, "values"), "all"),
                ((*column, "values"), [0, 1 << 63]), ((*column, "validity"), [0, 3]), ((*column, "format"), "bool"),
                ((*column, "format"), "utf8"), ((*column, "format"), "decimal128")):
            with self.subTest(path=path, value=value):
                self.refused(self.grant(change=setter(*path, value=value)), pg_turbine.ProtocolError)

    def test_files_that_shrink(self):
        for seals in (0, export_server.F_SEAL_GROW):
            self.refused(self.grant(columns=[host_column("x", "int32", MANY, seals)]), pg_turbine.ProtocolError, "may shrink")
        with open("/dev/zero", "rb") as file:
            made = [(host_column("x", "int32", MANY)[0], os.dup(file.fileno()))]
        self.refused(self.grant(columns=made), pg_turbine.ProtocolError, "no memory file")

    def test_offsets_of_texts(self):
        _, fd = host_column("y", "utf8", ["x"] * 1000, 0)
        os.pwrite(fd, struct.pack("<q", 1 << 40), 8 * 1000)
        export_server.fcntl.fcntl(fd, export_server.F_ADD_SEALS, export_server.ALL_SEALS)
        column = host_column("y", "utf8", ["x"] * 1000)
        os.close(column[1])
        columns = importing.import_columns(self.grant(columns=[(column[0], fd)]))
        with self.assertRaisesRegex(pg_turbine.ProtocolError, "damaged"):
            pa.array(columns["y"])

    def test_too_few_files(self):
        import resource

        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        token = self.server.grant([host_column(f"c{number}", "int16", [1]) for number in range(60)], 1, keep=True)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, before[1]))
        try:
            with self.assertRaisesRegex(pg_turbine.ProtocolError, "ulimit -n"):
                importing.import_columns(token)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        self.released()


class Gpu(Case):
    """Against the stand-in for libcuda: what is mapped where, and that all of it is given back."""

    def setUp(self):
        super().setUp()
        self.use(FakeCuda())

    def use(self, cuda):
        self.cuda = cuda
        before = cuda_driver.replace_driver(cuda_driver.Driver(cuda))
        self.addCleanup(cuda_driver.replace_driver, before)

    def balanced(self):
        gc.collect()
        self.assertTrue(self.cuda.is_balanced(), (self.cuda.open, self.cuda.mapped))
        self.released()

    def at(self, address, dtype, rows):
        """What the "GPU" has there, copied."""
        return np.frombuffer(ctypes.string_at(address, np.dtype(dtype).itemsize * rows), dtype)

    def test_columns(self):
        columns = importing.import_columns(self.server.gpu(**{format: (format, SAMPLES[format]) for format in TENSORS}))
        self.assertEqual(str(columns.device), "cuda:1")
        self.assertEqual(self.cuda.accessible, {1})
        for format, column in columns.items():
            shown = column.__cuda_array_interface__
            self.assertEqual((shown["shape"], shown["version"], shown["stream"]), ((3,), 3, None))
            self.assertEqual(self.at(shown["data"][0], shown["typestr"], 3).tolist(), SAMPLES[format])
            self.assertEqual(column.__dlpack_device__(), (2, 1))
            for attempt in (np.asarray, pa.array, pg_turbine.Column.to_numpy):
                # A pyarrow without CUDA knows no such device: a KeyError.
                with self.assertRaises((TypeError, BufferError, KeyError)):
                    attempt(column)
            with self.assertRaises(BufferError):
                column.__dlpack__(dl_device=(1, 0))
        del column
        columns.close()
        self.balanced()
        self.assertEqual(self.cuda.stack, [])

    def capsule_words(self, capsule):
        """Address and device of a DLPack capsule, read from its structure."""
        versioned = '"dltensor_versioned"' in repr(capsule)
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        place = get(capsule, b"dltensor_versioned" if versioned else b"dltensor") + (32 if versioned else 0)
        return struct.unpack("<Qii", ctypes.string_at(place, 16))

    def test_dlpack(self):
        column = importing.import_columns(self.server.gpu(x=("float32", MANY)))["x"]
        place = column.storage.values.address
        capsules = [column.__dlpack__(stream=1), column.__dlpack__(stream=7, max_version=(1, 1), dl_device=(2, 1), copy=False)]
        del column
        gc.collect()
        for capsule in capsules:
            self.assertEqual(self.capsule_words(capsule), (place, 2, 1))
        self.assertEqual(self.at(place, "<f4", 1000).sum(), 499500)
        capsules.clear()
        del capsule
        self.balanced()

    def test_arrow_device(self):
        values = {format: (format, with_null(SAMPLES[format])) for format in SAMPLES}
        columns = importing.import_columns(self.server.gpu(**values))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        schema, capsule = columns.__arrow_c_device_array__()
        structure = get(capsule, b"arrow_device_array")
        self.assertEqual(struct.unpack("<qi", ctypes.string_at(structure + 80, 12)), (1, 2))
        children = struct.unpack_from("<Q", ctypes.string_at(structure + 48, 8))[0]
        for number, (format, column) in enumerate(columns.items()):
            child = struct.unpack_from("<Q", ctypes.string_at(children + 8 * number, 8))[0]
            length, nulls, _, buffers, _, where = struct.unpack("<qqqqqQ", ctypes.string_at(child, 48))
            self.assertEqual((length, nulls), (4, 1))
            places = struct.unpack(f"<{buffers}Q", ctypes.string_at(where, 8 * buffers))
            self.assertEqual(places[0], column.storage.validity.address)
            self.assertEqual(places[1], (column.storage.bits if format == "bool" else column.storage.values).address)
            lone = column.__arrow_c_device_array__()
            self.assertEqual(struct.unpack("<qi", ctypes.string_at(get(lone[1], b"arrow_device_array") + 80, 12)), (1, 2))
        del columns, column, lone
        gc.collect()
        self.assertGreater(self.cuda.open["maps"], 0)
        del schema, capsule
        self.balanced()

    def test_matrix(self):
        rows = 600_000      # three allocations' granules a column
        values = np.arange(rows, dtype="<f8")
        found = pg_turbine.ipc_import(self.server.gpu(a=("float64", values), b=("float64", values + 1)))
        shown = found.__cuda_array_interface__
        self.assertEqual((found.shape, found.strides), ((rows, 2), (8, 6 << 20)))
        self.assertEqual(self.at(shown["data"][0] + (6 << 20), "<f8", rows).sum(), values.sum() + rows)
        self.assertEqual(self.cuda.open, {"handles": 0, "ranges": 1, "maps": 2, "contexts": 1})
        del found
        self.balanced()

    def test_no_rows(self):
        columns = importing.import_columns(self.server.gpu(**{format: (format, []) for format in SAMPLES}))
        self.assertEqual(columns["int32"].__cuda_array_interface__["data"][0], 0)
        self.assertEqual(self.capsule_words(columns["int32"].__dlpack__())[1:], (2, 1))
        self.assertEqual(pg_turbine.ipc_import(self.server.gpu(x=("int16", []))).shape, (0, 1))
        columns.close()
        self.balanced()

    def test_context_of_the_caller(self):
        self.use(FakeCuda(current=1001))    # of device 101, which is ordinal 1
        columns = importing.import_columns(self.server.gpu(x=("int32", MANY)))
        self.assertNotIn("cuDevicePrimaryCtxRetain", self.cuda.calls)
        del columns
        self.balanced()
        self.assertEqual(self.cuda.stack, [1001])
        self.use(FakeCuda(current=1000))    # of another device
        columns = importing.import_columns(self.server.gpu(x=("int32", MANY)))
        self.assertIn("cuDevicePrimaryCtxRetain", self.cuda.calls)
        del columns
        self.balanced()
        self.assertEqual(self.cuda.stack, [1000])

    def test_waits_before_it_unmaps(self):
        columns = importing.import_columns(self.server.gpu(x=("int32", MANY)))
        del columns
        gc.collect()
        self.assertLess(self.cuda.calls.index("cuCtxSynchronize"), self.cuda.calls.index("cuMemUnmap"))

    def test_failures_leave_nothing(self):
        for name in ("cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuMemAddressReserve", "cuMemImportFromShareableHandle",
                     "cuMemMap", "cuMemSetAccess"):
            for after in (0, 1):
                with self.subTest(name, after=after):
                    self.use(FakeCuda())
                    self.cuda.fail[name] = after
                    for attempt in (importing.import_columns, pg_turbine.ipc_import):
                        self.cuda.fail[name] = after
                        with contextlib.suppress(pg_turbine.DeviceError):
                            attempt(self.server.gpu(x=("int32", MANY), y=("int32", MANY)))
                        del self.cuda.fail[name]
                        self.balanced()

    def test_device_that_is_hidden(self):
        self.use(FakeCuda(devices=("f" * 32,)))
        self.refused(self.server.gpu(x=("int32", MANY)), pg_turbine.DeviceError, "CUDA_VISIBLE_DEVICES")

    def test_no_driver(self):
        cuda_driver.replace_driver(None)
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            self.refused(self.server.gpu(x=("int32", MANY)), pg_turbine.DeviceError, "device='host'")

    def test_damaged(self):
        def smaller(grant):
            grant["columns"][0]["allocation_bytes"] = 1000

        def odd(grant):
            grant["columns"][0]["allocation_bytes"] = (2 << 20) + 4096
        for change in (smaller, odd):
            made = [export_server.gpu_column("x", "int32", MANY)]
            self.refused(self.server.grant(made, 1000, GPU, change=change), pg_turbine.TurbineError)
        self.balanced()


class Types(unittest.TestCase):
    def test_mypy(self):
        """The annotations of the package, which its users' checkers read, hold."""
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", cache], cwd=REPOSITORY / "python", capture_output=True,
                                  text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Names(unittest.TestCase):
    def test_query_or_table(self):
        from pg_turbine.opening import is_query

        for text in ("t", "s.t", '"My table"', 's."a (b)"', "selections"):
            self.assertFalse(is_query(text), text)
        for text in ("SELECT 1", "select'a'", "VALUES(1)", "TABLE t", "(SELECT 1)", "WITH x AS (SELECT 1) TABLE x", "  SELECT\n1"):
            self.assertTrue(is_query(text), text)

    def test_split(self):
        self.assertEqual(sessions.split_name('S."T.""x"'), ["s", 'T."x'])
        for bad in ("", "a.b.c", "a.", ".a", 'a"b', "a b"):
            with self.assertRaises(pg_turbine.TurbineError, msg=bad):
                sessions.split_name(bad)


def main():
    suite = unittest.TestSuite()
    for case in CASES:
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    for name in sorted(skipped):
        print(f"skipped: {name} is not importable")
    for test, why in result.skipped:
        print(f"skipped: {test}: {why}")
    failed = {str(getattr(test, "test_case", test)) for test, _ in result.failures + result.errors}
    print(f"{result.testsRun - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


CASES = [Formats, Matrix, Lifetime, Refusals, Gpu, Types, Names, python_statements.Statements, python_statements.Whole]

if __name__ == "__main__":
    sys.exit(main())
