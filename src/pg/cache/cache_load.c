/*
 * cache_load.c - see cache_load.h; and turbine.cache_load() with its progress.
 *
 * A load is a query that counts the values of columns: it takes the way of every query, so
 * visibility, rights and what may be kept are decided in one place. Called by SQL and by
 * the workers of cache_autoload.c, wanted_load.c and pin_keeper.c. Must leave the session's
 * settings as they were.
 *
 * An obstacle is why the column cache would keep nothing of a table. It says beforehand
 * what planner/relation_check.c and source/heap/visibility/direct_classify.c would decide
 * of each block. For that it reads the catalog, and must never change anything.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pg/bridge/cache_requests.h"
#include "pg/cache/cache_load.h"
#include "pg/cache/cache_policy.h"
#include "pg/compat/pg18.h"
#include "pg/convert/type_map.h"
#include "pg/settings/guc.h"
#include "pg/shmem/cache_progress.h"
#include "pg/shmem/device_list.h"

typedef struct LoadObstacle
{
	const char *detail; /* a sentence; NULL: nothing is in the way */
	const char *hint;	/* what to do about it, or NULL */
} LoadObstacle;

/* Of the table's kind and storage. */
static LoadObstacle
storage_obstacle(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		return (LoadObstacle) {"It is a foreign table."};
	if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return (LoadObstacle) {"Its access method is not heap."};
	if (IsCatalogRelation(rel))
		return (LoadObstacle) {"It is a system catalog."};
	switch (rel->rd_rel->relpersistence)
	{
		case RELPERSISTENCE_TEMP:
			return (LoadObstacle) {"It is a temporary table."};
		case RELPERSISTENCE_UNLOGGED:
			return (LoadObstacle) {
				"It is unlogged: nothing tells whether its blocks have changed.",
				"Make it a logged table with ALTER TABLE ... SET LOGGED."};
		default:
			return (LoadObstacle) {NULL};
	}
}

/* Of the transaction, and the server's settings. */
static LoadObstacle
transaction_obstacle(Relation rel)
{
	if (IsolationIsSerializable())
		return (LoadObstacle) {"The transaction is serializable.",
							   "Load it in a transaction of another isolation level."};
	if (TB_SNAPSHOTS_GROW_TOO_OLD)
		return (LoadObstacle) {"old_snapshot_threshold is set."};
	if (rel->rd_createSubid != InvalidSubTransactionId ||
		rel->rd_newRelfilelocatorSubid != InvalidSubTransactionId ||
		rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId)
		return (LoadObstacle) {"This transaction has created or rewritten it.",
							   "Commit first."};
	return (LoadObstacle) {NULL};
}

static LoadObstacle
block_obstacle(Relation rel)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);

	if (nblocks == 0)
		return (LoadObstacle) {"It is empty."};
	if (nblocks >= TB_FEW_BLOCKS && nblocks < (BlockNumber) tb_guc_direct_threshold)
		return (LoadObstacle) {
			psprintf(
				"It has %u blocks, fewer than pg_turbine.direct_threshold, which is %d.",
				nblocks, tb_guc_direct_threshold),
			"Lower pg_turbine.direct_threshold, for the queries that are to use the cache too."};
	return (LoadObstacle) {NULL};
}

/* What a query with these settings would find, in this transaction. `columns`: how many
 * columns devices know. */
static LoadObstacle
find_obstacle(Relation rel, int columns)
{
	LoadObstacle obstacle = storage_obstacle(rel);

	if (obstacle.detail == NULL && columns == 0)
		obstacle.detail = "None of the columns has a type that devices know.";
	if (obstacle.detail == NULL)
		obstacle = transaction_obstacle(rel);
	if (obstacle.detail == NULL)
		obstacle = block_obstacle(rel);
	return obstacle;
}

