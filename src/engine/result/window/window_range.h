/*
 * window_range.h - ends of RANGE frames that lie an offset away from the current row, as
 * PostgreSQL's in_range functions and nodeWindowAgg.c say.
 *
 * An end is a cursor that never goes back, since the bound grows or falls with the order key;
 * where a time zone's local times repeat it may not, and PostgreSQL's cursor does not go
 * back either. Where PostgreSQL's arithmetic would leave the range of timestamps it raises an
 * error: there the query goes back to it.
 */
#pragma once

#include <bit>
#include <cmath>

#include "engine/result/window/window_column.h"
#include "engine/result/window/window_partition.h"
#include "engine/threads/parallel_work.h"

namespace turbine {

/* Is there such arithmetic for keys of the type? */
inline bool has_range_offsets(uint32_t type) { return type != TB_TYPE_BOOL && !tb_type_is_text(type); }
inline bool is_float_type(uint32_t type) { return type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8; }
inline bool is_time_type(uint32_t type) {
  return type == TB_TYPE_DATE || type == TB_TYPE_TIMESTAMP || type == TB_TYPE_TIMESTAMPTZ;
}

/* Timestamps: the infinite ones, and whether a finite one is one. */
constexpr __int128 kBeforeAllTimes = INT64_MIN, kAfterAllTimes = INT64_MAX;
void check_timestamp(__int128 value);  // throws DeviceError

/*
 * The one order key of a pass, or what it becomes by an offset, of all rows in their order. Read once, in parallel,
 * since a row's place in memory has nothing to do with its place in the order, and every function's cursors come by it.
 */
class RangeKey {
 public:
  /* Of dates and timestamps: microseconds, infinite ones as above. */
  union Value {
    __int128 integer;
    double number;  // of floats
  };

  /* Throws DeviceError: memory, a date that is no timestamp, the query was closed. */
  RangeKey(const ResultRows& rows, const SortedRows& sorted, const TbSortKey& key, ParallelWork& work);

  bool descending() const { return descending_; }
  bool nulls_first() const { return nulls_first_; }
  bool is_float() const { return is_float_type(type_); }
  bool is_time() const { return is_time_type(type_); }

  bool is_null(uint64_t place) const { return nulls_.data()[place] != 0; }
  const Value& at(uint64_t place) const { return reinterpret_cast<const Value*>(values_.data())[place]; }

 private:
  const uint32_t type_;
  const bool descending_, nulls_first_;
  HostBuffer values_, nulls_;
};

/* A start or end that follows the current row through a partition. */
class RangeEnd {
 public:
  enum class Side { kStart, kEnd };

  /* `high`, `low`: the offset, as TbWindowPass has it, if there are no limits. */
  RangeEnd(const RangeKey& key, const RangeKey* limits, const WindowPartition& partition, Side side, uint8_t bound,
           uint64_t high, uint64_t low)
      : key_(key),
        limits_(limits),
        partition_(partition),
        start_(side == Side::kStart),
        subtract_((bound == TB_BOUND_PRECEDING) != key.descending()),
        less_(start_ == key.descending()),
        distance_(static_cast<__int128>(uint128{high} << 64 | low)),
        span_(std::bit_cast<double>(low)),
        place_(partition.begin) {}

  /* `current`: the place of a row that is not before the last one. */
  uint64_t move_to(uint64_t current) {
    while (place_ < partition_.end && lies_behind(current)) place_++;
    return place_;
  }

 private:
  /* Is the row at place_ before the start, or within the end? */
  bool lies_behind(uint64_t current) const {
    const bool null = key_.is_null(place_), current_null = key_.is_null(current);
    if (null || current_null) {
      if (!start_) return key_.nulls_first() ? null : current_null;
      return key_.nulls_first() ? null && !current_null : !null && current_null;
    }
    const RangeKey::Value& value = key_.at(place_);
    if (limits_) return start_ != reaches(value.integer, limits_->at(current).integer);
    const RangeKey::Value& base = key_.at(current);
    return start_ != (key_.is_float() ? in_range(value.number, base.number) : in_range(value.integer, base.integer));
  }

  bool in_range(__int128 value, __int128 base) const {
    __int128 sum;
    if (key_.is_time() && (base == kBeforeAllTimes || base == kAfterAllTimes)) {
      sum = base;
    } else if (subtract_ ? __builtin_sub_overflow(base, distance_, &sum)
                         : __builtin_add_overflow(base, distance_, &sum)) {
      return subtract_ != less_;
    } else if (key_.is_time()) {
      check_timestamp(sum);
    }
    return reaches(value, sum);
  }

  bool reaches(__int128 value, __int128 limit) const { return less_ ? value <= limit : value >= limit; }

  /* NaN is above all; from infinity an infinite distance reaches everything. */
  bool in_range(double value, double base) const {
    if (std::isnan(value)) return std::isnan(base) || !less_;
    if (std::isnan(base)) return less_;
    if (std::isinf(span_) && std::isinf(base) && (base > 0) == subtract_) return true;
    const double sum = subtract_ ? base - span_ : base + span_;
    return less_ ? value <= sum : value >= sum;
  }

  const RangeKey& key_;
  const RangeKey* const limits_;
  const WindowPartition& partition_;
  const bool start_, subtract_, less_;
  const __int128 distance_;
  const double span_;  // of floats
  uint64_t place_;
};

}  // namespace turbine
