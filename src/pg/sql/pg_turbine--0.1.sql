\echo Use "CREATE EXTENSION pg_turbine" to load this file. \quit

CREATE SCHEMA turbine;
GRANT USAGE ON SCHEMA turbine TO PUBLIC;

-- The devices that the service offers, with what they are doing.
CREATE FUNCTION turbine.devices(
	OUT index int, OUT kind text, OUT name text, OUT target text, OUT units int,
	OUT memory_total bigint, OUT memory_budget bigint, OUT memory_used bigint,
	OUT usable bool, OUT queries_running int, OUT queries_total bigint,
	OUT message text)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_devices';
CREATE VIEW turbine.devices AS SELECT * FROM turbine.devices();
GRANT SELECT ON turbine.devices TO PUBLIC;

-- Counters since the server started: queries, and why parts fell back.
CREATE FUNCTION turbine.stat_queries(OUT counter text, OUT value bigint)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_stat_queries';
CREATE VIEW turbine.stat_queries AS SELECT * FROM turbine.stat_queries();
GRANT SELECT ON turbine.stat_queries TO PUBLIC;

-- Columns of this database's tables that the service keeps decoded.
CREATE FUNCTION turbine.column_cache(
	OUT relation regclass, OUT column_name text, OUT bytes bigint, OUT rows bigint,
	OUT good_blocks bigint, OUT doubtful_blocks bigint, OUT hits bigint,
	OUT last_hit timestamptz)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_column_cache';
CREATE VIEW turbine.column_cache AS SELECT * FROM turbine.column_cache();
GRANT SELECT ON turbine.column_cache TO PUBLIC;

-- Forgets what is kept of a table, with its partitions and children; returns the bytes. For
-- the table's owner.
CREATE FUNCTION turbine.cache_drop(relation regclass) RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_cache_drop';

-- What the devices can compute.
CREATE FUNCTION turbine.functions(
	OUT name text, OUT signature text, OUT variant text, OUT result text,
	OUT arguments text[], OUT raises bool, OUT exact bool, OUT cost int)
RETURNS SETOF record
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_functions';
CREATE VIEW turbine.functions AS SELECT * FROM turbine.functions();
GRANT SELECT ON turbine.functions TO PUBLIC;

-- The parts of a query that stay with PostgreSQL, and why. The query is
-- planned, not run.
CREATE FUNCTION turbine.why_not(query text, OUT part text, OUT reason text)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_why_not';
