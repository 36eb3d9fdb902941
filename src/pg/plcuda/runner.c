/*
 * runner.c - see runner.h; turbine/plcuda.h has what is said.
 *
 * Owns the session's process and its slot (shmem/plcuda_slots.h). Every wait ends at an
 * interrupt, and every error kills the process, unless the process itself has said that it
 * goes on. Killing does not wait for the end: a device may take long to stop a kernel.
 * While a call runs, its memory is looked at now and then: the process limits what it can
 * allocate, but not what it shares with others.
 *
 * Called by language.c. Must never believe a length that the process says.
 */
#include "postgres.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "turbine/plcuda.h"

#include "pg/plcuda/compiler.h"
#include "pg/plcuda/kept_copies.h"
#include "pg/plcuda/limited_process.h"
#include "pg/plcuda/runner.h"
#include "pg/settings/plcuda_settings.h"
#include "pg/shmem/plcuda_slots.h"

#define LOOK_MS 200 /* at memory and output, while a call runs */
#define SLOT_WAIT_MS 10
#define MOST_PRINTED 2000
#define MOST_MESSAGE 4000
#define END_WAIT_MS 500 /* for the status of a process that has closed its socket */

typedef struct Runner
{
	TbLimitedProcess process;
	int				 slot;
	pid_t			 pid;	   /* also when it has been reaped */
	bool			 is_fresh; /* no call has ended yet */
	StringInfoData	 printed;  /* by the call */
	char			 buffer[65536];
	int				 nread;
	int				 taken;
	bool			 has_frames; /* of this call */
	bool			 is_busy;	 /* a call has begun */
	bool			 is_over; /* the call has failed, and the process goes on or is ended */
} Runner;

static Runner runner = {.process = {.output = -1, .socket = -1}, .slot = TB_NO_PLCUDA_SLOT};
static bool	  exit_registered = false;

static void
end_runner(void)
{
	if (runner.slot != TB_NO_PLCUDA_SLOT)
		tb_plcuda_slot_free(runner.slot, runner.pid);
	runner.slot = TB_NO_PLCUDA_SLOT;
	tb_limited_process_end(&runner.process);
	runner.pid = 0;
	tb_plcuda_copies_ended();
}

static void
end_at_exit(int code, Datum argument)
{
	(void) code;
	(void) argument;
	end_runner();
}

static void
wait_for_slot(void)
{
	while ((runner.slot = tb_plcuda_slot_take()) == TB_NO_PLCUDA_SLOT)
	{
		if (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					  SLOT_WAIT_MS, PG_WAIT_EXTENSION) &
			WL_LATCH_SET)
			ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
start_runner(void)
{
	char  memory[16];
	char *arguments[] = {"turbine-plcuda", "run", memory, NULL};
	char *folder = psprintf("%s/%s", DataDir, TB_PLCUDA_FOLDER);

	if (!exit_registered)
	{
		before_shmem_exit(end_at_exit, (Datum) 0);
		exit_registered = true;
	}
	snprintf(memory, sizeof(memory), "%d", tb_plcuda_memory_mb);
	wait_for_slot();
	tb_limited_process_start(&runner.process, arguments, tb_plcuda_environment(folder),
							 true);
	runner.pid = runner.process.pid;
	runner.is_fresh = true;
	tb_plcuda_slot_set_runner(runner.slot, runner.pid);
}

/* The process, busy with this call. */
static void
get_runner(void)
{
	int status;

	if (runner.process.pid > 0 && tb_plcuda_slot_resume(runner.slot, runner.pid) &&
		!tb_limited_process_has_ended(&runner.process, &status))
	{
		runner.is_fresh = false;
		return;
	}
	end_runner();
	start_runner();
}

/* Megabytes that it has in memory. */
static int64
resident_mb(void)
{
	char  path[64];
	long  pages[2] = {0, 0};
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int) runner.pid);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2)
		pages[1] = 0;
	fclose(file);
	return (int64) pages[1] * sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

/* What the function has printed, as the last line of a message's detail. */
static char *
printed_text(void)
{
	char *text = runner.printed.data;

	(void) tb_limited_process_read(&runner.process, &runner.printed, MOST_PRINTED);
	text = runner.printed.data;
	if (text[0] == '\0' ||
		!pg_verify_mbstr(GetDatabaseEncoding(), text, runner.printed.len, true))
		return NULL;
	return text;
}

static _Noreturn void
raise_memory(const TbPlcudaRun *run)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("function %s has used more memory than it may", run->name),
			 errhint("pg_turbine.plcuda_memory is %d MB.", tb_plcuda_memory_mb)));
}

/* The process has closed its socket: waits a moment for its status. False: it has none yet.
 */
static bool
status_of_end(int *status)
{
	for (int waited = 0; waited < END_WAIT_MS; waited++)
	{
		if (tb_limited_process_has_ended(&runner.process, status))
			return true;
		pg_usleep(1000L);
	}
	return false;
}

