/*
 * column_decoder.h - turns one column's values, as a server sends them, into an Arrow array.
 *
 * A source makes a decoder for each column of each worker; batch_builder.h feeds it.
 * Decoders of lists and structs own decoders of their parts, whose builders Arrow links.
 */
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/array/builder_base.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "export/export_error.h"

namespace turbine::exporting {

/* A field of a row as the server sent it, borrowed until the next row. */
struct FieldBytes {
  const char* data = nullptr;
  int32_t length = -1; /* bytes; -1: NULL */
};

/* Values of one column for several rows, borrowed while they are added. */
struct ColumnBytes {
  int64_t rows = 0;
  int width = 0;                    /* bytes of each value, NULL or not; 0: `lengths` has them */
  const uint8_t* valid = nullptr;   /* of a width: 0 of a NULL; null: there is none */
  const int32_t* lengths = nullptr; /* -1: NULL */
  const char* data = nullptr;       /* of a width, a number in the machine's order; lies at a multiple of 8 */
  int64_t bytes = 0;                /* of `data` */
};

/* A decimal of 16 bytes is an integer in units of its scale, or NaN if this is its upper half; others that are no
 * decimal of 38 digits are out of the precision of every type. */
inline constexpr int64_t kDecimalNan = std::numeric_limits<int64_t>::min();

/* What becomes of a value that the file's type cannot hold. */
enum class InvalidValue { kError, kNull };

class ColumnDecoder {
 public:
  ColumnDecoder(std::shared_ptr<arrow::ArrayBuilder> builder, InvalidValue invalid)
      : builder_(std::move(builder)), invalid_(invalid) {}
  virtual ~ColumnDecoder() = default;
  ColumnDecoder(const ColumnDecoder&) = delete;
  ColumnDecoder& operator=(const ColumnDecoder&) = delete;

  /* Adds a value. Throws ValueError for one that the type cannot hold, unless that means NULL. */
  void append(FieldBytes field) {
    if (field.length < 0) {
      append_null();
    } else {
      append_value(field.data, field.length);
    }
  }

  /* Adds the values of several rows. Throws as `append` does; `failed_row` says then at which. */
  void append(const ColumnBytes& column) {
    failed_row_ = 0;
    append_rows(column);
  }
  int64_t failed_row() const { return failed_row_; }

  /* The array's type; a dictionary's differs from its builder's. */
  virtual std::shared_ptr<arrow::DataType> type() const { return builder_->type(); }
  /* The values since the last call, as an array; the decoder is empty afterwards. */
  virtual std::shared_ptr<arrow::Array> finish() { return value_of(builder_->Finish(), ExitCode::kValue); }

  /* Makes room for so many more values of so many bytes together, those of fixed width not counted. */
  virtual void reserve(int64_t rows, int64_t bytes) {
    (void)bytes;
    keep(builder_->Reserve(rows));
  }

  const std::shared_ptr<arrow::ArrayBuilder>& builder() const { return builder_; }
  /* Values that became NULL because the type cannot hold them. */
  virtual int64_t invalid_values() const { return invalid_values_; }

 protected:
  virtual void append_value(const char* data, int32_t length) = 0;

  /* One value after the other, in the form that `append_value` takes. Decoders of much that there is have better
   * ways. */
  virtual void append_rows(const ColumnBytes& column);

  /* For failed_row(), before what may throw. */
  void fail_at(int64_t row) { failed_row_ = row; }

  void append_null() { keep(builder_->AppendNull()); }

  void keep(const arrow::Status& status) {
    if (!status.ok()) throw ValueError(status.message());
  }

  /* The value cannot be held: NULL in its place, or ValueError with `what`. */
  void reject(const std::string& what) {
    if (invalid_ == InvalidValue::kError) throw ValueError(what);
    invalid_values_++;
    append_null();
  }

 private:
  std::shared_ptr<arrow::ArrayBuilder> builder_;
  InvalidValue invalid_;
  int64_t invalid_values_ = 0;
  int64_t failed_row_ = 0;
};

using ColumnDecoders = std::vector<std::unique_ptr<ColumnDecoder>>;

}  // namespace turbine::exporting
