/*
 * rewritten_plan.h - which of two plans is taken: of a query as it was written, or of the
 * same with joins in place of subqueries.
 */
#ifndef TURBINE_PG_NODES_REWRITE_REWRITTEN_PLAN_H
#define TURBINE_PG_NODES_REWRITE_REWRITTEN_PLAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* How long a plan takes, and its subqueries beside what they are charged. */
typedef struct TbSubqueryTime
{
	double us;	  /* of all, subqueries as they are charged */
	double share; /* least of all subqueries that aggregate; 0: there is none */
} TbSubqueryTime;

/* From now on it is found out of the next query that is planned as a whole; NULL: of none.
 * Returns what was watched before. */
extern TbSubqueryTime *tb_subquery_time_watch(TbSubqueryTime *time);

/* The paths of the query are made. Called by the hook of the last step. */
extern void tb_subquery_time_note(PlannerInfo *root, const RelOptInfo *final_rel);

/* Whether the plan of the query as it was written takes so long that another is looked for.
 */
extern bool tb_written_plan_is_slow(const PlannedStmt *written, const TbSubqueryTime *time);

/* Whether the plan of the rewritten query is clearly faster, and has a node of ours or is
 * much cheaper by PostgreSQL's own costs. */
extern bool tb_rewritten_plan_wins(const PlannedStmt *rewritten, const PlannedStmt *written,
								   const TbSubqueryTime *time);

#endif
