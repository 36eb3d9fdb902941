"""random_scales.py - queries whose answer does not depend on which of equal numerics comes first.

Of equal numerics that print differently (1 and 1.00) a group shows the first row's, and min and max any. Which comes
first a join chooses, and on a GPU every grouping does.

Owns: which columns have such values, and what is put around them.
Used by: random_joins.py, differential.py.
"""

import re

from random_queries import QueryMaker

# Kinds of columns where equal values may have different scales.
MIXED_SCALES = ("n_free", "n_mixed", "n_zeros", "n_plain", "n_odd")


class OneScaleMaker(QueryMaker):
    def one_scale(self, text):
        for column in self.table.columns:
            if column.kind.name in MIXED_SCALES:
                text = re.sub(rf"(?<![\w.]){re.escape(column.name)}(?!\w)", f"round({column.name}, 3)", text)
        return text

    def key(self):
        text = self.one_scale(super().key())
        # Of a column's value and a number of another scale.
        return f"round({text}, 3)" if text.endswith((", 1)", ", 0.000)")) and not text.startswith("round(") else text

    def aggregate(self):
        text = super().aggregate()
        return self.one_scale(text) if text.startswith(("min(", "max(")) else text
