"""classify.py - what differs between two outputs of one core test.

Owns: cutting psql's and isolationtester's output into segments, one a
statement or step, and naming the difference of two segments:
  plan    text of EXPLAIN
  order   the same lines in another order
  float   the same cells but for the last digits of a floating-point number
  rows    anything else: a failure
Must never: look at anything but the two texts and the script that made them.
Used by: run_core.py, test_classify.py.
"""

import re
from collections import Counter

FLOAT_TOLERANCE = 1e-11
_FLOAT = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")
_STEP = re.compile(r"^(?:step |starting permutation: |s\d+: NOTICE|teardown |setup )")


def psql_segments(output, script):
    """[(statement text, output lines)]. psql -a echoes every line of its
    script, so the script tells which lines of the output are echo."""
    segments, echo, lines = [], [], []
    at, out = 0, output.splitlines()
    wanted = script.splitlines()
    for line in out:
        if at < len(wanted) and line == wanted[at]:
            if lines:
                segments.append(("\n".join(echo), lines))
                echo, lines = [], []
            echo.append(line)
            at += 1
        else:
            lines.append(line)
    segments.append(("\n".join(echo), lines))
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
    return any("QUERY PLAN" in line for line in lines[:2]) or bool(
        re.search(r"\bexplain\b", statement, re.IGNORECASE) and not any(l.startswith("ERROR") for l in lines))


def _same_but_floats(left, right):
    if len(left) != len(right):
        return False
    for a, b in zip(left, right):
        if a == b:
            continue
        if _FLOAT.sub("#", a).split() != _FLOAT.sub("#", b).split():
            return False
        for x, y in zip(_FLOAT.findall(a), _FLOAT.findall(b)):
            x, y = float(x), float(y)
            if abs(x - y) > FLOAT_TOLERANCE * max(abs(x), abs(y)):
                return False
    return True


def _without_layout(lines):
    """Cells without the padding that depends on the widest row, rulers dropped."""
    return [re.sub(r"\s+", " ", line).strip() for line in lines if not re.fullmatch(r"[-+ ]+", line)]


def compare_segment(statement, left, right):
    """None if equal, else the kind of difference."""
    if left == right:
        return None
    left, right = _without_layout(left), _without_layout(right)
    if left == right:
        return None
    if Counter(left) == Counter(right):
        return "order"
    if _is_plan(statement, left) and _is_plan(statement, right):
        return "plan"
    if _same_but_floats(left, right) or _same_but_floats(sorted(left), sorted(right)):
        return "float"
    return "rows"


def compare(reference, actual, script=None):
    """[(kind, statement, reference lines, actual lines)] of all differences."""
    if script is None:
        left, right = isolation_segments(reference), isolation_segments(actual)
    else:
        left, right = psql_segments(reference, script), psql_segments(actual, script)
    left, right = _align(left, right)
    found = []
    for (statement, a), (_, b) in zip(left, right):
        kind = compare_segment(statement, a, b)
        if kind:
            found.append((kind, statement, a, b))
    return found


def _align(left, right):
    """Pairs segments whose statements are the same; where one side has none
    (a statement gave output on one side only) the other stands against []."""
    if [s for s, _ in left] == [s for s, _ in right]:
        return left, right
    cuts_left, cuts_right = _echo_lines(left), _echo_lines(right)
    common = sorted(set(cuts_left) & set(cuts_right))
    return _recut(left, common), _recut(right, common)


def _echo_lines(segments):
    """Number of echo lines up to the end of each segment's statement."""
    total, ends = 0, []
    for statement, _ in segments:
        total += statement.count("\n") + 1 if statement else 0
        ends.append(total)
    return ends


def _recut(segments, ends):
    merged, total, texts, lines, wanted = [], 0, [], [], set(ends)
    for statement, out in segments:
        total += statement.count("\n") + 1 if statement else 0
        texts.append(statement)
        lines = lines + out
        if total in wanted:
            merged.append(("\n".join(texts), lines))
            texts, lines = [], []
            wanted.discard(total)
        elif not wanted:
            previous = merged.pop()
            merged.append((previous[0] + "\n" + "\n".join(texts), previous[1] + lines))
            texts, lines = [], []
    if texts:
        previous = merged.pop() if merged else ("", [])
        merged.append((previous[0] + "\n" + "\n".join(texts), previous[1] + lines))
    return merged
