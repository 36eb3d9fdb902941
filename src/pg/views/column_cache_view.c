/*
 * column_cache_view.c - turbine.column_cache: what the service keeps of which columns; and
 * turbine.cache_drop(), which makes it forget a table's, or those of its files.
 *
 * turbined knows files and attribute numbers; names come from the catalogs here. So only
 * files of this database are shown that still belong to a relation. Called by SQL. While
 * turbined is down there are no rows, and nothing to drop.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "pg/bridge/cache_requests.h"
#include "pg/compat/pg16.h"
#include "pg/files/file_relation.h"
#include "pg/files/file_table.h"

#define CACHE_COLUMNS 8

extern PGDLLEXPORT Datum turbine_column_cache(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_cache_drop(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_column_cache);
PG_FUNCTION_INFO_V1(turbine_cache_drop);

/* The relation that has this file; InvalidOid if it is another database's, or gone. */
static Oid
relation_of(const TbFileIdentity *file)
{
	Oid tablespace = file->tablespace == MyDatabaseTableSpace ? InvalidOid :
																file->tablespace;

	if (file->database != MyDatabaseId)
		return InvalidOid;
	return RelidByRelfilenumber(tablespace, file->file_number);
}

/* NULL if it was dropped since. */
static char *
name_of_attribute(Oid relation, uint32 attnum)
{
	HeapTuple tuple = attnum > 0 && attnum <= MaxHeapAttributeNumber ?
		SearchSysCacheAttNum(relation, (int16) attnum) :
		NULL;
	char	 *name;

	if (attnum == 0)
		return pstrdup("ctid"); /* line pointers, for row ids */
	if (!HeapTupleIsValid(tuple))
		return NULL;
	name = pstrdup(NameStr(((Form_pg_attribute) GETSTRUCT(tuple))->attname));
	ReleaseSysCache(tuple);
	return name;
}

static void
put_column(ReturnSetInfo *rsinfo, const TbCachedColumn *column)
{
	Datum values[CACHE_COLUMNS];
	bool  nulls[CACHE_COLUMNS] = {0};
	Oid	  relation = relation_of(&column->file);
	char *name;
	int	  i = 0;

	/* Dropped, or of another database? */
	if (!OidIsValid(relation))
		return;
	name = name_of_attribute(relation, column->attnum);
	if (name == NULL)
		return;
	values[i++] = ObjectIdGetDatum(relation);
	values[i++] = CStringGetTextDatum(name);
	values[i++] = Int64GetDatum((int64) column->bytes);
	values[i++] = Int64GetDatum((int64) column->rows);
	values[i++] = Int64GetDatum((int64) column->good_blocks);
	values[i++] = Int64GetDatum((int64) column->doubtful_blocks);
	values[i++] = Int64GetDatum((int64) column->hits);
	nulls[i] = column->last_hit_us == 0;
	values[i++] = TimestampTzGetDatum(
		column->last_hit_us - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);
	Assert(i == CACHE_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
turbine_column_cache(PG_FUNCTION_ARGS)
{
	ReturnSetInfo	*rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbCacheReported *report;
	TbFailure		 why;

	InitMaterializedSRF(fcinfo, 0);
	report = tb_cache_report(&why);
	if (report == NULL)
		return (Datum) 0;
	for (uint64 i = 0; i < report->ncolumns; i++)
		put_column(rsinfo, &report->columns[i]);
	return (Datum) 0;
}

/* Of files that are there: of others nothing is found any more, and what they have gives
 * way first. */
static uint64
drop_files(Oid relid)
{
	uint64	  sum = 0;
	ListCell *lc;

	foreach(lc, tb_file_table_versions(relid))
	{
		const TbFileVersion *file = lfirst(lc);
		uint64				 bytes = 0;
		TbFailure			 why;

		if (tb_cache_drop_file(file->device, file->inode, &bytes, &why))
			sum += bytes;
	}
	return sum;
}

/* Partitions and children are dropped with their table, as VACUUM does them. */
Datum
turbine_cache_drop(PG_FUNCTION_ARGS)
{
	Oid		  top = PG_GETARG_OID(0);
	List	 *relations;
	ListCell *lc;
	uint64	  sum = 0;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(top)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", top)));
	if (!object_ownercheck(RelationRelationId, top, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(top)),
					   get_rel_name(top));
	relations = find_all_inheritors(top, AccessShareLock, NULL);
	foreach(lc, relations)
	{
		Relation  rel = table_open(lfirst_oid(lc), NoLock);
		uint64	  bytes = 0;
		TbFailure why;

		/* Of a service that is gone the cache is, too. */
		if (RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
			tb_cache_drop(&rel->rd_locator, &bytes, &why))
			sum += bytes;
		if (tb_is_file_table(RelationGetRelid(rel), rel->rd_rel->relkind))
			sum += drop_files(RelationGetRelid(rel));
		table_close(rel, NoLock);
	}
	PG_RETURN_INT64((int64) sum);
}
