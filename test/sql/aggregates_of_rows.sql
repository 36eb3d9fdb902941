-- Aggregates over subqueries whose rows the engine makes: window functions and groups. No row leaves the engine.
CREATE TABLE a (id int, k int, t text, v int, b bigint, n numeric(12,2), u numeric, f float8, r float4, d date, s timestamp, flag bool, c char(5), j smallint);
INSERT INTO a SELECT i, nullif(i * 7919 % 503, 9), nullif('t' || i % 7, 't4'), nullif(i % 31, 6), (i % 19) * 1000000007::bigint, nullif(i % 43, 4) / 4.0, (i % 11) / 2.0, (i % 17) / 8.0, (i % 5) / 4.0, date '2020-01-01' + i % 29, timestamp '2020-01-01' + (i * 37 % 100000) * interval '1 minute', nullif(i % 4, 1)::bool, 'c' || i % 6, i % 100 FROM generate_series(1, 20000) i;
INSERT INTO a (id, k) SELECT i, i % 5 FROM generate_series(21000, 21020) i;
ANALYZE a;
-- for value in v b n d s j
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), count(x), max(x), min(x) FROM (SELECT lag(:value) OVER (PARTITION BY k ORDER BY id) AS x FROM a) q;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT k, count(x), count(*) FROM (SELECT k, lead(:value, 2) OVER (PARTITION BY k ORDER BY s, id) AS x FROM a) q GROUP BY k;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT x, count(*) FROM (SELECT first_value(:value) OVER (PARTITION BY t ORDER BY id) AS x FROM a WHERE id % 3 <> 1) q GROUP BY x;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuPreAgg
SELECT c, count(*), min(x), max(x) FROM (SELECT :value AS x, count(*) AS c FROM a GROUP BY :value) q GROUP BY c;
-- end for
-- for value in v b n j
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(d), avg(d) FROM (SELECT :value - lag(:value) OVER (PARTITION BY k ORDER BY id) AS d FROM a) q;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT t, sum(CASE WHEN g > 3 THEN 1 ELSE 0 END), sum(g) FILTER (WHERE g < 0), max(g) FROM (SELECT t, :value - lag(:value, 1, :value) OVER (PARTITION BY t ORDER BY s, id) AS g FROM a) q GROUP BY t HAVING count(*) > 2;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuPreAgg
SELECT sum(x), max(c), count(*), avg(x) FROM (SELECT k, sum(:value) AS x, count(:value) AS c FROM a GROUP BY k) q;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuPreAgg
SELECT c % 7, sum(x), count(*) FROM (SELECT k, t, max(:value) AS x, count(*) AS c FROM a GROUP BY k, t) q WHERE c > 2 GROUP BY c % 7;
-- end for
-- for fn in rank() dense_rank() row_number() ntile(4) cume_dist() percent_rank()
-- floats
SELECT count(*), sum(x), max(x) FROM (SELECT id, :fn OVER (ORDER BY v, id) AS x FROM a) q;
-- end for
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY s, id) AS n, v FROM a) q WHERE n = 1;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT k % 10, count(*), sum(v) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY s DESC, id) AS n, v, k FROM a) q WHERE n <= 3 AND v > 5 GROUP BY k % 10;
-- A session begins where more than a day has passed; of users, of all.
SELECT k, sum(begins) AS sessions, count(*) AS visits FROM (SELECT k, CASE WHEN s - lag(s) OVER (PARTITION BY k ORDER BY s, id) < interval '1 day' THEN 0 ELSE 1 END AS begins FROM a) q GROUP BY k;
SELECT sum(begins) FROM (SELECT CASE WHEN d - lag(d) OVER (PARTITION BY k ORDER BY d, id) < 2 THEN 0 ELSE 1 END AS begins FROM a) q;
-- Two windows, sums over frames, floats, texts, booleans, padded texts.
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(x), sum(y), max(x + y) FROM (SELECT sum(v) OVER (PARTITION BY k ORDER BY id ROWS 3 PRECEDING) AS x, count(*) OVER (PARTITION BY t) AS y FROM a) q;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
-- floats
SELECT k, sum(x), min(x) FROM (SELECT k, sum(f) OVER (PARTITION BY k ORDER BY id) AS x FROM a) q GROUP BY k;
SELECT x, count(*), max(y) FROM (SELECT lag(t) OVER (ORDER BY id) AS x, last_value(c) OVER (ORDER BY id) AS y FROM a) q GROUP BY x;
SELECT x, count(*) FROM (SELECT lag(c) OVER (ORDER BY id) AS x, flag FROM a) q WHERE flag GROUP BY x;
-- DISTINCT ON, windows over groups, HAVING below.
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(v), max(id) FROM (SELECT DISTINCT ON (k) k, v, id FROM a ORDER BY k, s, id) q;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT t, sum(x), max(c), count(*) FROM (SELECT k, t, count(*) AS c, rank() OVER (PARTITION BY t ORDER BY count(*), k) AS x FROM a GROUP BY k, t) q GROUP BY t;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuPreAgg
SELECT count(*), sum(c), sum(x) FROM (SELECT k, count(*) AS c, sum(v) AS x FROM a GROUP BY k HAVING count(*) > 39 AND max(b) > 17000000000) q;
-- Averages below, numerics that print differently, HAVING, LIMIT, DISTINCT below or above, sets: whoever can.
SELECT sum(x), count(*) FROM (SELECT k, avg(v) AS x FROM a GROUP BY k) q;
SELECT x, count(*) FROM (SELECT lag(u) OVER (ORDER BY id) AS x FROM a) q GROUP BY x;
SELECT max(x), count(*) FROM (SELECT k, sum(u) AS x FROM a GROUP BY k) q;
SELECT count(*), sum(c) FROM (SELECT k, count(*) AS c FROM a GROUP BY k HAVING count(*) > 39) q;
SELECT count(*), sum(x) FROM (SELECT lag(v) OVER (ORDER BY id) AS x FROM a ORDER BY id LIMIT 100) q;
SELECT count(*), sum(x) FROM (SELECT DISTINCT v AS x FROM a) q;
SELECT count(*), max(c) FROM (SELECT k, count(DISTINCT v) AS c FROM a GROUP BY k) q;
SELECT c, x, count(*) FROM (SELECT k % 3 AS x, v AS y, count(*) AS c FROM a GROUP BY k % 3, v) q GROUP BY ROLLUP (c, x);
SELECT count(DISTINCT c), count(*) FROM (SELECT k, count(*) AS c FROM a GROUP BY k) q;
SELECT string_agg(x::text, ',' ORDER BY x) FROM (SELECT DISTINCT rank() OVER (ORDER BY v) AS x FROM a) q;
-- Sorted, limited, joined, nested, correlated, prepared, under another name.
-- ordered
SELECT c, count(*) FROM (SELECT k, count(*) AS c FROM a GROUP BY k) q GROUP BY c ORDER BY 2 DESC, 1 LIMIT 3;
SELECT count(*), sum(z) FROM (SELECT c, count(*) AS z FROM (SELECT k, count(*) AS c FROM a GROUP BY k) q GROUP BY c) p;
SELECT b.k, count(*) FROM (SELECT k, row_number() OVER (PARTITION BY t ORDER BY id) AS n FROM a) b JOIN (SELECT DISTINCT k FROM a) e ON e.k = b.k GROUP BY b.k;
SELECT x, (SELECT count(*) FROM (SELECT lag(v) OVER (ORDER BY id) AS l FROM a WHERE id > x * 3000) q WHERE l > x) FROM generate_series(1, 3) x;
PREPARE over_lag(int, int) AS SELECT count(*), sum(x) FROM (SELECT v - lag(v) OVER (PARTITION BY k ORDER BY id) AS x, id FROM a WHERE id > $1) q WHERE x <> $2;
EXECUTE over_lag(100, 3);
EXECUTE over_lag(19000, 0);
EXECUTE over_lag(50000, 0);
EXECUTE over_lag(100, NULL);
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
EXECUTE over_lag(100, 3);
EXECUTE over_lag(10000, 5);
RESET plan_cache_mode;
WITH w AS MATERIALIZED (SELECT lag(v) OVER (ORDER BY id) AS x FROM a) SELECT count(*), sum(x) FROM w;
WITH w AS (SELECT lag(v) OVER (ORDER BY id) AS x FROM a) SELECT count(*), sum(x) FROM w;
CREATE VIEW steps AS SELECT k, v - lag(v) OVER (PARTITION BY k ORDER BY id) AS step FROM a;
GRANT SELECT ON steps TO PUBLIC;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT k, sum(step), count(step) FROM steps GROUP BY k;
-- Errors of rows: of the subquery, of the aggregate, of rows that the filter leaves out.
SELECT sum(x) FROM (SELECT 100 / (v - lag(v) OVER (ORDER BY id)) AS x FROM a) q;
SELECT sum(100 / x) FROM (SELECT v - lag(v) OVER (ORDER BY id) AS x FROM a) q;
SELECT sum(100 / x) FROM (SELECT v - lag(v) OVER (ORDER BY id) AS x FROM a) q WHERE x <> 0;
SELECT sum(x * 4000000000000000000) FROM (SELECT lag(b) OVER (ORDER BY id) AS x FROM a) q;
-- What PostgreSQL computes of a subquery's rows raises where nobody asks for it, or for no row that is left: the order of
-- a window that is not used, columns beside the one of the filter.
SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY k ORDER BY 100 / (v - 7), id) AS x, lag(v) OVER (ORDER BY id) AS z FROM a) q WHERE z > 3;
SELECT sum(y) FROM (SELECT 100 / (v - 7) AS y, lag(v) OVER (ORDER BY id) AS z FROM a) q WHERE z > 1000000;
SELECT sum(y) FROM (SELECT 100 / (v - 7) AS y, lag(v) OVER (ORDER BY id) AS z FROM a WHERE v <> 7) q WHERE z > 1000000;
SELECT count(*) FROM (SELECT k, 100 / (count(*) - count(*)) AS y, max(v) AS m FROM a GROUP BY k) q WHERE m > 3;
SELECT sum(y) FROM (SELECT k, 100 / (min(v) - min(v)) AS y, max(v) AS m FROM a GROUP BY k) q WHERE m > 1000000;
SELECT sum(y) FROM (SELECT k, 100 / (min(v) - min(v)) AS y, max(v) AS m FROM a GROUP BY k HAVING max(v) > 1000000) q;
-- No rows, one row, an empty table; a partitioned one; joins below.
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(x), max(x) FROM (SELECT lag(v) OVER (ORDER BY id) AS x FROM a WHERE id < 0) q;
SELECT k, count(*) FROM (SELECT k, lag(v) OVER (ORDER BY id) AS x FROM a WHERE id < 0) q GROUP BY k;
SELECT count(*), sum(x) FROM (SELECT lag(v) OVER (ORDER BY id) AS x FROM a WHERE id = 7) q;
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM a WHERE id < 0) q;
CREATE TABLE none (v int, k int);
SELECT count(*), sum(x) FROM (SELECT lag(v) OVER (ORDER BY k) AS x FROM none) q;
SELECT count(*), sum(c) FROM (SELECT k, count(*) AS c FROM none GROUP BY k) q;
CREATE TABLE p (id int, k int, v int) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5000);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (5000) TO (20000);
INSERT INTO p SELECT i, i % 97, i % 31 FROM generate_series(1, 15000) i;
ANALYZE p;
-- for bound in 0 6000 90000
SELECT count(*), sum(x) FROM (SELECT v - lag(v) OVER (PARTITION BY k ORDER BY id) AS x FROM p WHERE id >= :bound) q;
SELECT c, count(*) FROM (SELECT k, count(*) AS c, max(v) AS m FROM p WHERE id >= :bound GROUP BY k) q WHERE m > 3 GROUP BY c;
PREPARE parts_:bound(int) AS SELECT count(*), sum(c) FROM (SELECT k, count(*) AS c FROM p WHERE id >= $1 GROUP BY k) q;
EXECUTE parts_:bound(:bound);
-- end for
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(x) FROM (SELECT a.v - lag(p.v) OVER (PARTITION BY a.k ORDER BY a.id, p.id) AS x FROM a JOIN p ON p.id = a.id) q;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuPreAgg
SELECT c, count(*) FROM (SELECT a.k, count(p.id) AS c FROM a LEFT JOIN p ON p.k = a.k AND p.v = 3 GROUP BY a.k) q GROUP BY c;
