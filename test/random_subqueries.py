"""random_subqueries.py - query forms with scalar subqueries of each row.

Owns: aggregates of the rows that belong to an outer row, as values and as conditions.
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

    def subquery_forms(self):
        return (self.correlated_query,) if " " not in self.table.name else ()
