"""random_queries.py - seeded random queries over one random table.

Owns: a small grammar of expressions by type family, and the plain query forms.
Sums of floats are exact (dyadic values) or of positive numbers only, so that
an answer that differs in more than its last digits is a defect.
Must never: make a query whose answer PostgreSQL leaves open (LIMIT without a
total order).
Used by: differential.py, random_joins.py.
"""

from random_grouping_sets import GroupingSetForms
from random_odd_values import OddValues
from random_sorts import SortForms
from random_subqueries import SubqueryForms
from random_totals import TotalForms

NUMBERS = ("int2", "int4", "int8", "float4", "float8", "wild", "positive", "numeric")
INTEGERS = ("int2", "int4", "int8")
TIMES = ("date", "timestamp", "timestamptz")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
         "EST5EDT,M3.2.0,M11.1.0")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
PATTERNS = ("'%a%'", "'a%'", "'%b'", "'_b%'", "'%1_2%'", "'s%'", "'%ä%'", "''", "'%'", "'ab'", "'a\\%b'", "'__'",
            "'é%'", "'%😀'")


class QueryMaker(OddValues, SortForms, TotalForms, GroupingSetForms, SubqueryForms):
    def __init__(self, random, table):
        self.random, self.table = random, table
        self.id = "id"
        self.ids = ["id"]

    def column(self, families):
        """Name of a column of one of the families, or None."""
        found = [c for c in self.table.columns if c.family in families]
        return self.random.choice(found) if found else None

    def one_scale(self, text):
        """The expression where it must not matter which of equal numerics comes first."""
        return text

    def chance(self, probability):
        return self.random.random() < probability

    def literal(self, column):
        return self.random.choice(column.kind.literals)

    # Values

    def integer(self, depth):
        """An expression of an integer type; the id is always there."""
        column = self.column(INTEGERS)
        if depth <= 0 or self.chance(0.3):
            return column.name if self.chance(0.75) else self.random.choice(("0", "1", "2", "7", "-3", "100"))
        form = self.random.randrange(11)
        a = self.integer(depth - 1)
        if form < 3:
            return f"({a} {self.random.choice('+-*')} {self.integer(depth - 1)})"
        if form == 3:
            return f"({a} {self.random.choice(('/', '%'))} {self.random.choice(('7', '3', '-2', '1000'))})"
        if form == 4:
            return f"({a} {self.random.choice(('/', '%'))} nullif({self.integer(depth - 1)}, 0))"
        if form == 5:
            return f"(- {a})"
        if form == 6:
            return f"abs({a})"
        if form == 7:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE {self.integer(depth - 1)} END"
        if form == 8:
            return f"coalesce({a}, {self.integer(depth - 1)})"
        if form == 9:
            return f"({a})::bigint"
        # May raise, and must raise exactly when PostgreSQL does.
        return f"({a} / {self.integer(depth - 1)})" if self.chance(0.2) else f"({a} + 1)"

    def number(self, depth):
        column = self.column(NUMBERS)
        if depth <= 0 or self.chance(0.4):
            return column.name
        form = self.random.randrange(8)
        if form == 7:
            return f"{self.random.choice(('greatest', 'least'))}({column.name}, {self.literal(column)})"
        if form < 3:
            return self.integer(depth)
        if form == 3:
            return f"({self.number(depth - 1)} {self.random.choice('+-*')} {self.literal(column)})"
        if form == 4:
            return f"abs({self.number(depth - 1)})"
        if form == 5:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {column.name} END"
        return f"(- {column.name})"

    def time(self, column):
        """A date, timestamp or timestamptz made of a column."""
        form = self.random.randrange(5)
        if form == 0:
            return f"date_trunc('{self.random.choice(('year', 'month', 'week', 'day', 'hour', 'minute'))}', {column.name})"
        if form == 1 and column.family != "date":
            return f"({column.name} AT TIME ZONE '{self.random.choice(ZONES)}')"
        if form == 2:
            return f"greatest({column.name}, {self.literal(column)})"
        span = self.random.choice(("1 day", "-1 month", "1 year 2 days", "36 hours", "90 minutes", "-1 week"))
        return f"({column.name} {self.random.choice('+-')} interval '{span}')"

    def exact_sum_argument(self, depth):
        """A number whose sum any order of addition gives exactly."""
        column = self.column(INTEGERS + ("float4", "float8", "numeric"))
        if depth <= 0 or self.chance(0.5):
            return column.name
        form = self.random.randrange(5)
        other = self.column(INTEGERS + (column.family,)).name
        if form == 0 and column.family not in ("float4", "float8"):
            return f"({column.name} * {other})"
        if form == 1:
            return f"({column.name} + {other})" if column.family not in ("float4",) else column.name
        if form == 2:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {column.name} ELSE 0 END"
        if form == 3:
            return f"({column.name} - 2)"
        return f"coalesce({column.name}, 5)"

    # Conditions

    def comparison(self, depth):
        column = self.random.choice(self.table.columns)
        operator = self.random.choice(COMPARISONS)
        if column.family == "bool":
            return self.random.choice((column.name, f"NOT {column.name}", f"{column.name} IS NOT TRUE",
                                       f"{column.name} = true", f"{column.name} IS FALSE"))
        if column.family in INTEGERS and self.chance(0.5):
            return f"{self.integer(depth)} {operator} {self.integer(depth - 1)}"
        if column.family in NUMBERS and self.chance(0.4):
            return f"{self.number(depth)} {operator} {self.number(depth - 1)}"
        if self.chance(0.25):
            other = self.column((column.family,))
            return f"{column.name} {operator} {other.name}"
        return f"{column.name} {operator} {self.literal(column)}"

    def text_condition(self):
        column = self.column(("text", "bpchar"))
        if column is None:
            return self.comparison(0)
        negation = "NOT " if self.chance(0.2) else ""
        return f"{column.name} {negation}LIKE {self.random.choice(PATTERNS)}"

    def time_condition(self):
        column = self.column(TIMES)
        if column is None:
            return self.comparison(0)
        form = self.random.randrange(8)
        if form == 4:
            return f"{self.time(column)} {self.random.choice(COMPARISONS)} {self.literal(column)}"
        if form == 5 and column.family == "timestamptz":
            return f"extract({self.random.choice(('hour', 'minute', 'second', 'doy'))} FROM {column.name}) > 7"
        if form == 6:
            return f"{column.name}::{self.random.choice(('date', 'timestamp'))} >= {self.literal(column)}"
        if form == 0:
            field = self.random.choice(("year", "month", "day", "dow", "quarter"))
            return f"extract({field} FROM {column.name}) {self.random.choice(COMPARISONS)} {self.random.randint(1, 12)}"
        if form == 1 and column.family == "date":
            return f"{column.name} + {self.random.randint(-100, 100)} > {self.literal(column)}"
        other = self.column(TIMES)
        if form == 2:
            return f"{column.name} {self.random.choice(COMPARISONS)} {other.name}"
        return f"{column.name} BETWEEN {self.literal(column)} AND {self.literal(column)}"

    def list_condition(self):
        column = self.random.choice(self.table.columns)
        if column.family == "bool":
            return f"{column.name} IS UNKNOWN"
        values = [self.literal(column) for _ in range(self.random.randint(1, 4))]
        if self.chance(0.15):
            values.append("NULL")
        return f"{column.name} {self.random.choice(('', 'NOT '))}IN ({', '.join(values)})"

    def condition(self, depth):
        if depth > 0 and self.chance(0.4):
            form = self.random.randrange(4)
            a, b = self.condition(depth - 1), self.condition(depth - 1)
            if form == 0:
                return f"({a} OR {b})"
            if form == 1:
                return f"({a} AND {b})"
            if form == 2:
                return f"NOT ({a})"
            return f"({a}) IS {self.random.choice(('NOT ', ''))}{self.random.choice(('TRUE', 'FALSE', 'UNKNOWN'))}"
        form = self.random.randrange(10)
        if form < 5:
            return self.comparison(depth)
        if form == 5:
            return self.text_condition()
        if form == 6:
            return self.time_condition()
        if form == 7:
            return self.list_condition()
        column = self.random.choice(self.table.columns)
        if form == 8:
            return f"{column.name} IS {self.random.choice(('', 'NOT '))}NULL"
        other = self.column((column.family,))
        return f"{column.name} IS {self.random.choice(('', 'NOT '))}DISTINCT FROM {other.name}"

    def where(self):
        """Conjuncts; many get a companion that keeps some rows, since an empty
        answer proves little."""
        conjuncts = []
        for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))):
            conjunct = self.odd_condition() if self.chance(0.12) else self.condition(2)
            if self.chance(0.5):
                conjunct = f"({conjunct} OR {self.id} % {self.random.choice((2, 3, 17))} = 1)"
            conjuncts.append(conjunct)
        return " WHERE " + " AND ".join(conjuncts) if conjuncts else ""

    # Queries

    def aggregate(self):
        if self.chance(0.1):
            return self.odd_aggregate()
        text = self.plain_aggregate()
        return f"{text} FILTER (WHERE {self.condition(1)})" if self.chance(0.15) else text

    def plain_aggregate(self):
        form = self.random.randrange(10)
        any_column = self.random.choice(self.table.columns)
        if form == 0:
            text = "count(*)"
        elif form == 1:
            text = f"count({any_column.name})"
        elif form == 9:
            text = f"{self.random.choice(('bool_and', 'bool_or', 'every'))}({self.condition(1)})"
        elif form <= 4:
            text = f"{self.random.choice(('sum', 'avg'))}({self.exact_sum_argument(1)})"
        elif form == 5 and (column := self.column(("positive",))):
            text = f"{self.random.choice(('sum', 'avg'))}({column.name})"
        elif form == 6:
            text = f"{self.random.choice(('min', 'max'))}({self.integer(1)})"
        else:
            column = self.column(NUMBERS + TIMES + ("text", "bpchar"))
            text = f"{self.random.choice(('min', 'max'))}({column.name})"
        return text

    def key(self):
        if self.chance(0.15):
            return self.odd_integer() if self.chance(0.3) else self.odd_value()
        form = self.random.randrange(8)
        if form == 6 and (column := self.column(TIMES)):
            return self.time(column)
        if form == 7 and (column := self.column(("numeric",))):
            return self.random.choice((f"round({column.name}, 1)", f"coalesce({column.name}, 0.000)",
                                       f"{self.random.choice(('greatest', 'least'))}({column.name}, 1)"))
        if form == 0:
            return f"({self.integer(1)}) % 10"
        if form == 1:
            return f"CASE WHEN {self.condition(1)} THEN 1 ELSE 2 END"
        if form == 2 and (column := self.column(TIMES)):
            return f"extract(year FROM {column.name})"
        return self.random.choice(self.table.columns).name

    def odd_target(self):
        """One of a row's values that devices do not have."""
        return self.random.choice((self.odd_value, self.odd_value, self.odd_integer))()

    def rows_query(self):
        columns = [c.name for c in self.random.sample(self.table.columns, self.random.randint(1, 3))]
        if self.chance(0.3):
            columns.append(self.number(1))
        if self.chance(0.2):
            columns.append(self.odd_target())
        where = self.where()
        if self.chance(0.15):
            return f"SELECT {', '.join(columns)} FROM {self.table.name}{where} ORDER BY {self.id}, {columns[0]} LIMIT 20"
        return f"SELECT {', '.join(columns)} FROM {self.table.name}{where}"

    def aggregate_query(self):
        aggregates = ", ".join(self.aggregate() for _ in range(self.random.randint(1, 4)))
        return f"SELECT {aggregates} FROM {self.table.name}{self.where()}"

    def group_query(self):
        parts = [self.key() for _ in range(self.random.choice((1, 1, 2, 3)))]
        keys = ", ".join(parts)
        grouping = self.grouping_sets(parts) if self.chance(0.2) else keys
        aggregates = ", ".join(self.aggregate() for _ in range(self.random.randint(0, 3)))
        conditions = ("count(*) > 2", f"min({self.id}) < 500", f"sum({self.id}) % 2 = 0", self.odd_having())
        having = f" HAVING {self.random.choice(conditions)}" if self.chance(0.2) else ""
        which = f"GROUPING({keys})" if grouping != keys and self.chance(0.5) else ""
        targets = ", ".join(filter(None, (keys, which, aggregates)))
        return f"SELECT {targets} FROM {self.table.name}{self.where()} GROUP BY {grouping}{having}"

    def query(self):
        if self.chance(0.45):
            return self.random.choice(self.sort_forms() + self.total_forms() + self.grouping_set_forms() * 2
                                      + self.subquery_forms())()
        return self.random.choice((self.rows_query, self.rows_query, self.aggregate_query, self.group_query,
                                   self.group_query))()
