#!/usr/bin/env python3
"""check_format.py - text files look as .editorconfig and clang-format say.

Owns: which file has which style. .editorconfig decides about encoding, ends of
lines, blanks at their ends, indentation and length; clang-format decides about
C and C++ (.clang-format for C++, src/pg/.clang-format for C).
With --write it rewrites the files: clang-format's part, blanks at the ends of
lines, the last newline. Lines that are too long stay for a person to break.
Must never: change what a file means.
Called by: make format, make check-format, test/run_all.py. Prints each
complaint; the last line is `N passed, N failed`, counted in files.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# Other releases break lines elsewhere. tools/install_deps.sh installs this one.
CLANG_FORMAT_VERSION = "19.1"
CPP_STYLE, C_STYLE = ".clang-format", "src/pg/.clang-format"
# Headers of C; a .c file is C wherever it lies.
C_HEADERS = ("src/pg/", "include/turbine/", "catalog/")
FILES_AT_A_TIME = 25

# What clang-format would only harm, and why. Paths, or beginnings of paths that end in "/".
NOT_FOR_CLANG_FORMAT = {
    # Not one yet. Tables (*.def) are no C to it at all: they are neither .c, .cc nor .h.
}
# Lines that cannot be broken: tables and links of Markdown.
UNBREAKABLE = {".md": re.compile(r"^\s*\||^\s*\S+$|^\[[^\]]+\]: ")}
FENCE = re.compile(r"^\s*```")


def complain_about_setup(message):
    print(message)
    print("0 passed, 1 failed")
    sys.exit(1)


def files_of_project(root):
    """Tracked files and new ones that git does not ignore; links and deleted files are left out."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if listed.returncode != 0:
        complain_about_setup("check_format.py needs a git checkout: it asks git which files are the project's")
    paths = sorted({os.fsdecode(name) for name in listed.stdout.split(b"\0") if name})
    return [path for path in paths if (root / path).is_file() and not (root / path).is_symlink()]


def glob_to_regex(glob):
    """A section's name of .editorconfig as a regular expression over paths."""
    text, depth, i = "", 0, 0
    while i < len(glob):
        char = glob[i]
        if glob.startswith("**", i):
            text, i = text + ".*", i + 1
        elif char == "*":
            text += "[^/]*"
        elif char == "?":
            text += "[^/]"
        elif char == "{":
            text, depth = text + "(?:", depth + 1
        elif char == "}" and depth:
            text, depth = text + ")", depth - 1
        elif char == "," and depth:
            text += "|"
        else:
            text += re.escape(char)
        i += 1
    return text


def split_alternatives(glob):
    """{a,b} as a whole stands for several globs, each with or without a folder."""
    if glob.startswith("{") and glob.endswith("}") and "{" not in glob[1:]:
        return glob[1:-1].split(",")
    return [glob]


def read_editorconfig(path):
    """[(regular expression, {setting: value})] in the file's order."""
    sections = []
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            globs = split_alternatives(line[1:-1])
            # A glob without a slash matches the name in any folder.
            patterns = [("" if "/" in glob else "(?:.*/)?") + glob_to_regex(glob.lstrip("/")) for glob in globs]
            sections.append((re.compile("|".join(f"(?:{pattern})" for pattern in patterns)), {}))
        elif sections:
            name, _, value = line.partition("=")
            sections[-1][1][name.strip().lower()] = value.strip().lower()
    return sections


def settings_of(path, sections):
    settings = {}
    for pattern, values in sections:
        if pattern.fullmatch(path):
            settings.update(values)
    return settings


def indentation_complaint(line, style, tab_width):
    """A complaint about what a line begins with, or None."""
    blanks = line[:len(line) - len(line.lstrip(" \t"))]
    if style == "space" and "\t" in blanks:
        return "indented with a tab"
    if style == "tab":
        if " \t" in blanks:
            return "a blank before a tab"
        if len(blanks) - blanks.count("\t") >= tab_width:
            return "indented with blanks"
    return None


def may_be_long(line, suffix, in_fence):
    pattern = UNBREAKABLE.get(suffix)
    return in_fence or (pattern is not None and pattern.match(line) is not None)


def line_complaints(line, settings):
    """Complaints about one line, except about its length."""
    tab_width = int(settings.get("tab_width", 4))
    complaint = indentation_complaint(line, settings.get("indent_style"), tab_width)
    if complaint:
        yield complaint
    if settings.get("trim_trailing_whitespace") == "true" and line != line.rstrip():
        yield "blanks at the end of the line"


