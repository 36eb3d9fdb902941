#!/usr/bin/env python3
"""language.py - functions of LANGUAGE turbine mean the same wherever they run.

The parts: syntax (errors with their places), values (what bodies mean, by example and by the page's own examples),
catalogs (what CREATE, DROP, GRANT, ALTER and a dump do), plans (calls run on the device or are inlined), random
(seeded functions: the device, PostgreSQL, and the same function in PL/pgSQL), hostile (sources that end in an error
within a second).
Must never: count a function as compared if the device never ran it; the share of queries on the device has a minimum.
Called by: test/run_all.py. Options: --functions, --seed, --only, --device (auto or gpu: on a machine that has one).
"""

import argparse
import random
import re
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from random_functions import TABLE, FunctionMaker  # noqa: E402
from run_sql import DIRECT, OFF, SERVICE_FAULTS  # noqa: E402

PAGE = REPOSITORY / "docs" / "language-turbine.md"
HOSTILE_SECONDS = 1.0
LEAST_ON_DEVICE = 0.5
TIMED_OUT = "57014"
TWO = "x float8, y float8"

# Body of f(x float8, y float8), SQLSTATE, line, column.
SYNTAX = (
    ("", "42601", 1, 1),
    ("let d = x", "42601", 1, 10),
    ("let d = ;\nd", "42601", 1, 9),
    ("let = 3; x", "42601", 1, 5),
    ("let if = 3; x", "42601", 1, 5),
    ("x +", "42601", 1, 4),
    ("x\n  + * y", "42601", 2, 5),
    ("(x + y", "42601", 1, 7),
    ("x y", "42601", 1, 3),
    ("x;", "42601", 1, 2),
    ("let d = x;", "42601", 1, 11),
    ("d = 3; x", "42703", 1, 1),
    ("x = 3; x", "42601", 1, 6),
    ("d := 3; x", "42703", 1, 1),
    ("if x > 0 then x", "42601", 1, 16),
    ("if x > 0 x end", "42601", 1, 10),
    ("if x then x end", "42804", 1, 4),
    ("if x > 0 then x else let z = y; end", "42601", 1, 1),
    ("if x > 0 then let z = y; end; ", "42601", 1, 31),
    ("while x > 0 do x end; x", "42601", 1, 16),
    ("while x do x := 1; end; x", "42804", 1, 7),
    ("let z = 1; let z = 2; x", "42710", 1, 16),
    ("let z unknown = 1; x", "42704", 1, 7),
    ("let z interval = interval '1 day'; x", "0A000", 1, 7),
    ("x + 'abc'", "22P02", 1, 5),
    ("x +\n y + z", "42703", 2, 6),
    ("x + $3", "42P02", 1, 5),
    ("$2 + 'a'::text", "42883", 1, 4),
    ("nothing(x)", "42883", 1, 1),
    ("random() + x", "0A000", 1, 1),
    ("pg_sleep(x)", "0A000", 1, 1),
    ("sum(x)", "42809", 1, 1),
    ("generate_series(1, 2)", "42809", 1, 1),
    ("x::varchar", "42704", 1, 4),
    ("x || y", "42883", 1, 3),
    ("date '2020-13-01'", "22008", 1, 6),
    ("1e", "42601", 1, 1),
    ("'abc", "42601", 1, 1),
    ('"abc', "42601", 1, 1),
    ("/* /* */ x", "42601", 1, 1),
    ("x ? y", "42601", 1, 3),
    ("1 + if x > 0 then let z = x; z else y end", "42601", 1, 5),
    ("'a'", "22P02", 1, 1),
    ("date '2020-01-01'", "42804", 1, 1),
    ("coalesce()", "42601", 1, 1),
    ("nullif(x)", "42601", 1, 1),
    ("x is nothing", "42601", 1, 6),
    ("length('é') + Q", "42703", 1, 15),
)

