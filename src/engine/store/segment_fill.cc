/*
 * segment_fill.cc - hands decoded pages to their segments.
 *
 * Owns nothing but its references. Must never keep rows of a block that is not confirmed.
 */
#include "engine/store/segment_fill.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/store/column_key.h"

namespace turbine {

SegmentFill::SegmentFill(ColumnStore& store, std::shared_ptr<const Program> program, StoredPart part,
                         std::vector<TbRun> runs, uint64_t map_lsn)
    : store_(store), program_(std::move(program)), part_(std::move(part)), runs_(std::move(runs)), map_lsn_(map_lsn) {}

namespace {

/* Of each row, how far its line pointer is ahead of its place among the page's rows: 1
 * where there are no gaps. */
std::vector<int16_t> lines_of(std::span<const DecodedPage> pages, const uint32_t* rowids) {
  std::vector<int16_t> lines(pages.empty() ? 0 : pages.back().row_end);
  uint32_t row = 0;
  for (const DecodedPage& page : pages) {
    const uint32_t begin = row;
    for (; row < page.row_end; row++) lines[row] = static_cast<int16_t>(TB_ROWID_OFFNUM(rowids[row]) - (row - begin));
  }
  return lines;
}

}  // namespace

/* A page of LSN 0 was never logged: nothing could be said of it later. */
bool SegmentFill::may_keep(const DecodedPage& page) const {
  return page.whole && page.lsn != 0 && (page.all_visible || part_.in_recovery);
}

void SegmentFill::add(uint32_t first, std::span<const DecodedPage> pages, const TbColumnData* columns,
                      const uint8_t* bytes, const uint32_t* rowids) {
  try {
    DecodedBlocks blocks;
    blocks.map_lsn = map_lsn_;
    blocks.load = part_.load;
    std::vector<int16_t> lines;
    for (size_t i = 0; i < program_->source_columns(); i++) {
      const TbColumn& column = program_->columns()[i];
      TbColumnData data = columns[i];
      if (!data.bytes) data.bytes = bytes;
      const uint32_t number = (*part_.columns)[i];
      blocks.columns.push_back({number, column.type, (column.flags & TB_COL_NULLABLE) != 0, data,
                                tb_type_is_text(column.type) ? part_.table->dictionary(number) : nullptr});
    }
    if (part_.columns->size() > program_->source_columns()) {
      lines = lines_of(pages, rowids);
      blocks.columns.push_back({part_.columns->back(), kLineType, false, {lines.data(), nullptr, nullptr}});
    }
    const auto end = first + static_cast<uint32_t>(pages.size());
    for (const TbRun& run : runs_) {
      const uint32_t from = std::max(run.page, first);
      const uint32_t to = std::min(run.page + run.count, end);
      if (from >= to) continue;
      const uint32_t rows_before = from > first ? pages[from - first - 1].row_end : 0;
      add_run({from, run.block + (from - run.page), to - from}, pages.subspan(from - first, to - from), rows_before,
              blocks);
    }
    flush(blocks);
  } catch (const std::bad_alloc&) {
    // The query has its rows all the same.
  }
}

/* Blocks of one segment are collected as long as they come. */
void SegmentFill::add_run(const TbRun& run, std::span<const DecodedPage> pages, uint32_t rows_before,
                          DecodedBlocks& blocks) {
  for (uint32_t i = 0; i < run.count; i++) {
    const DecodedPage& page = pages[i];
    const uint32_t first_row = std::exchange(rows_before, page.row_end);
    const uint32_t block = run.block + i;
    if (!may_keep(page) || block >= part_.nblocks) continue;
    const uint32_t first_block = segment_first_block(segment_number(block));
    if (first_block != blocks.first_block) flush(blocks);
    blocks.first_block = first_block;
    const uint32_t place = block - first_block;
    blocks.blocks |= BlockMask{1} << place;
    blocks.page_lsn[place] = page.lsn;
    blocks.first_row[place] = first_row;
    blocks.row_count[place] = page.row_end - first_row;
  }
}

void SegmentFill::flush(DecodedBlocks& blocks) {
  if (blocks.blocks != 0) store_.add(*part_.table, blocks);
  blocks.blocks = 0;
}

}  // namespace turbine
