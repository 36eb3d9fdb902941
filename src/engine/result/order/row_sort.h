/*
 * row_sort.h - sorts rows by all threads: packed keys are spread over buckets by a
 * sample of them, and each bucket is sorted by one thread within its cache. Or by the
 * query's device (device_row_sort.h).
 *
 * Takes, while it runs, 32 bytes a row, or 48 or 64 where keys are wide; 8 bytes a
 * row stay, and one for `agree`.
 */
#pragma once

#include <span>

#include "engine/result/order/device_row_sort.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

/* Sorts `count` rows of `list`, or all rows if it is null. `agree`: for the result's
 * agree(). `place`: null for the host. Throws DeviceError: out of memory, closed. */
SortedRows sort_rows(const ResultRows& rows, const RowRef* list, uint64_t count, std::span<const TbSortKey> keys,
                     bool agree, ParallelWork& work, SortPlace* place);

}  // namespace turbine
