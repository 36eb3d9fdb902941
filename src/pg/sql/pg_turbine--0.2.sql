-- docs/sql-reference.md is made of this file by tools/document_sql.py: of the comments above the objects, beside their
-- arguments and columns, and of the headings "-- == ... ==". Indented lines "--   word: text" become a table.
\echo Use "CREATE EXTENSION pg_turbine" to load this file. \quit

CREATE SCHEMA turbine;
GRANT USAGE ON SCHEMA turbine TO PUBLIC;

-- == Why is this query slow? ==

-- Says which parts of a query stay with PostgreSQL, and why: one row for each part. The query is planned, not run. Whoever
-- asks needs the privileges that EXPLAIN needs. No rows: everything that pg_turbine knows of is accelerated. A row for
-- the blocks of a table says why its first queries are slower than they could be.
CREATE FUNCTION turbine.why_not(
	query text, -- one or more statements
	OUT part text, -- the part of the query: a scan of a table, an aggregate, a join, a sort; or the blocks of a table
	OUT reason text) -- why PostgreSQL runs it; or why most of the blocks are not all-visible
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_why_not';

-- Functions and operators that devices can compute, one row for each combination of types.
CREATE FUNCTION turbine.functions(
	OUT name text, -- the name in the catalogue of pg_turbine
	OUT signature text, -- the function of PostgreSQL, as regprocedure shows it
	OUT variant text, -- the form that constant arguments must have; empty: any
	OUT result text, -- type of the result
	OUT arguments text[], -- types of the arguments, as a device gets them
	OUT raises bool, -- whether it may end in one of PostgreSQL's errors
	OUT exact bool, -- whether a GPU's result equals PostgreSQL's to the last bit
	OUT cost int) -- of one call, in comparisons of integers
RETURNS SETOF record
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_functions';
CREATE VIEW turbine.functions AS SELECT * FROM turbine.functions();
GRANT SELECT ON turbine.functions TO PUBLIC;

-- == Monitoring ==

-- Counters since the server started, of all sessions and databases.
--   queries: accelerated nodes that were run, each with the joins below it
--   chunks_evaluated: chunks of rows that PostgreSQL filtered, because a device could not
--   rows_deferred: rows with compressed or out-of-line values that PostgreSQL unpacked
--   rows_undecided: rows and pairs of rows that devices left to PostGIS, one by one
--   blocks_buffered: blocks that were read through shared buffers
--   blocks_direct: blocks that were read straight from files
--   blocks_moved: blocks that were read straight from files and changed meanwhile, so that they were read again
--   blocks_fed: blocks that parallel workers copied from shared buffers
--   blocks_cached: blocks that were found in the column cache
--   service_starts: starts of the service; 1 if it has never failed
--   host_instead: queries of a GPU that the CPU took over
--   fallback_no_service: queries that went back to PostgreSQL because the service was not there
--   fallback_no_device: the device is absent or has failed
--   fallback_device_memory: not enough memory of the device
--   fallback_host_memory: not enough host memory
--   fallback_device_lost: the GPU failed while the query ran
--   fallback_compile: the compiler failed or took too long
--   fallback_admission: pg_turbine.admission_wait was over
--   fallback_value: a value that devices cannot hold
--   fallback_raised: a row that may raise an error, which PostgreSQL then raises or not
--   fallback_protocol: backend and service misunderstood each other: a bug, which we want to hear of
CREATE FUNCTION turbine.stat_queries(
	OUT counter text,
	OUT value bigint)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_stat_queries';
CREATE VIEW turbine.stat_queries AS SELECT * FROM turbine.stat_queries();
GRANT SELECT ON turbine.stat_queries TO PUBLIC;

-- The release of the library that this session has loaded. It differs from the extension's
-- (pg_extension.extversion) after an upgrade of the package, until ALTER EXTENSION UPDATE
-- or a restart of the server completes that.
CREATE FUNCTION turbine.version() RETURNS text
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_version';

-- == Column cache ==

-- The columns of this database's tables that are cached in host memory. Columns of foreign tables' files are cached too, but
-- not shown.
CREATE FUNCTION turbine.column_cache(
	OUT relation regclass, -- table, partition or materialized view
	OUT column_name text, -- ctid: the numbers of the rows
	OUT bytes bigint, -- memory that the column takes
	OUT rows bigint, -- values that are cached
	OUT good_blocks bigint, -- blocks that were valid at the last look
	OUT doubtful_blocks bigint, -- blocks that may have changed since; the next query looks
	OUT hits bigint, -- queries that have used the column
	OUT last_hit timestamptz) -- the last of them
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_column_cache';
CREATE VIEW turbine.column_cache AS SELECT * FROM turbine.column_cache();
GRANT SELECT ON turbine.column_cache TO PUBLIC;

