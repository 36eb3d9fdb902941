/*
 * eviction_order.h - which columns of which segments a full store forgets first.
 *
 * What a query has found in the last ten minutes stays after what none has, and tables that are to be kept stay after
 * both. Within each of these classes what saves least goes first: the time that a later query would save by finding the
 * column, for each byte of it, divided by the queries since its last use (what was not used for long is
 * unlikely to be used soon).
 *
 * Chance is mixed in, the same for all columns of a segment. In strict order of age, tables that are read in turn
 * and are larger than the cache together would push each other out before anybody finds them again; so
 * a part of each stays, is found, and has its place from then on.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace turbine {

/* A column of a segment, or a segment without columns. */
struct EvictionCandidate {
  static constexpr uint32_t kNoColumn = UINT32_MAX;
  uint32_t table;    // as whoever adds it counts tables
  uint32_t segment;  // number in its table
  uint32_t column;   // number in its table, or kNoColumn
  uint32_t rank;  // its class
  float worth;    // within it
  uint64_t bytes;
};

/* What is known of a candidate's use. */
struct ColumnUse {
  bool keep, found_lately;
  uint32_t age;           // queries since its last use
  uint32_t segment_used;  // when its segment was: any clock
  uint32_t blocks;        // that it has
  uint32_t rows;
  uint64_t bytes;
};

class EvictionOrder {
 public:
  void add(uint32_t table, uint32_t segment, uint32_t column, const ColumnUse& use);

  /* Those to be evicted for so many bytes, or all; grouped by table and segment. Consumes the order. */
  std::vector<EvictionCandidate> take(uint64_t bytes);

 private:
  std::vector<EvictionCandidate> candidates_;
};

}  // namespace turbine
