"""arrow_columns.py - columns of every Arrow type with random values, and how they look in SQL.

Owns: for each type the PostgreSQL type that it is read as, a generator of values, and what the
server's text of a value must be read as for a comparison with the value that was written. Values
are compared as Python's, so no part of the product takes part in the comparison.
Must never: look at anything that the server returned.
Used by: arrow_fdw.py, write_files.py, postgres_values.py.
"""

import datetime
import decimal
import json
import struct
import uuid

import pyarrow as pa

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
WORDS = ("", "a", "word", "ünïcode ✓", "quote \" ' \\ back", "tab\tand\nline", "{curly,comma}", "x" * 300, "NULL", "𝛼𝛽")
INTERVAL = ("(extract(year FROM {0}) * 12 + extract(month FROM {0}))::int || ' ' || extract(day FROM {0})::int || ' ' || "
            "(extract(hour FROM {0}) * 3600000000 + extract(minute FROM {0}) * 60000000 + extract(microseconds FROM {0}))::bigint")


class Column:
    """`make(rng)` gives a value as pyarrow takes it, `expect` makes of it what `read` makes of the server's text."""

    def __init__(self, name, arrow, sql, make, read, expect=lambda value: value, shown="{0}", in_parquet=True, imported=None):
        self.name, self.arrow, self.sql, self.make, self.read, self.expect = name, arrow, sql, make, read, expect
        self.shown, self.in_parquet = shown, in_parquet
        # The type that IMPORT FOREIGN SCHEMA chooses.
        self.imported = imported or sql

    def array(self, values):
        return pa.array(values, self.arrow)


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def half(value):
    return struct.unpack("e", struct.pack("e", value))[0]


def word(rng):
    return rng.choice(WORDS) + (str(rng.randrange(1000)) if rng.random() < 0.5 else "")


def octets(rng):
    return bytes(rng.randrange(256) for _ in range(rng.choice((0, 1, 5, 40))))


