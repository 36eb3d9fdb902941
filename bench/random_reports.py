"""random_reports.py - random schemas of a shop, with skew and correlation, and random reports over them.

A schema has two fact tables, five dimensions (one of them a dimension's own), keys that may be skewed, columns that
depend on each other, NULLs, and types and physical orders that its seed chooses. A report is one of the kinds of
KINDS; every answer is right in one way only, but for the last digits of floating-point sums.
Used by: bench/never_slower.py.
"""

import random

DAYS = 1500  # from 2021-01-01 on


class ShopSchema:
    """Tables of about `rows` rows in the larger fact table."""

    def __init__(self, seed, rows):
        self.random = random.Random(seed)
        self.rows = rows
        pick = self.random.choice
        self.key = pick(("int", "bigint"))
        self.money = pick(("numeric(12,2)", "numeric(10,4)", "int", "double precision"))
        self.text = pick(("text", "varchar(60)", "char(40)"))
        self.skew = pick((1, 1, 2, 4))
        self.nulls = pick((0, 0.02, 0.3))
        self.by_day = pick((True, True, False))
        self.customers = max(100, rows // pick((5, 20, 100)))
        self.items = max(50, rows // pick((20, 100, 1000)))
        self.stores = pick((20, 200, 2000))
        self.returns = max(100, rows // pick((2, 5, 20)))

    def _or_null(self, expression):
        return f"CASE WHEN random() < {self.nulls} THEN NULL ELSE {expression} END" if self.nulls else expression

    def _skewed(self, most):
        return f"(1 + floor({most} * power(random(), {self.skew})))::{self.key}"

    def _amount(self, most):
        return f"(random() * {most})::{self.money}"

    def statements(self):
        """Creates and fills the tables in the current schema; statistics are not taken."""
        key, money, text = self.key, self.money, self.text
        place = f"i * {DAYS}.0 / {self.rows}" if self.by_day else f"random() * {DAYS}"
        yield f"SELECT setseed({self.random.random():.6f})"
        yield "CREATE TABLE regions (region_id int, region_name text, continent text)"
        yield ("INSERT INTO regions SELECT i, 'region ' || i, (ARRAY['Africa', 'America', 'Asia', 'Europe'])[1 + i % 4]"
               " FROM generate_series(1, 12) i")
        yield f"CREATE TABLE stores (store_id {key}, store_name {text}, region_id int, opened date, area int)"
        yield (f"INSERT INTO stores SELECT i, 'store ' || i, 1 + i % 12, date '2000-01-01' + i % 5000, (random() * 900)::int"
               f" FROM generate_series(1, {self.stores}) i")
        yield "CREATE TABLE days (day date, year int, month int, weekday int, holiday boolean)"
        yield (f"INSERT INTO days SELECT d, extract(year FROM d), extract(month FROM d), extract(dow FROM d), random() < 0.04"
               f" FROM (SELECT date '2021-01-01' + i AS d FROM generate_series(0, {DAYS}) i) s")
        yield (f"CREATE TABLE customers (customer_id {key}, customer_name {text}, city {text}, segment {text}, born date,"
               f" balance {money})")
        yield (f"INSERT INTO customers SELECT i, 'Customer#' || lpad(i::text, 9, '0'), 'city ' || i % 251,"
               f" (ARRAY['home', 'office', 'school', 'public'])[1 + (i * 7) % 4], date '1940-01-01' + (i * 13) % 25000,"
               f" {self._amount(9000)} FROM generate_series(1, {self.customers}) i")
        yield (f"CREATE TABLE items (item_id {key}, item_name {text}, category {text}, brand {text}, cost {money}, size int)")
        # A brand belongs to one category: estimates that multiply are wrong.
        yield (f"INSERT INTO items SELECT i, md5(i::text), 'category ' || i % 50 / 5, 'brand ' || i % 50,"
               f" {self._amount(500)}, 1 + i % 40 FROM generate_series(1, {self.items}) i")
        yield (f"CREATE TABLE sales (sale_id bigint, day date, sold_at timestamptz, customer_id {key}, item_id {key},"
               f" store_id {key}, quantity int, price {money}, cost {money}, discount int, weight double precision,"
               f" status {text}, note text, online boolean)")
        yield (f"INSERT INTO sales SELECT i, date '2021-01-01' + ({place})::int,"
               f" timestamptz '2021-01-01 00:00+00' + ({place}) * interval '1 day', {self._or_null(self._skewed(self.customers))},"
               f" {self._skewed(self.items)}, {self._or_null(self._skewed(self.stores))}, 1 + (random() * 50)::int,"
               f" {self._amount(1000)}, {self._amount(700)}, {self._or_null('(random() * 10)::int')}, random() * 100,"
               f" (ARRAY['paid', 'paid', 'paid', 'open', 'open', 'sent', 'lost', 'void'])[1 + floor(8 * random())],"
               f" repeat(md5((i % 1000)::text), 1 + (i % 3)::int), random() < 0.3 FROM generate_series(1, {self.rows}) i")
        yield (f"CREATE TABLE returns (return_id bigint, day date, customer_id {key}, item_id {key}, quantity int,"
               f" reason {text}, refund {money})")
        yield (f"INSERT INTO returns SELECT i, date '2021-01-01' + (random() * {DAYS})::int, {self._skewed(self.customers)},"
               f" {self._skewed(self.items)}, 1 + (random() * 5)::int,"
               f" (ARRAY['broken', 'late', 'wrong', 'other'])[1 + floor(4 * random())], {self._amount(400)}"
               f" FROM generate_series(1, {self.returns}) i")

    TABLES = ("regions", "stores", "days", "customers", "items", "sales", "returns")
    INDEXES = ("sales (sale_id)", "sales (day)", "sales (customer_id)", "sales (item_id, day)", "returns (customer_id)",
               "returns (item_id)", "customers (customer_id)", "items (item_id)", "stores (store_id)", "days (day)")


# Dimensions of sales: (table and alias, condition, what it may be grouped by, what may filter it).
DIMENSIONS = {
    "c": ("customers c", "s.customer_id = c.customer_id", ("c.segment", "c.city", "extract(year FROM c.born)"),
          ("c.segment = 'office'", "c.city IN ('city 7', 'city 19', 'city 200')", "c.born < date '1960-05-01'",
           "c.customer_name LIKE '%77%'", "c.balance > 8000")),
    "i": ("items i", "s.item_id = i.item_id", ("i.category", "i.brand", "i.size"),
          ("i.brand = 'brand 13'", "i.category = 'category 3' AND i.brand LIKE 'brand 1%'", "i.size BETWEEN 5 AND 7",
           "i.cost < 20")),
    "t": ("stores t", "s.store_id = t.store_id", ("t.region_id", "t.store_name"), ("t.area > 800", "t.region_id IN (3, 4)")),
    "r": ("stores rt JOIN regions r ON rt.region_id = r.region_id", "s.store_id = rt.store_id",
          ("r.region_name", "r.continent"), ("r.continent = 'Asia'", "rt.area < 500 AND r.region_id > 6")),
    "d": ("days d", "s.day = d.day", ("d.year", "d.month", "d.year, d.month", "d.weekday"),
          ("d.holiday", "d.year = 2023", "d.weekday IN (0, 6)", "d.month = 12 AND d.year = 2021")),
}
SALES_GROUPS = ("s.status", "s.store_id", "s.day", "s.discount", "s.online", "s.customer_id", "s.item_id, s.status",
                "date_trunc('month', s.sold_at)", "s.quantity % 7")
AGGREGATES = ("count(*)", "sum(s.quantity)", "sum(s.price)", "avg(s.price)", "min(s.day)", "max(s.sold_at)",
              "sum(s.price * s.quantity)", "count(s.discount)", "avg(s.discount)", "sum(s.price - s.cost)",
              "count(DISTINCT s.item_id)", "max(s.status)", "sum(CASE WHEN s.online THEN s.price ELSE 0 END)",
              "count(*) FILTER (WHERE s.status = 'lost')", "stddev(s.quantity)", "bool_or(s.online)")
# What no catalogue of functions has, or only in part.
ODD_FILTERS = ("s.note ~ '^[0-4][a-f]'", "md5(s.status) > '8'", "initcap(s.status) = 'Paid'", "to_char(s.day, 'DD') = '07'",
               "hashtext(s.note) % 3 = 0", "s.status SIMILAR TO '(paid|open)%'")
ODD_VALUES = ("regexp_replace(s.note, '[0-9]+', '#', 'g')", "to_char(s.day, 'YYYY-MM')", "initcap(s.status)",
              "md5(s.item_id::text)", "reverse(s.status)", "left(md5(s.note), 2)")


class ReportMaker:
    def __init__(self, seed, schema):
        self.random, self.schema = random.Random(seed), schema

    def some(self, of, least, most):
        return self.random.sample(list(of), min(len(of), self.random.randint(least, most)))

    def day_range(self):
        length = self.random.choice((1, 7, 30, 90, 400))
        first = self.random.randrange(DAYS - length)
        return f"s.day BETWEEN date '2021-01-01' + {first} AND date '2021-01-01' + {first + length}"

    def sales_filter(self):
        pick = self.random.choice
        return pick((self.day_range, self.day_range, lambda: f"s.quantity < {pick((3, 10, 25, 45))}",
                     lambda: f"s.status = '{pick(('paid', 'open', 'lost', 'void'))}'",
                     lambda: f"s.status IN ('{pick(('paid', 'sent'))}', 'lost')", lambda: "s.online",
                     lambda: f"s.price > {pick((10, 500, 990))}", lambda: "s.discount IS NULL",
                     lambda: f"s.customer_id <= {self.schema.customers // pick((2, 10, 1000)) + 1}",
                     lambda: f"s.store_id = {self.random.randint(1, 20)}",
                     lambda: f"s.note LIKE '%{pick(('abc', '77', 'f0'))}%'"))()

    def aggregates(self, least=1, most=4):
        return self.some(AGGREGATES, least, most)

    def report(self, chosen, filters, groups, aggregates, ending=""):
        """Sales joined with dimensions. Groups may have several columns; they order the rows."""
        source = "sales s" + "".join(f" JOIN {DIMENSIONS[d][0]} ON {DIMENSIONS[d][1]}" for d in chosen)
        where = f" WHERE {' AND '.join(filters)}" if filters else ""
        values = ", ".join(list(groups) + list(aggregates))
        group = f" GROUP BY {', '.join(groups)}" if groups else ""
        order = f" ORDER BY {', '.join(groups)}" if groups and not ending else ""
        return f"SELECT {values} FROM {source}{where}{group}{order}{ending}"

    def dimensions(self, least, most):
        """Chosen dimensions, filters of some of them, and what they offer to group by."""
        chosen = self.some(DIMENSIONS, least, most)
        filters = [self.random.choice(DIMENSIONS[d][3]) for d in chosen if self.random.random() < 0.6]
        return chosen, filters, [g for d in chosen for g in DIMENSIONS[d][2]]

    def star(self):
        chosen, filters, groups = self.dimensions(1, 4)
        if self.random.random() < 0.5:
            filters.append(self.sales_filter())
        return self.report(chosen, filters, self.some(groups + ["s.status"], 0, 2), self.aggregates())

    def one_table(self):
        filters = [self.sales_filter() for _ in range(self.random.randint(0, 2))]
        return self.report([], filters, self.some(SALES_GROUPS, 0, 2), self.aggregates())

    def top_groups(self):
        chosen, filters, groups = self.dimensions(0, 2)
        group = self.random.choice(groups + ["s.customer_id", "s.item_id"])
        return self.report(chosen, filters, [group], ["count(*) AS n", "sum(s.quantity) AS q"],
                           f" ORDER BY n DESC, q, {group} LIMIT {self.random.choice((5, 20, 100))}")

    def top_rows(self):
        key = self.random.choice(("s.price DESC NULLS LAST", "s.sold_at DESC", "s.status, s.price", "s.note", "s.quantity DESC"))
        return (f"SELECT s.sale_id, s.day, s.price, s.status FROM sales s WHERE {self.sales_filter()}"
                f" ORDER BY {key}, s.sale_id LIMIT {self.random.choice((1, 10, 1000))}")

    def rows(self):
        filters = [self.sales_filter(), self.sales_filter()]
        columns = self.random.choice(("s.*", "s.sale_id, s.price", "s.sale_id, s.note, s.status"))
        return f"SELECT {columns} FROM sales s WHERE {' AND '.join(filters)}"

    def rows_joined(self):
        chosen, filters, groups = self.dimensions(1, 3)
        return (f"SELECT s.sale_id, s.price, {self.random.choice(groups)} FROM sales s"
                + "".join(f" JOIN {DIMENSIONS[d][0]} ON {DIMENSIONS[d][1]}" for d in chosen)
                + f" WHERE {' AND '.join(filters + [self.day_range(), self.sales_filter()])}")

    def many_to_many(self):
        """Two fact tables by a key that is unique in neither, and dimensions that filter."""
        key = self.random.choice(("customer_id", "item_id"))
        chosen, filters, groups = self.dimensions(1, 2)
        filters += [self.day_range(), f"x.reason = '{self.random.choice(('late', 'broken'))}'"]
        source = f"sales s JOIN returns x ON s.{key} = x.{key} AND x.day >= s.day"
        source += "".join(f" JOIN {DIMENSIONS[d][0]} ON {DIMENSIONS[d][1]}" for d in chosen)
        group = self.random.choice(groups)
        return (f"SELECT {group}, count(*), sum(x.refund), avg(s.quantity) FROM {source} WHERE {' AND '.join(filters)}"
                f" GROUP BY {group} ORDER BY {group}")

    def semi(self):
        chosen, filters, groups = self.dimensions(0, 2)
        test = self.random.choice((
            "EXISTS (SELECT 1 FROM returns x WHERE x.customer_id = s.customer_id AND x.item_id = s.item_id)",
            "NOT EXISTS (SELECT 1 FROM returns x WHERE x.item_id = s.item_id AND x.quantity > 4)",
            "s.customer_id IN (SELECT customer_id FROM returns WHERE reason = 'late')",
            "s.item_id NOT IN (SELECT item_id FROM items WHERE size > 30)",
            "s.price > (SELECT avg(price) FROM sales)",
            "s.quantity > (SELECT avg(x.quantity) * 5 FROM returns x WHERE x.item_id = s.item_id)"))
        return self.report(chosen, filters + [test, self.sales_filter()], self.some(groups + ["s.status"], 0, 1),
                           self.aggregates(1, 2))

    def outer(self):
        side = self.random.choice(("LEFT", "LEFT", "FULL"))
        return (f"SELECT c.segment, count(*), count(s.sale_id), sum(s.quantity) FROM customers c {side} JOIN"
                f" (SELECT * FROM sales s WHERE {self.sales_filter()}) s ON s.customer_id = c.customer_id"
                " GROUP BY c.segment ORDER BY c.segment")

    def distinct(self):
        columns = self.random.choice(("s.status, s.online", "s.customer_id", "s.item_id, s.store_id", "s.day"))
        return f"SELECT DISTINCT {columns} FROM sales s WHERE {self.sales_filter()} ORDER BY {columns}"

    def window(self):
        function = self.random.choice((
            "rank() OVER (PARTITION BY s.status ORDER BY s.price, s.sale_id)",
            "sum(s.quantity) OVER (PARTITION BY s.customer_id ORDER BY s.sold_at, s.sale_id)",
            "row_number() OVER (PARTITION BY s.store_id ORDER BY s.quantity DESC, s.sale_id)",
            "lag(s.price) OVER (PARTITION BY s.item_id ORDER BY s.sale_id)",
            "avg(s.quantity) OVER (PARTITION BY s.status ORDER BY s.sale_id ROWS BETWEEN 7 PRECEDING AND CURRENT ROW)"))
        return (f"SELECT count(*), max(w) FROM (SELECT {function} AS w FROM sales s WHERE {self.sales_filter()}) v"
                if self.random.random() < 0.5 else
                f"SELECT * FROM (SELECT s.sale_id, {function} AS w FROM sales s WHERE {self.sales_filter()}) v WHERE w <= 2")

    def sets_of_groups(self):
        chosen, filters, groups = self.dimensions(1, 3)
        columns = ", ".join(self.some([g for g in groups if "," not in g] + ["s.status", "s.online"], 2, 4))
        form = self.random.choice(("ROLLUP", "CUBE"))
        return (f"SELECT {columns}, count(*), sum(s.price) FROM sales s"
                + "".join(f" JOIN {DIMENSIONS[d][0]} ON {DIMENSIONS[d][1]}" for d in chosen)
                + (f" WHERE {' AND '.join(filters)}" if filters else "") + f" GROUP BY {form} ({columns})")

    def odd_filter(self):
        chosen, filters, groups = self.dimensions(0, 3)
        return self.report(chosen, filters + [self.random.choice(ODD_FILTERS)] + self.some([self.sales_filter()], 0, 1),
                           self.some(groups + ["s.status"], 0, 1), self.aggregates(1, 3))

    def odd_group(self):
        chosen, filters, _ = self.dimensions(0, 2)
        return self.report(chosen, filters + [self.sales_filter()], [self.random.choice(ODD_VALUES)], self.aggregates(1, 2))

    def odd_value(self):
        value = self.random.choice(ODD_VALUES)
        return (f"SELECT s.sale_id, {value} FROM sales s WHERE {self.sales_filter()}" if self.random.random() < 0.5
                else self.report([], [self.sales_filter()], ["s.status"], [f"max({value})", "count(*)"]))

    def point(self):
        return self.random.choice((
            f"SELECT * FROM sales s WHERE s.sale_id = {self.random.randint(1, self.schema.rows)}",
            f"SELECT count(*), sum(s.price) FROM sales s WHERE s.customer_id = {self.random.randint(1, self.schema.customers)}",
            f"SELECT s.status, count(*) FROM sales s WHERE s.item_id = {self.random.randint(1, self.schema.items)}"
            f" AND {self.day_range()} GROUP BY s.status ORDER BY s.status"))

    def combined(self):
        operator = self.random.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT"))
        column = self.random.choice(("customer_id", "item_id", "day"))
        return (f"SELECT s.{column} FROM sales s WHERE {self.sales_filter()} {operator}"
                f" SELECT x.{column} FROM returns x WHERE x.quantity > 3")

    def average_first(self):
        """HAVING and ORDER BY over expressions of aggregates."""
        chosen, filters, groups = self.dimensions(0, 2)
        group = self.random.choice(groups + ["s.item_id"])
        return self.report(chosen, filters, [group], ["avg(s.quantity) AS a", "sum(s.quantity) * 100 / count(*) AS p"],
                           f" HAVING count(*) > 3 ORDER BY avg(s.quantity) DESC, {group} LIMIT 25")


KINDS = (("star", 6), ("one_table", 4), ("top_groups", 3), ("top_rows", 3), ("rows", 2), ("rows_joined", 2),
         ("many_to_many", 3), ("semi", 4), ("outer", 2), ("distinct", 2), ("window", 2), ("sets_of_groups", 2),
         ("odd_filter", 3), ("odd_group", 2), ("odd_value", 2), ("point", 2), ("combined", 2), ("average_first", 2))


def reports(seed, schema, count):
    """{name: SQL}: `count` of them, no two the same."""
    maker = ReportMaker(seed, schema)
    kinds, weights = zip(*KINDS, strict=True)
    found, seen = {}, set()
    while len(found) < count:
        kind = maker.random.choices(kinds, weights)[0]
        sql = getattr(maker, kind)()
        if sql not in seen:
            seen.add(sql)
            found[f"{kind}_{len(found)}"] = sql
    return found
