#!/usr/bin/env python3
"""instructions.py - instructions a statement that stays with PostgreSQL takes.

The queries and the three variants of overhead.py, counted by valgrind's callgrind
in the backend instead of timed: what the planner's hooks add shows to a hundredth
of a percent however busy the machine is. Two sessions of each variant run N and
3 N statements; their difference is divided by 2 N, so that starting a session does
not count. (The two servers sample their tables for ANALYZE each for itself: where
`absent` and `off` differ by more than the library could, estimates do.)
Needs valgrind. Exit status 1 if `on` takes more than the limit over `off`.
Called by: make bench-instructions.
"""

import argparse
import random
import re
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import overhead  # noqa: E402

SHARE = 20  # of the statements that a timed sample has; callgrind is 50 times slower


class CountedCluster(cluster.Cluster):
    """A cluster whose backends run under callgrind."""

    def start_counted(self):
        self.counts = self.directory / "counts"
        self.counts.mkdir(exist_ok=True)
        self.counts.chmod(0o777)
        program = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.counts}/%p", self.bindir / "postgres",
                   "-D", self.data]
        self.start_program(program)

    def instructions(self, pid):
        """What the backend executed; waits until it has ended."""
        report = self.counts / str(pid)
        for _ in range(600):
            found = re.search(r"^totals: (\d+)", report.read_text(encoding="ascii"), re.M) if report.exists() else None
            if found:
                return int(found.group(1))
            time.sleep(0.1)
        raise RuntimeError(f"callgrind wrote no {report}")


def counted(servers, variant, query, count):
    """Instructions of a session with `count` statements."""
    server = servers[variant == "absent"]
    source = random.Random(5)
    with overhead.connect(servers, variant) as session:
        pid = session.backend_pid
        session.query(overhead.statements(source, query, overhead.WARM_UP))
        session.query(overhead.statements(source, query, count))
    return server.instructions(pid)


def a_statement(servers, variant, query):
    few = max(4, query.count // SHARE)
    return (counted(servers, variant, query, 3 * few) - counted(servers, variant, query, few)) / (2 * few)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=overhead.LIMIT)
    parser.add_argument("--only", action="append", help="name of a query; may be repeated")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed (apt-get install valgrind)")
    settings = {"autovacuum": "off", "jit": "off"}
    beyond = False
    with CountedCluster("loaded", settings=settings) as loaded, \
            CountedCluster("stock", extension=False, settings=settings) as stock:
        for server in (loaded, stock):
            with server.connect() as session:
                session.query(overhead.TABLES)
                session.query("VACUUM (FREEZE, ANALYZE)")
            server.stop()
            server.start_counted()
        print(f"{'instructions a statement':34} {'absent':>10} {'off':>10} {'on':>10}  on/absent   on/off", flush=True)
        for query in overhead.QUERIES:
            if options.only and query.name not in options.only:
                continue
            got = {variant: a_statement((loaded, stock), variant, query) for variant in overhead.VARIANTS}
            over = got["on"] / got["off"] - 1 > options.limit
            beyond |= over
            print(f"{query.name:34} " + " ".join(f"{got[v]:10.0f}" for v in overhead.VARIANTS)
                  + "".join(f"  {(got['on'] / got[v] - 1) * 100:+6.2f} %" for v in ("absent", "off"))
                  + (f"   BEYOND {options.limit:.0%}" if over else ""), flush=True)
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
