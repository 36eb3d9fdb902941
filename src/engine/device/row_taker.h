/*
 * row_taker.h - who takes the rows of a PROJECT task by task, while there is more input.
 *
 * A query's order is that of its pieces: a chunk of pages is one, and so is what one job reads of a file. A piece is
 * one task, or several steps of which its source says in the end how many there were (Source).
 */
#pragma once

#include <cstdint>
#include <memory>

#include "engine/device/result_batch.h"

namespace turbine {

/* Where a task's rows stand among those of the query. */
struct TaskPlace {
  uint64_t piece = 0;
  uint32_t step = 0;
  bool alone = false;  // the piece has no other
};

/* Rows of one task. */
struct TaskRows {
  ResultBatch rows;
  std::shared_ptr<const void> memory;  // of `rows`
};

class RowTaker {
 public:
  virtual ~RowTaker() = default;

  /* Once for each task that went well. Any thread; waits for nobody. */
  virtual void take(const TaskPlace& place, TaskRows rows) = 0;
};

}  // namespace turbine
