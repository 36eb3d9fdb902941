-- Values that are compressed, out of line, or short: what the device cannot read itself.
CREATE TABLE o (id serial, k int, t text, tail int, e text, n numeric);
ALTER TABLE o ALTER e SET STORAGE external;
-- Inline and short, inline compressed (pglz), external compressed, external plain.
INSERT INTO o (k, t, tail, e, n)
  SELECT i % 5, CASE i % 4 WHEN 0 THEN 'short ' || i WHEN 1 THEN repeat('compressible ', 200) || i
                           WHEN 2 THEN repeat(md5(i::text), 500) ELSE NULL END,
         i * 3, CASE WHEN i % 50 = 0 THEN repeat(md5(i::text), 100) ELSE 'e' || i END,
         CASE WHEN i % 100 = 0 THEN (repeat('7', 500) || '.' || i)::numeric ELSE i / 10.0 END
  FROM generate_series(1, 800) i;
ANALYZE o;
SELECT id FROM o WHERE t LIKE '%ab1%';
SELECT id FROM o WHERE t LIKE 'compressible%' AND k = 2;
SELECT id FROM o WHERE t = 'short 8';
SELECT id, tail FROM o WHERE t LIKE '%7' AND tail > 100;
-- offloaded: GpuScan
SELECT id, length(t), md5(t) FROM o WHERE tail % 7 = 0;
-- offloaded: GpuScan
SELECT id, md5(e) FROM o WHERE tail > 2000;
SELECT id FROM o WHERE e LIKE 'e7%';
SELECT id FROM o WHERE length(e) > 100;
SELECT id FROM o WHERE length(t) > 1000 AND k <> 3;
SELECT id FROM o WHERE t IS NULL;
SELECT id FROM o WHERE t IS NOT NULL AND tail < 50;
SELECT k, count(t), count(*) FROM o GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, sum(tail), count(*) FROM o GROUP BY k;
SELECT left(e, 3), count(*) FROM o GROUP BY left(e, 3);
SELECT e, count(*) FROM o GROUP BY e;
SELECT md5(t), count(*) FROM o GROUP BY t;
SELECT count(*), sum(tail) FROM o WHERE t LIKE '%5%';
SELECT k, min(t COLLATE "C"), max(e COLLATE "C") FROM o GROUP BY k;
SELECT id FROM o WHERE n > 70;
SELECT sum(n), count(n) FROM o;
SELECT k, sum(n), max(n) FROM o GROUP BY k;
SELECT sum(n) FROM o WHERE n < 1000;
-- Another compression of the same column.
-- needs: lz4
ALTER TABLE o ALTER t SET COMPRESSION lz4;
INSERT INTO o (k, t, tail, e, n) SELECT i % 5, repeat('lz4 compressible ', 200) || i, i, repeat('x', 3000), i FROM generate_series(1, 300) i;
SELECT id FROM o WHERE t LIKE 'lz4%7';
SELECT k, count(*) FROM o WHERE e LIKE 'xxx%' GROUP BY k;
SELECT k, count(*), sum(length(t)) FROM o GROUP BY k;
-- Rows of two pages' worth of columns, all toasted.
CREATE TABLE wide (id int, a text, b text, c text, d int);
INSERT INTO wide SELECT i, repeat(md5(i::text), 80), repeat(md5((i + 1)::text), 80), repeat('z', i), i FROM generate_series(1, 200) i;
SELECT id FROM wide WHERE d > 150 AND c LIKE 'zzz%';
SELECT id FROM wide WHERE b LIKE '%abc%' AND d < 180;
SELECT count(*), sum(d) FROM wide WHERE a > b;
SELECT c, count(*) FROM wide GROUP BY c;
DROP TABLE wide;
DROP TABLE o;
