/*
 * column_key.h - what the values of a column were decoded with: its identity in the store.
 *
 * ALTER TABLE without a rewrite leaves a table's file as it was and changes what its bytes
 * mean, and a rolled-back one leaves nothing behind that could be noticed. So columns are
 * never looked up by their number alone: two programs mean the same column of a file only
 * if all that their code decodes it with is the same.
 */
#pragma once

#include <compare>
#include <string>

#include "engine/program/program.h"
#include "turbine/params.h"

namespace turbine {

struct ColumnKey {
  uint32_t attnum = 0;
  uint32_t type = 0;
  std::string rest;  // bytes
  auto operator<=>(const ColumnKey&) const = default;
};

/* The line pointer of each row, which forms its tuple's id with the block: as its distance
 * from the row's place among those of its block, which is 1 for all unless some are dead. */
inline constexpr uint32_t kLineType = TB_TYPE_INT2;
inline ColumnKey line_key() { return {0, kLineType, {}}; }

/* The packed tuple id of each row. */
inline ColumnKey tid_key() { return {0, TB_TYPE_INT8, "tid"}; }

/* Of a file of columns: by name; or a value that all rows have. `decoded`: bytes of all else that it was decoded
 * with. */
ColumnKey file_column_key(const TbColumn& column, const std::string& decoded);

/* Of a source column of a program over a heap: attribute number, physical type, form, and
 * the value of tuples too short to have it. `params`: checked against the program. */
ColumnKey column_key(const Program& program, size_t column, const TbParamBlock* params);

}  // namespace turbine
