-- BRIN indexes leave out block ranges: every operator class, several indexes, tails without a summary, NULLs,
-- parameters, scans, joins and aggregation. Which blocks are left out is checked by test/brin.py.
CREATE TABLE log (ts timestamp, id int, v int, price numeric(10,2), tag text, gap int, span int4range, code char(8));
CREATE INDEX log_ts ON log USING brin (ts) WITH (pages_per_range = 4);
CREATE INDEX log_id ON log USING brin (id int4_minmax_multi_ops) WITH (pages_per_range = 2);
CREATE INDEX log_tag ON log USING brin (tag text_bloom_ops) WITH (pages_per_range = 1);
CREATE INDEX log_gap ON log USING brin (gap) WITH (pages_per_range = 1);
CREATE INDEX log_span ON log USING brin (span range_inclusion_ops) WITH (pages_per_range = 4);
CREATE INDEX log_code ON log USING brin (code, price) WITH (pages_per_range = 8);
INSERT INTO log SELECT timestamp '2024-01-01' + i * interval '1 minute', i, i % 97, i / 8.0, 'tag' || i / 50,
    CASE WHEN i / 500 % 3 = 1 THEN NULL ELSE i END, int4range(i, i + 10), 'c' || lpad((i / 1000)::text, 4, '0')
  FROM generate_series(1, 9000) i;
