-- timestamptz: fields, truncation, casts and comparisons in several zones, around their transitions and at random.
CREATE TABLE z (id serial, tz timestamptz, ts timestamp, d date);
-- A microsecond before, at, and after each moment where a zone's offset changes, and around the local times it skips or repeats.
INSERT INTO z (tz, ts) SELECT m + u * interval '1 microsecond', (m AT TIME ZONE 'UTC') + h * interval '30 minutes' + u * interval '1 microsecond'
  FROM unnest(ARRAY['2024-03-31 01:00+00', '2024-10-27 01:00+00', '2024-03-10 07:00+00', '2024-11-03 06:00+00', '2024-04-06 15:00+00',
    '2024-10-05 15:30+00', '1996-03-31 01:00+00', '1945-05-24 01:00+00', '1916-04-30 22:00+00', '1893-03-31 23:06:32+00',
    '1883-11-18 17:00+00', '1906-01-01 00:00+00', '2037-10-25 01:00+00', '2038-03-28 01:00+00', '2399-03-28 01:00+00',
    '2100-03-28 01:00+00', '1970-01-01 00:00+00', '2000-01-01 00:00+00']::timestamptz[]) m,
  generate_series(-1, 1) u, generate_series(-24, 24, 1) h;
INSERT INTO z (tz, ts, d) SELECT timestamptz '1710-01-01 00:00+00' + (i * 7919 % 100003) * interval '57 hours 13 minutes 7.654321 seconds',
  timestamp '1710-01-01' + (i * 7907 % 100003) * interval '57 hours 13 minutes 7.654321 seconds', date '1710-01-01' + i * 7919 % 240000
  FROM generate_series(1, 4000) i;
INSERT INTO z (tz, ts, d) VALUES (NULL, NULL, NULL), ('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity');
ANALYZE z;
-- for zone in UTC Europe/Berlin America/New_York Asia/Kolkata Australia/Lord_Howe EST5EDT,M3.2.0,M11.1.0 Europe/Dublin Africa/Casablanca Pacific/Apia +05:45
SET timezone = ':zone';
-- offloaded: GpuPreAgg
SELECT id, extract(hour FROM tz), extract(minute FROM tz), date_part('second', tz), extract(doy FROM tz), extract(epoch FROM tz) FROM z
  WHERE isfinite(tz) GROUP BY 1, 2, 3, 4, 5, 6;
-- offloaded: GpuPreAgg
SELECT id, date_trunc('day', tz), date_trunc('hour', tz), date_trunc('minute', tz), date_trunc('month', tz), date_trunc('week', tz), tz::date, tz::timestamp
  FROM z GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
-- offloaded: GpuPreAgg
SELECT id, ts::timestamptz, d::timestamptz, ts AT TIME ZONE 'Europe/Berlin', tz AT TIME ZONE 'Australia/Lord_Howe', tz AT TIME ZONE 'EST' FROM z
  GROUP BY 1, 2, 3, 4, 5, 6;
-- offloaded: GpuPreAgg
SELECT id, tz + interval '1 day', tz - interval '1 month', tz + interval '2 months -3 days 01:02:03.000004', tz + interval '36 hours' FROM z GROUP BY 1, 2, 3, 4, 5;
-- offloaded: GpuScan
SELECT id FROM z WHERE tz < ts;
-- offloaded: GpuScan
SELECT id FROM z WHERE d >= tz OR ts = tz;
-- offloaded: GpuScan
SELECT id FROM z WHERE tz >= date '2024-03-31' AND tz < timestamp '2024-10-27 02:30';
-- offloaded: GpuScan
SELECT id FROM z WHERE tz::date = d OR date_trunc('year', tz) = tz;
-- offloaded: GpuPreAgg
SELECT extract(year FROM tz), date_trunc('quarter', tz), count(*), min(tz), max(tz::date) FROM z WHERE isfinite(tz) GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT date_trunc('week', d), date_trunc('decade', tz), date_trunc('century', tz), date_trunc('millennium', tz, 'Asia/Kolkata'), count(*) FROM z GROUP BY 1, 2, 3, 4;
-- end for
-- The zone is that of the execution, not of the plan.
SET plan_cache_mode = force_generic_plan;
PREPARE hours AS SELECT extract(hour FROM tz), count(*) FROM z WHERE id < 500 GROUP BY 1;
SET timezone = 'UTC';
EXECUTE hours;
SET timezone = 'Asia/Kolkata';
EXECUTE hours;
SET timezone = 'America/New_York';
EXECUTE hours;
DEALLOCATE hours;
SET TIME ZONE INTERVAL '-08:30' HOUR TO MINUTE;
SELECT extract(hour FROM tz), count(*) FROM z WHERE id < 500 GROUP BY 1;
-- Zones that nobody knows, that depend on the date, or that are not constant.
SELECT id FROM z WHERE tz AT TIME ZONE 'Nowhere/Town' > '2000-01-01' AND id < 0;
SELECT id FROM z WHERE tz AT TIME ZONE 'Nowhere/Town' > '2000-01-01';
SELECT id, tz AT TIME ZONE 'MSK' FROM z WHERE tz AT TIME ZONE 'MSK' > '2000-01-01' AND id < 100;
SELECT id FROM z WHERE tz AT TIME ZONE CASE WHEN id % 2 = 0 THEN 'UTC' ELSE 'EST' END > '2024-01-01';
SELECT id FROM z WHERE tz AT TIME ZONE interval '2 hours' > '2024-01-01';
-- Moments that no table covers.
INSERT INTO z (tz, ts, d) VALUES ('0001-01-01', '0001-01-01', '0001-01-01'), ('4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC'),
  ('3000-07-01', '3000-07-01', '3000-07-01'), ('290000-01-01', '290000-01-01', '290000-01-01');
SET timezone = 'Europe/Berlin';
SELECT id, extract(hour FROM tz), tz::date, ts::timestamptz, d::timestamptz FROM z GROUP BY 1, 2, 3, 4, 5;
SELECT id FROM z WHERE tz > d;
SELECT id, tz - interval '5000 years' FROM z WHERE tz - interval '5000 years' < '2000-01-01';
RESET timezone;
-- Intervals without zone.
-- offloaded: GpuPreAgg
SELECT id, ts + interval '1 month', ts - interval '1 year 1 month', ts + interval '-30 days 23:59:59.999999', d + interval '1 month', d - interval '1 hour'
  FROM z WHERE id < 6000 GROUP BY 1, 2, 3, 4, 5, 6;
SELECT id, ts + interval '300000 years' FROM z WHERE ts + interval '300000 years' > '2000-01-01';
SELECT id, ts + interval '2000000000 days' FROM z WHERE ts + interval '2000000000 days' > '2000-01-01';
SELECT sum(extract(day FROM ts + interval '1 month')) FROM z WHERE isfinite(ts);
DROP TABLE z;
