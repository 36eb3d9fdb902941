/*
 * training_progress.c - see training_progress.h.
 *
 * Owns the list in shared memory, under the shared state's lock. Called by learning/ once
 * an iteration. Without room, or without the library preloaded, it does nothing.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/timestamp.h"

#include "pg/shmem/shared_state.h"
#include "pg/shmem/training_progress.h"

static TbTraining *own_training = NULL; /* this backend's */

static bool
is_training(const TbTraining *training)
{
	return training->pid != 0 && BackendPidGetProc(training->pid) != NULL;
}

void
tb_training_progress_begin(const char *function)
{
	TbSharedState *shared = tb_shared_state();

	if (shared == NULL)
		return;
	own_training = NULL;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < TB_MAX_TRAININGS && own_training == NULL; i++)
		if (shared->trainings[i].pid == MyProcPid || !is_training(&shared->trainings[i]))
			own_training = &shared->trainings[i];
	if (own_training != NULL)
		*own_training = (TbTraining) {.pid = MyProcPid,
									  .database = MyDatabaseId,
									  .role = GetUserId(),
									  .function = function,
									  .change = NAN,
									  .objective = NAN,
									  .started = GetCurrentTimestamp()};
	LWLockRelease(shared->lock);
}

void
tb_training_progress_rows(int64 rows)
{
	if (own_training == NULL)
		return;
	LWLockAcquire(tb_shared_state()->lock, LW_EXCLUSIVE);
	own_training->rows = rows;
	LWLockRelease(tb_shared_state()->lock);
}

void
tb_training_progress_iteration(int iteration, double change, double objective)
{
	if (own_training == NULL)
		return;
	LWLockAcquire(tb_shared_state()->lock, LW_EXCLUSIVE);
	own_training->iteration = iteration;
	own_training->change = change;
	own_training->objective = objective;
	LWLockRelease(tb_shared_state()->lock);
}

void
tb_training_progress_end(void)
{
	if (own_training == NULL)
		return;
	LWLockAcquire(tb_shared_state()->lock, LW_EXCLUSIVE);
	own_training->pid = 0;
	LWLockRelease(tb_shared_state()->lock);
	own_training = NULL;
}

int
tb_training_progress_snapshot(TbTraining *trainings)
{
	TbSharedState *shared = tb_shared_state();
	int			   count = 0;

	if (shared == NULL)
		return 0;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < TB_MAX_TRAININGS; i++)
		if (is_training(&shared->trainings[i]))
			trainings[count++] = shared->trainings[i];
	LWLockRelease(shared->lock);
	return count;
}
