\echo Use "ALTER EXTENSION pg_turbine UPDATE TO '0.2'" to load this file. \quit

-- The release of the library that this session has loaded. It differs from the extension's
-- (pg_extension.extversion) after an upgrade of the package, until ALTER EXTENSION UPDATE
-- or a restart of the server completes that.
CREATE FUNCTION turbine.version() RETURNS text
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_version';

-- Keeps columns of a table in memory, whatever else needs room: in a GPU's memory, and in host memory, from which they are
-- copied and where they stay if there is no GPU or no room on it. Partitions are pinned with their table, later ones too.
-- Reads the columns at once and returns the memory that they take on the host, in bytes; what is written later is read by
-- queries, or within seconds. Only the owner may. Temporary and unlogged tables, views, foreign tables and catalogs are
-- refused. A pin is labels of the table and its columns, so pg_dump saves it and replicas have it. To change a pin, pin again.
CREATE FUNCTION turbine.pin(
	relation regclass, -- table, partitioned table or materialized view
	columns text[] DEFAULT NULL, -- NULL: all columns of types that devices know
	device text DEFAULT NULL) -- gpu (any GPU, else the host; the default), gpu0, gpu1, ..., or host
RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_pin';

-- Ends turbine.pin(). What is in memory gives way to others from the table's next query on, or after a quarter of an hour. Only
-- the owner may.
CREATE FUNCTION turbine.unpin(
	relation regclass) -- the table that was pinned
RETURNS void
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_unpin';

-- The pinned tables of this database; of partitioned tables their partitions.
CREATE FUNCTION turbine.gstore(
	OUT relation regclass, -- table, partition or materialized view
	OUT columns text[], -- that are pinned; NULL: all
	OUT device text, -- that was asked for
	OUT places text, -- where copies are that queries read: host, or GPUs; NULL: nothing is cached
	OUT rows bigint, -- that are cached, of all pinned columns
	OUT bytes bigint, -- memory that the columns take on the host, as codes
	OUT gpu_bytes bigint, -- of these, what GPUs have copies of
	OUT waiting_blocks bigint, -- blocks of which nothing is cached yet; of others it may be from before a change
	OUT waiting_bytes bigint) -- bytes that wait to be copied to a GPU, or for room on it
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_gstore';
CREATE VIEW turbine.gstore AS SELECT * FROM turbine.gstore();
GRANT SELECT ON turbine.gstore TO PUBLIC;

-- What psql shows with \df+, \dv+, \dn+ and \des+: one COMMENT for every object.
COMMENT ON SCHEMA turbine IS 'what pg_turbine tells and does: devices, counters, the column cache, files';
COMMENT ON FUNCTION turbine.devices() IS 'devices that the service offers, and what they are doing';
COMMENT ON VIEW turbine.devices IS 'devices that the service offers, and what they are doing';
COMMENT ON FUNCTION turbine.stat_queries() IS 'counters since the server started: queries, and why parts of them fell back to PostgreSQL';
COMMENT ON VIEW turbine.stat_queries IS 'counters since the server started: queries, and why parts of them fell back to PostgreSQL';
COMMENT ON FUNCTION turbine.column_cache() IS 'columns of this database''s tables that are cached in host memory';
COMMENT ON VIEW turbine.column_cache IS 'columns of this database''s tables that are cached in host memory';
COMMENT ON FUNCTION turbine.cache_drop(regclass) IS 'removes a table''s columns from the cache; returns their bytes';
COMMENT ON FUNCTION turbine.cache_load(regclass, text[]) IS 'loads columns of a table into the cache; returns the bytes that are cached of the table';
COMMENT ON FUNCTION turbine.cache_loads() IS 'loads of the column cache that run now';
COMMENT ON VIEW turbine.cache_loads IS 'loads of the column cache that run now';
COMMENT ON FUNCTION turbine.cache_policy(regclass, text) IS 'sets what the cache does with a table: auto, off or keep';
COMMENT ON FUNCTION turbine.pin(regclass, text[], text) IS 'keeps columns of a table in device memory; returns the bytes that they take on the host';
COMMENT ON FUNCTION turbine.unpin(regclass) IS 'ends turbine.pin()';
COMMENT ON FUNCTION turbine.gstore() IS 'pinned tables, and where their columns are';
COMMENT ON VIEW turbine.gstore IS 'pinned tables, and where their columns are';
COMMENT ON FUNCTION turbine.functions() IS 'functions and operators that devices compute';
COMMENT ON VIEW turbine.functions IS 'functions and operators that devices compute';
COMMENT ON FUNCTION turbine.why_not(text) IS 'parts of a query that stay with PostgreSQL, and why';
COMMENT ON FUNCTION turbine.version() IS 'release of the library that this session has loaded';
COMMENT ON FUNCTION turbine.arrow_fdw_handler() IS 'handler of the foreign data wrapper arrow_fdw';
COMMENT ON FUNCTION turbine.arrow_fdw_validator(text[], oid) IS 'checks options of the foreign data wrapper arrow_fdw';
COMMENT ON FOREIGN DATA WRAPPER arrow_fdw IS 'Arrow and Parquet files of the server as tables';
COMMENT ON SERVER arrow_fdw IS 'files of this server';
COMMENT ON FUNCTION turbine.to_arrow(text, text, text, boolean) IS 'writes a query''s rows to an Arrow file of the server; returns their number';
COMMENT ON FUNCTION turbine.to_parquet(text, text, text) IS 'writes a query''s rows to a Parquet file of the server; returns their number';
