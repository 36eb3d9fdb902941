/*
 * busy_clock.h - how long at least one of several overlapping things was under way: a rate of reading is bytes by this
 * time, whatever the number of threads.
 */
#pragma once

#include <cstdint>
#include <mutex>

#include "engine/profile/stopwatch.h"

namespace turbine {

/* Any thread. */
class BusyClock {
 public:
  void begin() {
    std::lock_guard lock(mutex_);
    if (active_++ == 0) since_ = Stopwatch();
  }
  /* Returns the microseconds that were busy until now if nothing is under way any more, else 0: each counts once. */
  uint64_t end() {
    std::lock_guard lock(mutex_);
    return --active_ == 0 ? since_.microseconds() : 0;
  }

 private:
  std::mutex mutex_;
  uint32_t active_ = 0;
  Stopwatch since_;
};

}  // namespace turbine
