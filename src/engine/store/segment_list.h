/*
 * segment_list.h - all segments that a query takes of a file, kept for the next query that finds
 * the same.
 *
 * A segment lies in some lines of memory that nobody has touched since the last query: to go through
 * thousands of them takes most of a microsecond each. What is asked of all of them is here side by side.
 *
 * Immutable, but for the morsels that it makes once. Any thread.
 */
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/store/segment.h"

namespace turbine {

class SegmentList {
 public:
  /* Of a file of so many blocks; these columns of each are read. */
  SegmentList(std::vector<TakenSegment> segments, std::shared_ptr<const std::vector<uint32_t>> columns,
              uint32_t nblocks);

  std::span<const TakenSegment> segments() const { return segments_; }
  uint64_t rows() const { return rows_; }
  uint64_t blocks() const { return blocks_; }
  /* Memory that it takes, with one set of morsels. */
  uint64_t bytes() const;
  /* A bit a block. */
  const std::vector<uint8_t>& bits() const { return bits_; }
  /* Of a segment's columns, in their order. */
  const StoredColumn::Zone* zones(size_t segment) const { return &zones_[segment * columns_->size()]; }

  /* By column: least is the greatest of all segments' least values, greatest the least of their greatest, so it may
   * be the wrong way round. What does not exclude this excludes no segment. */
  const StoredColumn::Zone* common_zones() const { return common_zones_.data(); }

  /* All segments, about so many rows and at most so many blocks a morsel; the same ones each time. */
  std::vector<std::shared_ptr<const SegmentMorsel>> morsels(uint64_t rows, uint64_t most_blocks) const;

 private:
  using Morsels = std::vector<std::shared_ptr<const SegmentMorsel>>;
  const std::vector<TakenSegment> segments_;
  const std::shared_ptr<const std::vector<uint32_t>> columns_;
  std::vector<StoredColumn::Zone> zones_, common_zones_;
  std::vector<uint8_t> bits_;
  uint64_t rows_ = 0, blocks_ = 0;
  mutable std::mutex mutex_;  // protects what follows
  mutable std::map<std::pair<uint64_t, uint64_t>, Morsels> morsels_;
};

/* Cuts segments into morsels: each is complete once it has so many rows or blocks. What is too little for one
 * is left in `segments`, unless `last`. */
std::vector<std::shared_ptr<const SegmentMorsel>> cut_morsels(
    std::vector<TakenSegment>& segments, const std::shared_ptr<const std::vector<uint32_t>>& columns, uint64_t rows,
    uint64_t most_blocks, bool last);

/* Sets the bits of a segment's blocks in a file's. */
void set_bits(const TakenSegment& taken, uint8_t* bits);

}  // namespace turbine
