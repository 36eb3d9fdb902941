-- Segments that are left out, since no row has a match in a finished join table or comes before the rows that a limit
-- leaves; and nothing but that changes. Columns are kept where ANALYZE vacuums and checkpoints: and all of them are read once.
CREATE FUNCTION figure(query text, pattern text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE line text; shown text := ''; found text[];
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off) ' || query LOOP shown := shown || line || E'\n'; END LOOP;
  IF shown !~ 'Segments: taken' THEN RETURN NULL; END IF;
  found := regexp_match(shown, pattern);
  RETURN coalesce(found[1]::bigint, 0);
END $$;
-- Whether so many segments are left out by a filter, a join or an order, where all come from the cache. Many threads
-- have begun with all segments before there are first rows.
CREATE FUNCTION leaves_out(query text, by text, few int, many int) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE found bigint := figure(query, 'Segments: taken=\d+ excluded by[a-z0-9= ]* ' || by || '=(\d+)'); threads int;
BEGIN
  IF found IS NULL THEN RETURN current_setting('pg_turbine.direct_threshold', true) IS DISTINCT FROM '0' OR current_setting('pg_turbine.enabled') = 'off'; END IF;
  EXECUTE $q$SELECT units FROM turbine.devices WHERE kind = 'host'$q$ INTO threads;
  -- Each thread may have begun a segment or two before the first rows are there.
  RETURN found BETWEEN CASE WHEN by = 'order' THEN greatest(least(few, many - 2 * threads), 0) ELSE few END AND many;
END $$;
-- 18 segments: in the order of time, but for a few rows; `n` has NULLs in one half of them.
CREATE TABLE f (id int, ts timestamp, d date, tz timestamptz, s smallint, b bigint, k int, n int, v int, nm numeric(12,2), x double precision, pad text);
INSERT INTO f SELECT i, timestamp '2020-01-01' + i * interval '1 hour', date '2020-01-01' + i / 24, timestamptz '2020-01-01 00:00:00+00' + i * interval '1 hour',
    i / 100, i::bigint * 1000000007, i % 40, CASE WHEN i < 5000 THEN nullif(i / 10, i / 10 / 3 * 3) WHEN i % 9 = 0 THEN NULL ELSE i / 10 END, i % 700 - 300, i / 4.0, i / 3.0, repeat('p', 780)
  FROM generate_series(1, 10000) i;
UPDATE f SET ts = NULL, d = NULL WHERE id % 97 = 0;
CREATE TABLE days (d date, ts timestamp, tz timestamptz, s smallint, id int, b bigint, m int, note text);
INSERT INTO days SELECT date '2020-01-01' + i, timestamp '2020-01-01' + i * interval '1 day', timestamptz '2020-01-01 00:00:00+00' + i * interval '1 day', i / 4, i * 24, i::bigint * 24 * 1000000007,
    i / 30, 'note' || i % 9 FROM generate_series(0, 430) i;
INSERT INTO days VALUES (NULL, NULL, NULL, NULL, NULL, NULL, 20, 'null'), ('infinity', 'infinity', 'infinity', -1, -1, -1, 21, 'inf'),
  ('-infinity', '-infinity', '-infinity', -2, -2, -2, 22, '-inf'), ('3000-01-01', '3000-01-01', '3000-01-01', 9999, 999999, 1, 23, 'far');
