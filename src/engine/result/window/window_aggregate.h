/*
 * window_aggregate.h - COUNT, SUM, MIN and MAX over window frames: rows are added as
 * they enter the frame and taken off as they leave it. A frame that leaves rows out is
 * two such: what is before the hole, and what is behind it.
 */
#pragma once

#include "engine/result/window/window_column.h"
#include "engine/result/window/window_frame.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

/* Of the rows of one partition. Throws DeviceError: overflow, memory. */
void compute_window_aggregate(const TbWindowFunction& function, const FrameRule& rule, const WindowPartition& partition,
                              const ResultRows& rows, ParallelWork& work, ColumnWriter& to);

}  // namespace turbine