/* Raises an error for what is no table at all. */
static void
require_loadable_kind(Relation rel)
{
	char kind = rel->rd_rel->relkind;

	if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW &&
		kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot load relation \"%s\" into the column cache",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(kind)));
}

/* Of one pass: what is decoded of a few pages should stay in a core's cache. */
#define COLUMNS_OF_A_PASS 16

extern PGDLLEXPORT Datum turbine_cache_load(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_cache_loads(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_cache_load);
PG_FUNCTION_INFO_V1(turbine_cache_loads);

/* Columns of these numbers that devices know; all for NULL. */
static Bitmapset *
known_columns(Relation rel, const Bitmapset *attnums)
{
	TupleDesc  desc = RelationGetDescr(rel);
	Bitmapset *result = NULL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		TbTypeInfo		  info;

		if (!attribute->attisdropped && !tb_attribute_is_virtual(attribute) &&
			(attnums == NULL || bms_is_member(attribute->attnum, attnums)) &&
			tb_type_of(attribute->atttypid, attribute->atttypmod, &info))
			result = bms_add_member(result, attribute->attnum);
	}
	return result;
}

int
tb_cache_load_passes(const Bitmapset *attnums)
{
	return (bms_num_members(attnums) + COLUMNS_OF_A_PASS - 1) / COLUMNS_OF_A_PASS;
}

/* One pass, over the columns from `*attnum` on. */
static char *
query_of(Relation rel, const Bitmapset *columns, int *attnum)
{
	StringInfoData sql;
	int			   count = 0;

	initStringInfo(&sql);
	while (count < COLUMNS_OF_A_PASS && (*attnum = bms_next_member(columns, *attnum)) >= 0)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), *attnum - 1);

		appendStringInfo(&sql, "%s pg_catalog.count(%s)", count++ == 0 ? "SELECT" : ",",
						 quote_identifier(NameStr(attribute->attname)));
	}
	appendStringInfo(&sql, " FROM ONLY %s",
					 quote_qualified_identifier(get_namespace_name(
													RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	return sql.data;
}

/* Whatever the session has set, until the nest level ends. */
static void
set_for_loading(const char *device)
{
	const char *const settings[][2] = {{"pg_turbine.enabled", "on"},
									   {"pg_turbine.enable_aggregate", "on"},
									   {"pg_turbine.enable_cache", "on"},
									   {"pg_turbine.device", device},
									   {"pg_turbine.debug_force_offload", "on"}};

	for (int i = 0; i < (int) lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
}

static void
run_passes(Relation rel, const Bitmapset *columns)
{
	int attnum = -1;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int pass = tb_cache_load_passes(columns); pass > 0; pass--)
	{
		char *sql = query_of(rel, columns, &attnum);

		if (SPI_execute(sql, true, 0) != SPI_OK_SELECT)
			elog(ERROR, "could not run \"%s\"", sql);
		SPI_freetuptable(SPI_tuptable);
		pfree(sql);
	}
	(void) SPI_finish();
}

/* The load that runs in this backend. */
static bool		   loading = false;
static bool		   load_has_range = false; /* it is of the blocks from `load_first` on */
static BlockNumber load_first;
static BlockNumber load_end;
static int		   passes_read; /* by turbined, to their end */
static bool		   all_read;	/* by turbined, in the last load */

bool
tb_cache_is_loading(void)
{
	return loading;
}

bool
tb_cache_load_range(BlockNumber *first, BlockNumber *end)
{
	if (!loading || !load_has_range)
		return false;
	*first = load_first;
	*end = load_end;
	return true;
}

void
tb_cache_load_note_read(void)
{
	passes_read++;
}

static void
run_with_progress(Relation rel, const Bitmapset *columns)
{
	/* That of ranges shows who asked for them. */
	if (!load_has_range)
		(void) tb_cache_progress_begin(RelationGetRelid(rel),
									   (uint64) RelationGetNumberOfBlocks(rel) *
										   tb_cache_load_passes(columns));
	loading = true;
	all_read = false;
	passes_read = 0;
	PG_TRY();
	{
		run_passes(rel, columns);
		all_read = passes_read == tb_cache_load_passes(columns);
	}
	PG_FINALLY();
	{
		loading = false;
		if (!load_has_range)
			tb_cache_progress_end();
		load_has_range = false;
	}
	PG_END_TRY();
}

void
tb_cache_load(Oid relid, const Bitmapset *attnums, const char *device)
{
	Relation rel = table_open(relid, NoLock);
	int		 nest_level;

	if (!tb_service_is_up())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the column cache is not available"),
				 errdetail("The pg_turbine service is not running.")));
	nest_level = NewGUCNestLevel();
	set_for_loading(device);
	run_with_progress(rel, known_columns(rel, attnums));
	AtEOXact_GUC(true, nest_level);
	table_close(rel, NoLock);
}

