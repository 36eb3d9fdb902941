-- Aggregation over UNION ALL: each arm is aggregated for itself where that is the same.
CREATE TABLE old_log (id int, k int, s smallint, n numeric(12,2), b bigint, t text, o boolean, at date);
CREATE TABLE new_log (id bigint, k int, s smallint, n numeric(12,4), b bigint, t text, o boolean, at timestamp);
CREATE TABLE no_log (LIKE old_log);
INSERT INTO old_log SELECT i, i % 50, i % 97, i * 0.25, i * 1000000007::bigint, 'n' || i % 9, i % 3 = 0, date '2020-01-01' + i % 700 FROM generate_series(1, 30000) i;
INSERT INTO new_log SELECT i, nullif(i % 60, 7), i % 89, i * 0.5, i * 1000003::bigint, nullif('n' || i % 11, 'n3'), nullif(i % 5, 2) = 0, timestamp '2021-06-01' + i * interval '1 hour' FROM generate_series(1, 20000) i;
CREATE VIEW logs AS SELECT id, k, s, n, b, t, o FROM old_log UNION ALL SELECT id, k, s, n, b, t, o FROM new_log;
CREATE VIEW guarded_logs WITH (security_barrier) AS SELECT * FROM logs;
ANALYZE old_log;
ANALYZE new_log;
ANALYZE no_log;
-- offloaded: GpuPreAgg
SELECT k, count(*), count(k), count(t), sum(k), avg(k), sum(s), avg(s), min(t), max(t), max(n) FROM logs GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, sum(n), avg(n), sum(b), avg(b), bool_and(o), bool_or(o), every(o), sum(id), avg(id) FROM logs GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(id), avg(s), min(n) FROM logs WHERE k < 20;
-- offloaded: GpuPreAgg
SELECT count(*), count(k), sum(s), avg(s), sum(n), avg(n), min(t), bool_or(o) FROM logs WHERE k < -20;
-- offloaded: GpuPreAgg
SELECT k % 7 AS x, t, count(*) FILTER (WHERE o), avg(n) FILTER (WHERE k = 3), sum(s) FILTER (WHERE k < 0) FROM logs WHERE s > 5 GROUP BY k % 7, t HAVING count(*) > 100 ORDER BY x, t LIMIT 40;
-- offloaded: GpuPreAgg
SELECT k, count(*), rank() OVER (ORDER BY sum(b) DESC) FROM logs GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k * 2 + 1, sum(id) + count(*), CASE WHEN count(*) > 800 THEN t END FROM logs GROUP BY k, t;
-- offloaded: GpuPreAgg
SELECT DISTINCT k, t FROM logs;
-- offloaded: GpuPreAgg
SELECT k FROM logs GROUP BY k;
-- offloaded: GpuPreAgg
SELECT t, count(DISTINCT k), count(*), sum(DISTINCT s), max(n) FROM logs GROUP BY t;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT t), count(DISTINCT k), sum(k) FROM logs;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT k) FROM logs WHERE k < -20;
-- offloaded: GpuPreAgg
WITH u AS (SELECT k, n, o FROM old_log UNION ALL SELECT k, n, o FROM new_log WHERE s < 50) SELECT k, sum(n), count(*) FROM u WHERE o GROUP BY k;
-- offloaded: GpuPreAgg
SELECT l.k, count(*) FROM (SELECT a.k FROM old_log a JOIN new_log b USING (id) WHERE b.s < 9 UNION ALL SELECT k FROM new_log) l GROUP BY l.k;
-- offloaded: GpuPreAgg
SELECT k + 1, sum(id) + count(*) FROM (SELECT k, id FROM old_log UNION ALL (SELECT k, id FROM new_log ORDER BY id LIMIT 1000) UNION ALL SELECT 5, 7 UNION ALL SELECT k, id FROM no_log) u GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), min(at), max(at) FROM (SELECT at FROM old_log UNION ALL SELECT at FROM new_log) u WHERE at > '2021-01-01';
-- offloaded: GpuPreAgg
SELECT kind, sum(n) FROM (SELECT 'old' AS kind, n FROM old_log UNION ALL SELECT 'new', n FROM new_log) u GROUP BY kind;
-- offloaded: GpuPreAgg
SELECT x.k, (SELECT count(*) FROM logs WHERE logs.k = x.k AND s < 10) FROM (VALUES (1), (2), (59), (NULL)) x(k);
-- offloaded: GpuPreAgg
SELECT * FROM (SELECT k, avg(n) AS a FROM logs GROUP BY k) g JOIN (SELECT k, max(id) AS m FROM new_log GROUP BY k) h USING (k) WHERE a > 10;
-- offloaded: GpuPreAgg
SELECT k, max(c) FROM (SELECT k, count(*) AS c FROM (SELECT k, t FROM old_log UNION ALL SELECT k, t FROM new_log) u GROUP BY k, t) v GROUP BY k;
-- Not the same, or not known to be: as PostgreSQL has them.
SELECT k, string_agg(t, ',' ORDER BY t) FROM logs WHERE id < 200 GROUP BY k;
SELECT k, count(*) FROM guarded_logs GROUP BY k;
SELECT k, count(*) FROM (SELECT k FROM old_log UNION SELECT k FROM new_log) u GROUP BY k;
SELECT k, t, count(*) FROM logs GROUP BY ROLLUP (k, t);
SELECT k, count(*) FROM (SELECT k FROM old_log UNION ALL SELECT k FROM new_log LIMIT 30000) u GROUP BY k HAVING false;
SELECT k, sum(n) FROM logs WHERE id IN (SELECT id FROM new_log WHERE s = 3) GROUP BY k;
SELECT t COLLATE "C" AS u, count(*) FROM logs GROUP BY t COLLATE "C";
WITH u AS MATERIALIZED (SELECT k FROM old_log UNION ALL SELECT k FROM new_log) SELECT k, count(*) FROM u GROUP BY k;
WITH u AS (SELECT k FROM old_log UNION ALL SELECT k FROM new_log) SELECT k, count(*) FROM u GROUP BY k HAVING count(*) > (SELECT count(*) FROM u WHERE k = 4) / 2;
SELECT 1 / (k - 4), count(*) FROM logs WHERE k <> 4 GROUP BY k;
SELECT sum(1 / (k - 4)) FROM logs WHERE k <> 4;
SELECT k, count(*) FROM (SELECT k, id FROM old_log UNION ALL SELECT k, id FROM new_log) u WHERE 10 / id < 3 GROUP BY k;
