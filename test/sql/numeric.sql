-- numeric: scales, widths, special values, exactness of sums and averages, display of equal values.
CREATE TABLE m (id serial, p numeric(10,2), q numeric(18,0), w numeric(38,10), f numeric, z numeric(5,4));
INSERT INTO m (p, q, w, f, z) VALUES (0, 0, 0, 0, 0), (1, 1, 1, 1.0, 1), (1.00, 1, 1.0, 1.00, 1.0), (-0.01, -1, -0.0000000001, 1e-30, -9.9999),
  (99999999.99, 999999999999999999, 9999999999999999999999999999.9999999999, 1e60, 9.9999), (NULL, NULL, NULL, NULL, NULL),
  (-99999999.99, -999999999999999999, -9999999999999999999999999999.9999999999, -1e60, -1), (0.1, 5, 0.3333333333, 'NaN', 0.5),
  (0.2, 6, 0.6666666667, 'Infinity', 0.25), (0.3, 7, 12345.6789, '-Infinity', 0.125), (2.5, 8, 170141183460469231731.6873037158, 0.10, 0.0001);
INSERT INTO m (p, q, w, f, z) SELECT i / 100.0, i::bigint * 1000000007, i * 1234567.8901234567, i / 8.0, (i % 99999) / 10000.0 FROM generate_series(1, 5000) i;
ANALYZE m;
-- for column in p q w z
-- offloaded: GpuScan
SELECT id, :column FROM m WHERE :column > 3;
SELECT id FROM m WHERE :column = 1;
SELECT id FROM m WHERE :column = 1.00000;
SELECT id FROM m WHERE :column < 0.1;
SELECT id FROM m WHERE :column < -0.00001;
SELECT id FROM m WHERE :column = 0.333333333333333;
SELECT id FROM m WHERE :column = 'NaN';
SELECT id FROM m WHERE :column < 'Infinity' AND id < 30;
SELECT id FROM m WHERE :column > '-Infinity' AND id < 30;
SELECT id FROM m WHERE :column <> 1e50 AND id < 30;
SELECT id FROM m WHERE :column * 2 = :column + :column AND id < 30;
SELECT id FROM m WHERE :column * :column > 4 AND id < 30;
SELECT id FROM m WHERE :column - 1 < 0 AND id < 30;
SELECT id FROM m WHERE -:column > 0;
SELECT id FROM m WHERE abs(:column) = 1;
SELECT id FROM m WHERE :column / 3 > 1 AND id < 30;
SELECT id FROM m WHERE round(:column, 1) = 0.3;
SELECT id FROM m WHERE :column % 2 = 1;
-- offloaded: GpuPreAgg
SELECT count(:column), sum(:column), min(:column), max(:column) FROM m;
SELECT avg(:column), sum(:column * 2), sum(-:column) FROM m;
SELECT id % 7, sum(:column), avg(:column), min(:column), max(:column) FROM m GROUP BY id % 7;
SELECT :column, count(*) FROM m WHERE id < 200 GROUP BY :column;
SELECT sum(:column * (1 - z)), sum(p * (100 - z) * (1 + z)) FROM m;
SELECT sum(:column) FROM m WHERE id > 1000000;
SELECT stddev(:column), variance(:column) FROM m WHERE id > 20;
-- end for
SELECT id, f FROM m WHERE f > 2;
SELECT id, f FROM m WHERE f = 1;
SELECT id, f FROM m WHERE f = 'NaN';
SELECT sum(f), avg(f) FROM m;
SELECT sum(f), avg(f), min(f), max(f) FROM m WHERE id > 20;
SELECT f, count(*) FROM m GROUP BY f;
SELECT f, count(*) FROM m WHERE id > 20 GROUP BY f;
SELECT id FROM m WHERE p = z;
SELECT id FROM m WHERE p < w AND q > p;
SELECT id FROM m WHERE p = id / 100.0;
SELECT id FROM m WHERE p = (id - 11)::numeric / 100;
SELECT id FROM m WHERE p::int4 = 3;
SELECT id FROM m WHERE p::float8 = 0.1::float8;
SELECT id FROM m WHERE p > 2.5::float8 AND id < 600;
-- Scales of equal values, as they print.
SELECT min(f), max(f) FROM (VALUES (1.0), (1.00), (1)) x(f);
CREATE TABLE scales (f numeric, k int);
INSERT INTO scales SELECT CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 1.000 END, i % 2 FROM generate_series(1, 300) i;
SELECT f, count(*) FROM scales GROUP BY f;
SELECT k, sum(f), avg(f), min(f), max(f) FROM scales GROUP BY k;
SELECT sum(f), count(f) FROM scales WHERE f = 1;
DROP TABLE scales;
-- Sums beyond 64 and near 128 bits.
CREATE TABLE big (n numeric(38,0), b bigint);
INSERT INTO big SELECT 99999999999999999999999999999999999999, 9223372036854775807 FROM generate_series(1, 5000);
SELECT sum(n), sum(b), avg(b) FROM big;
SELECT avg(n) FROM big;
SELECT b, sum(n), sum(b) FROM big GROUP BY b;
DROP TABLE big;
DROP TABLE m;
