"""random_sorts.py - query forms with ORDER BY, LIMIT, DISTINCT and window functions.

Owns: the shape of those clauses; columns, keys and conditions are those of the
QueryMaker that these forms belong to.
Must never: make a query whose answer PostgreSQL leaves open. Where rows are
dropped, or a function tells rows that are equal by its order apart, the order
ends with the ids of all tables.
Used by: random_queries.py.
"""

EXACT = ("int2", "int4", "int8", "numeric", "date", "timestamp", "timestamptz", "bool", "text", "bpchar", "wild")
RANKS = ("row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)")
PEER_RANKS = ("rank()", "dense_rank()", "percent_rank()", "cume_dist()")
BOUNDS = ("UNBOUNDED PRECEDING", "{} PRECEDING", "CURRENT ROW", "{} FOLLOWING", "UNBOUNDED FOLLOWING")
COUNTS = ("0", "1", "2", "7")
EXCLUSIONS = (" EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS")
INTERVALS = ("'0'", "'7 days'", "'1 day'", "'36 hours'", "'90 minutes 7 seconds'", "'1 month'", "'3 months -40 days'",
             "'1 year 2 months 1 second'", "'1000 days 1 second'", "'1 month -100 days'", "'1 day -25 hours'", "'-1 second'",
             "'9000000 days'", "'3000000 months'")
INTEGER_DISTANCES = ("0", "1", "10", "100", "32767", "1000003", "9223372036854775807", "-1", "NULL")
FLOAT_DISTANCES = ("0", "0.125", "1.5", "100", "1e300", "'Infinity'", "'NaN'", "-0.5")
# Distances between the values of a key that RANGE frames may have, some of which raise an error.
DISTANCES = {"int2": INTEGER_DISTANCES, "int4": INTEGER_DISTANCES, "int8": INTEGER_DISTANCES,
             "float4": FLOAT_DISTANCES, "float8": FLOAT_DISTANCES, "wild": FLOAT_DISTANCES, "positive": FLOAT_DISTANCES,
             "numeric": ("0", "1", "0.5", "2.125", "0.0001", "100.005", "1e30", "'Infinity'", "'NaN'", "-1"),
             "date": INTERVALS, "timestamp": INTERVALS, "timestamptz": INTERVALS}


class SortedQuery(str):
    """A query whose first `keys` columns are its order."""
    keys = 0


