#include "engine/result/window_aggregate.h"

#include <cmath>

#include "engine/device/host/group_merge.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

/* An exact sum of 128-bit integers; what leaves it is subtracted. */
class WideSum {
 public:
  void add(__int128 value) {
    const uint128 before = low_;
    low_ += static_cast<uint128>(value);
    high_ += (low_ < before) - (value < 0);
  }
  void subtract(__int128 value) {
    const uint128 before = low_;
    low_ -= static_cast<uint128>(value);
    high_ += (value < 0) - (low_ > before);
  }
  /* Throws if it needs more than 128 bits. */
  __int128 value() const {
    const auto value = static_cast<__int128>(low_);
    if (high_ != (value < 0 ? -1 : 0)) throw_fold_errors(TB_ERR_STATE_OVERFLOW);
    return value;
  }

 private:
  uint128 low_ = 0;
  int64_t high_ = 0;
};

class CountOf {
 public:
  void add(RowRef) { count_++; }
  void remove(RowRef) { count_--; }
  void emit(RowRef row, ColumnWriter& to) const { to.set(row, count_); }

 private:
  int64_t count_ = 0;
};

class ExactSum {
 public:
  explicit ExactSum(const ColumnReader& column) : column_(column) {}
  void add(RowRef row) {
    sum_.add(column_.integer(row));
    count_++;
  }
  void remove(RowRef row) {
    sum_.subtract(column_.integer(row));
    count_--;
  }
  void emit(RowRef row, ColumnWriter& to) const {
    if (count_ == 0) return;
    const __int128 sum = sum_.value();
    if (to.shape().type == TB_TYPE_NUM128) return to.set(row, sum);
    if (sum < INT64_MIN || sum > INT64_MAX) throw_fold_errors(TB_ERR_STATE_OVERFLOW);
    to.set(row, static_cast<int64_t>(sum));
  }

 private:
  const ColumnReader& column_;
  WideSum sum_;
  uint64_t count_ = 0;
};

/* As float8pl adds: the first value as it is; an infinity that no value had is an
 * error. Nothing leaves its frames. */
class FloatSum {
 public:
  explicit FloatSum(const ColumnReader& column) : column_(column) {}
  void add(RowRef row) {
    const double value = column_.number(row), before = sum_;
    sum_ = some_ ? before + value : value;
    if (some_ && std::isinf(sum_) && !std::isinf(before) && !std::isinf(value)) throw_fold_errors(TB_ERR_OVERFLOW);
    some_ = true;
  }
  void remove(RowRef) {}
  void emit(RowRef row, ColumnWriter& to) const {
    if (some_) to.set(row, sum_);
  }

 private:
  const ColumnReader& column_;
  double sum_ = 0;
  bool some_ = false;
};

/* Of values that are equal, as -0 and 0 are, the last one counts. */
class RunningExtreme {
 public:
  RunningExtreme(const ColumnReader& column, bool greatest) : column_(column), greatest_(greatest) {}
  void add(RowRef row) {
    if (some_) {
      const int order = column_.compare(best_, row);
      if (greatest_ ? order > 0 : order < 0) return;
    }
    best_ = row;
    some_ = true;
  }
  void remove(RowRef) {}
  void emit(RowRef row, ColumnWriter& to) const {
    if (some_) to.copy(row, column_, best_);
  }

 private:
  const ColumnReader& column_;
  const bool greatest_;
  RowRef best_ = 0;
  bool some_ = false;
};

/* Keeps those rows of the frame that nothing behind them outdoes: the first is the
 * extreme. */
class MovingExtreme {
 public:
  MovingExtreme(const ColumnReader& column, bool greatest, MemoryBudget& budget)
      : column_(column), greatest_(greatest), rows_(budget, 1) {}
  void add(RowRef row) {
    while (rows_.size() > first_) {
      const int order = column_.compare(rows_[rows_.size() - 1], row);
      if (greatest_ ? order > 0 : order < 0) break;
      rows_.resize(rows_.size() - 1);
    }
    rows_.push_back(row);
  }
  /* Rows leave in the order in which they came. */
  void remove(RowRef row) {
    if (first_ == rows_.size() || rows_[first_] != row) return;
    first_++;
    if (first_ < kSpare || first_ < rows_.size() / 2) return;
    std::copy(rows_.data() + first_, rows_.data() + rows_.size(), rows_.data());
    rows_.resize(rows_.size() - first_);
    first_ = 0;
  }
  void emit(RowRef row, ColumnWriter& to) const {
    if (first_ < rows_.size()) to.copy(row, column_, rows_[first_]);
  }

 private:
  static constexpr uint64_t kSpare = 1024;
  const ColumnReader& column_;
  const bool greatest_;
  RowList rows_;
  uint64_t first_ = 0;  // of rows_ that is still in the frame
};

class FrameAggregate {
 public:
  FrameAggregate(const TbWindowFunction& function, const TbWindowPass& pass, const WindowPartition& partition,
                 const ResultRows& rows, ParallelWork& work, ColumnWriter& to)
      : function_(function), pass_(pass), partition_(partition), rows_(rows), work_(work), to_(to),
        arg_(rows, function.arg), filter_(rows, function.filter) {}

  void run() const {
    const bool greatest = function_.kind == TB_WINDOW_MAX;
    switch (function_.kind) {
      case TB_WINDOW_COUNT: return slide(CountOf());
      case TB_WINDOW_SUM:
        if (arg_.type() == TB_TYPE_FLOAT4 || arg_.type() == TB_TYPE_FLOAT8) return slide(FloatSum(arg_));
        return slide(ExactSum(arg_));
      default:
        if (pass_.start_bound == TB_BOUND_UNBOUNDED_PRECEDING) return slide(RunningExtreme(arg_, greatest));
        return slide(MovingExtreme(arg_, greatest, rows_.budget()));
    }
  }

 private:
  bool counts(RowRef row) const {
    return (!arg_.exists() || !arg_.is_null(row)) && (!filter_.exists() || filter_.is_true(row));
  }

  template <class State>
  void slide(State state) const {
    const SortedRows& sorted = partition_.rows;
    WindowFrame frame(pass_, partition_);
    uint64_t first = partition_.begin, next = first;  // rows [first, next) are in `state`
    for (uint64_t place = partition_.begin; place < partition_.end; place++) {
      if (place % kBlockRows == 0) work_.check();
      frame.move_to(place);
      for (; first < std::min(frame.start(), next); first++)
        if (counts(sorted[first])) state.remove(sorted[first]);
      if (frame.start() > next) first = next = frame.start();
      for (; next < frame.end(); next++)
        if (counts(sorted[next])) state.add(sorted[next]);
      state.emit(sorted[place], to_);
    }
  }

  const TbWindowFunction& function_;
  const TbWindowPass& pass_;
  const WindowPartition& partition_;
  const ResultRows& rows_;
  ParallelWork& work_;
  ColumnWriter& to_;
  const ColumnReader arg_, filter_;
};

}  // namespace

void compute_window_aggregate(const TbWindowFunction& function, const TbWindowPass& pass,
                              const WindowPartition& partition, const ResultRows& rows, ParallelWork& work,
                              ColumnWriter& to) {
  FrameAggregate(function, pass, partition, rows, work, to).run();
}

}  // namespace turbine
