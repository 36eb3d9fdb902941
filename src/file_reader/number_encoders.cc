/*
 * number_encoders.cc - booleans, integers, floating-point numbers and decimals.
 *
 * Integers fit any integer target and numeric, if the value is in range; floating-point
 * numbers fit no narrower target; decimals fit numeric alone.
 */
#include <arrow/array.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <charconv>
#include <concepts>
#include <utility>

#include "file_reader/numeric_field.h"
#include "file_reader/value_encoder.h"

namespace turbine::file_reader {

namespace {

class BoolEncoder final : public ArrayEncoder<arrow::BooleanArray> {
  void value(int64_t row, ByteBuffer& out) override { out.field(static_cast<uint8_t>(array_->Value(row))); }
};

template <typename ArrayType, typename Wanted>
class IntegerEncoder final : public ArrayEncoder<ArrayType> {
 public:
  explicit IntegerEncoder(const Target& target) : name_(target_name(target)) {}

 private:
  void value(int64_t row, ByteBuffer& out) override {
    const auto value = this->array_->Value(row);
    if (!std::in_range<Wanted>(value))
      throw ReaderError(sqlstate::out_of_range, "value " + std::to_string(value) + " is out of range for " + name_);
    out.field(static_cast<Wanted>(value));
  }

  const std::string name_;
};

template <std::integral Integer>
void append_integer(Integer value, int scale, ByteBuffer& out) {
  const bool negative = std::cmp_less(value, 0);
  char digits[24];
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const char* end = std::to_chars(digits, digits + sizeof(digits), magnitude).ptr;
  append_numeric(negative, {digits, end}, scale, out);
}

template <typename ArrayType>
class IntegerAsNumericEncoder final : public ArrayEncoder<ArrayType> {
  void value(int64_t row, ByteBuffer& out) override { append_integer(this->array_->Value(row), 0, out); }
};

template <typename ArrayType>
EncoderPtr make_integer(const Target& target) {
  switch (target.kind) {
    case TB_TARGET_INT2: return std::make_unique<IntegerEncoder<ArrayType, int16_t>>(target);
    case TB_TARGET_INT4: return std::make_unique<IntegerEncoder<ArrayType, int32_t>>(target);
    case TB_TARGET_INT8: return std::make_unique<IntegerEncoder<ArrayType, int64_t>>(target);
    case TB_TARGET_NUMERIC: return std::make_unique<IntegerAsNumericEncoder<ArrayType>>();
    default: return nullptr;
  }
}

template <typename ArrayType, typename Wanted>
class FloatEncoder final : public ArrayEncoder<ArrayType> {
  void value(int64_t row, ByteBuffer& out) override {
    Wanted value;
    if constexpr (std::is_same_v<ArrayType, arrow::HalfFloatArray>)
      value = arrow::util::Float16::FromBits(this->array_->Value(row)).ToFloat();
    else
      value = static_cast<Wanted>(this->array_->Value(row));
    using Bits = std::conditional_t<sizeof(Wanted) == 4, uint32_t, uint64_t>;
    out.field(std::bit_cast<Bits>(value));
  }
};

template <typename ArrayType>
EncoderPtr make_float(const Target& target) {
  if (target.kind == TB_TARGET_FLOAT8) return std::make_unique<FloatEncoder<ArrayType, double>>();
  if constexpr (!std::is_same_v<ArrayType, arrow::DoubleArray>) {
    if (target.kind == TB_TARGET_FLOAT4) return std::make_unique<FloatEncoder<ArrayType, float>>();
  }
  return nullptr;
}

template <typename ArrayType, typename Decimal>
class DecimalEncoder final : public ArrayEncoder<ArrayType> {
 public:
  explicit DecimalEncoder(const arrow::DecimalType& type) : precision_(type.precision()), scale_(type.scale()) {}

 private:
  void value(int64_t row, ByteBuffer& out) override {
    const Decimal decimal(this->array_->GetValue(row));
    if (!decimal.FitsInPrecision(precision_))
      throw ReaderError(sqlstate::out_of_range, "value " + decimal.ToString(scale_) + " is out of range for " +
                                                    this->array_->type()->ToString());
    if constexpr (std::is_same_v<Decimal, arrow::Decimal128>) {
      /* Most decimals are small. */
      const auto low = static_cast<int64_t>(decimal.low_bits());
      if (decimal.high_bits() == low >> 63) return append_integer(low, scale_, out);
    }
    const std::string digits = decimal.ToIntegerString();
    const bool negative = digits.starts_with('-');
    append_numeric(negative, std::string_view(digits).substr(negative ? 1 : 0), scale_, out);
  }

  const int precision_, scale_;
};

}  // namespace

EncoderPtr make_number_encoder(const arrow::DataType& type, const Target& target) {
  switch (type.id()) {
    case arrow::Type::BOOL: return target.kind == TB_TARGET_BOOL ? std::make_unique<BoolEncoder>() : nullptr;
    case arrow::Type::INT8: return make_integer<arrow::Int8Array>(target);
    case arrow::Type::INT16: return make_integer<arrow::Int16Array>(target);
    case arrow::Type::INT32: return make_integer<arrow::Int32Array>(target);
    case arrow::Type::INT64: return make_integer<arrow::Int64Array>(target);
    case arrow::Type::UINT8: return make_integer<arrow::UInt8Array>(target);
    case arrow::Type::UINT16: return make_integer<arrow::UInt16Array>(target);
    case arrow::Type::UINT32: return make_integer<arrow::UInt32Array>(target);
    case arrow::Type::UINT64: return make_integer<arrow::UInt64Array>(target);
    case arrow::Type::HALF_FLOAT: return make_float<arrow::HalfFloatArray>(target);
    case arrow::Type::FLOAT: return make_float<arrow::FloatArray>(target);
    case arrow::Type::DOUBLE: return make_float<arrow::DoubleArray>(target);
    default: break;
  }
  if (target.kind != TB_TARGET_NUMERIC || !arrow::is_decimal(type.id())) return nullptr;
  const auto& decimal = static_cast<const arrow::DecimalType&>(type);
  switch (type.id()) {
    case arrow::Type::DECIMAL32:
      return std::make_unique<DecimalEncoder<arrow::Decimal32Array, arrow::Decimal32>>(decimal);
    case arrow::Type::DECIMAL64:
      return std::make_unique<DecimalEncoder<arrow::Decimal64Array, arrow::Decimal64>>(decimal);
    case arrow::Type::DECIMAL128:
      return std::make_unique<DecimalEncoder<arrow::Decimal128Array, arrow::Decimal128>>(decimal);
    default: return std::make_unique<DecimalEncoder<arrow::Decimal256Array, arrow::Decimal256>>(decimal);
  }
}

}  // namespace turbine::file_reader
