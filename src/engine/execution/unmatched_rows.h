/*
 * unmatched_rows.h - the chunks that follow those of the source where there are FULL
 * joins: of the rows of each one's table, in the order of the joins.
 *
 * Rows of a later join's table may be matched by those of an earlier one, so a
 * join's chunks are made once all before it are done. Those of one join go in waves
 * of as many as may be in flight.
 */
#pragma once

#include <vector>

#include "engine/device/device.h"

namespace turbine {

class UnmatchedRows {
 public:
  UnmatchedRows(const Program& program, const JoinTables& tables, uint32_t rows_a_chunk);

  /* To be run at the same time, when all before are done; empty: that was all.
   * `sequence`: number of the next chunk in the query; moves on. */
  std::vector<ChunkTask> next(uint64_t* sequence);

 private:
  struct Table {
    uint32_t join;
    uint64_t nrows;
  };
  std::vector<Table> tables_;
  const uint32_t rows_a_chunk_;
  size_t table_ = 0;
  uint64_t row_ = 0;
};

}  // namespace turbine
