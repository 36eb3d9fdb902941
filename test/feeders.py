#!/usr/bin/env python3
"""feeders.py - parallel workers that feed buffered blocks: when there are any, and what may befall them.

Proves by EXPLAIN ANALYZE that feeders were planned, launched and fed exactly
where they should, and compares every answer with PostgreSQL's. Then the faults
of a worker: none can be launched, one meets a broken page, one is terminated,
one is killed; the service gone before they ask for the slot memory. Faults of the
service, cancel and sessions by the dozen are faults.py --feeders, concurrent
changes races.py --feeders, all kinds of queries run_sql.py --feeders.
Must never: end a process that its own cluster did not start.
Called by: test/run_all.py. Options: --rounds, --seed, --only.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
import workload  # noqa: E402
from faults import await_restart  # noqa: E402
from pg_client import ConnectionLost  # noqa: E402
from run_sql import FEEDING, OFF, PARALLEL_EVERYWHERE  # noqa: E402

ROWS = 600_000
# Of each: which table's blocks the last stage reads, and whether a join table is worth feeding.
QUERIES = {
    "GpuScan": "SELECT id, memo FROM big WHERE v = 17",
    "GpuPreAgg": "SELECT k, count(*), sum(v) FROM big GROUP BY k",
    "GpuJoin": "SELECT b.id, s.name FROM big b JOIN side s ON s.k = b.k WHERE b.v = 17",
    "GpuSort": "SELECT id, v FROM big ORDER BY v, id LIMIT 20",
}
SELF_JOIN = "SELECT a.k, count(*), sum(b.v) FROM big a JOIN big b ON b.id = a.id + 1 GROUP BY a.k"
AGGREGATE = QUERIES["GpuPreAgg"]
ROWS_BACK = QUERIES["GpuScan"]


class Bench:
    def __init__(self, server, options):
        self.server, self.rounds = server, options.rounds
        self.random = random.Random(options.seed)
        self.passed = self.failed = 0
        with server.connect(settings=OFF) as session:
            self.expected = {query: session.run(query) for query in (*QUERIES.values(), SELF_JOIN)}

    def check(self, name, complaint):
        if complaint:
            self.failed += 1
            print(f"  {name}: {complaint}", flush=True)
        else:
            self.passed += 1

    def session(self, **settings):
        return self.server.connect(settings={**FEEDING, **settings})

    def compare(self, name, query, outcome):
        self.check(name, answers.difference(self.expected[query], outcome))


def node_of(session, query):
    """What EXPLAIN ANALYZE says of the accelerated node."""
    text = session.value(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}")
    return workload.custom_scan(workload.plan_nodes(json.loads(text)[0]["Plan"]))


def planned(session, query=AGGREGATE):
    return (node_of(session, query) or {}).get("Feeders Planned", 0)


def feed_everything(bench):
    """Every node's buffered blocks, all of them, by both workers."""
    with bench.server.connect() as admin:       # on few processors one would do
        admin.query("ALTER TABLE big SET (parallel_workers = 2)")
    for name, query in QUERIES.items():
        with bench.session() as session:
            bench.compare(f"{name}, answer", query, session.run(query))
            node = node_of(session, query)
            bench.check(f"{name}, node", None if node.get("Custom Plan Provider") == name else f"{node}")
            told = {key: node.get(key) for key in ("Feeders Planned", "Feeders Launched")}
            bench.check(f"{name}, launched", None if set(told.values()) == {2} else f"{told}")
            fed, buffered = node.get("Blocks Fed"), node.get("Blocks Buffered")
            bench.check(f"{name}, fed", None if fed and fed == buffered else f"{fed} blocks of {buffered}")
            touched = node.get("Shared Hit Blocks", 0) + node.get("Shared Read Blocks", 0)
            bench.check(f"{name}, buffers", None if touched >= buffered else f"{touched} buffers for {buffered} blocks")
    with bench.session() as session:
        bench.compare("self join, answer", SELF_JOIN, session.run(SELF_JOIN))
        text = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE) {SELF_JOIN}"))
        bench.check("self join, join table", None if " feeders=2" in text else text)
    # The backend takes its share.
    with bench.session(parallel_leader_participation="on") as session:
        bench.compare("with the leader, answer", AGGREGATE, session.run(AGGREGATE))
    with bench.server.connect() as admin:
        admin.query("ALTER TABLE big RESET (parallel_workers)")


