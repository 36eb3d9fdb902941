-- Who may see what: table and column rights, views, row security, security barriers, functions of another's right.
CREATE ROLE tb_owner;
CREATE ROLE tb_reader;
CREATE ROLE tb_column;
CREATE ROLE tb_none;
CREATE ROLE tb_bypass BYPASSRLS;
GRANT CREATE, USAGE ON SCHEMA public TO tb_owner, tb_reader, tb_column, tb_none, tb_bypass;
SET ROLE tb_owner;
CREATE TABLE acl (id int, owner text, secret int, open int);
INSERT INTO acl SELECT i, CASE i % 3 WHEN 0 THEN 'tb_reader' WHEN 1 THEN 'tb_column' ELSE 'tb_owner' END, i % 11, i % 7 FROM generate_series(1, 5000) i;
GRANT SELECT ON acl TO tb_reader, tb_bypass;
GRANT SELECT (id, open) ON acl TO tb_column;
ANALYZE acl;
-- for role in tb_owner tb_reader tb_column tb_none tb_bypass
SET ROLE :role;
SELECT count(*) FROM acl;
SELECT id FROM acl WHERE secret = 5 AND id < 100;
SELECT id FROM acl WHERE open = 5 AND id < 100;
SELECT open, count(*), sum(id) FROM acl GROUP BY open;
SELECT secret, count(*) FROM acl GROUP BY secret;
SELECT sum(secret) FROM acl;
SELECT * FROM acl WHERE id = 3;
-- end for
-- Views give their owner's right.
SET ROLE tb_owner;
CREATE VIEW acl_view AS SELECT id, secret, open FROM acl WHERE open < 4;
CREATE VIEW acl_barrier WITH (security_barrier) AS SELECT id, secret, owner FROM acl WHERE secret <> 5;
CREATE VIEW acl_invoker WITH (security_invoker) AS SELECT id, secret FROM acl;
GRANT SELECT ON acl_view, acl_barrier, acl_invoker TO tb_none, tb_reader;
CREATE FUNCTION leak(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN IF $1 = 5 THEN RAISE EXCEPTION 'leaked %', $1; END IF; RETURN true; END $$;
CREATE FUNCTION defined() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT sum(secret) FROM acl WHERE open > 2';
CREATE FUNCTION invoked() RETURNS bigint LANGUAGE sql AS 'SELECT sum(secret) FROM acl WHERE open > 2';
-- for role in tb_none tb_reader tb_owner
SET ROLE :role;
SELECT count(*), sum(secret) FROM acl_view;
SELECT id FROM acl_view WHERE secret = 9 AND id < 100;
SELECT count(*), sum(secret) FROM acl_barrier;
SELECT count(*) FROM acl_barrier WHERE leak(secret);
SELECT count(*) FROM acl_barrier WHERE 100 / (secret - 5) <> 3;
SELECT secret, count(*) FROM acl_barrier WHERE id / (secret - 5) > 0 GROUP BY secret;
SELECT id FROM acl_barrier WHERE secret > 8 AND owner = 'tb_reader' AND id < 100;
SELECT sum(secret) FROM acl_invoker;
SELECT defined();
SELECT invoked();
-- end for
-- Row security.
SET ROLE tb_owner;
ALTER TABLE acl ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON acl USING (owner = current_user);
CREATE POLICY few ON acl AS RESTRICTIVE FOR SELECT USING (secret <> 7);
-- for role in tb_owner tb_reader tb_column tb_none tb_bypass
SET ROLE :role;
SELECT count(*) FROM acl;
SELECT open, count(*), sum(id) FROM acl GROUP BY open;
SELECT id FROM acl WHERE open = 5 AND id < 100;
SELECT count(*) FROM acl WHERE leak(secret);
SELECT count(*) FROM acl WHERE id / (open - 3) > 0;
SELECT secret, count(*) FROM acl GROUP BY secret;
SELECT count(*) FROM acl WHERE 1 / (secret - 7) < 2;
SELECT count(*) FROM acl_view;
SET row_security = off;
SELECT count(*) FROM acl WHERE open > 2;
RESET row_security;
-- end for
SET ROLE tb_owner;
ALTER TABLE acl FORCE ROW LEVEL SECURITY;
SELECT count(*), sum(secret) FROM acl;
-- A plan made for one role is not another's.
RESET ROLE;
PREPARE who AS SELECT count(*), sum(secret) FROM acl WHERE open > 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE who;
SET ROLE tb_reader;
EXECUTE who;
SET ROLE tb_bypass;
EXECUTE who;
SET ROLE tb_none;
EXECUTE who;
SET ROLE tb_owner;
REVOKE SELECT ON acl FROM tb_reader;
SET ROLE tb_reader;
EXECUTE who;
RESET ROLE;
DROP VIEW acl_view, acl_barrier, acl_invoker;
DROP FUNCTION leak, defined, invoked;
DROP TABLE acl;
REVOKE ALL ON SCHEMA public FROM tb_owner, tb_reader, tb_column, tb_none, tb_bypass;
DROP ROLE tb_owner, tb_reader, tb_column, tb_none, tb_bypass;
