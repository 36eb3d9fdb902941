-- Aggregates with DISTINCT beside plain ones: what they are of is one more key of the device, and its groups are folded.
-- By the backend; by the engine: distinct_fold.sql.
SET pg_turbine.enable_sort = off;
CREATE TABLE s (id int PRIMARY KEY, k int, g text COLLATE "C", i2 int2, i4 int, i8 bigint, n numeric(10,2), w numeric(30,6), u numeric, f float8, r real,
    t text, v varchar(20), c char(6), d date, ts timestamp, flag bool);
INSERT INTO s SELECT i, nullif(i % 11, 3), CASE WHEN i % 13 = 0 THEN NULL ELSE 'g' || i % 5 END, nullif(i * 31 % 97, 5), i * 37 % 51 - 25,
    9223372036854775807 - i % 40, nullif((i * 37 % 51) / 4.0, 2), 123456789012345678901.5 + i % 30, CASE WHEN i % 7 < 3 THEN i % 7 ELSE round(i % 7 / 8.0, 3) END,
    CASE i % 40 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' ELSE i % 23 / 4.0 END, i % 17 / 8.0,
    nullif('t' || i * 7 % 290, 't3'), CASE i % 6 WHEN 0 THEN '' ELSE repeat('v', i % 19) END, 'c' || i % 5, date '2000-01-01' + i % 60,
    timestamp '2020-02-28' + i % 33 * interval '5 hours', nullif(i % 3, 1)::bool FROM generate_series(1, 5000) i;
