"""random_joins.py - seeded random queries that join random tables.

Owns: the shape of FROM clauses (trees of inner, left, right, full and cross
joins of up to six tables; two tables joined many to many, with filters of either
or with others that filter it), join conditions of every type and of several keys,
EXISTS, IN and NOT EXISTS, and sides that are no table but rows of another plan.
What is selected and filtered is random_queries.py's grammar over the columns of
all joined tables.
Must never: let rows multiply without bound: of a query's joins one at most is
by a column of few values.
Used by: differential.py, join_fuzz.py.
"""

from dataclasses import replace

from random_queries import COMPARISONS, INTEGERS, NUMBERS
from random_scales import OneScaleMaker
from random_tables import Table, define_table, fill_table

SIZES = (0, 1, 31, 33, 100, 100, 300, 300)
DRIVER_SIZES = (1, 300, 2049, 4097)
MOST_TABLES = 6
# Families whose values may be compared with `=`.
COMPARABLE = (("int2", "int4", "int8", "numeric"), ("float4", "float8", "positive", "wild"), ("text",), ("bpchar",),
              ("date",), ("timestamp",), ("timestamptz",), ("bool",), ("int4", "float8"), ("date", "timestamp"),
              ("text", "bpchar"), ("numeric", "float8"), ("date", "timestamptz"), ("timestamp", "timestamptz"))
# Sides of a join that are planned by themselves: their rows are sent. %s: a table.
OTHER_PLANS = ("(SELECT * FROM %s OFFSET 0)", "(SELECT DISTINCT * FROM %s)", "(SELECT * FROM %s ORDER BY id LIMIT 40)",
               "(SELECT * FROM %s UNION ALL SELECT * FROM %s WHERE id < 9)", "(SELECT * FROM %s WHERE id < 0 OFFSET 0)")


def define_tables(random):
    """Two to four definitions of tables to join."""
    return [define_table(random, f"joined{i}") for i in range(random.randint(2, 4))]


def fill_tables(random, definitions, driver_sizes=DRIVER_SIZES, sizes=SIZES):
    return [fill_table(random, definition, sizes if i else driver_sizes) for i, definition in enumerate(definitions)]


def make_tables(random):
    return fill_tables(random, define_tables(random))


