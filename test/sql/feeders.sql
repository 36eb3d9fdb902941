-- Parallel workers feed blocks that are not all-visible: with them, and with the backend helping, answers are the same.
CREATE TABLE fed (id int, k int, v int, memo text) WITH (autovacuum_enabled = off);
INSERT INTO fed SELECT i, i % 7, i % 100, md5(i::text) FROM generate_series(1, 30000) i;
CREATE TABLE side (k int, name text) WITH (autovacuum_enabled = off);
INSERT INTO side SELECT i, 'side ' || i FROM generate_series(0, 5) i;
DELETE FROM fed WHERE id % 11 = 0;
UPDATE fed SET v = v + 1000 WHERE id % 13 = 0;
CREATE TABLE parted (a int, b int, c text) PARTITION BY RANGE (a);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (10000);
CREATE TABLE parted_high (c text, gone int, b int, a int);
ALTER TABLE parted_high DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_high FOR VALUES FROM (10000) TO (20000);
CREATE TABLE parted_none PARTITION OF parted FOR VALUES FROM (20000) TO (MAXVALUE);
INSERT INTO parted SELECT i, i % 9, repeat('c', i % 50) FROM generate_series(1, 19999) i;
CREATE UNLOGGED TABLE loose AS SELECT i, i % 3 AS k FROM generate_series(1, 20000) i;
CREATE TEMP TABLE own AS SELECT i, i % 3 AS k FROM generate_series(1, 20000) i;
-- before: 16
SET force_parallel_mode = on;
-- since: 16
SET debug_parallel_query = on;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
-- for leader in on off
SET parallel_leader_participation = :leader;
-- for workers in 0 1 2
SET max_parallel_workers_per_gather = :workers;
ALTER TABLE fed SET (parallel_workers = :workers);
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(id), max(memo) FROM fed;
SELECT k, count(*), sum(v), avg(id) FROM fed WHERE v > 10 GROUP BY k;
-- offloaded: GpuJoin
SELECT f.id, s.name FROM fed f JOIN side s ON s.k = f.k WHERE f.v = 17;
SELECT a.id, b.v FROM side s JOIN fed a ON a.k = s.k LEFT JOIN fed b ON b.id = a.id + 1 AND b.v < 50 WHERE a.v = 5;
SELECT s.name, count(*), sum(a.v - b.v) FROM fed a JOIN fed b ON b.id = a.id + 3 JOIN side s ON s.k = b.k GROUP BY s.name;
-- ordered
SELECT id, memo FROM fed ORDER BY memo DESC, id LIMIT 50;
SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id) FROM fed WHERE id < 500;
SELECT b, count(*), sum(a), max(length(c)) FROM parted GROUP BY b;
SELECT k, count(*) FROM loose GROUP BY k;
SELECT k, count(*) FROM own GROUP BY k;
SELECT o.k, count(*) FROM own o JOIN loose l ON l.i = o.i GROUP BY o.k;
-- Rows that come back while it is fed.
-- offloaded: GpuScan
SELECT id, memo FROM fed WHERE v = 17;
SELECT id, k FROM fed WHERE v > 1000 AND memo LIKE '%ab%';
SELECT a, b, tableoid::regclass FROM parted WHERE b = 4;
SELECT i FROM loose WHERE k = 1;
SELECT i FROM own WHERE k = 1;
SELECT count(*) FROM (SELECT id FROM fed WHERE v = 17 OFFSET 0) x JOIN (SELECT id FROM fed WHERE k = 3 OFFSET 0) y USING (id);
-- ordered
SELECT id FROM fed WHERE v = 17 ORDER BY id LIMIT 7;
-- end for
-- end for
SET parallel_leader_participation = off;
SET max_parallel_workers_per_gather = 2;
-- The table's own setting.
ALTER TABLE fed SET (parallel_workers = 0);
SELECT count(*), sum(v) FROM fed;
ALTER TABLE fed SET (parallel_workers = 5);
SELECT count(*), sum(v) FROM fed;
-- before: 16
SET force_parallel_mode = off;
-- since: 16
SET debug_parallel_query = off;
SELECT count(*), sum(v) FROM fed;
-- before: 16
SET force_parallel_mode = on;
-- since: 16
SET debug_parallel_query = on;
SET max_parallel_workers = 0;
SELECT count(*), sum(v) FROM fed;
RESET max_parallel_workers;
-- What this transaction has done itself.
BEGIN;
INSERT INTO fed SELECT i, 3, 5, 'mine' FROM generate_series(40000, 41000) i;
UPDATE fed SET v = 6 WHERE id BETWEEN 40000 AND 40500;
UPDATE fed SET v = 7 WHERE id BETWEEN 40200 AND 40300;
SELECT memo = 'mine', v, count(*) FROM fed WHERE k = 3 AND v < 10 GROUP BY 1, 2;
SAVEPOINT s;
DELETE FROM fed WHERE id BETWEEN 40100 AND 40250;
INSERT INTO fed SELECT i, 3, 8, 'mine' FROM generate_series(50000, 50100) i;
SELECT v, count(*), sum(id) FROM fed WHERE memo = 'mine' GROUP BY v;
ROLLBACK TO s;
SELECT v, count(*), sum(id) FROM fed WHERE memo = 'mine' GROUP BY v;
CREATE TABLE made AS SELECT i, i % 4 AS k FROM generate_series(1, 5000) i;
SELECT k, count(*) FROM made GROUP BY k;
TRUNCATE made;
INSERT INTO made SELECT i, 1 FROM generate_series(1, 10) i;
SELECT k, count(*) FROM made GROUP BY k;
ALTER TABLE fed ADD COLUMN w int DEFAULT 4;
SELECT w, count(*) FROM fed GROUP BY w;
ROLLBACK;
SELECT v, count(*), sum(id) FROM fed WHERE memo = 'mine' GROUP BY v;
-- Commands that write besides.
CREATE TABLE results (k int, n bigint, s bigint);
INSERT INTO results SELECT k, count(*), sum(v) FROM fed GROUP BY k;
WITH gone AS (DELETE FROM results WHERE k = 2 RETURNING k) SELECT f.k, count(*) FROM fed f JOIN gone g ON g.k = f.k GROUP BY f.k;
SELECT * FROM results;
CREATE TABLE copy AS SELECT k, max(v) AS v FROM fed GROUP BY k;
SELECT * FROM copy;
CREATE FUNCTION noted(n bigint) RETURNS bigint LANGUAGE plpgsql PARALLEL UNSAFE AS $$BEGIN INSERT INTO results VALUES (-1, n, 0); RETURN n; END$$;
SELECT noted(count(*)) FROM fed GROUP BY k;
SELECT count(*) FROM results WHERE k = -1;
-- Cursors, loops, parameters, rescans.
BEGIN;
DECLARE c CURSOR FOR SELECT id, count(*) FROM fed GROUP BY id;
MOVE 5 IN c;
INSERT INTO fed VALUES (60000, 1, 1, 'between');
SELECT count(*) FROM fed;
MOVE 100 IN c;
CLOSE c;
DECLARE w CURSOR WITH HOLD FOR SELECT k, count(*) FROM fed GROUP BY k ORDER BY k;
FETCH 2 FROM w;
COMMIT;
-- ordered
FETCH ALL FROM w;
CLOSE w;
PREPARE p (int) AS SELECT k, count(*) FROM fed WHERE v < $1 GROUP BY k;
EXECUTE p (50);
EXECUTE p (5000);
SELECT s.k, x.n FROM side s, LATERAL (SELECT count(*) AS n FROM fed f WHERE f.k = s.k AND f.v < s.k * 20 OFFSET 0) x;
DO $$DECLARE r record; n bigint := 0; BEGIN FOR r IN SELECT id, count(*) AS c FROM fed GROUP BY id LOOP n := n + r.c; EXIT WHEN n > 30; END LOOP; INSERT INTO results VALUES (-2, n, 0); END$$;
SELECT * FROM results WHERE k = -2;
DO $$BEGIN FOR i IN 1..3 LOOP BEGIN PERFORM count(*), sum(1 / (v - 5)) FROM fed; EXCEPTION WHEN division_by_zero THEN INSERT INTO results SELECT -3, i, count(*) FROM fed; END; END LOOP; END$$;
SELECT * FROM results WHERE k = -3;
-- Isolation levels.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*), sum(v) FROM fed;
SELECT k, count(*) FROM fed GROUP BY k;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), sum(v) FROM fed;
COMMIT;
-- Values that go back to PostgreSQL, and errors.
SELECT sum(1 / (v - 5)) FROM fed;
SELECT sum(1000000 * v * 1000) FROM fed;
SELECT k, sum(1 / (id - 29999)) FROM fed GROUP BY k;
CREATE TABLE wide (id int, memo text, n numeric) WITH (autovacuum_enabled = off);
ALTER TABLE wide ALTER memo SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, CASE WHEN i % 10 = 0 THEN repeat(md5(i::text), 200) ELSE md5(i::text) END, i / 7.0 FROM generate_series(1, 3000) i;
SELECT length(memo), count(*) FROM wide GROUP BY 1;
SELECT count(DISTINCT memo), min(memo), max(memo) FROM wide;
SELECT a.id FROM wide a JOIN wide b ON b.memo = a.memo WHERE a.id % 100 = 0;
SELECT id % 3, sum(n), avg(n) FROM wide GROUP BY 1;
SELECT sum(n) FROM (SELECT n FROM wide UNION ALL SELECT 'NaN'::numeric) x;
-- Below other nodes, some of which have workers of their own.
SELECT (SELECT count(*) FROM fed f WHERE f.k = s.k) AS n FROM side s;
SELECT count(*), sum(x.n) FROM (SELECT k, count(*) AS n FROM fed GROUP BY k) x JOIN (SELECT k, max(v) AS v FROM fed GROUP BY k) y USING (k);
SELECT k, count(*) FROM fed GROUP BY ROLLUP (k);
-- Rows that come back while it is fed: the client, functions and other nodes in between.
CREATE FUNCTION looked_up(int) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT name FROM side WHERE k = $1 % 6';
CREATE FUNCTION counted(int) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL RESTRICTED AS $$DECLARE n bigint; BEGIN SELECT count(*) INTO n FROM fed WHERE k = $1 AND v < 20; RETURN n; END$$;
CREATE FUNCTION fragile(a int) RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS $$BEGIN RETURN 1 / (a - 20017); END$$;
CREATE FUNCTION kept(int) RETURNS int LANGUAGE plpgsql PARALLEL UNSAFE AS $$BEGIN INSERT INTO results VALUES (-4, $1, 0); RETURN $1; EXCEPTION WHEN division_by_zero THEN RETURN 0; END$$;
SELECT id, looked_up(k) FROM fed WHERE v = 17;
SELECT id, counted(k) FROM fed WHERE v = 17 AND id < 800;
SELECT kept(id) FROM fed WHERE v = 17 AND id < 2000;
SELECT count(*), sum(n) FROM results WHERE k = -4;
SELECT id, fragile(id) FROM fed WHERE v = 17;
SELECT count(*) FROM (SELECT id FROM fed WHERE v = 17 LIMIT 50) x;
SELECT EXISTS (SELECT FROM fed WHERE v = 17), (SELECT count(*) FROM (SELECT FROM fed WHERE v = 18 LIMIT 3) x);
SELECT s.k, x.id FROM side s CROSS JOIN LATERAL (SELECT id FROM fed WHERE v = 20 + s.k AND memo > 'f' OFFSET 0) x;
SELECT s.k, (SELECT count(*) FROM (SELECT FROM fed f WHERE f.v = s.k LIMIT 40) y) FROM side s;
SELECT id FROM fed WHERE v = 17 UNION ALL SELECT a FROM parted WHERE b = 5 UNION ALL SELECT i FROM loose WHERE k = 2;
CREATE TABLE rows_copied AS SELECT id, memo FROM fed WHERE v = 17;
INSERT INTO rows_copied SELECT id, memo FROM fed WHERE v = 18;
SELECT * FROM rows_copied;
UPDATE rows_copied r SET memo = 'x' FROM (SELECT id FROM fed WHERE k = 2 AND v < 50 OFFSET 0) f WHERE f.id = r.id;
SELECT * FROM rows_copied WHERE memo = 'x';
-- ordered
SELECT id FROM fed WHERE v = 17 FOR SHARE;
-- Parameters that might raise are tried before they count, which parallel mode does not allow.
SET app.mine = '17';
-- offloaded: GpuScan
SELECT id, memo FROM fed WHERE v = current_setting('app.mine')::int;
SELECT id, memo FROM fed WHERE v = 34 / (SELECT 2);
SET app.mine = '1x';
SELECT id, memo FROM fed WHERE k = 99 AND v = current_setting('app.mine')::int;
PREPARE rows_of (int) AS SELECT id, memo FROM fed WHERE v = $1;
EXECUTE rows_of (17);
EXECUTE rows_of (1017);
EXECUTE rows_of (-1);
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM fed WHERE v = 17 ORDER BY id;
FETCH 3 FROM c;
UPDATE fed SET v = 17 WHERE id = 1;
FETCH 3 FROM c;
SAVEPOINT s;
SELECT id, fragile(id) FROM fed WHERE v = 17;
ROLLBACK TO s;
SELECT id, looked_up(k) FROM fed WHERE v = 17;
ROLLBACK;
DO $$DECLARE r record; n bigint := 0; BEGIN FOR r IN SELECT id FROM fed WHERE v = 17 LOOP n := n + r.id; EXIT WHEN n > 90000; END LOOP; INSERT INTO results VALUES (-5, n, 0); END$$;
DO $$DECLARE n bigint; BEGIN FOR i IN 1..2 LOOP BEGIN SELECT sum(fragile(id)) INTO n FROM fed WHERE v = 17; EXCEPTION WHEN division_by_zero THEN INSERT INTO results SELECT -6, i, count(*) FROM (SELECT FROM fed WHERE v = 17 OFFSET 0) x; END; END LOOP; END$$;
SELECT k, n > 0 FROM results WHERE k < -4;
SELECT id, length(memo) FROM wide WHERE id % 10 < 2 AND memo > '5';
SELECT id, 100 / (v - 5) FROM fed WHERE 1000 / (v - 6) > 10;
