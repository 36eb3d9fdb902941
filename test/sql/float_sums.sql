-- Sums and averages of floats: where PostgreSQL's states overflow, in which order it meets the values, and what NaN and infinities make of them.
CREATE TABLE v (id int, k int, f float8, r float4);
INSERT INTO v SELECT i, i % 7, (i % 64) / 4.0, (i % 64) / 4.0 FROM generate_series(1, 5000) i;
ANALYZE v;
-- offloaded: GpuPreAgg
SELECT sum(f), avg(f), sum(r), avg(r) FROM v;
-- The sum of squared deviations of an average overflows, its sum does not.
CREATE TABLE large (id int, k int, f float8);
INSERT INTO large VALUES (1, 1, 1e200), (2, 1, 1), (3, 2, 5), (4, 2, 7);
ANALYZE large;
-- offloaded: GpuPreAgg
SELECT avg(f) FROM large;
-- offloaded: GpuPreAgg
SELECT k, avg(f) FROM large GROUP BY k;
-- floats
SELECT sum(f) FROM large;
-- floats
SELECT k, sum(f), count(*) FROM large GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, avg(f) FROM large WHERE k = 2 GROUP BY k;
SELECT avg(f) FILTER (WHERE k = 2), count(*) FROM large;
SELECT avg(f) FILTER (WHERE k = 1), count(*) FROM large;
SELECT avg(f) FILTER (WHERE id = 1), count(*) FROM large;
SELECT avg(DISTINCT f) FROM large;
SELECT avg(DISTINCT f) FROM large WHERE k = 2;
SELECT k, avg(DISTINCT f), count(*) FROM large GROUP BY k;
SELECT k, avg(f) FROM large GROUP BY ROLLUP (k);
SELECT k, avg(f) FROM large WHERE id <> 2 GROUP BY ROLLUP (k);
SELECT avg(f * 1e-100) FROM large;
SELECT avg(-f) FROM large;
SELECT k, avg(f) FROM large GROUP BY k HAVING avg(f) > 1;
-- One value has no deviation.
SELECT k, avg(f) FROM large WHERE id <> 2 GROUP BY k ORDER BY k;
-- Equal values have none either.
SELECT avg(1e200::float8 + id * 0) FROM large;
SELECT avg(1e153::float8 * id) FROM large;
SELECT avg(1e154::float8 * id) FROM large;
SELECT avg(1e155::float8 * id) FROM large;
SELECT avg(1e138::float8 * id) FROM large;
SELECT avg(1e140::float8 * id) FROM large;
-- offloaded: GpuSort
SELECT id, avg(f) OVER (ORDER BY id) FROM large;
-- offloaded: GpuSort
SELECT id, avg(f) OVER (PARTITION BY k ORDER BY id) FROM large WHERE id <> 2;
SELECT id, avg(f) OVER (PARTITION BY k) FROM large;
SELECT id, avg(f) FILTER (WHERE id <> 1) OVER (ORDER BY id) FROM large;
SELECT id, avg(f) FILTER (WHERE id <> 2) OVER (PARTITION BY k ORDER BY id) FROM large;
SELECT id, sum(f) OVER (ORDER BY id) FROM large;
-- Joined.
SELECT avg(large.f) FROM v JOIN large ON v.k = large.k;
-- offloaded: GpuPreAgg
SELECT large.k, avg(large.f) FROM v JOIN large ON v.k = large.k WHERE large.k = 2 GROUP BY large.k;
-- Sums in the order of the table.
CREATE TABLE ordered (id int, k int, f float8, r float4);
INSERT INTO ordered VALUES (1, 1, 1e308, 1e38), (2, 1, 1.5e308, 3e38), (3, 1, -1.5e308, -3e38), (4, 2, 1e308, 1e38), (5, 2, -1.5e308, -3e38), (6, 2, 1.5e308, 3e38);
ANALYZE ordered;
-- offloaded: GpuPreAgg
SELECT sum(r) FROM ordered;
-- offloaded: GpuPreAgg
SELECT sum(f) FROM ordered;
-- offloaded: GpuPreAgg
SELECT k, sum(r) FROM ordered GROUP BY k;
SELECT k, sum(f) FROM ordered GROUP BY k;
SELECT k, sum(r) FROM ordered WHERE k = 2 GROUP BY k;
SELECT k, sum(f) FROM ordered WHERE k = 2 GROUP BY k;
SELECT sum(r) FROM ordered WHERE id IN (1, 2);
SELECT sum(f) FROM ordered WHERE id IN (1, 2);
SELECT avg(r) FROM ordered;
SELECT avg(f) FROM ordered;
SELECT sum(r), sum(f) FROM ordered WHERE id IN (1, 3);
SELECT id, sum(f) OVER (PARTITION BY k ORDER BY id) FROM ordered WHERE k = 2;
SELECT id, sum(f) OVER (PARTITION BY k ORDER BY id) FROM ordered;
SELECT id, avg(r) OVER (PARTITION BY k ORDER BY id) FROM ordered;
SELECT sum(r * 1e-10::float4) FROM ordered;
-- Infinities and NaN never raise, and are no reason to leave a device.
CREATE TABLE odd (id int, k int, f float8, r float4);
INSERT INTO odd VALUES (1, 1, 1, 1), (2, 1, 'Infinity', 'Infinity'), (3, 1, 2, 2), (4, 2, '-Infinity', '-Infinity'), (5, 2, 'Infinity', 'Infinity'), (6, 3, 'NaN', 'NaN'), (7, 3, 1e10, 1e10), (8, 4, NULL, NULL), (9, 5, 5e-324, 1e-45), (10, 5, 0, 0), (11, 6, '-0', '-0'), (12, 6, '-0', '-0');
ANALYZE odd;
-- offloaded: GpuPreAgg
SELECT k, sum(f), avg(f), sum(r), avg(r) FROM odd GROUP BY k;
-- offloaded: GpuPreAgg
SELECT sum(f), avg(f), sum(r), avg(r) FROM odd WHERE k = 1;
SELECT sum(f), avg(f), sum(r), avg(r) FROM odd WHERE k = 2;
SELECT sum(f), avg(f), sum(r), avg(r) FROM odd WHERE k = 3;
SELECT sum(f), avg(f), sum(r), avg(r) FROM odd WHERE k = 4;
-- An average that underflows is 0.
SELECT sum(f), avg(f), sum(r), avg(r) FROM odd WHERE k = 5;
SELECT sum(f), avg(f), sum(r), avg(r) FROM odd WHERE k = 6;
SELECT sum(f), avg(f), sum(r), avg(r) FROM odd;
SELECT k, sum(f), avg(f) FROM odd GROUP BY ROLLUP (k);
SELECT id, sum(f) OVER w, avg(f) OVER w, avg(r) OVER w FROM odd WINDOW w AS (PARTITION BY k ORDER BY id);
-- What comes before a value that overflows decides whether it raises.
INSERT INTO large VALUES (5, 3, 'NaN'), (6, 3, 1e200), (7, 3, 1), (8, 4, 1e200), (9, 4, 1), (10, 4, 'NaN'), (11, 5, 'Infinity'), (12, 5, 1.7e308), (13, 5, 1.7e308), (14, 6, 1e200), (15, 6, 'Infinity');
ANALYZE large;
SELECT avg(f), sum(f) FROM large WHERE k = 3;
SELECT avg(f), sum(f) FROM large WHERE k = 4;
SELECT avg(f), sum(f) FROM large WHERE k = 5;
SELECT avg(f), sum(f) FROM large WHERE k = 6;
SELECT k, avg(f), sum(f) FROM large WHERE k IN (3, 5, 6) GROUP BY k;
SELECT id, avg(f) OVER (PARTITION BY k ORDER BY id) FROM large WHERE k IN (3, 5, 6);
SELECT id, avg(f) OVER (PARTITION BY k ORDER BY id) FROM large WHERE k = 4;
-- A large value behind many others, in vectorised loops too.
INSERT INTO v VALUES (0, 0, 1e200, 1e37);
ANALYZE v;
SELECT avg(f) FROM v;
SELECT k, avg(f) FROM v GROUP BY k;
SELECT k, avg(f) FROM v WHERE k > 0 GROUP BY k;
SELECT sum(f) > 9e199, sum(r) > 9e36 FROM v;
