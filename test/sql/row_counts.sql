-- Every operator over {0, 1, 31, 32, 33, tile and tile +- 1, many chunks} rows, without, with some and with only NULLs.
-- for rows in 0 1 31 32 33 2047 2048 2049 4095 4096 4097 60000
CREATE TABLE n:rows AS
  SELECT i AS id, i % 7 AS k, (i * 7919 % 10007)::bigint AS b, (i * 31 % 97) / 7.0::float8 AS f,
         CASE WHEN i % 3 = 0 THEN NULL ELSE i % 50 END AS mixed, NULL::int AS nothing,
         md5(i::text) AS memo, ((i % 1000) / 4.0)::numeric(10,2) AS num
  FROM generate_series(1, :rows) i;
ANALYZE n:rows;
-- offloaded: GpuScan
SELECT id, b FROM n:rows WHERE k < 3 AND b > 100;
-- offloaded: GpuScan
SELECT * FROM n:rows WHERE mixed > 10;
-- offloaded: GpuScan
SELECT id FROM n:rows WHERE nothing IS NULL AND mixed IS NULL;
-- offloaded: GpuScan
SELECT id FROM n:rows WHERE nothing > 0 OR id = :rows;
-- offloaded: GpuScan
SELECT id FROM n:rows WHERE memo LIKE '%abc%';
-- offloaded: GpuScan
SELECT id FROM n:rows WHERE id = :rows AND k = :rows % 7;
-- offloaded: GpuPreAgg
SELECT count(*), count(mixed), count(nothing), sum(k), min(b), max(b), avg(mixed) FROM n:rows;
-- offloaded: GpuPreAgg
SELECT sum(nothing), min(nothing), max(nothing), avg(nothing) FROM n:rows WHERE mixed > 2;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(b), min(mixed), max(num) FROM n:rows GROUP BY k;
-- offloaded: GpuPreAgg
SELECT mixed, nothing, count(*), sum(num) FROM n:rows GROUP BY mixed, nothing;
-- offloaded: GpuPreAgg
SELECT id, count(*), sum(b) FROM n:rows GROUP BY id;
-- offloaded: GpuPreAgg
-- floats
SELECT k, sum(f), avg(f), min(f), max(f) FROM n:rows GROUP BY k;
-- offloaded: GpuPreAgg
SELECT memo, count(*) FROM n:rows GROUP BY memo;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM n:rows WHERE b < 0 GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*) FROM n:rows WHERE b < 0;
DROP TABLE n:rows;
-- end for
