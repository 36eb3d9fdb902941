-- Joins: every kind, several tables, NULLs, duplicates, empty sides, residual conditions.
CREATE TABLE fact (id int, a_id int, b_id bigint, c_id smallint, code text, price numeric(10,2), qty int, d date, f float8);
CREATE TABLE dim_a (id int PRIMARY KEY, grp int, name text, up int);
CREATE TABLE dim_b (id int, x int, y numeric(12,4), code varchar(10));
CREATE TABLE dim_c (id int8 NOT NULL, label char(6), d date);
CREATE TABLE top (id int PRIMARY KEY, label text, weight numeric(6,3));
CREATE TABLE nothing (id int, v text);
CREATE SEQUENCE numbers;
INSERT INTO fact SELECT i, nullif(i % 120, 7), i % 60, nullif(i % 13, 5), 'k' || i % 40, i / 10.0, i % 9, date '2001-01-01' + i % 700, (i % 64) / 4.0
  FROM generate_series(1, 6000) i;
INSERT INTO dim_a SELECT i, i % 5, 'name' || i, nullif(i % 11, 3) FROM generate_series(0, 99) i;
INSERT INTO dim_b SELECT i % 50, i, i / 8.0, 'k' || i % 30 FROM generate_series(1, 170) i;
INSERT INTO dim_b VALUES (NULL, 1, 1, 'k1'), (NULL, NULL, NULL, NULL), (3, NULL, NULL, NULL);
INSERT INTO dim_c SELECT i, 'c' || i % 4, date '2001-01-01' + i FROM generate_series(0, 12) i;
INSERT INTO top SELECT i, 'top' || i, i / 7.0 FROM generate_series(0, 8) i;
ANALYZE fact;
ANALYZE dim_a;
ANALYZE dim_b;
ANALYZE dim_c;
ANALYZE top;
ANALYZE nothing;
-- Inner joins.
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact JOIN dim_a ON fact.a_id = dim_a.id;
-- offloaded: GpuPreAgg
SELECT grp, count(*), sum(price), min(name), max(fact.id) FROM fact JOIN dim_a ON fact.a_id = dim_a.id GROUP BY grp;
-- offloaded: GpuJoin
SELECT fact.id, name, price FROM fact JOIN dim_a ON fact.a_id = dim_a.id WHERE fact.id < 300 AND grp <> 2;
-- offloaded: GpuJoin
SELECT fact.id, b.x, b.y, b.code FROM fact JOIN dim_b b ON fact.b_id = b.id WHERE qty = 3;
-- offloaded: GpuPreAgg
SELECT b.code, count(*), sum(fact.price * b.y), avg(b.y) FROM fact JOIN dim_b b ON fact.b_id = b.id GROUP BY b.code;
-- offloaded: GpuPreAgg
SELECT count(*), sum(fact.qty) FROM fact, dim_b b WHERE fact.b_id = b.id AND fact.price > b.y;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact, dim_b b WHERE fact.b_id = b.id AND (fact.qty > 3 OR b.x < 20) AND fact.qty + b.x > 30;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact, dim_b b WHERE fact.b_id + 1 = b.id * 2;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact JOIN dim_b b ON fact.b_id = b.id AND fact.code = b.code;
-- offloaded: GpuPreAgg
SELECT count(*), sum(b.x) FROM fact JOIN dim_b b ON fact.price < b.y WHERE fact.id < 200;
-- offloaded: GpuPreAgg
SELECT count(*) FROM dim_a, dim_b;
-- offloaded: GpuPreAgg
SELECT count(*) FROM dim_a a1, dim_a a2, top WHERE a1.grp = a2.grp AND a2.up = top.id;
-- offloaded: GpuJoin
SELECT 1 FROM dim_a, dim_c WHERE dim_a.id = dim_c.id;
-- Self joins.
-- offloaded: GpuPreAgg
SELECT count(*), sum(x.qty - y.qty) FROM fact x JOIN fact y ON x.id = y.a_id;
-- offloaded: GpuJoin
SELECT x.id, y.id, z.name FROM dim_a x JOIN dim_a y ON x.up = y.id JOIN dim_a z ON y.up = z.id;
-- Three to five tables, a star, a chain, a snowflake.
-- offloaded: GpuPreAgg
SELECT grp, label, count(*), sum(price) FROM fact JOIN dim_a ON a_id = dim_a.id JOIN dim_c ON c_id = dim_c.id GROUP BY grp, label;
-- offloaded: GpuPreAgg
SELECT top.label, count(*), sum(price * weight) FROM fact JOIN dim_a ON a_id = dim_a.id JOIN top ON dim_a.up = top.id GROUP BY top.label;
-- offloaded: GpuPreAgg
SELECT top.label, dim_c.label, count(*), count(b.y), max(b.y), sum(price) FROM fact JOIN dim_a ON a_id = dim_a.id JOIN top ON dim_a.up = top.id
  JOIN dim_c ON c_id = dim_c.id JOIN dim_b b ON b.id = fact.b_id AND b.x <> fact.qty GROUP BY top.label, dim_c.label;
