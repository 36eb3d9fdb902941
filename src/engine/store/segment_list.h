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

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/store/segment.h"
#include "engine/store/zone_order.h"

namespace turbine {

/* How segments are cut into morsels. */
struct MorselShape {
  uint64_t rows;         // a morsel is complete once it has so many rows,
  uint64_t most_blocks;  // or so many blocks
  /* Blocks of a file that lie together on one GPU (device/split/): no morsel is of two such ranges. 0: all do. */
  uint32_t range_blocks = 0;

  auto operator<=>(const MorselShape&) const = default;
};

class SegmentList {
 public:
  /* Of a file of so many blocks; these columns of each are read. */
  SegmentList(std::vector<TakenSegment> segments, std::shared_ptr<const std::vector<uint32_t>> columns,
              uint32_t nblocks);

  /* What is taken of some segments, by number, in place of what was. */
  using Changes = std::map<uint32_t, std::vector<TakenSegment>>;
  /* As `before` but for the changes, and of at least as many blocks. Only they are looked at, and morsels without them
   * are the very same. `before` is in the order of the file. */
  SegmentList(const SegmentList& before, const Changes& changes, uint32_t nblocks);

  /* The entries of one segment, [first, end); the list is in the order of the file. */
  std::pair<size_t, size_t> entries_of(uint32_t number) const;

  std::span<const TakenSegment> segments() const { return segments_; }
  /* Of an entry's segment. */
  uint32_t first_block(size_t segment) const { return first_blocks_[segment]; }
  uint64_t rows() const { return rows_; }
  uint64_t blocks() const { return blocks_; }
  /* Memory that it takes, with one set of morsels in its order and one in another. */
  uint64_t bytes() const;
  /* A bit a block. */
  const std::vector<uint8_t>& bits() const { return bits_; }
  /* Of a segment's columns, in their order. */
  const StoredColumn::Zone* zones(size_t segment) const { return &zones_[segment * columns_->size()]; }

  /* Those of its blocks that are fresh in the version that it has: ascending, whatever entries a segment has, with the
   * LSN of the page of each. */
  struct FreshBlock {
    uint32_t block;
    uint64_t page_lsn;
  };
  std::span<const FreshBlock> fresh_blocks() const { return fresh_blocks_; }
  /* Of an entry's fresh blocks, the least range that has all their transactions; empty: none is fresh. */
  const XidRange& fresh_xids(size_t segment) const { return fresh_xids_[segment]; }

  /* By column: least is the greatest of all segments' least values, greatest the least of their greatest, so it may
   * be the wrong way round. What does not exclude this excludes no segment. */
  const StoredColumn::Zone* common_zones() const { return common_zones_.data(); }

  /* All segments; the same ones each time. */
  std::vector<std::shared_ptr<const SegmentMorsel>> morsels(const MorselShape& shape) const;
  /* All segments in the order of their first rows; the same ones as long as nobody asks for another order or shape. */
  std::vector<std::shared_ptr<const SegmentMorsel>> morsels(const MorselShape& shape, const ZoneOrder& order) const;

 private:
  using Morsels = std::vector<std::shared_ptr<const SegmentMorsel>>;
  /* Entries [first, end) of another list, in whose place there are so many. */
  struct Replaced {
    size_t first, end, count;
  };
  void add(const TakenSegment& taken);
  void add_fresh(const TakenSegment& taken);
  void copy_fresh(const SegmentList& before, size_t first, size_t end);
  void add_morsels(const SegmentList& before, const std::vector<Replaced>& replaced);
  void find_common_zones();
  Morsels lasting_morsels(std::vector<TakenSegment> segments, const MorselShape& shape) const;

  std::vector<TakenSegment> segments_;
  std::vector<uint32_t> rows_of_;  // of each
  std::vector<uint32_t> first_blocks_;  // of each one's segment
  const std::shared_ptr<const std::vector<uint32_t>> columns_;
  std::vector<StoredColumn::Zone> zones_, common_zones_;
  std::vector<uint8_t> bits_;
  std::vector<FreshBlock> fresh_blocks_;
  std::vector<uint32_t> fresh_end_;  // how many there are up to each entry; of a segment only the last one cuts them
  std::vector<XidRange> fresh_xids_;  // of each
  uint64_t rows_ = 0, blocks_ = 0;
  mutable std::mutex mutex_;  // protects what follows
  mutable std::map<MorselShape, Morsels> morsels_;
  struct Ordered {
    ZoneOrder order;
    MorselShape shape;
    Morsels morsels;
  };
  mutable std::optional<Ordered> ordered_;  // asked for last
};

/* Puts segments in the order of their first rows, as far as zones tell. The columns are those that the order's is one
 * of. */
void put_in_order(std::vector<TakenSegment>& segments, const std::vector<uint32_t>& columns, const ZoneOrder& order);

/* Cuts segments into morsels. What is too little for one is left in `segments`, unless `last`. */
std::vector<std::shared_ptr<const SegmentMorsel>> cut_morsels(
    std::vector<TakenSegment>& segments, const std::shared_ptr<const std::vector<uint32_t>>& columns,
    const MorselShape& shape, bool last);

}  // namespace turbine
