#!/usr/bin/env python3
"""faults.py - the service killed, stopped and starved, backends killed, queries cancelled.

Owns: the promise that a failure stays in its own query: equal answers whatever
happens to turbined, the postmaster untouched, the service back within 5 s,
nothing leaked, cancel within 200 ms.
Each check prints one line a round that failed and one in sum.
Must never: end a process that its own cluster did not start.
Called by: make test-faults, test/run_all.py, feeders.py. Options: --rounds, --seed,
--only, --feeders.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
import workload  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from run_sql import FEEDING, FORCED, OFF  # noqa: E402

SERVICE_BACK_SECONDS = 5.0
CANCEL_P99_SECONDS = 0.2
CANCEL_MAX_SECONDS = 1.0
IDLE_SLOT_BYTES = 512 << 20  # of engine.h
RELEASE_SECONDS = 1.0
SESSIONS = 50
CAUGHT_AT_LEAST = 120  # queries caught running: of fewer than a hundred, the 99th percentile is the longest
MANY_SESSIONS = 100
LATE_SECONDS = 5.0
STOPPED_COMPILER_SECONDS = 4.0
SCALE_FACTOR = 0.4

QUERIES = (
    "SELECT lo_custkey % 100, count(*), sum(lo_revenue), max(lo_extendedprice) FROM lineorder GROUP BY lo_custkey % 100",
    "SELECT sum(lo_extendedprice * lo_discount) FROM lineorder WHERE lo_quantity < 40 AND lo_discount > 0",
    "SELECT lo_orderkey, lo_linenumber FROM lineorder WHERE lo_quantity = 7 AND lo_discount = 3 AND lo_tax = 1",
    "SELECT count(*) FROM lineorder WHERE lo_shipmode = 'TRUCK' AND lo_orderpriority LIKE '%HIGH%'",
    "SELECT lo_custkey, count(*) FROM lineorder GROUP BY lo_custkey",
    "SELECT lo_orderkey, lo_linenumber FROM lineorder ORDER BY lo_revenue DESC, lo_orderkey, lo_linenumber LIMIT 100",
    "SELECT l.lo_custkey % 100, count(*), sum(r.lo_revenue) FROM lineorder l JOIN lineorder r"
    " ON r.lo_orderkey = l.lo_orderkey AND r.lo_linenumber = 1 GROUP BY 1",
    "SELECT l.lo_orderkey, r.lo_tax FROM lineorder l LEFT JOIN lineorder r ON r.lo_orderkey = l.lo_orderkey"
    " AND r.lo_linenumber = 2 AND r.lo_quantity < l.lo_quantity WHERE l.lo_quantity = 7 AND l.lo_discount = 3",
    # Semi and anti joins.
    "SELECT l.lo_orderkey, l.lo_linenumber FROM lineorder l WHERE l.lo_discount = 3 AND l.lo_tax = 2 AND EXISTS"
    " (SELECT 1 FROM lineorder r WHERE r.lo_orderkey = l.lo_orderkey AND r.lo_quantity < l.lo_quantity)",
    "SELECT count(*), sum(l.lo_revenue) FROM lineorder l WHERE NOT EXISTS"
    " (SELECT 1 FROM lineorder r WHERE r.lo_orderkey = l.lo_orderkey AND r.lo_linenumber = l.lo_linenumber + 1)",
    # Inner sides that are rows of other plans.
    "SELECT count(*), sum(l.lo_revenue - m.low) FROM lineorder l JOIN (SELECT lo_custkey, min(lo_revenue) AS low"
    " FROM lineorder WHERE lo_tax = 4 GROUP BY lo_custkey OFFSET 0) m ON m.lo_custkey = l.lo_custkey",
    "SELECT l.lo_orderkey, m.n FROM lineorder l JOIN (SELECT g AS n FROM generate_series(1, 30000) g OFFSET 0) m"
    " ON m.n = l.lo_custkey WHERE l.lo_quantity = 7 AND l.lo_discount = 3",
    "SELECT lo_discount, count(*), sum(lo_revenue) FROM parted GROUP BY lo_discount",
    "SELECT a.lo_tax, count(*), sum(b.lo_revenue) FROM parted a JOIN parted b ON a.lo_orderkey = b.lo_orderkey"
    " WHERE a.lo_linenumber = 1 GROUP BY a.lo_tax",
)

# A part of lineorder, partitioned; one partition has its columns in another order.
PARTED = ("CREATE TABLE parted (lo_orderkey int, lo_linenumber int, lo_discount int, lo_tax int, lo_revenue bigint)"
          " PARTITION BY HASH (lo_orderkey)",
          "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 0)",
          "CREATE TABLE parted_1 (lo_revenue bigint, gone int, lo_tax int, lo_discount int, lo_linenumber int, lo_orderkey int)",
          "ALTER TABLE parted_1 DROP COLUMN gone",
          "ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES WITH (MODULUS 3, REMAINDER 1)",
          "CREATE TABLE parted_2 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 2)",
          "INSERT INTO parted SELECT lo_orderkey, lo_linenumber, lo_discount, lo_tax, lo_revenue FROM lineorder"
          " WHERE lo_orderkey % 8 = 1",
          "VACUUM (ANALYZE) parted")


class Bench:
    """The cluster, the answers to expect, and the tally of one run."""

    def __init__(self, server, options):
        self.server, self.rounds, self.feeders = server, options.rounds, options.feeders
        self.random = random.Random(options.seed)
        self.forced = {**(FEEDING if options.feeders else FORCED), "pg_turbine.device": options.device, "pg_turbine.direct_threshold": "0"}
        self.passed = self.failed = 0
        with server.connect(settings=OFF) as session:
            self.expected = {query: session.run(query) for query in QUERIES}
            self.started_at = session.value("SELECT pg_postmaster_start_time()")
        with server.connect(settings=self.forced) as session:
            self.seconds = {}
            for query in QUERIES:
                session.run(query)
                self.seconds[query] = workload.timed(session, query)[0] / 1000
        self.witness = server.connect(settings=OFF)  # dies if the postmaster restarts its sessions

    def check(self, name, complaint):
        """Counts one result; `complaint` is None or says what was wrong."""
        if complaint:
            self.failed += 1
            print(f"  {name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def pick(self):
        return self.random.choice(QUERIES)

    def moment(self, query):
        """A random point of the query's duration, a little beyond included."""
        return self.random.random() * self.seconds[query] * 1.2

    def wrong_answer(self, query, outcome):
        return answers.difference(self.expected[query], outcome)

    def session(self):
        return self.server.connect(settings=self.forced)

    def instance_restarted(self):
        """A complaint if the postmaster restarted its sessions."""
        try:
            if self.witness.value("SELECT pg_postmaster_start_time()") != self.started_at:
                return "the postmaster started anew"
        except ConnectionLost:
            return "the postmaster ended an innocent session"
        return None if self.server.process.poll() is None else "the postmaster is gone"