-- offloaded: GpuJoin
SELECT fact.id, dim_a.name, top.label, dim_c.label, dim_c.d FROM fact JOIN (dim_a JOIN top ON dim_a.up = top.id) ON a_id = dim_a.id
  JOIN dim_c ON c_id = dim_c.id AND fact.d > dim_c.d WHERE fact.id % 17 = 3;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact, dim_a, dim_b, dim_c, top WHERE a_id = dim_a.id AND fact.b_id = dim_b.id AND c_id = dim_c.id AND up = top.id AND dim_b.x > top.id;
-- Outer joins.
-- offloaded: GpuPreAgg
SELECT count(*), count(dim_a.id), count(name), sum(grp) FROM fact LEFT JOIN dim_a ON a_id = dim_a.id;
-- offloaded: GpuPreAgg
SELECT grp, count(*), count(grp), sum(price) FROM fact LEFT JOIN dim_a ON a_id = dim_a.id GROUP BY grp;
-- offloaded: GpuJoin
SELECT fact.id, b.id, b.x, b.code FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id WHERE fact.id < 400;
-- offloaded: GpuPreAgg
SELECT count(*), count(b.id) FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id AND b.x > 40;
-- offloaded: GpuPreAgg
SELECT count(*), count(b.id) FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id AND fact.qty > 4;
-- offloaded: GpuPreAgg
SELECT count(*), count(b.id) FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id AND fact.qty + b.x > 40;
-- offloaded: GpuPreAgg
SELECT count(*), count(b.id) FROM fact LEFT JOIN dim_b b ON fact.price < b.y AND fact.id > 5990;
-- offloaded: GpuPreAgg
SELECT count(*), count(b.id) FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id WHERE b.x IS NULL OR b.x > fact.qty;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id WHERE coalesce(b.x, 0) < 30 AND fact.qty > 2;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id WHERE b.id IS NULL;
SELECT fact.id, b.x FROM fact LEFT JOIN dim_b b ON b.id = fact.b_id WHERE b.id IS NULL AND fact.id < 500;
-- offloaded: GpuPreAgg
SELECT count(*), count(top.id), count(dim_c.id) FROM fact LEFT JOIN dim_a ON a_id = dim_a.id LEFT JOIN top ON dim_a.up = top.id LEFT JOIN dim_c ON top.id = dim_c.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(top.id), sum(weight) FROM fact LEFT JOIN (dim_a JOIN top ON dim_a.up = top.id) ON a_id = dim_a.id;
-- offloaded: GpuPreAgg
SELECT count(*), count(top.id), count(dim_a.id) FROM fact LEFT JOIN (dim_a LEFT JOIN top ON dim_a.up = top.id) ON a_id = dim_a.id WHERE top.id IS DISTINCT FROM 4;
-- offloaded: GpuPreAgg
SELECT count(*), count(fact.id), count(dim_b.x) FROM dim_b RIGHT JOIN fact ON dim_b.id = fact.b_id;
-- offloaded: GpuPreAgg
SELECT count(*), count(fact.id) FROM fact RIGHT JOIN dim_b ON dim_b.id = fact.b_id AND fact.qty = 5;
-- offloaded: GpuJoin
SELECT a.id, b.id, c.id FROM dim_a a LEFT JOIN dim_b b ON a.id = b.id LEFT JOIN dim_c c ON b.x = c.id AND a.grp > 1;
SELECT count(*) FROM fact FULL JOIN dim_a ON a_id = dim_a.id;
SELECT count(*), count(fact.id), count(dim_b.id) FROM fact FULL JOIN dim_b ON fact.b_id = dim_b.id AND fact.id = dim_b.x;
SELECT count(*) FROM (fact FULL JOIN dim_a ON a_id = dim_a.id) JOIN dim_c ON c_id = dim_c.id;
-- Semijoins and antijoins.
-- offloaded: GpuPreAgg
SELECT count(*), sum(price) FROM fact WHERE a_id IN (SELECT id FROM dim_a WHERE grp = 1);
-- offloaded: GpuPreAgg
SELECT count(*), sum(price) FROM fact WHERE b_id IN (SELECT id FROM dim_b WHERE x > 60);
-- offloaded: GpuJoin
SELECT id, code FROM fact WHERE EXISTS (SELECT 1 FROM dim_b b WHERE b.id = fact.b_id AND b.y > fact.price) AND id < 900;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact WHERE NOT EXISTS (SELECT 1 FROM dim_b b WHERE b.id = fact.b_id);
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact WHERE NOT EXISTS (SELECT 1 FROM dim_b b WHERE b.id = fact.b_id AND b.x < fact.qty * 10);
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact WHERE EXISTS (SELECT 1 FROM dim_b b WHERE b.y > fact.price AND b.x < fact.qty);
-- offloaded: GpuPreAgg
SELECT qty, count(*) FROM fact WHERE EXISTS (SELECT 1 FROM dim_a JOIN top ON up = top.id WHERE dim_a.id = a_id AND weight > 0.5) GROUP BY qty;
SELECT count(*) FROM fact WHERE a_id NOT IN (SELECT id FROM dim_a WHERE grp = 1);
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.b_id IN (SELECT id FROM dim_b) AND NOT EXISTS (SELECT 1 FROM dim_c WHERE dim_c.id = c_id);
SELECT count(*) FROM fact, dim_a WHERE a_id = dim_a.id AND (fact.qty, dim_a.grp) IN (SELECT x, id FROM dim_b);
SELECT count(*) FROM dim_b b1 WHERE x IN (SELECT x FROM dim_b b2 WHERE b2.id = b1.id) AND code IN (SELECT code FROM fact);
-- Empty sides.
-- offloaded: GpuPreAgg
SELECT count(*), sum(fact.id) FROM fact JOIN nothing ON fact.id = nothing.id;
-- offloaded: GpuPreAgg
SELECT qty, count(*) FROM fact JOIN nothing ON fact.id = nothing.id GROUP BY qty;
-- offloaded: GpuPreAgg
SELECT count(*), count(v) FROM fact LEFT JOIN nothing ON fact.id = nothing.id;
-- offloaded: GpuJoin
SELECT nothing.*, dim_a.id FROM nothing LEFT JOIN dim_a USING (id);
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact WHERE NOT EXISTS (SELECT 1 FROM nothing WHERE nothing.id = fact.id);
SELECT count(*) FROM fact WHERE EXISTS (SELECT 1 FROM nothing WHERE nothing.id = fact.id);
SELECT count(*), max(name) FROM fact JOIN dim_a ON a_id = dim_a.id AND grp > 100;
SELECT count(*), max(name) FROM fact LEFT JOIN dim_a ON a_id = dim_a.id AND grp > 100 LEFT JOIN nothing ON nothing.id = dim_a.id;
SELECT count(*), count(x.id) FROM fact LEFT JOIN (dim_a JOIN nothing USING (id)) x ON a_id = x.id;
SELECT count(*) FROM nothing n1, nothing n2;
-- What stands above a join.
-- ordered
SELECT fact.id, name FROM fact JOIN dim_a ON a_id = dim_a.id ORDER BY fact.id DESC LIMIT 7;
-- offloaded: GpuPreAgg
SELECT DISTINCT grp, code FROM fact JOIN dim_a ON a_id = dim_a.id;
SELECT DISTINCT ON (grp) grp, fact.id FROM fact JOIN dim_a ON a_id = dim_a.id ORDER BY grp, fact.id;
SELECT grp, count(*) FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY grp HAVING count(*) > 900;
SELECT grp, sum(price), rank() OVER (ORDER BY sum(price)) FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY grp;
SELECT grp, up, count(*) FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY ROLLUP (grp, up);
SELECT grp, count(DISTINCT qty) FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY grp;
SELECT upper(name) || qty, price * 2 FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 40;
SELECT fact.id, generate_series(1, grp) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 40;
SELECT fact FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 40;
SELECT fact.ctid, dim_a.tableoid::regclass FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 40;
-- Inner sides that are no tables: their rows are sent.
-- offloaded: GpuPreAgg
SELECT count(*), sum(q.n) FROM fact JOIN (SELECT id, count(*) n FROM dim_b GROUP BY id) q ON q.id = fact.b_id;
-- offloaded: GpuJoin
SELECT fact.id, q.n FROM fact LEFT JOIN (SELECT id, count(*) n, max(code) m FROM dim_b GROUP BY id) q ON q.id = fact.b_id AND q.m < 'k2' WHERE fact.id < 300;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact JOIN (SELECT x, code FROM dim_b ORDER BY x LIMIT 30) q ON q.x = fact.qty;
-- offloaded: GpuPreAgg
SELECT count(*), count(q.id) FROM fact LEFT JOIN (SELECT id FROM dim_a UNION ALL SELECT id FROM dim_c) q ON q.id = fact.a_id;
-- offloaded: GpuPreAgg
SELECT count(*), sum(g) FROM fact JOIN generate_series(1, 50) g ON g = fact.b_id;
-- offloaded: GpuPreAgg
SELECT v.t, count(*) FROM fact JOIN (VALUES (1, 'one'), (2, 'two'), (2, 'zwei'), (NULL, NULL)) v(id, t) ON v.id = fact.qty GROUP BY v.t;
-- offloaded: GpuPreAgg
WITH q AS MATERIALIZED (SELECT id, grp FROM dim_a WHERE grp < 3) SELECT q.grp, count(*) FROM fact JOIN q ON a_id = q.id LEFT JOIN q q2 ON q2.id = fact.qty GROUP BY q.grp;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact JOIN (SELECT a.id, t.label FROM dim_a a JOIN top t ON a.up = t.id OFFSET 0) q ON q.id = fact.a_id;
SELECT count(*) FROM (SELECT a_id, count(*) n FROM fact GROUP BY a_id) x JOIN (SELECT id, count(*) n FROM dim_b GROUP BY id) y ON x.n = y.n;
SELECT count(*) FROM fact JOIN (SELECT nextval('numbers') n, id FROM dim_a) q ON q.id = fact.a_id;
SELECT dim_a.id, (SELECT count(*) FROM fact JOIN (SELECT id FROM dim_c WHERE dim_c.id < dim_a.id OFFSET 0) c ON c_id = c.id WHERE a_id = dim_a.id) FROM dim_a WHERE id < 20;
CREATE TABLE parts (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (50);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (50) TO (1000);
INSERT INTO parts SELECT i, 'p' || i % 7 FROM generate_series(0, 99) i;
CREATE TEMPORARY TABLE fleeting AS SELECT i AS id, i % 4 AS k FROM generate_series(1, 60) i;
ANALYZE parts;
ANALYZE fleeting;
-- offloaded: GpuPreAgg
SELECT parts.v, count(*), sum(price) FROM fact JOIN parts ON parts.id = fact.a_id WHERE parts.id <> 60 GROUP BY parts.v;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact WHERE EXISTS (SELECT 1 FROM parts WHERE parts.id = fact.a_id AND v > 'p3');
-- offloaded: GpuPreAgg
SELECT k, count(*) FROM fact LEFT JOIN fleeting ON fleeting.id = fact.qty JOIN parts ON parts.id = fact.b_id GROUP BY k;
SELECT count(*) FROM parts JOIN fleeting USING (id);
CREATE INDEX ON parts (id);
ANALYZE parts;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*), sum(parts.id) FROM dim_c JOIN parts ON parts.id = dim_c.id * 3;
SELECT count(*), count(parts.id) FROM dim_c LEFT JOIN parts ON parts.id = dim_c.id * 30 AND parts.v <> 'p6';
SELECT count(*), sum(q.id) FROM dim_c JOIN (SELECT * FROM parts UNION ALL SELECT * FROM parts) q ON q.id = dim_c.id * 3;
RESET enable_hashjoin;
RESET enable_mergejoin;
DROP TABLE parts, fleeting;
SELECT * FROM (SELECT grp, sum(price) s FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY grp) q JOIN top ON q.grp = top.id;
SELECT count(*) FROM (SELECT a_id, count(*) n FROM fact GROUP BY a_id) q JOIN dim_a ON q.a_id = dim_a.id WHERE n > 10;
SELECT count(*) FROM fact JOIN (SELECT DISTINCT id FROM dim_b) q ON q.id = fact.b_id;
SELECT count(*) FROM fact JOIN generate_series(1, 50) g ON g = fact.b_id;
SELECT count(*) FROM fact JOIN (VALUES (1, 'one'), (2, 'two')) v(id, t) ON v.id = fact.qty;
WITH q AS MATERIALIZED (SELECT id, grp FROM dim_a WHERE grp < 3) SELECT grp, count(*) FROM fact JOIN q ON a_id = q.id GROUP BY grp;
SELECT count(*) FROM fact JOIN LATERAL (SELECT x FROM dim_b WHERE dim_b.id = fact.b_id ORDER BY x LIMIT 1) l ON l.x > fact.qty;
SELECT count(*) FROM dim_a CROSS JOIN LATERAL (SELECT count(*) c FROM fact WHERE fact.a_id = dim_a.id) l WHERE l.c > 3;
SELECT dim_a.id, (SELECT count(*) FROM fact JOIN dim_c ON c_id = dim_c.id WHERE a_id = dim_a.id) FROM dim_a WHERE id < 20;
SELECT dim_a.id, (SELECT max(b.x) FROM dim_b b JOIN dim_c ON b.id = dim_c.id WHERE b.x > dim_a.id) FROM dim_a WHERE id > 80;
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE price > (SELECT avg(y) FROM dim_b);
SELECT count(*) FROM fact TABLESAMPLE BERNOULLI (100) JOIN dim_a ON a_id = dim_a.id;
SELECT fact.id FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 30 FOR UPDATE OF dim_a;
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE random() >= 0;
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE random() < 2 AND false;
SELECT id FROM dim_a UNION SELECT fact.qty FROM fact JOIN dim_b ON fact.b_id = dim_b.id EXCEPT SELECT id FROM dim_c;
-- Writing what a join returns.
CREATE TABLE made AS SELECT fact.id, name, label FROM fact JOIN dim_a ON a_id = dim_a.id LEFT JOIN dim_c ON c_id = dim_c.id;
SELECT count(*), count(label), min(name) FROM made;
INSERT INTO made SELECT fact.id, top.label, NULL FROM fact JOIN top ON fact.qty = top.id WHERE fact.id < 100;
SELECT label, count(*) FROM made GROUP BY label;
UPDATE made SET name = dim_a.name FROM dim_a JOIN top ON up = top.id WHERE made.id = dim_a.id;
DELETE FROM made USING dim_a WHERE made.id = dim_a.id AND dim_a.grp = 2;
SELECT count(*), max(name) FROM made;
DROP TABLE made;
-- Settings.
SET pg_turbine.enable_join = off;
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE qty = 1;
RESET pg_turbine.enable_join;
SET pg_turbine.enable_aggregate = off;
-- offloaded: GpuJoin
SELECT grp, count(*) FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY grp;
RESET pg_turbine.enable_aggregate;
-- for method in hashjoin mergejoin nestloop
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET enable_:method = on;
-- offloaded: GpuPreAgg
SELECT grp, count(*), sum(price) FROM fact JOIN dim_a ON fact.a_id = dim_a.id LEFT JOIN dim_c ON c_id = dim_c.id AND qty > 2 GROUP BY grp;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact LEFT JOIN dim_a ON a_id = dim_a.id LEFT JOIN top ON up = top.id WHERE top.id IS NULL OR weight > 0.2;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact WHERE EXISTS (SELECT 1 FROM dim_a WHERE dim_a.id = a_id AND grp = 2) AND NOT EXISTS (SELECT 1 FROM dim_b WHERE dim_b.id = b_id);
SELECT count(*) FROM top LEFT JOIN dim_a ON up = top.id LEFT JOIN fact ON a_id = dim_a.id AND fact.qty > top.id;
-- end for
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
-- Workers: the kept plan must have none.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
-- offloaded: GpuPreAgg
SELECT grp, count(*), sum(price) FROM fact JOIN dim_a ON fact.a_id = dim_a.id LEFT JOIN dim_c ON c_id = dim_c.id GROUP BY grp;
-- offloaded: GpuJoin
SELECT x.id, y.id FROM fact x JOIN fact y ON x.id = y.a_id JOIN dim_b ON dim_b.x = y.qty WHERE x.id < 30;
-- But for those of a subquery, which has no other plan.
SET enable_sort = off;
-- offloaded: GpuPreAgg
-- shows: Node Type: Gather
SELECT grp, count(*), sum(g.first) FROM fact JOIN (SELECT a_id, (array_agg(qty))[1] * 0 + count(*)::int AS first FROM fact GROUP BY a_id) g USING (a_id) JOIN dim_a ON a_id = dim_a.id GROUP BY grp;
RESET enable_sort;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
SET geqo_threshold = 2;
-- offloaded: GpuPreAgg
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id JOIN dim_c ON c_id = dim_c.id;
RESET geqo_threshold;
SET from_collapse_limit = 1;
SET join_collapse_limit = 1;
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id JOIN dim_c ON c_id = dim_c.id LEFT JOIN top ON up = top.id;
RESET from_collapse_limit;
RESET join_collapse_limit;
-- Prepared statements.
PREPARE by_qty(int, text) AS SELECT grp, count(*), sum(price) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE qty = $1 AND name <> $2 GROUP BY grp;
EXECUTE by_qty(3, 'name4');
EXECUTE by_qty(NULL, 'x');
SET plan_cache_mode = force_generic_plan;
EXECUTE by_qty(4, 'name5');
EXECUTE by_qty(1, NULL);
PREPARE rows_of(int) AS SELECT fact.id, name FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < $1;
EXECUTE rows_of(20);
EXECUTE rows_of(-1);
EXECUTE rows_of(NULL);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- Cursors.
BEGIN;
DECLARE c CURSOR FOR SELECT fact.id, name FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 40 ORDER BY fact.id;
-- ordered
FETCH 5 FROM c;
MOVE 3 FROM c;
-- ordered
FETCH 2 FROM c;
DECLARE s SCROLL CURSOR FOR SELECT fact.id, name FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 40 ORDER BY fact.id;
FETCH LAST FROM s;
FETCH PRIOR FROM s;
COMMIT;
-- Changes of the own transaction and of the same command.
BEGIN;
DELETE FROM dim_a WHERE id < 30;
UPDATE fact SET qty = qty + 1 WHERE id % 3 = 0;
-- offloaded: GpuPreAgg
SELECT qty, count(*) FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY qty;
ROLLBACK;
SELECT qty, count(*) FROM fact JOIN dim_a ON a_id = dim_a.id GROUP BY qty;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id;
COMMIT;
-- Errors are those of rows that are reached.
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE 10 / (grp - 9) < 3;
SELECT count(*) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE 10 / grp < 3;
SELECT sum(10 / grp) FROM fact JOIN dim_a ON a_id = dim_a.id WHERE fact.id < 0;
SELECT fact.id, 10 / grp FROM fact JOIN dim_a ON a_id = dim_a.id;
DROP TABLE fact, dim_a, dim_b, dim_c, top, nothing;
DROP SEQUENCE numbers;