-- Reads columns of a table into the cache, with its partitions and children, and ctid. Returns what is cached of the table
-- then, in bytes. A NOTICE says why nothing of a table can be loaded. Needs SELECT on the table, and row-level security that
-- shows all rows.
CREATE FUNCTION turbine.cache_load(
	relation regclass, -- the table
	columns text[] DEFAULT NULL) -- NULL: all columns of types that devices know
RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_cache_load';

-- Loads of this database that run now, among them those after a restart. A block counts once for every pass over the table; a
-- pass reads up to 16 columns.
CREATE FUNCTION turbine.cache_loads(
	OUT pid int, -- process that loads
	OUT relation regclass, -- the table
	OUT blocks_done bigint, -- blocks that were read
	OUT blocks_total bigint) -- blocks to read
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_cache_loads';
CREATE VIEW turbine.cache_loads AS SELECT * FROM turbine.cache_loads();
GRANT SELECT ON turbine.cache_loads TO PUBLIC;

-- Forgets what is cached of a table with its partitions and children, or of the files of a foreign table. Returns the bytes.
-- Only the table's owner may.
CREATE FUNCTION turbine.cache_drop(
	relation regclass) -- the table
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_cache_drop';

-- Says what the cache does with a table. A partition does as its table, unless it has a policy itself. Only the table's owner
-- may. The policy is a security label, so pg_dump saves it: the call does what
-- `SECURITY LABEL FOR pg_turbine ON TABLE name IS 'cache keep'` does.
--   auto: columns are cached, and give way to more useful ones; the default
--   keep: columns are cached, and give way last
--   off: columns are not cached
CREATE FUNCTION turbine.cache_policy(
	relation regclass, -- the table
	policy text) -- auto, keep or off
RETURNS void
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_cache_policy';

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
	OUT waiting_bytes bigint, -- bytes that wait to be copied to a GPU, or for room on it
	OUT exported_bytes bigint) -- memory of copies that other processes may open
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_gstore';
CREATE VIEW turbine.gstore AS SELECT * FROM turbine.gstore();
GRANT SELECT ON turbine.gstore TO PUBLIC;

-- == Pinned tables in the words of foreign tables ==

-- The words of foreign tables for pinned tables, with a server of the same name. `CREATE FOREIGN TABLE ... SERVER gstore_fdw`
-- makes an ordinary table and pins all its columns. So the table can have keys, indexes, checks and statistics, and psql and
-- pg_dump show a table. `ALTER`, `DROP`, `COMMENT ON` and `SECURITY LABEL ON FOREIGN TABLE` take every pinned table. Other servers
-- of this wrapper do the same. CREATE needs USAGE on the server. Servers and columns have no options.
-- [Its page](gstore_fdw.md) has the statements and the errors.
--   pinning: table option: the number of a GPU, or `host`; without it any GPU, else the host
CREATE FUNCTION turbine.gstore_fdw_handler() RETURNS fdw_handler
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_gstore_fdw_handler';
CREATE FUNCTION turbine.gstore_fdw_validator(options text[], catalog oid) RETURNS void
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_gstore_fdw_validator';
CREATE FOREIGN DATA WRAPPER gstore_fdw
HANDLER turbine.gstore_fdw_handler VALIDATOR turbine.gstore_fdw_validator;
CREATE SERVER gstore_fdw FOREIGN DATA WRAPPER gstore_fdw;

-- A `regclass` that names a pinned table. Every other relation is refused, by its name, by its number, and as a `regclass`. A
-- function with an argument of this type takes a name or a `regclass`. A value stays when its table is unpinned or dropped.
CREATE TYPE reggstore;
CREATE FUNCTION turbine.reggstore_in(cstring) RETURNS reggstore
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_reggstore_in';
CREATE FUNCTION turbine.reggstore_out(reggstore) RETURNS cstring
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_reggstore_out';
CREATE FUNCTION turbine.reggstore_recv(internal) RETURNS reggstore
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_reggstore_recv';
CREATE FUNCTION turbine.reggstore_send(reggstore) RETURNS bytea
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_reggstore_send';
CREATE TYPE reggstore (
	INPUT = turbine.reggstore_in, OUTPUT = turbine.reggstore_out,
	RECEIVE = turbine.reggstore_recv, SEND = turbine.reggstore_send,
	LIKE = regclass, CATEGORY = 'N');
CREATE FUNCTION turbine.reggstore_of(oid) RETURNS reggstore
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_reggstore_of';
CREATE CAST (reggstore AS oid) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (reggstore AS regclass) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (oid AS reggstore) WITH FUNCTION turbine.reggstore_of(oid) AS ASSIGNMENT;
CREATE CAST (regclass AS reggstore) WITH FUNCTION turbine.reggstore_of(oid) AS IMPLICIT;

