/*
 * file_scan.h - GpuFileScan: rows of a table over files that pass filters run on a device.
 *
 * Files have no tuples that PostgreSQL could look up by a row's id, as GpuScan does: the
 * device returns the columns that are wanted, like a GpuJoin of one table.
 */
#ifndef TURBINE_PG_NODES_SCAN_FILE_SCAN_H
#define TURBINE_PG_NODES_SCAN_FILE_SCAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Called by the path hook for every relation, when its wrapper's paths are there. */
extern void tb_file_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void tb_file_scan_init(void);

#endif
