#!/usr/bin/env python3
"""join_faults.py - joins cancelled, killed and starved of memory in each of their phases.

Owns: the promise that a join ends when nobody wants it, in the middle of a build,
of a probe, of one row's matches; that a table beyond the memory budget costs the
query its acceleration, not its answer, and turbined no more memory than it may
have; that many joins at once share that memory, and each gets its turn.
Must never: take a query that was over, or never ran in turbined, for a case.
Called by: test/run_all.py. Options: --rounds, --seed, --only, --device.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import answers  # noqa: E402
import cluster  # noqa: E402
import ssb  # noqa: E402
import workload  # noqa: E402
from faults import CANCEL_MAX_SECONDS, CANCEL_P99_SECONDS, wait_until  # noqa: E402
from pg_client import ConnectionLost  # noqa: E402
from report_tables import load_ssb  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402

MEGABYTE = 1 << 20
DIRECT = {**FORCED, "pg_turbine.direct_threshold": "0"}
# Half of the ends must come within this, all within CANCEL_MAX_SECONDS: a machine
# with something else to do may stop anybody for a while.
STOPPED_SECONDS = CANCEL_P99_SECONDS

TABLES = """
    CREATE TABLE big AS SELECT i AS id, i % 1000 AS k, (i * 7919::bigint % 1000003)::int AS v, i % 9 AS few
        FROM generate_series(1, 600000) i;
    CREATE TABLE small AS SELECT i AS id, i % 50 AS k, i % 977 AS v FROM generate_series(1, 5000) i;
"""
# Each is in the phase that it is named for most of its time, and takes far longer
# than any cancel of it is let to.
PHASES = {
    # An inner side that the backend sends, and one that the service reads itself.
    "build of rows": "SELECT count(*), sum(b.v), max(r.pad) FROM big b JOIN (SELECT g % 600000 AS id,"
                     " repeat('x', 20) AS pad FROM generate_series(1, 20000000) g OFFSET 0) r ON r.id = b.id",
    "build of a table": "SELECT count(*), sum(a.v) FROM small s JOIN (SELECT a.id, b.v FROM big a JOIN big b"
                        " ON b.k = a.k OFFSET 0) a ON a.id = s.id",
    # One row of big has as many matches as the inner side has rows.
    "no keys": "SELECT count(*) FROM big a JOIN big b ON a.v + b.v < 0",
    "no keys, rows": "SELECT a.id, b.id FROM big a JOIN big b ON a.v + b.v < 0",
    "many to many": "SELECT count(*), sum(a.v) FROM big a JOIN big b ON b.few = a.few",
    "many to many, residual": "SELECT count(*) FROM big a JOIN big b ON b.few = a.few AND a.v + b.v < 0",
    "many to many, left": "SELECT a.few, count(b.v) FROM big a LEFT JOIN big b ON b.few = a.few AND a.v + b.v < 0"
                          " GROUP BY a.few",
    "semi": "SELECT count(*) FROM big a WHERE EXISTS (SELECT 1 FROM big b WHERE b.few = a.few AND a.v + b.v < 0)",
    "anti": "SELECT a.id FROM big a WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.few = a.few AND a.v + b.v < 0)",
    "full, matches": "SELECT count(*), count(a.v), sum(b.v) FROM big a FULL JOIN big b ON b.few = a.few AND a.v + b.v < 0",
    # Nothing of big matches; what is left of it finds many times as much in the next table.
    "full, left over": "SELECT count(*) FROM (big a FULL JOIN big b ON b.id = a.id - 9000000)"
                       " JOIN big c ON c.few = coalesce(b.few, -1) AND coalesce(b.v, 0) + c.v < 0",
    "three tables": "SELECT count(*) FROM big a JOIN small s ON s.k = a.k % 50 JOIN big b ON b.few = a.few"
                    " WHERE a.v + b.v < s.v - 5000",
}
# These end by themselves.
KILLED = {
    "build": "SELECT count(*), sum(b.v), max(r.pad) FROM big b JOIN (SELECT g AS id, repeat('x', g % 30) AS pad"
             " FROM generate_series(1, 700000) g OFFSET 0) r ON r.id = b.id",
    "two builds": "SELECT b.few, count(*), sum(c.v) FROM big b JOIN big c ON c.id = b.id JOIN (SELECT g AS id"
                  " FROM generate_series(1, 300000) g OFFSET 0) r ON r.id = b.v GROUP BY b.few",
    "rows": "SELECT b.id, c.v FROM big b JOIN big c ON c.id = b.v WHERE b.few < 4",
    "full": "SELECT count(*), count(b.id), count(c.id), sum(b.v + c.v) FROM big b FULL JOIN big c ON c.id = b.v AND c.few > 2",
    "full, rows": "SELECT b.id, c.id, c.v FROM (SELECT * FROM big WHERE few < 3) b FULL JOIN (SELECT * FROM big WHERE few > 5) c"
                  " ON c.v = b.id",
    "anti": "SELECT b.id FROM big b WHERE b.k < 300 AND NOT EXISTS (SELECT 1 FROM big c WHERE c.id = b.v AND c.few > 2)",
}


class Bench:
    """A cluster and the tally. The device is the host unless told otherwise: a
    kernel that was started cannot be stopped."""

    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.server = self.admin = None
        self.passed = self.failed = 0

    def use(self, server):
        self.server, self.admin = server, server.connect(settings=OFF)

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"  {name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def session(self, **settings):
        return self.server.connect(settings={**DIRECT, "pg_turbine.device": self.options.device, **settings})

    def held(self):
        """(bytes, queries) of all devices and the host's budget, as turbined has it now."""
        rows = self.admin.query("SELECT sum(memory_used), sum(queries_running),"
                                " sum(memory_budget) FILTER (WHERE kind = 'host') FROM turbine.devices")
        return tuple(int(value or 0) for value in rows[0])

    def running(self):
        return self.held()[1] > 0

    def empty(self):
        return self.held()[:2] == (0, 0)

    def counters(self, session=None):
        rows = (session or self.admin).query("SELECT counter, value FROM turbine.stat_queries")
        return {name: int(value) for name, value in rows}

    def expect_join(self, name, session, sql):
        plan = session.value(f"EXPLAIN (FORMAT JSON) {sql}")
        self.check(f"{name}, plan", None if "GpuJoin" in plan else "the join stayed with PostgreSQL")


