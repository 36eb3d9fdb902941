/*
 * exports_view.c - turbine.exports: results and exported tables that are in memory, of all
 * sessions.
 *
 * Called by SQL; returns a materialized set. Who may not act for an owner sees nothing of
 * theirs, except members of pg_read_all_stats. While turbined is down there are no rows.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "pg/results/export_session.h"

#define EXPORT_COLUMNS 11

extern PGDLLEXPORT Datum turbine_exports(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_exports);

static void
put_copy(ReturnSetInfo *rsinfo, const TbExportInfo *info, bool own)
{
	Datum	  values[EXPORT_COLUMNS];
	bool	  nulls[EXPORT_COLUMNS] = {0};
	pg_uuid_t id;
	int		  i = 0;

	memcpy(id.data, info->id, UUID_LEN);
	nulls[i] = !own || !info->named;
	values[i++] = UUIDPGetDatum(&id);
	values[i++] = ObjectIdGetDatum(info->owner);
	values[i++] = Int32GetDatum(info->pid);
	/* Numbers of another database's tables say nothing here. */
	nulls[i] = info->relation == InvalidOid || info->database != MyDatabaseId;
	values[i++] = ObjectIdGetDatum(info->relation);
	values[i++] = CStringGetTextDatum(
		info->device == TB_DEVICE_HOST ? "host" : psprintf("gpu%u", info->device - 1));
	values[i++] = Int64GetDatum((int64) info->rows);
	values[i++] = Int64GetDatum((int64) info->bytes);
	values[i++] = Int32GetDatum((int32) info->tokens);
	values[i++] = Int32GetDatum((int32) info->importers);
	values[i++] = BoolGetDatum(info->kept != 0);
	values[i++] = TimestampTzGetDatum(info->created_us -
									  (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) *
										  USECS_PER_DAY);
	Assert(i == EXPORT_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
turbine_exports(PG_FUNCTION_ARGS)
{
	ReturnSetInfo  *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbExportListed *listed;

	InitMaterializedSRF(fcinfo, 0);
	listed = tb_export_list();
	for (uint64 i = 0; listed != NULL && i < listed->count; i++)
	{
		bool own = has_privs_of_role(GetUserId(), listed->copies[i].owner);

		if (own || has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
			put_copy(rsinfo, &listed->copies[i], own);
	}
	return (Datum) 0;
}
