/*
 * column_splice.cc - see column_splice.h.
 *
 * Called by segment_merge.cc, for a few blocks of 64 that have changed as a rule. Must not make
 * a code of a value that lies outside what codes can say.
 */
#include "engine/store/column_splice.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/store/column_codes.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

/* Of so many fresh rows the old base and width say little. */
bool mostly_fresh(std::span<const ColumnPiece> pieces) {
  uint64_t fresh = 0, old = 0;
  for (const ColumnPiece& piece : pieces) (piece.origin ? fresh : old) += piece.count;
  return fresh > old;
}

bool has_codes_for(const StoredColumn& column, const ValueRange& range) {
  if (range.empty() || column.width() == StoredColumn::kPlain) return true;
  if (range.min < column.base()) return false;
  const uint64_t most = static_cast<uint64_t>(range.max) - static_cast<uint64_t>(column.base());
  return column.width() == 0 ? most == 0 : most >> 8 * column.width() == 0;
}

StoredColumn::Zone wider(const StoredColumn::Zone& zone, const ValueRange& range) {
  if (!zone.known || TB_MUTANT(zone_not_widened)) return zone;
  return {true, std::min(zone.least, range.min), std::max(zone.greatest, range.max)};
}

void copy_codes(const ColumnPiece& piece, const StoredColumn& from, const StoredColumn& to) {
  const uint64_t width = to.width() == StoredColumn::kPlain ? tb_type_width(to.type()) : to.width();
  memcpy(static_cast<uint8_t*>(to.values()) + piece.to * width,
         static_cast<const uint8_t*>(from.values()) + piece.from * width, piece.count * width);
}

}  // namespace

std::shared_ptr<const StoredColumn> splice_column(const StoredColumn& old, uint32_t nrows,
                                                  std::span<const ColumnPiece> pieces) {
  if (tb_type_is_text(old.type()) || mostly_fresh(pieces)) return nullptr;
  ValueRange range;
  if (has_range(old.type()))
    for (const ColumnPiece& piece : pieces)
      if (piece.origin) extend_range(range, old.type(), piece);
  if (!has_codes_for(old, range)) return nullptr;

  const ColumnOrigin codes{static_cast<const uint8_t*>(old.values()), old.valid(), nullptr};
  std::vector<ColumnPiece> all(pieces.begin(), pieces.end());
  for (ColumnPiece& piece : all)
    if (!piece.origin) piece.origin = &codes;
  StoredColumn::Shape shape = old.shape();
  shape.nulls = have_nulls(all);
  shape.zone = wider(shape.zone, range);
  auto column = std::make_shared<StoredColumn>(shape, nrows);
  for (const ColumnPiece& piece : pieces) {
    if (piece.origin)
      write_values(piece, *column);
    else
      copy_codes(piece, old, *column);
  }
  copy_valid(all, *column);
  return column;
}

}  // namespace turbine
