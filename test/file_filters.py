"""file_filters.py - queries that filter the rows of files and return them, run by the engine (GpuFileScan).

Owns: what may stand around such a scan: limits, parameters, nested loops, subqueries, partitions, cursors, and what
keeps it with the wrapper. Rows are compared with the wrapper's own scan, whose every row goes through PostgreSQL.
Must never: pass where the engine did not take a query that it should.
Used by: file_scans.py.
"""

import decimal

import pyarrow as pa

ROWS, BATCH = 30000, 4000
COLUMNS = "id bigint, k int, status smallint, path text, ms float8, day date, price numeric(12,2), ok boolean"
FORCED = {"pg_turbine.debug_force_offload": "on"}

# (query, the node that filters the files; an empty one: the wrapper's)
QUERIES = [
    ("SELECT * FROM {t} WHERE k = 77", "GpuFileScan"),
    ("SELECT * FROM {t} WHERE id = 29999", "GpuFileScan"),
    ("SELECT id FROM {t} WHERE id < 0", "GpuFileScan"),
    ("SELECT path, price, ok FROM {t} WHERE status = 404 AND path LIKE '/p/1%' AND ms > 50", "GpuFileScan"),
    ("SELECT id, ms + 1 FROM {t} WHERE price BETWEEN 10.25 AND 11.5 OR path IS NULL", "GpuFileScan"),
    ("SELECT count(*), max(x.path) FROM (SELECT * FROM {t} WHERE day > '2020-01-20' OFFSET 0) x", "GpuFileScan"),
    ("SELECT id FROM {t} WHERE k = 5 ORDER BY md5(path), id LIMIT 7", "GpuFileScan"),
    ("SELECT a.id, b.id FROM {t} a, LATERAL (SELECT id FROM {t} WHERE k = a.k AND id <> a.id) b WHERE a.id = 4", "GpuJoin"),
    ("SELECT id, (SELECT count(*) FROM {t} b WHERE b.k = a.k AND b.ok) FROM {t} a WHERE a.id IN (3, 5)", "Gpu"),
    ("SELECT id FROM {t} a WHERE k = 9 AND EXISTS (SELECT FROM {t} b WHERE b.id = a.id + 1 AND b.status = 200)", "GpuJoin"),
    ("SELECT id FROM {t} WHERE k = 3 UNION ALL SELECT id FROM {t} WHERE k = 4", "GpuFileScan"),
    ("SELECT id FROM {t} WHERE md5(path) < '1' AND k = 8", "GpuFileScan"),
    ("SELECT id FROM {t} WHERE random() < 2 AND k = 8", ""),         # a filter that devices do not have
    ("SELECT t FROM {t} t WHERE k = 77", ""),                     # whole rows
    ("SELECT id, tableoid::regclass::text <> '' FROM {t} WHERE k = 77", ""),
    ("SELECT id FROM {t} WHERE k = 77 FOR UPDATE", ""),
    ("SELECT id, k FROM {t}", ""),                                # nothing to filter
]


