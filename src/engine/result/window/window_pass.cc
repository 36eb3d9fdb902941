/*
 * window_pass.cc - the functions of one window pass.
 *
 * Owns the columns that it makes until the rows take them. Called by result_run.cc with
 * rows in the pass's order.
 */
#include "engine/result/window/window_pass.h"

#include "engine/result/rows/row_parts.h"
#include "engine/result/window/window_aggregate.h"
#include "engine/result/window/window_frame.h"

namespace turbine {
namespace {

/* One function over one partition. */
class PartitionFunction {
 public:
  PartitionFunction(const TbWindowFunction& function, const FrameRule& rule, const WindowPartition& partition,
                    const ResultRows& rows, ParallelWork& work, ColumnWriter& to)
      : function_(function), rule_(rule), partition_(partition), rows_(rows), work_(work), to_(to) {}

  void run() const {
    switch (function_.kind) {
      case TB_WINDOW_ROW_NUMBER: return each([&](uint64_t place, RowRef row) { to_.set(row, number(place)); });
      case TB_WINDOW_RANK: return each_peers([&](uint64_t start, uint64_t, int64_t) { return number(start); });
      case TB_WINDOW_DENSE_RANK: return each_peers([&](uint64_t, uint64_t, int64_t group) { return group; });
      case TB_WINDOW_PERCENT_RANK:
        return each_peers([&](uint64_t start, uint64_t, int64_t) {
          return partition_.size() <= 1 ? 0.0 : ratio(start - partition_.begin, partition_.size() - 1);
        });
      case TB_WINDOW_CUME_DIST:
        return each_peers(
            [&](uint64_t, uint64_t end, int64_t) { return ratio(end - partition_.begin, partition_.size()); });
      case TB_WINDOW_NTILE: return ntile();
      case TB_WINDOW_LAG: return shifted(-__int128{function_.n});
      case TB_WINDOW_LEAD: return shifted(function_.n);
      case TB_WINDOW_FIRST_VALUE: return of_frame([](const WindowFrame&) { return uint64_t{0}; });
      case TB_WINDOW_LAST_VALUE: return of_frame([](const WindowFrame& frame) { return frame.size() - 1; });
      case TB_WINDOW_NTH_VALUE:
        return of_frame([n = static_cast<uint64_t>(function_.n) - 1](const WindowFrame&) { return n; });
      default: return compute_window_aggregate(function_, rule_, partition_, rows_, work_, to_);
    }
  }

 private:
  int64_t number(uint64_t place) const { return static_cast<int64_t>(place - partition_.begin + 1); }
  static double ratio(uint64_t a, uint64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

  template <class F>
  void each(F f) const {
    for (uint64_t place = partition_.begin; place < partition_.end; place++) {
      if (place % kBlockRows == 0) work_.check();
      partition_.look_ahead(place, [this](RowRef row) { to_.prefetch(row); });
      f(place, partition_.rows[place]);
    }
  }

  /* Peers have one value: f(where they start, where they end, which they are from 1). */
  template <class F>
  void each_peers(F f) const {
    int64_t group = 0;
    for (uint64_t start = partition_.begin; start < partition_.end;) {
      const uint64_t end = partition_.peers_end(start);
      const auto value = f(start, end, ++group);
      for (; start < end; start++) {
        if (start % kBlockRows == 0) work_.check();
        partition_.look_ahead(start, [this](RowRef row) { to_.prefetch(row); });
        to_.set(partition_.rows[start], value);
      }
    }
  }

  /* The first buckets have one row more where they cannot be equal. */
  void ntile() const {
    const auto buckets = static_cast<uint64_t>(function_.n);
    const uint64_t rows = partition_.size() / buckets, larger = partition_.size() % buckets;
    const uint64_t in_larger = larger * (rows + 1);
    each([&](uint64_t place, RowRef row) {
      const uint64_t at = place - partition_.begin;
      const uint64_t bucket = at < in_larger ? at / (rows + 1) : larger + (at - in_larger) / rows;
      to_.set(row, static_cast<int32_t>(bucket + 1));
    });
  }

  void shifted(__int128 by) const {
    const ColumnReader arg(rows_, function_.arg), other(rows_, function_.other);
    each([&](uint64_t place, RowRef row) {
      partition_.look_ahead(place, [&arg](RowRef ahead) { arg.prefetch(ahead); });
      const __int128 from = __int128{place} + by;
      if (from >= partition_.begin && from < partition_.end)
        to_.copy(row, arg, partition_.rows[static_cast<uint64_t>(from)]);
      else if (other.exists())
        to_.copy(row, other, row);
    });
  }

  /* The argument of the frame's row of the number that f says, if there is one. */
  template <class F>
  void of_frame(F f) const {
    const ColumnReader arg(rows_, function_.arg);
    WindowFrame frame(rule_, partition_);
    each([&](uint64_t place, RowRef row) {
      frame.move_to(place);
      if (const uint64_t n = f(frame); n < frame.size()) to_.copy(row, arg, partition_.rows[frame.at(n)]);
    });
  }

  const TbWindowFunction& function_;
  const FrameRule& rule_;
  const WindowPartition& partition_;
  const ResultRows& rows_;
  ParallelWork& work_;
  ColumnWriter& to_;
};

/* Places where jobs begin: each takes whole partitions. And the end. */
std::vector<uint64_t> share_out(const SortedRows& sorted, size_t npartition, unsigned threads) {
  const RowParts parts(sorted.size(), threads);
  std::vector<uint64_t> starts;
  for (uint64_t p = 0; p < parts.size(); p++) {
    uint64_t at = parts.first(p);
    if (!starts.empty() && at < starts.back()) continue;
    while (at > 0 && at < sorted.size() && sorted.agree()[at] >= npartition) at++;
    if (at < sorted.size() && (starts.empty() || at > starts.back())) starts.push_back(at);
  }
  starts.push_back(sorted.size());
  return starts;
}

}  // namespace

void compute_window_pass(const ResultPlan& plan, const TbWindowPass& pass, ResultRows& rows, const SortedRows& sorted,
                         ParallelWork& work) {
  const std::span<const TbWindowFunction> functions = plan.functions(pass);
  std::vector<ColumnWriter> columns;
  columns.reserve(functions.size());
  for (size_t f = 0; f < functions.size(); f++)
    columns.emplace_back(rows, plan.columns()[plan.sink_columns() + pass.first_function + f]);

  const FrameRule rule(plan, pass, rows, sorted, work);
  const std::vector<uint64_t> starts = share_out(sorted, pass.npartition, work.threads());
  const uint64_t shares = starts.size() - 1;
  work.each(shares * functions.size(), [&](uint64_t job) {
    const size_t f = job / shares;
    const uint64_t end = starts[job % shares + 1];
    for (uint64_t begin = starts[job % shares]; begin < end;) {
      uint64_t next = begin + 1;
      while (next < end && sorted.agree()[next] >= pass.npartition) next++;
      const WindowPartition partition{sorted, pass.nkeys, begin, next};
      PartitionFunction(functions[f], rule, partition, rows, work, columns[f]).run();
      begin = next;
    }
  });
  for (ColumnWriter& column : columns) rows.add_column(column.shape(), column.take_values(), column.take_valid());
}

}  // namespace turbine
