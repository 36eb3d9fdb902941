-- Scalar subqueries that aggregate the rows of an outer row: joins with groups where that is the same, and not otherwise.
CREATE TABLE parts (id int PRIMARY KEY, brand int, size int, name text);
CREATE TABLE lines (id int, part int, supplier int, quantity numeric(9,2), price numeric(9,2), day date, code varchar(10), wide bigint, ratio float8);
CREATE TABLE supplies (part int, supplier int, available int, cost numeric(9,2), code text);
INSERT INTO parts SELECT i, i % 40, i % 7, 'part' || i FROM generate_series(1, 500) i;
INSERT INTO parts VALUES (501, NULL, NULL, NULL), (502, 1, 1, 'no lines');
INSERT INTO lines SELECT i, nullif(i * 7 % 480, 11), i % 20, i % 50 + i % 3 * 0.25, i % 997 / 4.0, date '2020-01-01' + i % 900, 'c' || i % 60,
  i * 7 % 480, i % 13 / 8.0 FROM generate_series(1, 6000) i;
INSERT INTO supplies SELECT nullif(i % 500, 3), i % 20, i % 300, i % 83 / 2.0, 'c' || i % 70 FROM generate_series(1, 1500) i;
ANALYZE parts;
ANALYZE lines;
ANALYZE supplies;
-- Of the shapes of TPC-H's 2, 17 and 20.
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT sum(l.price) / 7.0 FROM lines l, parts p WHERE p.id = l.part AND p.brand = 7 AND l.quantity < (SELECT 0.2 * avg(quantity) FROM lines WHERE part = p.id);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), sum(s.cost) FROM parts p, supplies s WHERE p.id = s.part AND p.size = 3
  AND s.cost = (SELECT min(i.cost) FROM supplies i, lines l WHERE p.id = i.part AND l.supplier = i.supplier AND l.id < 15);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), min(name) FROM parts WHERE id IN (SELECT part FROM supplies s WHERE supplier IN (SELECT supplier FROM lines WHERE code LIKE 'c1%')
  AND available > (SELECT 0.5 * sum(quantity) FROM lines l WHERE l.part = s.part AND l.supplier = s.supplier AND l.day >= date '2020-05-01'));
-- No rows: count is 0, and what is made of it; all else is NULL.
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.brand, count(*) FROM parts p WHERE (SELECT count(*) FROM lines l WHERE l.part = p.id) < 13 GROUP BY p.brand;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.id, (SELECT count(*) FROM lines l WHERE l.part = p.id AND l.price > 240), (SELECT sum(quantity) FROM lines l WHERE l.part = p.id AND l.id < 300) FROM parts p;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.id FROM parts p WHERE (SELECT sum(quantity) FROM lines l WHERE l.part = p.id AND l.id < 300) IS NULL;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.id FROM parts p WHERE coalesce((SELECT max(quantity) FROM lines l WHERE l.part = p.id AND l.id < 300), -1) < 3;
-- subplans: 1
SELECT p.id, (SELECT coalesce(count(*) * 2 + 1, 5) FROM lines l WHERE l.part = p.id) FROM parts p;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.id, (SELECT coalesce(max(l.id), -7) FROM lines l WHERE l.part = p.id AND l.price > 245), (SELECT CASE WHEN count(*) = 0 THEN 'none' ELSE 'some' END FROM lines l WHERE l.part = p.id) FROM parts p;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM parts p WHERE p.size > 2 OR 12 < (SELECT avg(l.quantity) FROM lines l WHERE l.part = p.id);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM parts p WHERE NOT (12 < (SELECT avg(l.quantity) FROM lines l WHERE l.part = p.id));
-- Keys of other types, several, the same one twice, and NULLs on either side.
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), sum(p.size) FROM parts p WHERE p.size < (SELECT count(*) FROM lines l WHERE l.wide = p.id);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), sum(s.cost) FROM supplies s WHERE s.cost > (SELECT avg(l.price) / 4 FROM lines l WHERE l.code = s.code);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM supplies s WHERE s.cost < (SELECT max(l.price) FROM lines l WHERE l.part = s.part AND l.part = s.available AND l.supplier <> 3);
-- subplans: 0
SELECT s.part, s.supplier, (SELECT count(DISTINCT l.day) FROM lines l WHERE l.part = s.part AND s.supplier = l.supplier) FROM supplies s WHERE available < 30;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), count(x) FROM (SELECT (SELECT min(l.code) FROM lines l WHERE l.part = p.brand) x FROM parts p) q;
-- In subqueries, beneath joins, in EXISTS, twice in one condition, with joins inside.
-- offloaded: GpuPreAgg
-- subplans: 0
WITH w AS (SELECT p.id, p.brand FROM parts p WHERE p.size <= (SELECT min(quantity) FROM lines l WHERE l.part = p.id)) SELECT count(*), sum(brand) FROM w JOIN supplies ON part = id;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM parts p WHERE EXISTS (SELECT 1 FROM supplies s WHERE s.part = p.id AND s.cost < (SELECT avg(price) FROM lines l WHERE l.supplier = s.supplier) / 6);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM parts p LEFT JOIN supplies s ON s.part = p.id WHERE (SELECT sum(quantity) FROM lines l WHERE l.part = p.id)
  > (SELECT sum(quantity) FROM lines l WHERE l.supplier = s.supplier AND l.id < 500);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.brand, max(p.id) FROM parts p JOIN supplies s ON s.part = p.id WHERE s.cost >= (SELECT avg(i.cost) FROM supplies i LEFT JOIN lines l ON l.part = i.part AND l.id < 90
  WHERE i.supplier = s.supplier) AND p.id NOT IN (SELECT size FROM parts WHERE size IS NOT NULL) GROUP BY p.brand;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.id, p.size, (SELECT max(l.id) FROM lines l WHERE l.part = p.id) AS last FROM parts p WHERE p.brand < 20 ORDER BY last DESC NULLS LAST, p.id LIMIT 7;
