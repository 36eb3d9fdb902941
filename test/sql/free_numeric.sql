-- numeric without precision and scale: forms guessed from statistics, what values print with, values that have no form.
CREATE TABLE f (id int, k int, price numeric, qty numeric NOT NULL, quotient numeric, mixed numeric, wide numeric(60,10), p numeric(10,2));
INSERT INTO f SELECT i, i % 5, round((i * 7919 % 100000) / 100.0, 2), i % 50, (i % 999)::numeric / (ARRAY[1, 10, 8, 7])[1 + i % 4],
  (ARRAY[1.5, 2.25, 3, 4.000, 0.0])[1 + i % 5], i * 1234567.125, i / 8.0 FROM generate_series(1, 6000) i;
INSERT INTO f VALUES (0, 0, NULL, 5.000, NULL, NULL, NULL, NULL);
ANALYZE f;
-- for column in price qty quotient mixed wide
-- offloaded: GpuScan
SELECT id, :column FROM f WHERE :column > 2.5;
-- offloaded: GpuScan
SELECT id FROM f WHERE :column = 3 OR :column IN (1.5, 4.0000, 12.25) OR :column IS NULL;
-- offloaded: GpuScan
SELECT id FROM f WHERE :column + p > 100 AND :column - 1 < 400 AND :column * 2 <> 7.0;
-- offloaded: GpuScan
SELECT id FROM f WHERE round(:column, 1) = 1.5 OR trunc(:column) = 7 OR abs(-:column) < 0.5;
-- offloaded: GpuPreAgg
SELECT count(:column), sum(:column), avg(:column), min(:column), max(:column) FROM f;
-- offloaded: GpuPreAgg
SELECT k, sum(:column), avg(:column), min(:column), max(:column), sum(:column * 3), sum(:column + p), avg(-:column) FROM f GROUP BY k;
-- offloaded: GpuPreAgg
SELECT :column, count(*), min(id) FROM f GROUP BY :column;
-- offloaded: GpuPreAgg
SELECT DISTINCT :column FROM f;
-- offloaded: GpuPreAgg
SELECT max(:column) FILTER (WHERE k = 3), sum(:column) FILTER (WHERE id < 0), min(coalesce(:column, 7.7700)) FROM f;
-- offloaded: GpuPreAgg
SELECT coalesce(:column, 0.000), :column % 2, count(*) FROM f GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT greatest(:column, 2.50), least(:column, p), count(*) FROM f GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT count(*) FROM f WHERE :column > (SELECT avg(:column) FROM f);
-- offloaded: GpuPreAgg
SELECT k, sum(:column) FROM f GROUP BY k HAVING sum(:column) > 100 AND min(:column) < 5;
-- end for
-- offloaded: GpuPreAgg
SELECT sum(price * qty), sum(price * (1 - p) * (1 + qty)), max(price * mixed) FROM f;
-- offloaded: GpuPreAgg
SELECT max(CASE WHEN k = 1 THEN mixed ELSE 7.00 END), k FROM f GROUP BY k;
-- Constants and parameters.
PREPARE above(numeric) AS SELECT count(*), sum(price * $1), max(price + $1) FROM f WHERE price > $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE above(3.14);
EXECUTE above(3.140);
EXECUTE above(3.1400000000000000000000000000000001);
EXECUTE above('NaN');
EXECUTE above(NULL);
EXECUTE above(1e40);
RESET plan_cache_mode;
DEALLOCATE above;
SELECT sum(price + (SELECT avg(price) FROM f)) FROM f;
SELECT id FROM f WHERE price < 1e30 AND qty > -1e300 AND id < 20;
-- Equal values that print differently: PostgreSQL shows one of them.
CREATE TABLE ties (k int, m numeric);
INSERT INTO ties SELECT i % 4, (ARRAY[1.5, 1.50, 2, 1.500])[1 + i % 4] FROM generate_series(1, 500) i;
ANALYZE ties;
-- offloaded: GpuPreAgg
SELECT k, m, count(*) FROM ties GROUP BY k, m;
-- offloaded: GpuPreAgg
SELECT k, min(m), max(m) FROM ties GROUP BY k;
SELECT m, count(*) FROM ties GROUP BY m;
SELECT min(m), max(m), sum(m), avg(m) FROM ties;
SELECT m + 1, count(*) FROM ties WHERE k IN (0, 2) GROUP BY m + 1;
SELECT count(*) FROM (SELECT DISTINCT m FROM ties) x;
-- Values that the guess does not hold.
INSERT INTO f (id, k, price, qty) VALUES (9001, 1, 0.00000000001, 1);
SELECT sum(price), max(price), count(*) FROM f;
SELECT id FROM f WHERE price < 0.01;
DELETE FROM f WHERE id = 9001;
INSERT INTO f (id, k, price, qty) VALUES (9002, 1, 12345678901234567890, 1), (9003, 2, 1e50, 2), (9004, 3, 'NaN', 3), (9005, 4, '-Infinity', 'Infinity');
-- for last in 9001 9002 9003 9004 9005
SELECT sum(price), avg(price), min(price), max(price), count(*) FROM f WHERE id <= :last;
SELECT k, sum(price), max(qty) FROM f WHERE id <= :last GROUP BY k;
SELECT id, price FROM f WHERE price > 900 AND id <= :last;
-- end for
SELECT qty, count(*) FROM f GROUP BY qty;
-- Without statistics, late columns, long zeros.
CREATE TABLE bare (id int, a numeric);
INSERT INTO bare SELECT i, round((i % 1000) / 100.0, 2) FROM generate_series(1, 3000) i;
-- offloaded: GpuPreAgg
SELECT count(*), sum(a), avg(a), min(a), max(a), sum(a * a * a) FROM bare;
-- offloaded: GpuPreAgg
SELECT a, count(*) FROM bare GROUP BY a;
INSERT INTO bare VALUES (0, 1.123456789);
SELECT sum(a), max(a) FROM bare;
ALTER TABLE bare ADD COLUMN late numeric DEFAULT 7.700;
INSERT INTO bare (id, late) SELECT i, i / 4.0 FROM generate_series(1, 100) i;
ANALYZE bare;
-- offloaded: GpuPreAgg
SELECT late, count(*) FROM bare GROUP BY late;
SELECT sum(late), max(late), min(late) FROM bare;
INSERT INTO bare (id, late) VALUES (1, 1.00000000000000000000000000000000000000000000000000000000000000000000);
SELECT sum(late), max(late) FROM bare;
SELECT count(*) FROM bare WHERE late = 1;
-- Joined: what a value prints with comes out of tables too, through several of them, and out of rows that LEFT joins make up.
CREATE TABLE item (id int, price numeric, k int);
CREATE TABLE maker (k int, discount numeric NOT NULL, name text);
CREATE TABLE sale (id int, item_id int, rate numeric);
INSERT INTO item SELECT i, (ARRAY[1.5, 1.50, 2, 7.000, NULL, 3.125])[1 + i % 6] * (ARRAY[1, 1.0])[1 + i % 2], i % 7 FROM generate_series(1, 300) i;
INSERT INTO maker SELECT i, (ARRAY[0, 0.0, 0.25, 1.50, 1.5])[1 + i], 'm' || i FROM generate_series(0, 4) i;
INSERT INTO sale SELECT i, nullif(i % 330, 7), (ARRAY[1.5, 2.00, 7, 0.1250, NULL])[1 + i % 5] FROM generate_series(1, 5000) i;
ANALYZE item;
ANALYZE maker;
ANALYZE sale;
-- offloaded: GpuJoin
SELECT s.id, i.price, s.rate, s.rate * i.price, s.rate + i.price FROM sale s JOIN item i ON i.id = s.item_id WHERE s.id % 3 = 0;
-- offloaded: GpuJoin
SELECT s.id, i.price, coalesce(i.price, 0.00), m.discount, m.discount + i.price FROM sale s LEFT JOIN item i ON i.id = s.item_id AND i.price > 1.5
  LEFT JOIN maker m ON m.k = i.k WHERE s.id < 1000;