def text_complaints(path, data, settings):
    """Everything that .editorconfig has against a file's bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"{path}: not UTF-8 at byte {error.start}"] if settings.get("charset") == "utf-8" else []
    complaints = []
    if "\r" in text and settings.get("end_of_line") == "lf":
        complaints.append(f"{path}: a carriage return")
    if text and settings.get("insert_final_newline") == "true":
        if not text.endswith("\n"):
            complaints.append(f"{path}: no newline at the end")
        elif text.endswith("\n\n"):
            complaints.append(f"{path}: empty lines at the end")
    limit = settings.get("max_line_length", "off")
    suffix, in_fence = Path(path).suffix, False
    for number, line in enumerate(text.split("\n"), 1):
        complaints += [f"{path}:{number}: {what}" for what in line_complaints(line, settings)]
        if suffix == ".md" and FENCE.match(line):
            in_fence = not in_fence
        width = len(line.expandtabs(int(settings.get("tab_width", 4))))
        if limit != "off" and width > int(limit) and not may_be_long(line, suffix, in_fence):
            complaints.append(f"{path}:{number}: {width} columns, the limit is {limit}")
    return complaints


def tidied(data, settings):
    """The bytes without blanks at the ends of lines, and with one newline at the end."""
    if settings.get("trim_trailing_whitespace") == "true":
        data = re.sub(rb"[ \t\r]+(?=\n|\Z)", b"", data)
    if data.strip() and settings.get("insert_final_newline") == "true":
        data = data.rstrip(b"\n") + b"\n"
    return data


def style_of(path):
    """The configuration of clang-format for a path, or None if it is no C or C++."""
    suffix = Path(path).suffix
    if suffix not in (".c", ".cc", ".h") or any(
            path == spared or (spared.endswith("/") and path.startswith(spared)) for spared in NOT_FOR_CLANG_FORMAT):
        return None
    return C_STYLE if suffix == ".c" or (suffix == ".h" and path.startswith(C_HEADERS)) else CPP_STYLE


def find_clang_format():
    """The program, in the release that this project's style is made for."""
    named = os.environ.get("CLANG_FORMAT")
    for name in [named] if named else ["clang-format-19", "clang-format"]:
        program = shutil.which(name)
        if program:
            said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
            if f"version {CLANG_FORMAT_VERSION}." in said:
                return program
    return complain_about_setup(f"clang-format {CLANG_FORMAT_VERSION} is missing: tools/install_deps.sh installs it")


def run_clang_format(program, root, paths, write):
    """{path: its first line that clang-format would change, or changed}."""
    batches = []
    for style in (CPP_STYLE, C_STYLE):
        members = [path for path in paths if style_of(path) == style]
        batches += [(style, members[i:i + FILES_AT_A_TIME]) for i in range(0, len(members), FILES_AT_A_TIME)]

    def run(batch):
        style, members = batch
        command = [program, f"--style=file:{root / style}"] + (["-i"] if write else ["--dry-run"])
        return subprocess.run(command + members, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)

    changed = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as lanes:
        for done in lanes.map(run, batches):
            if done.returncode != 0:
                complain_about_setup(f"clang-format failed:\n{done.stdout}")
            for path, line in re.findall(r"^(.+?):(\d+):\d+: warning: code should be clang-formatted", done.stdout,
                                         re.MULTILINE):
                changed.setdefault(path, int(line))
    return changed


def write_files(root, paths, sections, program):
    run_clang_format(program, root, paths, True)
    for path in paths:
        data = (root / path).read_bytes()
        if b"\0" in data:
            continue
        tidy = tidied(data, settings_of(path, sections))
        if tidy != data:
            (root / path).write_bytes(tidy)


def check_files(root, paths, sections, program):
    """{path: complaints}, of files that have any."""
    unformatted = run_clang_format(program, root, paths, False)
    complaints = {}
    for path in paths:
        data = (root / path).read_bytes()
        if b"\0" in data:
            continue
        found = text_complaints(path, data, settings_of(path, sections))
        if path in unformatted:
            found.append(f"{path}:{unformatted[path]}: clang-format would change this (make format)")
        if found:
            complaints[path] = found
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="rewrite files instead of complaining")
    parser.add_argument("--root", type=Path, default=REPOSITORY)
    parser.add_argument("paths", nargs="*", help="only these files, or files in these folders")
    options = parser.parse_args()
    root = options.root.resolve()
    paths = files_of_project(root)
    if options.paths:
        wanted = [os.path.relpath(Path(path).resolve(), root) for path in options.paths]
        paths = [path for path in paths if any(path == w or path.startswith(w + "/") for w in wanted)]
    sections = read_editorconfig(root / ".editorconfig")
    program = find_clang_format()
    if options.write:
        write_files(root, paths, sections, program)
    complaints = check_files(root, paths, sections, program)
    for found in complaints.values():
        print("\n".join(found))
    print(f"{len(paths) - len(complaints)} passed, {len(complaints)} failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
