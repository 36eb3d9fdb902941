-- What surrounds a node in a plan: cursors, prepared statements, rescans, limits, init plans, workers, writes.
CREATE TABLE q (id int, k int, v int, t text);
INSERT INTO q SELECT i, i % 20, i * 37 % 1009, 'text ' || i % 13 FROM generate_series(1, 20000) i;
ANALYZE q;
-- Cursors.
BEGIN;
DECLARE c CURSOR FOR SELECT id, v FROM q WHERE v > 500;
-- ordered
FETCH 3 FROM c;
-- ordered
FETCH 1000 FROM c;
MOVE 100 FROM c;
-- ordered
FETCH 2 FROM c;
CLOSE c;
DECLARE c SCROLL CURSOR FOR SELECT id, v FROM q WHERE v > 500;
-- ordered
FETCH 5 FROM c;
-- ordered
FETCH BACKWARD 3 FROM c;
-- ordered
FETCH LAST FROM c;
-- ordered
FETCH ABSOLUTE 10 FROM c;
-- ordered
FETCH PRIOR FROM c;
CLOSE c;
DECLARE h CURSOR WITH HOLD FOR SELECT k, count(*) FROM q WHERE v > 10 GROUP BY k;
DECLARE h2 CURSOR WITH HOLD FOR SELECT id FROM q WHERE v = 77;
COMMIT;
FETCH ALL FROM h;
FETCH ALL FROM h2;
CLOSE h;
CLOSE h2;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM q WHERE v = 100;
UPDATE q SET v = 101 WHERE id = 5;
INSERT INTO q VALUES (-1, 0, 100, 'new');
FETCH ALL FROM c;
SELECT count(*) FROM q WHERE v = 100;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM q WHERE v = 101 FOR UPDATE;
FETCH 1 FROM c;
UPDATE q SET k = 99 WHERE CURRENT OF c;
SELECT id, k FROM q WHERE k = 99;
ROLLBACK;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM q WHERE v = 101;
FETCH 2 FROM c;
UPDATE q SET k = 98 WHERE CURRENT OF c;
SELECT id, k FROM q WHERE k = 98;
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM q WHERE v = 101;
FETCH 2 FROM c;
UPDATE q SET k = 97 WHERE CURRENT OF c;
SELECT id, k FROM q WHERE k = 97;
ROLLBACK;
BEGIN;
DECLARE a CURSOR FOR SELECT id FROM q WHERE v > 900;
DECLARE b CURSOR FOR SELECT k, sum(v) FROM q GROUP BY k;
-- ordered
FETCH 2 FROM a;
FETCH ALL FROM b;
-- ordered
FETCH 2 FROM a;
SAVEPOINT s;
SELECT 1/0;
ROLLBACK TO s;
-- ordered
FETCH 2 FROM a;
COMMIT;
-- Prepared statements.
PREPARE p (int, text) AS SELECT id FROM q WHERE v > $1 AND t = $2;
SET plan_cache_mode = force_custom_plan;
-- offloaded: GpuScan
EXECUTE p (900, 'text 3');
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuScan
EXECUTE p (900, 'text 3');
EXECUTE p (1000, 'text 4');
EXECUTE p (NULL, 'text 4');
EXECUTE p (1000, NULL);
PREPARE pa (int) AS SELECT k, sum(v + $1), count(*) FROM q WHERE v % $1 = 0 GROUP BY k;
-- offloaded: GpuPreAgg
EXECUTE pa (7);
EXECUTE pa (1);
EXECUTE pa (0);
EXECUTE pa (NULL);
PREPARE pn (numeric) AS SELECT count(*) FROM q WHERE v > $1;
EXECUTE pn (500.5);
EXECUTE pn ('NaN');
EXECUTE pn (1e40);
PREPARE pl (text) AS SELECT count(*) FROM q WHERE t LIKE $1;
EXECUTE pl ('%1%');
EXECUTE pl ('text 1');
EXECUTE pl (NULL);
EXECUTE pl ('%\');
PREPARE pi (int[]) AS SELECT count(*) FROM q WHERE k = ANY ($1);
EXECUTE pi ('{1,2,3}');
EXECUTE pi ('{}');
EXECUTE pi (NULL);
EXECUTE pi ('{1,NULL}');
RESET plan_cache_mode;
EXECUTE p (900, 'text 5');
EXECUTE p (900, 'text 5');
EXECUTE p (900, 'text 5');
EXECUTE p (900, 'text 5');
EXECUTE p (900, 'text 5');
EXECUTE p (900, 'text 5');
EXECUTE p (900, 'text 5');
ALTER TABLE q ADD COLUMN extra int DEFAULT 3;
EXECUTE p (900, 'text 5');
EXECUTE pa (7);
ALTER TABLE q DROP COLUMN extra;
EXECUTE p (900, 'text 5');
CREATE INDEX ON q (v);
EXECUTE p (900, 'text 5');
DEALLOCATE ALL;
-- Rescans.
SELECT o.k, i.n FROM (VALUES (1), (2), (3)) o(k), LATERAL (SELECT count(*) AS n FROM q WHERE q.k = o.k) i;
SELECT o.k, i.id FROM (VALUES (1), (2), (30)) o(k), LATERAL (SELECT id FROM q WHERE q.k = o.k AND v > 1000) i;
SELECT o.k, i.s FROM (VALUES (5), (500)) o(k) LEFT JOIN LATERAL (SELECT sum(v) AS s FROM q WHERE v > o.k HAVING count(*) > 3) i ON true;
SELECT k, (SELECT max(v) FROM q i WHERE i.k = o.k AND i.v < o.k * 40) FROM (SELECT DISTINCT k FROM q) o;
SELECT count(*) FROM q a WHERE a.v = (SELECT max(v) FROM q) ;
SELECT count(*) FROM q a WHERE EXISTS (SELECT 1 FROM q b WHERE b.id = a.id AND b.v > 1000);
SELECT id FROM q WHERE v > (SELECT avg(v) * 2 FROM q) LIMIT 5;
SELECT id FROM q WHERE v = (SELECT 77) AND k > (SELECT min(k) FROM q);
SELECT CASE WHEN count(*) > 0 THEN 1 ELSE (SELECT 1/0 FROM q LIMIT 1) END FROM q;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*) FROM (SELECT * FROM q WHERE v > 1000) a JOIN (SELECT * FROM q WHERE k = 3 AND v > 1000) b ON a.k > b.k;
SET enable_material = off;
SELECT count(*) FROM (SELECT * FROM q WHERE v > 1003) a JOIN (SELECT * FROM q WHERE k = 3 AND v > 1000) b ON a.k > b.k;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
-- plpgsql loops.
CREATE FUNCTION total(bound int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE sum bigint := 0; r record; n bigint;
BEGIN
  FOR r IN SELECT id, v FROM q WHERE v > bound LOOP
    sum := sum + r.v;
    IF r.id % 100 = 0 THEN
      SELECT count(*) INTO n FROM q WHERE k = r.id % 7;
      sum := sum + n;
    END IF;
    EXIT WHEN sum > 10000000;
  END LOOP;
  RETURN sum;
END $$;
SELECT total(900);
SELECT total(10000);
CREATE FUNCTION caught(divisor int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  FOR i IN 1 .. 3 LOOP
    BEGIN
      SELECT sum(v / (k - divisor)) INTO n FROM q;
      RETURN n::text;
    EXCEPTION WHEN division_by_zero THEN
      divisor := divisor + 100;
    END;
  END LOOP;
  RETURN 'never';
END $$;
SELECT caught(3);
SELECT caught(-3);
CREATE FUNCTION first_ids(bound int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT id FROM q WHERE v > bound';
SELECT count(*) FROM first_ids(1000);
SELECT count(*) FROM (SELECT * FROM first_ids(1005) LIMIT 2) x;
-- Limits, order, set operations.
-- ordered
SELECT id FROM q WHERE v > 5 LIMIT 7;
SELECT count(*) FROM (SELECT id FROM q WHERE v > 5 LIMIT 7777) x;
-- ordered
SELECT id, v FROM q WHERE k = 3 ORDER BY v DESC, id LIMIT 5;
SELECT id FROM q WHERE v > 5 LIMIT 0;
-- ordered
SELECT id FROM q WHERE v > 5 OFFSET 19000 LIMIT 3;
SELECT id FROM q WHERE v = 3 UNION SELECT id FROM q WHERE v = 4 EXCEPT SELECT id FROM q WHERE k = 1;
SELECT a.id, b.id FROM q a JOIN q b ON a.id = b.id + 1 WHERE a.v > 1000 AND b.v < 10;
SELECT a.k, count(*) FROM q a LEFT JOIN q b ON a.id = b.v WHERE a.v > 900 GROUP BY a.k;
SELECT a.k, count(b.id) FROM q a FULL JOIN q b ON a.id = b.v GROUP BY a.k;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT count(*) FROM q WHERE v = 5)) SELECT count(*) FROM r;
-- Parallel workers.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT k, count(*), sum(v) FROM q WHERE v > 10 GROUP BY k;
SELECT id FROM q WHERE v = 13;
SELECT count(*) FROM q a JOIN q b ON a.id = b.v WHERE a.v < 100;
SELECT count(*), sum(v) FROM q;
SET max_parallel_workers_per_gather = 0;
-- Writes.
UPDATE q SET v = v + 1 WHERE v > 1000 RETURNING id, v;
SELECT count(*), sum(v) FROM q WHERE v > 1000;
DELETE FROM q WHERE k = 7 AND v > 900;
SELECT count(*), sum(v) FROM q;
UPDATE q SET t = s.t FROM (SELECT k, max(t COLLATE "C") AS t FROM q GROUP BY k) s WHERE q.k = s.k AND q.v < 20;
SELECT t, count(*) FROM q WHERE v < 20 GROUP BY t;
DELETE FROM q USING (SELECT id FROM q WHERE v = 50) d WHERE q.id = d.id;
SELECT count(*) FROM q;
MERGE INTO q USING (SELECT id, v FROM q WHERE v > 1005) s ON q.id = s.id WHEN MATCHED THEN UPDATE SET v = -1;
SELECT count(*) FROM q WHERE v = -1;
SELECT id FROM q WHERE v = -1 FOR UPDATE;
SELECT id FROM q WHERE v = 300 FOR SHARE SKIP LOCKED;
DROP FUNCTION total, caught, first_ids;
TRUNCATE q;
SELECT count(*) FROM q;
SELECT k, count(*) FROM q GROUP BY k;
SELECT id FROM q WHERE v > 3;
DROP TABLE q;