-- offloaded: GpuJoin
SELECT s.id, x.price, x.discount FROM sale s LEFT JOIN (SELECT i.id, i.price, m.discount FROM item i JOIN maker m ON m.k = i.k) x ON x.id = s.item_id;
-- offloaded: GpuJoin
SELECT i.id, m.name FROM item i JOIN maker m ON m.discount = i.price;
-- offloaded: GpuPreAgg
SELECT m.name, sum(s.rate * i.price), avg(m.discount), sum(i.price - s.rate), sum(i.price) FILTER (WHERE s.rate = 2) FROM sale s JOIN item i ON i.id = s.item_id
  JOIN maker m ON m.k = i.k GROUP BY m.name;
-- offloaded: GpuPreAgg
SELECT sum(i.price), avg(i.price), min(m.discount), max(s.rate), count(*) FROM sale s LEFT JOIN item i ON i.id = s.item_id LEFT JOIN maker m ON m.k = i.k;
-- offloaded: GpuPreAgg
SELECT m.discount, count(*), sum(s.rate) FROM sale s JOIN item i ON i.id = s.item_id JOIN maker m ON m.k = i.k AND m.k < 3 GROUP BY m.discount;
-- offloaded: GpuPreAgg
SELECT i.price, s.rate, count(*) FROM sale s JOIN item i ON i.id = s.item_id GROUP BY i.price, s.rate;
-- offloaded: GpuPreAgg
SELECT m.k, min(i.price), max(i.price) FROM item i JOIN maker m ON m.k = i.k GROUP BY m.k;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.id) FROM sale s JOIN item i ON s.rate = i.price;
-- offloaded: GpuPreAgg
SELECT count(*), sum(s.rate) FROM sale s JOIN maker m ON s.rate < m.discount + 1;
-- offloaded: GpuPreAgg
SELECT count(*), sum(rate) FROM sale WHERE rate IN (SELECT price FROM item WHERE k = 2);
-- offloaded: GpuPreAgg
SELECT count(*), sum(rate) FROM sale s WHERE NOT EXISTS (SELECT FROM item i WHERE i.id = s.item_id AND i.price > s.rate);
-- Rows of another plan.
SELECT s.id, x.discount FROM sale s JOIN (SELECT k, discount FROM maker ORDER BY k OFFSET 1) x ON x.k = s.item_id;
INSERT INTO item VALUES (5, 1e50, 1), (6, 'NaN', 2), (8, 1.0000000000000000000000000000000000000000000000000000000000000000000001, 3);
SELECT s.id, i.price FROM sale s JOIN item i ON i.id = s.item_id WHERE s.item_id < 20;
SELECT m.name, sum(i.price), max(i.price), count(*) FROM sale s JOIN item i ON i.id = s.item_id JOIN maker m ON m.k = i.k GROUP BY m.name;
SELECT count(*) FROM sale s JOIN item i ON i.id = s.item_id;
DROP TABLE item, maker, sale;
DROP TABLE bare, ties, f;
-- GREATEST, LEAST, NULLIF and aggregates of booleans over every type.
CREATE TABLE g (id int, i int, j bigint, x float8, y float8, r real, n numeric(10,2), d date, ts timestamp, t text COLLATE "C", u varchar(9) COLLATE "C", c char(5), q bool);
INSERT INTO g SELECT i, CASE WHEN i % 7 > 0 THEN i % 50 END, CASE WHEN i % 5 > 0 THEN i % 49 END,
  (ARRAY['NaN', 'Infinity', '-Infinity', '0', '-0', '1.5'])[1 + i % 6]::float8, CASE WHEN i % 11 > 0 THEN (ARRAY['NaN', 'Infinity', '0', '-1.5'])[1 + i % 4]::float8 END,
  i / 3.0, i / 8.0, date '2000-01-01' + i % 100, timestamp '2000-02-01' - i % 100 * interval '1 hour', md5((i % 50)::text), left(md5((i % 51)::text), 9),
  left(md5((i % 52)::text), 3), CASE WHEN i % 4 > 0 THEN i % 3 = 0 END FROM generate_series(1, 3000) i;
