/*
 * input_kinds.h - makes the input of a stage.
 */
#ifndef TURBINE_PG_STAGE_INPUT_KINDS_H
#define TURBINE_PG_STAGE_INPUT_KINDS_H

#include "postgres.h"

#include "pg/source/input.h"

/* Of the node's stage of that number, in the current memory context. Raises PostgreSQL's
 * errors about a table that nobody may read yet: a materialized view without rows. */
extern TbInput *tb_stage_input_make(CustomScanState *css, int stage, int eflags);

/* Of one table that is not partitioned; `index_scan`: a child plan of the node's, or NULL.
 */
extern TbInput *tb_relation_input_make(CustomScanState *css, Index rti, Plan *index_scan,
									   int eflags);

#endif
