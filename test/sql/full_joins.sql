-- Full joins: rows of both sides stay, those without a match with NULLs on the other side.
CREATE TABLE a (id int NOT NULL, k int, k2 int8, x int NOT NULL, t text, n numeric(10,2), f float8, pad text);
CREATE TABLE b (id int NOT NULL, k int, k2 int8, y int NOT NULL, t text, n numeric(12,4), f float8, pad text);
CREATE TABLE c (id int NOT NULL, k int, z int NOT NULL, t text);
CREATE TABLE d (id int PRIMARY KEY, k int, w int NOT NULL);
CREATE TABLE none (id int NOT NULL, k int, v int NOT NULL);
INSERT INTO a SELECT i, CASE WHEN i % 11 = 0 THEN NULL ELSE i % 700 END, i % 90, i % 50, 't' || i % 260, i % 330 / 4.0, i % 40 / 8.0, md5(i::text)
  FROM generate_series(1, 3000) i;
INSERT INTO b SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE 300 + i % 800 END, i % 120, i % 60, 't' || i % 400, i % 420 / 8.0, i % 70 / 4.0, md5(i::text)
  FROM generate_series(1, 1900) i;
INSERT INTO c SELECT i, i % 130, i % 9, CASE WHEN i % 5 > 0 THEN 't' || i % 77 END FROM generate_series(1, 500) i;
INSERT INTO d SELECT i * 3, i % 40, i % 13 FROM generate_series(1, 700) i;
INSERT INTO a (id, x) SELECT -i, i FROM generate_series(1, 40) i;
INSERT INTO b (id, y) SELECT -i, i FROM generate_series(1, 30) i;
DELETE FROM b WHERE id % 13 = 0;
ANALYZE a;
ANALYZE b;
ANALYZE c;
ANALYZE d;
ANALYZE none;
-- One join: keys of every table kind, repeated ones, NULLs on both sides.
-- for on in a.k=b.k a.id=b.id a.k2=b.k2 a.t=b.t a.n=b.n a.f=b.f a.k2=b.k a.id=b.k a.k=b.k2+400 (a.k,a.t)=(b.k,b.t)
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), sum(a.x), sum(b.y), min(a.t COLLATE "C"), max(b.t COLLATE "C") FROM a FULL JOIN b ON :on;
-- offloaded: GpuPreAgg
SELECT a.x, count(*), count(b.id), sum(b.y) FROM a FULL JOIN b ON :on GROUP BY a.x;
-- offloaded: GpuPreAgg
SELECT b.y, a.k2, count(*), sum(a.x) FROM b FULL JOIN a ON :on GROUP BY b.y, a.k2;
-- end for
-- for on in a.id=b.id a.id=b.k a.k=b.k (a.k,a.id)=(b.k,b.id)
-- offloaded: GpuJoin
SELECT a.id, a.k, a.t, b.id, b.k, b.t, b.n FROM a FULL JOIN b ON :on;
-- end for
-- A side of unique keys, either one.
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(d.id), sum(d.w) FROM a FULL JOIN d ON a.id = d.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(d.id), sum(d.w) FROM d FULL JOIN a ON a.k = d.id;
-- offloaded: GpuJoin
SELECT a.id, d.id, d.w FROM a FULL JOIN d ON a.k = d.id;
-- offloaded: GpuPreAgg
SELECT d.w, count(*), count(a.x) FROM a FULL JOIN d ON a.k = d.id AND a.x > d.k GROUP BY d.w;
-- Conditions besides the keys: a match is one that they hold for; also those of one side.
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), sum(a.x + b.y) FROM a FULL JOIN b ON a.k = b.k AND a.x < b.y;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON a.id = b.id AND a.x > 20;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON a.id = b.id AND b.y BETWEEN 5 AND 9 AND a.t = b.t;
-- offloaded: GpuJoin
SELECT a.id, b.id FROM a FULL JOIN b ON a.k = b.k AND a.x + b.y < 30 AND a.k2 <> b.k2;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON a.k = b.k AND a.x > 1000;
-- No key at all.
-- offloaded: GpuPreAgg
SELECT count(*), count(c.id), count(d.id) FROM c FULL JOIN d ON true;
-- offloaded: GpuPreAgg
SELECT count(*), count(c.id), count(none.id) FROM c FULL JOIN none ON true;
SELECT count(*), count(c.id), count(d.id) FROM c FULL JOIN d ON false;
SELECT count(*), count(c.id), count(d.id) FROM c FULL JOIN d ON c.id < d.id;
-- USING and NATURAL: the keys of both.
-- offloaded: GpuJoin
SELECT id, a.k, b.k FROM a FULL JOIN b USING (id);
-- offloaded: GpuJoin
SELECT id, k, a.x, b.y FROM a FULL JOIN b USING (id, k);
-- offloaded: GpuPreAgg
SELECT k, count(*), count(a.id), count(b.id) FROM a FULL JOIN b USING (k) GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(id), count(k) FROM c NATURAL FULL JOIN d;
-- offloaded: GpuPreAgg
SELECT count(*), sum(id) FROM a FULL JOIN b USING (id) WHERE id % 3 = 1;
SELECT count(*), sum(id) FROM a FULL JOIN b USING (id) WHERE id = 65;
-- WHERE above: also where it holds for what has no match, and filters below.
-- for where in (a.k)ISNULL (b.k)ISNULL (a.id)ISNULL (b.id)ISNULL coalesce(a.x,7)=7 coalesce(b.y,7)=7 a.x>30 b.y<9 coalesce(a.x,0)<>coalesce(b.y,0) coalesce(a.id,b.id)%4=1
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), sum(a.x), sum(b.y) FROM a FULL JOIN b ON a.id = b.id WHERE :where;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), sum(a.x), sum(b.y) FROM a FULL JOIN b ON a.k = b.k WHERE :where;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM a WHERE x < 25 OR k IS NULL) a FULL JOIN (SELECT * FROM b WHERE y % 4 > 0) b ON a.k = b.k AND a.x <> b.y WHERE :where;
-- end for
-- offloaded: GpuJoin
SELECT a.id, b.id FROM (SELECT * FROM a WHERE x < 5) a FULL JOIN (SELECT * FROM b WHERE y < 8) b ON a.id = b.id WHERE coalesce(a.x, -1) <> coalesce(b.y, -1);
-- offloaded: GpuJoin
SELECT a.id, a.k, b.id, b.k FROM a FULL JOIN b ON a.k = b.k AND a.x = b.y WHERE a.k IS NULL OR b.k IS NULL OR a.id < 100;
-- Empty sides, either and both; sides of which no row stays.
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(none.id) FROM a FULL JOIN none ON a.id = none.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), sum(none.v) FROM none FULL JOIN a ON a.k = none.k;
-- offloaded: GpuJoin
SELECT c.id, none.v FROM none FULL JOIN c ON c.k = none.k;
SELECT count(*), count(n.id), count(none.id) FROM none n FULL JOIN none ON n.id = none.id;
SELECT n.id, none.id FROM none n FULL JOIN none ON n.k = none.k;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM a WHERE x > 100) a FULL JOIN b ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN (SELECT * FROM b WHERE y < 0) b ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM a WHERE x > 100) a FULL JOIN (SELECT * FROM b WHERE y < 0) b ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT x, count(*), count(b.id) FROM (SELECT * FROM a WHERE x > 100) a FULL JOIN b ON a.k = b.k GROUP BY x;
-- Chains: what the lower one leaves over is looked up in the upper ones.
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), count(c.id) FROM a FULL JOIN b ON a.id = b.id FULL JOIN c ON b.k = c.k;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), count(c.id), sum(c.z) FROM a FULL JOIN b ON a.id = b.id FULL JOIN c ON c.id = coalesce(a.id, b.id);
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), count(c.id), count(d.id) FROM a FULL JOIN b USING (id) FULL JOIN c USING (id) FULL JOIN d USING (id);
-- offloaded: GpuJoin
SELECT id, a.x, b.y, c.z, d.w FROM a FULL JOIN b USING (id) FULL JOIN c USING (id) FULL JOIN d USING (id);
-- offloaded: GpuPreAgg
SELECT id % 10, count(*), count(a.x), count(b.y), sum(c.z) FROM a FULL JOIN b USING (id) FULL JOIN c USING (id) WHERE coalesce(b.y, 1) < 30 GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), count(d.id) FROM (SELECT a.id, a.k FROM a FULL JOIN d ON a.k = d.id WHERE coalesce(d.w, 3) < 7) a FULL JOIN b ON a.k = b.k FULL JOIN d ON d.k = b.y;
-- offloaded: GpuPreAgg
SELECT count(*), count(u.x), count(v.z) FROM (SELECT a.id AS i, a.x, b.y FROM a FULL JOIN b ON a.id = b.id) u FULL JOIN (SELECT c.id AS i, c.z, d.w FROM c FULL JOIN d ON c.id = d.id) v ON u.i = v.i;
-- offloaded: GpuJoin
SELECT u.i, u.x, u.y, v.i, v.z, v.w FROM (SELECT a.id AS i, a.x, b.y FROM a FULL JOIN b ON a.id = b.id) u FULL JOIN (SELECT c.id AS i, c.z, d.w FROM c FULL JOIN d ON c.id = d.id) v ON u.i = v.i;
-- offloaded: GpuPreAgg
SELECT count(*), count(c1.id), count(c2.id), count(c3.id) FROM c c1 FULL JOIN c c2 ON c1.id = c2.k FULL JOIN c c3 ON c2.z = c3.id AND c1.z < c3.z;
-- With other joins below, above and beside.
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(c.id), count(b.id) FROM (a JOIN c ON a.x = c.id) FULL JOIN b ON a.k = b.k;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(d.id), count(b.id) FROM (a JOIN d ON a.id = d.id AND a.x > d.w) FULL JOIN b ON a.k = b.k AND b.y > d.w;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(d.id), count(b.id) FROM (a LEFT JOIN d ON a.k = d.id) FULL JOIN b ON d.id = b.id WHERE coalesce(d.w, b.y, 4) <> 5;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM a WHERE EXISTS (SELECT 1 FROM c WHERE c.k = a.x)) a FULL JOIN b ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM a WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.id = a.id AND d.w > a.x)) a FULL JOIN b ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM b FULL JOIN (SELECT a.* FROM a JOIN c ON a.id = c.id WHERE c.z > 2) a ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), sum(c.z) FROM (a FULL JOIN b ON a.id = b.id) JOIN c ON c.id = a.x;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id), sum(c.z) FROM (a FULL JOIN b ON a.id = b.id) JOIN c ON c.id = coalesce(b.y, a.x);
-- offloaded: GpuJoin
SELECT a.id, b.id, c.id, c.z FROM (a FULL JOIN b ON a.id = b.id) LEFT JOIN c ON c.id = coalesce(b.y, a.x) AND c.z > 3;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM d WHERE d.id = coalesce(a.id, b.id));
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON a.k = b.k WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.id = coalesce(a.id, b.id) AND d.w > 3);
-- A full join as the inner side of others.
SELECT count(*), count(u.i), sum(u.z), sum(u.w) FROM a LEFT JOIN (SELECT coalesce(c.id, d.id) AS i, c.z, d.w FROM c FULL JOIN d ON c.id = d.id) u ON u.i = a.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(u.id), sum(u.z), sum(u.w) FROM a LEFT JOIN (SELECT c.id, c.z, d.w FROM c FULL JOIN d ON c.id = d.id) u ON u.id = a.id;
-- offloaded: GpuPreAgg
SELECT count(*), sum(u.z), sum(u.w), count(a.x) FROM a JOIN (SELECT coalesce(c.k, d.k) AS i, c.z, d.w FROM c FULL JOIN d ON c.id = d.id WHERE coalesce(c.z, 1) < 8) u ON u.i = a.k;
-- offloaded: GpuPreAgg
SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM c FULL JOIN d ON c.id = d.id WHERE coalesce(c.k, d.id) = a.k);
SELECT count(*) FROM a WHERE a.id IN (SELECT coalesce(c.id, d.id) FROM c FULL JOIN d ON c.k = d.k);
-- offloaded: GpuPreAgg
SELECT count(*), count(none.id), count(b.y) FROM none FULL JOIN (SELECT b.* FROM b JOIN d ON b.id = d.id) b ON b.id = none.id;
-- Sides that are no tables.
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), count(g) FROM a FULL JOIN generate_series(2500, 3500) g ON g = a.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.id), sum(s.m) FROM (SELECT k, max(y) AS m FROM b GROUP BY k) s FULL JOIN a ON a.k = s.k;
-- offloaded: GpuJoin
SELECT a.id, v.p, v.q FROM (VALUES (1, 'one'), (NULL, 'null'), (-3, 'minus'), (99999, 'far'), (1, 'again')) v(p, q) FULL JOIN a ON a.id = v.p;
-- offloaded: GpuPreAgg
SELECT count(*), count(none.id), sum(g) FROM none FULL JOIN generate_series(1, 9000) g ON g = none.id;
-- offloaded: GpuJoin
SELECT none.v, g FROM generate_series(1, 90) g FULL JOIN none ON g = none.k;
-- offloaded: GpuPreAgg
SELECT g % 3, count(*), count(none.id), count(c.z) FROM none FULL JOIN generate_series(1, 900) g ON g = none.id LEFT JOIN c ON c.id = g GROUP BY 1;
-- not offloaded
SELECT g, h FROM generate_series(1, 9) g FULL JOIN generate_series(5, 14) h ON g = h;
-- Values computed below the join are NULL above it.
SELECT count(*), count(one), count(two), sum(one), sum(two) FROM (SELECT id, 1 AS one FROM a) a FULL JOIN (SELECT id, coalesce(k, 2) AS two FROM b) b ON a.id = b.id;
SELECT a.id, one, b.id, two FROM (SELECT id, coalesce(k, 1) AS one FROM a WHERE x < 4) a FULL JOIN (SELECT id, 2 AS two FROM b WHERE y < 7) b ON a.id = b.id;
-- Order, limit, windows, DISTINCT.
-- offloaded: GpuSort
-- ordered
SELECT coalesce(a.id, b.id) AS i, a.x, b.y FROM a FULL JOIN b ON a.id = b.id ORDER BY i, a.x, b.y;
-- offloaded: GpuSort
-- ordered
SELECT coalesce(a.id, b.id) AS i, a.x, b.y FROM a FULL JOIN b ON a.id = b.id ORDER BY b.y DESC NULLS FIRST, i DESC LIMIT 77;
-- offloaded: GpuSort
-- ordered
SELECT a.id, d.id FROM d FULL JOIN a ON a.k = d.id ORDER BY a.id NULLS FIRST, d.id OFFSET 10 LIMIT 500;
-- offloaded: GpuSort
-- ordered
SELECT x, count(*) AS n FROM a FULL JOIN b ON a.k = b.k GROUP BY x ORDER BY n DESC, x NULLS FIRST LIMIT 7;
-- offloaded: GpuSort
SELECT coalesce(a.id, b.id), a.x, rank() OVER (PARTITION BY a.x ORDER BY b.y, coalesce(a.id, b.id)) FROM a FULL JOIN b ON a.id = b.id;
SELECT count(DISTINCT a.x), count(DISTINCT b.y) FROM a FULL JOIN b ON a.k = b.k;
SELECT DISTINCT a.x, b.y % 5 FROM a FULL JOIN b ON a.k = b.k;
SELECT a.x, b.y % 3, count(*) FROM a FULL JOIN b ON a.k = b.k GROUP BY ROLLUP (a.x, b.y % 3);
-- Errors are PostgreSQL's, and only where a row gets there.
SELECT sum(10 / (b.y - 5)) FROM a FULL JOIN b ON a.id = b.id;
SELECT count(*) FROM a FULL JOIN b ON a.id = b.id WHERE 10 / coalesce(a.x, 0) > 1;
SELECT count(*) FROM (SELECT * FROM a WHERE x > 0) a FULL JOIN b ON a.id = b.id WHERE 10 / coalesce(a.x, 1) > 1;
SELECT count(*), count(a.id) FROM (SELECT * FROM a WHERE x > 0 AND 100 / x > 3) a FULL JOIN b ON a.id = b.id AND 60 / a.x > 2;
-- A numeric without precision and scale, and large values of either side, decoded by the backend.
CREATE TABLE wide_a (id int NOT NULL, v numeric NOT NULL, big text);
CREATE TABLE wide_b (id int NOT NULL, v numeric NOT NULL, big text);
ALTER TABLE wide_a ALTER big SET STORAGE EXTERNAL;
ALTER TABLE wide_b ALTER big SET STORAGE EXTERNAL;
INSERT INTO wide_a SELECT i, i / 8.0, CASE WHEN i % 3 = 0 THEN repeat('a' || i, 900) ELSE 'small' || i END FROM generate_series(1, 300) i;
INSERT INTO wide_b SELECT i * 2, i, CASE WHEN i % 4 = 0 THEN repeat('b' || i, 800) WHEN i % 7 > 0 THEN 'little' || i END FROM generate_series(1, 250) i;
ANALYZE wide_a;
ANALYZE wide_b;
SELECT a.id, b.id, a.v, b.v, left(a.big, 9), length(b.big) FROM wide_a a FULL JOIN wide_b b ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(a.big), count(b.big), sum(a.v), sum(b.v), sum(length(a.big)), sum(length(b.big)) FROM wide_a a FULL JOIN wide_b b ON a.id = b.id;
SELECT count(*), count(a.big), count(b.big) FROM wide_a a FULL JOIN wide_b b ON a.big = b.big OR a.id = b.id;
SELECT count(*), count(a.big), count(b.big) FROM wide_a a FULL JOIN wide_b b ON a.big = b.big;
-- Tuples too short for a column, and partitions that are laid out otherwise.
ALTER TABLE a ADD late int NOT NULL DEFAULT 17;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a.late), count(b.id) FROM a FULL JOIN b ON a.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a.late), count(b.id) FROM a FULL JOIN b ON a.late = b.id AND a.id < 40;
CREATE TABLE parted (id int NOT NULL, k int, x int NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (-100) TO (900);
CREATE TABLE parted_2 (x int NOT NULL, gone text, id int NOT NULL, k int);
ALTER TABLE parted_2 DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (900) TO (2000);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (2000) TO (9000);
INSERT INTO parted SELECT id, k, x FROM a;
ANALYZE parted;
-- offloaded: GpuPreAgg
SELECT count(*), count(p.id), count(b.id), sum(p.x) FROM parted p FULL JOIN b ON p.k = b.k;
-- offloaded: GpuJoin
SELECT p.id, p.x, b.id, b.y FROM b FULL JOIN parted p ON p.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(p.id), count(b.id) FROM (SELECT * FROM parted WHERE id < 1000) p FULL JOIN b ON p.id = b.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(p.id), count(d.id) FROM d FULL JOIN parted p ON p.id = d.id WHERE coalesce(p.x, 3) < 20;
-- offloaded: GpuPreAgg
SELECT count(*), count(p.id), count(q.id) FROM parted p FULL JOIN parted q ON p.id = q.k;
-- Enabled partition by partition.
SET enable_partitionwise_join = on;
SELECT count(*), count(p.id), count(q.id) FROM parted p FULL JOIN (SELECT * FROM parted WHERE x > 20) q ON p.id = q.id;
RESET enable_partitionwise_join;
-- Parameters, of prepared statements and correlated.
PREPARE above(int, int) AS SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM a WHERE x < $1) a FULL JOIN b ON a.id = b.id AND b.y > $2;
EXECUTE above(20, 30);
EXECUTE above(0, 30);
EXECUTE above(NULL, 3);
SET plan_cache_mode = force_generic_plan;
EXECUTE above(20, 30);
EXECUTE above(NULL, NULL);
RESET plan_cache_mode;
SELECT d.id, (SELECT count(*) FROM a FULL JOIN b ON a.id = b.id AND a.x = d.w WHERE coalesce(a.k, b.k) < d.id) FROM d WHERE d.id < 40;
SELECT d.id, s.n FROM d, LATERAL (SELECT count(*) AS n, count(a.id) FROM (SELECT * FROM a WHERE x = d.w) a FULL JOIN (SELECT * FROM b WHERE y < d.id) b ON a.id = b.id) s WHERE d.id < 40;
-- Where another's rows change in between, and a cursor.
BEGIN;
DECLARE rows NO SCROLL CURSOR FOR SELECT a.id, b.id FROM a FULL JOIN b ON a.id = b.id WHERE coalesce(a.id, b.id) < 50
  ORDER BY coalesce(a.id, b.id);
FETCH 3 FROM rows;
UPDATE b SET y = y + 1 WHERE id < 30;
DELETE FROM a WHERE id BETWEEN 10 AND 20;
FETCH ALL FROM rows;
SELECT count(*), count(a.id), count(b.id), sum(b.y) FROM a FULL JOIN b ON a.id = b.id;
ROLLBACK;
