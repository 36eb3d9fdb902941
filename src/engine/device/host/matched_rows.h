/*
 * matched_rows.h - which rows of the tables of FULL joins have been a match, of one
 * query on the host.
 *
 * Generated code sets bytes from any thread, and never clears one; a byte may be read
 * once all chunks of the source and of earlier FULL joins are done.
 */
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/device/join_table.h"
#include "engine/program/program.h"

namespace turbine {

class MatchedRows {
 public:
  /* Throws DeviceError beyond the budget. */
  MatchedRows(const Program& program, const JoinTables& tables, MemoryBudget& budget);

  /* What the budget is charged. */
  static uint64_t bytes_for(const Program& program, const JoinTables& tables);

  /* TbPipelineArgs::matched */
  uint8_t* const* arrays() const { return arrays_.data(); }

  /* Numbers of rows from *next on that have no match, as many as there is room for;
   * moves *next on, at most to `end`. */
  size_t take_unmatched(size_t join, uint64_t* next, uint64_t end, std::span<uint32_t> numbers) const;

 private:
  std::vector<std::optional<HostBuffer>> bytes_;  // of FULL joins
  std::vector<uint8_t*> arrays_;
};

}  // namespace turbine
