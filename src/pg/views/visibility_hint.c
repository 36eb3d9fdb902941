/*
 * visibility_hint.c - see visibility_hint.h.
 *
 * Blocks that are not all-visible are copied out of shared buffers when they are read
 * first, and looked at one by one when others have committed since. VACUUM ends that. It
 * leaves rows that some open snapshot may not see. Owns nothing; called by turbine.why_not.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "pgstat.h"
#include "utils/backend_status.h"
#include "utils/syscache.h"

#include "pg/compat/pg16.h"
#include "pg/settings/guc.h"
#include "pg/views/visibility_hint.h"

/* A table of which more is all-visible is not spoken of. */
#define LEAST_ALL_VISIBLE 0.5

/* The process whose snapshot is older than that, the oldest one; 0: none. */
static int
holder_since(TimestampTz since)
{
	TimestampTz oldest = since;
	int			pid = 0;

	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);
		TimestampTz					begun = local->backendStatus.st_xact_start_timestamp;

		if (!TransactionIdIsValid(local->backend_xmin) || begun == 0 || begun >= oldest)
			continue;
		oldest = begun;
		pid = local->backendStatus.st_procpid;
	}
	return pid;
}

static TimestampTz
last_vacuum(Oid relid)
{
	PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(relid);

	return entry == NULL ? 0 : Max(entry->last_vacuum_time, entry->last_autovacuum_time);
}

/* Why VACUUM has not made most blocks all-visible. */
static char *
why_not_all_visible(Oid relid)
{
	TimestampTz vacuumed = last_vacuum(relid);
	int			holder;

	if (vacuumed == 0)
		return pstrdup("it was never vacuumed; VACUUM would help");
	holder = holder_since(vacuumed);
	if (holder != 0)
		return psprintf("process %d has a snapshot from before the last VACUUM, "
						"which thus left rows that it does not see",
						holder);
	return pstrdup("it has changed since it was last vacuumed; VACUUM would help");
}

char *
tb_visibility_hint(Oid relid)
{
	HeapTuple	  tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	double		  share;
	bool		  applies;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	form = (Form_pg_class) GETSTRUCT(tuple);
	applies = form->relam == HEAP_TABLE_AM_OID && form->relpages >= TB_FEW_BLOCKS &&
		form->relallvisible < form->relpages * LEAST_ALL_VISIBLE;
	share = applies ? (double) form->relallvisible / form->relpages : 1;
	ReleaseSysCache(tuple);
	if (!applies)
		return NULL;
	return psprintf("accelerated, but only %.0f %% of its blocks are all-visible: %s",
					share * 100, why_not_all_visible(relid));
}
