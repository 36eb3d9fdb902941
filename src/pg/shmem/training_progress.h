/*
 * training_progress.h - trainings of models that run now: how far each is.
 *
 * A backend shows at most one. One that died leaves an entry that nobody shows and that the
 * next training takes.
 */
#ifndef TURBINE_PG_SHMEM_TRAINING_PROGRESS_H
#define TURBINE_PG_SHMEM_TRAINING_PROGRESS_H

#include "postgres.h"

#include "datatype/timestamp.h"

typedef struct TbTraining
{
	int			pid; /* 0: there is none */
	Oid			database;
	Oid			role;
	const char *function;  /* a literal of the library */
	int64		rows;	   /* that it learns from; 0: not counted yet */
	int			iteration;
	double		change;	   /* of the model in the last iteration; NaN: none yet */
	double		objective; /* log-likelihood, or inertia; NaN: none */
	TimestampTz started;
} TbTraining;

/* More than run at a time: later ones are not shown. */
#define TB_MAX_TRAININGS 64

/* A training of this backend, by the name of its function. */
extern void tb_training_progress_begin(const char *function);
extern void tb_training_progress_rows(int64 rows);
extern void tb_training_progress_iteration(int iteration, double change, double objective);
extern void tb_training_progress_end(void);

/* Those that run now; returns how many. */
extern int tb_training_progress_snapshot(TbTraining *trainings);

#endif
