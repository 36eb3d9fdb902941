/*
 * window.h - window functions as passes of a result plan.
 *
 * Used by the planning of GpuSort. A pass is one order of the rows with all functions that
 * are computed over it; all window functions of the query go to the engine, or none.
 */
#ifndef TURBINE_PG_NODES_SORT_WINDOW_H
#define TURBINE_PG_NODES_SORT_WINDOW_H

#include "postgres.h"

#include "pg/nodes/sort/gpu_sort.h"
#include "pg/nodes/results/result_plan.h"

/* The clauses (WindowClause) that are in use, in the order in which a path of
 * PostgreSQL's computes them; NIL: there is no such path. */
extern List *tb_windows_of_paths(const List *paths);

/* What must be columns of rows for these windows (Expr). */
extern List *tb_window_exprs(PlannerInfo *root, List *windows);

/* Adds passes, columns and conditions for them. False, with *reason, if the engine
 * does not compute one. */
extern bool tb_windows_add(PlannerInfo *root, TbSortInput *input, List *windows,
						   TbResultBuilder *builder, const char **reason);

#endif
