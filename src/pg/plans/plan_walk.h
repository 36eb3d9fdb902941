/*
 * plan_walk.h - the nodes of a finished plan, and what a node computes itself.
 */
#ifndef TURBINE_PG_PLANS_PLAN_WALK_H
#define TURBINE_PG_PLANS_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Looks at a node. It may change the node and put others below it. False: nothing below it
 * is of interest, or the visitor has walked there itself. */
typedef bool (*TbPlanVisitor)(Plan *plan, void *context);

/* Calls the visitor with each node, before those below it: the children of our nodes, and
 * what the visitor has put there, included. `plan` may be NULL. */
extern void tb_walk_plan(Plan *plan, TbPlanVisitor visit, void *context);

/* The same of all plans of a statement, its subplans included. */
extern void tb_walk_statement(PlannedStmt *stmt, TbPlanVisitor visit, void *context);

/*
 * Plans as PostgreSQL would have them without us: in place of a GpuScan the sequential scan
 * that it stands for, which is a copy; any other plan is returned as it is. Nothing is
 * changed.
 */
extern Plan *tb_plan_as_postgres(Plan *plan);
extern List *tb_plans_as_postgres(List *plans);
extern Plan *tb_plan_outer(const Plan *plan);
extern Plan *tb_plan_inner(const Plan *plan);

/* All plans right below, in that form. */
extern List *tb_plan_children(Plan *plan);

/* Target list, filters and conditions of the node itself. */
extern List *tb_plan_clauses(Plan *plan);

#endif
