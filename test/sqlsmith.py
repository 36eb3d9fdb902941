#!/usr/bin/env python3
"""sqlsmith.py - SQLsmith's random queries over random tables, every offloadable plan forced.

Nothing may crash, and no statement may end with an internal error (XX000) unless
it does so without acceleration too. Answers are not compared (differential.py
does that): these queries are wild, few of them have one right order of rows.
The server's log, with SQLSTATEs, is what tells. Fails too if hardly a query ran
on a device.
Called by: make test-sqlsmith, test/run_all.py. Needs Debian's package sqlsmith.
Options: --queries, --seed, --processes.
"""

import argparse
import itertools
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
from pg_client import ConnectionLost  # noqa: E402
from random_tables import make_table  # noqa: E402
from run_sql import DIRECT, OFF, SERVICE_FAULTS  # noqa: E402

QUERIES_A_ROUND = 20000     # then other tables, and another log
TABLES = 8
MOST_ROWS = 400     # cross joins of more would only time out
LEAST_ON_DEVICE = 0.02
ROLE = "smith"
INTERNAL = "XX000"
# "%m [%p] %e " is the prefix of a line; further lines of a message start with a tab.
_LINE = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[(\d+)\] (\w{5}) (\w+):  (.*)$")


def make_tables(server, source):
    """Tables of every shape that random_tables.py knows, and indexes on some."""
    with server.connect() as session:
        session.query(f"CREATE ROLE {ROLE} LOGIN")
        for number in range(TABLES):
            table = make_table(source, f"s{number}")
            while not 0 < table.rows <= MOST_ROWS:
                table = make_table(source, f"s{number}")
            for statement in table.statements:
                for part in statement.split("; "):
                    session.query(part)
            if number % 2:
                session.query(f"CREATE INDEX ON {table.name} (id)")
        session.query("VACUUM")
        session.query(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {ROLE}")
        session.query("CHECKPOINT")


def run_sqlsmith(server, seed, queries):
    target = f"host={server.directory} port={server.port} user={ROLE} dbname=postgres"
    return subprocess.Popen(["sqlsmith", f"--target={target}", f"--seed={seed}", f"--max-queries={queries}",
                             "--exclude-catalog"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            errors="replace")


def read_log(server):
    """(errors by SQLSTATE, statements that ended with an internal error, lines of a crash)."""
    states, internal, crashes, statements, waiting = Counter(), [], [], {}, None
    for line in server.logfile.read_text(errors="replace").splitlines():
        found = _LINE.match(line)
        if not found:
            if waiting and line.startswith("\t"):
                statements[waiting].append(line[1:])
            continue
        _, state, kind, text = found.groups()
        waiting = None
        if kind in ("ERROR", "FATAL", "PANIC"):
            states[state] += 1
        if "terminated by signal" in text or kind == "PANIC" or "server process" in text:
            crashes.append(line)
        if kind == "STATEMENT" and state == INTERNAL:
            waiting = len(statements)
            statements[waiting] = [text]
    internal = ["\n".join(lines) for lines in statements.values()]
    return states, internal, crashes


def is_ours(server, statement):
    """Whether the statement fails so with pg_turbine, and only with it."""
    outcomes = []
    for settings in (OFF, DIRECT):
        with server.connect(user=ROLE, settings={**settings, "statement_timeout": "10s"}) as session:
            session.query("BEGIN")
            try:
                outcomes.append(session.run(statement).sqlstate)
            except ConnectionLost:
                outcomes.append("lost")
    return outcomes[0] != INTERNAL and outcomes[1] in (INTERNAL, "lost")


def judge(server, queries):
    """Number of complaints."""
    states, internal, crashes = read_log(server)
    with server.connect() as session:
        counters = {name: int(value) for name, value in session.query("SELECT * FROM turbine.stat_queries")}
    print("  errors: " + ", ".join(f"{state} {count}" for state, count in states.most_common(12)))
    print("  " + ", ".join(f"{name} {value}" for name, value in counters.items() if value), flush=True)
    complaints = list(crashes)
    for statement in dict.fromkeys(internal):
        if is_ours(server, statement):
            complaints.append(f"an internal error that PostgreSQL alone does not give:\n{statement};")
    complaints += [f"{counters[f'fallback_{name}']} fallbacks for reason {name}" for name in SERVICE_FAULTS
                   if counters.get(f"fallback_{name}")]
    if counters["queries"] < LEAST_ON_DEVICE * queries:
        complaints.append(f"only {counters['queries']} scans ran on a device")
    for complaint in complaints:
        print(f"  {complaint}", flush=True)
    return len(complaints)


def run_round(options, seed, queries):
    """(passed, failed) of some thousand queries in a cluster of their own."""
    settings = {**DIRECT, "statement_timeout": "1s", "log_line_prefix": "%m [%p] %e ", "log_min_messages": "warning",
                "max_locks_per_transaction": "256", "temp_file_limit": "1GB"}
    with cluster.Cluster("sqlsmith", settings=settings) as server:
        make_tables(server, random.Random(seed))
        started = time.monotonic()
        with server.connect(settings=OFF) as witness:
            running = [run_sqlsmith(server, seed * 1000 + i, -(-queries // options.processes))
                       for i in range(options.processes)]
            outputs = [process.communicate()[1] for process in running]
            complaint = None
            try:
                witness.value("SELECT 1")
            except ConnectionLost as lost:
                complaint = f"the instance restarted: {lost}"
                server._wait_until_up()
        for process, output in zip(running, outputs, strict=True):
            if process.returncode != 0:
                complaint = complaint or f"sqlsmith ended with {process.returncode}: {output[-500:]}"
        print(f"  seed {seed}: {queries} queries, {time.monotonic() - started:.0f} s", flush=True)
        failed = judge(server, queries)
        if complaint:
            print(f"  {complaint}")
            failed += 1
    return queries, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    passed = failed = 0
    for seed in itertools.count(options.seed):
        good, bad = run_round(options, seed, min(QUERIES_A_ROUND, options.queries - passed))
        passed, failed = passed + good, failed + bad
        if passed >= options.queries:
            break
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
