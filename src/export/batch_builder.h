/*
 * batch_builder.h - collects rows in decoders until a record batch is full.
 */
#pragma once

#include <arrow/record_batch.h>

#include <memory>
#include <string>
#include <vector>

#include "export/column_decoder.h"

namespace turbine::exporting {

class BatchBuilder {
 public:
  /* A batch is full once it has about `segment_bytes` bytes of buffers. */
  BatchBuilder(std::vector<std::string> names, ColumnDecoders decoders, int64_t segment_bytes);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int64_t rows() const { return rows_; }
  bool full() const { return bytes_ >= segment_bytes_ || rows_ >= kMaxRows; }

  /* Throws ExportError with the column's name if a value cannot be held. */
  void append(const std::vector<FieldBytes>& fields);
  /* Several rows. */
  void append(const std::vector<ColumnBytes>& columns);
  std::shared_ptr<arrow::RecordBatch> finish();

  /* A warning for each column in which values became NULL. */
  std::vector<std::string> warnings() const;

 private:
  /* Offsets, lengths and row numbers of readers are 32 bits wide. */
  static constexpr int64_t kMaxRows = 1 << 30;
  static constexpr int64_t kFixed = -1;

  /* Rows of a batch after which the rest of it is reserved by their sizes. */
  static constexpr int64_t kSampleRows = 4096;

  [[noreturn]] void fail(size_t column, int64_t row, const char* what) const;
  void count(int64_t rows, int64_t bytes);
  void reserve_rest();

  std::vector<std::string> names_;
  ColumnDecoders decoders_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t segment_bytes_;
  std::vector<int64_t> value_bytes_; /* of each column in this batch; kFixed if they do not depend on values */
  int64_t row_bytes_ = 0;            /* bytes of a row without those that do */
  int64_t rows_ = 0, rows_before_ = 0, bytes_ = 0;
};

}  // namespace turbine::exporting
