"""classify.py - what differs between two outputs of one core test.

Owns: cutting psql's and isolationtester's output into segments, one a
statement or step, and naming the difference of two segments:
  plan    text of EXPLAIN
  order   the same lines in another order
  float   the same cells but for the last digits of a floating-point number
  notices the same, but fewer NOTICE lines, none of them new
  rows    anything else: a failure
Must never: look at anything but the two texts and the script that made them.
Used by: run_core.py, test_harness.py.
"""

import re
from collections import Counter

FLOAT_TOLERANCE = 1e-11
RESYNC_LENGTH = 16
RESYNC_WINDOW = 100
_FLOAT = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")
_STEP = re.compile(r"^(?:step |starting permutation: |s\d+: NOTICE|teardown |setup )")


def echoed_lines(script):
    """The script's lines that psql -a echoes: all but empty ones and COPY data."""
    lines, in_data = [], False
    for line in script.splitlines():
        if in_data:
            in_data = line != "\\."
            continue
        if line:
            lines.append(line)
        in_data = bool(re.match(r"\s*\\?copy\b.*\bfrom\s+std(in|out)\b", line, re.IGNORECASE))
    return lines


def psql_segments(output, script):
    """{number of the script's lines echoed so far: output lines that follow}.
    psql -a echoes every line of its script, so the script tells which lines
    of the output are echo."""
    segments, at, wanted = {}, 0, echoed_lines(script)
    for line in output.splitlines():
        if at < len(wanted) and line == wanted[at]:
            at += 1
        elif len(line) >= RESYNC_LENGTH and wanted[at:at + RESYNC_WINDOW].count(line) == 1:
            # Lines that psql did not echo after all: data of a COPY that failed, \if blocks.
            at += wanted[at:at + RESYNC_WINDOW].index(line) + 1
        else:
            segments.setdefault(at, []).append(line)
    return segments


def isolation_segments(output):
    segments, head, lines = [], "", []
    for line in output.splitlines():
        if _STEP.match(line):
            segments.append((head, lines))
            head, lines = line, []
        else:
            lines.append(line)
    segments.append((head, lines))
    return segments


def _is_plan(statement, lines):
    if any(line.startswith("ERROR") for line in lines):
        return False
    return any("QUERY PLAN" in line for line in lines[:2]) or bool(re.search(r"\bexplain", statement, re.IGNORECASE))


def _same_but_floats(left, right):
    if len(left) != len(right):
        return False
    for a, b in zip(left, right, strict=True):
        if a == b:
            continue
        if _FLOAT.sub("#", a).split() != _FLOAT.sub("#", b).split():
            return False
        for x, y in zip(_FLOAT.findall(a), _FLOAT.findall(b), strict=True):
            x, y = float(x), float(y)
            if abs(x - y) > FLOAT_TOLERANCE * max(abs(x), abs(y)):
                return False
    return True


def _without_layout(lines):
    """Cells without the padding that depends on the widest row, rulers dropped."""
    return [re.sub(r"\s+", " ", line).strip() for line in lines if not re.fullmatch(r"[-+ ]+", line)]


def _fewer_notices(left, right):
    """The same answer with fewer notices, none of them new."""
    def split(lines):
        return ([line for line in lines if not line.startswith("NOTICE:")],
                Counter(line for line in lines if line.startswith("NOTICE:")))
    (answer, notices), (other, fewer) = split(left), split(right)
    return answer == other and not fewer - notices


def compare_segment(statement, left, right):
    """None if equal, else the kind of difference."""
    if left == right:
        return None
    left, right = _without_layout(left), _without_layout(right)
    if left == right:
        return None
    if Counter(left) == Counter(right):
        return "order"
    if _fewer_notices(left, right):
        return "notices"
    if _is_plan(statement, left) and _is_plan(statement, right):
        return "plan"
    if _same_but_floats(left, right) or _same_but_floats(sorted(left), sorted(right)):
        return "float"
    return "rows"


def _pairs(reference, actual, script):
    """[(statement, reference lines, actual lines)]"""
    if script is None:
        left, right = isolation_segments(reference), isolation_segments(actual)
        if [head for head, _ in left] != [head for head, _ in right]:
            return [("whole output", reference.splitlines(), actual.splitlines())]
        return [(head, a, b) for (head, a), (_, b) in zip(left, right, strict=True)]
    left, right = psql_segments(reference, script), psql_segments(actual, script)
    lines, pairs, before = echoed_lines(script), [], 0
    for end in sorted(set(left) | set(right)):
        pairs.append(("\n".join(lines[before:end]), left.get(end, []), right.get(end, [])))
        before = end
    return pairs


def compare(reference, actual, script=None):
    """[(kind, statement, reference lines, actual lines)] of all differences."""
    found = []
    for statement, left, right in _pairs(reference, actual, script):
        kind = compare_segment(statement, left, right)
        if kind:
            found.append((kind, statement, left, right))
    return found
