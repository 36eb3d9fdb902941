/*
 * plan_parts.h - what a plan of PostgreSQL's is made of: inputs and clauses, with scans
 * of ours in it as the scans that PostgreSQL would do.
 */
#ifndef TURBINE_PG_STAGE_PLAN_PARTS_H
#define TURBINE_PG_STAGE_PLAN_PARTS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* The plan, or for a GpuScan a sequential scan in its place. */
extern Plan *tb_plan_as_postgres(Plan *plan);
extern List *tb_plans_as_postgres(List *plans);

extern Plan *tb_plan_outer(const Plan *plan);
extern Plan *tb_plan_inner(const Plan *plan);

/* All inputs. */
extern List *tb_plan_children(Plan *plan);

/* Target list, filters and conditions of the node itself. */
extern List *tb_plan_clauses(Plan *plan);

#endif
