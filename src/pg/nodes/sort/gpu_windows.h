/*
 * gpu_windows.h - whether a GPU would compute a node's window functions itself, over rows
 * that stay there.
 */
#ifndef TURBINE_PG_GPU_WINDOWS_H
#define TURBINE_PG_GPU_WINDOWS_H

#include "postgres.h"

#include "pg/nodes/sort/gpu_sort.h"

/* As the engine decides (src/engine/result/window/device_window_pass.h); that there are
 * enough rows, the costs say. */
extern bool tb_sort_windows_on_gpu(const TbSortPlan *plan);

#endif