-- Groups that nobody can ask for are left out, by what is demanded of the table alone: not of one that an outer join may lack, nor by
-- a table of WITH, nor by what refers to another table.
-- shape: l_1(p_1)
SELECT sum(l.price) FROM lines l JOIN parts p ON p.id = l.part WHERE p.brand = 7 AND p.name LIKE 'part%' AND l.quantity < (SELECT 0.9 * avg(quantity) FROM lines l WHERE part = p.id);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.id, s.cost, (SELECT max(price) FROM lines l WHERE l.part = s.part AND s.supplier = l.supplier) FROM parts p LEFT JOIN supplies s ON s.part = p.id AND s.available < 9
  WHERE p.brand = 9 AND coalesce(s.supplier, 3) = 3 AND (SELECT min(price) FROM lines l WHERE l.part = s.part) IS NULL;
-- offloaded: GpuPreAgg
-- subplans: 0
WITH w AS MATERIALIZED (SELECT part FROM supplies WHERE cost > 39) SELECT count(*), sum(p.size) FROM parts p WHERE p.id IN (SELECT part FROM w) AND p.brand > 3
  AND p.size < (SELECT avg(quantity) FROM lines l WHERE p.id = l.part);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), sum(s.cost) FROM supplies s JOIN parts p ON p.id = s.part AND p.size < 5 WHERE s.available > p.brand AND s.supplier IN (SELECT supplier FROM lines WHERE id < 8)
  AND s.cost > (SELECT min(price) FROM lines l WHERE l.supplier = s.supplier AND l.part = s.part) AND s.cost < (SELECT max(price) FROM lines l WHERE l.supplier = s.supplier AND l.part = p.id);
