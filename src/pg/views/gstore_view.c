/*
 * gstore_view.c - turbine.gstore: this database's pinned tables, and where their columns
 * are.
 *
 * Pins come from the catalog, sizes from turbined's reports (CACHE_REPORT, EXPORT_LIST). A
 * row a table with storage: partitions have their own. Called by SQL. While turbined is
 * down nothing is cached, and all waits.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pg/bridge/cache_requests.h"
#include "pg/cache/cache_policy.h"
#include "pg/cache/pins.h"
#include "pg/compat/pg16.h"
#include "pg/results/export_session.h"

#define GSTORE_COLUMNS 10

extern PGDLLEXPORT Datum turbine_gstore(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_gstore);

/* Of a table's pinned columns. */
typedef struct PinnedSizes
{
	uint64 rows;   /* of the column that has the fewest */
	uint64 blocks; /* likewise */
	uint64 bytes;
	uint64 gpu_bytes;
	uint32 gpus;
	uint32 columns;
} PinnedSizes;

static bool
is_file_of(const TbFileIdentity *file, Relation rel)
{
	return file->tablespace == TB_LOCATOR_TABLESPACE(rel->rd_locator) &&
		file->database == TB_LOCATOR_DATABASE(rel->rd_locator) &&
		file->file_number == TB_LOCATOR_NUMBER(rel->rd_locator);
}

static PinnedSizes
sizes_of(Relation rel, const TbCacheReported *report)
{
	PinnedSizes sizes = {.rows = PG_UINT64_MAX, .blocks = PG_UINT64_MAX};

	for (uint64 i = 0; report != NULL && i < report->ncolumns; i++)
	{
		const TbCachedColumn *column = &report->columns[i];

		/* Line pointers have no number. */
		if (!is_file_of(&column->file, rel) || !column->pinned || column->attnum == 0)
			continue;
		sizes.columns++;
		sizes.rows = Min(sizes.rows, column->rows);
		sizes.blocks = Min(sizes.blocks, column->good_blocks + column->doubtful_blocks);
		sizes.bytes += column->bytes;
		sizes.gpu_bytes += column->gpu_bytes;
		sizes.gpus |= column->gpus;
	}
	if (sizes.columns == 0)
		sizes.rows = sizes.blocks = 0;
	return sizes;
}

/* The names of pinned columns; NULL: all are. */
static ArrayType *
column_names(Oid relid, const Bitmapset *columns)
{
	Datum *names = palloc(sizeof(Datum) * Max(bms_num_members(columns), 1));
	int	   count = 0;
	int	   attnum = -1;

	while ((attnum = bms_next_member(columns, attnum)) >= 0)
		names[count++] = CStringGetTextDatum(get_attname(relid, attnum, false));
	return construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT);
}

/* "host", "gpu0", "gpu0,gpu1": where copies are that queries read. */
static char *
places(const PinnedSizes *sizes)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int gpu = 0; gpu < 32; gpu++)
		if ((sizes->gpus >> gpu & 1) != 0)
			appendStringInfo(&names, "%sgpu%d", names.len > 0 ? "," : "", gpu);
	return names.len > 0 ? names.data : "host";
}

/* Of copies of the table that processes outside may have open. */
static int64
exported_bytes(Oid relid, const TbExportListed *exports)
{
	int64 bytes = 0;

	for (uint64 i = 0; exports != NULL && i < exports->count; i++)
		if (exports->copies[i].relation == relid &&
			exports->copies[i].database == MyDatabaseId)
			bytes += (int64) exports->copies[i].bytes;
	return bytes;
}

static void
put_table(ReturnSetInfo *rsinfo, Relation rel, const TbPin *pin,
		  const TbCacheReported *report, const TbExportListed *exports)
{
	Oid			relid = RelationGetRelid(rel);
	bool		for_gpu = strcmp(tb_pin_device_setting(pin->device), "cpu") != 0;
	PinnedSizes sizes = sizes_of(rel, report);
	uint64		nblocks = RelationGetNumberOfBlocks(rel);
	Datum		values[GSTORE_COLUMNS];
	bool		nulls[GSTORE_COLUMNS] = {0};
	int			i = 0;

	values[i++] = ObjectIdGetDatum(relid);
	nulls[i] = pin->columns == NULL;
	values[i++] = PointerGetDatum(column_names(relid, pin->columns));
	values[i++] = CStringGetTextDatum(tb_pin_device_name(pin->device));
	nulls[i] = sizes.columns == 0;
	values[i++] = CStringGetTextDatum(places(&sizes));
	values[i++] = Int64GetDatum((int64) sizes.rows);
	values[i++] = Int64GetDatum((int64) sizes.bytes);
	values[i++] = Int64GetDatum((int64) sizes.gpu_bytes);
	values[i++] = Int64GetDatum((int64) (nblocks - Min(sizes.blocks, nblocks)));
	values[i++] = Int64GetDatum(for_gpu ? (int64) (sizes.bytes - sizes.gpu_bytes) : 0);
	values[i++] = Int64GetDatum(exported_bytes(relid, exports));
	Assert(i == GSTORE_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Of a table that is being changed under a strong lock there is no row. */
static void
put_leaf(ReturnSetInfo *rsinfo, Oid relid, const TbCacheReported *report,
		 const TbExportListed *exports)
{
	Relation rel;
	TbPin	 pin;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		return;
	if (RELKIND_HAS_STORAGE(rel->rd_rel->relkind) && tb_cache_pin_of(relid, &pin))
		put_table(rsinfo, rel, &pin, report, exports);
	relation_close(rel, AccessShareLock);
}

Datum
turbine_gstore(PG_FUNCTION_ARGS)
{
	ReturnSetInfo	*rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	List			*leaves = NIL;
	TbCacheReported *report = NULL;
	TbExportListed	*exports = NULL;
	TbFailure		 why;
	ListCell		*lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, tb_cache_pinned_tables())
		leaves = list_concat_unique_oid(leaves,
										find_all_inheritors(lfirst_oid(lc), NoLock, NULL));
	if (leaves != NIL)
	{
		report = tb_cache_report(&why);
		exports = tb_export_list();
	}
	foreach(lc, leaves)
		put_leaf(rsinfo, lfirst_oid(lc), report, exports);
	return (Datum) 0;
}
