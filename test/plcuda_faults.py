#!/usr/bin/env python3
"""plcuda_faults.py - functions of LANGUAGE plcuda that misbehave cost their own call, while SSB's queries run beside them.

Owns: the ways to misbehave. On any machine: a segmentation fault, abort(), exit(), a loop without end, all memory of the host,
processes without end, and a source that no compiler gets to the end of, by memory and by time. On a GPU also: a kernel's fault, a
kernel without end, all memory of the device. Each happens --rounds times. Two sessions go through SSB's 13 queries meanwhile:
every answer is PostgreSQL's. Afterwards the service is the one that it was, no session was lost, and memory of the GPU is free.
Must never: pass if no query ran beside a misbehaviour.
Called by: make test-plcuda-faults, test/run_all.py.
"""

import argparse
import itertools
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))
sys.path.insert(0, str(REPOSITORY / "bench"))

import answers  # noqa: E402
import cluster  # noqa: E402
import ssb  # noqa: E402
from cache_bench import Bench  # noqa: E402
from plcuda_bench import SOON, NoToolkit, create, has_gpu, is_up, runners, toolkit  # noqa: E402
from report_tables import load_ssb  # noqa: E402
from run_sql import OFF  # noqa: E402

FORCED = {"pg_turbine.enabled": "on", "pg_turbine.debug_force_offload": "on"}
SESSIONS = 2
TIMEOUT = 0.3
FREE_SECONDS = 5


class Fault(NamedTuple):
    """A function's host code and declarations, and what its call ends with."""
    body: str
    sqlstates: tuple
    decl: str = ""
    # statement_timeout ends it.
    endless: bool = False


HEADERS = "#include <unistd.h>\n#include <cstdlib>\n#include <cstring>\n"
FAULTS = {
    "segmentation fault": Fault("*(volatile int *)0 = 1;", ("38000",)),
    "abort": Fault("abort();", ("38000",)),
    "exit": Fault("exit(3);", ("38000",)),
    "loop without end": Fault("volatile int x = 1;\nwhile (x) ;", ("57014",), endless=True),
    "all memory of the host": Fault("for (;;) memset(malloc(1 << 20), 1, 1 << 20);", ("38000", "53200")),
    "processes without end": Fault("for (;;) fork();", ("38000",)),
}
KERNEL_FAULTS = {
    "kernel's fault": Fault("writes<<<1, 32>>>((int *)8);", ("38000",), "KERNEL_FUNCTION(void) writes(int *place) { *place = 1; }"),
    "kernel without end": Fault("spins<<<256, 32>>>(1);", ("57014",),
                                "KERNEL_FUNCTION(void) spins(volatile int x) { while (x) __nanosleep(100); }", endless=True),
    "all memory of the device": Fault("""
        cudaError_t rc = cudaSuccess;
        for (size_t bytes = size_t{1} << 32; bytes >= size_t{1} << 22; bytes /= 2)
        {
            void *place;
            while ((rc = cudaMalloc(&place, bytes)) == cudaSuccess)
                cudaMemset(place, 1, bytes);
        }
        usleep(500000);
        CUEXIT(rc, "all is taken");""", ("53200",)),
}
class Bomb(NamedTuple):
    """Declarations that no compiler gets to the end of."""
    source: str
    timeout: str
    sqlstate: str


BOMBS = {
    "compiler's memory": Bomb("#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n#define C(x) B(B(x))\n"
                              "static int grows() { int i = 0; C(i++;) return i; }", "60s", "42601"),
    "compiler's time": Bomb("constexpr long work(long n) { return n < 2 ? n : work(n - 1) + work(n - 2); }\n"
                            "template <long N, long I> struct Value { static constexpr long value = work(N) + I; };\n"
                            + "\n".join(f"static_assert(Value<33, {i}>::value > 0);" for i in range(40)),
                            "3s", "57014"),
}


class Readers:
    """Sessions that go through SSB's queries, and what was wrong with their answers."""

    def __init__(self, server, expected, device):
        self._server, self._expected, self._device = server, expected, device
        self._stop = threading.Event()
        self.complaints, self.queries = [], itertools.count()
        self.count = 0
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(SESSIONS)]

    def _work(self, number):
        names = list(self._expected)
        try:
            with self._server.connect(settings={**FORCED, "pg_turbine.device": self._device}) as session:
                while not self._stop.is_set():
                    for name in names[number * 5:] + names[:number * 5]:
                        difference = answers.difference(self._expected[name], session.run(ssb.QUERIES[name]))
                        if difference:
                            self.complaints.append(f"{name}: {difference}")
                        self.count = next(self.queries)
        except Exception as error:  # a thread's failure must not be lost
            self.complaints.append(f"a session has ended: {error}")

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()


def expected_answers(server):
    with server.connect(settings=OFF) as plain:
        return {name: plain.run(sql) for name, sql in ssb.QUERIES.items()}