class SortForms:
    """Query forms; `self.ids` are columns that tell all rows apart."""

    # Pieces

    def direction(self):
        return self.random.choice(("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"))

    def exact_column(self):
        return self.column(EXACT) or self.column(("int4",))

    def sort_key(self):
        return self.key() if self.chance(0.3) else self.exact_column().name

    def total_order(self, keys):
        return ", ".join([key + self.direction() for key in keys] + [i + self.direction() for i in self.ids])

    def limit(self):
        offset = f" OFFSET {self.random.choice((0, 1, 7, 100))}" if self.chance(0.3) else ""
        return f"{offset} LIMIT {self.random.choice((0, 1, 5, 10, 33, 100, 1000))}"

    def some_columns(self):
        columns = self.random.sample(self.table.columns, min(self.random.randint(1, 3), len(self.table.columns)))
        odd = [self.odd_target()] if self.chance(0.1) else []
        return [c.name for c in columns] + odd

    # Order and limit

    def sorted_query(self):
        keys = [self.sort_key() for _ in range(self.random.randint(1, 3))]
        targets = ", ".join(keys + self.some_columns())
        order = ", ".join(f"{i + 1}{self.direction()}" for i in range(len(keys)))
        query = SortedQuery(f"SELECT {targets} FROM {self.table.name}{self.where()} ORDER BY {order}")
        query.keys = len(keys)
        return query

    def limited_query(self):
        keys = [self.sort_key() for _ in range(self.random.choice((0, 1, 1, 2)))]
        targets = ", ".join(keys + self.some_columns() + self.ids)
        query = SortedQuery(f"SELECT {targets} FROM {self.table.name}{self.where()}"
                            f" ORDER BY {self.total_order(keys)}{self.limit()}")
        query.keys = len(keys)
        return query

    def ties_query(self):
        key = self.sort_key()
        return (f"SELECT {key}, {self.id} FROM {self.table.name}{self.where()} ORDER BY {key}{self.direction()}"
                f" FETCH FIRST {self.random.choice((1, 3, 20))} ROWS WITH TIES")

    def distinct_on_query(self):
        keys = [self.sort_key() for _ in range(self.random.choice((1, 1, 2)))]
        order = ", ".join(key + self.direction() for key in keys)
        limit = self.limit() if self.chance(0.3) else ""
        targets = ", ".join(keys + self.some_columns())
        # Of equal numerics that print differently any may be shown, unless the ids choose.
        return (f"SELECT DISTINCT ON ({', '.join(keys)}) {targets} FROM {self.table.name}{self.where()}"
                f" ORDER BY {order}, {', '.join(self.ids)}{limit}")

    def top_groups_query(self):
        keys = [self.key() for _ in range(self.random.choice((1, 2)))]
        aggregate = self.random.choice(("count(*)", f"count({self.exact_column().name})", f"max({self.id})",
                                        f"sum({self.integer(0)})"))
        limit = self.limit() if self.chance(0.7) else ""
        return (f"SELECT {aggregate}, {', '.join(keys)} FROM {self.table.name}{self.where()} GROUP BY {', '.join(keys)}"
                f" ORDER BY 1{self.direction()}, {', '.join(str(i + 2) + self.direction() for i in range(len(keys)))}{limit}")

    # Windows

    def frame(self, mode, distances):
        start = self.random.randrange(4)
        end = self.random.randrange(max(start, 1), 5)
        first, last = (BOUNDS[bound].format(self.random.choice(distances)) for bound in (start, end))
        exclusion = self.random.choice(EXCLUSIONS) if self.chance(0.3) else ""
        return f" {mode} BETWEEN {first} AND {last}{exclusion}"

    def partition(self):
        return f"PARTITION BY {', '.join(self.sort_key() for _ in range(self.random.choice((1, 1, 2))))}" \
            if self.chance(0.6) else ""

    def range_window(self):
        """One key, and a frame by distances between its values: peers have one frame."""
        column = self.column(tuple(DISTANCES))
        distances = DISTANCES[column.family]
        # Mostly of those that are no error.
        if self.chance(0.8):
            distances = distances[:8 if distances is INTERVALS else 5]
        return f"{self.partition()} ORDER BY {column.name}{self.direction()}{self.frame('RANGE', distances)}".strip()

    def window(self, total):
        """`total`: its order tells all rows apart."""
        partition = self.partition()
        keys = [self.sort_key() for _ in range(self.random.choice((0, 1, 1)))]
        if total:
            order = f"ORDER BY {self.total_order(keys)}"
        else:
            order = f"ORDER BY {keys[0]}{self.direction()}" if keys else ""
        return f"{partition} {order}".strip()

    def window_call(self):
        form = self.random.randrange(8)
        if form == 0:
            return f"{self.random.choice(PEER_RANKS)} OVER ({self.window(False)})"
        if form == 1:
            return f"{self.random.choice(RANKS)} OVER ({self.window(True)})"
        column = self.odd_target() if self.chance(0.12) else self.exact_column().name
        if form == 2:
            call = self.random.choice((f"lag({column})", f"lead({column}, 2)", f"lag({column}, 1, {column})",
                                       f"first_value({column})", f"last_value({column})", f"nth_value({column}, 2)"))
            frame = self.frame(self.random.choice(("ROWS", "GROUPS")), COUNTS) if self.chance(0.3) else ""
            return f"{call} OVER ({self.window(True)}{frame})"
        exact = self.odd_integer() if self.chance(0.12) else self.column(("int2", "int4", "int8", "numeric")).name
        argument = self.random.choice((f"count({column})", "count(*)", f"sum({exact})", f"avg({exact})",
                                       f"min({exact})", f"max({self.integer(0)})"))
        if self.chance(0.2):
            argument += f" FILTER (WHERE {self.odd_condition() if self.chance(0.2) else self.condition(0)})"
        if form == 3:
            return f"{argument} OVER ({self.window(False)})"
        if form > 5:
            return f"{argument} OVER ({self.range_window()})"
        frame = self.frame(self.random.choice(("ROWS", "GROUPS")), COUNTS) if form == 5 else ""
        return f"{argument} OVER ({self.window(True)}{frame})"

    def window_query(self):
        calls = ", ".join(self.window_call() for _ in range(self.random.choice((1, 1, 2, 3))))
        query = f"SELECT {', '.join(self.ids)}, {calls} FROM {self.table.name}{self.where()}"
        if self.chance(0.3):
            query += f" ORDER BY {self.total_order([])}{self.limit() if self.chance(0.5) else ''}"
        return query

    def best_rows_query(self):
        """The first rows of each partition: a run condition."""
        rank = self.random.choice((f"rank() OVER ({self.window(False)})", f"row_number() OVER ({self.window(True)})"))
        return (f"SELECT * FROM (SELECT {', '.join(self.some_columns())}, {rank} AS place FROM {self.table.name}"
                f"{self.where()}) x WHERE place {self.random.choice(('<= 2', '< 5', '= 1'))}")

    def running_call(self):
        """Over the window w: of the rows before, of all so far, or of those around."""
        exact = self.column(("int2", "int4", "int8", "numeric")).name
        column = self.odd_target() if self.chance(0.12) else self.exact_column().name
        if self.chance(0.3):
            return self.random.choice((f"lag({column})", f"lead({column}, 2)", f"lag({column}, 3, {column})")) + " OVER w"
        call = self.random.choice((f"sum({exact})", f"sum({exact})", f"avg({exact})", f"min({exact})", f"max({exact})",
                                   f"count({column})", f"first_value({column})", f"last_value({column})"))
        moving = (" ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", " ROWS 6 PRECEDING", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                  " ROWS UNBOUNDED PRECEDING", self.frame("ROWS", COUNTS))
        return f"{call} OVER (w{self.random.choice(moving)})" if self.chance(0.7) else f"{call} OVER w"

    def best_running_rows_query(self):
        """The same with totals of the rows passed on the way; or aggregates of those that are left."""
        calls = [f"{self.running_call()} AS w{i}" for i in range(self.random.choice((1, 2, 2, 3)))]
        columns = [f"{text} AS c{i}" for i, text in enumerate(self.some_columns())]
        window = f"{self.partition()} ORDER BY {self.total_order([self.sort_key()] if self.chance(0.6) else [])}".strip()
        rows = (f"SELECT {', '.join(columns + calls)}, row_number() OVER w AS place FROM {self.table.name}{self.where()}"
                f" WINDOW w AS ({window})")
        kept = self.random.choice(("place <= 3", "place <= 3", "place = 1", "place < 10 AND w0 IS NOT NULL",
                                   "place > 2 AND place <= 5"))
        targets = self.random.choice(("*", "*", "count(*), count(w0), sum(place)", "place, count(*), count(DISTINCT c0)"))
        grouping = " GROUP BY place" if targets.startswith("place") else ""
        return f"SELECT {targets} FROM ({rows}) x WHERE {kept}{grouping}"

    def group_window_query(self):
        keys = [self.key() for _ in range(self.random.choice((1, 2)))]
        call = self.random.choice((f"rank() OVER (ORDER BY count(*), max({self.id}))",
                                   f"sum(count(*)) OVER (PARTITION BY {keys[0]})",
                                   f"max(min({self.id})) OVER (ORDER BY max({self.id}))"))
        return (f"SELECT {', '.join(keys)}, count(*), {call} FROM {self.table.name}{self.where()}"
                f" GROUP BY {', '.join(keys)}")

    # Aggregates over rows that a window pass or a grouping has made

    def rows_below(self):
        """A subquery with columns x of any type, y of some that has an order, z of integers."""
        form = self.random.randrange(5)
        source = f"FROM {self.table.name}{self.where()}"
        y = self.column(("int2", "int4", "int8", "date", "text")).name
        if form == 0:
            having = f" HAVING count(*) {self.random.choice(('> 1', '<> 2', '= 1'))}" if self.chance(0.4) else ""
            x, more = self.random.choice(("count(*)", self.exact_total())), self.random.choice(("", f", {self.key()}"))
            return f"SELECT {y} AS y, {x} AS x, max({self.integer(1)}) AS z {source} GROUP BY {y}{more}{having}"
        z = self.integer(1)
        if form == 4:
            key = self.sort_key()
            return (f"SELECT DISTINCT ON ({key}) {y} AS y, {self.exact_column().name} AS x, {z} AS z {source}"
                    f" ORDER BY {self.total_order([key])}")
        if form == 1:
            z = f"{z} - lag({self.integer(0)}) OVER ({self.window(True)})"
        if form == 2:
            z = f"sum({self.integer(0)}) OVER ({self.window(self.chance(0.5))})"
        return f"SELECT {y} AS y, {self.window_call()} AS x, {z} AS z {source}"

    def aggregates_of_rows_query(self):
        calls = self.random.sample(("count(*)", "count(x)", "sum(z)", "max(y)", "min(z)", "avg(z)", "count(z - 1)",
                                    "sum(z % 5)", "count(*) FILTER (WHERE z > 3)", "count(DISTINCT x)", "bool_or(z = 2)"),
                                   self.random.choice((1, 2, 3)))
        keys = self.random.choice(([], [], ["y"], ["z % 7"], ["y", "z"]))
        query = f"SELECT {', '.join(keys + calls)} FROM ({self.rows_below()}) q"
        if self.chance(0.4):
            query += f" WHERE {self.random.choice(('z <> 0', 'y IS NOT NULL', 'z BETWEEN 1 AND 40', 'x IS NOT NULL'))}"
        if keys:
            query += f" GROUP BY {', '.join(keys)}"
        if self.chance(0.2):
            query += " HAVING count(*) > 1"
        return query

    # Aggregates over distinct values: folded, or computed by PostgreSQL of distinct rows

    def distinct_aggregate_query(self):
        exact = self.column(("int2", "int4", "int8", "numeric")).name
        calls = (f"count(DISTINCT {self.exact_column().name})", f"sum(DISTINCT {exact})", f"max({exact})",
                 f"count(DISTINCT {self.integer(1)})")
        targets = ", ".join(self.random.sample(calls, self.random.choice((1, 1, 2))))
        if self.chance(0.3):
            return f"SELECT {targets} FROM {self.table.name}{self.where()}"
        key = self.key()
        return f"SELECT {key}, {targets} FROM {self.table.name}{self.where()} GROUP BY {key}"

    # Of one argument or several, beside plain ones

    def distinct_argument(self):
        """(argument, functions of it that are exact)."""
        form = self.random.randrange(4)
        if form == 0:
            return self.random.choice(self.table.columns).name, ("count",)
        if form == 1:
            return self.integer(1), ("count", "sum", "avg")
        return self.one_scale(self.column(("int2", "int4", "int8", "numeric")).name), ("count", "sum", "avg")

    def distinct_calls(self, filters):
        """Of one argument, so many aggregates; (calls, a condition for HAVING)."""
        argument, functions = self.distinct_argument()
        common = self.random.choice(filters)
        calls = [f"{self.random.choice(functions)}(DISTINCT {argument})"
                 f"{common if self.chance(0.7) else self.random.choice(filters)}"
                 for _ in range(self.random.choice((1, 1, 2, 3)))]
        return calls, f"count(DISTINCT {argument}) {self.random.choice(('> 1', '= 1', '<> 2'))}"

    def distinct_grouping(self):
        """(keys, what stands after GROUP BY)."""
        if self.chance(0.2):
            keys = self.few_values_keys(self.random.choice((1, 2, 3)))
            return keys, self.grouping_sets(keys)
        keys = [self.key() for _ in range(self.random.choice((0, 1, 1, 2)))]
        return keys, ", ".join(keys)

    def distinct_beside_plain_query(self):
        filters = ("", "", f" FILTER (WHERE {self.condition(1)})", f" FILTER (WHERE {self.condition(0)})")
        calls = []
        for _ in range(self.random.choice((1, 2, 2, 3))):
            more, having = self.distinct_calls(filters)
            calls += more
        calls += [self.aggregate() for _ in range(self.random.choice((0, 1, 1, 2, 3)))]
        self.random.shuffle(calls)
        keys, grouping = self.distinct_grouping()
        query = f"SELECT {', '.join(keys + calls)} FROM {self.table.name}{self.where()}"
        if grouping:
            query += f" GROUP BY {grouping}"
        if self.chance(0.2):
            query += f" HAVING {having}"
        return query

    # Keys that follow from a key

    def following(self, column):
        """An expression of the column alone; now and then it raises an error."""
        name = column.name
        forms = [f"({name} IS NULL)", f"coalesce({name} = {name}, false)"]
        if column.family in ("int2", "int4", "int8"):
            forms += [f"({name} - 1)", f"({name} % 7)", f"({name} / 3 + {name} % 3)", f"({name}::text)",
                      f"(CASE WHEN {name} > 5 THEN {name} % 10 END)"]
            forms += [f"(100 / {name})", f"({name} * 1000)"] if self.chance(0.15) else []
        elif column.family == "text":
            forms += [f"length({name})", f"substr({name}, 1, 2)", f"({name} || 'x')", f"lower({name})"]
        elif column.family in ("date", "timestamp"):
            forms += [f"extract(month FROM {name})", f"date_trunc('month', {name})", f"to_char({name}, 'YYYY-MM')"]
        return self.random.choice(forms)

    def following_keys_query(self):
        column = self.column(("int2", "int4", "int8", "text", "date", "timestamp"))
        keys = list(dict.fromkeys([column.name] + [self.following(column) for _ in range(self.random.choice((1, 1, 2, 3)))]))
        if self.chance(0.3):
            keys.append(f"({self.id} % 3)")
        self.random.shuffle(keys)
        targets = (self.random.sample(keys, self.random.randint(0, len(keys))) if self.chance(0.3) else keys) + ["count(*)"]
        having = f" HAVING {self.random.choice(('count(*) > 1', f'{column.name} IS NOT NULL', f'max({self.id}) < 100'))}" \
            if self.chance(0.3) else ""
        query = f"SELECT {', '.join(targets)} FROM {self.table.name}{self.where()} GROUP BY {', '.join(keys)}{having}"
        if targets[:-1] == keys and self.chance(0.4):
            order = ", ".join(str(i + 1) for i in range(len(keys)))
            query += f" ORDER BY {len(keys) + 1}{self.direction()}, {order}{self.limit()}"
        return query

    def sort_forms(self):
        return (self.sorted_query, self.limited_query, self.limited_query, self.ties_query, self.distinct_on_query,
                self.top_groups_query, self.window_query, self.window_query, self.best_rows_query,
                self.best_running_rows_query, self.best_running_rows_query,
                self.group_window_query, self.distinct_aggregate_query, self.distinct_beside_plain_query,
                self.distinct_beside_plain_query, self.following_keys_query, self.aggregates_of_rows_query,
                self.aggregates_of_rows_query)
