-- Aggregation: every supported form, and every form that must stay with PostgreSQL or be finished by it.
CREATE TABLE g (id int, k int, k2 int, k3 text, v int, w bigint, f float8, n numeric(12,2), s int2, flag bool, d date);
INSERT INTO g SELECT i, i % 10, nullif(i % 4, 2), 'key' || i % 6, i * 17 % 1001 - 500, i::bigint * 1000000007, (i % 256) / 4.0, (i % 5000) / 100.0,
  i % 100, i % 3 = 0, '2000-01-01'::date + i % 365 FROM generate_series(1, 30000) i;
INSERT INTO g SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(1, 10);
ANALYZE g;
-- offloaded: GpuPreAgg
SELECT count(*) FROM g;
-- offloaded: GpuPreAgg
SELECT count(*), count(v), sum(v), sum(w), sum(s), sum(n), min(v), max(w), avg(v), avg(s), avg(w), avg(n) FROM g;
-- Quarters: float sums are exact in any order.
-- offloaded: GpuPreAgg
SELECT sum(f), avg(f), min(f), max(f) FROM g;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(v), avg(v), min(d), max(d) FROM g GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, k2, k3, count(*), sum(n) FROM g GROUP BY k, k2, k3;
-- offloaded: GpuPreAgg
SELECT k + 1, count(*) FROM g GROUP BY k + 1;
-- offloaded: GpuPreAgg
SELECT k % 3 AS m, v / 100 AS c, count(*), sum(w) FROM g WHERE flag GROUP BY k % 3, v / 100;
-- offloaded: GpuPreAgg
SELECT flag, count(*) FROM g GROUP BY flag;
-- offloaded: GpuPreAgg
SELECT id, sum(v), count(*) FROM g GROUP BY id;
-- offloaded: GpuPreAgg
SELECT count(*) FILTER (WHERE v > 0), sum(v) FILTER (WHERE flag), min(v) FILTER (WHERE k = 3), count(v) FILTER (WHERE k2 IS NULL) FROM g;
SELECT k, count(*) FILTER (WHERE v > 400), sum(n) FILTER (WHERE v < -1000) FROM g GROUP BY k;
SELECT k, count(*) FROM g GROUP BY k HAVING count(*) > 2000;
SELECT k, sum(v) FROM g GROUP BY k HAVING sum(v) > 0 AND k > 2;
SELECT k FROM g GROUP BY k;
SELECT DISTINCT k, k2 FROM g;
SELECT count(DISTINCT k), count(DISTINCT v) FROM g;
SELECT k, count(DISTINCT k3), sum(v) FROM g GROUP BY k;
SELECT sum(DISTINCT s) FROM g;
SELECT sum(v + 1), sum(v * 2 - k), avg(v * 1.5), sum(abs(v)) FROM g;
SELECT sum(v) + count(*), 2 * avg(v), max(v) - min(v) FROM g;
SELECT k, sum(v) * 100 / count(*) AS share FROM g WHERE k IS NOT NULL GROUP BY k;
-- ordered
SELECT k, sum(v) FROM g GROUP BY k ORDER BY k;
-- ordered
SELECT k, sum(v) AS total FROM g GROUP BY k ORDER BY total DESC, k LIMIT 3;
-- ordered
SELECT k3, count(*) FROM g GROUP BY k3 ORDER BY k3 NULLS FIRST OFFSET 2;
SELECT k, k2, sum(v) FROM g GROUP BY ROLLUP (k, k2);
SELECT k, k2, count(*) FROM g GROUP BY CUBE (k, k2);
SELECT k, k2, count(*), grouping(k) FROM g GROUP BY GROUPING SETS ((k), (k2), ());
SELECT k, sum(v), rank() OVER (ORDER BY sum(v), k) FROM g GROUP BY k;
SELECT stddev(v), variance(v), stddev_pop(n) FROM g;
SELECT k, var_samp(v), stddev_samp(f) FROM g GROUP BY k;
SELECT corr(v, w), regr_slope(v, f) FROM g;
SELECT bool_and(flag), bool_or(flag), every(v > -600) FROM g;
SELECT bit_and(v), bit_or(s), bit_xor(k) FROM g;
SELECT k, array_agg(id ORDER BY id) FROM g WHERE id < 50 GROUP BY k;
SELECT string_agg(k3, ',' ORDER BY id) FROM g WHERE id < 10;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM g;
SELECT mode() WITHIN GROUP (ORDER BY k) FROM g;
SELECT min(k3), max(k3 COLLATE "C"), min(flag::int) FROM g;
SELECT max(d) - min(d), min(d), max(d) FROM g;
SELECT count(*) FROM (SELECT k, v FROM g WHERE v > 100) sub;
SELECT count(*), sum(c) FROM (SELECT k, count(*) AS c FROM g GROUP BY k) sub;
SELECT a.k, count(*) FROM g a JOIN (SELECT DISTINCT k FROM g WHERE v > 490) b ON a.k = b.k GROUP BY a.k;
SELECT count(*) FROM g WHERE k IN (SELECT k FROM g GROUP BY k HAVING sum(v) > 0);
SELECT k, (SELECT count(*) FROM g i WHERE i.k = o.k) FROM (SELECT DISTINCT k FROM g) o;
SELECT count(*), sum(v) FROM g WHERE false;
SELECT count(*), sum(v) FROM g WHERE NULL::bool;
SELECT k, count(*) FROM g WHERE false GROUP BY k;
SELECT sum(1), count(1), min(2), max('x'::text) FROM g;
SELECT 1 FROM g HAVING count(*) > 5;
SELECT count(*) FROM g HAVING false;
SELECT 'a', count(*) FROM g GROUP BY ();
SELECT k, random() < 2, count(*) FROM g GROUP BY k;
SELECT sum(v) FROM g WHERE random() >= 0;
SELECT generate_series(1, 3), k, count(*) FROM g WHERE k < 3 GROUP BY k;
SELECT k::text, count(*) FROM g GROUP BY k::text;
SELECT CASE WHEN v < 0 THEN 'neg' WHEN v = 0 THEN 'zero' ELSE 'pos' END, count(*), sum(v) FROM g GROUP BY 1;
SELECT CASE WHEN v < 0 THEN -1 ELSE 1 END, count(*), sum(v) FROM g GROUP BY 1;
SELECT sum(CASE WHEN k = 3 THEN v ELSE 0 END), sum(CASE WHEN flag THEN n END) FROM g;
SELECT coalesce(k2, -1), count(*) FROM g GROUP BY coalesce(k2, -1);
SELECT f, count(*) FROM g WHERE f < 3 GROUP BY f;
SELECT n, count(*), sum(v) FROM g WHERE n < 1 GROUP BY n;
SELECT d, sum(v) FROM g WHERE d < '2000-02-01' GROUP BY d;
SELECT x.k, x.c FROM (SELECT k, count(*) c FROM g GROUP BY k) x WHERE x.c > 100;
SELECT k, sum(v) FROM g GROUP BY k UNION ALL SELECT k2, sum(v) FROM g GROUP BY k2;
WITH q AS MATERIALIZED (SELECT k, sum(v) s FROM g GROUP BY k) SELECT * FROM q a JOIN q b USING (k);
INSERT INTO g (id, k, v) SELECT 1000000 + k, k, sum(v) FROM g WHERE k IS NOT NULL GROUP BY k RETURNING k, v;
SELECT count(*), sum(v) FROM g WHERE id > 1000000;
CREATE TABLE copy_of_g AS SELECT k, count(*) c, sum(v) s FROM g GROUP BY k;
SELECT * FROM copy_of_g;
-- floats
SELECT sum(f / 3), avg(f / 7), sum(v / 3.0::float8) FROM g;
-- floats
SELECT k, sum(f * 0.1), avg(f::float4) FROM g GROUP BY k;
DROP TABLE copy_of_g;
DROP TABLE g;
-- Extremes of expressions, each alone: a GPU's compiler has lost the sign of some.
CREATE TABLE signs (i2 smallint NOT NULL, i4 int NOT NULL, i8 bigint NOT NULL, n numeric(10,2) NOT NULL, f float8 NOT NULL, r real NOT NULL, d date NOT NULL, m int);
INSERT INTO signs SELECT i, i, i * 3000000000, i / 4.0, i / 8.0, i / 2.0, date '2000-01-01' + i, nullif(i, i / 3 * 3) FROM generate_series(3, 1106) i;
ANALYZE signs;
-- for x in -i2 -i4 -i8 -n -f -r -m 0-i4 1-i4 i4-5000 -i4-1 -(i4-2000) -i8-i4 -n-i4 -f*2 d-i4 i4/(-2) i4%(-7) abs(-i4) -(i4*2) -(-i4) nullif(-i4,-3) coalesce(-m,-2000) greatest(-i4,-2000) least(-i4,2000)
-- offloaded: GpuPreAgg
SELECT max(:x) FROM signs;
-- offloaded: GpuPreAgg
SELECT min(:x) FROM signs;
-- offloaded: GpuPreAgg
SELECT max(:x) FROM signs WHERE i4 > 1000;
-- offloaded: GpuPreAgg
SELECT max(:x), min(:x) FROM signs;
-- offloaded: GpuPreAgg
SELECT i4 % 5, max(:x) FROM signs GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT max(:x) FILTER (WHERE i4 < 9) FROM signs;
-- end for
