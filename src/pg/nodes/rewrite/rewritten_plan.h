/*
 * rewritten_plan.h - which of two plans is taken: of a query as it was written, or of the
 * same with joins in place of subqueries.
 */
#ifndef TURBINE_PG_NODES_REWRITE_REWRITTEN_PLAN_H
#define TURBINE_PG_NODES_REWRITE_REWRITTEN_PLAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "pg/planner/planning.h"

/* The paths of the query are made: notes TbPlanning.subquery_time, if it is asked for.
 * Called by the hook of the last step. */
extern void tb_subquery_time_note(PlannerInfo *root, const RelOptInfo *final_rel);

/* Whether the plan of the query as it was written takes so long that another is looked for.
 */
extern bool tb_written_plan_is_slow(const PlannedStmt *written, const TbSubqueryTime *time);

/* Whether the plan of the rewritten query is clearly faster, and has a node of ours or is
 * much cheaper by PostgreSQL's own costs. */
extern bool tb_rewritten_plan_wins(const PlannedStmt *rewritten, const PlannedStmt *written,
								   const TbSubqueryTime *time);

#endif
