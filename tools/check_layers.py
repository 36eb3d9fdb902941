#!/usr/bin/env python3
"""check_layers.py - who may include whom, and how large files and functions may be.

Rules:
  layers     each part includes only the parts that PARTS allows; PostgreSQL's
             headers only in src/pg, LLVM's only in src/compiler/{codegen,jit},
             Arrow's only in ARROW_FOLDERS, CUDA's nowhere, since the driver is found by dlopen
  language   src/pg is C, with versions of PostgreSQL told apart in src/pg/compat alone; the device library has no atomics that NVPTX lacks
  rooms      the folder of each part exists, and each file has a part
  cycles     no cycle of includes through files of several folders, or parts
  guards     a header has #pragma once, or a guard named after its path below src/ or include/turbine/
  size       a file has at most 1,000 lines, a function at most 150
  head       a .c or .cc file begins with a comment of at least 2 lines of text: what it
             owns, who calls it, what it must never do; a test says in 1 what it proves
Tables (*.def) are exempt from size and head. Unit tests and their helpers may
look further than what they test, so layers do not bind them.
Called by: make check-layers, test/run_all.py. Prints each violation; the last
line is `N passed, N failed`, counted in files.
"""

import argparse
import re
import sys
from pathlib import Path

import source_scan

REPOSITORY = Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 1000
MAX_FUNCTION_LINES = 150
MIN_HEAD_LINES = 2
SOURCE = {".c", ".h", ".cc", ".py", ".sh", ".sql"}
C_FAMILY = {".c", ".h", ".cc", ".def"}
FOLDERS = ("include", "catalog", "src", "tools", "test", "bench", "packaging")

# part: (its folder or files, parts that it may include). A file belongs to the part with
# the longest folder. Lowest first; ABOVE means all rows of the extension above it, the
# contract and the catalogue.
ABOVE = "all rows above"
PARTS = {
    "tables": ("catalog/*.def", ""),
    "contract": ("include/turbine", "tables"),
    "catalog": ("catalog", "tables contract"),
    "rt": ("src/rt", "tables contract catalog"),

    # What readers and writers of files share.
    "file_values": ("src/file_values", "contract"),

    # The engine.
    "program": ("src/engine/program", "tables contract catalog"),
    "profile": ("src/engine/profile", "contract"),
    "wire": ("src/engine/wire", "tables contract catalog"),
    "threads": ("src/engine/threads", "wire"),
    "limits": ("src/engine/limits", ""),
    "topology": ("src/engine/topology", "contract"),
    "memory": ("src/engine/memory", "wire"),
    "storage": ("src/engine/storage", "contract profile threads wire"),
    "group_fold": ("src/engine/group_fold", "tables contract catalog program wire"),
    "store": ("src/engine/store", "tables contract catalog rt program wire memory"),
    "device": ("src/engine/device", "tables contract catalog rt program profile wire threads limits memory group_fold store"),
    "host": ("src/engine/device/host",
             "tables contract catalog rt program profile wire threads limits memory group_fold store device"),
    "cuda": ("src/engine/device/cuda",
             "tables contract catalog rt program profile wire threads limits memory topology group_fold store device host"),
    "split": ("src/engine/device/split",
              "tables contract catalog program profile wire threads memory group_fold store device host"),
    "machine": ("src/engine/device/machine", "contract wire threads memory device host cuda"),
    "code": ("src/engine/code", "tables contract catalog program wire threads limits device"),
    "slots": ("src/engine/slots", "tables contract catalog program profile wire device"),
    "source": ("src/engine/source",
               "tables contract catalog program profile rt wire threads limits memory storage store device code slots "
               "file_values"),
    "result": ("src/engine/result", "tables contract catalog program profile wire threads memory group_fold device"),
    "execution": ("src/engine/execution",
             "tables contract catalog rt program profile wire threads limits memory topology storage device split machine code slots "
             "store source "
             "result"),
    "exports": ("src/engine/exports", "contract wire device code execution"),

    "file_reader": ("src/file_reader", "contract file_values"),
    "compiler": ("src/compiler", "tables contract catalog program rt"),
    "daemon": ("src/daemon",
               "tables contract catalog program profile wire topology storage device machine code slots source result execution "
               "exports"),

    "storage_test": ("src/storage_test", "contract limits storage topology device cuda"),

    # Programs of their own, which share with the service what files mean, and nothing else.
    "export": ("src/export", "file_values"),
    "export.postgres": ("src/export/postgres", "export"),
    "export.mysql": ("src/export/mysql", "export"),
    "export.backend": ("src/export/backend", "contract file_values export export.postgres"),

    # Functions of LANGUAGE plcuda: the process that runs them, and the headers that nvcc compiles them with.
    "plcuda": ("src/plcuda/runner", "contract plcuda.include cuda"),
    "plcuda.include": ("src/plcuda/include", "contract"),

    # The extension. "pg" is what lies in no room (module.c).
    "pg.compat": ("src/pg/compat", ""),
    "pg.settings": ("src/pg/settings", ABOVE),
    "pg.shmem": ("src/pg/shmem", ABOVE),
    "pg.bridge": ("src/pg/bridge", ABOVE),
    "pg.topology": ("src/pg/topology", ABOVE),
    "pg.profile": ("src/pg/profile", ABOVE),
    "pg.convert": ("src/pg/convert", ABOVE),
    "pg.plans": ("src/pg/plans", ABOVE),
    "pg.cache": ("src/pg/cache", ABOVE),
    "pg.gstore": ("src/pg/gstore", ABOVE),
    "pg.conversation": ("src/pg/conversation", ABOVE),
    "pg.files": ("src/pg/files", ABOVE),
    "pg.source": ("src/pg/source", ABOVE),
    "pg.source.heap": ("src/pg/source/heap", ABOVE),
    "pg.source.plan_rows": ("src/pg/source/plan_rows", ABOVE),
    "pg.errors": ("src/pg/errors", ABOVE),
    "pg.language": ("src/pg/language", ABOVE),
    "pg.planner": ("src/pg/planner", ABOVE),
    "pg.source.numbers": ("src/pg/source/numbers", ABOVE),  # an input of tests
    "pg.stage": ("src/pg/stage", ABOVE),
    "pg.nodes.offer": ("src/pg/nodes/offer", ABOVE),
    "pg.nodes": ("src/pg/nodes", ABOVE),
    "pg.nodes.hooks": ("src/pg/nodes/hooks", ABOVE),
    "pg.export": ("src/pg/export", ABOVE),
    "pg.fdw": ("src/pg/fdw", ABOVE),
    "pg.results": ("src/pg/results", ABOVE),
    "pg.plcuda": ("src/pg/plcuda", ABOVE),
    "pg.learning": ("src/pg/learning", ABOVE),
    "pg.views": ("src/pg/views", ABOVE),
    "pg.supervisor": ("src/pg/supervisor", "tables contract catalog pg.compat pg.settings pg.shmem pg.bridge pg.cache"),
    "pg": ("src/pg", ABOVE),
}