-- A view, and parameters.
CREATE VIEW slow_parts AS SELECT p.*, (SELECT count(*) FROM lines l WHERE l.part = p.id) AS lines FROM parts p;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT brand, sum(lines) FROM slow_parts GROUP BY brand;
PREPARE cheap(int, numeric) AS SELECT count(*), sum(p.size) FROM parts p WHERE p.brand = $1 AND $2 < (SELECT avg(l.price) FROM lines l WHERE l.part = p.id AND l.price < $2 * 2);
EXECUTE cheap(7, 100);
EXECUTE cheap(3, 80);
EXECUTE cheap(NULL, 80);
SET plan_cache_mode = force_generic_plan;
EXECUTE cheap(7, 100);
RESET plan_cache_mode;
DEALLOCATE cheap;
-- Groups that nobody asks for, and rows that a join would drop, must not raise.
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.brand = 7 AND 2 < (SELECT max(100 / (l.id - 3)) FROM lines l WHERE l.part = p.id);
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.id > 479 AND 0 < (SELECT count(*) / (count(*) - 13) FROM lines l WHERE l.part = p.id);
-- subplans: 1
SELECT p.id, (SELECT 100 / count(*) FROM lines l WHERE l.part = p.id) FROM parts p WHERE p.id < 10;
-- subplans: 1
SELECT p.id, (SELECT 100 / count(*) FROM lines l WHERE l.part = p.id) FROM parts p;
-- subplans: 1
SELECT count(*) FROM parts p WHERE 10 / (p.id - 502) < 5 AND p.size < (SELECT avg(quantity) FROM lines l WHERE l.part = p.id);
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.size < (SELECT sum(ratio * 1e300 * 1e300) FROM lines l WHERE l.part = p.id);
-- subplans: 0
SELECT p.id, 1 / (SELECT count(*) FROM lines l WHERE l.part = p.id AND l.id > 40) FROM parts p WHERE p.id < 9;
-- subplans: 0
SELECT p.id, 1 / (SELECT count(*) FROM lines l WHERE l.part = p.id AND l.id > 40) FROM parts p;
-- Left as they are: other conditions between both, other levels, no aggregate, several rows, locked rows.
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.size < (SELECT avg(quantity) FROM lines l WHERE l.part < p.id AND l.id < 50) AND p.id < 50;
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.size < (SELECT avg(quantity) + p.brand FROM lines l WHERE l.part = p.id);
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.size < (SELECT quantity FROM lines l WHERE l.part = p.id);
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.size < (SELECT avg(quantity) FROM lines l WHERE l.part = p.id HAVING count(*) > 3);
-- subplans: 1
SELECT count(*) FROM parts p WHERE p.size < (SELECT avg(quantity) FROM lines l WHERE l.part = p.id GROUP BY l.part);
-- subplans: 2
SELECT count(*) FROM parts p WHERE p.id < 30 AND 5 < (SELECT max(s.cost) FROM supplies s WHERE s.part = p.id AND s.cost > (SELECT avg(l.price) / 9 FROM lines l WHERE l.part = p.id AND l.supplier = s.supplier));
-- subplans: 1
SELECT p.brand, (SELECT count(*) FROM lines l WHERE l.part = p.brand) FROM parts p GROUP BY p.brand;
-- subplans: 1
SELECT p.id FROM parts p WHERE p.size > (SELECT count(*) FROM lines l WHERE l.part = p.id) FOR UPDATE;
UPDATE parts p SET size = (SELECT count(*) FROM lines l WHERE l.part = p.id) WHERE p.brand = 5;
SELECT id, size FROM parts WHERE brand = 5;
DELETE FROM parts p WHERE 13 > (SELECT count(*) FROM lines l WHERE l.part = p.id AND l.price > 3);
SELECT count(*) FROM parts;
INSERT INTO supplies SELECT id, 1, (SELECT count(*) FROM lines l WHERE l.part = p.id), 0, 'x' FROM parts p;
SELECT available, count(*) FROM supplies WHERE code = 'x' GROUP BY available;
-- Rights of the tables inside, and row-level security.
CREATE ROLE correlated_reader;
GRANT SELECT ON parts TO correlated_reader;
SET ROLE correlated_reader;
SELECT count(*) FROM parts p WHERE p.size < (SELECT avg(quantity) FROM lines l WHERE l.part = p.id);
RESET ROLE;
GRANT SELECT ON lines TO correlated_reader;
ALTER TABLE lines ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_lines ON lines USING (supplier < 4);
SET ROLE correlated_reader;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT p.id, (SELECT count(*) FROM lines l WHERE l.part = p.id) FROM parts p;
RESET ROLE;
DROP VIEW slow_parts;
DROP TABLE parts, lines, supplies;
DROP ROLE correlated_reader;
