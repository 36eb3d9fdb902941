-- GROUPING SETS, ROLLUP, CUBE: folded from the groups of all keys.
CREATE TABLE sales (region text, city char(6), day date, item int, qty int, price numeric(10,2), weight float8, big bigint, free numeric, ok boolean);
INSERT INTO sales SELECT CASE WHEN i % 11 = 0 THEN NULL ELSE 'r' || i % 4 END, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'a' ELSE 'c' || i % 6 END,
    date '2024-01-01' + i % 9, i % 13, nullif(i % 50, 7), i / 100.0, (i % 64) / 8.0, i::bigint * 1000000007, round(i % 40 / 4.0, i % 3), i % 3 = 0
  FROM generate_series(1, 7000) i;
CREATE TABLE regions (name text, zone int);
INSERT INTO regions SELECT 'r' || i, i % 2 FROM generate_series(0, 3) i;
CREATE TABLE empty_sales (region text, item int, qty int, price numeric(10,2));
ANALYZE sales;
ANALYZE regions;
ANALYZE empty_sales;
-- offloaded: GpuPreAgg
SELECT region, item, count(*), sum(qty), avg(price), min(day), max(weight) FROM sales GROUP BY ROLLUP (region, item);
-- offloaded: GpuPreAgg
SELECT region, item, count(*), count(qty), sum(price), sum(big), avg(big), avg(qty) FROM sales GROUP BY CUBE (region, item);
-- offloaded: GpuPreAgg
SELECT region, city, day, count(*), sum(qty) FROM sales GROUP BY CUBE (region, city, day);
-- offloaded: GpuPreAgg
SELECT region, city, item, GROUPING(region, city, item), GROUPING(item), count(*), min(price), max(price) FROM sales GROUP BY ROLLUP (region, city, item);
-- offloaded: GpuPreAgg
SELECT region, item, sum(qty) FROM sales GROUP BY GROUPING SETS ((region), (item));
-- offloaded: GpuPreAgg
SELECT region, item, sum(qty), GROUPING(region) * 10 + GROUPING(item) FROM sales GROUP BY GROUPING SETS ((region), (item), ());
-- offloaded: GpuPreAgg
SELECT region, item, sum(qty) FROM sales GROUP BY GROUPING SETS ((region, item), (region, item), (), ());
-- offloaded: GpuPreAgg
SELECT region, item, ok, count(*) FROM sales GROUP BY ROLLUP (region), CUBE (item, ok);
-- offloaded: GpuPreAgg
SELECT region, item, ok, count(*) FROM sales GROUP BY DISTINCT ROLLUP (region, item), ROLLUP (region, ok);
-- offloaded: GpuPreAgg
SELECT region, item, day, count(*) FROM sales GROUP BY GROUPING SETS (ROLLUP (region, item), CUBE (day));
-- offloaded: GpuPreAgg
SELECT region, item, day, count(*) FROM sales GROUP BY ROLLUP ((region, item), day);
-- offloaded: GpuPreAgg
SELECT region, item, count(*) FROM sales GROUP BY region, ROLLUP (item);
-- offloaded: GpuPreAgg
SELECT region, count(*) FROM sales GROUP BY GROUPING SETS ((region), (region));
-- Keys only, aggregates only, NULL keys beside absent ones.
-- offloaded: GpuPreAgg
SELECT region, ok FROM sales GROUP BY CUBE (region, ok);
-- offloaded: GpuPreAgg
SELECT count(*), sum(price) FROM sales GROUP BY ROLLUP (region);
-- offloaded: GpuPreAgg
SELECT city, GROUPING(city), count(*) FROM sales WHERE city IS NULL OR item < 3 GROUP BY ROLLUP (city);
-- offloaded: GpuPreAgg
SELECT city IS NULL, coalesce(region, 'none'), region || '-' || city, count(*) FROM sales GROUP BY CUBE (region, city);
-- HAVING, FILTER, WHERE, expressions as keys, order, limits, levels above.
-- offloaded: GpuPreAgg
SELECT region, item, count(*) FROM sales GROUP BY ROLLUP (region, item) HAVING count(*) > 130 OR GROUPING(item) = 1;
-- offloaded: GpuPreAgg
SELECT region, item, sum(qty) FILTER (WHERE ok), avg(price) FILTER (WHERE item > 5), bool_and(ok), bool_or(ok), every(qty > 0) FROM sales GROUP BY CUBE (region, item);
-- offloaded: GpuPreAgg
SELECT item % 4, extract(month FROM day), count(*), sum(price * qty) FROM sales WHERE qty > 3 GROUP BY ROLLUP (item % 4, extract(month FROM day));
-- offloaded: GpuPreAgg
SELECT item + 1, item, count(*) FROM sales GROUP BY GROUPING SETS ((item + 1), (item), (item, item + 1));
-- ordered
-- offloaded: GpuPreAgg
SELECT region, item, count(*), GROUPING(region, item) g FROM sales GROUP BY CUBE (region, item) ORDER BY g, region, item LIMIT 40;
-- offloaded: GpuPreAgg
SELECT region, sum(qty), rank() OVER (PARTITION BY GROUPING(region) ORDER BY sum(qty)) FROM sales GROUP BY ROLLUP (region);
-- offloaded: GpuPreAgg
SELECT count(*), sum(c) FROM (SELECT region, item, count(*) c FROM sales GROUP BY CUBE (region, item)) x WHERE region IS NULL;
-- offloaded: GpuPreAgg
SELECT region, (SELECT count(*) FROM regions WHERE name = region), max(item) FROM sales GROUP BY ROLLUP (region);
SELECT zone, (SELECT sum(c) FROM (SELECT item, count(*) c FROM sales WHERE qty > zone * 20 GROUP BY CUBE (item)) x) FROM regions;
-- Joins.
-- offloaded: GpuPreAgg
SELECT zone, region, count(*), sum(price) FROM sales JOIN regions ON name = region GROUP BY ROLLUP (zone, region);
-- offloaded: GpuPreAgg
SELECT zone, ok, GROUPING(zone, ok), count(*), avg(weight), sum(weight) FROM sales LEFT JOIN regions ON name = region GROUP BY CUBE (zone, ok);
-- Nothing comes in: only sets without keys have a row.
-- offloaded: GpuPreAgg
SELECT region, item, count(*), sum(qty), avg(price), min(price), GROUPING(region, item) FROM empty_sales GROUP BY CUBE (region, item);
-- offloaded: GpuPreAgg
SELECT region, item, count(*), sum(qty) FROM empty_sales GROUP BY GROUPING SETS ((region), (item));
-- offloaded: GpuPreAgg
SELECT region, item, count(*), sum(qty), max(price) FROM sales WHERE qty > 1000 GROUP BY GROUPING SETS ((region), (item), (), ());
-- offloaded: GpuPreAgg
SELECT region, count(*) FROM sales WHERE qty > 1000 GROUP BY ROLLUP (region) HAVING count(*) > 0;
-- Numerics that print differently: as keys and extremes they may send the query to PostgreSQL, whose answer then
-- depends on the order of its input.
SELECT trim_scale(free), count(*), sum(free) FROM sales GROUP BY ROLLUP (free);
SELECT item, sum(free), avg(free) FROM sales GROUP BY ROLLUP (item);
SELECT item, trim_scale(min(free)), trim_scale(max(free)) FROM sales GROUP BY CUBE (item);
SELECT trim_scale(free), item, count(*) FROM sales WHERE free = 2 OR free = 3.5 GROUP BY GROUPING SETS ((free, item), (item));
-- Floats: NaN, infinities and both zeros; sums that leave the range.
CREATE TABLE floats (k float8, g int, v float8, w float4);
INSERT INTO floats SELECT (ARRAY['NaN', '0', '-0', '1.5', 'Infinity', '-Infinity', NULL])[1 + i % 7]::float8, i % 5, (i % 9) / 4.0, (i % 32) / 4.0 FROM generate_series(1, 3000) i;
ANALYZE floats;
-- offloaded: GpuPreAgg
SELECT abs(k), g, count(*), sum(v), min(w), max(v), avg(w) FROM floats GROUP BY CUBE (abs(k), g);
-- offloaded: GpuPreAgg
SELECT g, min(k), max(k), sum(w) FROM floats GROUP BY ROLLUP (g);
CREATE TABLE large (g int, h int, v float8, b bigint, i int);
INSERT INTO large SELECT i % 3, i % 7, CASE WHEN i <= 2 THEN 1.2e308 ELSE 1 END, 9223372036854775807 - i, 2147483647 FROM generate_series(1, 500) i;
ANALYZE large;
SELECT g, sum(v) FROM large GROUP BY ROLLUP (g);
-- offloaded: GpuPreAgg
SELECT g, h, sum(b), avg(b), sum(i), min(b), max(i) FROM large GROUP BY CUBE (g, h);
-- As many groups as rows; memory that does not suffice; texts.
-- offloaded: GpuPreAgg
SELECT count(*), sum(n), sum(g), sum(s) FROM (SELECT count(*) n, GROUPING(price, big) g, sum(qty) s FROM sales GROUP BY CUBE (price, big)) x;
SET work_mem = '64kB';
-- offloaded: GpuPreAgg
SELECT count(*), sum(n), sum(g), sum(s) FROM (SELECT count(*) n, GROUPING(price, big) g, sum(qty) s FROM sales GROUP BY CUBE (price, big)) x;
-- offloaded: GpuPreAgg
SELECT count(*), sum(n) FROM (SELECT region, city, day, item, count(*) n FROM sales GROUP BY CUBE (region, city, day, item)) x;
SELECT count(*), sum(n) FROM (SELECT region, md5(item::text || qty), price, count(*) n FROM sales GROUP BY ROLLUP (1, 2, 3)) x;
RESET work_mem;
-- offloaded: GpuPreAgg
SELECT region || city, upper(region), count(*) FROM sales GROUP BY ROLLUP (region, city);
-- Texts as keys and as extremes: empty ones, NULLs, long ones, growing and shrinking.
-- offloaded: GpuPreAgg
SELECT region, min(city), max(region COLLATE "C"), min(region COLLATE "C"), max(city) FROM sales GROUP BY CUBE (region, ok);
CREATE TABLE texts (k int, g int, t text COLLATE "C", c char(10));
INSERT INTO texts SELECT i % 6, i % 11, CASE i % 9 WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN repeat(chr(97 + i % 26), 1 + i % 400) ELSE 'x' || i % 70 END,
    CASE i % 5 WHEN 0 THEN '' WHEN 1 THEN NULL ELSE 'é' || i % 30 END FROM generate_series(1, 5000) i;
