-- At default costs: a scan goes to a device if that takes less time than PostgreSQL's own, whatever PostgreSQL charges for pages.
CREATE TABLE t (id int, g int, v int, n numeric(10,2), s text);
INSERT INTO t SELECT i, i::bigint * 7919 % 300, (i::bigint * 104729 % 1000)::int, i % 1013, md5(i::text) FROM generate_series(1, 400000) i;
CREATE TABLE wide (id int, v int, s text);
INSERT INTO wide SELECT i, i % 1000, repeat(md5(i::text), 20) FROM generate_series(1, 60000) i;
ANALYZE t;
ANALYZE wide;
SET pg_turbine.debug_force_offload = off;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
-- Few rows come back.
-- offloaded: GpuScan
SELECT id, s FROM t WHERE v = 777;
-- offloaded: GpuScan
SELECT id FROM t WHERE s LIKE '%a1b2%';
-- offloaded: GpuScan
SELECT id, n FROM t WHERE n = 77 AND s ~ '^a';
-- offloaded: GpuScan
SELECT string_agg(reverse(s), ',' ORDER BY id) FROM t WHERE v < 5;
-- Nearly all come back, to be formed one by one.
-- not offloaded
SELECT id, v, s FROM t WHERE v >= 10;
-- not offloaded
SELECT * FROM t WHERE n >= 1;
-- not offloaded
SELECT max(reverse(s)), count(*) FROM t WHERE v <> 3;
-- not offloaded
SELECT id, v FROM wide WHERE v > 5;
-- The same above parallel scans.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
-- not offloaded
SELECT max(reverse(s)), count(*) FROM t WHERE v <> 3;
-- not offloaded
SELECT id, v, s FROM t WHERE v >= 10;
-- offloaded: GpuScan
SELECT id, s FROM t WHERE v = 777;
-- What stands above the scan takes longer than the scan, and workers share it.
-- shows: Node Type: Gather
SELECT max(regexp_replace(s, '[0-9]+', '#', 'g')), count(*) FROM t WHERE v < 50;
SET max_parallel_workers_per_gather = 0;
-- shows: Node Type: Custom Scan
SELECT max(regexp_replace(s, '[0-9]+', '#', 'g')), count(*) FROM t WHERE v < 50;
-- Indexes: rows that lie together, rows that do not, none but the index.
CREATE INDEX ON t (id);
CREATE INDEX ON t (v, id);
VACUUM t;
-- not offloaded
SELECT * FROM t WHERE id = 4711;
-- not offloaded
SELECT * FROM t WHERE id BETWEEN 100000 AND 110000;
-- not offloaded
SELECT max(reverse(s)) FROM t WHERE id BETWEEN 100000 AND 110000 AND n > 5;
-- not offloaded
SELECT id, s FROM t WHERE v = 777;
-- not offloaded
SELECT id FROM t WHERE v BETWEEN 770 AND 790;
-- not offloaded
SELECT id, s FROM t WHERE v = 777 AND s LIKE '%ab%';
-- An index that would lead to all of the table's pages.
-- offloaded: GpuScan
SELECT id, s FROM t WHERE v BETWEEN 100 AND 900 AND s LIKE '%a1b%';
-- A nested loop over an index, instead of a hash join over a scan that would take longer.
CREATE TABLE few (v int, name text);
INSERT INTO few SELECT i, 'name ' || i FROM generate_series(1, 3) i;
ANALYZE few;
-- not offloaded
SELECT t.id, few.name FROM t JOIN few ON few.v = t.v WHERE t.n > 500 AND t.s ~ '^ab' AND few.name ~ 'name';
-- not offloaded
SELECT max(reverse(t.s)) FROM t JOIN few ON few.v = t.v WHERE t.n <> 500 AND few.name ~ '1';
-- Most of a table is newer than its statistics: how many rows a scan gives to a join is not known, and PostgreSQL's workers
-- may be what the join needs.
SET max_parallel_workers_per_gather = 2;
SET pg_turbine.enable_join = off;
SET pg_turbine.enable_aggregate = off;
CREATE TABLE grown (id int, v int, s text);
INSERT INTO grown SELECT i, i % 1000, md5(i::text) FROM generate_series(1, 200000) i;
ANALYZE grown;
INSERT INTO grown SELECT i, i % 1000, md5(i::text) FROM generate_series(200001, 400000) i;
SELECT pg_stat_force_next_flush();
-- not offloaded
SELECT count(*), max(reverse(grown.s)) FROM grown JOIN few ON few.v = grown.id % 5 WHERE grown.v = 777;
-- not offloaded
SELECT id, reverse(s) FROM grown WHERE v = 777;
ANALYZE grown;
-- offloaded: GpuScan
SELECT count(*), max(reverse(grown.s)) FROM grown JOIN few ON few.v = grown.id % 5 WHERE grown.v = 777;
-- offloaded: GpuScan
SELECT id, reverse(s) FROM grown WHERE v = 777;
RESET pg_turbine.enable_join;
RESET pg_turbine.enable_aggregate;
SET max_parallel_workers_per_gather = 0;
DROP TABLE t, wide, few, grown;
