-- Aggregates with DISTINCT of several arguments, and over grouping sets: a part for each argument and set, whose groups are
-- joined. In memory, and by sorting where there are too many.
CREATE TABLE m (id int PRIMARY KEY, k int, g text COLLATE "C", i2 int2, i4 int, i8 bigint, n numeric(10,2), w numeric(30,6), u numeric, f float8,
    t text, c char(6), d date, ts timestamp, flag bool);
INSERT INTO m SELECT i, nullif(i % 11, 3), CASE WHEN i % 13 = 0 THEN NULL ELSE 'g' || i % 5 END, nullif(i * 31 % 97, 5), i * 37 % 51 - 25,
    9223372036854775807 - i % 40, nullif((i * 37 % 51) / 4.0, 2), 123456789012345678901.5 + i % 30, CASE WHEN i % 7 < 3 THEN i % 7 ELSE round(i % 7 / 8.0, 3) END,
    CASE i % 40 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' ELSE i % 23 / 4.0 END,
    nullif('t' || i * 7 % 290, 't3'), 'c' || i % 5, date '2000-01-01' + i % 60, timestamp '2020-02-28' + i % 33 * interval '5 hours',
    nullif(i % 3, 1)::bool FROM generate_series(1, 4000) i;
CREATE TABLE o (id int PRIMARY KEY, name text, size int, rate numeric);
INSERT INTO o SELECT i, nullif('o' || i % 4, 'o1'), i * 10, i / 8.0 FROM generate_series(0, 10) i;
CREATE TABLE hollow (k int, v int, n numeric(8,2));
ANALYZE m;
ANALYZE o;
ANALYZE hollow;
-- Without keys, and by one and two.
-- offloaded: GpuDistinct
SELECT count(*), count(DISTINCT i2), count(DISTINCT t) FROM m;
-- offloaded: GpuDistinct
SELECT count(*), sum(DISTINCT i4), avg(DISTINCT n), count(DISTINCT w), sum(DISTINCT i8) FROM m WHERE flag;
-- for arg in id i2 i8 n w u f t c d ts flag
-- offloaded: GpuDistinct
SELECT k, count(*), count(DISTINCT :arg), count(DISTINCT i4) FROM m GROUP BY k;
-- offloaded: GpuDistinct
SELECT g, c, count(DISTINCT k), count(DISTINCT :arg), min(d) FROM m WHERE i4 > -20 GROUP BY g, c;
-- end for
-- for arg in i2 i8 n w u
-- offloaded: GpuDistinct
SELECT g, sum(i4), sum(DISTINCT :arg), avg(DISTINCT :arg), avg(DISTINCT i4), count(DISTINCT t) FROM m GROUP BY g;
-- end for
-- All kinds of plain states beside them; minima and maxima, to which DISTINCT is nothing.
-- offloaded: GpuDistinct
SELECT k, min(g), max(g), min(d), sum(n), avg(f), bool_and(flag), count(DISTINCT i2), sum(DISTINCT n), min(DISTINCT i4), max(u) IS NULL FROM m WHERE f < 100 GROUP BY k;
-- No plain ones.
-- offloaded: GpuDistinct
SELECT k, count(DISTINCT i2), sum(DISTINCT i4) FROM m GROUP BY k;
-- FILTER: different ones of the same argument too; nothing passes; what is not evaluated raises nothing.
-- offloaded: GpuDistinct
SELECT k, count(*) FILTER (WHERE flag), count(DISTINCT i2) FILTER (WHERE flag), count(DISTINCT i2) FILTER (WHERE NOT flag), count(DISTINCT i2), sum(DISTINCT i4) FILTER (WHERE i4 > 0) FROM m GROUP BY k;
-- offloaded: GpuDistinct
SELECT g, count(DISTINCT t) FILTER (WHERE id < 0), sum(DISTINCT n) FILTER (WHERE id < 0), avg(DISTINCT i4) FROM m GROUP BY g;
-- offloaded: GpuDistinct
SELECT count(*), count(DISTINCT 100 / i4) FILTER (WHERE i4 <> 0), count(DISTINCT k) FROM m;
SELECT k, count(DISTINCT g), sum(DISTINCT 100 / i4) FROM m GROUP BY k;
-- offloaded: GpuDistinct
SELECT k, count(DISTINCT t) FILTER (WHERE i4 < (SELECT max(size) FROM o) / 10), count(DISTINCT d) FROM m GROUP BY k;
-- Expressions, HAVING, keys that are expressions or that are distinct, columns that depend on keys, one key twice.
-- offloaded: GpuDistinct
SELECT k % 3, c, count(DISTINCT i4 * 2 + 1) + count(DISTINCT g), sum(DISTINCT i2) * 2, k % 3 + 1 FROM m GROUP BY k % 3, c;
-- offloaded: GpuDistinct
SELECT k, sum(i4) FROM m GROUP BY k HAVING count(DISTINCT i2) > 40 AND sum(DISTINCT i4) % 2 = 0;
-- offloaded: GpuDistinct
SELECT k, count(DISTINCT k), sum(DISTINCT k), count(DISTINCT g), avg(DISTINCT id) FROM m GROUP BY k;
-- offloaded: GpuDistinct
SELECT o.id, name, size + 1, count(DISTINCT i4), count(DISTINCT name), count(DISTINCT m.id) FROM m JOIN o ON k = o.id GROUP BY o.id;
-- offloaded: GpuDistinct
SELECT k AS a, k AS b, count(DISTINCT g), count(DISTINCT c) FROM m GROUP BY a, b;
-- Joins, one of them with rows without a match; what is above.
-- offloaded: GpuDistinct
SELECT name, count(*), count(DISTINCT m.d), sum(DISTINCT size), count(DISTINCT g) FROM m JOIN o ON k = o.id GROUP BY name;
-- offloaded: GpuDistinct
SELECT k, count(size), count(DISTINCT name), count(DISTINCT c) FROM m LEFT JOIN o ON k = o.id AND size > 40 GROUP BY k;
-- offloaded: GpuDistinct
SELECT count(*), count(DISTINCT m.id), sum(DISTINCT size) FROM m FULL JOIN o ON k = o.id + 5;
-- ordered
-- offloaded: GpuDistinct
SELECT k, count(DISTINCT i2) AS a, count(DISTINCT i4) AS b FROM m GROUP BY k ORDER BY b DESC, a, k LIMIT 4;
-- offloaded: GpuDistinct
SELECT k, rank() OVER (ORDER BY count(DISTINCT i2), sum(DISTINCT i4)) FROM m GROUP BY k;
-- offloaded: GpuDistinct
SELECT sum(a), sum(b), count(*) FROM (SELECT id, count(DISTINCT i2) a, count(DISTINCT g) b FROM m GROUP BY id) x;
-- offloaded: GpuDistinct
SELECT DISTINCT count(DISTINCT i2) > 20, count(DISTINCT i4) > 20 FROM m GROUP BY k;
-- Partitions, inheritance, a WITH that is read several times, an outer query's column.
CREATE TABLE parted (k int, a int, t text) PARTITION BY RANGE (k);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (5);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (5) TO (20);
INSERT INTO parted SELECT i % 20, i % 7, 't' || i % 30 FROM generate_series(1, 1000) i;
ANALYZE parted;
-- offloaded: GpuDistinct
SELECT k, count(*), count(DISTINCT a), count(DISTINCT t) FROM parted WHERE k > 2 GROUP BY k;
-- offloaded: GpuDistinct
SELECT k % 3, count(DISTINCT a), count(DISTINCT t) FROM parted GROUP BY ROLLUP (1);
WITH w AS MATERIALIZED (SELECT k, i2 + random()::int * 0 AS v, t FROM m)
SELECT w.k, count(DISTINCT v), count(DISTINCT w.t), count(*) FROM w JOIN o ON w.k = o.id GROUP BY w.k;
WITH w AS MATERIALIZED (SELECT k, count(*) AS many FROM m GROUP BY k)
SELECT m.k, count(DISTINCT many), count(DISTINCT t), count(*) FROM w JOIN m ON w.k = m.k GROUP BY m.k;
-- Nothing comes in, or nothing but NULL.
-- offloaded: GpuDistinct
SELECT count(*), sum(k), count(DISTINCT v), sum(DISTINCT n), avg(DISTINCT v) FROM hollow;
-- offloaded: GpuDistinct
SELECT k, count(*), count(DISTINCT v), sum(DISTINCT n) FROM hollow GROUP BY k;
-- offloaded: GpuDistinct
SELECT count(*), count(DISTINCT n), sum(DISTINCT v) FROM hollow HAVING count(*) = 0;
-- offloaded: GpuDistinct
SELECT k, sum(DISTINCT i4), count(DISTINCT i2) FROM m WHERE i4 > 1000 GROUP BY k;
-- offloaded: GpuDistinct
SELECT k, count(DISTINCT i2), sum(DISTINCT i2), avg(DISTINCT i4) FILTER (WHERE false) FROM m WHERE i2 IS NULL GROUP BY k;
-- Grouping sets: with one argument and with several, beside plain aggregates; GROUPING(); an empty set of no rows.
-- offloaded: GpuDistinct
SELECT k, c, count(DISTINCT i2) FROM m GROUP BY ROLLUP (k, c);
-- offloaded: GpuDistinct
SELECT k, c, flag, GROUPING(k, c), GROUPING(flag), count(*), sum(n), count(DISTINCT i2), sum(DISTINCT i4) FROM m GROUP BY CUBE (k, c, flag);
-- offloaded: GpuDistinct
SELECT k, g, avg(DISTINCT n), count(DISTINCT t) FILTER (WHERE flag), max(g) FROM m GROUP BY GROUPING SETS ((k), (g), (g), ());
-- offloaded: GpuDistinct
SELECT k + 1, coalesce(g, 'all'), count(DISTINCT k), count(DISTINCT g) FROM m GROUP BY GROUPING SETS ((k, g), (g), ()) HAVING count(DISTINCT k) > 3 OR GROUPING(g) = 1;
-- offloaded: GpuDistinct
SELECT k, GROUPING(k), count(DISTINCT v), sum(DISTINCT v), count(*) FROM hollow GROUP BY ROLLUP (k);
-- ordered
-- offloaded: GpuDistinct
SELECT name, c, count(DISTINCT m.id % 50), count(DISTINCT size) FROM m JOIN o ON k = o.id GROUP BY ROLLUP (name, c) ORDER BY 3 DESC, 4, 1, 2 LIMIT 20;
-- Too many groups for memory.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
-- offloaded: GpuDistinct
SELECT id, t, count(*), count(DISTINCT i2), sum(DISTINCT n), avg(DISTINCT w) FROM m GROUP BY id, t;
-- offloaded: GpuDistinct
SELECT t, d, max(g), count(DISTINCT i2), sum(DISTINCT n), count(DISTINCT g) FROM m GROUP BY t, d;
-- offloaded: GpuDistinct
SELECT id, t, count(DISTINCT i2), sum(DISTINCT n), max(t) FROM m GROUP BY ROLLUP (id, t);
RESET work_mem;
RESET hash_mem_multiplier;
-- Sums that leave the range, by one part alone; equal numerics that print differently.
CREATE TABLE edges (g int, x int, b bigint, m numeric, f float8);
INSERT INTO edges SELECT i % 3, i % 7, 9223372036854775807 - i % 50, CASE i % 4 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 2.5 END,
    CASE i % 4 WHEN 0 THEN 0.0::float8 WHEN 1 THEN '-0'::float8 WHEN 2 THEN 'NaN'::float8 ELSE i END FROM generate_series(1, 500) i;
