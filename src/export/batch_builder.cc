/*
 * batch_builder.cc - rows into decoders, and their arrays into record batches.
 *
 * A batch's size is counted, not asked of the builders: bytes of fixed width by row, and
 * those of other columns by the length of each value as it came.
 */
#include "export/batch_builder.h"

#include <arrow/type.h>

#include <algorithm>

namespace turbine::exporting {

BatchBuilder::BatchBuilder(std::vector<std::string> names, ColumnDecoders decoders, int64_t segment_bytes)
    : names_(std::move(names)), decoders_(std::move(decoders)), segment_bytes_(segment_bytes) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < decoders_.size(); i++) {
    const auto type = decoders_[i]->type();
    fields.push_back(arrow::field(names_[i], type));
    const bool fixed = arrow::is_fixed_width(*type);
    value_bytes_.push_back(fixed ? kFixed : 0);
    row_bytes_ += fixed ? (arrow::internal::checked_cast<const arrow::FixedWidthType&>(*type).bit_width() + 7) / 8
                        : static_cast<int64_t>(sizeof(int32_t));
  }
  schema_ = arrow::schema(fields);
}

void BatchBuilder::append(const std::vector<FieldBytes>& fields) {
  int64_t bytes = row_bytes_;
  size_t i = 0;
  try {
    for (; i < decoders_.size(); i++) {
      decoders_[i]->append(fields[i]);
      if (value_bytes_[i] != kFixed && fields[i].length > 0) {
        bytes += fields[i].length;
        value_bytes_[i] += fields[i].length;
      }
    }
  } catch (const ValueError& error) {
    fail(i, 0, error.what());
  }
  count(1, bytes);
}

void BatchBuilder::append(const std::vector<ColumnBytes>& columns) {
  const int64_t rows = columns[0].rows;
  int64_t bytes = row_bytes_ * rows;
  size_t i = 0;
  try {
    for (; i < decoders_.size(); i++) {
      decoders_[i]->append(columns[i]);
      if (value_bytes_[i] != kFixed) {
        bytes += columns[i].bytes;
        value_bytes_[i] += columns[i].bytes;
      }
    }
  } catch (const ValueError& error) {
    fail(i, decoders_[i]->failed_row(), error.what());
  }
  count(rows, bytes);
}

void BatchBuilder::count(int64_t rows, int64_t bytes) {
  const bool is_sampled = rows_ < kSampleRows && rows_ + rows >= kSampleRows;
  bytes_ += bytes;
  rows_ += rows;
  if (is_sampled && !full()) reserve_rest();
}

/* Builders that double their memory again and again touch twice as much of it, which costs
 * more than all of the decoding. What is reserved too much is never touched. */
void BatchBuilder::reserve_rest() {
  constexpr double kMargin = 1.05;
  const double times = static_cast<double>(segment_bytes_ - bytes_) / static_cast<double>(bytes_) * kMargin;
  const auto rows = static_cast<int64_t>(static_cast<double>(rows_) * times);
  for (size_t i = 0; i < decoders_.size(); i++) {
    decoders_[i]->reserve(rows,
                          static_cast<int64_t>(static_cast<double>(std::max<int64_t>(value_bytes_[i], 0)) * times));
  }
}

/* `row`: of those that are added. */
void BatchBuilder::fail(size_t column, int64_t row, const char* what) const {
  throw ExportError(ExitCode::kValue, "column \"" + names_[column] + "\", row " +
                                          std::to_string(rows_before_ + rows_ + row + 1) + " of this worker: " + what);
}

std::shared_ptr<arrow::RecordBatch> BatchBuilder::finish() {
  arrow::ArrayVector arrays;
  for (const auto& decoder : decoders_) arrays.push_back(decoder->finish());
  auto batch = arrow::RecordBatch::Make(schema_, rows_, std::move(arrays));
  rows_before_ += rows_;
  rows_ = bytes_ = 0;
  for (int64_t& bytes : value_bytes_) bytes = bytes == kFixed ? kFixed : 0;
  return batch;
}

std::vector<std::string> BatchBuilder::warnings() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < decoders_.size(); i++) {
    if (const int64_t count = decoders_[i]->invalid_values(); count > 0) {
      lines.push_back("column \"" + names_[i] + "\": " + std::to_string(count) +
                      " values that its type cannot hold became NULL");
    }
  }
  return lines;
}

}  // namespace turbine::exporting
