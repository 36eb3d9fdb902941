/*
 * window_column.h - the values that window functions read and write: a column by
 * rows' references, and a new column by rows' numbers.
 */
#pragma once

#include "engine/result/order/ordered_value.h"
#include "engine/result/rows/result_rows.h"

namespace turbine {

/* A column of rows. Borrows them. */
class ColumnReader {
 public:
  ColumnReader(const ResultRows& rows, uint32_t column)
      : rows_(rows),
        column_(column),
        type_(column == TB_NONE ? uint32_t{TB_TYPE_INVALID} : rows.columns()[column].type) {}

  bool exists() const { return column_ != TB_NONE; }
  uint32_t type() const { return type_; }
  bool is_null(RowRef ref) const { return of(ref).is_null(ref_row(ref)); }
  const uint8_t* at(RowRef ref) const { return of(ref).at(ref_row(ref)); }
  /* It will be read soon. */
  void prefetch(RowRef ref) const { __builtin_prefetch(at(ref)); }
  std::string_view text(RowRef ref) const { return text_at(rows_.batch_of(ref), of(ref), ref_row(ref)); }
  /* Of BOOL. */
  bool is_true(RowRef ref) const { return !is_null(ref) && *at(ref) != 0; }

  /* Of integers and numerics. */
  __int128 integer(RowRef ref) const {
    switch (type_) {
      case TB_TYPE_INT2: return load_value<int16_t>(at(ref));
      case TB_TYPE_INT4: return load_value<int32_t>(at(ref));
      case TB_TYPE_NUM128: return load_value<__int128>(at(ref));
      default: return load_value<int64_t>(at(ref));
    }
  }
  /* Of floats. */
  double number(RowRef ref) const {
    return type_ == TB_TYPE_FLOAT4 ? double{load_value<float>(at(ref))} : load_value<double>(at(ref));
  }
  /* Below 0 if a's value is less. Neither is NULL. */
  int compare(RowRef a, RowRef b) const {
    if (tb_type_is_text(type_)) return text(a).compare(text(b));
    return with_ordered(type_, [&](auto ordered) {
      const auto x = ordered(at(a)), y = ordered(at(b));
      return (x > y) - (x < y);
    });
  }

 private:
  const ResultColumn& of(RowRef ref) const { return rows_.batch_of(ref).columns[column_]; }

  const ResultRows& rows_;
  const uint32_t column_, type_;
};

/* A function's results. Threads write those of different rows. What is not written
 * is NULL, or 0 where there are no NULLs. */
class ColumnWriter {
 public:
  ColumnWriter(const ResultRows& rows, const ColumnShape& shape)
      : rows_(rows),
        shape_(shape),
        width_(tb_type_width(shape.type)),
        values_(rows.budget(), rows.size() * width_),
        valid_(rows.budget(), shape.nullable ? rows.size() : 1) {}

  template <class T>
  void set(RowRef ref, T value) {
    const uint64_t number = rows_.number(ref);
    memcpy(values_.data() + number * sizeof value, &value, sizeof value);
    if (shape_.nullable) valid_.data()[number] = 1;
  }
  /* The value of another row, of a column of this type; also NULL. */
  void copy(RowRef ref, const ColumnReader& column, RowRef from) {
    if (column.is_null(from)) return;
    if (tb_type_is_text(shape_.type)) {
      const std::string_view text = column.text(from);
      return set(ref, TextPointer{reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    }
    const uint64_t number = rows_.number(ref);
    memcpy(values_.data() + number * width_, column.at(from), width_);
    valid_.data()[number] = 1;
  }

  /* It will be written soon. */
  void prefetch(RowRef ref) const { __builtin_prefetch(values_.data() + rows_.number(ref) * width_, 1); }

  const ColumnShape& shape() const { return shape_; }
  HostBuffer take_values() { return std::move(values_); }
  HostBuffer take_valid() { return std::move(valid_); }

 private:
  const ResultRows& rows_;
  const ColumnShape shape_;
  const uint32_t width_;
  HostBuffer values_, valid_;
};

}  // namespace turbine
