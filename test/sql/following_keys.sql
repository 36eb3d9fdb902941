-- Grouping keys that follow from other keys: functions of them, constants, duplicates. A device groups by the others.
CREATE TABLE h (id int PRIMARY KEY, x int, y int2, b bigint, n numeric(8,2), u numeric, f float8, t text COLLATE "C", c char(5), d date, ts timestamp, v int);
INSERT INTO h SELECT i, nullif(i % 40, 7) - 12, i % 3, i * 1000003::bigint % 77, nullif(i % 9, 2) / 4.0, CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE 2.5 END,
    CASE i % 5 WHEN 0 THEN 0.0::float8 WHEN 1 THEN '-0'::float8 ELSE i % 5 END, nullif('t' || i % 6, 't2'), 'c' || i % 4, date '2020-01-01' + i % 50,
    timestamp '2021-05-05' + i % 30 * interval '7 hours', i FROM generate_series(1, 5000) i;
CREATE TABLE l (id int PRIMARY KEY, name text, size int);
INSERT INTO l SELECT i, 'l' || i % 3, i * 10 FROM generate_series(-12, 30) i;
ANALYZE h;
ANALYZE l;
-- shows: Group Key: ['x']
SELECT x, x - 1, x - 2, x - 3, count(*) FROM h GROUP BY x, x - 1, x - 2, x - 3;
-- shows: Group Key: ['x']
SELECT x - 1, x - 1, x % 7 + x / 3, sum(v) FROM h GROUP BY x, x - 1, x % 7 + x / 3;
-- The key itself is not shown; the order of the keys; several columns.
-- shows: Group Key: ['x', 'y']
SELECT x - y, abs(x), max(v) FROM h GROUP BY x - y, x, abs(x), y;
-- shows: Group Key: ['x', 'y']
SELECT count(*) FROM h GROUP BY x + y, x, y;
-- shows: Group Key: ['d']
SELECT d, extract(month FROM d), d + 1, count(DISTINCT x), avg(n) FROM h GROUP BY d, extract(month FROM d), d + 1;
-- shows: Group Key: ['t', 'c']
SELECT t, c, length(t), t || c, substr(t, 2), c = 'c1', min(d) FROM h GROUP BY t, c, length(t), t || c, substr(t, 2), c = 'c1';
-- shows: Group Key: ['n']
SELECT n, n * 2, n::int, CASE WHEN n > 1 THEN 'much' ELSE 'little' END, count(*) FROM h GROUP BY 1, 2, 3, 4;
-- shows: Group Key: ['ts']
SELECT ts, date_trunc('day', ts), ts::date, count(*) FROM h GROUP BY 1, 2, 3;
-- Functions that devices lack; constants; parameters.
-- shows: Group Key: ['d']
SELECT d, to_char(d, 'YYYY-MM'), to_char(d + 1, 'DD'), count(*) FROM h GROUP BY 1, 2, 3;
SELECT x, 1, 'a', count(*) FROM h GROUP BY x, 2, 3;
-- shows: Group Key: ['h.x']
SELECT x, x + (SELECT max(size) FROM l), count(*) FROM h GROUP BY 1, 2;
PREPARE p(int) AS SELECT x, x * $1, count(*) FROM h GROUP BY x, x * $1;
EXECUTE p(3);
EXECUTE p(NULL);
SET plan_cache_mode = force_generic_plan;
EXECUTE p(2);
EXECUTE p(1000000000);
RESET plan_cache_mode;
DEALLOCATE p;
-- HAVING, order, limit, windows, what is above.
SELECT x, x - 1, count(*) FROM h GROUP BY x, x - 1 HAVING x - 1 > 5 AND count(*) > 10;
-- ordered
-- offloaded: GpuSort
SELECT x, x - 1 AS below, x - x % 5 AS base, count(*) AS n FROM h GROUP BY x, below, base ORDER BY n DESC, x LIMIT 7;
-- ordered
SELECT x, x - 1 AS below, count(*) AS n FROM h GROUP BY x, below ORDER BY n DESC, below LIMIT 7;
SELECT x, x - 1, rank() OVER (PARTITION BY x % 3 ORDER BY x - 1) FROM h GROUP BY x, x - 1, x % 3;
SELECT DISTINCT x % 4, x - 1 FROM h GROUP BY x, x % 4, x - 1;
-- shows: Group Key: ['x']
SELECT DISTINCT x, x - 1, x % 4 = 1 FROM h WHERE y > 0;
SELECT DISTINCT x, 100 / x FROM h;
-- ordered
SELECT DISTINCT x, x - 1 AS below, abs(x) FROM h ORDER BY below DESC, x LIMIT 5;
SELECT sum(a), sum(n), count(*) FROM (SELECT x - 1 AS a, count(*) AS n FROM h GROUP BY x, x - 1) s;
SELECT x, x + 1, count(DISTINCT y), count(DISTINCT t) FROM h GROUP BY x, x + 1;
-- Errors: of groups that nobody returns as well.
SELECT x, 100 / x, count(*) FROM h GROUP BY x, 100 / x;
SELECT x, count(*) FROM h GROUP BY x, 100 / x;
SELECT x, 100 / x, count(*) FROM h GROUP BY x, 100 / x HAVING x > 5;
SELECT x, 100 / x, count(*) FROM h WHERE x <> 0 GROUP BY x, 100 / x;
SELECT x, x + 2147483630, count(*) FROM h GROUP BY 1, 2 HAVING x < 0;
-- ordered
SELECT x, 100 / x AS q, count(*) FROM h GROUP BY x, q ORDER BY x LIMIT 2;
SELECT count(*) FROM (SELECT x, 100 / x FROM h GROUP BY x, 100 / x OFFSET 0) s;
-- Joins.
-- shows: Group Key: ['h.x']
SELECT h.x, h.x = 4, count(*) FROM h JOIN l ON h.x = l.id GROUP BY h.x, h.x = 4;
SELECT h.x, h.x - 1, l.name, length(l.name), sum(size) FROM h JOIN l ON h.x = l.id GROUP BY 1, 2, 3, 4;
SELECT h.x, 100 / h.x, count(*) FROM h JOIN l ON h.x = l.id WHERE size > 0 GROUP BY 1, 2;
SELECT l.id, l.id + 1, name, size / 10, count(*) FROM h RIGHT JOIN l ON h.x = l.id GROUP BY l.id, l.id + 1, size / 10;
-- What looks different although it is equal: floats, and numerics of any scale.
SELECT f, f::text, count(*) FROM h WHERE f > 0 GROUP BY f, f::text;
SELECT count(*) FROM h GROUP BY f, f::text;
CREATE DOMAIN number AS float8;
ALTER TABLE h ADD COLUMN dn number;
UPDATE h SET dn = f;
SELECT count(*) FROM h GROUP BY dn, dn::text;
SELECT dn::text, count(*) FROM h GROUP BY 1;
SELECT trim_scale(u), u::text, count(*) FROM h GROUP BY u, u::text;
SELECT count(*) FROM h GROUP BY u, scale(u);
SELECT u * 2 > 3, count(*) FROM h GROUP BY u, u * 2;
-- Not from keys alone, not from a key that is an expression, volatile.
SELECT x, x + y, count(*) FROM h GROUP BY x, x + y;
SELECT x % 5, x % 5 + 1, count(*) FROM h GROUP BY x % 5, x % 5 + 1;
SELECT count(*) > 30 FROM h GROUP BY x, x + random();
-- Grouping sets have keys of their own.
SELECT x, x - 1, count(*) FROM h GROUP BY ROLLUP (x, x - 1);
SELECT d, to_char(d, 'MM'), count(*) FROM h GROUP BY GROUPING SETS ((d), (to_char(d, 'MM')));
-- Beside what folds: a key and an argument that PostgreSQL computes of other columns.
SELECT x, x - 1, to_char(d, 'YYYY-MM'), count(*) FROM h GROUP BY 1, 2, 3;
SELECT x, x - 1, (x - 1) * 2, sum(length(to_char(d, 'Month'))) FROM h GROUP BY 1, 2, 3;