CREATE TABLE z (id int PRIMARY KEY, name text, size int, rate numeric);
INSERT INTO z SELECT i, nullif('z' || i % 4, 'z1'), i * 10, i / 8.0 FROM generate_series(0, 10) i;
CREATE TABLE hollow (k int, v int, n numeric(8,2));
ANALYZE s;
ANALYZE z;
ANALYZE hollow;
-- for arg in i2 i4 i8 n w u
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(i4), avg(n), count(DISTINCT :arg), sum(DISTINCT :arg), avg(DISTINCT :arg) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), count(:arg), sum(:arg), avg(:arg), min(:arg), sum(DISTINCT :arg), avg(DISTINCT :arg), count(DISTINCT :arg) FROM s;
-- offloaded: GpuPreAgg
SELECT g, sum(i8), avg(DISTINCT :arg) FROM s WHERE i4 > 0 GROUP BY g;
-- end for
-- for arg in id k g f r t v c d ts flag
-- offloaded: GpuPreAgg
SELECT g, count(*), max(i4), count(DISTINCT :arg) FROM s GROUP BY g;
-- offloaded: GpuPreAgg
SELECT count(:arg), count(DISTINCT :arg), sum(i2) FROM s WHERE i4 % 3 = 1;
-- end for
-- All kinds of plain states, texts among them.
-- offloaded: GpuPreAgg
SELECT k, min(g), max(g), min(d), max(ts), min(n), max(u) IS NULL, bool_and(flag), bool_or(flag), every(i4 > -20), count(DISTINCT i2), min(r), avg(r), sum(r) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT t), min(g), max(c), min(c), sum(n), avg(i8) FROM s;
-- To minima and maxima DISTINCT is nothing.
-- offloaded: GpuPreAgg
SELECT k, count(*), min(DISTINCT i4), max(DISTINCT n), bool_or(DISTINCT flag), count(DISTINCT i2) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT g, count(*), max(DISTINCT i4), min(DISTINCT d) FROM s GROUP BY g;
-- offloaded: GpuPreAgg
SELECT g, max(DISTINCT i4), count(*) FROM s GROUP BY ROLLUP (g);
-- FILTER: on plain ones, on those with DISTINCT, on some of them; nothing passes; what is not evaluated raises nothing.
-- offloaded: GpuPreAgg
SELECT k, count(*) FILTER (WHERE flag), sum(n) FILTER (WHERE i4 > 0), count(DISTINCT i2) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT i2) FILTER (WHERE flag), sum(DISTINCT i2) FILTER (WHERE NOT flag), avg(DISTINCT i2), sum(DISTINCT i2) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT i4) FILTER (WHERE i4 > 0), avg(DISTINCT i4) FILTER (WHERE i4 > 0), count(DISTINCT i4) FILTER (WHERE id < 40) FROM s GROUP BY k;
-- for arg in id g i8 n w u f t c ts flag
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT :arg) FILTER (WHERE i4 > 5) FROM s GROUP BY k;
-- end for
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(DISTINCT u) FILTER (WHERE flag), avg(DISTINCT u) FILTER (WHERE flag) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(DISTINCT n) FILTER (WHERE flag), count(DISTINCT n) FILTER (WHERE flag), avg(DISTINCT n) FILTER (WHERE flag) FROM s;
-- offloaded: GpuPreAgg
SELECT count(*), count(DISTINCT n) FILTER (WHERE id < 0), sum(DISTINCT n) FILTER (WHERE id < 0), avg(DISTINCT n) FILTER (WHERE id < 0), sum(DISTINCT n) FROM s;
-- offloaded: GpuPreAgg
SELECT g, sum(i4), sum(DISTINCT u) FILTER (WHERE flag), avg(DISTINCT u) FILTER (WHERE i4 < 0) FROM s GROUP BY g;
-- offloaded: GpuPreAgg
SELECT count(*), count(DISTINCT 100 / i4) FILTER (WHERE i4 <> 0) FROM s;
SELECT k, count(*), sum(DISTINCT 100 / i4) FILTER (WHERE i4 > 0) FROM s GROUP BY k;
SELECT k, count(*), sum(DISTINCT 100 / i4) FROM s GROUP BY k;
SELECT count(*), count(DISTINCT i4 + (SELECT 1 / size FROM z WHERE z.id = 0)) FILTER (WHERE id < 0) FROM s;
SELECT count(*), count(DISTINCT i4 + (SELECT 1 / size FROM z WHERE z.id = 0)) FILTER (WHERE id < 0), sum(DISTINCT i4 + (SELECT 1 / size FROM z WHERE z.id = 0)) FILTER (WHERE id < -1) FROM s;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT i4) FILTER (WHERE i4 < (SELECT max(size) FROM z) / 10) FROM s GROUP BY k;
SELECT count(*), count(DISTINCT i4 + (SELECT 1 / size FROM z WHERE z.id = 0)) FILTER (WHERE id < 0), count(DISTINCT i4 + (SELECT 1 / size FROM z WHERE z.id = 0)) FROM s WHERE id < 0;
-- Expressions, HAVING, keys that are expressions or what is distinct, columns that depend on keys.
-- offloaded: GpuPreAgg
SELECT k % 3, c, count(*), sum(DISTINCT i4 * 2 + 1), count(DISTINCT i4 * 2 + 1) + count(*) FROM s GROUP BY k % 3, c;
-- offloaded: GpuPreAgg
SELECT k, sum(i4) FROM s GROUP BY k HAVING count(DISTINCT i2) > 40 AND sum(DISTINCT i2) % 2 = 0;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT k), sum(DISTINCT k) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, d, count(*), count(DISTINCT k), avg(DISTINCT k) FROM s GROUP BY d, k;
-- offloaded: GpuPreAgg
SELECT k + 1, count(*), count(DISTINCT k) FROM s GROUP BY k + 1;
-- offloaded: GpuPreAgg
SELECT z.id, name, size + 1, count(*), sum(n), count(DISTINCT i4) FROM s JOIN z ON k = z.id GROUP BY z.id;
-- offloaded: GpuPreAgg
SELECT z.id, name, count(*), count(DISTINCT name) FROM s JOIN z ON k = z.id GROUP BY z.id;
-- offloaded: GpuPreAgg
SELECT z.id, size + 1, count(*), sum(DISTINCT size + 1), sum(DISTINCT size + 1) + size FROM s JOIN z ON k = z.id GROUP BY z.id;
-- offloaded: GpuPreAgg
SELECT id, i4 + 1, count(*), sum(DISTINCT i4 + 1) FROM s WHERE id < 50 GROUP BY id;
-- Joins, one of them with rows without a match; what is above.
-- offloaded: GpuPreAgg
SELECT name, count(*), sum(i8), count(DISTINCT size), sum(DISTINCT size), avg(DISTINCT size) FROM s JOIN z ON k = z.id GROUP BY name;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(size), count(DISTINCT name) FROM s LEFT JOIN z ON k = z.id AND size > 40 GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(size), count(DISTINCT s.id), sum(DISTINCT s.id) FROM s FULL JOIN z ON k = z.id + 5;
-- offloaded: GpuPreAgg
SELECT name, sum(i4), count(DISTINCT rate), sum(DISTINCT rate) FROM s JOIN z ON k = z.id GROUP BY name;
-- ordered
-- offloaded: GpuPreAgg
SELECT k, count(*) AS rows, count(DISTINCT i2) AS n FROM s GROUP BY k ORDER BY n DESC, k LIMIT 4;
-- ordered
-- offloaded: GpuPreAgg
SELECT k, sum(i4), count(DISTINCT t) FROM s GROUP BY k ORDER BY k DESC NULLS LAST;
-- offloaded: GpuPreAgg
SELECT k, count(*), rank() OVER (ORDER BY count(DISTINCT i2), sum(i4)) FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT sum(a), sum(b) FROM (SELECT g, count(*) a, count(DISTINCT i4) b FROM s GROUP BY g) x;
-- offloaded: GpuPreAgg
SELECT DISTINCT count(*) > 400, count(DISTINCT i4) > 20 FROM s GROUP BY k;
-- Nothing comes in, or nothing but NULL.
-- offloaded: GpuPreAgg
SELECT count(*), sum(k), count(DISTINCT v), sum(DISTINCT v), avg(DISTINCT v) FROM hollow;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT v) FROM hollow GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), count(DISTINCT n), sum(DISTINCT n), max(k) FROM hollow HAVING count(*) = 0;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(DISTINCT i4), count(DISTINCT i4) FROM s WHERE i4 > 1000 GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(DISTINCT i4), count(DISTINCT i4) FROM s WHERE i4 > 1000;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT i2), sum(DISTINCT i2), avg(DISTINCT i2) FROM s WHERE i2 IS NULL GROUP BY k;
-- One group a row; memory that does not suffice.
-- offloaded: GpuPreAgg
SELECT sum(a), sum(b), count(*) FROM (SELECT id, count(*) a, sum(DISTINCT i4) b FROM s GROUP BY id) x;
SET work_mem = '64kB';
-- offloaded: GpuPreAgg
SELECT sum(a), sum(b), count(*) FROM (SELECT id, count(*) a, sum(DISTINCT i4) b FROM s GROUP BY id) x;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT id), sum(DISTINCT id) FROM s GROUP BY k;
RESET work_mem;
-- Sums that leave the range; equal numerics that print differently; floats that are equal and are not the same.
CREATE TABLE edges (g int, x int, v float8, b bigint, m numeric, f float8);
INSERT INTO edges SELECT i % 3, i % 7, CASE WHEN i IN (1, 4) THEN 1.2e308 ELSE 1 END, 9223372036854775807 - i % 50, CASE i % 4 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 2.5 END,
    CASE i % 4 WHEN 0 THEN 0.0::float8 WHEN 1 THEN '-0'::float8 WHEN 2 THEN 'NaN'::float8 ELSE i END FROM generate_series(1, 500) i;
