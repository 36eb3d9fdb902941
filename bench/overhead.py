#!/usr/bin/env python3
"""overhead.py - what pg_turbine costs queries that stay with PostgreSQL.

Three variants of each query, interleaved sample by sample: `absent`, a server
without the library in shared_preload_libraries; `off`, one with it and
pg_turbine.enabled=off; `on`, the same server with it enabled. A sample is one
message of many statements to a session of its own (so that one process' memory
layout does not decide), which the server parses, plans and executes one after
another. Its wall time a statement counts, and the processor time of the backend
alone, which other load on the machine disturbs less. Then pgbench -S against
both servers, interleaved too.
What seems to be beyond the limit is measured up to four times more, with both servers
started anew, and all samples count: what is slower stays so, what was disturbed,
or where a server's memory happened to lie, does not.
Prints a table, writes JSON. Exit status 1 if `on` is beyond the limit over
either of the others, in wall and in processor time, or if pgbench is slower by
more than it; or if a query does not stay with PostgreSQL after all.
Called by: make bench-overhead.
"""

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import cluster  # noqa: E402
import workload  # noqa: E402
from cluster import log  # noqa: E402

LIMIT = 0.02
VARIANTS = ("absent", "off", "on")
ATTEMPTS = 5
ITEMS = 300000  # so that a scan of all of them would be worth a device
WARM_UP = 5     # statements before a sample, for the session's caches

TABLES = f"""
    CREATE TABLE item (id int PRIMARY KEY, kind int, price numeric(10,2), made date, memo text);
    INSERT INTO item SELECT i, i % 100, i % 977 / 4.0, date '2020-01-01' + i % 1000, md5(i::text)
        FROM generate_series(1, {ITEMS}) i;
    CREATE TABLE kind (id int PRIMARY KEY, name varchar(20));
    INSERT INTO kind SELECT i, 'kind ' || i FROM generate_series(0, 99) i;
    CREATE TABLE few AS SELECT id, kind, price, memo FROM item WHERE id <= 500;
    CREATE TABLE medium AS SELECT * FROM item WHERE id <= 10000;
    CREATE TABLE part (id int, kind int, v bigint) PARTITION BY RANGE (id);
    DO $$ BEGIN FOR i IN 0..19 LOOP
        EXECUTE format('CREATE TABLE part_%s PARTITION OF part FOR VALUES FROM (%s) TO (%s)', i, i * 100, i * 100 + 100);
    END LOOP; END $$;
    INSERT INTO part SELECT i, i % 10, i * 7 FROM generate_series(0, 1999) i;
"""


@dataclass(frozen=True)
class Query:
    """`sql` with a random key for {key}; `count` statements make a sample."""
    name: str
    sql: str
    count: int


QUERIES = (
    Query("primary key", "SELECT * FROM item WHERE id = {key}", 800),
    Query("primary key, sum", "SELECT sum(price), count(*) FROM item WHERE id = {key}", 600),
    Query("index range", "SELECT sum(kind), min(made) FROM item WHERE id BETWEEN {key} AND {key} + 30", 500),
    Query("index range, several filters", "SELECT id, memo FROM item WHERE id BETWEEN {key} AND {key} + 30 AND kind < 50"
          " AND price > 10.5 AND made > date '2020-06-01' AND memo LIKE '%ab%'", 300),
    Query("small table", "SELECT id FROM few WHERE kind = 3 AND memo LIKE '%ab%'", 200),
    Query("small table, groups", "SELECT kind, count(*), avg(price) FROM few WHERE id > 100 GROUP BY kind", 100),
    Query("join by keys", "SELECT i.id, k.name FROM item i JOIN kind k ON k.id = i.kind WHERE i.id = {key}", 400),
    Query("join by keys, large, filtered", "SELECT i.id, o.price FROM item i JOIN item o ON o.id = i.kind WHERE i.id = {key}"
          " AND o.price < 200 AND o.made > date '2020-01-15' AND o.memo LIKE '%a%'", 250),
    Query("4 joins by keys, large, filtered", "SELECT count(*) FROM item a JOIN item b ON b.id = a.kind JOIN item c ON"
          " c.id = b.kind JOIN item d ON d.id = c.kind WHERE a.id = {key} AND a.price > 1 AND b.price > 2 AND c.price > 3"
          " AND d.price > 4", 120),
    Query("small join", "SELECT k.name, count(*) FROM few f JOIN kind k ON k.id = f.kind WHERE f.id < 50"
          " GROUP BY k.name", 100),
    Query("subquery", "SELECT count(*) FROM kind k WHERE k.id < 20 AND EXISTS (SELECT 1 FROM item i WHERE i.id = k.id"
          " AND i.kind > 3)", 150),
    Query("20 partitions", "SELECT kind, sum(v) FROM part WHERE kind < 5 GROUP BY kind", 30),
    Query("1 of 20 partitions", "SELECT * FROM part WHERE id = {key} % 2000", 400),
    Query("without a table", "SELECT {key} + 1", 1500),
    Query("medium scan, too cheap", "SELECT kind, sum(price) FROM medium WHERE id > 5000 GROUP BY kind", 12),
    Query("medium scan, not offloadable", "SELECT count(*) FROM medium WHERE memo ~ 'a[0-9]b'", 6),
)


