/*
 * column_splice.cc - see column_splice.h.
 *
 * Called by segment_merge.cc, for a few blocks of 64 that have changed as a rule. Must not make
 * a code of a value that lies outside what codes can say.
 */
#include "engine/store/column_splice.h"

#include <algorithm>
#include <cstring>

#include "engine/store/column_codes.h"

namespace turbine {
namespace {

/* Of so many fresh rows the old base and width say little. */
bool mostly_fresh(std::span<const SplicePiece> pieces) {
  uint64_t fresh = 0, old = 0;
  for (const SplicePiece& piece : pieces) (piece.fresh ? fresh : old) += piece.count;
  return fresh > old;
}

ValueRange fresh_range(uint32_t type, const TbColumnData& fresh, std::span<const SplicePiece> pieces) {
  ValueRange range;
  for (const SplicePiece& piece : pieces)
    if (piece.fresh) extend_range(range, type, fresh.values, fresh.valid, piece.from, piece.from + piece.count);
  return range;
}

bool has_codes_for(const StoredColumn& column, const ValueRange& range) {
  if (range.empty() || column.width() == StoredColumn::kPlain) return true;
  if (range.min < column.base()) return false;
  const uint64_t most = static_cast<uint64_t>(range.max) - static_cast<uint64_t>(column.base());
  return column.width() == 0 ? most == 0 : most >> 8 * column.width() == 0;
}

void set_zone(StoredColumn& column, const StoredColumn::Zone& old, const ValueRange& fresh) {
  if (!old.known) return;
  column.set_zone(std::min(old.least, fresh.min), std::max(old.greatest, fresh.max));
}

}  // namespace

std::shared_ptr<const StoredColumn> splice_column(const StoredColumn& old, const TbColumnData& fresh, uint32_t nrows,
                                                  std::span<const SplicePiece> pieces) {
  const uint32_t type = old.type();
  if (tb_type_is_text(type) || mostly_fresh(pieces)) return nullptr;
  ValueRange range;
  if (has_range(type)) range = fresh_range(type, fresh, pieces);
  if (!has_codes_for(old, range)) return nullptr;

  StoredColumn::Shape shape = old.shape();
  shape.nulls = old.nullable() && (old.valid() || range.nulls || !has_range(type));
  auto column = std::make_shared<StoredColumn>(shape, nrows);
  set_zone(*column, shape.zone, range);
  const bool plain = old.width() == StoredColumn::kPlain;
  const uint32_t width = plain ? tb_type_width(type) : old.width();
  auto* values = static_cast<uint8_t*>(column->values());
  for (const SplicePiece& piece : pieces) {
    const void* from = piece.fresh ? fresh.values : old.values();
    if (piece.fresh && !plain)
      write_codes(type, fresh.values, piece.from, piece.count, *column, piece.to);
    else
      memcpy(values + uint64_t{piece.to} * width, static_cast<const uint8_t*>(from) + uint64_t{piece.from} * width,
             uint64_t{piece.count} * width);
    if (!shape.nulls) continue;
    const uint8_t* valid = piece.fresh ? fresh.valid : old.valid();
    if (valid)
      memcpy(column->valid() + piece.to, valid + piece.from, piece.count);
    else
      memset(column->valid() + piece.to, 1, piece.count);
  }
  return column;
}

}  // namespace turbine
