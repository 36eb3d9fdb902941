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
#include <string_view>

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
};

class BoolDecoder : public BuilderDecoder<arrow::BooleanBuilder> {
 public:
  explicit BoolDecoder(InvalidValue invalid) : BuilderDecoder(std::make_shared<arrow::BooleanBuilder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    need(length, 1);
    keep(builder_->Append(data[0] != 0));
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
};

class DateDecoder : public BuilderDecoder<arrow::Date32Builder> {
 public:
  explicit DateDecoder(InvalidValue invalid) : BuilderDecoder(std::make_shared<arrow::Date32Builder>(), invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    need(length, 4);
    const auto days = big_endian<int32_t>(data);
    if (days == std::numeric_limits<int32_t>::max()) return reject("the date infinity");
    if (days == std::numeric_limits<int32_t>::min()) return reject("the date -infinity");
    keep(builder_->Append(days + kDaysTo2000));
  }
};

class TimeDecoder : public BuilderDecoder<arrow::Time64Builder> {
 public:
  explicit TimeDecoder(InvalidValue invalid)
      : BuilderDecoder(
            std::make_shared<arrow::Time64Builder>(arrow::time64(arrow::TimeUnit::MICRO), arrow::default_memory_pool()),
            invalid) {}

 private:
  void append_value(const char* data, int32_t length) override {
    need(length, 8);
    const auto micros = big_endian<int64_t>(data);
    if (micros >= kMicrosPerDay) return reject("the time 24:00:00");
    keep(builder_->Append(micros));
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
  void append_value(const char* data, int32_t length) override {
    need(length, 8);
    const auto micros = big_endian<int64_t>(data);
    if (micros == std::numeric_limits<int64_t>::max()) return reject("the timestamp infinity");
    if (micros == std::numeric_limits<int64_t>::min()) return reject("the timestamp -infinity");
    int64_t since_1970;
    if (__builtin_add_overflow(micros, kMicrosTo2000, &since_1970)) {
      return reject("a timestamp after the year 294246");
    }
    keep(builder_->Append(since_1970));
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
