-- GpuScan below PostgreSQL's Gather: workers share the table's blocks, whatever stands above, and rows are the same.
CREATE TABLE wide (id int, k int, v int, memo text, at timestamp) WITH (autovacuum_enabled = off);
INSERT INTO wide SELECT i, i % 7, i % 100, repeat(md5(i::text), 6), timestamp '2024-01-01' + i * interval '1 minute'
  FROM generate_series(1, 40000) i;
ANALYZE wide;
CREATE TABLE side (k int, name text);
INSERT INTO side SELECT i, 'side ' || i FROM generate_series(0, 5) i;
ANALYZE side;
CREATE TABLE parted (a int, b int, c text) PARTITION BY RANGE (a);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (20000);
CREATE TABLE parted_high (c text, gone int, b int, a int);
ALTER TABLE parted_high DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_high FOR VALUES FROM (20000) TO (MAXVALUE);
INSERT INTO parted SELECT i, i % 9, repeat('c', 100 + i % 300) FROM generate_series(1, 39999) i;
ANALYZE parted;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
-- for leader in on off
SET parallel_leader_participation = :leader;
-- for workers in 1 2 5
SET max_parallel_workers_per_gather = :workers;
ALTER TABLE wide SET (parallel_workers = :workers);
SELECT id, reverse(memo) FROM wide WHERE v = 17;
-- offloaded: ParallelGpuScan
SELECT reverse(memo) < '8', count(*), sum(v), min(id), sum(length(reverse(memo))::float8) FROM wide WHERE v > 50 GROUP BY 1;
SELECT count(*), max(reverse(memo)) FROM wide WHERE k < 3 AND memo ~ '^[0-4][a-f]';
-- offloaded: ParallelGpuScan
SELECT s.name, count(*), max(initcap(w.memo)) FROM wide w JOIN side s ON w.k = s.k AND reverse(s.name) <> w.memo WHERE w.v < 40 AND md5(w.memo) > '8' GROUP BY s.name;
SELECT b, count(*), max(reverse(c)) FROM parted WHERE a % 3 = 1 GROUP BY b;
SELECT a, tableoid::regclass FROM parted WHERE b = 4 AND reverse(c) LIKE 'cc%' AND a % 50 = 7;
-- Nothing passes, all passes.
SELECT count(*), max(reverse(memo)) FROM wide WHERE v < 0;
SELECT count(*), max(reverse(memo)) FROM wide WHERE v >= 0;
-- end for
-- end for
-- ordered
SELECT id, reverse(memo) FROM wide WHERE v = 17 ORDER BY id LIMIT 7;
SELECT count(*) FROM (SELECT id FROM wide WHERE v > 3 AND reverse(memo) > '1' LIMIT 11) x;
-- The plan below is run again and again.
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT s.k, x.n, x.m FROM side s LEFT JOIN (SELECT count(*) AS n, max(reverse(memo)) AS m FROM wide WHERE v > 90 OFFSET 0) x ON x.n > s.k;
SELECT s.k, count(*) FROM side s LEFT JOIN (SELECT k, reverse(memo) AS r FROM wide WHERE v = 3 LIMIT 200) x ON x.r > s.name GROUP BY s.k;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- Parameters: the client's, an init plan's, and those that are no constants.
PREPARE p (int, text) AS SELECT k, count(*), max(reverse(memo)) FROM wide WHERE v = $1 AND memo > $2 GROUP BY k;
SET plan_cache_mode = force_generic_plan;
EXECUTE p (5, '3');
EXECUTE p (NULL, '3');
EXECUTE p (7, 'zzz');
RESET plan_cache_mode;
SELECT count(*), max(reverse(memo)) FROM wide WHERE v = (SELECT max(k) FROM side);
SELECT count(*), max(reverse(memo)) FROM wide WHERE at < timestamp '2024-01-05' + (SELECT interval '1 day' * max(k) FROM side);
-- Errors are those of whoever meets them.
SELECT count(reverse(memo)) FROM wide WHERE 10 / (v - 17) > 3;
SELECT max(reverse(memo)) FROM wide WHERE v + 2147483600 > 0;
-- Long texts.
CREATE TABLE long_texts (id int, t text);
ALTER TABLE long_texts ALTER t SET STORAGE EXTERNAL;
INSERT INTO long_texts SELECT i, repeat(md5(i::text), CASE WHEN i % 10 = 0 THEN 200 ELSE 8 END) FROM generate_series(1, 8000) i;
ANALYZE long_texts;
SELECT count(*), max(reverse(t)) FROM long_texts WHERE length(t) > 1000;
SELECT count(*), max(reverse(t)) FROM long_texts WHERE t LIKE 'a%';
-- What this transaction has done itself, of which workers know the rows but not that the table is new.
BEGIN;
INSERT INTO wide SELECT i, 3, 17, 'mine', NULL FROM generate_series(50000, 51000) i;
UPDATE wide SET v = 6 WHERE id BETWEEN 50000 AND 50500;
SELECT v, count(*), max(reverse(memo)) FROM wide WHERE id >= 50000 GROUP BY v;
SAVEPOINT s;
DELETE FROM wide WHERE id BETWEEN 50100 AND 50250;
SELECT v, count(*), max(reverse(memo)) FROM wide WHERE id >= 49990 GROUP BY v;
ROLLBACK TO s;
SELECT v, count(*), max(reverse(memo)) FROM wide WHERE id >= 49990 GROUP BY v;
CREATE TABLE made AS SELECT i, repeat('x', 300) AS t FROM generate_series(1, 30000) i;
ANALYZE made;
SELECT count(*), max(reverse(t)) FROM made WHERE i > 100;
TRUNCATE made;
INSERT INTO made SELECT i, 'new' FROM generate_series(1, 10) i;
SELECT count(*), max(reverse(t)) FROM made WHERE i > 3;
ROLLBACK;
-- Changes that come later, under a snapshot that is older.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*), max(reverse(memo)) FROM wide WHERE k = 2;
SELECT count(*), max(reverse(memo)) FROM wide WHERE k = 2;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), max(reverse(memo)) FROM wide WHERE k = 2;
COMMIT;
-- Rows of a materialized view, and for roles that may see some.
CREATE MATERIALIZED VIEW kept AS SELECT * FROM wide WHERE k < 5;
ANALYZE kept;
SELECT count(*), max(reverse(memo)) FROM kept WHERE v < 30;
ALTER TABLE wide ENABLE ROW LEVEL SECURITY;
CREATE ROLE parallel_reader;
GRANT SELECT ON wide TO parallel_reader;
CREATE POLICY half ON wide TO parallel_reader USING (id % 2 = 0);
SET ROLE parallel_reader;
SELECT count(*), max(reverse(memo)) FROM wide WHERE v < 30;
RESET ROLE;
DROP OWNED BY parallel_reader;
DROP ROLE parallel_reader;