-- The number of a column, as pg_attribute has it.
CREATE FUNCTION attnum_of(
	relation regclass, -- any relation
	name text) -- of a column, or of a system column, whose number is below 0
RETURNS smallint
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_attnum_of';

-- The numbers of several columns, in the order of their names.
CREATE FUNCTION attnums_of(
	relation regclass, -- any relation
	names text[]) -- of columns
RETURNS smallint[]
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_attnums_of';

-- == Results and exports ==

-- A result: rows of a query in memory as columns, by its number. It belongs to the session and the role that made it, and
-- is gone with the session, unless a token of it is kept.
CREATE DOMAIN turbine.result AS uuid;

-- Runs a query with the caller's rights and keeps its rows as columns in a GPU's memory, or in host memory where there is
-- none. All results and exports together take at most half of the memory that queries may use (53200 beyond that).
-- [More](exports.md).
CREATE FUNCTION turbine.gpu_result(
	query text, -- one SELECT, WITH … SELECT, VALUES or TABLE
	device text DEFAULT NULL) -- gpu, gpu0, gpu1, ... or host; NULL: a GPU if there is one with room, else the host
RETURNS turbine.result
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_gpu_result';

-- Opens a cursor for fetch_result, which is faster over it than over one of DECLARE. Returns its name.
CREATE FUNCTION turbine.open_cursor(
	cursor text,
	query text) -- one SELECT
RETURNS text
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_open_cursor';

-- The next rows of an open cursor as a result; NULL at its end. A training loop reads a table so, batch by batch.
CREATE FUNCTION turbine.fetch_result(
	cursor text, -- of open_cursor or DECLARE
	rows bigint, -- at most; at least 1
	device text DEFAULT NULL) -- as for gpu_result
RETURNS turbine.result
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_fetch_result';

-- The columns of a result.
CREATE FUNCTION turbine.result_columns(
	result turbine.result,
	OUT name text,
	OUT sql_type text,
	OUT format text, -- of its values in memory: int32, float64, utf8, ...
	OUT rows bigint,
	OUT nulls bigint)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_result_columns';