# Arguments of f, result, body, call, value as text. Each also as PostgreSQL says, where a query is given.
VALUES = (
    (TWO, "float8", "let d = x - y; if d < 0 then -d else d * 2 end", ("(1, 3)", "2"), ("(5, 3)", "4"), ("(NULL, 1)", None)),
    ("a int", "int", "let s = 0; let i = 1; while i <= a do s := s + i; i := i + 1; end; s", ("(10)", "55"), ("(0)", "0")),
    ("a int8, b int8", "int8", "while b <> 0 do let t = a % b; a := b; b := t; end; abs(a)", ("(48, 18)", "6"), ("(-7, 0)", "7")),
    ("a int", "int", "let r int8 = 1; let i = 0; while i < a do i := i + 1; if i % 2 = 0 then r := r * 2; elsif i % 3 = 0 "
     "then r := r * 3; else r := r + 1; end; end; r", ("(6)", "50"), ("(1)", "2")),
    ("a int", "text", "if a > 0 then 'more' elsif a < 0 then 'less' end", ("(1)", "more"), ("(-1)", "less"), ("(0)", None)),
    ("a int", "int", "let x = 1; if a > 0 then let x = 2; a := a + x; end; a + x", ("(1)", "4"), ("(0)", "1")),
    ("a int", "int", "let r = if a > 0 then let h = a * 2; h + 1 else let h = a; h - 1 end; r * 10", ("(2)", "50"), ("(-1)", "-20")),
    ("a int", "int", "if a > 5 then let b = a * 2; b elsif a > 3 then a else let c = 1; c end", ("(6)", "12"), ("(4)", "4"), ("(0)", "1")),
    ("a int, b bool", "bool", "a > 1 and b or not b", ("(2, NULL)", None), ("(0, true)", "false"), ("(0, false)", "true")),
    ("a int", "numeric", "let t numeric(10,2) = 0; while a > 0 do t := t + 1.005; a := a - 1; end; t", ("(3)", "3.03"),),
    ("a numeric", "numeric", "a * 2 + 0.50", ("(1.25)", "3.00"), ("('NaN')", "NaN")),
    ("a text", "text", "let n = 0; while left(a, 1) = 'x' and n < 3 do a := substr(a, 2); n := n + 1; end; a",
     ("('xxxxy')", "xy"), ("('y')", "y"), ("(NULL)", None)),
    ("d date", "date", "while extract(isodow from d) > 5 do d := d + 1; end; d", ("('2024-06-01')", "2024-06-03"),),
    ("d timestamp", "timestamp", "date_trunc('month', d) + interval '1 month'", ("('2024-01-31 10:00')", "2024-02-01 00:00:00"),),
    ("int, int", "int", "$1 - $2", ("(5, 3)", "2"),),
    ('"A b" int', "int", '"A b" + 1', ("(1)", "2"),),
    ("a int", "int", "-- one\n/* two /* three */ */ a -- four", ("(7)", "7"),),
    ("a int", "int", "-a^2", ("(3)", "9"),),
    ("a int", "bool", "a between 1 and 3 or a not in (7, 8, null)", ("(2)", "true"), ("(7)", "false"), ("(9)", None)),
    ("a text", "bool", "a like '%b%' and a not like 'b%'", ("('abc')", "true"), ("('bcd')", "false")),
    ("a int", "bool", "a is distinct from 3 and (a = 1) is not true", ("(3)", "false"), ("(NULL)", "true"), ("(1)", "false")),
    ("a float8", "float8", "greatest(a, 1.5, -2) + least(a, 0) + coalesce(nullif(a, 0), 7)", ("(0)", "8.5"), ("(2)", "4")),
    ("a int2", "int2", "a + 1::int2", ("(1::int2)", "2"),),
    ("a int", "int8", "cast(a as bigint) * 3000000000", ("(3)", "9000000000"),),
    ("a float8", "int", "a", ("(2.5)", "2"), ("(3.5)", "4")),
    ("a timestamptz", "float8", "extract(epoch from a)::float8", ("('2000-01-01 00:00:00+00')", "946684800")),
)
RAISES = (
    ("a int, b int", "int", "a / b", "(1, 0)", "22012"),
    ("a int", "int", "a + 2147483647", "(1)", "22003"),
    ("a int", "int", "if a > 0 then 1 / (a - 1) else 0 end", "(1)", "22012"),
    ("a int", "int", "let unused = 1 / a; 5", "(0)", "22012"),
    ("a float8", "float8", "sqrt(a)", "(-1)", "2201F"),
    ("a int", "int", "while true do a := 1 - a; end; a", "(1)", "54000"),
    ("a int", "int", "while a < 100000 do a := a + 1; end; while a > 0 do a := a - 1; end; a", "(0)", "54000"),
    ("a int8", "int", "a", "(3000000000)", "22003"),
    ("a int", "int", "let b int2 = a; b", "(70000)", "22003"),
    ("a int", "numeric", "let b numeric(3,1) = a; b", "(1000)", "22003"),
)
NO_RAISES = (
    ("a int", "int", "if a > 0 then 1 / a else 0 end", "(0)", "0"),
    ("a int", "int", "let b = 0; if a > 0 then b := 1 / a; end; b", "(0)", "0"),
    ("a int", "int", "while a > 0 and 10 / a > 1 do a := a - 1; end; a", "(0)", "0"),
    ("a int", "int", "while a < 100000 do a := a + 1; end; a", "(0)", "100000"),
)


def create(session, arguments, result, body, name="f", options=""):
    return session.run(f"CREATE OR REPLACE FUNCTION {name}({arguments}) RETURNS {result} LANGUAGE turbine {options} AS $body${body}$body$")


