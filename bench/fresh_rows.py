#!/usr/bin/env python3
"""fresh_rows.py - the Star Schema Benchmark on rows that nobody has vacuumed.

All 13 queries over the same rows: vacuumed; with the last tenth of lineorder inserted anew and not vacuumed; with no block of
any table all-visible; and each of the latter two again with a commit of another session before every query. Times are the
geometric mean of the queries' medians, from the second run on, and of their first and second runs. Answers are compared
with those of the vacuumed tables. Writes fresh_rows.json. Exit status 1 if an answer differed.
Called by: make bench-fresh-rows [BENCH_ARGS=...].
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402
from report_tables import Variant, load_ssb  # noqa: E402

TABLES = ("lineorder", "customer", "supplier", "part", "dates")
FRESH_SHARE = 0.1


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--wal-log-hints", action="store_true", help="hint bits move pages' LSNs")
    parser.add_argument("--devices", default="auto", help="comma-separated settings of pg_turbine.device")
    parser.add_argument("--output", default=str(cluster.BUILD / "bench"))
    return parser.parse_args()


class Bench:
    def __init__(self, server, options):
        self.options = options
        self.plain = server.connect(settings={"pg_turbine.enabled": "off"})
        self.sessions = {device: server.connect(settings={"pg_turbine.device": device}) for device in options.devices.split(",")}
        self.expected, self.results, self.different = {}, {}, 0

    def commit(self):
        self.plain.query("INSERT INTO other VALUES (1)")

    def measure(self, name, before=None):
        for device, session in self.sessions.items():
            self.measure_device(name, device, session, before)

    def measure_device(self, name, device, session, before):
        times = {}
        for query, sql in ssb.QUERIES.items():
            times[query] = []
            for _ in range(self.options.runs):
                if before:
                    before()
                started = time.perf_counter()
                rows = session.query(sql)
                times[query].append((time.perf_counter() - started) * 1000)
                self.different += not workload.same_answer(self.expected.setdefault(query, rows), rows)
        medians = {query: statistics.median(some[1:]) for query, some in times.items()}
        mean = statistics.geometric_mean
        result = {"first": mean(some[0] for some in times.values()), "second": mean(some[1] for some in times.values()),
                  "later": mean(medians.values()), "queries": medians}
        self.results.setdefault(device, {})[name] = result
        base = self.results[device]["vacuumed"]["later"]
        log(f"  {device}, {name}: first {result['first']:.2f} ms, second {result['second']:.2f}, from then on "
            f"{result['later']:.2f}, {result['later'] / base:.2f} of vacuumed")

    def run(self):
        plain = self.plain
        plain.query("CREATE TABLE other (a int); CREATE EXTENSION pg_visibility")
        plain.query("VACUUM (ANALYZE)")
        plain.query("CHECKPOINT")
        blocks = int(plain.value("SELECT pg_relation_size('lineorder') / 8192"))
        cut = f"ctid >= '({int(blocks * (1 - FRESH_SHARE))},0)'"
        self.measure("vacuumed")
        self.measure("vacuumed")  # with all code compiled
        plain.query(f"CREATE TABLE saved AS SELECT * FROM lineorder WHERE {cut}; DELETE FROM lineorder WHERE {cut}")
        plain.query("VACUUM lineorder")
        plain.query("CHECKPOINT")
        plain.query("INSERT INTO lineorder TABLE saved")
        self.measure("a tenth fresh")
        self.measure("a tenth fresh, commits between", self.commit)
        for table in TABLES:
            plain.query(f"SELECT pg_truncate_visibility_map('{table}')")
        plain.query(f"UPDATE pg_class SET relallvisible = 0 WHERE oid = ANY ('{{{','.join(TABLES)}}}'::regclass[])")
        self.measure("nothing all-visible")
        self.measure("nothing all-visible, commits between", self.commit)


def main():
    options = parse_arguments()
    settings = {"shared_buffers": "4GB", "max_wal_size": "16GB", "wal_log_hints": "on" if options.wal_log_hints else "off"}
    with cluster.Cluster("freshrows", settings=settings) as server:
        log(f"loading ssb, scale factor {options.sf:g}")
        load_ssb(server, options.sf, Variant())
        bench = Bench(server, options)
        bench.run()
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fresh_rows.json").write_text(json.dumps({"settings": vars(options), "results": bench.results}, indent=1))
    if bench.different:
        log(f"{bench.different} answers differed")
    return 1 if bench.different else 0


if __name__ == "__main__":
    sys.exit(main())
