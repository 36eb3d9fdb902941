#!/usr/bin/env python3
"""direct_reads.py - reads past the page cache bring what PostgreSQL reads, and leave the page cache alone.

Each query of a heap table, an Arrow file and a Parquet file runs by every storage path, over data that the page cache has,
lacks, or has in part. Rows are compared with PostgreSQL's own. Then: what EXPLAIN and BUFFERS say was read; that a scan
past the page cache leaves none of its own blocks there and all of another table's; files that are cut off, vanish or
have a spoilt page, which end as they do in PostgreSQL.
Must never: judge a read by how long it took. Where the file system has no O_DIRECT, it says so and fails.
Called by: make test-direct-reads, test/run_all.py, with the Python of build/python, which has pyarrow.
"""

import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cache_bench  # noqa: E402
import cluster  # noqa: E402
import workload  # noqa: E402
from page_cache import PageCache  # noqa: E402
from run_sql import FORCED, OFF  # noqa: E402

ROWS = 300_000
TABLES = ("t", "t_arrow", "t_parquet")
QUERIES = (
    "SELECT count(*), sum(id), min(id), max(id) FROM {}",
    "SELECT count(*) FROM {} WHERE x BETWEEN y - 2 AND y + 2",
    "SELECT id, x, memo FROM {} WHERE id % 5000 = 7",
    "SELECT count(*), min(memo COLLATE \"C\") FROM {} WHERE memo LIKE '%abcd%'",
    "SELECT id % 7, count(*), sum(id) FROM {} GROUP BY 1",
)
PATHS = {
    "page_cache": {"pg_turbine.storage_path": "page_cache"},
    "direct": {"pg_turbine.storage_path": "direct"},
    "past the cache": {"pg_turbine.storage_path": "auto", "pg_turbine.storage_direct_share": "0"},
    "by size": {"pg_turbine.storage_path": "auto"},  # these are small: the page cache
}
BASE = {**FORCED, "pg_turbine.device": "cpu", "pg_turbine.direct_threshold": "0", "pg_turbine.enable_cache": "off"}
PAST_CACHE = ("io_uring", "threads")
BLOCK = 8192


class DirectReads(cache_bench.Bench):
    def __init__(self, server):
        super().__init__()
        self.server = server

    def session(self, **settings):
        return self.server.connect(settings={**BASE, **settings})

    def path_of(self, table):
        with self.server.connect() as session:
            return str(self.server.data / session.value(f"SELECT pg_relation_filepath('{table}')"))


def make_tables(bench):
    folder = bench.server.directory / "files"
    folder.mkdir()
    os.chmod(folder, 0o755)
    with bench.server.connect() as session:
        session.query("CREATE TABLE t (id int, x float8, y float8, memo text)")
        session.query(f"INSERT INTO t SELECT i, i % 1000, (i * 7) % 1000, md5(i::text) FROM generate_series(1, {ROWS}) i")
        session.query("CREATE TABLE other AS SELECT * FROM t")
        session.query("VACUUM (FREEZE, ANALYZE)")
        session.query("CHECKPOINT")
        rows = session.query("SELECT id, x, y, memo FROM t ORDER BY id")
        columns = list(zip(*rows, strict=True))
        table = pa.table({"id": pa.array(map(int, columns[0]), pa.int32()), "x": pa.array(map(float, columns[1])),
                          "y": pa.array(map(float, columns[2])), "memo": pa.array(columns[3])})
        with pa.ipc.new_file(str(folder / "t.arrow"), table.schema) as writer:
            writer.write_table(table, max_chunksize=100_000)
        pq.write_table(table, folder / "t.parquet", row_group_size=100_000, compression="zstd")
        paths = {"t": bench.path_of("t")}
        for kind in ("arrow", "parquet"):
            path = folder / f"t.{kind}"
            os.chmod(path, 0o644)
            # The kernel tells whose file it is, and of nobody else's, what the page cache has.
            owner = os.stat(paths["t"])
            os.chown(path, owner.st_uid, owner.st_gid)
            session.query(f"CREATE FOREIGN TABLE t_{kind} (id int, x float8, y float8, memo text) SERVER arrow_fdw "
                          f"OPTIONS (file '{path}')")
            paths[f"t_{kind}"] = str(path)
    return paths


def explained(session, sql, options="ANALYZE, BUFFERS, FORMAT JSON"):
    plan = json.loads(session.value(f"EXPLAIN ({options}) {sql}"))[0]["Plan"]
    return workload.custom_scan(workload.plan_nodes(plan)) or {}


def same_rows(bench, paths):
    with bench.server.connect(settings=OFF) as session:
        expected = {(table, sql): session.run(sql.format(table)) for table in TABLES for sql in QUERIES}
    for name, settings in PATHS.items():
        with bench.session(**settings) as session:
            for table in TABLES:
                for state in ("cold", "partly", "warm"):
                    PageCache.fill(paths[table])
                    if state == "cold":
                        PageCache.drop(paths[table])
                    elif state == "partly":
                        PageCache.drop(paths[table], 1 << 20, 3 << 20)
                    wrong = [sql for sql in QUERIES
                             if answers.difference(expected[table, sql], session.run(sql.format(table)))]
                    bench.check(f"{table}, {name}, {state}", f"other rows: {wrong}" if wrong else None)


