#!/usr/bin/env python3
"""write_faults.py - whatever ends a writer of a foreign table, at whatever moment, the file is the old one or the new one.

Settings stop the file writer before each of its writes, and the backend at each step of its commit; there they are killed,
cancelled, or find the disk full. Then pyarrow must read the old rows or the new ones, PostgreSQL the same, and the next
writer must leave nothing beside the file. Kills at random moments follow.
Called by: make test-write-faults, test/run_all.py, with the Python of build/python, which has pyarrow.
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

import cluster  # noqa: E402
from cache_bench import Bench  # noqa: E402
from pg_client import ConnectionLost, DatabaseError  # noqa: E402
from run_sql import OFF  # noqa: E402
from write_files import left_beside, read  # noqa: E402

ENDED, CANCELLED, IO_ERROR, SERIALIZATION = "38000", "57014", "58030", "40001"
OLD, NEW = list(range(500)), list(range(500)) + list(range(1000, 3000))
INSERT = "INSERT INTO w SELECT i, 'name ' || i FROM generate_series(1000, 2999) i"


def kill(pid):
    """Ends a process, and waits until its parent knows: from then on the server accepts no connection before it has recovered."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.005)


class Faults:
    def __init__(self, bench, server, folder):
        self.bench, self.server, self.path, self.folder = bench, server, folder / "w.arrow", folder

    def connect(self):
        """Also while the server recovers."""
        deadline = time.monotonic() + 60
        while True:
            try:
                session = self.server.connect(settings=OFF)
                session.query("SELECT 1")
                return session
            except (OSError, DatabaseError, ConnectionLost):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def make_old(self):
        with self.connect() as session:
            session.query("TRUNCATE w; INSERT INTO w SELECT i, 'old' FROM generate_series(0, 499) i")

    def check(self, name, allowed):
        """The file is one of these, for everyone; the next writer finds it so, and leaves nothing else."""
        rows = read(self.path)["id"].to_pylist()
        self.bench.check(f"{name}: pyarrow", None if rows in allowed else f"{len(rows)} rows")
        with self.connect() as session:
            self.bench.equal(f"{name}: PostgreSQL", session.query("SELECT count(*), sum(id) FROM w"), [(str(len(rows)), str(sum(rows)))])
            self.bench.equal(f"{name}: the next writer", session.run("INSERT INTO w VALUES (-1, 'next')").sqlstate, "00000")
        self.bench.equal(f"{name}: its row", read(self.path)["id"].to_pylist(), rows + [-1])
        self.bench.equal(f"{name}: left beside", left_beside(self.folder), [])

    def stopped(self, thread):
        """The pid of a process that stopped itself, or None once the statement has ended."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for pid in self.server.descendants():
                try:
                    if Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith("T"):
                        return pid
                except OSError:
                    continue
            if not thread.is_alive():
                return None
            time.sleep(0.01)
        return None

    def run_until_stop(self, session, statements):
        """Runs statements in a thread: (thread, outcomes, pid of what stopped)."""
        outcomes = []

        def work():
            try:
                for sql in statements:
                    outcomes.append(session.run(sql).sqlstate)
            except (ConnectionLost, OSError):
                outcomes.append("lost")

        thread = threading.Thread(target=work)
        thread.start()
        return thread, outcomes, self.stopped(thread)


def set_stop(kind, step):
    return f"SET pg_turbine.debug_stop_{kind} = {step}"


# Where a file writer stops: while it makes the statement's rows a file, and at the commit.
STATEMENTS = {"part": lambda step: [set_stop("writer", step), INSERT],
              "merge": lambda step: ["BEGIN", INSERT, set_stop("writer", step), "COMMIT"]}


def writer_steps(faults):
    """At every write: the writer is killed, the statement cancelled, the file too large; at some the backend is killed."""
    bench = faults.bench
    for phase, statements in STATEMENTS.items():
        step = 0
        while True:
            step += 1
            ways = ["kill writer", "cancel", "full disk"] + (["kill backend"] if step % 4 == 1 else [])
            ended = False
            for way in ways:
                faults.make_old()
                session = faults.connect()
                name = f"{phase}, step {step}, {way}"
                thread, outcomes, pid = faults.run_until_stop(session, statements(step))
                if pid is None:
                    thread.join()
                    bench.equal(f"{phase}: without a stop", outcomes[-1], "00000")
                    bench.equal(f"{phase}: all rows", read(faults.path)["id"].to_pylist(), NEW)
                    session.close()
                    ended = True
                    break
                expected = ENDED
                if way == "kill writer":
                    os.kill(pid, signal.SIGKILL)
                elif way == "cancel":
                    session.cancel()
                    expected = CANCELLED
                elif way == "full disk":
                    # Less than the file has already: the next write fails, if there is one.
                    cluster.run_as_server(["prlimit", "--pid", str(pid), "--fsize=1:"])
                    os.kill(pid, signal.SIGCONT)
                    expected = IO_ERROR
                else:
                    kill(session.backend_pid)
                    expected = "lost"
                thread.join(60)
                session.close()
                # The step before the last one, flushing the file, writes nothing more.
                bench.check(f"{name}: error", None if expected in outcomes or (way == "full disk" and set(outcomes) == {"00000"})
                            else str(outcomes))
                faults.check(name, [NEW] if way == "full disk" and IO_ERROR not in outcomes else [OLD])
            if ended:
                break
        bench.check(f"{phase}: steps", None if step > 8 else f"only {step}")


def commit_steps(faults):
    """The backend is killed before the new file is made, when it is complete, and when it is in place."""
    for step, rows in ((1, OLD), (2, OLD), (3, NEW)):
        faults.make_old()
        session = faults.connect()
        thread, outcomes, pid = faults.run_until_stop(session, [set_stop("commit", step), INSERT])
        faults.bench.equal(f"commit, step {step}: stopped", pid, session.backend_pid)
        if pid is not None:
            kill(pid)
        thread.join(60)
        faults.bench.equal(f"commit, step {step}: error", outcomes[-1:], ["lost"])
        faults.check(f"commit, step {step}", [rows])


def late_failure(faults):
    """A transaction that fails after the file was put in place: the old one comes back."""
    faults.make_old()
    with faults.connect() as a, faults.connect() as b:
        a.query("CREATE TABLE h (id int)")
        for session in (a, b):
            session.query("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM h")
        for session in (a, b):
            session.query("INSERT INTO h VALUES (1)")
        a.query(INSERT)
        before = faults.path.stat().st_ino
        b.query("COMMIT")
        faults.bench.equal("a late failure", a.run("COMMIT").sqlstate, SERIALIZATION)
        faults.bench.equal("a late failure: the file", faults.path.stat().st_ino, before)
        a.query("DROP TABLE h")
    faults.check("a late failure", [OLD])


def random_moments(faults, rounds, seed):
    """Backends and writers are killed whenever it happens."""
    rng = random.Random(seed)
    for number in range(rounds):
        faults.make_old()
        session = faults.connect()
        outcomes = []

        def work():
            try:
                outcomes.append(session.run(INSERT.replace("2999", "90999")).sqlstate)
            except (ConnectionLost, OSError):
                outcomes.append("lost")

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(rng.uniform(0, 0.25))
        writers = [pid for pid, name in faults.server.descendants().items() if name.startswith("turbine-file-wr")]
        victim = session.backend_pid if rng.random() < 0.3 or not writers else writers[0]
        kill(victim)
        thread.join(60)
        done = OLD + list(range(1000, 91000))
        name = f"random moment {number} ({'the backend' if victim == session.backend_pid else 'a writer'}, {outcomes})"
        # A lost connection leaves it open; else the client knows.
        faults.check(name, [OLD, done] if outcomes == ["lost"] else [done] if outcomes == ["00000"] else [OLD])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    bench = Bench()
    with cluster.Cluster("write-faults") as server:
        folder = server.directory / "files"
        folder.mkdir()
        os.chown(folder, server.directory.stat().st_uid, server.directory.stat().st_gid)
        os.chmod(folder, 0o777)
        faults = Faults(bench, server, folder)
        with server.connect(settings=OFF) as session:
            session.query(f"CREATE FOREIGN TABLE w (id int, name text) SERVER arrow_fdw OPTIONS (file '{faults.path}', writable 'true'); "
                          "INSERT INTO w VALUES (1, 'first')")
        for case, more in ((writer_steps, ()), (commit_steps, ()), (late_failure, ()),
                           (random_moments, (arguments.rounds, arguments.seed))):
            started = time.monotonic()
            case(faults, *more)
            print(f"  {case.__name__}: {time.monotonic() - started:.0f} s, {bench.failed} failed so far", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
