/*
 * wall_split.h - shares a query's wall time among the phases that spans are of.
 *
 * Threads and streams work side by side, so the lengths of their spans add up to
 * more than the time that has passed. Here each moment counts once: it is divided
 * evenly among the spans that cover it, and goes to WAIT if there is none.
 *
 * Spans may come in any order, each soon after it has ended. Memory is bounded: what
 * has passed is folded into sums. A span that comes later than that loses the part
 * that is folded already. Not thread-safe.
 */
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "turbine/profile.h"

namespace turbine {

class WallSplit {
 public:
  /* Time is counted from here on; what was added before is forgotten. */
  void begin(uint64_t now_ns);

  void add(TbPhase phase, uint64_t begin_ns, uint64_t end_ns);

  /* Nanoseconds from begin() until now by phase; they add up to the time between. */
  std::array<uint64_t, TB_PHASE_COUNT> until(uint64_t now_ns);

 private:
  struct Interval {
    uint64_t begin, end;
    TbPhase phase;
  };
  void fold(uint64_t horizon);

  std::vector<Interval> intervals_;
  std::array<double, TB_PHASE_COUNT> sums_{};
  uint64_t folded_until_ = 0;
};

}  // namespace turbine