def what_explain_says(bench, paths):
    sql = "SELECT count(*), sum(id) FROM t WHERE x > 3"
    blocks = os.path.getsize(paths["t"]) // BLOCK
    for name, settings in PATHS.items():
        with bench.session(**settings) as session:
            for warm in (False, True):
                PageCache.fill(paths["t"])
                if not warm:
                    PageCache.drop(paths["t"])
                node = explained(session, sql)
                past = name == "direct" or (name == "past the cache" and not warm)
                found = (node.get("Direct SQL"), node.get("Drive Blocks"), node.get("Page Cache Blocks"))
                good = (found[0] in PAST_CACHE and found[1:] == (blocks, 0)) if past else found == ("page cache", 0, blocks)
                bench.check(f"EXPLAIN, {name}, {warm}", None if good else f"{found} of {blocks}")
                bench.check(f"BUFFERS, {name}, {warm}",
                            None if node.get("Shared Read Blocks") == blocks else f"{node.get('Shared Read Blocks')} of {blocks}")
    PageCache.drop(paths["t"])
    with bench.session(**PATHS["direct"]) as session:
        text = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE) {sql}"))
        bench.check("text", None if "Direct SQL: enabled (" in text and f"load={blocks} blocks, " in text and "GB/s" in text
                    else text)
        text = "\n".join(row[0] for row in session.query(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}"))
        bench.check("text without times", None if f"load={blocks} blocks" in text and "GB/s" not in text else text)


def files_go_past_the_cache(bench, paths):
    for table in ("t_arrow", "t_parquet"):
        for name, settings in PATHS.items():
            PageCache.drop(paths[table])
            with bench.session(**settings) as session:
                node = explained(session, f"SELECT count(*), sum(id), min(x), max(y), min(memo COLLATE \"C\") FROM {table}")
            past = name in ("direct", "past the cache")
            drive, share = node.get("File Drive Bytes", -1), PageCache.share(paths[table])
            # The planner looks at footers, and the kernel reads some megabytes ahead of it.
            bench.check(f"{table}, {name}", None if (drive > 0) == past and (share < 0.9) == past
                        else f"{drive} bytes by the drive, {share:.2f} in the page cache")


def the_page_cache_stays(bench, paths):
    other = bench.path_of("other")
    with bench.session(**PATHS["past the cache"]) as session:
        PageCache.fill(other)
        PageCache.drop(paths["t"])
        session.query(QUERIES[0].format("t"))
        for name, path, good in (("own blocks", paths["t"], lambda share: share < 0.02),
                                 ("other table's", other, lambda share: share > 0.98)):
            bench.check(name, None if good(PageCache.share(path)) else f"{PageCache.share(path):.3f} in the page cache")
    with bench.session(**PATHS["by size"]) as session:
        session.query(QUERIES[0].format("t"))
        bench.check("small tables go there", None if PageCache.share(paths["t"]) > 0.98 else f"{PageCache.share(paths['t'])}")
        # The share is of the memory that turbined may use.
        PageCache.drop(paths["t"])
        session.query("SET pg_turbine.storage_direct_share = 1e-9")
        session.query(QUERIES[0].format("t"))
        bench.check("large ones do not", None if PageCache.share(paths["t"]) < 0.02 else f"{PageCache.share(paths['t'])}")


def bad_files(bench):
    """A file behind the server's back: both read the same error, or the same rows."""
    with bench.server.connect() as session:
        for statement in ("CREATE TABLE bad AS SELECT * FROM t", "VACUUM (FREEZE) bad", "CHECKPOINT"):
            session.query(statement)
    path = bench.path_of("bad")
    whole = Path(path).read_bytes()

    def cut():
        os.truncate(path, len(whole) // 2 // BLOCK * BLOCK + 100)

    def spoil():
        with open(path, "r+b") as file:
            file.seek(len(whole) // 2 // BLOCK * BLOCK + 4000)
            file.write(b"\xff" * 64)

    def vanish():
        os.rename(path, f"{path}.away")

    for name, damage in (("cut off", cut), ("spoilt", spoil), ("vanished", vanish)):
        for way, settings in PATHS.items():
            with open(path, "r+b") as file:
                file.write(whole)
            PageCache.drop(path)
            outcomes = []
            with bench.server.connect(settings=OFF) as plain, bench.session(**settings) as forced:
                damage()
                PageCache.drop(path if name != "vanished" else f"{path}.away")
                for session in (forced, plain):
                    # Nobody has it in shared buffers.
                    outcomes.append(session.run("SELECT count(*), sum(id), sum(length(memo)) FROM bad"))
            if name == "vanished":
                os.rename(f"{path}.away", path)
            states = [outcome.sqlstate if outcome.error else outcome.rows for outcome in outcomes]
            bench.check(f"{name}, {way}", None if states[0] == states[1] else f"{states}")
            bench.check(f"{name}, {way}: the service", None if bench.server.service_pid() else "is gone")


def main():
    settings = {"shared_buffers": "1MB"}
    with cluster.Cluster("direct", settings=settings, checksums=True) as server:
        bench = DirectReads(server)
        paths = make_tables(bench)
        for part in (same_rows, what_explain_says, files_go_past_the_cache, the_page_cache_stays):
            part(bench, paths)
        bad_files(bench)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