def misbehave(bench, name, fault, session, rounds, readers):
    """The fault, so many times; each ends as it should, soon if it has no end of its own."""
    before, late = readers.count, []
    for _ in range(rounds):
        # The process is there, CUDA in it: starting it takes longer than the timeout on a GPU.
        is_up(bench, name, session)
        session.query(f"SET statement_timeout = '{TIMEOUT * 1000 if fault.endless else 60000:.0f}ms'")
        started = time.monotonic()
        outcome = session.run("SELECT misbehaves()")
        took = time.monotonic() - started
        session.query("RESET statement_timeout")
        if fault.endless:
            late.append(took - TIMEOUT)
        bench.check(f"{name}: SQLSTATE", None if outcome.sqlstate in fault.sqlstates else f"{outcome.sqlstate} {outcome.error}")
        is_up(bench, name, session)
    # A round may be over before a query is.
    deadline = time.monotonic() + 30
    while readers.count == before and time.monotonic() < deadline:
        time.sleep(0.05)
    bench.check(f"{name}: queries ran beside", None if readers.count > before else "none")
    if late:
        bench.check(f"{name}: returns soon", None if sorted(late)[len(late) // 2] < SOON else f"{max(late):.2f} s late")
    print(f"  {name}: {rounds} rounds, {readers.count - before} queries beside"
          + (f", at most {max(late) * 1000:.0f} ms after the timeout" if late else ""), flush=True)


def explode(bench, name, bomb, session, rounds, readers):
    before, started, states = readers.count, time.monotonic(), set()
    for number in range(rounds):
        session.query(f"SET statement_timeout = '{bomb.timeout}'")
        outcome = session.run("CREATE FUNCTION explodes() RETURNS int LANGUAGE plcuda AS $plcuda$\n#plcuda_decl\n"
                              f"{bomb.source}\n/* {number} */\n#plcuda_begin\nreturn 1;\n#plcuda_end\n$plcuda$")
        session.query("RESET statement_timeout")
        states.add(outcome.sqlstate)
        is_up(bench, name, session)
    bench.check(f"{name}: SQLSTATE", None if states == {bomb.sqlstate} else f"{states}")
    bench.check(f"{name}: queries ran beside", None if readers.count > before else "none")
    print(f"  {name}: {rounds} rounds, {(time.monotonic() - started) / rounds:.1f} s each, {', '.join(map(str, states))}, "
          f"{readers.count - before} queries beside", flush=True)


def stand_ins(session):
    """Queries so far that did without the GPU, since it had no memory for instance."""
    return int(session.value("SELECT sum(value) FROM turbine.stat_queries WHERE counter IN ('host_instead', 'fallback_device_memory', "
                             "'fallback_admission')"))


def free_memory(session):
    return int(session.value("SELECT free_memory()"))


def check_memory(bench, server, baseline):
    """What the GPU's memory was before, up to the process that asks, is free soon."""
    with server.connect() as session:
        deadline = time.monotonic() + FREE_SECONDS
        while (found := free_memory(session)) < baseline - (1 << 30) and time.monotonic() < deadline:
            time.sleep(0.1)
        bench.check("memory of the GPU", None if found >= baseline - (1 << 30) else f"{baseline - found >> 20} MB are missing")


def run(bench, server, rounds):
    expected = expected_answers(server)
    service = server.service_pid()
    settings = {"pg_turbine.plcuda_memory": "512MB"}
    with server.connect(settings=settings) as session, server.connect() as admin:
        create(session, "a int", "int", "return arg1 + 1;", name="fine")
        create(session, "", "bigint", "size_t free = 0, total = 0;\ncudaMemGetInfo(&free, &total);\nreturn free;", name="free_memory")
        on_gpu = has_gpu(session)
        baseline = free_memory(session)
        with Readers(server, expected, "gpu" if on_gpu else "cpu") as readers:
            while readers.count < len(expected) and not readers.complaints:
                time.sleep(0.05)
            for name, fault in {**FAULTS, **(KERNEL_FAULTS if on_gpu else {})}.items():
                session.query("SET pg_turbine.plcuda_memory = '4GB'")
                create(session, "", "int", f"{fault.body}\nreturn 1;", HEADERS + fault.decl, name="misbehaves")
                # CUDA itself takes host memory, more than a limit for what takes all of it has to be.
                session.query(f"SET pg_turbine.plcuda_memory = '{'4GB' if on_gpu else '512MB'}'")
                before = stand_ins(admin)
                misbehave(bench, name, fault, session, rounds, readers)
                if on_gpu:
                    print(f"    {stand_ins(admin) - before} of the queries ran on the processors instead", flush=True)
                if name in KERNEL_FAULTS:
                    check_memory(bench, server, baseline)
            session.query("SET pg_turbine.plcuda_memory = '512MB'")
            for name, bomb in BOMBS.items():
                explode(bench, name, bomb, session, rounds, readers)
        bench.check("every answer is PostgreSQL's", "; ".join(readers.complaints[:5]) or None)
        print(f"  {readers.count} queries in all", flush=True)
        bench.equal("the service goes on", server.service_pid(), service)
        bench.equal("no session was lost", admin.value("SELECT 1"), "1")
        bench.equal("no crash of the server", "terminated by signal" in server.logfile.read_text(errors="replace"), False)
        folder = server.data / "pg_turbine" / "plcuda"
        bench.equal("no compiler's folder is left", [path.name for path in folder.iterdir() if path.suffix != ".so"], [])
    deadline = time.monotonic() + 10
    while runners(server) and time.monotonic() < deadline:
        time.sleep(0.05)
    bench.equal("no process is left", runners(server), [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sf", type=float, default=0.02, help="scale factor of SSB")
    options = parser.parse_args()
    bench = Bench()
    try:
        settings = {"work_mem": "64MB", **toolkit()}
    except NoToolkit as why:
        print(f"{why}\n0 passed, 1 failed")
        return 1
    with cluster.Cluster("plcuda-faults", settings=settings) as server:
        load_ssb(server, options.sf)
        run(bench, server, options.rounds)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
