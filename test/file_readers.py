"""file_readers.py - a file as pyarrow, DuckDB and polars read it, value for value.

Owns: how each engine opens a file, the exact form in which values are compared, and the table of what an engine reads
as another type or not at all. pyarrow and polars open both formats themselves. DuckDB opens Parquet itself and gets Arrow
IPC through pyarrow, as its users do.
In the exact form a date is its days since 1970, a time, timestamp or duration its microseconds, an interval (months,
days, nanoseconds), a float the shortest text that denotes it, and everything else what Python has for it. So dates that
Python lacks are compared, too, NaN equals itself, and -0.0 is not 0.0.
Must never: say what a file should hold; its users ask the server.
Used by: pg2arrow.py, mysql2arrow.py, exported_files.py, to_file.py, write_files.py.
"""

import datetime
import os

# polars refuses a file with an interval unless it may read a struct instead. It asks when it is loaded.
os.environ["POLARS_IMPORT_INTERVAL_AS_STRUCT"] = "1"

import duckdb  # noqa: E402
import polars  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
NOTHING = "nothing"
# (engine, format, kind of the column in pyarrow): (the kind that the engine reads, the reason)
READS_AS = {
    ("DuckDB", "arrow", "decimal256"): (NOTHING, "its decimals have up to 38 digits; it refuses the column"),
    ("DuckDB", "parquet", "decimal256"): (NOTHING, "its decimals have up to 38 digits; it reads doubles, which are not exact"),
    ("polars", "arrow", "decimal256"): (NOTHING, "its decimals have up to 38 digits; it refuses the column"),
    ("polars", "parquet", "decimal256"): (NOTHING, "its decimals have up to 38 digits; it refuses the column"),
    ("polars", "arrow", "interval"): ("struct<months: int32, days: int32, nanoseconds: duration>", "it has no intervals"),
    ("DuckDB", "arrow", "duration"): ("interval", "it has no durations"),
    ("DuckDB", "arrow", "halffloat"): (NOTHING, "it has no floats of 16 bits; it refuses the column"),
    ("DuckDB", "arrow", "uuid"): (NOTHING, "it reads uuids, and hands them on as texts"),
    ("polars", "arrow", "uuid"): ("binary", "it has no uuids"),
    ("DuckDB", "arrow", "date64"): ("date", "it has dates of 32 bits only"),
    ("polars", "arrow", "date64"): (NOTHING, "it reads timestamps of milliseconds"),
    ("DuckDB", "parquet", "duration"): ("int64", "nor has Parquet: they are numbers with Arrow's schema beside them"),
}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def open_pyarrow(path, columns=None):
    if path.suffix == ".parquet":
        return pq.read_table(path, columns=columns)
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    return table if columns is None else table.select(columns)


def open_duckdb(path, columns):
    with duckdb.connect() as connection:
        source = f"'{path}'"
        if path.suffix != ".parquet":
            connection.register("file", open_pyarrow(path, columns))
            source = "file"
        return connection.sql(f"SELECT {', '.join(map(quoted, columns))} FROM {source}").to_arrow_table()


def open_polars(path, columns):
    return (polars.read_parquet if path.suffix == ".parquet" else polars.read_ipc)(path, columns=columns).to_arrow()


ENGINES = {"pyarrow": open_pyarrow, "DuckDB": open_duckdb, "polars": open_polars}


def kind_of(arrow):
    """The type without what engines are free to choose: widths of offsets, views, units, dictionaries, names of zones."""
    if isinstance(arrow, pa.BaseExtensionType):
        return "uuid" if arrow.extension_name == "arrow.uuid" else kind_of(arrow.storage_type)
    if pa.types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return f"list<{kind_of(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        return f"struct<{', '.join(f'{field.name}: {kind_of(field.type)}' for field in arrow)}>"
    if pa.types.is_decimal(arrow):
        return f"{'decimal256' if pa.types.is_decimal256(arrow) else 'decimal'}({arrow.precision}, {arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp" if arrow.tz is None else "timestamp with zone"
    for kind, matches in (("date64", pa.types.is_date64), ("date", pa.types.is_date), ("time", pa.types.is_time),
                          ("duration", pa.types.is_duration), ("interval", pa.types.is_interval),
                          ("binary", pa.types.is_fixed_size_binary)):
        if matches(arrow):
            return kind
    return str(arrow).removeprefix("large_").removesuffix("_view")


