-- Collations: those that compare bytes, as C.UTF-8 of the C library does, are offloaded; others stay.
CREATE COLLATION by_locale (provider = libc, locale = 'C.UTF-8');
CREATE COLLATION by_other_name (provider = libc, locale = 'C.utf8');
CREATE COLLATION half (provider = libc, lc_collate = 'C', lc_ctype = 'C.UTF-8');
-- needs: icu
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
-- Characters of one to four bytes, both sides of the surrogates and of the basic plane's end; what tables of weights
-- put elsewhere: case, punctuation, blanks, accents, digits.
CREATE TABLE parts (n int, p text);
INSERT INTO parts VALUES (0, ''), (1, 'a'), (2, 'B'), (3, 'b'), (4, 'A'), (5, ' '), (6, '-'), (7, '_'), (8, '10'), (9, '9'), (10, 'é'), (11, 'e'), (12, 'z'), (13, 'Z'), (14, 'ß'), (15, chr(127)), (16, chr(128)), (17, chr(2047)), (18, chr(2048)), (19, '日'), (20, chr(55295)), (21, chr(57344)), (22, chr(65533)), (23, chr(65535)), (24, chr(65536)), (25, '😀'), (26, chr(1114111)), (27, E'\u0301'), (28, chr(1)), (29, E'\t'), (30, 'ı'), (31, 'İ');
CREATE TABLE s (id int NOT NULL, k int, t text, v varchar(20), c char(6), g text COLLATE "C", l text COLLATE by_locale);
INSERT INTO s SELECT row_number() OVER (ORDER BY a.n, b.n), (a.n * 7 + b.n) % 13, a.p || b.p, b.p || a.p || b.p, left(b.p || a.p, 6), a.p || b.p, b.p || a.p FROM parts a, parts b;
INSERT INTO s VALUES (5001, 1, NULL, NULL, NULL, NULL, NULL), (5002, NULL, 'a', 'a ', 'a', 'a', 'a'), (5003, NULL, 'a ', 'a', 'a ', 'a ', 'a ');
CREATE TABLE d (n int, name text, c char(9));
INSERT INTO d SELECT n, p || 'a', p || 'a' FROM parts;
INSERT INTO d VALUES (100, NULL, NULL), (101, 'a', 'a'), (102, 'a', 'a  ');
ANALYZE s;
ANALYZE d;
-- Range conditions.
-- for kind in t v c g l
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind < 'a';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind <= 'é';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind > U&'\E000';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind >= U&'\FFFF';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind < U&'\+010000';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind >= U&'\D7FF';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind <= '-';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind BETWEEN 'B' AND 'a';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind BETWEEN U&'\D7FF' AND U&'\+010000';
-- offloaded: GpuScan
SELECT id FROM s WHERE :kind NOT BETWEEN ' ' AND 'z' AND k < 9;
-- end for
-- offloaded: GpuScan
SELECT id FROM s WHERE t < v;
SELECT id FROM s WHERE c >= t::char(6);
-- offloaded: GpuScan
SELECT id FROM s WHERE c::text > t;
-- offloaded: GpuScan
SELECT id FROM s WHERE t < ANY (ARRAY['B', '10', '_', 'é', NULL]);
-- offloaded: GpuScan
SELECT id FROM s WHERE t > ALL (ARRAY['B', '10', '_', U&'\+010000']);
-- offloaded: GpuScan
SELECT id FROM s WHERE t IN ('a', 'é', U&'\+010000', 'B' || chr(65535));
-- offloaded: GpuScan
SELECT id FROM s WHERE (t < 'b') IS NOT TRUE AND k = 3;
-- offloaded: GpuScan
SELECT id FROM s WHERE t ~<~ 'b' AND t ~>=~ 'B';
-- offloaded: GpuScan
SELECT id FROM s WHERE t LIKE 'a%' AND t >= 'a' AND t < 'b';
-- offloaded: GpuScan
SELECT id FROM s WHERE t LIKE '%' || chr(65536);
-- offloaded: GpuScan
SELECT id FROM s WHERE greatest(t, v, 'é') = 'é' OR least(t, g COLLATE "default") = 'B';
-- offloaded: GpuScan
SELECT id FROM s WHERE CASE WHEN t < 'a' THEN v ELSE t END > 'z';
PREPARE ranged(text, text) AS SELECT count(*), min(t), max(t) FROM s WHERE t BETWEEN $1 AND $2;
EXECUTE ranged('B', 'é');
EXECUTE ranged('é', chr(65536));
SET plan_cache_mode = force_generic_plan;
EXECUTE ranged(chr(57344), chr(65535));
RESET plan_cache_mode;
DEALLOCATE ranged;
-- Collations by name.
-- for name in C POSIX ucs_basic C.utf8 by_locale by_other_name half default
-- offloaded: GpuScan
SELECT id FROM s WHERE t COLLATE ":name" > 'Z' AND c COLLATE ":name" <= 'é';
-- offloaded: GpuPreAgg
SELECT k, min(t COLLATE ":name"), max(v COLLATE ":name") FROM s WHERE c COLLATE ":name" > '10' GROUP BY k;
SELECT k, min(c COLLATE ":name"), max(c COLLATE ":name") FROM s GROUP BY k;
-- ordered
-- offloaded: GpuSort
SELECT id, t FROM s ORDER BY t COLLATE ":name", id LIMIT 200;
-- ordered
-- offloaded: GpuSort
SELECT id, v FROM s ORDER BY v COLLATE ":name" DESC NULLS LAST, t COLLATE ":name", id;
-- ordered
SELECT id, c FROM s ORDER BY c COLLATE ":name", id LIMIT 50;
-- offloaded: GpuSort
SELECT id, rank() OVER (PARTITION BY k ORDER BY t COLLATE ":name"), min(t COLLATE ":name") OVER (PARTITION BY k ORDER BY id) FROM s;
-- offloaded: GpuPreAgg
SELECT count(*), min(d.name COLLATE ":name") FROM s JOIN d ON s.t = d.name COLLATE ":name";
-- end for
-- What compares otherwise stays, and is told so.
CREATE FUNCTION refused(query text) RETURNS bool LANGUAGE sql AS $$ SELECT bool_or(reason LIKE '% a collation that does not compare bytes' OR reason = 'pg_turbine.enabled is off') FROM turbine.why_not(query) $$;
-- needs: icu
SELECT refused($$SELECT id FROM s WHERE t COLLATE "en-x-icu" > 'Z'$$);
-- needs: icu
SELECT refused($$SELECT id FROM s WHERE greatest(t, v COLLATE "en-x-icu") = 'Z'$$);
-- needs: icu
SELECT refused($$SELECT min(t COLLATE "en-x-icu") FROM s$$);
-- needs: icu
SELECT refused($$SELECT id FROM s ORDER BY t COLLATE "en-x-icu" LIMIT 3$$);
-- needs: icu
SELECT refused($$SELECT id, max(t COLLATE "en-x-icu") OVER (PARTITION BY k) FROM s$$);
-- needs: icu
SELECT refused($$SELECT id, rank() OVER (ORDER BY t COLLATE "en-x-icu") FROM s$$);
-- for name in en-x-icu und-x-icu
-- needs: icu
SELECT id FROM s WHERE t COLLATE ":name" > 'Z' AND c COLLATE ":name" <= 'é';
-- needs: icu
SELECT k, min(t COLLATE ":name"), max(v COLLATE ":name"), min(c COLLATE ":name") FROM s GROUP BY k;
-- needs: icu
-- ordered
SELECT id, t FROM s ORDER BY t COLLATE ":name", id LIMIT 200;
-- needs: icu
SELECT id, rank() OVER (PARTITION BY k ORDER BY t COLLATE ":name", id), max(t COLLATE ":name") OVER (PARTITION BY k ORDER BY id) FROM s;
-- needs: icu
-- offloaded: GpuPreAgg
SELECT count(*) FROM s JOIN d ON s.t = d.name COLLATE ":name";
-- needs: icu
-- offloaded: GpuPreAgg
SELECT t COLLATE ":name", count(*) FROM s GROUP BY 1;
-- end for
-- needs: icu
SELECT count(*) FROM s WHERE t COLLATE blind = 'A';
-- needs: icu
SELECT count(*) FROM s WHERE t COLLATE blind < 'b';
-- needs: icu
SELECT count(*) FROM (SELECT t COLLATE blind FROM s GROUP BY 1) x;
-- needs: icu
SELECT count(*), count(DISTINCT t COLLATE blind) FROM s;
-- needs: icu
-- ordered
SELECT id FROM s ORDER BY t COLLATE blind, id LIMIT 50;
-- Letter case is not the order's business.
SELECT id FROM s WHERE upper(t) = 'AÉ' OR lower(v) = 'aba' OR initcap(t) = 'Éa';
SELECT id FROM s WHERE t ILIKE 'É%' OR t ILIKE 'a_';
SELECT upper(t), count(*) FROM s GROUP BY 1;
SELECT count(*) FROM s JOIN d ON lower(s.t) = lower(d.name);
-- ordered
SELECT id, lower(t) FROM s ORDER BY lower(t), id LIMIT 40;
-- Minimum, maximum, groups.
-- for kind in t v c g l
-- offloaded: GpuPreAgg
SELECT min(:kind), max(:kind), count(DISTINCT :kind) FROM s;
-- offloaded: GpuPreAgg
SELECT k, min(:kind), max(:kind) FILTER (WHERE :kind < 'é') FROM s GROUP BY k;
-- offloaded: GpuPreAgg
SELECT :kind, count(*), min(t), max(v) FROM s GROUP BY :kind;
-- offloaded: GpuPreAgg
SELECT left(:kind, 1), count(*), max(:kind) FROM s WHERE :kind > 'A' GROUP BY 1 HAVING max(:kind) > 'Z';
-- offloaded: GpuPreAgg
SELECT k, left(:kind, 1), min(:kind) FROM s GROUP BY ROLLUP (k, left(:kind, 1));
-- end for
-- offloaded: GpuPreAgg
SELECT DISTINCT t FROM s;
-- Order, limit, windows.
-- for kind in t v c g l
-- ordered
-- offloaded: GpuSort
SELECT id, :kind FROM s ORDER BY :kind, id;
-- ordered
-- offloaded: GpuSort
SELECT id, :kind FROM s ORDER BY :kind DESC NULLS LAST, id LIMIT 77;
-- ordered
-- offloaded: GpuSort
SELECT :kind, count(*) FROM s GROUP BY :kind ORDER BY :kind LIMIT 100;
-- ordered
-- offloaded: GpuSort
SELECT DISTINCT ON (:kind) :kind, id FROM s ORDER BY :kind, id DESC;
-- offloaded: GpuSort
SELECT id, dense_rank() OVER (ORDER BY :kind), lag(:kind) OVER (PARTITION BY k ORDER BY :kind, id), min(:kind) OVER (PARTITION BY k ORDER BY id ROWS 5 PRECEDING), max(:kind) OVER (PARTITION BY left(:kind, 1) ORDER BY id) FROM s;
-- end for
-- ordered
-- offloaded: GpuSort
SELECT t, v FROM s ORDER BY greatest(t, v), least(t, v) DESC, id LIMIT 60;
-- offloaded: GpuSort
SELECT id, t FROM s ORDER BY t FETCH FIRST 9 ROWS WITH TIES;
-- Joins.
-- offloaded: GpuPreAgg
SELECT count(*), sum(d.n), min(s.t), max(d.name) FROM s JOIN d ON s.t = d.name;
-- offloaded: GpuPreAgg
SELECT count(*), min(s.v) FROM s JOIN d ON s.c = d.c;
-- offloaded: GpuPreAgg
SELECT d.name, count(*) FROM s JOIN d ON s.k = d.n AND s.t < d.name GROUP BY d.name;
-- ordered
-- offloaded: GpuSort
SELECT s.id, d.name FROM s LEFT JOIN d ON s.g = d.name COLLATE "C" ORDER BY d.name, s.id, d.n;
SELECT count(*) FROM s WHERE EXISTS (SELECT FROM d WHERE d.name = s.t AND d.name > 'Z');
-- Collations in conflict are an error, if a row gets there.
SELECT count(*) FROM s WHERE g < l;
SELECT count(*) FROM s WHERE id < 0 AND g < l;
SELECT count(*) FROM s WHERE g = l OR greatest(g, l) > 'a';
SELECT count(*) FROM s WHERE nullif(g, l) IS NULL;
SELECT count(*) FROM s WHERE g IS DISTINCT FROM l;
SELECT count(*) FROM s WHERE CASE WHEN k > 3 THEN g ELSE l END LIKE 'a%';
SELECT count(*) FROM s a JOIN s b ON a.g = b.l;
SELECT count(*) FROM s a JOIN s b ON a.id = b.id AND a.g < b.l;
SELECT count(*) FROM s JOIN d ON s.g = d.name AND s.l < d.name;
SELECT CASE WHEN k > 3 THEN g ELSE l END, count(*) FROM s GROUP BY 1;
SELECT min(CASE WHEN k > 3 THEN g ELSE l END) FROM s;
SELECT count(DISTINCT CASE WHEN k > 3 THEN g ELSE l END), count(*) FROM s;
SELECT id FROM s ORDER BY CASE WHEN k > 3 THEN g ELSE l END, id LIMIT 5;
SELECT DISTINCT ON (CASE WHEN k > 3 THEN g ELSE l END) id FROM s;
SELECT id, rank() OVER (PARTITION BY CASE WHEN k > 3 THEN g ELSE l END) FROM s;
SELECT id, max(CASE WHEN k > 3 THEN g ELSE l END) OVER (PARTITION BY k) FROM s;
SELECT count(length(CASE WHEN k > 3 THEN g ELSE l END)) FROM s;
-- A view's text; a column whose collation changes.
CREATE VIEW shown AS SELECT id, t COLLATE "C" AS w, t FROM s WHERE t >= 'A';
-- ordered
-- offloaded: GpuSort
SELECT w, id FROM shown WHERE t < U&'\E000' ORDER BY w, id LIMIT 50;
DROP VIEW shown;
-- ordered
SELECT id, (SELECT max(name) FROM d WHERE d.n = s.k) AS m FROM s ORDER BY m, id LIMIT 30;
-- needs: icu
ALTER TABLE s ALTER t TYPE text COLLATE "en-x-icu";
-- ordered
SELECT id, t FROM s ORDER BY t, id LIMIT 30;
SELECT min(t), max(t) FROM s;
ALTER TABLE s ALTER t TYPE text COLLATE "POSIX";
-- ordered
-- offloaded: GpuSort
SELECT id, t FROM s ORDER BY t, id LIMIT 30;
-- Indexes that know an order: PostgreSQL's plan may use them, ours read the table.
CREATE INDEX ON s (t);
CREATE INDEX ON s (v varchar_pattern_ops);
CREATE INDEX ON s USING brin (l);
ANALYZE s;
SELECT id FROM s WHERE t > 'Z' AND t < 'b';
SELECT id FROM s WHERE v LIKE 'z%';
SELECT id FROM s WHERE l BETWEEN 'z' AND 'é';
SELECT min(t), max(t) FROM s;
-- ordered
SELECT t, id FROM s ORDER BY t, id LIMIT 10;
-- A collation that another of the name replaces.
DROP TABLE d;
ALTER TABLE s DROP l;
DROP COLLATION by_locale;
-- needs: icu
CREATE COLLATION by_locale (provider = icu, locale = 'en');
-- ordered
SELECT id, v FROM s ORDER BY v COLLATE by_locale, id LIMIT 30;
DROP COLLATION by_locale;
CREATE COLLATION by_locale (provider = libc, locale = 'C.utf-8');
-- ordered
-- offloaded: GpuSort
SELECT id, v FROM s ORDER BY v COLLATE by_locale, id LIMIT 30;
