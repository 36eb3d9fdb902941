/*
 * row_gather.h - rows in a given order, as a batch of dense columns: for output.
 */
#pragma once

#include <optional>
#include <vector>

#include "engine/result/rows/result_rows.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

class RowGather {
 public:
  /* For at most so many references. `unread`: a bit for each of the first 64 columns that is left out. */
  RowGather(const ResultRows& rows, uint64_t references, uint64_t unread);

  /* The rows of some of these references, from the first on; at least one, if there
   * is one. Texts stay where they are. Valid until the next call. Throws DeviceError if the query was closed. */
  ResultBatch gather(std::span<const RowRef> refs, ParallelWork& work);

 private:
  struct Target {
    uint8_t* values;  // null: nobody reads it
    uint8_t* valid;  // null: not nullable
  };
  void gather_part(std::span<const RowRef> refs, size_t first, const std::vector<Target>& targets) const;

  const ResultRows& rows_;
  const uint64_t unread_;
  uint64_t capacity_;
  HostBuffer memory_;
};

}  // namespace turbine
