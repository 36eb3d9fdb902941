"""Runs every row of functions.def over edge values, in PostgreSQL and here.

Here is a shared library of all bodies, called through ctypes; PostgreSQL is
whatever psql reaches, or a server started for this. A value must be the same
to the last bit and digit. Where PostgreSQL raises, the row must raise; where
only the row raises, PostgreSQL would have been asked instead: counted and
shown, not a failure.
"""
import argparse
import contextlib
import ctypes
import decimal
import itertools
import math
import os
import pwd
import random
import shutil
import struct
import subprocess
import sys
import tempfile

decimal.getcontext().prec = 200
SCALE = 2
MICROS_PER_DAY = 86400 * 10**6


class Int128(ctypes.Structure):
    _fields_ = [('low', ctypes.c_uint64), ('high', ctypes.c_uint64)]


C_TYPES = {'BOOL': ctypes.c_bool, 'INT2': ctypes.c_int16, 'INT4': ctypes.c_int32, 'INT8': ctypes.c_int64,
           'FLOAT4': ctypes.c_float, 'FLOAT8': ctypes.c_double, 'DATE': ctypes.c_int32,
           'TIMESTAMP': ctypes.c_int64, 'TIMESTAMPTZ': ctypes.c_int64, 'NUM64': ctypes.c_int64,
           'NUM128': Int128}
SQL_TYPES = {'BOOL': 'boolean', 'INT2': 'smallint', 'INT4': 'integer', 'INT8': 'bigint', 'FLOAT4': 'real',
             'FLOAT8': 'double precision', 'DATE': 'date', 'TIMESTAMP': 'timestamp',
             'TIMESTAMPTZ': 'timestamptz', 'NUM64': 'numeric', 'NUM128': 'numeric', 'TEXT': 'text',
             'BPCHAR': 'bpchar'}


def integers(bits):
    limit = 2 ** (bits - 1)
    values = [0, 1, -1, 2, -2, 3, 7, 10, 31, 63, limit - 1, limit - 2, -limit, -limit + 1, limit // 2]
    return (values + ([32767, -32768, 32768, 46341] if bits > 16 else []) +
            ([2147483647, -2147483648, 2147483648, 3037000500] if bits > 32 else []))


def floats(single):
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, 10.0, 1 / 3, 100.25, 1e10, -1e10,
              32767.5, 2147483647.0, 2147483648.0, -2147483648.5, math.inf, -math.inf, math.nan]
    values += [1e30, 1e-30, 3e38] if single else [
        1e300, 1e-300, 1.7e308, 5e-324, 9223372036854775807.0, -9223372036854775808.0, 709.5, -740.0, 3.141592653589793, 1e22, 4e5]
    return [struct.unpack('f', struct.pack('f', v))[0] for v in values] if single else values


# Days and microseconds since 2000-01-01; PostgreSQL's text comes from the server itself.
DATES = [0, 1, -1, 58, 59, 60, 365, 366, -36524, -10957, 8000, 7305, -730119, -730120, -2451545, -800000,
         106741034 + 1451, 106751982, 106751983, 2145031948, -2 ** 31, 2 ** 31 - 1]
TIMESTAMPS = [0, 1, -1, 999999, 1000000, -1000001, MICROS_PER_DAY, MICROS_PER_DAY - 1, -MICROS_PER_DAY,
              59 * MICROS_PER_DAY + 3723004005, -36524 * MICROS_PER_DAY + 5, -730120 * MICROS_PER_DAY + 77,
              -800000 * MICROS_PER_DAY - 3, 271828182845904523, -271828182845904523 // 10,
              9223371331199999999, -211813488000000000, -211813487999999999, -2 ** 63, 2 ** 63 - 1]
TEXTS = ['', 'a', 'ab', 'abc', 'aXbXc', 'äbc', 'x€y€z', '   trim  ', 'abcdefgh', 'abcdefghi', 'abcdefghijklmnopqrstuvwxyz0123456789',
         '\U0001f600smile\U0001f600', 'a%b_c', 'back\\slash', 'Abc', 'abd', 'ijkl', 'b', '%', '_', 'ä', '€y']
