-- As lazy_errors, at default costs: the plans are PostgreSQL's own, so all that its order of evaluation decides is the same.
CREATE TABLE f (id int, k int, a int, v bigint, n numeric(10,2));
INSERT INTO f SELECT i, i % 1000, i, i % 77, i % 1013 FROM generate_series(1, 600000) i;
CREATE TABLE d (k int PRIMARY KEY, x int, y int, s text);
INSERT INTO d SELECT i, i % 10, i, 's' || i FROM generate_series(0, 999) i;
CREATE TABLE e (k int, z int, w int);
INSERT INTO e SELECT i, i % 7, i % 50 FROM generate_series(0, 4999) i;
-- Its rows are all dead.
CREATE TABLE dead (k int, x int);
INSERT INTO dead SELECT i, i FROM generate_series(1, 1000) i;
CREATE TABLE p (id int, k int, a int) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (50000);
CREATE TABLE p2 (a int, k int, id int);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (50000) TO (2000000);
INSERT INTO p SELECT i, i % 1000, i FROM generate_series(1, 600000) i;
ANALYZE f;
ANALYZE d;
ANALYZE e;
ANALYZE p;
DELETE FROM dead;
CREATE VIEW zero AS SELECT min(x) AS z FROM d;
-- Whether the query is given to a device and comes back: never, where PostgreSQL surely evaluates all.
CREATE FUNCTION falls_back(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
    IF line LIKE '%Fallback To PostgreSQL%' THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END $$;
SET pg_turbine.debug_force_offload = off;
SET jit = off;
-- The order of joins is that of the query, so that it is the same with and without us.
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET join_collapse_limit = 1;
-- Parallel plans compute subqueries before they start workers.
SET max_parallel_workers_per_gather = 0;
-- One table: no row, some rows, the last rows reach it.
-- for bound in -1 560000 599999 800000
SELECT count(*), sum(v) FROM f WHERE a > :bound AND v = (SELECT 1 / z FROM zero);
SELECT count(*), sum(v) FROM f WHERE a > :bound AND v = (SELECT x FROM d WHERE y < 2);
SELECT k, sum(v) FROM f WHERE a > :bound AND n > (SELECT y / (x - 5) FROM d WHERE s = 's15') GROUP BY k;
SELECT id FROM f WHERE a > :bound AND v = (SELECT 1 / z FROM zero);
SELECT count(*) FROM f WHERE v = (SELECT 1 / z FROM zero) AND a > :bound;
SELECT sum(v + (SELECT 1 / z FROM zero)) FROM f WHERE a > :bound;
SELECT k, sum(v * (SELECT 1 / z FROM zero)) FROM f WHERE a > :bound GROUP BY k;
SELECT sum(v + (SELECT 1 / z FROM zero)) FILTER (WHERE a > :bound) FROM f;
SELECT count(*) FROM p WHERE a > :bound AND k = (SELECT 1 / z FROM zero);
SELECT count(*) FROM p WHERE a > :bound AND id = (SELECT 1 / z FROM zero);
-- Joins: the driver's rows, of them those that match. Scans that are known to be quick would change which side PostgreSQL hashes,
-- and with it what its own joins evaluate first.
SET pg_turbine.enable_scan = off;
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k WHERE f.a > :bound AND d.x = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k WHERE f.a > :bound AND d.y > 500 AND d.x = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k WHERE f.a > :bound AND d.y > 5000 AND d.x = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f LEFT JOIN d ON f.k = d.k AND d.x = (SELECT 1 / z FROM zero) WHERE f.a > :bound;
SELECT count(*), sum(f.v) FROM f WHERE f.a > :bound AND EXISTS (SELECT 1 FROM e WHERE e.k = f.k AND e.z = (SELECT 1 / z FROM zero));
SELECT count(*), sum(f.v) FROM f WHERE f.a > :bound AND NOT EXISTS (SELECT 1 FROM e WHERE e.k = f.k AND e.z = (SELECT 1 / z FROM zero));
SELECT count(*), sum(f.v) FROM f JOIN dead ON f.k = dead.k WHERE f.a > :bound AND dead.x = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f LEFT JOIN dead ON f.k = dead.k AND dead.x = (SELECT 1 / z FROM zero) WHERE f.a > :bound;
SELECT count(*) FROM p JOIN d ON p.k = d.k WHERE p.a > :bound AND d.x = (SELECT 1 / z FROM zero);
SELECT count(*) FROM f JOIN p ON p.k = f.k AND p.id = f.id WHERE f.a > :bound AND p.a = (SELECT 1 / z FROM zero);
SELECT f.id, d.s FROM f JOIN d ON f.k = d.k WHERE f.a > :bound AND d.x = (SELECT 1 / z FROM zero) ORDER BY f.id LIMIT 5;
SELECT count(*), sum(f.v * (SELECT 1 / z FROM zero)) FROM f JOIN d ON f.k = d.k WHERE f.a > :bound AND d.x = 0;
SELECT count(*) FROM f LEFT JOIN d ON f.k = d.k WHERE f.a > :bound AND coalesce(d.x, 0) = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k AND f.v + d.x > (SELECT 1 / z FROM zero) WHERE f.a > :bound;
-- Chains.
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k JOIN e ON e.k = f.k WHERE f.a > :bound AND e.z = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k JOIN e ON e.k = f.k WHERE f.a > :bound AND d.y > 5000 AND e.z = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k JOIN e ON e.k = d.y WHERE f.a > :bound AND d.x = (SELECT 1 / z FROM zero) AND e.w < 0;
-- Rows of other plans.
SELECT count(*), sum(f.v) FROM f JOIN (SELECT x, sum(1 / (y - 500)) AS q FROM d GROUP BY x) s ON s.x = f.k WHERE f.a > :bound;
SELECT count(*), sum(f.v) FROM f LEFT JOIN (SELECT x, sum(1 / (y - 500)) AS q FROM d GROUP BY x) s ON s.x = f.k AND s.q > 0 WHERE f.a > :bound;
SELECT count(*), sum(f.v) FROM f JOIN (SELECT x, 1 / (sum(y) - sum(y)) AS q FROM d GROUP BY x) s ON s.x = f.k WHERE f.a > :bound AND s.q > 0;
SELECT count(*), sum(f.v) FROM f WHERE f.a > :bound AND f.k IN (SELECT 100 / (y - 500) FROM d OFFSET 0);
WITH c AS MATERIALIZED (SELECT k, 1 / (y - 500) AS q FROM d) SELECT count(*), sum(f.v + c.q) FROM f JOIN c ON c.k = f.k WHERE f.a > :bound;
SELECT count(*), sum(f.v) FROM f JOIN (VALUES (0), (1)) w(k) ON w.k = f.k JOIN d ON d.k = f.k WHERE f.a > :bound AND d.x = (SELECT 1 / z FROM zero);
SELECT count(*), sum(f.v) FROM f JOIN generate_series(0, 5) w(k) ON w.k = f.k JOIN d ON d.k = f.k WHERE f.a > :bound AND d.x = (SELECT 1 / z FROM zero);
-- Windows and orders above.
SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id) FROM f WHERE a > :bound AND v = (SELECT 1 / z FROM zero);
SELECT k, sum(v) AS s FROM f WHERE a > :bound AND v = (SELECT 1 / z FROM zero) GROUP BY k ORDER BY s DESC, k LIMIT 3;
-- end for
-- Nothing is asked for.
SELECT count(*) FROM f JOIN d ON f.k = d.k WHERE d.x = (SELECT 1 / z FROM zero) LIMIT 0;
SELECT f.id FROM f JOIN d ON f.k = d.k WHERE d.x = (SELECT 1 / z FROM zero) ORDER BY 1 LIMIT 0;
-- Only dead rows.
SELECT count(*) FROM dead WHERE x = (SELECT 1 / z FROM zero);
SELECT count(*) FROM dead JOIN d ON d.k = dead.k WHERE d.x = (SELECT 1 / z FROM zero);
SELECT count(*) FROM dead WHERE dead.x + (SELECT 1 / z FROM zero) > 0;
-- Parameters.
PREPARE q(int, int) AS SELECT count(*), sum(v) FROM f WHERE a > $1 AND v = 7 / $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE q(800000, 0);
EXECUTE q(100, 0);
EXECUTE q(100, 1);
EXECUTE q(599999, 0);
DEALLOCATE q;
PREPARE q(int, int) AS SELECT count(*), sum(v) FROM f JOIN d ON d.k = f.k WHERE f.a > $1 AND d.x = 7 / $2;
EXECUTE q(800000, 0);
EXECUTE q(100, 0);
EXECUTE q(100, 1);
DEALLOCATE q;
RESET plan_cache_mode;
-- Rescans.
SELECT d.k, (SELECT count(*) FROM f WHERE f.k = d.k AND f.a > d.y * 1000 AND f.v > (SELECT 1 / z FROM zero)) FROM d WHERE d.y > 300 AND d.y < 310;
SELECT d.k, (SELECT sum(f.v) FROM f JOIN e ON e.k = f.k WHERE f.k = d.k AND e.z < 10 / (d.k - 5)) FROM d WHERE d.k IN (3, 4, 7);
SELECT d.k, (SELECT sum(f.v) FROM f JOIN e ON e.k = f.k WHERE f.k = d.k AND e.z < 10 / (d.k - 5)) FROM d WHERE d.k IN (3, 4, 5, 7);
-- Raised or not by a function of side effects: as often as PostgreSQL would run it.
CREATE SEQUENCE seen;
SELECT count(*) FROM f WHERE a > 800000 AND v = (SELECT nextval('seen'));
SELECT last_value, is_called FROM seen;
SELECT count(*) FROM f JOIN d ON d.k = f.k WHERE f.a > 800000 AND d.x = (SELECT nextval('seen'));
SELECT last_value, is_called FROM seen;
SELECT count(*) FROM f JOIN d ON d.k = f.k WHERE f.a > 100 AND d.x = (SELECT nextval('seen'));
SELECT last_value, is_called FROM seen;
DROP SEQUENCE seen;
-- Devices must have computed these.
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k WHERE f.a > -1 AND d.x = (SELECT x FROM d WHERE s = 's15');
-- offloaded: GpuPreAgg
SELECT count(*), sum(f.v) FROM f JOIN d ON f.k = d.k JOIN e ON e.k = f.k WHERE f.a > -1 AND e.z = (SELECT 1 / z FROM zero);
-- offloaded: GpuPreAgg
SELECT k, sum(v) FROM f WHERE a > 7 AND v = (SELECT 1 / z FROM zero) GROUP BY k;
-- for query in $$SELECT~count(*)~FROM~f~WHERE~v=(SELECT~x~FROM~d~WHERE~s='s15')$$ $$SELECT~count(*)~FROM~f~WHERE~a>100~AND~v=(SELECT~x~FROM~d~WHERE~s='s15')$$ $$SELECT~count(*)~FROM~f~WHERE~a>599999~AND~v=(SELECT~x~FROM~d~WHERE~s='s15')$$ $$SELECT~count(*)~FROM~f~JOIN~d~USING(k)~WHERE~f.a>560000~AND~d.x=(SELECT~x~FROM~d~WHERE~s='s15')$$ $$SELECT~count(*)~FROM~f~JOIN~d~USING(k)~JOIN~e~ON~e.k=f.k~WHERE~e.z=(SELECT~x~FROM~d~WHERE~s='s15')$$ $$SELECT~count(*)~FROM~f~JOIN~(SELECT~x,sum(100/(y+1))~AS~q~FROM~d~GROUP~BY~x)s~ON~s.x=f.k~WHERE~f.a>560000$$ $$SELECT~count(*)~FROM~p~JOIN~d~USING(k)~WHERE~d.x=(SELECT~x~FROM~d~WHERE~s='s15')$$ $$SELECT~id~FROM~f~WHERE~a>560000~AND~v=(SELECT~x~FROM~d~WHERE~s='s15')$$ $$SELECT~count(*)~FROM~f~WHERE~EXISTS(SELECT~1~FROM~d~WHERE~d.k=f.k~AND~d.y=(SELECT~y~FROM~d~WHERE~s='s15'))$$
SELECT falls_back(replace(:query, '~', ' '));
-- end for
DROP TABLE f, d, e, p, dead CASCADE;
