-- Partitions that have no match in a finished join table are not read, and nothing but that changes.
CREATE FUNCTION shows(query text, options text, pattern text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; shown text := '';
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP shown := shown || line || E'\n'; END LOOP;
  RETURN shown NOT LIKE '%Custom Scan%' AND shown NOT LIKE '%Custom Plan Provider%' OR shown ~ pattern;
END $$;
-- What is said of partitions; of none removed, that nothing is said of it.
CREATE FUNCTION removes(query text, removed int, left_over text) RETURNS bool LANGUAGE sql AS $$
  SELECT shows(query, 'ANALYZE, TIMING off, COSTS off', CASE WHEN removed > 0 THEN format(E'Partitions: %s\n *Partitions Removed by Join: %s\n', left_over, removed)
    ELSE format(E'^(?!.*Removed by Join).*Partitions: %s\n', left_over) END) $$;
-- By range: a month each, one whose columns lie otherwise, one for the rest and for NULL.
CREATE TABLE f (id int, d date, k int, v int, t text) PARTITION BY RANGE (d);
DO $$ BEGIN FOR m IN 1..11 LOOP EXECUTE format('CREATE TABLE f_%s PARTITION OF f FOR VALUES FROM (%L) TO (%L)', m, make_date(2020, m, 1), make_date(2020, m + 1, 1)); END LOOP; END $$;
CREATE TABLE f_12 (junk text, t text, v int, gone int, d date, k int, id int);
ALTER TABLE f_12 DROP COLUMN junk, DROP COLUMN gone;
ALTER TABLE f ATTACH PARTITION f_12 FOR VALUES FROM ('2020-12-01') TO ('2021-01-01');
CREATE TABLE f_rest PARTITION OF f DEFAULT;
INSERT INTO f SELECT i, CASE WHEN i % 97 = 0 THEN NULL ELSE date '2019-12-20' + i % 395 END, i % 40, i % 700 - 300, 't' || i % 30 FROM generate_series(1, 16000) i;
INSERT INTO f VALUES (-1, 'infinity', 1, 1, 'inf'), (-2, '-infinity', 2, 2, '-inf');
CREATE TABLE days (d date, m int, k int, note text);
INSERT INTO days SELECT d, extract(month FROM d), i % 40, 'note' || i % 9 FROM generate_series(1, 366) i, LATERAL (SELECT date '2019-12-31' + i AS d) s;
INSERT INTO days VALUES (NULL, 0, 1, 'null'), ('2019-12-25', 13, 2, 'before'), ('2021-01-05', 13, 3, 'behind'), ('infinity', 14, 1, 'inf'), ('-infinity', 15, 2, '-inf'), ('3000-01-01', 16, 4, 'far');
CREATE TABLE x (id int, k int, w int);
INSERT INTO x SELECT i * 3, i % 40, i FROM generate_series(-5, 900) i;
CREATE TABLE nothing (d date, id int, m int);
ANALYZE f;
ANALYZE days;
ANALYZE x;
ANALYZE nothing;
-- Kinds of joins, with no inner row, some, all, and such as have a NULL key or are of no partition but the default.
-- for m in =3 =1 =12 <=2 =0 =13 =14 =15 =16 >=14 <0 >0 BETWEEN(4)AND(5)
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v), min(f.id), max(days.note COLLATE "C") FROM f JOIN days ON f.d = days.d WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT f.k, count(*), sum(f.v) FROM f JOIN days ON f.d = days.d AND f.k = days.k WHERE days.m :m GROUP BY f.k;
-- offloaded: GpuPreAgg
SELECT f.k, count(*), sum(f.v) FROM f JOIN days ON f.k = days.k AND f.d = days.d AND f.v < days.m * 10 WHERE days.m :m GROUP BY f.k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f WHERE EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m :m);
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f WHERE f.d IN (SELECT d FROM days WHERE days.m :m);
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f WHERE NOT EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m :m);
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v), count(s.d) FROM f LEFT JOIN (SELECT * FROM days WHERE days.m :m) s ON f.d = s.d;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v), count(s.d), sum(s.m) FROM f RIGHT JOIN (SELECT * FROM days WHERE days.m :m) s ON f.d = s.d;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v), count(s.d), sum(s.m) FROM f FULL JOIN (SELECT * FROM days WHERE days.m :m) s ON f.d = s.d;
-- offloaded: GpuJoin
SELECT f.id, f.d, f.t, days.note FROM f JOIN days ON f.d = days.d WHERE days.m :m AND f.v BETWEEN 5 AND 60;
-- Beside joins that keep rows.
-- offloaded: GpuPreAgg
SELECT count(*), count(x.id), sum(f.v), sum(x.w) FROM f LEFT JOIN x ON f.id = x.id JOIN days ON f.d = days.d WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), count(x.id), sum(f.v), sum(x.w) FROM f JOIN days ON f.d = days.d LEFT JOIN x ON f.id = x.id WHERE days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), count(x.id), count(s.id), sum(s.v), sum(x.w) FROM (SELECT f.id, f.v FROM f JOIN days ON f.d = days.d WHERE days.m :m) s FULL JOIN x ON s.id = x.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(x.id), count(f.id), sum(f.v), sum(x.w) FROM f FULL JOIN x ON f.id = x.id JOIN days ON f.d = days.d WHERE days.m :m;
SELECT count(*), count(x.id), count(f.id), sum(f.v), sum(x.w) FROM f FULL JOIN x ON f.id = x.id JOIN days ON coalesce(f.d, date '2020-03-01') = days.d WHERE days.m :m;
SELECT count(*), count(x.id), count(f.id), sum(f.v), sum(x.w) FROM f FULL JOIN x ON f.id = x.id LEFT JOIN days ON f.d = days.d AND days.m :m;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.d WHERE days.m :m AND NOT EXISTS (SELECT FROM x WHERE x.id = f.id);
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v), sum(x.w) FROM f JOIN days ON f.d = days.d JOIN x ON x.k = f.k AND x.id = f.id WHERE days.m :m;
-- Two that prune.
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days a ON f.d = a.d JOIN days b ON f.d = b.d WHERE a.m :m AND b.m < 6;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days a ON f.d = a.d WHERE a.m :m AND f.d IN (SELECT b.d FROM days b WHERE b.m IN (3, 5));
-- The inner side of another join.
-- offloaded: GpuPreAgg
SELECT count(*), count(s.id), sum(s.v) FROM x LEFT JOIN (SELECT f.id, f.v FROM f JOIN days ON f.d = days.d WHERE days.m :m) s ON s.id = x.id;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a.v), sum(b.v) FROM f a JOIN f b ON a.d = b.d AND a.id = b.id JOIN days ON b.d = days.d WHERE days.m :m;
-- Rows of a plan are the join table.
SELECT count(*), sum(f.v) FROM f JOIN (SELECT d FROM days WHERE days.m :m ORDER BY d LIMIT 3) s ON f.d = s.d;
-- end for
-- Something is pruned.
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m IN (3, 5)', 9, '4 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 12', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 14', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m > 0', 0, '13 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d AND f.k = days.k WHERE days.m = 3', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days ON f.k = days.k AND f.d = days.d WHERE days.m = 3', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f WHERE EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m = 3)', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f LEFT JOIN x ON f.id = x.id JOIN days ON f.d = days.d WHERE days.m = 3', 12, '1 of 13');
SELECT removes('SELECT count(*), count(s.id) FROM (SELECT f.id FROM f JOIN days ON f.d = days.d WHERE days.m = 3) s FULL JOIN x ON s.id = x.id', 12, '1 of 13');
SELECT removes('SELECT count(*), count(s.id) FROM (SELECT f.id FROM f JOIN nothing n ON f.d = n.d) s FULL JOIN x ON s.id = x.id', 13, '0 of 13');
SET join_collapse_limit = 1;
SET pg_turbine.debug_join_shape = chain;
SELECT removes('SELECT count(*) FROM f JOIN days a ON f.d = a.d JOIN days b ON f.d = b.d WHERE a.m IN (3, 5) AND b.m BETWEEN 5 AND 11', 11, '2 of 13');
RESET pg_turbine.debug_join_shape;
-- Tables that are joined with each other first know more.
SELECT removes('SELECT count(*) FROM f JOIN days a ON f.d = a.d JOIN days b ON f.d = b.d WHERE a.m IN (3, 5) AND b.m BETWEEN 5 AND 11', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days a ON f.d = a.d JOIN days b ON f.d = b.d WHERE a.m = 2 AND b.m = 7', 13, '0 of 13');
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days a ON f.d = a.d JOIN days b ON f.d = b.d WHERE a.m = 2 AND b.m = 7;
-- A parameter raises all the same.
SELECT count(*) FROM f JOIN days a ON f.d = a.d JOIN days b ON f.d = b.d WHERE a.m = 2 AND b.m = 7 AND f.v > (SELECT 1 / (count(*) - 906) FROM x);
RESET join_collapse_limit;
SELECT removes('SELECT count(*), count(s.id) FROM x LEFT JOIN (SELECT f.id FROM f JOIN days ON f.d = days.d WHERE days.m = 3) s ON s.id = x.id', 12, '1 of 13');
SELECT removes('SELECT count(*) FROM f JOIN (SELECT d FROM days WHERE m = 3 ORDER BY d LIMIT 3) s ON f.d = s.d', 12, '1 of 13');
SELECT removes('SELECT f.id, days.note FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 12, '1 of 13');
-- After what parameters have left.
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND f.d > (SELECT date ''2020-02-15'')', 11, '1 of 13');
SELECT shows('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 'COSTS off', E'^(?!.*Removed by Join).*Partitions: 13 of 13\n');
SELECT shows('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 'ANALYZE, VERBOSE, COSTS off, TIMING off', E'Removed by Join: 12\n *Partition: f_3 buffered=\\d+ direct=\\d+ rows=\\d+\n(?!.*Partition: )');
SELECT shows('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 'ANALYZE, FORMAT json', '"Partitions Read": 1,\s+"Partitions Pruned": 12,\s+"Partitions Removed by Join": 12,');
SELECT shows('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m > 0', 'ANALYZE, FORMAT yaml', 'Partitions Removed by Join: 0');
SELECT shows('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 'ANALYZE, FORMAT xml', '<Partitions-Removed-by-Join>12</Partitions-Removed-by-Join>');
-- Nothing may be, or can be proved.
SELECT removes('SELECT count(*), count(s.d) FROM f LEFT JOIN (SELECT * FROM days WHERE m = 3) s ON f.d = s.d', 0, '13 of 13');
SELECT removes('SELECT count(*), count(s.d) FROM f FULL JOIN (SELECT * FROM days WHERE m = 3) s ON f.d = s.d', 0, '13 of 13');
SELECT removes('SELECT count(*) FROM f WHERE NOT EXISTS (SELECT FROM days WHERE days.d = f.d AND days.m = 3)', 0, '13 of 13');
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d + 0 = days.d WHERE days.m = 3', 0, '13 of 13');
SELECT removes('SELECT count(*) FROM f JOIN x ON f.id = x.id WHERE x.w = 3', 0, '13 of 13');
SELECT removes('SELECT count(*) FROM f JOIN (SELECT d::timestamp AS d FROM days WHERE m = 3) s ON f.d = s.d', 0, '13 of 13');
SELECT count(*), sum(f.v) FROM f JOIN (SELECT d::timestamp AS d FROM days WHERE m = 3) s ON f.d = s.d;
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN days ON f.d + 1 = days.d WHERE days.m = 3;
SET enable_partition_pruning = off;
SELECT removes('SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3', 0, '13 of 13');
RESET enable_partition_pruning;
-- Errors about rows without a match.
-- offloaded: GpuPreAgg
SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND 1000 / (f.v + 200) > 0;
INSERT INTO f VALUES (-3, '2020-07-01', 0, 100000, 'raises');
SELECT count(*) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND 1000 / (f.v - 100000) <= 0;
SELECT count(*), sum(1000 / (f.v - 100000)) FROM f JOIN days ON f.d = days.d WHERE days.m = 3;
SELECT count(*), sum(1000 / (f.v - 100000)) FROM f JOIN days ON f.d = days.d WHERE days.m = 7;
-- Parameters: of the join table, other ones each time.
PREPARE month(int) AS SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.d WHERE days.m = $1;
SET plan_cache_mode = force_generic_plan;
-- for m in 3 4 12 0 13 14 15 16 99 NULL 7
EXECUTE month(:m);
-- end for
SELECT removes('EXECUTE month(3)', 12, '1 of 13');
SELECT removes('EXECUTE month(12)', 12, '1 of 13');
RESET plan_cache_mode;
SELECT y, l.* FROM generate_series(-1, 17) y, LATERAL (SELECT count(*), sum(f.v), max(f.t COLLATE "C") FROM f JOIN days ON f.d = days.d WHERE days.m = y) l;
SELECT y, (SELECT sum(f.v) FROM f JOIN days ON f.d = days.d WHERE days.m BETWEEN y AND y + 1) FROM generate_series(-1, 17) y;
SELECT y, l.* FROM generate_series(0, 14) y, LATERAL (SELECT f.id, f.t, days.note FROM f JOIN days ON f.d = days.d AND days.m = y AND f.v = y + 3) l;
SELECT y, l.* FROM generate_series(0, 14) y, LATERAL (SELECT count(*), count(s.id), sum(s.v) FROM (SELECT f.id, f.v FROM f JOIN days ON f.d = days.d WHERE days.m = y) s FULL JOIN x ON s.id = x.id) l;
SELECT y, l.* FROM generate_series(2, 5) y, LATERAL (SELECT count(*), sum(f.v) FROM f JOIN days ON f.d = days.d WHERE days.m = 3 AND f.d >= make_date(2020, y, 1)) l;
-- Rows come and go, in the join table and in partitions.
INSERT INTO days VALUES ('2020-10-10', 3, 1, 'new');
EXECUTE month(3);
DELETE FROM days WHERE m = 3 AND d < '2020-03-10';
EXECUTE month(3);
UPDATE days SET d = d + 30 WHERE m = 4;
EXECUTE month(4);
-- Partitions, too: what was the default's is a partition's, and back.
CREATE TABLE f_13 (LIKE f);
DELETE FROM f WHERE d >= '2021-01-01' AND d < '2021-02-01';
ALTER TABLE f ATTACH PARTITION f_13 FOR VALUES FROM ('2021-01-01') TO ('2021-02-01');
INSERT INTO f SELECT i, date '2021-01-01' + i % 31, i % 40, i, 'after' FROM generate_series(1, 600) i;
INSERT INTO days VALUES ('2021-01-07', 17, 5, 'attached');
EXECUTE month(13);
EXECUTE month(17);
SELECT removes('EXECUTE month(17)', 13, '1 of 14');
ALTER TABLE f DETACH PARTITION f_13;
EXECUTE month(17);
INSERT INTO f SELECT * FROM f_13;
EXECUTE month(13);
EXECUTE month(17);
SELECT removes('EXECUTE month(17)', 12, '1 of 13');
DEALLOCATE ALL;
-- Partitions whose table is one itself: as a part of the whole, and alone.
CREATE TABLE m (a int, d timestamp(3), b int, v int, t text) PARTITION BY LIST (a);
CREATE TABLE m_1 PARTITION OF m FOR VALUES IN (1, 2) PARTITION BY RANGE (d);
CREATE TABLE m_1_old PARTITION OF m_1 FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
CREATE TABLE m_1_new (t text, gone int, v int, b int, d timestamp(3), a int);
ALTER TABLE m_1_new DROP COLUMN gone;
ALTER TABLE m_1 ATTACH PARTITION m_1_new FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
CREATE TABLE m_3 (v int, t text, a int, d timestamp(3), b int) PARTITION BY HASH (d);
CREATE TABLE m_3_0 PARTITION OF m_3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE m_3_1 PARTITION OF m_3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE m ATTACH PARTITION m_3 FOR VALUES IN (3, NULL);
CREATE TABLE m_rest PARTITION OF m DEFAULT PARTITION BY RANGE (b, a);
CREATE TABLE m_rest_0 PARTITION OF m_rest FOR VALUES FROM (0, 0) TO (5, 7);
CREATE TABLE m_rest_5 PARTITION OF m_rest FOR VALUES FROM (5, 7) TO (100, MAXVALUE);
CREATE TABLE m_rest_d PARTITION OF m_rest DEFAULT;
INSERT INTO m SELECT nullif(i % 12, 11), timestamp '2019-12-31 12:00' + (i % 48) * interval '1 hour', i % 9, i, 't' || i % 7 FROM generate_series(1, 9000) i;
INSERT INTO m VALUES (3, NULL, NULL, 5, 'd'), (1, '-infinity', 1, 6, 'd'), (2, 'infinity', 1, 7, 'd');
CREATE TABLE keys (a int, d timestamp(3), b int, s int);
INSERT INTO keys SELECT i % 14, timestamp '2019-12-31' + (i % 72) * interval '1 hour', i % 11, i FROM generate_series(1, 140) i;
INSERT INTO keys VALUES (NULL, NULL, NULL, -1), (1, 'infinity', 1, -2), (1, '-infinity', 1, -3);
ANALYZE m;
ANALYZE keys;
-- for s in =1 =3 =4 =7 =5 =13 =-1 =-2 =-3 <-1 <20 >40 =1000 >-10
SELECT count(*), sum(m.v) FROM m JOIN (SELECT DISTINCT a FROM keys WHERE s :s) k ON m.a = k.a;
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v), max(m.t COLLATE "C") FROM m JOIN keys k ON m.a = k.a WHERE k.s :s;
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v) FROM m JOIN keys k ON m.d = k.d WHERE k.s :s;
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v) FROM m JOIN keys k ON m.d = k.d AND m.a = k.a WHERE k.s :s;
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v) FROM m JOIN keys k ON m.b = k.b WHERE k.s :s;
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v) FROM m WHERE (m.b, m.a) IN (SELECT k.b, k.a FROM keys k WHERE k.s :s);
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v) FROM m_1 m JOIN keys k ON m.d = k.d WHERE k.s :s;
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v) FROM m_3 m JOIN keys k ON m.d = k.d WHERE k.s :s;
SELECT m.a, m.d, m.b, m.v FROM m JOIN keys k ON m.b = k.b AND m.d = k.d WHERE k.s :s AND m.v % 50 = 0;
-- end for
SELECT removes('SELECT count(*) FROM m JOIN keys k ON m.a = k.a WHERE k.s = 1', 5, '2 of 7');
SELECT removes('SELECT count(*) FROM m JOIN keys k ON m.a = k.a WHERE k.s = 3', 5, '2 of 7');
SELECT removes('SELECT count(*) FROM m JOIN keys k ON m.d = k.d WHERE k.s = 1', 1, '6 of 7');
SELECT removes('SELECT count(*) FROM m JOIN keys k ON m.d = k.d AND m.a = k.a WHERE k.s = 1', 6, '1 of 7');
SELECT removes('SELECT count(*) FROM m JOIN keys k ON m.b = k.b WHERE k.s = 3', 1, '6 of 7');
SELECT removes('SELECT count(*) FROM m_3 m JOIN keys k ON m.d = k.d WHERE k.s = 1', 0, '2 of 2');
-- Every type of key, with its smallest and largest values; and keys of another type.
-- for type in int2 int4 int8
CREATE TABLE n (k :type, v int) PARTITION BY RANGE (k);
CREATE TABLE n_min PARTITION OF n FOR VALUES FROM (MINVALUE) TO (-32767);
CREATE TABLE n_low PARTITION OF n FOR VALUES FROM (-32767) TO (0);
CREATE TABLE n_zero PARTITION OF n FOR VALUES FROM (0) TO (1);
CREATE TABLE n_high PARTITION OF n FOR VALUES FROM (1) TO (32767);
CREATE TABLE n_max PARTITION OF n FOR VALUES FROM (32767) TO (MAXVALUE);
INSERT INTO n SELECT k, v FROM unnest('{-32768,-32767,-32766,-1,0,1,32766,32767}'::int2[]) k, generate_series(1, 400) v;
CREATE TABLE n_keys (k :type, k8 int8, k2 int2, name text);
INSERT INTO n_keys SELECT k, k, k, 'k' || k FROM unnest('{-32768,-32767,-1,0,1,32766,32767}'::int2[]) k;
ANALYZE n;
ANALYZE n_keys;
SELECT name, l.* FROM n_keys o, LATERAL (SELECT count(*), sum(n.v), min(n.k), max(n.k) FROM n JOIN n_keys i ON n.k = i.k WHERE i.name = o.name) l;
SELECT name, l.* FROM n_keys o, LATERAL (SELECT count(*), sum(n.v), min(n.k), max(n.k) FROM n JOIN n_keys i ON n.k = i.k8 WHERE i.name = o.name) l;
SELECT name, l.* FROM n_keys o, LATERAL (SELECT count(*), sum(n.v), min(n.k), max(n.k) FROM n JOIN n_keys i ON n.k = i.k2 WHERE i.name = o.name) l;
-- offloaded: GpuPreAgg
SELECT count(*), sum(n.v) FROM n JOIN n_keys i ON n.k = i.k WHERE i.name IN ('k-1', 'k0');
SELECT removes('SELECT count(*) FROM n JOIN n_keys i ON n.k = i.k WHERE i.name IN (''k-1'', ''k0'')', 3, '2 of 5');
SELECT removes('SELECT count(*) FROM n JOIN n_keys i ON n.k = i.k WHERE i.name = ''k-32768''', 4, '1 of 5');
SELECT removes('SELECT count(*) FROM n JOIN n_keys i ON n.k = i.k WHERE i.name = ''k32767''', 4, '1 of 5');
DROP TABLE n, n_keys;
-- end for
SET timezone = 'America/New_York';
CREATE TABLE z (k timestamptz, v int) PARTITION BY RANGE (k);
CREATE TABLE z_0 PARTITION OF z FOR VALUES FROM ('2020-03-08 00:00') TO ('2020-03-08 03:00');
CREATE TABLE z_1 PARTITION OF z FOR VALUES FROM ('2020-03-08 03:00') TO ('2020-03-08 12:00');
CREATE TABLE z_2 PARTITION OF z FOR VALUES FROM ('2020-03-08 12:00') TO (MAXVALUE);
CREATE TABLE z_3 PARTITION OF z DEFAULT;
INSERT INTO z SELECT timestamptz '2020-03-07 12:00' + (i % 48) * interval '30 minutes', i FROM generate_series(1, 3000) i;
CREATE TABLE z_keys AS SELECT timestamptz '2020-03-07 12:00' + i * interval '30 minutes' AS k, i FROM generate_series(0, 47) i;
ANALYZE z;
ANALYZE z_keys;
SELECT y, l.* FROM generate_series(0, 47) y, LATERAL (SELECT count(*), sum(z.v) FROM z JOIN z_keys i ON z.k = i.k WHERE i.i = y) l;
SELECT removes('SELECT count(*) FROM z JOIN z_keys i ON z.k = i.k WHERE i.i = 28', 3, '1 of 4');
SELECT count(*), sum(z.v) FROM z JOIN (SELECT k::timestamp AS k FROM z_keys WHERE i = 20) i ON z.k = i.k;
RESET timezone;
-- An order of another's making.
CREATE OPERATOR FAMILY backward USING btree;
CREATE FUNCTION backward_cmp(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS backward FOR TYPE int4 USING btree FAMILY backward AS OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 backward_cmp(int4, int4);
CREATE TABLE w (k int4, v int) PARTITION BY RANGE (k backward);
CREATE TABLE w_high PARTITION OF w FOR VALUES FROM (MINVALUE) TO (50);
CREATE TABLE w_low PARTITION OF w FOR VALUES FROM (50) TO (10);
CREATE TABLE w_rest PARTITION OF w FOR VALUES FROM (10) TO (MAXVALUE);
INSERT INTO w SELECT i % 100, i FROM generate_series(1, 4000) i;
CREATE TABLE w_keys AS SELECT i AS k FROM generate_series(0, 99) i;
ANALYZE w;
ANALYZE w_keys;
SELECT y, l.* FROM unnest('{0,9,10,11,49,50,51,99}'::int[]) y, LATERAL (SELECT count(*), sum(w.v) FROM w JOIN w_keys i ON w.k = i.k WHERE i.k = y OR i.k = y - 1) l;