class Suite:
    def __init__(self, server, bench, options):
        self.server, self.bench, self.options = server, bench, options
        self.on = server.connect(settings={**DIRECT, "pg_turbine.device": options.device, "statement_timeout": "120s"})
        self.off = server.connect(settings={**OFF, "statement_timeout": "120s"})

    def drop(self, name="f"):
        self.off.run(f"DROP FUNCTION IF EXISTS {name} CASCADE")

    # The parts

    def syntax(self):
        for body, sqlstate, line, column in SYNTAX:
            self.drop()
            outcome = create(self.off, TWO, "float8", body)
            found = (outcome.sqlstate, *self.place(outcome))
            self.bench.equal(f"syntax: {body!r}", found, (sqlstate, line, column))
        for arguments, result, sqlstate in (
                ("x anyelement", "int", "42P13"), ("x int", "record", "42P13"), ("x int", "SETOF int", "42P13"),
                ("VARIADIC x int[]", "int", "42P13"), ("x int, OUT y int", "int", "42P13"), ("x int[]", "int", "42P13"),
                ("x varchar", "int", "42P13"), ("x int", "trigger", "42P13"), ("x int", "void", "42P13")):
            self.drop()
            self.bench.equal(f"shape ({arguments}) {result}", create(self.off, arguments, result, "1").sqlstate, sqlstate)
        self.bench.fails("procedure", self.off, "CREATE PROCEDURE f(x int) LANGUAGE turbine AS '1'", "42P13")
        self.bench.fails("inline block", self.off, "DO LANGUAGE turbine 'let x = 1'", "0A000")
        # Where the statement shows it: psql's caret.
        outcome = self.off.run("CREATE FUNCTION f(x int) RETURNS int LANGUAGE turbine AS 'x + zz'")
        self.bench.equal("position in the statement", outcome.error.fields.get("P"), "63")

    @staticmethod
    def place(outcome):
        """Line and column that the error's context names."""
        context = outcome.error.fields.get("W", "") if outcome.error else ""
        found = re.search(r"line (\d+), column (\d+)", context)
        return (int(found.group(1)), int(found.group(2))) if found else (None, None)

    def values(self):
        for arguments, result, body, *calls in VALUES:
            self.drop()
            outcome = create(self.off, arguments, result, body)
            self.bench.check(f"create {body!r}", str(outcome.error) if outcome.error else None)
            for call, expected in calls if isinstance(calls[0], tuple) else [calls]:
                for session in (self.off, self.on):
                    outcome = session.run(f"SELECT f{call}::text")
                    found = outcome.error or outcome.rows[0][0]
                    self.bench.equal(f"{body!r} {call}", str(found) if outcome.error else found, expected)
        for arguments, result, body, call, sqlstate in RAISES:
            self.drop()
            create(self.off, arguments, result, body)
            self.bench.fails(f"{body!r} {call}", self.off, f"SELECT f{call}", sqlstate)
        for arguments, result, body, call, expected in NO_RAISES:
            self.drop()
            create(self.off, arguments, result, body)
            self.bench.equal(f"{body!r} {call}", self.off.value(f"SELECT f{call}"), expected)

    def strictness(self):
        """An argument is evaluated once, and before the body; STRICT is as in SQL."""
        self.off.query("CREATE SEQUENCE IF NOT EXISTS s")
        for body, used in (("a + a", 2), ("5", 0), ("if b then a else 0 end", 1), ("let c = a; c + c", 2)):
            self.drop()
            create(self.off, "a int8, b bool", "int8", body)
            self.off.query("SELECT setval('s', 1)")
            self.off.query("SELECT f(nextval('s'), false)")
            self.bench.equal(f"nextval in {body!r}, used {used} times", self.off.value("SELECT nextval('s')"), "3")
            self.bench.fails(f"failing argument of {body!r}", self.off, "SELECT f(1 / (id - id), false) FROM r", "22012")
        self.drop()
        create(self.off, "a int, b int", "int", "coalesce(a, 1) / 0", options="STRICT")
        self.bench.equal("strict, NULL", self.off.value("SELECT f(NULL, 1) IS NULL"), "t")
        self.bench.equal("strict, NULL of a column", self.off.value("SELECT count(*) FROM r WHERE f(NULLIF(id, id), 1) IS NULL"),
                         self.off.value("SELECT count(*) FROM r"))
        self.bench.fails("strict, value", self.off, "SELECT f(1, 1)", "22012")

    def constants(self):
        """What a date means may depend on settings; then it does at each call."""
        for body, result, immutable, answers_by_setting in (
                ("date '2024-02-01'", "date", "i", {"datestyle = 'ISO, DMY'": "2024-02-01", "datestyle = 'ISO, MDY'": "2024-02-01"}),
                ("date '1/2/2024'", "date", "s", {"datestyle = 'ISO, DMY'": "2024-02-01", "datestyle = 'ISO, MDY'": "2024-01-02"}),
                ("let d = '1/2/2024'::date; d", "date", "s",
                 {"datestyle = 'ISO, DMY'": "2024-02-01", "datestyle = 'ISO, MDY'": "2024-01-02"}),
                ("extract(epoch from timestamptz '2024-01-01 00:00')::float8", "float8", "s",
                 {"timezone = 'UTC'": "1704067200", "timezone = 'Asia/Tokyo'": "1704034800"}),
                ("extract(epoch from timestamptz '2024-01-01 00:00+09')::float8", "float8", "s",
                 {"timezone = 'UTC'": "1704034800", "timezone = 'Asia/Tokyo'": "1704034800"}),
                ("timestamptz '2024-01-01 00:00+09' = timestamptz '2023-12-31 15:00:00+00:00'", "bool", "i", {"timezone = 'UTC'": "true"}),
                ("extract(epoch from timestamptz '2024-01-01 00:00 Europe/Paris')::float8", "float8", "s",
                 {"timezone = 'UTC'": "1704063600"}),
                ("extract(hour from timestamptz '2024-01-01 00:00+00')::float8", "float8", "s",
                 {"timezone = 'UTC'": "0", "timezone = 'Asia/Tokyo'": "9"}),
                ("timestamp 'today' = timestamp 'yesterday'", "bool", "s", {"timezone = 'UTC'": "false"})):
            self.drop()
            outcome = create(self.off, "a int", result, body)
            self.bench.check(body, str(outcome.error) if outcome.error else None)
            self.bench.equal(f"label of {body}", self.off.value("SELECT provolatile FROM pg_proc WHERE proname = 'f'"), immutable)
            for session in (self.off, self.on):
                for setting, expected in answers_by_setting.items():
                    session.query(f"SET {setting}")
                    self.bench.equal(f"{body}, {setting}", session.query("SELECT DISTINCT f(id)::text FROM r"), [(expected,)])
                session.query("RESET timezone; RESET datestyle")

    def page(self):
        """The page's examples: statements with the answers that stand below them."""
        session = self.server.connect()
        count = 0
        for block in re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
            found = sql = None
            for piece in re.split(r"(?<=;)\n(?=[A-Z]|--> )", block.strip()):
                lines = piece.splitlines()
                answer = [line[4:].strip() for line in lines if line.startswith("--> ")]
                if answer:
                    self.bench.equal(f"the page's {sql}", found, answer)
                    count += 1
                text = "\n".join(line for line in lines if not line.startswith("--> "))
                if not text.strip():
                    continue
                sql, outcome = text, session.run(text)
                found = [f"ERROR: {outcome.error.message}"] if outcome.error else [
                    " | ".join("NULL" if v is None else v for v in row) for result in outcome.results for row in result.rows]
                if outcome.error and f"--> ERROR: {outcome.error.message}" not in block:
                    self.bench.check(f"the page's {sql}", str(outcome.error))
        self.bench.check("the page's examples", None if count >= 8 else f"only {count} have answers")
        session.close()

    def catalogs(self):
        s = self.off
        self.drop()
        self.drop("g")
        # What follows from the body.
        create(s, "a int", "int", "a + 1", "g")
        create(s, "a int", "int", "g(a) * 2")
        labels = "SELECT provolatile, proparallel FROM pg_proc WHERE proname = '{}'"
        self.bench.equal("labels", s.query(labels.format("f")), [("i", "s")])
        create(s, "a timestamptz", "date", "a::date", "z")
        self.bench.equal("labels of what depends on the time zone", s.query(labels.format("z")), [("s", "s")])
        # Dependencies.
        self.bench.fails("DROP of what is called", s, "DROP FUNCTION g(int)", "2BP01")
        # A new body counts at once, in prepared plans too.
        for session in (self.off, self.on):
            create(s, "a int", "int", "a + 1", "g")
            session.query("SET plan_cache_mode = force_generic_plan")
            session.query("PREPARE p AS SELECT sum(f(id)) FROM r; PREPARE q AS SELECT sum(g(id)) FROM r")
            before = session.value("EXECUTE p"), session.value("EXECUTE q")
            expected = session.query("SELECT sum((id + 1) * 2), sum(id + 1) FROM r")[0]
            self.bench.equal("prepared", before, expected)
            create(s, "a int", "int", "let b = a; while b > a do b := a; end; b + 2", "g")
            found = session.value("EXECUTE p"), session.value("EXECUTE q")
            expected = session.query("SELECT sum((id + 2) * 2), sum(id + 2) FROM r")[0]
            self.bench.equal("prepared, after CREATE OR REPLACE", found, expected)
            session.query("DEALLOCATE ALL; RESET plan_cache_mode")
        # Defaults, and arguments by name.
        for name in ("g", "h"):
            self.drop(name)
        create(s, "a int, b int DEFAULT 10, c int DEFAULT 100", "int", "a + b * c", "g")
        create(s, "a int, b int DEFAULT 10, c int DEFAULT 100", "int", "let d = a + b * c; d", "h")
        create(s, "a int", "int", "g(a) + h(a, 2)", "f")
        for session in (self.off, self.on):
            query = "SELECT sum({0}(id)), sum({0}(id, 2)), sum({0}(c => id, a => a)), sum(f(id)) FROM r"
            expected = session.query("SELECT sum(id + 10 * 100), sum(id + 2 * 100), sum(a + 10 * id), sum(id * 2 + 1200) FROM r")
            for name in ("g", "h"):
                self.bench.equal(f"defaults and names of {name}", session.query(query.format(name)), expected)
        for name in ("f", "g", "h"):
            self.drop(name)
        create(s, "a int", "int", "a + 2", "g")
        create(s, "a int", "int", "g(a) * 2")
        # Recursion.
        self.bench.equal("recursion", create(s, "a int", "int", "f(a)").sqlstate, "42P19")
        self.bench.equal("recursion of two", create(s, "a int", "int", "f(a)", "g").sqlstate, "42P19")
        # Names: the function's schema, then pg_catalog; search_path has no say.
        s.query("CREATE SCHEMA IF NOT EXISTS other")
        s.query("CREATE OR REPLACE FUNCTION other.abs(a int) RETURNS int LANGUAGE sql AS 'SELECT 42'")
        s.query("CREATE OR REPLACE FUNCTION other.plus(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT 42'")
        s.run("CREATE OPERATOR other.+ (LEFTARG = int, RIGHTARG = int, FUNCTION = other.plus)")
        self.drop("h")
        create(s, "a int", "int", "abs(a) + 1", "h")
        s.query("SET search_path = other, public")
        self.bench.equal("search_path", s.value("SELECT public.h(-5)"), "6")
        self.bench.equal("other schema", create(s, "a int", "int", "g(a)", "other.k").sqlstate, "42883")
        self.bench.equal("other schema by name", create(s, "a int", "int", "public.g(a)", "other.k").sqlstate, "00000")
        s.query("RESET search_path; DROP SCHEMA other CASCADE")
        # An index on a call is used, and serves the queries that have the call.
        self.drop("h")
        create(s, "a int", "int", "a * 7", "h")
        s.query("CREATE INDEX indexed ON r (h(id))")
        plan = "\n".join(row[0] for row in s.query("SET enable_seqscan = off; EXPLAIN SELECT * FROM r WHERE h(id) = 70"))
        self.bench.check("index on a call", None if "indexed" in plan else plan)
        s.query("RESET enable_seqscan; DROP INDEX indexed")
        # A view, a constraint, a generated column.
        s.query("CREATE TABLE made (a int CHECK (h(a) < 700), b int GENERATED ALWAYS AS (h(a)) STORED); INSERT INTO made VALUES (5)")
        self.bench.equal("generated", s.value("SELECT b FROM made"), "35")
        self.bench.fails("constraint", s, "INSERT INTO made VALUES (100)", "23514")
        s.query("DROP TABLE made")

    def rights(self):
        s = self.off
        s.run("CREATE ROLE plain LOGIN")
        s.query("GRANT ALL ON SCHEMA public TO plain; GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain")
        for name in ("f", "g", "h"):
            self.drop(name)
        create(s, "a int", "int", "a + 1", "g")
        create(s, "a int", "int", "g(a) * 2", "f")
        create(s, "a int", "int", "let b = g(a); b * 2", "h")
        for settings in (OFF, {**DIRECT, "pg_turbine.device": self.options.device}):
            with self.server.connect(user="plain", settings=settings) as plain:
                query = "SELECT count(*), sum({}(id)) FROM r"
                self.bench.equal("trusted", plain.run("CREATE FUNCTION mine(a int) RETURNS int LANGUAGE turbine AS 'a'").sqlstate, "00000")
                plain.query("DROP FUNCTION mine")
                self.bench.equal("allowed", plain.run(query.format("f")).sqlstate, "00000")
                plain.query("SET plan_cache_mode = force_generic_plan; PREPARE p AS " + query.format("f"))
                plain.query("PREPARE q AS " + query.format("h"))
                plain.query("EXECUTE p; EXECUTE q")
                s.query("REVOKE EXECUTE ON FUNCTION g(int) FROM PUBLIC")
                for name in ("f", "h"):
                    self.bench.fails(f"a callee that is forbidden, by {name}", plain, query.format(name), "42501")
                self.bench.fails("the same, prepared", plain, "EXECUTE p", "42501")
                self.bench.fails("the same, prepared, on a device", plain, "EXECUTE q", "42501")
                # SECURITY DEFINER may.
                s.query("ALTER FUNCTION f(int) SECURITY DEFINER")
                self.bench.equal("security definer", plain.run(query.format("f")).sqlstate, "00000")
                s.query("ALTER FUNCTION f(int) SECURITY INVOKER; GRANT EXECUTE ON FUNCTION g(int) TO PUBLIC")
                s.query("REVOKE EXECUTE ON FUNCTION f(int) FROM PUBLIC")
                self.bench.fails("forbidden", plain, query.format("f"), "42501")
                s.query("GRANT EXECUTE ON FUNCTION f(int) TO PUBLIC")
        # One plan, two users.
        with self.server.connect(settings={**DIRECT, "pg_turbine.device": self.options.device}) as both:
            s.query("REVOKE EXECUTE ON FUNCTION h(int) FROM PUBLIC")
            both.query("SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT count(*), sum(h(id)) FROM r; EXECUTE p")
            both.query("SET ROLE plain")
            self.bench.fails("the plan of another user", both, "EXECUTE p", "42501")
            s.query("GRANT EXECUTE ON FUNCTION h(int) TO PUBLIC")
        # Everyone may call the validator, and change nothing by it.
        s.query("ALTER FUNCTION h(int) VOLATILE COST 55")
        with self.server.connect(user="plain") as plain:
            plain.query("SELECT turbine.language_validator('h(int)'::regprocedure)")
        self.bench.equal("labels after a stranger's validation",
                         s.query("SELECT provolatile, procost FROM pg_proc WHERE proname = 'h'"), [("v", "55")])
        # A setting of the function's own.
        create(s, "a timestamptz", "float8", "extract(hour from a)::float8", "zoned", "SET timezone = 'Asia/Tokyo'")
        for session in (self.off, self.on):
            session.query("SET timezone = 'UTC'")
            self.bench.equal("SET", session.value("SELECT zoned('2024-01-01 00:00+00')"), "9")

    def dump(self):
        """A dump makes the same functions, by a user who is no superuser's friend, whatever their order."""
        s = self.off
        s.query("CREATE DATABASE first_one")
        s.query("CREATE DATABASE second_one")
        body = "let b numeric(10,2) = a_callee(a); while b > 1.5 do b := b - 1; end; b"
        with self.server.connect("first_one") as session:
            create(session, "a int", "int", "a * 2 -- $$ ' \\", "z_callee")
            create(session, "a int", "int", "z_callee(a) + 1", "a_callee")
            create(session, "a int", "numeric", body, "caller", "STRICT COST 7")
            session.query("CREATE TABLE kept AS SELECT caller(i) AS c FROM generate_series(1, 5) i; CREATE INDEX ON kept (caller(c::int))")
        self.bench.check("restore", self.server.restore(self.server.dump("first_one"), "second_one"))
        question = ("SELECT p.proname, p.prosrc, provolatile, proparallel, procost, proisstrict, (SELECT count(*) FROM pg_depend d "
                    "WHERE d.objid = p.oid AND d.refclassid = 'pg_proc'::regclass) FROM pg_proc p JOIN pg_language l "
                    "ON l.oid = prolang WHERE lanname = 'turbine' ORDER BY 1")
        with self.server.connect("first_one") as one, self.server.connect("second_one") as two:
            self.bench.equal("dumped functions", two.query(question), one.query(question))
            self.bench.equal("dumped values", two.query("SELECT c, caller(3) FROM kept"), one.query("SELECT c, caller(3) FROM kept"))
        for name in ("first_one", "second_one"):
            s.query(f"DROP DATABASE {name}")

    def plan(self, query):
        return "\n".join(row[0] for row in self.on.query(f"EXPLAIN (VERBOSE, COSTS OFF) {query}"))

    def plans(self):
        """The call runs on the device, wherever it stands in the query."""
        for name in ("f", "g", "h"):
            self.drop(name)
        create(self.off, "a int, b int", "int", "a * 2 + b")
        create(self.off, "a int, b int", "int", "let c = a + b; if c < 0 then -c else c end", "g")
        create(self.off, "a int, b int", "int", "let i = 0; while i < 5 and a < 100 do a := a + b % 7 + 1; i := i + 1; end; a", "h")
        queries = ("SELECT id FROM r WHERE {f}(id, a) > 50",
                   "SELECT {f}(id, a), count(*) FROM r GROUP BY 1",
                   "SELECT sum({f}(id, a)), max({f}(a, a)) FROM r",
                   "SELECT count(*) FROM r WHERE {f}(id, a) % 3 = 1 AND {f}(a, id) % 5 < 3",
                   "SELECT count(*) FROM r JOIN w ON {f}(r.id, r.a) = w.id",
                   "SELECT r.id, {f}(r.id, w.a) FROM r JOIN w ON r.id = w.id",
                   "SELECT id, {f}(id, a) AS v FROM r ORDER BY v, id LIMIT 10",
                   "SELECT count(*) FILTER (WHERE {f}(id, a) > 7) FROM r")
        for name in ("f", "g", "h"):
            for template in queries:
                query = template.format(f=name)
                plan = self.plan(query)
                self.bench.check(f"plan of {query}", None if "Gpu" in plan else plan)
                reasons = self.on.query(f"SELECT part, reason FROM turbine.why_not($why${query}$why$)")
                self.bench.check(f"reasons of {query}", str(reasons) if any("function" in r for _, r in reasons) else None)
                self.bench.check(query, answers.difference(self.off.run(query), self.on.run(query)))
        # What a numeric prints with depends on a loop.
        create(self.off, "a int, n numeric", "numeric", "let i = 0; while i < a % 3 do i := i + 1; end; if i > 1 then n else 1.5 end", "u")
        create(self.off, "a int, n numeric", "numeric", "let m = u(a, n); if m > 1 then m else m * 2.25 end", "v")
        for query in ("SELECT u(id, n) AS k, count(*) FROM r GROUP BY 1", "SELECT v(id, n * 1.0) AS k, count(*) FROM r GROUP BY 1",
                      "SELECT r.id, v(r.id, w.n) AS v FROM r JOIN w ON r.id = w.id"):
            before = self.faults()
            self.bench.check(query, answers.difference(self.off.run(query), self.on.run(query)))
            self.bench.equal(f"faults of {query}", self.faults(), before)
        self.drop("u(int, numeric)")
        plan = self.plan("SELECT id FROM r WHERE f(id, a) > 50")
        self.bench.check("one expression is inlined", None if "* 2" in plan and "f(" not in plan else plan)
        reason = self.on.query("SELECT reason FROM turbine.why_not('SELECT id FROM r WHERE u(n) > 1')") if not create(
            self.off, "n numeric", "numeric", "let i = 0; while i < 2 do n := n * n; i := i + 1; end; n", "u").error else []
        self.bench.check("reason", None if any("without precision" in r for r, in reason) else str(reason))

    def faults(self):
        """How often the service failed, and not a value."""
        names = ", ".join(repr("fallback_" + fault) for fault in SERVICE_FAULTS)
        return int(self.off.value(f"SELECT sum(value) FROM turbine.stat_queries WHERE counter IN ({names})"))

    def random(self):
        source = random.Random(self.options.seed)
        maker = FunctionMaker(source)
        offloaded = failing = endless = 0
        faults = self.faults()
        started = time.monotonic()
        for number in range(self.options.functions):
            function = maker.function(f"rf{number}")
            outcome = self.off.run(function.turbine)
            if outcome.error:
                self.bench.check(f"random {number}", f"{outcome.error}\n{function.turbine}")
                maker.known.pop()
                continue
            self.off.query(function.plpgsql)
            query = maker.query(function)
            ours = query.format(f=function.name)
            plain, device = self.off.run(ours), self.on.run(ours)
            found = answers.difference(plain, device, floats=True)
            # Which of a join's rows comes first, and raises its error, is the join's affair.
            if found and " JOIN " in ours and all(end.sqlstate[:2] in ("22", "54") for end in (plain, device)):
                found = None
            if not found and not function.endless:
                reference = self.off.run(query.format(f=function.name + "_pl"))
                # It may take too long for what it costs.
                found = reference.sqlstate != TIMED_OUT and answers.difference(reference, plain, floats=True)
                found = found and "PL/pgSQL: " + found
            # A program that is not compiled would be compared, too, but not on the device.
            if not found and self.faults() > faults:
                found = "the service failed:\n" + "\n".join(r[0] for r in self.on.run(f"EXPLAIN (ANALYZE) {ours}").rows)
            faults = self.faults()
            failing += 1 if plain.error else 0
            endless += plain.sqlstate == "54000"
            shown = self.on.run(f"EXPLAIN (FORMAT JSON) {ours}")
            reasons = self.on.query(f"SELECT reason FROM turbine.why_not($why${ours}$why$)")
            offloaded += not shown.error and "Gpu" in shown.rows[0][0] and not any("function" in r for r, in reasons)
            self.bench.check(f"random {number}", found and f"{found}\n{function.turbine};\n{ours};\n{function.plpgsql}")
            if number % 200 == 199:
                print(f"  {number + 1} functions, {offloaded} on the device, {failing} raise", flush=True)
        seconds = time.monotonic() - started
        total = self.options.functions
        print(f"  {total} functions, {offloaded} on the device, {failing} raise, {endless} by their steps, {seconds:.0f} s")
        self.bench.check("share on the device", None if offloaded >= LEAST_ON_DEVICE * total else f"{offloaded} of {total}")
        self.bench.check("some raise", None if 0.02 * total <= failing <= 0.6 * total else f"{failing} of {total}")

    def end(self, body, call):
        """(outcome, seconds) of the function: created, called, and called for each row, up to the first error."""
        started = time.monotonic()
        outcome = create(self.off, "a int", "int", body)
        if not outcome.error:
            outcome = self.off.run(f"SELECT f({call})")
        if not outcome.error:
            outcome = self.on.run("SELECT sum(f(id)) FROM r")
        return outcome, time.monotonic() - started

    def hostile(self):
        slowest, which = 0, None
        for number, (what, setup, body, call) in enumerate(hostile_sources(random.Random(3))):
            self.drop()
            for name, source in setup:
                outcome = create(self.off, "a int", "int", source, name)
                if outcome.error:
                    break
            if setup and outcome.error:
                seconds = 0
            else:
                outcome, seconds = self.end(body, call)
                # On a machine that runs other tests besides: the faster of two.
                if seconds > HOSTILE_SECONDS:
                    self.drop()
                    seconds = min(seconds, self.end(body, call)[1])
            if seconds > slowest:
                slowest, which = seconds, what
            complaint = None
            if not outcome.error:
                complaint = "no error"
            elif outcome.sqlstate.startswith("XX") or outcome.sqlstate == TIMED_OUT:
                complaint = str(outcome.error)
            elif seconds > HOSTILE_SECONDS:
                complaint = f"{seconds:.1f} s: {outcome.error}"
            self.bench.check(f"hostile {number}, {what}", complaint)
        print(f"  {number + 1} hostile sources, the slowest {slowest:.2f} s: {which}")
        self.bench.equal("the server lives", self.on.value("SELECT count(*) FROM r"), self.off.value("SELECT count(*) FROM r"))


