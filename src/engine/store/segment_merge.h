/*
 * segment_merge.h - the next version of a segment: what it had, and blocks that were
 * decoded since.
 *
 * Knows nothing of who else adds versions: ColumnStore publishes them.
 */
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "engine/store/segment.h"
#include "turbine/kernel.h"

namespace turbine {

/* Decoded blocks of one segment, all-visible under map_lsn, or fresh. Borrows the arrays. */
struct DecodedBlocks {
  struct Column {
    uint32_t number;
    uint32_t type;
    bool nullable;
    TbColumnData data;  // texts' views count from data.bytes
    std::shared_ptr<TextDictionary> dictionary = nullptr;  // of text; null: none is to be used
    bool coded = false;  // values are INT4: the texts' numbers in the dictionary, under NULL too
    /* All rows of the segment, as they are to be kept: the arrays do not matter. Only where there is no version
     * before. */
    std::shared_ptr<const StoredColumn> made = nullptr;
  };

  uint32_t first_block = 0;  // of the segment
  BlockMask blocks = 0;
  uint64_t map_lsn = 0;  // not of fresh blocks
  bool fresh = false;    // all blocks are
  bool load = false;     // of a load: kept, whoever else is there
  std::array<uint64_t, TB_SEGMENT_BLOCKS> page_lsn{};
  std::array<uint32_t, TB_SEGMENT_BLOCKS> first_row{};  // in the arrays
  std::array<uint32_t, TB_SEGMENT_BLOCKS> row_count{};
  std::array<XidRange, TB_SEGMENT_BLOCKS> xids{};       // of fresh blocks
  std::vector<Column> columns;

  /* Of the arrays, as far as they are of the blocks. */
  uint32_t rows() const {
    uint32_t end = 0;
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
      if (blocks >> i & 1) end = std::max(end, first_row[i] + row_count[i]);
    return end;
  }
};

/* `before` may be null. It must not be of a newer LSN of the map, unless the blocks are fresh, nor have a newer page of
 * one of them. Values of a block that both have stay if its page is the same, and go if it is not. Null: there is
 * nothing new. Throws bad_alloc. */
std::shared_ptr<Segment> merge_segment(const Segment* before, const DecodedBlocks& decoded);

}  // namespace turbine