/* It has done so in the midst of a call. */
static _Noreturn void
raise_end(const TbPlcudaRun *run, bool known, int status)
{
	char *printed;

	printed = printed_text();
	if (known && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("function %s has tried to start a process", run->name),
				 errdetail("Functions of LANGUAGE plcuda may start threads only.")));
	if (known && WIFSIGNALED(status))
		ereport(
			ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("function %s has crashed: %s", run->name,
					pg_strsignal(WTERMSIG(status))),
			 printed != NULL ? errdetail("It has printed: %s", printed) : 0,
			 WTERMSIG(status) == SIGSEGV ?
				 errhint("A call of malloc returns NULL beyond pg_turbine.plcuda_memory, "
						 "which is %d MB.",
						 tb_plcuda_memory_mb) :
				 0));
	if (known && WIFEXITED(status))
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("function %s has ended its process with status %d", run->name,
						WEXITSTATUS(status)),
				 printed != NULL ? errdetail("It has printed: %s", printed) : 0));
	ereport(ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("function %s has closed its connection", run->name)));
}

static void
wait_for_runner(const TbPlcudaRun *run, int event)
{
	int happened = WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT |
										 event,
									 runner.process.socket, LOOK_MS, PG_WAIT_EXTENSION);

	if (happened & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (happened & WL_TIMEOUT)
	{
		(void) tb_limited_process_read(&runner.process, &runner.printed, MOST_PRINTED);
		if (resident_mb() > tb_plcuda_memory_mb)
			raise_memory(run);
	}
}

/* False: the process has ended. */
static bool
send_bytes_to_runner(const TbPlcudaRun *run, const void *from, Size size)
{
	const char *place = from;

	while (size > 0)
	{
		ssize_t n = send(runner.process.socket, place, size, MSG_NOSIGNAL);

		if (n > 0)
		{
			place += n;
			size -= n;
		}
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			wait_for_runner(run, WL_SOCKET_WRITEABLE);
		else if (n == 0 || errno != EINTR)
			return false;
	}
	return true;
}

/* So many bytes of its answer. False: the process has ended. */
static bool
receive_from_runner(const TbPlcudaRun *run, char *to, Size size)
{
	while (size > 0)
	{
		if (runner.taken < runner.nread)
		{
			Size now = Min(size, (Size) (runner.nread - runner.taken));

			memcpy(to, runner.buffer + runner.taken, now);
			runner.taken += now;
			to += now;
			size -= now;
		}
		else
		{
			ssize_t n = recv(runner.process.socket, runner.buffer, sizeof(runner.buffer),
							 0);

			if (n > 0)
			{
				runner.taken = 0;
				runner.nread = n;
				/* A function may return rows without end. */
				CHECK_FOR_INTERRUPTS();
			}
			else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
				wait_for_runner(run, WL_SOCKET_READABLE);
			else if (n == 0 || errno != EINTR)
				return false;
		}
	}
	return true;
}

static _Noreturn void
raise_malformed_answer(const TbPlcudaRun *run)
{
	ereport(ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("function %s has damaged its process", run->name),
			 errdetail("The process's answer is malformed.")));
}

/* Nothing was called, for a reason that this session can mend. */
static bool
can_be_called_again(TbPlcudaRun *run, uint32 failure)
{
	if (failure == TB_PLCUDA_NO_COPY)
	{
		tb_plcuda_copies_missing();
		run->outcome = TB_PLCUDA_AGAIN;
		return true;
	}
	/* Another session has removed it to keep the cache small. */
	if (failure == TB_PLCUDA_NO_LIBRARY && access(run->library, F_OK) != 0)
	{
		run->outcome = TB_PLCUDA_COMPILE_AGAIN;
		return true;
	}
	return false;
}

/* What the function, or its process, says has happened. */
static _Noreturn void
raise_failure_of(const TbPlcudaRun *run, uint32 failure, const char *answer, uint32 length)
{
	char *message;
	char *printed;

	message = pnstrdup(answer + sizeof(failure),
					   Min(length - sizeof(failure), MOST_MESSAGE));
	if (!pg_verify_mbstr(GetDatabaseEncoding(), message, strlen(message), true))
		message = "(its message is not valid in the database's encoding)";
	printed = printed_text();
	/* The call is over, and the process can take the next one. */
	if (failure != TB_PLCUDA_IS_LOST)
		tb_plcuda_slot_rest(runner.slot);
	else
		end_runner();
	if (failure == TB_PLCUDA_NO_DEVICE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("function %s needs a GPU, and there is no CUDA device", run->name),
				 errdetail("%s", message)));
	ereport(ERROR,
			(errcode(failure == TB_PLCUDA_NO_MEMORY ? ERRCODE_OUT_OF_MEMORY :
													  ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("%s", message),
			 printed != NULL ? errdetail("It has printed: %s", printed) : 0,
			 errcontext("function %s", run->name)));
}