PATTERNS = ['', '%', '_', '%a%', 'a%', '%c', 'a_c', '_bc', '%_y%z', 'a\\%b%', '%\\_c', 'back\\\\%',
            '%b%X%', 'abc\\', '%\\', '__', '%€_€%', 'a\\bc']
NUMERICS = [0, 1, -1, 49, 50, -50, 51, 149, 150, -150, 100, 12345, -12345, 9999999, 3276749, 3276750, 214748364749, 214748364750,
            -214748364850, 99999999999999999, -99999999999999999]
WIDE_NUMERICS = NUMERICS + [10 ** 18 + 50, -10 ** 20 - 49, 922337203685477580749, 922337203685477580750,
                            10 ** 30 + 7, -10 ** 36 + 1, 3 * 10 ** 19]

VALUES = {'BOOL': [True, False], 'INT2': integers(16), 'INT4': integers(32), 'INT8': integers(64),
          'FLOAT4': floats(True), 'FLOAT8': floats(False), 'DATE': DATES, 'TIMESTAMP': TIMESTAMPS,
          'TIMESTAMPTZ': TIMESTAMPS, 'NUM64': NUMERICS, 'NUM128': WIDE_NUMERICS, 'TEXT': TEXTS,
          'BPCHAR': [t.rstrip(' ') for t in TEXTS]}


# The zone table of UTC, from 1700 to 2400 (turbine/zone.h).
_FIRST, _LAST = -109572 * MICROS_PER_DAY, 146097 * MICROS_PER_DAY
_BUCKETS = ((_LAST - _FIRST) >> 43) + 1
UTC_ZONE = struct.pack('<qqIIqq', _FIRST, _LAST, 1, _BUCKETS, _FIRST, 0) + bytes(2 * _BUCKETS)


MOMENT_TYPES = ('DATE', 'TIMESTAMP', 'TIMESTAMPTZ')


