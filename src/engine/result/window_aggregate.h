/*
 * window_aggregate.h - COUNT, SUM, MIN and MAX over window frames: rows are added as
 * they enter the frame and taken off as they leave it.
 */
#pragma once

#include "engine/result/parallel_work.h"
#include "engine/result/window_column.h"
#include "engine/result/window_frame.h"

namespace turbine {

/* Of the rows of one partition. Throws DeviceError: overflow, memory. */
void compute_window_aggregate(const TbWindowFunction& function, const TbWindowPass& pass,
                              const WindowPartition& partition, const ResultRows& rows, ParallelWork& work,
                              ColumnWriter& to);

}  // namespace turbine
