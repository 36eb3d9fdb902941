/*
 * row_gather.h - rows in a given order, as a batch of dense columns: for output.
 */
#pragma once

#include <optional>

#include "engine/result/rows/result_rows.h"

namespace turbine {

class RowGather {
 public:
  explicit RowGather(const ResultRows& rows);

  /* The rows of some of these references, from the first on; at least one, if there
   * is one. Texts stay where they are. Valid until the next call. */
  ResultBatch gather(std::span<const RowRef> refs);

 private:
  const ResultRows& rows_;
  uint64_t capacity_;
  HostBuffer memory_;
};

}  // namespace turbine