bool
tb_cache_load_blocks(Oid relid, const Bitmapset *attnums, BlockNumber first,
					 BlockNumber end)
{
	load_has_range = true;
	load_first = first;
	load_end = end;
	PG_TRY();
	{
		tb_cache_load(relid, attnums, "cpu");
	}
	PG_FINALLY();
	{
		load_has_range = false;
	}
	PG_END_TRY();
	return all_read;
}

/* Of the cache's size: what is then left has room while tables are loaded. */
#define MOST_LOADED 0.9

bool
tb_cache_has_room(void)
{
	TbFailure		 why;
	TbCacheReported *report = tb_cache_report(&why);

	return report != NULL && report->used < report->capacity * MOST_LOADED;
}

uint64
tb_cached_bytes(Oid relid)
{
	Relation		 rel = table_open(relid, NoLock);
	TbFailure		 why;
	TbCacheReported *report = tb_cache_report(&why);
	uint64			 sum = 0;

	for (uint64 i = 0; report != NULL && i < report->ncolumns; i++)
	{
		const TbFileIdentity *file = &report->columns[i].file;

		if (file->tablespace == TB_LOCATOR_TABLESPACE(rel->rd_locator) &&
			file->database == TB_LOCATOR_DATABASE(rel->rd_locator) &&
			file->file_number == TB_LOCATOR_NUMBER(rel->rd_locator))
			sum += report->columns[i].bytes;
	}
	table_close(rel, NoLock);
	return sum;
}

/* A table's columns by their names. */
Bitmapset *
tb_columns_of_names(Oid relid, ArrayType *names)
{
	Bitmapset *result = NULL;
	Datum	  *values;
	bool	  *nulls;
	int		   count;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		char	  *name = nulls[i] ? NULL : TextDatumGetCString(values[i]);
		AttrNumber attnum = name == NULL ? InvalidAttrNumber : get_attnum(relid, name);

		/* System columns are not cached. */
		if (attnum <= 0)
			ereport(ERROR,
					(errcode(name == NULL ? ERRCODE_NULL_VALUE_NOT_ALLOWED :
											ERRCODE_UNDEFINED_COLUMN),
					 name == NULL ?
						 errmsg("column names must not be null") :
						 errmsg("column \"%s\" of relation \"%s\" does not exist", name,
								get_rel_name(relid))));
		result = bms_add_member(result, attnum);
	}
	/* An empty array is a mistake. */
	if (result == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("no columns to load"),
				 errhint("Leave out the second argument to load all columns.")));
	return result;
}

/* Rows that some may not see must not be counted, nor left out: nothing would be cached. */
static void
check_rights(Oid relid)
{
	tb_cache_require_relation(relid);
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
	if (check_enable_rls(relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security keeps rows of \"%s\" from being loaded",
						get_rel_name(relid)),
				 errhint("Its owner, or a role with BYPASSRLS, can load it.")));
}