def high_water(pid):
    """The most memory that the process ever had resident, in bytes."""
    for line in (Path("/proc") / str(pid) / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise RuntimeError("no VmHWM")


def judge_delays(bench, name, delays):
    if not delays:
        bench.check(name, "no query was caught running")
        return
    delays.sort()
    middle, longest = delays[len(delays) // 2], delays[-1]
    print(f"  {name}: {len(delays)} times, median {middle * 1000:.0f} ms, longest {longest * 1000:.0f} ms", flush=True)
    bench.check(f"{name}, median", f"{middle:.3f} s" if middle > STOPPED_SECONDS else None)
    bench.check(f"{name}, longest", f"{longest:.3f} s" if longest > CANCEL_MAX_SECONDS else None)


def end_in_phases(bench):
    """Cancel, statement_timeout and a closed session: the client is told at once,
    and turbined stops and holds nothing."""
    told, stopped = [], []
    for name, sql in PHASES.items():
        with bench.session() as session:
            bench.expect_join(name, session, sql)
        ways = ["cancel", "timeout", "close"] * max(1, bench.options.rounds // 3)
        for way in ways:
            one = end_once(bench, f"{name}, {way}", sql, way)
            if one:
                told.append(one[0])
                stopped.append(one[1])
    judge_delays(bench, "client told", told)
    judge_delays(bench, "turbined stopped", stopped)


def end_once(bench, name, sql, way):
    """(seconds until the client knew, seconds until turbined held nothing), or None."""
    session = bench.session()
    milliseconds = bench.random.randint(400, 1000) if way == "timeout" else 60000
    session.query(f"SET statement_timeout = {milliseconds}")
    ends = time.monotonic() + milliseconds / 1000
    session.send(sql)
    if wait_until(bench.running, 10) is None:
        bench.check(name, "did not run in turbined")
        session.cancel()
        session.finish()
        session.close()
        return None
    time.sleep(max(0, ends - time.monotonic() - 0.1) if way == "timeout" else bench.random.uniform(0.05, 0.6))
    # Between two programs of a join there is a moment when none runs.
    running = wait_until(lambda: not bench.empty(), 0.05 if way == "timeout" else 0.5) is not None
    if way == "cancel":
        ends = time.monotonic()
        session.cancel()
    if way == "close":
        with bench.server.connect() as other:
            ends = time.monotonic()
            other.query(f"SELECT pg_terminate_backend({session.backend_pid})")
    try:
        outcome = session.finish()
        code = outcome.sqlstate
    except ConnectionLost:
        code = "57P01"
    client = time.monotonic() - ends
    service = wait_until(bench.empty, 10)
    bench.check(name, None if code == ("57P01" if way == "close" else "57014") else f"ended with {code}")
    bench.check(f"{name}, caught", None if running else "it no longer ran in turbined")
    bench.check(f"{name}, released", None if service is not None else f"turbined holds {bench.held()} after 10 s")
    session.close()
    return (client, time.monotonic() - ends) if service is not None else None


def kill_in_phases(bench):
    """kill -9 of turbined and of its compiler, in the middle of joins: equal rows."""
    expected = {}
    with bench.server.connect(settings=OFF) as plain, bench.session() as session:
        for name, sql in KILLED.items():
            expected[name] = plain.run(sql)
            bench.expect_join(name, session, sql)
            bench.check(f"{name}, unharmed", answers.difference(expected[name], session.run(sql)))
    caught = 0
    for _ in range(bench.options.rounds):
        for name, sql in KILLED.items():
            with bench.session() as session:
                session.send(sql)
                # Not so where its compiler has been killed just now.
                caught += wait_until(bench.running, 2) is not None
                time.sleep(bench.random.uniform(0, 0.4))
                victim = bench.server.service_pid()
                compilers = [pid for pid, program in bench.server.descendants().items()
                             if program.startswith("turbine-compile")]
                victims = compilers if bench.random.random() < 0.3 else [victim] if victim else []
                cluster.signal_running(victims, signal.SIGKILL)
                outcome = session.finish()
                bench.check(f"kill, {name}", answers.difference(expected[name], outcome))
            bench.server.wait_for_service()
    kills = bench.options.rounds * len(KILLED)
    bench.check("kills, caught", None if caught > kills // 2 else f"only {caught} of {kills} ran in turbined")


def kill_backend_in_build(bench):
    """PostgreSQL restarts all its sessions then, and turbined with them."""
    sql = KILLED["build"]
    with bench.server.connect(settings=OFF) as plain:
        expected = plain.run(sql)
    session = bench.session()
    session.send(sql)
    bench.check("kill backend, caught", None if wait_until(bench.running, 10) is not None else "did not run in turbined")
    os.kill(session.backend_pid, signal.SIGKILL)
    try:
        session.finish()
    except ConnectionLost:
        pass
    bench.server._wait_until_up()
    bench.server.wait_for_service()
    bench.use(bench.server)
    bench.check("kill backend, released", None if bench.empty() else f"turbined holds {bench.held()}")
    with bench.session() as again:
        bench.check("kill backend, next join", answers.difference(expected, again.run(sql)))
    services = [pid for pid, name in bench.server.descendants().items() if name == "turbined"]
    bench.check("kill backend, one service", None if len(services) == 1 else f"{len(services)} turbined processes")


def phases(bench):
    with cluster.Cluster("join-faults", settings={"pg_turbine.host_threads": "2"}) as server:
        bench.use(server)
        for statement in TABLES.split(";\n"):
            if statement.strip():
                bench.admin.query(statement)
        bench.admin.query("VACUUM (ANALYZE)")
        bench.admin.query("CHECKPOINT")
        end_in_phases(bench)
        kill_in_phases(bench)
        kill_backend_in_build(bench)


BUDGET = 32 * MEGABYTE
# Columns kept between queries have a budget of their own.
CACHE = 8 * MEGABYTE
# What turbined may take beside its budget and what it had after one small join (a
# GPU's driver alone takes a hundred MB): threads' buffers and stacks, programs, and
# what malloc keeps.
MARGIN = 16 * MEGABYTE
PAD_ROWS, PAD_BYTES = 650000, 512
WIDE = f"repeat(md5(g::text), {PAD_BYTES // 32})"
# The inner side of each needs some ten times the budget.
BEYOND = {
    "rows of a function": f"SELECT count(*), count(r.pad), min(r.pad) FROM ids i LEFT JOIN (SELECT g AS id, {WIDE} AS pad"
                          f" FROM generate_series(1, {PAD_ROWS}) g OFFSET 0) r ON r.id = i.id AND r.pad > i.t",
    "rows, to group by": f"SELECT i.few, count(*), max(r.pad) FROM ids i JOIN (SELECT g AS id, {WIDE} AS pad"
                           f" FROM generate_series(1, {PAD_ROWS}) g OFFSET 0) r ON r.id = i.id GROUP BY i.few",
    "a table": "SELECT i.few, count(*), min(w.pad), max(w.pad) FROM wide w JOIN wide v ON v.id = w.id"
               " JOIN ids i ON i.id = w.id WHERE v.pad >= w.pad GROUP BY i.few",
    "a table, rows returned": "SELECT w.pad, v.pad FROM wide w JOIN wide v ON v.id = w.id WHERE (w.id + v.id) % 1000 = 14",
    "full": "SELECT count(*), count(w.id), max(v.pad), sum(v.id) FROM wide w FULL JOIN wide v ON v.id = w.id + 300000",
    "semi": "SELECT count(*), sum(w.id) FROM wide w WHERE EXISTS (SELECT 1 FROM wide v WHERE v.pad = w.pad AND v.id >= w.id)",
    "anti": "SELECT count(*) FROM wide w WHERE NOT EXISTS (SELECT 1 FROM wide v WHERE v.pad = w.pad AND v.id > w.id)",
}
WITHIN = "SELECT i.few, count(*), sum(j.id) FROM ids i JOIN ids j ON j.id = i.id GROUP BY i.few"


def beyond_budget(bench):
    """Hash tables of ten times the budget: PostgreSQL's rows, no more memory than allowed."""
    settings = {"pg_turbine.memory_budget": f"{BUDGET // MEGABYTE}MB", "pg_turbine.host_threads": "2", "work_mem": "64MB",
                "pg_turbine.cache_size_host": f"{CACHE // MEGABYTE}MB"}
    with cluster.Cluster("join-budget", settings=settings) as server:
        bench.use(server)
        bench.admin.query("CREATE TABLE ids AS SELECT i AS id, i % 5 AS few, md5(i::text) AS t FROM generate_series(1, 40000) i")
        bench.admin.query(f"CREATE TABLE wide AS SELECT g AS id, {WIDE} AS pad FROM generate_series(1, {PAD_ROWS}) g")
        bench.admin.query("VACUUM (ANALYZE)")
        bench.admin.query("CHECKPOINT")
        with server.connect(settings=OFF) as plain:
            expected = {name: plain.run(sql) for name, sql in BEYOND.items()}
            within = plain.run(WITHIN)
        with bench.session() as session:
            # The larger side would be filtered first, and built.
            session.query("SET pg_turbine.debug_join_shape = chain")
            bench.check("within the budget", answers.difference(within, session.run(WITHIN)))
            service, start = server.service_pid(), high_water(server.service_pid())
            for name, sql in BEYOND.items():
                bench.expect_join(name, session, sql)
                before, started = bench.counters(), time.monotonic()
                outcome = session.run(sql)
                after = bench.counters()
                reasons = {key: after[key] - before[key] for key in after
                           if key.startswith("fallback") and after[key] != before[key]}
                print(f"  {name}: {time.monotonic() - started:.1f} s, {reasons or 'on the device'}", flush=True)
                bench.check(f"{name}, answer", answers.difference(expected[name], outcome))
                bench.check(f"{name}, reason", None if set(reasons) <= {"fallback_host_memory", "fallback_device_memory"}
                            and reasons else f"{reasons}")
                bench.check(f"{name}, released", None if wait_until(bench.empty, 2) is not None else f"{bench.held()}")
                bench.check(f"{name}, afterwards", answers.difference(within, session.run(WITHIN)))
        used = high_water(service)
        print(f"  turbined had {start / MEGABYTE:.0f} MB before, {used / MEGABYTE:.0f} MB at most, "
              f"the budgets are {BUDGET // MEGABYTE} and {CACHE // MEGABYTE} MB", flush=True)
        allowed = BUDGET + CACHE + MARGIN
        bench.check("most memory", None if used - start <= allowed else
                    f"{(used - start) / MEGABYTE:.0f} MB more, beyond budgets and margin, {allowed // MEGABYTE} MB")
        bench.check("one service", None if server.service_pid() == service else "turbined was restarted")
        bench.check("afterwards on the device", None if bench.counters()["queries"] > len(BEYOND) else "nothing ran")


AT_ONCE, TURNS = 20, 5
SCALE_FACTOR = 0.05
SHARED_BUDGET = 64
# A turn may take so many times its fair share of the whole run, beside the time
# after which who waits for memory leaves the query to PostgreSQL.
UNFAIR, ADMISSION_SECONDS = 2.5, 1.0


def many_at_once(bench):
    """20 sessions with SSB's Q4.1: right rows, memory within the budget, everybody's turn comes."""
    sql = ssb.QUERIES["q4_1"]
    settings = {"pg_turbine.memory_budget": f"{SHARED_BUDGET}MB", "pg_turbine.host_threads": "2",
                "pg_turbine.admission_wait": f"{ADMISSION_SECONDS * 1000:.0f}ms"}
    with cluster.Cluster("join-crowd", settings=settings) as server:
        bench.use(server)
        load_ssb(server, SCALE_FACTOR)
        bench.admin.query("CHECKPOINT")
        with server.connect(settings=OFF) as plain:
            expected = plain.run(sql)
        with bench.session() as session:
            bench.expect_join("Q4.1", session, sql)
            bench.check("Q4.1 alone", answers.difference(expected, session.run(sql)))
            alone, _ = workload.timed(session, sql)
        before, seconds, complaints = bench.counters(), [], []
        start_line = threading.Barrier(AT_ONCE + 1)

        def work():
            with bench.session() as mine:
                start_line.wait()
                for _ in range(TURNS):
                    began = time.monotonic()
                    complaints.append(answers.difference(expected, mine.run(sql), ordered=True))
                    seconds.append(time.monotonic() - began)

        threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        start_line.wait()
        began, most, samples, running = time.monotonic(), 0, 0, 0
        while any(thread.is_alive() for thread in threads):
            used, queries, budget = bench.held()
            most, samples, running = max(most, used), samples + 1, max(running, queries)
            time.sleep(0.005)
        total = time.monotonic() - began
        for complaint in complaints:
            bench.check("Q4.1 in a crowd", complaint)
        after = bench.counters()
        fallbacks = {key: after[key] - before[key] for key in after
                     if key.startswith("fallback") and after[key] != before[key]}
        print(f"  alone {alone:.0f} ms; {len(seconds)} in {total:.1f} s, longest {max(seconds):.2f} s, at most {running} at once, "
              f"{most / MEGABYTE:.1f} of {SHARED_BUDGET} MB in {samples} samples, fallbacks {fallbacks}", flush=True)
        bench.check("budget", None if most <= budget == SHARED_BUDGET * MEGABYTE else f"{most} bytes of {budget}")
        bench.check("all came back", None if len(seconds) == AT_ONCE * TURNS else f"{len(seconds)} turns")
        bench.check("side by side", None if running > 1 else "never two queries at once")
        bench.check("memory seen", None if most > 0 and samples > 10 else "nothing was seen")
        bench.check("only for want of memory", None if set(fallbacks) <= {"fallback_admission", "fallback_host_memory"}
                    else f"{fallbacks}")
        bench.check("most on the device", None if sum(fallbacks.values()) <= len(seconds) // 2 else f"{fallbacks}")
        fair = UNFAIR * total / TURNS + ADMISSION_SECONDS
        bench.check("nobody starves", None if max(seconds) <= fair else f"a turn took {max(seconds):.1f} s")
        bench.check("released", None if wait_until(bench.empty, 2) is not None else f"{bench.held()}")


CHECKS = (phases, beyond_budget, many_at_once)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="comma-separated check names")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    bench = Bench(options)
    for check in CHECKS:
        if options.only and check.__name__ not in options.only.split(","):
            continue
        started, before = time.monotonic(), bench.failed
        check(bench)
        print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, "
              f"{time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
