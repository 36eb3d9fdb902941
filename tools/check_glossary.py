#!/usr/bin/env python3
"""check_glossary.py - words that the glossary has retired do not come back.

The glossary is the tables under "## Terms" in docs/glossary.md: term, meaning,
never. The third column holds regular expressions in backticks: spellings that
may occur nowhere in the project. An expression may spare some files, or be looked
for in some only; folders have a slash at the end:
    `\\bdriver\\b` except in `src/engine/device/cuda/`, `README.md`
    `\\bdriver\\b` only in `src/pg/`
A bar inside an expression is written \\|, as Markdown wants it. Expressions
tell upper from lower case; (?i) at the beginning makes them blind to it.
Must never: pass over a row that it cannot read.
Called by: make check-glossary, test/run_all.py. Prints each hit; the last line
is `N passed, N failed`, counted in rows of the glossary.
"""

import argparse
import re
import sys
from collections import namedtuple
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
GLOSSARY = "docs/glossary.md"
HEADING = "## Terms"
PLACES = ("src", "include", "tools", "test", "docs", "README.md", "ARCHITECTURE.md")
SUFFIXES = {".c", ".h", ".cc", ".def", ".py", ".sh", ".sql", ".md", ".txt", ".control"}
# These spell retired words in order to find them.
SPARED = (GLOSSARY, "tools/check_glossary.py", "test/test_checks.py")
NOTHING = ("", "-", "–")

_CELL = re.compile(r"(?<!\\)\|")
_RETIRED = re.compile(r"`([^`]+)`(?:\s+(except|only) in (`[^`]+`(?:,\s*`[^`]+`(?!\s+(?:except|only) in))*))?")

# Where: "except", "only" or "" and the places.
Retired = namedtuple("Retired", "pattern where places")
Row = namedtuple("Row", "line term retired")


class GlossaryError(Exception):
    """The table is not what it should be."""


def read_retired(cell, where):
    """The retired spellings of a row's third column."""
    if cell in NOTHING:
        return []
    retired = []
    for expression, how, places in _RETIRED.findall(cell):
        try:
            pattern = re.compile(expression)
        except re.error as error:
            raise GlossaryError(f"{where}: `{expression}` is no regular expression: {error}") from error
        retired.append(Retired(pattern, how, tuple(re.findall(r"`([^`]+)`", places))))
    if not retired or re.sub(r"[\s,]", "", _RETIRED.sub("", cell)):
        raise GlossaryError(f"{where}: the third column holds `expressions` and nothing else: {cell}")
    return retired


def read_glossary(text):
    """The rows of the tables under the heading."""
    rows, terms, inside = [], {}, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") and not line.startswith("###"):
            inside = line.strip() == HEADING
        if not inside or not line.startswith("|"):
            continue
        where = f"{GLOSSARY}:{number}"
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(line.strip())[1:-1]]
        if len(cells) != 3:
            raise GlossaryError(f"{where}: {len(cells)} columns instead of term, meaning, never")
        if cells == ["term", "meaning", "never"] or set("".join(cells)) <= set("-: "):
            continue
        if not cells[0] or not cells[1]:
            raise GlossaryError(f"{where}: a term and its meaning are wanted")
        if cells[0] in terms:
            raise GlossaryError(f"{where}: {cells[0]} is also in line {terms[cells[0]]}")
        terms[cells[0]] = number
        rows.append(Row(number, cells[0], read_retired(cells[2], where)))
    if not rows:
        raise GlossaryError(f"{GLOSSARY} has no table under {HEADING}")
    return rows


def read_files(root):
    """{path: lines} of all files in which retired words are looked for."""
    files = {}
    for place in PLACES:
        for file in sorted((root / place).rglob("*")) if (root / place).is_dir() else [root / place]:
            path = str(file.relative_to(root))
            if file.suffix in SUFFIXES and file.is_file() and not file.is_symlink() and path not in SPARED:
                files[path] = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return files


def words_of(line):
    """The line with the words of its identifiers apart: \\bdriver\\b is in choose_driver and in chooseDriver as well."""
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda capital: " " + capital.group().lower(), line.replace("_", " "))


def concerns(retired, path):
    """Whether a retired spelling is looked for in a file."""
    is_named = any(path == place or (place.endswith("/") and path.startswith(place)) for place in retired.places)
    return is_named == (retired.where == "only")


def hits_of(row, files):
    """[(path, line, what was found)] of a row's retired spellings, in the text and in names of files."""
    hits = []
    for path, lines in files.items():
        patterns = [retired.pattern for retired in row.retired if concerns(retired, path)]
        for pattern in patterns:
            found = pattern.search(path)
            if found:
                hits.append((path, 0, found.group()))
            for number, line in enumerate(lines, 1):
                found = pattern.search(line) or pattern.search(words_of(line))
                if found:
                    hits.append((path, number, found.group()))
    return sorted(hits)


def check(root):
    """[(row, its hits)] of the whole glossary."""
    files = read_files(root)
    return [(row, hits_of(row, files)) for row in read_glossary((root / GLOSSARY).read_text(encoding="utf-8"))]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=REPOSITORY)
    options = parser.parse_args(arguments)
    try:
        outcome = check(options.root.resolve())
    except GlossaryError as error:
        print(error)
        print("0 passed, 1 failed")
        return 1
    failed = 0
    for row, hits in outcome:
        for path, line, found in hits:
            place = f"{path}:{line}" if line else f"{path} (its name)"
            print(f"{place}: \"{found}\" is retired, see {row.term} in the glossary")
        failed += bool(hits)
    print(f"{len(outcome) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
