/*
 * value_loops.h - the loops over all values of a run, which are vectorised.
 */
#pragma once

#include <cstdint>

namespace turbine {

/* Of at least one number. */
uint32_t greatest_of(const uint32_t* numbers, uint32_t count);

/* values[i] = entries[indexes[i]]. */
void take_entries(const int16_t* entries, const uint32_t* indexes, uint32_t count, int16_t* values);
void take_entries(const int32_t* entries, const uint32_t* indexes, uint32_t count, int32_t* values);
void take_entries(const int64_t* entries, const uint32_t* indexes, uint32_t count, int64_t* values);
void take_entries(const __int128* entries, const uint32_t* indexes, uint32_t count, __int128* values);
void take_entries(const float* entries, const uint32_t* indexes, uint32_t count, float* values);
void take_entries(const double* entries, const uint32_t* indexes, uint32_t count, double* values);

/* Values of the rows that are not NULL, which lie one after the other from the first row's place on, go to the places
 * of their rows. Some row is NULL; there is any value then. */
template <class T>
void spread(T* values, uint32_t count, const uint8_t* valid, uint32_t rows) {
  // From the last on, since none moves to the left. Under a NULL is the value that follows.
  uint32_t next = count;
  for (uint32_t i = rows; i-- > 0;) {
    next -= valid[i];
    values[i] = values[next];
  }
}

}  // namespace turbine
