/*
 * column_piece.h - what a stored column is put together from: rows of decoded blocks, or of the
 * version before.
 */
#pragma once

#include <cstdint>

namespace turbine {

/* Arrays of one column, as generated code reads them. */
struct ColumnOrigin {
  const uint8_t* values = nullptr;
  const uint8_t* valid = nullptr;  // null: no NULLs
  const uint8_t* text = nullptr;   // what views count from
};

/* Rows [from, from + count) of an origin become rows from `to` on. */
struct ColumnPiece {
  const ColumnOrigin* origin;
  uint32_t from, count, to;
};

}  // namespace turbine
