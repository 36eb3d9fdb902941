#!/usr/bin/env python3
"""updates.py - queries of a cached table while others write to it.

A Star Schema query runs again and again: alone, beside a writer that appends so many rows a second (appended), and beside
one that updates rows by their key, in the newest twentieth of the table (local) or anywhere (spread), with an autovacuum that
is set for such a table, or without any. Every answer is compared with PostgreSQL's, since the updates leave the columns that
are read as they are, and what is appended has no key that joins. Writes updates.json.
Exit status 1 if an answer differed.
Called by: make bench-updates [BENCH_ARGS=...].
"""

import argparse
import json
import random
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from report_tables import Variant, load_ssb  # noqa: E402

ROWS_A_KEY = 4  # lines of an order, in the mean
TRANSACTIONS_A_SECOND = 10


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--query", default="q2_1")
    parser.add_argument("--rows", type=int, default=1000, help="updated a second")
    parser.add_argument("--appended-rows", type=int, default=10000, help="a second")
    parser.add_argument("--no-autovacuum", action="store_true")
    parser.add_argument("--seconds", type=float, default=60, help="for each kind of writer")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


class Writer:
    """Updates lines of random orders, at a steady rate."""

    def __init__(self, server, least, greatest, rows_a_second):
        self.session = server.connect(settings={"pg_turbine.enabled": "off"})
        self.least, self.greatest = least, greatest
        self.rows_a_second = rows_a_second
        self.rows = 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.started = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.rate = self.rows / (time.monotonic() - self.started)
        if self.rate < self.rows_a_second / 2:
            raise RuntimeError(f"the writer wrote {self.rate:.0f} rows a second, not {self.rows_a_second}")
        self.session.close()

    def _run(self):
        pick = random.Random(1)
        keys = self.rows_a_second // ROWS_A_KEY // TRANSACTIONS_A_SECOND
        turn = 0
        while not self.stop.is_set():
            chosen = ",".join(str(pick.randint(self.least, self.greatest)) for _ in range(keys))
            self.session.query(f"UPDATE lineorder SET lo_tax = lo_tax WHERE lo_orderkey = ANY ('{{{chosen}}}')")
            self.rows += keys * ROWS_A_KEY
            turn += 1
            time.sleep(max(0.0, self.started + turn / TRANSACTIONS_A_SECOND - time.monotonic()))


class Appender(Writer):
    """Inserts copies of rows that no part joins, at a steady rate."""

    def _run(self):
        turn = 0
        rows = self.rows_a_second // TRANSACTIONS_A_SECOND
        self.session.query("CREATE TEMP TABLE line AS SELECT * FROM lineorder LIMIT 1; UPDATE line SET lo_partkey = -1")
        while not self.stop.is_set():
            self.session.query(f"INSERT INTO lineorder SELECT line.* FROM line, generate_series(1, {rows})")
            self.rows += rows
            turn += 1
            time.sleep(max(0.0, self.started + turn / TRANSACTIONS_A_SECOND - time.monotonic()))


def ask(session, sql, expected, seconds):
    """Times in ms, and answers that differed."""
    times, different = [], 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        started = time.monotonic()
        rows = session.query(sql)
        times.append((time.monotonic() - started) * 1000)
        different += not workload.same_answer(expected, rows)
    return times, different


def figures(times):
    ordered = sorted(times)
    return {"queries": len(times), "median_ms": round(statistics.median(times), 1),
            "p95_ms": round(ordered[len(ordered) * 95 // 100], 1), "longest_ms": round(ordered[-1], 1)}


def measure(server, options):
    sql = ssb.QUERIES[options.query]
    results, different = {}, 0
    with server.connect(settings={"pg_turbine.device": options.device}) as session:
        session.query("SET pg_turbine.enabled = off")
        expected = session.query(sql)
        greatest = int(session.value("SELECT max(lo_orderkey) FROM lineorder"))
        session.query("RESET pg_turbine.enabled")
        ask(session, sql, expected, 3)
        for name, least in (("alone", None), ("appended", 0), ("local", greatest - greatest // 20), ("spread", 1)):
            if least is None:
                times, wrong = ask(session, sql, expected, min(10, options.seconds))
                results[name] = figures(times)
            else:
                rows = options.appended_rows if name == "appended" else options.rows
                with (Appender if name == "appended" else Writer)(server, least, greatest, rows) as writer:
                    times, wrong = ask(session, sql, expected, options.seconds)
                results[name] = {**figures(times), "rows_a_second": round(writer.rate)}
            different += wrong
            log(f"  {name}: {results[name]}")
    return results, different


def main():
    options = parse_arguments()
    settings = {"shared_buffers": "2GB", "max_wal_size": "16GB", "autovacuum_naptime": "5s",
                "autovacuum": "off" if options.no_autovacuum else "on"}
    with cluster.Cluster("updates", settings=settings) as server:
        log(f"loading ssb, scale factor {options.sf:g}")
        load_ssb(server, options.sf, Variant())
        with server.connect() as session:
            session.query("CREATE INDEX ON lineorder (lo_orderkey)")
            session.query("ALTER TABLE lineorder SET (autovacuum_vacuum_scale_factor = 0,"
                          " autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,"
                          " autovacuum_vacuum_insert_scale_factor = 0)")
            session.query("CHECKPOINT")
        results, different = measure(server, options)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "updates.json").write_text(json.dumps({"settings": vars(options), "results": results}, indent=1))
    print(json.dumps(results, indent=1))
    if different:
        log(f"{different} answers differed")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
