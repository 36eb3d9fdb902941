/*
 * plan_passes.h - what is mended in finished plans.
 */
#ifndef TURBINE_PG_NODES_HOOKS_PLAN_PASSES_H
#define TURBINE_PG_NODES_HOOKS_PLAN_PASSES_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* Of the plan that is taken: hash joins ask the side that they would ask without us, and
 * rows of our nodes that nested loops read again are kept. */
extern void tb_mend_plan(PlannedStmt *stmt);

/*
 * A join of ours keeps PostgreSQL's plan of the same join beside its own children. A
 * subquery among them is then part of both, and the planner numbers its tables anew for
 * each: the range table gets an entry for each, but the AppendRelInfos are the same ones,
 * renumbered twice, and point past its end, where EXPLAIN writes.
 */

/* Notes a query level whose paths are complete, in the run of the planner. */
extern void tb_append_relations_note(PlannerInfo *root);

/* Before that run ends, of levels that were noted: each range table entry of a child gets
 * an AppendRelInfo of its own. */
extern void tb_append_relations_separate(PlannedStmt *stmt);

#endif
