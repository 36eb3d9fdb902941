-- Dates and times: infinities, BC, leap days, time zones, extract and truncation, arithmetic.
SET timezone = 'Europe/Berlin';
CREATE TABLE e (id serial, d date, ts timestamp, tz timestamptz);
INSERT INTO e (d, ts, tz) VALUES ('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity'), (NULL, NULL, NULL),
  ('0001-01-01', '0001-01-01', '0001-01-01'), ('0044-03-15 BC', '0044-03-15 BC', '0044-03-15 BC'), ('4713-11-24 BC', '4713-11-24 BC', '4713-11-25 BC'),
  ('2000-02-29', '2000-02-29 23:59:59.999999', '2000-02-29 23:59:59+01'), ('1900-02-28', '1900-02-28 12:00', '1900-02-28 12:00'),
  ('2024-03-31', '2024-03-31 02:30', '2024-03-31 01:30+00'), ('2024-10-27', '2024-10-27 02:30', '2024-10-27 00:30+00'),
  ('1999-12-31', '1999-12-31 23:59:59.5', '1999-12-31 23:59:59.5'), ('2000-01-01', '2000-01-01', '2000-01-01');
INSERT INTO e (d, ts, tz) SELECT '1992-01-01'::date + i, '1992-01-01'::timestamp + i * interval '17 hours 13 minutes 7.25 seconds',
  '1992-01-01 00:00+00'::timestamptz + i * interval '11 hours 59 minutes' FROM generate_series(1, 4000) i;
ANALYZE e;
-- for column in d ts tz
-- offloaded: GpuScan
SELECT id, :column FROM e WHERE :column < '1993-01-01';
SELECT id FROM e WHERE :column = 'infinity';
SELECT id FROM e WHERE :column > '-infinity' AND id < 20;
SELECT id FROM e WHERE :column BETWEEN '1994-01-01' AND '1994-12-31';
SELECT id FROM e WHERE :column >= date '1995-01-01' AND :column < date '1995-01-01' + interval '1 year';
-- offloaded: GpuPreAgg
SELECT min(:column), max(:column), count(:column) FROM e;
SELECT :column, count(*) FROM e WHERE id < 100 GROUP BY :column;
SELECT extract(year FROM :column), count(*) FROM e WHERE id > 12 GROUP BY extract(year FROM :column);
SELECT extract(month FROM :column), extract(day FROM :column), count(*) FROM e GROUP BY 1, 2;
SELECT id FROM e WHERE extract(dow FROM :column) = 3 AND id < 300;
SELECT id, extract(year FROM :column) FROM e WHERE extract(year FROM :column) < 1;
SELECT id FROM e WHERE extract(epoch FROM :column) < 0 AND id < 100;
SELECT id FROM e WHERE date_part('quarter', :column) = 2 AND id < 500;
SELECT date_trunc('month', :column), count(*) FROM e GROUP BY 1;
SELECT date_trunc('year', :column), count(*), max(id) FROM e WHERE id > 12 GROUP BY 1;
SELECT id FROM e WHERE isfinite(:column) AND id < 20;
-- end for
SELECT id FROM e WHERE d + 1 = '2000-03-01';
SELECT id FROM e WHERE d - 1 = '1999-12-31';
SELECT id FROM e WHERE d - date '2000-01-01' = 59;
SELECT id, d + 2147483647 FROM e WHERE id = 4;
SELECT id FROM e WHERE d + 2147483647 > '2000-01-01' AND id > 11;
SELECT id FROM e WHERE ts - interval '1 day' < '1992-02-01' AND id > 12;
SELECT id FROM e WHERE ts + interval '1 month' > '1999-12-01' AND id > 12;
SELECT id FROM e WHERE tz < ts AND id > 12;
SELECT id FROM e WHERE tz::date = d;
SELECT id FROM e WHERE ts::date = d AND id < 20;
SELECT id FROM e WHERE d::timestamp = ts;
SELECT id FROM e WHERE d::timestamptz = tz;
SELECT id FROM e WHERE extract(hour FROM tz) = 2 AND id < 200;
SET timezone = 'America/New_York';
SELECT id FROM e WHERE tz < '1993-01-01';
SELECT id FROM e WHERE extract(hour FROM tz) = 2 AND id < 200;
SELECT date_trunc('day', tz), count(*) FROM e WHERE id > 12 AND id < 300 GROUP BY 1;
SELECT id FROM e WHERE tz > timestamp '1996-06-01 12:00' AND id < 3500;
RESET timezone;
SELECT d, ts, count(*) FROM e WHERE id % 2 = 0 AND id < 60 GROUP BY d, ts;
SELECT id FROM e WHERE d < now() AND id < 20;
DROP TABLE e;
