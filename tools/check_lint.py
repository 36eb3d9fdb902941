#!/usr/bin/env python3
"""check_lint.py - ruff for Python, shellcheck for shell scripts and, if asked for, clang-tidy for C and C++.

Owns: which program reads which files. ruff.toml and .clang-tidy say which rules hold, and why others do not; a script
of the shell is a file whose first line says so. With --tidy clang-tidy reads C and C++ as well, with a build folder of
its own: without precompiled headers and joined files, so that each file is read as it stands. It takes many seconds a
file, so it reads only files that differ from a commit (--since) or that are named; --all reads every file.
Must never: pass because a linter is missing or fails.
Called by: make lint, test/run_all.py (suite "lint"). Prints each complaint; the last line is `N passed, N failed`,
counted in files.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_format import complain_about_setup, files_of_project

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TURBINE_BUILD", REPOSITORY / "build"))
SHELL = re.compile(rb"#!\s*\S*\b(bash|sh)\b|#!/usr/bin/env (bash|sh)\b")
# Every file is read alone and as it stands.
TIDY_OPTIONS = ("-DCMAKE_BUILD_TYPE=Debug", "-DTURBINE_PRECOMPILED_HEADERS=OFF", "-DTURBINE_UNITY=OFF")
# The compilation commands are g++'s.
TIDY_ARGUMENTS = ("--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-unused-command-line-argument")
COMPLAINT = re.compile(r"^(?P<path>[^\s:]+):\d+:\d+: (?:warning|error): ", re.MULTILINE)


def find_program(names, how):
    for name in names:
        program = shutil.which(str(name))
        if program:
            return program
    return complain_about_setup(f"{names[-1]} is missing: {how}")


def run(command, root):
    return subprocess.run([str(part) for part in command], cwd=root, capture_output=True, text=True, errors="replace", check=False)


def shell_scripts(root, paths):
    """Scripts by their first line; templates of other languages have none."""
    found = []
    for path in paths:
        with open(root / path, "rb") as file:
            if SHELL.match(file.readline(200)):
                found.append(path)
    return found


def check_python(root, paths):
    """{path: complaints}"""
    ruff = find_program([os.environ.get("RUFF", BUILD / "python/bin/ruff"), "ruff"], "tools/install_python_packages.sh installs it")
    done = run([ruff, "check", "--no-cache", "--config", root / "ruff.toml", "--output-format", "json", *paths], root)
    if done.returncode not in (0, 1):
        complain_about_setup(f"ruff failed:\n{done.stderr}")
    complaints = {}
    for found in json.loads(done.stdout):
        path, row = os.path.relpath(found["filename"], root), found["location"]["row"]
        complaints.setdefault(path, []).append(f"{path}:{row}: {found['code']} {found['message']}")
    return complaints


def check_shell(root, paths):
    """{path: complaints}"""
    done = run([find_program(["shellcheck"], "tools/install_deps.sh installs it"), "--format=json", *paths], root)
    if done.returncode not in (0, 1):
        complain_about_setup(f"shellcheck failed:\n{done.stderr}")
    complaints = {}
    for found in json.loads(done.stdout):
        complaints.setdefault(found["file"], []).append(f"{found['file']}:{found['line']}: SC{found['code']} {found['message']}")
    return complaints


def compiled_files(root):
    """Files that the build compiles, by a build folder that only says how; and the folder."""
    folder = BUILD / "lint"
    done = run(["cmake", "-G", "Ninja", "-S", root, "-B", folder, *TIDY_OPTIONS], root)
    if done.returncode != 0:
        complain_about_setup(f"cmake failed:\n{done.stderr}")
    commands = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    return {os.path.relpath(command["file"], root) for command in commands}, folder


def changed_since(root, commit):
    """Files that differ from a commit, new ones included."""
    done = run(["git", "diff", "--name-only", commit, "--"], root)
    if done.returncode != 0:
        complain_about_setup(f"git diff failed:\n{done.stderr}")
    return set(done.stdout.split()) | set(run(["git", "ls-files", "--others", "--exclude-standard"], root).stdout.split())


def check_tidy(root, paths):
    """({path: complaints}, files that were read)"""
    program = find_program(["clang-tidy-19"], "tools/install_deps.sh installs it")
    known, folder = compiled_files(root)
    files = sorted(known.intersection(paths))
    complaints = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as lanes:
        commands = [[program, "-p", folder, *TIDY_ARGUMENTS, path] for path in files]
        for path, done in zip(files, lanes.map(lambda command: run(command, root), commands), strict=True):
            lines = {os.path.relpath(line, root) if line.startswith("/") else line
                     for line in done.stdout.splitlines() if COMPLAINT.match(line)}
            if done.returncode != 0 and not lines:
                lines = {f"{path}: clang-tidy failed:\n{done.stderr}"}
            if lines:
                complaints[path] = sorted(lines)
    return complaints, files


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidy", action="store_true", help="clang-tidy, too")
    parser.add_argument("--since", default="HEAD", help="with --tidy: only files that differ from this commit")
    parser.add_argument("--all", action="store_true", help="with --tidy: all files")
    parser.add_argument("paths", nargs="*", help="only these files, or files in these folders")
    options = parser.parse_args()
    root = REPOSITORY
    paths = files_of_project(root)
    if options.paths:
        wanted = [os.path.relpath(Path(path).resolve(), root) for path in options.paths]
        paths = [path for path in paths if any(path == w or path.startswith(w + "/") for w in wanted)]
    complaints, read = {}, []
    for members, check in (([path for path in paths if path.endswith(".py")], check_python), (shell_scripts(root, paths), check_shell)):
        if members:
            complaints.update(check(root, members))
            read += members
    if options.tidy:
        chosen = paths if options.all or options.paths else set(paths) & changed_since(root, options.since)
        found, files = check_tidy(root, chosen)
        complaints.update(found)
        read += files
    for lines in complaints.values():
        print("\n".join(lines))
    print(f"{len(read) - len(complaints)} passed, {len(complaints)} failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
