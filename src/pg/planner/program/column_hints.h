/*
 * column_hints.h - columns of nodes that lost only because the column cache does not have
 * them.
 *
 * If the plan that is taken scans the table, they are loaded in the background
 * (cache/wanted_load.c), so that the next planning finds them: else a query that is a
 * little cheaper each time than reading the columns once would take its time many times.
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_COLUMN_HINTS_H
#define TURBINE_PG_PLANNER_PROGRAM_COLUMN_HINTS_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "pg/planner/cost.h"

/* Of a node that loses: the columns that its program reads of the table, which may be
 * partitioned. Nothing of the program may change until the run ends. Of rows of plans, and
 * where all is cached, nothing is noted. `stages`: all of the node's (TbStage), whose code
 * is to be there when the columns are; NIL: none. */
extern void tb_column_hints_note(Oid relid, const TbProgram *program, const TbWork *work,
								 List *stages);

/* Asks for the columns that the run has noted, of tables that the plan scans. Before
 * tb_compile_hints_send. */
extern void tb_column_hints_send(const PlannedStmt *stmt);

#endif
