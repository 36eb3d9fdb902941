/*
 * column_rows.h - some rows of a column, in the arrays that generated code reads.
 *
 * Whoever decodes a file appends values; memory is kept from one run of rows to the next.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/store/column_codes.h"
#include "turbine/kernel.h"
#include "turbine/types.h"

namespace turbine {

class ColumnRows {
 public:
  /* Of a type; room for as many rows as a segment can have. Throws bad_alloc. */
  explicit ColumnRows(uint32_t type)
      : width_(tb_type_width(type)), values_(new uint8_t[uint64_t{kMostSegmentRows} * tb_type_width(type)]) {}

  void clear() {
    rows_ = 0;
    has_nulls_ = false;
    bytes_.clear();
  }

  uint32_t rows() const { return rows_; }
  bool has_nulls() const { return has_nulls_; }

  /* Adds rows, to be written to the array that is returned: none is NULL yet. */
  template <class T>
  T* append(uint32_t count) {
    T* const place = reinterpret_cast<T*>(values_.get() + uint64_t{rows_} * width_);
    if (has_nulls_) memset(valid_.get() + rows_, 1, count);
    rows_ += count;
    return place;
  }
  /* Of the last `count` rows, the one at this place is NULL. Its value stays undefined but readable. */
  void set_null(uint32_t count, uint32_t place) {
    if (!has_nulls_) {
      if (!valid_) valid_.reset(new uint8_t[kMostSegmentRows]);
      memset(valid_.get(), 1, rows_);
      has_nulls_ = true;
    }
    valid_[rows_ - count + place] = 0;
  }

  /* Texts' views count from here; it grows. */
  std::vector<uint8_t>& bytes() { return bytes_; }

  TbColumnData data() const { return {values_.get(), has_nulls_ ? valid_.get() : nullptr, bytes_.data()}; }

 private:
  const uint32_t width_;
  uint32_t rows_ = 0;
  bool has_nulls_ = false;
  std::unique_ptr<uint8_t[]> values_, valid_;
  std::vector<uint8_t> bytes_;
};

}  // namespace turbine