ANALYZE g;
-- for extreme in greatest least
-- offloaded: GpuScan
SELECT id, i, j FROM g WHERE :extreme(i, j) > 40 OR :extreme(i, j) IS NULL;
-- offloaded: GpuPreAgg
SELECT sum(:extreme(i, j)), sum(:extreme(i, 25, j, NULL)), max(:extreme(r, x)), avg(:extreme(n, 100.5)) FROM g;
-- offloaded: GpuPreAgg
SELECT :extreme(x, y) + 0, :extreme(d, '2000-02-15'), count(*) FROM g GROUP BY 1, 2;
-- offloaded: GpuPreAgg
SELECT :extreme(t, u), :extreme(ts, d), :extreme(q, i > 20), count(*) FROM g GROUP BY 1, 2, 3;
-- offloaded: GpuScan
SELECT id FROM g WHERE :extreme(c, '55') = 'c4c' OR :extreme(id / nullif(i, 3), 7) = 7;
SELECT id FROM g WHERE :extreme(1, id / (i - 3)) > 0;
-- end for
-- offloaded: GpuPreAgg
SELECT nullif(i, 5), nullif(t, md5('3')), nullif(x, 'NaN') + 0, count(*) FROM g GROUP BY 1, 2, 3;
-- offloaded: GpuPreAgg
SELECT bool_and(q), bool_or(q), every(i > 0), bool_and(i > 0 AND q) FILTER (WHERE id > 5), bool_or(NULL::bool), every(q) FILTER (WHERE id < 0) FROM g;
-- offloaded: GpuPreAgg
SELECT i, bool_and(q), bool_or(q), every(j > 3), bool_and(x = 'NaN') FROM g GROUP BY i HAVING bool_or(q) OR count(*) > 50;
DROP TABLE g;
