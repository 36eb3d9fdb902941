"""random_subqueries.py - query forms with subqueries in expressions.

Owns: aggregates of the rows that belong to an outer row, as values and as conditions; NOT IN, also beside what may raise.
Columns, aggregates and conditions are those of the maker that it is part of.
Must never: run a subquery for more than some dozens of outer rows, for PostgreSQL reads the
table for each; refer to joined tables, whose columns have names of their own.
Used by: random_queries.py.
"""


class SubqueryForms:
    """Needs random, table, id and the methods of QueryMaker."""

    def correlated_aggregate(self):
        """Of rows with one or two values of the outer row, or with another column's of their family."""
        conditions = []
        for _ in range(self.random.choice((1, 1, 1, 2))):
            column = self.random.choice(self.table.columns)
            other = column if self.chance(0.7) else self.column((column.family,))
            sides = [f"x.{column.name}", f"o.{other.name}"]
            self.random.shuffle(sides)
            conditions.append(f"{sides[0]} = {sides[1]}")
        if self.chance(0.5):
            conditions.append(self.condition(1))
        value = self.random.choice(("count(*)", f"min({self.id})", "", ""))
        value = value or self.aggregate()
        # Which of equal numerics is the least, PostgreSQL leaves open.
        if value.startswith(("min(", "max(")):
            value = f"max({self.random.choice([c.name for c in self.table.columns if c.family != 'numeric'])})"
        if self.chance(0.2):
            value = f"coalesce({value}, NULL)"
        return f"(SELECT {value} FROM {self.table.name} x WHERE {' AND '.join(conditions)})"

    def correlated_query(self):
        few = f"o.{self.id} % {self.random.choice((7, 11))} = 1 AND o.{self.id} BETWEEN 0 AND 400"
        values = [self.correlated_aggregate() for _ in range(self.random.choice((1, 1, 2)))]
        form = self.random.randrange(4)
        if form == 0:
            return f"SELECT o.{self.id}, {', '.join(values)} FROM {self.table.name} o WHERE {few}"
        column = self.column(("int4", "int8")) or self.random.choice(self.table.columns)
        value = f"(SELECT {self.random.choice(('count(*)', 'max', 'min'))}"
        value = value if value.endswith(")") else f"{value}({column.name})"
        key = self.random.choice(self.table.columns)
        rest = f" AND {self.condition(1)}" if self.chance(0.4) else ""
        value = f"{value} FROM {self.table.name} x WHERE x.{key.name} = o.{key.name}{rest})"
        operator = self.random.choice(("<", ">", "<=", "=", "IS DISTINCT FROM"))
        side = "3" if value.startswith("(SELECT count") else f"o.{column.name}"
        condition = f"{side} {operator} {value}"
        if self.chance(0.2):
            condition = f"({condition} OR o.{self.id} = 8)"
        if form == 1:
            return f"SELECT count(*), min(o.{self.id}) FROM {self.table.name} o WHERE {few} AND {condition}"
        if form == 2:
            return f"SELECT o.{self.id}, {values[0]} FROM {self.table.name} o WHERE {condition} AND {few}"
        return (f"SELECT count(*) FROM {self.table.name} p WHERE p.{self.id} IN"
                f" (SELECT o.{self.id} FROM {self.table.name} o WHERE {few} AND {condition})")

    def not_in_query(self):
        """With and without NULLs on either side, and often with no rows at all inside."""
        column = self.random.choice(self.table.columns)
        other = column if self.chance(0.6) else self.column((column.family,))
        value = self.id if self.chance(0.2) and column.family in ("int2", "int4", "int8") else column.name
        few = self.random.choice((f"{self.id} % 7 = 3", f"{self.id} < 40", f"{self.id} < 0", self.condition(1), self.condition(0)))
        if self.chance(0.5):
            few = f"{few} AND {other.name} IS NOT NULL"
        # None that may raise: whether NOT IN or that comes first is for PostgreSQL's costs to say.
        kept = self.random.choice(self.table.columns).name
        rest = f" AND ({kept} IS NOT NULL OR {self.id} > 30)" if self.chance(0.4) else ""
        return (f"SELECT {self.random.choice(('count(*)', f'count(*), min({self.id})', f'count({column.name}), max({self.id})'))}"
                f" FROM {self.table.name} o WHERE {value} NOT IN (SELECT {other.name} FROM {self.table.name} x WHERE {few}){rest}")

    def raising_condition(self):
        """That raises for all rows, for some, for one or for none."""
        a, b = self.integer(0), self.integer(0)
        point = self.random.choice((0, 7, 33, 300, 2049, 100000))
        numeric, text = self.column(("numeric", "float8")), self.column(("text", "bpchar"))
        return self.random.choice((
            f"{a} / ({self.id} - {point}) <> 5", f"{a} / ({self.id} - {point}) <> 5", f"{a} % nullif({b}, 0) < 5",
            f"({a} / {b}) >= 0", f"CASE WHEN {b} <> 0 THEN {a} / {b} < 100 END", f"({b} = 0 OR {a} % {b} <> 1)",
            f"({self.id} * {self.random.choice((1000, 300000, 2000000000))}) <> 8", f"({a})::smallint <> 3",
            f"{numeric.name} / ({self.id} - {point}) < 50" if numeric else f"1 / ({self.id} - {point}) = 0",
            f"{text.name}::int > 3" if text and self.chance(0.5) else f"sqrt({point} - {self.id}) < 60"))

    def not_in_beside_errors_query(self):
        """Conditions beside NOT IN, in its subquery or behind it raise errors. Which rows they see follows from
        what PostgreSQL thinks that conditions cost, and is the same however the table is read."""
        column = self.random.choice(self.table.columns)
        few = self.random.choice((f"{self.id} % 7 = 3", f"{self.id} < 40", f"{self.id} < 0", self.condition(0)))
        if self.chance(0.6):
            few += f" AND {column.name} IS NOT NULL"
        # A device's filters go first: they may leave no row for which the subquery would run and raise.
        beside = [self.raising_condition()]
        if self.chance(0.3):
            beside.append(self.condition(0))
        if self.chance(0.25):
            few += f" AND {self.raising_condition()}"
            beside = []
        parts = [f"{column.name} NOT IN (SELECT {column.name} FROM {self.table.name} x WHERE {few})", *beside]
        self.random.shuffle(parts)
        targets = self.random.choice(("count(*)", f"count(*), max({self.id})", self.id, f"sum({self.integer(0)} / {self.id})"))
        return f"SELECT {targets} FROM {self.table.name} o WHERE {' AND '.join(parts)}"

    def subquery_forms(self):
        return (self.correlated_query, self.not_in_query, self.not_in_beside_errors_query) if " " not in self.table.name else ()
