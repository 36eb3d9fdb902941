-- What PostgreSQL has since a version, and what a version computes in another way.

CREATE TABLE t (id int NOT NULL, k int, v int, s text);
INSERT INTO t SELECT i, i % 7, i % 1001, 's' || i % 50 FROM generate_series(1, 30000) i;
INSERT INTO t VALUES (30001, NULL, NULL, NULL);
CREATE TABLE u (id int PRIMARY KEY, w int);
INSERT INTO u SELECT i, i % 13 FROM generate_series(1, 5000) i;
ANALYZE t;
ANALYZE u;

-- 16: aggregates with DISTINCT or ORDER BY want their input sorted.
SELECT count(DISTINCT k), count(DISTINCT v), sum(id) FROM t;
SELECT k, count(DISTINCT v), sum(id) FROM t GROUP BY k;
SELECT k, string_agg(DISTINCT s, ',' ORDER BY s), count(DISTINCT v) FROM t GROUP BY k;
SELECT array_agg(v ORDER BY v DESC, id) FILTER (WHERE id < 50), count(DISTINCT s) FROM t;

-- 16: constant keys are no keys of the plan.
SELECT k, count(*), sum(v) FROM t WHERE k = 3 GROUP BY k;
SELECT k, count(*), sum(v) FROM t WHERE k = 30 GROUP BY k;
SELECT k, v, count(*) FROM t WHERE k = 3 AND v = 5 GROUP BY k, v;
SELECT k, count(DISTINCT v) FROM t WHERE k = 3 GROUP BY k;
SELECT k, count(DISTINCT v) FROM t WHERE k = 30 GROUP BY k;

-- 16: columns that an outer join may set to NULL are others than those below it.
SELECT count(*), count(u.w), sum(t.v) FROM t LEFT JOIN u ON t.id = u.id;
SELECT count(*), sum(t.v) FROM t LEFT JOIN u ON t.id = u.id WHERE u.id IS NULL;
SELECT u.w, count(*) FROM t LEFT JOIN u ON t.v = u.id AND u.w > 3 GROUP BY u.w;
SELECT count(*), count(b.w), count(c.w), sum(a.v) FROM t a LEFT JOIN u b ON a.v = b.id LEFT JOIN u c ON b.w = c.id;
SELECT count(*), count(b.w), count(c.w), sum(a.v) FROM t a LEFT JOIN (u b LEFT JOIN u c ON b.w = c.id AND c.w > 2) ON a.v = b.id;
SELECT count(*), count(b.w), count(c.w) FROM t a LEFT JOIN u b ON a.v = b.id JOIN u c ON coalesce(b.w, 1) = c.id;
SELECT count(*), count(b.w), count(c.w) FROM t a JOIN u c ON a.k = c.id LEFT JOIN u b ON a.v = b.id JOIN u d ON b.w = d.id AND d.w = c.w;
SELECT count(*), sum(a.id) FROM u a FULL JOIN t b ON a.id = b.v LEFT JOIN u c ON c.id = a.w;
SELECT t.k, (SELECT sum(u.w) FROM u WHERE u.id = t.v) AS s, count(*) FROM t WHERE t.id < 300 GROUP BY t.k, t.v;
SELECT t.id, t.v - (SELECT coalesce(sum(u.w), 0) FROM u WHERE u.w = t.k) FROM t LEFT JOIN u ON u.id = t.v WHERE t.id < 300;

-- 16: joins that keep the rows of their right side.
SELECT count(*), sum(u.id) FROM u WHERE NOT EXISTS (SELECT FROM t WHERE t.v = u.id AND t.id > 100);
SELECT count(*), sum(u.id) FROM u WHERE EXISTS (SELECT FROM t WHERE t.v = u.id AND t.k = 4);

-- 18: expressions of GROUP BY are a table of their own.
SELECT k % 3 AS a, s, count(*) FROM t GROUP BY GROUPING SETS ((k % 3), (s), ()) HAVING count(*) > 10;
SELECT k + 1, (SELECT count(*) FROM u WHERE u.w = k + 1) FROM t GROUP BY k + 1;
SELECT k, (SELECT sum(u.w) FROM u WHERE u.w = t.k) FROM t GROUP BY ROLLUP (k);

