-- HAVING: the engine drops groups that surely do not pass, PostgreSQL looks at those that come back. And columns that
-- nobody reads do not come back.
CREATE TABLE g (id int, k int, a int, b bigint, h smallint, n numeric(12,2), u numeric, f float8, r real, d date, t text, z char(7));
INSERT INTO g SELECT i, i * 7919 % 2003, i * 31 % 1009 - 300, (i * 7 % 1000) * 1000000007::bigint, i % 91, nullif(i * 13 % 10007, 5) / 100.0, (i % 5) / 4.0, (i * 17 % 4999) / 8.0, (i % 100) / 4.0, date '2020-01-01' + i * 11 % 1777, 't' || i % 13, 'z' || i % 3 FROM generate_series(1, 8000) i;
INSERT INTO g (id, k) SELECT i, 4000 + i FROM generate_series(1, 20) i;
INSERT INTO g (id, k, f, b, n, u) VALUES (1, 5001, 'NaN', 9e18, 0, 1.0), (2, 5002, 'Infinity', -9e18, 0.01, 1.00), (3, 5003, '-Infinity', 0, -0.01, 1), (4, 5004, 1e308, 1, 1, 2), (5, 5004, 1e308, 1, 1, 2.0), (6, 5005, 1e-320, 9223372036854775807, 9999999999.99, 0.000);
ANALYZE g;
-- for condition in sum(n)>150 sum(n)>330.005 sum(n)<=0 sum(a)=17 sum(a)<>17 count(*)>4 count(*)=4 count(n)<3 avg(a)>400.5 avg(n)<10 avg(f)>=100 sum(f)>'NaN' max(f)='Infinity' min(a)<-299 max(d)>date'2024-10-01' sum(b)>9223372036854775806 sum(n)/count(*)>60 avg(a)-avg(h)>500 coalesce(sum(a),-1)<0 nullif(count(*),4)>3 sum(a)*2>sum(h)
-- offloaded: GpuPreAgg
SELECT k, sum(n), count(*) FROM g WHERE k < 5004 GROUP BY k HAVING :condition;
-- offloaded: GpuPreAgg
SELECT count(*) FROM (SELECT k FROM g WHERE k < 5004 GROUP BY k HAVING :condition) s;
-- ordered
-- offloaded: GpuSort
SELECT k, t, max(d) FROM g WHERE k < 5004 GROUP BY k, t HAVING :condition ORDER BY k DESC, t;
-- offloaded: GpuPreAgg
SELECT t, z, :condition FROM g WHERE k < 5004 GROUP BY t, z HAVING (:condition) IS NOT FALSE;
-- offloaded: GpuPreAgg
SELECT k % 100, avg(a) FROM g WHERE k < 5004 GROUP BY k % 100 HAVING count(*) > 80 AND (:condition OR sum(a) > 0);
-- end for
-- Of several conditions one may have no estimate.
-- offloaded: GpuPreAgg
SELECT k, t FROM g GROUP BY k, t HAVING t LIKE '%1%' AND sum(n) > 100;
-- offloaded: GpuPreAgg
SELECT t, k FROM g GROUP BY k, t HAVING length(t) > 2 AND count(*) < 2;
-- offloaded: GpuPreAgg
SELECT t FROM g GROUP BY t HAVING t <> 't3' AND count(*) > 600;
-- Errors of groups that another condition drops, or does not.
SELECT k FROM g WHERE k < 3000 GROUP BY k HAVING sum(a) / (count(*) - 4) > 0;
SELECT k FROM g WHERE k < 3000 GROUP BY k HAVING count(*) > 5 AND sum(a) / (count(*) - 4) > 0;
SELECT k FROM g WHERE k < 3000 GROUP BY k HAVING count(*) > 4 AND sum(a) / (count(*) - 4) > 0;
SELECT k FROM g WHERE k < 3000 GROUP BY k HAVING 100 / (sum(h) - 100) > 1;
SELECT t, sum(a) FROM g GROUP BY t HAVING sqrt(sum(a)) > 0;
SELECT k, sum(f) FROM g GROUP BY k HAVING sum(f) > 5;
SELECT k, avg(f) FROM g WHERE k <> 5004 GROUP BY k HAVING avg(f) > 100;
SELECT k, sum(r) FROM g GROUP BY k HAVING sum(r) > 100;
-- A volatile condition sees all groups.
SELECT count(*) > 0 FROM (SELECT k FROM g GROUP BY k HAVING random() >= 0 AND count(*) > 3) s;
-- Without groups; of none; with parameters of the query; of a subquery.
SELECT sum(a) FROM g HAVING sum(a) > 0;
SELECT sum(a) FROM g HAVING sum(a) < 0;
-- offloaded: GpuPreAgg
SELECT k, sum(a) FROM g WHERE k < 0 GROUP BY k HAVING sum(a) > 0;
-- offloaded: GpuPreAgg
SELECT k, sum(n) FROM g GROUP BY k HAVING sum(n) > (SELECT avg(n) * 4 FROM g);
-- offloaded: GpuPreAgg
SELECT id, k FROM g WHERE k IN (SELECT k FROM g GROUP BY k HAVING sum(n) > 250) AND a > 0;
PREPARE p (numeric, int) AS SELECT k, count(*) FROM g GROUP BY k HAVING sum(n) > $1 AND count(*) > $2;
EXECUTE p (100, 2);
EXECUTE p (200, 3);
EXECUTE p (NULL, 3);
SET plan_cache_mode = force_generic_plan;
EXECUTE p (100, 2);
EXECUTE p (200, 3);
EXECUTE p (NULL, 3);
EXECUTE p ('NaN', 0);
EXECUTE p (-1e300, 1);
RESET plan_cache_mode;
DEALLOCATE p;
-- The value of a subquery, that is known when the groups are: NULL, NaN, of several types, above and below everything.
-- for value in (SELECT/**/max(n)+10/**/FROM/**/g/**/WHERE/**/id<3000) (SELECT/**/min(a)/**/FROM/**/g/**/WHERE/**/id<0) (SELECT/**/f/**/FROM/**/g/**/WHERE/**/k=5001) (SELECT/**/count(*)/**/FROM/**/g) (SELECT/**/-max(b)/**/FROM/**/g) (SELECT/**/1e200::float8) coalesce((SELECT/**/min(a)/**/FROM/**/g/**/WHERE/**/id<0),7)
-- offloaded: GpuPreAgg
SELECT k, sum(n), count(*) FROM g GROUP BY k HAVING sum(n) > :value;
-- offloaded: GpuPreAgg
SELECT k FROM g WHERE k < 5001 GROUP BY k HAVING NOT (sum(a) >= :value) OR max(f) = :value;
-- ordered
SELECT k, sum(a) FROM g WHERE k < 5001 GROUP BY k HAVING count(*) <= :value ORDER BY sum(a) * :value, k LIMIT 9;
-- end for
-- offloaded: GpuPreAgg
SELECT k, max(d) FROM g GROUP BY k HAVING max(d) > (SELECT max(d) - 30 FROM g WHERE id < 500);
-- One that raises an error, where a group is looked at and where there is none; one for each row outside.
SELECT k FROM g GROUP BY k HAVING count(*) > (SELECT 1 / (count(*) - 8026) FROM g);
SELECT k FROM g WHERE k < 0 GROUP BY k HAVING count(*) > (SELECT 1 / (count(*) - 8026) FROM g);
SELECT k FROM g GROUP BY k HAVING count(*) > (SELECT id FROM g WHERE id < 3);
SELECT o.id, (SELECT count(*) FROM (SELECT k FROM g GROUP BY k HAVING sum(a) > o.a * 3) s) FROM g o WHERE o.id < 6;
-- Values that print differently: of groups that are dropped, that stay, and that nobody reads.
SELECT u, count(*) FROM g GROUP BY u HAVING count(*) > 10;
SELECT u, count(*) FROM g GROUP BY u HAVING count(*) < 10;
SELECT count(*) FROM (SELECT u FROM g GROUP BY u HAVING count(*) < 10) s;
SELECT count(*), sum(c) FROM (SELECT u, k % 7, count(*) AS c FROM g GROUP BY u, k % 7) s;
SELECT k, max(u), min(u) FROM g GROUP BY k HAVING max(u) > 0.9;
SELECT k % 3, count(*) FROM (SELECT k, max(u) FROM g GROUP BY k HAVING max(u) > 0.9) s GROUP BY 1;
-- Columns that nobody reads, of all kinds.
-- offloaded: GpuPreAgg
SELECT count(*), sum(s) FROM (SELECT k, t, z, d, sum(a) AS s FROM g GROUP BY k, t, z, d) x;
-- offloaded: GpuPreAgg
SELECT s FROM (SELECT t, z, sum(n) AS s, avg(a), max(t) FROM g GROUP BY t, z) x;
-- ordered
-- offloaded: GpuSort
SELECT s FROM (SELECT k, t, sum(n) AS s FROM g GROUP BY k, t ORDER BY t, k LIMIT 50) x;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(x) FROM (SELECT rank() OVER (PARTITION BY t, z ORDER BY n, k DESC) x FROM g) s;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(x) FROM (SELECT a - lag(a) OVER (PARTITION BY t ORDER BY d, id, k) x FROM g) s;
-- offloaded: GpuSort
SELECT t, x FROM (SELECT t, z, d, lead(t, 2) OVER (PARTITION BY z ORDER BY d, id, k) x FROM g) s WHERE t > 't5';
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*) FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY d, id) x FROM g) s WHERE x <= 2;
-- offloaded: GpuSort
SELECT k, d FROM (SELECT k, d, t, row_number() OVER (PARTITION BY k ORDER BY d, id) x FROM g) s WHERE x = 3;
-- offloaded: GpuSort
SELECT 1 FROM (SELECT k, d, row_number() OVER (PARTITION BY k ORDER BY d, id) x FROM g) s WHERE x = 3;
-- That groups are dropped by the engine at all; where most pass, they come.
CREATE FUNCTION drops(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; shown text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP shown := shown || line || E'\n'; END LOOP;
  RETURN shown !~ 'Custom Scan' OR substring(shown FROM 'Groups Removed by GPU Filter: (\d+)')::int > 0;
END $$;
SELECT drops('SELECT k, sum(n) FROM g GROUP BY k HAVING sum(n) > 330');
SELECT drops('SELECT k, t, count(*) FROM g GROUP BY k, t HAVING count(*) > 5 ORDER BY k');
SELECT drops('SELECT k, sum(n) FROM g GROUP BY k HAVING sum(n) > (SELECT avg(n) * 4 FROM g)');
SELECT drops('SELECT k FROM g GROUP BY k HAVING count(*) >= 1') = (current_setting('pg_turbine.enabled') = 'off');
