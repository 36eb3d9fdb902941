-- GpuScan beside filters that stay with PostgreSQL: a filter that may raise an error is not evaluated of rows that an earlier
-- one has dropped. PostgreSQL orders them by their cost, and a hashed subquery costs less than a division.
CREATE TABLE orders (id int, region int NOT NULL, amount int, note text, long text);
CREATE TABLE refused (region int, amount int);
INSERT INTO orders SELECT i, i % 13, i % 1000, CASE WHEN i % 13 = 0 THEN 'none' ELSE (i % 77)::text END, CASE WHEN i % 50 = 0 THEN repeat(i::text, 9000) ELSE 'x' || i % 13 END FROM generate_series(1, 20000) i;
INSERT INTO refused SELECT r, a FROM generate_series(0, 4) r, generate_series(1, 3) a;
ANALYZE orders;
ANALYZE refused;
CREATE FUNCTION is_wanted(r int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 1 AS $$ BEGIN RETURN r > 0; END $$;
CREATE FUNCTION is_kept(r int) RETURNS boolean LANGUAGE plpgsql VOLATILE COST 1 AS $$ BEGIN RETURN r > 0; END $$;
-- The subquery drops the rows that the division would fail for.
-- for what in 0 1
-- offloaded: GpuScan
SELECT id FROM orders WHERE 10 / region > :what AND region NOT IN (SELECT region FROM refused);
-- offloaded: GpuScan
SELECT id FROM orders WHERE 10 / region > :what AND region NOT IN (SELECT region FROM refused WHERE region > :what);
-- offloaded: GpuScan
SELECT id FROM orders WHERE 10 / region + 1 > :what AND region IN (SELECT region + 2 FROM refused) IS NOT TRUE AND amount > 30 AND region NOT IN (SELECT region FROM refused);
-- offloaded: GpuScan
SELECT id, (SELECT count(*) FROM refused r WHERE r.region = o.region) FROM orders o WHERE 10 / region > :what AND amount < 900 AND region NOT IN (SELECT region FROM refused) AND is_wanted(region);
-- Rows that PostgreSQL decompresses for the device.
-- offloaded: GpuScan
SELECT id FROM orders WHERE long >= 'a' AND 10 / region > :what AND region NOT IN (SELECT region FROM refused);
-- A subquery of the row costs more than the division, and comes after it.
SELECT id FROM orders o WHERE 10 / region > :what AND NOT EXISTS (SELECT 1 FROM refused r WHERE r.region = o.region OFFSET 0) AND id < 300;
-- offloaded: GpuScan
SELECT id FROM orders o WHERE region > 0 AND 10 / region > :what AND EXISTS (SELECT 1 FROM refused r WHERE r.region = o.region OFFSET 0) AND id < 300;
-- Functions that devices do not have.
-- offloaded: GpuScan
SELECT id FROM orders WHERE 10 / region > :what AND is_wanted(region) AND amount > 30;
-- offloaded: GpuScan
SELECT id FROM orders WHERE 10 / region > :what AND is_kept(region) AND amount > 30;
-- offloaded: GpuScan
SELECT id FROM orders WHERE 10 / region > :what AND is_wanted(region) AND amount > 30 AND is_kept(region) AND 1000 / (region - 1) > 3;
SELECT id FROM orders WHERE 10 / region > :what AND is_kept(region);
-- Joins and aggregations above the scan.
SELECT count(*), sum(amount) FROM orders WHERE 10 / region > :what AND region NOT IN (SELECT region FROM refused);
SELECT o.region, count(*) FROM orders o JOIN refused r ON r.amount = o.amount WHERE 10 / o.region > :what AND o.region NOT IN (SELECT region FROM refused) GROUP BY o.region;
-- end for
-- What is left for the device is what may run before: not what a volatile filter would have dropped.
SELECT id FROM orders WHERE 10 / region > 2 AND is_kept(region) AND amount > 30;
-- An index's condition, a parameter, a security barrier.
CREATE INDEX ON orders (region);
PREPARE by_parameter (int) AS SELECT id FROM orders WHERE 10 / region > $1 AND region NOT IN (SELECT region FROM refused WHERE amount < $1);
EXECUTE by_parameter (2);
EXECUTE by_parameter (0);
CREATE VIEW guarded WITH (security_barrier) AS SELECT * FROM orders WHERE region NOT IN (SELECT region FROM refused);
SELECT id FROM guarded WHERE 10 / region > 2;
SELECT id FROM guarded WHERE 10 / region > 2 AND amount > 30;
-- Rows that a concurrent update replaces are looked at in the same order.
UPDATE orders SET amount = amount + 1 WHERE 10 / region > 2 AND region NOT IN (SELECT region FROM refused);
SELECT sum(amount) FROM orders;
