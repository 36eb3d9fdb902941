-- Shapes of joins: what streams, what is built into what, and what multiplies rows last.
CREATE TABLE sales (id int, customer int, day int, product int, store int, amount int);
CREATE TABLE refunds (id int, customer int, day int, reason int, amount int);
CREATE TABLE customers (id int PRIMARY KEY, region int, segment int);
CREATE TABLE days (id int PRIMARY KEY, month int);
CREATE TABLE products (id int PRIMARY KEY, brand int, name text);
CREATE TABLE brands (id int PRIMARY KEY, label text);
CREATE TABLE stores (id int PRIMARY KEY, city int);
CREATE TABLE reasons (id int PRIMARY KEY, kind int);
CREATE TABLE blocked (customer int, since int);
INSERT INTO sales SELECT i, i * 7 % 200, i % 50, i * 13 % 2000, i % 20, i % 97 FROM generate_series(1, 20000) i;
INSERT INTO refunds SELECT i, i * 11 % 200, i * 3 % 50, i % 100, i % 89 FROM generate_series(1, 10000) i;
INSERT INTO customers SELECT i, i % 10, i % 7 FROM generate_series(0, 199) i;
INSERT INTO days SELECT i, i / 10 FROM generate_series(0, 49) i;
INSERT INTO products SELECT i, i % 40, 'product' || i FROM generate_series(0, 1999) i;
INSERT INTO brands SELECT i, 'brand' || i FROM generate_series(0, 39) i;
INSERT INTO stores SELECT i, i % 5 FROM generate_series(0, 19) i;
INSERT INTO reasons SELECT i, i % 50 FROM generate_series(0, 99) i;
INSERT INTO blocked SELECT i % 60, i FROM generate_series(1, 300) i;
ANALYZE sales;
ANALYZE refunds;
ANALYZE customers;
ANALYZE days;
ANALYZE products;
ANALYZE brands;
ANALYZE stores;
ANALYZE reasons;
ANALYZE blocked;
-- A star stays a chain of probes, the one that drops most first.
-- shape: sales(t, p, c)
SELECT c.region, count(*), sum(amount) FROM sales JOIN stores t ON store = t.id JOIN products p ON product = p.id
  JOIN customers c ON customer = c.id WHERE t.city = 1 AND p.brand < 20 GROUP BY c.region;
-- Two facts: the filter of the one that is built goes into its build, what multiplies comes last.
-- shape: s(p, r(reasons))
SELECT count(*), sum(s.amount + r.amount) FROM sales s JOIN refunds r ON s.customer = r.customer JOIN reasons ON r.reason = reasons.id
  JOIN products p ON s.product = p.id WHERE reasons.kind = 3 AND p.brand = 7;
-- shape: s(r(reasons))
SELECT s.store, count(*), sum(r.amount) FROM sales s JOIN refunds r USING (customer, day) JOIN reasons ON r.reason = reasons.id
  WHERE reasons.kind < 2 GROUP BY s.store;
-- shape: r(s(t))
SELECT count(*), sum(r.amount) FROM sales s JOIN refunds r USING (customer) JOIN stores t ON s.store = t.id WHERE t.city = 2 AND s.day = 3;
-- A snowflake: the filter behind the table that it filters.
-- shape: s(p(b))
SELECT count(*), sum(amount), min(p.name) FROM sales s JOIN products p ON s.product = p.id JOIN brands b ON p.brand = b.id WHERE b.label = 'brand8';
-- shape: r(reasons, s(p(b)))
SELECT b.label, count(*), max(r.id) FROM sales s JOIN products p ON s.product = p.id JOIN brands b ON p.brand = b.id JOIN refunds r USING (customer, day)
  JOIN reasons ON r.reason = reasons.id WHERE reasons.kind = 9 AND b.id < 2 GROUP BY b.label;
-- Semijoins and antijoins drop rows of the side that they belong to.
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount) FROM sales s JOIN refunds r USING (customer) WHERE EXISTS (SELECT 1 FROM reasons WHERE reasons.id = r.reason AND kind = 5)
  AND s.store = 4;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount) FROM sales s JOIN refunds r USING (customer) WHERE NOT EXISTS (SELECT 1 FROM blocked b WHERE b.customer = s.customer AND since < r.reason)
  AND s.store = 4 AND r.day = 5;
-- offloaded: GpuPreAgg
SELECT count(*) FROM sales s JOIN refunds r USING (customer, day) JOIN products p ON p.id = s.product WHERE NOT EXISTS (SELECT 1 FROM blocked b WHERE b.customer = r.customer)
  AND EXISTS (SELECT 1 FROM brands b JOIN days d ON d.month = b.id % 5 WHERE b.id = p.brand AND d.id < 30);
-- Outer joins keep their place; what is before them is searched.
-- offloaded: GpuPreAgg
SELECT count(*), count(b.since), sum(r.amount) FROM sales s JOIN refunds r USING (customer, day) JOIN reasons ON r.reason = reasons.id
  LEFT JOIN blocked b ON b.customer = s.customer AND b.since > s.amount WHERE reasons.kind = 3;
-- offloaded: GpuPreAgg
SELECT count(*), count(q.id), sum(q.amount) FROM customers c LEFT JOIN (SELECT r.* FROM refunds r JOIN sales s USING (customer, day) JOIN reasons ON r.reason = reasons.id
  JOIN products p ON s.product = p.id WHERE kind = 1 AND p.brand = 3) q ON q.customer = c.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(q.id), count(d.id) FROM (SELECT r.* FROM refunds r JOIN sales s USING (customer, day) JOIN reasons ON r.reason = reasons.id WHERE kind = 1) q
  FULL JOIN days d ON d.id = q.day AND d.month < 3;
