-- RANGE frames by offsets, in every type that has them, and frames that exclude rows.
CREATE TABLE r (id int NOT NULL, g int, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric(12,3), w numeric(30,6), u numeric, d date, ts timestamp, tz timestamptz, v int, q numeric(10,2));
INSERT INTO r SELECT i, i % 3, nullif(i * 31 % 60, 9), nullif(i * 7919 % 301, 4) - 150, (i::bigint * 104729 % 97) * 1000000000, nullif(i * 13 % 80, 5) / 8.0, (i * 37 % 200) / 16.0 - 6, nullif((i * 37 % 101) / 8.0, 2), (i * 41 % 90) * 123456789012.345678, CASE i % 4 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 2.125 END + i % 5, date '2024-01-01' + i * 11 % 77, timestamp '2024-02-26 00:00' + i * 29 % 500 * interval '1 hour 1 second', timestamptz '2024-03-28 00:00+00' + i * 23 % 400 * interval '37 minutes', i % 11, i % 17 / 4.0 FROM generate_series(1, 400) i;
INSERT INTO r (id, g, v) SELECT i, i % 3, i % 5 FROM generate_series(401, 420) i;
CREATE TABLE edges (id int NOT NULL, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric(38,0), d date, ts timestamp, tz timestamptz);
INSERT INTO edges SELECT i, (ARRAY[-32768,-32767,-1,0,1,32766,32767])[1 + i % 8], (ARRAY[-2147483648,-2147483647,-1,0,1,2147483646,2147483647])[1 + i % 8], (ARRAY[-9223372036854775808,-9223372036854775807,-1,0,1,9223372036854775806,9223372036854775807])[1 + i % 8], (ARRAY['-Infinity','Infinity','NaN','0','-0','1e30','-1e30'])[1 + i % 8]::real, (ARRAY['-Infinity','Infinity','NaN','0','-0','1.7e308','-1.7e308'])[1 + i % 8]::float8, (ARRAY['-99999999999999999999999999999999999999','99999999999999999999999999999999999999','0','1','-1'])[1 + i % 6]::numeric, (ARRAY['infinity','-infinity','2000-01-01','2000-01-02','2024-02-29'])[1 + i % 6]::date, (ARRAY['infinity','-infinity','2000-01-01','2000-01-02 12:00','2024-02-29'])[1 + i % 6]::timestamp, (ARRAY['infinity','-infinity','2000-01-01','2000-01-02 12:00','2024-02-29'])[1 + i % 6]::timestamptz FROM generate_series(1, 60) i;
CREATE TABLE hollow (id int, v int);
ANALYZE r;
ANALYZE edges;
ANALYZE hollow;
-- Every bound in every direction.
-- for direction in ASC DESC ASC/**/NULLS/**/FIRST DESC/**/NULLS/**/LAST
-- for bounds in 10/**/PRECEDING/**/AND/**/5/**/FOLLOWING 10/**/PRECEDING/**/AND/**/5/**/PRECEDING 5/**/PRECEDING/**/AND/**/10/**/PRECEDING 5/**/FOLLOWING/**/AND/**/10/**/FOLLOWING UNBOUNDED/**/PRECEDING/**/AND/**/5/**/PRECEDING UNBOUNDED/**/PRECEDING/**/AND/**/5/**/FOLLOWING 5/**/FOLLOWING/**/AND/**/UNBOUNDED/**/FOLLOWING 5/**/PRECEDING/**/AND/**/UNBOUNDED/**/FOLLOWING CURRENT/**/ROW/**/AND/**/5/**/FOLLOWING 5/**/PRECEDING/**/AND/**/CURRENT/**/ROW 0/**/PRECEDING/**/AND/**/0/**/FOLLOWING
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i4 :direction RANGE BETWEEN :bounds);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY g ORDER BY n :direction RANGE BETWEEN :bounds);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(v) OVER p, min(r.f8) OVER p FROM edges JOIN r USING (id) WINDOW p AS (ORDER BY edges.f8 :direction RANGE BETWEEN :bounds);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p FROM edges WINDOW p AS (ORDER BY i8 :direction RANGE BETWEEN :bounds);
-- end for
-- end for
-- Every type.
-- for offset in 0 7 7::smallint 7::bigint 9223372036854775807
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i2 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i2 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY i2 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i2 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 33 7::smallint 9223372036854775807 2147483647
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i4 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i4 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY i4 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i4 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 3000000000 9223372036854775807
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i8 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i8 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY i8 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY i8 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 0.3 1.25 1e38 'Infinity'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY f4 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY f4 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY f4 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY f4 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 0.0625 2.03 1e308 'Infinity'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY f8 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY f8 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY f8 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY f8 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1.5 1.5001 0.125 0.0009 1000000000000000000000000 0.000000000000000000000000000000000000000000000000000000000001
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY n RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY n DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY n NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY n DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 123456789012.345678 300000000000 0.0000001
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY w RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY w DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY w NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY w DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1.0 0.1249999
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY u RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY u DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY u NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY u DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in interval'0' interval'7days' interval'36:00' interval'P1DT3H' interval'0.5seconds'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY d RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY d DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY d NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY d DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in interval'0' interval'7days' interval'36:00' interval'P1DT3H' interval'0.5seconds'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY ts RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY ts DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY ts NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY ts DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in interval'0' interval'36:00' interval'37:00' interval'0.5seconds'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY tz RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY tz DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (PARTITION BY id % 3 ORDER BY tz NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(id) OVER p, max(v) OVER p FROM r WINDOW p AS (ORDER BY tz DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1 32767 9223372036854775807
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i2 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i2 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY i2 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i2 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1 2147483647 9223372036854775807
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i4 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i4 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY i4 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i4 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1 9223372036854775807
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i8 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i8 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY i8 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY i8 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1 'Infinity'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY f4 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY f4 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY f4 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY f4 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1.7e308 'Infinity'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY f8 RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY f8 DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY f8 NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY f8 DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in 0 1 99999999999999999999999999999999999999 100000000000000000000000000000000000000
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY n RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY n DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY n NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY n DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in interval'0' interval'1day' interval'100000days'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY d RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY d DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY d NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY d DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in interval'0' interval'1day' interval'36:00'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY ts RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY ts DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY ts NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY ts DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- for offset in interval'0' interval'36:00'
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY tz RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY tz DESC NULLS LAST RANGE BETWEEN :offset PRECEDING AND :offset FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (PARTITION BY id % 3 ORDER BY tz NULLS FIRST RANGE BETWEEN :offset FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(id) OVER p, min(id) OVER p FROM edges WINDOW p AS (ORDER BY tz DESC RANGE BETWEEN UNBOUNDED PRECEDING AND :offset PRECEDING);
-- end for
-- Values of the frame; the key is the order, or all of it with the id.
-- for bounds in 3/**/PRECEDING/**/AND/**/3/**/FOLLOWING 5/**/PRECEDING/**/AND/**/2/**/PRECEDING 2/**/FOLLOWING/**/AND/**/5/**/FOLLOWING
-- offloaded: GpuSort
SELECT id, first_value(v) OVER p, last_value(id) OVER p, nth_value(q, 3) OVER p, rank() OVER p, lag(id) OVER p FROM r WINDOW p AS (ORDER BY id RANGE BETWEEN :bounds);
-- offloaded: GpuSort
SELECT id, first_value(i2) OVER p, last_value(i2) OVER p, min(i2) OVER p, count(u) FILTER (WHERE v > 3) OVER p FROM r WINDOW p AS (ORDER BY i2 DESC RANGE BETWEEN :bounds);
-- end for
-- offloaded: GpuSort
SELECT id, first_value(d) OVER p, last_value(d) OVER p, count(*) OVER p FROM r WINDOW p AS (PARTITION BY g ORDER BY d RANGE BETWEEN INTERVAL '7 days' PRECEDING AND CURRENT ROW);
-- Over joins and groups, and several windows at once.
-- offloaded: GpuSort
SELECT r.id, edges.id, count(*) OVER (ORDER BY r.i4 RANGE BETWEEN 10 PRECEDING AND 5 FOLLOWING) FROM r JOIN edges ON r.id = edges.id;
-- offloaded: GpuSort
SELECT i2, sum(v), sum(sum(v)) OVER (ORDER BY i2 RANGE BETWEEN 5 PRECEDING AND CURRENT ROW), count(*) OVER (ORDER BY sum(v) RANGE 3 PRECEDING), count(*) OVER (ORDER BY sum(q) DESC RANGE BETWEEN 0.25 PRECEDING AND 0.255 FOLLOWING) FROM r GROUP BY i2;
-- for key in n q w u d ts i8
-- offloaded: GpuSort
SELECT :key, count(*), sum(count(*)) OVER (ORDER BY :key RANGE BETWEEN '0' PRECEDING AND CURRENT ROW) FROM r GROUP BY :key;
-- end for
-- offloaded: GpuSort
SELECT q, sum(count(*)) OVER (ORDER BY q DESC RANGE BETWEEN 0.5 PRECEDING AND 0.249 FOLLOWING) FROM r GROUP BY q;
-- offloaded: GpuSort
SELECT id, count(*) OVER (ORDER BY q * 2.5 RANGE BETWEEN 1.25 PRECEDING AND 2.51 FOLLOWING), sum(v) OVER (ORDER BY i4 % 7 RANGE 2 PRECEDING), max(v) OVER (ORDER BY ts::date DESC RANGE '3 days' PRECEDING), count(*) OVER (ORDER BY extract(hour FROM ts) RANGE 2.5 PRECEDING) FROM r;
-- offloaded: GpuSort
SELECT id, sum(v) OVER (ORDER BY d RANGE '1 day' PRECEDING), sum(v) OVER (ORDER BY d RANGE BETWEEN '1 day' PRECEDING AND '1 day' FOLLOWING), count(*) OVER (PARTITION BY g ORDER BY d GROUPS 1 PRECEDING), row_number() OVER (ORDER BY id) FROM r;
-- offloaded: GpuSort
SELECT id, sum(f8) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING) FROM r;
-- offloaded: GpuSort
SELECT id, count(*) OVER (ORDER BY id RANGE 3 PRECEDING) FROM hollow;
-- offloaded: GpuSort
SELECT * FROM (SELECT id, count(*) OVER (ORDER BY i4 RANGE BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING) AS place FROM r) x WHERE place < 40;
-- What stays, and what is an error.
-- for offset in -1 NULL '-0.5'::numeric 'NaN'::numeric 'Infinity'::numeric id 1000000000000000000000000000000000000000::numeric
-- not offloaded
SELECT id, count(*) OVER (ORDER BY n RANGE BETWEEN :offset PRECEDING AND CURRENT ROW) FROM r;
-- end for
-- for offset in -1 -1::bigint NULL 99999999999999999999
-- not offloaded
SELECT id, count(*) OVER (ORDER BY i8 RANGE BETWEEN CURRENT ROW AND :offset FOLLOWING) FROM r;
-- end for
-- for offset in -0.5 'NaN' '-Infinity'
-- not offloaded
SELECT id, count(*) OVER (ORDER BY f8 RANGE BETWEEN :offset PRECEDING AND CURRENT ROW) FROM r;
-- not offloaded
SELECT id, count(*) OVER (ORDER BY f4 RANGE BETWEEN CURRENT ROW AND :offset FOLLOWING) FROM r;
-- end for
-- for offset in '1month' '1year' 'P1M-5D' 'P1DT-1H' '2000000000days'
-- for key in d ts tz
SELECT id, count(*) OVER (ORDER BY :key RANGE BETWEEN interval :offset PRECEDING AND CURRENT ROW) FROM r;
SELECT id, count(*) OVER (PARTITION BY v ORDER BY :key DESC RANGE BETWEEN interval :offset FOLLOWING AND UNBOUNDED FOLLOWING) FROM r;
-- end for
-- end for
-- for offset in '-1day' 'P1DT-25H' '-1hour' 'P1M-31D'
-- for key in d ts tz
-- not offloaded
SELECT id, count(*) OVER (ORDER BY :key RANGE BETWEEN interval :offset PRECEDING AND CURRENT ROW) FROM r;
-- end for
-- end for
-- offloaded: GpuSort
SELECT id, count(*) OVER (ORDER BY tz RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW) FROM r;
SELECT id, count(*) OVER (ORDER BY id, v RANGE 3 PRECEDING) FROM r;
SELECT id, count(*) OVER (ORDER BY id::text RANGE 3 PRECEDING) FROM r;
SELECT id, count(*) OVER (RANGE 3 PRECEDING) FROM r;
-- not offloaded
SELECT id, count(*) OVER (PARTITION BY v ORDER BY v RANGE 3 PRECEDING) FROM r;
-- not offloaded
SELECT id, count(*) OVER (ORDER BY ts::time RANGE '1 hour' PRECEDING) FROM r;
-- not offloaded
SELECT id, sum(f8) OVER (ORDER BY id RANGE 3 PRECEDING) FROM r;
-- Sums beyond the last timestamp, and dates there.
CREATE TABLE ends (id int, d date, ts timestamp, tz timestamptz);
INSERT INTO ends VALUES (1, '294276-12-30', '294276-12-31 23:59:59.999999', '294276-12-31 23:00+00'), (2, '4713-01-01 BC', '4713-01-01 BC', '4713-01-02 00:00+00 BC'), (3, NULL, NULL, NULL), (4, '2024-01-01', '2024-01-01', '2024-01-01 00:00+00'), (5, 'infinity', '-infinity', 'infinity');
ANALYZE ends;
-- for key in d ts tz
-- for offset in '0' '23:00' '24:00' '47:59:59' '49:00'
-- offloaded: GpuSort
SELECT id, count(*) OVER (ORDER BY :key RANGE BETWEEN CURRENT ROW AND interval :offset FOLLOWING) FROM ends;
-- offloaded: GpuSort
SELECT id, count(*) OVER (ORDER BY :key DESC RANGE BETWEEN interval :offset FOLLOWING AND UNBOUNDED FOLLOWING) FROM ends;
-- end for
-- end for
INSERT INTO ends (id, d) VALUES (6, '300000-01-01');
-- offloaded: GpuSort
SELECT id, count(*) OVER (ORDER BY d RANGE '1 day' PRECEDING) FROM ends;
-- not offloaded
SELECT id, row_number() OVER (ORDER BY d, id), rank() OVER (ORDER BY d RANGE '1 day' PRECEDING) FROM ends;
-- offloaded: GpuSort
SELECT id, rank() OVER (ORDER BY d RANGE '1 day' PRECEDING), count(*) OVER (ORDER BY d RANGE '1 day' PRECEDING) FROM ends;
-- Frames that exclude rows.
-- for exclusion in CURRENT/**/ROW GROUP TIES NO/**/OTHERS
-- for frame in ROWS/**/BETWEEN/**/2/**/PRECEDING/**/AND/**/3/**/FOLLOWING ROWS/**/BETWEEN/**/UNBOUNDED/**/PRECEDING/**/AND/**/UNBOUNDED/**/FOLLOWING ROWS/**/BETWEEN/**/3/**/PRECEDING/**/AND/**/1/**/PRECEDING ROWS/**/BETWEEN/**/1/**/FOLLOWING/**/AND/**/3/**/FOLLOWING ROWS/**/UNBOUNDED/**/PRECEDING
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(v) OVER p, max(q) OVER p, first_value(id) OVER p, last_value(v) OVER p, nth_value(id, 2) OVER p, rank() OVER p, lead(id) OVER p FROM r WINDOW p AS (PARTITION BY g ORDER BY id :frame EXCLUDE :exclusion);
-- offloaded: GpuSort
SELECT id, sum(v) FILTER (WHERE v > 3) OVER p, max(ts) FILTER (WHERE v < 8) OVER p FROM r WINDOW p AS (ORDER BY id DESC :frame EXCLUDE :exclusion);
-- end for
-- end for
-- for exclusion in CURRENT/**/ROW GROUP TIES NO/**/OTHERS
-- for frame in RANGE/**/BETWEEN/**/3/**/PRECEDING/**/AND/**/2/**/FOLLOWING RANGE/**/BETWEEN/**/CURRENT/**/ROW/**/AND/**/CURRENT/**/ROW RANGE/**/BETWEEN/**/4/**/PRECEDING/**/AND/**/1/**/PRECEDING RANGE/**/UNBOUNDED/**/PRECEDING GROUPS/**/BETWEEN/**/1/**/PRECEDING/**/AND/**/1/**/FOLLOWING GROUPS/**/BETWEEN/**/2/**/PRECEDING/**/AND/**/1/**/PRECEDING GROUPS/**/BETWEEN/**/CURRENT/**/ROW/**/AND/**/UNBOUNDED/**/FOLLOWING
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(v) OVER p, sum(v) OVER p, sum(q) OVER p, avg(v) OVER p, min(v) OVER p, max(q) OVER p, max(ts) OVER p, rank() OVER p FROM r WINDOW p AS (PARTITION BY g ORDER BY i2 :frame EXCLUDE :exclusion);
-- offloaded: GpuSort
SELECT id, sum(v) FILTER (WHERE v > 3) OVER p, min(f4) OVER p, first_value(id) OVER q, last_value(id) OVER q FROM r WINDOW p AS (ORDER BY v DESC :frame EXCLUDE :exclusion), q AS (ORDER BY id :frame EXCLUDE :exclusion);
-- end for
-- end for
-- offloaded: GpuSort
SELECT id, count(*) OVER (PARTITION BY g ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW), sum(v) OVER (RANGE UNBOUNDED PRECEDING EXCLUDE GROUP), sum(v) OVER (RANGE UNBOUNDED PRECEDING EXCLUDE TIES) FROM r;
-- offloaded: GpuSort
SELECT id, avg(q) OVER (PARTITION BY g RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) FROM r;
-- offloaded: GpuSort
SELECT id, first_value(id) OVER p, last_value(id) OVER p FROM r WINDOW p AS (ORDER BY i2 RANGE BETWEEN CURRENT ROW AND CURRENT ROW EXCLUDE TIES);
-- offloaded: GpuSort
SELECT i2, count(*), sum(count(*)) OVER (ORDER BY i2 ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) FROM r GROUP BY i2;
-- not offloaded
SELECT id, sum(f8) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) FROM r;
-- offloaded: GpuSort
SELECT * FROM (SELECT id, count(*) OVER (ORDER BY i2 RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP) AS others FROM r) x WHERE others < 412;
-- offloaded: GpuSort
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY i2, id ROWS UNBOUNDED PRECEDING EXCLUDE GROUP) AS place FROM r) x WHERE place < 9;
-- The constants must be there when the query is planned.
PREPARE near(int) AS SELECT id, count(*) OVER (ORDER BY i4 RANGE BETWEEN $1 PRECEDING AND $1 FOLLOWING) FROM r;
SET plan_cache_mode = force_custom_plan;
-- offloaded: GpuSort
EXECUTE near(3);
EXECUTE near(-3);
EXECUTE near(NULL);
SET plan_cache_mode = force_generic_plan;
-- not offloaded
EXECUTE near(3);
EXECUTE near(-3);
DROP TABLE r, edges, ends, hollow;
