/*
 * stopwatch.h - wall time since it was made, for the figures that every query sends home.
 *
 * For times that are always taken. What only a profile asks for is a Span
 * (query_profile.h).
 */
#pragma once

#include <chrono>
#include <cstdint>

namespace turbine {

class Stopwatch {
 public:
  uint64_t microseconds() const {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace turbine
