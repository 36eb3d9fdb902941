/*
 * column_splice.h - a stored column with some rows replaced or moved, still as the codes that
 * it has: most of it is copied and not looked at.
 */
#pragma once

#include <memory>
#include <span>

#include "engine/store/column_piece.h"
#include "engine/store/segment.h"

namespace turbine {

/* A column of `nrows` rows. Pieces without an origin are of the old column, others of values as
 * decoded. Null: such a value has no code, or the column would be better encoded anew (text
 * always is). Its zone covers the rows that are gone as well. Throws bad_alloc. */
std::shared_ptr<const StoredColumn> splice_column(const StoredColumn& old, uint32_t nrows,
                                                  std::span<const ColumnPiece> pieces);

}  // namespace turbine
