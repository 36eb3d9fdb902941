"""postgres_values.py - edge values of PostgreSQL's types, and what a file must hold of a table by the server's word.

Owns: a table with the least, greatest and oddest values of every type that has a form in files, and for each type the
expression whose text says exactly what the value is, in the form of file_readers.py.
Must never: take a value from anywhere but the server.
Used by: pg2arrow.py, to_file.py, write_files.py.
"""

import decimal
import json
import re
import struct

from arrow_columns import INTERVAL

# Arrow has decimals of up to so many digits; numerics of more are texts.
MOST_DIGITS = 76


def numerics(precision, scale):
    """The greatest and the least number of a type, the smallest ones, and zero."""
    greatest = decimal.Decimal("9" * precision).scaleb(-scale, decimal.Context(prec=100))
    smallest = decimal.Decimal(1).scaleb(-scale)
    return [f"{sign}{number:f}" for number in (greatest, smallest) for sign in ("", "-")] + ["0"]


BYTES = "\\x" + bytes(range(256)).hex()
MOMENTS = ["4714-11-24 00:00:00 BC", "0001-12-31 23:59:59.999999 BC", "0001-01-01", "1969-12-31 23:59:59.999999", "1970-01-01",
           "1970-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999", "10000-01-01", "294246-12-31 23:59:59.999999"]
ZONED = [moment.replace(" BC", "+00 BC") if "BC" in moment else moment + "+00" for moment in MOMENTS]
# Type: values as text. `*N` behind one repeats it.
EDGES = {
    "boolean": ["true", "false"], "smallint": ["-32768", "0", "32767"], "integer": ["-2147483648", "-1", "2147483647"],
    "bigint": ["-9223372036854775808", "-1", "9223372036854775807"], "oid": ["0", "2147483648", "4294967295"],
    "real": ["-Infinity", "-3.4028235e38", "-0", "1e-45", "1.1754944e-38", "0.1", "3.4028235e38", "Infinity", "NaN"],
    "double precision": ["-Infinity", "-1.7976931348623157e308", "-0", "5e-324", "2.2250738585072014e-308", "0.1",
                         "1.7976931348623157e308", "Infinity", "NaN"],
    **{f"numeric({precision},{scale})": numerics(precision, scale) for precision, scale in (
        (1, 0), (9, 2), (10, 2), (18, 9), (19, 0), (38, 0), (38, 10), (38, 38), (39, 1), (76, 30), (76, 76), (77, 2), (5, -3), (3, 7))},
    "numeric": ["0.00", "-1e-40", "12345678901234567890.50", "1e100", "NaN", "Infinity"],
    "text": ["", " ", "a", "€ 漢字 🙂", "\U0010ffff", "\x01\t\r\n", "NULL", "quote \" ' \\", "é*300000", "x*65536"],
    "varchar(20)": ["", "ä" * 20], "char(9)": ["", "ä 漢"], "name": ["", "n" * 63], "json": ["null", '{"a" :  [1, "\\u00e9"]}'],
    "jsonb": ["null", '{"b": 1e3, "a": "é"}'], "bytea": ["\\x", "\\x00", BYTES, "\\x" + "ab" * 70000],
    "date": ["4714-11-24 BC", "0001-12-31 BC", "0001-01-01", "1969-12-31", "1970-01-01", "9999-12-31", "10000-01-01", "5874897-12-31"],
    "time": ["00:00", "00:00:00.000001", "12:00", "23:59:59.999999"], "timestamp": MOMENTS, "timestamptz": ZONED,
    "interval": ["0", "-178956970 years -8 months", "178956970 years 7 months", "2147483647 days", "-2147483648 days",
                 "2562047:47:16.854775", "-2562047:47:16.854775", "1 mon -1 day 00:00:00.000001"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "00112233-4455-6677-8899-aabbccddeeff"],
    "timetz": ["00:00:00+15:59", "23:59:59.999999-15:59"], "bit(5)": ["00000", "11111"],
    "inet": ["10.0.0.1", "10.0.0.1/8", "ffff::1", "ffff::1/64"],
    "int4range": ["empty", "(,)", "[-2147483648,2147483646]"], "point": ["(1,-0)"],
    "integer[]": ["{}", "{NULL}", "{-2147483648,NULL,2147483647}"], "bigint[]": ["{}", "{9223372036854775807,-9223372036854775808}"],
    "boolean[]": ["{t,NULL,f}", "{}"], "real[]": ["{NaN,-0,3.4028235e38}"], "double precision[]": ["{NaN,-Infinity,-0,5e-324}", "{}"],
    "numeric(38,10)[]": ["{1.5,NULL,-9999999999999999999999999999.9999999999}"], "numeric[]": ["{1.50,NULL,1e50}"],
    "text[]": ['{"",NULL,"NULL","a,b","\\""}', "{}"], "varchar(5)[]": ["{äöü€漢}"], "bytea[]": ['{"\\\\x","\\\\x00ff",NULL}'],
    "date[]": ["{4714-11-24 BC,NULL,5874897-12-31}"], "time[]": ["{00:00,NULL,23:59:59.999999}"],
    "timestamp[]": ['{"4714-11-24 00:00:00 BC",NULL,"294246-12-31 23:59:59.999999"}'],
    "timestamptz[]": ['{"4714-11-24 00:00:00+00 BC",NULL}', "{}"], "uuid[]": ["{ffffffff-ffff-ffff-ffff-ffffffffffff,NULL}"],
}