/* False: the process had ended before the call began. */
static bool
call_runner(TbPlcudaRun *run)
{
	TbPlcudaRequest request = {.magic = TB_PLCUDA_MAGIC,
							   .nargs = run->nargs,
							   .bytes = run->arguments->len,
							   .path_length = strlen(run->library)};
	StringInfoData	frames;
	TbPlcudaFrame	frame;

	if (!send_bytes_to_runner(run, &request, sizeof(request)) ||
		!send_bytes_to_runner(run, run->library, request.path_length) ||
		!send_bytes_to_runner(run, run->arguments->data, run->arguments->len))
		return false;
	initStringInfo(&frames);
	for (;;)
	{
		bool is_first = !runner.has_frames;

		if (!receive_from_runner(run, (char *) &frame, sizeof(frame)))
			return false;
		runner.has_frames = true;
		if (frame.length > TB_PLCUDA_MOST_ROW - 1024)
			raise_malformed_answer(run);
		resetStringInfo(&frames);
		enlargeStringInfo(&frames, frame.length);
		if (!receive_from_runner(run, frames.data, frame.length))
			return false;
		frames.len = frame.length;
		frames.data[frame.length] = '\0';
		if (frame.kind == TB_PLCUDA_ROW)
			run->row(run, frames.data, frame.length);
		else if (frame.kind == TB_PLCUDA_FAILED)
		{
			uint32 failure;

			if (frame.length < sizeof(failure))
				raise_malformed_answer(run);
			memcpy(&failure, frames.data, sizeof(failure));
			if (is_first && can_be_called_again(run, failure))
				break;
			runner.is_over = true;
			raise_failure_of(run, failure, frames.data, frame.length);
		}
		else if (frame.kind == TB_PLCUDA_DONE && frame.length == 0)
		{
			tb_plcuda_copies_found();
			break;
		}
		else
			raise_malformed_answer(run);
	}
	pfree(frames.data);
	return true;
}

void
tb_plcuda_begin(const char *name)
{
	/* A domain's check may call a function while a row of another one is read. */
	if (runner.is_busy)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function %s cannot be called now", name),
				 errdetail("Another function of LANGUAGE plcuda is being called by this "
						   "session.")));
	PG_TRY();
	{
		get_runner();
	}
	PG_CATCH();
	{
		end_runner();
		PG_RE_THROW();
	}
	PG_END_TRY();
	runner.is_busy = true;
	runner.is_over = false;
}

void
tb_plcuda_abandon(void)
{
	runner.is_busy = false;
	tb_plcuda_slot_rest(runner.slot);
}

/* A process that has ended meanwhile has dropped all. */
void
tb_plcuda_drop_copy(Oid relation)
{
	TbPlcudaRequest request = {.magic = TB_PLCUDA_MAGIC, .drop = relation};
	TbPlcudaRun		nothing = {.name = ""};

	(void) send_bytes_to_runner(&nothing, &request, sizeof(request));
}

bool
tb_plcuda_release_copies(void)
{
	bool any = tb_plcuda_slots_end_idle() > 0;

	if (runner.is_busy && runner.process.pid > 0)
	{
		tb_plcuda_drop_copy(TB_PLCUDA_DROP_ALL);
		tb_plcuda_copies_ended();
		any = true;
	}
	return any;
}

/* Has the process ended because it was idle, while the call was on its way? */
static bool
was_idle_too_long(bool known, int status)
{
	return !runner.is_fresh && !runner.has_frames && known && WIFEXITED(status) &&
		WEXITSTATUS(status) == TB_PLCUDA_EXIT_IDLE;
}

TbPlcudaOutcome
tb_plcuda_run(TbPlcudaRun *run)
{
	Assert(runner.is_busy);
	run->outcome = TB_PLCUDA_RAN;
	PG_TRY();
	{
		initStringInfo(&runner.printed);
		runner.nread = runner.taken = 0;
		runner.has_frames = false;
		if (call_runner(run))
		{
			(void) tb_limited_process_read(&runner.process, &runner.printed, MOST_PRINTED);
			if (runner.printed.len > 0)
				elog(DEBUG1, "function %s has printed: %s", run->name, runner.printed.data);
			tb_plcuda_slot_rest(runner.slot);
		}
		else
		{
			int	 status = 0;
			bool known = status_of_end(&status);

			if (!was_idle_too_long(known, status))
				raise_end(run, known, status);
			end_runner();
			run->outcome = TB_PLCUDA_AGAIN;
		}
	}
	PG_CATCH();
	{
		if (!runner.is_over)
			end_runner();
		runner.is_busy = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	runner.is_busy = false;
	return run->outcome;
}
