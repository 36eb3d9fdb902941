-- Joins and who may see what: column rights, views, row security, functions that leak.
CREATE ROLE tb_join_owner;
CREATE ROLE tb_join_reader;
GRANT CREATE, USAGE ON SCHEMA public TO tb_join_owner, tb_join_reader;
SET ROLE tb_join_owner;
CREATE TABLE secret (id int, owner text, v int);
CREATE TABLE open (id int, k int);
INSERT INTO secret SELECT i, CASE i % 3 WHEN 0 THEN 'tb_join_reader' ELSE 'tb_join_owner' END, i % 11 FROM generate_series(1, 2000) i;
INSERT INTO open SELECT i, i % 50 FROM generate_series(1, 1500) i;
GRANT SELECT ON open TO tb_join_reader;
GRANT SELECT (id, v) ON secret TO tb_join_reader;
ANALYZE secret;
ANALYZE open;
CREATE FUNCTION leak(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN IF $1 = 5 THEN RAISE EXCEPTION 'leaked %', $1; END IF; RETURN true; END $$;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, v FROM secret WHERE v <> 5;
GRANT SELECT ON barrier TO tb_join_reader;
-- for role in tb_join_owner tb_join_reader
SET ROLE :role;
SELECT count(*), sum(v) FROM secret JOIN open USING (id);
SELECT k, count(*) FROM secret JOIN open USING (id) WHERE secret.owner = 'tb_join_reader' GROUP BY k;
SELECT k, count(*), sum(v) FROM barrier JOIN open USING (id) GROUP BY k;
SELECT count(*) FROM barrier JOIN open USING (id) WHERE leak(v);
SELECT count(*) FROM barrier JOIN open USING (id) WHERE 10 / (v - 5) < k;
-- end for
SET ROLE tb_join_owner;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
CREATE POLICY linked ON secret AS RESTRICTIVE FOR SELECT USING (EXISTS (SELECT 1 FROM open WHERE open.id = secret.id AND k < 40));
-- for role in tb_join_owner tb_join_reader
SET ROLE :role;
SELECT count(*), sum(v) FROM secret JOIN open USING (id);
SELECT v, count(*) FROM open LEFT JOIN secret USING (id) GROUP BY v;
SELECT count(*) FROM open WHERE EXISTS (SELECT 1 FROM secret WHERE secret.id = open.k);
SELECT count(*) FROM open WHERE NOT EXISTS (SELECT 1 FROM secret WHERE secret.id = open.k);
SELECT count(*) FROM secret JOIN open USING (id) WHERE leak(v);
SELECT count(*) FROM secret JOIN open USING (id) WHERE 10 / (v - 5) < k;
-- end for
SET ROLE tb_join_owner;
ALTER TABLE secret FORCE ROW LEVEL SECURITY;
SELECT count(*), sum(v) FROM secret JOIN open USING (id);
RESET ROLE;
DROP VIEW barrier;
DROP FUNCTION leak;
DROP TABLE secret, open;
REVOKE ALL ON SCHEMA public FROM tb_join_owner, tb_join_reader;
DROP ROLE tb_join_owner, tb_join_reader;
