-- Join tables that are finished filter what is built after them: "semi x" below a build side.
CREATE TABLE sales (id int, customer int, day int, store int, amount int);
CREATE TABLE refunds (id int, customer int, day int, amount int);
CREATE TABLE wide_refunds (id bigint, customer bigint, code text, price numeric(9,2));
CREATE TABLE complaints (customer int, day int, code text, price numeric(9,2), since int);
CREATE TABLE customers (id int PRIMARY KEY, region int);
CREATE TABLE stores (id int PRIMARY KEY, city int);
INSERT INTO sales SELECT i, i * 7 % 2000, i % 50, i % 20, i % 97 FROM generate_series(1, 60000) i;
INSERT INTO refunds SELECT i, nullif(i * 11 % 2000, 5), i * 3 % 50, i % 89 FROM generate_series(1, 30000) i;
INSERT INTO wide_refunds SELECT i, i * 13 % 2000, 'code' || i % 300, i % 500 / 4.0 FROM generate_series(1, 30000) i;
INSERT INTO complaints SELECT nullif(i % 20, 7), i % 50, 'code' || i % 30, i % 25 / 4.0, i FROM generate_series(1, 200) i;
INSERT INTO customers SELECT i, i % 20 FROM generate_series(0, 1999) i;
INSERT INTO stores SELECT i, i % 5 FROM generate_series(0, 19) i;
ANALYZE sales;
ANALYZE refunds;
ANALYZE wide_refunds;
ANALYZE complaints;
ANALYZE customers;
ANALYZE stores;
-- An inner join of the table that streams filters what its other joins build.
-- shape: s(c, left r(semi c))
SELECT c.region, count(*), count(r.id), sum(r.amount) FROM sales s JOIN customers c ON c.id = s.customer LEFT JOIN refunds r ON r.customer = s.customer AND r.day = s.day
  WHERE c.region = 3 GROUP BY c.region;
-- shape: s(c, anti r(semi c))
SELECT count(*), sum(s.amount) FROM sales s JOIN customers c ON c.id = s.customer WHERE c.region = 3
  AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.customer = s.customer AND r.amount > s.amount);
-- shape: s(semi b, left r(semi b))
SELECT s.store, count(*), min(r.id) FROM sales s LEFT JOIN refunds r ON r.customer = s.customer AND r.day = s.day AND r.amount < s.amount
  WHERE EXISTS (SELECT 1 FROM complaints b WHERE b.customer = s.customer AND b.since > s.amount) GROUP BY s.store;
-- Nothing is saved where most keys are wanted, or where a key of the table is not looked up, or is of a narrower type.
-- shape: s(c, left r)
SELECT count(*), sum(r.price) FROM sales s JOIN customers c ON c.id = s.customer LEFT JOIN wide_refunds r ON r.customer = c.id AND r.id > s.id WHERE c.region < 3;
-- shape: s(c, left r)
SELECT count(*), count(r.id) FROM sales s JOIN customers c ON c.id = s.customer LEFT JOIN refunds r ON r.customer = s.customer AND r.day = s.day WHERE c.region > 0;
-- shape: s(semi b, left r)
SELECT count(*), min(r.id) FROM sales s LEFT JOIN refunds r ON r.customer = s.customer AND r.amount < s.amount
  WHERE EXISTS (SELECT 1 FROM complaints b WHERE b.customer = s.customer AND b.day = s.day);
-- The outer side's column is one that an outer join may have made NULL.
-- offloaded: GpuPreAgg
SELECT count(*), count(r.id) FROM sales s JOIN customers c ON c.id = s.customer LEFT JOIN complaints b ON b.customer = s.customer LEFT JOIN refunds r ON r.customer = b.customer
  WHERE c.region = 3 AND s.day < 4;
-- A table that multiplies rows, and another that is filtered by it.
-- for shape in auto filtered chain searched postgresql
SET pg_turbine.debug_join_shape = :shape;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount + r.amount), max(b.since) FROM sales s JOIN refunds r USING (customer) JOIN complaints b USING (customer) WHERE b.since < 30 AND s.day = 3;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount), sum(r.id) FROM sales s JOIN wide_refunds r ON r.customer = s.customer JOIN complaints b ON b.customer = s.customer JOIN stores t ON t.id = s.store
  WHERE t.city = 2 AND b.since < 50;
-- offloaded: GpuPreAgg
SELECT count(*), sum(r.price) FROM wide_refunds r JOIN complaints b USING (code) JOIN wide_refunds o USING (code) WHERE b.since < 20 AND r.id < 500 AND o.id < 900;
-- offloaded: GpuPreAgg
SELECT count(*), min(r.code) FROM wide_refunds r JOIN complaints b USING (price) JOIN wide_refunds o USING (price) WHERE b.since < 20 AND r.id < 500 AND o.id < 900;
-- Two tables that filter, and filtered tables within a build side.
-- offloaded: GpuPreAgg
SELECT count(*), sum(r.amount) FROM sales s JOIN refunds r USING (customer) JOIN complaints b USING (customer) WHERE s.day = 3 AND b.since < 60
  AND r.customer IN (SELECT customer FROM wide_refunds w WHERE w.price < 20) AND s.store IN (SELECT id FROM stores);
-- offloaded: GpuPreAgg
SELECT count(*), count(q.id) FROM sales s JOIN (SELECT r.id, r.customer, t.city FROM refunds r JOIN stores t ON t.id = r.day) q USING (customer) JOIN complaints b USING (customer)
  WHERE b.since < 60 AND s.day < 3 AND q.city < 4;
-- Rows without a match are not dropped: of an antijoin's table, behind outer joins, of NULL keys.
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.id) FROM sales s WHERE s.customer IN (SELECT customer FROM complaints) AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.customer = s.customer AND r.day = s.day);
-- offloaded: GpuPreAgg
SELECT count(*), count(r.id), count(b.since) FROM sales s LEFT JOIN complaints b ON b.customer = s.customer LEFT JOIN refunds r ON r.customer = s.customer AND r.day = s.day WHERE s.day < 4;
-- offloaded: GpuPreAgg
SELECT count(*), count(r.id), count(b.since) FROM (SELECT s.* FROM sales s JOIN complaints b USING (customer) WHERE since < 20) s FULL JOIN complaints b ON b.customer = s.customer
  LEFT JOIN refunds r ON r.customer = b.customer AND r.id < 3000;
-- offloaded: GpuPreAgg
SELECT count(*), count(w.id), sum(r.id) FROM sales s JOIN complaints b USING (customer) JOIN (refunds r LEFT JOIN wide_refunds w ON w.customer = r.customer AND w.id < 100) ON r.customer = s.customer
  WHERE b.since < 20 AND s.day = 1;
-- end for
RESET pg_turbine.debug_join_shape;
-- An empty table that filters.
DELETE FROM complaints;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.amount + r.amount) FROM sales s JOIN refunds r USING (customer) WHERE s.customer IN (SELECT customer FROM complaints b WHERE since > 3);
DROP TABLE sales, refunds, wide_refunds, complaints, customers, stores;
