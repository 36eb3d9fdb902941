/*
 * device_row_sort.h - sorts rows by the device on which their query has run, if it has a sort
 * and the rows are so many that it pays.
 *
 * The host packs keys as it does for its own sort, and takes the order.
 */
#pragma once

#include <optional>
#include <string>

#include "engine/device/key_sort.h"
#include "engine/result/order/key_packing.h"
#include "engine/result/order/sorted_rows.h"
#include "engine/wire/device_error.h"

namespace turbine {

/* Where a query's results are sorted, and where they have been. */
struct SortPlace {
  KeySort* device = nullptr;     // null: the host
  uint64_t rows_on_device = 0;   // sorted there so far, by all orders
  TbFallback failure = TB_FALLBACK_NONE;  // why the host sorted in the device's place, the first time
  std::string message;
};

/* The rows of sort_rows() in their order, or nothing: the host is to sort them, since it is no slower or
 * since the device has failed. Takes 8 bytes a row that stay, and one for `agree`. Throws DeviceError:
 * out of the host's memory, closed. */
std::optional<SortedRows> sort_rows_on_device(const ResultRows& rows, const RowRef* list, uint64_t count,
                                              const KeyPacking& packing, bool agree, ParallelWork& work,
                                              SortPlace& place);

}  // namespace turbine
