-- Columns that a primary key determines: returned without being grouped by.
CREATE TABLE owner (id int PRIMARY KEY, name varchar(20), city char(8), balance numeric(12,2), free numeric, ratio float8, since date, note text);
INSERT INTO owner SELECT i, nullif('owner ' || i % 40, 'owner 7'), 'city' || i % 3, i * 1.25, CASE i % 3 WHEN 0 THEN i WHEN 1 THEN i + 0.0 END, CASE i % 20 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 ELSE i / 8.0 END, date '2001-01-01' + i, repeat('n', i % 50) FROM generate_series(1, 200) i;
CREATE TABLE part_of (id int PRIMARY KEY, owner int, kind int, price numeric(10,2));
INSERT INTO part_of SELECT i, nullif(i % 190, 5), i % 6, i % 97 / 4.0 FROM generate_series(1, 3000) i;
CREATE TABLE pair (a int, b int, label text, amount bigint, PRIMARY KEY (a, b));
INSERT INTO pair SELECT i % 30, i / 30, 'label ' || i, i FROM generate_series(0, 899) i;
ANALYZE owner;
ANALYZE part_of;
ANALYZE pair;
-- offloaded: GpuPreAgg
SELECT o.id, o.name, o.city, o.balance, o.since, count(*), sum(p.price) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id;
-- offloaded: GpuPreAgg
SELECT o.name, o.free, o.ratio, sum(p.price) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id;
-- offloaded: GpuPreAgg
SELECT o.id, o.note || '!', o.balance * 2, count(*) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id HAVING o.balance > 20 AND max(p.price) > 10;
-- offloaded: GpuPreAgg
SELECT o.name, o.city, count(p.id) FROM owner o LEFT JOIN part_of p ON p.owner = o.id AND p.kind > 3 GROUP BY o.id;
-- offloaded: GpuPreAgg
SELECT o.id, o.name, p.kind, min(p.price) FROM owner o RIGHT JOIN part_of p ON p.owner = o.id GROUP BY o.id, p.kind;
-- offloaded: GpuPreAgg
SELECT o.id, o.name, o.city, p.kind, min(p.price) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id, o.name, o.city, o.balance, p.kind;
-- offloaded: GpuPreAgg
SELECT p.label, p.amount, p.a, count(*) FROM pair p JOIN part_of q ON q.kind = p.a GROUP BY p.a, p.b;
-- ordered
-- offloaded: GpuSort
SELECT o.id, o.city, o.since, sum(p.price) AS total FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id ORDER BY total DESC, o.id LIMIT 20;
-- offloaded: GpuPreAgg
SELECT id, name, count(*) FROM owner GROUP BY id;
SELECT o.id, o.name, count(DISTINCT p.kind) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id;
SELECT o.id, o.name, p.kind, count(*) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY GROUPING SETS ((o.id, o.name, p.kind), (o.id, o.name), ());
SELECT o.id, o.name, (SELECT count(*) FROM pair WHERE a = o.id) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id;
SELECT o, count(*) FROM owner o JOIN part_of p ON p.owner = o.id GROUP BY o.id;
