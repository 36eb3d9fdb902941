-- A table that every row must match is empty: whether PostgreSQL raises the errors of another table's rows depends on
-- its plan. A hash join reads its outer side up to the first row that passes, a nested loop reads all of it, a merge join
-- sorts it; what comes second is not read.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE nobody (k int, z int);
CREATE TABLE gone (k int, z int);
INSERT INTO gone SELECT i, i FROM generate_series(1, 1000) i;
ANALYZE nobody;
ANALYZE gone;
DELETE FROM gone;
CREATE TABLE divided (id int, k int, x int);
INSERT INTO divided SELECT i, i % 1000, CASE WHEN i = 1 THEN 0 ELSE i END FROM generate_series(1, 5000) i;
CREATE TABLE divided_late (id int, k int, x int);
INSERT INTO divided_late SELECT i, i % 1000, CASE WHEN i = 4000 THEN 0 ELSE i END FROM generate_series(1, 5000) i;
ANALYZE divided;
ANALYZE divided_late;
CREATE TABLE kept (k int PRIMARY KEY);
INSERT INTO kept SELECT generate_series(0, 999);
ANALYZE kept;
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE query INTO result;
  RETURN result;
EXCEPTION WHEN division_by_zero THEN
  RETURN SQLERRM;
END $$;
CREATE TABLE emptied (form text);
INSERT INTO emptied VALUES
  ('SELECT count(*) FROM %1$s t WHERE 1 / t.x >= 0 AND EXISTS (SELECT 1 FROM %2$s e WHERE e.k = t.k)'),
  ('SELECT count(*) FROM %1$s t WHERE 1 / t.x > 1 AND EXISTS (SELECT 1 FROM %2$s e WHERE e.k = t.k)'),
  ('SELECT t.id FROM %1$s t WHERE 1 / t.x >= 0 AND EXISTS (SELECT 1 FROM %2$s e WHERE e.k = t.k AND e.z < t.id)'),
  ('SELECT count(*) FROM %1$s t WHERE 1 / t.x >= 0 AND EXISTS (SELECT 1 FROM %2$s e WHERE e.z > t.k)'),
  ('SELECT count(*) FROM %1$s t WHERE 1 / t.x >= 0 AND NOT EXISTS (SELECT 1 FROM %2$s e WHERE e.k = t.k)'),
  ('SELECT count(*) FROM %1$s t JOIN %2$s e USING (k) WHERE 1 / t.x >= 0'),
  ('SELECT count(*) FROM %2$s e JOIN %1$s t USING (k) WHERE 1 / t.x > 1'),
  ('SELECT count(*) FROM %1$s t JOIN %2$s e ON e.k = 1 / t.x'),
  ('SELECT count(*) FROM %2$s e WHERE EXISTS (SELECT 1 FROM %1$s t WHERE t.k = e.k AND 1 / t.x >= 0)'),
  ('SELECT count(*) FROM %2$s e LEFT JOIN %1$s t ON t.k = e.k AND 1 / t.x >= 0'),
  ('SELECT count(*) FROM %1$s t JOIN kept USING (k) WHERE 1 / t.x >= 0 AND EXISTS (SELECT 1 FROM %2$s e WHERE e.k = t.k)');
ANALYZE emptied;
-- for method in hashjoin nestloop mergejoin
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET enable_:method = on;
SELECT form, t, e, outcome(format(form, t, e)) FROM emptied, unnest('{divided,divided_late}'::text[]) t, unnest('{nobody,gone}'::text[]) e;
-- end for
-- What cannot raise is not read, and not given back to PostgreSQL.
CREATE FUNCTION falls_back(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
    IF line LIKE '%Fallback To PostgreSQL%' THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END $$;
-- offloaded: GpuPreAgg
SELECT count(*) FROM divided t WHERE t.x > 1 AND EXISTS (SELECT 1 FROM nobody e WHERE e.k = t.k);
SELECT falls_back('SELECT count(*) FROM divided t WHERE t.x > 1 AND EXISTS (SELECT 1 FROM nobody e WHERE e.k = t.k)');
SELECT falls_back('SELECT count(*) FROM divided t WHERE t.x > 1 AND EXISTS (SELECT 1 FROM gone e WHERE e.k = t.k)');
-- The smallest of the tables that are joined is read first: where no row of it is left, the large ones are not read.
CREATE FUNCTION is_unread(query text, joined text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  line text;
  within boolean := false;
  unread boolean := true;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
    IF line ~ 'Depth \d+:' THEN within := line LIKE '% on ' || joined || '%'; END IF;
    IF within AND line ~ 'Inner Blocks:.*=[1-9]' THEN unread := false; END IF;
  END LOOP;
  RETURN unread;
END $$;
CREATE TABLE drives (id int, k int, d int);
INSERT INTO drives SELECT i, i % 50, i % 5000 FROM generate_series(1, 30000) i;
CREATE TABLE small (k int PRIMARY KEY, z int);
INSERT INTO small SELECT i, i FROM generate_series(0, 49) i;
ANALYZE drives;
ANALYZE small;
-- By its statistics the large one leaves fewest rows, so it is the first to be asked for each row.
DELETE FROM small;
-- offloaded: GpuPreAgg
SELECT count(*) FROM drives JOIN divided ON divided.id = drives.d JOIN small ON small.k = drives.k WHERE divided.x < 50;
SELECT is_unread('SELECT count(*) FROM drives JOIN divided ON divided.id = drives.d JOIN small ON small.k = drives.k WHERE divided.x < 50', 'divided');
SELECT is_unread('SELECT count(*) FROM drives WHERE d IN (SELECT id FROM divided WHERE x < 50) AND EXISTS (SELECT 1 FROM small WHERE small.k = drives.k)', 'divided');
