"""random_functions.py - seeded random functions of LANGUAGE turbine, with the same function in PL/pgSQL.

Owns: a grammar of statements and expressions by type family. Each text is made twice, in both languages, so that
PL/pgSQL says what the function means.
Must never: make an expression of constants alone below a condition. PL/pgSQL computes it, and so raises its errors, even
if the condition is never true.
Used by: language.py.
"""

from typing import NamedTuple

INTEGERS = ("int4", "int8")
# Name in both languages, literals, columns of the table.
TYPES = {
    "int4": ("int4", ("0", "1", "2", "7", "100", "40000"), ("a", "b")),
    "int8": ("int8", ("0::int8", "3::int8", "11::int8", "1000000::int8"), ("l", "m")),
    "float8": ("float8", ("0.5::float8", "2::float8", "1e3::float8", "0::float8"), ("x", "y")),
    "numeric": ("numeric(14,3)", ("0.5", "2", "10.125", "0"), ("n", "o")),
    "bool": ("bool", ("true", "false"), ("p", "q")),
    "text": ("text", ("'ab'", "'b'", "''", "'xyz'"), ("s", "t")),
    "date": ("date", ("date '2020-02-29'", "date '1999-12-31'"), ("d", "e")),
    "timestamp": ("timestamp", ("timestamp '2021-03-04 05:06:07'", "timestamp '2000-01-01'"), ("u", "v")),
}
FAMILIES = tuple(TYPES)
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
TABLE = """
    CREATE TABLE {name} (id int, a int4, b int4, l int8, m int8, x float8, y float8, n numeric(10,2), o numeric(8,3),
                         p bool, q bool, s text COLLATE "C", t text COLLATE "C", d date, e date, u timestamp, v timestamp);
    INSERT INTO {name} SELECT i,
        nullif((i * 7919) % 41 - 20, 3), (i * 104729) % 100003 - 5000, nullif((i * 15485863::int8) % 1000 - 500, 7),
        i * 4611686018427::int8, nullif((i % 37) / 4.0 - 3, 1.25), (i % 1009) * 0.37 - 100, nullif((i % 51) * 0.25 - 3, 1),
        (i % 977) * 0.125 - 20, nullif(i % 3, 2) = 1, i % 2 = 0,
        CASE WHEN i % 11 > 0 THEN chr(97 + i % 7) || chr(97 + i % 3) || repeat('z', i % 5) END, 'row ' || i % 300,
        CASE WHEN i % 13 > 0 THEN date '2019-12-01' + i % 120 END, date '1990-01-01' + i,
        CASE WHEN i % 17 > 0 THEN timestamp '2020-02-28 22:00' + i % 500 * interval '1 hour' END,
        timestamp '2000-01-01' + i * interval '1 day 1 second'
    FROM generate_series(1, {rows}) i;
"""


class Both(NamedTuple):
    """A text in LANGUAGE turbine and in PL/pgSQL."""
    turbine: str
    plpgsql: str


def same(text):
    return Both(text, text)


def join(template, *parts):
    return Both(template.format(*(p.turbine for p in parts)), template.format(*(p.plpgsql for p in parts)))


class Function(NamedTuple):
    name: str
    arguments: tuple     # families
    result: str          # family
    turbine: str         # statements that create it
    plpgsql: str
    endless: bool        # it may reach the limit of steps, which PL/pgSQL has none of


