-- A table of so many segments that what a search has found is kept as a list: the second search after
-- a change keeps it, the next query takes it. Not for long: bits, LSNs and columns must be the same.
CREATE TABLE listed (id int, k int, v int, b bigint, pad text) WITH (fillfactor = 80);
INSERT INTO listed SELECT i, i % 10, i % 100, i::bigint * 1000000007, repeat('p', 600) FROM generate_series(1, 14000) i;
ANALYZE listed;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
-- Blocks that are not all-visible any more: the bits are others, the LSNs are not.
UPDATE listed SET b = b + 1 WHERE id = 7000;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
DELETE FROM listed WHERE id BETWEEN 9000 AND 9100;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
BEGIN;
UPDATE listed SET v = v + 1 WHERE id % 1000 = 0;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
ROLLBACK;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
-- All-visible again, as many blocks as before, under other LSNs.
ANALYZE listed;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
-- Other columns have a list of their own. Of rows that pass, codes are taken one by one.
SELECT v, count(*), sum(k), max(b) FROM listed WHERE id % 7 = 3 GROUP BY v;
SELECT v, count(*), sum(k), max(b) FROM listed WHERE id % 7 = 3 GROUP BY v;
SELECT v, count(*), sum(k), max(b) FROM listed WHERE id % 7 = 3 GROUP BY v;
-- Least and greatest values beside the list.
SELECT count(*), min(id), max(id), sum(k) FROM listed WHERE id > 13990;
SELECT count(*), min(id), max(id), sum(k) FROM listed WHERE id > 13990;
SELECT count(*), min(id), max(id), sum(k) FROM listed WHERE id <= 10 OR id = 7000;
SELECT count(*), min(id), max(id), sum(k) FROM listed WHERE id BETWEEN 8990 AND 9110;
SELECT count(*), min(id), max(id), sum(k) FROM listed WHERE id BETWEEN 8990 AND 9110;
SELECT count(*), min(id), max(id), sum(k) FROM listed WHERE id = 0;
-- A value beyond all others of its segment, for which there is a code.
UPDATE listed SET v = 200 WHERE id = 4321;
ANALYZE listed;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
-- The changed block is a segment of its own first; after a while it is in its place.
SELECT count(*), min(id), sum(v), sum(b) FROM listed WHERE v > 150;
SELECT pg_sleep(0.5);
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT count(*), min(id), sum(v), sum(b) FROM listed WHERE v > 150;
SELECT count(*), min(id), sum(v), sum(b) FROM listed WHERE v > 150;
SELECT count(*), min(id), sum(v), sum(b) FROM listed WHERE v = 200;
-- Shorter than the list, and longer.
DELETE FROM listed WHERE id > 12000;
ANALYZE listed;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
INSERT INTO listed SELECT i, 3, 7, i, repeat('q', 600) FROM generate_series(20000, 24000) i;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
ANALYZE listed;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
SELECT k, count(*), sum(v), sum(b) FROM listed GROUP BY k;
