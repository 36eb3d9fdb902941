"""exported_files.py - what the tests of pg2arrow and mysql2arrow share: runs, files, checks.

Owns: running a built program with its output captured, and reading the files that it
wrote with pyarrow, which is the oracle for their form: batches, row groups, statistics.
What all engines read of them: file_readers.py.
Must never: interpret values; what they should be, the tests ask the server.
Used by: pg2arrow.py, mysql2arrow.py.
"""

import subprocess
import time

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

import cluster
from file_readers import exact_column, kind_of


class Checks:
    """Counts what passed and failed, and says what failed."""

    def __init__(self, only=""):
        self.passed = self.failed = 0
        self.only = only

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"{name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def equal(self, name, found, expected):
        shown = f"{str(found)[:400]} instead of {str(expected)[:400]}"
        self.check(name, "" if found == expected else shown)

    def run(self, suite):
        """Every method of `suite` that begins with test_."""
        for name in sorted(dir(suite)):
            if name.startswith("test_") and self.only in name:
                started = time.monotonic()
                try:
                    getattr(suite, name)()
                except Exception as error:      # a test that dies must not end the others
                    self.check(name, f"{type(error).__name__}: {error}")
                print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def run_program(program, arguments, seconds=300, **options):
    """A finished run of build/src/export/<program>."""
    command = [str(cluster.BUILD / "src" / "export" / program)] + [str(argument) for argument in arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, **options)


def read_ipc(path):
    """(table, rows of each record batch)."""
    with pyarrow.memory_map(str(path)) as source:
        reader = pyarrow.ipc.open_file(source)
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        table = pyarrow.Table.from_batches(batches, reader.schema)
        table.validate(full=True)
        # The file read as a stream, from behind its magic: no gaps between its messages.
        source.seek(8)
        stream = pyarrow.ipc.open_stream(source)
        streamed = pyarrow.Table.from_batches(list(stream), stream.schema)
        # In the exact form, too: NaN is not equal to itself.
        if not streamed.equals(table) and exact_columns(streamed) != exact_columns(table):
            raise AssertionError("the file is another one when it is read as a stream")
        return table, [batch.num_rows for batch in batches]


def exact_columns(table):
    return [exact_column(column, kind_of(column.type)) for column in table.columns]


def read_parquet(path):
    """(table, rows of each row group)."""
    file = pyarrow.parquet.ParquetFile(path)
    return file.read(), [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]


def statistics(path, column):
    """[(least, greatest)] of each record batch as the field's metadata has them; [] if it has none."""
    metadata = read_ipc(path)[0].schema.field(column).metadata or {}
    if b"min_values" not in metadata:
        return []
    least, greatest = (metadata[key].decode().split(",") for key in (b"min_values", b"max_values"))
    return [tuple(None if value == "null" else int(value) for value in pair) for pair in zip(least, greatest, strict=True)]