def integer(bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return lambda rng: rng.choice((low, high, 0, rng.randint(low, high), rng.randint(low // 1000, high // 1000)))


def number(precision, scale):
    def make(rng):
        digits = rng.choice((0, 1, 10 ** precision - 1, rng.randrange(10 ** precision), rng.randrange(10 ** min(precision, 5))))
        return decimal.Decimal(rng.choice((-1, 1)) * digits).scaleb(-scale, decimal.Context(prec=80))
    return make


def exact(text):
    return decimal.Context(prec=80).create_decimal(text)


def day(rng):
    return datetime.date(1, 1, 1) + datetime.timedelta(days=rng.choice((0, 730000, 3652058, rng.randrange(3652058))))


def moment(step_us):
    def make(rng):
        start = datetime.datetime(1700, 1, 1)
        return start + datetime.timedelta(microseconds=rng.randrange(550 * 365 * 86400 * 1000000) // step_us * step_us)
    return make


def with_zone(make):
    return lambda rng: make(rng).replace(tzinfo=UTC)


def clock(step_us):
    def make(rng):
        microseconds = rng.choice((0, 86399999999, rng.randrange(86400000000))) // step_us * step_us
        return (EPOCH + datetime.timedelta(microseconds=microseconds)).time()
    return make


def read_zoned(text):
    return datetime.datetime.fromisoformat(text.replace("+00", "+00:00"))


def read_interval(text):
    return tuple(int(part) for part in text.split())


def nullable(make):
    return lambda rng: None if rng.random() < 0.2 else make(rng)


def listed(make, most=5):
    return lambda rng: [make(rng) for _ in range(rng.randrange(most))]


def matrix(rng):
    width = rng.randrange(1, 4)
    return [[rng.randrange(100) for _ in range(width)] for _ in range(rng.randrange(1, 4))]


def record(rng):
    return {"x": rng.choice((None, rng.randrange(-1000, 1000))), "y": rng.choice((None, word(rng)))}


def pairs(rng):
    keys = rng.sample(("a", "b", "c", "ü"), rng.randrange(4))
    return [(key, rng.choice((None, rng.randrange(100)))) for key in keys]


MIXED = [("flag", pa.bool_()), ("half", pa.float16()), ("single", pa.float32()), ("far", pa.float64()), ("big", pa.uint64()),
         ("money", pa.decimal128(30, 3)), ("day", pa.date32()), ("clock", pa.time64("us")), ("at", pa.timestamp("ms")),
         ("bytes", pa.binary()), ("code", pa.large_string())]


def mixed(rng):
    return {"flag": rng.random() < 0.5, "half": half(rng.uniform(-9, 9)), "single": single(rng.random()), "far": rng.gauss(0, 1e9),
            "big": rng.choice((2 ** 64 - 1, 7)), "money": number(30, 3)(rng), "day": day(rng), "clock": clock(1)(rng),
            "at": moment(1000)(rng), "bytes": octets(rng), "code": rng.choice(("x", None))}


def read_mixed(text):
    value = json.loads(text)
    return {**value, "half": half(value["half"]), "single": single(value["single"])}


def expect_mixed(value):
    return {**value, "money": float(value["money"]), "day": value["day"].isoformat(), "clock": value["clock"].isoformat("microseconds"),
            "at": value["at"].isoformat(" ", "milliseconds"), "bytes": "\\x" + value["bytes"].hex()}


def columns():
    """All of them; `id` numbers the rows."""
    int64_us = 1
    rows = [Column(f"{'' if signed else 'u'}int{bits}", arrow, sql, integer(bits, signed), int) for bits, signed, arrow, sql in (
        (8, True, pa.int8(), "smallint"), (16, True, pa.int16(), "smallint"), (32, True, pa.int32(), "integer"),
        (64, True, pa.int64(), "bigint"), (8, False, pa.uint8(), "smallint"), (16, False, pa.uint16(), "integer"),
        (32, False, pa.uint32(), "bigint"), (64, False, pa.uint64(), "numeric(20,0)"))]
    rows += [
        Column("bool", pa.bool_(), "boolean", lambda rng: rng.random() < 0.5, lambda text: text == "t"),
        Column("int_as_numeric", pa.int64(), "numeric", integer(64, True), int, imported="bigint"),
        Column("small_as_big", pa.int8(), "bigint", integer(8, True), int, imported="smallint"),
        Column("float16", pa.float16(), "real", lambda rng: half(rng.uniform(-60000, 60000)), lambda text: half(float(text))),
        Column("float32", pa.float32(), "real", lambda rng: single(rng.choice((0.0, float("inf"), rng.gauss(0, 1e20)))),
               lambda text: single(float(text))),
        Column("float64", pa.float64(), "double precision", lambda rng: rng.choice((float("-inf"), 1e-300, rng.gauss(0, 1))), float),
        Column("float_as_double", pa.float32(), "double precision", lambda rng: single(rng.random()), float, imported="real"),
        Column("decimal32", pa.decimal32(7, 2), "numeric(7,2)", number(7, 2), exact),
        Column("decimal64", pa.decimal64(18, 9), "numeric(18,9)", number(18, 9), exact),
        Column("decimal128", pa.decimal128(38, 5), "numeric(38,5)", number(38, 5), exact),
        Column("decimal128_all", pa.decimal128(38, 38), "numeric(38,38)", number(38, 38), exact),
        Column("decimal256", pa.decimal256(76, 30), "numeric(76,30)", number(76, 30), exact),
        Column("tens", pa.decimal128(5, -3), "numeric(5,-3)", number(5, -3), exact, in_parquet=False),
        Column("text", pa.string(), "text", word, str),
        Column("large_text", pa.large_string(), "text", word, str),
        Column("text_view", pa.string_view(), "text", word, str),
        Column("varchar", pa.string(), "varchar(400)", word, str, imported="text"),
        Column("enumerated", pa.string(), "mood", lambda rng: rng.choice(("sad", "glad")), str, imported="text"),
        Column("json", pa.string(), "jsonb", lambda rng: json.dumps(record(rng)), json.loads, json.loads, imported="text"),
        Column("bytes", pa.binary(), "bytea", octets, lambda text: bytes.fromhex(text[2:])),
        Column("large_bytes", pa.large_binary(), "bytea", octets, lambda text: bytes.fromhex(text[2:])),
        Column("bytes_view", pa.binary_view(), "bytea", octets, lambda text: bytes.fromhex(text[2:])),
        Column("fixed", pa.binary(3), "bytea", lambda rng: rng.randbytes(3), lambda text: bytes.fromhex(text[2:])),
        Column("fixed_char", pa.binary(3), "char(3)", lambda rng: rng.choice((b"abc", b"x y", "aü".encode())),
               lambda text: text.rstrip(), lambda value: value.decode().rstrip(), imported="bytea"),
        Column("uuid", pa.binary(16), "uuid", lambda rng: rng.randbytes(16), lambda text: uuid.UUID(text).bytes, imported="bytea"),
        Column("date32", pa.date32(), "date", day, datetime.date.fromisoformat),
        Column("date64", pa.date64(), "date", day, datetime.date.fromisoformat),
        Column("duration", pa.duration("us"), "interval", lambda rng: datetime.timedelta(microseconds=rng.randrange(-10**15, 10**15)),
               read_interval, lambda value: (0, 0, value // datetime.timedelta(microseconds=int64_us)), INTERVAL, in_parquet=False),
        Column("interval", pa.month_day_nano_interval(), "interval",
               lambda rng: pa.MonthDayNano([rng.randrange(-500, 500), rng.randrange(-99, 99), rng.randrange(-10**12, 10**12) * 1000]),
               read_interval, lambda value: (value.months, value.days, value.nanoseconds // 1000), INTERVAL, in_parquet=False),
        Column("dictionary", pa.dictionary(pa.int8(), pa.string()), "text", lambda rng: rng.choice(WORDS), str),
        Column("numbers_dictionary", pa.dictionary(pa.int32(), pa.int64()), "bigint", lambda rng: rng.randrange(5) << 40, int),
        Column("runs", pa.run_end_encoded(pa.int32(), pa.int32()), "integer", lambda rng: rng.randrange(2), int, in_parquet=False),
        Column("ints", pa.list_(pa.int32()), "integer[]", listed(nullable(integer(32, True))), json.loads, shown="to_json({0})"),
        Column("large_ints", pa.large_list(pa.int64()), "bigint[]", listed(integer(32, True)), json.loads, shown="to_json({0})"),
        Column("three", pa.list_(pa.int16(), 3), "smallint[]", lambda rng: [rng.randrange(99) for _ in range(3)], json.loads,
               shown="to_json({0})"),
        Column("view", pa.list_view(pa.int16()), "smallint[]", listed(integer(16, True)), json.loads, shown="to_json({0})",
               in_parquet=False),
        Column("texts", pa.list_(pa.string()), "text[]", listed(nullable(word)), json.loads, shown="to_json({0})"),
        Column("matrix", pa.list_(pa.list_(pa.int32())), "integer[]", matrix, json.loads, shown="to_json({0})", imported="jsonb"),
        Column("ragged", pa.list_(pa.list_(pa.int32())), "jsonb", listed(nullable(listed(integer(8, True)))), json.loads),
        Column("struct", pa.struct([("x", pa.int32()), ("y", pa.string())]), "pair", record, json.loads, shown="to_json({0})",
               imported="jsonb"),
        Column("struct_json", pa.struct([("x", pa.int32()), ("y", pa.string())]), "jsonb", record, json.loads),
        Column("structs", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string())])), "pair[]", listed(record), json.loads,
               shown="to_json({0})", imported="jsonb"),
        Column("map", pa.map_(pa.string(), pa.int32()), "jsonb", pairs, json.loads, dict),
        Column("entries", pa.map_(pa.string(), pa.int32()), "entry[]", pairs, json.loads,
               lambda value: [{"k": key, "v": item} for key, item in value], "to_json({0})", imported="jsonb"),
        Column("uuid_type", pa.uuid(), "uuid", lambda rng: rng.randbytes(16), lambda text: uuid.UUID(text).bytes),
        Column("json_type", pa.json_(), "jsonb", lambda rng: json.dumps(record(rng)), json.loads, json.loads),
        Column("mixed", pa.struct(MIXED), "jsonb", mixed, read_mixed, expect_mixed),
        Column("map_of_ints", pa.map_(pa.int32(), pa.list_(pa.date32())), "jsonb", lambda rng: [(rng.randrange(9), [day(rng)])], json.loads,
               lambda value: {str(key): [date.isoformat() for date in dates] for key, dates in value}),
        Column("nothing", pa.null(), "text", lambda rng: None, str),
    ]
    for unit, step in (("s", 1000000), ("ms", 1000), ("us", 1), ("ns", 1)):
        width = pa.time32(unit) if step >= 1000 else pa.time64(unit)
        rows.append(Column(f"time_{unit}", width, "time", clock(step), datetime.time.fromisoformat, imported="time without time zone"))
        rows.append(Column(f"timestamp_{unit}", pa.timestamp(unit), "timestamp", moment(step), datetime.datetime.fromisoformat,
                           imported="timestamp without time zone"))
        rows.append(Column(f"timestamptz_{unit}", pa.timestamp(unit, "Europe/Berlin"), "timestamptz", with_zone(moment(step)), read_zoned,
                           imported="timestamp with time zone"))
    return [Column("id", pa.int64(), "bigint", None, int)] + rows


TYPES = """
    CREATE TYPE mood AS ENUM ('sad', 'glad');
    CREATE TYPE pair AS (x int, y text);
    CREATE TYPE entry AS (k text, v int);
"""


def make_values(wanted, rng, rows, nulls):
    """{name: values} of so many rows, a share of them NULL."""
    values = {"id": list(range(rows))}
    for column in wanted:
        if column.name != "id":
            values[column.name] = [None if rng.random() < nulls else column.make(rng) for _ in range(rows)]
    return values


def make_table(wanted, values):
    return pa.table([column.array(values[column.name]) for column in wanted], schema=pa.schema(
        [pa.field(column.name, column.arrow) for column in wanted]))


def select_list(wanted):
    return ", ".join(column.shown.format(f'"{column.name}"') for column in wanted)


def definition(wanted):
    return ", ".join(f'"{column.name}" {column.sql}' for column in wanted)


def first_difference(wanted, values, rows):
    """What is wrong with the server's rows, or None."""
    expected = len(values["id"])
    if len(rows) != expected:
        return f"{len(rows)} rows instead of {expected}"
    for number, row in enumerate(rows):
        for column, text in zip(wanted, row, strict=True):
            value = values[column.name][number]
            found = None if text is None else column.read(text)
            right = None if value is None else column.expect(value)
            if found != right:
                return f"row {number}, column {column.name}: {found!r}, expected {right!r}"
    return None
