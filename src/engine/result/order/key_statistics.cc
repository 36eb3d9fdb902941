/*
 * key_statistics.cc - what the values of a sort key have in common.
 *
 * Called by key_packing.cc on all threads. Owns nothing.
 */
#include "engine/result/order/key_statistics.h"

#include <algorithm>

#include "engine/result/rows/row_parts.h"

namespace turbine {
namespace {

std::string_view common_start(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return a.substr(
      0, static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin()).first -
                             a.begin()));
}

void add_texts(KeyStatistics& stats, const ResultBatch& batch, const ResultColumn& column, const RowRef* refs,
               size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (column.is_null(ref_row(refs[i]))) {
      stats.nulls = true;
      continue;
    }
    const std::string_view text = text_at(batch, column, ref_row(refs[i]));
    stats.longest = std::max<uint64_t>(stats.longest, text.size());
    stats.start = stats.values ? common_start(stats.start, text) : text;
    stats.values = true;
  }
}

template <class Ordered>
void add_values(KeyStatistics& stats, const ResultColumn& column, const RowRef* refs, size_t n, Ordered ordered) {
  using Code = decltype(ordered(column.values));
  Code least = ~Code{0}, greatest = 0;
  size_t values = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t row = ref_row(refs[i]);
    if (column.is_null(row)) continue;
    const Code code = ordered(column.at(row));
    least = std::min(least, code);
    greatest = std::max(greatest, code);
    values++;
  }
  if (values < n) stats.nulls = true;
  if (values == 0) return;
  stats.least = stats.values ? std::min<uint128>(stats.least, least) : least;
  stats.greatest = stats.values ? std::max<uint128>(stats.greatest, greatest) : greatest;
  stats.values = true;
}

}  // namespace

void KeyStatistics::merge(const KeyStatistics& other) {
  nulls |= other.nulls;
  if (!other.values) return;
  if (!values) {
    const bool some_null = nulls;
    *this = other;
    nulls = some_null;
    return;
  }
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  longest = std::max(longest, other.longest);
  start = common_start(start, other.start);
}

std::vector<KeyStatistics> key_statistics(const ResultRows& rows, const RowRef* list, uint64_t count,
                                          std::span<const TbSortKey> keys, ParallelWork& work) {
  const RowParts parts(count, work.threads());
  std::vector<std::vector<KeyStatistics>> of_part(parts.size(), std::vector<KeyStatistics>(keys.size()));
  work.each(parts.size(), [&](uint64_t p) {
    for_row_blocks(rows, list, parts.first(p), parts.count(p),
                   [&](const ResultBatch& batch, const RowRef* refs, size_t n, uint64_t) {
                     work.check();
                     for (size_t k = 0; k < keys.size(); k++) {
                       const ResultColumn& column = batch.columns[keys[k].column];
                       const uint32_t type = rows.columns()[keys[k].column].type;
                       if (tb_type_is_text(type))
                         add_texts(of_part[p][k], batch, column, refs, n);
                       else
                         with_ordered(type, [&](auto ordered) { add_values(of_part[p][k], column, refs, n, ordered); });
                     }
                   });
  });
  std::vector<KeyStatistics> all(keys.size());
  for (const auto& part : of_part)
    for (size_t k = 0; k < keys.size(); k++) all[k].merge(part[k]);
  return all;
}

}  // namespace turbine