-- A token: the right to open the columns of a result on this machine, with the Python package for instance.
-- [Who may use it](exports.md#who-may-open-it), and until when.
CREATE FUNCTION turbine.export(
	result turbine.result,
	columns text[] DEFAULT NULL, -- NULL: all
	keep boolean DEFAULT false) -- result and token outlive the session, until turbine.release()
RETURNS bytea
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_export_result';

-- A token for a copy of a table's rows as the statement's snapshot sees them, in the order of ctid, in the memory where the
-- table is pinned. Needs SELECT on the columns. Refused if this transaction has changed the table (25001), and for tables
-- whose row-level security filters the role (42501). The copy goes when its tokens have ended and nobody has it open.
CREATE FUNCTION turbine.export(
	relation regclass, -- table, view or foreign table
	columns text[] DEFAULT NULL, -- NULL: all
	keep boolean DEFAULT false) -- copy and token outlive the session, until turbine.release()
RETURNS bytea
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_export_relation';

-- The same of a table by its name, or of a result by its number, where it comes as a text.
CREATE FUNCTION turbine.export(
	name text,
	columns text[] DEFAULT NULL,
	keep boolean DEFAULT false)
RETURNS bytea
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_export_named';

-- A token of a table's export, under the name that applications of the earlier Gstore_Fdw call.
CREATE FUNCTION gstore_export_ipchandle(
	relation regclass)
RETURNS bytea
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_export_ipchandle';

-- Gives up a result and all its tokens; false if it is not there. Who has opened it keeps it until it is closed there.
CREATE FUNCTION turbine.release(
	result turbine.result)
RETURNS boolean
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_release_result';

-- Revokes a token; false if it is not valid any more.
CREATE FUNCTION turbine.release(
	token bytea)
RETURNS boolean
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_release_token';

-- Where tokens are redeemed, for programs that want to know whether they are on the server's machine.
CREATE FUNCTION turbine.export_endpoint(
	OUT host uuid, -- boot id of the server's kernel
	OUT socket text) -- path of the export socket; NULL: nothing is exported
RETURNS record
LANGUAGE C STRICT STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_export_endpoint';

-- Results and exported tables that are in memory now: those of roles that the user may act for, or all for members of
-- `pg_read_all_stats`.
CREATE FUNCTION turbine.exports(
	OUT result turbine.result, -- NULL: exports of tables, and results of other roles
	OUT owner regrole, -- role that made it
	OUT pid integer, -- backend of its session
	OUT relation regclass, -- of an export; NULL: a query's rows, or a table of another database
	OUT device text, -- whose memory it takes: host, gpu0, ...
	OUT rows bigint,
	OUT bytes bigint,
	OUT tokens integer, -- that are valid
	OUT importers integer, -- connections that have it open
	OUT kept boolean, -- outlives its session
	OUT created timestamptz)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_exports';
CREATE VIEW turbine.exports AS SELECT * FROM turbine.exports();
GRANT SELECT ON turbine.exports TO PUBLIC;

-- == CUDA functions ==

-- Functions that are written in CUDA C++: `CREATE FUNCTION ... LANGUAGE plcuda`. Only superusers create them.
-- [Its page](plcuda.md) has blocks, types and errors.
CREATE FUNCTION turbine.plcuda_call_handler() RETURNS language_handler
LANGUAGE C
AS 'MODULE_PATHNAME', 'turbine_plcuda_call_handler';
CREATE FUNCTION turbine.plcuda_validator(oid) RETURNS void
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_plcuda_validator';
CREATE LANGUAGE plcuda HANDLER turbine.plcuda_call_handler VALIDATOR turbine.plcuda_validator;

-- Functions of expressions: [grammar, types and errors](language-turbine.md).
CREATE FUNCTION turbine.language_call_handler() RETURNS language_handler
LANGUAGE C
AS 'MODULE_PATHNAME', 'turbine_language_call_handler';
CREATE FUNCTION turbine.language_validator(oid) RETURNS void
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_language_validator';
CREATE TRUSTED LANGUAGE turbine HANDLER turbine.language_call_handler VALIDATOR turbine.language_validator;

-- == Arrow and Parquet files ==

-- The foreign-data wrapper of Arrow and Parquet files on the server, with a server of the same name.
-- [Its page](arrow_fdw.md) has the options of its tables, the types and the rights.
--   file: table option: one file, absolute path
--   files: table option: several files, separated by commas
--   dir: table option: the files of a folder, and of its folders called key=value
--   suffix: table option: with dir: how names of files end
--   pattern: table option: paths with `*`, `?` and `${name}`
--   writable: table option: true: the file takes INSERT, COPY FROM and TRUNCATE
--   column_name: column option: name of the column in the files, if it differs
CREATE FUNCTION turbine.arrow_fdw_handler() RETURNS fdw_handler
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_arrow_fdw_handler';
CREATE FUNCTION turbine.arrow_fdw_validator(options text[], catalog oid) RETURNS void
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'turbine_arrow_fdw_validator';
CREATE FOREIGN DATA WRAPPER arrow_fdw
HANDLER turbine.arrow_fdw_handler VALIDATOR turbine.arrow_fdw_validator;
CREATE SERVER arrow_fdw FOREIGN DATA WRAPPER arrow_fdw;

-- Writes a query's rows to an Arrow IPC file of the server, in whole or not at all. Returns the number of rows. Needs the
-- privileges of `pg_write_server_files`. It runs every query that `COPY (query) TO` runs, INSERT, UPDATE and DELETE with
-- RETURNING included. [More](arrow_fdw.md#from-tables-to-files).
CREATE FUNCTION turbine.to_arrow(
	query text, -- one statement
	path text, -- absolute path of the file
	compression text DEFAULT 'none', -- none, lz4 or zstd
	statistics boolean DEFAULT true) -- store the least and greatest value of each record batch
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_to_arrow';

-- The same for a Parquet file, which always has statistics.
CREATE FUNCTION turbine.to_parquet(
	query text, -- one statement
	path text, -- absolute path of the file
	compression text DEFAULT 'zstd') -- none, lz4, zstd or snappy
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_to_parquet';

-- == GPUs and drives | hardware-reference.md ==

-- The devices of the running service, one row each. No rows: the service is not running.
CREATE FUNCTION turbine.devices(
	OUT index int, -- 0 is the CPU; GPU n of pg_turbine.device is n + 1
	OUT kind text, -- host (the CPU) or cuda (a GPU)
	OUT name text, -- as the hardware calls itself
	OUT target text, -- processor that machine code is compiled for
	OUT units int, -- threads of the CPU, multiprocessors of a GPU
	OUT memory_total bigint, -- bytes
	OUT memory_budget bigint, -- bytes that all queries together may use
	OUT memory_used bigint, -- bytes that running queries have been granted
	OUT cache_size bigint, -- bytes for copies of cached columns; NULL for the CPU
	OUT cache_used bigint, -- bytes of such copies; NULL for the CPU
	OUT usable bool, -- false: it failed, and takes no more queries
	OUT queries_running int, -- now
	OUT queries_total bigint, -- since the service started
	OUT message text, -- why it is not usable
	OUT memory_free bigint, -- bytes of memory_budget that no query has been granted
	OUT cache_hits bigint, -- columns of segments that queries found in the GPU's cache; NULL for the CPU
	OUT cache_misses bigint, -- such columns that had to be copied to it
	OUT clock_mhz int, -- of a GPU, at most; NULL: not known, as below
	OUT l2_bytes bigint, -- a GPU's second-level cache
	OUT compute_capability text, -- of a GPU, such as 9.0
	OUT pci_address text, -- of a GPU, as lspci shows it
	OUT numa_node int) -- that a GPU is connected to
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_devices';
CREATE VIEW turbine.devices AS SELECT * FROM turbine.devices();
GRANT SELECT ON turbine.devices TO PUBLIC;

-- GPUs and the block devices that files may be on, as the service found them when it started. No rows: the service is not
-- running. A GPU and a drive are connected by a route, nearest first: PIX (one PCI switch), PXB (several switches), PHB (the
-- processor's host bridge), NODE (several host bridges of one NUMA node), SYS (several NUMA nodes). [Hardware](hardware.md)
-- says what that means. Volumes of the device mapper and drives behind a network are not listed.
CREATE FUNCTION turbine.topology(
	OUT name text, -- gpu0, gpu1, ..., or the block device, such as nvme0n1 or md0
	OUT kind text, -- gpu, nvme, disk, partition, raid0 or raid1
	OUT model text, -- as the hardware calls itself
	OUT numa_node int, -- that it is connected to; NULL: not known
	OUT pci_path text[], -- the host bridge, the bridges below it, and the device; NULL for arrays
	OUT members text[], -- drives of an array, the disk of a partition
	OUT routes text[], -- to each GPU, gpu0 first; NULL in it: not known
	OUT distances int[], -- likewise: links of PCI on the way, and 100 for PHB, 200 for NODE, more for SYS
	OUT near_gpus text[]) -- the GPUs of the nearest route
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_topology';
CREATE VIEW turbine.topology AS SELECT * FROM turbine.topology();
GRANT SELECT ON turbine.topology TO PUBLIC;

-- The GPUs that queries over the tables of each tablespace prefer.
CREATE FUNCTION turbine.tablespace_gpus(
	OUT tablespace name, -- of pg_tablespace
	OUT gpus text[], -- usable ones, the nearest first; empty: none is better than another
	OUT decided_by text) -- map (pg_turbine.gpu_tablespace_map: only these), distance (others if these are busy) or none
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_tablespace_gpus';
CREATE VIEW turbine.tablespace_gpus AS SELECT * FROM turbine.tablespace_gpus();
GRANT SELECT ON turbine.tablespace_gpus TO PUBLIC;

-- How fast files of a tablespace are read, by each way: past the page cache, through it, to pinned memory, and to the GPU that is
-- nearest. Writes a file of random bytes, has the program turbine-storage-test read it, which takes up to a second for each row,
-- and removes it. For superusers. [Hardware](hardware.md) says how to read the figures.
CREATE FUNCTION turbine.storage_test(
	tablespace name, -- such as pg_default
	megabytes int DEFAULT 256, -- size of the file
	OUT way text, -- direct, page-cache, pinned or gpu
	OUT engine text, -- what has read: io_uring; or pread, with a thread for each request in flight
	OUT request_bytes int, -- of each request
	OUT depth int, -- requests in flight of each thread
	OUT threads int, -- that ask for requests
	OUT bytes bigint, -- that were read
	OUT seconds float8, -- that it took
	OUT drive_bytes bigint, -- of these bytes, from the drive
	OUT cached_bytes bigint, -- the others, from the page cache
	OUT requests bigint, -- of the program
	OUT wait_seconds float8, -- that the threads had nothing to do but wait, in sum
	OUT drive_requests bigint, -- that the drive ended in that time, whoever asked; 0: not known
	OUT drive_request_bytes float8, -- mean of these
	OUT error text) -- why nothing was measured; then no figure counts
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_storage_test';

-- == Machine learning | learning-reference.md ==

-- Logistic regression by Newton's method in double precision. Rows with NULLs are left out. If no
-- hyperplane is best because the classes are separable, the weights grow without end: a NOTICE says so.
CREATE FUNCTION turbine.logregr_train(
	source text, -- a table, view, foreign table or query
	dependent text, -- name of the column to be predicted: a boolean, or numbers 0 and 1
	independent text[], -- names of the columns to predict it from: numbers or booleans
	max_iterations integer DEFAULT 20, -- at least 1
	tolerance float8 DEFAULT 0.0001, -- ends when the squared change of the weights, over their squares, is at most this
	l2 float8 DEFAULT 0, -- penalty of large weights: half of this times the sum of their squares, without the constant term
	OUT coef float8[], -- the constant term, then a coefficient for each column
	OUT std_err float8[], -- their standard errors; NULL: there are none
	OUT log_likelihood float8, -- of the rows, without the penalty
	OUT iterations integer,
	OUT converged boolean,
	OUT rows bigint, -- that were used
	OUT left_out bigint) -- rows with a NULL
RETURNS record
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_logregr_train';

-- The same over columns of a pinned table by their numbers. Returns the weights, the constant term first.
CREATE FUNCTION turbine.logregr_train(
	source reggstore, -- a pinned table
	dependent smallint, -- attnum_of() the column to be predicted
	independent smallint[], -- attnums_of() the columns to predict it from
	max_iterations integer DEFAULT 20, -- at least 1
	tolerance real DEFAULT 0.0001) -- as above
RETURNS real[]
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_logregr_train_gstore';

-- Linear regression by the normal equations in double precision. Rows with NULLs are left out.
CREATE FUNCTION turbine.linregr_train(
	source text, -- a table, view, foreign table or query
	dependent text, -- name of the column to be predicted
	independent text[], -- names of the columns to predict it from: numbers or booleans
	l2 float8 DEFAULT 0, -- penalty: this times the sum of the squared coefficients, without the constant term
	OUT coef float8[], -- the constant term, then a coefficient for each column
	OUT std_err float8[], -- their standard errors; NULL: there are too few rows
	OUT r2 float8, -- part of the variance that the model explains; NULL: the column is constant
	OUT residual_std_err float8, -- standard deviation of what it does not; NULL: there are too few rows
	OUT rows bigint, -- that were used
	OUT left_out bigint) -- rows with a NULL
RETURNS record
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_linregr_train';

-- Clusters by Lloyd's method, which k-means++ begins. Rows with NULLs are left out.
CREATE FUNCTION turbine.kmeans(
	source text, -- a table, view, foreign table or query
	columns text[], -- names of columns: numbers or booleans
	k integer, -- number of clusters
	max_iterations integer DEFAULT 100, -- at least 1
	tolerance float8 DEFAULT 0.0001, -- ends when the sum of the squared moves, over the mean variance of the columns, is at most this
	seed bigint DEFAULT 0, -- of the random choice of the first centroids: equal ones of the same rows give the same clusters
	initial float8[] DEFAULT NULL, -- centroids to begin with, in place of that choice
	OUT centroids float8[], -- a row for each cluster, and in it a value for each column
	OUT sizes bigint[], -- rows of each cluster
	OUT inertia float8, -- sum of the squared distances to the nearest centroid
	OUT iterations integer,
	OUT converged boolean,
	OUT rows bigint, -- that were used
	OUT left_out bigint) -- rows with a NULL
RETURNS record
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_kmeans';

-- Principal components, by descending variance. Rows with NULLs are left out.
CREATE FUNCTION turbine.pca(
	source text, -- a table, view, foreign table or query
	columns text[], -- names of columns: numbers or booleans
	components integer DEFAULT NULL, -- how many; NULL: as many as columns
	standardize boolean DEFAULT false, -- divide each column by its standard deviation first
	OUT component integer, -- its number, from 1
	OUT variance float8, -- along it, of a sample
	OUT ratio float8, -- of that to the variance of all; NULL: there is none
	OUT weights float8[], -- a vector of length 1, whose largest element is positive
	OUT coef float8[]) -- linregr_predict of these is the row's value along the component
RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'turbine_pca';

-- The value of a linear model for a row: `coef[1] + coef[2] * x1 + …`. NULL if one of the row's values is.
CREATE FUNCTION turbine.linregr_predict(
	coef float8[], -- of linregr_train: the constant term, then a coefficient for each column
	VARIADIC x float8[]) -- the row's columns, as in training
RETURNS float8
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5
AS 'MODULE_PATHNAME', 'turbine_linregr_predict';

-- The probability of the class 1 for a row. NULL if one of the row's values is.
CREATE FUNCTION turbine.logregr_predict(
	coef float8[], -- of logregr_train
	VARIADIC x float8[]) -- the row's columns, as in training
RETURNS float8
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'turbine_logregr_predict';

-- `p * (1 - p)` of the probability `p` of logregr_predict.
CREATE FUNCTION turbine.logregr_variance(
	coef float8[], -- of logregr_train
	VARIADIC x float8[]) -- the row's columns
RETURNS float8
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'turbine_logregr_variance';

-- `-ln(1 - p)` of the probability `p` of logregr_predict, exact where `p` is near 1.
CREATE FUNCTION turbine.logregr_softplus(
	coef float8[], -- of logregr_train
	VARIADIC x float8[]) -- the row's columns
RETURNS float8
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'turbine_logregr_softplus';

-- The number of the nearest centroid, from 1; of two that are equally near, the lower one. NULL if one of the row's values is.
CREATE FUNCTION turbine.kmeans_predict(
	centroids float8[], -- of kmeans: two dimensions, a row for each centroid
	VARIADIC x float8[]) -- the row's columns, as in training
RETURNS integer
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'turbine_kmeans_predict';

-- The Euclidean distance to the nearest centroid.
CREATE FUNCTION turbine.kmeans_distance(
	centroids float8[], -- of kmeans
	VARIADIC x float8[]) -- the row's columns
RETURNS float8
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'turbine_kmeans_distance';

-- The product of numbers. Unlike `*` it raises no error: what is too large is infinite, and what is too small is 0. NULL if one
-- of them is.
CREATE FUNCTION turbine.product(
	VARIADIC x float8[])
RETURNS float8
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 2
AS 'MODULE_PATHNAME', 'turbine_product';

-- A model as devices read it; NULL if it does not fit the number of columns. For queries alone.
CREATE FUNCTION turbine.coefficient_parameter(
	coef float8[],
	columns integer)
RETURNS float8[]
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_coefficient_parameter';
-- The same for centroids.
CREATE FUNCTION turbine.centroid_parameter(
	centroids float8[],
	columns integer)
RETURNS float8[]
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_centroid_parameter';

-- Trainings of models that run now, of all databases. Of roles that the user may not act for only the first three columns are
-- shown, except to members of `pg_read_all_stats`.
CREATE FUNCTION turbine.training_progress(
	OUT pid integer, -- backend
	OUT database oid, -- number of its database
	OUT role regrole, -- whose rights it has
	OUT function text, -- logregr_train, linregr_train, kmeans or pca
	OUT rows bigint, -- that it learns from; NULL: they are being counted
	OUT iteration integer, -- that is done
	OUT change float8, -- of the model in that iteration, as the tolerance counts it; NULL: none yet
	OUT objective float8, -- log-likelihood of logregr_train; NULL: none
	OUT started timestamptz)
RETURNS SETOF record
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'turbine_training_progress';
CREATE VIEW turbine.training_progress AS SELECT * FROM turbine.training_progress();
GRANT SELECT ON turbine.training_progress TO PUBLIC;

-- What psql shows with \df+, \dv+, \dn+ and \des+: one COMMENT for every object.
COMMENT ON SCHEMA turbine IS 'what pg_turbine tells and does: devices, counters, the column cache, files';
COMMENT ON FUNCTION turbine.devices() IS 'devices that the service offers, and what they are doing';
COMMENT ON VIEW turbine.devices IS 'devices that the service offers, and what they are doing';
COMMENT ON FUNCTION turbine.topology() IS 'GPUs and drives, and how near they are to each other';
COMMENT ON VIEW turbine.topology IS 'GPUs and drives, and how near they are to each other';
COMMENT ON FUNCTION turbine.tablespace_gpus() IS 'the GPUs that queries over tables of each tablespace prefer';
COMMENT ON FUNCTION turbine.storage_test(name, int) IS 'how fast files of a tablespace are read, by each way';
COMMENT ON VIEW turbine.tablespace_gpus IS 'the GPUs that queries over tables of each tablespace prefer';
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
COMMENT ON FUNCTION turbine.gstore_fdw_handler() IS 'handler of the foreign data wrapper gstore_fdw';
COMMENT ON FUNCTION turbine.gstore_fdw_validator(text[], oid) IS 'checks options of the foreign data wrapper gstore_fdw';
COMMENT ON FOREIGN DATA WRAPPER gstore_fdw IS 'pinned tables: CREATE FOREIGN TABLE makes an ordinary table';
COMMENT ON SERVER gstore_fdw IS 'pinned tables of this server';
COMMENT ON TYPE reggstore IS 'pinned table';
COMMENT ON FUNCTION turbine.reggstore_in(cstring) IS 'I/O';
COMMENT ON FUNCTION turbine.reggstore_out(reggstore) IS 'I/O';
COMMENT ON FUNCTION turbine.reggstore_recv(internal) IS 'I/O';
COMMENT ON FUNCTION turbine.reggstore_send(reggstore) IS 'I/O';
COMMENT ON FUNCTION turbine.reggstore_of(oid) IS 'checks that a table is pinned';
COMMENT ON CAST (reggstore AS oid) IS 'number of the table';
COMMENT ON CAST (reggstore AS regclass) IS 'the same table';
COMMENT ON CAST (oid AS reggstore) IS 'an error if the table is not pinned';
COMMENT ON CAST (regclass AS reggstore) IS 'an error if the table is not pinned';
COMMENT ON FUNCTION attnum_of(regclass, text) IS 'number of a column';
COMMENT ON FUNCTION attnums_of(regclass, text[]) IS 'numbers of columns';
COMMENT ON DOMAIN turbine.result IS 'rows of a query that stay in memory as columns';
COMMENT ON FUNCTION turbine.gpu_result(text, text) IS 'keeps a query''s rows in device memory as columns';
COMMENT ON FUNCTION turbine.open_cursor(text, text) IS 'opens a cursor whose rows come as columns';
COMMENT ON FUNCTION turbine.fetch_result(text, bigint, text) IS 'keeps the next rows of a cursor in device memory; NULL at its end';
COMMENT ON FUNCTION turbine.result_columns(turbine.result) IS 'columns of a result';
COMMENT ON FUNCTION turbine.export(turbine.result, text[], boolean) IS 'token by which processes of this machine open a result';
COMMENT ON FUNCTION turbine.export(regclass, text[], boolean) IS 'token by which processes of this machine open a copy of a table''s rows';
COMMENT ON FUNCTION turbine.export(text, text[], boolean) IS 'token for a table by its name, or a result by its number';
COMMENT ON FUNCTION gstore_export_ipchandle(regclass) IS 'token by which processes of this machine open a copy of a table''s rows';
COMMENT ON FUNCTION turbine.release(turbine.result) IS 'gives up a result and its tokens';
COMMENT ON FUNCTION turbine.release(bytea) IS 'revokes a token of an export';
COMMENT ON FUNCTION turbine.export_endpoint() IS 'where tokens of exports are redeemed';
COMMENT ON FUNCTION turbine.exports() IS 'results and exported tables that are in memory';
COMMENT ON VIEW turbine.exports IS 'results and exported tables that are in memory';
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
COMMENT ON FUNCTION turbine.plcuda_call_handler() IS 'handler of LANGUAGE plcuda';
COMMENT ON FUNCTION turbine.plcuda_validator(oid) IS 'compiles a function of LANGUAGE plcuda';
COMMENT ON LANGUAGE plcuda IS 'functions in CUDA C++, which run in a process of their own';
COMMENT ON FUNCTION turbine.logregr_train(text, text, text[], integer, float8, float8) IS 'logistic regression over a table or query';
COMMENT ON FUNCTION turbine.logregr_train(reggstore, smallint, smallint[], integer, real) IS 'logistic regression over columns of a pinned table';
COMMENT ON FUNCTION turbine.linregr_train(text, text, text[], float8) IS 'linear regression over a table or query';
COMMENT ON FUNCTION turbine.kmeans(text, text[], integer, integer, float8, bigint, float8[]) IS 'clusters of the rows of a table or query';
COMMENT ON FUNCTION turbine.pca(text, text[], integer, boolean) IS 'principal components of the columns of a table or query';
COMMENT ON FUNCTION turbine.linregr_predict(float8[], float8[]) IS 'value of a linear model for a row';
COMMENT ON FUNCTION turbine.logregr_predict(float8[], float8[]) IS 'probability that a row is of class 1';
COMMENT ON FUNCTION turbine.logregr_variance(float8[], float8[]) IS 'p * (1 - p) of that probability';
COMMENT ON FUNCTION turbine.logregr_softplus(float8[], float8[]) IS '-ln(1 - p) of that probability';
COMMENT ON FUNCTION turbine.kmeans_predict(float8[], float8[]) IS 'number of the nearest centroid';
COMMENT ON FUNCTION turbine.kmeans_distance(float8[], float8[]) IS 'distance to the nearest centroid';
COMMENT ON FUNCTION turbine.product(float8[]) IS 'product of numbers, without errors';
COMMENT ON FUNCTION turbine.coefficient_parameter(float8[], integer) IS 'coefficients as devices read them';
COMMENT ON FUNCTION turbine.centroid_parameter(float8[], integer) IS 'centroids as devices read them';
COMMENT ON FUNCTION turbine.training_progress() IS 'trainings of models that run now';
COMMENT ON VIEW turbine.training_progress IS 'trainings of models that run now';
COMMENT ON FUNCTION turbine.language_call_handler() IS 'handler of LANGUAGE turbine';
COMMENT ON FUNCTION turbine.language_validator(oid) IS 'checks a function of LANGUAGE turbine';
COMMENT ON LANGUAGE turbine IS 'functions of expressions, which run wherever the query runs';
