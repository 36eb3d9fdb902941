/*
 * fill_admission.cc - see fill_admission.h.
 *
 * Called by the store, before it encodes a segment and when it has made room.
 */
#include "engine/store/fill_admission.h"

namespace turbine {
namespace {

/* One segment in 16: with fewer the store would take too long to learn that a table is read again and again. */
constexpr uint32_t kMostLevel = 4;

/* A table is small if so many of its size fit. */
constexpr uint64_t kSmallTables = 4;

/* Evenly spread, so that the low bits choose. */
uint64_t spread(uint64_t table, uint32_t segment) {
  uint64_t x = (table << 32 ^ table >> 32 ^ segment) + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

}  // namespace

bool FillAdmission::admits(uint64_t table, uint32_t segment, uint64_t table_bytes) const {
  const uint32_t level = level_.load(std::memory_order_relaxed);
  if (level == 0 || table_bytes < capacity_ / kSmallTables) return true;
  return (spread(table, segment) & ((uint64_t{1} << level) - 1)) == 0;
}

void FillAdmission::evicted(uint64_t found_bytes, uint64_t unfound_bytes) {
  const uint32_t level = level_.load(std::memory_order_relaxed);
  if (unfound_bytes > found_bytes && level < kMostLevel) level_.store(level + 1, std::memory_order_relaxed);
  if (unfound_bytes < found_bytes && level > 0) level_.store(level - 1, std::memory_order_relaxed);
}

}  // namespace turbine
