-- Physical shapes: missing values, dropped columns, domains, generated columns, inheritance, partitions, odd alignments.
CREATE TABLE sh (a int, b text, c int2);
INSERT INTO sh SELECT i, 'b' || i % 3, i % 100 FROM generate_series(1, 3000) i;
ALTER TABLE sh ADD COLUMN d int DEFAULT 42;
ALTER TABLE sh ADD COLUMN e text DEFAULT 'missing';
ALTER TABLE sh ADD COLUMN f numeric(8,2) DEFAULT 1.25;
ALTER TABLE sh ADD COLUMN g int;
ALTER TABLE sh ADD COLUMN h timestamptz DEFAULT '2020-02-02 02:02:02+00';
ALTER TABLE sh ADD COLUMN i char(5) DEFAULT 'ch';
ALTER TABLE sh ADD COLUMN j bool NOT NULL DEFAULT true;
INSERT INTO sh SELECT i, 'n', 1, i, 'new', i, i, now(), 'x', false FROM generate_series(1, 50) i;
INSERT INTO sh (a, d, e, f, g, h, i) SELECT i, NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(1, 20) i;
ANALYZE sh;
-- offloaded: GpuScan
SELECT a, d, e FROM sh WHERE d = 42 AND a < 20;
-- offloaded: GpuScan
SELECT a FROM sh WHERE e = 'missing' AND a > 2990;
SELECT a FROM sh WHERE e <> 'missing';
SELECT a FROM sh WHERE f = 1.25 AND a < 5;
SELECT a FROM sh WHERE g IS NULL AND a < 5;
SELECT a FROM sh WHERE h < '2021-01-01' AND a < 5;
SELECT a FROM sh WHERE i = 'ch' AND a < 5;
SELECT a FROM sh WHERE NOT j;
SELECT d, e, f, g, i, j, count(*), sum(a) FROM sh WHERE a > 40 GROUP BY d, e, f, g, i, j;
-- offloaded: GpuPreAgg
SELECT sum(d), count(d), sum(f), count(g), min(h) <= max(h), count(j) FROM sh;
SELECT e, count(*), sum(f) FROM sh GROUP BY e;
ALTER TABLE sh DROP COLUMN b;
ALTER TABLE sh DROP COLUMN d;
-- offloaded: GpuScan
SELECT * FROM sh WHERE c < 3 AND a < 300 AND e = 'missing';
SELECT c, count(*), sum(a), min(f) FROM sh GROUP BY c;
ALTER TABLE sh ADD COLUMN k bigint DEFAULT 9223372036854775807;
SELECT count(*) FROM sh WHERE k = 9223372036854775807;
SELECT sum(k), count(*) FROM sh WHERE a < 3;
ALTER TABLE sh ALTER COLUMN c TYPE bigint;
SELECT c, count(*) FROM sh WHERE e = 'missing' GROUP BY c;
DROP TABLE sh;
-- Domains and generated columns.
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE DOMAIN label AS text NOT NULL;
CREATE TABLE dg (a small, b label, c int GENERATED ALWAYS AS (a * 2) STORED, d numeric(6,1));
INSERT INTO dg (a, b, d) SELECT i % 900, 'l' || i % 9, i / 10.0 FROM generate_series(1, 2500) i;
SELECT a, c FROM dg WHERE a > 890;
SELECT a, c FROM dg WHERE c = 40;
SELECT b, count(*), sum(a), sum(c), max(a) FROM dg GROUP BY b;
SELECT a FROM dg WHERE (a + 200)::small > 1099;
SELECT a FROM dg WHERE b = 'l3' AND a < 20;
DROP TABLE dg;
DROP DOMAIN small;
DROP DOMAIN label;
-- Alignments and NULL bitmaps.
CREATE TABLE al (a bool, b int8, c int2, d float8, e bool, f text, g int2, h text, i int4, j "char", k name, l int4);
INSERT INTO al SELECT i % 2 = 0, i, i % 7, i / 3.0, NULL, CASE WHEN i % 3 = 0 THEN NULL ELSE repeat('f', i % 140) END,
  CASE WHEN i % 5 = 0 THEN NULL ELSE i % 11 END, 'h' || i, CASE WHEN i % 4 = 0 THEN NULL ELSE i END, 'j', 'name' || i, i
  FROM generate_series(1, 4000) i;
