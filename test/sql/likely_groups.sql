-- ORDER BY with LIMIT and HAVING over averages and expressions over aggregates: the engine drops groups by estimates,
-- PostgreSQL sorts what stays.
CREATE TABLE g (id int, k int, a int, b bigint, h smallint, n numeric(12,2), w numeric(30,4), f float8, d date, ts timestamp, t text);
INSERT INTO g SELECT i, i * 7919 % 3001, i * 31 % 1009 - 300, (i * 7 % 1000) * 1000000007::bigint, i % 91, nullif(i * 13 % 10007, 5) / 100.0, (i % 977) * 1000000000000000.1234, (i * 17 % 4999) / 8.0, date '2020-01-01' + i * 11 % 1777, timestamp '2020-01-01' + i * 13 % 7777 * interval '1 hour', 't' || i % 13 FROM generate_series(1, 9000) i;
INSERT INTO g (id, k) SELECT i, 4000 + i FROM generate_series(1, 20) i;
INSERT INTO g (id, k, f, b, n) VALUES (1, 5001, 'NaN', 9e18, 0), (2, 5002, 'Infinity', -9e18, 0.01), (3, 5003, '-Infinity', 0, -0.01), (4, 5004, 1e308, 1, 1), (5, 5004, 1e308, 1, 1), (6, 5005, 1e-320, 9223372036854775807, 9999999999.99);
CREATE TABLE o (k int, name text);
INSERT INTO o SELECT i, 'name ' || i % 700 FROM generate_series(0, 3000) i;
ANALYZE g;
ANALYZE o;
-- for key in avg(a) avg(b) avg(n) avg(w) avg(f) avg(h) sum(a)/count(*) sum(a)*100/count(*) sum(b)/count(*) sum(n)/count(*) sum(f)/count(*) round(avg(n),1) round(avg(a),2) avg(a)::int avg(n)::float8 sum(a)::float8/count(a) sum(a)-sum(h)*2 abs(avg(a)) -avg(n) coalesce(avg(n),-7) coalesce(sum(a),0)::numeric/count(*) sum(n)/nullif(sum(a),0) sum(a)/nullif(count(n)-1,0) max(a)-min(a) avg(a)-avg(h) avg(a)*avg(n) 1.0*sum(a)/sum(h+1) (sum(f)/count(f))::numeric sum(w)*2
-- ordered
-- offloaded: GpuSort
SELECT k, :key AS x FROM g WHERE k < 5000 GROUP BY k ORDER BY x, k LIMIT 15;
-- ordered
-- offloaded: GpuSort
SELECT k, :key AS x, count(*) FROM g WHERE k < 5000 GROUP BY k ORDER BY x DESC, k DESC LIMIT 15;
-- ordered
-- offloaded: GpuSort
SELECT k FROM g WHERE k < 5000 GROUP BY k ORDER BY :key DESC NULLS LAST, k LIMIT 7 OFFSET 5;
-- ordered
-- offloaded: GpuSort
SELECT k, count(*) FROM g WHERE k < 5000 GROUP BY k HAVING :key > 12 ORDER BY 2 DESC, k LIMIT 9;
-- end for
-- HAVING: comparisons, several, of dates, with NULL.
-- for condition in avg(a)>10 avg(a)>=10.5 avg(n)<=50.03 sum(a)<>0 count(*)=3 avg(f)<100.25 max(d)>date'2024-01-01' min(ts)<timestamp'2020-01-08' nullif(sum(a),7)>sum(h) 5<avg(a) avg(a)<avg(h) avg(a)=avg(h)
-- ordered
-- offloaded: GpuSort
SELECT k, avg(a) FROM g GROUP BY k HAVING :condition AND count(*) > 1 ORDER BY sum(n) / count(*) DESC, k LIMIT 11;
-- ordered
-- offloaded: GpuSort
SELECT k, max(d), min(ts) FROM g GROUP BY k HAVING :condition ORDER BY k LIMIT 11;
-- end for
-- Ties: those that stay may be any, all of their keys are the same.
-- ordered
-- offloaded: GpuSort
SELECT avg(h) FROM g GROUP BY k ORDER BY 1 LIMIT 40;
-- ordered
-- offloaded: GpuSort
SELECT count(*)::numeric / 2 FROM g GROUP BY k ORDER BY 1 DESC LIMIT 40;
-- ordered
-- offloaded: GpuSort
SELECT avg(h), t, k FROM g GROUP BY k, t ORDER BY 1, t DESC, k LIMIT 40;
-- ordered
-- offloaded: GpuSort
SELECT avg(a), sum(a), count(*), k FROM g GROUP BY k ORDER BY count(*) DESC, avg(a), sum(a), max(n), k LIMIT 20;
-- NaN, infinities, sums that overflow.
-- ordered
-- offloaded: GpuSort
SELECT k, avg(f) FROM g GROUP BY k ORDER BY 2 DESC NULLS LAST, k LIMIT 6;
-- ordered
-- offloaded: GpuSort
SELECT k, avg(f) FROM g GROUP BY k ORDER BY 2, k LIMIT 6;
-- ordered
-- offloaded: GpuSort
SELECT k, avg(b), sum(b) FROM g GROUP BY k ORDER BY avg(b) * 2 DESC NULLS LAST, k LIMIT 6;
-- Errors are PostgreSQL's, of groups behind the limit, too; and of no group that HAVING drops.
-- for divisor in sum(h) (sum(a)-sum(a)) (count(n)-3) (min(k)-4007)
-- ordered
-- offloaded: GpuSort
SELECT k, sum(a) / :divisor FROM g WHERE k < 5000 GROUP BY k ORDER BY avg(a), k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k FROM g WHERE k < 5000 GROUP BY k ORDER BY sum(a) / :divisor, k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k FROM g WHERE k < 5000 GROUP BY k HAVING avg(a) / :divisor > 3 ORDER BY k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k, sum(a) / :divisor FROM g WHERE k < 5000 GROUP BY k HAVING avg(a) > 100 AND count(n) = 2 ORDER BY 2, k LIMIT 5;
-- end for
-- ordered
-- offloaded: GpuSort
SELECT k, sum(b) * 9000000000 FROM g GROUP BY k ORDER BY avg(a), k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k, (avg(b) * 4)::bigint FROM g GROUP BY k ORDER BY avg(a), k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k, count(*) * 9000000000000000000 FROM g GROUP BY k ORDER BY avg(a), k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k, max(f) * 1e10 FROM g WHERE f < 'Infinity' GROUP BY k ORDER BY avg(a), k LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT k, min(f) * 1e-10 FROM g WHERE k > 5003 GROUP BY k ORDER BY avg(a), k LIMIT 5;
-- Joins, filters, and what has no estimate: another function, limits that are not known, ties that stay.
-- ordered
-- offloaded: GpuSort
SELECT o.name, avg(g.a) FROM g JOIN o USING (k) GROUP BY o.name ORDER BY 2 DESC, 1 LIMIT 10;
-- ordered
-- offloaded: GpuSort
SELECT o.name, sum(g.n) / count(*) AS x FROM g LEFT JOIN o USING (k) WHERE g.a > 0 GROUP BY o.name HAVING count(*) > 2 ORDER BY x, o.name LIMIT 10;
-- ordered
-- offloaded: GpuPreAgg
SELECT k, ln(count(*)) FROM g GROUP BY k ORDER BY sqrt(avg(h) + 1) DESC NULLS LAST, k LIMIT 10;
-- ordered
-- offloaded: GpuPreAgg
SELECT k, avg(a) FROM g GROUP BY k ORDER BY 2 DESC NULLS LAST, k FETCH FIRST 10 ROWS WITH TIES;
-- ordered
-- offloaded: GpuPreAgg
SELECT k, avg(a) FROM g GROUP BY k ORDER BY 2 DESC NULLS LAST, k LIMIT (SELECT 3);
-- ordered
SELECT k, avg(a) FROM g GROUP BY k ORDER BY 2 DESC NULLS LAST, k LIMIT 0;
-- ordered
-- offloaded: GpuSort
SELECT k, avg(a) FROM g GROUP BY k ORDER BY 2 DESC NULLS LAST, k LIMIT 2000 OFFSET 900;
-- ordered
-- offloaded: GpuSort
SELECT x.k, x.v FROM (SELECT k, avg(a) AS v FROM g GROUP BY k ORDER BY 2 DESC NULLS LAST, 1 LIMIT 30) x JOIN o USING (k) ORDER BY 2, 1;
-- ordered
-- offloaded: GpuSort
SELECT k, t, avg(a) FROM g GROUP BY k, t HAVING count(*) FILTER (WHERE h > 5) > 0 ORDER BY avg(a) FILTER (WHERE h > 5) DESC, 1, 2 LIMIT 12;
PREPARE likely(int, numeric) AS SELECT k, avg(a) FROM g WHERE a > $1 GROUP BY k HAVING avg(n) > $2 ORDER BY 2 DESC, 1 LIMIT 8;
-- ordered
-- offloaded: GpuSort
EXECUTE likely(5, 20);
SET plan_cache_mode = force_generic_plan;
-- ordered
EXECUTE likely(7, 30);
RESET plan_cache_mode;
