"""random_unions.py - queries whose table is put together of parts of it by UNION ALL.

Owns: how a table is cut up: every row is in one part at most, so that what was a total order still is one.
Must never: take a condition that may raise; which rows it sees is the planner's choice.
Used by: differential.py.
"""

import random
import re

from random_scales import OneScaleMaker


class Unions:
    """Rewrites some of the queries of one table. Its choices are its own, so the other queries stay what they were."""

    def __init__(self, seed, table, share):
        self._random = random.Random(f"unions of {seed}")
        self._maker = OneScaleMaker(self._random, table)
        self._table, self._share = table, share

    def of(self, query):
        """The query, or the same of parts."""
        if self._random.random() >= self._share:
            return query
        # PostgreSQL sorts for them, and a sort may put any of equal keys first.
        text = self._maker.one_scale(query) if "(DISTINCT " in query else query
        text = re.sub(rf"\bFROM {self._table.name}\b( (?=[a-z]))?", self._parts, text)
        result = type(query)(text)
        if hasattr(query, "keys"):
            result.keys = query.keys
        return result

    def _parts(self, found):
        count = self._random.choice((2, 2, 3))
        parts = (f"SELECT * FROM {self._table.name} WHERE id % {count} = {i}{self._condition()}" for i in range(count))
        return f"FROM ({' UNION ALL '.join(parts)}) {'' if found[1] else self._table.name}"

    def _condition(self):
        chance = self._random.random()
        if chance < 0.1:
            return " AND false"
        return "" if chance < 0.4 else f" AND {self._maker.comparison(0)}"
