/*
 * gpu_scan.h - GpuScan: a table's rows that pass filters run on a device.
 *
 *   plan.c  which filters go there, the paths and the plan
 *   exec.c  rows out of chunks; filters that PostgreSQL has to run; shares of the table for
 *           the participants of a parallel plan; what EXPLAIN shows
 */
#ifndef TURBINE_PG_NODES_SCAN_GPU_SCAN_H
#define TURBINE_PG_NODES_SCAN_GPU_SCAN_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/* plan.c: offers a path to a table of the query. */
extern void tb_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void tb_scan_init(void);

/* exec.c */
extern Node *tb_scan_create_state(CustomScan *plan);

#endif
