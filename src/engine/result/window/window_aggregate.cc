/*
 * window_aggregate.cc - COUNT, SUM, MIN and MAX over window frames.
 *
 * Called by window_pass.cc, one partition at a time. Sums must never be rounded: they
 * are exact beyond 128 bits, or the query goes back.
 */
#include "engine/result/window/window_aggregate.h"

#include <cmath>
#include <utility>

#include "engine/group_fold/group_fold.h"
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
  void add(const WideSum& other) {
    low_ += other.low_;
    high_ += other.high_ + (low_ < other.low_);
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

/* States: add() and remove() rows; total() of those that are in it, which join()s with
 * that of rows behind them and with that of one row; emit() as the function's value. */

class CountOf {
 public:
  using Total = int64_t;
  void add(RowRef) { count_++; }
  void remove(RowRef) { count_--; }
  Total total() const { return count_; }
  Total of_row(RowRef) const { return 1; }
  void join(Total& total, Total behind) const { total += behind; }
  void emit(Total total, RowRef row, ColumnWriter& to) const { to.set(row, total); }

 private:
  int64_t count_ = 0;
};

class ExactSum {
 public:
  struct Total {
    WideSum sum;
    uint64_t count = 0;
  };
  explicit ExactSum(const ColumnReader& column) : column_(column) {}
  void add(RowRef row) {
    state_.sum.add(column_.integer(row));
    state_.count++;
  }
  void remove(RowRef row) {
    state_.sum.subtract(column_.integer(row));
    state_.count--;
  }
  const Total& total() const { return state_; }
  Total of_row(RowRef row) const {
    Total total{{}, 1};
    total.sum.add(column_.integer(row));
    return total;
  }
  void join(Total& total, const Total& behind) const {
    total.sum.add(behind.sum);
    total.count += behind.count;
  }
  void emit(const Total& total, RowRef row, ColumnWriter& to) const {
    if (total.count == 0) return;
    const __int128 sum = total.sum.value();
    if (to.shape().type == TB_TYPE_NUM128) return to.set(row, sum);
    if (sum < INT64_MIN || sum > INT64_MAX) throw_fold_errors(TB_ERR_STATE_OVERFLOW);
    to.set(row, static_cast<int64_t>(sum));
  }

 private:
  const ColumnReader& column_;
  Total state_;
};

/* As float8pl adds: the first value as it is. Of real only averages come here, whose states
 * are double precision. Values that may make PostgreSQL's sum, or
 * its average's sum of squares, overflow are left to it. Nothing leaves its frames, and
 * they exclude nothing. */
class FloatSum {
 public:
  struct Total {
    double sum = 0;
    bool some = false;
  };
  explicit FloatSum(const ColumnReader& column) : column_(column) {}
  void add(RowRef row) {
    const double value = column_.number(row);
    if (std::isfinite(value) && std::fabs(value) >= tb_float_sum_limit(TB_TYPE_FLOAT8))
      throw_fold_errors(TB_ERR_STATE_OVERFLOW);
    state_.sum = state_.some ? state_.sum + value : value;
    state_.some = true;
  }
  void remove(RowRef) {}
  Total total() const { return state_; }
  void emit(Total total, RowRef row, ColumnWriter& to) const {
    if (total.some) to.set(row, total.sum);
  }

 private:
  const ColumnReader& column_;
  Total state_;
};

/* The row with the least or the greatest value. Of values that are equal, as -0 and 0
 * are, the last one counts. */
class ExtremeRow {
 public:
  struct Total {
    RowRef row = 0;
    bool some = false;
  };
  ExtremeRow(const ColumnReader& column, bool greatest) : column_(column), greatest_(greatest) {}
  /* Is the first better than a row behind it? */
  bool outdoes(RowRef row, RowRef behind) const {
    const int order = column_.compare(row, behind);
    return greatest_ ? order > 0 : order < 0;
  }
  Total of_row(RowRef row) const { return {row, true}; }
  void join(Total& total, Total behind) const {
    if (behind.some && !(total.some && outdoes(total.row, behind.row))) total = behind;
  }
  void emit(Total total, RowRef row, ColumnWriter& to) const {
    if (total.some) to.copy(row, column_, total.row);
  }

 private:
  const ColumnReader& column_;
  const bool greatest_;
};

class RunningExtreme : public ExtremeRow {
 public:
  using ExtremeRow::ExtremeRow;
  void add(RowRef row) { join(best_, of_row(row)); }
  void remove(RowRef) {}
  Total total() const { return best_; }

 private:
  Total best_;
};

/* Keeps those rows of the frame that nothing behind them outdoes: the first is the
 * extreme. */
class MovingExtreme : public ExtremeRow {
 public:
  MovingExtreme(const ColumnReader& column, bool greatest, MemoryBudget& budget)
      : ExtremeRow(column, greatest), rows_(budget, 1) {}
  void add(RowRef row) {
    while (rows_.size() > first_ && !outdoes(rows_[rows_.size() - 1], row)) rows_.resize(rows_.size() - 1);
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
  Total total() const { return first_ < rows_.size() ? of_row(rows_[first_]) : Total(); }

 private:
  static constexpr uint64_t kSpare = 1024;
  RowList rows_;
  uint64_t first_ = 0;  // of rows_ that is still in the frame
};

/* The rows of one stretch of the frame, whose ends never go back, in a state. */
template <class State>
struct Stretch {
  State state;
  uint64_t first, next;  // rows [first, next) are in it

  /* `argument`: what the state reads of a row. */
  template <class Counts>
  void move_to(const WindowPartition& partition, uint64_t start, uint64_t end, const ColumnReader& argument,
               Counts counts) {
    const SortedRows& sorted = partition.rows;
    for (; first < std::min(start, next); first++)
      if (counts(sorted[first])) state.remove(sorted[first]);
    if (start > next) first = next = start;
    for (; next < end; next++) {
      if (argument.exists()) partition.look_ahead(next, [&argument](RowRef row) { argument.prefetch(row); });
      if (counts(sorted[next])) state.add(sorted[next]);
    }
  }
};

class FrameAggregate {
 public:
  FrameAggregate(const TbWindowFunction& function, const FrameRule& rule, const WindowPartition& partition,
                 const ResultRows& rows, ParallelWork& work, ColumnWriter& to)
      : function_(function),
        rule_(rule),
        partition_(partition),
        rows_(rows),
        work_(work),
        to_(to),
        arg_(rows, function.arg),
        filter_(rows, function.filter) {}

  void run() const {
    const bool greatest = function_.kind == TB_WINDOW_MAX;
    switch (function_.kind) {
      case TB_WINDOW_COUNT: return rule_.excludes() ? around_hole(CountOf(), CountOf()) : slide(CountOf());
      case TB_WINDOW_SUM:
        if (is_float_type(arg_.type())) return slide(FloatSum(arg_));
        return rule_.excludes() ? around_hole(ExactSum(arg_), ExactSum(arg_)) : slide(ExactSum(arg_));
      default:
        if (rule_.excludes()) return around_hole(moving_extreme(greatest), moving_extreme(greatest));
        if (rule_.pass().start_bound == TB_BOUND_UNBOUNDED_PRECEDING) return slide(RunningExtreme(arg_, greatest));
        return slide(moving_extreme(greatest));
    }
  }

 private:
  bool counts(RowRef row) const {
    return (!arg_.exists() || !arg_.is_null(row)) && (!filter_.exists() || filter_.is_true(row));
  }

  auto counted() const {
    return [this](RowRef row) { return counts(row); };
  }
  MovingExtreme moving_extreme(bool greatest) const { return {arg_, greatest, rows_.budget()}; }

  /* f(row) for each row, once `frame` is its. */
  template <class F>
  void each(WindowFrame& frame, F f) const {
    for (uint64_t place = partition_.begin; place < partition_.end; place++) {
      if (place % kBlockRows == 0) work_.check();
      partition_.look_ahead(place, [this](RowRef row) { to_.prefetch(row); });
      frame.move_to(place);
      f(partition_.rows[place]);
    }
  }

  template <class State>
  void slide(State state) const {
    WindowFrame frame(rule_, partition_);
    Stretch<State> whole{std::move(state), partition_.begin, partition_.begin};
    each(frame, [&](RowRef row) {
      whole.move_to(partition_, frame.start(), frame.end(), arg_, counted());
      whole.state.emit(whole.state.total(), row, to_);
    });
  }

  /* Of two empty states, one for each side of what the frame excludes. */
  template <class State>
  void around_hole(State first, State second) const {
    WindowFrame frame(rule_, partition_);
    Stretch<State> before{std::move(first), partition_.begin, partition_.begin};
    Stretch<State> behind{std::move(second), partition_.begin, partition_.begin};
    each(frame, [&](RowRef row) {
      before.move_to(partition_, frame.start(), frame.hole_start(), arg_, counted());
      behind.move_to(partition_, frame.hole_end(), frame.end(), arg_, counted());
      typename State::Total total = before.state.total();
      if (frame.current_stays() && counts(row)) before.state.join(total, before.state.of_row(row));
      before.state.join(total, behind.state.total());
      before.state.emit(total, row, to_);
    });
  }

  const TbWindowFunction& function_;
  const FrameRule& rule_;
  const WindowPartition& partition_;
  const ResultRows& rows_;
  ParallelWork& work_;
  ColumnWriter& to_;
  const ColumnReader arg_, filter_;
};

}  // namespace

void compute_window_aggregate(const TbWindowFunction& function, const FrameRule& rule, const WindowPartition& partition,
                              const ResultRows& rows, ParallelWork& work, ColumnWriter& to) {
  FrameAggregate(function, rule, partition, rows, work, to).run();
}

}  // namespace turbine
