/*
 * byte_rates.h - bytes over time: how many of a kind moved in each interval of a query's trace.
 *
 * What moved between two moments is spread evenly over the intervals between them. Not thread-safe.
 */
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "turbine/profile.h"

namespace turbine {

class ByteRates {
 public:
  /* `kind`: one of RATE_*. Bytes that come when there are too many intervals already are dropped. */
  void add(TbSpanKind kind, uint64_t bytes, uint64_t begin_ns, uint64_t end_ns);

  /* Of each kind and interval that has bytes, and a span without bytes where a pause begins. Ordered by kind and time;
   * all are forgotten. */
  std::vector<TbSpan> take();

 private:
  std::map<uint64_t, double> bytes_[TB_SPAN_KIND_COUNT];  // by interval
};

}  // namespace turbine