static void
report_not_loaded(Oid leaf, const LoadObstacle *obstacle)
{
	ereport(NOTICE,
			(errmsg("table \"%s\" is not loaded", get_rel_name(leaf)),
			 errdetail("%s", obstacle->detail),
			 obstacle->hint != NULL ? errhint("%s", obstacle->hint) : 0));
}

/* Why the service has kept nothing of what a load has read. */
static LoadObstacle
obstacle_in_service(void)
{
	TbFailure		 why;
	TbCacheReported *report = tb_cache_report(&why);

	if (report == NULL)
		return (LoadObstacle) {"The pg_turbine service does not answer."};
	if (report->capacity == 0)
		return (LoadObstacle) {"The column cache has no memory.",
							   "Set pg_turbine.cache_size_host and restart the server."};
	return (LoadObstacle) {
		"The column cache has kept nothing of it.",
		"turbine.stat_queries counts what went back to PostgreSQL, and why."};
}

/* Returns what is cached of the leaf then. */
static uint64
load_leaf(Oid top, Oid leaf, const Bitmapset *attnums, const char *device)
{
	Bitmapset	*columns = tb_columns_in_leaf(top, leaf, attnums);
	Relation	 rel;
	LoadObstacle obstacle;
	uint64		 bytes;

	if (tb_cache_policy_of(leaf) == TB_CACHE_OFF)
	{
		ereport(WARNING,
				(errmsg("table \"%s\" is not loaded", get_rel_name(leaf)),
				 errdetail("Its cache policy is \"off\".")));
		return tb_cached_bytes(leaf);
	}
	/* Look for obstacles */
	rel = table_open(leaf, NoLock);
	obstacle = find_obstacle(rel, bms_num_members(known_columns(rel, columns)));
	table_close(rel, NoLock);
	/* Load */
	if (obstacle.detail == NULL)
		tb_cache_load(leaf, columns, device);
	bytes = tb_cached_bytes(leaf);
	/* Say why nothing was kept */
	if (obstacle.detail == NULL && bytes == 0)
		obstacle = obstacle_in_service();
	if (obstacle.detail != NULL)
		report_not_loaded(leaf, &obstacle);
	return bytes;
}

static void
check_kind(Oid top)
{
	Relation rel = relation_open(top, AccessShareLock);

	require_loadable_kind(rel);
	relation_close(rel, NoLock);
}

uint64
tb_cache_load_tables(Oid top, List *tables, const Bitmapset *attnums, const char *device)
{
	uint64	  sum = 0;
	ListCell *lc;

	foreach(lc, tables)
	{
		Oid leaf = lfirst_oid(lc);

		if (get_rel_relkind(leaf) != RELKIND_PARTITIONED_TABLE)
			sum += load_leaf(top, leaf, attnums, device);
	}
	return sum;
}

Datum
turbine_cache_load(PG_FUNCTION_ARGS)
{
	Oid		   top = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	Bitmapset *attnums = NULL;

	if (!OidIsValid(top))
		PG_RETURN_NULL();
	check_rights(top);
	check_kind(top);
	if (!PG_ARGISNULL(1))
		attnums = tb_columns_of_names(top, PG_GETARG_ARRAYTYPE_P(1));
	PG_RETURN_INT64(
		(int64) tb_cache_load_tables(top, find_all_inheritors(top, AccessShareLock, NULL),
									 attnums, "cpu"));
}

Datum
turbine_cache_loads(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbCacheLoad	   loads[TB_MAX_CACHE_LOADS];
	int			   count = tb_cache_progress_snapshot(loads);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < count; i++)
	{
		Datum values[4];
		bool  nulls[4] = {0};

		if (loads[i].database != MyDatabaseId)
			continue;
		values[0] = Int32GetDatum(loads[i].pid);
		values[1] = ObjectIdGetDatum(loads[i].relid);
		values[2] = Int64GetDatum((int64) loads[i].done);
		values[3] = Int64GetDatum((int64) loads[i].blocks);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
