/*
 * segment.h - decoded columns of a run of blocks, as the store keeps them.
 *
 * A segment is TB_SEGMENT_BLOCKS blocks of a file, or fewer at the end of a page of the visibility map. A
 * version of it has the rows of some of these blocks. A column of the version may lack the values of some of
 * these rows. Rows and columns of a version never change: whoever has something to add makes another version,
 * which shares the columns that stay as they are. So readers need no lock, only a reference.
 *
 * A block is good if it was all-visible under the version's LSN of the visibility map, and its rows are those
 * that the block had then. The rows of another block may still be right: they are if the LSN of its page is
 * the one that it was decoded with.
 *
 * A block is fresh if somebody has decoded it when it was not all-visible: it has the rows that its transactions left,
 * all of which had ended (query_snapshot.h). That alone makes no block good.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/store/query_snapshot.h"
#include "engine/store/text_dictionary.h"
#include "turbine/types.h"
#include "turbine/wire.h"

namespace turbine {

/* A bit for each block of a segment, from its first one on. */
using BlockMask = uint64_t;
static_assert(TB_SEGMENT_BLOCKS == 64);

/* Values of one column for all rows of a segment, in one piece of memory: as generated
 * code reads them, or as codes (column_codes.h). */
class StoredColumn {
 public:
  static constexpr uint32_t kPlain = UINT32_MAX;
  /* Of values taken for integers: none is beyond. least > greatest: all are NULL. */
  struct Zone {
    bool known = false;
    int64_t least = 0, greatest = 0;
  };
  struct Shape {
    uint32_t type;
    bool nullable;  // by the program
    bool nulls;     // there are any: else no array tells of them
    uint32_t width = kPlain;  // bytes of a code
    int64_t base = 0;         // that codes count from
    Zone zone = {};
    /* Of text: values are INT4, entries of this. Null: they are what they are. */
    std::shared_ptr<TextDictionary> dictionary = nullptr;
  };

  /* `text_size`: bytes that views will count from; 0 for other types. Throws bad_alloc. */
  StoredColumn(const Shape& shape, uint32_t nrows, uint64_t text_size = 0);

  /* In somebody else's memory, of bytes_of() on an alignment of 64, which stays as long as the column. */
  StoredColumn(const Shape& shape, uint32_t nrows, std::shared_ptr<uint8_t> memory);
  /* Of a shape that has no texts of its own. */
  static uint64_t bytes_of(const Shape& shape, uint32_t nrows);

  const Shape& shape() const { return shape_; }
  uint32_t type() const { return shape_.type; }
  bool nullable() const { return shape_.nullable; }
  uint32_t width() const { return shape_.width; }
  int64_t base() const { return shape_.base; }
  const TextDictionary* dictionary() const { return shape_.dictionary.get(); }
  void* values() const { return memory_; }  // or codes
  uint8_t* valid() const { return valid_offset_ ? memory_ + valid_offset_ : nullptr; }
  uint8_t* text() const { return text_offset_ ? memory_ + text_offset_ : nullptr; }
  uint64_t bytes() const { return size_; }

  static constexpr uint32_t kMostGpus = TB_MAX_DEVICES - 1;

  /* Where this GPU, from 0 on, has a copy of it; only the GPU's own cache knows what this says. 0: none. */
  uint64_t device_place(uint32_t gpu) const {
    const DeviceCopy* const copy = copy_of(gpu);
    return copy ? copy->place.load(std::memory_order_relaxed) : 0;
  }
  void prefetch_device_place(uint32_t gpu) const {
    if (gpu == 0) __builtin_prefetch(&first_copy_.place);
  }

  /* Copies that a device has side by side. Each column whose copy is one of them has a reference. */
  struct DeviceUse {
    mutable std::atomic<bool> lost{false};    // the copies are not there any more
    mutable std::atomic<uint64_t> pinned{0};  // columns
  };
  /* Null: this GPU has no copy. Thread-safe, as all that follows. */
  std::shared_ptr<const DeviceUse> device_use(uint32_t gpu) const {
    const DeviceCopy* const copy = copy_of(gpu);
    return copy ? copy->use.load(std::memory_order_relaxed) : nullptr;
  }
  /* A GPU has a copy, of which others know nothing. Without memory to note it nothing changes. */
  void set_device_copy(uint32_t gpu, uint64_t place, std::shared_ptr<const DeviceUse> use) const;
  /* Its table is pinned: a device keeps the copy as long as it is, and can. */
  bool pinned() const { return pinned_.load(std::memory_order_relaxed); }
  void set_pinned(bool pinned) const;
  ~StoredColumn();

 private:
  struct Free {
    void operator()(uint8_t* memory) const;
  };
  void lay_out(uint32_t nrows, uint64_t text_size);

