/*
 * plan_walk.h - all nodes of a finished plan.
 */
#ifndef TURBINE_PG_NODES_HOOKS_PLAN_WALK_H
#define TURBINE_PG_NODES_HOOKS_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* It may change the node and put others below it. */
typedef void (*TbPlanVisitor)(Plan *plan, void *context);

/* Calls the visitor with each node, before those below it: of all subplans, of the children
 * of our nodes, and of what the visitor has put there. */
extern void tb_walk_plan(PlannedStmt *stmt, TbPlanVisitor visit, void *context);

#endif
