/*
 * training_progress_view.c - turbine.training_progress: trainings of models that run now,
 * of all sessions.
 *
 * Called by SQL; returns a materialized set. Of roles that the user may not act for only
 * pid, database and role are shown, except to members of pg_read_all_stats.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pg/shmem/training_progress.h"

#define TRAINING_COLUMNS 9

extern PGDLLEXPORT Datum turbine_training_progress(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_training_progress);

static void
put_training(ReturnSetInfo *rsinfo, const TbTraining *training, bool visible)
{
	Datum values[TRAINING_COLUMNS] = {0};
	bool  nulls[TRAINING_COLUMNS] = {0};
	int	  i = 0;

	values[i++] = Int32GetDatum(training->pid);
	values[i++] = ObjectIdGetDatum(training->database);
	values[i++] = ObjectIdGetDatum(training->role);
	if (visible)
	{
		values[i++] = CStringGetTextDatum(training->function);
		nulls[i] = training->rows == 0;
		values[i++] = Int64GetDatum(training->rows);
		values[i++] = Int32GetDatum(training->iteration);
		nulls[i] = isnan(training->change);
		values[i++] = Float8GetDatum(training->change);
		nulls[i] = isnan(training->objective);
		values[i++] = Float8GetDatum(training->objective);
		values[i++] = TimestampTzGetDatum(training->started);
	}
	else
		while (i < TRAINING_COLUMNS)
			nulls[i++] = true;
	Assert(i == TRAINING_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
turbine_training_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TbTraining	   trainings[TB_MAX_TRAININGS];
	int			   count;

	InitMaterializedSRF(fcinfo, 0);
	count = tb_training_progress_snapshot(trainings);
	for (int i = 0; i < count; i++)
		put_training(rsinfo, &trainings[i],
					 has_privs_of_role(GetUserId(), trainings[i].role) ||
						 has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS));
	return (Datum) 0;
}
