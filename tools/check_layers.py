#!/usr/bin/env python3
"""check_layers.py - the layer rules and the size budget, as a program.

Rules (ARCHITECTURE.md "Layers"): PostgreSQL's headers only in src/pg, LLVM's
only in src/compiler/{codegen,jit}, CUDA by dlopen only, and each part includes only the parts below it. Files stop at
1,000 lines. Tables (*.def) are exempt.
Called by: make check-layers, test/run_all.py. Prints each violation; the last
line is `N passed, N failed`, counted in files.
"""

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
MAX_LINES = 1000
SOURCE = {".c", ".h", ".cc", ".py", ".sh", ".sql"}
FOLDERS = ("include", "catalog", "src", "tools", "test", "bench", "packaging", "python")

# part: (its folder, parts of this project that it may include)
PARTS = {
    "contract": ("include/turbine", {"catalog"}),
    "catalog": ("catalog", {"contract"}),
    "rt": ("src/rt", {"contract", "catalog"}),
    "program": ("src/engine/program", {"contract", "catalog"}),
    "profile": ("src/engine/profile", {"contract"}),
    "wire": ("src/engine/wire", {"contract", "catalog"}),
    "threads": ("src/engine/threads", {"wire"}),
    "memory": ("src/engine/memory", {"wire"}),
    "groups": ("src/engine/groups", {"contract", "catalog", "program", "wire"}),
    "device": ("src/engine/device", {"contract", "catalog", "program", "profile", "rt", "wire", "threads", "memory", "groups"}),
    "host": ("src/engine/device/host", {"contract", "catalog", "program", "profile", "rt", "wire", "threads", "memory", "groups",
                                        "device"}),
    "cuda": ("src/engine/device/cuda", {"contract", "catalog", "program", "profile", "rt", "wire", "threads", "memory", "groups",
                                        "device", "host"}),
    "machine": ("src/engine/device/machine", {"contract", "wire", "threads", "device", "host", "cuda"}),
    "code": ("src/engine/code", {"contract", "catalog", "program", "threads", "wire", "device"}),
    "slots": ("src/engine/slots", {"contract", "catalog", "program", "profile", "wire", "device"}),
    "source": ("src/engine/source", {"contract", "catalog", "program", "profile", "rt", "wire", "threads", "device", "code", "slots"}),
    "result": ("src/engine/result", {"contract", "catalog", "program", "profile", "wire", "threads", "memory", "groups", "device"}),
    "exec": ("src/engine/exec", {"contract", "catalog", "program", "profile", "wire", "threads", "memory", "device", "machine",
                                 "code", "slots", "source", "result"}),
    "compiler": ("src/compiler", {"contract", "catalog", "program", "rt"}),
    "daemon": ("src/daemon", {"contract", "catalog", "program", "profile", "wire", "device", "machine", "code", "slots", "source", "result",
                              "exec"}),
    "pg": ("src/pg", {"contract", "catalog"}),
}

POSTGRES = re.compile(r"^(postgres\.h|fmgr\.h|funcapi\.h|miscadmin\.h|pgstat\.h|libpq/|access/|catalog/pg_|commands/|"
                      r"executor/|foreign/|nodes/|optimizer/|parser/|port/|postmaster/|rewrite/|storage/|tcop/|"
                      r"utils/)")
# The one file outside src/pg with PostgreSQL's headers: the test that our page
# checksums are PostgreSQL's own.
POSTGRES_REFERENCE = Path("src/engine/testing/postgres_checksum.c")
LLVM_FOLDERS = ("src/compiler/codegen/", "src/compiler/jit/")
LLVM = re.compile(r"^(llvm|llvm-c|lld|clang)/")
CUDA = re.compile(r"^(cuda|cuda_runtime|nvrtc|cufile|nvToolsExt)[\w]*\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def part_of(path):
    """The part whose folder holds a path (relative to the repository)."""
    best = None
    for name, (folder, _) in PARTS.items():
        if str(path).startswith(folder + "/") and (best is None or len(folder) > len(PARTS[best][0])):
            best = name
    return best


def resolve(path, spelled):
    """The project's file that an include means, or None for outside headers."""
    for base in (path.parent, Path("include"), Path("src"), Path(".")):
        candidate = (REPOSITORY / base / spelled).resolve()
        if candidate.is_file() and candidate.is_relative_to(REPOSITORY):
            return candidate.relative_to(REPOSITORY)
    return None


def is_test(path):
    """Unit tests may look further than what they test; the product's files may not."""
    return path.name.endswith("_test.cc") or "testing" in path.parts


def check_include(path, part, quote, spelled):
    """A complaint about one include, or None."""
    target = resolve(path, spelled) if quote == '"' or not POSTGRES.match(spelled) else None
    if target is not None:
        other = part_of(target)
        if other and part and other != part and other not in PARTS[part][1] and not is_test(path):
            return f"{part} may not include {other} ({spelled})"
        return None
    if POSTGRES.match(spelled) and part != "pg" and path != POSTGRES_REFERENCE:
        return f"PostgreSQL header {spelled} outside src/pg"
    if LLVM.match(spelled) and not str(path).startswith(LLVM_FOLDERS):
        return f"LLVM header {spelled} outside {' and '.join(LLVM_FOLDERS)}"
    if CUDA.match(spelled):
        return f"CUDA header {spelled}: the driver is declared in our own header and found by dlopen"
    return None


def check_language(path, text):
    """src/pg is C; the device library is freestanding."""
    if str(path).startswith("src/pg/") and path.suffix in (".cc", ".cpp"):
        return ["src/pg holds C only"]
    if str(path).startswith("src/rt/") and not path.name.endswith("_test.cc"):
        found = re.search(r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)", text)
        if found:
            return [f"{found.group(0)} in the device library: NVPTX cannot select it or relaxes it silently"]
    return []


def check_file(path):
    text = (REPOSITORY / path).read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    complaints = check_language(path, text)
    if len(lines) > MAX_LINES:
        complaints.append(f"{len(lines)} lines, the limit is {MAX_LINES}")
    if path.suffix in (".c", ".h", ".cc"):
        part = part_of(path)
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            complaint = found and check_include(path, part, *found.groups())
            if complaint:
                complaints.append(f"line {number}: {complaint}")
    return complaints


def main():
    passed = failed = 0
    for folder in FOLDERS:
        for file in sorted((REPOSITORY / folder).rglob("*")):
            if file.suffix not in SOURCE or not file.is_file():
                continue
            path = file.relative_to(REPOSITORY)
            complaints = check_file(path)
            for complaint in complaints:
                print(f"{path}: {complaint}")
            passed, failed = passed + (not complaints), failed + bool(complaints)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
