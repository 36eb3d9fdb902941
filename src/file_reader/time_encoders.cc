/*
 * time_encoders.cc - dates, times, timestamps and intervals.
 *
 * A timestamp with a zone is a moment and fits timestamptz alone, one without fits
 * timestamp alone: what a conversion means would depend on the session.
 */
#include <arrow/array.h>

#include "file_reader/time_values.h"
#include "file_reader/value_encoder.h"

namespace turbine::file_reader {

namespace {

/* PostgreSQL's ranges: datatype/timestamp.h. */
constexpr int64_t kFirstDay = -2'451'545;
constexpr int64_t kEndDay = 2'145'031'949;
constexpr int64_t kFirstMicrosecond = -211'813'488'000'000'000;
constexpr int64_t kEndMicrosecond = 9'223'371'331'200'000'000;

template <typename ArrayType>
class DateEncoder final : public ArrayEncoder<ArrayType> {
  void value(int64_t row, ByteBuffer& out) override {
    out.field(to_date(this->array_->Value(row), std::is_same_v<ArrayType, arrow::Date64Array>));
  }
};

/* An encoder of one integer each with a unit. */
template <typename ArrayType>
class UnitEncoder : public ArrayEncoder<ArrayType> {
 public:
  explicit UnitEncoder(arrow::TimeUnit::type unit) : unit_(unit) {}

 protected:
  const arrow::TimeUnit::type unit_;
};

template <typename ArrayType>
class TimeEncoder final : public UnitEncoder<ArrayType> {
  using UnitEncoder<ArrayType>::UnitEncoder;
  void value(int64_t row, ByteBuffer& out) override {
    const int64_t time = to_microseconds(this->array_->Value(row), this->unit_);
    if (time < 0 || time > kMicrosecondsPerDay) throw ReaderError(sqlstate::time_out_of_range, "time is out of range");
    out.field(time);
  }
};

class TimestampEncoder final : public UnitEncoder<arrow::TimestampArray> {
  using UnitEncoder::UnitEncoder;
  void value(int64_t row, ByteBuffer& out) override { out.field(to_timestamp(array_->Value(row), unit_)); }
};

void append_interval(int64_t microseconds, int32_t days, int32_t months, ByteBuffer& out) {
  const size_t begin = out.begin_field();
  out.network(microseconds);
  out.network(days);
  out.network(months);
  out.end_field(begin);
}

class DurationEncoder final : public UnitEncoder<arrow::DurationArray> {
  using UnitEncoder::UnitEncoder;
  void value(int64_t row, ByteBuffer& out) override {
    append_interval(to_microseconds(array_->Value(row), unit_), 0, 0, out);
  }
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

}  // namespace

int32_t to_date(int64_t value, bool milliseconds) {
  const int64_t days = (milliseconds ? floor_divide(value, kMillisecondsPerDay) : value) - kEpochDays;
  if (days < kFirstDay || days >= kEndDay) throw ReaderError(sqlstate::time_out_of_range, "date is out of range");
  return static_cast<int32_t>(days);
}

int64_t to_timestamp(int64_t value, arrow::TimeUnit::type unit) {
  int64_t moment;
  if (__builtin_sub_overflow(to_microseconds(value, unit), kEpochDays * kMicrosecondsPerDay, &moment) ||
      moment < kFirstMicrosecond || moment >= kEndMicrosecond)
    throw ReaderError(sqlstate::time_out_of_range, "timestamp is out of range");
  return moment;
}

EncoderPtr make_time_encoder(const arrow::DataType& type, const Target& target) {
  switch (target.kind) {
    case TB_TARGET_DATE:
      if (type.id() == arrow::Type::DATE32) return std::make_unique<DateEncoder<arrow::Date32Array>>();
      if (type.id() == arrow::Type::DATE64) return std::make_unique<DateEncoder<arrow::Date64Array>>();
      return nullptr;
    case TB_TARGET_TIME:
      if (type.id() == arrow::Type::TIME32)
        return std::make_unique<TimeEncoder<arrow::Time32Array>>(static_cast<const arrow::Time32Type&>(type).unit());
      if (type.id() == arrow::Type::TIME64)
        return std::make_unique<TimeEncoder<arrow::Time64Array>>(static_cast<const arrow::Time64Type&>(type).unit());
      return nullptr;
    case TB_TARGET_TIMESTAMP:
    case TB_TARGET_TIMESTAMPTZ: {
      if (type.id() != arrow::Type::TIMESTAMP) return nullptr;
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      if (timestamp.timezone().empty() != (target.kind == TB_TARGET_TIMESTAMP)) return nullptr;
      return std::make_unique<TimestampEncoder>(timestamp.unit());
    }
    case TB_TARGET_INTERVAL: return make_interval_encoder(type);
    default: return nullptr;
  }
}

}  // namespace turbine::file_reader
