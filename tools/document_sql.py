#!/usr/bin/env python3
"""document_sql.py - writes docs/sql-reference.md, and pages of sections, from the newest script of the extension, or checks them.

Owns: how the comments of src/pg/sql/pg_turbine--*.sql become a page. A heading
"-- == ... ==" begins a section; "-- == ... | page.md ==" one that has a page of its
own. The comment above a function, wrapper or type says what it does; its lines "--   word: text" become a table, and a comment beside an
argument or column says what that is. A view shows the columns of the function
of the same name. An object without a comment is an error, except if a wrapper,
a language, a type or a cast refers to it. So is a table of the counters of turbine.stat_queries that has
other names than the sources.
Called by: tools/check_tree.py (--check), a person (--write). With --check the
last line is `N passed, N failed`, counted in objects.
"""

import argparse
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = "docs/sql-reference.md"
COLUMNS = 130  # of a line
SCRIPTS = "src/pg/sql/pg_turbine--*.sql"
COUNTERS = ("src/pg/views/stat_queries_view.c", r'\] = "(\w+)"', "")
FALLBACKS = ("src/pg/shmem/query_counters.c", r'\[TB_FALLBACK_\w+\] = "(\w+)"', "fallback_")

HEADER = """# SQL reference

This page is generated from `src/pg/sql/` by `tools/document_sql.py`: do not edit it. `CREATE EXTENSION pg_turbine` creates
these objects, the functions and views in the schema `turbine`. What is shown without a schema is in the one that
`CREATE EXTENSION` names, `public` by default. The settings have [a page of their own](settings.md), and so
have [the programs that export tables](pg2arrow.md).
"""

OWN_HEADER = """This page is generated from `src/pg/sql/` by `tools/document_sql.py`: do not edit it. It is a part of the
[SQL reference](sql-reference.md).
"""


class ScriptError(Exception):
    """The script is not written as this program reads it."""


@dataclass
class Object:
    kind: str  # "function", "view", "wrapper", "language" or "type"
    name: str
    text: str
    words: list  # (word, meaning)
    arguments: list = field(default_factory=list)  # (name, type, default, meaning)
    columns: list = field(default_factory=list)
    result: str = ""


@dataclass
class Section:
    title: str
    objects: list
    page: str = ""  # of its own, beside PAGE


def read_comment(lines):
    """Prose and table of a comment."""
    prose, words = [], []
    for line in lines:
        row = re.match(r"--   (\w+): (.+)", line)
        if row:
            words.append(row.groups())
        elif words:
            raise ScriptError(f"a line behind a table: {line}")
        else:
            prose.append(line[2:].strip())
    return "\n".join(prose), words


_ARGUMENT = re.compile(r"(OUT )?(?:VARIADIC )?(\w+) ([\w.\[\]]+)(?: DEFAULT ('[^']*'|[\w.]+))?")


def read_arguments(lines):
    """Arguments and columns: what stands between the brackets of a function, one a line, each with its comment."""
    arguments, columns = [], []
    for line in lines:
        code, _, comment = line.partition("--")
        found = _ARGUMENT.match(code.strip())
        if not found:
            raise ScriptError(f"an argument that is not understood: {line}")
        out, name, kind, default = found.groups()
        (columns if out else arguments).append((name, kind, default or "", comment.strip()))
    return arguments, columns


def read_function(statement, comment):
    name = re.match(r"CREATE FUNCTION ((?:turbine\.)?\w+)\(", statement[0]).group(1)
    if statement[0].rstrip().endswith("("):
        end = next(i for i, line in enumerate(statement) if re.match(r"[^-]*\)(?:\s*--.*)?$", line.rstrip()) and
                   not re.search(r"\w\(.*\)\s*$", line.partition("--")[0]))
        arguments, columns = read_arguments(statement[1:end + 1])
    elif "()" in statement[0]:
        arguments, columns = [], []
    else:
        raise ScriptError(f"the arguments of {name} do not stand on lines of their own")
    text, words = read_comment(comment)
    result = re.search(r"RETURNS (SETOF record|[\w.\[\]]+)", "\n".join(statement)).group(1)
    return Object("function", name, text, words, arguments, columns, result)


def statements(text):
    """(comment lines, statement lines), and ([heading], []) for headings."""
    comment, statement = [], []
    for line in text.splitlines():
        heading = re.fullmatch(r"-- == (.*) ==", line)
        if heading:
            yield [heading.group(1)], []
        elif statement or (line.strip() and not line.startswith(("--", "\\"))):
            statement.append(line)
            if line.partition("--")[0].rstrip().endswith(";"):
                yield comment, statement
                comment, statement = [], []
        elif line.startswith("--"):
            comment.append(line)
        else:
            comment = []


LANGUAGE = ("CREATE LANGUAGE", "CREATE TRUSTED LANGUAGE")


