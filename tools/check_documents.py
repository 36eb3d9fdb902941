#!/usr/bin/env python3
"""check_documents.py - links of the Markdown pages resolve, files that are named exist, and pages stay short enough to
be read.

Owns: the limits of length below, and what counts as a word: whatever stands
between blanks and has a letter or a digit, in prose, tables and code alike.
Links are those of Markdown ([text](target), ![text](target), [name]: target)
and of HTML (href="target", src="target"), except within code. A relative one
must name a file or folder of the project, and its anchor a heading of that
page, spelled as GitHub spells it. Addresses with a scheme are not looked up.
Pages, and comments of C and C++ files, name source files by their last part (cost.c): one that the project does
not have must be among OTHERS_FILES.
Must never: reach for the network, or accept a link out of the repository.
Called by: tools/check_tree.py. Prints each complaint; the last line is
`N passed, N failed`, counted in pages and source files.
"""

import argparse
import re
import sys
from pathlib import Path
from urllib.parse import unquote

from check_format import files_of_project

REPOSITORY = Path(__file__).resolve().parent.parent

# The limits: pages (folders have a slash at the end), what is counted, and how many. The first that fits holds.
LIMITS = (("README.md", "lines", 90), ("ARCHITECTURE.md", "words", 2000), ("docs/", "words", 2500))

# Files of PostgreSQL, CUDA and the C library that pages and comments speak of.
OTHERS_FILES = {"buf_internals.h", "createplan.c", "cuda.h", "fd.c", "fmgroids.h", "indxpath.c", "nodeAppend.c",
                "nodeHashjoin.c", "nodeWindowAgg.c", "setrefs.c", "timestamp.h", "visibilitymap.c"}

_SOURCE_NAME = re.compile(r"(?<![\w.>@])([A-Za-z]\w*\.(?:c|h|cc|def))\b(?![.(])")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FENCE = re.compile(r"^\s*(```|~~~)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)|"
                   r"\b(?:href|src)=\"([^\"]+)\"", re.MULTILINE)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
_NAMED = re.compile(r"<a\s+(?:name|id)=\"([^\"]+)\"")


def lines_without_code_blocks(text):
    """(number, line) of what is no block of code."""
    inside = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and inside in (None, fence.group(1)):
            inside = fence.group(1) if inside is None else None
        elif inside is None:
            yield number, line


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[^\w\- ]", "", text.lower())
    return text.replace(" ", "-")


def anchors(text):
    """All anchors of a page. A second heading of the same words ends with -1, a third with -2."""
    found, counts = set(), {}
    for _, line in lines_without_code_blocks(text):
        found.update(_NAMED.findall(line))
        heading = _HEADING.match(line)
        if heading:
            name = slug(heading.group(1))
            count = counts.get(name, 0)
            counts[name] = count + 1
            found.add(name if count == 0 else f"{name}-{count}")
    return found


def links(text):
    """(line, target) of every link that is not code."""
    for number, line in lines_without_code_blocks(text):
        for found in _LINK.finditer(_CODE.sub(lambda code: " " * len(code.group(0)), line)):
            yield number, next(target for target in found.groups() if target)


def words(text):
    return sum(1 for word in text.split() if re.search(r"\w", word))


def length_complaint(path, text):
    for place, unit, limit in LIMITS:
        if path == place or (place.endswith("/") and path.startswith(place)):
            length = len(text.splitlines()) if unit == "lines" else words(text)
            return f"{path}: {length} {unit}, the limit is {limit}" if length > limit else None
    return None


def link_complaint(root, page, target, known_anchors):
    """What is wrong with a page's link to `target`, or None."""
    if _SCHEME.match(target):
        return None
    path, _, anchor = unquote(target).partition("#")
    if path.startswith("/"):
        return "not relative"
    file = (root / page).parent.joinpath(path).resolve() if path else (root / page).resolve()
    if file != root and root not in file.parents:
        return "leads out of the repository"
    if not file.exists():
        return "there is no such file"
    if anchor and file.suffix == ".md":
        if file not in known_anchors:
            known_anchors[file] = anchors(file.read_text(encoding="utf-8"))
        if anchor not in known_anchors[file]:
            return "there is no such heading"
    return None


def named_files(path, text):
    """(line, name) of each source file that a page, or a comment of a source file, names."""
    pieces = ([(0, text)] if path.endswith(".md") else
              [(comment.start(), comment.group(0)) for comment in _COMMENT.finditer(text)])
    for start, piece in pieces:
        for name in _SOURCE_NAME.finditer(piece):
            yield text.count("\n", 0, start + name.start()) + 1, name.group(1)


def check_names(root, paths):
    """{path: complaints} of pages and source files that name a file which is not there."""
    names = {Path(path).name for path in paths} | OTHERS_FILES
    found = {}
    for path in (path for path in paths if path.endswith((".md", ".c", ".h", ".cc"))):
        text = (root / path).read_text(encoding="utf-8")
        found[path] = [f"{path}:{line}: {name}: there is no such file"
                       for line, name in named_files(path, text) if name not in names]
    return found


def check(root):
    """{path: complaints}, all pages and source files of the project."""
    paths = list(files_of_project(root))
    known_anchors, found = {}, check_names(root, paths)
    for page in (path for path in paths if path.endswith(".md")):
        text = (root / page).read_text(encoding="utf-8")
        too_long = length_complaint(page, text)
        found[page] += [too_long] if too_long else []
        for number, target in links(text):
            complaint = link_complaint(root, page, target, known_anchors)
            if complaint:
                found[page].append(f"{page}:{number}: {target}: {complaint}")
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=REPOSITORY)
    found = check(parser.parse_args(arguments).root.resolve())
    failed = [complaints for complaints in found.values() if complaints]
    for complaints in failed:
        print("\n".join(complaints))
    print(f"{len(found) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