CREATE TABLE days (day int, name text, first int, last int);
INSERT INTO days SELECT i, 'day' || i, i * 1440, i * 1440 + 1439 FROM generate_series(0, 6) i;
CREATE INDEX days_day ON days USING brin (day);
ANALYZE log;
ANALYZE days;
-- Each operator class, rows and groups; borders of ranges, empty results, everything.
-- for X in 1 2 80 81 82 160 161 4499 4500 8999 9000 9001
-- offloaded: GpuScan
SELECT id, ts, v FROM log WHERE id = :X;
-- offloaded: GpuScan
SELECT * FROM log WHERE ts = timestamp '2024-01-01' + :X * interval '1 minute';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(ts), max(id) FROM log WHERE ts >= timestamp '2024-01-01' + :X * interval '1 minute';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(ts), max(id) FROM log WHERE id <= :X;
-- offloaded: GpuPreAgg
SELECT v, count(*), max(price) FROM log WHERE id BETWEEN :X - 100 AND :X + 100 GROUP BY v;
-- offloaded: GpuScan
SELECT id FROM log WHERE tag = 'tag' || (:X / 50);
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM log WHERE tag = 'tag' || (:X / 50);
-- offloaded: GpuScan
SELECT id, gap FROM log WHERE gap = :X;
-- offloaded: GpuPreAgg
SELECT count(*), sum(price) FROM log WHERE code = 'c' || lpad((:X / 1000)::text, 4, '0') AND price > :X / 9.0;
-- A condition that stays with PostgreSQL excludes blocks too.
-- offloaded: GpuScan
SELECT id, v FROM log WHERE span @> :X AND v < 90;
-- offloaded: GpuScan
SELECT id, v FROM log WHERE span && int4range(:X, :X + 30) AND v <> 3;
-- end for
-- NULLs.
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM log WHERE gap IS NULL;
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM log WHERE gap IS NOT NULL;
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM log WHERE gap IS NULL AND id < 1200;
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM log WHERE gap = NULL OR gap < 10;
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM log WHERE gap IS NULL OR gap > 8990;
-- offloaded: GpuScan
SELECT id FROM log WHERE tag IS NULL;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log WHERE ts IS NULL;
-- Several indexes: AND, OR, IN, contradictions.
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE ts < '2024-01-03' AND id > 2500;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE ts < '2024-01-01 01:00' OR id > 8900;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE (ts < '2024-01-01 01:00' AND tag = 'tag1') OR (id > 8900 AND gap < 8950) OR id = 77;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE id IN (3, 4000, 8000, 10000, NULL);
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE id < 100 AND id > 8000;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE ts < '2024-01-02' AND ts > '2024-01-04';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE id = 5000 OR v = 50;
-- offloaded: GpuPreAgg
SELECT v, count(*) FROM log WHERE id < 0 GROUP BY v;
-- offloaded: GpuScan
SELECT * FROM log WHERE id > 20000;
-- Where a row lies, in chunks with gaps.
-- offloaded: GpuScan
SELECT ctid, id FROM log WHERE id BETWEEN 4000 AND 4010 OR id > 8990 OR id < 5;
-- Functions of a column match no index; they do not hinder others.
-- offloaded: GpuPreAgg
SELECT count(*) FROM log WHERE id + 1 = 500;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log WHERE id + 1 < 500 AND ts < '2024-01-01 04:00';
-- Joins: the streamed table, join tables, both; sides that may be empty; outer joins.
-- offloaded: GpuPreAgg
SELECT name, count(*), sum(v) FROM log JOIN days ON log.id / 1440 = day WHERE ts < '2024-01-02 12:00' GROUP BY name;
-- offloaded: GpuPreAgg
SELECT name, count(*), sum(v) FROM log JOIN days ON log.id / 1440 = day WHERE day >= 5 AND log.id > 7000 GROUP BY name;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a.v) FROM log a JOIN log b ON a.id = b.id WHERE a.ts > '2024-01-05' AND b.id BETWEEN 6000 AND 6200;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log a JOIN log b ON a.id = b.id WHERE a.ts > '2025-01-05';
-- offloaded: GpuPreAgg
SELECT count(*) FROM log a JOIN log b ON a.id = b.id WHERE b.id < 0;
-- offloaded: GpuJoin
SELECT a.id, b.id, b.tag FROM log a LEFT JOIN log b ON a.id = b.id AND b.id BETWEEN 5000 AND 5005 WHERE a.ts BETWEEN '2024-01-04 11:00' AND '2024-01-04 12:00';
-- offloaded: GpuPreAgg
SELECT count(*), count(b.id) FROM log a LEFT JOIN log b ON a.id = b.id AND b.id < 0 WHERE a.id < 300;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log a WHERE EXISTS (SELECT FROM days WHERE first = a.id AND day BETWEEN 2 AND 3) AND a.ts > '2024-01-02';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log a WHERE NOT EXISTS (SELECT FROM log b WHERE b.id = a.id AND b.ts < '2024-01-06') AND a.id > 7000;
-- offloaded: GpuJoin
SELECT a.id, name FROM log a JOIN days ON a.id = first WHERE a.id > 100000;
-- Parameters of sublinks, of outer queries, of prepared statements; stable functions.
SELECT count(*), sum(v) FROM log WHERE id < (SELECT max(day) * 100 FROM days);
SELECT count(*), sum(v) FROM log WHERE id < (SELECT day FROM days WHERE false);
SELECT day, (SELECT count(*) FROM log WHERE id BETWEEN first AND last), (SELECT min(id) FROM log WHERE ts > timestamp '2024-01-01' + day * interval '1 day') FROM days;
SELECT day, c FROM days, LATERAL (SELECT count(*) c FROM log WHERE id BETWEEN first AND last AND day <> 3) x;
SELECT day, ARRAY(SELECT id FROM log WHERE id BETWEEN first AND first + 3 ORDER BY id) FROM days;
SELECT count(*) FROM log WHERE ts > now()::timestamp;
SELECT count(*) FROM log WHERE ts < now()::timestamp AND id > 8990;
SELECT count(*) FROM log WHERE id < 10 / (SELECT 0);
SELECT count(*) FROM nothing_there WHERE id < 10;
PREPARE some_rows(int, timestamp) AS SELECT count(*), sum(v), min(ts) FROM log WHERE id > $1 AND ts < $2;
PREPARE few(int) AS SELECT id, tag FROM log WHERE id BETWEEN $1 AND $1 + 5;
-- for X in 0 80 4500 8998 9000 20000
EXECUTE some_rows(:X, '2024-01-06');
EXECUTE few(:X);
-- end for
EXECUTE some_rows(NULL, '2024-01-06');
EXECUTE few(NULL);
SET plan_cache_mode = force_generic_plan;
-- for X in 0 81 4500 9000 NULL
EXECUTE some_rows(:X, '2024-01-04');
EXECUTE few(:X);
-- end for
-- Rows that come later: into ranges with a summary and without one.
INSERT INTO log SELECT timestamp '2023-06-01' + i * interval '1 minute', -i, i, i, 'early', NULL, int4range(-i, -i + 2), 'e' FROM generate_series(1, 500) i;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(id) FROM log WHERE ts < '2024-01-01 01:00';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(id) FROM log WHERE id < 50;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(id) FROM log WHERE tag = 'early';
-- offloaded: GpuScan
SELECT id FROM log WHERE id BETWEEN -3 AND 3;
EXECUTE some_rows(-10, '2023-06-01 00:05');
SELECT brin_summarize_new_values('log_ts') >= 0, brin_summarize_new_values('log_id') >= 0, brin_summarize_new_values('log_tag') >= 0;
-- for X in -500 -499 -250 -1 1 9000
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id <= :X;
-- offloaded: GpuScan
SELECT id, code FROM log WHERE id = :X;
-- end for
SELECT brin_desummarize_range('log_id', 0), brin_desummarize_range('log_id', 20), brin_desummarize_range('log_ts', 8);
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id BETWEEN 5 AND 3000;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE ts < '2024-01-01 09:00' AND id > 100;
SELECT brin_summarize_range('log_id', 0) >= 0;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id BETWEEN 5 AND 3000;
-- Deletes, updates, vacuum: tuples in other blocks, line pointers used again.
DELETE FROM log WHERE id BETWEEN 1000 AND 2000;
UPDATE log SET id = id + 100000, ts = ts + interval '1 year' WHERE id BETWEEN 3000 AND 3100;
UPDATE log SET v = v + 1 WHERE id BETWEEN 5000 AND 5050;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id BETWEEN 900 AND 3200;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id > 100000;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE ts > '2025-01-01';
VACUUM log;
INSERT INTO log SELECT timestamp '2026-01-01' + i * interval '1 minute', 200000 + i, i, 1, 'reused', i, 'empty', 'r' FROM generate_series(1, 600) i;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id > 200000;
-- offloaded: GpuScan
SELECT id, ts FROM log WHERE ts = '2026-01-01 10:00';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM log WHERE tag = 'reused';
BEGIN;
DELETE FROM log WHERE id > 8000;
INSERT INTO log (ts, id, v) VALUES ('2030-01-01', 1000000, 1), (NULL, NULL, NULL);
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id > 7900;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log WHERE id IS NULL;
ROLLBACK;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), max(ts) FROM log WHERE id > 7900;
-- A cursor, and rows that come while it is open.
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM log WHERE ts BETWEEN '2024-01-03' AND '2024-01-04';
FETCH 5 FROM c;
INSERT INTO log (ts, id, v) SELECT timestamp '2024-01-03 05:00', 700000 + i, i FROM generate_series(1, 400) i;
SELECT brin_summarize_new_values('log_ts') >= 0;
FETCH ALL FROM c;
SELECT count(*) FROM log WHERE ts = '2024-01-03 05:00';
COMMIT;
-- Partial indexes, expressions, minmax over text, several columns, many tiny ranges.
CREATE TABLE wide (a int, b int, c text, d date, e float8);
INSERT INTO wide SELECT i, i % 10, 'x' || lpad(i::text, 6, '0'), date '2020-01-01' + i / 10, i / 16.0 FROM generate_series(1, 6000) i;
CREATE INDEX wide_partial ON wide USING brin (a) WITH (pages_per_range = 1) WHERE b = 3;
CREATE INDEX wide_expression ON wide USING brin ((a * 2)) WITH (pages_per_range = 1);
CREATE INDEX wide_text ON wide USING brin (c, d) WITH (pages_per_range = 1);
CREATE INDEX wide_float ON wide USING brin (e float8_minmax_multi_ops) WITH (pages_per_range = 1);
ANALYZE wide;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a) FROM wide WHERE b = 3 AND a > 5500;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a) FROM wide WHERE b = 4 AND a > 5500;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a) FROM wide WHERE a * 2 BETWEEN 300 AND 500;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a) FROM wide WHERE c = 'x000500' OR c = 'x005999';
-- offloaded: GpuPreAgg
SELECT count(*), sum(a) FROM wide WHERE d BETWEEN '2020-06-01' AND '2020-06-20' AND c <> 'x001600';
-- offloaded: GpuScan
SELECT a, e FROM wide WHERE e > 100 AND e < 101 OR e = 'NaN';
INSERT INTO wide VALUES (NULL, NULL, NULL, 'infinity', 'NaN'), (0, 0, '', '-infinity', '-Infinity');
-- offloaded: GpuScan
SELECT a, e FROM wide WHERE e = 'NaN' OR e < 1;
-- offloaded: GpuScan
SELECT a, d FROM wide WHERE d > '2021-08-20' OR d < '2020-01-02';
-- Long values: rows that the backend detoasts, from chunks with gaps.
CREATE TABLE long (id int, t text);
INSERT INTO long SELECT i, CASE WHEN i % 7 = 0 THEN repeat(md5(i::text), 300) ELSE 's' || i END FROM generate_series(1, 3000) i;
CREATE INDEX long_id ON long USING brin (id) WITH (pages_per_range = 1);
ANALYZE long;
-- offloaded: GpuScan
SELECT id, md5(t) FROM long WHERE t LIKE '%a%' AND (id < 200 OR id > 2900 OR id BETWEEN 1500 AND 1550);
-- offloaded: GpuPreAgg
SELECT count(*), min(t COLLATE "C"), max(t COLLATE "C") FROM long WHERE t LIKE '%a%' AND (id < 200 OR id > 2900 OR id BETWEEN 1500 AND 1550);
-- Errors are raised for the same rows at the most.
SELECT id, 10 / (id - 50) FROM long WHERE id BETWEEN 40 AND 60;
SELECT id FROM long WHERE id BETWEEN 40 AND 60 AND 10 / (id - 50) > 0;
-- offloaded: GpuScan
SELECT id FROM long WHERE id BETWEEN 2000 AND 2010 AND 10 / (id - 2100) <= 0;
-- Row security and barriers.
CREATE ROLE brin_reader;
GRANT SELECT ON log TO brin_reader;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON log TO brin_reader USING (v % 2 = 1);
SET ROLE brin_reader;
SELECT count(*), sum(v) FROM log WHERE id < 700 AND ts > '2024-01-01 03:00';
SELECT id FROM log WHERE tag = 'tag7';
RESET ROLE;
ALTER TABLE log DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON log FROM brin_reader;
DROP POLICY odd ON log;
DROP ROLE brin_reader;
-- Partitions: of each its own indexes leave out blocks, or none where it has none.
CREATE TABLE parts (ts timestamp, id int, v int, note text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (4000);
CREATE TABLE parts_2 (note text, id int, ts timestamp, v int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (4000) TO (8000);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (8000) TO (12000);
CREATE TABLE parts_4 PARTITION OF parts FOR VALUES FROM (12000) TO (16000);
CREATE INDEX ON parts_1 USING brin (ts) WITH (pages_per_range = 1);
CREATE INDEX ON parts_2 USING brin (ts) WITH (pages_per_range = 2);
CREATE INDEX ON parts_2 USING brin (id int4_bloom_ops) WITH (pages_per_range = 2);
CREATE INDEX ON parts_4 USING brin (ts) WITH (pages_per_range = 1);
INSERT INTO parts SELECT timestamp '2024-01-01' + i * interval '1 minute', i, i % 90, 'n' || i FROM generate_series(0, 11999) i;
ANALYZE parts;
-- for X in 0 1 3999 4000 5000 7999 8000 11999 12000 20000
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(id), max(ts) FROM parts WHERE ts < timestamp '2024-01-01' + :X * interval '1 minute';
-- offloaded: GpuPreAgg
SELECT v, count(*) FROM parts WHERE ts = timestamp '2024-01-01' + :X * interval '1 minute' OR id = :X + 7 GROUP BY v;
SELECT id, ts, note FROM parts WHERE ts BETWEEN timestamp '2024-01-01' + :X * interval '1 minute' AND timestamp '2024-01-01' + (:X + 20) * interval '1 minute' AND v < 80;
-- end for
-- offloaded: GpuPreAgg
SELECT day, count(*), sum(v) FROM parts JOIN days ON id / 1440 = day WHERE ts > '2024-01-05' GROUP BY day;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a.v) FROM log a JOIN parts b ON a.id = b.id WHERE b.ts < '2024-01-02' AND a.ts < '2024-01-03';
-- offloaded: GpuPreAgg
SELECT v, GROUPING(v), count(*) FROM parts WHERE ts > '2024-01-08' GROUP BY ROLLUP (v);
SELECT day, (SELECT count(*) FROM parts WHERE id BETWEEN first AND last AND ts < '2024-01-04' ) FROM days;
PREPARE some_parts(int, timestamp) AS SELECT count(*), sum(v), min(ts) FROM parts WHERE id > $1 AND ts < $2;
EXECUTE some_parts(3000, '2024-01-05');
EXECUTE some_parts(9000, '2024-01-09');
EXECUTE some_parts(20000, '2024-01-05');
EXECUTE some_parts(NULL, '2024-01-05');
-- An index that goes or comes changes no answer.
EXECUTE some_rows(8000, '2024-02-01');
DROP INDEX log_id;
EXECUTE some_rows(8000, '2024-02-01');
CREATE INDEX log_id ON log USING brin (id int4_bloom_ops);
EXECUTE some_rows(8000, '2024-02-01');
EXECUTE few(700);
TRUNCATE log;
EXECUTE some_rows(8000, '2024-02-01');
SELECT count(*) FROM log WHERE id < 50;
INSERT INTO log (id, ts, v) SELECT i, '2024-01-01', 1 FROM generate_series(1, 100) i;
EXECUTE some_rows(50, '2024-02-01');
-- Settings that forbid it.
SET pg_turbine.enable_brin = off;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log WHERE id < 50;
RESET pg_turbine.enable_brin;
SET enable_bitmapscan = off;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log WHERE id < 50;
