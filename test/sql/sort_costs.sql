-- At default costs: what is worth a device goes there, an index or a small table stays.
CREATE TABLE big (id int, g int, v numeric(12,2), s text);
INSERT INTO big SELECT i, i * 7919 % 300, (i::bigint * 104729 % 1000003) / 100.0, 's' || i * 31 % 9973 FROM generate_series(1, 260000) i;
CREATE TABLE small (id int, v int);
INSERT INTO small SELECT i, i * 7 % 101 FROM generate_series(1, 500) i;
ANALYZE big;
ANALYZE small;
SET pg_turbine.debug_force_offload = off;
SET jit = off;
-- ordered
-- offloaded: GpuSort
SELECT id, v FROM big ORDER BY v DESC, id LIMIT 20;
-- ordered
-- offloaded: GpuSort
SELECT id, s FROM big ORDER BY s, id OFFSET 150000 LIMIT 30;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (g) g, id, v FROM big ORDER BY g, v DESC, id;
-- ordered
-- offloaded: GpuSort
SELECT g, s, sum(v) FROM big GROUP BY g, s ORDER BY sum(v) DESC, g, s LIMIT 20;
-- offloaded: GpuSort
SELECT * FROM (SELECT id, g, rank() OVER (PARTITION BY g ORDER BY v DESC, id) AS place FROM big) x WHERE place <= 2;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(running) FROM (SELECT sum(v) OVER (PARTITION BY g ORDER BY id) AS running FROM big OFFSET 0) x;
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*), sum(near) FROM (SELECT count(*) OVER (PARTITION BY g ORDER BY v RANGE BETWEEN 10 PRECEDING AND 5 FOLLOWING EXCLUDE TIES) AS near FROM big OFFSET 0) x;
-- offloaded: GpuSort
SELECT v, id FROM big ORDER BY v FETCH FIRST 7 ROWS WITH TIES;
-- ordered
-- offloaded: GpuSort
SELECT b.id, b.v, small.v FROM big b JOIN small ON b.g = small.id ORDER BY b.v DESC, b.id, small.v LIMIT 15;
-- ordered
-- not offloaded
SELECT id, v FROM small ORDER BY v, id LIMIT 9;
-- not offloaded
SELECT id, rank() OVER (ORDER BY v) FROM small;
-- not offloaded
SELECT id, count(*) OVER (ORDER BY v RANGE 3 PRECEDING) FROM small;
CREATE INDEX ON big (v, id);
-- ordered
-- not offloaded
SELECT id, v FROM big ORDER BY v, id LIMIT 5;
-- ordered
-- not offloaded
SELECT id, v FROM big WHERE v BETWEEN 1000 AND 1001 ORDER BY v DESC, id LIMIT 5;
DROP TABLE big, small;
