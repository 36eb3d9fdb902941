/*
 * value_encoder.h - values of an Arrow array as the fields that PostgreSQL takes.
 *
 * One encoder serves a column of a file, batch after batch: bind() to the batch's array,
 * then append() rows in any order. Arrays must have passed ValidateFull before. Encoders
 * throw ReaderError for values that the target cannot hold; the message names no file and
 * no column, which the caller knows.
 */
#pragma once

#include <memory>

#include <arrow/array.h>
#include <arrow/type.h>

#include "file_reader/byte_buffer.h"
#include "file_reader/request.h"
#include "file_values/geo_columns.h"

namespace turbine::file_reader {

class ValueEncoder {
 public:
  virtual ~ValueEncoder() = default;
  /* The array stays alive until the next bind(). */
  virtual void bind(const std::shared_ptr<arrow::Array>& array) = 0;
  virtual void append(int64_t row, ByteBuffer& out) = 0;
};

using EncoderPtr = std::unique_ptr<ValueEncoder>;

/* The encoder of a type for a target; throws ReaderError if the type does not fit it. */
EncoderPtr make_encoder(const arrow::DataType& type, const Target& target);

/* Its parts, one for each group of targets; null where the type does not fit. */
EncoderPtr make_number_encoder(const arrow::DataType& type, const Target& target);
EncoderPtr make_int96_encoder(const Target& target);  // of stored_types.h
EncoderPtr make_time_encoder(const arrow::DataType& type, const Target& target);
EncoderPtr make_bytes_encoder(const arrow::DataType& type, const Target& target);
EncoderPtr make_nested_encoder(const arrow::DataType& type, const Target& target);
EncoderPtr make_json_encoder(const arrow::DataType& type);

/* Of a column whose target is GEOMETRY; `column`: what the file says of it. Throws ReaderError. */
EncoderPtr make_geometry_encoder(const arrow::DataType& type, const GeoColumn& column);

/* An encoder of arrays of one class, whose NULLs are the array's own. */
template <typename ArrayType>
class ArrayEncoder : public ValueEncoder {
 public:
  void bind(const std::shared_ptr<arrow::Array>& array) final {
    holder_ = array;
    array_ = static_cast<const ArrayType*>(array.get());
    bound();
  }
  void append(int64_t row, ByteBuffer& out) final {
    if (array_->IsNull(row))
      out.null();
    else
      value(row, out);
  }

 protected:
  virtual void bound() {}
  virtual void value(int64_t row, ByteBuffer& out) = 0;

  const ArrayType* array_ = nullptr;

 private:
  std::shared_ptr<arrow::Array> holder_;
};

/* The name of a target for messages. */
const char* target_name(const Target& target);

}  // namespace turbine::file_reader
