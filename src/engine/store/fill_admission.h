/*
 * fill_admission.h - which segments of large tables a full store takes at all.
 *
 * Encoding what is forgotten before anybody finds it costs the queries that fill and helps nobody. Where
 * most of what is evicted was never found, a store takes only every second of the segments that it has nothing of, then
 * every fourth, up to every sixteenth; where most was found, more again. Which ones is always the same, so that what is
 * taken is there when the table is read the next time, for all its columns.
 * While there is room, all is taken. Tables that are small beside the store are always taken; so are those to be kept,
 * and what somebody has asked to load.
 *
 * Thread-safe.
 */
#pragma once

#include <atomic>
#include <cstdint>

namespace turbine {

class FillAdmission {
 public:
  explicit FillAdmission(uint64_t capacity) : capacity_(capacity) {}

  /* May this segment of a table enter, of which there is nothing in the store? `table` is any number that the table
   * keeps, `table_bytes` what the columns at hand would take of the whole table. */
  bool admits(uint64_t table, uint32_t segment, uint64_t table_bytes) const;

  /* Room was made: of the evicted bytes, those that some query had found, and the others. */
  void evicted(uint64_t found_bytes, uint64_t unfound_bytes);

 private:
  const uint64_t capacity_;
  std::atomic<uint32_t> level_{0};  // one segment in 2^level
};

}  // namespace turbine
