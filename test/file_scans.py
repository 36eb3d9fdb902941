#!/usr/bin/env python3
"""file_scans.py - what the engine reads of files is what the foreign data wrapper's own scan reads.

Each case asks one query of a foreign table twice, plain and forced onto a device, and compares rows or errors: declared
types that hold less than the file (lengths, digits, rounded times, domains, NOT NULL), databases of other encodings,
files that change while a query reads them; Parquet files of every kind of pages (parquet_pages.py); files that polars
and DuckDB write (other_writers.py). Then what EXPLAIN says
was read: batches excluded, by statistics, page indexes and Bloom filters; cached; neither.
Must never: compare the engine with itself: each case says whether it must be the engine's.
Called by: make test-file-scans, test/run_all.py, with the Python of build/python, which has pyarrow.
"""

import datetime
import decimal
import json
import os
import re
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import answers  # noqa: E402
import cluster  # noqa: E402
import file_filters  # noqa: E402
import other_writers  # noqa: E402
import parquet_pages  # noqa: E402
from cache_bench import Bench  # noqa: E402
from run_sql import CACHED, OFF  # noqa: E402

VALUES = {
    "v": pa.array(["abc", "ab ", "abcdef", None]),
    "w": pa.array(["äöü", "é", "z", None]),
    "n": pa.array([decimal.Decimal("12.50"), decimal.Decimal("-0.01"), decimal.Decimal("12345.67"), None], pa.decimal128(12, 2)),
    "x": pa.array([decimal.Decimal(10) ** 24, decimal.Decimal(-1), decimal.Decimal(0), None], pa.decimal128(30, 2)),
    "at": pa.array([datetime.datetime(2020, 1, 1, 0, 0, 0, 600000)] * 3 + [None], pa.timestamp("us")),
    "i": pa.array([1, 2, -1, None], pa.int32()),
}
# (column, declared type, whether it is the engine's, as far as the plan says)
DECLARED = (("v", "text", True), ("v", "varchar(6)", True), ("v", "varchar(4)", True), ("v", "char(4)", True), ("v", "char(8)", True),
            ("w", "varchar(3)", True), ("w", "varchar(2)", True), ("n", "numeric(12,2)", True), ("n", "numeric(5,2)", True),
            ("n", "numeric(7,4)", True), ("n", "numeric(12,1)", True), ("n", "numeric", True), ("x", "numeric(30,2)", True),
            ("x", "numeric(20,2)", True), ("at", "timestamp", True), ("at", "timestamp(6)", True), ("at", "timestamp(0)", False),
            ("i", "int", True), ("i", "bigint", True), ("i", "smallint", True), ("i", "positive", False), ("i", "int NOT NULL", True))


# SQLSTATE of a file that was replaced or written to while a query used it.
CHANGED = "55000"


class Files:
    def __init__(self, server):
        self.folder = server.directory / "files"
        self.folder.mkdir()
        os.chmod(self.folder, 0o755)

    def write(self, name, table, rows=None):
        """Under the name at once: a file that is read is never written to."""
        path, new = self.folder / name, self.folder / f".{name}"
        if name.endswith("parquet"):
            pq.write_table(table, new, row_group_size=rows)
        else:
            with pa.ipc.new_file(str(new), table.schema) as writer:
                writer.write_table(table, max_chunksize=rows)
        os.chmod(new, 0o644)
        os.rename(new, path)
        return path


def foreign(session, columns, path):
    session.query(f"DROP FOREIGN TABLE IF EXISTS t; CREATE FOREIGN TABLE t ({columns}) SERVER arrow_fdw OPTIONS (file '{path}')")


def plan_of(session, sql, analyze=False):
    return "\n".join(row[0] for row in session.query(f"EXPLAIN ({'ANALYZE, ' if analyze else ''}COSTS OFF) {sql}"))


def declare(session, files, column, kind, path, partitioned):
    """The name of the foreign table, or of a partitioned one of it and a heap table."""
    session.query("DROP TABLE IF EXISTS p; DROP FOREIGN TABLE IF EXISTS t")
    if not partitioned:
        foreign(session, f"{column} {kind}", path)
        return "t"
    own = "1" if column == "i" else "NULL"
    session.query(f"CREATE TABLE p (k int, {column} {kind}) PARTITION BY LIST (k); "
                  f"CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1); INSERT INTO p_1 VALUES (1, {own})")
    foreign(session, f"k int, {column} {kind}", keyed(files, path))
    session.query("ALTER TABLE p ATTACH PARTITION t FOR VALUES IN (NULL)")
    return "p"


