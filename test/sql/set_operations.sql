-- UNION, INTERSECT, EXCEPT: branches whose rows a device makes distinct, and those where their number matters.
CREATE TABLE a (id int PRIMARY KEY, k int, t text, n numeric, w numeric(10,2), f float8, d date, b bool, c char(5));
INSERT INTO a SELECT i, nullif(i % 37, 5), nullif('t' || i % 11, 't3'), (i % 9) / 2.0, nullif(i % 50, 7) / 10.0, (i % 13) / 4.0, date '2020-01-01' + i % 30, nullif(i % 3, 2)::bool, 'c' || i % 4 FROM generate_series(1, 4000) i;
CREATE TABLE e (id bigint, k smallint, t varchar(9), n numeric, w numeric(10,2), f float8, d date, b bool, c char(5));
INSERT INTO e SELECT i, nullif(i % 23, 4), nullif('t' || i % 17, 't5'), (i % 7) / 2.0, nullif(i % 40, 3) / 10.0, (i % 9) / 4.0, date '2020-01-11' + i % 30, nullif(i % 5, 2) = 1, 'c' || i % 7 FROM generate_series(1, 3000) i;
CREATE TABLE parts (k int, t text) PARTITION BY RANGE (k);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (10) TO (100);
INSERT INTO parts SELECT i % 50, 't' || i % 21 FROM generate_series(1, 2000) i;
CREATE TABLE nothing (k int, t text);
ANALYZE a;
ANALYZE e;
ANALYZE parts;
ANALYZE nothing;
-- for column in k t w d b c k,t t,b,c d,k,w k,k
-- for operation in UNION INTERSECT EXCEPT
-- offloaded: GpuPreAgg
SELECT :column FROM a :operation SELECT :column FROM e;
-- offloaded: GpuPreAgg
SELECT count(*) FROM (SELECT :column FROM e WHERE id > 500 :operation SELECT :column FROM a WHERE id < 3000) x;
SELECT :column FROM a :operation ALL SELECT :column FROM e;
-- end for
-- end for
-- Equal values that print differently, in either branch.
-- offloaded: GpuPreAgg
SELECT n::float8 FROM a UNION SELECT n::float8 FROM e;
SELECT n FROM a EXCEPT SELECT n FROM e;
SELECT count(*) FROM (SELECT n FROM a UNION SELECT n * 1.00 FROM e) x;
-- offloaded: GpuPreAgg
SELECT f FROM a INTERSECT SELECT f FROM e;
-- Order and limit above; constants, expressions, several operations, parentheses.
-- ordered
-- offloaded: GpuPreAgg
SELECT t FROM a UNION SELECT t FROM e ORDER BY 1 DESC LIMIT 5;
-- ordered
-- offloaded: GpuPreAgg
SELECT k + 1 AS x, 'a' FROM a UNION SELECT k * 2, 'e' FROM e ORDER BY 2, 1 NULLS FIRST LIMIT 12 OFFSET 3;
-- offloaded: GpuPreAgg
SELECT k FROM a UNION SELECT k FROM e UNION SELECT id FROM a WHERE id < 20;
-- offloaded: GpuPreAgg
SELECT k FROM a UNION (SELECT k FROM e EXCEPT SELECT id FROM a);
-- offloaded: GpuPreAgg
(SELECT k FROM a UNION ALL SELECT k FROM e) EXCEPT SELECT id FROM a WHERE id > 10;
-- offloaded: GpuPreAgg
(SELECT k FROM a EXCEPT SELECT 3) UNION ALL SELECT k FROM e INTERSECT SELECT id FROM a;
SELECT k FROM a EXCEPT ALL (SELECT k FROM e UNION ALL SELECT k FROM e WHERE id < 100);
SELECT k FROM a UNION ALL (SELECT k FROM e INTERSECT ALL SELECT k FROM a);
-- offloaded: GpuPreAgg
(SELECT k FROM a EXCEPT ALL SELECT k FROM e) UNION SELECT id FROM e WHERE k = 3;
-- offloaded: GpuPreAgg
SELECT regexp_replace(t, '[0-9]', 'x') FROM a UNION SELECT md5(t) FROM e;
-- offloaded: GpuPreAgg
SELECT to_char(d, 'YYYY-MM'), length(md5(t)) FROM a EXCEPT SELECT to_char(d, 'YYYY-MM'), 32 FROM e WHERE k > 5;
-- offloaded: GpuPreAgg
SELECT k FROM a WHERE t ~ '1' INTERSECT SELECT k FROM e WHERE md5(t) > '5';
-- Joins, partitions, empty branches, branches of other kinds.
-- offloaded: GpuPreAgg
SELECT a.t, e.k FROM a JOIN e ON a.id = e.id UNION SELECT t, k FROM e WHERE id > 2900;
-- offloaded: GpuPreAgg
SELECT a.k FROM a LEFT JOIN e USING (id) WHERE e.f > 1 EXCEPT SELECT e.k FROM e JOIN a USING (id);
-- offloaded: GpuPreAgg
SELECT k, t FROM parts UNION SELECT k, t FROM a;
-- offloaded: GpuPreAgg
SELECT t FROM parts EXCEPT SELECT t FROM parts WHERE k > 20;
-- offloaded: GpuPreAgg
SELECT k, t FROM nothing UNION SELECT k, t FROM nothing;
-- offloaded: GpuPreAgg
SELECT k FROM nothing UNION SELECT count(*) FROM a GROUP BY k;
SELECT 1 FROM nothing UNION SELECT 2 FROM nothing;
SELECT 1 FROM a WHERE k < 0 UNION SELECT 2 FROM e WHERE k = 99;
-- offloaded: GpuPreAgg
SELECT k FROM a WHERE id < 0 INTERSECT SELECT k FROM a;
SELECT FROM a UNION SELECT FROM e;
SELECT k FROM a WHERE false UNION SELECT k FROM e WHERE NULL;
(SELECT k FROM a ORDER BY id LIMIT 40) UNION (SELECT k FROM e ORDER BY id DESC LIMIT 30);
SELECT DISTINCT k FROM a UNION SELECT k FROM e GROUP BY k HAVING count(*) > 130;
SELECT rank() OVER (ORDER BY k) FROM a UNION SELECT id FROM e WHERE id < 9;
SELECT generate_series(1, k) FROM a WHERE id < 9 UNION SELECT k FROM e;
SELECT count(*) > 0 FROM (SELECT k, random() FROM a UNION SELECT k, random() FROM e) x;
WITH RECURSIVE r AS (SELECT k FROM a WHERE id < 200 UNION SELECT r.k + 1 FROM r, e WHERE e.id = r.k AND r.k < 60) SELECT count(*), sum(k) FROM r;
WITH RECURSIVE r AS (SELECT k FROM a WHERE id < 20 UNION ALL SELECT k + 1 FROM r WHERE k < 30) SELECT count(*), sum(k) FROM r;
-- In subqueries, with parameters, errors.
-- offloaded: GpuPreAgg
SELECT id FROM a WHERE k IN (SELECT k FROM e EXCEPT SELECT id FROM a WHERE id % 2 = 0) AND id < 100;
-- offloaded: GpuPreAgg
SELECT x.k, count(*) FROM (SELECT k FROM a UNION SELECT id FROM e WHERE id < 9) x JOIN a ON a.id = x.k GROUP BY x.k;
SELECT id, (SELECT count(*) FROM (SELECT k FROM e WHERE e.id < a.id UNION SELECT k FROM a z WHERE z.id < a.id) y) FROM a WHERE id < 15;
-- offloaded: GpuPreAgg
SELECT 10 / k FROM a UNION SELECT 10 / (k - 1) FROM e;
-- offloaded: GpuPreAgg
SELECT (t || 'x')::text FROM a EXCEPT SELECT lpad(t, 3) FROM e;
PREPARE both_of(int) AS SELECT k FROM a WHERE id < $1 UNION SELECT k FROM e WHERE id > $1;
-- offloaded: GpuPreAgg
EXECUTE both_of(50);
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE both_of(60);
RESET plan_cache_mode;
INSERT INTO nothing SELECT k, t FROM a UNION SELECT k, t FROM e;
SELECT count(*), sum(k) FROM nothing;