def hostile_sources(source):
    """(what, functions before it, body of f(a int), argument) of 200 bodies."""
    made = []

    def add(what, body, setup=(), call="1"):
        made.append((what, tuple(setup), body, call))
    for depth in (201, 1000, 10000, 60000):
        add(f"{depth} parentheses", "(" * depth + "a" + ")" * depth)
        add(f"{depth} signs", "- " * min(depth, 30000) + "a")
        add(f"{depth} NOTs", "not " * min(depth, 15000) + "a = 1")
        add(f"{depth} terms", "a" + "+1" * min(depth, 30000))
        add(f"{depth} open ifs", "if a = 1 then " * min(depth, 4000) + "a")
        add(f"{depth} ifs", "if a > 0 then " * min(depth, 3000) + "a" + " end" * min(depth, 3000))
        add(f"{depth} branches", "if a = 0 then 0 " + "elsif a = 1 then 1/0 " * min(depth, 3000) + "end")
        add(f"{depth} calls", "abs(" * min(depth, 10000) + "a" + ")" * min(depth, 10000))
        add(f"{depth} loops", "while a > 0 do " * min(depth, 3000) + "a := a; " + "end; " * min(depth, 3000) + "a")
        add(f"{depth} conditions", "if " * depth + "a")
        add(f"{depth} ANDs of a fault", "if a = 1" + " and a = 1" * min(depth, 6000) + " then 1/0 end")
        add(f"{depth} casts", "a" + "::int8::int4" * min(depth, 5000) + " / 0")
        add(f"{depth} comments", "/*" * min(depth, 30000) + "a")
        add(f"{depth} quotes", "'" * (2 * min(depth, 30000) + 1))
        add(f"{depth} variables", " ".join(f"let v{i} = a;" for i in range(min(depth, 4000))) + " a / 0")
        add(f"{depth} digits", "1" * depth)
        add(f"{depth} letters", "x" * depth)
        add(f"{depth} operators", "a " + "+-" * min(depth, 30000))
    for nesting in (6, 10, 20, 40):
        body = "a"
        for _ in range(nesting):
            body = f"({body} between 0 and 1)::int"
        add(f"{nesting} BETWEENs", body + " / 0")
        body = "a"
        for _ in range(nesting):
            body = f"({body} in (0, 1, 2, 3))::int"
        add(f"{nesting} INs", body + " / 0")
        body = "".join(f"let v{i + 1} = v{i} + v{i}; " for i in range(nesting * 4))
        add(f"{nesting * 4} doublings", "let v0 = a; " + body + f"v{nesting * 4} / 0")
        body = "".join(f"let v{i + 1} = if v{i} > 0 then v{i} - 1 else v{i} + 1 end; " for i in range(nesting * 4))
        add(f"{nesting * 4} choices", "let v0 = a; " + body + f"1 / (v{nesting * 4} * 0)")
        body = "".join(f"if a > {i} then let w = a; " for i in range(nesting * 4)) + "a := a - 1; " + "end; " * (nesting * 4)
        add(f"{nesting * 4} ifs with statements", body + "a / 0")
    for form in ("while true do end; a", "while a = a do a := a; end; a", "while true do while true do a := a; end; end; a",
                 "let i = 0; while true do i := i + 1; end; i", "let t = 'x'; while true do t := substr(t, 1); end; a",
                 "let n numeric(30,10) = 1; while true do n := n * 1.0000001; end; a",
                 "let n numeric = 1.5; while true do n := n * n; end; a",
                 "while null is null do end; a", "while a is not null do a := a + 1; end; a",
                 "let i = 0; while i < 1000 do let j = 0; while j < 1000 do j := j + 1; end; i := i + 1; end; a",
                 "while true do a := 1 - a; end; a", "if a > 0 then while true do end; end; a"):
        add(f"endless {form}", form)
    slow = "let i = 0; while i < 50000 do i := i + 1; end; a"
    add("a loop that calls loops", "let i = 0; while i < 1000 do i := i + 1; a := g0(a); end; a", [("g0", slow)])
    add("calls of loops", "g0(a) + g0(a) + g0(a)", [("g0", slow)])
    for depth in (5, 10, 13, 15, 20, 40):
        add(f"{depth} calls in a row", f"g{depth}(a) / 0",
            [("g0", "a")] + [(f"g{i + 1}", f"g{i}(a)") for i in range(depth)])
        add(f"{depth} doubled calls", f"g{depth}(a) / 0",
            [("g0", "a + 1")] + [(f"g{i + 1}", f"g{i}(g{i}(a))") for i in range(depth)])
        add(f"{depth} tenfold calls", f"g{depth}(a) / 0",
            [("g0", "a + 1")] + [(f"g{i + 1}", "+".join([f"g{i}(a)"] * 10)) for i in range(depth)])
    for function in ("pg_sleep(10)", "pg_read_file('/etc/passwd')", "lo_import('/etc/passwd')", "random()", "nextval('s')",
                     "set_config('a', 'b', true)", "current_setting('port')", "pg_terminate_backend(1)", "version()",
                     "current_user", "session_user", "now()", "clock_timestamp()", "pg_backend_pid()", "txid_current()",
                     "pg_ls_dir('.')", "dblink('', '')", "query_to_xml('SELECT 1', true, true, '')", "pg_reload_conf()",
                     "turbine.version()", "turbine.language_validator(1)", "pg_catalog.pg_sleep(10)", "eval('1')",
                     "(select 1)", "exists (select 1)", "row(1, 2)", "array[1, 2]", "a[1]", "(a).b", "*", "a.*", "$0", "$2",
                     "$99999999999999999999", ":x", "@a", "a::regclass", "'pg_class'::regclass", "a::text::xml", "a -> 'b'",
                     "lpad('x', 2147483647)", "repeat('x', 2000000000)", "1e999999999999", "1e400::float8", "1.0::numeric(5000)",
                     "'\\x00'::bytea", "interval '1 day'", "date '99999999-01-01'", "timestamp 'x'", "null::nothing",
                     "a := 1", "let", "let a", "let let = 1; a", "end", "then", "if", "while", "do", ";", ";;", ",", "()", "(,)",
                     "cast(a)", "cast(a as)", "extract(from a)", "extract(century from a)", "coalesce(", "greatest()",
                     "f(a)", "public.f(a)", "nothing.f(a)", "\"\"", "\"a", "''", "a''b", "E'\\n'", "$$a$$", "a--b\n /", "/**/",
                     "0x10", "1_000", "1a", "a b c", "a = b = c", "a < a < a", "a is", "a is not", "a not", "not", "a like",
                     "a between 1", "a in", "a in ()", "let x = if a > 0 then 1; x", "let a = a; a := b; a",
                     "if a > 0 then 1 else let x = 1; end", "while a > 0 do 1 end; a"):
        add(function, function)
    while len(made) < 200:
        words = ["let", "if", "then", "else", "end", "while", "do", "a", "x", "1", "'s'", "(", ")", "+", "*", ":=", "=", ";", "and",
                 "not", "null", "::", "int4", ",", "abs", "$1", "elsif", "in", "is", "\"q\""]
        add("words", " ".join(source.choice(words) for _ in range(source.randint(3, 400))))
    return made


PARTS = ("syntax", "values", "strictness", "constants", "page", "catalogs", "rights", "dump", "plans", "random", "hostile")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--functions", type=int, default=120, help="random ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="parts, separated by commas")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    bench = Bench()
    with cluster.Cluster("language") as server:
        server.create_extension("postgres")
        with server.connect() as session:
            session.query(TABLE.format(name="r", rows=3000) + TABLE.format(name="w", rows=700))
            session.query("VACUUM (ANALYZE)")
            session.query("CHECKPOINT")
        suite = Suite(server, bench, options)
        for part in options.only.split(",") if options.only else PARTS:
            before = bench.failed
            getattr(suite, part)()
            print(f"  {part}: {'failed' if bench.failed > before else 'passed'}", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
