/*
 * key_statistics.h - what the values of a sort key have in common: packed keys
 * leave it out.
 */
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/result/order/ordered_value.h"
#include "engine/result/rows/result_rows.h"
#include "engine/threads/parallel_work.h"
#include "turbine/result.h"

namespace turbine {

struct KeyStatistics {
  bool nulls = false;   // there are some
  bool values = false;  // there are some; else what follows means nothing
  uint128 least = 0, greatest = 0;  // ordered integers; not of text
  uint64_t longest = 0;             // text: bytes
  std::string_view start;           // what all texts begin with

  void merge(const KeyStatistics& other);
};

/* Of each key, over `count` rows of `list`, or all rows. */
std::vector<KeyStatistics> key_statistics(const ResultRows& rows, const RowRef* list, uint64_t count,
                                          std::span<const TbSortKey> keys, ParallelWork& work);

}  // namespace turbine
