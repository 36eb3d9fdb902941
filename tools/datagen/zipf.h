/*
 * zipf.h - ranks whose frequency falls with a power of the rank.
 *
 * Rank 0 is the most frequent. The continuous approximation of Zipf's law is
 * inverted, so that a draw takes one number and one pow().
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "random.h"

namespace turbine::datagen {

class Zipf {
 public:
  /* Ranks 0 ... ranks - 1; `exponent` must not be 1. */
  Zipf(int64_t ranks, double exponent)
      : last_(ranks - 1),
        inverse_(1 / (1 - exponent)),
        span_(std::pow(static_cast<double>(ranks) + 1, 1 - exponent) - 1) {}

  int64_t draw(RowRandom& random) const {
    double place = std::pow(1 + random.unit() * span_, inverse_);
    return std::clamp<int64_t>(static_cast<int64_t>(place) - 1, 0, last_);
  }

 private:
  int64_t last_;
  double inverse_, span_;
};

}  // namespace turbine::datagen