def decide_where_rows_come_back(bench, settings):
    """Only where PostgreSQL would let a Gather have workers, and not for a few rows."""
    with bench.session(**settings) as session:
        session.query("CREATE FUNCTION pg_temp.unsafe(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'")

        def fed(query):
            return (node_of(session, query) or {}).get("Blocks Fed", 0)

        several = os.cpu_count() > 1
        bench.check("rows", None if (fed(ROWS_BACK) > 0) == several else "not fed" if several else "fed")
        for name, query in {
                "rows, a function that is not parallel safe": ROWS_BACK.replace("id", "pg_temp.unsafe(id)"),
                "rows, a few of them": f"{ROWS_BACK} LIMIT 5",
                "rows, INSERT": f"INSERT INTO side {ROWS_BACK} AND id < 0"}.items():
            bench.check(name, f"{fed(query)} blocks" if fed(query) else None)
        # A parameter that might raise is tried first, and parallel mode would not allow it.
        session.query("SET app.mine = '18'")
        node = node_of(session, f"{ROWS_BACK} AND id > 500000 AND v < current_setting('app.mine')::int")
        bench.check("rows, computed parameter", None if node and node.get("Device") != "none" else f"{node}")
        # What is left to workers is not lost when the client wants no more of it.
        for limit in (3000, 4000, 5000):
            found = session.value(f"SELECT count(*) FROM ({ROWS_BACK} LIMIT {limit}) x")
            bench.check("rows, LIMIT", None if int(found) == limit else f"{found} rows of {limit}")
        # A portal that is run in pieces.
        session.query(f"BEGIN; DECLARE c CURSOR FOR {ROWS_BACK}")
        rows = session.run("FETCH 1000 FROM c").rows + session.run("FETCH ALL FROM c").rows
        bench.check("rows, cursor", None if sorted(rows) == sorted(bench.expected[ROWS_BACK].rows) else f"{len(rows)} rows")
        session.query("COMMIT")


def decide(bench):
    """Feeders where they pay and may be, and nowhere else."""
    unforced = {PARALLEL_EVERYWHERE: "off"}

    def expect(name, wanted, **settings):
        with bench.session(**{**unforced, **settings}) as session:
            found = planned(session)
            bench.check(name, None if (found > 0) == wanted else f"{found} feeders planned")

    free = {"parallel_setup_cost": "0", "min_parallel_table_scan_size": "0"}
    expect("workers cost nothing", os.cpu_count() > 1, **free)
    expect("workers cost much", False, parallel_setup_cost="1e6")
    expect("a small table", False, parallel_setup_cost="0", min_parallel_table_scan_size="1GB")
    expect("no workers for a query", False, max_parallel_workers_per_gather="0", **free)
    expect("no workers at all", False, max_parallel_workers="0", **free)
    with bench.server.connect() as admin:
        admin.query("ALTER TABLE big SET (parallel_workers = 0)")
        expect("none for this table", False, **free)
        admin.query("ALTER TABLE big SET (parallel_workers = 2)")
        expect("always for this table", True, parallel_setup_cost="1e6")
        admin.query("ALTER TABLE big RESET (parallel_workers)")
    decide_where_rows_come_back(bench, {**unforced, **free})
    # All-visible blocks are the service's own to read.
    with bench.server.connect() as admin:
        admin.query("CREATE TABLE clean AS SELECT * FROM big")
        admin.query("VACUUM (ANALYZE) clean")
        admin.query("CHECKPOINT")
        with bench.session(**{"pg_turbine.direct_threshold": "0"}) as session:
            node = node_of(session, AGGREGATE.replace("big", "clean"))
            told = {key: node.get(key, 0) for key in ("Feeders Planned", "Blocks Buffered")}
            bench.check("vacuumed", None if not any(told.values()) else f"{told}")
            # A part of the table: what is dirty, and not more.
            session.query("UPDATE clean SET v = v WHERE id < 50000")
            node = node_of(session, AGGREGATE.replace("big", "clean"))
            fed = node.get("Blocks Fed", 0)
            direct = node.get("Blocks Direct", 0) + node.get("Blocks Cached", 0)
            bench.check("partly vacuumed", None if fed and direct else f"fed {fed}, direct {direct}")
            same = session.run(AGGREGATE.replace("big", "clean"))
            bench.compare("partly vacuumed, answer", AGGREGATE, same)
        admin.query("DROP TABLE clean")


