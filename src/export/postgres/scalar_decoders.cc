/*
 * scalar_decoders.cc - numbers, texts, bytes, dates and times; make_decoder for all types.
 *
 * PostgreSQL counts days and microseconds from 2000, Arrow from 1970. Infinite dates and
 * timestamps are extreme integers, which Arrow would take for dates.
 */
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/builder_time.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "export/label_decoder.h"
#include "export/postgres/binary_reader.h"
#include "export/postgres/decoders.h"

namespace turbine::exporting {
namespace {

constexpr int32_t kDaysTo2000 = 10957;
constexpr int64_t kMicrosPerDay = 86'400'000'000;
constexpr int64_t kMicrosTo2000 = kDaysTo2000 * kMicrosPerDay;

template <typename Builder, typename Value>
class FixedDecoder : public BuilderDecoder<Builder> {
 public:
  explicit FixedDecoder(InvalidValue invalid) : BuilderDecoder<Builder>(std::make_shared<Builder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    this->need(length, sizeof(Value));
    this->make_room();
    this->builder_->UnsafeAppend(big_endian<Value>(data));
  }

  void append_rows(const ColumnBytes& column) override {
    if (column.width != sizeof(Value)) return ColumnDecoder::append_rows(column);
    this->keep(this->builder_->AppendValues(reinterpret_cast<const Value*>(column.data), column.rows, column.valid));
  }
};

/* Dates and times, which Arrow counts from another day, and of which it lacks some. */
template <typename Builder, typename Value>
class CountedDecoder : public BuilderDecoder<Builder> {
 protected:
  using BuilderDecoder<Builder>::BuilderDecoder;

  /* What Arrow has for it; false: nothing. */
  virtual bool convert(Value& value) const = 0;
  virtual std::string lacking(Value value) const = 0;

 private:
  void append_value(const char* data, int32_t length) override {
    this->need(length, sizeof(Value));
    auto value = big_endian<Value>(data);
    if (!convert(value)) return this->reject(lacking(value));
    this->keep(this->builder_->Append(value));
  }

  void append_rows(const ColumnBytes& column) override {
    const auto* values = reinterpret_cast<const Value*>(column.data);
    if (column.width != sizeof(Value)) return ColumnDecoder::append_rows(column);
    converted_.assign(values, values + column.rows);
    bool all = true;
    for (Value& value : converted_) all = convert(value) && all;
    /* A NULL is 0 here, so one of the values is to be refused: which is seen one by one. */
    if (!all) return ColumnDecoder::append_rows(column);
    this->keep(this->builder_->AppendValues(converted_.data(), column.rows, column.valid));
  }

  std::vector<Value> converted_;
};

class BoolDecoder : public BuilderDecoder<arrow::BooleanBuilder> {
 public:
  explicit BoolDecoder(InvalidValue invalid) : BuilderDecoder(std::make_shared<arrow::BooleanBuilder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    need(length, 1);
    keep(builder_->Append(data[0] != 0));
  }

  void append_rows(const ColumnBytes& column) override {
    if (column.width != 1) return ColumnDecoder::append_rows(column);
    keep(builder_->AppendValues(reinterpret_cast<const uint8_t*>(column.data), column.rows, column.valid));
  }
};

class TextDecoder : public BuilderDecoder<arrow::StringBuilder> {
 public:
  /* `skipped`: bytes before the text, jsonb's version. */
  TextDecoder(const DecoderOptions& options, int skipped)
      : BuilderDecoder(std::make_shared<arrow::StringBuilder>(), options.invalid),
        skipped_(skipped),
        check_utf8_(options.check_utf8) {
    if (check_utf8_) arrow::util::InitializeUTF8();
  }

  void reserve(int64_t rows, int64_t bytes) override { reserve_bytes(rows, bytes); }