class JoinMaker(OneScaleMaker):
    """Makes queries over a set of tables; `self.table` is the join under way."""

    def __init__(self, random, tables):
        super().__init__(random, tables[0])
        self.tables = tables
        self.wide_join_left = self.cross_join_left = True

    def alias(self, name, table):
        columns = tuple(replace(c, name=f"{name}.{c.name}") for c in table.columns)
        text = table.name
        if self.chance(0.12):
            text = self.random.choice(OTHER_PLANS).replace("%s", text)
        return Table(f"{text} {name}", columns, (), table.rows)

    # Values: none that may raise, for which rows a condition sees depends on the
    # order of joins, and that is left open.

    def column(self, families):
        found = [c for c in self.table.columns if c.family in families]
        tame = [c for c in found if "edge" not in c.kind.name]
        return self.random.choice(tame or found) if found else None

    def integer(self, depth):
        column = self.column(INTEGERS).name
        form = self.random.randrange(7) if depth > 0 else 0
        if form == 1:
            return f"({column} + {self.random.choice((1, -3, 100))})"
        if form == 2:
            return f"({column} - {self.column(INTEGERS).name})"
        if form == 3:
            return f"({column} % 7)"
        if form == 4:
            return f"coalesce({column}, {self.column(INTEGERS).name})"
        if form == 5:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {column} ELSE {self.integer(depth - 1)} END"
        return f"abs({column})" if form == 6 else column

    def number(self, depth):
        column = self.column(NUMBERS)
        form = self.random.randrange(5) if depth > 0 else 0
        if form == 1:
            return self.integer(depth)
        if form == 2:
            return f"({column.name} {self.random.choice('+-')} {self.literal(column)})"
        if form == 3:
            return f"abs({column.name})"
        return f"(- {column.name})" if form == 4 else column.name

    # Conditions

    def pair(self, left, right):
        """Names of two columns that may be compared, or None."""
        both = []
        for families in COMPARABLE:
            a, b = ([c for c in side.columns if c.family in families] for side in (left, right))
            if a and b:
                both.append((a, b))
        if not both:
            return None
        a, b = (self.random.choice(side) for side in self.random.choice(both))
        # Two collations would be an error.
        if "t_icu" in (a.kind.name, b.kind.name) and a.kind is not b.kind:
            return None
        return a.name, b.name

    def first(self, table):
        return table.name.split()[-1]

    def equality(self, left, right):
        """A join condition between two aliases that finds few rows."""
        a, b = f"{self.first(left)}.id", f"{self.first(right)}.id"
        form = self.random.randrange(14)
        pair = self.pair(left, right)
        if form == 9:
            return f"{a} / 3 = {b} / 3"     # three of each key on either side
        if form == 10:
            return f"{a} = {b} / 4"
        if form == 11:
            more = [p for p in (self.pair(left, right) for _ in range(self.random.randint(1, 3))) if p]
            return " AND ".join([f"{a} % 60 = {b} % 60"] + [f"{x} = {y}" for x, y in more])
        if form == 13:
            return f"md5(({a} % 100)::text) = md5({b}::text)"   # devices have no such function
        if form == 12:
            return f"{a} + {b} = {self.random.choice((50, 200))}"
        if form < 3 and pair:
            few = f"{pair[0]} = {pair[1]}"
            if form == 0 and self.wide_join_left:
                self.wide_join_left = False
                return few
            modulus = self.random.choice((7, 20, 50))
            return f"{few} AND {a} % {modulus} = {b} % {modulus}"
        if form == 3:
            integers = [c.name for c in left.columns if c.family in INTEGERS]
            return f"{self.random.choice(integers)} = {b}" if integers else f"{a} = {b}"
        if form == 4:
            return f"{a} BETWEEN {b} - 2 AND {b} + 2"
        if form == 5:
            return f"{a} + 3 = {b} * 2"
        if form == 6 and pair:
            return f"{a} = {b} AND {pair[0]} {self.random.choice(COMPARISONS)} {pair[1]}"
        if form == 7 and pair:
            return f"{a} % 50 = {b} % 50 AND {pair[0]} IS NOT DISTINCT FROM {pair[1]}"
        return f"{a} = {b}"

    def side_condition(self, tables):
        self.table = self.merged(tables)
        return self.odd_condition() if self.chance(0.12) else self.condition(1)

    def on(self, left, right):
        text = self.equality(self.random.choice(left), self.random.choice(right))
        if self.chance(0.2):
            text += f" AND {self.side_condition(self.random.choice((left, right, left + right)))}"
        return text

    def full_on(self, left, right):
        """For a FULL join PostgreSQL itself wants a condition that it can merge or hash."""
        one, other = self.random.choice(left), self.random.choice(right)
        a, b = f"{self.first(one)}.id", f"{self.first(other)}.id"
        text = self.random.choice((f"{a} = {b}",) * 3 + (f"{a} / 3 = {b} / 3", f"{a} = {b} / 4", f"{a} % 90 = {b}"))
        pair = self.pair(one, other) if self.chance(0.4) else None
        if pair:
            text += f" AND {pair[0]} = {pair[1]}"
        elif self.chance(0.15):
            # Of a chain of these what is left over of one is looked up in the next.
            more = f"{self.first(self.random.choice(left))}.id"
            text = f"coalesce({a}, {more}) = {b}"
        if self.chance(0.3):
            text += f" AND {self.side_condition(self.random.choice((left, right, left + right)))}"
        return text

    def merged(self, tables):
        return Table("", tuple(c for t in tables for c in t.columns), (), 0)

    # FROM

    def tree(self, aliases):
        """(text, aliases whose columns it has) of a random join of them."""
        if len(aliases) == 1:
            return aliases[0].name
        at = self.random.randint(1, len(aliases) - 1) if self.chance(0.4) else len(aliases) - 1
        left, right = aliases[:at], aliases[at:]
        kind = self.random.choice(("JOIN",) * 5 + ("LEFT JOIN",) * 4 + ("RIGHT JOIN",) + ("FULL JOIN",) * 3)
        if kind == "FULL JOIN":
            condition = self.full_on(left, right)
        elif kind == "JOIN" and self.cross_join_left and len(right) == 1 and right[0].rows <= 33 and self.chance(0.3):
            self.cross_join_left, condition = False, "true"
        else:
            condition = self.on(left, right)
        right_text = self.tree(right)
        if len(right) > 1:
            right_text = f"({right_text})"
        return f"{self.tree(left)} {kind} {right_text} ON {condition}"

    def few_values(self, name):
        """An expression of few values; some of them may be those of very many rows."""
        modulus = self.random.choice((25, 40, 90))
        return self.random.choice((
            f"{name}.id % {modulus}", f"{name}.id / 5 % {modulus}",
            f"CASE WHEN {name}.id % 8 = 3 THEN 0 ELSE {name}.id % {modulus} END"))

    def pair_on(self, left, right):
        """A join condition of many rows with many."""
        a, b = self.first(left), self.first(right)
        text = f"{self.few_values(a)} = {self.few_values(b)}"
        pair = self.pair(left, right) if self.chance(0.3) else None
        if pair:
            # Keys with NULLs, and many of one value.
            text = f"{pair[0]} = {pair[1]} AND {a}.id % 40 = {b}.id % 40"
        elif self.chance(0.5):
            modulus = self.random.choice((2, 3))
            text += f" AND {a}.id % {modulus} = {b}.id % {modulus}"
        if self.chance(0.25):
            text += f" AND {a}.id {self.random.choice(('<', '>=', '<>'))} {b}.id"
        return text

    def fact_pair(self, aliases):
        """The text of two tables joined many to many, and all others, each joined to one of these or one of theirs."""
        left, right, *others = aliases
        sides = {left.name: [left], right.name: [right]}
        parts = [(f"JOIN {right.name}", self.pair_on(left, right))]
        self.filters = [self.side_condition([side]) for side in (left, right) if self.chance(0.25 if others else 0.6)]
        for other in others:
            side = self.random.choice(list(sides.values()))
            of, name = self.first(self.random.choice(side)), self.first(other)
            # Of a key of both sides: it filters either.
            key = self.random.choice((f"{of}.id % 50 = {name}.id", f"{of}.id / 4 = {name}.id", f"{of}.id = {name}.id",
                                      f"{self.few_values(of)} = {name}.id"))
            kind = self.random.choice(("JOIN",) * 6 + ("LEFT JOIN",))
            parts.append((f"{kind} {other.name}", key))
            side.append(other)
            if self.chance(0.7):
                self.filters.append(f"{name}.id {self.random.choice(('< 3', '% 10 = 1', 'BETWEEN 5 AND 20', '> 290'))}")
        return left.name + "".join(f" {join} ON {condition}" for join, condition in parts)

    def existence(self, aliases):
        """[NOT] EXISTS or IN over another table."""
        inner = self.alias("x", self.random.choice(self.tables))
        outer = self.random.choice(aliases)
        if self.chance(0.3):
            a, b = self.pair(outer, inner) or (f"{self.first(outer)}.id", "x.id")
            where = f" WHERE {self.side_condition([inner])}" if self.chance(0.6) else ""
            # NOT IN is no join, but may be above one.
            return f"{a} {'NOT ' if self.chance(0.1) else ''}IN (SELECT {b} FROM {inner.name}{where})"
        text = self.equality(outer, inner)
        if self.chance(0.3):
            text += f" AND {self.side_condition([inner])}"
        return f"{self.random.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {inner.name} WHERE {text})"

    def join(self):
        """Sets the FROM clause and the columns of the next query."""
        count = self.random.choice((2, 2, 2, 3, 3, 4, 5, MOST_TABLES))
        aliases = [self.alias(f"t{i}", self.random.choice(self.tables)) for i in range(count)]
        self.wide_join_left = self.cross_join_left = True
        self.filters = []
        text = self.fact_pair(aliases) if self.chance(0.25 if count > 2 else 0.12) else self.tree(aliases)
        self.existences = [self.existence(aliases) for _ in range(self.random.choice((0, 0, 0, 1, 1, 2)))]
        self.id = "t0.id"
        self.ids = [f"{self.first(alias)}.id" for alias in aliases]
        self.table = replace(self.merged(aliases), name=text)

    def where(self):
        text = super().where()
        for existence in self.existences + self.filters:
            text += f"{' AND' if text else ' WHERE'} {existence}"
        return text

    def rows_query(self):
        columns = [c.name for c in self.random.sample(self.table.columns, min(3, len(self.table.columns)))]
        if self.chance(0.2):
            columns.append(self.odd_target())
        where = self.where()
        where += f"{' AND' if where else ' WHERE'} coalesce(t0.id, 1) % 5 = 1"
        return f"SELECT t0.id, {', '.join(columns)} FROM {self.table.name}{where}"

    def query(self):
        self.join()
        return super().query()
