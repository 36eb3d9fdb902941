-- Partitioned tables in one node: every kind of partitioning, and partitions that store their columns otherwise.
CREATE TABLE r (id int, d date NOT NULL, k int, v int, n numeric(12,2), u numeric, t text) PARTITION BY RANGE (d);
CREATE TABLE r_1992 PARTITION OF r FOR VALUES FROM ('1992-01-01') TO ('1993-01-01');
CREATE TABLE r_1993 PARTITION OF r FOR VALUES FROM ('1993-01-01') TO ('1994-01-01');
CREATE TABLE r_empty PARTITION OF r FOR VALUES FROM ('1994-01-01') TO ('1995-01-01');
-- Another order of columns, and one that was dropped.
CREATE TABLE r_1995 (junk text, t text, u numeric, n numeric(12,2), v int, gone int, k int, d date NOT NULL, id int);
ALTER TABLE r_1995 DROP COLUMN junk, DROP COLUMN gone;
ALTER TABLE r ATTACH PARTITION r_1995 FOR VALUES FROM ('1995-01-01') TO ('1996-01-01');
-- Values of tuples that are too short to have the column, other than those of its siblings.
CREATE TABLE r_1996 (id int, d date NOT NULL, k int);
INSERT INTO r_1996 SELECT i, '1996-01-01'::date + i % 300, i % 7 FROM generate_series(1, 1500) i;
ALTER TABLE r_1996 ADD COLUMN v int DEFAULT 77, ADD COLUMN n numeric(12,2) DEFAULT 12.50, ADD COLUMN u numeric DEFAULT 1.25, ADD COLUMN t text DEFAULT 'early';
INSERT INTO r_1996 SELECT i, '1996-01-01'::date + i % 300, i % 7, i, i / 4.0, (i % 40) / 8.0, 'late' FROM generate_series(1, 700) i;
ALTER TABLE r ATTACH PARTITION r_1996 FOR VALUES FROM ('1996-01-01') TO ('1997-01-01');
CREATE UNLOGGED TABLE r_1997 PARTITION OF r FOR VALUES FROM ('1997-01-01') TO ('1998-01-01');
CREATE TABLE r_default PARTITION OF r DEFAULT;
INSERT INTO r SELECT i, '1992-01-01'::date + i * 7 % 731, i % 10, i * 17 % 1001 - 500, (i % 5000) / 100.0, (i % 300) / 8.0, 'key' || i % 6 FROM generate_series(1, 20000) i;
INSERT INTO r SELECT i, '1995-01-01'::date + i % 365, i % 10, i, i / 100.0, (i % 30) / 4.0, CASE WHEN i % 50 = 0 THEN NULL ELSE 'x' || i % 5 END FROM generate_series(1, 6000) i;
INSERT INTO r SELECT i, '1997-01-01'::date + i % 365, nullif(i % 9, 4), i, 1.5, i % 3, 'unlogged' FROM generate_series(1, 3000) i;
INSERT INTO r SELECT i, '2005-01-01'::date + i % 1000, i % 10, -i, i, NULL, 'elsewhere' FROM generate_series(1, 2000) i;
-- Values that the backend has to detoast, in partitions of different layouts.
INSERT INTO r SELECT i, '1995-06-01', 3, 5, 5, 5, repeat(md5(i::text), 300) FROM generate_series(1, 40) i;
INSERT INTO r SELECT i, '1992-06-01', 4, 6, 6, 6, repeat(md5(i::text), 300) FROM generate_series(1, 40) i;
ANALYZE r;
-- offloaded: GpuPreAgg
SELECT count(*) FROM r;
-- offloaded: GpuPreAgg
SELECT count(*), count(v), sum(v), sum(n), min(d), max(d), avg(v), min(n), max(n) FROM r;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(v), avg(n), min(d) FROM r GROUP BY k;
-- offloaded: GpuPreAgg
SELECT left(t, 8), count(*), sum(length(t)), max(t COLLATE "C") FROM r GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT t, count(*) FROM r GROUP BY t;
-- offloaded: GpuPreAgg
SELECT u, count(*), sum(u), min(u), max(u) FROM r GROUP BY u;
-- offloaded: GpuPreAgg
SELECT sum(u), avg(u), count(u) FROM r;
-- offloaded: GpuPreAgg
SELECT extract(year FROM d), k, sum(v), sum(n), sum(u) FROM r WHERE k IN (1, 3, 5) AND v > -200 GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT DISTINCT k, t FROM r WHERE v < 100;
-- offloaded: GpuPreAgg
SELECT k, sum(v) FROM r GROUP BY k HAVING sum(v) > 100;
-- Pruned when planned.
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM r WHERE d >= '1995-03-01' AND d < '1996-02-01';
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM r WHERE d BETWEEN '1992-05-01' AND '1992-07-31' GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), sum(u) FROM r WHERE d = '1996-02-02';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM r WHERE d >= '1994-01-01' AND d < '1995-01-01';
SELECT count(*), sum(v) FROM r WHERE d < '1992-01-01' AND d > '1996-01-01';
-- offloaded: GpuPreAgg
SELECT count(*) FROM r WHERE d IN ('1992-06-01', '1995-06-01', '1996-01-01', '2005-02-01');
-- The value is known when execution starts, or later.
PREPARE span(date, date) AS SELECT k, count(*), sum(v), sum(n) FROM r WHERE d >= $1 AND d < $2 GROUP BY k;
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE span('1995-02-01', '1996-03-01');
EXECUTE span('1994-02-01', '1994-03-01');
EXECUTE span('1992-02-01', '1992-03-01');
EXECUTE span(NULL, '1992-03-01');
EXECUTE span('2000-01-01', '1999-01-01');
EXECUTE span('1990-01-01', '2030-01-01');
PREPARE of_day(date) AS SELECT count(*), sum(v), max(t COLLATE "C") FROM r WHERE d = $1;
EXECUTE of_day('1996-01-05');
EXECUTE of_day('1993-01-05');
EXECUTE of_day('1994-01-05');
EXECUTE of_day('2006-01-05');
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM r WHERE d >= to_date('1995', 'YYYY') AND d < to_date('1996', 'YYYY');
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM r WHERE d = (SELECT min(d) + 1 FROM r_1995);
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM r WHERE d >= (SELECT date '1996-01-01') AND d < (SELECT date '1997-06-01');
SELECT y, (SELECT sum(v) FROM r WHERE d >= make_date(y, 1, 1) AND d < make_date(y + 1, 1, 1)) FROM generate_series(1991, 1998) y;
SELECT y, l.* FROM generate_series(1992, 1997) y, LATERAL (SELECT count(*), min(v), max(v) FROM r WHERE d = make_date(y, 3, 1)) l;
SELECT y, l.* FROM (VALUES (date '1992-03-04'), ('1994-03-04'), (NULL), ('1996-03-04'), ('2007-01-01')) y(y), LATERAL (SELECT count(*), sum(v) FROM r WHERE d = y) l;
-- What prunes raises, or does not, as PostgreSQL would.
SELECT count(*) FROM r WHERE d = (SELECT make_date(1995, 13, 1));
SELECT count(*) FROM r JOIN r_empty e ON r.id = e.id WHERE r.d = (SELECT make_date(1995, 13, 1));
RESET plan_cache_mode;
SET enable_partition_pruning = off;
EXECUTE of_day('1996-01-05');
SELECT count(*), sum(v) FROM r WHERE d >= '1995-03-01' AND d < '1996-02-01';
RESET enable_partition_pruning;
DEALLOCATE ALL;
-- Errors of single rows.
SELECT sum(1000 / (v - 77)) FROM r WHERE d >= '1996-01-01' AND d < '1997-01-01';
SELECT sum(1000 / (v - 78)) FROM r WHERE id > 5000 AND v < -500;
-- List.
CREATE TABLE l (region text, id int NOT NULL, v bigint, f float8) PARTITION BY LIST (region);
CREATE TABLE l_a PARTITION OF l FOR VALUES IN ('ASIA', 'AFRICA');
CREATE TABLE l_e PARTITION OF l FOR VALUES IN ('EUROPE', NULL);
CREATE TABLE l_d PARTITION OF l DEFAULT;
INSERT INTO l SELECT (ARRAY['ASIA', 'AFRICA', 'EUROPE', NULL, 'AMERICA'])[1 + i % 5], i, i::bigint * 1000003, (i % 64) / 4.0 FROM generate_series(1, 15000) i;
ANALYZE l;
-- offloaded: GpuPreAgg
SELECT region, count(*), sum(v), sum(f) FROM l GROUP BY region;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM l WHERE region = 'ASIA';
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM l WHERE region IS NULL;
-- offloaded: GpuPreAgg
SELECT region, max(id) FROM l WHERE region IN ('EUROPE', 'AMERICA') OR region IS NULL GROUP BY region;
-- offloaded: GpuPreAgg
SELECT count(*) FROM l WHERE region <> 'ASIA';
-- Hash.
CREATE TABLE h (id int, k int, v int, c char(8)) PARTITION BY HASH (id);
CREATE TABLE h_0 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE h_1 (c char(8), v int, k int, id int);
ALTER TABLE h ATTACH PARTITION h_1 FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE h_2 PARTITION OF h FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO h SELECT i, i % 12, i % 900 - 450, 'c' || i % 5 FROM generate_series(1, 18000) i;
ANALYZE h;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(v) FROM h GROUP BY k;
-- offloaded: GpuPreAgg
SELECT c, count(*), sum(v) FROM h GROUP BY c;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM h WHERE id = 4711;
-- Several levels; a part of one has its columns in another order than its parent, and that than the top.
CREATE TABLE m (a int, b int, v int, t text) PARTITION BY RANGE (a);
CREATE TABLE m_0 PARTITION OF m FOR VALUES FROM (0) TO (100) PARTITION BY LIST (b);
CREATE TABLE m_0_x PARTITION OF m_0 FOR VALUES IN (0, 1, 2);
CREATE TABLE m_0_y PARTITION OF m_0 DEFAULT;
CREATE TABLE m_1 (t text, v int, dropped int, b int, a int) PARTITION BY HASH (b);
ALTER TABLE m_1 DROP COLUMN dropped;
CREATE TABLE m_1_p PARTITION OF m_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE m_1_q (b int, a int, gone text, v int, t text);
ALTER TABLE m_1_q DROP COLUMN gone;
ALTER TABLE m_1 ATTACH PARTITION m_1_q FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE m ATTACH PARTITION m_1 FOR VALUES FROM (100) TO (200);
CREATE TABLE m_rest PARTITION OF m DEFAULT;
INSERT INTO m SELECT i % 230, i % 7, i, 't' || i % 11 FROM generate_series(1, 16000) i;
ANALYZE m;
-- offloaded: GpuPreAgg
SELECT b, count(*), sum(v), min(t COLLATE "C") FROM m GROUP BY b;
-- offloaded: GpuPreAgg
SELECT a / 50, t, count(*), sum(v) FROM m WHERE b <> 3 GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM m WHERE a BETWEEN 90 AND 110 AND b = 1;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM m WHERE a >= 100 AND a < 200;
PREPARE two(int, int) AS SELECT count(*), sum(v) FROM m WHERE a = $1 AND b = $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE two(50, 1);
EXECUTE two(150, 4);
EXECUTE two(229, 2);
EXECUTE two(1000, 2);
RESET plan_cache_mode;
-- Columns that come and go.
ALTER TABLE m ADD COLUMN late int DEFAULT 9;
INSERT INTO m SELECT i % 230, i % 7, i, 'new', NULL FROM generate_series(1, 500) i;
-- offloaded: GpuPreAgg
SELECT late, count(*), sum(v) FROM m GROUP BY late;
ALTER TABLE m_0_x ALTER COLUMN late SET DEFAULT 10;
INSERT INTO m SELECT i % 100, i % 3, i, 'newer' FROM generate_series(1, 500) i;
-- offloaded: GpuPreAgg
SELECT late, b, count(*), sum(v) FROM m GROUP BY late, b;
ALTER TABLE m DROP COLUMN t;
-- offloaded: GpuPreAgg
SELECT late, count(*), sum(v) FROM m WHERE b < 5 GROUP BY late;
EXECUTE two(150, 4);
-- Joins: the partitioned table streams, is built, or both.
CREATE TABLE dim (k int PRIMARY KEY, name text, grp int);
INSERT INTO dim SELECT i, 'name' || i, i % 4 FROM generate_series(0, 11) i;
ANALYZE dim;
-- offloaded: GpuPreAgg
SELECT dim.name, count(*), sum(r.v) FROM r JOIN dim USING (k) GROUP BY dim.name;
-- offloaded: GpuPreAgg
SELECT dim.grp, count(*), sum(r.n), sum(r.u) FROM r JOIN dim USING (k) WHERE r.d >= '1995-01-01' AND r.d < '1997-01-01' AND dim.grp < 3 GROUP BY dim.grp;
-- offloaded: GpuPreAgg
SELECT dim.grp, count(*), sum(h.v) FROM r LEFT JOIN dim USING (k) JOIN h ON h.id = r.id GROUP BY dim.grp;
-- offloaded: GpuPreAgg
SELECT l.region, count(*), sum(h.v) FROM l JOIN h ON l.id = h.id WHERE h.k < 6 GROUP BY l.region;
-- offloaded: GpuPreAgg
SELECT count(*), sum(h.v) FROM h WHERE EXISTS (SELECT FROM r WHERE r.id = h.id AND r.d >= '1996-01-01' AND r.d < '1997-01-01');
-- offloaded: GpuPreAgg
SELECT count(*), sum(h.v) FROM h WHERE NOT EXISTS (SELECT FROM r WHERE r.id = h.id AND r.d >= '1995-01-01');
-- offloaded: GpuPreAgg
SELECT count(*), count(r.id), sum(r.v) FROM h LEFT JOIN r ON r.id = h.id AND r.d >= '1994-01-01' AND r.d < '1995-01-01';
-- offloaded: GpuJoin
SELECT r.id, r.d, r.t, dim.name FROM r JOIN dim USING (k) WHERE r.v BETWEEN 90 AND 95;
-- offloaded: GpuJoin
SELECT h.id, h.c, l.region, l.v FROM h JOIN l ON h.id = l.id WHERE h.v = 12;
-- offloaded: GpuJoin
SELECT a.id, a.v, b.v, b.t FROM r a JOIN r b ON a.id = b.id AND a.d < b.d WHERE a.v = 77 AND b.k = 3;
PREPARE joined(date) AS SELECT dim.grp, count(*), sum(r.v) FROM r JOIN dim USING (k) WHERE r.d >= $1 GROUP BY dim.grp;
SET plan_cache_mode = force_generic_plan;
EXECUTE joined('1996-05-01');
EXECUTE joined('1993-05-01');
EXECUTE joined('2040-01-01');
RESET plan_cache_mode;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(v) FROM h GROUP BY k;
-- offloaded: GpuPreAgg
SELECT a.k, count(*), sum(b.v) FROM h a JOIN h b ON a.id = b.id GROUP BY a.k;
SELECT a.id, b.v FROM h a JOIN h b ON a.id = b.id WHERE a.v = 3;
-- offloaded: GpuPreAgg
SELECT d, count(*) FROM r GROUP BY d;
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;
-- Cached plans see partitions come and go.
PREPARE all_l AS SELECT region, count(*), sum(v) FROM l GROUP BY region;
EXECUTE all_l;
CREATE TABLE l_m (f float8, v bigint, id int NOT NULL, region text);
INSERT INTO l_m SELECT i, -i, i, 'MARS' FROM generate_series(1, 3000) i;
ALTER TABLE l ATTACH PARTITION l_m FOR VALUES IN ('MARS');
EXECUTE all_l;
ALTER TABLE l DETACH PARTITION l_a;
EXECUTE all_l;
DROP TABLE l_m;
EXECUTE all_l;
TRUNCATE l_d;
EXECUTE all_l;
ALTER TABLE l ATTACH PARTITION l_a FOR VALUES IN ('ASIA', 'AFRICA');
EXECUTE all_l;
DROP TABLE l_a, l_e, l_d;
EXECUTE all_l;
SELECT count(*), sum(v) FROM l;
-- What stays with PostgreSQL: rows that are changed or locked, system columns, partitions that are no heap tables.
UPDATE h SET v = v + 1 WHERE k = 3;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(v) FROM h GROUP BY k;
DELETE FROM h WHERE k = 4;
UPDATE h SET id = id + 1 WHERE k = 5;
-- offloaded: GpuPreAgg
SELECT k, count(*), sum(v), sum(id) FROM h GROUP BY k;
-- not offloaded
SELECT tableoid::regclass, count(*) FROM h GROUP BY tableoid;
-- not offloaded
SELECT count(*) FROM h TABLESAMPLE SYSTEM (100);
BEGIN;
CREATE TEMP TABLE tp (i int, v int) PARTITION BY RANGE (i);
CREATE TEMP TABLE tp_1 PARTITION OF tp FOR VALUES FROM (0) TO (1000);
INSERT INTO tp SELECT i, i FROM generate_series(0, 999) i;
-- not offloaded
SELECT count(*), sum(v) FROM tp;
-- Storage of the current transaction.
CREATE TABLE h_new (id int, k int, v int, c char(8)) PARTITION BY RANGE (id);
CREATE TABLE h_new_1 PARTITION OF h_new FOR VALUES FROM (0) TO (1000);
INSERT INTO h_new SELECT i, i, i, 'x' FROM generate_series(0, 999) i;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM h_new;
SAVEPOINT s;
TRUNCATE h_0;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM h;
ROLLBACK TO s;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM h;
ROLLBACK;
-- needs: file_fdw
CREATE EXTENSION IF NOT EXISTS file_fdw;
-- needs: file_fdw
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
-- needs: file_fdw
CREATE TABLE ff (i int, v int) PARTITION BY RANGE (i);
-- needs: file_fdw
CREATE TABLE ff_1 PARTITION OF ff FOR VALUES FROM (0) TO (100);
-- needs: file_fdw
INSERT INTO ff SELECT i, i FROM generate_series(0, 99) i;
-- needs: file_fdw
CREATE FOREIGN TABLE ff_2 PARTITION OF ff FOR VALUES FROM (100) TO (200) SERVER files OPTIONS (program 'echo 150 7', delimiter ' ');
-- needs: file_fdw
-- not offloaded
SELECT count(*), sum(v) FROM ff;
-- Pruned, it does not matter.
-- needs: file_fdw
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM ff WHERE i < 50;
-- needs: file_fdw
DROP TABLE ff;
-- Many small ones.
CREATE TABLE many (i int, v int) PARTITION BY RANGE (i);
DO $$ BEGIN FOR p IN 0..149 LOOP EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', p, p * 10, p * 10 + 10); END LOOP; END $$;
INSERT INTO many SELECT i % 1500, i FROM generate_series(1, 9000) i;
ANALYZE many;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v), min(i), max(i) FROM many;
-- offloaded: GpuPreAgg
SELECT i / 100, count(*), sum(v) FROM many GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM many WHERE i BETWEEN 205 AND 333;
-- Plain inheritance is not partitioning.
CREATE TABLE base (i int, v int);
CREATE TABLE derived (extra int) INHERITS (base);
INSERT INTO base SELECT i, i FROM generate_series(1, 100) i;
INSERT INTO derived SELECT i, i, i FROM generate_series(1, 200) i;
-- not offloaded
SELECT count(*), sum(v) FROM base;
-- Who may see what is the partitioned table's to say.
CREATE ROLE tb_part_owner;
CREATE ROLE tb_part_reader;
CREATE ROLE tb_part_column;
GRANT CREATE, USAGE ON SCHEMA public TO tb_part_owner, tb_part_reader, tb_part_column;
SET ROLE tb_part_owner;
CREATE TABLE pr (id int, owner text, secret int, open int) PARTITION BY RANGE (id);
CREATE TABLE pr_1 PARTITION OF pr FOR VALUES FROM (0) TO (2000);
CREATE TABLE pr_2 (open int, secret int, owner text, id int);
ALTER TABLE pr ATTACH PARTITION pr_2 FOR VALUES FROM (2000) TO (6000);
INSERT INTO pr SELECT i, CASE i % 3 WHEN 0 THEN 'tb_part_reader' WHEN 1 THEN 'tb_part_column' ELSE 'tb_part_owner' END, i % 11, i % 7 FROM generate_series(1, 5000) i;
GRANT SELECT ON pr TO tb_part_reader;
GRANT SELECT (id, open) ON pr TO tb_part_column;
ANALYZE pr;
CREATE FUNCTION part_leak(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN IF $1 = 5 THEN RAISE EXCEPTION 'leaked %', $1; END IF; RETURN true; END $$;
CREATE VIEW pr_barrier WITH (security_barrier) AS SELECT id, secret, owner FROM pr WHERE secret <> 5;
GRANT SELECT ON pr_barrier TO tb_part_reader, tb_part_column;
-- for role in tb_part_owner tb_part_reader tb_part_column
SET ROLE :role;
SELECT count(*) FROM pr;
SELECT open, count(*), sum(id) FROM pr GROUP BY open;
SELECT secret, count(*) FROM pr GROUP BY secret;
SELECT count(*) FROM pr_2;
SELECT count(*), sum(secret) FROM pr_barrier;
SELECT count(*) FROM pr_barrier WHERE part_leak(secret);
SELECT secret, count(*) FROM pr_barrier WHERE id / (secret - 5) > 0 GROUP BY secret;
-- end for
SET ROLE tb_part_owner;
ALTER TABLE pr ENABLE ROW LEVEL SECURITY;
ALTER TABLE pr FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON pr USING (owner = current_user);
-- for role in tb_part_owner tb_part_reader tb_part_column
SET ROLE :role;
SELECT count(*), sum(open) FROM pr;
SELECT secret, count(*) FROM pr GROUP BY secret;
SELECT a.open, count(*) FROM pr a JOIN pr b ON a.id = b.id + 3 GROUP BY a.open;
SELECT count(*) FROM pr WHERE part_leak(open);
-- end for
RESET ROLE;
-- Switched off: the partitions are scanned one by one, as before.
SET pg_turbine.enable_partitionwise = off;
-- not offloaded
SELECT count(*), sum(id) FROM pr;
SELECT open, count(*) FROM pr GROUP BY open;
RESET pg_turbine.enable_partitionwise;
DROP OWNED BY tb_part_owner, tb_part_reader, tb_part_column;
DROP ROLE tb_part_owner, tb_part_reader, tb_part_column;
-- Loops over partitioned tables: each row of the outer side prunes anew, and asks for a join.
SET enable_material = off;
SELECT o.k, (SELECT count(*) FROM h JOIN dim USING (k) WHERE h.id < o.k * 100 AND dim.grp = o.grp) FROM dim o;
SELECT o.k, (SELECT max(m.v) FROM m WHERE m.a = o.k * 20) FROM dim o;
RESET enable_material;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT k, count(*), sum(v) FROM h GROUP BY k ORDER BY k;
FETCH 3 FROM c;
FETCH ALL FROM c;
DECLARE d NO SCROLL CURSOR FOR SELECT h.id, dim.name FROM h JOIN dim USING (k) WHERE h.v = 17;
MOVE 2 FROM d;
SAVEPOINT s;
DROP TABLE h_0;
ROLLBACK TO s;
CLOSE d;
COMMIT;
-- Pruned when execution starts, and again while it runs.
PREPARE both_times(int) AS SELECT count(*), sum(v) FROM m WHERE a >= $1 AND a < $1 + 60 AND b = (SELECT grp FROM dim WHERE k = 6);
PREPARE both_looped(int) AS SELECT o.k, (SELECT sum(v) FROM m WHERE a >= $1 AND b = o.k) FROM dim o;
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE both_times(0);
EXECUTE both_times(90);
EXECUTE both_times(150);
EXECUTE both_times(NULL);
EXECUTE both_looped(0);
EXECUTE both_looped(100);
EXECUTE both_looped(180);
RESET plan_cache_mode;
-- not offloaded
SELECT count(*) FROM ONLY m;
-- The inner side of a nested loop by its partitions' indexes is read as a join, too.
CREATE INDEX ON h (id);
CREATE INDEX ON m (v);
ANALYZE h, m;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
-- offloaded: GpuPreAgg
SELECT count(*), sum(h.v) FROM dim JOIN h ON h.id = dim.k * 3 AND h.v <> dim.grp;
-- offloaded: GpuPreAgg
SELECT dim.grp, count(*), sum(h.v), count(h.id) FROM dim LEFT JOIN h ON h.id = dim.k * 3 AND h.k <> 5 GROUP BY dim.grp;
-- offloaded: GpuPreAgg
SELECT count(*), sum(m.v) FROM dim JOIN h ON h.id = dim.k JOIN m ON m.v = h.id WHERE dim.grp < 3;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- Whole trees print and copy.
SET debug_print_plan = on;
SELECT count(*), sum(v) FROM m WHERE a >= (SELECT 100);
RESET debug_print_plan;
INSERT INTO m (a, b, v) SELECT a, b, count(*) FROM m GROUP BY a, b;
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM m;
-- EXPLAIN counts partitions and shows what each has delivered; a plan without our node has nothing to show.
CREATE FUNCTION shows(query text, options text, pattern text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; shown text := '';
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP shown := shown || line || E'\n'; END LOOP;
  RETURN shown NOT LIKE '%GpuPreAgg%' OR shown ~ pattern;
END $$;
SELECT shows('SELECT count(*) FROM many WHERE i < 30', 'COSTS off', 'Partitions: 3 of 150');
SELECT shows('SELECT count(*) FROM many WHERE i < (SELECT 30)', 'COSTS off', 'Partitions: 150 of 150');
SELECT shows('SELECT count(*) FROM many WHERE i < (SELECT 30)', 'ANALYZE, COSTS off', 'Partitions: 3 of 150');
SELECT shows('SELECT count(*) FROM many WHERE i < (SELECT 30)', 'ANALYZE, VERBOSE, COSTS off', 'Partition: many_2 buffered=\d+ direct=\d+ rows=60\n');
SELECT shows('SELECT count(*) FROM many WHERE i < abs(-30)', 'ANALYZE, FORMAT json', '"Partitions Read": 3,\s+"Partitions Pruned": 147,');
SELECT shows('SELECT count(*) FROM many WHERE i < (SELECT 30)', 'ANALYZE, VERBOSE, FORMAT json', '"Partitions": \[\s+\{\s+"Partition Name": "many_0",\s+"Blocks Buffered": \d+,\s+"Blocks Direct": \d+,\s+"Rows Read": 60\s+\},\s+\{');
SELECT shows('SELECT count(*) FROM many WHERE i < (SELECT 30)', 'ANALYZE, VERBOSE, FORMAT yaml', 'Partitions Read: 3\s+Partitions Pruned: 147\s+Partitions: \s+- Partition Name: "many_0"\s+Blocks Buffered: \d+');
SELECT shows('SELECT count(*) FROM many WHERE i < (SELECT 30)', 'ANALYZE, VERBOSE, FORMAT xml', '<Partitions>\s+<Partition>\s+<Partition-Name>many_0</Partition-Name>');
SELECT shows('SELECT dim.grp, count(*) FROM r JOIN dim USING (k) GROUP BY dim.grp', 'COSTS off', 'Outer Scan: r\n.*Partitions: 7 of 7');
-- Where PostgreSQL would use parallel workers, what is kept uses none; a row that raises runs it.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
-- offloaded: GpuPreAgg
SELECT dim.grp, count(*), sum(h.v) FROM h JOIN dim USING (k) JOIN m ON m.v = h.id GROUP BY dim.grp;
-- offloaded: GpuPreAgg
SELECT dim.grp, sum(100 / (h.v - 17)) FROM h JOIN dim USING (k) JOIN m ON m.v = h.id GROUP BY dim.grp;
-- offloaded: GpuPreAgg
SELECT k, sum(100 / (v - 17)) FROM h GROUP BY k;
SELECT k, sum('NaN'::numeric + v), count(*) FROM h GROUP BY k;
-- A value that no device form holds, in one partition only.
CREATE TABLE odd (i int, n numeric) PARTITION BY RANGE (i);
CREATE TABLE odd_1 PARTITION OF odd FOR VALUES FROM (0) TO (1000);
CREATE TABLE odd_2 (n numeric, i int);
ALTER TABLE odd ATTACH PARTITION odd_2 FOR VALUES FROM (1000) TO (3000);
INSERT INTO odd SELECT i, i / 8.0 FROM generate_series(0, 2999) i;
ANALYZE odd;
-- offloaded: GpuPreAgg
SELECT i % 5, count(*), sum(n), min(n) FROM odd GROUP BY 1;
INSERT INTO odd VALUES (2000, 'NaN');
-- offloaded: GpuPreAgg
SELECT i % 5, count(*), sum(n), min(n) FROM odd GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT i % 5, count(*), sum(n) FROM odd WHERE i < 1000 GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT count(*), sum(odd.n) FROM odd JOIN h ON h.id = odd.i;
ALTER TABLE odd ADD COLUMN late numeric DEFAULT 'Infinity';
SELECT count(*), sum(late) FROM odd;
SELECT count(*), sum(n) FROM odd WHERE late > 5;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET min_parallel_index_scan_size;
-- A join keeps PostgreSQL's plan of itself besides, so a subquery is planned twice: EXPLAIN knows the partitions of both.
CREATE TABLE kept_twice (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE kept_twice_1 PARTITION OF kept_twice FOR VALUES FROM (0) TO (5000);
CREATE TABLE kept_twice_2 PARTITION OF kept_twice FOR VALUES FROM (5000) TO (10000);
INSERT INTO kept_twice SELECT i % 10000, i FROM generate_series(1, 20000) i;
CREATE INDEX ON kept_twice (v);
CREATE TABLE beside_twice AS SELECT i % 1000 AS v, i AS w FROM generate_series(1, 50000) i;
ANALYZE kept_twice;
ANALYZE beside_twice;
CREATE FUNCTION sort_keys_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line LIKE '%Sort Key%' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
SET pg_turbine.enable_sort = off;
SET pg_turbine.enable_scan = off;
-- offloaded: GpuPreAgg
SELECT count(*) FROM beside_twice b JOIN (SELECT k, v FROM kept_twice ORDER BY v LIMIT 100) s ON b.v = s.v;
SELECT sort_keys_of('SELECT count(*) FROM beside_twice b JOIN (SELECT k, v FROM kept_twice ORDER BY v LIMIT 100) s ON b.v = s.v');
-- offloaded: GpuJoin
SELECT b.w, s.k FROM beside_twice b JOIN (SELECT k, v FROM kept_twice ORDER BY v LIMIT 100) s ON b.v = s.v;
SELECT sort_keys_of('SELECT b.w, s.k FROM beside_twice b JOIN (SELECT k, v FROM kept_twice ORDER BY v LIMIT 100) s ON b.v = s.v');
RESET pg_turbine.enable_scan;
RESET pg_turbine.enable_sort;