SELECT count(*), count(p.id), sum(coalesce(p.brand, -1)) FROM sales s JOIN refunds r USING (customer, day) FULL JOIN products p ON p.id = s.product AND p.brand < 5
  LEFT JOIN reasons ON reasons.id = r.reason WHERE coalesce(s.store, 1) = 1;
-- Conditions of several tables, and of no equality.
-- offloaded: GpuPreAgg
SELECT count(*), sum(r.amount) FROM sales s JOIN refunds r ON s.customer = r.customer AND s.amount < r.amount JOIN products p ON p.id = s.product + r.reason
  WHERE s.day = 4 AND p.brand < 10;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount) FROM sales s JOIN days d ON d.id = s.day JOIN stores t ON t.id = s.store AND t.city + d.month > 7 JOIN refunds r ON r.customer = s.customer
  AND r.day BETWEEN d.month AND d.month + t.city;
-- offloaded: GpuPreAgg
SELECT count(*) FROM stores t, days d, reasons WHERE t.city < d.month AND reasons.kind < 3;
-- One column of many tables, and one that is a constant.
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount + r.amount) FROM sales s JOIN refunds r ON s.customer = r.customer JOIN customers c ON c.id = r.customer JOIN blocked b ON b.customer = c.id
  WHERE c.region = 3 AND s.day = 1 AND b.since < 120;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount + r.amount) FROM sales s JOIN refunds r ON s.customer = r.customer JOIN customers c ON c.id = r.customer JOIN days d ON d.id = s.day WHERE c.id = 77;
-- Rows of other plans can be built, and do not stream.
-- offloaded: GpuPreAgg
SELECT count(*), sum(q.n) FROM sales s JOIN (SELECT customer, count(*) n FROM refunds GROUP BY customer) q USING (customer) JOIN products p ON p.id = s.product WHERE p.brand = 3;
-- offloaded: GpuPreAgg
SELECT count(*), sum(q.n), sum(r.amount) FROM refunds r JOIN (SELECT customer, day, count(*) n FROM sales GROUP BY customer, day OFFSET 0) q USING (customer, day)
  JOIN reasons ON r.reason = reasons.id JOIN days d ON d.id = q.day WHERE kind = 4 AND d.month = 2;
-- Rows instead of groups.
-- offloaded: GpuJoin
SELECT s.id, r.id, p.name FROM sales s JOIN refunds r USING (customer, day) JOIN products p ON p.id = s.product JOIN reasons ON r.reason = reasons.id
  WHERE kind = 3 AND p.brand = 7;
-- Every shape has the same answer.
-- for shape in chain searched postgresql
SET pg_turbine.debug_join_shape = :shape;
-- offloaded: GpuPreAgg
SELECT p.brand, count(*), sum(s.amount + r.amount) FROM sales s JOIN refunds r USING (customer, day) JOIN products p ON p.id = s.product JOIN reasons ON r.reason = reasons.id
  JOIN stores t ON t.id = s.store WHERE kind < 5 AND p.brand < 7 AND city > 1 GROUP BY p.brand;
-- offloaded: GpuPreAgg
SELECT count(*), count(b.since) FROM sales s JOIN refunds r USING (customer, day) LEFT JOIN blocked b ON b.customer = r.customer JOIN products p ON p.id = s.product
  WHERE p.brand < 7 AND b.since IS DISTINCT FROM 100;
-- offloaded: GpuPreAgg
SELECT count(*) FROM sales s JOIN refunds r USING (customer, day) WHERE NOT EXISTS (SELECT 1 FROM blocked b WHERE b.customer = r.customer AND b.since > s.amount)
  AND r.reason IN (SELECT id FROM reasons WHERE kind > 10);
-- end for
RESET pg_turbine.debug_join_shape;
-- More tables than are searched: in some orders, and in all.
SET join_collapse_limit = 20;
SET from_collapse_limit = 20;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount) FROM sales s JOIN stores t1 ON t1.id = s.store JOIN days d1 ON d1.id = s.day JOIN customers c1 ON c1.id = s.customer JOIN products p1 ON p1.id = s.product
  JOIN stores t2 ON t2.id = t1.city JOIN days d2 ON d2.id = d1.month JOIN customers c2 ON c2.id = c1.region JOIN brands b ON b.id = p1.brand JOIN reasons r1 ON r1.id = s.amount
  JOIN reasons r2 ON r2.id = r1.kind WHERE d2.id < 3 AND c2.segment = 1;
SET geqo = off;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount) FROM sales s JOIN stores t1 ON t1.id = s.store JOIN days d1 ON d1.id = s.day JOIN customers c1 ON c1.id = s.customer JOIN products p1 ON p1.id = s.product
  JOIN stores t2 ON t2.id = t1.city JOIN days d2 ON d2.id = d1.month JOIN customers c2 ON c2.id = c1.region JOIN brands b ON b.id = p1.brand JOIN reasons r1 ON r1.id = s.amount
  JOIN reasons r2 ON r2.id = r1.kind WHERE d2.id < 3 AND c2.segment = 1;
RESET geqo;
-- Tables that are empty, and shapes whose sets PostgreSQL has never considered.
DELETE FROM reasons;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount) FROM sales s JOIN refunds r USING (customer) JOIN reasons ON r.reason = reasons.id WHERE reasons.kind = 3;
SET join_collapse_limit = 1;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount + r.amount) FROM sales s JOIN refunds r USING (customer) JOIN products p ON s.product = p.id JOIN brands b ON p.brand = b.id WHERE b.id = 3 AND r.day = 7;
RESET join_collapse_limit;
RESET from_collapse_limit;
DROP TABLE sales, refunds, customers, days, products, brands, stores, reasons, blocked;
