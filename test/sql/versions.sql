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

-- XMLTABLE, and since 17 JSON_TABLE, are sources of rows, as functions are; alone, and of other tables' columns, they stay.
-- needs: xml
-- offloaded: GpuPreAgg
SELECT x.name, count(*), sum(t.v) FROM t JOIN XMLTABLE('/r/e' PASSING '<r><e k="1" n="one"/><e k="2" n="two"/><e n="none"/></r>' COLUMNS k int PATH '@k', name text PATH '@n') x ON t.k = x.k GROUP BY x.name;
CREATE TABLE docs (id int, doc jsonb);
INSERT INTO docs SELECT i, jsonb_build_array(jsonb_build_object('k', i % 7, 'n', 'name ' || i % 3, 'p', i / 4.0), jsonb_build_object('k', i % 5), jsonb_build_object('k', NULL, 'n', 'none')) FROM generate_series(1, 2000) i;
ANALYZE docs;
-- since: 17
-- offloaded: GpuPreAgg
SELECT count(*), sum(j.a) FROM JSON_TABLE('[{"a": 1}, {"a": 2}]', '$[*]' COLUMNS (a int PATH '$.a')) j JOIN t ON t.k = j.a;
-- since: 17
-- offloaded: GpuPreAgg
SELECT j.name, j.k, count(*), sum(t.v * j.p) FROM t JOIN JSON_TABLE('[{"k": 1, "n": "one", "p": 1.25}, {"k": 2, "n": "two", "p": 0.5}, {"k": 1, "p": 7}, {"n": "none"}]', '$[*]' COLUMNS (k int PATH '$.k', name text PATH '$.n', p numeric(6,2) PATH '$.p')) j ON t.k = j.k GROUP BY j.name, j.k;
-- since: 17
SELECT j.o, count(t.id), sum(t.v) FROM t RIGHT JOIN JSON_TABLE('[{"k": 1}, {"k": 99}, {}]', '$[*]' COLUMNS (o FOR ORDINALITY, k int PATH '$.k')) j ON t.k = j.k AND t.v > 500 GROUP BY j.o;
-- since: 17
SELECT count(*) FROM t WHERE k IN (SELECT k FROM JSON_TABLE('[1, 3, null]', '$[*]' COLUMNS (k int PATH '$')) j);
-- since: 17
SELECT count(*), sum(j.k) FROM t JOIN JSON_TABLE('[{"k": 1}, {"k": "one"}]', '$[*]' COLUMNS (k int PATH '$.k' ERROR ON ERROR)) j ON t.k = j.k;
-- since: 17
SELECT count(*), sum(j.k) FROM t JOIN JSON_TABLE('[{"k": 1}, {"k": "one"}]', '$[*]' COLUMNS (k int PATH '$.k' DEFAULT 5 ON ERROR)) j ON t.k = j.k;
-- since: 17
SELECT j.n, count(*), sum(j.p), max(d.id) FROM docs d, JSON_TABLE(d.doc, '$[*]' COLUMNS (k int PATH '$.k', n text PATH '$.n', p numeric PATH '$.p', NESTED PATH '$.x[*]' COLUMNS (x int PATH '$'))) j WHERE j.k > 1 GROUP BY j.n;
-- since: 17
SELECT t.k, count(*), sum(j.p) FROM docs d, JSON_TABLE(d.doc, '$[*]' COLUMNS (k int PATH '$.k', p numeric PATH '$.p')) j JOIN t ON t.id = j.k GROUP BY t.k;
-- since: 17
SELECT bool_or(reason IN ('the input is no table', 'pg_turbine.enabled is off')) FROM turbine.why_not($$SELECT count(*) FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a int PATH '$')) j$$);
-- 17: MERGE returns rows; its source is computed on a device.
CREATE TABLE target (id int PRIMARY KEY, total bigint, n bigint, seen int DEFAULT 0);
INSERT INTO target SELECT i, 0, 0 FROM generate_series(0, 4) i;
ANALYZE target;
-- since: 17
MERGE INTO target USING (SELECT k, sum(v) AS total, count(*) AS n FROM t GROUP BY k) s ON target.id = s.k
WHEN MATCHED AND s.k = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET total = s.total, n = s.n, seen = seen + 1
WHEN NOT MATCHED AND s.k IS NOT NULL THEN INSERT VALUES (s.k, s.total, s.n) RETURNING merge_action(), target.*, s.n;
-- since: 17
-- offloaded: GpuPreAgg
SELECT count(*), sum(total), sum(n), sum(seen) FROM target;
-- since: 17
WITH changed AS (MERGE INTO target USING (SELECT v % 9 AS k, max(id) AS top FROM t GROUP BY 1) s ON target.id = s.k
WHEN MATCHED THEN UPDATE SET seen = s.top WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED AND s.k IS NOT NULL THEN INSERT VALUES (s.k, s.top, 1, 7)
RETURNING merge_action() AS action, target.id, target.seen)
SELECT c.action, count(*), sum(t.v), max(c.seen) FROM changed c JOIN t ON t.k = c.id GROUP BY c.action;
-- since: 18
MERGE INTO target USING (SELECT k, count(DISTINCT v) AS d FROM t GROUP BY k) s ON target.id = s.k WHEN MATCHED THEN UPDATE SET n = s.d RETURNING merge_action(), old.n, new.n, s.k;
SELECT count(*), sum(total), sum(n), sum(seen) FROM target;
-- 17: EXPLAIN (MEMORY, SERIALIZE) beside the figures of a node.
CREATE FUNCTION explained(query text) RETURNS TABLE (serialized text, volume bigint, memory boolean, rows int) LANGUAGE plpgsql AS $$
DECLARE j json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, MEMORY, SERIALIZE BINARY, BUFFERS, FORMAT JSON) ' || query INTO j;
  RETURN QUERY SELECT j->0->'Serialization'->>'Format', (j->0->'Serialization'->>'Output Volume')::bigint, (j->0->'Planning'->>'Memory Used')::int > 0, (j->0->'Plan'->>'Actual Rows')::float8::int;