ANALYZE edges;
SELECT g, sum(v), count(DISTINCT x) FROM edges GROUP BY g;
SELECT sum(v), count(DISTINCT x) FROM edges;
-- offloaded: GpuPreAgg
SELECT g, count(*), sum(DISTINCT b), avg(DISTINCT b), sum(b) FROM edges GROUP BY g;
-- offloaded: GpuPreAgg
SELECT g, count(*), count(DISTINCT f) FROM edges GROUP BY g;
-- offloaded: GpuPreAgg
SELECT g, count(*), count(DISTINCT m) FROM edges GROUP BY g;
-- offloaded: GpuPreAgg
SELECT g, count(*), trim_scale(sum(DISTINCT m)), trim_scale(avg(DISTINCT m)) FROM edges GROUP BY g;
-- offloaded: GpuPreAgg
SELECT trim_scale(m), count(*), count(DISTINCT x) FROM edges GROUP BY m;
INSERT INTO edges SELECT 7, i, 1, i, 'NaN', i FROM generate_series(1, 3) i;
SELECT g, count(*), count(DISTINCT m), sum(DISTINCT m) FROM edges WHERE m > 2 GROUP BY g;
-- Rescans, parameters, generic plans, settings.
SELECT o.k, i.* FROM (VALUES (1), (3), (NULL), (5), (1)) o(k), LATERAL (SELECT count(*), count(DISTINCT i4 + o.k), sum(DISTINCT i4 + o.k) FROM s WHERE s.k = o.k) i;
SELECT id, (SELECT sum(s.n) + count(DISTINCT s.i2) FROM s WHERE s.k = z.id) FROM z;
PREPARE p(int) AS SELECT k, count(*), count(DISTINCT i4 % $1) FROM s WHERE id > $1 GROUP BY k;
EXECUTE p(7);
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE p(3);
EXECUTE p(0);
EXECUTE p(NULL);
RESET plan_cache_mode;
DEALLOCATE ALL;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- offloaded: GpuPreAgg
SELECT name, count(*), count(DISTINCT i2) FROM s JOIN z ON s.k = z.id GROUP BY name;
RESET ALL;
SET pg_turbine.enable_sort = off;
SET enable_sort = off;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(DISTINCT i2) FROM s GROUP BY k;
RESET ALL;
-- What stays with PostgreSQL, and what goes to another node.
-- offloaded: GpuDistinct
SELECT k, count(*), count(DISTINCT i2), count(DISTINCT i4) FROM s GROUP BY k;
-- not offloaded
SELECT count(*), sum(DISTINCT f) FROM s;
-- not offloaded
SELECT k, sum(i4), avg(DISTINCT r) FROM s GROUP BY k;
-- offloaded: GpuDistinct
SELECT k, count(*), count(DISTINCT i4) FROM s GROUP BY ROLLUP (k);
-- not offloaded
SELECT k, count(*), string_agg(DISTINCT g, ',') FROM s GROUP BY k;
-- not offloaded
SELECT k, count(*), count(DISTINCT (i2, i4)) FROM s GROUP BY k;
-- not offloaded
SELECT count(*), sum(DISTINCT i4 ORDER BY i4) FROM s;
-- not offloaded
SELECT count(*), count(DISTINCT i4 + (random() * 0)::int) FROM s;
-- not offloaded
SELECT count(*), count(DISTINCT 1) FROM s;
-- needs: icu
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
-- needs: icu
-- not offloaded
SELECT count(*), count(DISTINCT upper(g) COLLATE loose), count(DISTINCT g COLLATE loose) FROM s;
-- needs: icu
-- not offloaded
SELECT count(*), count(DISTINCT CASE WHEN flag THEN g ELSE upper(g) END COLLATE loose) FROM s;
SET pg_turbine.enable_aggregate = off;
-- not offloaded
SELECT k, count(*), count(DISTINCT i2) FROM s GROUP BY k;
RESET pg_turbine.enable_aggregate;
DROP TABLE s, z, hollow, edges;
