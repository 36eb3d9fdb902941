-- NOT IN of a subquery: antijoins where that is the same, with and without NULLs on either side.
CREATE TABLE orders (id int NOT NULL, customer int, code varchar(8), amount numeric(9,2), region int NOT NULL);
CREATE TABLE refused (customer int, code text, region int NOT NULL, since date, wide bigint NOT NULL);
CREATE TABLE few (x int);
INSERT INTO orders SELECT i, nullif(i % 300, 7), 'c' || i % 40, i % 97 / 4.0, i % 13 FROM generate_series(1, 20000) i;
INSERT INTO refused SELECT i % 200, 'c' || i % 25, i % 9, date '2020-01-01' + i, i % 150 FROM generate_series(1, 2000) i;
ANALYZE orders;
ANALYZE refused;
ANALYZE few;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), sum(amount) FROM orders WHERE region NOT IN (SELECT region FROM refused);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT region, count(*) FROM orders WHERE customer NOT IN (SELECT region FROM refused WHERE since > '2021-01-01') GROUP BY region;
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), min(id) FROM orders WHERE customer NOT IN (SELECT customer FROM refused WHERE region < 4);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), min(id) FROM orders WHERE id NOT IN (SELECT wide FROM refused) AND code NOT IN (SELECT code FROM refused WHERE code < 'c2');
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM orders o JOIN refused r ON r.wide = o.id WHERE o.customer NOT IN (SELECT x FROM few) AND r.customer NOT IN (SELECT customer FROM orders WHERE amount < 5 AND customer < 90);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM orders o LEFT JOIN refused r ON r.wide = o.id AND r.region = 3 WHERE r.region NOT IN (SELECT region FROM refused WHERE wide < 3);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM orders WHERE customer NOT IN (SELECT r.customer FROM orders o LEFT JOIN refused r ON r.wide = o.id WHERE o.id < 160);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM orders WHERE customer NOT IN (SELECT customer FROM refused GROUP BY customer HAVING count(*) > 9 AND min(wide) > 30);
-- subplans: 1
SELECT count(*) FROM orders WHERE region + 1 NOT IN (SELECT region FROM refused WHERE wide < 4 GROUP BY ROLLUP (region));
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*) FROM orders WHERE id IN (SELECT wide FROM refused r WHERE r.customer NOT IN (SELECT region FROM orders WHERE amount > 9) AND r.region > 2);
-- NULLs come and go, and so do all rows.
-- for what in 1 2 3 4
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), count(customer) FROM orders WHERE customer NOT IN (SELECT customer FROM refused);
-- offloaded: GpuPreAgg
-- subplans: 0
SELECT count(*), count(customer) FROM orders WHERE customer NOT IN (SELECT customer FROM refused WHERE region = 5) AND region NOT IN (SELECT x FROM few);
UPDATE refused SET customer = NULL WHERE :what = 1 AND wide = 77;
UPDATE refused SET region = 4 WHERE :what = 2 AND region = 5;
INSERT INTO few SELECT nullif(:what, 3) WHERE :what > 2;
DELETE FROM refused WHERE :what = 3;
-- end for
-- What may raise, refers to the outer row, has several columns, or is no condition by itself, stays as it is.
INSERT INTO refused SELECT i % 200, 'c' || i % 25, i % 9, date '2020-01-01' + i, i % 150 FROM generate_series(1, 2000) i;
-- subplans: 1
SELECT count(*) FROM orders WHERE customer NOT IN (SELECT 10 / region FROM refused WHERE region > 0);
SELECT count(*) FROM orders WHERE customer NOT IN (SELECT 10 / region FROM refused);
-- subplans: 1
SELECT count(*) FROM orders o WHERE id < 90 AND customer NOT IN (SELECT customer FROM refused r WHERE r.region = o.region);
-- subplans: 1
SELECT count(*) FROM orders WHERE (customer, region) NOT IN (SELECT customer, region FROM refused);
-- subplans: 1
SELECT count(*) FROM orders WHERE amount > 20 OR customer NOT IN (SELECT customer FROM refused);
-- subplans: 1
SELECT id, customer NOT IN (SELECT customer FROM refused) FROM orders WHERE id < 50;
-- subplans: 1
SELECT count(*) FROM orders WHERE customer NOT IN (SELECT (random() * 0)::int + 1 FROM refused);
SELECT count(*) FROM orders WHERE NULL NOT IN (SELECT customer FROM refused);
DELETE FROM orders WHERE region NOT IN (SELECT region FROM refused);
SELECT count(*) FROM orders;
-- A column that a table that inherits may have as NULL; since 18 none may.
CREATE TABLE more_refused () INHERITS (refused);
-- before: 18
ALTER TABLE more_refused ALTER region DROP NOT NULL;
-- before: 18
INSERT INTO more_refused VALUES (1, 'x', NULL, NULL, 1);
SELECT count(*) FROM orders WHERE region NOT IN (SELECT region FROM refused WHERE wide < 7);
DROP TABLE orders, refused, more_refused, few;
