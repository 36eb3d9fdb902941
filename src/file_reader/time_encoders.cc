/*
 * time_encoders.cc - dates, times, timestamps and intervals.
 *
 * A timestamp with a zone is a moment and fits timestamptz alone, one without fits
 * timestamp alone: what a conversion means would depend on the session.
 */
#include <arrow/array.h>
#include <arrow/extension_type.h>

#include "file_reader/reader_error.h"
#include "file_reader/value_encoder.h"
#include "file_values/int96.h"
#include "file_values/integer_form.h"

namespace turbine::file_reader {

namespace {

/* Integers that a form makes days or microseconds of. */
template <typename ArrayType, typename Wanted>
class CountEncoder final : public ArrayEncoder<ArrayType> {
 public:
  CountEncoder(const IntegerForm& form, const Target& target) : form_(form), name_(target_name(target)) {}

 private:
  void value(int64_t row, ByteBuffer& out) override {
    int64_t count;
    const int64_t value = this->array_->Value(row);
    if (!form_.convert(value, &count))
      throw ReaderError(sqlstate::time_out_of_range, "value " + std::to_string(value) + " of type " +
                                                         this->array_->type()->ToString() + " is out of range for " +
                                                         name_);
    out.field(static_cast<Wanted>(count));
  }

  const IntegerForm form_;
  const std::string name_;
};

class Int96Encoder final : public ArrayEncoder<arrow::ExtensionArray> {
  void bound() override { bytes_ = static_cast<const arrow::FixedSizeBinaryArray*>(array_->storage().get()); }
  void value(int64_t row, ByteBuffer& out) override {
    int64_t moment;
    if (!int96_timestamp(bytes_->GetValue(row), &moment))
      throw ReaderError(sqlstate::time_out_of_range, "a value of type INT96 is out of range for timestamp");
    out.field(moment);
  }

  const arrow::FixedSizeBinaryArray* bytes_ = nullptr;
};

void append_interval(int64_t microseconds, int32_t days, int32_t months, ByteBuffer& out) {
  const size_t begin = out.begin_field();
  out.network(microseconds);
  out.network(days);
  out.network(months);
  out.end_field(begin);
}

class DurationEncoder final : public ArrayEncoder<arrow::DurationArray> {
 public:
  explicit DurationEncoder(arrow::TimeUnit::type unit) : form_(duration_form(unit)) {}

 private:
  void value(int64_t row, ByteBuffer& out) override {
    int64_t microseconds;
    if (!form_.convert(array_->Value(row), &microseconds))
      throw ReaderError(sqlstate::time_out_of_range, "value " + std::to_string(array_->Value(row)) + " of type " +
                                                         array_->type()->ToString() + " is out of range for interval");
    append_interval(microseconds, 0, 0, out);
  }

  const IntegerForm form_;
};

class MonthsEncoder final : public ArrayEncoder<arrow::MonthIntervalArray> {
  void value(int64_t row, ByteBuffer& out) override { append_interval(0, 0, array_->Value(row), out); }
};

class DayTimeEncoder final : public ArrayEncoder<arrow::DayTimeIntervalArray> {
  void value(int64_t row, ByteBuffer& out) override {
    const auto interval = array_->GetValue(row);
    append_interval(int64_t{interval.milliseconds} * 1000, interval.days, 0, out);
  }
};

class MonthDayNanoEncoder final : public ArrayEncoder<arrow::MonthDayNanoIntervalArray> {
  void value(int64_t row, ByteBuffer& out) override {
    const auto interval = array_->GetValue(row);
    append_interval(floor_divide(interval.nanoseconds, 1000), interval.days, interval.months, out);
  }
};

EncoderPtr make_interval_encoder(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::DURATION:
      return std::make_unique<DurationEncoder>(static_cast<const arrow::DurationType&>(type).unit());
    case arrow::Type::INTERVAL_MONTHS: return std::make_unique<MonthsEncoder>();
    case arrow::Type::INTERVAL_DAY_TIME: return std::make_unique<DayTimeEncoder>();
    case arrow::Type::INTERVAL_MONTH_DAY_NANO: return std::make_unique<MonthDayNanoEncoder>();
    default: return nullptr;
  }
}

template <typename ArrayType, typename Type>
EncoderPtr make_time_of_day(const arrow::DataType& type, const Target& target) {
  const IntegerForm form = time_form(static_cast<const Type&>(type).unit());
  return std::make_unique<CountEncoder<ArrayType, int64_t>>(form, target);
}

}  // namespace

EncoderPtr make_int96_encoder(const Target& target) {
  return target.kind == TB_TARGET_TIMESTAMP ? std::make_unique<Int96Encoder>() : nullptr;
}

EncoderPtr make_time_encoder(const arrow::DataType& type, const Target& target) {
  switch (target.kind) {
    case TB_TARGET_DATE:
      if (type.id() == arrow::Type::DATE32)
        return std::make_unique<CountEncoder<arrow::Date32Array, int32_t>>(date_form(false), target);
      if (type.id() == arrow::Type::DATE64)
        return std::make_unique<CountEncoder<arrow::Date64Array, int32_t>>(date_form(true), target);
      return nullptr;
    case TB_TARGET_TIME:
      if (type.id() == arrow::Type::TIME32)
        return make_time_of_day<arrow::Time32Array, arrow::Time32Type>(type, target);
      if (type.id() == arrow::Type::TIME64)
        return make_time_of_day<arrow::Time64Array, arrow::Time64Type>(type, target);
      return nullptr;
    case TB_TARGET_TIMESTAMP:
    case TB_TARGET_TIMESTAMPTZ: {
      if (type.id() != arrow::Type::TIMESTAMP) return nullptr;
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      if (timestamp.timezone().empty() != (target.kind == TB_TARGET_TIMESTAMP)) return nullptr;
      const IntegerForm form = timestamp_form(timestamp.unit());
      return std::make_unique<CountEncoder<arrow::TimestampArray, int64_t>>(form, target);
    }
    case TB_TARGET_INTERVAL: return make_interval_encoder(type);
    default: return nullptr;
  }
}

}  // namespace turbine::file_reader
