/*
 * stage_explain.h - what EXPLAIN shows of the stages of a node.
 */
#ifndef TURBINE_PG_STAGE_STAGE_EXPLAIN_H
#define TURBINE_PG_STAGE_STAGE_EXPLAIN_H

#include "postgres.h"

#include "commands/explain.h"

#include "pg/stage/run_cursor.h"

/* Tables, filters, joins, and how the run went; last, why PostgreSQL's plan ran. */
extern void tb_explain_run(const TbRunCursor *cursor, List *ancestors, ExplainState *es);

#endif