  struct DeviceCopy {
    std::atomic<uint64_t> place{0};
    std::atomic<std::shared_ptr<const DeviceUse>> use;
  };
  using OtherCopies = std::array<DeviceCopy, kMostGpus - 1>;
  DeviceCopy* copy_of(uint32_t gpu) const {
    if (gpu == 0) return &first_copy_;
    OtherCopies* const others = other_copies_.load(std::memory_order_acquire);
    return others ? &(*others)[gpu - 1] : nullptr;
  }

  mutable DeviceCopy first_copy_;                            // GPU 0's
  mutable std::atomic<OtherCopies*> other_copies_{nullptr};  // null: no other GPU has had one
  mutable std::atomic<bool> pinned_{false};
  Shape shape_;
  uint64_t valid_offset_ = 0, text_offset_ = 0, size_ = 0;
  std::unique_ptr<uint8_t[], Free> own_;     // the memory, or null:
  const std::shared_ptr<uint8_t> borrowed_;  // of somebody else
  uint8_t* memory_;
};

/* One version of a segment. */
struct Segment {
  struct Column {
    uint32_t number;   // in its table: ColumnStore
    BlockMask blocks;  // whose values it has; what it has for other blocks' rows is undefined
    std::shared_ptr<const StoredColumn> data;
    StoredColumn::Zone zone;  // of the data: here, since whoever looks for segments reads nothing else of it

    Column(uint32_t number, BlockMask blocks, std::shared_ptr<const StoredColumn> column)
        : number(number), blocks(blocks), data(std::move(column)), zone(data->shape().zone) {}
  };

  // What is read of every segment that a query looks at comes first.
  uint32_t first_block = 0;
  BlockMask blocks = 0;  // whose rows are here: a column may have fewer
  BlockMask good = 0;    // of these
  BlockMask fresh = 0;   // of these
  uint64_t map_lsn = 0;  // of the segment's page of the visibility map
  mutable std::atomic<uint32_t> last_used{0};               // a tick of the store's clock, filled or found
  mutable std::atomic<uint32_t> last_hit{0};                // a second of it, found; 0: never
  std::vector<Column> columns;                              // by ascending number
  std::array<uint32_t, TB_SEGMENT_BLOCKS + 1> row_start{};  // of each block; one that is not here has no rows
  std::array<uint64_t, TB_SEGMENT_BLOCKS> page_lsn{};       // of `blocks`
  std::shared_ptr<const std::array<XidRange, TB_SEGMENT_BLOCKS>> xids;  // of `fresh`; null: there are none

  Segment() = default;
  Segment(const Segment& other);
  Segment& operator=(const Segment&) = delete;

  uint32_t nrows() const { return row_start.back(); }
  uint32_t rows_of(uint32_t i) const { return row_start[i + 1] - row_start[i]; }
  /* Rows of all these blocks. */
  uint32_t rows_of_blocks(BlockMask some) const;

  /* Blocks that have all these columns. */
  BlockMask blocks_with(const std::vector<uint32_t>& numbers) const;

  /* Null if the version does not have it. */
  const Column* find(uint32_t number) const;
  uint64_t bytes() const;
};

/* The number of a block's segment in its file, and the segment's blocks. */
uint32_t segment_number(uint32_t block);
uint32_t segment_first_block(uint32_t number);
uint32_t segment_blocks(uint32_t number);

/* Some blocks of a segment: what a query takes of it. */
struct TakenSegment {
  std::shared_ptr<const Segment> segment;
  BlockMask blocks;
};

/* The first and the last of them in their file. */
inline uint32_t first_block(const TakenSegment& taken) {
  return taken.segment->first_block + static_cast<uint32_t>(std::countr_zero(taken.blocks));
}
inline uint32_t last_block(const TakenSegment& taken) {
  return taken.segment->first_block + 63 - static_cast<uint32_t>(std::countl_zero(taken.blocks));
}

/* What one job of a device reads: blocks of some segments, and which of their columns. */
struct SegmentMorsel {
  std::vector<TakenSegment> segments;
  std::shared_ptr<const std::vector<uint32_t>> columns;  // as StoredPart says
  uint32_t first_block = 0;  // ROWS: from which row ids count pages
  bool lasting = false;      // other queries will have the very same one
  bool stored = true;        // the store has the segments: other queries will find their columns
  /* Which range of its file it is of, as MorselShape says; kNoRange: any. */
  uint32_t range = kNoRange;
  static constexpr uint32_t kNoRange = UINT32_MAX;
};

/* Calls f(first row, end) for the rows of these blocks, in as few pieces as there are. */
template <class F>
void each_row_range(const Segment& segment, BlockMask blocks, F&& f) {
  uint32_t first = 0, end = 0;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
    if ((blocks >> i & 1) == 0 || segment.rows_of(i) == 0) continue;
    if (segment.row_start[i] != end) {
      if (end > first) f(first, end);
      first = segment.row_start[i];
    }
    end = segment.row_start[i + 1];
  }
  if (end > first) f(first, end);
}

}  // namespace turbine
