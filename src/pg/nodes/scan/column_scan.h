/*
 * column_scan.h - scans of one table whose rows come back as columns, like those of a
 * GpuJoin of one table.
 *
 * GpuFileScan: files have no tuples that PostgreSQL could look up by a row's id, as GpuScan
 * does. GpuColumnScan: a heap table, where whoever runs the query takes columns
 * (turbine.gpu_result, turbine.to_arrow), so that no tuple need be formed.
 */
#ifndef TURBINE_PG_NODES_SCAN_COLUMN_SCAN_H
#define TURBINE_PG_NODES_SCAN_COLUMN_SCAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Called by the path hook for every relation, when its wrapper's paths are there. */
extern void tb_column_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void tb_column_scan_init(void);

#endif
