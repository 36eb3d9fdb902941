/*
 * database_worker.c - see database_worker.h.
 *
 * Called by the supervisor, for cache_autoload.c and pin_keeper.c: it has no database
 * itself. It hears of the worker's start and end by its latch.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pg/cache/database_worker.h"

BackgroundWorkerHandle *
tb_database_worker_start(const char *name, const char *function, Oid database)
{
	BackgroundWorker		specification;
	BackgroundWorkerHandle *worker = NULL;
	MemoryContext			old = MemoryContextSwitchTo(TopMemoryContext);

	memset(&specification, 0, sizeof(specification));
	strlcpy(specification.bgw_name, name, BGW_MAXLEN);
	strlcpy(specification.bgw_type, name, BGW_MAXLEN);
	specification.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	specification.bgw_start_time = BgWorkerStart_ConsistentState;
	specification.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(specification.bgw_library_name, "pg_turbine", BGW_MAXLEN);
	strlcpy(specification.bgw_function_name, function, BGW_MAXLEN);
	specification.bgw_main_arg = ObjectIdGetDatum(database);
	specification.bgw_notify_pid = MyProcPid;
	if (!RegisterDynamicBackgroundWorker(&specification, &worker))
		worker = NULL;
	MemoryContextSwitchTo(old);
	return worker;
}

void
tb_in_own_transaction(void (*call)(void *argument), void *argument)
{
	MemoryContext context = CurrentMemoryContext;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	PG_TRY();
	{
		call(argument);
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
}

bool
tb_database_worker_is_at_work(BackgroundWorkerHandle **worker)
{
	pid_t pid;

	if (*worker == NULL)
		return false;
	switch (GetBackgroundWorkerPid(*worker, &pid))
	{
		case BGWH_STARTED:
		case BGWH_NOT_YET_STARTED:
			return true;
		default:
			pfree(*worker);
			*worker = NULL;
			return false;
	}
}
