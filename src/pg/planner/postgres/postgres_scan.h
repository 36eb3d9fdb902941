/*
 * postgres_scan.h - PostgreSQL's own scan of a table, for kept plans.
 */
#ifndef TURBINE_PG_PLANNER_POSTGRES_POSTGRES_SCAN_H
#define TURBINE_PG_PLANNER_POSTGRES_POSTGRES_SCAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* A sequential scan, or the scan of a foreign table by its wrapper, with the relation's
 * target of now. */
extern Path *tb_postgres_scan(PlannerInfo *root, RelOptInfo *rel);

#endif
