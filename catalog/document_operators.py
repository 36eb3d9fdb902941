"""Writes the operators and functions of docs/what-runs-where.md from functions.def, or checks that they are up to date.

Owns: what stands between the two marks of that page; the rest is written by hand. A row of
functions.def is shown as SQL writes it: as an operator, a cast, or a call. Which operator or cast
calls a function, PostgreSQL's own catalogs say (postgres.bki). Rows that differ in types alone
share a line. Called by: ctest (functions_doc, with --check), a person (with --write).
"""
import argparse
import pathlib
import re
import sys

import check_signatures
import function_rows

BEGIN, END = '<!-- generated: operators -->\n', '<!-- end of what is generated -->\n'

# PostgreSQL's own names of what has a better one: another function or an operator.
INTERNAL = {'textlen', 'dround', 'dtrunc', 'dexp', 'dlog1', 'dlog10', 'like', 'notlike'}
TYPE_NAMES = {'timestamp without time zone': 'timestamp', 'timestamp with time zone': 'timestamptz',
              'character': 'char', 'bpchar': 'char'}
FAMILIES = ('Numbers and booleans', 'Dates and times', 'Text', 'Geometry (PostGIS)')
TIMES, TEXTS = {'date', 'timestamp', 'timestamptz', 'interval'}, {'text', 'char'}
# Called by name as often as by their operator.
ALSO_CALLED = {'starts_with'}
# PostgreSQL's catalogs do not name them.
POSTGIS_OPERATORS = {'geometry_overlaps': '&&', 'geometry_within': '@', 'geometry_contains': '~',
                     'geometry_distance_centroid': '<->'}
OPERATOR_NAMES = {'~~': 'LIKE', '!~~': 'NOT LIKE'}
COMPARISONS = ('=', '<>', '<', '<=', '>', '>=')
PATTERN = 'pattern constant'
ZONE = "in the session's time zone"


def read_bki(path, table):
    """The rows of a catalog, as lists of words."""
    inside = False
    for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines():
        if line.startswith('create '):
            inside = line.startswith(f'create {table} ')
        elif inside and line.startswith('insert ('):
            yield re.findall(r"'[^']*'|\S+", line)[2:-1]


def read_callers(path):
    """Operators and casts by the OID of their function: {oid: names}, {oid: (source, target)}."""
    operators, casts = {}, {}
    for row in read_bki(path, 'pg_operator'):
        operators.setdefault(int(row[12]), []).append(row[1].strip("'"))
    for row in read_bki(path, 'pg_cast'):
        casts[int(row[3])] = (int(row[1]), int(row[2]))
    return operators, casts


def name_of(row):
    return row.signature[:row.signature.index('(')]


def types_of(row):
    """The types of the arguments, as SQL writes them."""
    inside = row.signature[row.signature.index('(') + 1:-1]
    return [TYPE_NAMES.get(name, name) for name in inside.split(',')] if inside else []


class Form:
    """How SQL writes one row: its line's kind, and what of that line it fills in."""

    def __init__(self, row, macros, operators, casts):
        self.of_postgis = row.of_postgis
        oid, self.types = None if row.of_postgis else macros[row.macro], types_of(row)
        self.name = name_of(row)
        kind, _, detail = row.variant.partition(':')
        self.notes = [note for flag, note in (('RAISES', 'may raise'), ('INEXACT', 'on a GPU inexact')) if flag in row.flags]
        self.detail = ''
        if kind == 'field':
            self.kind, self.detail = 'field', detail
        elif kind == 'interval':
            self.kind, self.name = 'interval', '+'
        elif row.variant == 'zone:name':
            self.kind, self.name, self.types = 'zone', 'AT TIME ZONE', [self.types[1], 'a constant zone']
        elif self.name in POSTGIS_OPERATORS:
            self.kind, self.name = 'operator', POSTGIS_OPERATORS[self.name]
        elif oid in operators:
            self.kind, self.name = 'operator', operators[oid][0]
        elif oid in casts or row.variant == 'typmod':
            self.kind = 'cast'
            self.types = [self.types[0], check_signatures.SQL_NAMES[check_signatures.OIDS[row.result]]]
            self.types = [TYPE_NAMES.get(name, name) for name in self.types]
        else:
            self.kind = 'call'
        if kind in ('like', 'notlike'):
            self.notes = [PATTERN]  # one that ends with the escape character stays with PostgreSQL
        if row.variant == 'zone':
            self.notes.append(ZONE)
        self.order = COMPARISONS.index(self.name) if self.name in COMPARISONS else len(COMPARISONS)

    @property
    def family(self):
        """Text only if no date or time is there: AT TIME ZONE and fields have texts, too."""
        types = set(self.types)
        if self.of_postgis:
            return 'Geometry (PostGIS)'
        if self.kind == 'field' or types & TIMES:
            return 'Dates and times'
        return 'Text' if types & TEXTS else 'Numbers and booleans'


def code(words):
    """As code in a table's cell, where a bar would end it; words of prose begin with "a "."""
    return ', '.join(word if word.startswith('a ') else '`' + word.replace('|', '\\|') + '`' for word in words)


def unique(items):
    return list(dict.fromkeys(items))


