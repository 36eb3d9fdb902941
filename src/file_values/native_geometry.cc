/*
 * native_geometry.cc - see native_geometry.h.
 *
 * Owns pointers into the array at hand. Called by both readers of files.
 */
#include "file_values/native_geometry.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include "file_values/wkb.h"

namespace turbine {
namespace {

template <class T>
void append_number(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr const char* kNullInside = "a NULL within a shape";

}  // namespace

const char* NativeGeometries::bind(const arrow::Array& array) {
  levels_.clear();
  nullable_.clear();
  held_.clear();
  const arrow::Array* at = &array;
  for (int i = list_levels(form_); i > 0; i--) {
    if (i < list_levels(form_) && at->null_count() != 0) return kNullInside;
    Level level;
    if (at->type_id() == arrow::Type::LIST) {
      const auto& list = static_cast<const arrow::ListArray&>(*at);
      level.narrow = list.raw_value_offsets();
      at = list.values().get();
    } else {
      const auto& list = static_cast<const arrow::LargeListArray&>(*at);
      level.wide = list.raw_value_offsets();
      at = list.values().get();
    }
    level.items = at->length();
    levels_.push_back(level);
  }
  if (at != &array && at->null_count() != 0) return kNullInside;
  points_ = at->length();
  if (at->type_id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListArray&>(*at);
    const auto& numbers = static_cast<const arrow::DoubleArray&>(*list.values());
    stride_ = list.list_type()->list_size();
    if (numbers.length() < list.value_offset(points_)) return "fewer coordinates than points";
    for (int i = 0; i < stride_; i++) values_[i] = numbers.raw_values() + list.value_offset(0) + i;
    // NULL points have NULL coordinates, which nobody reads.
    if (numbers.null_count() != 0 && at->null_count() == 0) return kNullInside;
    return nullptr;
  }
  const auto& points = static_cast<const arrow::StructArray&>(*at);
  stride_ = 1;
  for (int i = 0; i < points.num_fields(); i++) {
    held_.push_back(points.field(i));
    const auto& numbers = static_cast<const arrow::DoubleArray&>(*held_.back());
    if (numbers.length() < points_) return "fewer coordinates than points";
    values_[i] = numbers.raw_values();
    if (numbers.null_count() != 0) nullable_.push_back(&numbers);
  }
  return nullptr;
}

const char* NativeGeometries::span_of(size_t level, int64_t item, Span* span) const {
  const Level& of = levels_[level];
  *span = of.narrow ? Span{of.narrow[item], of.narrow[item + 1]} : Span{of.wide[item], of.wide[item + 1]};
  return span->begin < 0 || span->end < span->begin || span->end > of.items ? "offsets that leave their array"
                                                                            : nullptr;
}

void NativeGeometries::write_head(uint32_t type, std::string& out) const {
  out += '\1';
  append_number(type | (dimensions_.z ? kWkbZ : 0) | (dimensions_.m ? kWkbM : 0), out);
}

const char* NativeGeometries::write_points(Span span, std::string& out) const {
  for (int64_t i = span.begin; i < span.end; i++) {
    for (const arrow::Array* numbers : nullable_)
      if (numbers->IsNull(i)) return kNullInside;
    for (uint32_t d = 0; d < dimensions_.count(); d++) append_number(values_[d][i * stride_], out);
  }
  return nullptr;
}

/* A list of points, of rings, or of members with a head of their own. */
const char* NativeGeometries::write_items(uint32_t type, size_t level, int64_t item, std::string& out) const {
  Span span;
  if (const char* problem = span_of(level, item, &span)) return problem;
  append_number(static_cast<uint32_t>(span.end - span.begin), out);
  if (type == kWkbLine) return write_points(span, out);
  for (int64_t i = span.begin; i < span.end; i++) {
    const char* problem = nullptr;
    if (type == kWkbPolygon) {
      // Rings are written as lines without a head.
      problem = write_items(kWkbLine, level + 1, i, out);
    } else {
      write_head(type - 3, out);
      problem = type == kWkbMultiPoint ? write_points({i, i + 1}, out) : write_items(type - 3, level + 1, i, out);
    }
    if (problem) return problem;
  }
  return nullptr;
}

const char* NativeGeometries::write_wkb(int64_t row, std::string& out) const {
  const auto type = static_cast<uint32_t>(form_) - static_cast<uint32_t>(GeoForm::kPoint) + kWkbPoint;
  out.clear();
  write_head(type, out);
  if (form_ == GeoForm::kPoint) return write_points({row, row + 1}, out);
  return write_items(type, 0, row, out);
}

}  // namespace turbine