def reads_as(engine, path, kind):
    """The kind that the engine reads such a column as."""
    for (name, form, lacked), (found, _) in READS_AS.items():
        if (name, form) == (engine, path.suffix[1:]) and lacked in kind:
            return NOTHING if found == NOTHING else kind.replace(lacked, found)
    return kind


def whole(arrow, last):
    """The type in which microseconds and days are integers; before that (`last` false), the one that counts microseconds."""
    if isinstance(arrow, pa.BaseExtensionType):
        return whole(arrow.storage_type, last)
    if pa.types.is_dictionary(arrow):
        return whole(arrow.value_type, last)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return pa.list_(whole(arrow.value_type, last))
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(field.name, whole(field.type, last)) for field in arrow])
    if pa.types.is_date(arrow):
        return pa.int32() if last else pa.date32()
    if pa.types.is_time(arrow):
        return pa.int64() if last else pa.time64("us")
    if pa.types.is_timestamp(arrow) or pa.types.is_duration(arrow):
        return pa.int64() if last else pa.timestamp("us", arrow.tz) if pa.types.is_timestamp(arrow) else pa.duration("us")
    return arrow


def exact_column(column, kind):
    """The exact values of a column that pyarrow calls `kind`, whatever the engine has made of it."""
    if kind == "interval" and pa.types.is_struct(column.type):
        parts = [part.cast(pa.int64()).to_pylist() for part in column.combine_chunks().flatten()]
        return [None if None in value else value for value in zip(*parts, strict=True)]
    if kind == "duration" and pa.types.is_interval(column.type):
        return [value and value.nanoseconds // 1000 for value in column.to_pylist()]
    counted = column.cast(whole(column.type, False))
    counted = counted.cast(whole(counted.type, True))
    if pa.types.is_nested(counted.type) or pa.types.is_floating(counted.type) or pa.types.is_interval(counted.type):
        return [exact(value) for value in counted.to_pylist()]
    return counted.to_pylist()


def exact(value):
    """The exact form of a value of Python's."""
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - EPOCH) // MICROSECOND
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days
    if isinstance(value, datetime.time):
        return (datetime.datetime.combine(EPOCH, value) - EPOCH) // MICROSECOND
    if isinstance(value, datetime.timedelta):
        return value // MICROSECOND
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return {name: exact(item) for name, item in value.items()}
    return tuple(value) if isinstance(value, tuple) else value


def first_difference(expected, found):
    if len(found) != len(expected):
        return f"{len(found)} rows instead of {len(expected)}"
    for row, (right, value) in enumerate(zip(expected, found, strict=True)):
        if value != right:
            return f"row {row}: {str(value)[:200]} instead of {str(right)[:200]}"
    return None


def compare(checks, name, path, key, expected):
    """Every engine must read `expected`, {column: [exact values]}, from the file, in the order of the column `key` if there is one."""
    schema = open_pyarrow(path).schema
    checks.equal(f"{name}: columns", sorted(schema.names), sorted(expected))
    kinds = {column: kind_of(schema.field(column).type) for column in expected}
    for engine, opened in ENGINES.items():
        wanted = {column: reads_as(engine, path, kind) for column, kind in kinds.items()}
        wanted = {column: kind for column, kind in wanted.items() if kind != NOTHING}
        try:
            table = opened(path, list(wanted))
        # A panic of polars' is none of Python's own errors.
        except BaseException as error:  # pylint: disable=broad-except
            if isinstance(error, KeyboardInterrupt):
                raise
            checks.check(f"{name}: {engine} opens it", f"{type(error).__name__}: {error}")
            continue
        order = range(table.num_rows)
        if key is not None:
            order = sorted(order, key=table[key].to_pylist().__getitem__)
        for column, kind in wanted.items():
            label = f"{name}: {column}, {engine}"
            found = kind_of(table[column].type)
            checks.check(f"{label}: type", None if found == kind else f"{found} instead of {kind}")
            values = exact_column(table[column], kinds[column])
            checks.check(label, first_difference(expected[column], [values[row] for row in order]))