def merged(pairs):
    """[(left, right)] as [(lefts, rights)]: lefts with the same rights share a line."""
    rights = {}
    for left, right in pairs:
        rights.setdefault(left, []).append(right)
    lines = {}
    for left, those in rights.items():
        lines.setdefault(tuple(sorted(those)), []).append(left)
    order = unique([right for _, right in pairs])
    return [(lefts, sorted(those, key=order.index)) for those, lefts in lines.items()]


def notes_of(forms):
    """What holds for all of them; the 64-bit and the 128-bit row of a numeric function differ in what they raise."""
    return ', '.join(unique([note for form in forms for note in form.notes]))


def binary_lines(forms):
    """left type | operators | right type"""
    by_pair = {}
    for form in forms:
        by_pair.setdefault((tuple(form.types), form.name in COMPARISONS), {}).setdefault(form.name, []).append(form)
    groups = {}
    for (pair, _), names in by_pair.items():
        by_note = {}
        for name, same in names.items():
            by_note.setdefault(notes_of(same), []).append((same[0].order, name))
        for note, ordered in by_note.items():
            shown = tuple(OPERATOR_NAMES.get(name, name) for _, name in sorted(ordered, key=lambda o: o[0]))
            groups.setdefault((shown, note), []).append(pair)
    for (names, note), pairs in groups.items():
        for lefts, rights in merged(pairs):
            shown = ' '.join(code([name]) for name in names)
            yield f'| {code(lefts)} | {shown} | {code(rights)} | {note} |'


def other_lines(forms):
    """what SQL writes | notes"""
    fields, calls = {}, {}
    for form in forms:
        if form.kind == 'field':
            fields.setdefault((form.name, form.types[1]), []).append(form)
        elif form.kind == 'cast':
            calls.setdefault(f'{form.types[0]}::', []).append((form.types[1], form))
        elif form.kind == 'operator':
            calls.setdefault(f'{form.name} ', []).append((form.types[0], form))
        else:
            calls.setdefault(f'{form.name}(', []).append((', '.join(form.types) + ')', form))
    by_fields = {}
    for (name, kind), same in fields.items():
        by_fields.setdefault((name, tuple(form.detail for form in same)), []).append(kind)
    for (name, details), kinds in by_fields.items():
        sql = 'extract(FIELD FROM {})' if name == 'extract' else name + "('FIELD', {})"
        yield f'| {code(sql.format(kind) for kind in kinds)} | FIELD: {", ".join(details)} |'
    # Functions of the same types that raise alike share a line.
    lines = {}
    for begin, ends in calls.items():
        by_note = {}
        for end in unique([end for end, _ in ends]):
            by_note.setdefault(notes_of([form for other, form in ends if other == end]), []).append(end)
        for note, those in by_note.items():
            lines.setdefault((tuple(those), note, begin[-1]), []).extend(begin + end for end in those)
    for (_, note, _), written in lines.items():
        yield f'| {code(written)} | {note} |'


def interval_line(forms):
    kinds = unique([form.types[0] for form in forms])
    return f'| {code(["date"] + kinds)} | `+` `-` | a constant interval | may raise |'


def document(rows, macros, operators, casts):
    forms = [Form(row, macros, operators, casts) for row in rows]
    forms += [Form(row, macros, {}, casts) for row in rows if name_of(row) in ALSO_CALLED]
    unknown = INTERNAL - {form.name for form in forms}
    if unknown:
        raise SystemExit(f'not in functions.def any more: {unknown}')
    forms = [form for form in forms if not (form.kind == 'call' and form.name in INTERNAL)]
    lines = []
    for family in FAMILIES:
        own = [form for form in forms if form.family == family]
        binary = [form for form in own if form.kind in ('operator', 'zone') and len(form.types) == 2]
        intervals = [form for form in own if form.kind == 'interval']
        lines += [f'### {family}', '', '| left | operators | right | |', '|---|---|---|---|']
        lines += unique(binary_lines(binary))
        lines += [interval_line(intervals)] if intervals else []
        lines += ['', '| function, cast or operator | |', '|---|---|']
        lines += unique(other_lines([form for form in own if form not in binary and form not in intervals]))
        lines.append('')
    return '\n'.join(lines)


def with_part(text, path, part):
    """The page with the generated part put in."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f'{path}: the marks {BEGIN.strip()} and {END.strip()} must stand there once')
    return text[:text.index(BEGIN) + len(BEGIN)] + part + text[text.index(END):]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--catalog', required=True)
    parser.add_argument('--pg-config', required=True)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument('--write', metavar='PAGE')
    action.add_argument('--check', metavar='PAGE')
    options = parser.parse_args()
    macros = check_signatures.read_macros(
        check_signatures.pg_config(options.pg_config, '--includedir-server') + '/utils/fmgroids.h')
    operators, casts = read_callers(check_signatures.pg_config(options.pg_config, '--sharedir') + '/postgres.bki')
    part = document(function_rows.read(options.catalog), macros, operators, casts)
    path = options.write or options.check
    old = pathlib.Path(path).read_text(encoding='utf-8')
    new = with_part(old, path, part)
    if options.write:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(new)
        return 0
    if old == new:
        return 0
    print(f'{path} is out of date: run {sys.argv[0]} --write')
    return 1


if __name__ == '__main__':
    sys.exit(main())