CREATE TABLE dims AS SELECT i % 431 AS day, i FROM generate_series(1, 900) i;
CREATE TABLE nothing (d date, id int, m int);
CREATE TABLE outer_rows AS SELECT i * 500 AS id, i AS w FROM generate_series(1, 25) i;
ANALYZE f;
ANALYZE days;
ANALYZE dims;
ANALYZE nothing;
ANALYZE outer_rows;
-- All columns are read once.
SELECT count(id), count(ts), count(d), count(tz), count(s), count(b), count(k), count(n), count(v), count(nm), count(x) FROM f;
-- Kinds of joins and of keys; 20 is the NULL, 21 to 23 are far away, 99 is nothing.
-- for m in =0 =3 =13 <2 =14 =20 =21 =22 =23 IN(20,5) =99 >=20 IN(1,12)
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v), min(f.id), max(days.note COLLATE "C") FROM f JOIN days ON f.d = days.d WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.ts = days.ts WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.tz = days.tz WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.s = days.s WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.b = days.b WHERE days.m :m;
-- Widths that differ, either way.
SELECT count(*), sum(f.v) FROM f JOIN days ON f.s = days.id WHERE days.m :m;
SELECT count(*), sum(f.v) FROM f JOIN days ON f.id = days.s WHERE days.m :m;
SELECT count(*), sum(f.v) FROM f JOIN days ON f.id = days.b WHERE days.m :m;
SELECT count(*), sum(f.v) FROM f JOIN days ON f.b = days.id WHERE days.m :m;
-- A date against a timestamp, and what is no column.
SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.ts WHERE days.m :m;
SELECT count(*), sum(f.v) FROM f JOIN days ON f.d + 40 = days.d WHERE days.m :m;
SELECT count(*), sum(f.v) FROM f JOIN days ON f.id - 3000 = days.id WHERE days.m :m;
SELECT count(*), sum(f.v) FROM f JOIN days ON f.nm = days.id WHERE days.m :m;
-- Keys that repeat, several keys, and conditions besides.
SELECT count(*), sum(f.v) FROM f JOIN (SELECT days.* FROM days JOIN dims ON days.id = dims.day * 24) days ON f.d = days.d WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.d AND f.id = days.id WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.k = days.m AND f.d = days.d AND f.v < days.m * 10 WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f WHERE EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m :m);
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f WHERE f.d IN (SELECT d FROM days WHERE days.m :m);
SELECT count(*), sum(f.v) FROM f WHERE EXISTS (SELECT FROM days WHERE days.id < f.v AND days.m :m);
-- Joins that keep rows without a match.
SELECT count(*), sum(f.v) FROM f WHERE NOT EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m :m);
SELECT count(*), sum(f.v), count(s.d) FROM f LEFT JOIN (SELECT * FROM days WHERE days.m :m) s ON f.d = s.d;
SELECT count(*), sum(f.v), count(s.d), sum(s.m) FROM f RIGHT JOIN (SELECT * FROM days WHERE days.m :m) s ON f.d = s.d;
SELECT count(*), sum(f.v), count(s.d), sum(s.m) FROM f FULL JOIN (SELECT * FROM days WHERE days.m :m) s ON f.d = s.d;
-- Beside others: rows of a FULL join's table have their only match in a row that is lost later.
SELECT count(*), count(o.id), sum(f.v), sum(o.w) FROM f LEFT JOIN outer_rows o ON f.id = o.id JOIN days ON f.d = days.d WHERE days.m :m;
SELECT count(*), count(o.id), count(s.id), sum(s.v), sum(o.w) FROM (SELECT f.id, f.v FROM f JOIN days ON f.d = days.d WHERE days.m :m) s FULL JOIN outer_rows o ON s.id = o.id;
SELECT count(*), count(o.id), count(f.id), sum(f.v), sum(o.w) FROM f FULL JOIN outer_rows o ON f.id = o.id JOIN days ON coalesce(f.d, date '2020-03-01') = days.d WHERE days.m :m;
SELECT count(*), sum(w), count(id) FROM (SELECT o.w, f.id FROM f FULL JOIN outer_rows o ON f.id = o.id WHERE f.id IS NULL OR f.d IN (SELECT d FROM days WHERE days.m :m)) s;
SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.d WHERE days.m :m AND NOT EXISTS (SELECT FROM outer_rows o WHERE o.id = f.id);
SELECT count(*), sum(f.v) FROM f JOIN days a ON f.d = a.d JOIN days b ON f.id = b.id WHERE a.m :m AND b.m < 9;
-- Rows that come back, and the first of an order.
-- offloaded: GpuJoin
SELECT f.id, f.d, days.note FROM f JOIN days ON f.d = days.d WHERE days.m :m AND f.v BETWEEN 5 AND 20;
SELECT f.id, f.d, days.note FROM f JOIN days ON f.d = days.d WHERE days.m :m ORDER BY f.id DESC LIMIT 7;
-- end for
SELECT count(*), sum(f.v) FROM f JOIN nothing n ON f.d = n.d;
SELECT count(*), sum(f.v) FROM f WHERE EXISTS (SELECT FROM nothing);
SELECT count(*), sum(f.v) FROM f, nothing n;
SELECT count(*), sum(f.v), count(s.id) FROM (SELECT f.id, f.v FROM f JOIN nothing n ON f.d = n.d) f FULL JOIN outer_rows s ON s.id = f.id;
-- Something is left out.
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.ts = days.ts WHERE days.m = 13', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.tz = days.tz WHERE days.m = 13', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.s = days.s WHERE days.m = 13', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.b = days.b WHERE days.m = 13', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.id = days.b / 1000000007 WHERE days.m = 13', 'join', 12, 18);
-- Between the keys of the first month and the last.
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m IN (1, 12)', 'join', 8, 17);
SELECT leaves_out('SELECT count(*) FROM f JOIN (SELECT days.* FROM days JOIN dims ON days.id = dims.day * 24) days ON f.d = days.d WHERE days.m IN (1, 12)', 'join', 8, 17);
SELECT leaves_out('SELECT count(*) FROM f WHERE EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m = 3)', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.k = days.m AND f.d = days.d WHERE days.m = 3', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f LEFT JOIN outer_rows o ON f.id = o.id JOIN days ON f.d = days.d WHERE days.m = 3', 'join', 12, 18);
SELECT leaves_out('SELECT count(*), count(s.id) FROM (SELECT f.id FROM f JOIN days ON f.d = days.d WHERE days.m = 3) s FULL JOIN outer_rows o ON s.id = o.id', 'join', 12, 18);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND f.id > 9000', 'filter', 12, 18);
-- Nothing may be.
SELECT leaves_out('SELECT count(*), count(s.d) FROM f LEFT JOIN (SELECT * FROM days WHERE m = 3) s ON f.d = s.d', 'join', 0, 0);
SELECT leaves_out('SELECT count(*), count(s.d) FROM f FULL JOIN (SELECT * FROM days WHERE m = 3) s ON f.d = s.d', 'join', 0, 0);
SELECT leaves_out('SELECT count(*) FROM f WHERE NOT EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m = 3)', 'join', 0, 0);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.d + 1 = days.d WHERE days.m = 3', 'join', 0, 0);
SELECT leaves_out('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND 1000 / (f.v + 301) > 0', 'join', 0, 0);
-- Errors about rows without a match.
-- offloaded: GpuPreAgg
SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND 1000 / (f.v + 301) > 0;
SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND 1000 / (f.id - 9999) < 0;
SELECT count(*) FROM f JOIN days ON f.d = days.d AND f.s / (f.id - 9999) > days.m WHERE days.m = 3;
SELECT count(*), sum(1000 / (f.id - 9999)) FROM f JOIN days ON f.d = days.d WHERE days.m = 3;
SELECT count(*), sum(1000 / (f.id - 9999)) FROM f JOIN days ON f.d = days.d WHERE days.m = 13;
-- The first rows of an order: 63 segments of more rows, in the order of time. `t` has its ends in all of them, `n` NULLs
-- in the later half; the last ones are NULL alone.
CREATE TABLE g (id int, ts timestamp, t int, n int, b bigint, nm numeric(12,2), x double precision, pad text);
INSERT INTO g SELECT i, timestamp '2020-01-01' + i * interval '1 hour', i % 50, CASE WHEN i > 58000 OR i > 30000 AND i % 3 = 0 THEN NULL ELSE 58000 - i END, i::bigint * 1000000007,
    i / 4.0, i / 3.0, repeat('p', 450) FROM generate_series(1, 60000) i;
