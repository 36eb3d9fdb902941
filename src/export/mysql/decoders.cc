/*
 * decoders.cc - MySQL's values to Arrow's builders.
 *
 * Dates of year, month or day 0 are no dates to Arrow; make_mysql_decoder's caller decides
 * whether they are errors or NULL.
 */
#include "export/mysql/decoders.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/builder_time.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <chrono>
#include <cstring>
#include <string_view>

#include "export/label_decoder.h"

namespace turbine::exporting {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kSecondsPerDay = 86'400;

template <typename Builder, typename Value>
class NativeDecoder : public BuilderDecoder<Builder> {
 public:
  explicit NativeDecoder(InvalidValue invalid) : BuilderDecoder<Builder>(std::make_shared<Builder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t) override {
    Value value;
    memcpy(&value, data, sizeof value);
    this->keep(this->builder_->Append(value));
  }
};

template <typename Builder>
class BytesDecoder : public BuilderDecoder<Builder> {
 public:
  explicit BytesDecoder(InvalidValue invalid) : BuilderDecoder<Builder>(std::make_shared<Builder>(), invalid) {}

  void reserve(int64_t rows, int64_t bytes) override { this->reserve_bytes(rows, bytes); }

 private:
  void append_value(const char* data, int32_t length) override { this->keep(this->builder_->Append(data, length)); }
};

/* Bit fields come as bytes, the highest first. */
uint64_t bits_of(const char* data, int32_t length) {
  uint64_t bits = 0;
  for (int32_t i = 0; i < length; i++) bits = bits << 8 | static_cast<unsigned char>(data[i]);
  return bits;
}

class BoolDecoder : public BuilderDecoder<arrow::BooleanBuilder> {
 public:
  explicit BoolDecoder(InvalidValue invalid) : BuilderDecoder(std::make_shared<arrow::BooleanBuilder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override { keep(builder_->Append(bits_of(data, length) != 0)); }
};

class BitDecoder : public BuilderDecoder<arrow::UInt64Builder> {
 public:
  explicit BitDecoder(InvalidValue invalid) : BuilderDecoder(std::make_shared<arrow::UInt64Builder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override { keep(builder_->Append(bits_of(data, length))); }
};

template <typename Decimal, typename Builder>
class DecimalDecoder : public BuilderDecoder<Builder> {
 public:
  DecimalDecoder(const std::shared_ptr<arrow::DataType>& type, int precision, int scale, InvalidValue invalid)
      : BuilderDecoder<Builder>(std::make_shared<Builder>(type), invalid), precision_(precision), scale_(scale) {}

 private:
  void append_value(const char* data, int32_t length) override {
    int32_t precision = 0, scale = 0;
    Decimal value;
    this->keep(Decimal::FromString(std::string_view(data, static_cast<size_t>(length)), &value, &precision, &scale));
    if (scale != scale_) {
      auto rescaled = value.Rescale(scale, scale_);
      this->keep(rescaled.status());
      value = *rescaled;
    }
    if (!value.FitsInPrecision(precision_)) return this->reject("a decimal that does not fit its precision and scale");
    this->keep(this->builder_->Append(value));
  }

  int precision_, scale_;
};

MYSQL_TIME time_of(const char* data) {
  MYSQL_TIME time;
  memcpy(&time, data, sizeof time);
  return time;
}

/* Days since 1970; false for what is no date. */
bool days_of(const MYSQL_TIME& time, int32_t& days) {
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(time.year)), std::chrono::month(time.month),
                                         std::chrono::day(time.day)};
  if (time.year == 0 || !date.ok()) return false;
  days = static_cast<int32_t>(std::chrono::sys_days(date).time_since_epoch().count());
  return true;
}

int64_t micros_of(const MYSQL_TIME& time, int64_t days) {
  const int64_t seconds = days * kSecondsPerDay + time.hour * 3600LL + time.minute * 60LL + time.second;
  return seconds * kMicrosPerSecond + static_cast<int64_t>(time.second_part);
}

std::string text_of(const MYSQL_TIME& time) {
  char text[64];
  snprintf(text, sizeof text, "the date %04u-%02u-%02u", time.year, time.month, time.day);
  return text;
}

class DateDecoder : public BuilderDecoder<arrow::Date32Builder> {
 public:
  explicit DateDecoder(InvalidValue invalid) : BuilderDecoder(std::make_shared<arrow::Date32Builder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t) override {
    const MYSQL_TIME time = time_of(data);
    int32_t days;
    if (!days_of(time, days)) return reject(text_of(time));
    keep(builder_->Append(days));
  }
};

class TimestampDecoder : public BuilderDecoder<arrow::TimestampBuilder> {
 public:
  /* `zone`: "UTC" for moments, empty for local times. */
  TimestampDecoder(const char* zone, InvalidValue invalid)
      : BuilderDecoder(std::make_shared<arrow::TimestampBuilder>(arrow::timestamp(arrow::TimeUnit::MICRO, zone),
                                                                 arrow::default_memory_pool()),
                       invalid) {}

