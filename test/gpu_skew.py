#!/usr/bin/env python3
"""gpu_skew.py - no kernel of a GPU stalls, whatever keys are, and none outlives its query.

Groups, distinct counts, joins, builds of join tables, sorts and windows run a few hundred times each, or as often as
--seconds allow, over keys of which one has 0, 50, 85 or 99 % of all rows: texts and numbers, few others and many, with
statistics that are true and with statistics that say there are ten. What depends on which thread comes first shows in
some runs only: the slowest must take no more than RATIO times the median. Each answer is compared with PostgreSQL's own.
Then the web log's queries w1 to w7, of which w7 counts search phrases: one is 85 % of the rows.
Then joins of a trillion tuples are cancelled by statement_timeout; another session's query must find the GPU free soon.
Must never: count a query that did not run on the GPU.
Called by hand, on a machine with an NVIDIA GPU:
    gpu-bundle/run.sh -n -- python3 "$PWD/test/gpu_skew.py" [--rows N] [--runs N] [--only PART] [--json FILE]
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tools"), str(REPOSITORY / "bench")]

import cluster  # noqa: E402
import report_tables  # noqa: E402
import web_log  # noqa: E402
from cache_bench import Bench  # noqa: E402
from cached_tables import CacheUse  # noqa: E402
from pg_client import DatabaseError  # noqa: E402

SHARES = (0, 50, 85, 99)
# The slowest run may take so many times the median. What the machine's other work adds to a run of a few milliseconds
# is no stall of a kernel: from SLACK_MS on it counts.
RATIO = 3
SLACK_MS = 15
# A case ends before it has had all its runs if these take too long, but not before so many.
LEAST_RUNS = 20
# After a query was cancelled, the GPU serves others within this time.
FREE_AGAIN_MS = 200
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "16GB", "work_mem": "1GB", "jit": "off",
            "max_parallel_workers_per_gather": "0"}
ON_GPU = {"pg_turbine.device": "gpu", "pg_turbine.debug_force_offload": "on", "pg_turbine.direct_threshold": "0"}
OFF = {"pg_turbine.enabled": "off"}

KEYS = {"few_numbers": "few", "many_numbers": "many", "few_texts": "few_text", "many_texts": "many_text"}
GROUPED = ("SELECT {key}, count(*), sum(v), min(id), max(f) FROM {table} GROUP BY {key} "
           "ORDER BY count(*) DESC, {key} LIMIT 3")
# part: {name: statement}. `wide` has one row for each of many keys; `hot` the frequent key in three rows only, since the
# others of its rows would all have matches; `small` is for joins of all rows of a key with each other.
PARTS = {
    "groups": {"groups": GROUPED},
    "distinct": {"distinct": "SELECT count(DISTINCT {key}) FROM {table}",
                 "distinct beside plain": "SELECT count(*), sum(v), count(DISTINCT {key}) FROM {table}"},
    "joins": {"probe": "SELECT count(*), sum({table}.v + wide.v) FROM {table} JOIN wide USING ({key})",
              "fan out": "SELECT count(*), sum(a.v) FROM small_{share} a JOIN small_{share} b USING ({key})"},
    "builds": {"build": "SELECT count(*), sum({table}.v) FROM hot JOIN {table} USING ({key})"},
    "sorts": {"sort": "SELECT id FROM {table} ORDER BY {key}, id LIMIT 5 OFFSET {half}"},
    "windows": {"ranks": "SELECT count(*), sum(r) FROM (SELECT rank() OVER (PARTITION BY {key} ORDER BY v) AS r "
                         "FROM {table}) s WHERE r <= 3"},
}


def make_table(session, name, rows, share):
    """One key has `share` per cent of the rows, in places that no order tells."""
    session.query(f"""
        CREATE TABLE {name} (id int, few int, many int, few_text text, many_text text, v int, f float8);
        INSERT INTO {name}
          SELECT i, few, many, 'kind ' || few, CASE WHEN many = 0 THEN '' ELSE 'phrase number ' || many END,
                 hashint4(i) % 1000, i / 8.0
          FROM (SELECT i, CASE WHEN hot THEN 0 ELSE 1 + (hashint4(i) & 2147483647) % 100 END AS few,
                       CASE WHEN hot THEN 0 ELSE 1 + (hashint4(i) & 2147483647) % {max(rows // 4, 1)} END AS many
                FROM (SELECT i, (hashint4(i + 77) & 2147483647) % 100 < {share} AS hot FROM generate_series(1, {rows}) i) a) b""")


def make_tables(session, rows, surprises):
    for share in SHARES:
        make_table(session, f"t_{share}", rows, share)
        make_table(session, f"small_{share}", 6000, share)
        if not surprises:
            continue
        # The same rows, but the planner believes in ten keys: the tables of groups start small.
        session.query(f"CREATE TABLE surprise_{share} (LIKE t_{share}); INSERT INTO surprise_{share} TABLE t_{share}")
        for column in KEYS.values():
            session.query(f"ALTER TABLE surprise_{share} ALTER {column} SET (n_distinct = 10)")
    text = "CASE WHEN k = 0 THEN '' ELSE 'phrase number ' || k END"
    session.query(f"CREATE TABLE wide AS SELECT k AS many, {text} AS many_text, k % 7 AS v "
                  f"FROM generate_series(0, {rows // 4}) k")
    session.query(f"""CREATE TABLE hot AS
        SELECT CASE WHEN k = 0 THEN 0 ELSE 500 + k % 100 END AS few, k AS many,
               CASE WHEN k = 0 THEN 'kind 0' ELSE 'none' END AS few_text, {text} AS many_text
        FROM (SELECT CASE WHEN i < 3 THEN 0 ELSE {rows} + i END AS k FROM generate_series(0, {2 * rows}) i) a""")
    session.query("VACUUM (FREEZE, ANALYZE)")


def cases(rows, wants):
    for part, statements in PARTS.items():
        if not wants(part):
            continue
        for name, statement in statements.items():
            for keys, column in KEYS.items():
                if name == "probe" and column.startswith("few"):
                    continue  # `wide` has many rows of each
                if name == "fan out" and column.startswith("many_text"):
                    continue  # as of numbers
                for share in SHARES:
                    tables = [f"t_{share}"]
                    if part in ("groups", "distinct") and column.startswith("many"):
                        tables.append(f"surprise_{share}")
                    for table in tables:
                        surprise = ", surprise" if table != f"t_{share}" else ""
                        yield part, f"{name}, {keys}, {share} %{surprise}", statement.format(
                            key=column, table=table, share=share, half=rows // 2)


def timed(session, sql):
    started = time.perf_counter()
    rows = session.query(sql)
    return (time.perf_counter() - started) * 1000, rows


def is_on_gpu(session, sql):
    plan = "\n".join(row[0] for row in session.query("EXPLAIN (ANALYZE, COSTS OFF) " + sql))
    return "Device: GPU" in plan or "Device: NVIDIA" in plan, plan


class Skew:
    def __init__(self, server, options):
        self.server, self.options, self.bench, self.figures, self.answers = server, options, Bench(), [], {}
        self.gpu = server.connect(settings=ON_GPU)
        self.plain = server.connect(settings={**OFF, "max_parallel_workers_per_gather": "8"})

    def expected(self, sql):
        """PostgreSQL's answer; a surprise has the rows of its table."""
        sql = sql.replace("surprise_", "t_")
        if sql not in self.answers:
            self.answers[sql] = self.plain.query(sql)
        return self.answers[sql]

    def run_case(self, part, name, sql, runs):
        expected = self.expected(sql)
        self.gpu.query(sql)
        there, plan = is_on_gpu(self.gpu, sql)
        self.bench.check(f"{name}: on the GPU", None if there else plan)
        times, wrong = [], 0
        while len(times) < runs and (len(times) < LEAST_RUNS or sum(times) < self.options.seconds * 1000):
            ms, rows = timed(self.gpu, sql)
            times.append(ms)
            wrong += rows != expected
        median, slowest = statistics.median(times), max(times)
        self.figures.append({"part": part, "name": name, "median": median, "slowest": slowest, "runs": len(times)})
        print(f"  {name:<50} median {median:8.2f} ms, slowest {slowest:8.2f}, run {times.index(slowest) + 1} of {len(times)}; more than "
              f"twice the median: {sum(ms > 2 * median for ms in times)}", flush=True)
        self.bench.equal(f"{name}: answers that differ", wrong, 0)
        stalled = slowest > RATIO * median and slowest > median + SLACK_MS
        self.bench.check(f"{name}: slowest run", f"{slowest:.1f} ms, median {median:.1f}" if stalled else None)

    def run_cases(self):
        for part, name, sql in cases(self.options.rows, self.options.wants):
            try:
                self.run_case(part, name, sql, self.options.runs)
            except DatabaseError as error:
                self.bench.check(name, f"{error}")

    def web_log(self):
        queries = list(web_log.QUERIES.items())[:7]
        for _, sql in queries[:-1]:
            self.gpu.query(sql)
        self.run_case("web log", "w7, 85 %", queries[-1][1], self.options.web_log_runs)

    def cancelled(self):
        """A join whose probe would run for minutes, and a residual that looks at as many rows and finds none."""
        endless = {
            "fan out": "SELECT count(*), sum(a.v) FROM t_99 a JOIN t_99 b USING (few)",
            "residual": "SELECT count(*) FROM t_99 a WHERE EXISTS (SELECT 1 FROM t_99 b WHERE b.few = a.few "
                        "AND b.v + a.v > 1000000)",
            "two joins": "SELECT count(*) FROM t_99 a JOIN t_99 b USING (few) JOIN t_85 c USING (few)",
        }
        other = self.server.connect(settings=ON_GPU)
        probe = "SELECT count(*), sum(v) FROM t_0 WHERE few > 10"
        other.query(probe)
        usual = statistics.median(timed(other, probe)[0] for _ in range(20))
        for name, sql in endless.items():
            waits, returns = [], []
            for _ in range(self.options.cancels):
                with self.server.connect(settings={**ON_GPU, "statement_timeout": "400"}) as session:
                    started = time.perf_counter()
                    outcome = session.run(sql)
                    returns.append((time.perf_counter() - started) * 1000)
                    self.bench.equal(f"{name}: cancelled", outcome.sqlstate, "57014")
                waits.append(timed(other, probe)[0] - usual)
            print(f"  {name:<20} returns after {max(returns):.0f} ms at most, the GPU serves others {max(waits):.0f} ms "
                  f"later at most, {statistics.median(waits):.0f} in the median", flush=True)
            self.figures.append({"part": "cancelled", "name": name, "median": statistics.median(waits),
                                 "slowest": max(waits), "runs": len(waits)})
            self.bench.check(f"{name}: the GPU is free again",
                             f"after {max(waits):.0f} ms" if max(waits) > FREE_AGAIN_MS else None)
        other.close()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=10, help="that the runs of a case may take")
    parser.add_argument("--web-log-runs", type=int, default=500)
    parser.add_argument("--cancels", type=int, default=20)
    parser.add_argument("--only", action="append", help=f"of {', '.join(PARTS)}, weblog, cancelled")
    parser.add_argument("--json", help="where to write the figures")
    options = parser.parse_args()
    options.wants = lambda part: not options.only or part in options.only
    return options


def main():
    options = parse_arguments()
    with cluster.Cluster("gpu-skew", settings=SETTINGS) as server:
        with server.connect(settings=OFF) as session:
            make_tables(session, options.rows, options.wants("groups") or options.wants("distinct"))
        if options.wants("weblog"):
            report_tables.load_web_log(server, 1)
        CacheUse(server).load(prepare=lambda session: session.query("CHECKPOINT"))
        skew = Skew(server, options)
        try:
            skew.run_cases()
            if options.wants("weblog"):
                skew.web_log()
            if options.wants("cancelled"):
                skew.cancelled()
        finally:
            if options.json:
                Path(options.json).write_text(json.dumps(skew.figures, indent=1), encoding="utf-8")
    print(f"{skew.bench.passed} passed, {skew.bench.failed} failed")
    return 1 if skew.bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
