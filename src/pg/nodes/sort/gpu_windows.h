/*
 * gpu_windows.h - whether a GPU would compute a node's window functions itself, over rows
 * that stay there.
 */
#ifndef TURBINE_PG_NODES_SORT_GPU_WINDOWS_H
#define TURBINE_PG_NODES_SORT_GPU_WINDOWS_H

#include "postgres.h"

#include "pg/nodes/sort/gpu_sort.h"

/* As the engine decides (src/engine/result/window/device_window_pass.h); that there are
 * enough rows, the costs say. */
extern bool tb_sort_windows_on_gpu(const TbSortPlan *plan);

/* Rows that are left of those that it sorts, estimated: by run conditions on ranks, which
 * PostgreSQL's estimate of rows does not know, and by LIMIT. */
extern double tb_sort_rows_left(PlannerInfo *root, const TbSortPlan *plan);

#endif
