"""test_checks.py - the checks of the tree must refuse what they exist to refuse.

Each case makes a tree of a few files that breaks one rule, and expects that
complaint and no other; or one that keeps all rules, and expects silence.
Run by run_unit.py.
"""

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import check_documents  # noqa: E402
import check_format  # noqa: E402
import check_glossary  # noqa: E402
import check_layers  # noqa: E402
import document_settings  # noqa: E402
import document_sql  # noqa: E402
import run_all  # noqa: E402
import source_scan  # noqa: E402


def quietly(main, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        return main([str(argument) for argument in arguments])


HEAD = "/*\n * a.c - one.\n *\n * Two.\n * Three.\n */\n"


class TreeCase(unittest.TestCase):
    """A case with a folder of its own, which the files of a dictionary are written to."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name).resolve()
        self.addCleanup(self.folder.cleanup)

    def write(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")


class Layers(TreeCase):
    def complaints(self, files, rules=("layers", "language", "cycles", "size", "head")):
        self.write(files)
        tree = check_layers.Tree(self.root)
        return [(rule, path, text) for rule, path, text in tree.check() if rule in rules]

    def refused(self, rule, files):
        found = self.complaints(files)
        self.assertEqual([complaint[0] for complaint in found], [rule], found)
        return found[0]

    def test_a_tree_that_keeps_the_rules(self):
        self.assertEqual(self.complaints({
            "src/pg/feed/a.c": HEAD + '#include "postgres.h"\n#include "pg/feed/a.h"\n#include "turbine/wire.h"\n',
            "src/pg/feed/a.h": '#include "pg/feed/b.h"\n', "src/pg/feed/b.h": "int b;\n",
            "src/compiler/codegen/a.cc": HEAD + '#include "llvm/IR/Module.h"\n',
            "src/export/a.cc": HEAD + '#include <arrow/api.h>\n#include <parquet/types.h>\n',
            "include/turbine/wire.h": '#include "../../catalog/types.def"\n', "catalog/types.def": "",
            "catalog/types.c": HEAD + '#include "turbine/wire.h"\n'}), [])

    def test_guards(self):
        def lacking(path, text):
            return self.complaints({path: text}, ("guards",))
        guarded = "#ifndef {0}\n#define {0}\nint a;\n#endif\n"
        self.assertEqual(lacking("src/pg/feed/a_b.h", guarded.format("TURBINE_PG_FEED_A_B_H")), [])
        self.assertEqual(lacking("include/turbine/wire.h", guarded.format("TURBINE_WIRE_H")), [])
        self.assertEqual(lacking("src/engine/a.h", "#pragma once\n"), [])
        self.assertEqual(len(lacking("src/pg/feed/c.h", guarded.format("TURBINE_PG_C_H"))), 1)
        self.assertEqual(len(lacking("src/pg/feed/d.h", "int a;\n")), 2)

    def test_headers_of_others(self):
        for path, spelled in (("src/engine/execution/a.cc", "postgres.h"), ("src/daemon/a.cc", "llvm/IR/Module.h"),
                              ("src/compiler/a.cc", "llvm/IR/Module.h"), ("src/engine/device/cuda/a.cc", "cuda.h"),
                              ("src/pg/feed/a.c", "arrow/api.h"), ("src/compiler/a.cc", "parquet/types.h")):
            with self.subTest(path):
                self.setUp()
                self.refused("layers", {path: HEAD + f'#include "{spelled}"\n'})

    def test_forbidden_part(self):
        found = self.refused("layers", {"src/pg/feed/a.c": HEAD + '#include "engine/device/device.h"\n',
                                        "src/engine/device/device.h": "int d;\n"})
        self.assertIn("line 7: pg may not include device", found[2])

    def test_a_unit_test_may_look_further(self):
        self.assertEqual(self.complaints({"src/engine/program/a_test.cc": HEAD + '#include "engine/execution/e.h"\n',
                                          "src/engine/execution/e.h": "int e;\n"}), [])

    def test_language(self):
        self.refused("language", {"src/pg/feed/a.cc": HEAD})
        self.setUp()
        self.refused("language", {"src/rt/a.cc": HEAD + "int a = __ATOMIC_ACQUIRE;\n"})

    def test_rooms(self):
        bridge = {"src/pg/bridge/a.c": HEAD + '#include "pg/planner/b.h"\n', "src/pg/planner/b.h": "int b;\n"}
        found = self.complaints(bridge)
        self.assertEqual([complaint[2] for complaint in found], [
            "line 7: pg.bridge may not include pg.planner (pg/planner/b.h)"])
        missing = [path for _, path, _ in self.complaints({}, ("rooms",))]
        self.assertIn("src/pg/settings", missing)
        self.assertNotIn("src/pg/bridge", missing)

    def test_room_within_a_room(self):
        self.refused("layers", {"src/pg/conversation/a.c": HEAD + '#include "pg/source/heap/h.h"\n',
                                "src/pg/source/heap/h.h": "int h;\n"})

    def test_the_root_of_pg_may_include_all(self):
        self.assertEqual(self.complaints({"src/pg/module.c": HEAD + '#include "pg/nodes/n.h"\n',
                                          "src/pg/nodes/n.h": "int n;\n"}), [])

    def test_a_file_of_no_part(self):
        self.assertIn(("rooms", "src/new/a.h", "belongs to no part: PARTS has no row for its folder"),
                      self.complaints({"src/new/a.h": "int a;\n"}, ("rooms",)))

    def test_the_table_has_no_cycle(self):
        edges = {part.name: part.allowed for part in check_layers.make_parts().values()}
        self.assertIsNone(check_layers.find_cycle(edges))
        self.assertEqual(set().union(*edges.values()) - edges.keys(), set())

    def test_cycle_through_a_header_and_its_source(self):
        found = self.refused("cycles", {"src/pg/nodes/scan/a.h": '#include "pg/nodes/join/b.h"\n',
                                        "src/pg/nodes/join/b.h": "int b;\n",
                                        "src/pg/nodes/join/b.c": HEAD + '#include "pg/nodes/scan/a.h"\n'})
        self.assertIn("src/pg/nodes/join/b (src/pg/nodes/join/b.c:7) -> src/pg/nodes/scan/a (src/pg/nodes/scan/a.h:1) -> "
                      "src/pg/nodes/join/b", found[2])

    def test_cycle_with_steps_inside_a_folder(self):
        self.refused("cycles", {"src/pg/nodes/scan/a.h": '#include "pg/nodes/join/b.h"\n',
                                "src/pg/nodes/join/b.h": '#include "pg/nodes/join/c.h"\n',
                                "src/pg/nodes/join/c.h": '#include "pg/nodes/scan/a.h"\n'})

    def test_cycle_within_a_folder_is_allowed(self):
        self.assertEqual(self.complaints({"src/pg/feed/a.h": '#include "pg/feed/b.h"\n',
                                          "src/pg/feed/b.h": '#include "pg/feed/a.h"\n'}), [])

    def test_cycle_between_parts(self):
        found = self.complaints({"src/engine/device/a.h": '#include "engine/code/b.h"\n',
                                 "src/engine/code/b.h": "int b;\n",
                                 "src/engine/code/c.h": '#include "engine/device/d.h"\n',
                                 "src/engine/device/d.h": "int d;\n"}, ("cycles",))
        self.assertEqual([text.partition(":")[0] for _, _, text in found], ["cycle between parts"])

    def test_file_of_1001_lines(self):
        self.assertEqual(self.complaints({"src/pg/feed/a.c": HEAD + "\n" * (1000 - 6)}), [])
        self.refused("size", {"src/pg/feed/a.c": HEAD + "\n" * (1001 - 6)})

    def test_tables_may_be_long(self):
        self.assertEqual(self.complaints({"catalog/a.def": "A(1)\n" * 2000}), [])

    def test_function_of_151_lines(self):
        c = HEAD + "static int\nf(void)\n{\n%s\treturn 1;\n}\n"
        self.assertEqual(self.complaints({"src/pg/feed/a.c": c % ("\t/* } */\n" * 145)}), [])
        self.assertIn("line 7: f has 151 lines", self.refused("size", {"src/pg/feed/a.c": c % ("\t;\n" * 146)})[2])

    def test_python_function_of_151_lines(self):
        self.assertEqual(self.complaints({"test/a.py": "def f():\n" + "    pass\n" * 149}), [])
        self.refused("size", {"test/a.py": "def f():\n" + "    pass\n" * 150})

    def test_what_cannot_be_measured_is_refused(self):
        self.refused("size", {"src/pg/feed/a.c": HEAD + "int f(void) {\n"})
        self.setUp()
        self.refused("size", {"test/a.py": "def f(:\n"})

    def test_head(self):
        for text in ("int a;\n", "/*\n * a.c - one.\n */\n", "// One.\n", ""):
            with self.subTest(text):
                self.refused("head", {"src/pg/feed/a.c": text})
        self.assertEqual(self.complaints({"src/pg/feed/a.c": "// One.\n// Two.\n"}), [])


class Scan(unittest.TestCase):
    def functions(self, text):
        functions, balanced = source_scan.c_functions(text)
        self.assertTrue(balanced)
        return functions

    def test_what_is_a_function(self):
        self.assertEqual(self.functions("namespace n {\nclass A : public B {\n public:\n  A() : a_{1},\n    b_(2) {\n"
                                        "  }\n  int f() const {\n    if (a_) {\n    }\n  }\n};\n}\n"),
                         [("A", 4, 3), ("f", 7, 4)])
        self.assertEqual(self.functions("bool operator==(A a, A b) {\n}\n"), [("operator==", 1, 2)])
        self.assertEqual(self.functions('extern "C" {\nint f(int a = g({1})) {\n}\n}\n'), [("f", 2, 2)])

    def test_a_type_before_parentheses(self):
        self.assertEqual(self.functions("struct a *f(void)\n{\n}\nclass alignas(8) A {\n  enum a g() {\n  }\n};\n"),
                         [("f", 1, 3), ("g", 5, 2)])

    def test_what_is_none(self):
        self.assertEqual(self.functions("struct A {\n int a;\n};\nenum E { X = (1) };\nstatic const T t[] = {\n"
                                        "  F(1), {2},\n};\nusing U = int;\n"), [])

    def test_braces_that_are_none(self):
        self.assertEqual(self.functions("int f() {\n  char a = '{', b = '\\'';\n  s(\"}{\\\"{\", R\"(}}\")\");\n"
                                        "  // {\n  /* { */\n  n = 1'000;\n#define X {\n}\n"), [("f", 1, 8)])

    def test_macro_before_a_function(self):
        self.assertEqual(self.functions("MACRO(a)\nMACRO(b)\n\n/* { */\nint\nf(void)\n{\n}\n"), [("f", 5, 4)])

    def test_this_very_tree_balances(self):
        for file in sorted(check_layers.REPOSITORY.glob("src/**/*.[ch]*")):
            if file.suffix in (".c", ".cc", ".h"):
                self.assertTrue(source_scan.c_functions(file.read_text(encoding="utf-8"))[1], file)


GLOSSARY = """# Page

## Terms
Words.

### Some
| term | meaning | never |
|---|---|---|
| slot | a place | – |
| slot memory | shared | `SharedSegment`, `shared (a\\|b)` except in `src/b.c`, `docs/` |

### Others
| term | meaning | never |
|---|---|---|
| driver | CUDA's | `\\bdriver\\b` only in `src/pg/` |

## More
| one | two |
"""


class Glossary(TreeCase):
    def hits(self, files, glossary=GLOSSARY):
        self.write({check_glossary.GLOSSARY: glossary, **files})
        return {row.term: hits for row, hits in check_glossary.check(self.root) if hits}

    def test_rows(self):
        rows = check_glossary.read_glossary(GLOSSARY)
        self.assertEqual([(row.term, len(row.retired)) for row in rows],
                         [("slot", 0), ("slot memory", 2), ("driver", 1)])
        self.assertEqual(rows[1].retired[1].places, ("src/b.c", "docs/"))

    def test_hits(self):
        self.assertEqual(self.hits({"src/a.c": "x\nSharedSegment s;\nshared b\n", "src/b.c": "shared a\n",
                                    "docs/x.md": "shared a\n", "README.md": "SharedSegments\n",
                                    "ARCHITECTURE.md": "\nSharedSegment\n", "bench/a.py": "SharedSegment\n"}),
                         {"slot memory": [("ARCHITECTURE.md", 2, "SharedSegment"), ("README.md", 1, "SharedSegment"),
                                          ("src/a.c", 2, "SharedSegment"), ("src/a.c", 3, "shared b")]})

    def test_only_in(self):
        self.assertEqual(self.hits({"src/pg/a.c": "driver\ndrivers\n", "src/engine/a.cc": "driver\n"}),
                         {"driver": [("src/pg/a.c", 1, "driver")]})

    def test_words_inside_identifiers(self):
        self.assertEqual(self.hits({"src/pg/a.c": "choose_driver();\nchooseDriver;\nscrewdriver\n"}),
                         {"driver": [("src/pg/a.c", 1, "driver"), ("src/pg/a.c", 2, "driver")]})

    def test_names_of_files(self):
        self.assertEqual(self.hits({"src/SharedSegment.h": ""}),
                         {"slot memory": [("src/SharedSegment.h", 0, "SharedSegment")]})

    def test_tables_that_cannot_be_read(self):
        for glossary in ("# Page\n", GLOSSARY.replace("| – |", "|"), GLOSSARY.replace("| – |", "| word |"),
                         GLOSSARY.replace("| – |", "| `(` |"), GLOSSARY.replace("| driver |", "| slot |"),
                         GLOSSARY.replace("CUDA's", "")):
            with self.assertRaises(check_glossary.GlossaryError):
                check_glossary.read_glossary(glossary)

    def test_a_hit_fails(self):
        self.write({check_glossary.GLOSSARY: GLOSSARY, "src/a.c": "int a;\n"})
        self.assertEqual(quietly(check_glossary.main, "--root", self.root), 0)
        self.write({"src/a.c": "SharedSegment\n"})
        self.assertEqual(quietly(check_glossary.main, "--root", self.root), 1)

    def test_the_page_of_this_tree(self):
        page = check_glossary.REPOSITORY / check_glossary.GLOSSARY
        rows = check_glossary.read_glossary(page.read_text(encoding="utf-8"))
        self.assertGreater(len(rows), 40)


class Documents(TreeCase):
    def complaints(self, files):
        """Of a tree of Markdown pages, which git must know about: what is wrong, without the page's name."""
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write(files)
        return [complaint.partition(": ")[2] for complaints in check_documents.check(self.root).values()
                for complaint in complaints]

    def test_links_that_resolve(self):
        self.assertEqual(self.complaints({
            "README.md": "# Top\n[a](docs/a.md), [b](docs/a.md#two-words-1 \"title\"), [c](docs/), [d](#top),\n"
                         "[e](https://a.b/c), [f](mailto:a@b.c), ![g](docs/a%20b.svg), [the `code`](docs/a.md)\n\n"
                         "[h]: docs/a.md#named\n<img src=\"docs/a%20b.svg\">\n",
            "docs/a.md": "## Two words\n## Two `words`!\n<a name=\"named\"></a>\n[up](../README.md#top)\n",
            "docs/a b.svg": "<svg/>\n"}), [])

    def test_names_of_files(self):
        self.assertEqual(self.complaints({
            "README.md": "`a.c`, `src/a.c` and nodeAppend.c; `x.h` was once\n",
            "src/a.c": "/* see a.c, and\n * b.cc */\n#include \"other.h\"\nint a = s.c; /* not s.c.x */ // or c.def\n"}),
            ["x.h: there is no such file", "b.cc: there is no such file", "c.def: there is no such file"])

    def test_links_that_do_not(self):
        for text, expected in (
                ("[a](b.md)", "b.md: there is no such file"),
                ("one\n\n[a]: b.md", "b.md: there is no such file"),
                ("<img src=\"b.png\">", "b.png: there is no such file"),
                ("[`a`](b.md)", "b.md: there is no such file"),
                ("## B\n[a](#c)", "#c: there is no such heading"),
                ("## B\n[a](#b-1)", "#b-1: there is no such heading"),
                ("```\n## C\n```\n[a](#c)", "#c: there is no such heading"),
                ("[a](/a.md)", "/a.md: not relative"),
                ("[a](../../etc/passwd)", "../../etc/passwd: leads out of the repository")):
            with self.subTest(text):
                self.setUp()
                self.assertEqual(self.complaints({"docs/a.md": text + "\n"}), [expected])

    def test_what_is_no_link(self):
        self.assertEqual(self.complaints({"a.md": "`[a](b.md)`, ``c ` [a](b.md)``\n```\n[a](b.md)\n```\n"
                                                  "~~~\n```\n[a](b.md)\n~~~\na[1](see below)\n"}), [])

    def test_lengths(self):
        for path, text, expected in (
                ("README.md", "a\n" * 90, []), ("README.md", "a\n" * 91, ["91 lines, the limit is 90"]),
                ("ARCHITECTURE.md", "a | - b\n" * 1000, []),
                ("ARCHITECTURE.md", "a\n" * 2001, ["2001 words, the limit is 2000"]),
                ("docs/x/a.md", "a " * 2501, ["2501 words, the limit is 2500"]),
                ("docs/a.md", "```\n" + "a " * 2501 + "\n```\n", ["2501 words, the limit is 2500"]),
                ("src/README.md", "a\n" * 3000, [])):
            with self.subTest(path=path, expected=expected):
                self.setUp()
                self.assertEqual(self.complaints({path: text}), expected)

    def test_a_complaint_fails(self):
        self.assertEqual(self.complaints({"a.md": "[a](a.md)\n"}), [])
        self.assertEqual(quietly(check_documents.main, "--root", self.root), 0)
        self.write({"a.md": "[a](b.md)\n"})
        self.assertEqual(quietly(check_documents.main, "--root", self.root), 1)


SETTINGS = """
static const BoolSetting bool_settings[] = {
    {"pg_turbine.on", "Turns it on.", "If it \\"is\\" off, "
     "nothing happens.", &on, true, GUC_EXPLAIN | GUC_NO_SHOW_ALL},
};
static const char *const names[][2] = {{"pg_turbine.on", "off"}};
void
define(void)
{
    DefineCustomIntVariable("pg_turbine.size", "Sets the size.", /* a comment, */ "0 means none.", &size, 64,
                            0, 1024 * 1024, PGC_POSTMASTER, GUC_UNIT_MB, NULL, NULL, NULL);
}
"""


class SettingsPage(TreeCase):
    def setUp(self):
        super().setUp()
        self.write({"src/pg/a.c": SETTINGS, "docs/other.md": ""})
        self.sections = document_settings.SECTIONS
        self.addCleanup(setattr, document_settings, "SECTIONS", self.sections)
        document_settings.SECTIONS = (("All", "", ("on", "size")),)

    def test_rows(self):
        settings = document_settings.read_settings(self.root)
        rows = [line for line in document_settings.page(settings).splitlines() if line.startswith("| `")]
        self.assertEqual(rows, [
            '| `pg_turbine.on` | on | `on`, `off` | session | Turns it on. If it "is" off, nothing happens. |',
            "| `pg_turbine.size` | 64 MB | 0 to 1048576 (MB) | restart | Sets the size. 0 means none. |"])

    def test_a_page_that_is_out_of_date_fails(self):
        self.assertEqual(quietly(document_settings.main, "--root", self.root, "--write"), 0)
        self.assertEqual(quietly(document_settings.main, "--root", self.root), 0)
        self.write({"src/pg/a.c": SETTINGS.replace("&size, 64,", "&size, 65,")})
        self.assertEqual(quietly(document_settings.main, "--root", self.root), 1)

    def test_what_cannot_be_shown_fails(self):
        for text in (SETTINGS.replace('"0 means none."', "NULL"), SETTINGS.replace("pg_turbine.size", "pg_turbine.sized"),
                     SETTINGS.replace("&on, true", "&on, 1, true")):
            self.write({"src/pg/a.c": text})
            self.assertRaises(document_settings.DefinitionError, document_settings.read_settings, self.root)


SCRIPT = """-- About this file.
\\echo Use "CREATE EXTENSION"

CREATE SCHEMA turbine;

-- == Views ==

-- What there is.
-- More of it.
--   one: the first
CREATE FUNCTION turbine.things(
    OUT a int, -- a number
    OUT b text[]) -- texts (all)
RETURNS SETOF record
LANGUAGE C
AS 'MODULE_PATHNAME', 'things';
CREATE VIEW turbine.things AS SELECT * FROM turbine.things();
GRANT SELECT ON turbine.things TO PUBLIC;

-- Does it.
CREATE FUNCTION turbine.act(
    a regclass, -- the table
    b text DEFAULT 'x') -- how
RETURNS bigint
LANGUAGE C
AS 'MODULE_PATHNAME', 'act';

-- What it is.
CREATE TYPE kind;
CREATE FUNCTION turbine.kind_in(cstring) RETURNS kind
LANGUAGE C
AS 'MODULE_PATHNAME', 'kind_in';
CREATE TYPE kind (INPUT = turbine.kind_in);
CREATE FUNCTION turbine.kind_of(oid) RETURNS kind
LANGUAGE C
AS 'MODULE_PATHNAME', 'kind_of';
CREATE CAST (oid AS kind) WITH FUNCTION turbine.kind_of(oid);

-- Many.
CREATE FUNCTION kinds(
    a text[]) -- their names
RETURNS kind[]
LANGUAGE C
AS 'MODULE_PATHNAME', 'kinds';
"""


class SqlPage(TreeCase):
    def test_objects(self):
        text = document_sql.pages(document_sql.read_script(SCRIPT))[document_sql.PAGE]
        for expected in ("## Views\n", "### turbine.things (view)\n\nWhat there is.\nMore of it.\n", "| `one` | the first |",
                         "| `a` | `int` | a number |", "| `b` | `text[]` | texts (all) |",
                         "`turbine.act(a regclass, b text DEFAULT 'x') → bigint`", "| `b` | how |", "### kind (type)\n\nWhat it is.\n",
                         "`kinds(a text[]) → kind[]`"):
            self.assertIn(expected, text)
        self.assertNotIn("About this file", text)

    def test_a_section_with_a_page_of_its_own(self):
        script = SCRIPT + """
-- == Numbers | numbers.md ==
-- Adds.
CREATE FUNCTION turbine.plus(
    VARIADIC x float8[], -- numbers
    y float8 DEFAULT 0.5) -- one more
RETURNS float8
LANGUAGE C
AS 'MODULE_PATHNAME', 'plus';
"""
        pages = document_sql.pages(document_sql.read_script(script))
        self.assertIn("## Numbers\n\n[A page of its own](numbers.md) has `turbine.plus`.\n", pages[document_sql.PAGE])
        self.assertNotIn("### turbine.plus", pages[document_sql.PAGE])
        self.assertIn("`turbine.plus(x float8[], y float8 DEFAULT 0.5) → float8`", pages["docs/numbers.md"])
        self.assertIn("| `x` | numbers |", pages["docs/numbers.md"])

    def test_what_is_refused(self):
        for text in (SCRIPT.replace("-- Does it.\n", ""), SCRIPT + "CREATE TYPE turbine.t;\n",
                     SCRIPT.replace("-- What it is.\n", ""), SCRIPT.replace("-- Many.\n", ""), SCRIPT.replace("CREATE CAST", "-- CAST"),
                     SCRIPT.replace("a regclass,", "a,"), SCRIPT.replace("--   one: the first\n", "--   one: 1\n-- More.\n")):
            self.assertRaises(document_sql.ScriptError, document_sql.read_script, text)

    def test_a_page_that_is_out_of_date_fails(self):
        counters = 'static const char *const counter_names[] = {\n\t[TB_COUNTER_A] = "a",\n};\n'
        fallbacks = '\t[TB_FALLBACK_NONE] = "none",\n\t[TB_FALLBACK_B] = "b",\n'
        script = SCRIPT.replace("turbine.things", "turbine.stat_queries").replace(
            "--   one: the first", "--   a: one\n--   fallback_b: two")
        files = {document_sql.COUNTERS[0]: counters, document_sql.FALLBACKS[0]: fallbacks,
                 "src/pg/sql/pg_turbine--0.1.sql": script, "docs/other.md": ""}
        self.write(files)
        self.assertEqual(quietly(document_sql.main, "--root", self.root, "--write"), 0)
        self.assertEqual(quietly(document_sql.main, "--root", self.root), 0)
        for path, text in (("src/pg/sql/pg_turbine--0.1.sql", script.replace("a number", "a digit")),
                           (document_sql.COUNTERS[0], counters.replace('"a"', '"c"'))):
            self.write({**files, path: text})
            self.assertEqual(quietly(document_sql.main, "--root", self.root), 1)

    def test_the_script_of_this_tree(self):
        script = document_sql.newest_script(document_sql.REPOSITORY).read_text(encoding="utf-8")
        objects = [item for section in document_sql.read_script(script) for item in section.objects]
        self.assertGreater(len(objects), 10)
        self.assertTrue(all(item.text for item in objects))


CONFIG = """root = true
[*]
charset = utf-8
end_of_line = lf
insert_final_newline = true
trim_trailing_whitespace = true
indent_style = space
max_line_length = 20
[{*.c,src/pg/**.h}]
indent_style = tab
tab_width = 4
[*.md]
max_line_length = 20
[{*.sql,docs/made.txt}]
max_line_length = off
"""


class Format(TreeCase):
    def setUp(self):
        super().setUp()
        self.write({".editorconfig": CONFIG})
        self.sections = check_format.read_editorconfig(self.root / ".editorconfig")

    def complaints(self, path, text):
        found = check_format.text_complaints(path, text.encode(), check_format.settings_of(path, self.sections))
        return [complaint.partition(": ")[2] for complaint in found]

    def test_sections(self):
        style = {path: check_format.settings_of(path, self.sections)["indent_style"]
                 for path in ("a.c", "src/x/a.c", "src/pg/a.h", "src/pg/x/a.h", "src/a.h", "a.cc")}
        self.assertEqual([style[path] for path in style], ["tab", "tab", "tab", "tab", "space", "space"])

    def test_complaints(self):
        for path, text, expected in (
                ("a.py", "a\n", []), ("a.py", "", []), ("a.py", "a", ["no newline at the end"]),
                ("a.py", "a\n\n", ["empty lines at the end"]), ("a.py", "a \n", ["blanks at the end of the line"]),
                ("a.py", "\ta\n", ["indented with a tab"]), ("a.c", "\ta\n", []), ("a.c", "\t a\n", []),
                ("a.c", "    a\n", ["indented with blanks"]), ("a.c", " \ta\n", ["a blank before a tab"]),
                ("a.c", "\t" * 5 + "a\n", ["21 columns, the limit is 20"]),
                ("a.py", "a" * 20 + "\n", []), ("a.py", "ä" * 21 + "\n", ["21 columns, the limit is 20"]),
                ("a.sql", "a" * 300 + "\n", []), ("docs/made.txt", "a" * 300 + "\n", []),
                ("a.md", "| " + "a " * 20 + "|\n", []), ("a.md", "```\n" + "a " * 20 + "a\n```\n", []),
                ("a.md", "a " * 20 + "a\n", ["41 columns, the limit is 20"])):
            with self.subTest(path=path, text=text):
                self.assertEqual(self.complaints(path, text), expected)

    def test_not_utf8(self):
        settings = check_format.settings_of("a.py", self.sections)
        self.assertEqual(check_format.text_complaints("a.py", b"a\xff\n", settings), ["a.py: not UTF-8 at byte 1"])

    def test_tidied(self):
        settings = check_format.settings_of("a.py", self.sections)
        for text, expected in ((b"a \t\nb\n\n\n", b"a\nb\n"), (b"a", b"a\n"), (b"a\r\n", b"a\n"), (b"", b"")):
            self.assertEqual(check_format.tidied(text, settings), expected)

    def test_styles(self):
        self.assertEqual([check_format.style_of(path) for path in
                          ("src/engine/a.cc", "src/engine/a.h", "src/engine/a.c", "src/pg/x/a.h",
                           "include/turbine/a.h", "catalog/a.def", "test/a.py")],
                         [check_format.CPP_STYLE] * 2 + [check_format.C_STYLE] * 3 + [None] * 2)


class Suites(unittest.TestCase):
    """The list of suites of run_all.py and the programs of test/ belong to each other."""
    # Programs that no suite names, and why.
    UNSCHEDULED = {
        "test/run_all.py": "it runs the suites",
        "test/test_checks.py": "run_unit.py runs it", "test/test_harness.py": "run_unit.py runs it",
        "test/rogue_service.py": "protocol.py starts it", "test/file_mutation_bases.py": "file_mutations.py starts it",
        "test/gpu_sanitize.py": "it needs a GPU and compute-sanitizer", "test/gpu_skew.py": "it needs a GPU",
        "test/gpu_python_package.py": "it needs a GPU", "test/two_servers.py": "it needs a GPU"}

    def test_every_program_is_run(self):
        run = {argument for suite in run_all.SUITES.values() for argument in suite.command if argument.startswith("test/")}
        programs = {str(path.relative_to(run_all.REPOSITORY)) for path in (run_all.REPOSITORY / "test").rglob("*.py")
                    if '\nif __name__ == "__main__":\n' in path.read_text(encoding="utf-8")}
        self.assertEqual(run, programs - self.UNSCHEDULED.keys())

    def test_no_name_is_a_target_of_its_own(self):
        makefile = (run_all.REPOSITORY / "Makefile").read_text(encoding="utf-8")
        targets = set(re.findall(r"^test-([\w-]+):", makefile, re.MULTILINE))
        self.assertEqual(targets & run_all.SUITES.keys(), {"unit", "sanitize"})

    def test_what_ran_for_which_version(self):
        def outcome(passed, failed, told=""):
            return run_all.Outcome(passed, failed, 1, 1, [], told)
        text = io.StringIO()
        with contextlib.redirect_stdout(text), mock.patch.object(run_all.cluster, "pg_config", return_value="PostgreSQL 15.13"):
            run_all.print_versions({"sql": outcome(7, 1), "plcuda": outcome(0, 0, "skipped: no GPU"), "pg-units": outcome(2, 0),
                                    "pg16": outcome(5, 0, "ran: races 5"), "pg17": outcome(0, 0, "skipped: no root"),
                                    "pg18": outcome(0, 1)})
        self.assertEqual(text.getvalue(), "PostgreSQL 15.13: 2 suites, 9 passed, 1 failed; skipped: plcuda\n"
                         "PostgreSQL 16: ran: races 5\nPostgreSQL 17: skipped: no root\nPostgreSQL 18: ended early\n")

    def test_what_repeats_a_suite_in_c(self):
        with mock.patch.object(run_all.cluster, "cluster_locale", return_value="C"):
            in_c = run_all.default_suites()
        with mock.patch.object(run_all.cluster, "cluster_locale", return_value="C.UTF-8"):
            self.assertEqual(set(run_all.default_suites()) - set(in_c), {"c-sql", "c-reports"})

    def test_what_runs_against_another_version(self):
        own = {name for name, suite in run_all.SUITES.items() if suite.own_version}
        here = set(run_all.default_suites())
        with mock.patch.object(run_all.server_root, "VERSION", "17"):
            self.assertEqual(here - set(run_all.default_suites()), own)
        self.assertTrue({"unit", "mutants"} <= own)
        with mock.patch.object(run_all.server_root, "VERSION", "16"):
            self.assertEqual(run_all.default_suites(), ["pg16"])


class Release(unittest.TestCase):
    """Packages tell the version of CMakeLists.txt."""
    ROOT = run_all.REPOSITORY

    def release(self):
        return re.search(r"^project\(pg_turbine VERSION ([\d.]+)", (self.ROOT / "CMakeLists.txt").read_text("utf-8"), re.MULTILINE).group(1)

    def test_packages(self):
        for path, pattern in (("packaging/debian/changelog", r"^pg-turbine \(([\d.]+)-\d+\)"),
                              ("packaging/rpm/pg_turbine.spec", r"^Version: +([\d.]+)$")):
            text = (self.ROOT / path).read_text(encoding="utf-8")
            self.assertEqual(re.search(pattern, text, re.MULTILINE).group(1), self.release(), path)

    def test_pgxn(self):
        """What PGXN's specification (https://pgxn.org/spec/, 1.0.0) requires, and that it is true."""
        meta = json.loads((self.ROOT / "META.json").read_text(encoding="utf-8"))
        for key in ("name", "abstract", "license", "maintainer", "version", "provides", "meta-spec"):
            self.assertTrue(meta.get(key), key)
        self.assertEqual(meta["meta-spec"]["version"], "1.0.0")
        self.assertIn(meta["release_status"], ("stable", "testing", "unstable"))
        self.assertIn(meta["license"], ("postgresql", "apache_2_0", "bsd", "mit"))
        self.assertEqual(meta["version"], self.release())
        self.assertEqual(list(meta["provides"]), ["pg_turbine"])
        for extension in meta["provides"].values():
            self.assertEqual(extension["version"], self.release())
            self.assertTrue((self.ROOT / extension["file"]).is_file() and (self.ROOT / extension["docfile"]).is_file())
            self.assertEqual(extension["file"], str(document_sql.newest_script(self.ROOT).relative_to(self.ROOT)))
        self.assertRegex(json.dumps(meta["prereqs"]), r'"PostgreSQL": "\d+\.\d+\.\d+"')


if __name__ == "__main__":
    unittest.main()
