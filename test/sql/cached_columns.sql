-- Columns that one query leaves and the next one takes: each statement runs twice. ANALYZE
-- vacuums and checkpoints where blocks are read directly, and only then are columns kept.
CREATE TABLE c (id int, k int, s smallint, b bigint, r real, d double precision, day date, at timestamp, tz timestamptz,
  n numeric(10,2), free numeric, t text, f char(8), v varchar(20), yes boolean);
INSERT INTO c SELECT i, i % 10, i % 300, i::bigint * 1000000007, i / 3.0, i / 7.0, date '2020-01-01' + i % 900,
    timestamp '2020-01-01' + i * interval '7 minutes', timestamptz '2020-01-01 00:00:00+00' + i * interval '13 minutes',
    i / 100.0, CASE WHEN i % 3 = 0 THEN i / 10.0 ELSE i END, 'text ' || i % 97, 'f' || i % 20, 'v' || i, i % 4 = 0
  FROM generate_series(1, 9000) i;
UPDATE c SET s = NULL, r = NULL, n = NULL, t = NULL, yes = NULL, day = NULL WHERE id % 11 = 0;
ANALYZE c;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(s), sum(b), min(day), max(at), min(tz), sum(n), max(t COLLATE "C"), count(yes) FROM c GROUP BY k;
SELECT k, count(*), sum(s), sum(b), min(day), max(at), min(tz), sum(n), max(t COLLATE "C"), count(yes) FROM c GROUP BY k;
SELECT t, f, count(*), sum(free), min(v COLLATE "C") FROM c GROUP BY t, f;
SELECT t, f, count(*), sum(free), min(v COLLATE "C") FROM c GROUP BY t, f;
SELECT yes, count(*), max(r), max(d) FROM c WHERE t LIKE '%7' OR t IS NULL GROUP BY yes;
SELECT yes, count(*), max(r), max(d) FROM c WHERE t LIKE '%7' OR t IS NULL GROUP BY yes;
-- Some columns were read before, some were not.
SELECT f, sum(s), max(d), count(v) FROM c WHERE id BETWEEN 1000 AND 7000 GROUP BY f;
SELECT f, sum(s), max(d), count(v) FROM c WHERE id BETWEEN 1000 AND 7000 GROUP BY f;
-- Rows that PostgreSQL goes on with: the first run of a filter leaves line pointers, too.
SELECT id, t, random() < 2 FROM c WHERE id % 500 = 3 AND f = 'f3';
SELECT id, t, random() < 2 FROM c WHERE id % 500 = 3 AND f = 'f3';
SELECT ctid, c FROM c WHERE t LIKE '%7' AND s < 10;
SELECT ctid, c FROM c WHERE t LIKE '%7' AND s < 10;
SELECT ctid, k FROM c WHERE yes AND n > 80;
SELECT ctid, k FROM c WHERE yes AND n > 80;
SELECT ctid, id, v FROM c WHERE id BETWEEN 4000 AND 4010;
-- Segments that a filter excludes as a whole, and the first and last values of some.
SELECT count(*), min(id), max(id), sum(b) FROM c WHERE id >= 9000;
SELECT count(*), min(id), max(id), sum(b) FROM c WHERE id > 8999;
SELECT count(*), min(id), max(id), sum(b) FROM c WHERE 1 >= id;
SELECT count(*), min(id), max(id), sum(b) FROM c WHERE id < 2 AND k = 1;
SELECT count(*), min(id), max(id), sum(b) FROM c WHERE id = 4321;
SELECT count(*), min(id), sum(b) FROM c WHERE id BETWEEN 2000 AND 2100 OR id > 8990;
SELECT count(*), min(at), max(at), sum(n) FROM c WHERE at >= timestamp '2020-02-10' AND at < timestamp '2020-02-11' AND n > 20;
SELECT count(*), min(day), max(day) FROM c WHERE day > date '2030-01-01';
SELECT k, count(*) FROM c WHERE n BETWEEN 89.5 AND 90 GROUP BY k;
SELECT count(*) FROM c WHERE b > 9000::bigint * 1000000007;
SELECT count(*) FROM c WHERE 100 / (id - 5) > -1 AND id > 100000;
SELECT count(*) FROM c WHERE id > 100000 AND 100 / (id - 5) > -1;
-- Sides of joins, and rows of a FULL join that found nobody.
CREATE TABLE p AS SELECT i AS id, 'p' || i % 5 AS name, i % 10 AS k FROM generate_series(4000, 13000) i;
ANALYZE p;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id GROUP BY p.name;
SELECT p.name, c.k, count(*), count(c.t) FROM c FULL JOIN p ON p.id = c.id GROUP BY p.name, c.k;
SELECT p.name, c.k, count(*), count(c.t) FROM c FULL JOIN p ON p.id = c.id GROUP BY p.name, c.k;
SELECT c.id, p.name, c.t FROM c LEFT JOIN p ON p.id = c.id WHERE c.k = 3 ORDER BY c.id DESC LIMIT 20;
SELECT c.id, p.name, c.t FROM c LEFT JOIN p ON p.id = c.id WHERE c.k = 3 ORDER BY c.id DESC LIMIT 20;
-- A join table that is kept, as long as its source stays as it is.
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 5 GROUP BY p.name;
UPDATE p SET name = 'new' WHERE id = 4711;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
ANALYZE p;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
DELETE FROM p WHERE id % 1000 = 1;
ANALYZE p;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
INSERT INTO p SELECT i, 'late', 1 FROM generate_series(4000, 6000) i;
ANALYZE p;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
SELECT p.name, count(*), sum(c.b) FROM c JOIN p ON p.id = c.id WHERE p.k < 4 GROUP BY p.name;
-- Changes, before and after they are vacuumed.
UPDATE c SET b = b + 1, t = 'changed' WHERE id BETWEEN 3000 AND 3100;
DELETE FROM c WHERE id % 1000 = 0;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
SELECT ctid, id, t FROM c WHERE b % 400 = 1;
ANALYZE c;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
SELECT ctid, id, t FROM c WHERE b % 400 = 1;
SELECT ctid, id, t FROM c WHERE b % 400 = 1;
-- Blocks that are all-visible again, and which nobody has written to the file yet.
UPDATE c SET b = b + 1000, k = k + 1 WHERE id = 5001;
VACUUM c;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
ANALYZE c;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
-- Columns of some blocks of a segment are older than others.
SELECT yes, count(*), sum(s) FROM c GROUP BY yes;
SELECT yes, k, count(*), sum(s), sum(b) FROM c GROUP BY yes, k;
UPDATE c SET s = s + 1 WHERE id % 700 = 0;
ANALYZE c;
SELECT k, sum(b) FROM c GROUP BY k;
SELECT yes, k, count(*), sum(s), sum(b), min(v COLLATE "C") FROM c GROUP BY yes, k;
SELECT yes, k, count(*), sum(s), sum(b), min(v COLLATE "C") FROM c GROUP BY yes, k;
-- Frozen rows are what they were.
VACUUM (FREEZE) c;
ANALYZE c;
SELECT yes, k, count(*), sum(s), sum(b), min(v COLLATE "C") FROM c GROUP BY yes, k;
SELECT yes, k, count(*), sum(s), sum(b), min(v COLLATE "C") FROM c GROUP BY yes, k;
-- The table grows behind the last segment.
INSERT INTO c (id, k, b, t) SELECT i, 7, i, 'grown' FROM generate_series(30000, 30300) i;
ANALYZE c;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
BEGIN;
INSERT INTO c (id, k, b, t) SELECT i, 3, i, 'new' FROM generate_series(20000, 20100) i;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
SAVEPOINT a;
DELETE FROM c WHERE id < 100;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
ROLLBACK TO a;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
ROLLBACK;
SELECT k, count(*), sum(b), max(t COLLATE "C") FROM c GROUP BY k;
-- A missing value that was never there, and one that came in its place.
BEGIN;
ALTER TABLE c ADD extra int DEFAULT 5;
SELECT count(*), sum(extra), min(extra) FROM c;
SELECT count(*), sum(extra), min(extra) FROM c;
ROLLBACK;
ALTER TABLE c ADD extra int DEFAULT 7;
SELECT count(*), sum(extra), min(extra) FROM c;
SELECT count(*), sum(extra), min(extra) FROM c;
BEGIN;
ALTER TABLE c ADD word text DEFAULT 'not this';
SELECT word, count(*) FROM c GROUP BY word;
SELECT word, count(*) FROM c GROUP BY word;
ROLLBACK;
ALTER TABLE c ADD word text DEFAULT 'but that';
SELECT word, count(*) FROM c GROUP BY word;
SELECT word, count(*) FROM c GROUP BY word;
ALTER TABLE c DROP word;
ALTER TABLE c ADD word text DEFAULT 'and now';
SELECT word, count(*) FROM c GROUP BY word;
SELECT word, count(*) FROM c GROUP BY word;
-- Types that change without a rewrite, and with one.
ALTER TABLE c ALTER v TYPE varchar(40), ALTER n TYPE numeric(12,2);
SELECT k, sum(n), max(v COLLATE "C") FROM c GROUP BY k;
SELECT k, sum(n), max(v COLLATE "C") FROM c GROUP BY k;
ALTER TABLE c ALTER n TYPE numeric;
SELECT k, sum(n), count(n) FROM c GROUP BY k;
SELECT k, sum(n), count(n) FROM c GROUP BY k;
ALTER TABLE c ALTER n TYPE numeric(12,3);
ANALYZE c;
SELECT k, sum(n), count(n) FROM c GROUP BY k;
SELECT k, sum(n), count(n) FROM c GROUP BY k;
ALTER TABLE c ALTER s TYPE bigint;
ANALYZE c;
SELECT k, sum(s), count(s) FROM c GROUP BY k;
SELECT k, sum(s), count(s) FROM c GROUP BY k;
ALTER TABLE c ALTER b SET NOT NULL;
SELECT k, sum(b) FROM c GROUP BY k;
SELECT k, sum(b) FROM c GROUP BY k;
ALTER TABLE c ALTER b DROP NOT NULL;
SELECT k, sum(b) FROM c GROUP BY k;
-- Other files for the same table.
CREATE INDEX ON c (k, id);
CLUSTER c USING c_k_id_idx;
ANALYZE c;
SELECT k, count(*), sum(b) FROM c GROUP BY k;
SELECT k, count(*), sum(b) FROM c GROUP BY k;
VACUUM FULL c;
SELECT k, count(*), sum(b) FROM c GROUP BY k;
BEGIN;
TRUNCATE c;
INSERT INTO c (id, k, b) SELECT i, i % 10, i FROM generate_series(1, 5000) i;
SELECT k, count(*), sum(b) FROM c GROUP BY k;
SELECT k, count(*), sum(b) FROM c GROUP BY k;
ROLLBACK;
SELECT k, count(*), sum(b) FROM c GROUP BY k;
SELECT k, count(*), sum(b) FROM c GROUP BY k;
-- Partitions that lie otherwise than their table.
CREATE TABLE q (id int, k int, t text) PARTITION BY RANGE (id);
CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (5000);
CREATE TABLE q2 (t text, gone int, k int, id int);
ALTER TABLE q2 DROP gone;
ALTER TABLE q ATTACH PARTITION q2 FOR VALUES FROM (5000) TO (9000);
CREATE TABLE q3 PARTITION OF q FOR VALUES FROM (9000) TO (9001);
INSERT INTO q SELECT i, i % 7, 'q' || i % 13 FROM generate_series(0, 8999) i;
ANALYZE q;
SELECT k, t, count(*), sum(id) FROM q GROUP BY k, t;
SELECT k, t, count(*), sum(id) FROM q GROUP BY k, t;
ALTER TABLE q ADD m int DEFAULT 9;
SELECT m, count(*), sum(id) FROM q GROUP BY m;
SELECT m, count(*), sum(id) FROM q GROUP BY m;
UPDATE q SET k = k + 1 WHERE id % 500 = 0;
SELECT k, count(*), sum(id) FROM q GROUP BY k;
SELECT k, count(*), sum(id) FROM q WHERE id > 4000 GROUP BY k;
-- The file grows behind what was kept.
CREATE TABLE g AS SELECT i AS id, i % 3 AS k, repeat('x', 40) AS pad FROM generate_series(1, 3000) i;
ANALYZE g;
SELECT k, count(*), sum(id) FROM g GROUP BY k;
SELECT k, count(*), sum(id) FROM g GROUP BY k;
INSERT INTO g SELECT i, i % 3, repeat('y', 40) FROM generate_series(3001, 9000) i;
SELECT k, count(*), sum(id) FROM g GROUP BY k;
ANALYZE g;
SELECT k, count(*), sum(id) FROM g GROUP BY k;
SELECT k, count(*), sum(id) FROM g GROUP BY k;
DELETE FROM g WHERE id > 4000;
ANALYZE g;
SELECT k, count(*), sum(id) FROM g GROUP BY k;
SELECT k, count(*), sum(id) FROM g GROUP BY k;
-- What must not be kept: a value out of line, a numeric that has no form.
CREATE TABLE w (id int, k int, t text, n numeric);
INSERT INTO w SELECT i, i % 5, CASE WHEN i % 500 = 0 THEN repeat(md5(i::text), 300) ELSE 't' || i END,
    CASE WHEN i = 1700 THEN 'NaN' ELSE i / 4.0 END FROM generate_series(1, 4000) i;
ANALYZE w;
SELECT k, count(*), sum(length(t)), sum(id) FROM w GROUP BY k;
SELECT k, count(*), sum(length(t)), sum(id) FROM w GROUP BY k;
SELECT k, sum(n) FROM w GROUP BY k;
SELECT k, sum(n) FROM w GROUP BY k;
-- A query that wants some blocks of a segment confirms these alone: the changed one, which it leaves out, is not good.
CREATE TABLE bw (id int, v int);
INSERT INTO bw SELECT i, i % 1000 FROM generate_series(1, 14000) i;
CREATE INDEX ON bw USING brin (id) WITH (pages_per_range = 4);
VACUUM (ANALYZE) bw;
CHECKPOINT;
SELECT count(*), sum(id), sum(v) FROM bw;
UPDATE bw SET v = v + 1 WHERE id = 100;
VACUUM bw;
SELECT count(*), sum(id), sum(v) FROM bw WHERE id BETWEEN 5000 AND 6000;
SELECT count(*), sum(id), sum(v) FROM bw;
DROP TABLE bw;