def single(text):
    return repr(struct.unpack("f", struct.pack("f", float(text)))[0])


def month_day_nano(text):
    months, days, microseconds = map(int, text.split())
    return (months, days, microseconds * 1000)


MICROSECONDS = ("(extract(epoch FROM {0}) * 1000000)::int8", int)
INTEGER = ("{0}", int)
# A cast to text is not always what the type's output function says: inet's adds the length of the mask.
OUTPUT = ("CASE WHEN {0} IS NOT NULL THEN format('%s', {0}) END", str)
# Type: the expression whose text is read, and how.
FORMS = {
    "boolean": ("{0}", lambda text: text == "true"), "smallint": INTEGER, "integer": INTEGER, "bigint": INTEGER, "oid": INTEGER,
    "real": ("{0}", single), "double precision": ("{0}", lambda text: repr(float(text))), "bytea": ("encode({0}, 'hex')", bytes.fromhex),
    "date": ("({0} - date '1970-01-01')", int), "time without time zone": MICROSECONDS, "timestamp without time zone": MICROSECONDS,
    "timestamp with time zone": MICROSECONDS, "interval": (INTERVAL, month_day_nano),
    "uuid": ("replace({0}::text, '-', '')", bytes.fromhex),
}


def form_of(kind, parquet):
    """(expression, function of its text) of a type by its full name."""
    if kind.endswith("[]"):
        shown, read = form_of(kind[:-2], parquet)
        items = f"SELECT json_agg(({shown.format('item')})::text ORDER BY place) FROM unnest({{0}}) WITH ORDINALITY AS u(item, place)"
        return (f"CASE WHEN {{0}} IS NOT NULL THEN coalesce(({items}), '[]') END",
                lambda text: [None if item is None else read(item) for item in json.loads(text)])
    digits = re.fullmatch(r"numeric\((\d+),(-?\d+)\)", kind)
    if digits and max(int(digits[1]) - min(int(digits[2]), 0), int(digits[2])) <= MOST_DIGITS:
        return "{0}", decimal.Decimal
    length = re.fullmatch(r"character\((\d+)\)", kind)
    if length:
        # Its text has lost the blanks, which are in the file.
        return f"rpad({{0}}::text, {length[1]})", str
    # Parquet has intervals as texts.
    return OUTPUT if parquet and kind == "interval" else FORMS.get(kind, OUTPUT)


def types_of(session, table):
    """[(column, its type's full name)]."""
    return session.query("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped "
                         f"AND attrelid = '{table}'::regclass ORDER BY attnum")


def expected_of(session, table, key, parquet, condition="true"):
    """{column: [exact values]} in the order of the column `key`: what a file of the table must hold."""
    forms = {column: form_of(kind, parquet) for column, kind in types_of(session, table)}
    shown = ", ".join(f'({shown.format(column)})::text' for column, (shown, _) in forms.items())
    rows = session.query(f"SELECT {shown} FROM {table} WHERE {condition} ORDER BY {table}.{key}")
    return {column: [None if row[i] is None else read(row[i]) for row in rows] for i, (column, (_, read)) in enumerate(forms.items())}


def literal(value):
    text, _, times = value.partition("*")
    quoted = "'" + text.replace("'", "''") + "'"
    return f"repeat({quoted}, {times})" if times else quoted


def definition():
    return "n int, " + ", ".join(f"c{i} {kind}" for i, kind in enumerate(EDGES))


def make_edges(session, table="edges"):
    """Creates the table; each column has its values and NULL in turn."""
    session.query(f"CREATE TABLE {table} ({definition()})")
    for n in range(max(map(len, EDGES.values())) + 2):
        values = [literal(values[n % (len(values) + 1)]) if n % (len(values) + 1) < len(values) else "NULL" for values in EDGES.values()]
        listed = ", ".join(f"({value})::{kind}" for value, kind in zip(values, EDGES, strict=True))
        session.query(f"INSERT INTO {table} VALUES ({n}, {listed})")
