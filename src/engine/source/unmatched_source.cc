/*
 * unmatched_source.cc - tasks of the rows that FULL joins have not matched.
 *
 * Owns the position in the joins' tables. Called by execution/ when all tasks before are done, never earlier.
 */
#include "engine/source/unmatched_source.h"

#include <algorithm>

namespace turbine {
namespace {

/* Behind all tasks of other sources: sums of floating-point numbers are folded in this order. */
constexpr uint64_t kFirstUnmatched = uint64_t{1} << 56;

}  // namespace

UnmatchedSource::UnmatchedSource(const Program& program, const JoinTables& tables, uint32_t rows_a_task)
    : rows_a_task_(rows_a_task) {
  for (uint32_t j = 0; j < program.full_joins_end(); j++)
    if (program.joins()[j].kind == TB_JOIN_FULL && tables[j]->rows() > 0) tables_.push_back({j, tables[j]->rows()});
}

bool UnmatchedSource::run_rest() {
  std::vector<Task> tasks = next();
  if (tasks.empty()) return false;
  sink().run(std::move(tasks));
  return true;
}

/* To be run at the same time, when all before are done; empty: that was all. */
std::vector<Task> UnmatchedSource::next() {
  std::vector<Task> tasks;
  if (table_ == tables_.size()) return tasks;
  const Table& table = tables_[table_];
  while (row_ < table.nrows && tasks.size() < TB_MAX_SLOTS) {
    const auto nrows = static_cast<uint32_t>(std::min<uint64_t>(rows_a_task_, table.nrows - row_));
    tasks.push_back({.sequence = kFirstUnmatched + tasks_++, .input = UnmatchedInput{table.join, row_, nrows}});
    row_ += nrows;
  }
  if (row_ == table.nrows) {
    table_++;
    row_ = 0;
  }
  return tasks;
}

}  // namespace turbine
