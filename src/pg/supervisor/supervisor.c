/*
 * supervisor.c - the background worker "pg_turbine supervisor".
 *
 * It only supervises. It starts turbined, notices its death (SIGCHLD sets the latch), and
 * starts it again. Once a second it asks turbined for the devices and publishes them in
 * shared memory.
 *
 * It must never crash, since the postmaster would restart every session then. So it has
 * no device code and no LLVM, and it exits with 0 or 1.
 *
 * States:
 *   DOWN       there is no process; restart_at says when to start one
 *   STARTING   there is a process that does not answer, or not yet
 *   UP         it answers. Entering or leaving UP resets the plan caches of all sessions
 */
#include "postgres.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/sinval.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pg/bridge/service_status.h"
#include "pg/bridge/service_topology.h"
#include "pg/cache/cache_autoload.h"
#include "pg/cache/pin_keeper.h"
#include "pg/cache/wanted_load.h"
#include "pg/settings/service_settings.h"
#include "pg/settings/tablespace_map.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/query_counters.h"
#include "pg/shmem/service_address.h"
#include "pg/shmem/shared_state.h"
#include "pg/shmem/storage_places.h"
#include "pg/supervisor/service_process.h"
#include "pg/supervisor/supervisor.h"

#define POLL_STARTING_MS 20

/* While a worker may have ended, and the next one has to be started. */
#define POLL_LOADING_MS 100
#define BACKOFF_FIRST_MS 50
#define BACKOFF_MAX_MS 1000

/* A service that ran this long is restarted at once when it dies. */
#define STABLE_MS 5000

/* A service that does not answer for this long is killed. */
#define HUNG_MS 60000

/* The same trouble again is logged at most this often. */
#define LOG_AGAIN_MS 60000

typedef enum ServiceState
{
	SERVICE_DOWN,
	SERVICE_STARTING,
	SERVICE_UP
} ServiceState;

typedef struct Supervisor
{
	ServiceState state;
	pid_t		 pid;
	TimestampTz	 started_at;
	TimestampTz	 answered_at; /* or started, if it has not */
	TimestampTz	 restart_at;
	TimestampTz	 logged_at;	  /* trouble */
	int			 backoff_ms;  /* before the restart after next */
} Supervisor;

static Supervisor service;

static void
handle_sigchld(SIGNAL_ARGS)
{
	int save_errno = errno;

	SetLatch(MyLatch);
	errno = save_errno;
}

/* Trouble that may repeat every second deserves a line a minute. */
static bool
may_log_restart(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(service.logged_at, now, LOG_AGAIN_MS))
		return false;
	service.logged_at = now;
	return true;
}

/*
 * Makes every session replan its cached plans. PlanCacheSysCallback resets the
 * whole plan cache on any change to a few catalogs; an invalidation of the
 * least used of them (whose cache entries are cheap to read again) reaches
 * sessions before their next use of a cached plan.
 */
static void
reset_plan_caches(void)
{
	SharedInvalidationMessage message;

	memset(&message, 0, sizeof(message));
	message.cc.id = (int8) FOREIGNDATAWRAPPEROID;
	message.cc.dbId = InvalidOid;
	message.cc.hashValue = 0;
	SendSharedInvalidMessages(&message, 1);
}

/* The cluster's nonce, for this run of the postmaster. */
static void
make_nonce(void)
{
	TbSharedState *shared = tb_shared_state();
	uint8		   nonce[TB_NONCE_BYTES];

	if (!pg_strong_random(nonce, sizeof(nonce)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random bytes for pg_turbine")));
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	memcpy(shared->nonce, nonce, sizeof(nonce));
	LWLockRelease(shared->lock);
}

static void
make_directory(const char *path)
{
	if (MakePGDirectory(path) != 0 && errno != EEXIST)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not create directory \"%s\": %m", path)));
}

static void
schedule_restart(void)
{
	TimestampTz now = GetCurrentTimestamp();

	service.state = SERVICE_DOWN;
	service.restart_at = TimestampTzPlusMilliseconds(now, service.backoff_ms);
	service.backoff_ms = service.backoff_ms == 0 ?
		BACKOFF_FIRST_MS :
		Min(2 * service.backoff_ms, BACKOFF_MAX_MS);
}

static void
start_service(void)
{
	uint8		   nonce[TB_NONCE_BYTES];
	TbSharedState *shared = tb_shared_state();

	/* The nonce proves who it is. */
	LWLockAcquire(shared->lock, LW_SHARED);
	memcpy(nonce, shared->nonce, sizeof(nonce));
	LWLockRelease(shared->lock);

	/* Start it. */
	make_directory(TB_SERVICE_DIRECTORY);
	make_directory(TB_CACHE_DIRECTORY);
	service.pid = tb_service_start(nonce);
	service.started_at = service.answered_at = GetCurrentTimestamp();
	/* Try again later. */
	if (service.pid < 0)
	{
		if (may_log_restart())
			ereport(LOG,
					(errmsg("could not start the pg_turbine service: %m"),
					 errhint("Check the installation, or pg_turbine.service_path.")));
		schedule_restart();
		return;
	}
	tb_stat_add(TB_COUNTER_SERVICE_STARTS, 1);
	service.state = SERVICE_STARTING;
}

static void
log_end(int status)
{
	if (WIFSIGNALED(status))
		ereport(LOG,
				(errmsg("pg_turbine service (PID %d) was terminated by signal %d: %s",
						(int) service.pid, WTERMSIG(status),
						pg_strsignal(WTERMSIG(status)))));
	else
		ereport(LOG,
				(errmsg("pg_turbine service (PID %d) exited with code %d",
						(int) service.pid, WEXITSTATUS(status))));
}