def launch_none(bench):
    """Not one worker is to be had."""
    with bench.server.connect() as admin:
        admin.query("ALTER SYSTEM SET max_parallel_workers = 0")
        admin.query("SELECT pg_reload_conf()")
    try:
        # The session's own limit is larger: what counts is that no slot is given.
        for query in (*QUERIES.values(), SELF_JOIN):
            with bench.session() as session:
                bench.compare("none launched", query, session.run(query))
    finally:
        with bench.server.connect() as admin:
            admin.query("ALTER SYSTEM RESET max_parallel_workers")
            admin.query("SELECT pg_reload_conf()")
    # The slots of background workers are taken by others' queries.
    with cluster.Cluster("noslots", settings={"max_worker_processes": "2", "max_parallel_workers": "8"}) as server:
        with server.connect(settings=OFF) as session:
            make_tables(session, ROWS // 10)
            expected = session.run(AGGREGATE)
        with server.connect(settings=FEEDING) as session:
            bench.check("no slot", answers.difference(expected, session.run(AGGREGATE)))
            node = node_of(session, AGGREGATE)
            bench.check("no slot, launched", None if node["Feeders Planned"] > 0 and node["Feeders Launched"] == 0
                        else f"{node['Feeders Launched']} of {node['Feeders Planned']}")


def worker_of(admin, session, seconds=5.0):
    """The process of one of the session's workers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        rows = admin.query(f"SELECT pid FROM pg_stat_activity WHERE leader_pid = {session.backend_pid}"
                           f" AND pid <> {session.backend_pid}")
        if rows:
            return int(rows[0][0])
    return None


def terminate_worker(bench):
    """An administrator ends a worker: the query fails as a parallel query of PostgreSQL's does, or had what it needed."""
    caught = 0
    with bench.server.connect() as admin:
        for _ in range(bench.rounds):
            with bench.session() as session:
                session.send(SELF_JOIN)
                worker = worker_of(admin, session)
                time.sleep(bench.random.random() * 0.02)
                admin.query(f"SELECT pg_terminate_backend({worker or 0})")
                outcome = session.finish()
                if outcome.error:
                    caught += 1
                    bench.check("terminate worker", None if outcome.sqlstate == "57P01" else answers.describe_error(outcome))
                else:
                    bench.compare("terminate worker, answer", SELF_JOIN, outcome)
                bench.compare("terminate worker, next query", AGGREGATE, session.run(AGGREGATE))
    bench.check("terminate worker, caught", None if caught else "no worker was caught feeding")


def service_gone(bench):
    """The service dies just when workers ask it for the slot memory, and later."""
    with bench.server.connect() as admin:
        for _ in range(bench.rounds):
            with bench.session() as session:
                session.send(SELF_JOIN)
                worker_of(admin, session)
                time.sleep(bench.random.random() * 0.01)
                os.kill(bench.server.service_pid(), signal.SIGKILL)
                bench.compare("service gone", SELF_JOIN, session.finish())
            bench.server.wait_for_service()


def kill_worker(bench):
    """kill -9 of a worker: PostgreSQL restarts all sessions, by its own rule; the service comes back, and feeders."""
    with bench.server.connect() as admin:
        session = bench.session()
        session.send(SELF_JOIN)
        worker = worker_of(admin, session)
        os.kill(worker, signal.SIGKILL)
        try:
            outcome = session.finish()
            bench.check("kill worker", None if outcome.error else "the query went on")
        except ConnectionLost:
            pass
        await_restart(admin)
    bench.server._wait_until_up()
    bench.server.wait_for_service()
    with bench.session() as session:
        bench.compare("kill worker, next query", AGGREGATE, session.run(AGGREGATE))
        bench.check("kill worker, feeders", None if planned(session) else "no feeders any more")
    services = [pid for pid, name in bench.server.descendants().items() if name == "turbined"]
    bench.check("kill worker, one service", None if len(services) == 1 else f"{len(services)} turbined processes")


def broken_page(bench):
    """A page that cannot be read: a worker's error reaches the client as PostgreSQL's own."""
    server = bench.server
    with server.connect() as admin:
        admin.query("CREATE TABLE broken WITH (autovacuum_enabled = off) AS SELECT * FROM big WHERE id <= 100000")
        admin.query("CHECKPOINT")
        path = server.data / admin.value("SELECT pg_relation_filepath('broken')")
    server.stop()
    with open(path, "r+b") as file:
        file.seek(700 * 8192)
        file.write(b"\xff" * 64)
    server.start()
    server.wait_for_service()
    query = AGGREGATE.replace("big", "broken")
    with server.connect(settings=OFF) as session:
        expected = session.run(query)
    bench.check("broken page, PostgreSQL", None if expected.sqlstate == "XX001" else answers.describe_error(expected))
    for leader in ("off", "on"):
        with bench.session(parallel_leader_participation=leader) as session:
            for _ in range(3):
                bench.check("broken page", answers.difference(expected, session.run(query)))
                bench.check("broken page, rows",
                            answers.difference(expected, session.run(ROWS_BACK.replace("big", "broken"))))
            bench.compare("broken page, next query", AGGREGATE, session.run(AGGREGATE))
            bench.compare("broken page, next rows", ROWS_BACK, session.run(ROWS_BACK))
            # In a subtransaction.
            session.query("BEGIN; SAVEPOINT s")
            bench.check("broken page, savepoint", answers.difference(expected, session.run(query)))
            session.query("ROLLBACK TO s")
            bench.compare("broken page, after the savepoint", AGGREGATE, session.run(AGGREGATE))
            session.query("COMMIT")
    with server.connect() as admin:
        admin.query("DROP TABLE broken")


CHECKS = (feed_everything, decide, launch_none, terminate_worker, service_gone, broken_page, kill_worker)


def make_tables(session, rows):
    session.query("CREATE TABLE big (id int, k int, v int, memo text) WITH (autovacuum_enabled = off)")
    session.query(f"INSERT INTO big SELECT i, i % 7, i % 100, repeat('m', 100) FROM generate_series(1, {rows}) i")
    session.query("CREATE TABLE side (k int, name text) WITH (autovacuum_enabled = off)")
    session.query("INSERT INTO side SELECT i, 'side ' || i FROM generate_series(0, 5) i")
    session.query("ANALYZE big")
    session.query("ANALYZE side")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="comma-separated check names")
    options = parser.parse_args()
    checks = [c for c in CHECKS if not options.only or c.__name__ in options.only.split(",")]
    with cluster.Cluster("feeders") as server:
        with server.connect(settings=OFF) as session:
            make_tables(session, ROWS)
        bench = Bench(server, options)
        for check in checks:
            started, before = time.monotonic(), bench.failed
            check(bench)
            print(f"  {check.__name__}: {'ok' if bench.failed == before else 'FAILED'}, "
                  f"{time.monotonic() - started:.0f} s", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
