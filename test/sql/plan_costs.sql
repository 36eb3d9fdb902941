-- At default costs: joins, aggregations and orders go to a device if that takes less time than PostgreSQL's whole plan, whatever
-- PostgreSQL charges for the pages that its indexes lead to.
CREATE TABLE t (id int, v int, n numeric(10,2), s text);
INSERT INTO t SELECT i, (i::bigint * 104729 % 1000)::int, i % 1013, md5(i::text) FROM generate_series(1, 400000) i;
CREATE TABLE few (v int, name text);
INSERT INTO few VALUES (777, 'one');
ANALYZE t;
ANALYZE few;
SET jit = off;
-- What is cached would be as fast as an index.
SET pg_turbine.enable_cache = off;
-- Forced once, so that compilation is no part of the costs.
-- offloaded: GpuPreAgg
SELECT count(*), sum(n) FROM t WHERE v = 777;
-- offloaded: GpuPreAgg
SELECT few.name, count(*), sum(t.n) FROM t JOIN few ON few.v = t.v GROUP BY few.name;
-- offloaded: GpuSort
SELECT t.n, t.id FROM t JOIN few ON few.v = t.v ORDER BY t.n DESC, t.id LIMIT 7;
-- offloaded: GpuJoin
SELECT t.n, few.name FROM t JOIN few ON few.v = t.v;
SET pg_turbine.debug_force_offload = off;
-- Without an index.
-- offloaded: GpuPreAgg
SELECT count(*), sum(n) FROM t WHERE v = 777;
-- offloaded: GpuJoin
SELECT t.n, few.name FROM t JOIN few ON few.v = t.v;
-- With one: 400 pages, which PostgreSQL charges more for than the whole table takes a device.
CREATE INDEX ON t (v);
-- not offloaded
SELECT count(*), sum(n) FROM t WHERE v = 777;
-- not offloaded
SELECT few.name, count(*), sum(t.n) FROM t JOIN few ON few.v = t.v GROUP BY few.name;
-- not offloaded
SELECT t.n, t.id FROM t JOIN few ON few.v = t.v ORDER BY t.n DESC, t.id LIMIT 7;
-- not offloaded
SELECT t.n, few.name FROM t JOIN few ON few.v = t.v;
-- Workers of PostgreSQL's beside the device.
SET max_parallel_workers_per_gather = 2;
-- not offloaded
SELECT few.name, count(*), sum(t.n) FROM t JOIN few ON few.v = t.v GROUP BY few.name;
-- offloaded: GpuPreAgg
SELECT few.name, count(*), sum(t.n), max(t.s) FROM t LEFT JOIN few ON few.v = t.v + 1 GROUP BY few.name;
DROP TABLE t, few;
