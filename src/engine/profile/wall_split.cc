/*
 * wall_split.cc - see wall_split.h.
 *
 * Called by the query's profile when a phase begins or ends on any thread. It must never count
 * a moment twice: each nanosecond of the wall time belongs to one phase.
 */
#include "engine/profile/wall_split.h"

#include <algorithm>
#include <numeric>

namespace turbine {
namespace {

constexpr size_t kMostIntervals = 1 << 16;

}  // namespace

void WallSplit::begin(uint64_t now_ns) {
  intervals_.clear();
  sums_ = {};
  folded_until_ = now_ns;
}

void WallSplit::add(TbPhase phase, uint64_t begin_ns, uint64_t end_ns) {
  if (phase >= TB_PHASE_COUNT || end_ns <= std::max(begin_ns, folded_until_)) return;
  intervals_.push_back({std::max(begin_ns, folded_until_), end_ns, phase});
  if (intervals_.size() < kMostIntervals) return;
  // Spans still to come began later than the older half, as good as always.
  const auto middle = intervals_.begin() + kMostIntervals / 2;
  std::nth_element(intervals_.begin(), middle, intervals_.end(),
                   [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  fold(middle->begin);
}

/* Counts all time before the horizon; keeps the rest of what reaches beyond it. */
void WallSplit::fold(uint64_t horizon) {
  struct Edge {
    uint64_t at;
    TbPhase phase;
    int change;
  };
  std::vector<Edge> edges;
  std::vector<Interval> rest;
  for (const Interval& interval : intervals_) {
    if (interval.begin < horizon) {
      edges.push_back({interval.begin, interval.phase, 1});
      edges.push_back({std::min(interval.end, horizon), interval.phase, -1});
    }
    if (interval.end > horizon) rest.push_back({std::max(interval.begin, horizon), interval.end, interval.phase});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });

  std::array<int, TB_PHASE_COUNT> active{};
  uint64_t now = folded_until_;
  auto pass = [&](uint64_t until) {
    const auto time = static_cast<double>(until - now);
    const int all = std::accumulate(active.begin(), active.end(), 0);
    if (all == 0) sums_[TB_PHASE_WAIT] += time;
    for (size_t i = 0; all > 0 && i < active.size(); i++) sums_[i] += time * active[i] / all;
    now = until;
  };
  for (const Edge& edge : edges) {
    pass(edge.at);
    active[edge.phase] += edge.change;
  }
  if (horizon > now) pass(horizon);
  folded_until_ = std::max(folded_until_, horizon);
  intervals_ = std::move(rest);
}

std::array<uint64_t, TB_PHASE_COUNT> WallSplit::until(uint64_t now_ns) {
  fold(now_ns);
  std::array<uint64_t, TB_PHASE_COUNT> result{};
  for (size_t i = 0; i < result.size(); i++) result[i] = static_cast<uint64_t>(sums_[i]);
  return result;
}

}  // namespace turbine
