"""random_grouping_sets.py - query forms with ROLLUP, CUBE and GROUPING SETS.

Owns: how keys are combined, up to a ROLLUP of eight and a CUBE of five, with GROUPING() and windows above.
Columns, keys and conditions are those of the QueryMaker that these forms belong to.
Must never: group many rows by many keys of many values: every set then is as large as the table. Sums are of exact
types, for rows of equal keys may come from two equal sets.
Used by: random_queries.py.
"""

TIMES = ("date", "timestamp", "timestamptz")
INTEGERS = ("int2", "int4", "int8")
WIDEST_ROLLUP = 8
WIDEST_CUBE = 5


class GroupingSetForms:
    """Needs random, table, id and the methods of QueryMaker."""

    def grouping_sets(self, keys):
        """Some of the keys at a time."""
        form = self.random.randrange(4)
        if form == 0:
            return f"ROLLUP ({', '.join(keys)})"
        if form == 1:
            return f"CUBE ({', '.join(keys)})"
        if form == 2:
            return f"{keys[0]}, CUBE ({', '.join(keys)})"
        sets = [f"({', '.join(self.random.sample(keys, self.random.randint(0, len(keys))))})" for _ in range(3)]
        return f"GROUPING SETS ({', '.join(sets)}, ({', '.join(keys)}))"

    def few_values_key(self):
        """A key of few values that print alike."""
        form = self.random.randrange(9)
        if form == 0 and (column := self.column(("bool",))):
            return column.name
        if form == 1 and (column := self.column(TIMES)):
            return f"extract(quarter FROM {column.name})"
        if form == 2 and (column := self.column(("text", "bpchar"))):
            # Beside the function, for what devices do not know of it.
            return f"substr({column.name}, 1, {self.random.choice((1, 1, 2))})"
        if form == 3:
            return f"CASE WHEN {self.condition(1)} THEN 1 ELSE 2 END"
        if form == 4:
            return f"({self.odd_integer()} % 3)"
        if form == 5:
            return f"({self.random.choice(self.table.columns).name} IS NULL)"
        if form == 6:
            return f"({self.random.choice(self.ids)} % {self.random.choice((2, 3, 4))})"
        few = [c.name for c in self.table.columns if c.kind.name in ("i4_few", "t_few", "i2_edge", "d_edge")]
        return self.random.choice(few) if form == 7 and few else f"({self.column(INTEGERS).name} % 3)"

    def few_values_keys(self, count):
        """So many different ones, or somewhat fewer."""
        return list(dict.fromkeys(self.few_values_key() for _ in range(count)))

    def wide_sets(self):
        """(keys, the GROUP BY clause of them)."""
        form = self.random.randrange(7)
        if form < 2:
            keys = self.few_values_keys(self.random.randint(4, WIDEST_ROLLUP))
            return keys, f"ROLLUP ({', '.join(keys)})"
        if form == 2:
            keys = self.few_values_keys(self.random.randint(3, WIDEST_CUBE))
            return keys, f"CUBE ({', '.join(keys)})"
        keys = self.few_values_keys(5)
        first, rest = keys[0], ", ".join(keys[1:]) or keys[0]
        if form == 3:
            return keys, f"{first}, ROLLUP ({rest})"
        if form == 4:
            pair = ", ".join(keys[:2])
            return keys, f"ROLLUP (({pair}), {rest})"
        if form == 5:
            return keys, f"GROUPING SETS (ROLLUP ({rest}), CUBE ({', '.join(keys[:2])}), ({first}), ())"
        return keys, f"{self.random.choice(('', 'DISTINCT '))}ROLLUP ({rest}), ROLLUP ({', '.join(keys[:2])})"

    def window_of_sets(self, keys, which):
        """A window over the groups: each set is a partition."""
        key = self.random.choice(keys)
        return self.random.choice((
            f"rank() OVER (PARTITION BY {which} ORDER BY count(*) DESC)",
            f"sum(count(*)) OVER (PARTITION BY {which})",
            f"round(count(*) * 100.0 / sum(count(*)) OVER (PARTITION BY {which}), 2)",
            f"sum(sum({self.id})) OVER (PARTITION BY {which}, {key})",
            f"max(count(*)) OVER (PARTITION BY {key})",
            f"dense_rank() OVER (PARTITION BY {key}, {which} ORDER BY max({self.id}))"))

    def wide_grouping_query(self):
        keys, grouping = self.wide_sets()
        which = f"GROUPING({', '.join(keys)})"
        totals = [self.exact_total() for _ in range(self.random.choice((1, 1, 2, 3)))]
        if self.chance(0.35):
            totals.append(self.window_of_sets(keys, which))
        where = self.where()
        if self.chance(0.6):
            where += f"{' AND' if where else ' WHERE'} {self.id} {self.random.choice(('% 9 = 2', '< 500', '% 25 = 7'))}"
        having = ""
        if self.chance(0.3):
            having = " HAVING " + self.random.choice(("count(*) > 2", f"GROUPING({keys[0]}) = 0", f"{which} <> 1",
                                                      f"avg({self.id}) > 100", self.odd_having()))
        query = f"SELECT {', '.join(keys)}, {which}, {', '.join(totals)} FROM {self.table.name}{where} GROUP BY {grouping}{having}"
        if self.chance(0.3):
            order = ", ".join(str(i + 1) for i in range(len(keys)))
            query += f" ORDER BY {len(keys) + 1}{self.random.choice(('', ' DESC'))}, {order} LIMIT 60"
        return query

    def grouping_set_forms(self):
        return (self.wide_grouping_query,)
