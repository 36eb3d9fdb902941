-- Window functions over rows, joins and groups: kinds, frames, several windows, run conditions.
CREATE TABLE w (id int NOT NULL, g int, k smallint, b bigint, n numeric(12,3), u numeric, f float8, r float4, t text, c char(5), d date, ts timestamp, flag bool);
INSERT INTO w SELECT i, nullif(i % 7, 4), nullif(i * 31 % 50, 9), (i * 7919 % 1009)::bigint * 1000000000, nullif((i * 37 % 501) / 8.0, 2), CASE i % 4 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 2.125 END + i % 5, (i % 64) / 4.0, (i % 32) / 8.0, nullif('text ' || i * 13 % 211, 'text 7'), 'c' || i % 12, date '2000-01-01' + i * 11 % 777, timestamp '2001-02-03 04:05:06' + i % 333 * interval '1 hour', nullif(i % 3, 2)::bool FROM generate_series(1, 1500) i;
CREATE TABLE names (id int PRIMARY KEY, name text, part int);
INSERT INTO names SELECT i, 'name ' || i % 9, i % 3 FROM generate_series(0, 49) i;
CREATE TABLE hollow (id int, v int);
ANALYZE w;
ANALYZE names;
ANALYZE hollow;
-- Ranks.
-- for call in row_number() rank() dense_rank() percent_rank() cume_dist() ntile(1) ntile(4) ntile(7) ntile(100000)
-- offloaded: GpuSort
SELECT id, :call OVER (ORDER BY id) FROM w;
-- offloaded: GpuSort
SELECT id, :call OVER (PARTITION BY g ORDER BY id DESC) FROM w;
-- offloaded: GpuSort
SELECT id, :call OVER (PARTITION BY g, c ORDER BY n, id) FROM w;
-- offloaded: GpuSort
SELECT id, :call OVER (PARTITION BY id % 3 ORDER BY t DESC NULLS LAST, id) FROM w WHERE id < 400;
-- end for
-- Ranks among peers.
-- for call in rank() dense_rank() percent_rank() cume_dist()
-- for key in k n u f t c d flag
-- offloaded: GpuSort
SELECT id, :call OVER (PARTITION BY g ORDER BY :key) FROM w;
-- offloaded: GpuSort
SELECT id, :call OVER (ORDER BY :key DESC NULLS LAST, g) FROM w;
-- end for
-- end for
-- offloaded: GpuSort
SELECT id, rank() OVER (), dense_rank() OVER (PARTITION BY g), cume_dist() OVER (PARTITION BY c) FROM w;
-- Other rows of the partition.
-- for arg in g k b n f r t c d ts flag
-- offloaded: GpuSort
SELECT id, lag(:arg) OVER (ORDER BY id), lead(:arg) OVER (PARTITION BY c ORDER BY id) FROM w;
-- offloaded: GpuSort
SELECT id, lag(:arg, 3) OVER (PARTITION BY g ORDER BY id), lead(:arg, 0) OVER (PARTITION BY g ORDER BY id), lag(:arg, -2, NULL) OVER (PARTITION BY g ORDER BY id) FROM w;
-- offloaded: GpuSort
SELECT id, lead(:arg, 5, :arg) OVER (PARTITION BY g ORDER BY n, id) FROM w;
-- offloaded: GpuSort
SELECT id, first_value(:arg) OVER (PARTITION BY g ORDER BY id), last_value(:arg) OVER (PARTITION BY g ORDER BY id), nth_value(:arg, 3) OVER (PARTITION BY g ORDER BY id) FROM w;
-- offloaded: GpuSort
SELECT id, first_value(:arg) OVER p, last_value(:arg) OVER p, nth_value(:arg, 2) OVER p FROM w WINDOW p AS (PARTITION BY c ORDER BY id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING);
-- end for
-- offloaded: GpuSort
SELECT id, lag(id, 1, -1) OVER (ORDER BY id), lead(t, 2, 'none') OVER (ORDER BY id), lag(n, 1, 0.000) OVER (ORDER BY id) FROM w;
SELECT id, lag(n, 1, 0) OVER (ORDER BY id), lag(u, 1) OVER (ORDER BY id), lag(id, k) OVER (ORDER BY id), lag(c, 1, 'x') OVER (ORDER BY id) FROM w;
SELECT id, ntile(k) OVER (ORDER BY id) FROM w WHERE k > 0;
SELECT id, ntile(0) OVER (ORDER BY id) FROM w;
SELECT id, nth_value(id, 0) OVER (ORDER BY id) FROM w;
SELECT id, lag(id, NULL) OVER (ORDER BY id), ntile(NULL) OVER (ORDER BY id), nth_value(id, NULL) OVER (ORDER BY id) FROM w WHERE id < 10;
-- Aggregates over frames.
-- for bounds in UNBOUNDED_PRECEDING_AND_CURRENT_ROW UNBOUNDED_PRECEDING_AND_UNBOUNDED_FOLLOWING CURRENT_ROW_AND_UNBOUNDED_FOLLOWING CURRENT_ROW_AND_CURRENT_ROW
-- for mode in ROWS RANGE GROUPS
CREATE FUNCTION pg_temp.frame(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'SELECT x::text FROM (' || replace(replace(query, 'FRAME', ':mode BETWEEN :bounds'), '_', ' ') || ') x'; END $$;
SELECT * FROM pg_temp.frame('SELECT id, count(*) OVER p, count(k) OVER p, sum(k) OVER p, sum(b) OVER p, sum(n) OVER p, avg(k) OVER p, avg(n) OVER p, min(d) OVER p, max(t) OVER p FROM w WINDOW p AS (PARTITION BY g ORDER BY id FRAME)');
DROP FUNCTION pg_temp.frame;
-- end for
-- end for
-- Peers: a frame of rows among them would be left open.
-- for bounds in UNBOUNDED_PRECEDING_AND_CURRENT_ROW UNBOUNDED_PRECEDING_AND_UNBOUNDED_FOLLOWING CURRENT_ROW_AND_UNBOUNDED_FOLLOWING CURRENT_ROW_AND_CURRENT_ROW
-- for mode in RANGE GROUPS
CREATE FUNCTION pg_temp.frame(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'SELECT x::text FROM (' || replace(replace(query, 'FRAME', ':mode BETWEEN :bounds'), '_', ' ') || ') x'; END $$;
SELECT * FROM pg_temp.frame('SELECT id, count(*) OVER p, sum(b) OVER p, avg(n) OVER p, min(f) OVER p, max(ts) OVER p, min(c) OVER p FROM w WINDOW p AS (PARTITION BY g ORDER BY k FRAME)');
DROP FUNCTION pg_temp.frame;
-- end for
-- end for
-- for mode in ROWS GROUPS
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(k) OVER p, sum(n) OVER p, avg(b) OVER p, min(n) OVER p, max(t) OVER p, first_value(g) OVER p FROM w WINDOW p AS (PARTITION BY g ORDER BY n, id :mode BETWEEN 3 PRECEDING AND 2 FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(k) OVER p, max(d) OVER p FROM w WINDOW p AS (PARTITION BY g ORDER BY k DESC, id :mode BETWEEN 2 PRECEDING AND 1 PRECEDING), q AS (ORDER BY id) ORDER BY id;
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(b) OVER p, last_value(id) OVER p FROM w WINDOW p AS (ORDER BY n, id :mode BETWEEN 1 FOLLOWING AND 4 FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, sum(k) OVER p, nth_value(id, 2) OVER p FROM w WINDOW p AS (ORDER BY id :mode BETWEEN 1 PRECEDING AND 4 PRECEDING);
-- offloaded: GpuSort
SELECT id, count(k) OVER p, min(k) OVER p, max(b) OVER p FROM w WINDOW p AS (PARTITION BY c ORDER BY id :mode BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING);
-- offloaded: GpuSort
SELECT id, sum(k) OVER p FROM w WINDOW p AS (ORDER BY id :mode 0 PRECEDING);
-- offloaded: GpuSort
SELECT id, sum(k) OVER p, avg(f) OVER p, sum(f) OVER p FROM w WINDOW p AS (ORDER BY id :mode BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING);
-- end for
-- offloaded: GpuSort
SELECT id, sum(n) OVER (PARTITION BY g), avg(k) OVER (), count(*) OVER (PARTITION BY c ORDER BY k), max(r) OVER (ORDER BY id), avg(r) OVER (ORDER BY id) FROM w;
-- offloaded: GpuSort
SELECT id, count(*) FILTER (WHERE k > 20) OVER (ORDER BY id), sum(n) FILTER (WHERE flag) OVER (PARTITION BY g ORDER BY id), max(id) FILTER (WHERE k IS NULL OR flag) OVER (ORDER BY id ROWS 5 PRECEDING) FROM w;
-- offloaded: GpuSort
SELECT id, sum(u) OVER (ORDER BY id), avg(u) OVER (PARTITION BY g ORDER BY id ROWS 2 PRECEDING) FROM w;
-- offloaded: GpuSort
SELECT id, count(1) OVER (ORDER BY id), count(t) OVER (PARTITION BY g), sum(id + k) OVER (ORDER BY id ROWS 3 PRECEDING), min(n * 2) OVER (PARTITION BY c) FROM w;
-- In the order of the table.
-- not offloaded
SELECT id, row_number() OVER (), lag(id) OVER (), first_value(id) OVER (), sum(k) OVER (ROWS 2 PRECEDING) FROM w;
-- offloaded: GpuSort
SELECT id, sum(k) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), count(*) OVER () FROM w;
-- RANGE frames by months, and by days of a time zone.
-- for span in P1M P2M-10D P1Y3D P1MT36H
-- offloaded: GpuSort
SELECT id, d, count(*) OVER p, sum(k) OVER p, max(t) OVER p FROM w WINDOW p AS (PARTITION BY g ORDER BY d RANGE BETWEEN interval ':span' PRECEDING AND CURRENT ROW);
-- offloaded: GpuSort
SELECT id, ts, count(*) OVER p, sum(k) OVER p, first_value(ts) OVER p, last_value(ts) OVER p FROM w WINDOW p AS (ORDER BY ts DESC NULLS LAST RANGE BETWEEN interval ':span' PRECEDING AND interval '2 days' FOLLOWING);
-- offloaded: GpuSort
SELECT id, count(*) OVER p, count(*) OVER q FROM w WINDOW p AS (ORDER BY d DESC RANGE BETWEEN interval ':span' FOLLOWING AND interval '5 months' FOLLOWING EXCLUDE TIES), q AS (PARTITION BY c ORDER BY d RANGE BETWEEN interval '4 months' PRECEDING AND interval ':span' PRECEDING);
-- for zone in UTC America/New_York Europe/Berlin
SET timezone = ':zone';
-- offloaded: GpuSort
SELECT id, at, count(*) OVER p, sum(id) OVER p FROM (SELECT id, g, (d + interval '90 minutes')::timestamptz AS at FROM w) w WINDOW p AS (PARTITION BY g ORDER BY at RANGE BETWEEN interval ':span' PRECEDING AND interval '7 days' FOLLOWING);
RESET timezone;
-- end for
-- end for
SELECT id, count(*) OVER (ORDER BY d RANGE BETWEEN interval '-1 month' PRECEDING AND CURRENT ROW) FROM w;
SELECT id, count(*) OVER (ORDER BY d RANGE BETWEEN interval '3000000 months' PRECEDING AND CURRENT ROW) FROM w;
SELECT id, row_number() OVER (ORDER BY d, id), rank() OVER (ORDER BY d RANGE BETWEEN interval '1 month' PRECEDING AND CURRENT ROW) FROM w;
SELECT d, count(*), sum(count(*)) OVER (ORDER BY d RANGE BETWEEN interval '1 month' PRECEDING AND CURRENT ROW) FROM w GROUP BY d;
-- Frames and functions that stay.
SELECT id, sum(k) OVER (ORDER BY k RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING), sum(k) OVER (ORDER BY id ROWS 3 PRECEDING EXCLUDE CURRENT ROW) FROM w;
-- floats
SELECT id, sum(r) OVER (ORDER BY id), sum(f) OVER (ORDER BY id ROWS 3 PRECEDING) FROM w;
SELECT id, string_agg(c, ',') OVER (PARTITION BY g ORDER BY id ROWS 2 PRECEDING), bool_and(flag) OVER (ORDER BY id ROWS 2 PRECEDING) FROM w;
-- floats
SELECT id, stddev(n) OVER (PARTITION BY g), max(u) OVER (ORDER BY id) FROM w;
SELECT id, sum(k) OVER (ORDER BY id ROWS k PRECEDING) FROM w WHERE id < 5;
SELECT id, sum(k) OVER (ORDER BY id ROWS -1 PRECEDING) FROM w;
SELECT id, sum(k) OVER (ORDER BY id ROWS NULL PRECEDING) FROM w;
-- needs: icu
SELECT id, rank() OVER (ORDER BY t COLLATE "en-x-icu", id) FROM w;
-- Several windows; the same order with different frames; ties must be the same.
-- offloaded: GpuSort
SELECT id, row_number() OVER a, sum(k) OVER b, rank() OVER c, lag(id) OVER d, count(*) OVER e FROM w WINDOW a AS (PARTITION BY g ORDER BY id), b AS (PARTITION BY g ORDER BY id ROWS 3 PRECEDING), c AS (ORDER BY n), d AS (PARTITION BY c ORDER BY id DESC), e AS (PARTITION BY g);
-- offloaded: GpuPreAgg
-- shows: Rows Of: GpuSort
SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY k) - count(*) OVER (PARTITION BY g ORDER BY k ROWS UNBOUNDED PRECEDING) AS zero FROM w) x WHERE zero <> 0;
-- offloaded: GpuSort
SELECT id, row_number() OVER (ORDER BY id) + rank() OVER (PARTITION BY g ORDER BY id) AS both, n / sum(n) OVER (PARTITION BY g) FROM w;
-- Order and limit behind them; DISTINCT ON.
-- ordered
-- offloaded: GpuSort
SELECT id, rank() OVER (PARTITION BY g ORDER BY n DESC NULLS LAST) AS place FROM w ORDER BY place, id LIMIT 20;
-- ordered
-- offloaded: GpuSort
SELECT id, g, sum(k) OVER (PARTITION BY g ORDER BY id) FROM w ORDER BY g, id OFFSET 7 LIMIT 11;
-- ordered
-- offloaded: GpuSort
SELECT id, sum(n) OVER (PARTITION BY g ORDER BY id) AS running FROM w ORDER BY running DESC NULLS LAST, id LIMIT 11;
-- ordered
-- offloaded: GpuSort
SELECT id FROM w ORDER BY row_number() OVER (ORDER BY n DESC, id) LIMIT 5;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (g) g, id, rank() OVER (ORDER BY n, id) FROM w ORDER BY g, rank() OVER (ORDER BY n, id), id;
-- ordered
SELECT id, rank() OVER (ORDER BY n, id) FROM w ORDER BY rank() OVER (ORDER BY n, id) % 10, id LIMIT 9;
SELECT DISTINCT g, count(*) OVER (PARTITION BY g) FROM w;
-- Run conditions.
-- for bound in <=_3 <_3 =_1 <=_0
CREATE FUNCTION pg_temp.bounded(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'SELECT x::text FROM (' || query || ') x WHERE place ' || replace(':bound', '_', ' '); END $$;
SELECT * FROM pg_temp.bounded('SELECT id, g, row_number() OVER (PARTITION BY g ORDER BY n, id) AS place FROM w');
SELECT * FROM pg_temp.bounded('SELECT id, rank() OVER (PARTITION BY g ORDER BY n) AS place, sum(k) OVER (PARTITION BY g ORDER BY n) FROM w');
SELECT * FROM pg_temp.bounded('SELECT id, dense_rank() OVER (ORDER BY k DESC) AS place FROM w');
SELECT * FROM pg_temp.bounded('SELECT id, count(*) OVER (ORDER BY id) AS place, lag(id) OVER (PARTITION BY g ORDER BY id) FROM w');
DROP FUNCTION pg_temp.bounded;
-- end for
-- offloaded: GpuSort
SELECT * FROM (SELECT id, g, rank() OVER (PARTITION BY g ORDER BY n DESC, id) AS place FROM w) x WHERE place <= 2;
-- offloaded: GpuSort
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY n, id) AS a, rank() OVER (PARTITION BY g ORDER BY id) AS b FROM w) x WHERE a <= 200 AND b < 20 AND a <> 7;
-- offloaded: GpuSort
SELECT * FROM (SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS rest FROM w) x WHERE rest > 1490;
-- offloaded: GpuSort
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS a FROM w) x WHERE 4 > a;
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS a FROM w) x WHERE a <= (SELECT 3);
PREPARE top(int) AS SELECT * FROM (SELECT id, g, rank() OVER (PARTITION BY g ORDER BY n DESC, id) AS place FROM w) x WHERE place <= $1;
-- offloaded: GpuSort
EXECUTE top(2);
SET plan_cache_mode = force_generic_plan;
EXECUTE top(3);
EXECUTE top(NULL);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- Joins.
-- offloaded: GpuSort
SELECT w.id, name, rank() OVER (PARTITION BY name ORDER BY n DESC), sum(n) OVER (PARTITION BY part ORDER BY w.id) FROM w JOIN names ON w.k = names.id;
-- ordered
-- offloaded: GpuSort
SELECT w.id, row_number() OVER (ORDER BY name NULLS FIRST, w.id) FROM w LEFT JOIN names ON w.k = names.id AND part < 2 ORDER BY 2 LIMIT 10;
-- Groups.
-- offloaded: GpuSort
SELECT g, sum(n), rank() OVER (ORDER BY sum(n) DESC) FROM w GROUP BY g;
-- offloaded: GpuSort
SELECT g, c, count(*), sum(count(*)) OVER (PARTITION BY g), sum(sum(n)) OVER (PARTITION BY g ORDER BY c), sum(sum(k)) OVER (ORDER BY g, c), avg(min(id)) OVER (PARTITION BY c), lag(max(d)) OVER (PARTITION BY g ORDER BY c) FROM w GROUP BY g, c;
-- ordered
-- offloaded: GpuSort
SELECT name, part, sum(n), rank() OVER (PARTITION BY part ORDER BY sum(n) DESC, name) AS place FROM w JOIN names ON w.k = names.id GROUP BY name, part ORDER BY part, place, name LIMIT 12;
-- offloaded: GpuSort
SELECT * FROM (SELECT g, c, sum(n) AS total, rank() OVER (PARTITION BY g ORDER BY sum(n) DESC, c) AS place FROM w GROUP BY g, c) x WHERE place <= 2;
-- offloaded: GpuSort
SELECT g, sum(n) * 100 / sum(sum(n)) OVER () FROM w GROUP BY g;
SELECT g, rank() OVER (ORDER BY avg(n)), sum(avg(n)) OVER () FROM w GROUP BY g;
SELECT g, count(*), rank() OVER (ORDER BY count(*), g) FROM w GROUP BY g HAVING count(*) > 210;
SELECT sum(n), rank() OVER (ORDER BY sum(n)) FROM w;
SELECT u, count(*), rank() OVER (ORDER BY u) FROM w WHERE id % 4 < 2 GROUP BY u;
-- Nothing there; one row.
-- offloaded: GpuSort
SELECT id, rank() OVER (ORDER BY v), sum(v) OVER (ORDER BY id) FROM hollow;
-- offloaded: GpuSort
SELECT id, rank() OVER (ORDER BY k), lag(id, 1, 5) OVER (ORDER BY id), percent_rank() OVER (ORDER BY id) FROM w WHERE id BETWEEN 77 AND 77;
-- offloaded: GpuSort
SELECT id, rank() OVER (ORDER BY k) FROM w WHERE id < 0;
-- Settings, rescans, cursors, errors.
SET pg_turbine.enable_sort = off;
SELECT id, rank() OVER (ORDER BY id) FROM w;
RESET pg_turbine.enable_sort;
SELECT o.g, i.* FROM (VALUES (1), (4), (NULL), (6)) o(g), LATERAL (SELECT id, row_number() OVER (ORDER BY n DESC, id) AS place FROM w WHERE w.g = o.g) i WHERE place < 4;
BEGIN;
DECLARE x NO SCROLL CURSOR FOR SELECT id, sum(k) OVER (ORDER BY id) FROM w ORDER BY id;
-- ordered
FETCH 4 FROM x;
MOVE 90 FROM x;
-- ordered
FETCH 2 FROM x;
COMMIT;
SELECT id, sum(10 / (k - 3)) OVER (ORDER BY id) FROM w;
SELECT id, 10 / (rank() OVER (ORDER BY id) - 5) FROM w;
SELECT id, 10 / (rank() OVER (ORDER BY id) - 5) FROM w ORDER BY id LIMIT 2;
SELECT id, sum(b * 9000000) OVER (ORDER BY id) FROM w;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- offloaded: GpuSort
SELECT id, rank() OVER (PARTITION BY g ORDER BY n, id) FROM w;
-- offloaded: GpuSort
SELECT g, c, rank() OVER (PARTITION BY g ORDER BY sum(n), c) FROM w GROUP BY g, c;
DROP TABLE w, names, hollow;