class Server:
    """One psql: evaluates expressions, errors included."""

    def __init__(self, command):
        self.command = command

    def query(self, sql):
        done = subprocess.run(self.command + ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-f', '-'], input=sql,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit('psql failed: ' + done.stderr[-2000:])
        return done.stdout

    def evaluate(self, expressions):
        setup = '''set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set extra_float_digits = 1;
            create function pg_temp.evaluate(q text) returns text language plpgsql as $f$
            declare r text; begin execute 'select (' || q || ')::text' into r; return 'V' || r;
            exception when others then return 'E' || sqlstate; end $f$;
            create temp table calls (id int, q text);
            copy calls from stdin;\n'''
        escaped = [e.replace('\\', '\\\\') for e in expressions]
        data = ''.join(f'{i}\t{e}\n' for i, e in enumerate(escaped))
        answer = self.query(setup + data + '\\.\nselect pg_temp.evaluate(q) from calls order by id;\n')
        results = answer.split('\n')[:-1]
        assert len(results) == len(expressions), (len(results), len(expressions))
        return results


@contextlib.contextmanager
def started_server(pg_config):
    """A fresh cluster, UTF-8 and C collation, on a socket of its own."""
    binaries = subprocess.run([pg_config, '--bindir'], check=True, capture_output=True, text=True).stdout.strip()
    as_owner = ['runuser', '-u', 'postgres', '--'] if os.geteuid() == 0 else []
    folder = tempfile.mkdtemp(prefix='rt-check-')
    if as_owner:
        os.chown(folder, pwd.getpwnam('postgres').pw_uid, -1)

    def control(*command):
        subprocess.run([*as_owner, f'{binaries}/{command[0]}', *command[1:]], check=True,
                       stdout=subprocess.DEVNULL, cwd='/')

    try:
        control('initdb', '-D', f'{folder}/data', '-E', 'UTF8', '--locale=C', '-A', 'trust', '-N')
        control('pg_ctl', '-D', f'{folder}/data', '-w', '-l', f'{folder}/log', '-o',
                f"-k {folder} -c listen_addresses='' -c fsync=off", 'start')
        try:
            yield [*as_owner, f'{binaries}/psql', '-h', folder, '-d', 'postgres']
        finally:
            control('pg_ctl', '-D', f'{folder}/data', '-m', 'immediate', 'stop')
    finally:
        shutil.rmtree(folder)


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def literal(kind, value):
    if kind in ('DATE', 'TIMESTAMP', 'TIMESTAMPTZ'):
        return moment_literal(kind, value)
    if kind in ('NUM64', 'NUM128'):
        return f"'{decimal.Decimal(value).scaleb(-SCALE):f}'::numeric(38,{SCALE})"
    if kind == 'BOOL':
        text = 'true' if value else 'false'
    elif kind in ('FLOAT4', 'FLOAT8'):
        text = repr(value)
    else:
        text = str(value)
    return (" E" + quote(text.replace('\\', '\\\\')) if '\\' in text else quote(text)) + '::' + SQL_TYPES[kind]


def moment_literal(kind, value):
    """Through the binary format: no calendar of ours in the way."""
    bits = 32 if kind == 'DATE' else 64
    infinities = {-2 ** (bits - 1): '-infinity', 2 ** (bits - 1) - 1: 'infinity'}
    if value in infinities:
        return f"'{infinities[value]}'::{SQL_TYPES[kind]}"
    return f"'{MOMENTS[kind, value]}'::{SQL_TYPES[kind]}"


MOMENTS = {}


def fetch_moments(server):
    """The server's text of each finite date and timestamp."""
    wanted = [('DATE', d) for d in DATES if abs(d) < 2 ** 31 - 1]
    wanted += [(k, t) for k in ('TIMESTAMP', 'TIMESTAMPTZ') for t in TIMESTAMPS if abs(t) < 2 ** 63 - 1]
    expressions = []
    for kind, value in wanted:
        if kind == 'DATE':
            expressions.append(f"'2000-01-01'::date + {value}")
        else:
            days, micros = divmod(value, MICROS_PER_DAY)
            zone = 'timestamp' if kind == 'TIMESTAMP' else 'timestamptz'
            expressions.append(f"('2000-01-01'::date + {days})::timestamp::{zone} + "
                               f"'{micros} microseconds'::interval")
    for key, answer in zip(wanted, server.evaluate(expressions), strict=True):
        if answer.startswith('V'):
            MOMENTS[key] = answer[1:]
    VALUES['DATE'] = [d for d in DATES if ('DATE', d) in MOMENTS or abs(d) >= 2 ** 31 - 1]
    for kind in ('TIMESTAMP', 'TIMESTAMPTZ'):
        VALUES[kind] = [t for t in TIMESTAMPS if (kind, t) in MOMENTS or abs(t) >= 2 ** 63 - 1]


def result_scale(row, values):
    """The documented scale of a numeric result of operands of SCALE."""
    name = row.symbol.removeprefix('rt_num64').removeprefix('rt_num128')
    if row.variant.startswith('field:'):
        field = row.variant.split(':')[1]
        return 3 if field == 'milliseconds' else 6 if field == 'second' or field == 'epoch' and row.args[0] != 'DATE' else 0
    if name == 'mul':
        return 2 * SCALE
    if name == 'div':
        return 24
    if name == '_typmod':
        return SCALE
    if name in ('round', 'trunc'):
        return max(0, values[1])
    return SCALE if name in ('add', 'sub', 'mod', 'neg', 'abs') else 0


def call(library, row, values):
    """(errors, result) of the row's body."""
    arguments, keep = [], []
    for position, (kind, value) in enumerate(zip(row.args, values, strict=True)):
        if row.zoned and position == len(row.args) - 1:
            keep.append(UTC_ZONE)
            arguments += [ctypes.c_char_p(UTC_ZONE), ctypes.c_uint32(len(UTC_ZONE))]
        elif kind in ('TEXT', 'BPCHAR'):
            data = value.encode()
            keep.append(data)
            arguments += [ctypes.c_char_p(data), ctypes.c_uint32(len(data))]
        elif kind == 'NUM128':
            arguments += [ctypes.c_uint64(value & (2 ** 64 - 1)), ctypes.c_int64(value >> 64)]
        else:
            arguments.append(C_TYPES[kind](value))
    if 'SCALED' in row.flags:
        arguments += [ctypes.c_int32(SCALE), ctypes.c_int32(result_scale(row, values))]
    text, length, errors = ctypes.c_void_p(), ctypes.c_uint32(), ctypes.c_uint32(0)
    if row.result == 'TEXT':
        arguments += [ctypes.byref(text), ctypes.byref(length)]
    if 'RAISES' in row.flags:
        arguments.append(ctypes.byref(errors))
    function = getattr(library, row.symbol)
    function.restype = None if row.result == 'TEXT' else C_TYPES[row.result]
    result = function(*arguments)
    if row.result == 'TEXT':
        result = ctypes.string_at(text, length.value).decode('utf-8', 'replace')
    elif row.result == 'NUM128':
        result = result.low | result.high << 64
        result -= 2 ** 128 if result >> 127 else 0
    return errors.value, result


def sql_values(row, values):
    """The arguments as SQL, with what the variant dropped or unescaped."""
    arguments = [literal(kind, value) for kind, value in zip(row.args, values, strict=True)]
    kind, _, form = row.variant.partition(':')
    if row.zoned:
        arguments.pop()
    if kind == 'field':
        arguments.insert(0, quote(form))
    elif row.variant == 'zone:name':
        arguments.insert(0, quote('UTC'))
    elif kind == 'division':
        arguments = arguments[:2]
    elif kind == 'division scale':
        return f'scale(pg_catalog."numeric_div"({arguments[0]}, {arguments[1]}))'
    elif kind == 'typmod':
        arguments[1] = str((values[1] << 16 | SCALE) + 4)
    elif kind == 'interval':
        arguments[1] = quote(f'{values[1]} {form}') + '::interval'
    elif kind in ('like', 'notlike') and form != 'general':
        escaped = ''.join('\\' + c if c in '%_\\' else c for c in values[1])
        pattern = {'contains': '%{}%', 'prefix': '{}%', 'suffix': '%{}', 'exact': '{}'}[form].format(escaped)
        arguments[1] = literal('TEXT', pattern)
    name = row.signature[:row.signature.index('(')]
    collated = arguments
    if kind in ('', 'like', 'notlike'):
        collated = [a + ' collate "C"' if k in ('TEXT', 'BPCHAR') else a for a, k in zip(arguments, row.args, strict=True)]
    return f'pg_catalog."{name}"({", ".join(collated)})'


def is_quotient(row):
    """The quotient has as many digits as PostgreSQL prints, and zeros behind."""
    return row.variant == 'division'


def same(row, values, result, expected):
    if row.result == 'BOOL':
        return expected == ('true' if result else 'false')
    if row.result in ('FLOAT4', 'FLOAT8'):
        other = float(expected)
        if row.result == 'FLOAT4':
            other = struct.unpack('f', struct.pack('f', other))[0]
        return math.isnan(result) and math.isnan(other) or result == other and math.copysign(1, result) == math.copysign(1, other)
    if is_quotient(row):
        return decimal.Decimal(expected) == decimal.Decimal(result).scaleb(-result_scale(row, values))
    if row.result in ('NUM64', 'NUM128'):
        return expected == f'{decimal.Decimal(result).scaleb(-result_scale(row, values)):f}'
    if row.result in MOMENT_TYPES:
        return expected == result
    return expected == str(result)


def cases_of(row, most):
    pools = [VALUES[kind] for kind in row.args]
    if row.variant.endswith('like:general'):
        pools[1] = PATTERNS
    if row.symbol in ('rt_num64round', 'rt_num64trunc', 'rt_num128round', 'rt_num128trunc'):
        pools[1] = [0, 1, 2, 3, 5, -1, -2, -5, -40]
    if row.variant.startswith('interval:'):
        pools[1] = [0, 1, -1, 11, -13, 30, 366, -100000, 2147483647, -2147483648]
    if row.variant.startswith('division'):
        pools[2:] = [[SCALE], [SCALE]]
    if row.variant == 'typmod':
        pools[1] = [SCALE, SCALE + 1, 5, 9, 17, 18] + ([19, 30, 38] if row.result == 'NUM128' else [])
    if row.symbol == 'rt_seconds_to_timestamptz':
        bounds = [-210866803200.0, 9224318016000.0]
        pools[0] = VALUES['FLOAT8'] + bounds + [math.nextafter(b, to) for b in bounds for to in (-math.inf, math.inf)] + \
            [0.5e-6, 1.5e-6, 2.5e-6, 946684800.0000005, 946684800.0000015, 1700000000.1234565, 1e12, -1e11]
    if row.zoned:
        pools[-1] = [None]
    if row.symbol in ('rt_text_substr', 'rt_text_substr_no_len', 'rt_text_left', 'rt_text_right'):
        pools[1:] = [[0, 1, 2, 3, -1, -2, 5, 100, 2147483647, -2147483648]] * (len(pools) - 1)
    cases = list(itertools.product(*pools))
    if row.symbol == 'rt_num64mul':  # the planner takes it for products of 18 digits at most
        cases = [case for case in cases if abs(case[0] * case[1]) < 10 ** 18]
    return random.Random(row.id).sample(cases, most) if len(cases) > most else cases


def moment_wrapper(row, expression):
    """Dates and timestamps come back as numbers, to compare without a calendar."""
    if row.result == 'DATE':
        return (f"case when isfinite({expression}) then ({expression} - '2000-01-01'::date)::text "
                f"else ({expression})::text end")
    if row.result in ('TIMESTAMP', 'TIMESTAMPTZ'):
        return (f"case when isfinite({expression}) then (extract(epoch from {expression} - "
                f"'2000-01-01'::{row.result.lower()}) * 1000000)::bigint::text else ({expression})::text end")
    return expression


def moment_value(row, text):
    if row.result not in MOMENT_TYPES:
        return text
    bits = 32 if row.result == 'DATE' else 64
    return {'infinity': 2 ** (bits - 1) - 1, '-infinity': -2 ** (bits - 1)}.get(text) or int(text)


def compare(rows, library, server, most):
    """The number of differences; prints them, and what only the rows raise."""
    fetch_moments(server)
    cases = [(row, values) for row in rows for values in cases_of(row, most)]
    answers = server.evaluate([moment_wrapper(row, sql_values(row, values)) for row, values in cases])
    failures, cautious, raised = {}, {}, 0
    for (row, values), answer in zip(cases, answers, strict=True):
        errors, result = call(library, row, values)
        text = answer[1:]
        if answer.startswith('E'):
            if text.startswith('42'):
                raise SystemExit(f'{row.id}{values}: PostgreSQL does not know the call: {text}')
            raised += 1
            if errors == 0:
                failures.setdefault(row.id, []).append((values, f'no error for {text}', result))
        elif errors != 0:
            cautious.setdefault(row.id, []).append((values, text))
        elif not same(row, values, result, moment_value(row, text)):
            failures.setdefault(row.id, []).append((values, text, result))
    for name, examples in cautious.items():
        print(f'only the row raises: {name} {len(examples)} times, e.g. {examples[0]}')
    for name, examples in failures.items():
        print(f'DIFFERENT: {name} {len(examples)} times, e.g. {examples[:3]}')
    different = sum(map(len, failures.values()))
    print(f'{len(cases)} calls of {len({row.id for row, _ in cases})} rows, {raised} raised in '
          f'PostgreSQL, {different} different')
    return different if cases else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--catalog', required=True)
    parser.add_argument('--library', required=True, help='a shared object with all bodies of src/rt')
    parser.add_argument('--cases', type=int, default=300, help='at most so many a row')
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument('--psql', help='command, e.g. "psql -h /tmp/s -d postgres"')
    where.add_argument('--start-server', metavar='PG_CONFIG')
    options = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.catalog)))
    import function_rows
    rows, library = function_rows.read(options.catalog), ctypes.CDLL(options.library)
    # test/geometry.py compares PostGIS's functions.
    rows = [row for row in rows if not row.of_postgis]
    server = contextlib.nullcontext(options.psql.split()) if options.psql else started_server(options.start_server)
    with server as psql:
        return 1 if compare(rows, library, Server(psql), options.cases) else 0


if __name__ == '__main__':
    sys.exit(main())
