/*
 * stage_explain.h - what EXPLAIN shows of the stages of a node.
 */
#ifndef TURBINE_PG_STAGE_EXPLAIN_H
#define TURBINE_PG_STAGE_EXPLAIN_H

#include "postgres.h"

#include "commands/explain.h"

#include "pg/nodes/stage_run.h"

/* Tables, filters, joins, and how the run went. */
extern void tb_explain_run(TbStageRun *run, bool falling_back, List *ancestors,
						   ExplainState *es);

#endif
