-- Aggregates with DISTINCT of so many values that the engine combines them by a continuation.
CREATE TABLE r (id int, k int, t text, a int, j smallint, b bigint, n numeric(12,2), u numeric, w numeric(30,4), f float8, d date, flag bool, s text, c char(7));
INSERT INTO r SELECT i, nullif(i % 11, 3), nullif('t' || i % 5, 't4'), nullif(i * 31 % 40009, 17), (i % 30011 - 15000)::smallint, nullif(i, 8) * 1000000007::bigint, nullif(i % 30001, 4) / 4.0, (i % 7) / 2.0, i * 100000000000000.25, (i % 17) / 8.0, date '2000-01-01' + i % 35000, nullif(i % 4, 1)::bool, nullif('text ' || i % 29989, 'text 6'), 'c' || i % 19999 FROM generate_series(1, 80000) i;
INSERT INTO r (id, k) SELECT i, i % 5 FROM generate_series(90000, 90020) i;
ANALYZE r;
-- for value in a j b n w d s c id a+k
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT count(DISTINCT :value) FROM r;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT count(DISTINCT :value), count(*), count(a), sum(a), sum(b), avg(n), min(d), max(t), bool_or(flag), bool_and(flag), min(c), max(w), sum(j), avg(w) FROM r;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT count(DISTINCT :value) + count(k), max(a) - count(DISTINCT :value) FROM r WHERE id % 3 <> 1 HAVING count(DISTINCT :value) > 5;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT count(DISTINCT :value), count(*), count(a), sum(a), max(n), avg(a) FROM r WHERE id + 0 < 0;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT count(DISTINCT :value), count(*) FROM r WHERE id % 2 > 5;
SELECT k, t, count(DISTINCT :value), count(*), sum(n), max(d) FROM r GROUP BY k, t;
-- ordered
-- offloaded: GpuSort
-- shows: Distinct Values Combined: by the engine
SELECT k, count(DISTINCT :value) FROM r GROUP BY k HAVING count(DISTINCT :value) > 3000 ORDER BY 2 DESC, 1 LIMIT 3;
-- ordered
-- offloaded: GpuSort
-- shows: Distinct Values Combined: by the engine
SELECT s, count(DISTINCT :value) AS many, count(*), max(d) FROM r WHERE id % 7 < 5 GROUP BY s ORDER BY many DESC, s LIMIT 7 OFFSET 3;
-- end for
-- for value in a j b n w id
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT sum(DISTINCT :value), avg(DISTINCT :value), count(DISTINCT :value), count(*), min(:value) FROM r;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT sum(DISTINCT :value), avg(DISTINCT :value) FROM r WHERE id % 2 > 5;
SELECT k, sum(DISTINCT :value), avg(DISTINCT :value), count(*) FROM r GROUP BY k;
-- end for
-- With a FILTER that all share; of several; of floats, whose sums depend on the order; of numerics that print differently.
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT count(DISTINCT a) FILTER (WHERE b > 5000000000), sum(DISTINCT a) FILTER (WHERE b > 5000000000), count(*) FROM r;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by PostgreSQL
SELECT count(DISTINCT a) FILTER (WHERE k = 1), count(DISTINCT a) FROM r;
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by PostgreSQL
-- floats
SELECT count(DISTINCT a), sum(f) FROM r;
SELECT u, count(DISTINCT a), sum(u), max(u) FROM r GROUP BY u;
-- Few values: a program of their own is not worth it.
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by PostgreSQL
SELECT count(DISTINCT k), count(*) FROM r;
-- Of joins; in subqueries, which run again; prepared; NULL alone; overflow of what is added.
-- offloaded: GpuPreAgg
-- shows: Distinct Values Combined: by the engine
SELECT count(DISTINCT r.a), count(s.id), sum(r.k) FROM r LEFT JOIN r s ON s.id = r.a AND s.k = 2;
-- offloaded: GpuPreAgg
SELECT x, (SELECT count(DISTINCT a) FROM r WHERE id > x * 100) FROM generate_series(1, 3) x;
PREPARE of_values(int) AS SELECT count(DISTINCT a), sum(DISTINCT b) FROM r WHERE id > $1;
EXECUTE of_values(100);
EXECUTE of_values(44990);
EXECUTE of_values(60000);
-- offloaded: GpuPreAgg
SELECT count(DISTINCT a), max(a) FROM r WHERE a IS NULL;
-- offloaded: GpuPreAgg
SELECT sum(DISTINCT b * 1000000), count(*) FROM r;
-- offloaded: GpuPreAgg
SELECT sum(DISTINCT b * 1000000000), count(*) FROM r;
CREATE TABLE none (a int, b int);
SELECT count(DISTINCT a), sum(DISTINCT b), count(*) FROM none;