SELECT l FROM al WHERE i % 3 = 1 AND g = 4 AND a;
SELECT l FROM al WHERE f = repeat('f', 130);
SELECT l FROM al WHERE h LIKE '%99' AND d > 100;
SELECT g, count(*), sum(i), sum(l), min(h COLLATE "C"), count(f), count(e) FROM al GROUP BY g;
-- floats
SELECT a, sum(d), avg(d) FROM al GROUP BY a;
DROP TABLE al;
CREATE TABLE none ();
SELECT count(*) FROM none;
INSERT INTO none DEFAULT VALUES;
SELECT count(*) FROM none;
DROP TABLE none;
-- Inheritance and partitions whose columns are numbered differently.
CREATE TABLE par (a int, b text, c int) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF par FOR VALUES FROM (0) TO (1000);
CREATE TABLE p2 (junk int, c int, b text, a int);
ALTER TABLE p2 DROP COLUMN junk;
ALTER TABLE par ATTACH PARTITION p2 FOR VALUES FROM (1000) TO (2000);
CREATE TABLE p3 PARTITION OF par FOR VALUES FROM (2000) TO (3000) PARTITION BY LIST (b);
CREATE TABLE p3x PARTITION OF p3 FOR VALUES IN ('b0', 'b1');
CREATE TABLE p3y PARTITION OF p3 DEFAULT;
INSERT INTO par SELECT i, 'b' || i % 4, i * 2 FROM generate_series(0, 2999) i;
ANALYZE par;
SELECT a, b, c FROM par WHERE c % 500 = 0;
SELECT b, count(*), sum(c), min(a) FROM par GROUP BY b;
SELECT count(*), sum(a) FROM par WHERE a > 900 AND a < 2100;
SELECT tableoid::regclass, count(*) FROM par WHERE c > 10 GROUP BY 1;
SELECT b, count(*) FROM p2 WHERE a > 1500 GROUP BY b;
ALTER TABLE par DETACH PARTITION p1;
SELECT count(*), sum(c) FROM par WHERE b = 'b1';
SELECT count(*) FROM p1 WHERE c > 100;
DROP TABLE par, p1;
CREATE TABLE base (a int, b int);
CREATE TABLE derived (c int) INHERITS (base);
INSERT INTO base SELECT i, i % 5 FROM generate_series(1, 1000) i;
INSERT INTO derived SELECT i, i % 5, i FROM generate_series(1001, 2500) i;
SELECT a FROM base WHERE b = 3 AND a % 100 = 3;
SELECT a FROM ONLY base WHERE b = 3 AND a % 100 = 3;
SELECT b, count(*), sum(a) FROM base GROUP BY b;
SELECT b, count(*), sum(a) FROM ONLY base GROUP BY b;
UPDATE base SET b = 9 WHERE a % 2 = 0;
SELECT b, count(*) FROM base GROUP BY b;
DELETE FROM base WHERE b = 9 AND a > 2000;
SELECT count(*), max(a) FROM base;
DROP TABLE derived, base;
-- Other storage.
CREATE TEMP TABLE tt AS SELECT i AS a, i % 3 AS b FROM generate_series(1, 3000) i;
SELECT b, count(*), sum(a) FROM tt GROUP BY b;
SELECT a FROM tt WHERE a % 500 = 7;
CREATE UNLOGGED TABLE ul AS SELECT * FROM tt;
SELECT b, count(*), sum(a) FROM ul GROUP BY b;
CREATE TABLE logged AS SELECT * FROM tt;
CREATE MATERIALIZED VIEW mv AS SELECT b, a FROM logged WHERE a < 2000;
SELECT b, count(*) FROM mv GROUP BY b;
DROP MATERIALIZED VIEW mv;
CREATE VIEW vw AS SELECT a + 1 AS a1, b FROM logged WHERE b > 0;
SELECT b, sum(a1) FROM vw GROUP BY b;
SELECT a1 FROM vw WHERE a1 % 400 = 5;
SELECT ctid, a FROM logged WHERE a % 900 = 1;
SELECT xmin IS NOT NULL, a FROM logged WHERE a = 5;
SELECT tableoid::regclass, a FROM logged WHERE a = 5;
SELECT logged FROM logged WHERE a = 7;
SELECT count(*) FROM logged TABLESAMPLE system (100) WHERE a > 5;
DROP TABLE logged CASCADE;
DROP TABLE tt, ul;
