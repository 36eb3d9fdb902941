\echo Use "ALTER EXTENSION pg_turbine UPDATE TO '0.2'" to load this file. \quit

-- The release of the library that this session has loaded. It differs from the extension's
-- (pg_extension.extversion) after an upgrade of the package, until ALTER EXTENSION UPDATE
-- or a restart of the server completes that.
CREATE FUNCTION turbine.version() RETURNS text
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_version';

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
COMMENT ON FUNCTION turbine.cache_policy(regclass, text) IS 'sets what the cache does with a table: auto, off or pinned';
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
