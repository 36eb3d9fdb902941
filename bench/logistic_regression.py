#!/usr/bin/env python3
"""logistic_regression.py - the sample of LANGUAGE plcuda at 40 million rows: does it find the plane, and how long does it take?

A table of gstore_fdw with t boolean and x1 ... x4 real, where t is 1 + 2 x1 - 3 x2 + x3 + 0.5 x4 > 0. The sample
logistic_regression() is called --runs times by one session: the first call starts its process and copies the table, later ones
find the copy. Ratios of the weights are to be those of the plane, within --percent; a later call is to take --seconds at most.
Without a GPU the sample cannot run, and only a function that opens the table is called. Exit status 1 if a figure was missed.
Called by: a person on a machine with a GPU: run.sh -n python3 repository/bench/logistic_regression.py.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test"))

import cluster  # noqa: E402
from plcuda_bench import has_gpu, toolkit  # noqa: E402

PLANE = (1, 2, -3, 1, 0.5)
CALL = ("SELECT logistic_regression('training', attnum_of('training', 't'), attnums_of('training', '{x1,x2,x3,x4}'))")


def make_table(server, rows, parts):
    """In several sessions: random() is what takes the time."""
    with server.connect() as session:
        session.query("CREATE FOREIGN TABLE training (t boolean, x1 real, x2 real, x3 real, x4 real) SERVER gstore_fdw "
                      "OPTIONS (pinning '0')")
    sessions = [server.connect() for _ in range(parts)]
    for number, session in enumerate(sessions):
        session.query(f"SELECT setseed({(number + 1) / (parts + 1):.6f})")
        session.send("INSERT INTO training SELECT 1 + 2 * x1 - 3 * x2 + x3 + 0.5 * x4 > 0, x1, x2, x3, x4 FROM (SELECT "
                     "(random() * 2 - 1)::real AS x1, (random() * 2 - 1)::real AS x2, (random() * 2 - 1)::real AS x3, "
                     f"(random() * 2 - 1)::real AS x4 FROM generate_series(1, {rows // parts}) OFFSET 0) AS made")
    for session in sessions:
        outcome = session.finish()
        if outcome.error:
            raise outcome.error
        session.close()


def call_sample(session, options):
    """What was missed."""
    missed = []
    for run in range(options.runs):
        session.notices.clear()
        session.query("SET client_min_messages = debug1")
        started = time.monotonic()
        weights = [float(w) for w in session.value(CALL).strip("{}").split(",")]
        took = time.monotonic() - started
        session.query("RESET client_min_messages")
        kept = any("copy of an earlier call" in notice["M"] for notice in session.notices)
        ratios = [w / weights[0] for w in weights]
        off = max(abs(ratio / wanted - 1) for ratio, wanted in zip(ratios, PLANE, strict=True)) * 100
        print(f"call {run + 1}: {took * 1000:.1f} ms, {'the copy of an earlier call' if kept else 'a new copy'}, ratios "
              f"{' : '.join(f'{ratio:.4f}' for ratio in ratios)}, at most {off:.3f} % off", flush=True)
        if off > options.percent:
            missed.append(f"call {run + 1}: {off:.3f} % off")
        if run > 0 and took > options.seconds:
            missed.append(f"call {run + 1}: {took:.3f} s")
    return missed


def time_iterations(session, runs):
    """Newton's steps alone: what 25 take more than 1 does, the plane letting none of them be the last."""
    times = {}
    for iterations in (1, 25):
        call = CALL.replace("'{x1,x2,x3,x4}'))", f"'{{x1,x2,x3,x4}}'), {iterations})")
        samples = []
        for _ in range(runs):
            started = time.monotonic()
            session.value(call)
            samples.append((time.monotonic() - started) * 1000)
        times[iterations] = statistics.median(samples)
    print(f"1 iteration: {times[1]:.2f} ms, 25: {times[25]:.2f} ms, each of them {(times[25] - times[1]) / 24:.3f} ms", flush=True)


def call_nothing(session):
    """How much of a call is ours: a function that opens the table and does nothing."""
    session.query("CREATE FUNCTION opens(t reggstore) RETURNS int LANGUAGE plcuda AS '#plcuda_begin\nreturn 1;\n#plcuda_end'")
    times = []
    for _ in range(101):
        started = time.monotonic()
        session.value("SELECT opens('training')")
        times.append((time.monotonic() - started) * 1000)
    print(f"a function that opens the table and does nothing: {times[0]:.0f} ms, then {statistics.median(times[1:]):.2f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--parts", type=int, default=8, help="sessions that fill the table")
    parser.add_argument("--percent", type=float, default=1.0, help="how far a ratio may be off")
    parser.add_argument("--seconds", type=float, default=0.3, help="what a later call may take")
    options = parser.parse_args()
    megabytes = max(128, options.rows // 5000)
    settings = {"shared_buffers": f"{megabytes}MB", "max_wal_size": "32GB", "wal_level": "minimal", "max_wal_senders": "0",
                "pg_turbine.memory_budget": f"{3 * megabytes}MB", **toolkit()}
    missed = []
    with cluster.Cluster("logistic-regression", settings=settings) as server, server.connect() as session:
        started = time.monotonic()
        make_table(server, options.rows, options.parts)
        session.query("VACUUM (ANALYZE) training")
        print(f"{options.rows} rows made in {time.monotonic() - started:.0f} s", flush=True)
        if has_gpu(session):
            session.query((server.service_program().parent / "samples" / "logistic_regression.sql").read_text())
            missed = call_sample(session, options)
            time_iterations(session, 7)
        else:
            print("there is no GPU: the sample is not called", flush=True)
        call_nothing(session)
    print("\n".join(missed) or "no figure was missed")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
