/*
 * unmatched_rows.cc - chunks of the rows that FULL joins have not matched.
 *
 * Owns the position in the joins' tables. Called by query_execution.cc when all chunks
 * before are done, never earlier.
 */
#include "engine/execution/unmatched_rows.h"

#include <algorithm>

namespace turbine {

UnmatchedRows::UnmatchedRows(const Program& program, const JoinTables& tables, uint32_t rows_a_chunk)
    : rows_a_chunk_(rows_a_chunk) {
  for (uint32_t j = 0; j < program.full_joins_end(); j++)
    if (program.joins()[j].kind == TB_JOIN_FULL && tables[j]->rows() > 0) tables_.push_back({j, tables[j]->rows()});
}

std::vector<Task> UnmatchedRows::next(uint64_t* sequence) {
  std::vector<Task> tasks;
  if (table_ == tables_.size()) return tasks;
  const Table& table = tables_[table_];
  while (row_ < table.nrows && tasks.size() < TB_MAX_SLOTS) {
    const auto nrows = static_cast<uint32_t>(std::min<uint64_t>(rows_a_chunk_, table.nrows - row_));
    tasks.push_back({.sequence = (*sequence)++, .input = UnmatchedInput{table.join, row_, nrows}});
    row_ += nrows;
  }
  if (row_ == table.nrows) {
    table_++;
    row_ = 0;
  }
  return tasks;
}

}  // namespace turbine
