-- Joins of sides of sizes around those of tiles and batches; matches that multiply; join tables of every kind.
CREATE TABLE inner_side (id int, few int, wide bigint, t text);
INSERT INTO inner_side SELECT i, i % 3, i * 1000003::bigint, 't' || i % 100 FROM generate_series(0, 2999) i;
INSERT INTO inner_side VALUES (NULL, NULL, NULL, NULL);
CREATE TABLE unique_side (id int PRIMARY KEY, v int);
INSERT INTO unique_side SELECT i, i % 17 FROM generate_series(-50, 5000) i;
ANALYZE inner_side;
ANALYZE unique_side;
-- for n in 0 1 31 32 33 1023 1024 1025 2047 2048 2049 4097 9000
CREATE TABLE outer_:n AS SELECT i AS id, nullif(i % 7, 3) AS few, i * 1000003::bigint AS wide, 't' || i % 150 AS t FROM generate_series(1, :n) i;
ANALYZE outer_:n;
-- offloaded: GpuPreAgg
SELECT count(*), sum(o.id), sum(u.v), max(u.id) FROM outer_:n o JOIN unique_side u ON u.id = o.id;
-- offloaded: GpuPreAgg
SELECT count(*), sum(o.id), count(i.id), min(i.t) FROM outer_:n o LEFT JOIN inner_side i ON i.t = o.t AND i.id > o.id;
-- offloaded: GpuPreAgg
SELECT count(*), sum(i.id) FROM outer_:n o JOIN inner_side i ON i.few = o.few WHERE o.id % 40 = 1;
-- offloaded: GpuPreAgg
SELECT u.v, count(*), count(i.id) FROM outer_:n o JOIN unique_side u ON u.id = o.id LEFT JOIN inner_side i ON i.wide = o.wide GROUP BY u.v;
-- offloaded: GpuPreAgg
SELECT count(*), sum(o.id) FROM outer_:n o WHERE EXISTS (SELECT 1 FROM inner_side i WHERE i.few = o.few AND i.id > o.id);
-- offloaded: GpuPreAgg
SELECT count(*), sum(o.id) FROM outer_:n o WHERE NOT EXISTS (SELECT 1 FROM inner_side i WHERE i.t = o.t AND i.id > o.id);
-- offloaded: GpuJoin
SELECT o.id, i.id, i.t FROM outer_:n o LEFT JOIN inner_side i ON i.id = o.id * 2;
-- offloaded: GpuJoin
SELECT o.id, i.wide, u.v FROM outer_:n o JOIN inner_side i ON i.wide = o.wide JOIN unique_side u ON u.id = o.few WHERE i.few <> 1;
-- offloaded: GpuPreAgg
SELECT count(*) FROM inner_side i JOIN outer_:n o ON i.id BETWEEN o.id - 1 AND o.id + 1 WHERE o.id < 200;
DROP TABLE outer_:n;
-- end for
-- A row with very many matches, and many with none.
CREATE TABLE lonely AS SELECT CASE WHEN i = 500 THEN 0 ELSE i + 100000 END AS few, i AS id FROM generate_series(1, 3000) i;
CREATE TABLE crowd AS SELECT 0 AS few, i AS id, repeat('x', i % 50) AS t FROM generate_series(1, 20000) i;
ANALYZE lonely;
ANALYZE crowd;
-- offloaded: GpuPreAgg
SELECT count(*), sum(c.id), sum(length(c.t)) FROM lonely l JOIN crowd c ON l.few = c.few;
-- offloaded: GpuPreAgg
SELECT count(*), count(l2.id) FROM lonely l JOIN crowd c ON l.few = c.few LEFT JOIN lonely l2 ON l2.id = c.id;
-- offloaded: GpuJoin
SELECT l.id, c.id, c.t FROM lonely l JOIN crowd c ON l.few = c.few WHERE c.id % 3 = 0;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a.id + b.id) FROM lonely a, lonely b WHERE a.id < 300;
DROP TABLE inner_side, unique_side, lonely, crowd;