POSTGRES = re.compile(r"^(postgres\.h|fmgr\.h|funcapi\.h|miscadmin\.h|pgstat\.h|libpq/|access/|catalog/pg_|commands/|"
                      r"executor/|foreign/|nodes/|optimizer/|parser/|port/|postmaster/|rewrite/|storage/|tcop/|"
                      r"utils/)")
# The one file outside src/pg with PostgreSQL's headers: the test that our page
# checksums are PostgreSQL's own.
POSTGRES_REFERENCE = "src/engine/testing/postgres_checksum.c"
LLVM_FOLDERS = ("src/compiler/codegen/", "src/compiler/jit/")
LLVM = re.compile(r"^(llvm|llvm-c|lld|clang)/")
# libarrow starts threads when it is loaded: never in a backend. Its headers are slow to compile.
ARROW_FOLDERS = ("packaging/arrow/", "src/engine/source/files/arrow/", "src/export/", "src/file_reader/",
                 "src/file_values/", "test/file_mutations/")
ARROW = re.compile(r"^(arrow|parquet)/")
CUDA = re.compile(r"^(cuda|cuda_runtime|nvrtc|cufile|nvToolsExt)[\w]*\.h$")
LOST_ATOMICS = re.compile(r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)")


class Part:
    """A row of PARTS."""

    def __init__(self, name, place, allowed):
        self.name, self.place, self.allowed = name, place, allowed
        self.folder, _, self.files = place.partition("*")
        self.folder = self.folder.rstrip("/")

    def holds(self, path):
        return path.startswith(self.folder + "/") and path.endswith(self.files)


def make_parts():
    """{name: Part}."""
    parts, extension = {}, {"tables", "contract", "catalog"}
    for name, (place, allowed) in PARTS.items():
        parts[name] = Part(name, place, set(extension) if allowed == ABOVE else set(allowed.split()))
        if place.startswith("src/pg"):
            extension.add(name)
    return parts


def guard_of(path):
    """The include guard of a header."""
    return "TURBINE_" + re.sub(r"[/.]", "_", path.removeprefix("include/turbine/").removeprefix("src/")).upper()


