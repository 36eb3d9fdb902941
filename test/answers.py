"""answers.py - when two outcomes of the same statement count as equal.

Same SQLSTATE and message; the same columns; the same multiset of rows (the
same sequence if asked). Only columns of float4 or float8 that hold sums may
differ, in their last digits, and only if asked; with them the sign of a zero,
since 0 and -0 are one group and which of them stands for it is left open.
Must never: forgive anything else.
Used by: run_sql.py, differential.py, races.py, truth_table.py.
"""

from collections import Counter
from decimal import Decimal

FLOAT_TYPES = (700, 701)
NUMERIC_TYPE = 1700
FIRST_OWN_OID = 16384
TOLERANCE = {700: 1e-5, 701: 1e-9}


def _close(left, right, tolerance):
    if left is None or right is None:
        return left is right
    if left == right:
        return True
    a, b = float(left), float(right)
    if a != a or b != b or abs(a) == float("inf") or abs(b) == float("inf"):
        return False
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-300)


def _order(text):
    """A float's place in a sort: NULL, numbers, NaN."""
    if text is None:
        return -1, 0.0
    number = float(text)
    return (1, 0.0) if number != number else (0, number)


def _close_rows(left, right, types):
    """Pairs rows by their exact columns, then by size of the float ones."""
    floats = [i for i, t in enumerate(types) if t in FLOAT_TYPES]
    if not floats or len(left) != len(right):
        return False

    def key(row):
        exact = tuple("" if v is None else "=" + v for i, v in enumerate(row) if i not in floats)
        return exact, tuple(_order(row[i]) for i in floats)
    for a, b in zip(sorted(left, key=key), sorted(right, key=key), strict=True):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y and not (i in floats and _close(x, y, TOLERANCE[types[i]])):
                return False
    return True


def _built_in(types):
    """Type OIDs; those that a database gave out itself say nothing."""
    return [t if t < FIRST_OWN_OID else None for t in types]


def _rows_difference(left, right, ordered, floats):
    if left.columns != right.columns or _built_in(left.types) != _built_in(right.types):
        return f"columns {left.columns} {left.types} became {right.columns} {right.types}"
    if ordered and left.rows == right.rows or not ordered and Counter(left.rows) == Counter(right.rows):
        return None
    if floats and _close_rows(left.rows, right.rows, left.types):
        return None
    missing, extra = Counter(left.rows) - Counter(right.rows), Counter(right.rows) - Counter(left.rows)
    if not missing and not extra:
        return "the same rows in another order"
    return (f"{len(left.rows)} rows became {len(right.rows)}; "
            f"missing {sum(missing.values())}: {list(missing)[:3]}; extra {sum(extra.values())}: {list(extra)[:3]}")


def _sort_value(text, oid):
    """What a key's text means: equal numbers may print differently."""
    if text is None or oid not in (NUMERIC_TYPE, *FLOAT_TYPES):
        return text
    number = Decimal(text)
    return "NaN" if number.is_nan() else number


def order_difference(reference, actual, keys):
    """None if both results come in the same order of their first columns, whatever
    the order of rows that agree in those."""
    for left, right in zip(reference.results, actual.results, strict=True):
        types = left.types[:keys]
        for i, (a, b) in enumerate(zip(left.rows, right.rows, strict=True)):
            if [_sort_value(*v) for v in zip(a[:keys], types, strict=True)] != [_sort_value(*v) for v in zip(b[:keys], types, strict=True)]:
                return f"row {i} in order has the key {b[:keys]}, not {a[:keys]}"
    return None


def difference(reference, actual, ordered=False, floats=False):
    """None if equal, else what differs, in words."""
    if reference.sqlstate != actual.sqlstate:
        return f"{describe_error(reference)} became {describe_error(actual)}"
    if reference.error and reference.error.message != actual.error.message:
        return f"message \"{reference.error.message}\" became \"{actual.error.message}\""
    if len(reference.results) != len(actual.results):
        return f"{len(reference.results)} results became {len(actual.results)}"
    for left, right in zip(reference.results, actual.results, strict=True):
        if left.tag != right.tag:
            return f"tag {left.tag} became {right.tag}"
        found = _rows_difference(left, right, ordered, floats)
        if found:
            return found
    return None


def describe_error(outcome):
    return f"{outcome.error.sqlstate} \"{outcome.error.message}\"" if outcome.error else "success"
