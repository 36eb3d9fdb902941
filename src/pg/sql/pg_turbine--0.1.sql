\echo Use "CREATE EXTENSION pg_turbine" to load this file. \quit

CREATE SCHEMA turbine;
GRANT USAGE ON SCHEMA turbine TO PUBLIC;

-- The devices that the service offers, with what they are doing.
CREATE FUNCTION turbine.devices(
	OUT index int, OUT kind text, OUT name text, OUT target text, OUT units int,
	OUT memory_total bigint, OUT memory_budget bigint, OUT memory_used bigint,
	OUT cache_size bigint, OUT cache_used bigint,
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

-- Forgets what is kept of a table, or of the files of a foreign table, with its partitions
-- and children; returns the bytes. For the table's owner.
CREATE FUNCTION turbine.cache_drop(relation regclass) RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_cache_drop';

-- Reads columns of a table into the cache, with its partitions and children; all columns
-- if none are named. Returns what is cached of the table then, in bytes. A NOTICE says why
-- nothing of a table can be loaded.
CREATE FUNCTION turbine.cache_load(relation regclass, columns text[] DEFAULT NULL) RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_cache_load';

-- Loads that run now, those after a restart included. A block counts once for every pass.
CREATE FUNCTION turbine.cache_loads(
	OUT pid int, OUT relation regclass, OUT blocks_done bigint, OUT blocks_total bigint)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_cache_loads';
CREATE VIEW turbine.cache_loads AS SELECT * FROM turbine.cache_loads();
GRANT SELECT ON turbine.cache_loads TO PUBLIC;

-- What the cache does with a table: "auto", "off" (its columns are not kept) or "pinned"
-- (they give way last). A partition does as its table, unless it has a policy itself. For
-- the table's owner; kept as a security label, so that pg_dump saves it.
CREATE FUNCTION turbine.cache_policy(relation regclass, policy text) RETURNS void
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_cache_policy';

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

-- Foreign tables over Arrow and Parquet files of the server; docs/arrow_fdw.md.
CREATE FUNCTION turbine.arrow_fdw_handler() RETURNS fdw_handler
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_arrow_fdw_handler';
CREATE FUNCTION turbine.arrow_fdw_validator(options text[], catalog oid) RETURNS void
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_arrow_fdw_validator';
CREATE FOREIGN DATA WRAPPER arrow_fdw
HANDLER turbine.arrow_fdw_handler VALIDATOR turbine.arrow_fdw_validator;
CREATE SERVER arrow_fdw FOREIGN DATA WRAPPER arrow_fdw;

-- A query's rows as a file of the server, in whole or not at all; their number. For roles that may write such
-- files; docs/arrow_fdw.md.
CREATE FUNCTION turbine.to_arrow(query text, path text, compression text DEFAULT 'none', statistics boolean DEFAULT true)
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_to_arrow';
CREATE FUNCTION turbine.to_parquet(query text, path text, compression text DEFAULT 'zstd')
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_to_parquet';
