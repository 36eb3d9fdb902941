-- Expressions that devices do not have: PostgreSQL computes them of a device's groups, or of the rows that it sends.
-- script needs: icu
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE log (id int PRIMARY KEY, k int, url text, host varchar(30), code char(4), d date, ts timestamp, tz timestamptz, n numeric(8,2), free numeric,
    f float8, big bigint, flag bool, name text COLLATE blind);
INSERT INTO log SELECT i, nullif(i % 13, 5), CASE WHEN i % 17 = 0 THEN NULL ELSE 'https://www.h' || i % 23 || '.org/a' || i % 7 || '/x' END, 'Host' || i % 31,
    'c' || i % 9, date '2024-01-01' + i % 90, timestamp '2024-01-01' + i % 70 * interval '7 hours', timestamptz '2024-03-01 00:00+00' + i % 50 * interval '11 hours',
    i % 41 / 4.0, round((i % 12) / 4.0, 2 + i % 2), i % 19 / 8.0, 4611686018427387900 + i % 10, i % 3 = 0, CASE i % 6 WHEN 0 THEN 'Ann' WHEN 1 THEN 'bob' ELSE 'c' || i % 4 END
  FROM generate_series(1, 6000) i;
CREATE TABLE hosts (host_name text, zone int, note text);
INSERT INTO hosts SELECT 'Host' || i, i % 4, repeat('n', i % 5) || i FROM generate_series(0, 29) i;
CREATE TABLE hollow (k int, url text, d date, v int);
CREATE FUNCTION twice(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 * 2 % 7; END $$;
CREATE FUNCTION halves(text) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN left($1, 14); END $$;
CREATE FUNCTION moves(int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN $1 % 3; END $$;
CREATE FUNCTION fails_at(int, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF $1 = $2 THEN RAISE EXCEPTION 'no % here', $1; END IF; RETURN $1 % 2; END $$;
CREATE FUNCTION even(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 % 2 = 0; END $$;
ANALYZE log;
ANALYZE hosts;
ANALYZE hollow;
-- Grouping keys.
-- for key in regexp_replace(url,'^https://([^/]+)/.*','#') to_char(d,'YYYY-MM') to_char(ts,'Dy') twice(k) halves(url) md5(k::text) reverse(host) left(md5(url),1) quote_literal(code) (code||'x')::varchar(3) to_char(n,'999') format('%s-%s',k,flag) twice(k+id%3) substring(url,'h[0-9]') name host::char(5)
-- offloaded: GpuPreAgg
SELECT :key AS o, count(*), sum(k), avg(length(url)), min(url), max(d), sum(n), avg(n), sum(big), bool_or(flag), count(url) FROM log GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT :key AS o, k, count(*), max(host) FILTER (WHERE flag) FROM log WHERE id % 5 < 3 GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT :key AS o, k, count(*), GROUPING(k) FROM log GROUP BY ROLLUP (1, 2);
-- offloaded: GpuPreAgg
SELECT DISTINCT :key FROM log WHERE k > 2;
-- offloaded: GpuPreAgg
SELECT count(DISTINCT :key), max(k) FROM log;
-- end for
-- The same expression over and in expressions above, beside its own columns and others that need less.
-- offloaded: GpuPreAgg
SELECT twice(k), twice(k) + 1, count(*) * twice(k) FROM log GROUP BY twice(k) HAVING twice(k) > 1 AND count(*) > 10;
-- offloaded: GpuPreAgg
SELECT k, twice(k), count(*) FROM log GROUP BY k, twice(k);
-- offloaded: GpuPreAgg
SELECT twice(k), twice(twice(k)), count(*) FROM log GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT twice(k % 3), k % 3 = 1, count(*), sum(n) FROM log GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT url, halves(url), regexp_replace(url, '[0-9]', ''), count(*) FROM log GROUP BY url;
-- offloaded: GpuPreAgg
SELECT id, md5(url), count(*) FROM log WHERE id < 40 GROUP BY id;
-- offloaded: GpuPreAgg
SELECT md5(id::text), url, count(*) FROM log WHERE id < 40 GROUP BY id;
-- offloaded: GpuPreAgg
SELECT id, twice(k), host, count(*) FROM log WHERE id < 90 GROUP BY id, twice(k);
-- offloaded: GpuPreAgg
SELECT CASE WHEN k > 5 THEN twice(k) ELSE k END, coalesce(halves(url), 'none'), count(*) FROM log GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT CASE WHEN k <> 0 THEN fails_at(100 / k, 999) END, count(*) FROM log GROUP BY 1;
-- ordered
-- offloaded: GpuPreAgg
SELECT regexp_replace(url, '/.*', '') AS r, to_char(d, 'MM') AS m, count(*) AS c FROM log GROUP BY r, m HAVING count(*) > 3 ORDER BY c DESC, r, m LIMIT 7;
-- ordered
-- offloaded: GpuPreAgg
SELECT reverse(host), sum(n) AS s, rank() OVER (ORDER BY sum(n) DESC, reverse(host)) FROM log GROUP BY 1 ORDER BY 3, 1;
-- offloaded: GpuPreAgg
SELECT to_char(tz, 'HH24'), count(*) FROM log GROUP BY 1;
SET timezone = 'Asia/Kolkata';
-- offloaded: GpuPreAgg
SELECT to_char(tz, 'HH24'), count(*) FROM log GROUP BY 1;
RESET timezone;
-- Equal values that look different: floats stay; numerics and blind collations are asked of PostgreSQL.
SELECT to_char(f, '9.9'), count(*) FROM log GROUP BY 1;
SELECT to_char(free, '9.999'), count(*) FROM log GROUP BY 1;
SELECT trim_scale(free), count(*) FROM log GROUP BY 1;
SELECT to_number(free::text, '9.99'), count(*) FROM log GROUP BY 1;
SELECT (url || '') COLLATE blind, count(*) FROM log GROUP BY 1;
SELECT (CASE WHEN id % 2 = 0 THEN upper(host) ELSE host END) COLLATE blind, count(*) FROM log GROUP BY 1;
SELECT (k || '.' || repeat('0', id % 3 + 1))::numeric, count(*) FROM log GROUP BY 1;
SELECT upper(name) COLLATE blind, count(*) FROM log GROUP BY 1;
SELECT count(*) FROM (SELECT count(*) FROM log GROUP BY (CASE WHEN k % 2 = 0 THEN 'a' ELSE 'A' END) COLLATE blind) x;
-- Constant and repeated keys.
-- offloaded: GpuPreAgg
SELECT 'all' AS o, k, count(*) FROM log GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT 'all' AS o, count(*), sum(n) FROM log GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT 1 AS one, 'x' AS x, count(*) FROM log WHERE k > 100 GROUP BY 1, 2;
-- The day itself is not shown: it may end between two runs.
-- offloaded: GpuPreAgg
SELECT current_date IS NOT NULL AS o, count(*) FROM log GROUP BY current_date;
-- offloaded: GpuPreAgg
SELECT 'all' AS o, count(*) FROM log WHERE url ~ 'a1' GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT 'all' AS o, count(*) FROM hollow GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT k, k AS again, host, host AS too, count(*) FROM log GROUP BY 1, 2, 3, 4;
-- offloaded: GpuPreAgg
SELECT twice(k), twice(k) AS again, count(*) FROM log GROUP BY 1, 2;
SELECT k, k AS again, count(*) FROM log GROUP BY ROLLUP (1, 2);
SELECT 'all' AS o, k, count(*) FROM log GROUP BY CUBE (1, 2);
PREPARE keyed(int) AS SELECT $1 AS o, k + $1, count(*) FROM log GROUP BY 1, 2;
EXECUTE keyed(4);
SET plan_cache_mode = force_generic_plan;
EXECUTE keyed(5);
EXECUTE keyed(NULL);
RESET plan_cache_mode;
-- Types without a hash, with none of their own on devices.
SELECT string_to_array(host, 's'), count(*) FROM log GROUP BY 1;
SELECT jsonb_build_object('k', k), count(*) FROM log GROUP BY 1;
SELECT (k || ' days')::interval, count(*) FROM log GROUP BY 1;
SELECT point(k, 1)::text, count(*) FROM log GROUP BY 1;
-- Volatile and set-returning functions are evaluated row by row, subqueries too.
SELECT moves(k), count(*) FROM log GROUP BY 1;
SELECT count(*) FROM log WHERE moves(k) = 1;
SELECT regexp_split_to_table(host, 's'), count(*) FROM log GROUP BY 1;
SELECT (SELECT max(zone) FROM hosts WHERE host_name = host), count(*) FROM log GROUP BY 1;
SELECT twice(k) + (SELECT max(zone) FROM hosts), count(*) FROM log GROUP BY 1;
SELECT count(*), (SELECT sum(c) FROM (SELECT twice(k + zone), count(*) AS c FROM log WHERE id < 200 GROUP BY 1) x) FROM hosts GROUP BY zone;
-- Aggregates with DISTINCT beside them, and of several arguments.
SELECT twice(k), count(DISTINCT host), sum(DISTINCT k) FROM log GROUP BY 1;
SELECT twice(k), count(*), count(DISTINCT host) FROM log GROUP BY 1;
SELECT k, count(DISTINCT halves(url)), min(url) FROM log GROUP BY k;
SELECT count(DISTINCT host), max(k) FROM log WHERE even(k);
-- Filters, over columns that are grouped by and over others.
-- for filter in url~'h1.*a[2-5]' url!~'a3' even(k) halves(url)>'https://www.h2' to_char(d,'DD')<'15' even(k)AND(host~'[135]$') (even(k)OR(n>5)) NOT(even(k)) name='ANN' url~('a'||k) md5(host)>md5(code)
-- offloaded: GpuPreAgg
SELECT count(*), sum(k), avg(n), min(url), max(big) FROM log WHERE :filter;
-- offloaded: GpuPreAgg
SELECT host, count(*), sum(n) FROM log WHERE :filter AND id > 100 GROUP BY host;
-- offloaded: GpuPreAgg
SELECT k, url, count(*), sum(n) FROM log WHERE :filter GROUP BY k, url;
-- offloaded: GpuPreAgg
SELECT twice(k), to_char(d, 'MM'), count(*) FROM log WHERE :filter GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT k, flag, count(*), GROUPING(k, flag) FROM log WHERE :filter GROUP BY CUBE (k, flag);
-- offloaded: GpuPreAgg
SELECT DISTINCT host, k FROM log WHERE :filter;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log WHERE :filter HAVING count(*) > 1;
-- end for
-- offloaded: GpuPreAgg
SELECT url, count(*) FROM log GROUP BY url HAVING url ~ 'h1' AND count(*) > 3;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM log WHERE even(k) GROUP BY k HAVING even(count(*)::int);
-- ordered
-- offloaded: GpuSort
SELECT url, count(*) AS c FROM log WHERE url ~ 'h1.*a[2-5]' GROUP BY url ORDER BY c DESC, url LIMIT 5;
-- ordered
-- offloaded: GpuPreAgg
SELECT url, count(*) AS c, row_number() OVER (ORDER BY url) FROM log WHERE url ~ 'h1' GROUP BY url ORDER BY url LIMIT 5;
-- Nothing comes through; no rows.
-- offloaded: GpuPreAgg
SELECT count(*), sum(k), min(url) FROM log WHERE url ~ 'nowhere';
-- offloaded: GpuPreAgg
SELECT twice(k), count(*) FROM log WHERE url ~ 'nowhere' GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM log WHERE url ~ 'nowhere' GROUP BY ROLLUP (k);
-- offloaded: GpuPreAgg
SELECT count(*), sum(v) FROM hollow WHERE url ~ 'a';
-- offloaded: GpuPreAgg
SELECT to_char(d, 'MM'), count(*) FROM hollow GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT to_char(d, 'MM'), count(*) FROM hollow WHERE url ~ 'a' GROUP BY ROLLUP (1);
-- Errors of the functions, and of sums over what is folded.
SELECT fails_at(k, 4), count(*) FROM log GROUP BY 1;
SELECT fails_at(k, 99), count(*) FROM log GROUP BY 1;
SELECT fails_at(k, 4), count(*) FROM log WHERE k <> 4 GROUP BY 1;
SELECT fails_at(k, 4), count(*) FROM log WHERE k <> 4 AND even(k) GROUP BY 1;
SELECT count(*) FROM log WHERE fails_at(k, 4) = 1;
SELECT count(*) FROM log WHERE fails_at(k, 4) = 1 AND k <> 4;
SELECT count(*) FROM hollow WHERE fails_at(v, 4) = 1;
SELECT k, count(*) FROM log WHERE 1 = fails_at(k, 4) GROUP BY k;
SELECT url ~ 'a(', count(*) FROM log GROUP BY 1;
SELECT count(*) FROM log WHERE host ~ '[';
SELECT twice(k), sum(big), avg(big) FROM log GROUP BY 1;
SELECT twice(k), sum(100 / (k - 4)) FROM log GROUP BY 1;
-- Joins: keys and filters of the table that streams, of joined ones, of both.
-- offloaded: GpuPreAgg
SELECT to_char(d, 'MM'), zone, count(*), sum(n) FROM log JOIN hosts ON host = host_name GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT twice(zone), reverse(note), count(*) FROM log JOIN hosts ON host = host_name GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT format('%s/%s', k, zone), count(*), min(note) FROM log LEFT JOIN hosts ON host = host_name GROUP BY 1;
-- offloaded: GpuPreAgg
SELECT zone, count(*), sum(n) FROM log JOIN hosts ON host = host_name WHERE url ~ 'h1.*a[2-5]' GROUP BY zone;
-- offloaded: GpuPreAgg
SELECT zone, count(*), sum(n) FROM log LEFT JOIN hosts ON host = host_name WHERE url ~ 'h1.*a[2-5]' AND even(k) GROUP BY zone;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM log WHERE even(k) AND EXISTS (SELECT FROM hosts WHERE host_name = host AND zone < 2) GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM log WHERE even(k) AND NOT EXISTS (SELECT FROM hosts WHERE host_name = host AND zone < 2) GROUP BY k;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log JOIN hollow ON log.k = hollow.k WHERE log.url ~ 'a';
-- Filters of tables that are joined: PostgreSQL's rows are sent.
-- offloaded: GpuPreAgg
SELECT zone, count(*), sum(n) FROM log JOIN hosts ON host = host_name WHERE note ~ 'n1' GROUP BY zone;
-- offloaded: GpuPreAgg
SELECT count(*), sum(n), min(note), count(zone) FROM log LEFT JOIN (SELECT * FROM hosts WHERE note ~ 'n1') h ON host = host_name;
-- offloaded: GpuPreAgg
SELECT count(*), sum(n), min(note), count(zone), count(id) FROM log FULL JOIN (SELECT * FROM hosts WHERE note ~ 'n1') h ON host = host_name;
SELECT count(*), sum(n), count(id) FROM (SELECT * FROM log WHERE url ~ 'a1') l FULL JOIN hosts ON host = host_name;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM log WHERE EXISTS (SELECT FROM hosts WHERE host_name = host AND even(zone)) GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM log WHERE NOT EXISTS (SELECT FROM hosts WHERE host_name = host AND even(zone)) AND url ~ 'a1' GROUP BY k;
-- offloaded: GpuPreAgg
SELECT a.zone, b.zone, count(*) FROM log JOIN hosts a ON host = a.host_name JOIN hosts b ON k = b.zone AND b.note ~ 'n1' WHERE a.note !~ 'n2' GROUP BY 1, 2;
-- offloaded: GpuJoin
SELECT id, zone FROM log JOIN hosts ON host = host_name WHERE note ~ 'n1' AND k = 3;
-- offloaded: GpuJoin
SELECT id, zone FROM log JOIN hosts ON host = host_name WHERE url ~ 'h1' AND k = 3;
-- offloaded: GpuJoin
SELECT id, zone, url FROM log LEFT JOIN hosts ON host = host_name AND even(zone) WHERE url ~ 'h1' AND id < 900;
-- ordered
-- offloaded: GpuSort
SELECT id, zone FROM log JOIN hosts ON host = host_name WHERE url ~ 'h1' AND note ~ '1' ORDER BY zone DESC, id LIMIT 20;
-- offloaded: GpuPreAgg
SELECT count(*) FROM log JOIN hosts ON host = host_name WHERE note ~ 'nowhere';
-- offloaded: GpuPreAgg
SELECT count(*) FROM hollow JOIN hosts ON hollow.k = zone WHERE note ~ 'n1';
SELECT count(*) FROM log JOIN hosts ON host = host_name WHERE fails_at(zone, 2) = 1;
SELECT count(*) FROM log JOIN hosts ON host = host_name WHERE fails_at(zone, 9) = 1;
SELECT count(*) FROM hollow JOIN hosts ON hollow.k = zone WHERE fails_at(zone, 2) = 1;
SELECT count(*) FROM log JOIN hosts ON host = host_name WHERE moves(zone) = 1;
SELECT k, (SELECT count(*) FROM log l JOIN hosts ON host = host_name WHERE note ~ ('n' || g.k)) FROM generate_series(1, 3) g (k);
-- Filters of groups where keys do not fold: DISTINCT beside plain aggregates takes rows.
-- offloaded: GpuPreAgg
SELECT k, count(*), min(n), count(DISTINCT host) FROM log WHERE url ~ 'a1' GROUP BY k;
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM log WHERE to_char(f, '9.9') > ' 1' GROUP BY k;
-- Parameters.
PREPARE of_pattern(text) AS SELECT halves(url), count(*) FROM log WHERE url ~ $1 GROUP BY 1;
EXECUTE of_pattern('h1');
EXECUTE of_pattern('h2');
EXECUTE of_pattern(NULL);
PREPARE by_format(text) AS SELECT to_char(d, $1), count(*) FROM log GROUP BY 1;
SET plan_cache_mode = force_generic_plan;
-- offloaded: GpuPreAgg
EXECUTE by_format('MM');
-- offloaded: GpuPreAgg
EXECUTE by_format('DD');
RESET plan_cache_mode;
-- Again for each row of a query around it.
SELECT zone, (SELECT count(*) FROM (SELECT twice(k) FROM log WHERE id < 300 AND url ~ ('h' || zone) GROUP BY 1) x) FROM hosts WHERE zone < 3 GROUP BY zone;
-- Partitions.
CREATE TABLE parts (id int, k int, url text, d date) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 (d date, url text, id int, k int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parts SELECT id, k, url, d FROM log;
ANALYZE parts;
-- offloaded: GpuPreAgg
SELECT to_char(d, 'MM'), halves(url), count(*) FROM parts GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT twice(k), count(*) FROM parts WHERE url ~ 'h1.*a[2-5]' AND id < 4000 GROUP BY 1;
-- Row-level security: what it lets nobody see, no other filter sees.
CREATE TABLE noted (k int);
CREATE FUNCTION tells(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 IMMUTABLE AS $$ BEGIN IF $1 = 4 THEN RAISE EXCEPTION 'told %', $1; END IF; RETURN true; END $$;
CREATE POLICY some_rows ON log USING (even(k + 1));
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
ALTER TABLE log FORCE ROW LEVEL SECURITY;
CREATE ROLE late_reader;
GRANT SELECT ON log TO late_reader;
SET ROLE late_reader;
SELECT count(*), sum(k) FROM log WHERE tells(k);
SELECT k, count(*) FROM log WHERE tells(k) GROUP BY k;
SELECT tells(k), count(*) FROM log GROUP BY 1;
RESET ROLE;
ALTER TABLE log DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON log FROM late_reader;
DROP ROLE late_reader;
-- What EXPLAIN shows.
CREATE FUNCTION shows(query text, options text, pattern text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; shown text := '';
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP shown := shown || line || E'\n'; END LOOP;
  RETURN shown !~ 'Gpu' OR shown ~ pattern;
END $$;
SELECT shows('SELECT twice(k), count(*) FROM log GROUP BY 1', 'COSTS off', 'Group Key: twice\(k\)\n +GPU Group Key: k\n');
SELECT shows('SELECT twice(k), flag, count(*) FROM log WHERE url ~ ''a1'' GROUP BY 1, 2', 'COSTS off', 'Group Key: flag, twice\(k\)\n +GPU Group Key: flag, k, url\n +Filter of GPU Groups: \(url ~ ''a1''::text\)\n');
SELECT shows('SELECT count(*) FROM log WHERE even(k)', 'ANALYZE, COSTS off, TIMING off', 'Filter of GPU Groups: even\(k\)\n +GPU Groups Removed by Filter: [1-9]');
SELECT shows('SELECT url, count(*) FROM log WHERE url ~ ''a1'' GROUP BY url', 'COSTS off', '\n +Filter: \((log\.)?url ~ ''a1''::text\)\n');
