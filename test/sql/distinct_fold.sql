-- Aggregates with DISTINCT whose groups the engine folds, beside plain ones: few groups, and those with sums of floats, as
-- partitions of a window pass; many by a continuation, whose rows are sorted.
CREATE TABLE z (id int, k int, j smallint, t text, a int, b bigint, n numeric(12,2), u numeric, w numeric(30,4), f float8, r float4, d date, flag bool, c char(5));
INSERT INTO z SELECT i, nullif(i * 7919 % 503, 9), i % 3, nullif('t' || i % 7, 't4'), nullif(i % 31, 6), (i % 19) * 1000000007::bigint, nullif(i % 43, 4) / 4.0, (i % 11) / 2.0, (i % 13) * 100000000000000.25, (i % 17) / 8.0, (i % 5) / 4.0, date '2020-01-01' + i % 29, nullif(i % 4, 1)::bool, 'c' || i % 6 FROM generate_series(1, 8000) i;
INSERT INTO z (id, k) SELECT i, i % 5 FROM generate_series(9000, 9020) i;
CREATE TABLE y (k int, name text);
INSERT INTO y SELECT i, 'name ' || i % 50 FROM generate_series(0, 502) i;
ANALYZE z;
ANALYZE y;
-- for value in a b n w d t flag c j a+1 f
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT k, count(DISTINCT :value) FROM z GROUP BY k;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT k, t, count(DISTINCT :value), count(*), sum(a), sum(b), sum(n), avg(n), avg(a), min(d), max(t), bool_or(flag) FROM z GROUP BY k, t;
-- ordered
-- offloaded: GpuSort
-- shows: Distinct Values Combined: by the engine
SELECT k, count(DISTINCT :value) AS x FROM z GROUP BY k ORDER BY x DESC, k LIMIT 12;
-- ordered
-- offloaded: GpuSort
-- shows: Distinct Values Combined: by the engine
SELECT k, t, c, count(DISTINCT :value), avg(n), max(t) FROM z GROUP BY k, t, c ORDER BY sum(n) DESC, max(t), 4, k, t, c LIMIT 20;
-- offloaded: GpuSort
SELECT j + 0, count(DISTINCT :value), count(*), sum(a), sum(b), sum(n), avg(n), min(d), max(t), bool_or(flag), max(w) FROM z GROUP BY j + 0;
-- ordered
-- offloaded: GpuSort
SELECT t, j, count(DISTINCT :value), max(n) FROM z WHERE id % 3 <> 1 GROUP BY t, j ORDER BY 3, t DESC, j;
-- end for
-- for value in a b n w j
-- offloaded: GpuSort
SELECT k, sum(DISTINCT :value), avg(DISTINCT :value), count(DISTINCT :value), sum(f), avg(r), min(c), max(w) FROM z GROUP BY k;
-- ordered
-- offloaded: GpuSort
SELECT k, sum(DISTINCT :value) AS x, count(*) FROM z GROUP BY k HAVING count(DISTINCT :value) > 3 ORDER BY x DESC NULLS LAST, k LIMIT 9 OFFSET 2;
-- end for
-- One FILTER for all; of joins; with ties; over constants; of one group, of no rows; prepared.
-- offloaded: GpuPreAgg
SELECT k, count(DISTINCT a) FILTER (WHERE b > 5000000000), count(*) FROM z GROUP BY k;
-- ordered
-- offloaded: GpuSort
SELECT y.name, count(DISTINCT z.a), sum(z.n) FROM z JOIN y USING (k) GROUP BY y.name ORDER BY 2 DESC, 1 LIMIT 7;
-- offloaded: GpuPreAgg
SELECT y.name, count(DISTINCT z.d), count(z.k) FROM y LEFT JOIN z ON z.k = y.k AND z.a > 20 GROUP BY y.name;
-- ordered
-- offloaded: GpuSort
SELECT count(DISTINCT a) FROM z GROUP BY k ORDER BY 1 DESC FETCH FIRST 5 ROWS WITH TIES;
-- offloaded: GpuPreAgg
SELECT u, count(DISTINCT a), sum(u) FROM z GROUP BY u;
-- offloaded: GpuSort
SELECT k, count(DISTINCT a) FROM z WHERE id < 0 GROUP BY k;
-- offloaded: GpuSort
SELECT k, count(DISTINCT a) FROM z WHERE a IS NULL GROUP BY k;
-- offloaded: GpuSort
SELECT t, count(DISTINCT a) + sum(b) / count(*), avg(b) FROM z GROUP BY t HAVING avg(n) > 1;
PREPARE distinct_of(int) AS SELECT k, count(DISTINCT a), min(n) FROM z WHERE id > $1 GROUP BY k ORDER BY 2 DESC, 1 LIMIT 5;
-- ordered
-- offloaded: GpuSort
EXECUTE distinct_of(100);
SET plan_cache_mode = force_generic_plan;
-- ordered
-- offloaded: GpuSort
EXECUTE distinct_of(200);
RESET plan_cache_mode;
-- More groups than hash_mem has room for.
SET work_mem = '64kB';
-- offloaded: GpuPreAgg
SELECT id, count(DISTINCT a), count(*) FROM z GROUP BY id;
-- ordered
-- offloaded: GpuSort
SELECT id, count(DISTINCT t), sum(a) FROM z GROUP BY id ORDER BY 2, 1 LIMIT 5;
RESET work_mem;
-- What the backend or PostgreSQL folds: filters that differ, windows and DISTINCT above, averages as an order.
-- offloaded: GpuPreAgg
SELECT k, count(DISTINCT a) FILTER (WHERE b > 1), count(DISTINCT a) FILTER (WHERE j = 1) FROM z GROUP BY k;
SELECT k, sum(DISTINCT u), count(*) FROM z GROUP BY k;
SELECT k, count(DISTINCT a), rank() OVER (ORDER BY count(DISTINCT a), k) FROM z GROUP BY k;
SELECT DISTINCT ON (count(DISTINCT a)) count(DISTINCT a), k FROM z GROUP BY k ORDER BY 1, 2;
-- ordered
SELECT k, avg(DISTINCT a) FROM z GROUP BY k ORDER BY 2 DESC NULLS LAST, k LIMIT 4;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT a), count(*) FROM z;
SELECT k, sum(DISTINCT f) FROM z GROUP BY k;
DECLARE by_k NO SCROLL CURSOR WITH HOLD FOR SELECT k, count(DISTINCT a) FROM z GROUP BY k ORDER BY k;
-- ordered
FETCH 7 FROM by_k;
-- ordered
FETCH 3 FROM by_k;
CLOSE by_k;
