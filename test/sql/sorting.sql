-- ORDER BY, LIMIT, WITH TIES and DISTINCT ON over rows, joins and groups.
CREATE TABLE s (id int NOT NULL, k int, b bigint, h smallint, n numeric(12,3), w numeric(30,6), u numeric, f float8, r float4, t text, v varchar(20), c char(6), d date, ts timestamp, tz timestamptz, flag bool);
INSERT INTO s SELECT i, nullif(i * 7 % 23, 5), (i * 7919 % 1009) * 10000000000, nullif(i % 100 - 50, 3), nullif((i * 37 % 501) / 8.0, 2), (i * 31 % 97) * 1000000000000.5, nullif((i % 40) / 10.0, 1), CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN -0.0 ELSE (i % 64) / 4.0 END, (i % 32) / 8.0, nullif('text ' || i * 13 % 211, 'text 7'), 'v' || i % 17, 'c' || i % 12, date '2000-01-01' + i * 11 % 777, timestamp '2001-02-03 04:05:06' + i % 333 * interval '1 hour', timestamptz '2001-02-03 04:05:06+00' - i % 333 * interval '7 minutes', nullif(i % 3, 2)::bool FROM generate_series(1, 4000) i;
INSERT INTO s (id) SELECT i FROM generate_series(4001, 4010) i;
INSERT INTO s (id, d, ts) VALUES (4011, 'infinity', 'infinity'), (4012, '-infinity', '-infinity');
CREATE TABLE one (id int PRIMARY KEY, name text, weight numeric(6,2));
INSERT INTO one SELECT i, 'name ' || i % 9, i / 4.0 FROM generate_series(0, 22) i;
CREATE TABLE hollow (id int, v text);
ANALYZE s;
ANALYZE one;
ANALYZE hollow;
-- Every type, up and down, NULLs first and last.
-- for kind in id k b h n w u f r t v c d ts tz flag
-- ordered
-- offloaded: GpuSort
SELECT id, :kind FROM s ORDER BY :kind, id LIMIT 60;
-- ordered
-- offloaded: GpuSort
SELECT id, :kind FROM s ORDER BY :kind DESC, id DESC LIMIT 60;
-- ordered
-- offloaded: GpuSort
SELECT id, :kind FROM s ORDER BY :kind NULLS FIRST, id LIMIT 60;
-- ordered
-- offloaded: GpuSort
SELECT id, :kind FROM s WHERE id % 20 = 1 OR id > 3990 ORDER BY :kind DESC NULLS LAST, id;
-- end for
-- All rows; few columns; many keys.
-- ordered
-- offloaded: GpuSort
SELECT id FROM s ORDER BY t, id;
-- ordered
-- offloaded: GpuSort
SELECT * FROM s ORDER BY flag DESC, h, c NULLS FIRST, r DESC, id;
-- offloaded: GpuSort
SELECT k FROM s ORDER BY k;
-- ordered
-- offloaded: GpuSort
SELECT count(*) FROM (SELECT id FROM s ORDER BY b, id LIMIT 1234) x;
-- Keys that are computed, that are not returned, that are returned as well.
-- ordered
-- offloaded: GpuSort
SELECT id FROM s WHERE k IS NOT NULL ORDER BY k * 3 - id % 7, id LIMIT 25;
-- ordered
-- offloaded: GpuSort
SELECT id, n * 2 AS twice, n * 2 + 1 FROM s ORDER BY twice DESC NULLS LAST, id LIMIT 25;
-- ordered
-- offloaded: GpuSort
SELECT id, CASE WHEN k > 10 THEN 'high' ELSE 'low' END AS class FROM s ORDER BY 2, 1 DESC LIMIT 25;
-- ordered
-- offloaded: GpuSort
SELECT id, upper(t), length(coalesce(t, '')) FROM s WHERE id < 50 ORDER BY n, id;
-- ordered
-- offloaded: GpuSort
SELECT extract(year FROM d), id FROM s ORDER BY extract(month FROM d), d, id LIMIT 25;
-- ordered
-- offloaded: GpuSort
SELECT id, f FROM s ORDER BY abs(f) DESC NULLS LAST, f, id LIMIT 300;
-- ordered
-- offloaded: GpuSort
SELECT id, id FROM s ORDER BY 1, 2 DESC LIMIT 3;
-- ordered
-- offloaded: GpuSort
SELECT k, n, id FROM s WHERE k = 3 ORDER BY k, n, id LIMIT 9;
-- ordered
-- offloaded: GpuSort
SELECT id, CASE WHEN id % 2 = 0 THEN u ELSE n END AS mixed FROM s WHERE id < 100 ORDER BY mixed, id;
-- Limits.
-- for count in 0 1 2 31 32 33 4000 4012 4013 100000
-- ordered
-- offloaded: GpuSort
SELECT id, k FROM s ORDER BY k, id LIMIT :count;
-- ordered
-- offloaded: GpuSort
SELECT id, k FROM s ORDER BY k DESC, id OFFSET :count LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k, count(*) FROM s GROUP BY k ORDER BY k LIMIT :count;
-- ordered
-- offloaded: GpuSort
SELECT k FROM s WHERE id <= 4012 ORDER BY k FETCH FIRST :count ROWS WITH TIES;
-- end for
-- ordered
-- offloaded: GpuSort
SELECT id FROM s ORDER BY id LIMIT NULL OFFSET 4005;
-- ordered
-- offloaded: GpuSort
SELECT id FROM s ORDER BY id LIMIT ALL OFFSET NULL;
-- ordered
-- offloaded: GpuSort
SELECT id FROM s ORDER BY id LIMIT 9223372036854775807 OFFSET 4008;
-- ordered
-- offloaded: GpuSort
SELECT id FROM s ORDER BY id LIMIT 2 + 3;
-- ordered
-- offloaded: GpuSort
SELECT id FROM s ORDER BY id LIMIT (SELECT 4);
SELECT id FROM s ORDER BY id LIMIT -1;
SELECT id FROM s ORDER BY id OFFSET -1;
-- offloaded: GpuSort
SELECT n FROM s ORDER BY n DESC NULLS LAST OFFSET 3 FETCH FIRST 4 ROWS WITH TIES;
-- offloaded: GpuSort
SELECT k, h FROM s ORDER BY k, h FETCH FIRST 10 ROWS WITH TIES;
-- Errors of rows that the limit drops.
SELECT id, 10 / (id - 3) FROM s ORDER BY n, id LIMIT 5;
SELECT id, upper(t), 10 / (id - 3) FROM s ORDER BY n, id LIMIT 5;
SELECT DISTINCT ON (k) k, 10 / (id - 3) FROM s ORDER BY k, id DESC;
SELECT k, 10 / (min(id) - 3) FROM s GROUP BY k ORDER BY k LIMIT 1;
-- ordered
-- offloaded: GpuSort
SELECT id, 10 / (id + 3), k = 3 OR flag FROM s ORDER BY n, id LIMIT 5;
-- Volatile and set-returning targets.
-- ordered
-- offloaded: GpuSort
SELECT id, random() < 2 FROM s ORDER BY n, id LIMIT 10;
-- ordered
SELECT id, generate_series(1, 2) AS i FROM s ORDER BY id, i LIMIT 7;
-- ordered
SELECT id FROM s WHERE id < 5 ORDER BY random() * 0 + id;
-- Joins.
-- ordered
-- offloaded: GpuSort
SELECT s.id, name, n FROM s JOIN one ON s.k = one.id ORDER BY n DESC NULLS LAST, s.id LIMIT 20;
-- ordered
-- offloaded: GpuSort
SELECT s.id, name, weight FROM s LEFT JOIN one ON s.k = one.id ORDER BY name NULLS FIRST, weight * s.id, s.id LIMIT 40;
-- ordered
-- offloaded: GpuSort
SELECT a.id, b.id FROM s a JOIN s b ON a.id = b.h WHERE a.id < 30 ORDER BY b.b, b.id LIMIT 12;
-- offloaded: GpuSort
SELECT name FROM s JOIN one ON s.k = one.id ORDER BY name DESC FETCH FIRST 5 ROWS WITH TIES;
-- Groups: by keys, by aggregates.
-- ordered
-- offloaded: GpuSort
SELECT k, count(*), sum(n), avg(f) FROM s WHERE f < 1e10 GROUP BY k ORDER BY sum(n) DESC NULLS LAST, k LIMIT 7;
-- ordered
-- offloaded: GpuSort
SELECT k, c, sum(b) AS total FROM s GROUP BY k, c ORDER BY total DESC, k, c LIMIT 30;
-- ordered
-- offloaded: GpuSort
SELECT t, min(d), max(ts) FROM s GROUP BY t ORDER BY max(ts) DESC, min(d), t LIMIT 20;
-- ordered
-- offloaded: GpuSort
SELECT k, bool_and(flag), count(flag) FROM s GROUP BY k ORDER BY bool_and(flag), count(flag) DESC, k;
-- ordered
-- offloaded: GpuSort
SELECT k, sum(r + f) FROM s WHERE f BETWEEN 0 AND 100 GROUP BY k ORDER BY sum(f), k LIMIT 9;
-- ordered
-- offloaded: GpuSort
SELECT k + 1, count(*) FROM s GROUP BY k + 1 ORDER BY k + 1 DESC LIMIT 4;
-- ordered
-- offloaded: GpuSort
SELECT k, max(n) / count(*) FROM s GROUP BY k ORDER BY count(*), k LIMIT 6;
-- ordered
-- offloaded: GpuSort
SELECT k, max(n) / count(*) FROM s GROUP BY k ORDER BY count(*), k;
-- ordered
-- offloaded: GpuSort
SELECT k, count(*) FROM s GROUP BY k HAVING count(*) > 170 ORDER BY count(*) DESC, k LIMIT 6;
-- ordered
-- offloaded: GpuSort
SELECT name, sum(n), count(*) FROM s JOIN one ON s.k = one.id GROUP BY name ORDER BY 2 DESC, 1 LIMIT 4;
-- offloaded: GpuSort
SELECT k, count(*) FROM s GROUP BY k ORDER BY count(*) DESC FETCH FIRST 3 ROWS WITH TIES;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT h, flag FROM s ORDER BY flag, h DESC LIMIT 40;
-- ordered
-- offloaded: GpuSort
SELECT u, count(*) FROM s GROUP BY u ORDER BY u LIMIT 7;
-- ordered
-- offloaded: GpuSort
SELECT k, avg(n) FROM s GROUP BY k ORDER BY avg(n), k LIMIT 5;
-- ordered
-- offloaded: GpuPreAgg
SELECT k, max(u) FROM s GROUP BY k ORDER BY max(u), k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k, sum(n) FROM s GROUP BY k ORDER BY sum(n) + count(*), k LIMIT 5;
-- ordered
-- offloaded: GpuPreAgg
SELECT count(*), sum(n) FROM s ORDER BY 1 LIMIT 1;
-- DISTINCT ON.
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (k) k, id, n FROM s ORDER BY k, n DESC, id;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (k, flag) flag, k, id FROM s ORDER BY flag NULLS FIRST, k DESC, id LIMIT 20;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (c) c, ts, id FROM s ORDER BY c, ts, id OFFSET 2 LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (n % 5) n % 5, id FROM s ORDER BY n % 5, id;
-- offloaded: GpuSort
SELECT DISTINCT ON (id) id, k FROM s;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (f) f, id FROM s ORDER BY f, id;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (u) u, id FROM s ORDER BY u DESC, id;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (name) name, s.id, weight FROM s JOIN one ON s.k = one.id ORDER BY name, weight DESC, s.id;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (c) c, k, sum(n) FROM s GROUP BY c, k ORDER BY c, sum(n) DESC NULLS LAST, k LIMIT 8;
-- ordered
SELECT DISTINCT ON (c) c, k, sum(n) FROM s GROUP BY c, k HAVING sum(n) > 30 ORDER BY c, sum(n) DESC NULLS LAST, k LIMIT 8;
SELECT DISTINCT ON (1) id FROM s WHERE id = 7;
-- Nothing to sort.
-- offloaded: GpuSort
SELECT * FROM hollow ORDER BY v, id LIMIT 5;
-- offloaded: GpuSort
SELECT id, t FROM s WHERE id < 0 ORDER BY t LIMIT 5;
-- offloaded: GpuSort
SELECT v, count(*) FROM hollow GROUP BY v ORDER BY v;
-- offloaded: GpuSort
SELECT DISTINCT ON (v) v, id FROM hollow ORDER BY v, id;
-- Orders that are not the engine's.
-- needs: icu
-- ordered
SELECT id, t FROM s ORDER BY t COLLATE "en-x-icu", id LIMIT 10;
-- ordered
-- offloaded: GpuSort
SELECT id, t FROM s ORDER BY t COLLATE "C" DESC, id LIMIT 10;
-- ordered
SELECT id, t FROM s ORDER BY t USING ~<~, id LIMIT 10;
-- ordered
-- offloaded: GpuSort
SELECT id, t FROM s ORDER BY t USING >, id LIMIT 10;
-- ordered
SELECT id FROM s ORDER BY (SELECT name FROM one WHERE one.id = s.k), id LIMIT 10;
-- ordered
SELECT id, s FROM s ORDER BY id LIMIT 3;
-- ordered
SELECT ctid, id FROM s ORDER BY id DESC LIMIT 3;
-- Below and above other things.
-- ordered
SELECT o.k, i.id, i.n FROM (VALUES (1), (2), (30), (NULL)) o(k), LATERAL (SELECT id, n FROM s WHERE s.k = o.k ORDER BY n DESC NULLS LAST, id LIMIT 3) i ORDER BY 1, 3 DESC NULLS LAST, 2;
-- ordered
SELECT o.id, (SELECT id FROM s WHERE s.k = o.id ORDER BY ts DESC, id LIMIT 1) FROM one o ORDER BY 1;
-- ordered
(SELECT id, k FROM s ORDER BY k, id LIMIT 3) UNION ALL (SELECT id, k FROM s ORDER BY k DESC, id LIMIT 3);
-- ordered
(SELECT id FROM s WHERE k = 1 EXCEPT SELECT id FROM s WHERE h > 0) ORDER BY id LIMIT 5;
SELECT count(*), max(n) FROM (SELECT n FROM s ORDER BY n NULLS LAST, id LIMIT 100) x;
WITH top AS MATERIALIZED (SELECT id, k FROM s ORDER BY b DESC, id LIMIT 10) SELECT * FROM top x JOIN top y ON x.id = y.id;
SELECT count(*) FROM s a WHERE id IN (SELECT id FROM s ORDER BY n, id LIMIT 50);
CREATE TABLE copied AS SELECT id, n FROM s ORDER BY n DESC NULLS LAST, id LIMIT 25;
INSERT INTO copied SELECT id, n FROM s ORDER BY n, id LIMIT 25;
SELECT * FROM copied;
DROP TABLE copied;
-- ordered
SELECT id FROM s ORDER BY id LIMIT 3 FOR UPDATE;
-- Prepared statements.
PREPARE first_of(int, int) AS SELECT id, n FROM s WHERE k = $1 ORDER BY n DESC NULLS LAST, id LIMIT $2;
-- ordered
-- offloaded: GpuSort
EXECUTE first_of(4, 5);
SET plan_cache_mode = force_generic_plan;
-- ordered
-- offloaded: GpuSort
EXECUTE first_of(4, 6);
EXECUTE first_of(NULL, 6);
EXECUTE first_of(4, NULL);
EXECUTE first_of(4, -1);
PREPARE shifted(int) AS SELECT id, k FROM s ORDER BY (k + $1) % 10, id LIMIT 5;
-- ordered
-- offloaded: GpuSort
EXECUTE shifted(3);
-- ordered
EXECUTE shifted(7);
EXECUTE shifted(NULL);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- Cursors.
BEGIN;
DECLARE a NO SCROLL CURSOR FOR SELECT id, n FROM s ORDER BY n, id;
-- ordered
FETCH 5 FROM a;
MOVE 100 FROM a;
-- ordered
FETCH 3 FROM a;
DECLARE b CURSOR FOR SELECT id, n FROM s ORDER BY n, id;
-- ordered
FETCH 5 FROM b;
-- ordered
FETCH BACKWARD 2 FROM b;
DECLARE c SCROLL CURSOR FOR SELECT id, n FROM s ORDER BY n, id LIMIT 20;
-- ordered
FETCH LAST FROM c;
-- ordered
FETCH PRIOR FROM c;
DECLARE d NO SCROLL CURSOR WITH HOLD FOR SELECT k, count(*) FROM s GROUP BY k ORDER BY k DESC LIMIT 3;
COMMIT;
-- ordered
FETCH ALL FROM d;
CLOSE d;
-- Errors are raised where rows reach them.
SELECT id, 10 / (id - 3) FROM s ORDER BY n, id LIMIT 5;
SELECT id FROM s ORDER BY 10 / (id - 3), id LIMIT 5;
SELECT id FROM s WHERE id <> 3 ORDER BY 10 / (id - 3) DESC, id LIMIT 5;
-- Settings.
SET pg_turbine.enable_sort = off;
-- ordered
SELECT id FROM s ORDER BY n, id LIMIT 5;
RESET pg_turbine.enable_sort;
-- for setting in enable_sort enable_hashagg enable_seqscan enable_incremental_sort
SET :setting = off;
-- ordered
SELECT k, count(*), sum(n) FROM s GROUP BY k ORDER BY sum(n), k LIMIT 4;
-- ordered
SELECT id, name FROM s JOIN one USING (id) ORDER BY name, id LIMIT 4;
RESET :setting;
-- end for
-- Workers: the kept plan must have none.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- ordered
-- offloaded: GpuSort
SELECT id, n FROM s ORDER BY n, id LIMIT 10;
-- ordered
-- offloaded: GpuSort
SELECT name, sum(n) FROM s JOIN one ON s.k = one.id GROUP BY name ORDER BY sum(n) LIMIT 3;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
-- Values that are stored out of line, rows of the own transaction.
CREATE TABLE wide (id int, t text);
INSERT INTO wide SELECT i, repeat(chr(97 + i % 26), 3000 + i) FROM generate_series(1, 60) i;
INSERT INTO wide SELECT i, (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 200) j) FROM generate_series(61, 70) i;
-- ordered
SELECT id, length(t), left(t, 10) FROM wide ORDER BY t DESC, id LIMIT 12;
BEGIN;
UPDATE s SET n = -n WHERE id < 10;
DELETE FROM s WHERE id BETWEEN 10 AND 19;
-- ordered
-- offloaded: GpuSort
SELECT id, n FROM s ORDER BY n, id LIMIT 12;
ROLLBACK;
-- ordered
SELECT id, n FROM s ORDER BY n, id LIMIT 12;
BEGIN ISOLATION LEVEL SERIALIZABLE;
-- ordered
SELECT id, n FROM s ORDER BY n, id LIMIT 3;
COMMIT;
-- A materialized view that has no rows yet must not be read.
CREATE MATERIALIZED VIEW later AS SELECT k, sum(n) AS total FROM s GROUP BY k WITH NO DATA;
SELECT * FROM later ORDER BY total;
SELECT count(*) FROM later;
SELECT count(*) FROM later JOIN one ON k = id;
REFRESH MATERIALIZED VIEW later;
-- ordered
-- offloaded: GpuSort
SELECT * FROM later ORDER BY total DESC, k LIMIT 3;
DROP MATERIALIZED VIEW later;
-- A numeric whose values print with different scales, in one group.
CREATE TABLE scales (k int, x numeric);
INSERT INTO scales SELECT i % 5, CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 1 END + i % 7 FROM generate_series(1, 500) i;
ANALYZE scales;
-- ordered
SELECT k, x FROM scales ORDER BY x DESC, k, scale(x) LIMIT 20;
-- ordered
SELECT k, sum(x) FROM scales GROUP BY k ORDER BY sum(x), k;
SELECT count(*) FROM (SELECT x FROM scales GROUP BY x ORDER BY x LIMIT 3) y;
-- Columns and keys that are values of the query, not of its rows.
-- ordered
SELECT id FROM s ORDER BY (SELECT 1), id LIMIT 3;
-- ordered
SELECT id, k FROM s ORDER BY current_date, id LIMIT 2;
SELECT id, sum((SELECT 5)) OVER (ORDER BY id) FROM s WHERE id < 20;
SELECT id, count(*) OVER (PARTITION BY current_date ORDER BY id) FROM s WHERE id < 20;
SET plan_cache_mode = force_generic_plan;
PREPARE lagging(int) AS SELECT id, lag(id, 1, $1) OVER (ORDER BY id) FROM s WHERE id < 20;
EXECUTE lagging(2);
DEALLOCATE lagging;
RESET plan_cache_mode;
SELECT u.id, x.* FROM one u, LATERAL (SELECT s.id, u.id q FROM s WHERE s.k = u.id ORDER BY u.id, s.id LIMIT 2) x;
-- The kept plan of sorted groups below other nodes: 1e300 sends it back.
CREATE TABLE far AS SELECT id, k, CASE WHEN id = 1999 THEN 1e300 ELSE k END::numeric AS w FROM s;
ANALYZE far;
SELECT k + 1, x FROM (SELECT k, sum(w) x FROM far GROUP BY k ORDER BY k OFFSET 0) y;
SELECT array_agg(k), max(x) FROM (SELECT k, sum(w) x FROM far GROUP BY k ORDER BY k LIMIT 10) y;
SELECT count(DISTINCT w), max(k) FROM far;
-- Volatile columns are computed for rows that are dropped too.
CREATE SEQUENCE counted;
SELECT count(*) FROM (SELECT DISTINCT ON (k) k, nextval('counted') FROM s) y;
SELECT last_value FROM counted;
DROP SEQUENCE counted;
DROP TABLE far;
DROP TABLE s, one, hollow, wide, scales;
