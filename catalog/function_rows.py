"""The rows of functions.def, for the scripts that check and document them."""
import re
from dataclasses import dataclass
from pathlib import Path

ROW = re.compile(
    r'^TB_FUNCTION\((\w+), (\w+), (\w+), \(([^)]*)\), ([^,]+), (\d+), "([^"]*)", (\w+), "([^"]*)"\)$')
SECTION = re.compile(r'/\* ---- (.*?) ---- \*/', re.S)


@dataclass
class Row:
    id: str
    symbol: str
    result: str
    args: list
    flags: set
    cost: int
    variant: str
    macro: str
    signature: str
    section: str

    @property
    def of_postgis(self):
        """A function of that extension: it has no fixed OID, and is there only if the extension is."""
        return self.macro == 'POSTGIS'

    @property
    def of_geography(self):
        """Its shapes lie on the spheroid: they have a type of their own, and values of the same form."""
        return '(geography' in self.signature

    @property
    def zoned(self):
        """The last argument is a time zone's table, which SQL does not have there."""
        kind = self.variant.partition(':')[0]
        return kind == 'zone' or kind in ('field', 'interval') and self.args[-1] == 'TEXT'


def read(path):
    """All rows in order; a line that starts like a row and is none is an error."""
    rows, section = [], ''
    text = Path(path).read_text()
    # Sections may wrap: give each one line.
    text = SECTION.sub(lambda m: '/* ---- ' + re.sub(r'\s*\n \*\s*', ' ', m.group(1)) + ' ---- */', text)
    for line in text.splitlines():
        found = SECTION.match(line)
        if found:
            section = found.group(1)
        if not line.startswith('TB_FUNCTION('):
            continue
        m = ROW.match(line)
        if not m:
            raise SystemExit(f'{path}: row not understood: {line}')
        flags = set() if m[5] == '0' else {flag.strip() for flag in m[5].split('|')}
        rows.append(Row(m[1], m[2], m[3], [a.strip() for a in m[4].split(',')], flags, int(m[6]),
                        m[7], m[8], m[9], section))
    return rows
