-- Aggregates whose argument or FILTER devices lack: PostgreSQL computes it once for each group of the device.
CREATE TABLE v (id int, k int, url text, b bigint, h smallint, n numeric(10,2), u numeric, f float8, r float4, d date, ts timestamp, flag bool, c char(4), vc varchar(12));
INSERT INTO v SELECT i, nullif(i % 17, 3), nullif('http://h' || i % 41 || '.org/p' || i % 3, 'http://h7.org/p1'), (i % 29) * 3000000007, i % 23 - 11, nullif(i % 300, 8) / 4.0, (i % 6) / 2.0, (i % 64) / 8.0, (i % 32) / 4.0, date '2020-01-01' + i % 200, timestamp '2020-01-01' + i % 100 * interval '5 hours', nullif(i % 5, 2)::bool, 'c' || i % 9, 'v' || i % 13 FROM generate_series(1, 5000) i;
CREATE TABLE w (k int PRIMARY KEY, name text);
INSERT INTO w SELECT i, 'name ' || i % 5 FROM generate_series(0, 16) i;
CREATE TABLE nobody (k int, url text, n numeric);
CREATE FUNCTION odd(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * 2 + 1; END';
CREATE FUNCTION odd(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN nullif($1, 9000000021) * 7; END';
CREATE FUNCTION odd(smallint) RETURNS smallint LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN -$1; END';
CREATE FUNCTION odd(date) RETURNS date LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 + 3; END';
CREATE FUNCTION odd(timestamp) RETURNS timestamp LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 - interval '1 month'; END $$;
CREATE FUNCTION picky(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 100 / $1; END';
ANALYZE v;
ANALYZE w;
ANALYZE nobody;
-- for argument in length(regexp_replace(url,'/p.','','g')) odd(k) odd(b) odd(h) ascii(md5(url)) nullif(length(initcap(url)),15)
-- offloaded: GpuPreAgg
SELECT sum(:argument), avg(:argument), count(:argument), min(:argument), max(:argument) FROM v;
-- offloaded: GpuPreAgg
SELECT k, sum(:argument), count(*), avg(:argument), max(n) FROM v GROUP BY k;
-- offloaded: GpuPreAgg
SELECT flag, sum(:argument) FILTER (WHERE k > 5), min(:argument) FILTER (WHERE url ~ 'p2'), sum(n) FROM v WHERE id > 100 GROUP BY flag;
-- offloaded: GpuPreAgg
SELECT url, max(:argument), count(*) FROM v GROUP BY url HAVING max(:argument) > 2;
-- end for
-- for argument in odd(d) odd(ts) regexp_replace(url,'[0-9]+','#') initcap(url) left(md5(k::text),3) nullif(reverse(url),'x')
-- offloaded: GpuPreAgg
SELECT min(:argument), max(:argument), count(:argument) FROM v;
-- offloaded: GpuPreAgg
SELECT k, max(:argument), min(:argument), count(*), sum(b) FROM v GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, max(:argument) FILTER (WHERE h > 0), count(:argument) FILTER (WHERE reverse(vc) > '5') FROM v GROUP BY 1;
-- end for
-- FILTER alone: the device's states take part or not.
-- for state in count(*) count(n) sum(n) avg(n) sum(u) avg(u) min(u) max(u) sum(k) avg(k) sum(b) avg(b) sum(f) avg(f) sum(r) avg(r) min(d) max(ts) min(url) max(vc) bool_and(flag) bool_or(flag) min(c)
-- offloaded: GpuPreAgg
SELECT :state FILTER (WHERE url ~ 'h1'), count(*) FROM v;
-- offloaded: GpuPreAgg
SELECT k, :state FILTER (WHERE md5(vc) < '8'), :state FROM v GROUP BY k;
-- offloaded: GpuPreAgg
SELECT d, :state FILTER (WHERE url ~ '^nothing') FROM v GROUP BY d;
-- end for
-- Booleans; several filters; with computed keys, late filters, joins, grouping sets.
-- offloaded: GpuPreAgg
SELECT k, bool_and(url ~ 'p1'), bool_or(initcap(vc) = 'V3'), every(url !~ 'x') FROM v GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*) FILTER (WHERE url ~ '1'), count(*) FILTER (WHERE url ~ '2'), count(*) FILTER (WHERE vc ~ '2' AND n > 10), sum(n) FROM v;
-- offloaded: GpuPreAgg
SELECT to_char(d, 'YYYY-MM') AS m, sum(length(initcap(url))), count(*) FILTER (WHERE url ~ 'h2'), avg(n) FROM v GROUP BY 1 ORDER BY 1;
-- offloaded: GpuPreAgg
SELECT k, sum(odd(h)) FROM v WHERE md5(url) > '4' GROUP BY k;
-- offloaded: GpuPreAgg
SELECT w.name, sum(odd(v.k)), max(initcap(w.name)), count(*) FILTER (WHERE v.url ~ w.name OR v.h > 2) FROM v JOIN w USING (k) GROUP BY w.name;
-- offloaded: GpuPreAgg
SELECT w.name, max(regexp_replace(v.url, 'h', w.name)) FROM v LEFT JOIN w USING (k) GROUP BY w.name;
-- offloaded: GpuPreAgg
SELECT k, flag, sum(odd(h)), max(initcap(url)), count(*) FILTER (WHERE url ~ '3') FROM v GROUP BY ROLLUP (k, flag);
-- offloaded: GpuPreAgg
SELECT k, GROUPING(k), max(md5(url)) FROM v GROUP BY GROUPING SETS ((k), (), (k, d));
-- offloaded: GpuPreAgg
SELECT k, max(initcap(url)) || 'x', sum(odd(h)) + count(*) FROM v GROUP BY k HAVING sum(odd(h)) > 10 ORDER BY sum(odd(h)) DESC, k LIMIT 5;
-- The same expression as a key and as an argument.
-- offloaded: GpuPreAgg
SELECT initcap(url), max(initcap(url)), count(initcap(url)) FROM v GROUP BY initcap(url);
-- offloaded: GpuPreAgg
SELECT length(initcap(url)), sum(length(initcap(url))) FROM v GROUP BY 1;
-- No rows.
-- offloaded: GpuPreAgg
SELECT sum(length(initcap(url))), count(initcap(url)), max(initcap(url)), count(*) FILTER (WHERE url ~ 'a'), sum(n) FILTER (WHERE url ~ 'a') FROM nobody;
-- offloaded: GpuPreAgg
SELECT k, sum(length(initcap(url))) FROM nobody GROUP BY k;
-- offloaded: GpuPreAgg
SELECT sum(odd(k)) FROM v WHERE id < 0;
-- Errors: where PostgreSQL raises, and where a FILTER keeps it from that.
-- offloaded: GpuPreAgg
SELECT sum(picky(k)) FROM v;
-- offloaded: GpuPreAgg
SELECT sum(picky(k)) FROM v WHERE k > 0;
-- offloaded: GpuPreAgg
SELECT sum(picky(k)) FILTER (WHERE k > 0) FROM v;
-- offloaded: GpuPreAgg
SELECT d, max(picky(k)) FILTER (WHERE k <> 0 AND url ~ '2') FROM v GROUP BY d;
SELECT sum(10 / k) FILTER (WHERE k > 0 AND url ~ '2') FROM v;
-- offloaded: GpuPreAgg
SELECT sum(odd(b) * 300000000) FROM v;
SELECT sum(odd(9000000000000000000 - b * 1000)) FROM v WHERE id < 4;
-- What stays with PostgreSQL: sums of numerics and floats, other aggregates, volatile functions, DISTINCT.
SELECT sum(round(length(initcap(url)) / 3.0, 2)) FROM v;
SELECT k, sum(length(md5(url)) / 2.0::float8) FROM v GROUP BY k;
SELECT k, string_agg(DISTINCT initcap(vc), ',' ORDER BY initcap(vc)) FROM v GROUP BY k;
SELECT count(*) > 0 FROM (SELECT k, sum(length(url || random())) FROM v GROUP BY k) x;
SELECT k, sum(DISTINCT odd(h)), max(initcap(url)) FROM v GROUP BY k;
SELECT k, count(DISTINCT h), count(*) FILTER (WHERE url ~ '2') FROM v GROUP BY k;
SELECT k, max(initcap(c)), min(initcap(vc)::varchar) FROM v GROUP BY k;
SELECT max(length(md5(f::text))) FROM v;
SELECT k, max((SELECT max(name) FROM w WHERE w.k = v.k)) FROM v GROUP BY k;
SELECT w.k, (SELECT max(odd(w.k + v.k)) FROM v WHERE v.id < 50) FROM w;
PREPARE of_arguments(text) AS SELECT k, count(*) FILTER (WHERE url ~ $1), max(replace(initcap(url), $1, 'x')) FROM v GROUP BY k;
-- offloaded: GpuPreAgg
EXECUTE of_arguments('p2');
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE of_arguments('h4');
RESET plan_cache_mode;