 private:
  void append_value(const char* data, int32_t) override {
    const MYSQL_TIME time = time_of(data);
    int32_t days;
    if (!days_of(time, days)) return reject(text_of(time));
    keep(builder_->Append(micros_of(time, days)));
  }
};

class DurationDecoder : public BuilderDecoder<arrow::DurationBuilder> {
 public:
  explicit DurationDecoder(InvalidValue invalid)
      : BuilderDecoder(std::make_shared<arrow::DurationBuilder>(arrow::duration(arrow::TimeUnit::MICRO),
                                                                arrow::default_memory_pool()),
                       invalid) {}

 private:
  void append_value(const char* data, int32_t) override {
    const MYSQL_TIME time = time_of(data);
    const int64_t micros = micros_of(time, time.day);
    keep(builder_->Append(time.neg ? -micros : micros));
  }
};

class EnumDecoder : public LabelDecoder {
 public:
  using LabelDecoder::LabelDecoder;

 private:
  /* MySQL stores an empty text for labels that there were none for. */
  void append_unknown(const std::string& label) override { reject("label \"" + label + "\", which its type lacks"); }
};

std::unique_ptr<ColumnDecoder> make_decimal_decoder(const MysqlColumn& column, InvalidValue invalid) {
  if (column.precision <= arrow::Decimal128Type::kMaxPrecision) {
    return std::make_unique<DecimalDecoder<arrow::Decimal128, arrow::Decimal128Builder>>(
        arrow::decimal128(column.precision, column.scale), column.precision, column.scale, invalid);
  }
  return std::make_unique<DecimalDecoder<arrow::Decimal256, arrow::Decimal256Builder>>(
      arrow::decimal256(column.precision, column.scale), column.precision, column.scale, invalid);
}

}  // namespace

std::unique_ptr<ColumnDecoder> make_mysql_decoder(const MysqlColumn& column, InvalidValue invalid, EnumAs enums) {
  switch (column.kind) {
    case MysqlKind::kInt8: return std::make_unique<NativeDecoder<arrow::Int8Builder, int8_t>>(invalid);
    case MysqlKind::kUInt8: return std::make_unique<NativeDecoder<arrow::UInt8Builder, uint8_t>>(invalid);
    case MysqlKind::kInt16: return std::make_unique<NativeDecoder<arrow::Int16Builder, int16_t>>(invalid);
    case MysqlKind::kUInt16: return std::make_unique<NativeDecoder<arrow::UInt16Builder, uint16_t>>(invalid);
    case MysqlKind::kInt32: return std::make_unique<NativeDecoder<arrow::Int32Builder, int32_t>>(invalid);
    case MysqlKind::kUInt32: return std::make_unique<NativeDecoder<arrow::UInt32Builder, uint32_t>>(invalid);
    case MysqlKind::kInt64: return std::make_unique<NativeDecoder<arrow::Int64Builder, int64_t>>(invalid);
    case MysqlKind::kUInt64: return std::make_unique<NativeDecoder<arrow::UInt64Builder, uint64_t>>(invalid);
    case MysqlKind::kFloat: return std::make_unique<NativeDecoder<arrow::FloatBuilder, float>>(invalid);
    case MysqlKind::kDouble: return std::make_unique<NativeDecoder<arrow::DoubleBuilder, double>>(invalid);
    case MysqlKind::kDecimal: return make_decimal_decoder(column, invalid);
    case MysqlKind::kBit:
      if (column.bits == 1) return std::make_unique<BoolDecoder>(invalid);
      return std::make_unique<BitDecoder>(invalid);
    case MysqlKind::kDate: return std::make_unique<DateDecoder>(invalid);
    case MysqlKind::kDatetime: return std::make_unique<TimestampDecoder>("", invalid);
    case MysqlKind::kTimestamp: return std::make_unique<TimestampDecoder>("UTC", invalid);
    case MysqlKind::kTime: return std::make_unique<DurationDecoder>(invalid);
    case MysqlKind::kBytes: return std::make_unique<BytesDecoder<arrow::BinaryBuilder>>(invalid);
    case MysqlKind::kEnum:
      if (enums == EnumAs::kDictionary && !column.enum_labels.empty()) {
        return std::make_unique<EnumDecoder>(column.enum_labels, invalid);
      }
      break;
    case MysqlKind::kText: break;
  }
  return std::make_unique<BytesDecoder<arrow::StringBuilder>>(invalid);
}

}  // namespace turbine::exporting