def declared(bench, server, files):
    """A file may hold what the declared type does not: the engine finds out, and PostgreSQL says so."""
    paths = [files.write(name, pa.table(VALUES)) for name in ("declared.parquet", "declared.arrow")]
    with server.connect(settings=OFF) as plain, server.connect(settings=CACHED) as forced:
        plain.query("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
        cases = [(*row, path, partitioned) for row in DECLARED for path in paths for partitioned in (False, True)]
        for column, kind, engine, path, partitioned in cases:
            relation = declare(plain, files, column, kind, path, partitioned)
            sql = f"SELECT {column}, count(*) FROM {relation} GROUP BY 1"
            name = f"{column} {kind} of {path.suffix}{', a partition' if partitioned else ''}"
            bench.check(name, answers.difference(plain.run(sql), forced.run(sql)))
            bench.equal(f"{name}: planned for the engine", "Gpu" in plan_of(forced, sql), engine)
    named = 'file "declared.parquet", batch 0: column "v": a text is longer than the column\'s type allows'
    bench.check("the log names file, batch and column", None if named in server.logfile.read_text(errors="replace") else "no")


def keyed(files, path):
    """The file's values with a column of NULLs."""
    values = {"k": pa.array([None] * 4, pa.int32()), **VALUES}
    return files.write(f"keyed{path.suffix}", pa.table(values))


def encodings(bench, server, files):
    """Files are UTF-8 whatever the database is."""
    path = files.write("texts.parquet", pa.table({"v": pa.array(["é", "z", "ä"])}))
    with server.connect() as session:
        for encoding in ("LATIN1", "SQL_ASCII"):
            session.query(f"CREATE DATABASE {encoding} TEMPLATE template0 ENCODING {encoding} LOCALE 'C'")
    for encoding in ("LATIN1", "SQL_ASCII"):
        server.create_extension(encoding.lower())
        sql = "SELECT v, length(v), count(*) FROM t GROUP BY 1, 2"
        with server.connect(encoding.lower(), settings=OFF) as plain, server.connect(encoding.lower(), settings=CACHED) as forced:
            foreign(plain, "v text", path)
            bench.check(encoding, answers.difference(plain.run(sql), forced.run(sql)))


def numbers(first, count):
    return pa.table({"a": pa.array(range(first, first + count), pa.int32()), "b": pa.array([i % 7 for i in range(count)], pa.int16())})


def reads(bench, server, files):
    """EXPLAIN tells what was read: nothing of what statistics exclude, nothing twice unless the cache is off, or has
    forgotten it."""
    sql = "SELECT b, count(*), sum(a) FROM t WHERE a BETWEEN 2500 AND 4500 GROUP BY b"
    # Arrow files have statistics only where pg2arrow and to_arrow have written them.
    for name, excluded in (("numbers.parquet", 7), ("numbers.arrow", 0)):
        path = files.write(name, numbers(0, 10000), rows=1000)
        with server.connect(settings=CACHED) as session:
            foreign(session, "a int, b smallint", path)
            # Without the cache nothing is kept either.
            for use, cached in (("off", 0), ("off", 0), ("on", 0), ("on", 10 - excluded), ("off", 0)):
                session.query(f"SET pg_turbine.enable_cache = {use}")
                plan = plan_of(session, sql, analyze=True)
                found = re.search(r"Files: 1 batches=10 excluded=(\d+) cached=(\d+) read=(\d+)kB", plan)
                shown = found and (int(found[1]), int(found[2]), int(found[3]) > 0)
                bench.equal(f"{name}, cache {use}", shown, (excluded, cached, cached == 0))
            # The bytes of each column; a has two for each of b's, and as few nulls.
            session.query("SET pg_turbine.enable_cache = off")
            plan = "\n".join(line for line, in session.query(f"EXPLAIN (ANALYZE, VERBOSE) {sql}"))
            found = re.search(r"File Columns: a=(\d+)kB b=(\d+)kB", plan)
            of_a, of_b = (int(found[1]), int(found[2])) if found else (0, 0)
            read = int(re.search(r"read=(\d+)kB", plan)[1])
            bench.check(f"{name}: bytes by column", None if 0 <= of_a + of_b - read <= 1 and of_b > 0 else plan)
            if name.endswith(".arrow"):
                bench.equal(f"{name}: bytes of numbers", (of_a, of_b), (40, 20))
            plan = session.query(f"EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {sql}")[0][0]
            bench.check(f"{name}: bytes by column, JSON", None if re.search(r'"File Columns": {\s*"a": \d+', plan) else plan)
            session.query("SET pg_turbine.enable_cache = on")
            dropped = [int(session.value("SELECT turbine.cache_drop('t')")) for _ in range(2)]
            bench.check(f"{name}: dropped once", None if dropped[0] > 0 == dropped[1] else dropped)
            found = re.search(r"Files: 1 batches=10 excluded=\d+ cached=(\d+)", plan_of(session, sql, analyze=True))
            bench.equal(f"{name}: cached after that", found and int(found[1]), 0)
    with server.connect(settings=CACHED) as session:
        # On the same device as the one that is dropped.
        path = files.write("other.arrow", numbers(0, 500))
        session.query(f"CREATE FOREIGN TABLE other (a int, b smallint) SERVER arrow_fdw OPTIONS (file '{path}')")
        counted = [session.query(f"SELECT sum(a) FROM {table}") for table in ("other", "t", "other")]
        session.query("SELECT turbine.cache_drop('t')")
        bench.check("another file stays", None if "cached=1 " in plan_of(session, "SELECT sum(a) FROM other", analyze=True) else counted)


def bytes_of(session, sql):
    """That EXPLAIN says were read of files."""
    plan = session.query(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")[0][0]
    plan = plan if isinstance(plan, (list, dict)) else json.loads(plan)
    found = re.findall(r'"File Bytes Read": (\d+)', json.dumps(plan))
    return int(found[0]) if found else None


def read_bytes(bench, server, files):
    """Of an Arrow file that is not compressed, just the bytes of the columns that a query refers to, whatever lies beside
    them; NULLs take a bit of each row of a batch that has some."""
    rows, of_batch = 50000, 7000
    ints = pa.array(range(rows), pa.int32())
    table = pa.table({"lists": pa.array([[i, i + 1] for i in range(rows)], pa.list_(pa.int64())), "a": ints,
                      "words": pa.array([f"word {i % 100}" for i in range(rows)]).dictionary_encode(),
                      "n": pa.array([None if 100 < i < 200 else i for i in range(rows)], pa.int64()),
                      "text": pa.array([f"text {i}" for i in range(rows)]), "d": ints.cast(pa.decimal128(12, 2)),
                      "f": ints.cast(pa.float64()), "ok": pa.array([i % 3 == 0 for i in range(rows)])})
    path = files.write("widths.arrow", table, rows=of_batch)
    batches = [min(of_batch, rows - first) for first in range(0, rows, of_batch)]
    wanted = {"sum(a)": 4 * rows, "sum(f) + sum(a)": 12 * rows, "sum(d)": 16 * rows, "sum(a) FILTER (WHERE ok)":
              4 * rows + sum((count + 7) // 8 for count in batches), "sum(n)": 8 * rows + (batches[0] + 7) // 8,
              "count(*)": 0, "min(a), max(a)": 4 * rows}
    with server.connect(settings={**CACHED, "pg_turbine.enable_cache": "off"}) as session:
        foreign(session, "a int, n bigint, d numeric(12,2), f float8, ok boolean", path)
        for expression, count in wanted.items():
            sql = f"SELECT {expression} FROM t"
            session.query("SET pg_turbine.enabled = on")
            got, read = session.query(sql), bytes_of(session, sql)
            session.query("SET pg_turbine.enabled = off")
            bench.equal(f"{expression}: rows", got, session.query(sql))
            bench.equal(f"{expression}: bytes", read, count)


REWRITES = 300


def rewritten(bench, server, files):
    """A file is written over, of the same size, and queried at once: kernels before Linux 6.13 may leave its times as they were."""
    path = files.write("rewritten.arrow", numbers(0, 1000), rows=100)
    first = Path(path).read_bytes()
    files.write("rewritten.arrow", numbers(5000, 1000), rows=100)
    contents = ((first, sum(range(1000))), (Path(path).read_bytes(), sum(range(5000, 6000))))
    bench.equal("rewritten: size", len(contents[1][0]), len(first))
    with server.connect(settings=CACHED) as session:
        foreign(session, "a int, b smallint", path)
        wrong = 0
        for number in range(REWRITES):
            content, total = contents[number % 2]
            with open(path, "r+b") as file:
                file.write(content)
            wrong += session.value("SELECT sum(a) FROM t") != str(total)
        bench.equal(f"rewritten, {REWRITES} times", wrong, 0)


INDEXED_ROWS = 100000


def indexed_table():
    """Row i has the number i, and the later half 1,000,000 more; every text but `text 77` has some rows."""
    rows = range(INDEXED_ROWS)
    numbers = [i if i < INDEXED_ROWS // 2 else i + 1000000 for i in rows]
    kinds = [i * 7919 % 1000 for i in rows]
    return pa.table({
        "a": pa.array(numbers, pa.int32()), "l": pa.array([None if n % 5 == 0 else n * 1000 for n in numbers], pa.int64()),
        "b": pa.array([2 * kind for kind in kinds], pa.int32()),
        "n": pa.array([decimal.Decimal(2 * kind).scaleb(-2) for kind in kinds], pa.decimal128(12, 2)),
        "d": pa.array([datetime.date(2000, 1, 1) + datetime.timedelta(2 * kind) for kind in kinds], pa.date32()),
        "t": [f"text {kind if kind != 77 else 78}" for kind in kinds]})


ODD = ", ".join(str(n) for n in range(2001, 2101, 2))
# Of one row group: (condition, whether a Bloom filter or the pages exclude it, whether some of its pages are left out).
INDEXED = (
    ("a BETWEEN 100 AND 200", 0, 0, True), ("a > 500000 AND a < 600000", 0, 1, False), ("l = 60000000", 0, 1, False),
    ("a IN (7, 1099999)", 0, 0, False), ("a = 7 OR b = 4", 0, 0, False), ("b = 2", 0, 0, False), ("b = 1", 1, 0, False),
    ("b IN (1, 3, 5)", 1, 0, False), ("b IN (1, 2)", 0, 0, False),
    (f"b IN ({ODD})", 1, 0, False), (f"b IN (2, {ODD})", 0, 0, False), (f"n IN ({ODD}, 0.01)", 1, 0, False),
    ("t IN ('text 77', '')", 1, 0, False), ("b = 1 OR b IS NULL", 0, 0, False), ("b IN (1, NULL)", 0, 0, False),
    ("n = 0.02", 0, 0, False), ("n = 0.01", 1, 0, False),
    ("d = '2000-01-02'", 1, 0, False), ("t = 'text 77'", 1, 0, False), ("t IN ('text 77', 'text 1')", 0, 0, False),
    ("t = 'text 5' AND a < 300", 0, 0, True), ("a < 300 AND l IS NULL", 0, 0, True), ("t = '' || 'text 5'", 0, 0, False))


def indexes(bench, server, files):
    """Page indexes and Bloom filters: rows are right, and EXPLAIN tells what they left out."""
    blooms = {name: {"ndv": 1000, "fpp": 0.001} for name in ("b", "n", "d", "t")}
    for compression, dictionary, version in (("none", [], "1.0"), ("zstd", ["b", "n", "d", "t"], "1.0"),
                                             ("snappy", ["b", "n", "d", "t"], "2.0")):
        path = files.folder / "indexed.parquet"
        pq.write_table(indexed_table(), path, compression=compression, use_dictionary=dictionary, data_page_version=version,
                       write_page_index=True, data_page_size=4000, write_batch_size=500, bloom_filter_options=blooms)
        os.chmod(path, 0o644)
        with server.connect(settings=OFF) as plain, server.connect(settings=CACHED) as forced:
            foreign(plain, "a int, l bigint, b int, n numeric(12,2), d date, t text", path)
            for condition, by_bloom, by_pages, some in INDEXED:
                sql = f"SELECT t, count(*), sum(a), sum(l), min(d), sum(n) FROM t WHERE {condition} GROUP BY t"
                expected = plain.run(sql)
                for use in ("off", "on", "on"):
                    name = f"{condition}, {compression}, cache {use}"
                    forced.query(f"SET pg_turbine.enable_cache = {use}")
                    bench.check(name, answers.difference(expected, forced.run(sql)))
                    if use == "on":
                        continue
                    plan = json.loads(forced.value(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}"))[0]["Plan"]
                    while "File Batches" not in plan:
                        plan = plan["Plans"][0]
                    shown = tuple(plan[f"File Batches Excluded{how}"] for how in ("", " by Bloom Filter", " by Pages"))
                    bench.equal(f"{name}: batches excluded", shown, (by_bloom + by_pages, by_bloom, by_pages))
                    left_out = 0 < plan["File Pages Excluded"] < plan["File Pages"]
                    bench.equal(f"{name}: pages excluded", left_out, some)
                    size = sum(c.total_compressed_size for c in columns_of(path))
                    bench.equal(f"{name}: less than half is read", plan["File Bytes Read"] < size / 2,
                                bool(some or by_bloom or by_pages))
        with server.connect(settings={**CACHED, "pg_turbine.enable_cache": "off"}) as session:
            text = plan_of(session, "SELECT count(*), sum(a) FROM t WHERE a BETWEEN 100 AND 200", analyze=True)
            found = re.search(r"Excluded by File Indexes: batches by Bloom filter=0 by pages=0 pages=\d+ of \d+", text)
            bench.equal(f"EXPLAIN as text, {compression}", bool(found), True)


def columns_of(path):
    group = pq.ParquetFile(path).metadata.row_group(0)
    return [group.column(i) for i in range(group.num_columns)]


def replaced(bench, server, files):
    """A file that another takes the place of: each answer is of one of them, and later ones are of the last."""
    sql = "SELECT count(*), min(a), max(a), sum(a) FROM t"
    sizes = (1000, 60000)
    wanted = {(str(n), "0", str(n - 1), str(n * (n - 1) // 2)) for n in sizes}
    path = files.write("replaced.parquet", numbers(0, sizes[0]))
    stop = threading.Event()

    def replace():
        turn = 0
        while not stop.is_set():
            turn += 1
            files.write("replaced.parquet", numbers(0, sizes[turn % 2]), rows=5000)

    with server.connect(settings=CACHED) as session:
        foreign(session, "a int, b smallint", path)
        thread = threading.Thread(target=replace)
        thread.start()
        outcomes = [session.run(sql) for _ in range(150)]
        stop.set()
        thread.join()
        strange = [str(o.error or o.rows) for o in outcomes if (o.sqlstate != CHANGED if o.error else o.rows[0] not in wanted)]
        bench.equal("answers while the file is replaced", strange, [])
        bench.check("some are answers", None if any(not o.error for o in outcomes) else "none")
        files.write("replaced.parquet", numbers(0, sizes[1]))
        bench.equal("afterwards", session.query(sql)[0] in wanted and session.value("SELECT count(*) FROM t"), str(sizes[1]))
        # Written in place, of the same size, with the time of its content set back: the inode's time tells.
        path = files.write("in_place.arrow", numbers(0, 1000))
        foreign(session, "a int, b smallint", path)
        before, times = session.value("SELECT sum(a) FROM t"), os.stat(path)
        files.write("other.arrow", numbers(5, 1000))
        with open(path, "r+b") as target:
            target.write((files.folder / "other.arrow").read_bytes())
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        bench.equal("written in place", (before, session.value("SELECT sum(a) FROM t")), ("499500", "504500"))


def others(bench, server, files):
    """Files of polars and DuckDB, with their dictionaries, statistics and Bloom filters."""
    table = other_writers.engine_table()
    with server.connect(settings=OFF) as plain, server.connect(settings={**CACHED, "pg_turbine.enable_cache": "off"}) as forced:
        for written in (other_writers.by_polars, other_writers.by_duckdb):
            for name, path in written(table, files.folder):
                foreign(plain, other_writers.COLUMNS, path)
                for condition in other_writers.CONDITIONS:
                    sql = other_writers.QUERY.format(condition)
                    bench.check(f"{name}: {condition}", answers.difference(plain.run(sql), forced.run(sql)))
                bench.check(f"{name}: planned for the engine", None if "Gpu" in plan_of(forced, sql) else "PostgreSQL's")
                bench.equal(f"{name}: rows", plain.value("SELECT count(*) FROM t"), str(other_writers.ROWS))


def main():
    bench = Bench()
    with cluster.Cluster("file-scans") as server:
        files = Files(server)
        for case in (declared, encodings, reads, read_bytes, rewritten, indexes, replaced, others, parquet_pages.pages,
                     parquet_pages.spoilt, file_filters.filters):
            case(bench, server, files)
            print(f"  {case.__name__}: done", flush=True)
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