def read_script(text):
    """The sections with their objects, in order."""
    sections, bare = [], {}
    for comment, statement in statements(text):
        # Functions that a wrapper, a language, a type or a cast needs are no subject of their own.
        if statement and statement[0].startswith(("CREATE FOREIGN", "CREATE TYPE", "CREATE CAST", *LANGUAGE)):
            for function in re.findall(r"turbine\.(\w+)", "\n".join(statement)):
                bare.pop(function, None)
        if not statement:
            title, _, own_page = comment[0].partition(" | ")
            sections.append(Section(title, [], own_page))
            continue
        first = statement[0]
        if first.startswith("CREATE FUNCTION"):
            # The comment of a wrapper or a language stands above the functions that it needs.
            if comment and "_handler" in first:
                words = read_comment(comment)
                sections[-1].objects.append(Object("wrapper", "", *words))
            elif comment:
                sections[-1].objects.append(read_function(statement, comment))
            else:
                bare[re.match(r"CREATE FUNCTION (?:turbine\.)?(\w+)", first).group(1)] = first
        elif first.startswith("CREATE VIEW"):
            name = re.search(r"turbine\.\w+", first).group(0)
            next(o for s in sections for o in s.objects if o.name == name).kind = "view"
        elif first.startswith("CREATE FOREIGN DATA WRAPPER"):
            wrapper = sections[-1].objects[-1]
            wrapper.name = first.split()[-1].rstrip(";")
        elif first.startswith(LANGUAGE):
            language = sections[-1].objects[-1]
            language.kind, language.name = "language", first.split(" LANGUAGE ")[1].split()[0]
        elif first.startswith(("CREATE TYPE", "CREATE DOMAIN")):
            if comment:  # above the shell, before the functions that it needs
                sections[-1].objects.append(Object("type", first.split()[2].rstrip(";"), *read_comment(comment)))
            elif all(item.name != first.split()[2].rstrip(";") for item in sections[-1].objects):
                raise ScriptError(f"no comment above {first}")
        elif not first.startswith(("CREATE SCHEMA", "CREATE SERVER", "CREATE CAST", "GRANT", "COMMENT ON")):
            raise ScriptError(f"a statement that is not understood: {first}")
    if bare:
        raise ScriptError(f"no comment above {', '.join(sorted(bare))}")
    return sections


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def wrapped(text):
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def object_lines(item):
    if item.kind == "function":
        arguments = ", ".join(f"{name} {kind}" + (f" DEFAULT {default}" if default else "")
                              for name, kind, default, _ in item.arguments)
        result = "SETOF record" if item.columns else item.result
        lines = [f"### {item.name}", "", wrapped(f"`{item.name}({arguments}) → {result}`"), ""]
    elif item.kind == "view":
        lines = [f"### {item.name} (view)", ""]
    elif item.kind in ("type", "language"):
        lines = [f"### {item.name} ({item.kind})", ""]
    else:
        lines = [f"### {item.name} (foreign-data wrapper and server)", ""]
    lines += [item.text, ""]
    if item.words:
        lines += table(("value", "meaning"), [(f"`{word}`", meaning) for word, meaning in item.words]) + [""]
    if item.arguments:
        lines += table(("argument", "meaning"), [(f"`{name}`", meaning) for name, _, _, meaning in item.arguments])
        lines.append("")
    if item.columns:
        lines += table(("column", "type", "meaning"), [(f"`{name}`", f"`{kind}`", meaning)
                                                       for name, kind, _, meaning in item.columns]) + [""]
    return lines


def section_lines(section):
    return [line for item in section.objects for line in object_lines(item)]


def pages(sections):
    """{path: text} of all pages."""
    lines, texts = [HEADER], {}
    for section in sections:
        lines += [f"## {section.title}", ""]
        if not section.page:
            lines += section_lines(section)
            continue
        names = dict.fromkeys(item.name for item in section.objects)
        lines += [wrapped(f"[A page of its own]({section.page}) has " + ", ".join(f"`{name}`" for name in names) + "."), ""]
        own = [f"# {section.title}: SQL reference", "", OWN_HEADER, *section_lines(section)]
        texts[str(Path(PAGE).parent / section.page)] = "\n".join(own).rstrip("\n") + "\n"
    texts[PAGE] = "\n".join(lines).rstrip("\n") + "\n"
    return texts


def check_counters(root, sections):
    """The names in the table of turbine.stat_queries are the sources'."""
    known = []
    for path, pattern, prefix in (COUNTERS, FALLBACKS):
        known += [prefix + name for name in re.findall(pattern, (root / path).read_text(encoding="utf-8"))
                  if prefix + name != "fallback_none"]
    told = [word for s in sections for o in s.objects if o.name == "turbine.stat_queries" for word, _ in o.words]
    if known != told:
        raise ScriptError(f"counters in the sources or in the comment only, or in another order: {known} {told}")


def newest_script(root):
    """The script of the newest release. Upgrades have two versions in their names."""
    scripts = [path for path in root.glob(SCRIPTS) if path.stem.count("--") == 1]
    return max(scripts, key=lambda path: [int(n) for n in re.findall(r"\d+", path.stem)])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=REPOSITORY)
    parser.add_argument("--write", action="store_true", help="write the page instead of checking it")
    options = parser.parse_args(arguments)
    script = newest_script(options.root)
    try:
        sections = read_script(script.read_text(encoding="utf-8"))
        check_counters(options.root, sections)
    except ScriptError as error:
        print(f"{script.relative_to(options.root)}: {error}\n0 passed, 1 failed")
        return 1
    fresh = True
    for path, text in pages(sections).items():
        file = options.root / path
        if options.write:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            print(f"{path} is out of date: run tools/document_sql.py --write")
            fresh = False
    if options.write:
        return 0
    count = sum(len(section.objects) for section in sections)
    print(f"{count if fresh else 0} passed, {0 if fresh else count} failed")
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main())
