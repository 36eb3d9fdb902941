-- Aggregates with DISTINCT and no plain ones: folded where all are of one argument, else PostgreSQL's own over distinct
-- rows of a device.
-- By the backend; by the engine: distinct_fold.sql.
SET pg_turbine.enable_sort = off;
CREATE TABLE q (id int, k int, b bigint, n numeric(10,2), u numeric, f float8, t text, c char(4), d date, flag bool);
INSERT INTO q SELECT i, nullif(i % 11, 3), i * 31 % 97, nullif((i * 37 % 51) / 4.0, 2), CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 2 END, CASE i % 40 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN 0 ELSE i % 23 / 4.0 END, nullif('t' || i % 29, 't3'), 'c' || i % 5, date '2000-01-01' + i % 60, nullif(i % 3, 1)::bool FROM generate_series(1, 3000) i;
CREATE TABLE p (id int PRIMARY KEY, name text);
INSERT INTO p SELECT i, 'p' || i % 4 FROM generate_series(0, 10) i;
CREATE TABLE hollow (k int, v int);
ANALYZE q;
ANALYZE p;
ANALYZE hollow;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT b) FROM q;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT n), sum(DISTINCT n), avg(DISTINCT n), min(n), max(n) FROM q;
-- for arg in id k b n f t c d flag
-- offloaded: GpuPreAgg
SELECT k, count(DISTINCT :arg) FROM q GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT :arg) FROM q WHERE b > 40;
-- end for
-- offloaded: GpuPreAgg
SELECT k, sum(DISTINCT b), avg(DISTINCT b), max(d), bool_or(flag), string_agg(DISTINCT c, ',') FROM q GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(DISTINCT t), count(DISTINCT c) FROM q GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(DISTINCT b) FILTER (WHERE flag), count(DISTINCT b % 7) FROM q GROUP BY k HAVING count(DISTINCT t) > 2;
-- offloaded: GpuPreAgg
SELECT k % 3, c, count(DISTINCT b + 1) FROM q GROUP BY k % 3, c;
-- ordered
-- offloaded: GpuPreAgg
SELECT k, count(DISTINCT b) AS n FROM q GROUP BY k ORDER BY n DESC, k LIMIT 4;
-- offloaded: GpuPreAgg
SELECT name, count(DISTINCT b), sum(DISTINCT n) FROM q JOIN p ON q.k = p.id GROUP BY name;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT name) FROM q LEFT JOIN p ON q.k = p.id;
-- offloaded: GpuPreAgg
SELECT sum(DISTINCT f), count(DISTINCT f) FROM q WHERE f <> 'NaN';
SELECT u, count(DISTINCT k) FROM q GROUP BY u;
SELECT k, sum(DISTINCT u), count(DISTINCT u) FROM q GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(DISTINCT v) FROM hollow GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT v), sum(DISTINCT v) FROM hollow;
-- Different arguments beside what counts rows; other things stay.
-- offloaded: GpuDistinct
SELECT k, count(DISTINCT b), count(DISTINCT t), count(*) FROM q GROUP BY k;
-- offloaded: GpuDistinct
SELECT k, count(DISTINCT b), sum(DISTINCT n), sum(n) FROM q GROUP BY k;
SELECT k, string_agg(c, ',' ORDER BY id) FROM q WHERE id < 50 GROUP BY k;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY b), count(DISTINCT k) FROM q;
SELECT k, c, count(DISTINCT b) FROM q GROUP BY GROUPING SETS ((k), (c));
SELECT count(DISTINCT 1) FROM q;
SELECT count(DISTINCT (k, c)) FROM q;
SELECT count(DISTINCT b + random()::int * 0) FROM q;
-- needs: icu
SELECT count(DISTINCT t COLLATE "en-x-icu") FROM q;
SELECT k, count(DISTINCT 10 / (b - 5)) FROM q GROUP BY k;
SELECT k, count(DISTINCT b), rank() OVER (ORDER BY count(DISTINCT b), k) FROM q GROUP BY k;
-- Rescans, prepared statements, settings.
SELECT o.k, i.n FROM (VALUES (1), (3), (NULL), (5)) o(k), LATERAL (SELECT count(DISTINCT b) AS n FROM q WHERE q.k = o.k) i;
PREPARE s(int) AS SELECT k, count(DISTINCT b) FROM q WHERE id % $1 = 0 GROUP BY k;
EXECUTE s(7);
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE s(3);
EXECUTE s(0);
RESET plan_cache_mode;
DEALLOCATE ALL;
SET pg_turbine.enable_aggregate = off;
SELECT k, count(DISTINCT b) FROM q GROUP BY k;
RESET pg_turbine.enable_aggregate;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- offloaded: GpuPreAgg
SELECT name, count(DISTINCT b) FROM q JOIN p ON q.k = p.id GROUP BY name;
-- Keys that are constant.
SELECT k, count(DISTINCT b) FROM q WHERE k = 1 GROUP BY k;
SELECT q.k, count(DISTINCT p.name) FROM q JOIN p ON q.k = p.id WHERE q.k = 3 AND p.id = 3 GROUP BY q.k;
-- Equal floats that differ.
CREATE TABLE zeros (id int, g int, f float8);
INSERT INTO zeros VALUES (1, 1, 0), (2, 1, '-0'), (3, 1, 1), (4, 2, '-0'), (5, 2, 0);
ANALYZE zeros;
SELECT count(DISTINCT f::text) FROM zeros;
SELECT g, count(DISTINCT f::text) FROM zeros GROUP BY g;
SELECT g, max(DISTINCT f::text) FROM zeros GROUP BY g;
-- offloaded: GpuPreAgg
SELECT g, count(DISTINCT f) FROM zeros GROUP BY g;
DROP TABLE zeros;
DROP TABLE q, p, hollow;