 private:
  void append_value(const char* data, int32_t length) override {
    if (length < skipped_) throw ValueError("its binary form is damaged");
    const std::string_view text(data + skipped_, static_cast<size_t>(length - skipped_));
    if (check_utf8_ && !arrow::util::ValidateUTF8(text)) return reject("text that is not UTF-8");
    make_room();
    const auto bytes = static_cast<int64_t>(text.size());
    if (bytes > builder_->value_data_capacity() - builder_->value_data_length()) keep(builder_->ReserveData(bytes));
    builder_->UnsafeAppend(text);
  }

  void append_rows(const ColumnBytes& column) override {
    if (column.width != 0 || skipped_ != 0 || check_utf8_) return ColumnDecoder::append_rows(column);
    reserve_bytes(column.rows, column.bytes);
    const char* place = column.data;
    for (int64_t i = 0; i < column.rows; i++) {
      const int32_t length = column.lengths[i];
      if (length < 0) {
        builder_->UnsafeAppendNull();
      } else {
        builder_->UnsafeAppend(place, length);
        place += length;
      }
    }
  }

  int skipped_;
  bool check_utf8_;
};

class BytesDecoder : public BuilderDecoder<arrow::BinaryBuilder> {
 public:
  explicit BytesDecoder(InvalidValue invalid) : BuilderDecoder(std::make_shared<arrow::BinaryBuilder>(), invalid) {}

  void reserve(int64_t rows, int64_t bytes) override { reserve_bytes(rows, bytes); }

 private:
  void append_value(const char* data, int32_t length) override { keep(builder_->Append(data, length)); }
};

class UuidDecoder : public BuilderDecoder<arrow::FixedSizeBinaryBuilder> {
 public:
  explicit UuidDecoder(InvalidValue invalid)
      : BuilderDecoder(std::make_shared<arrow::FixedSizeBinaryBuilder>(arrow::fixed_size_binary(16)), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    need(length, 16);
    keep(builder_->Append(data));
  }

  void append_rows(const ColumnBytes& column) override {
    if (column.width != 16) return ColumnDecoder::append_rows(column);
    keep(builder_->AppendValues(reinterpret_cast<const uint8_t*>(column.data), column.rows, column.valid));
  }
};

class DateDecoder : public CountedDecoder<arrow::Date32Builder, int32_t> {
 public:
  explicit DateDecoder(InvalidValue invalid) : CountedDecoder(std::make_shared<arrow::Date32Builder>(), invalid) {}

 private:
  static constexpr int32_t kInfinity = std::numeric_limits<int32_t>::max();
  static constexpr int32_t kMinusInfinity = std::numeric_limits<int32_t>::min();

  bool convert(int32_t& days) const override {
    if (days == kInfinity || days == kMinusInfinity) return false;
    days += kDaysTo2000;
    return true;
  }
  std::string lacking(int32_t days) const override {
    return days == kInfinity ? "the date infinity" : "the date -infinity";
  }
};

class TimeDecoder : public CountedDecoder<arrow::Time64Builder, int64_t> {
 public:
  explicit TimeDecoder(InvalidValue invalid)
      : CountedDecoder(
            std::make_shared<arrow::Time64Builder>(arrow::time64(arrow::TimeUnit::MICRO), arrow::default_memory_pool()),
            invalid) {}

 private:
  bool convert(int64_t& micros) const override { return micros < kMicrosPerDay; }
  std::string lacking(int64_t) const override { return "the time 24:00:00"; }
};

class TimestampDecoder : public CountedDecoder<arrow::TimestampBuilder, int64_t> {
 public:
  /* `zone`: "UTC" for moments, empty for local times. */
  TimestampDecoder(const char* zone, InvalidValue invalid)
      : CountedDecoder(std::make_shared<arrow::TimestampBuilder>(arrow::timestamp(arrow::TimeUnit::MICRO, zone),
                                                                 arrow::default_memory_pool()),
                       invalid) {}

 private:
  static constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();

