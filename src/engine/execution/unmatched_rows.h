/*
 * unmatched_rows.h - the chunks that follow those of the source if there are FULL joins: the rows of each join
 * table that no row matched.
 *
 * A row of a later join's table may be matched by an unmatched row of an earlier join. So the chunks of a join
 * are made when all chunks before it are done, in the order of the joins. The chunks of one join go in waves of
 * as many as may be in flight.
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
  std::vector<Task> next(uint64_t* sequence);

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
