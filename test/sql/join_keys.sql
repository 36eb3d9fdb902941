-- Join keys of every type: NULLs, edge values, mixed types, several keys, collations.
CREATE TABLE l (id int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n0 numeric(6,0), n2 numeric(10,2), n9 numeric(28,9), b bool, d date,
  ts timestamp, tz timestamptz, t text, vc varchar(12), c char(6), t_c text COLLATE "C");
CREATE TABLE r (id int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n0 numeric(6,0), n2 numeric(10,2), n9 numeric(28,9), b bool, d date,
  ts timestamp, tz timestamptz, t text, vc varchar(12), c char(9), t_c text COLLATE "C");
INSERT INTO l SELECT i, i % 70 - 20, i % 300 - 100, i % 500, (i % 40) / 4.0, (i % 90) / 8.0, i % 80, i % 350 / 4.0, i % 90 / 8.0, i % 3 = 0,
  date '2000-01-01' + i % 40, timestamp '2000-01-01' + i % 50 * interval '1 hour', timestamptz '2000-01-01 00:00+00' + i % 60 * interval '1 minute',
  't' || i % 30, 'v' || i % 25, 'c' || i % 9, 'x' || i % 44 FROM generate_series(1, 1200) i;
INSERT INTO r SELECT i, i % 90 - 10, i % 200, i % 250 - 50, (i % 60) / 4.0, (i % 70) / 4.0, i % 60, i % 200 / 8.0, i % 120 / 8.0, i % 5 = 0,
  date '2000-01-10' + i % 40, timestamp '2000-01-02' + i % 40 * interval '1 hour', timestamptz '2000-01-01 00:20+00' + i % 60 * interval '1 minute',
  't' || i % 45, 'v' || i % 35, 'c' || i % 12, 'x' || i % 60 FROM generate_series(1, 400) i;
INSERT INTO l (id) SELECT -i FROM generate_series(1, 5) i;
INSERT INTO r (id) SELECT -i FROM generate_series(1, 5) i;
INSERT INTO l (id, i2, i4, i8, f4, f8, d, ts, t, vc, c) VALUES
  (9001, 32767, 2147483647, 9223372036854775807, 'NaN', 'NaN', 'infinity', 'infinity', '', '', ''),
  (9002, -32768, -2147483648, -9223372036854775808, 'Infinity', '-Infinity', '-infinity', '-infinity', ' ', ' ', ' '),
  (9003, 0, 0, 0, '-0', '-0', '0001-01-01', '0001-01-01', 'ab ', 'ab ', 'ab ');
INSERT INTO r (id, i2, i4, i8, f4, f8, d, ts, t, vc, c) VALUES
  (9001, 32767, 2147483647, 9223372036854775807, 'NaN', 'NaN', 'infinity', 'infinity', '', '', ''),
  (9002, -32768, -2147483648, -9223372036854775808, 'Infinity', '-Infinity', '-infinity', '-infinity', ' ', ' ', ' '),
  (9003, 0, 0, 0, '0', '0', '0001-01-01', '0001-01-01', 'ab', 'ab', 'ab');