  bool convert(int64_t& micros) const override {
    if (micros > kInfinity - kMicrosTo2000 || micros == kMinusInfinity) return false;
    micros += kMicrosTo2000;
    return true;
  }
  std::string lacking(int64_t micros) const override {
    if (micros == kInfinity) return "the timestamp infinity";
    if (micros == kMinusInfinity) return "the timestamp -infinity";
    return "a timestamp after the year 294246";
  }
};

class IntervalDecoder : public BuilderDecoder<arrow::MonthDayNanoIntervalBuilder> {
 public:
  explicit IntervalDecoder(InvalidValue invalid)
      : BuilderDecoder(std::make_shared<arrow::MonthDayNanoIntervalBuilder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    need(length, 16);
    BinaryReader reader(data, length);
    const auto micros = reader.read<int64_t>();
    const auto days = reader.read<int32_t>();
    const auto months = reader.read<int32_t>();
    int64_t nanos;
    if (__builtin_mul_overflow(micros, int64_t{1000}, &nanos))
      return reject("an interval of more than 292 years of time");
    keep(builder_->Append({months, days, nanos}));
  }
};

class EnumDecoder : public LabelDecoder {
 public:
  EnumDecoder(const PgType& type, InvalidValue invalid) : LabelDecoder(type.enum_labels, invalid) {}

 private:
  void append_unknown(const std::string& label) override {
    throw ValueError("label \"" + label + "\" was added to the type meanwhile");
  }
};

}  // namespace

std::unique_ptr<ColumnDecoder> make_text_decoder(const DecoderOptions& options) {
  return std::make_unique<TextDecoder>(options, 0);
}

std::unique_ptr<ColumnDecoder> make_decoder(const PgType& type, const DecoderOptions& options) {
  const InvalidValue invalid = options.invalid;
  switch (type.kind) {
    case PgKind::kBool: return std::make_unique<BoolDecoder>(invalid);
    case PgKind::kInt2: return std::make_unique<FixedDecoder<arrow::Int16Builder, int16_t>>(invalid);
    case PgKind::kInt4: return std::make_unique<FixedDecoder<arrow::Int32Builder, int32_t>>(invalid);
    case PgKind::kInt8: return std::make_unique<FixedDecoder<arrow::Int64Builder, int64_t>>(invalid);
    case PgKind::kOid: return std::make_unique<FixedDecoder<arrow::UInt32Builder, uint32_t>>(invalid);
    case PgKind::kFloat4: return std::make_unique<FixedDecoder<arrow::FloatBuilder, float>>(invalid);
    case PgKind::kFloat8: return std::make_unique<FixedDecoder<arrow::DoubleBuilder, double>>(invalid);
    case PgKind::kNumeric: return make_numeric_decoder(type, options);
    case PgKind::kJsonb: return std::make_unique<TextDecoder>(options, 1);
    case PgKind::kBytes: return std::make_unique<BytesDecoder>(invalid);
    case PgKind::kDate: return std::make_unique<DateDecoder>(invalid);
    case PgKind::kTime: return std::make_unique<TimeDecoder>(invalid);
    case PgKind::kTimestamp: return std::make_unique<TimestampDecoder>("", invalid);
    case PgKind::kTimestampTz: return std::make_unique<TimestampDecoder>("UTC", invalid);
    case PgKind::kInterval: return std::make_unique<IntervalDecoder>(invalid);
    case PgKind::kUuid: return std::make_unique<UuidDecoder>(invalid);
    case PgKind::kEnum:
      if (options.enums == EnumAs::kDictionary) return std::make_unique<EnumDecoder>(type, invalid);
      return make_text_decoder(options);
    case PgKind::kArray: return make_array_decoder(type, options);
    case PgKind::kComposite: return make_composite_decoder(type, options);
    case PgKind::kText:
    case PgKind::kOther: break;
  }
  return make_text_decoder(options);
}

}  // namespace turbine::exporting
