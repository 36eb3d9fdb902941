#!/usr/bin/env python3
"""join_fuzz.py - very many random joins, plain and forced, must agree.

Compiling costs more than all else in a run over small tables, so each query is
run over several sets of tables of one definition: other values, NULLs, sizes
(none at all among them) and physical shapes, but the same programs. A schema
holds a set; search_path chooses.
Rows as multisets, SQLSTATE and message of errors, as in differential.py.
Prints the seed, the set, its tables and the query of a difference;
`--seed S --queries 1` runs all queries of a seed again. A long run fails too if
the engine joined too few of the queries. With --cached all tables are loaded into
the column cache first, and it fails too if the joins did not take them from there.
Called by: test/run_all.py. Options: --queries, --seed, --sets, --seconds,
--having, --device, --cached, --stock.
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import differential  # noqa: E402
from cached_tables import CacheUse  # noqa: E402
from random_joins import JoinMaker, define_tables, fill_tables  # noqa: E402
from random_queries import ZONES  # noqa: E402
from server_features import leave_out_kinds  # noqa: E402
from run_sql import CACHED, DIRECT, check_counters  # noqa: E402

SHAPES = 16     # queries of a seed, each over all sets
LEAST_JOINED = 0.4
# Of these tables all shapes cost nearly the same; the searched ones are the most varied.
JOIN_SHAPES = ("searched",) * 3 + ("filtered",) * 2 + ("auto", "chain", "postgresql")
LONG_RUN = 500
# Of a set's first table, which most often is the one that probes.
DRIVER_SIZES = (1, 300, 300, 1000, 2049)


def create_set(server, number, tables):
    """A schema with the tables; written pages of all-visible blocks are read directly."""
    with server.connect() as session:
        session.query(f"DROP SCHEMA IF EXISTS set{number} CASCADE")
        session.query(f"CREATE SCHEMA set{number}")
        session.query(f"SET search_path = set{number}")
        for table in tables:
            for statement in table.statements:
                for part in statement.split("; "):
                    session.query(part)


class Fuzz:
    def __init__(self, server, options):
        self.server, self.sets = server, options.sets
        self.sessions = differential.Sessions(server, options.device, CACHED if options.cached else DIRECT)
        self.use = CacheUse(server, options.device) if options.cached else None
        self.agreed = self.failed = self.joined = self.shapes = 0
        self.offload = not options.stock
        self.having = options.having
        self.joins = Counter()

    def both(self, statement):
        self.sessions.plain.query(statement)
        self.sessions.forced.query(statement)

    def is_joined(self, query):
        """Whether the engine joins in the query's plan; not so where it only scans."""
        outcome = self.sessions.forced.run(f"EXPLAIN (FORMAT JSON) {query}")
        return not outcome.error and "GpuJoin" in outcome.rows[0][0]

    def run_seed(self, seed, enough):
        """All queries of a seed, or as many as are wanted."""
        source = random.Random(seed)
        definitions = define_tables(source)
        sets = [fill_tables(source, definitions, DRIVER_SIZES) for _ in range(self.sets)]
        for number, tables in enumerate(sets):
            create_set(self.server, number, tables)
        with self.server.connect() as session:
            session.query("CHECKPOINT")
        if self.use:
            self.use.load()
        self.both(f"SET timezone = '{source.choice(ZONES)}'")
        self.both(f"SET geqo_threshold = {source.choice((2, 3, 12))}")
        maker = JoinMaker(source, sets[0])
        for _ in range(SHAPES):
            query = self.wanted(maker)
            if self.offload:
                self.sessions.forced.query(f"SET pg_turbine.debug_join_shape = {source.choice(JOIN_SHAPES)}")
            self.joins[query.count(" JOIN ")] += 1
            self.shapes += 1
            for number, tables in enumerate(sets):
                self.run_query(seed, number, tables, query)
            if enough():
                return

    def wanted(self, maker):
        while True:
            query = maker.query()
            if self.having in query:
                return query

    def run_query(self, seed, number, tables, query):
        self.both(f"SET search_path = set{number}")
        self.joined += self.offload and self.is_joined(query)
        found = differential.check_query(self.sessions, query)
        if found:
            differential.report(f"{seed}, set {number}", tables, query, found, False)
        self.failed += found is not None
        self.agreed += found is None

    def total(self):
        return self.agreed + self.failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seconds", type=float, help="stop after these, whatever was asked for")
    parser.add_argument("--seed", type=int, default=1, help="the first; the next ones follow")
    parser.add_argument("--sets", type=int, default=24, help="of tables that each query runs over")
    parser.add_argument("--having", default="", help="only queries with this text, such as FULL JOIN")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--cached", action="store_true", help="with all tables loaded into the column cache")
    parser.add_argument("--stock", action="store_true", help="without the extension: proves the generator")
    options = parser.parse_args()
    started = time.monotonic()
    deadline = started + options.seconds if options.seconds else float("inf")
    # Several of these may run side by side.
    settings = {} if options.stock else {"pg_turbine.host_threads": "2"}
    with cluster.Cluster("joins", extension=not options.stock, settings=settings) as server:
        leave_out_kinds(server)
        fuzz, seed = Fuzz(server, options), options.seed
        while fuzz.total() < options.queries and time.monotonic() < deadline:
            fuzz.run_seed(seed, lambda: time.monotonic() > deadline)
            rate = fuzz.total() / (time.monotonic() - started)
            print(f"  seed {seed}: {fuzz.agreed} agree, {fuzz.failed} differ, {fuzz.joined} joined by the engine, "
                  f"{rate:.1f} a second", flush=True)
            seed += 1
        long_run = fuzz.total() >= LONG_RUN
        blocks = "blocks_cached" if options.cached else "blocks_direct"
        faults = 0 if options.stock else check_counters(server, long_enough=long_run, blocks=blocks)[1]
        for complaint in fuzz.use.complaints(differential.LEAST_CACHED) if options.cached else ():
            print(complaint)
            faults += 1
    print(f"  {fuzz.total()} queries of {fuzz.shapes} shapes; joins a query: "
          + ", ".join(f"{joins}: {times}" for joins, times in sorted(fuzz.joins.items())))
    failed = fuzz.failed + faults
    if long_run and fuzz.joined < LEAST_JOINED * fuzz.total() and not options.stock:
        print(f"the engine joined too few: at least {LEAST_JOINED:.0%} must be")
        failed += 1
    print(f"{fuzz.agreed} passed, {failed} failed")
    return 1 if failed or not fuzz.agreed else 0


if __name__ == "__main__":
    sys.exit(main())
