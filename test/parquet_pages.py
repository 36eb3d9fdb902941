"""parquet_pages.py - Parquet files of every compression, encoding and version of pages, read by the engine; and spoilt ones.

Owns: the ways in which pyarrow is asked to write the same rows, and queries of them. Whole files must give what PostgreSQL's
own plan gives, with the column cache and without. Of spoilt ones nobody knows what they hold: an answer or an error, and the
service is the same process as before.
Must never: pass where the engine was not asked.
Used by: file_scans.py.
"""

import datetime
import decimal
import itertools
import os
import random

import answers
import arrow_mutations
import pyarrow as pa
import pyarrow.parquet as pq
from run_sql import CACHED, OFF

ROWS, GROUP_ROWS = 30000, 20000
DEFINITION = "i int, l bigint, d date, n numeric(12,2), t text, u text, b bool, f float8"
QUERIES = ("SELECT t, count(*), count(i), sum(i), sum(l), min(d), max(d), sum(n), count(b), min(f), max(f), count(u) FROM t GROUP BY t",
           "SELECT b, count(*), count(DISTINCT u), min(l), max(i) FROM t WHERE i > 40 GROUP BY b",
           "SELECT u, count(*), sum(n) FROM t WHERE t = 'text 3' GROUP BY u")
COMPRESSIONS = ("none", "snappy", "zstd", "gzip", "lz4", "brotli")
NULLS = {"none": lambda row: False, "some": lambda row: row % 7 == 3, "runs": lambda row: row // 3000 % 2 == 1, "all": lambda row: True}
SPOILT_ROWS, SPOILT = 300, 1500


def rows_of(rng, nulls, distinct, count):
    is_null = NULLS[nulls]

    def column(value, kind):
        return pa.array([None if is_null(row) else value(rng.randrange(distinct)) for row in range(count)], kind)

    return pa.table({
        "i": column(lambda n: n * 7919 % 100003, pa.int32()), "l": column(lambda n: n * 0x9e3779b97f4a % 2 ** 50 - 2 ** 49, pa.int64()),
        "d": column(lambda n: datetime.date(1990, 1, 1) + datetime.timedelta(n % 9000), pa.date32()),
        "n": column(lambda n: decimal.Decimal(n - 50).scaleb(-2), pa.decimal128(12, 2)),
        "t": column(lambda n: f"text {n % 10}", pa.string()), "u": column(lambda n: "" if n % 9 == 0 else f"ä{n}", pa.string()),
        "b": column(lambda n: n % 3 == 0, pa.bool_()), "f": column(lambda n: n / 3, pa.float64())})


def ways(rng):
    """(name, table, options of write_table)."""
    for number, (compression, version, dictionary) in enumerate(
            itertools.product(COMPRESSIONS, ("1.0", "2.0"), ("all", "none", "small"))):
        nulls, distinct = list(NULLS)[number % 4], (5, 300, 20000)[number % 3]
        options = {"compression": compression, "data_page_version": version, "use_dictionary": dictionary != "none",
                   "data_page_size": (500, 8000, 1 << 20)[number % 3], "write_batch_size": 500,
                   "store_decimal_as_integer": number % 2 == 0}
        if dictionary == "small":
            options["dictionary_pagesize_limit"] = 400  # the rest of a chunk is PLAIN
        name = f"{compression}, {version}, dictionary {dictionary}, NULLs {nulls}, {distinct} values"
        yield name, rows_of(rng, nulls, distinct, ROWS), options
    encodings = {"i": "DELTA_BINARY_PACKED", "u": "DELTA_BYTE_ARRAY", "t": "DELTA_LENGTH_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT"}
    options = {"use_dictionary": False, "column_encoding": encodings}
    yield "distances, and encodings that libparquet reads", rows_of(rng, "some", 300, ROWS), options


def write(files, table, **options):
    path, new = files.folder / "pages.parquet", files.folder / ".pages.parquet"
    pq.write_table(table, new, **options)
    os.chmod(new, 0o644)
    os.rename(new, path)
    return path


def make_foreign(session, path):
    session.query(f"DROP FOREIGN TABLE IF EXISTS t; CREATE FOREIGN TABLE t ({DEFINITION}) SERVER arrow_fdw OPTIONS (file '{path}')")


def pages(bench, server, files):
    rng = random.Random(1)
    with server.connect(settings=OFF) as plain, server.connect(settings=CACHED) as forced:
        for name, table, options in ways(rng):
            make_foreign(plain, write(files, table, row_group_size=GROUP_ROWS, **options))
            for number, sql in enumerate(QUERIES):
                wanted = plain.run(sql)
                bench.check(f"{name}: query {number} was asked", wanted.error)
                # Off, then filled, then of the cache.
                for cache in ("off", "on", "on"):
                    forced.query(f"SET pg_turbine.enable_cache = {cache}")
                    bench.check(f"{name}: query {number}, cache {cache}", answers.difference(wanted, forced.run(sql)))
        plan = "\n".join(row[0] for row in forced.query(f"EXPLAIN (ANALYZE, COSTS OFF) {QUERIES[0]}"))
        bench.check("the engine reads pages", None if "Files: 1 batches=2" in plan else plan)


def spoilt(bench, server, files):
    """Through the engine first: it is what must not fall."""
    rng = random.Random(2)
    made = []
    for name, compression, options in (("plain", "none", {"use_dictionary": False}), ("indexes", "none", {}),
                                       ("V2", "none", {"data_page_version": "2.0"}), ("zstd", "zstd", {})):
        table = rows_of(rng, "some", 40, SPOILT_ROWS)
        path = write(files, table, row_group_size=200, compression=compression, data_page_size=300, write_batch_size=50, **options)
        made.append((name, path.read_bytes()))
    path = files.folder / "spoilt.parquet"
    service, rows, errors, strange = server.service_pid(), 0, 0, []
    with server.connect(settings={**CACHED, "pg_turbine.enable_cache": "off"}) as session:
        path.write_bytes(made[0][1])
        make_foreign(session, path)
        for number in range(SPOILT):
            name, content = made[number % len(made)]
            path.write_bytes(arrow_mutations.spoil(content, rng))
            outcome = session.run(QUERIES[0])
            rows, errors = rows + (outcome.error is None), errors + (outcome.error is not None)
            if outcome.error and not outcome.sqlstate.startswith(arrow_mutations.CLASSES):
                strange.append(f"mutation {number} of {name}: {outcome.error.fields}")
    bench.equal("errors of spoilt files", strange, [])
    bench.check("some are noticed, some do not matter", None if errors > SPOILT / 20 and rows > SPOILT / 20 else (errors, rows))
    bench.equal("the service lives", server.service_pid(), service)