def numbered(count):
    ints = pa.array(range(count), pa.int64())
    nulls = [None if i % 11 == 3 else f"/p/{i * 7 % 500}" for i in range(count)]
    return pa.table({"id": ints, "k": pa.array([i * 31 % 300 for i in range(count)], pa.int32()),
                     "status": pa.array([(200, 200, 200, 404, 500)[i % 5] for i in range(count)], pa.int16()),
                     "path": pa.array(nulls), "ms": pa.array([i * 13 % 1000 / 10 for i in range(count)]),
                     "day": pa.array([18262 + i // 1000 for i in range(count)], pa.int32()).cast(pa.date32()),
                     "price": pa.array([decimal.Decimal(i % 4000) / 100 for i in range(count)], pa.decimal128(12, 2)),
                     "ok": pa.array([None if i % 9 == 4 else i % 3 == 0 for i in range(count)])})


def tables_of(session, files):
    """Over an Arrow file, a Parquet file, and a partitioned table of both and a heap table."""
    for kind in ("arrow", "parquet"):
        path = files.write(f"filtered.{kind}", numbered(ROWS), rows=BATCH)
        session.query(f"CREATE FOREIGN TABLE f_{kind} ({COLUMNS}) SERVER arrow_fdw OPTIONS (file '{path}'); ANALYZE f_{kind}")
    session.query(f"CREATE TABLE f_parts ({COLUMNS}) PARTITION BY RANGE (id)")
    table = numbered(ROWS)
    for kind, first, end in (("arrow", 0, 10000), ("parquet", 10000, 20000)):
        path = files.write(f"part.{kind}", table.slice(first, end - first), rows=BATCH)
        session.query(f"CREATE FOREIGN TABLE f_parts_{kind} PARTITION OF f_parts FOR VALUES FROM ({first}) TO ({end}) "
                      f"SERVER arrow_fdw OPTIONS (file '{path}')")
    session.query("CREATE TABLE f_parts_heap PARTITION OF f_parts FOR VALUES FROM (20000) TO (40000); "
                  "INSERT INTO f_parts SELECT * FROM f_arrow WHERE id >= 20000; ANALYZE f_parts")
    return ("f_arrow", "f_parquet", "f_parts")


def filters(bench, server, files):
    with server.connect(settings={"pg_turbine.enabled": "off"}) as plain, server.connect(settings=FORCED) as forced:
        tables = tables_of(plain, files)
        for table in tables:
            for query, taken in QUERIES:
                sql = query.format(t=table)
                for use in ("off", "on", "on"):
                    forced.query(f"SET pg_turbine.enable_cache = {use}")
                    bench.equal(f"{sql}, cache {use}", sorted(map(str, forced.query(sql))), sorted(map(str, plain.query(sql))))
                plan = "\n".join(row[0] for row in forced.query(f"EXPLAIN {sql}"))
                # Of the partitioned table some queries want but the heap's rows.
                if "f_parts" not in sql or taken in ("", "GpuJoin"):
                    bench.equal(f"{sql}: taken", (taken or "GpuFileScan") in plan, taken != "")
        parameters(bench, plain, forced)
        cursors(bench, forced)
        spoilt(bench, plain, forced, files)


def parameters(bench, plain, forced):
    """A generic plan's, and those of a function."""
    for session in (plain, forced):
        session.query("PREPARE p(int, text) AS SELECT id FROM f_parquet WHERE k = $1 AND path <> $2")
        session.query("SET plan_cache_mode = force_generic_plan")
    for k, path in ((7, "'/p/3'"), (8, "'/p/9'"), (9, "NULL"), ("NULL", "'z'")):
        bench.equal(f"parameters {k}, {path}", *(sorted(session.query(f"EXECUTE p({k}, {path})")) for session in (forced, plain)))
    bench.equal("prepared: taken", "GpuFileScan" in str(forced.query("EXPLAIN EXECUTE p(1, 'x')")), True)


def cursors(bench, session):
    """One that may run backward is the wrapper's."""
    sql = "SELECT id FROM f_arrow WHERE k = 31"
    for scroll, taken in (("SCROLL", False), ("NO SCROLL", True)):
        plan = str(session.query(f"EXPLAIN DECLARE c {scroll} CURSOR FOR {sql}"))
        bench.equal(f"{scroll} cursor: taken", "GpuFileScan" in plan, taken)
        session.query(f"BEGIN; DECLARE c {scroll} CURSOR FOR {sql}")
        first, rest = session.query("FETCH 3 FROM c"), session.query("FETCH ALL FROM c")
        session.query("COMMIT")
        bench.equal(f"{scroll} cursor: rows", sorted(map(str, first + rest)), sorted(map(str, session.query(sql))))


def spoilt(bench, plain, forced, files):
    """What the engine can not take is the wrapper's to say, also where only some rows of it are wanted."""
    texts = pa.array([b"fine"] * 98 + [b"\xff\xfe"] + [b"fine"]).cast(pa.string(), safe=False)
    table = pa.table({"k": pa.array(range(100), pa.int32()), "t": texts})
    path = files.write("spoilt_text.parquet", table, rows=50)
    plain.query(f"CREATE FOREIGN TABLE f_spoilt (k int, t text) SERVER arrow_fdw OPTIONS (file '{path}')")
    for sql in ("SELECT t FROM f_spoilt WHERE k = 3", "SELECT t FROM f_spoilt WHERE k = 98", "SELECT t FROM f_spoilt WHERE k = 99",
                "SELECT k FROM f_spoilt WHERE k > 90"):
        got, wanted = forced.run(sql), plain.run(sql)
        bench.equal(f"{sql}: rows or error", (got.sqlstate, got.rows), (wanted.sqlstate, wanted.rows))