SELECT k, count(*), sum(v) FROM (SELECT k, v FROM t WHERE id < 20000 UNION ALL SELECT w, id FROM u) x GROUP BY k HAVING k > 2;
SELECT k % 2, v + 1, count(DISTINCT v) FROM (SELECT k, v FROM t WHERE id < 2000 UNION ALL SELECT w, id FROM u WHERE id < 9) x GROUP BY k % 2, v + 1;
SELECT k, count(*) FROM t WHERE v > (SELECT avg(u.w) FROM u WHERE u.w = t.k) GROUP BY k;

-- 18: a table that is joined with itself by its key is read once.
SELECT count(*), sum(a.w + b.w) FROM u a JOIN u b ON a.id = b.id WHERE a.w > 3;
SELECT count(*) FROM t JOIN u a ON t.v = a.id JOIN u b ON a.id = b.id AND b.w = 2;

-- 18: OR of equalities is an array.
SELECT count(*), sum(v) FROM t WHERE k = 1 OR k = 3 OR k = 5;

-- since: 17
SELECT count(*), sum(j.a) FROM JSON_TABLE('[{"a": 1}, {"a": 2}]', '$[*]' COLUMNS (a int PATH '$.a')) j JOIN t ON t.k = j.a;
-- since: 17
CREATE COLLATION builtin_utf8 (provider = builtin, locale = 'C.UTF-8');
-- since: 17
SELECT max(s COLLATE builtin_utf8), count(*) FILTER (WHERE s COLLATE builtin_utf8 > 's3') FROM t;
-- since: 17
SELECT upper(s COLLATE builtin_utf8), count(*) FROM t GROUP BY 1;

-- since: 18
CREATE TABLE virt (id int NOT NULL, a int, twice int GENERATED ALWAYS AS (a * 2) VIRTUAL, b int NOT NULL, never int GENERATED ALWAYS AS (coalesce(a, 0) + 1) VIRTUAL NOT NULL, last int NOT NULL);
-- since: 18
INSERT INTO virt (id, a, b, last) SELECT i, nullif(i % 5, 0), i % 11, i FROM generate_series(1, 20000) i;
-- since: 18
ANALYZE virt;
-- since: 18
-- offloaded: GpuPreAgg
SELECT count(*), sum(twice), sum(never), sum(b), sum(last) FROM virt;
-- since: 18
SELECT twice, never, count(*), sum(last) FROM virt WHERE twice > 2 GROUP BY twice, never;
-- since: 18
SELECT * FROM virt WHERE never = 3 AND b = 4 AND id < 2000;
-- since: 18
SELECT v.twice, count(*), sum(v.last) FROM t LEFT JOIN virt v ON t.id = v.id AND v.b < 5 GROUP BY v.twice;

-- since: 18
CREATE TABLE unproved (id int, a int, b int NOT NULL);
-- since: 18
INSERT INTO unproved SELECT i, nullif(i % 3, 0), i FROM generate_series(1, 20000) i;
-- since: 18
ALTER TABLE unproved ADD CONSTRAINT not_yet NOT NULL a NOT VALID;
-- since: 18
ANALYZE unproved;
-- since: 18
-- offloaded: GpuPreAgg
SELECT count(*), count(a), sum(a), sum(b) FROM unproved;
-- since: 18
SELECT count(*) FROM t WHERE k NOT IN (SELECT a FROM unproved WHERE b < 100);

-- 18: EXPLAIN looks for the WindowAgg of a window function.
-- offloaded: GpuSort
SELECT k, id FROM (SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY v, id) AS n FROM t) s WHERE n = 3;

-- 17: filters by which a window ends early stand in its functions.
-- offloaded: GpuSort
SELECT k, id FROM (SELECT k, id, rank() OVER (PARTITION BY k ORDER BY v) AS n FROM t) s WHERE n <= 2;
SELECT k, id, c FROM (SELECT k, id, count(*) OVER (PARTITION BY k ORDER BY id) AS c, rank() OVER (ORDER BY v, id) AS r FROM t) s WHERE c <= 2 AND r < 20000;