ANALYZE edges;
-- offloaded: GpuDistinct
SELECT g, sum(DISTINCT b), avg(DISTINCT b), count(DISTINCT f), count(DISTINCT x) FROM edges GROUP BY g;
-- offloaded: GpuDistinct
SELECT g, trim_scale(sum(DISTINCT m)), count(DISTINCT x), count(DISTINCT m) FROM edges GROUP BY g;
-- offloaded: GpuDistinct
SELECT trim_scale(m), count(DISTINCT x), count(DISTINCT f) FROM edges GROUP BY m;
INSERT INTO edges SELECT 7, i, i, 'NaN', i FROM generate_series(1, 3) i;
SELECT g, sum(DISTINCT m), count(DISTINCT x) FROM edges GROUP BY g;
SELECT trim_scale(m), count(DISTINCT x), count(DISTINCT b) FROM edges GROUP BY m;
-- What stays: sums of distinct floats, volatile functions, samples, other aggregates.
SELECT k, sum(DISTINCT f), count(DISTINCT i4), count(*) FROM m WHERE f < 100 GROUP BY k;
SELECT count(DISTINCT i2), count(DISTINCT i4), count(*) FROM m WHERE random() >= 0;
SELECT count(DISTINCT i2) < 100, count(DISTINCT i4) < 100, count(*) < 5000 FROM m TABLESAMPLE SYSTEM (50);
SELECT k, string_agg(DISTINCT c, ','), count(DISTINCT i2), count(DISTINCT i4), count(*) FROM m GROUP BY k;
SELECT count(DISTINCT (k, c)), count(DISTINCT k), count(*) FROM m;
-- Rescans, prepared statements, cursors, settings.
SELECT x.k, i.* FROM (VALUES (1), (3), (NULL), (5)) x(k), LATERAL (SELECT count(DISTINCT i2) AS a, count(DISTINCT g) AS b, count(*) FROM m WHERE m.k = x.k) i;
SELECT k, (SELECT count(DISTINCT i2) + count(DISTINCT m.g) FROM m WHERE m.k = o.id) FROM o JOIN hollow ON true;
PREPARE s(int) AS SELECT k, count(*), count(DISTINCT i2), count(DISTINCT t) FROM m WHERE id % $1 = 0 GROUP BY k;
EXECUTE s(7);
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuDistinct
EXECUTE s(3);
EXECUTE s(0);
RESET plan_cache_mode;
DEALLOCATE ALL;
BEGIN;
DECLARE r NO SCROLL CURSOR FOR SELECT count(DISTINCT i2), count(DISTINCT t) FROM m GROUP BY k;
FETCH 4 FROM r;
CLOSE r;
DECLARE r SCROLL CURSOR FOR SELECT k, count(DISTINCT i2), count(DISTINCT t) FROM m GROUP BY ROLLUP (k) ORDER BY k;
FETCH ALL FROM r;
FETCH BACKWARD 3 FROM r;
COMMIT;
SET pg_turbine.enable_aggregate = off;
-- not offloaded
SELECT k, count(DISTINCT i2), count(DISTINCT t) FROM m GROUP BY k;
RESET pg_turbine.enable_aggregate;
SET enable_hashagg = off;
SELECT k, count(DISTINCT i2), count(DISTINCT t) FROM m GROUP BY k;
RESET enable_hashagg;
-- Rights of columns, and a policy of rows.
CREATE ROLE distinct_reader;
GRANT SELECT (k, i2, t) ON m TO distinct_reader;
SET ROLE distinct_reader;
SELECT k, count(DISTINCT i2), count(DISTINCT t) FROM m GROUP BY k;
SELECT k, count(DISTINCT i2), count(DISTINCT d) FROM m GROUP BY k;
RESET ROLE;
ALTER TABLE m ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON m USING (k < 4);
SET ROLE distinct_reader;
SELECT k, count(*), count(DISTINCT i2), count(DISTINCT t) FROM m GROUP BY k;
RESET ROLE;
DROP POLICY few ON m;
REVOKE ALL ON m FROM distinct_reader;
DROP ROLE distinct_reader;
