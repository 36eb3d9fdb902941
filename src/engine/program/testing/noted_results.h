/*
 * noted_results.h - how many results by entry have been noted in a table; for tests only.
 */
#pragma once

#include "engine/program/entry_results.h"

namespace turbine::testing {

/* Of all expressions of the program over this column. */
inline uint64_t noted_results(const Program& program, uint32_t column, const std::vector<uint8_t>& table) {
  const EntryResults layout(program);
  uint64_t count = 0;
  for (uint32_t expr = 0; expr < program.exprs().size(); expr++) {
    const auto place = layout.place(expr);
    if (!place || place->column != column) continue;
    // Of a word, the byte with its state.
    const uint32_t at = place->offset + (place->width == sizeof(uint64_t) ? EntryResults::kStateShift / 8 : 0);
    for (uint64_t i = at; i < table.size(); i += layout.record_size(column)) count += table[i] != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace turbine::testing
