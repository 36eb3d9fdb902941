"""random_odd_values.py - expressions that devices do not have.

Owns: functions outside the catalogue (of text, arrays, JSON, formats, buckets), what stands around them, and the
conditions and aggregates made of them. None of them raises an error for any value of the tables.
Must never: compare texts of two columns, whose collations may differ; end in what random_scales.py would round.
Used by: random_queries.py.
"""

TIMES = ("date", "timestamp", "timestamptz")
INTEGERS = ("int2", "int4", "int8")
# {0}: a column, or an expression, of the family.
TEXTS_OF_TEXT = (
    "reverse({0})", "regexp_replace({0}, 'a.', '-')", "initcap({0})", "translate({0}, 'abc', 'bca')", "lpad({0}, 5, '*')",
    "split_part({0}, 'a', 2)", "overlay({0} PLACING 'xy' FROM 2)", "format('%s|%L', {0}, {0})",
    "(string_to_array({0}, 'b'))[1]", "array_to_string(regexp_split_to_array({0}, '[0-9]'), '-')",
    "substring({0} FROM '[a-f]+')", "concat_ws('-', {0}, {0})", "quote_literal({0})")
TEXTS_OF_TIME = ("to_char({0}, 'YYYY-MM')", "to_char({0}, 'Dy')", "to_char({0}, 'DDD')", "to_char({0}, 'IW')",
                 "to_char({0}, 'FMMonth')", "format('%s', {0})")
TEXTS_OF_INTEGER = ("to_char({0}, 'FM00000')", "to_hex(({0})::bigint)", "(left(md5(({0})::text), 2))", "md5(({0})::text)",
                    "format('%s/%s', {0}, {0})", "(ARRAY['a', 'b', 'c'])[1 + abs(({0}) % 3)]", "chr(65 + abs(({0}) % 26)::int)")
TEXTS_OF_NUMERIC = ("to_char({0}, 'FM9999990.00')", "trim_scale({0})::text", "(left(md5({0}::text), 2))")
TEXTS_OF_ANY = ("(left(md5({0}::text), 1))", "to_jsonb({0})::text", "concat('<', {0}, '>')",
                "jsonb_build_object('a', {0}) ->> 'a'", "(ARRAY[{0}::text, 'none'])[1]")
INTEGERS_OF_TEXT = ("ascii({0})", "(array_length(string_to_array({0}, 'a'), 1))", "cardinality(regexp_split_to_array({0}, 'b'))",
                    "array_position(ARRAY['a', 'ab', 's7'], {0})", "(hashtext({0}) % 10)", "regexp_count({0}, 'a')")
INTEGERS_OF_INTEGER = ("width_bucket({0}, ARRAY[-10, 0, 10, 500])", "width_bucket(({0})::numeric, 0, 500, 7)", "gcd({0}, 12)",
                       "(ARRAY[5, 3, 8])[1 + abs(({0}) % 3)]")
INTEGERS_OF_NUMERIC = ("width_bucket({0}, 0, 100, 10)", "scale({0})", "min_scale({0})")
INTEGERS_OF_FLOAT = ("width_bucket({0}, 0, 100, 10)", "ascii({0}::text)")
INTEGERS_OF_TIME = ("length(to_char({0}, 'FMDay'))", "isfinite({0})::int")
INTEGERS_OF_ANY = ("num_nulls({0}, 1)", "ascii(md5({0}::text))", "length(format('%s', {0}))")