END $$;
-- since: 17
SELECT * FROM explained('SELECT k, count(*), sum(v) FROM t GROUP BY k');
-- since: 17
SELECT * FROM explained('SELECT id, s FROM t WHERE k = 3 AND v > 500');
-- since: 17
SELECT * FROM explained('SELECT t.s, u.w, row_number() OVER (PARTITION BY u.w ORDER BY t.id) FROM t JOIN u ON t.v = u.id');
-- since: 17
CREATE COLLATION builtin_utf8 (provider = builtin, locale = 'C.UTF-8');
-- since: 17
-- offloaded: GpuPreAgg
SELECT max(s COLLATE builtin_utf8), min(s COLLATE builtin_utf8), count(*) FILTER (WHERE s COLLATE builtin_utf8 > 's3') FROM t;
-- since: 17
SELECT upper(s COLLATE builtin_utf8), count(*) FROM t GROUP BY 1;
-- since: 17
CREATE TABLE words (w text COLLATE builtin_utf8, n int);
-- since: 17
INSERT INTO words SELECT (ARRAY['straße', 'STRASSE', 'Éclair', 'éclair', 'ǆ', 'ﬃ', 'z', 'Z', 'Ωmega', 'ὀδυσσεύς', 'a𐀀', E'￿', NULL])[1 + i % 13] || i % 3, i FROM generate_series(1, 3000) i;
-- since: 17
ANALYZE words;
-- since: 17
-- ordered
-- offloaded: GpuSort
SELECT w, n FROM words ORDER BY w, n;
-- since: 17
-- offloaded: GpuPreAgg
SELECT w, count(*), max(w), min(w) FROM words WHERE w > 'a' GROUP BY w;
-- since: 17
SELECT upper(w), lower(w), initcap(w), count(*) FROM words GROUP BY 1, 2, 3;
-- since: 17
SELECT count(*) FROM words WHERE w ILIKE 'STRASSE%' OR lower(w) = 'éclair1' OR w ~* '^ὀδ';
-- since: 17
SELECT count(*), sum(a.n) FROM words a JOIN words b ON a.w = b.w AND a.n < 50;
-- 18: a second one of PostgreSQL's own, whose upper and lower map to several characters.
-- since: 18
CREATE COLLATION fast (provider = builtin, locale = 'PG_UNICODE_FAST');
-- since: 18
ALTER TABLE words ALTER w TYPE text COLLATE fast;
-- since: 18
ANALYZE words;
-- since: 18
-- ordered
-- offloaded: GpuSort
SELECT w, n FROM words ORDER BY w DESC, n;
-- since: 18
-- offloaded: GpuPreAgg
SELECT w, count(*), max(w), min(w) FROM words WHERE w > 'a' GROUP BY w;
-- since: 18
SELECT upper(w), lower(w), casefold(w), count(*) FROM words GROUP BY 1, 2, 3;
-- since: 18
SELECT count(*) FROM words WHERE w ILIKE 'STRASSE%' OR upper(w) = 'STRASSE1';

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
