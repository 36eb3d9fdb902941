-- Nodes of ours below nested loops of PostgreSQL's, which may run them again.
CREATE TABLE outer_rows (id int, k int, name text);
INSERT INTO outer_rows SELECT i, i % 7, 'name ' || i % 3 FROM generate_series(1, 40) i;
CREATE TABLE inner_rows (id int, g int, t text);
INSERT INTO inner_rows SELECT i, nullif(i % 50, 9), repeat('t', i % 90) FROM generate_series(1, 5000) i;
ANALYZE outer_rows;
ANALYZE inner_rows;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET pg_turbine.enable_join = off;
SET pg_turbine.enable_aggregate = off;
SET pg_turbine.enable_sort = off;
-- for filter in id*0=0 k<3 id<0 id>1000
-- offloaded: GpuScan
-- shows: Node Type: Materialize
SELECT o.id, i.id, i.t FROM outer_rows o JOIN inner_rows i ON i.g % 7 < o.k - 3 WHERE i.id BETWEEN 100 AND 300 AND o.:filter;
-- offloaded: GpuScan
-- shows: Node Type: Materialize
SELECT o.id, i.id FROM outer_rows o LEFT JOIN inner_rows i ON i.g % 7 < o.k - 3 AND i.id BETWEEN 100 AND 300 WHERE o.:filter;
-- offloaded: GpuScan
SELECT o.id FROM outer_rows o WHERE EXISTS (SELECT 1 FROM inner_rows i WHERE i.id BETWEEN 100 AND 300 AND i.g % 7 < o.k - 3) AND o.:filter;
SELECT o.id, x.t FROM outer_rows o CROSS JOIN LATERAL (SELECT i.t FROM inner_rows i WHERE i.id = o.id * 3 AND i.g > 5) x WHERE o.:filter;
-- end for
-- Of the outer row; and more than work_mem has room for: as PostgreSQL would.
SET work_mem = '64kB';
SELECT o.id, i.id, i.t FROM outer_rows o JOIN inner_rows i ON i.g % 7 < o.k - 3 WHERE i.id > 10 AND o.id < 5;
RESET work_mem;
-- offloaded: GpuScan
SELECT o.id, (SELECT count(*) FROM outer_rows p JOIN inner_rows i ON i.g % 7 < p.k - 3 WHERE i.id BETWEEN 100 AND 300 AND p.id < o.id) FROM outer_rows o WHERE o.id < 9;
PREPARE loops(int) AS SELECT count(*) FROM outer_rows o JOIN inner_rows i ON i.g % 7 < o.k - $1 WHERE i.id BETWEEN 100 AND 300 AND o.id * 0 = 0;
EXECUTE loops(3);
SET plan_cache_mode = force_generic_plan;
EXECUTE loops(3);
EXECUTE loops(5);
DEALLOCATE loops;
