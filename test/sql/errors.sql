-- Errors: raised exactly when PostgreSQL raises them, with its words, and never for rows that it does not reach.
CREATE TABLE x (id int, a int, b int, s int2, l bigint, f float8, g float4, n numeric(10,2), t text);
INSERT INTO x SELECT i, i, i % 10, i % 100, i, i, i, i, i::text FROM generate_series(1, 10000) i;
ANALYZE x;
-- offloaded: GpuScan
SELECT id FROM x WHERE a / b > 5;
-- Counted values that are never NULL.
CREATE TABLE filled (a int NOT NULL, b int NOT NULL);
INSERT INTO filled SELECT i, i % 10 FROM generate_series(1, 1000) i;
ANALYZE filled;
SELECT count(a / b) FROM filled;
-- offloaded: GpuPreAgg
SELECT count(a / (b + 1)) FROM filled;
-- offloaded: GpuScan
SELECT id FROM x WHERE b <> 0 AND a / b > 900;
SELECT id FROM x WHERE a / b > 5 AND b <> 0;
SELECT id FROM x WHERE CASE WHEN b = 0 THEN false ELSE a / b > 900 END;
SELECT id FROM x WHERE b = 0 OR a / b > 900;
-- ordered
SELECT id FROM x WHERE a / (a - 5000) > -5000 LIMIT 10;
SELECT id FROM x WHERE a / (a - 5000) = -1 LIMIT 3;
SELECT id FROM x WHERE a / (a - 5000) = -123456;
SELECT id FROM x WHERE a + 2147483640 > 0 LIMIT 5;
SELECT id FROM x WHERE a + 2147483640 > 0;
SELECT id FROM x WHERE a - 2147483647 < a + 1 AND a * 300000 > 0;
SELECT id FROM x WHERE s * 400::int2 > 0;
SELECT id FROM x WHERE s + 32700::int2 > 0;
SELECT id FROM x WHERE l + 9223372036854775800 > 0;
SELECT id FROM x WHERE l * 9223372036854775 > 0;
SELECT id FROM x WHERE -(l - 9223372036854775808) > 0;
SELECT id FROM x WHERE f / (f - 500) > 3;
SELECT id FROM x WHERE f * 1e308 > 1;
SELECT id FROM x WHERE f * 1e-320 * 1e-10 > 1;
SELECT id FROM x WHERE g * 1e38::float4 > 1;
SELECT id FROM x WHERE sqrt(f - 100) > 3;
SELECT id FROM x WHERE sqrt(500 - f) > 20;
SELECT id FROM x WHERE ln(f - 5) > 3;
SELECT id FROM x WHERE log(f - 10) > 3;
SELECT id FROM x WHERE exp(f) > 3;
SELECT id FROM x WHERE (f - 50) ^ 0.5 > 3;
SELECT id FROM x WHERE 0::float8 ^ (f - 50) > 3;
SELECT id FROM x WHERE n / (n - 50) > 3;
SELECT id FROM x WHERE a % (b - 3) = 0;
SELECT id FROM x WHERE l / (l - 77) > 0;
SELECT id FROM x WHERE f::int4 > 0 AND (f * 1e6)::int4 > 0;
SELECT id FROM x WHERE a::int2 > 0;
SELECT id FROM x WHERE (a * 10)::int2 > 0;
SELECT id FROM x WHERE (l * 1000000)::int4 > 0;
SELECT id FROM x WHERE t::int > 9990;
SELECT id FROM x WHERE substr(t, 1, -1) = '';
SELECT id FROM x WHERE f::numeric > 3 AND id < 10;
-- Blocking sinks.
-- offloaded: GpuPreAgg
SELECT sum(a / b) FROM x;
SELECT sum(a / b) FROM x WHERE b <> 0;
SELECT sum(a / nullif(b, 0)) FROM x;
-- offloaded: GpuPreAgg
SELECT b, sum(a / b) FROM x GROUP BY b;
SELECT a / b, count(*) FROM x GROUP BY a / b;
SELECT sum(a + 2147483640) FROM x;
SELECT sum(CASE WHEN b = 0 THEN 0 ELSE a / b END) FROM x;
SELECT count(*) FILTER (WHERE a / b > 3) FROM x;
SELECT count(*) FILTER (WHERE a / b > 3) FROM x WHERE b > 0;
SELECT max(sqrt(f - 5)) FROM x;
SELECT avg(l * 9223372036854775) FROM x;
SELECT b, count(*) FROM x GROUP BY b HAVING sum(a) / (b - 3) > 0;
SELECT sum(l) FROM (SELECT 9223372036854775807 AS l FROM x) y;
SELECT sum(g * 3e37::float4) FROM x;
SELECT sum(f * 1e304) FROM x;
-- Only dead rows would raise.
DELETE FROM x WHERE b = 0;
-- offloaded: GpuPreAgg
SELECT count(*) FROM x WHERE a / b > 5;
-- offloaded: GpuPreAgg
SELECT sum(a / b) FROM x;
UPDATE x SET b = NULL WHERE b = 5;
SELECT sum(a / b), count(b) FROM x;
-- A raising row behind a LIMIT, and in a sub-select that stops early.
INSERT INTO x VALUES (0, 1, 0, 0, 0, 0, 0, 0, '0');
SELECT id FROM x WHERE a / b >= 0 LIMIT 1;
SELECT EXISTS (SELECT 1 FROM x WHERE a / b > 5);
SELECT id FROM x WHERE a / b > 5;
SELECT (SELECT id FROM x WHERE a / b = 7 LIMIT 1) IS NOT NULL;
DROP TABLE x;
