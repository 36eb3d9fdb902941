#!/usr/bin/env python3
"""file_values.py - values of files at the edges of their types: exact, or an error, and the same whoever reads them.

For every type and unit the least and greatest value, the limits of PostgreSQL's type and their neighbours, 0, 1 and -1, and
values that the file's type forbids. Each is written to an Arrow file, an Arrow stream and a Parquet file as it is stored. This
program computes what it means. The wrapper's own scan and the engine must give just that, filters must find it (=, <, >; each
value has a batch of its own with statistics), and what no type can hold must be the same error, which names file and column.
Then what has cases of its own: INT96 in nested types and as pyarrow writes it, ENUM, UUID, 32 stored bits of narrow integers.
Must never: take a value from one of the two readers for the other's oracle.
Called by: make test-file-values, test/run_all.py, with the Python of build/python, which has pyarrow and DuckDB.
"""

import argparse
import datetime
import math
import os
import struct
import sys
import uuid
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import parquet_by_hand  # noqa: E402
from cache_bench import Bench  # noqa: E402
from run_sql import CACHED, OFF  # noqa: E402

TIME_STATE, NUMBER_STATE = "22008", "22003"
DAY = 86400 * 10 ** 6                       # microseconds
TO_2000 = 10957 * DAY
LEAST_MOMENT, END_MOMENT = -211813488000000000, 9223371331200000000     # microseconds since 2000
LEAST_DATE, END_DATE = -2451545, 2145031949                              # days since 2000
A_SECOND = {"s": 1, "ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}
FORMATS = ("arrow", "stream", "parquet")
LEAST_INTERVAL = -(1 << 63)                                              # microseconds
COMPARISONS = {"=": lambda a, b: a == b, "<": lambda a, b: a < b, ">": lambda a, b: a > b}


class Kind:
    """Values of one type of a file, as they are stored, read as one type of PostgreSQL's.

    `meaning(raw)`: what orders as PostgreSQL's values do, None if there is none; `shown`: an expression of the value `v` whose
    text is `text(meaning)`. `in_engine`: the engine reads it, and does not leave it to PostgreSQL."""

    def __init__(self, name, arrow, sql, raws, meaning, shown="v::text", text=str, state=TIME_STATE, in_engine=True, formats=FORMATS):
        self.name, self.arrow, self.sql, self.raws, self.meaning = name, arrow, sql, list(dict.fromkeys(raws)), meaning
        self.shown, self.text, self.state, self.in_engine, self.formats = shown, text, state, in_engine, formats

    def possible(self):
        return [raw for raw in self.raws if self.meaning(raw) is not None]

    def impossible(self):
        return [raw for raw in self.raws if self.meaning(raw) is None]

    def array(self, raws):
        if self.arrow is None:
            return raws
        width = self.arrow.bit_width // 8
        if pa.types.is_floating(self.arrow):
            data = struct.pack("<" + {2: "e", 4: "f", 8: "d"}[width] * len(raws), *raws)
        else:
            data = b"".join((raw % (1 << 8 * width)).to_bytes(width, "little") for raw in raws)
        return pa.Array.from_buffers(self.arrow, len(raws), [None, pa.py_buffer(data)])


def integers(bits, signed=True):
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def edges(bits, *limits, signed=True):
    """Of the type, around the limits, and around zero."""
    low, high = integers(bits, signed)
    found = [low, low + 1, high - 1, high, -1, 0, 1] + [limit + step for limit in limits for step in (-1, 0, 1)]
    return [raw for raw in found if low <= raw <= high]


def within(low, end):
    return lambda value: value if value is not None and low <= value < end else None


def sent(value):
    """As the type's send function has it."""
    return struct.pack(">q", value).hex()


def moment_kinds():
    """Timestamps and times of day, by unit."""
    for unit, second in A_SECOND.items():
        def microseconds(raw, second=second):
            return raw * 10 ** 6 // second

        def moment(raw, second=second):
            return within(LEAST_MOMENT, END_MOMENT)(raw * 10 ** 6 // second - TO_2000)

        limits = [(moment_limit + TO_2000) * second // 10 ** 6 for moment_limit in (LEAST_MOMENT, END_MOMENT, 0)]
        raws = edges(64, *limits) + ([-999, -1000, -1001, 999, 1000] if unit == "ns" else [])
        formats = FORMATS if unit != "s" else FORMATS[:2]        # Parquet has no seconds
        for zone, sql in (("", "timestamp"), ("UTC", "timestamptz")):
            yield Kind(f"timestamp[{unit}{zone and ', UTC'}]", pa.timestamp(unit, zone or None), sql, raws, moment,
                       f"encode({sql}_send(v), 'hex')", sent, formats=formats)
        width = 32 if unit in ("s", "ms") else 64
        yield Kind(f"time[{unit}]", (pa.time32 if width == 32 else pa.time64)(unit), "time",
                   edges(width, 86400 * second),
                   lambda raw, micros=microseconds, second=second: micros(raw) if 0 <= raw < 86400 * second + (second < 10 ** 9) else None,
                   "encode(time_send(v), 'hex')", sent, in_engine=False, formats=formats)
        span = (1 << 63) * second // 10 ** 6
        yield Kind(f"duration[{unit}]", pa.duration(unit), "interval", edges(64, *(limit for limit in (span, -span) if unit != "ns")),
                   lambda raw, micros=microseconds: within(-(1 << 63), 1 << 63)(micros(raw)),
                   "encode(interval_send(v), 'hex')", lambda value: sent(value) + "00" * 8, in_engine=False)


def day_kinds():
    to_2000, a_day = 10957, 86400 * 1000
    yield Kind("date32", pa.date32(), "date", edges(32, LEAST_DATE + to_2000, END_DATE + to_2000, to_2000),
               lambda raw: within(LEAST_DATE, END_DATE)(raw - to_2000), "v - date '2000-01-01'")
    whole = [day * a_day for limit in (LEAST_DATE + to_2000, END_DATE + to_2000, 0) for day in (limit - 1, limit, limit + 1)]
    yield Kind("date64", pa.date64(), "date", whole + edges(64, a_day),
               lambda raw: within(LEAST_DATE, END_DATE)(raw // a_day - to_2000) if raw % a_day == 0 else None,
               "v - date '2000-01-01'", formats=FORMATS[:2])       # Parquet's dates are days


def integer_kinds():
    types = {"smallint": 16, "integer": 32, "bigint": 64}
    for bits in (8, 16, 32, 64):
        for signed in (True, False):
            arrow = getattr(pa, f"{'' if signed else 'u'}int{bits}")()
            for sql, width in types.items():
                low, high = integers(width)
                raws = edges(bits, *(limit for limit in (low, high) if width < bits + (not signed)), signed=signed)
                yield Kind(f"{arrow} as {sql}", arrow, sql, raws, within(low, high + 1), state=NUMBER_STATE,
                           in_engine=bits + (not signed) <= width or (bits == width and not signed and bits == 64))
            yield Kind(f"{arrow} as numeric", arrow, "numeric(20,0)", edges(bits, signed=signed), lambda raw: raw, in_engine=False)


def decimal_text(scale):
    def text(value):
        digits = str(abs(value.numerator * (10 ** scale // value.denominator))).rjust(scale + 1, "0")
        return ("-" if value < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)
    return text


def decimal_kinds():
    """(type, precision, scale of the file; declared digits and scale; whether the engine reads it)."""
    for make, digits, scale, wanted, wanted_scale, in_engine in (
            (pa.decimal32, 4, 2, 4, 2, True), (pa.decimal32, 4, 2, 10, 4, True), (pa.decimal32, 9, 0, 9, 0, True),
            (pa.decimal64, 4, 2, 10, 2, True), (pa.decimal64, 18, 9, 18, 9, True), (pa.decimal64, 18, 9, 38, 9, False),
            (pa.decimal128, 4, 2, 4, 2, True), (pa.decimal128, 4, 2, 10, 4, True), (pa.decimal128, 4, 2, 3, 2, True),
            (pa.decimal128, 18, 2, 18, 2, True), (pa.decimal128, 38, 0, 38, 0, True), (pa.decimal128, 38, 37, 38, 37, True),
            (pa.decimal128, 30, 2, 20, 2, True), (pa.decimal256, 20, 2, 20, 2, True), (pa.decimal256, 76, 10, 76, 10, False)):
        arrow = make(digits, scale)

        def meaning(raw, digits=digits, scale=scale, wanted=wanted, wanted_scale=wanted_scale):
            value = Fraction(raw, 10 ** scale)
            fits = abs(raw) < 10 ** digits and abs(value) * 10 ** wanted_scale < 10 ** wanted
            return value if fits else None
        limits = {sign * 10 ** places for sign in (1, -1) for places in (digits, min(digits, wanted - wanted_scale + scale))}
        raws = [raw for raw in (*(limit + step for limit in limits for step in (-1, 0, 1)), -1, 0, 1)
                if -(1 << arrow.bit_width - 1) <= raw < 1 << arrow.bit_width - 1]
        # In Parquet a decimal has as many bytes as its digits need.
        stored = next(count for count in range(1, 33) if 10 ** digits <= 1 << 8 * count - 1)
        in_parquet = arrow.bit_width >= 128 and all(-(1 << 8 * stored - 1) <= raw < 1 << 8 * stored - 1 for raw in raws)
        yield Kind(f"{arrow} as numeric({wanted},{wanted_scale})", arrow, f"numeric({wanted},{wanted_scale})", raws, meaning,
                   text=decimal_text(wanted_scale), state=NUMBER_STATE, in_engine=in_engine,
                   formats=FORMATS if in_parquet else FORMATS[:2])


class Number(float):
    """As PostgreSQL orders numbers: NaN equals itself and is the greatest."""

    def _key(self):
        return (1, 0.0) if math.isnan(self) else (0, float(self))

    def __eq__(self, other):
        return self._key() == other._key()

    def __lt__(self, other):
        return self._key() < other._key()

    def __gt__(self, other):
        return self._key() > other._key()

    __hash__ = float.__hash__


def float_kinds():
    for arrow, code, sqls in ((pa.float16(), "e", ("real", "double precision")), (pa.float32(), "f", ("real", "double precision")),
                              (pa.float64(), "d", ("double precision",))):
        size = struct.calcsize(code)
        greatest = {2: 65504.0, 4: (2 - 2 ** -23) * 2.0 ** 127, 8: sys.float_info.max}[size]
        least = {2: 2.0 ** -24, 4: 2.0 ** -149, 8: 2.0 ** -1074}[size]
        raws = [greatest, -greatest, least, -least, 1.0, -1.0, 0.0, 1.5, math.inf, -math.inf, math.nan]
        for sql in sqls:
            yield Kind(f"{arrow} as {sql}", arrow, sql, raws, Number, "encode(float8send(v), 'hex')",
                       lambda value: struct.pack(">d", value).hex())


def int96(day, nanoseconds):
    return struct.pack("<qI", nanoseconds, day)


def int96_meaning(raw):
    nanoseconds, day = struct.unpack("<qI", raw)
    if abs(nanoseconds) >= DAY * 1000:
        return None
    return within(LEAST_MOMENT, END_MOMENT)((day - 2451545) * DAY + nanoseconds // 1000)


def int96_kind():
    noon, last = DAY * 500, DAY * 1000 - 1
    days = (0, 1, 2440587, 2440588, 2440589, 2451545, 5373484,      # 9999-12-31
            2440588 - 106752, 2440588 + 106751, 2440588 + 106752,    # what nanoseconds of 64 bits count to, and the next
            109203526, 109203527, 109203528, 109203529, 109203530, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1)
    parts = (0, 1, 999, 1000, -1, -1000, noon, -noon, last, -last, last + 1, -last - 1, 2 ** 63 - 1, -2 ** 63)
    raws = [int96(day, part) for day in days for part in (0, noon, -noon, last)] + [int96(2440588, part) for part in parts]
    return Kind("INT96", None, "timestamp", raws, int96_meaning, "encode(timestamp_send(v), 'hex')", sent,
                formats=("parquet",))


def narrow_kinds():
    """Parquet has 32 bits for integers of 8 and 16."""
    for converted, bits, signed, sql in ((parquet_by_hand.INT_8, 8, True, "smallint"), (parquet_by_hand.UINT_8, 8, False, "smallint"),
                                         (parquet_by_hand.INT_16, 16, True, "smallint"), (parquet_by_hand.UINT_16, 16, False, "integer")):
        low, high = integers(bits, signed)
        kind = Kind(f"{'' if signed else 'U'}INT_{bits} of 32 bits", None, sql,
                    edges(32, low, high, *integers(16), 256), within(low, high + 1), state=NUMBER_STATE, formats=("parquet",))
        kind.converted = converted
        yield kind


def kinds():
    for some in (moment_kinds, day_kinds, integer_kinds, decimal_kinds, float_kinds, narrow_kinds):
        yield from some()
    yield int96_kind()


class Files:
    def __init__(self, server):
        self.folder = server.directory / "files"
        self.folder.mkdir()
        os.chmod(self.folder, 0o755)

    def write(self, kind, raws, form):
        """Each value a batch, with statistics where the format has some of it; None: the format's library refuses them."""
        path = self.folder / f"values.{form}"
        path.unlink(missing_ok=True)
        if kind.arrow is None:
            return self.write_by_hand(kind, raws, path)
        field = pa.field("v", kind.arrow)
        if form != "parquet" and not pa.types.is_floating(kind.arrow):
            listed = ",".join(map(str, raws))
            field = field.with_metadata({"min_values": listed, "max_values": listed})
        table = pa.table([pa.array(range(len(raws)), pa.int32()), kind.array(raws)], schema=pa.schema([("n", pa.int32()), field]))
        if form == "parquet":
            pq.write_table(table, path, row_group_size=1)
        else:
            with (pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream)(str(path), table.schema) as writer:
                writer.write_table(table, max_chunksize=1)
        os.chmod(path, 0o644)
        return path

    @staticmethod
    def write_by_hand(kind, raws, path):
        numbers = [struct.pack("<i", n) for n in range(len(raws))]
        if isinstance(raws[0], bytes):
            values = parquet_by_hand.Column("v", parquet_by_hand.INT96, raws)
        else:
            values = parquet_by_hand.Column("v", parquet_by_hand.INT32, [struct.pack("<i", raw) for raw in raws], kind.converted, True)
        return parquet_by_hand.write(path, [parquet_by_hand.Column("n", parquet_by_hand.INT32, numbers), values], 1)


def declare(session, sql, path):
    session.query(f"DROP FOREIGN TABLE IF EXISTS t; CREATE FOREIGN TABLE t (n int, v {sql}) SERVER arrow_fdw OPTIONS (file '{path}')")


def fallbacks(session):
    return sum(int(value) for name, value in session.query("SELECT * FROM turbine.stat_queries") if name.startswith("fallback"))


def uses_engine(session, sql):
    return "Gpu" in "\n".join(row[0] for row in session.query(f"EXPLAIN (COSTS OFF) {sql}"))


def good_values(bench, kind, name, sessions):
    """What both read, and what filters find."""
    raws = kind.possible()
    wanted = [kind.meaning(raw) for raw in raws]
    texts = [(str(n), kind.text(value)) for n, value in enumerate(wanted)]
    plain, forced = sessions
    bench.equal(f"{name}: the wrapper's scan", plain.query(f"SELECT n, {kind.shown} FROM t ORDER BY n"), texts)
    grouped = f"SELECT n, {kind.shown} FROM (SELECT n, min(v) AS v FROM t GROUP BY n) s ORDER BY n"
    before = fallbacks(forced)
    bench.equal(f"{name}: the engine", forced.query(grouped), texts)
    # What the file holds is no matter of the plan.
    bench.equal(f"{name}: planned for the engine", uses_engine(forced, grouped), kind.sql not in ("time", "interval"))
    # PostgreSQL's own text of the least interval is not read back.
    literals = [row[0] for row, value in zip(plain.query("SELECT v::text FROM t ORDER BY n"), wanted,
                                                      strict=True)
                if kind.sql != "interval" or value != LEAST_INTERVAL]
    sought = [value for value in wanted if kind.sql != "interval" or value != LEAST_INTERVAL]
    for operator, compare in COMPARISONS.items():
        counts = [f"(SELECT count(*) FROM t WHERE v {operator} '{literal}'::{kind.sql})" for literal in literals]
        right = ",".join(str(sum(compare(value, other) for value in wanted)) for other in sought)
        for reader, session in (("the wrapper's scan", plain), ("the engine", forced)):
            found = session.value(f"SELECT concat_ws(',', {', '.join(counts)})")
            bench.equal(f"{name}: {operator} each, {reader}", found, right)
    if kind.in_engine:
        bench.equal(f"{name}: fallbacks", fallbacks(forced) - before, 0)


def impossible_value(bench, kind, name, path, sessions):
    """Both say the same of it."""
    for reader, session in zip(("the wrapper's scan", "the engine"), sessions, strict=True):
        outcome = session.run("SELECT n, max(v) FROM t GROUP BY n")
        bench.equal(f"{name}, {reader}: {outcome.rows}", outcome.sqlstate, kind.state)
        if outcome.error:
            said = " ".join(outcome.error.fields.get(field, "") for field in "MDW")
            bench.equal(f"{name}: names column and file: {said}", ('"v"' in said, path.name in said), (True, True))


def values(bench, server, files, only):
    with server.connect(settings={**OFF, "timezone": "UTC", "datestyle": "ISO"}) as plain, \
            server.connect(settings={**CACHED, "pg_turbine.enable_cache": "off", "timezone": "UTC", "datestyle": "ISO"}) as forced:
        for kind in kinds():
            for form in kind.formats if only in kind.name else ():
                name = f"{kind.name}, {form}"
                declare(plain, kind.sql, files.write(kind, kind.possible(), form))
                good_values(bench, kind, name, (plain, forced))
                for raw in kind.impossible():
                    path = files.write(kind, [kind.possible()[0], raw], form)
                    declare(plain, kind.sql, path)
                    impossible_value(bench, kind, f"{name}, {raw}", path, (plain, forced))


def imported(session, path):
    """{column: the type that IMPORT FOREIGN SCHEMA gives it}; the table is `f`."""
    session.query(f"DROP FOREIGN TABLE IF EXISTS f; IMPORT FOREIGN SCHEMA f FROM SERVER arrow_fdw INTO public OPTIONS (file '{path}')")
    return dict(session.query("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                              "WHERE attrelid = 'f'::regclass AND attnum > 0 ORDER BY attnum"))


def same(bench, name, sessions, sql, rows):
    for reader, session in zip(("the wrapper's scan", "the engine"), sessions, strict=True):
        outcome = session.run(sql)
        bench.equal(f"{name}, {reader}: {outcome.error or ''}", outcome.rows, rows)


MOMENTS = [datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), datetime.datetime(1, 1, 1), datetime.datetime(1677, 9, 21),
           datetime.datetime(2262, 4, 12), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(1960, 2, 29, 12),
           datetime.datetime(2024, 2, 29, 12), None]


def twelve(moment):
    since = moment - datetime.datetime(1970, 1, 1)
    return int96(2440588 + since.days, (since.seconds * 10 ** 6 + since.microseconds) * 1000)


def write_int96(path, table, others):
    """pyarrow's INT96 of other moments, which are then replaced byte by byte: {written: wanted}."""
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, compression="none", use_dictionary=False, write_statistics=False)
    body = path.read_bytes()
    for old, new in others.items():
        assert body.count(twelve(old)) == 1
        body = body.replace(twelve(old), new)
    path.write_bytes(body)
    os.chmod(path, 0o644)


def int96_forms(bench, files, sessions):
    """In pages of dictionaries, with NULLs, in lists and structs, and as jsonb."""
    plain = sessions[0]
    near = [moment for moment in MOMENTS if moment is None or 1677 < moment.year < 2262]
    path = files.folder / "int96.parquet"
    for dictionary in (True, False):
        values_of = near * 300
        pq.write_table(pa.table({"n": pa.array(range(len(values_of)), pa.int32()), "v": pa.array(values_of, pa.timestamp("us"))}), path,
                       use_deprecated_int96_timestamps=True, use_dictionary=dictionary, row_group_size=500)
        os.chmod(path, 0o644)
        bench.equal("INT96 is imported", imported(plain, path), {"n": "integer", "v": "timestamp without time zone"})
        rows = sorted((str(moment), "300") for moment in near if moment) + [(None, "300")]
        same(bench, f"pyarrow's INT96, dictionary {dictionary}", sessions, "SELECT v::text, count(*) FROM f GROUP BY v ORDER BY 1", rows)
    marks = [datetime.datetime(2000, 1, 1) + datetime.timedelta(days=day) for day in range(len(MOMENTS) - 1)]
    others = dict(zip(marks, map(twelve, MOMENTS), strict=False))
    inner = pa.array([{"a": mark} for mark in marks] + [None], pa.struct([("a", pa.timestamp("us"))]))
    for name, column, sql, wanted in (
            ("list", pa.array([marks[:2], None, marks[2:] + [None], []], pa.list_(pa.timestamp("us"))), "timestamp[]",
             [MOMENTS[:2], None, MOMENTS[2:], []]),
            ("struct", inner, "(v).a", [[moment] for moment in MOMENTS])):
        write_int96(path, pa.table({"v": column}), others)
        plain.query("DROP TYPE IF EXISTS pair CASCADE; CREATE TYPE pair AS (a timestamp)")
        plain.query("DROP FOREIGN TABLE IF EXISTS t; CREATE FOREIGN TABLE t (v " + ("pair" if name == "struct" else sql) +
                    f") SERVER arrow_fdw OPTIONS (file '{path}')")
        shown = "ARRAY[(v).a]" if name == "struct" else "v"
        texts = [(None if row is None else "{" + ",".join("NULL" if moment is None else f'"{moment}"' for moment in row) + "}",)
                 for row in wanted]
        same(bench, f"INT96 in a {name}", sessions, f"SELECT {shown}::text FROM t", texts)
        plain.query(f"DROP FOREIGN TABLE t; CREATE FOREIGN TABLE t (v jsonb) SERVER arrow_fdw OPTIONS (file '{path}')")
        found = [row[0] for row in plain.query("SELECT v::text FROM t")]
        bench.check(f"INT96 in a {name} as jsonb", None if "9999-12-31 23:59:59.999999" in found[0] else found[0])
        bench.equal(f"INT96 in a {name} is imported", imported(plain, path),
                    {"v": "jsonb" if name == "struct" else "timestamp without time zone[]"})
        for far, what in ((int96(2 ** 31, 0), "no day"), (int96(2440588, DAY * 1000), "no time")):
            write_int96(path, pa.table({"v": column}), {**others, marks[3]: far})
            same(bench, f"INT96 in a {name}, {what}", sessions, "SELECT count(*) FROM f WHERE v IS NULL AND false", [("0",)])
            for session in sessions:
                bench.fails(f"INT96 in a {name}, {what}", session, "SELECT v FROM f", TIME_STATE)


def enums(bench, files, sessions):
    """UTF-8 by definition: text, whatever is made of texts, and filters of them."""
    plain = sessions[0]
    plain.query("CREATE TYPE color AS ENUM ('RED', 'GREEN', '')")
    texts = [b"RED", None, b"GREEN", b"", b"RED"]
    for converted, name, kind in ((parquet_by_hand.ENUM, "ENUM", "text"), (parquet_by_hand.UTF8, "UTF8", "text"),
                                  (parquet_by_hand.JSON, "JSON", "jsonb")):
        stored = [b'"' + text + b'"' if text is not None and name == "JSON" else text for text in texts]
        numbers = parquet_by_hand.Column("n", parquet_by_hand.INT32, [struct.pack("<i", n) for n in range(len(texts))])
        path = parquet_by_hand.write(files.folder / "enum.parquet",
                                     [numbers, parquet_by_hand.Column("v", parquet_by_hand.BYTE_ARRAY, stored, converted, True)], 2)
        bench.equal(f"{name} is imported", imported(plain, path)["v"], kind)
        for sql in ("text", "varchar", "varchar(5)", "color") if name != "JSON" else ("text", "json", "jsonb"):
            declare(plain, sql, path)
            same(bench, f"{name} as {sql}", sessions, "SELECT n, v::text FROM t ORDER BY n",
                 [(str(n), None if text is None else text.decode()) for n, text in enumerate(stored)])
        if name == "JSON":
            continue
        for sql in ("text", "varchar", "color"):
            declare(plain, sql, path)
            for operator, wanted in (("= 'RED'", ["0", "4"]), ("IN ('GREEN', '')", ["2", "3"]), ("<> 'RED'", ["2", "3"])):
                same(bench, f"{name} as {sql} {operator}", sessions, f"SELECT n FROM t WHERE v {operator} ORDER BY n",
                     [(n,) for n in wanted])
        declare(plain, "text", path)
        sql = "SELECT v, count(*) FROM t GROUP BY v ORDER BY v"
        same(bench, f"{name}, grouped", sessions, sql, [("", "1"), ("GREEN", "1"), ("RED", "2"), (None, "1")])
        bench.equal(f"{name} is the engine's", uses_engine(sessions[1], sql), True)
    broken = parquet_by_hand.Column("v", parquet_by_hand.BYTE_ARRAY, [b"\xff"], parquet_by_hand.ENUM)
    declare(plain, "text", parquet_by_hand.write(files.folder / "enum.parquet",
                                                 [parquet_by_hand.Column("n", parquet_by_hand.INT32, [bytes(4)]), broken], 1))
    for session in sessions:
        bench.fails("ENUM that is not UTF-8", session, "SELECT v, count(*) FROM t GROUP BY v", "22021")


def uuids(bench, files, sessions):
    """A UUID is one whether or not an Arrow schema lies in the file, too."""
    plain = sessions[0]
    some = [uuid.UUID(int=number) for number in (0, 2 ** 128 - 1, 0x00112233445566778899aabbccddeeff)]
    table = pa.table({"v": pa.array([value.bytes for value in some], pa.uuid())})

    def by_duckdb(path):
        listed = ", ".join(f"('{value}'::uuid)" for value in some)
        duckdb.sql(f"COPY (SELECT * FROM (VALUES {listed}) s(v)) TO '{path}' (FORMAT parquet)")

    for name, write in (("DuckDB's", by_duckdb), ("pyarrow's", lambda path: pq.write_table(table, path)),
                        ("pyarrow's without its schema", lambda path: pq.write_table(table, path, store_schema=False))):
        path = files.folder / "uuid.parquet"
        write(path)
        os.chmod(path, 0o644)
        bench.equal(f"{name} UUID is imported", imported(plain, path), {"v": "uuid"})
        same(bench, f"{name} UUID", sessions, "SELECT v FROM f", [(str(value),) for value in some])
        plain.query(f"DROP FOREIGN TABLE IF EXISTS t; CREATE FOREIGN TABLE t (v bytea) SERVER arrow_fdw OPTIONS (file '{path}')")
        same(bench, f"{name} UUID as bytea", sessions, "SELECT v FROM t", [("\\x" + value.hex,) for value in some])


def jsonb_times(bench, files, sessions):
    """What has no text is an error in JSON, too."""
    plain = sessions[0]
    for arrow, raws in ((pa.timestamp("s"), (2 ** 62, -2 ** 62)), (pa.date32(), (2 ** 31 - 1,)), (pa.date64(), (1,)),
                        (pa.time32("s"), (86401, -1)), (pa.time64("ns"), (2 ** 62,))):
        for raw in raws:
            kind = Kind(str(arrow), arrow, "jsonb", [raw], lambda value: value)
            path = files.write(kind, [0, raw], "arrow")
            declare(plain, "jsonb", path)
            for session in sessions:
                bench.fails(f"{arrow} {raw} as jsonb", session, "SELECT v FROM t", TIME_STATE)


def forms(bench, server, files, only):
    if only:
        return
    with server.connect(settings={**OFF, "timezone": "UTC", "datestyle": "ISO"}) as plain, \
            server.connect(settings={**CACHED, "timezone": "UTC", "datestyle": "ISO"}) as forced:
        for case in (int96_forms, enums, uuids, jsonb_times):
            case(bench, files, (plain, forced))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="types whose names contain this")
    options = parser.parse_args()
    bench = Bench()
    with cluster.Cluster("file-values") as server:
        files = Files(server)
        for case in (forms, values):
            case(bench, server, files, options.only)
            print(f"  {case.__name__}: done", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
