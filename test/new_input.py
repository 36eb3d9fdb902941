#!/usr/bin/env python3
"""new_input.py - an input that is added from outside gives PostgreSQL's answers.

The numbers from 1 to n as a foreign table (src/pg/source/numbers/, src/engine/source/numbers/) are in no product: the
module and the service with them are built for this test alone. It is the proof that a new kind of input needs its own
two folders and few registrations elsewhere (src/pg/README.md). Each query must run on a device, the host, and give the
rows of PostgreSQL's own scan; bad messages are for src/engine/source/numbers/numbers_source_test.cc, as is a GPU.
Called by: make test-new-input, test/run_all.py.
"""

import os
import sys
from pathlib import Path

os.environ["TURBINE_MUTANT"] = "numbers"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
from run_sql import FORCED, OFF, node_shown  # noqa: E402
from sql_script import Statement  # noqa: E402

SCHEMA = (
    "CREATE FUNCTION numbers_fdw_handler() RETURNS fdw_handler LANGUAGE C STRICT AS 'pg_turbine', 'turbine_numbers_fdw_handler'",
    "CREATE FOREIGN DATA WRAPPER numbers_fdw HANDLER numbers_fdw_handler",
    "CREATE SERVER numbers_server FOREIGN DATA WRAPPER numbers_fdw",
    "CREATE FOREIGN TABLE numbers (i int NOT NULL) SERVER numbers_server OPTIONS (n '300007')",
    "CREATE FOREIGN TABLE few (i int NOT NULL) SERVER numbers_server OPTIONS (n '10')",
    "CREATE FOREIGN TABLE no_numbers (i int NOT NULL) SERVER numbers_server OPTIONS (n '0')",
    "CREATE TABLE words AS SELECT k, 'word ' || k AS word FROM generate_series(1, 500) k",
    "ANALYZE words",
)
QUERIES = {
    "SELECT count(*), sum(i), min(i), max(i) FROM numbers": "GpuPreAgg",
    "SELECT count(*) FROM numbers": "GpuPreAgg",
    "SELECT i % 97, count(*), sum(i) FROM numbers WHERE i > 1000 GROUP BY i % 97": "GpuPreAgg",
    "SELECT count(*), sum(i) FROM few": "GpuPreAgg",
    "SELECT count(*), sum(i) FROM no_numbers": "GpuPreAgg",
    "SELECT word, count(*), sum(i) FROM numbers JOIN words ON k = i % 1000 GROUP BY word": "GpuPreAgg",
    "SELECT n.i, word FROM numbers n JOIN words ON k = n.i": "GpuJoin",
    "SELECT w.word, f.i FROM words w JOIN few f ON f.i = w.k": "GpuJoin",
    "SELECT count(*) FROM numbers a JOIN numbers b ON a.i = b.i + 1": "GpuPreAgg",
    "SELECT i, sum(i) OVER (ORDER BY i) FROM numbers WHERE i < 5000 ORDER BY i DESC LIMIT 20": "GpuSort",
}


def main():
    passed = failed = 0
    with cluster.Cluster("numbers") as server:
        with server.connect() as session:
            for statement in SCHEMA:
                session.query(statement)
        plain, forced = server.connect(settings=OFF), server.connect(settings=FORCED)
        for query, node in QUERIES.items():
            before = server_counter(plain, "fallback")
            # Not by PostgreSQL's scan, whose rows could be sent as well.
            if "Foreign Scan" in str(forced.query(f"EXPLAIN {query}")):
                failed += 1
                print(f"{query}: PostgreSQL's plan reads the numbers", flush=True)
            # Twice: the second run finds its code.
            for _ in range(2):
                shown = node_shown(forced, Statement(query))
                difference = answers.difference(plain.run(query), forced.run(query))
                if difference or node not in shown.split():
                    failed += 1
                    print(f"{query}: {difference or f'EXPLAIN shows {shown}, not {node}'}", flush=True)
                else:
                    passed += 1
            if server_counter(plain, "fallback") != before:
                failed += 1
                print(f"{query}: PostgreSQL ran it", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def server_counter(session, prefix):
    return int(session.value(f"SELECT sum(value) FROM turbine.stat_queries WHERE counter LIKE '{prefix}%'"))


if __name__ == "__main__":
    sys.exit(main())
