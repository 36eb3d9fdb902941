/*
 * matched_rows.cc - which rows of FULL joins' tables were a match, on the host.
 *
 * Owns a byte per row. Generated code sets bytes from any thread; none is ever cleared. Called
 * by host_query.cc, which makes one for a query with FULL joins.
 */
#include "engine/device/host/matched_rows.h"

namespace turbine {

MatchedRows::MatchedRows(const Program& program, const JoinTables& tables, MemoryBudget& budget) {
  for (size_t j = 0; j < program.full_joins_end(); j++) {
    bytes_.emplace_back();
    arrays_.push_back(nullptr);
    if (program.joins()[j].kind != TB_JOIN_FULL) continue;
    bytes_[j].emplace(budget, matched_bytes(*tables[j]));
    arrays_[j] = bytes_[j]->data();
    arrays_[j][matched_bytes(*tables[j]) - 1] = 1;
  }
}

uint64_t MatchedRows::bytes_for(const Program& program, const JoinTables& tables) {
  uint64_t bytes = 0;
  for (size_t j = 0; j < program.full_joins_end(); j++)
    if (program.joins()[j].kind == TB_JOIN_FULL) bytes += HostBuffer::charged(matched_bytes(*tables[j]));
  return bytes;
}

size_t MatchedRows::take_unmatched(size_t join, uint64_t* next, uint64_t end, std::span<uint32_t> numbers) const {
  size_t found = 0;
  for (; *next < end && found < numbers.size(); (*next)++)
    if (arrays_[join][*next] == 0) numbers[found++] = static_cast<uint32_t>(*next);
  return found;
}

}  // namespace turbine
