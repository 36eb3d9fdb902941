"""Checks each row of functions.def against PostgreSQL's own catalog.

The macro must exist in fmgroids.h, and name, argument and result types of the
function with that OID (from postgres.bki) must be those of the row. A variant
"field:..." drops the first, text argument; a time zone is a last argument that
the function does not have ("zone:name": it is the first); "interval:..." has a
number in place of the interval. PostGIS's functions are not in that catalog: of
them only the signature is checked against the row's types.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

import function_rows

OIDS = {'BOOL': 16, 'INT2': 21, 'INT4': 23, 'INT8': 20, 'FLOAT4': 700, 'FLOAT8': 701, 'DATE': 1082,
        'TIMESTAMP': 1114, 'TIMESTAMPTZ': 1184, 'NUM64': 1700, 'NUM128': 1700, 'TEXT': 25,
        'BPCHAR': 1042}
INTERVAL = 1186
SQL_NAMES = {INTERVAL: 'interval', 16: 'boolean', 21: 'smallint', 23: 'integer', 20: 'bigint', 700: 'real',
             701: 'double precision', 1082: 'date', 1114: 'timestamp without time zone',
             1184: 'timestamp with time zone', 1700: 'numeric', 25: 'text', 1042: 'character'}


def pg_config(pg_config_path, option):
    return subprocess.run([pg_config_path, option], check=True, capture_output=True,
                          text=True).stdout.strip()


def read_macros(path):
    return {m[1]: int(m[2]) for m in re.finditer(r'^#define (F_\w+) (\d+)$', Path(path).read_text(), re.M)}


def read_functions(path):
    """oid -> (name, result, [arguments]) from the bootstrap catalog."""
    functions, inside = {}, False
    for line in Path(path).read_text().splitlines(keepends=True):
        if line.startswith('create '):
            inside = line.startswith('create pg_proc ')
        m = inside and re.match(
            r"insert \( (\d+) (\S+) (?:\S+ ){16}(\S+) ('[^']*'|\S+) ", line)
        if m:
            functions[int(m[1])] = (m[2].strip("'"), int(m[3]),
                                    [int(a) for a in m[4].strip("'").split() if a.isdigit()])
    return functions


POSTGIS_NAMES = {'GEOMETRY': 'geometry', 'FLOAT8': 'double precision', 'INT4': 'integer', 'BOOL': 'boolean'}


def check_of_postgis(row):
    """PostgreSQL's catalog has no such function: the row's signature must be that of its own types, which the planner
    looks for (src/pg/convert/postgis.c)."""
    if row.result not in POSTGIS_NAMES or not set(row.args) <= set(POSTGIS_NAMES):
        return 'a type that src/pg/convert/postgis.c does not look for'
    types = ','.join(POSTGIS_NAMES[a] for a in row.args)
    # Geographies are bytes of the same form.
    if not re.fullmatch(r'[a-z][a-z0-9_]*\(' + re.escape(types) + r'\)', row.signature.replace('geography', 'geometry')):
        return f'the signature is no name with ({types})'
    return None


def check(row, macros, functions):
    if row.of_postgis:
        return check_of_postgis(row)
    if row.macro not in macros:
        return f'{row.macro} is not in fmgroids.h'
    name, result, args = functions[macros[row.macro]]
    expected, result_type = [OIDS[a] for a in row.args], OIDS[row.result]
    if row.zoned:
        expected.pop()
    if row.variant.startswith('field:') or row.variant == 'zone:name':
        expected.insert(0, OIDS['TEXT'])
    if row.variant.startswith('division'):
        expected, result_type = expected[:2], OIDS['NUM128']
    if row.variant.startswith('interval:'):
        expected[1] = INTERVAL
    if args != expected:
        return f'PostgreSQL has arguments {args}, the row {expected}'
    if result != result_type:
        return f'PostgreSQL returns {result}, the row {row.result}'
    signature = f"{name}({','.join(SQL_NAMES[a] for a in args)})"
    if signature != row.signature:
        return f'the signature is {signature}'
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--catalog', required=True)
    parser.add_argument('--pg-config', required=True)
    options = parser.parse_args()
    macros = read_macros(pg_config(options.pg_config, '--includedir-server') + '/utils/fmgroids.h')
    functions = read_functions(pg_config(options.pg_config, '--sharedir') + '/postgres.bki')
    rows = function_rows.read(options.catalog)
    failures = 0
    for row in rows:
        problem = check(row, macros, functions)
        if problem:
            failures += 1
            print(f'{row.id}: {problem}')
    ids = [row.id for row in rows]
    for duplicate in {i for i in ids if ids.count(i) > 1}:
        failures += 1
        print(f'{duplicate}: two rows of that id')
    print(f'{len(rows)} rows checked against {len(functions)} functions, {failures} failures')
    return 1 if failures or not rows else 0


if __name__ == '__main__':
    sys.exit(main())
