#!/usr/bin/env python3
"""functions.py - what a call of a LANGUAGE turbine function costs, beside the same expression written out.

For each form: the expression, an inlined function of it, and a function with statements, which only devices take apart;
for loops, PL/pgSQL stands beside. Runs take turns, so that other work of the machine hits all alike. Prints the fastest runs
in ms and their ratio, stops if answers differ, and fails if a call of one expression costs more than --limit times the
expression.
Needs python3 and the built tree or a bundle (TURBINE_PG_BIN). Called by hand.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import workload  # noqa: E402

FUNCTIONS = """
    CREATE FUNCTION polynomial(x float8, y float8) RETURNS float8 LANGUAGE turbine AS 'x * x * 0.5 + y * 3 - 1';
    CREATE FUNCTION polynomial_steps(x float8, y float8) RETURNS float8 LANGUAGE turbine AS
        'let a = x * x * 0.5; let b = y * 3; a + b - 1';
    CREATE FUNCTION tax(x float8, y float8) RETURNS float8 LANGUAGE turbine AS
        'if x - y < 0 then -(x - y) else (x - y) * 2 end';
    CREATE FUNCTION tax_steps(x float8, y float8) RETURNS float8 LANGUAGE turbine AS
        'let d = x - y; if d < 0 then -d else d * 2 end';
    CREATE FUNCTION mixed(a int) RETURNS int LANGUAGE turbine AS '(a # (a >> 7)) % 1000';
    CREATE FUNCTION mixed_steps(a int) RETURNS int LANGUAGE turbine AS 'let b = a >> 7; (a # b) % 1000';
    CREATE FUNCTION root(a int) RETURNS int LANGUAGE turbine AS
        'let r = 1; while r * r < a do r := r + 1; end; r';
    CREATE FUNCTION root_pl(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
        'DECLARE r int := 1; BEGIN WHILE r * r < a LOOP r := r + 1; END LOOP; RETURN r; END';
"""
# Query with {}, the ways to fill it.
FORMS = {
    "polynomial, in an aggregate": ("SELECT sum({}) FROM t", {
        "expression": "x * x * 0.5 + y * 3 - 1", "function": "polynomial(x, y)", "steps": "polynomial_steps(x, y)"}),
    "choice, in an aggregate": ("SELECT max({}) FROM t", {
        "expression": "CASE WHEN x - y < 0 THEN -(x - y) ELSE (x - y) * 2 END", "function": "tax(x, y)", "steps": "tax_steps(x, y)"}),
    "choice, in a filter": ("SELECT count(*) FROM t WHERE {} > 100", {
        "expression": "CASE WHEN x - y < 0 THEN -(x - y) ELSE (x - y) * 2 END", "function": "tax(x, y)", "steps": "tax_steps(x, y)"}),
    "integers, as a group key": ("SELECT {} AS k, count(*) FROM t GROUP BY 1", {
        "expression": "(a # (a >> 7)) % 1000", "function": "mixed(a)", "steps": "mixed_steps(a)"}),
    "loop, in an aggregate": ("SELECT sum({}) FROM t WHERE a < 2000", {
        "PL/pgSQL": "root_pl(a)", "steps": "root(a)"}),
}


def measure(sessions, template, ways, runs):
    """{way: ms of the fastest run}; the runs of all ways take turns."""
    times = {way: [] for way in ways}
    answers = {way: sorted(sessions.query(template.format(text))) for way, text in ways.items()}
    first = next(iter(answers.values()))
    for way, answer in answers.items():
        if answer != first:
            raise RuntimeError(f"{template} {way}: another answer")
    for _ in range(runs):
        for way, text in ways.items():
            times[way].append(workload.timed(sessions, template.format(text))[0])
    return {way: min(values) for way, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=float, default=1.1)
    options = parser.parse_args()
    failed = 0
    ways = {"PostgreSQL": {"pg_turbine.enabled": "off", "max_parallel_workers_per_gather": "0", "jit": "off"},
            f"pg_turbine, {options.device}": {"pg_turbine.debug_force_offload": "on", "pg_turbine.device": options.device,
                                             "pg_turbine.debug_full_code": "on"}}
    with cluster.Cluster("functions", settings={"shared_buffers": "1GB"}) as server:
        with server.connect() as session:
            session.query("CREATE TABLE t (a int NOT NULL, x float8, y float8)")
            session.query(f"INSERT INTO t SELECT i % 100003, (i % 1009) * 0.25, (i % 977) * 0.5 FROM generate_series(1, {options.rows}) i")
            session.query(FUNCTIONS)
            session.query("VACUUM (FREEZE, ANALYZE) t")
            session.query("CHECKPOINT")
        for engine, settings in ways.items():
            with server.connect(settings=settings) as session:
                for form, (template, texts) in FORMS.items():
                    best = measure(session, template, texts, options.runs)
                    base = next(iter(best.values()))
                    shown = "  ".join(f"{way} {ms:.1f} ms ({ms / base:.2f})" for way, ms in best.items())
                    print(f"{engine}: {form}: {shown}", flush=True)
                    if best.get("function", 0) > options.limit * base:
                        print(f"  a call of one expression costs more than {options.limit} times the expression")
                        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
