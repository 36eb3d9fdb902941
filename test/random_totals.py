"""random_totals.py - query forms over what only PostgreSQL computes of groups, and set operations.

Owns: arithmetic of aggregates as sort keys and in HAVING, with errors; branches of UNION, INTERSECT and EXCEPT;
columns, keys and conditions are those of the QueryMaker that these forms belong to.
Must never: make a query whose answer PostgreSQL leaves open: sums are of exact types, and orders end with all keys.
Used by: random_queries.py.
"""

INTEGERS = ("int2", "int4", "int8")


class TotalForms:
    def exact_total(self):
        """An aggregate whose value any order of addition gives exactly."""
        argument = self.column(("int2", "int4", "numeric")) or self.column(INTEGERS)
        call = self.random.choice((f"sum({argument.name})", f"avg({argument.name})", "count(*)", f"count({argument.name})",
                                   f"avg({self.integer(1)})", f"min({self.column(INTEGERS).name})",
                                   f"max({argument.name})", f"sum({self.column(INTEGERS).name})"))
        return f"{call} FILTER (WHERE {self.condition(0)})" if self.chance(0.1) else call

    def divisor(self, depth):
        """Now and then it may be 0."""
        total = self.total(depth)
        return total if self.chance(0.1) else f"nullif({total}, 0)"

    def total(self, depth):
        """Arithmetic of aggregates."""
        if depth <= 0 or self.chance(0.25):
            return self.exact_total()
        form = self.random.randrange(9)
        a = self.total(depth - 1)
        if form < 2:
            return f"({a} / {self.divisor(depth - 1)})"
        if form == 2:
            return f"({a} * {self.random.choice(('100', '1.5', '-3', '0'))})"
        if form == 3:
            return f"({a} {self.random.choice('+-')} {self.total(depth - 1)})"
        if form == 4:
            return f"round({a}::numeric, {self.random.choice((0, 1, 2, 5))})"
        if form == 5:
            return self.random.choice((f"abs({a})", f"(- {a})", f"coalesce({a}, {self.random.choice(('0', '-1'))})"))
        if form == 6:
            return f"({a})::{self.random.choice(('numeric', 'bigint', 'int'))}"
        if form == 7:
            return f"(count({self.random.choice(self.table.columns).name}) * 1.0 / count(*))"
        return f"({a} - count(*))"

    def likely_groups_query(self):
        keys = [self.key() for _ in range(self.random.choice((1, 1, 2)))]
        totals = [self.total(2) for _ in range(self.random.choice((1, 1, 2)))]
        shown = totals + ([self.total(1)] if self.chance(0.3) else [])
        having = f" HAVING {self.total(1)} {self.random.choice(('>', '<', '>=', '<=', '=', '<>'))}" \
                 f" {self.random.choice(('0', '5', '99.5', '-20', self.total(1)))}" if self.chance(0.4) else ""
        order = [f"{i + 1}{self.direction()}" for i in range(len(totals))]
        order += [f"{len(shown) + i + 1}{self.direction()}" for i in range(len(keys))]
        return (f"SELECT {', '.join(shown + keys)} FROM {self.table.name}{self.where()} GROUP BY {', '.join(keys)}{having}"
                f" ORDER BY {', '.join(order)} LIMIT {self.random.choice((1, 2, 5, 10, 40))}"
                f"{self.random.choice(('', '', ' OFFSET 3'))}")

    def branch(self, columns):
        # Of joined tables `id` says nothing about which of a row's matches come first.
        limit = f" ORDER BY {self.id} LIMIT 50" if self.chance(0.1) and " " not in self.table.name else ""
        return f"(SELECT {', '.join(columns)} FROM {self.table.name}{self.where()}{limit})"

    def set_operation_query(self):
        """Branches of the same columns, or of others of their types."""
        columns = [self.random.choice(self.table.columns) for _ in range(self.random.choice((1, 1, 2, 3)))]
        odd = [self.odd_value()] if self.chance(0.2) else []
        query = self.branch([c.name for c in columns] + odd)
        for _ in range(self.random.choice((1, 1, 2))):
            others = [c if self.chance(0.6) else self.column((c.family,)) for c in columns]
            operation = self.random.choice(("UNION", "UNION", "INTERSECT", "EXCEPT", "UNION ALL", "EXCEPT ALL"))
            query = f"({query} {operation} {self.branch([c.name for c in others] + odd)})"
        return f"SELECT count(*) FROM {query} x" if self.chance(0.3) else query

    def total_forms(self):
        return (self.likely_groups_query, self.likely_groups_query, self.set_operation_query)
