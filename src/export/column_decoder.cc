/*
 * column_decoder.cc - see column_decoder.h.
 *
 * Owns nothing. Called for columns whose decoders have no way of their own for many rows.
 */
#include "export/column_decoder.h"

#include <string.h>

#include <algorithm>

namespace turbine::exporting {
namespace {

constexpr int kMostWidth = 16;
constexpr int kMostNumberWidth = 8;

}  // namespace

void ColumnDecoder::append_rows(const ColumnBytes& column) {
  const char* place = column.data;
  char value[kMostWidth];
  for (failed_row_ = 0; failed_row_ < column.rows; failed_row_++) {
    if (column.width == 0) {
      const int32_t length = column.lengths[failed_row_];
      append({place, length});
      place += std::max(length, 0);
      continue;
    }
    memcpy(value, place, static_cast<size_t>(column.width));
    if (column.width <= kMostNumberWidth) std::reverse(value, value + column.width);
    append({value, column.valid == nullptr || column.valid[failed_row_] != 0 ? column.width : -1});
    place += column.width;
  }
}

}  // namespace turbine::exporting