CREATE TABLE halves AS SELECT i * 2 AS id, 'h' || i % 7 AS h FROM generate_series(1, 30000) i;
ANALYZE g;
ANALYZE halves;
SELECT count(id), count(ts), count(t), count(n), count(b), count(nm), count(x) FROM g;
-- for c in id ts b nm n
-- ordered
-- offloaded: GpuSort
SELECT id, :c FROM g ORDER BY :c, id LIMIT 10;
-- ordered
SELECT id, :c FROM g ORDER BY :c DESC, id LIMIT 10;
-- ordered
SELECT id, :c FROM g ORDER BY :c NULLS FIRST, id DESC LIMIT 10;
-- ordered
SELECT id, :c FROM g ORDER BY :c DESC NULLS LAST, id LIMIT 10;
-- ordered
SELECT id, :c FROM g ORDER BY :c DESC NULLS LAST, id DESC OFFSET 25 LIMIT 10;
-- ordered
SELECT id, :c FROM g ORDER BY :c, id LIMIT 5 OFFSET 3000;
SELECT :c FROM g ORDER BY :c OFFSET 7 FETCH FIRST 20 ROWS WITH TIES;
SELECT :c FROM g ORDER BY :c DESC FETCH FIRST 20 ROWS WITH TIES;
-- ordered
SELECT id, :c FROM g WHERE t = 7 AND id % 3 > 0 ORDER BY :c DESC NULLS LAST, id LIMIT 10;
-- ordered
SELECT DISTINCT ON (:c) :c, id FROM g ORDER BY :c, id LIMIT 12;
-- ordered
SELECT g.id, g.:c, h FROM g JOIN halves ON g.id = halves.id ORDER BY g.:c DESC NULLS LAST, g.id LIMIT 10;
-- ordered
SELECT g.id, g.:c, h FROM g LEFT JOIN halves ON g.id = halves.id ORDER BY g.:c, g.id DESC LIMIT 10;
-- ordered
SELECT g.id, g.:c, h FROM g FULL JOIN halves ON g.id + 30000 = halves.id ORDER BY g.:c NULLS FIRST, g.id, halves.id LIMIT 10;
-- end for
-- NULLs first, and the last of them; more than there are.
-- ordered
SELECT id, n FROM g ORDER BY n NULLS FIRST, id DESC LIMIT 10;
-- ordered
SELECT id, n FROM g ORDER BY n DESC, id DESC LIMIT 10;
-- ordered
SELECT id, n FROM g ORDER BY n NULLS FIRST, id OFFSET 11330 LIMIT 20;
-- ordered
SELECT id, n FROM g ORDER BY n, id OFFSET 48660 LIMIT 20;
SELECT count(*) FROM (SELECT n FROM g ORDER BY n NULLS FIRST FETCH FIRST 10 ROWS WITH TIES) s;
SELECT count(*) FROM (SELECT n FROM g ORDER BY n DESC FETCH FIRST 1 ROWS WITH TIES) s;
-- Rows of the last segments that tie with the first ones.
SELECT t, id FROM g ORDER BY t FETCH FIRST 10 ROWS WITH TIES;
SELECT t, id FROM g ORDER BY t DESC FETCH FIRST 1 ROWS WITH TIES;
-- ordered
SELECT t, id FROM g ORDER BY t, id DESC LIMIT 10;
-- ordered
SELECT t, id FROM g ORDER BY t DESC, id DESC LIMIT 10;
-- ordered
SELECT DISTINCT ON (t) t, id FROM g ORDER BY t, id DESC LIMIT 10;
-- Something is left out, or nothing may be.
SELECT leaves_out('SELECT id, ts FROM g ORDER BY ts LIMIT 10', 'order', 20, 63);
SELECT leaves_out('SELECT id, ts FROM g ORDER BY ts DESC LIMIT 10', 'order', 20, 63);
SELECT leaves_out('SELECT id, b FROM g ORDER BY b DESC, id FETCH FIRST 10 ROWS WITH TIES', 'order', 20, 63);
SELECT leaves_out('SELECT id, nm FROM g ORDER BY nm DESC OFFSET 5 LIMIT 10', 'order', 20, 63);
SELECT leaves_out('SELECT id, n FROM g ORDER BY n DESC NULLS LAST LIMIT 10', 'order', 20, 63);
SELECT leaves_out('SELECT id, n FROM g ORDER BY n NULLS FIRST LIMIT 10', 'order', 10, 35);
SELECT leaves_out('SELECT DISTINCT ON (ts) ts, id FROM g ORDER BY ts DESC, id LIMIT 10', 'order', 20, 63);
SELECT leaves_out('SELECT g.id, h FROM g JOIN halves ON g.id = halves.id ORDER BY g.ts DESC LIMIT 10', 'order', 20, 63);
SELECT leaves_out('SELECT id, t FROM g ORDER BY t LIMIT 10', 'order', 0, 0);
SELECT leaves_out('SELECT id, x FROM g ORDER BY x LIMIT 10', 'order', 0, 0);
SELECT leaves_out('SELECT id, ts FROM g ORDER BY ts', 'order', 0, 0);
SELECT leaves_out('SELECT g.id, h FROM g FULL JOIN halves ON g.id = halves.id ORDER BY g.ts LIMIT 10', 'order', 0, 0);
SELECT leaves_out('SELECT id, ts FROM g WHERE 1000 / (id + 1) >= 0 ORDER BY ts LIMIT 10', 'order', 0, 0);
SELECT leaves_out('SELECT ts, 1000 / (id + 1) FROM g ORDER BY ts LIMIT 10', 'order', 0, 0);
SELECT leaves_out('SELECT t, count(*) FROM g GROUP BY t ORDER BY t LIMIT 10', 'order', 0, 0);
-- Errors of rows behind the limit.
SELECT id, ts FROM g WHERE 1000 / (id - 59999) < 1 ORDER BY ts LIMIT 10;
SELECT ts, 1000 / (id - 59999) FROM g ORDER BY ts LIMIT 10;
SELECT id, ts FROM g WHERE id < 59999 AND 1000 / (id - 59999) < 1 ORDER BY ts LIMIT 10;
-- Partitions, and such as lie otherwise.
CREATE TABLE p (id int, ts timestamp, v int, pad text) PARTITION BY RANGE (ts);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO ('2021-01-01');
CREATE TABLE p_2 (pad text, gone int, v int, ts timestamp, id int);
ALTER TABLE p_2 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p_2 FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
CREATE TABLE p_3 PARTITION OF p DEFAULT;
INSERT INTO p SELECT id, nullif(ts, '2020-02-02'), t, pad FROM g WHERE id <= 30000;
ANALYZE p;
SELECT count(id), count(ts), count(v) FROM p;
-- for o in DESC ASC
-- ordered
SELECT id, ts FROM p ORDER BY ts :o, id LIMIT 10;
-- ordered
SELECT id, ts FROM p ORDER BY ts :o NULLS LAST, id OFFSET 12 LIMIT 10;
SELECT v, id FROM p ORDER BY v :o FETCH FIRST 3 ROWS WITH TIES;
-- ordered
SELECT p.id, p.ts, days.note FROM p JOIN days ON p.id = days.id WHERE days.m IN (1, 12) ORDER BY p.ts :o NULLS LAST, p.id, days.note LIMIT 10;
-- end for
SELECT count(*), sum(p.v) FROM p JOIN days ON p.ts = days.ts WHERE days.m = 3;
SELECT count(*), sum(p.v) FROM p JOIN days ON p.id = days.id WHERE days.m IN (1, 12);
SELECT leaves_out('SELECT id, ts FROM p ORDER BY ts LIMIT 10', 'order', 10, 31);
SELECT leaves_out('SELECT count(*) FROM p JOIN days ON p.id = days.id WHERE days.m = 3', 'join', 20, 31);
-- Changed rows: blocks that are read otherwise, with the first rows of an order among them.
UPDATE g SET ts = ts + interval '100 years' WHERE id = 30000;
DELETE FROM g WHERE id > 59990;
-- ordered
SELECT id, ts FROM g ORDER BY ts DESC LIMIT 10;
ANALYZE g;
-- ordered
SELECT id, ts FROM g ORDER BY ts DESC LIMIT 10;
-- ordered
SELECT id, ts FROM g ORDER BY ts DESC LIMIT 10;
UPDATE f SET d = '2020-04-05' WHERE id = 9000;
SELECT count(*), sum(f.v), max(f.id) FROM f JOIN days ON f.d = days.d WHERE days.m = 3;
ANALYZE f;
SELECT count(*), sum(f.v), max(f.id) FROM f JOIN days ON f.d = days.d WHERE days.m = 3;
SELECT count(*), sum(f.v), max(f.id) FROM f JOIN days ON f.d = days.d WHERE days.m = 3;
-- Another join table each time.
PREPARE month(int) AS SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.d WHERE days.m = $1;
SET plan_cache_mode = force_generic_plan;
-- for m in 3 4 12 0 13 20 21 99 NULL 7
EXECUTE month(:m);
-- end for
SELECT y, l.* FROM generate_series(-1, 24) y, LATERAL (SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.d WHERE days.m = y) l;
