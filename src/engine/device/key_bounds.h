/*
 * key_bounds.h - the smallest and largest value of a join table's integer key.
 */
#pragma once

#include <cstdint>
#include <limits>

namespace turbine {

/* Of rows with a NULL in any key nothing is known: no look-up finds them. */
struct KeyBounds {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  bool nulls = false;  // some row has a NULL key

  bool empty() const { return min > max; }  // no row has a key, or keys are no integers
};

}  // namespace turbine