def wait_until(condition, seconds):
    """Seconds until the condition held, or None."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        if condition():
            return time.monotonic() - started
        time.sleep(0.01)
    return None


def held_by(pid):
    """What the service holds: mapped slot memory, and descriptors besides its own."""
    folder = Path("/proc") / str(pid)
    maps = [line.split() for line in (folder / "maps").read_text().splitlines()]
    slots = {part[4]: part[0] for part in maps if len(part) > 5 and part[5] == "/memfd:turbine-slots"}
    bounds = [[int(address, 16) for address in area.split("-")] for area in slots.values()]
    return {"descriptors": len(list((folder / "fd").iterdir())) - len(slots),
            "slot memory bytes": sum(end - start for start, end in bounds),
            "slot memories of a size": max(Counter(end - start for start, end in bounds).values(), default=0)}


def settled(bench, seconds=2.0):
    """What the service holds once it no longer falls, with no query open."""
    pid, last, since = bench.server.service_pid(), None, time.monotonic()
    while time.monotonic() - since < seconds:
        now = held_by(pid)
        if last is not None and any(now[key] < last[key] for key in now):
            since = time.monotonic()
        last = now
        time.sleep(0.1)
    return last


def kill_service(bench):
    """kill -9 of turbined at a random point: equal answer, service back, instance up."""
    for _ in range(bench.rounds):
        query = bench.pick()
        with bench.session() as session:
            session.send(query)
            time.sleep(bench.moment(query))
            victim = bench.server.service_pid()
            if victim:
                os.kill(victim, signal.SIGKILL)
            outcome = session.finish()
            bench.check("kill service, answer", bench.wrong_answer(query, outcome))
            # The session itself must find its way back to the new service.
            back = wait_until(lambda: bench.server.service_pid() not in (None, victim), SERVICE_BACK_SECONDS)
            bench.check("kill service, back", None if back is not None else "no new turbined within 5 s")
            bench.server.wait_for_service()
            bench.check("kill service, next query", bench.wrong_answer(query, session.run(query)))
        bench.check("kill service, instance", bench.instance_restarted())


def kill_service_under_cursor(bench):
    """A cursor that has returned rows goes on when the service dies."""
    query = QUERIES[2]
    for _ in range(max(2, bench.rounds // 5)):
        with bench.session() as session:
            session.query(f"BEGIN; DECLARE c CURSOR FOR {query}")
            first = session.run("FETCH 10 FROM c")
            os.kill(bench.server.service_pid(), signal.SIGKILL)
            rest = session.run("FETCH ALL FROM c")
            rows = sorted((first.rows + rest.rows) if not rest.error else [])
            bench.check("cursor over a dead service",
                        None if rows == sorted(bench.expected[query].rows)
                        else f"{len(rows)} rows, {answers.describe_error(rest)}")
            session.query("COMMIT")
        bench.server.wait_for_service()


def below_service(bench, program):
    """The service's descendants of that name: not those of one that is ending."""
    names, service = bench.server.descendants(), bench.server.service_pid()
    return [pid for pid, name in names.items() if name.startswith(program) and descends_from(pid, service)]


