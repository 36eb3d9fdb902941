/*
 * column_splice.h - a stored column with some rows replaced or moved, still as the codes that
 * it has: most of it is copied and not looked at.
 */
#pragma once

#include <memory>
#include <span>

#include "engine/store/segment.h"
#include "turbine/kernel.h"

namespace turbine {

/* Rows [from, from + count) of the old column, or of fresh values, become rows from `to` on. */
struct SplicePiece {
  bool fresh;
  uint32_t from, count, to;
};

/* A column of `nrows` rows. `fresh` is as decoded, without a `valid` where the program says that
 * there are no NULLs. Null: a fresh value has no code, or it would be better encoded anew (text
 * always is). Its zone covers the rows that are gone as well. Throws bad_alloc. */
std::shared_ptr<const StoredColumn> splice_column(const StoredColumn& old, const TbColumnData& fresh, uint32_t nrows,
                                                  std::span<const SplicePiece> pieces);

}  // namespace turbine