/* Takes note of the service's end, if it has ended. */
static void
reap_service(void)
{
	bool was_up = service.state == SERVICE_UP;
	int	 status;

	if (service.state == SERVICE_DOWN ||
		waitpid(service.pid, &status, WNOHANG) != service.pid)
		return;
	tb_service_kill_group(service.pid);
	if (was_up || may_log_restart())
		log_end(status);
	if (was_up)
	{
		tb_devices_withdraw();
		reset_plan_caches();
	}
	if (TimestampDifferenceExceeds(service.started_at, GetCurrentTimestamp(), STABLE_MS))
		service.backoff_ms = 0;
	service.pid = 0;
	schedule_restart();
}

/* Which GPUs are near which drives; without an answer, what was known stays. */
static void
learn_topology(void)
{
	TbFailure		 why;
	TbTopologyReply *topology = tb_service_topology(&why);

	if (topology != NULL)
		tb_storage_places_publish(topology);
	else
		ereport(LOG,
				(errmsg("pg_turbine service (PID %d) does not tell where drives are: %s",
						(int) service.pid, why.message)));
}

static void
service_answered(const TbStatusReply *status)
{
	bool news = service.state != SERVICE_UP ||
		status->generation != tb_devices_generation();

	service.answered_at = GetCurrentTimestamp();
	service.state = SERVICE_UP;
	tb_devices_publish(status);
	if (!news)
		return;
	learn_topology();
	reset_plan_caches();
	ereport(LOG,
			(errmsg("pg_turbine service (PID %d) is ready with %u device(s)",
					(int) service.pid, status->ndevices)));
}

/* No answer: queries should not wait to find out for themselves. */
static void
service_silent(const TbFailure *why)
{
	/* No new plans for devices. */
	if (service.state == SERVICE_UP)
	{
		ereport(LOG,
				(errmsg("pg_turbine service (PID %d) does not answer: %s",
						(int) service.pid, why->message)));
		service.state = SERVICE_STARTING;
		tb_devices_withdraw();
		reset_plan_caches();
	}
	else if (why->reason == TB_FALLBACK_PROTOCOL && may_log_restart())
		ereport(LOG,
				(errmsg("pg_turbine service (PID %d) cannot be used: %s", (int) service.pid,
						why->message),
				 errhint(
					 "Restart PostgreSQL, so that it loads the library of the installed "
					 "package.")));
	/* Has it had enough time? */
	if (!TimestampDifferenceExceeds(service.answered_at, GetCurrentTimestamp(), HUNG_MS))
		return;
	ereport(LOG,
			(errmsg("pg_turbine service (PID %d) was killed because it did not answer",
					(int) service.pid)));
	tb_service_kill_group(service.pid);
	service.answered_at = GetCurrentTimestamp();
}

static void
poll_service(void)
{
	TbFailure	   why;
	TbStatusReply *status = tb_service_status(&why);

	if (status != NULL)
		service_answered(status);
	else
		service_silent(&why);
}

/* One round: what is due now; returns how long to wait for the next. */
static long
supervise(void)
{
	reap_service();
	if (service.state == SERVICE_DOWN)
	{
		long wait_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
													   service.restart_at);

		if (wait_ms > 0)
			return wait_ms;
		start_service();
	}
	if (service.state == SERVICE_DOWN)
		return BACKOFF_FIRST_MS;
	poll_service();
	if (service.state != SERVICE_UP)
		return POLL_STARTING_MS;
	tb_pin_keepers_step();
	/* What was cached before comes first. */
	return tb_cache_autoload_step() || tb_wanted_load_step() ? POLL_LOADING_MS :
															   TB_DEVICES_LOOK_MS;
}

/* Backends wake the supervisor by it. */
static void
share_latch(Latch *latch)
{
	TbSharedState *shared = tb_shared_state();

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->supervisor = latch;
	LWLockRelease(shared->lock);
}

static void
stop_service_at_exit(int code, Datum arg)
{
	share_latch(NULL);
	tb_devices_withdraw();
	if (service.state != SERVICE_DOWN)
		tb_service_stop(service.pid);
	service.state = SERVICE_DOWN;
}

void
tb_supervisor_main(Datum main_arg)
{
	MemoryContext round_context;

	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGCHLD, handle_sigchld);
	BackgroundWorkerUnblockSignals();

	before_shmem_exit(stop_service_at_exit, 0);
	tb_devices_withdraw();
	make_nonce();
	share_latch(MyLatch);
	round_context = AllocSetContextCreate(TopMemoryContext, "pg_turbine supervisor",
										  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(round_context);

	while (!ShutdownRequestPending)
	{
		long wait_ms = supervise();

		MemoryContextReset(round_context);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, wait_ms,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			/* The service's settings are fixed: a reload restarts nothing. */
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}

	if (service.state == SERVICE_UP)
		tb_cache_autoload_save();
	tb_pin_keepers_save();
	/* 1, not 0: a worker ended by hand comes back. */
	proc_exit(1);
}

void
tb_supervisor_init(void)
{
	BackgroundWorker worker;

	tb_shared_state_init();
	tb_service_settings_init();
	tb_tablespace_map_init();

	/* pg_upgrade drops databases, and replaces files of tables: nobody may load them. */
	if (IsBinaryUpgrade)
		return;
	memset(&worker, 0, sizeof(worker));
	strlcpy(worker.bgw_name, "pg_turbine supervisor", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "pg_turbine supervisor", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_PostmasterStart;
	worker.bgw_restart_time = 1;
	strlcpy(worker.bgw_library_name, "pg_turbine", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "tb_supervisor_main", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
