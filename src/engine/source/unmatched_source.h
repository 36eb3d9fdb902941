/*
 * unmatched_source.h - the rows of FULL joins' tables that no row has matched. They follow all other input.
 *
 * A row of a later join's table may be matched by an unmatched row of an earlier join. So the tasks of a join
 * are made when all tasks before it are done, in the order of the joins. The tasks of one join go in waves of
 * as many as may be in flight.
 */
#pragma once

#include <vector>

#include "engine/source/source.h"

namespace turbine {

class UnmatchedSource final : public Source {
 public:
  UnmatchedSource(const Program& program, const JoinTables& tables, uint32_t rows_a_task);

  bool run_rest() override;

 private:
  std::vector<Task> next();

  struct Table {
    uint32_t join;
    uint64_t nrows;
  };
  std::vector<Table> tables_;
  const uint32_t rows_a_task_;
  size_t table_ = 0;
  uint64_t row_ = 0;
  uint64_t tasks_ = 0;  // so far
};

}  // namespace turbine