def is_test(path):
    """Unit tests may look further than what they test; the product's files may not."""
    path = Path(path)
    return path.name.endswith(("_test.cc", "_test.c")) or "testing" in path.parts


def unit_of(path):
    """x.c, x.cc and x.h are one unit; a table is one of its own."""
    return path if path.endswith(".def") else str(Path(path).with_suffix(""))


def find_cycle(edges):
    """A shortest cycle in {node: nodes}, as the list of its nodes, or None."""
    shortest = None
    for start in sorted(edges):
        came_from, queue = {}, [start]
        for node in queue:
            if start in edges.get(node, ()) and node != start:
                cycle = [node]
                while cycle[-1] != start:
                    cycle.append(came_from[cycle[-1]])
                if shortest is None or len(cycle) < len(shortest):
                    shortest = cycle[::-1]
                break
            for other in sorted(edges.get(node, ())):
                if other not in came_from and other != start:
                    came_from[other] = node
                    queue.append(other)
    return shortest


class Tree:
    """The sources under a folder, and the complaints about them."""

    def __init__(self, root):
        self.root = root
        self.parts = make_parts()
        self.texts = {}         # path: text
        for folder in FOLDERS:
            for file in sorted((root / folder).rglob("*")):
                if file.suffix in SOURCE | C_FAMILY and file.is_file() and not file.is_symlink():
                    self.texts[str(file.relative_to(root))] = file.read_text(encoding="utf-8", errors="replace")
        self.includes = {path: source_scan.includes(text) for path, text in self.texts.items()
                         if Path(path).suffix in C_FAMILY}
        self.complaints = []    # (rule, path, text)

    def complain(self, rule, path, text):
        self.complaints.append((rule, path, text))

    def part_of(self, path):
        """The name of the part that a path belongs to, or None."""
        holders = [part for part in self.parts.values() if part.holds(path)]
        return max(holders, key=lambda part: (len(part.folder), part.files)).name if holders else None

    def resolve(self, path, spelled):
        """The project's file that an include means, or None for outside headers."""
        for base in (Path(path).parent, Path("include"), Path("src"), Path(".")):
            candidate = (self.root / base / spelled).resolve()
            if candidate.is_file() and candidate.is_relative_to(self.root):
                return str(candidate.relative_to(self.root))
        return None

    def target_of(self, path, quote, spelled):
        return self.resolve(path, spelled) if quote == '"' or not POSTGRES.match(spelled) else None

    def include_complaint(self, path, quote, spelled):
        """What is wrong with one include, or None."""
        part, target = self.part_of(path), self.target_of(path, quote, spelled)
        if target is not None:
            other = self.part_of(target)
            if other and part and other != part and other not in self.parts[part].allowed and not is_test(path):
                return f"{part} may not include {other} ({spelled})"
            return None
        if POSTGRES.match(spelled) and not path.startswith("src/pg/") and path != POSTGRES_REFERENCE:
            return f"PostgreSQL header {spelled} outside src/pg"
        if LLVM.match(spelled) and not path.startswith(LLVM_FOLDERS):
            return f"LLVM header {spelled} outside {' and '.join(LLVM_FOLDERS)}"
        if ARROW.match(spelled) and not path.startswith(ARROW_FOLDERS):
            return f"Arrow header {spelled} outside {' and '.join(ARROW_FOLDERS)}"
        if CUDA.match(spelled):
            return f"CUDA header {spelled}: the driver is declared in our own header and found by dlopen"
        return None

    def check_layers(self):
        for path, lines in self.includes.items():
            for number, quote, spelled in lines:
                complaint = self.include_complaint(path, quote, spelled)
                if complaint:
                    self.complain("layers", path, f"line {number}: {complaint}")

    def check_language(self):
        for path, text in self.texts.items():
            if path.startswith("src/pg/") and Path(path).suffix in (".cc", ".cpp"):
                self.complain("language", path, "src/pg holds C only")
            if path.startswith("src/pg/") and "PG_VERSION_NUM" in text and self.part_of(path) != "pg.compat":
                self.complain("language", path, "PG_VERSION_NUM outside src/pg/compat")
            lost = LOST_ATOMICS.search(text) if path.startswith("src/rt/") and not is_test(path) else None
            if lost:
                self.complain("language", path, f"{lost.group(0)} in the device library: NVPTX cannot select it or "
                              "relaxes it silently")

    def check_rooms(self):
        for part in self.parts.values():
            if not (self.root / part.folder).is_dir():
                self.complain("rooms", part.folder, f"the folder of part {part.name} is missing")
        for path in self.includes:
            if path.startswith(("src/", "include/")) and self.part_of(path) is None and not is_test(path):
                self.complain("rooms", path, "belongs to no part: PARTS has no row for its folder")

    def edges_between(self, node_of, of_tests):
        """({node: nodes that it includes}, {(node, node): an example}) for a naming of files."""
        edges, example = {}, {}
        for path, lines in self.includes.items():
            if is_test(path) and not of_tests:
                continue
            for number, quote, spelled in lines:
                target = self.target_of(path, quote, spelled)
                if target is None or target not in self.includes:
                    continue
                ends = node_of(path), node_of(target)
                if None not in ends and ends[0] != ends[1]:
                    edges.setdefault(ends[0], set()).add(ends[1])
                    example.setdefault(ends, f"{path}:{number}")
        return edges, example

    def check_cycles(self):
        """Cycles of the table, between parts, and between files (x.c and x.h are one) of several folders."""
        for kind, edges, example in self.graphs():
            while (cycle := find_cycle(edges)) is not None:
                steps = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
                shown = " -> ".join(f"{a} ({example[a, b]})" if (a, b) in example else a for a, b in steps)
                self.complain("cycles", cycle[0], f"cycle between {kind}: {shown} -> {cycle[0]}")
                # The next one found does not use the last step of this one.
                edges[steps[-1][0]].discard(steps[-1][1])

    def graphs(self):
        yield "parts in the table of this program", {p.name: set(p.allowed) for p in self.parts.values()}, {}
        yield ("parts", *self.edges_between(self.part_of, False))
        edges, example = self.edges_between(unit_of, True)
        yield "files of several folders", *self.across_folders(edges, example)

    @staticmethod
    def across_folders(edges, example):
        """The graph with the units of a folder that include each other in a circle taken as one."""
        folder = {unit: str(Path(unit).parent) for ends in example for unit in ends}
        inside = {a: {b for b in others if folder[a] == folder[b]} for a, others in edges.items()}

        def reachable(start):
            seen, queue = {start}, [start]
            for node in queue:
                queue += [other for other in inside.get(node, ()) if other not in seen]
                seen.update(inside.get(node, ()))
            return seen
        reach = {unit: reachable(unit) for unit in folder}
        ring = {unit: min(other for other in reach[unit] if unit in reach[other]) for unit in folder}
        joined, shown = {}, {}
        for (a, b), where in example.items():
            if ring[a] != ring[b]:
                joined.setdefault(ring[a], set()).add(ring[b])
                shown.setdefault((ring[a], ring[b]), where)
        return joined, shown

    def check_guards(self):
        for path, text in self.texts.items():
            if Path(path).suffix != ".h" or "#pragma once" in text:
                continue
            lines = f"#ifndef {guard_of(path)}\n#define {guard_of(path)}\n"
            if lines not in text:
                self.complain("guards", path, f"lacks the guard {guard_of(path)}")

    def check_size(self):
        for path, text in self.texts.items():
            suffix, lines = Path(path).suffix, text.count("\n") + (not text.endswith("\n") and text != "")
            if suffix not in SOURCE:
                continue
            if lines > MAX_FILE_LINES:
                self.complain("size", path, f"{lines} lines, the limit is {MAX_FILE_LINES}")
            functions, balanced = [], True
            if suffix in C_FAMILY:
                functions, balanced = source_scan.c_functions(text)
            elif suffix == ".py":
                functions, balanced = source_scan.python_functions(text)
            if not balanced:
                self.complain("size", path, "cannot be read as its language: functions cannot be measured")
            for name, line, length in functions:
                if length > MAX_FUNCTION_LINES:
                    self.complain("size", path, f"line {line}: {name} has {length} lines, the limit is "
                                  f"{MAX_FUNCTION_LINES}")

    def check_head(self):
        for path, text in self.texts.items():
            if Path(path).suffix in (".c", ".cc"):
                lines = source_scan.head_comment_lines(text)
                wanted = 1 if is_test(path) else MIN_HEAD_LINES
                if lines < wanted:
                    self.complain("head", path, f"its head comment has {lines} lines of text, at least {wanted} are wanted")

    def check(self):
        """All complaints, as (rule, path, text)."""
        for rule in ("layers", "language", "rooms", "cycles", "guards", "size", "head"):
            getattr(self, f"check_{rule}")()
        return self.complaints


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=REPOSITORY)
    options = parser.parse_args(arguments)
    tree = Tree(options.root.resolve())
    failed = set()
    for _, path, text in tree.check():
        print(f"{path}: {text}")
        failed.add(path)
    print(f"{len(tree.texts.keys() - failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