class FunctionMaker:
    def __init__(self, random):
        self.random = random
        self.known = []     # functions that others may call

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, values):
        return self.random.choice(values)

    # Expressions

    def variable(self, family):
        """A variable of the family, or None."""
        names = [name for name, of in self.scope if of == family]
        return same(self.pick(names)) if names else None

    def leaf(self, family):
        variable = self.variable(family)
        if variable and self.chance(0.75):
            return variable
        return same(self.pick(TYPES[family][1]))

    def varying(self, family, depth):
        """No constant: what stands at the left of an operator."""
        variable = self.variable(family)
        if variable and (depth <= 0 or self.chance(0.5)):
            return variable
        if family in INTEGERS:
            other = self.variable("text")
            return join("length({})", other) if other and family == "int4" else join("({})::" + family, self.number())
        if family in ("float8", "numeric"):
            return join("({})::" + TYPES[family][0], self.number(family))
        if family == "bool":
            return self.condition(depth - 1)
        if family == "text":
            return join("substr({}, {})", variable, same("2")) if variable else None
        if family == "date":
            other = self.variable("timestamp")
            return join("({})::date", other) if other else None
        other = self.variable("date")
        return join("({})::timestamp", other) if other else None

    def number(self, wanted="float8"):
        """A variable that can be cast so: devices cast no float8 to numeric."""
        families = ("int4", "int8", "numeric") + (("float8",) if wanted != "numeric" else ())
        for family in self.random.sample(families, len(families)):
            if variable := self.variable(family):
                return variable
        return same("k0")

    def value(self, family, depth):
        if depth <= 0 or self.chance(0.2):
            return self.leaf(family)
        if self.chance(0.15):
            return self.choice(family, depth)
        if self.chance(0.08):
            return join("coalesce({}, {})", self.leaf(family), self.leaf(family))
        if self.chance(0.05) and family != "bool":
            return join("nullif({}, {})", self.leaf(family), self.leaf(family))
        if self.chance(0.1) and (call := self.call(family, depth)):
            return call
        made = getattr(self, "of_" + family)(depth)
        return made or self.leaf(family)

    def choice(self, family, depth):
        condition = self.condition(depth - 1)
        yes, no = self.value(family, depth - 1), self.value(family, depth - 1)
        kind = "::" + TYPES[family][0] if family != "numeric" else ""
        if self.chance(0.2):
            return Both(f"if {condition.turbine} then {yes.turbine}{kind} end" if not kind else
                        f"if {condition.turbine} then ({yes.turbine}){kind} end",
                        f"(CASE WHEN {condition.plpgsql} THEN ({yes.plpgsql}){kind} END)")
        return Both(f"if {condition.turbine} then {yes.turbine} else {no.turbine} end",
                    f"(CASE WHEN {condition.plpgsql} THEN {yes.plpgsql} ELSE {no.plpgsql} END)")

    def call(self, family, depth):
        known = [f for f in self.known if f.result == family and not f.endless]
        if not known:
            return None
        f = self.pick(known[-20:])
        # The first is no constant, as at the left of an operator.
        arguments = [self.variable("int4"), *(self.leaf(of) for of in f.arguments[1:])]
        args = [f"({a.turbine})::{TYPES[of][0].split('(')[0]}" for a, of in zip(arguments, f.arguments, strict=True)]
        self.called = True
        return Both(f"{f.name}({', '.join(args)})", f"{f.name}_pl({', '.join(args)})")

    def of_int(self, family, depth):
        left = self.varying(family, depth - 1)
        if not left:
            return None
        form = self.random.randrange(9)
        if form < 4:
            return join("({} " + self.pick("+-*") + " {})", left, self.value(family, depth - 1))
        if form == 4:
            return join("({} " + self.pick("/%") + " {})", left, same(self.pick(("7", "-3", "1000"))))
        if form == 5:
            return join("({} " + self.pick("/%") + " {})", left, self.varying(family, depth - 1) or left)
        if form == 6:
            return join(self.pick(("abs({})", "(- {})")), left)
        if form == 7:
            return join(self.pick(("greatest", "least")) + "({}, {})", left, self.leaf(family))
        return join("({})::" + family, self.number())

    def of_int4(self, depth):
        if self.chance(0.15) and (day := self.variable("date")):
            return join("({} - {})", day, self.leaf("date"))
        return self.of_int("int4", depth)

    def of_int8(self, depth):
        return self.of_int("int8", depth)

    def of_float8(self, depth):
        left = self.varying("float8", depth - 1)
        form = self.random.randrange(7)
        if form < 4:
            return join("({} " + self.pick("+-*/") + " {})", left, self.value("float8", depth - 1))
        if form == 4:
            return join(self.pick(("abs({})", "(- {})", "floor({})", "round({})")), left)
        if form == 5:
            return join("sqrt({})" if self.chance(0.4) else "sqrt(abs({}))", left)
        return join("({})::float8", self.number())

    def of_numeric(self, depth):
        left = self.varying("numeric", depth - 1)
        form = self.random.randrange(6)
        if form < 3:
            return join("({} " + self.pick("+-*") + " {})", left, self.leaf("numeric"))
        if form == 3:
            return join("round({}, 1)", left)
        if form == 4:
            return join(self.pick(("abs({})", "(- {})", "floor({})")), left)
        return join("({} / {})", left, self.leaf("numeric") if self.chance(0.3) else same("4.0"))

    def of_bool(self, depth):
        return self.condition(depth)

    def of_text(self, depth):
        left = self.variable("text")
        if not left:
            return None
        form = self.random.randrange(4)
        if form == 0:
            return join("substr({}, 2)", left)
        if form == 1:
            return join("left({}, 2)", left)
        if form == 2:
            return join("right({}, 3)", left)
        return join("rtrim({})", left)

    def of_date(self, depth):
        left = self.varying("date", depth - 1)
        return left and join("({} + {})", left, self.value("int4", 0))

    def of_timestamp(self, depth):
        left = self.varying("timestamp", depth - 1)
        if not left:
            return None
        if self.chance(0.3):
            return join("date_trunc('{}', {})", same(self.pick(("month", "day", "hour"))), left)
        return join("({} + interval '{}')", left, same(self.pick(("1 day", "-3 hours", "1 month", "90 minutes"))))

    def condition(self, depth):
        if depth > 0 and self.chance(0.3):
            a, b = self.condition(depth - 1), self.condition(depth - 1)
            return join(self.pick(("({} and {})", "({} or {})", "(not {} or {})")), a, b)
        if self.chance(0.15) and (flag := self.variable("bool")):
            return join(self.pick(("{}", "({} is not true)", "({} is false)")), flag)
        name, family = self.pick(self.scope)
        left = same(name)
        form = self.random.randrange(8)
        if form == 0:
            return join("({} is " + self.pick(("", "not ")) + "null)", left)
        if form == 1:
            return join("({} is distinct from {})", left, self.leaf(family))
        if form == 2 and family in INTEGERS:
            return join("({} between {} and {})", left, self.leaf(family), self.leaf(family))
        if form == 3 and family in (*INTEGERS, "text"):
            return join("({} in ({}, {}))", left, self.leaf(family), self.leaf(family))
        if form == 4 and family == "text":
            return join("({} like '{}')", left, same(self.pick(("a%", "%z", "%b%", "_a%"))))
        return join("({} " + self.pick(COMPARISONS) + " {})", left, self.value(family, depth - 1))

    # Statements

    def new_name(self):
        self.names += 1
        return f"v{self.names}"

    def declare(self, family):
        name = self.new_name()
        self.declared.append((name, family))
        return name

    def let(self, depth):
        family = self.pick(FAMILIES)
        name = self.declare(family)
        value = self.value(family, depth)
        # In PL/pgSQL all have types; numerics of other types would be rounded there only.
        typed = family == "numeric" or self.chance(0.7)
        kind = TYPES[family][0]
        text = f"let {name} {kind} = {value.turbine};" if typed else f"let {name} = ({value.turbine})::{kind};"
        self.scope.append((name, family))
        return Both(text, f"{name} := {value.plpgsql};")

    def assign(self, depth):
        candidates = [v for v in self.scope if v[0] != "k0" and v not in self.fixed]
        if not candidates:
            return None
        name, family = self.pick(candidates)
        value = self.value(family, depth)
        if family == "numeric" and name in self.arguments:
            return None
        return Both(f"{name} := {value.turbine};", f"{name} := {value.plpgsql};")

    def block(self, depth, count):
        """Statements with variables of their own."""
        outer = list(self.scope)
        texts = [s for s in (self.statement(depth) for _ in range(count)) if s]
        self.scope = outer
        if not texts:
            return Both("", "NULL;")
        return Both(" ".join(t.turbine for t in texts), " ".join(t.plpgsql for t in texts))

    def when(self, depth):
        condition = self.condition(1)
        yes = self.block(depth - 1, self.random.randint(1, 2))
        if self.chance(0.5):
            return Both(f"if {condition.turbine} then {yes.turbine} end;",
                        f"IF {condition.plpgsql} THEN {yes.plpgsql} END IF;")
        no = self.block(depth - 1, 1)
        return Both(f"if {condition.turbine} then {yes.turbine} else {no.turbine} end;",
                    f"IF {condition.plpgsql} THEN {yes.plpgsql} ELSE {no.plpgsql} END IF;")

    def loop(self, depth):
        counter = self.declare("int4")
        self.scope.append((counter, "int4"))
        self.fixed.append((counter, "int4"))
        most = self.pick(("3", "5", "8"))
        also = join(" and {}", self.condition(1)) if self.chance(0.4) else same("")
        body = self.block(depth - 1, self.random.randint(1, 3))
        if not self.endless and self.chance(0.03):
            self.endless = True
            step = same("")
        else:
            step = same(f"{counter} := {counter} + 1;")
        return Both(f"let {counter} int4 = 0; while {counter} < {most}{also.turbine} do {body.turbine} {step.turbine} end;",
                    f"{counter} := 0; WHILE {counter} < {most}{also.plpgsql} LOOP {body.plpgsql} {step.plpgsql} END LOOP;")

    def statement(self, depth):
        form = self.random.randrange(10)
        if depth > 0 and form == 0:
            return self.when(depth)
        if depth > 0 and form == 1:
            return self.loop(depth)
        if form < 6:
            return self.let(2)
        return self.assign(2)

    def function(self, name):
        """A function of a random shape."""
        arguments = [self.pick(FAMILIES) for _ in range(self.random.randint(1, 4))]
        self.names, self.declared, self.fixed, self.endless, self.called = 0, [], [], False, False
        self.scope = [("k0", "int4")] + [(f"k{i + 1}", of) for i, of in enumerate(arguments)]
        self.arguments = {n for n, _ in self.scope}
        result = self.pick(FAMILIES)
        parts = []
        if self.chance(0.65):
            parts = [s for s in (self.statement(2) for _ in range(self.random.randint(1, 5))) if s]
        # Some are too large for one function of machine code.
        large = self.chance(0.1)
        if large:
            parts += [s for s in (self.statement(3) for _ in range(12)) if s]
        value = self.value(result, 5 if large else 3)
        families = ("int4", *arguments)
        signature = ", ".join(f"k{i} {TYPES[of][0].split('(')[0]}" for i, of in enumerate(families))
        kind = TYPES[result][0].split("(")[0]
        strict = " STRICT" if self.chance(0.3) else ""
        body = "\n".join([*(p.turbine for p in parts), value.turbine])
        variables = " ".join(f"{n} {TYPES[of][0]};" for n, of in self.declared)
        pl = "\n".join([*(p.plpgsql for p in parts), f"RETURN {value.plpgsql};"])
        made = Function(
            name, families, result,
            f"CREATE OR REPLACE FUNCTION {name}({signature}) RETURNS {kind} LANGUAGE turbine{strict} AS $$ {body} $$",
            f"CREATE OR REPLACE FUNCTION {name}_pl({signature}) RETURNS {kind} LANGUAGE plpgsql IMMUTABLE{strict} AS "
            f"$$ DECLARE {variables} BEGIN {pl} END $$", self.endless)
        self.known.append(made)
        return made

    # Queries

    def columns(self, function, table="r"):
        return ", ".join(f"{table}.{self.pick(('id', 'a', 'b') if i == 0 else TYPES[of][2])}"
                         for i, of in enumerate(function.arguments))

    def query(self, function):
        """A query that calls the function, with {f} for its name."""
        call = "{f}(" + self.columns(function) + ")"
        form = self.random.randrange(5)
        if form == 0:
            literal = self.pick(TYPES[function.result][1])
            return f"SELECT id FROM r WHERE {call} {self.pick(COMPARISONS)} {literal}"
        if form == 1:
            return f"SELECT {call} AS k, count(*), min(id) FROM r GROUP BY 1"
        if form == 2:
            total = f", sum({call}) AS total" if function.result in ("int4", "int8", "numeric", "float8") else ""
            extreme = f", min({call}) AS least, max({call}) AS most" if function.result not in ("bool", "text") else ""
            return f"SELECT count({call}){extreme}{total} FROM r"
        if form == 3:
            column = TYPES[function.result][2][0]
            return f"SELECT count(*), min(r.id), max(w.id) FROM r JOIN w ON {call} = w.{column}"
        return f"SELECT r.id, {call} AS v FROM r JOIN w ON r.id = w.id"
