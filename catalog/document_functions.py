"""Writes docs/functions.md from functions.def, or checks that it is up to date."""
import argparse
import sys
from pathlib import Path

import function_rows

HEADER = '''# Functions that run on a device

Generated from `catalog/functions.def` by `catalog/document_functions.py`: do not edit.

`raises`: may end in one of PostgreSQL's errors. `host only`: a GPU's result may differ in the last
bit, so it runs there only with `pg_turbine.allow_inexact_math`. A form is a constant argument that
the function must be called with.
'''


def display(row):
    kind, _, detail = row.variant.partition(':')
    form = {'field': f"'{detail}'", 'interval': f'a constant interval: its {detail}', 'zone':
            'a constant zone' if detail else ''}.get(kind, row.variant.replace(':', ' '))
    notes = [note for flag, note in (('RAISES', 'raises'), ('INEXACT', 'host only')) if flag in row.flags]
    if row.args[0] in ('NUM64', 'NUM128'):
        notes.insert(0, '64-bit' if row.args[0] == 'NUM64' else '128-bit')
    return f'| `{row.signature}` | {form} | {", ".join(notes)} |'


def document(rows):
    lines, section = [HEADER], None
    for row in rows:
        if row.section != section:
            section = row.section
            lines += ['', f'## {section[0].upper() + section[1:]}', '', '| function | form | |', '|---|---|---|']
        lines.append(display(row))
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--catalog', required=True)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument('--write')
    action.add_argument('--check')
    options = parser.parse_args()
    text = document(function_rows.read(options.catalog))
    if options.write:
        with open(options.write, 'w') as f:
            f.write(text)
        return 0
    if Path(options.check).read_text() == text:
        return 0
    print(f'{options.check} is out of date: run {sys.argv[0]} --write')
    return 1


if __name__ == '__main__':
    sys.exit(main())