def prepare(server):
    with server.connect() as session:
        session.query(TABLES)
        session.query("VACUUM (FREEZE, ANALYZE)")
        session.query("CHECKPOINT")
    subprocess.run(pgbench(server, "-i", "-s", "5", "-q"), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def pgbench(server, *arguments):
    program = server.bindir / "pgbench"
    return [str(program if program.exists() else "pgbench"), "-h", str(server.directory), "-p", server.port,
            "-U", "postgres", *arguments, "postgres"]


def start_anew(servers):
    """Stops and starts them, and reads what the queries read."""
    for server in servers:
        server.stop()
        server.start()
        with server.connect(settings={"enable_seqscan": "off"}) as session:
            session.query("SELECT count(id) FROM item; SELECT count(id) FROM kind; SELECT count(memo) FROM item;"
                          "SELECT count(memo) FROM few; SELECT count(memo) FROM medium; SELECT count(v) FROM part")


def connect(servers, variant):
    """A session of the variant."""
    server = servers[variant == "absent"]
    return server.connect(settings={"pg_turbine.enabled": variant} if variant != "absent" else None)


def stays(session, query):
    """Whether EXPLAIN shows nothing but PostgreSQL's own nodes."""
    nodes = workload.explain(session, query.sql.format(key=77), analyze=False)
    return not any(node["Node Type"] == "Custom Scan" for node in nodes)


def processor_ns(pid):
    """What the process has used of a processor: the clock of clock_getcpuclockid(3)."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def statements(source, query, count):
    return ";".join(query.sql.format(key=source.randrange(1, ITEMS - 100)) for _ in range(count))


def sample(servers, variant, query, seed):
    """(wall, processor) microseconds a statement."""
    source = random.Random(seed)
    warm_up, text = statements(source, query, WARM_UP), statements(source, query, query.count)
    with connect(servers, variant) as session:
        session.query(warm_up)
        before, started = processor_ns(session.backend_pid), time.perf_counter()
        session.query(text)
        wall = time.perf_counter() - started
        used = processor_ns(session.backend_pid) - before
    return wall / query.count * 1e6, used / query.count / 1e3


def measure(servers, query, options):
    """{variant: {'wall': [...], 'processor': [...]}}"""
    times = {variant: {"wall": [], "processor": []} for variant in VARIANTS}
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            start_anew(servers)
        for number in range(options.pairs):
            # Every variant comes first, second and third equally often.
            order = [VARIANTS[(number + i) % len(VARIANTS)] for i in range(len(VARIANTS))]
            for variant in order:
                wall, processor = sample(servers, variant, query, number)
                times[variant]["wall"].append(wall)
                times[variant]["processor"].append(processor)
        if not judge(times, options.limit):
            break
    return times


def ratio(times, other, clock):
    """`on` over `other`: the median of the ratios of samples taken right after each other,
    which a machine whose speed drifts disturbs less than medians of all samples."""
    return statistics.median(on / than for on, than in zip(times["on"][clock], times[other][clock], strict=True))


def judge(times, limit):
    """Names of the variants over which `on` is beyond the limit by both clocks."""
    return [other for other in ("off", "absent")
            if all(ratio(times, other, clock) > 1 + limit for clock in ("wall", "processor"))]


def run_queries(servers, options):
    """A row a query; prints as it goes."""
    print(f"{'microseconds a statement':30} {'absent':>9} {'off':>9} {'on':>9}   on/absent     on/off"
          "      (processor time)", flush=True)
    rows = []
    for query in QUERIES:
        if options.only and query.name not in options.only:
            continue
        with connect(servers, "on") as session:
            if not stays(session, query):
                print(f"{query.name:30} does not stay with PostgreSQL", flush=True)
                rows.append({"query": query.name, "beyond": ["plan"]})
                continue
        times = measure(servers, query, options)
        row = {"query": query.name, "sql": query.sql, "beyond": judge(times, options.limit)}
        for variant in VARIANTS:
            row[variant] = {clock: round(statistics.median(values), 3) for clock, values in times[variant].items()}
        for other in ("absent", "off"):
            row[f"on/{other}"] = {clock: round(ratio(times, other, clock), 4) for clock in ("wall", "processor")}
        rows.append(row)
        print(f"{query.name:30} " + " ".join(f"{row[v]['wall']:9.1f}" for v in VARIANTS)
              + "".join(f"  {(row[f'on/{other}']['wall'] - 1) * 100:+6.1f} %" for other in ("absent", "off"))
              + "   (" + ", ".join(f"{(row[f'on/{other}']['processor'] - 1) * 100:+.1f} %" for other in ("absent", "off"))
              + ")" + (f"   BEYOND {options.limit:.0%}" if row["beyond"] else ""), flush=True)
    return rows


def throughput(server, seconds):
    """Transactions a second of pgbench -S with two clients."""
    done = subprocess.run(pgbench(server, "-S", "-n", "-c", "2", "-j", "2", "-T", str(seconds)), check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return float(re.search(r"tps = ([0-9.]+) \(without", done.stdout).group(1))


def run_pgbench(servers, options):
    rates = {"on": [], "absent": []}
    for _ in range(ATTEMPTS):
        for number in range(options.rounds):
            for variant in ("on", "absent") if number % 2 else ("absent", "on"):
                rates[variant].append(throughput(servers[variant == "absent"], options.seconds))
        medians = {variant: statistics.median(values) for variant, values in rates.items()}
        change = medians["on"] / medians["absent"] - 1
        if change >= -options.limit:
            break
    print(f"pgbench -S, transactions a second: absent {medians['absent']:.0f}, on {medians['on']:.0f} ({change * 100:+.1f} %)"
          + (f"   BEYOND {options.limit:.0%}" if change < -options.limit else ""), flush=True)
    return {"rates": rates, "medians": medians, "change": round(change, 4), "beyond": change < -options.limit}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=30, help="samples of each variant of a query")
    parser.add_argument("--rounds", type=int, default=7, help="of pgbench")
    parser.add_argument("--seconds", type=int, default=4, help="that a round of pgbench takes")
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--only", action="append", help="name of a query; may be repeated")
    parser.add_argument("--json", default=str(cluster.BUILD / "bench" / "overhead.json"))
    options = parser.parse_args()
    settings = {"autovacuum": "off", "jit": "off"}
    with cluster.Cluster("loaded", settings=settings) as loaded, \
            cluster.Cluster("stock", extension=False, settings=settings) as stock:
        servers = (loaded, stock)
        prepare(loaded)
        prepare(stock)
        log("loaded both servers")
        rows = run_queries(servers, options)
        bench = run_pgbench(servers, options) if options.rounds else None
    Path(options.json).parent.mkdir(parents=True, exist_ok=True)
    Path(options.json).write_text(json.dumps({"pairs": options.pairs, "limit": options.limit, "queries": rows,
                                              "pgbench": bench}, indent=1), encoding="utf-8")
    log(f"written to {options.json}")
    return 1 if any(row["beyond"] for row in rows) or (bench and bench["beyond"]) else 0


if __name__ == "__main__":
    sys.exit(main())
