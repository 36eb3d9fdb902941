"""random_totals.py - query forms over what only PostgreSQL computes of groups, and set operations.

Owns: arithmetic of aggregates as sort keys and in HAVING, with errors; branches of UNION, INTERSECT and EXCEPT, of rows
and of groups; columns, keys and conditions are those of the QueryMaker that these forms belong to.
Must never: make a query whose answer PostgreSQL leaves open: sums are of exact types, and orders end with all keys.
Used by: random_queries.py.
"""

INTEGERS = ("int2", "int4", "int8")


class TotalForms:
    def exact_total(self):
        """An aggregate whose value any order of addition gives exactly."""
        argument = self.column(("int2", "int4", "numeric")) or self.column(INTEGERS)
        float8 = self.column(("float8",)) or argument
        call = self.random.choice((f"sum({argument.name})", f"avg({argument.name})", "count(*)", f"count({argument.name})",
                                   f"count(DISTINCT {argument.name})", f"avg({float8.name})",
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

    def one_form_key(self):
        """A key whose equal values print alike: to count distinct values PostgreSQL sorts, and shows any of a group's."""
        for _ in range(5):
            key = self.key()
            if not any(c.name in key for c in self.table.columns if c.family == "numeric"):
                return key
        return f"({self.id} % 10)"

    def value_of_subquery(self):
        """A number that is computed once; now and then it is NULL."""
        if " " in self.table.name:
            return "7"
        total = self.random.choice((f"max({self.id})", f"avg({self.id})", "count(*)", f"sum({self.integer(0)})",
                                    f"min({self.integer(0)}) / 3"))
        rows = self.random.choice((f"{self.id} % 5 = 1", f"{self.id} < 3", f"{self.id} < 0", self.condition(0)))
        return f"(SELECT {total} FROM {self.table.name} x WHERE {rows})"

    def likely_groups_query(self):
        keys = [self.one_form_key() for _ in range(self.random.choice((1, 1, 2)))]
        totals = [self.total(2) for _ in range(self.random.choice((1, 1, 2)))]
        shown = totals + ([self.total(1)] if self.chance(0.3) else [])
        having = f" HAVING {self.total(1)} {self.random.choice(('>', '<', '>=', '<=', '=', '<>'))}" \
                 f" {self.random.choice(('0', '5', '99.5', '-20', self.total(1), self.value_of_subquery()))}" if self.chance(0.4) else ""
        if self.chance(0.1):
            having = f" HAVING {self.odd_having()}"
        order = [f"{i + 1}{self.direction()}" for i in range(len(totals))]
        order += [f"{len(shown) + i + 1}{self.direction()}" for i in range(len(keys))]
        rest = (f"FROM {self.table.name}{self.where()} GROUP BY {', '.join(keys)}{having}", self.random.choice((1, 2, 5, 10, 40)),
                self.random.choice(("", "", " OFFSET 3")))
        if self.chance(0.25):
            # By what is not shown.
            order = [text + self.direction() for text in totals + keys]
            shown = []
        return f"SELECT {', '.join(shown + keys)} {rest[0]} ORDER BY {', '.join(order)} LIMIT {rest[1]}{rest[2]}"

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

    # Set operations of groups

    def same_family(self, column):
        other = column if self.chance(0.6) else self.column((column.family,))
        # Of equal numerics that print differently any may be shown.
        return f"round({other.name}, 3)" if other.family == "numeric" else other.name

    def total_of(self, kind):
        """A bigint of a group."""
        column = self.column(("int2", "int4"))
        column = column.name if column else "1"
        return {"count": f"count({self.random.choice(('*', column, 'DISTINCT ' + column))})", "sum": f"sum({column})",
                "max": f"max({self.random.choice(self.ids)})::bigint"}[kind]

    def group_branch(self, columns, totals):
        """Groups, or now and then rows of the same types."""
        keys = [f"{self.same_family(c)}" for c in columns]
        names = [f"a{i}" for i in range(len(keys))] + [f"n{i}" for i in range(len(totals))]
        plain = self.chance(0.25)
        values = [f"({self.id} % {self.random.choice((3, 5))})::bigint" if plain else self.total_of(t) for t in totals]
        targets = ", ".join(f"{value} AS {name}" for value, name in zip(keys + values, names, strict=True))
        having = f" HAVING {self.random.choice(('count(*) > 1', f'avg({self.id}) > 99.5', self.odd_having()))}" \
            if self.chance(0.25) else ""
        grouping = "" if plain else f" GROUP BY {', '.join(keys)}{having}"
        return f"(SELECT {targets} FROM {self.table.name}{self.where()}{grouping})"

    def group_set_operation_query(self):
        columns = [self.random.choice([c for c in self.table.columns if c.family != "wild"])
                   for _ in range(self.random.choice((1, 1, 2)))]
        totals = [self.random.choice(("count", "sum", "max")) for _ in range(self.random.choice((0, 1, 1, 2)))]
        query = self.group_branch(columns, totals)
        # Each branch of a join is a program of its own.
        for _ in range(self.random.choice((1, 1, 1, 2)) if " " not in self.table.name else 1):
            operation = self.random.choice(("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
            query = f"({query} {operation} {self.group_branch(columns, totals)})"
        form = self.random.randrange(4)
        if form == 0:
            order = ", ".join(f"{i + 1}{self.direction()}" for i in range(len(columns) + len(totals)))
            return f"SELECT * FROM {query} x ORDER BY {order} LIMIT {self.random.choice((3, 30))}"
        if form == 1:
            calls = ", ".join([f"sum(n{i})" for i in range(len(totals))] + ["count(*)"])
            return f"SELECT a0, {calls} FROM {query} x GROUP BY a0"
        return query

    def total_forms(self):
        return (self.likely_groups_query, self.likely_groups_query, self.set_operation_query, self.group_set_operation_query)