class OddValues:
    """Needs random, table, id and the methods of QueryMaker."""

    def odd_text_of(self, column):
        if self.chance(0.3):
            return self.random.choice(TEXTS_OF_ANY).format(column.name)
        if column.family in ("text", "bpchar"):
            return self.random.choice(TEXTS_OF_TEXT).format(column.name)
        if column.family in TIMES:
            return self.random.choice(TEXTS_OF_TIME).format(column.name)
        if column.family in INTEGERS:
            return self.random.choice(TEXTS_OF_INTEGER).format(self.integer(1))
        return self.random.choice(TEXTS_OF_NUMERIC if column.family == "numeric" else TEXTS_OF_ANY).format(column.name)

    def odd_value(self):
        """A text made of any column; known expressions may stand around what is not."""
        value = self.odd_text_of(self.random.choice(self.table.columns))
        form = self.random.randrange(12)
        if form == 0:
            return f"CASE WHEN {self.comparison(0)} THEN {value} ELSE 'none' END"
        if form == 1:
            return f"CASE WHEN {self.odd_condition()} THEN 'yes' ELSE {value} END"
        if form == 2:
            return f"coalesce({value}, '?')"
        if form == 3:
            return f"({value} || '.')"
        return f"nullif({value}, 'a')" if form == 4 else value

    def odd_integer_of(self, column):
        if self.chance(0.2):
            return self.random.choice(INTEGERS_OF_ANY).format(column.name)
        if column.family in ("text", "bpchar"):
            return self.random.choice(INTEGERS_OF_TEXT).format(column.name)
        if column.family in TIMES:
            return self.random.choice(INTEGERS_OF_TIME).format(column.name)
        if column.family in INTEGERS:
            return self.random.choice(INTEGERS_OF_INTEGER).format(self.integer(1))
        if column.family in ("float4", "float8", "positive"):
            return self.random.choice(INTEGERS_OF_FLOAT).format(column.name)
        # NaN has no bucket.
        return self.random.choice(INTEGERS_OF_NUMERIC if column.family == "numeric" else INTEGERS_OF_ANY).format(column.name)

    def odd_integer(self):
        """A small integer made of any column."""
        value = self.odd_integer_of(self.random.choice(self.table.columns))
        form = self.random.randrange(8)
        if form == 0:
            return f"CASE WHEN {self.comparison(0)} THEN {value} ELSE -1 END"
        if form == 1:
            return f"({value} + 1)"
        if form == 2:
            return f"coalesce({value}, 0)"
        return f"length({self.odd_value()})" if form == 3 else value

    def odd_condition(self):
        form = self.random.randrange(8)
        column = self.column(("text", "bpchar"))
        if form == 0 and column:
            return f"{column.name} {self.random.choice(('~', '!~', '~*'))} '{self.random.choice(('a', '^s', 'b$', '[0-9]'))}'"
        if form == 1 and column:
            return f"{column.name} {self.random.choice(('ILIKE', 'SIMILAR TO', 'NOT ILIKE'))} '%A%'"
        if form == 2:
            return f"({self.odd_value()} < '8' OR {self.comparison(0)})"
        if form == 3:
            return f"NOT ({self.odd_value()} > 'a')"
        if form == 4:
            return f"{self.odd_integer()} {self.random.choice(('<', '>=', '<>', '='))} {self.random.choice((0, 1, 2, 5))}"
        if form == 5:
            return f"{self.odd_value()} {self.random.choice(('', 'NOT '))}IN ('a', '4', 'none', '1')"
        if form == 6:
            return f"{self.odd_value()} IS {self.random.choice(('', 'NOT '))}NULL"
        operator = self.random.choice(("=", "<>", "<", "<=", ">", ">="))
        return f"{self.odd_value()} {operator} '{self.random.choice(('4', '8', 'c'))}'"

    def odd_aggregate(self):
        """Of an argument or with a FILTER that devices do not have."""
        form = self.random.randrange(4)
        if form == 0:
            text = f"{self.random.choice(('min', 'max', 'count'))}({self.odd_value()})"
        elif form == 1:
            text = f"{self.random.choice(('sum', 'avg', 'max'))}({self.odd_integer()})"
        elif form == 2:
            text = f"{self.random.choice(('bool_and', 'bool_or'))}({self.odd_condition()})"
        else:
            return f"{self.plain_aggregate()} FILTER (WHERE {self.odd_condition()})"
        return f"{text} FILTER (WHERE {self.condition(0)})" if self.chance(0.2) else text

    def odd_having(self):
        """A condition on a group: of an odd argument, or odd itself."""
        return self.random.choice((
            f"max({self.odd_value()}) > '4'", f"sum({self.odd_integer()}) <> 3", "md5(count(*)::text) < 'a'",
            f"format('%s', min({self.id})) <> '1'", "width_bucket(count(*)::numeric, 0, 50, 5) < 3",
            f"CASE WHEN count(*) > 3 THEN reverse(max({self.id})::text) > '4' ELSE true END"))
