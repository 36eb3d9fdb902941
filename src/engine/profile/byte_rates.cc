/*
 * byte_rates.cc - see byte_rates.h.
 *
 * Owned by a QueryProfile that is traced, and called under its lock. It must not grow with the length of a query beyond
 * kMostRateIntervals a kind.
 */
#include "engine/profile/byte_rates.h"

#include <algorithm>

namespace turbine {
namespace {

constexpr uint64_t kRateIntervalNs = 1'000'000;
constexpr size_t kMostRateIntervals = 1 << 18;

}  // namespace

void ByteRates::add(TbSpanKind kind, uint64_t bytes, uint64_t begin_ns, uint64_t end_ns) {
  if (bytes == 0) return;
  end_ns = std::max(end_ns, begin_ns + 1);
  const double per_ns = static_cast<double>(bytes) / static_cast<double>(end_ns - begin_ns);
  std::map<uint64_t, double>& intervals = bytes_[kind];
  for (uint64_t i = begin_ns / kRateIntervalNs; i * kRateIntervalNs < end_ns; i++) {
    if (intervals.size() >= kMostRateIntervals && !intervals.contains(i)) return;
    const uint64_t from = std::max(begin_ns, i * kRateIntervalNs), to = std::min(end_ns, (i + 1) * kRateIntervalNs);
    intervals[i] += per_ns * static_cast<double>(to - from);
  }
}

std::vector<TbSpan> ByteRates::take() {
  std::vector<TbSpan> spans;
  for (uint32_t kind = 0; kind < TB_SPAN_KIND_COUNT; kind++) {
    const std::map<uint64_t, double>& intervals = bytes_[kind];
    for (auto it = intervals.begin(); it != intervals.end(); ++it) {
      const uint64_t begin = it->first * kRateIntervalNs, end = begin + kRateIntervalNs;
      spans.push_back({begin, end, kind, 0, static_cast<uint64_t>(it->second + 0.5)});
      const auto next = std::next(it);
      if (next == intervals.end() || next->first != it->first + 1)
        spans.push_back({end, end + kRateIntervalNs, kind, 0, 0});
    }
    bytes_[kind].clear();
  }
  return spans;
}

}  // namespace turbine
