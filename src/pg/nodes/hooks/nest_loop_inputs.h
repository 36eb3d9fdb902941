/*
 * nest_loop_inputs.h - nodes of ours that nested loops of PostgreSQL's run again.
 */
#ifndef TURBINE_PG_NODES_HOOKS_NEST_LOOP_INPUTS_H
#define TURBINE_PG_NODES_HOOKS_NEST_LOOP_INPUTS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Where a node of ours is the inner side of a nested loop and depends on no outer row, its
 * rows are kept by a Material node: a run of ours takes the time of a whole query, so an
 * outer side with more rows than were estimated would multiply that. Of estimates that
 * exceed work_mem PostgreSQL's choice is left alone.
 */
extern void tb_keep_nest_loop_inputs(PlannedStmt *stmt);

#endif
