/*
 * native_geometry.h - values of GeoArrow's native forms as well-known binary.
 *
 * A native form is coordinates within lists. It is bound to an array first; then rows may be read in any order. Offsets
 * come from a file: each is checked before it is followed.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "file_values/geo_columns.h"

namespace turbine {

class NativeGeometries {
 public:
  explicit NativeGeometries(const GeoColumn& column) : form_(column.form), dimensions_(column.dimensions) {}

  /* The array is of the column's type, and stays alive. Returns what is wrong with it, or null. */
  const char* bind(const arrow::Array& array);
  /* The row's value, which is not NULL, in place of what `out` has. Returns what is wrong with it, or null. */
  const char* write_wkb(int64_t row, std::string& out) const;

 private:
  struct Level {
    const int32_t* narrow = nullptr;
    const int64_t* wide = nullptr;
    int64_t items = 0;  // that offsets may lead to
  };
  struct Span {
    int64_t begin, end;
  };

  const char* span_of(size_t level, int64_t item, Span* span) const;
  const char* write_items(uint32_t type, size_t level, int64_t item, std::string& out) const;
  const char* write_points(Span span, std::string& out) const;
  void write_head(uint32_t type, std::string& out) const;

  const GeoForm form_;
  const GeoDimensions dimensions_;
  std::vector<Level> levels_;
  const double* values_[4] = {};
  int64_t stride_ = 1;
  int64_t points_ = 0;
  std::vector<const arrow::Array*> nullable_;  // of a struct's coordinates: those with NULLs
  std::vector<std::shared_ptr<arrow::Array>> held_;
};

}  // namespace turbine