def descends_from(pid, ancestor):
    while pid > 1 and pid != ancestor:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        pid = int(stat[stat.rindex(")") + 2:].split()[1])
    return pid == ancestor


def compilers(bench, session):
    """The compiler's processes, after queries of shapes that nothing has code for."""
    for shape in range(1, 20):
        plan = session.query("EXPLAIN (ANALYZE) SELECT min(lo_quantity) FROM lineorder WHERE lo_tax < 5"
                             + " AND lo_discount < 7" * shape)
        found = below_service(bench, "turbine-compile")
        if found:
            return found
        print("  no compiler yet: " + "; ".join(row[0].strip() for row in plan), flush=True)
        time.sleep(0.2)
    return []


def kill_compiler(bench):
    """The compiler process dies: answers stay equal and compilation comes back."""
    for number in range(max(2, bench.rounds // 5)):
        with bench.session() as session:
            victims = compilers(bench, session)
            bench.check("compiler runs", None if victims else "no turbine-compiler process")
            cluster.signal_running(victims, signal.SIGKILL)
            # A shape that was never compiled; every other one a join.
            join = "JOIN lineorder r USING (lo_orderkey, lo_linenumber)" if number % 2 else ""
            query = f"SELECT count(*), sum(l.lo_tax + {number}) FROM lineorder l {join} WHERE " + " AND ".join(
                f"l.lo_tax + {i} > {i - 1}" for i in range(number + 2))
            with bench.server.connect(settings=OFF) as plain:
                expected = plain.run(query)
            bench.check("kill compiler, answer", answers.difference(expected, session.run(query)))
        bench.check("kill compiler, instance", bench.instance_restarted())
        bench.server.wait_for_service()


def stop_compiler(bench):
    """The compiler process hangs: a new query is answered soon, and the next one runs code of another compiler."""
    for number in range(2):
        query = (f"SELECT count(*), max(lo_tax + {number}) FROM lineorder WHERE lo_tax + 1 > 0"
                 + f" AND lo_tax < 99 - {number}" * (number + 1))
        with bench.server.connect(settings=OFF) as plain:
            expected = plain.run(query)
            usual = workload.timed(plain, query)[0] / 1000
        with bench.session() as session:
            victims = compilers(bench, session)
            bench.check("compiler runs", None if victims else "no turbine-compiler process")
            cluster.signal_running(victims, signal.SIGSTOP)
            started = time.monotonic()
            outcome = session.run(query)
            seconds = time.monotonic() - started - usual
            bench.check("stopped compiler, answer", answers.difference(expected, outcome))
            bench.check("stopped compiler, wait", None if seconds < STOPPED_COMPILER_SECONDS else f"{seconds:.1f} s")
            gone = wait_until(lambda: not set(victims) & bench.server.descendants().keys(), RELEASE_SECONDS)
            bench.check("stopped compiler, given up", f"{victims} still there" if gone is None else None)
            # Code of the first query, where another compilation (code made better in the background) had
            # given the stopped compiler up before it: that query then asked the next compiler itself.
            plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE) {query}"))
            compiled = "JIT: compiled" in plan or "JIT: cached in memory" in plan
            bench.check("another compiler", None if compiled and "Fallback" not in plan else plan)
        bench.check("stopped compiler, instance", bench.instance_restarted())


def allow_descriptors(pid, most):
    """Of a process of the server's user."""
    cluster.run_as_server(["prlimit", "--pid", str(pid), f"--nofile={most}:"])


def load_programs(bench, table, count):
    """Runs queries of so many shapes, whose programs stay loaded."""
    columns = ("lo_tax", "lo_discount", "lo_quantity", "lo_revenue", "lo_custkey", "lo_orderkey", "lo_linenumber")
    with bench.session() as session:
        for shape in range(1, count + 1):
            chosen = [column for i, column in enumerate(columns) if shape >> i & 1]
            session.query(f"SELECT count(*) FROM {table} WHERE " + " AND ".join(f"{column} > 3" for column in chosen))


def few_descriptors(bench):
    """A service that may open few files, and many sessions: right answers, none of them late. The
    table is small, so that no query waits for a processor for long."""
    pid = bench.server.service_pid()
    usual = next(line.split()[3] for line in Path(f"/proc/{pid}/limits").read_text().splitlines()
                 if line.startswith("Max open files"))
    queries = [query.replace("lineorder", "few") for query in QUERIES[:6]]
    with bench.server.connect(settings=OFF) as plain:
        plain.query("CREATE TABLE few AS SELECT * FROM lineorder LIMIT 5000")
        plain.query("VACUUM (ANALYZE) few")
        expected = {query: plain.run(query) for query in queries}
    load_programs(bench, "few", 127)
    lock, slowest = threading.Lock(), 0.0

    def work(seed):
        nonlocal slowest
        source = random.Random(seed)
        with bench.session() as session:
            barrier.wait()
            for _ in range(10):
                query, started = source.choice(queries), time.monotonic()
                complaint = answers.difference(expected[query], session.run(query))
                with lock:
                    slowest = max(slowest, time.monotonic() - started)
                    bench.check("few descriptors", complaint)

    for descriptors in (128, 64):
        slowest = 0.0
        barrier = threading.Barrier(MANY_SESSIONS)
        allow_descriptors(pid, descriptors)
        try:
            threads = [threading.Thread(target=work, args=(bench.random.random(),)) for _ in range(MANY_SESSIONS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            allow_descriptors(pid, usual)
        print(f"    {descriptors} descriptors: the longest query took {slowest:.1f} s", flush=True)
        bench.check(f"{descriptors} descriptors, service", None if bench.server.service_pid() == pid else "is another")
        bench.check(f"{descriptors} descriptors, time", None if slowest < LATE_SECONDS else f"{slowest:.1f} s")
        bench.check(f"{descriptors} descriptors, instance", bench.instance_restarted())
    with bench.session() as session:
        for query in queries:
            plan = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE) {query}"))
            bench.check("enough descriptors again", plan if "Custom Scan" not in plan or "Fallback" in plan else None)


def stop_service(bench):
    """A service that hangs: queries can still be cancelled and time out."""
    for _ in range(max(2, bench.rounds // 5)):
        query = bench.pick()
        pid = bench.server.service_pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            with bench.session() as session:
                session.query("SET statement_timeout = '700ms'")
                started = time.monotonic()
                outcome = session.run(query)
                late = time.monotonic() - started - 0.7
                bench.check("hung service", None if outcome.sqlstate == "57014" or not bench.wrong_answer(query, outcome)
                            else answers.describe_error(outcome))
                bench.check("hung service, timeout", f"{late:.2f} s late" if late > CANCEL_MAX_SECONDS else None)
        finally:
            os.kill(pid, signal.SIGCONT)
        bench.server.wait_for_service()


def terminate_backends(bench):
    """Terminated backends leave nothing in the service and hurt nobody."""
    before = settled(bench)
    for _ in range(bench.rounds * 2):
        query = bench.pick()
        session = bench.session()
        session.send(query)
        time.sleep(bench.moment(query))
        with bench.server.connect() as admin:
            admin.query(f"SELECT pg_terminate_backend({session.backend_pid})")
        try:
            outcome = session.finish()
            complaint = None if outcome.sqlstate == "57P01" else bench.wrong_answer(query, outcome)
        except ConnectionLost as lost:
            # PostgreSQL says it to the log only where the client was not reading its rows.
            said = f"[{session.backend_pid}] FATAL:  terminating connection due to administrator command"
            complaint = None if said in bench.server.logfile.read_text(errors="replace") else str(lost)
        bench.check("terminate", complaint)
    bench.check("terminate, instance", bench.instance_restarted())
    check_released(bench, before, "terminate")


def check_released(bench, before, name):
    """Connections are gone; slot memory is kept for the next queries, up to a limit, but of
    a size never more than queries ran at once; with feeders as many again, since a query's memory waits for
    its last feeder while the session's next query takes another."""
    pid = bench.server.service_pid()
    most = SESSIONS * (2 if bench.feeders else 1)

    def released():
        now = held_by(pid)
        return (now["descriptors"] <= before["descriptors"]
                and now["slot memories of a size"] <= max(before["slot memories of a size"], most)
                and now["slot memory bytes"] <= max(before["slot memory bytes"], IDLE_SLOT_BYTES))
    bench.check(f"{name}, released", None if wait_until(released, RELEASE_SECONDS) is not None
                else f"{before} became {held_by(pid)}")


def await_restart(session):
    """Until the postmaster has ended a session that knows of nothing: who connects
    before is ended as well."""
    try:
        while True:
            session.query("SELECT pg_sleep(0.02)")
    except (ConnectionLost, DatabaseError, OSError):
        pass


def kill_backend(bench):
    """kill -9 of a backend: PostgreSQL restarts all sessions, by its own rule; the
    service must come back with it, once, and hold nothing of the dead."""
    query = bench.pick()
    session = bench.session()
    session.send(query)
    time.sleep(bench.moment(query) / 2)
    os.kill(session.backend_pid, signal.SIGKILL)
    try:
        session.finish()
    except ConnectionLost:
        pass
    await_restart(bench.witness)
    bench.server._wait_until_up()
    bench.server.wait_for_service()
    with bench.session() as again:
        bench.check("kill backend, next query", bench.wrong_answer(query, again.run(query)))
    services = [pid for pid, name in bench.server.descendants().items() if name == "turbined"]
    bench.check("kill backend, one service", None if len(services) == 1 else f"{len(services)} turbined processes")
    bench.witness = bench.server.connect(settings=OFF)
    bench.started_at = bench.witness.value("SELECT pg_postmaster_start_time()")


def cancel(bench):
    """Cancel at random points: quick, and the session goes on."""
    delays = []
    for _ in rounds_until_caught(bench, delays):
        query = bench.pick()
        with bench.session() as session:
            session.send(query)
            time.sleep(bench.moment(query))
            at = time.monotonic()
            session.cancel()
            outcome = session.finish()
            if outcome.error:
                delays.append((time.monotonic() - at, query))
            complaint = None if outcome.sqlstate == "57014" else bench.wrong_answer(query, outcome)
            bench.check("cancel", complaint)
            bench.check("cancel, next query", None if session.value("SELECT 1") == "1" else "session unusable")
    judge_delays(bench, "cancel", delays)


def statement_timeout(bench):
    delays = []
    for _ in rounds_until_caught(bench, delays):
        query = bench.pick()
        milliseconds = max(1, int(bench.moment(query) * 1000))
        with bench.session() as session:
            session.query(f"SET statement_timeout = {milliseconds}")
            at = time.monotonic()
            outcome = session.run(query)
            if outcome.error:
                delays.append((time.monotonic() - at - milliseconds / 1000, query))
            bench.check("timeout", None if outcome.sqlstate == "57014" else bench.wrong_answer(query, outcome))
    judge_delays(bench, "timeout", delays)


def rounds_until_caught(bench, delays):
    """At least the rounds asked for, and until `delays` are enough for a percentile; some queries end first."""
    done = 0
    while done < bench.rounds or (len(delays) < CAUGHT_AT_LEAST and done < 10 * CAUGHT_AT_LEAST):
        yield done
        done += 1


def judge_delays(bench, name, delays):
    bench.check(f"{name}, delays", f"{len(delays)} queries were caught running"
                if len(delays) < CAUGHT_AT_LEAST else None)
    if not delays:
        return
    delays.sort()
    p99 = delays[min(len(delays) - 1, int(len(delays) * 0.99))][0]
    longest, query = delays[-1]
    print(f"  {name}: {len(delays)} caught running, median {delays[len(delays) // 2][0] * 1000:.0f} ms, "
          f"p99 {p99 * 1000:.0f} ms, longest {longest * 1000:.0f} ms: {query}", flush=True)
    bench.check(f"{name}, p99", f"{p99:.3f} s" if p99 > CANCEL_P99_SECONDS else None)
    bench.check(f"{name}, longest", f"{longest:.3f} s" if longest > CANCEL_MAX_SECONDS else None)


def many_sessions(bench):
    """50 sessions at once: every answer equal, and nothing left behind."""
    before = settled(bench)
    lock = threading.Lock()
    barrier = threading.Barrier(SESSIONS)
    seeds = [bench.random.random() for _ in range(SESSIONS)]

    def work(seed):
        source = random.Random(seed)
        with bench.session() as session:
            barrier.wait()
            for _ in range(3):
                query = source.choice(QUERIES)
                complaint = bench.wrong_answer(query, session.run(query))
                with lock:
                    bench.check("many sessions", complaint)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.check("many sessions, instance", bench.instance_restarted())
    check_released(bench, before, "many sessions")


def held_grants(bench):
    """Cursors left open hold their buffers. Who holds some never waits for more,
    others wait for a bounded time, and everybody gets the right answer."""
    wait, slack = 2.0, 1.0
    with cluster.Cluster("grants", settings={"pg_turbine.memory_budget": "24MB", "pg_turbine.host_threads": "2",
                                             "pg_turbine.admission_wait": f"{wait}s"}) as server:
        with server.connect(settings=OFF) as session:
            session.query("CREATE TABLE t AS SELECT i AS id, i % 9 AS k, md5(i::text) AS memo "
                          "FROM generate_series(1, 300000) i")
            session.query("VACUUM (ANALYZE) t")
        query, held = "SELECT id FROM t WHERE k < 8", []
        count = "SELECT count(*) FROM t WHERE k < 8"
        expected = sorted(str(i) for i in range(1, 300001) if i % 9 < 8)
        compiling = {**bench.forced, "pg_turbine.admission_wait": "0"}
        for _ in range(3):      # of these one fits, or two
            session = server.connect(settings=compiling)
            session.query(f"BEGIN; DECLARE c NO SCROLL CURSOR FOR {query}")
            held.append((session, session.run("FETCH 10 FROM c")))
            session.query(f"SET pg_turbine.admission_wait = '{wait}s'")

        def counter(name):
            with server.connect() as admin:
                return int(admin.value(f"SELECT value FROM turbine.stat_queries WHERE counter = '{name}'"))

        bench.check("held grants, memory is short", None if counter("fallback_admission") else "no query was refused")
        with server.connect(settings=bench.forced) as other:
            for name, session, limit in (("holder", held[0][0], wait * 0.8), ("other", other, wait + slack)):
                started = time.monotonic()
                answer = session.value(count)
                seconds = time.monotonic() - started
                bench.check(f"held grants, {name}", None if answer == str(len(expected)) else f"{answer} rows")
                bench.check(f"held grants, {name} waits", f"{seconds:.2f} s" if seconds > limit else None)
        for session, first in held:
            rest = session.run("FETCH ALL FROM c")
            rows = [] if rest.error else sorted(r[0] for r in first.rows + rest.rows)
            bench.check("held grants, cursors", None if rows == expected else f"{len(rows)} rows {rest.error or ''}")
            session.close()
        before = counter("fallback_admission")
        with server.connect(settings=bench.forced) as session:
            bench.check("held grants, after", None if session.value(count) == str(len(expected)) else "wrong answer")
        bench.check("held grants, given back", None if counter("fallback_admission") == before else "still refused")


def reload_settings(bench):
    """A reload must not restart the service."""
    pid = bench.server.service_pid()
    with bench.server.connect() as session:
        session.query("SELECT pg_reload_conf()")
    time.sleep(1.5)
    bench.check("reload", None if bench.server.service_pid() == pid else "a reload restarted the service")


CHECKS = (reload_settings, cancel, statement_timeout, many_sessions, terminate_backends, kill_compiler,
          kill_service, kill_service_under_cursor, stop_service, stop_compiler, few_descriptors, held_grants, kill_backend)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="comma-separated check names")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--feeders", action="store_true", help="nothing is vacuumed, and parallel workers feed it")
    options = parser.parse_args()
    checks = [c for c in CHECKS if not options.only or c.__name__ in options.only.split(",")]
    with cluster.Cluster("faults") as server:
        workload.load_table(server, "lineorder", 0, SCALE_FACTOR, 2)
        with server.connect() as session:
            for statement in ("VACUUM (ANALYZE) lineorder",) + PARTED:
                session.query(statement.replace("VACUUM (ANALYZE)", "ANALYZE") if options.feeders else statement)
        bench = Bench(server, options)
        for check in checks:
            started, before = time.monotonic(), bench.failed
            check(bench)
            print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, "
                  f"{time.monotonic() - started:.0f} s", flush=True)
        bench.witness.close()
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