INSERT INTO texts VALUES (NULL, NULL, NULL, NULL), (100, 100, '', ''), (101, 100, NULL, NULL);
ANALYZE texts;
-- offloaded: GpuPreAgg
SELECT k, g, min(t), max(t), min(c), max(c), count(*), GROUPING(k, g) FROM texts GROUP BY CUBE (k, g);
-- offloaded: GpuPreAgg
SELECT t, c, count(*), min(t), max(t) FROM texts GROUP BY ROLLUP (c, t);
-- offloaded: GpuPreAgg
SELECT k, max(t), min(t) FILTER (WHERE g > 5) FROM texts WHERE t = '' OR t IS NULL GROUP BY ROLLUP (k);
-- Sets that are made of other sets: of the smaller of two, of one that is not returned before, of equal ones.
-- offloaded: GpuPreAgg
SELECT k, g, t, c, count(*), min(t), max(c), GROUPING(k, g, t, c) FROM texts GROUP BY CUBE (k, g, t, c);
-- offloaded: GpuPreAgg
SELECT region, city, day, item, qty, ok, price, big, count(*), sum(weight), max(city), bool_or(ok) FROM sales GROUP BY ROLLUP (ok, region, city, day, item, qty, price, big);
-- offloaded: GpuPreAgg
SELECT item, region, ok, count(*), avg(price), min(weight), GROUPING(item, region, ok) FROM sales GROUP BY GROUPING SETS ((), (ok), (region, ok), (item, ok), (ok), (item), (region, ok), ());
-- offloaded: GpuPreAgg
SELECT item, region, ok, sum(qty) FILTER (WHERE qty > 40), min(city) FILTER (WHERE ok) FROM sales GROUP BY GROUPING SETS ((item, region, ok), (region), (region, ok), ()) HAVING sum(qty) > 10;
-- offloaded: GpuPreAgg
SELECT abs(k), g, v, w, count(*), sum(v), min(w), max(v) FROM floats GROUP BY CUBE (abs(k), g, v, w);
PREPARE sets(int) AS SELECT region, item, count(*), sum(qty) FROM sales WHERE item > $1 GROUP BY CUBE (region, item);
EXECUTE sets(8);
EXECUTE sets(20);
-- By the engine, where there are many groups.
CREATE TABLE many (a int, b int, c text, d date, n numeric(12,3), free numeric, f float8, r real, k bigint, flag bool);
INSERT INTO many SELECT nullif(i % 40, 3), i * 7 % 101, nullif('c' || i % 9, 'c4'), date '2024-01-01' + i % 60, i % 977 / 8.0, round(i % 40 / 4.0, i % 3), (i % 256) / 8.0, (i % 64) / 4.0, i::bigint * 1000000007, i % 3 = 0 FROM generate_series(1, 40000) i;
ANALYZE many;
-- for sets in ROLLUP(a,b,c) CUBE(a,b,c) ROLLUP(b,(a,c)),CUBE(d) GROUPING/**/SETS((a,b),(b,c),(a,c),(),(),(a,b,c),(a,b,c))
-- offloaded: GpuPreAgg
-- shows: Grouping Sets Combined: by the engine
SELECT a, b, c, GROUPING(a, b, c), GROUPING(c), count(*), count(n), sum(k), sum(n), avg(n), avg(k), min(d), max(c), min(f), bool_or(flag), bool_and(flag) FROM many GROUP BY :sets;
-- offloaded: GpuPreAgg
-- shows: Grouping Sets Combined: by the engine
SELECT a, b, c, GROUPING(b), sum(f), avg(f), sum(r), avg(r), sum(free), avg(free), max(free) FROM many WHERE k % 5 > 0 GROUP BY :sets;
-- offloaded: GpuPreAgg
SELECT a, b, c, count(*) FROM many GROUP BY :sets HAVING count(*) > 30 AND GROUPING(a) = 1;
SELECT a, b, count(*) FROM many WHERE a > 1000 GROUP BY :sets, a, b;
-- end for
-- offloaded: GpuPreAgg
SELECT a, b, sum(n) FROM many WHERE a > 1000 GROUP BY ROLLUP (a, b);
-- offloaded: GpuPreAgg
SELECT a, b, count(*), GROUPING(a), GROUPING(a, b), sum(n) FROM many WHERE a > 1000 GROUP BY GROUPING SETS ((), (a), (), (a, b), (b)) ORDER BY 4;
-- offloaded: GpuPreAgg
SELECT GROUPING(b), count(*) FROM many GROUP BY ROLLUP (a, b, d) HAVING sum(n) > 100000;
-- offloaded: GpuPreAgg
SELECT b, free, count(*) FROM many GROUP BY CUBE (b, free);
-- offloaded: GpuPreAgg
SELECT b, f, r, count(*) FROM many GROUP BY ROLLUP (r, f, b);
-- offloaded: GpuPreAgg
SELECT x.a, x.t, count(*) FROM (SELECT a, sum(k) AS t, b FROM many GROUP BY ROLLUP (a, b)) x GROUP BY 1, 2;
SELECT a, (SELECT count(*) FROM (SELECT b, c, sum(k) FROM many i WHERE i.a = o.a GROUP BY ROLLUP (b, c)) x) FROM (SELECT DISTINCT a FROM many WHERE a < 6) o;
-- offloaded: GpuPreAgg
SELECT i, (SELECT count(*) FROM (SELECT b, c, d, sum(k) FROM many WHERE b < i GROUP BY ROLLUP (b, c, d)) x) FROM generate_series(0, 90, 30) i;
-- offloaded: GpuPreAgg
SELECT a, b, c, sum(k * 100000007) FROM many GROUP BY ROLLUP (a, b, c);
SET plan_cache_mode = force_generic_plan;
EXECUTE sets(9);
EXECUTE sets(NULL);
-- What stays with PostgreSQL, and what goes to another node.
-- not offloaded
SELECT count(*), sum(n) FROM (SELECT count(*) n FROM sales GROUP BY CUBE (region, city, day, item, qty, price, weight, big, ok)) x;
-- not offloaded
SELECT count(*) FROM sales GROUP BY GROUPING SETS ((), ());
-- offloaded: GpuPreAgg
SELECT region, upper(region), count(*) FROM sales GROUP BY ROLLUP (region, upper(region));
-- offloaded: GpuDistinct
SELECT region, count(DISTINCT item) FROM sales GROUP BY ROLLUP (region);
SET pg_turbine.enable_aggregate = off;
-- not offloaded
SELECT region, count(*) FROM sales GROUP BY ROLLUP (region);
