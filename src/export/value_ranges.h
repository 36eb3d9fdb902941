/*
 * value_ranges.h - the least and greatest value of columns, record batch by record batch.
 *
 * In a file they are custom metadata of a field, which readers use to pass over batches
 * (file_values/batch_bounds.h). A value is an integer: the value's bits as they lie in the
 * column, also for floats. `null` stands for a batch without known bounds: all values NULL,
 * or NaN among them.
 */
#pragma once

#include <arrow/record_batch.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "file_values/batch_bounds.h"

namespace turbine::exporting {

/* One batch's bounds of one column, as text; both "null" if they are not known. */
struct ValueRange {
  std::string least = "null", greatest = "null";
};

bool has_value_range(const arrow::DataType& type);
ValueRange value_range(const arrow::Array& array);

class ValueRanges {
 public:
  ValueRanges() = default;
  /* Of the named columns, or all that can be ordered if there are no names. Throws
   * ExportError for a name that is no column, or one whose type has no order of numbers. */
  ValueRanges(const arrow::Schema& schema, const std::set<std::string>& names);

  /* What an older file says of its `batches` batches, which come before ours. */
  void take_over(const arrow::Schema& old, int batches);
  void add(const arrow::RecordBatch& batch);
  /* `schema` with the bounds of all batches so far as metadata of its fields. */
  std::shared_ptr<arrow::Schema> describe(const arrow::Schema& schema) const;

 private:
  struct Column {
    bool collected = false; /* of our batches */
    bool known = false;     /* of any batch */
    std::vector<ValueRange> ranges;
  };
  std::vector<Column> columns_;
};

}  // namespace turbine::exporting
