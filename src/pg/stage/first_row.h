/*
 * first_row.h - whether PostgreSQL would evaluate what a run evaluates ahead.
 *
 * A run computes parameters (InitPlans among them) and fetches the rows of plans before
 * its probe side is known to have a row. PostgreSQL's executor is lazy: without a row that
 * reaches them it never gets there, and raises none of their errors. So where they may
 * raise, PostgreSQL's own plan is asked for the rows that it would see first.
 */
#ifndef TURBINE_PG_STAGE_FIRST_ROW_H
#define TURBINE_PG_STAGE_FIRST_ROW_H

#include "postgres.h"

#include "pg/stage/stage_run.h"

/* Whether all that may raise would be evaluated, for all it is worth to look; if not,
 * the kept plan must run. Raises what PostgreSQL would raise on its way there. */
extern bool tb_first_row_reaches(TbStageRun *run);

#endif