ANALYZE l;
ANALYZE r;
-- for key in i2 i4 i8 f4 f8 n0 n2 n9 b d ts tz t vc c t_c
-- offloaded: GpuPreAgg
SELECT count(*), sum(l.id), sum(r.id) FROM l JOIN r ON l.:key = r.:key;
-- offloaded: GpuPreAgg
SELECT count(*), count(r.id), sum(r.id) FROM l LEFT JOIN r ON l.:key = r.:key;
-- offloaded: GpuPreAgg
SELECT count(*), sum(l.id) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE l.:key = r.:key);
-- offloaded: GpuPreAgg
SELECT count(*), sum(l.id) FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE l.:key = r.:key);
SELECT l.id, l.:key, r.id, r.:key FROM l JOIN r ON l.:key = r.:key AND l.id % 50 = r.id % 50;
SELECT l.:key, count(*), min(r.:key::text) FROM l JOIN r ON l.:key = r.:key GROUP BY l.:key;
-- offloaded: GpuPreAgg
SELECT count(*) FROM l JOIN r ON l.:key = r.:key AND l.id = r.id;
SELECT count(*) FROM l JOIN r ON l.:key IS NOT DISTINCT FROM r.:key AND l.id % 3 = r.id % 3;
SELECT count(*) FROM l JOIN r ON l.:key <> r.:key AND l.id = r.id;
-- end for
-- Mixed types.
-- for pair in i2=r.i4 i4=r.i2 i2=r.i8 i8=r.i2 i4=r.i8 i8=r.i4 f4=r.f8 f8=r.f4 n0=r.n2 n2=r.n9 n9=r.n0 n0=r.i4 i8=r.n2 d=r.ts ts=r.tz i4=r.f8 t=r.vc vc=r.t c=r.t t=r.c
SELECT count(*), sum(l.id), sum(r.id) FROM l JOIN r ON l.:pair;
SELECT count(*), count(r.id) FROM l LEFT JOIN r ON l.:pair;
-- end for
-- Several keys, expressions as keys.
-- offloaded: GpuPreAgg
SELECT count(*) FROM l JOIN r ON l.i2 = r.i2 AND l.t = r.t;
-- offloaded: GpuPreAgg
SELECT count(*) FROM l JOIN r ON l.i4 = r.i8 AND l.n2 = r.n9 AND l.c = r.c;
-- offloaded: GpuPreAgg
SELECT count(*) FROM l JOIN r ON l.b = r.b AND l.d = r.d AND l.i2 = r.i4;
-- offloaded: GpuPreAgg
SELECT count(*) FROM l JOIN r ON l.i4 + 5 = r.i4 * 2 AND l.i2 = r.i2;
SELECT count(*) FROM l JOIN r ON upper(l.t) = upper(r.t) AND l.id = r.id;
SELECT count(*) FROM l JOIN r ON extract(day FROM l.d) = extract(hour FROM r.ts) AND l.id % 11 = r.id % 7;
SELECT count(*) FROM l JOIN r ON l.i4 = r.i4 JOIN r r2 ON l.t = r2.t AND r.i2 = r2.i2;
SELECT count(*) FROM l JOIN r ON l.i4 + r.i4 = 20;
SELECT count(*) FROM l JOIN r USING (i4, t);
SELECT count(*) FROM l NATURAL JOIN r;
-- Collations that bytes do not decide.
-- needs: icu
CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
-- needs: icu
CREATE TABLE ci (id int, t text COLLATE blind);
-- needs: icu
INSERT INTO ci SELECT i, CASE WHEN i % 2 = 0 THEN 'T' ELSE 't' END || i % 20 FROM generate_series(1, 60) i;
-- needs: icu
SELECT count(*) FROM ci x JOIN ci y ON x.t = y.t;
-- needs: icu
SELECT count(*) FROM ci JOIN l ON ci.t = l.t COLLATE blind;
-- needs: icu
DROP TABLE ci;
-- needs: icu
DROP COLLATION blind;
-- Long and compressed values.
CREATE TABLE big (id int, t text, n numeric);
INSERT INTO big SELECT i, repeat('t' || i % 7, 3000), i FROM generate_series(1, 40) i;
INSERT INTO big SELECT i, 't' || i, i FROM generate_series(1, 40) i;
ANALYZE big;
-- offloaded: GpuPreAgg
SELECT count(*), sum(length(x.t)) FROM big x JOIN big y ON x.t = y.t;
-- offloaded: GpuPreAgg
SELECT count(*) FROM big JOIN l ON big.t = l.t;
-- offloaded: GpuJoin
SELECT l.id, big.t FROM l LEFT JOIN big ON big.id = l.id AND l.id < 20;
SELECT count(*) FROM big JOIN l ON big.n = l.n0;
DROP TABLE big;
-- Shapes: columns added later, dropped columns.
ALTER TABLE r ADD COLUMN late int DEFAULT 7;
ALTER TABLE r ADD COLUMN late_text text DEFAULT 'late';
ALTER TABLE r DROP COLUMN i8;
INSERT INTO r (id, i4, late, late_text) SELECT i, i, i % 9, NULL FROM generate_series(1, 50) i;
-- offloaded: GpuPreAgg
SELECT late_text, count(*), sum(late) FROM l JOIN r ON l.i4 = r.i4 GROUP BY late_text;
-- offloaded: GpuPreAgg
SELECT count(*) FROM l JOIN r ON l.i4 = r.late;
DROP TABLE l, r;
