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
                         std::vector<TbRun> runs, std::vector<TbRun> copied, uint64_t map_lsn)
    : store_(store), program_(std::move(program)), part_(std::move(part)), map_lsn_(map_lsn) {
  for (const TbRun& run : runs) runs_.push_back({run, false});
  for (const TbRun& run : copied) runs_.push_back({run, true});
  // So that blocks of one segment come together.
  std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.run.page < b.run.page; });
}

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

/* On a standby the page's flag may come without its WAL record, so that it means nothing: what was read from the file
 * goes by the map alone, and a copy may lack rows. */
bool SegmentFill::may_keep(const DecodedPage& page, bool is_copy) const {
  if (map_lsn_ == TB_NO_MAP_LSN || !page.whole) return false;
  return part_.in_recovery ? !is_copy : page.all_visible;
}

/* A page of LSN 0 was never logged: nothing could be said of it later. */
bool SegmentFill::may_keep_fresh(const DecodedPage& page) const {
  return part_.snapshot && page.whole && page.fresh && page.lsn != 0;
}

void SegmentFill::add(uint32_t first, std::span<const DecodedPage> pages, const TbColumnData* columns,
                      const uint8_t* bytes, const uint32_t* rowids, std::span<const uint16_t> row_lines) {
  try {
    Collected collected;
    DecodedBlocks& blocks = collected.good;
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
    std::vector<int64_t> tids;
    if (wants_lines() && !pages.empty() && row_lines.size() == pages.back().row_end) {
      tids = tids_of(first, pages, row_lines);
      blocks.columns.push_back({part_.tid_column, TB_TYPE_INT8, false, {tids.data(), nullptr, nullptr}});
    }
    collected.fresh.fresh = true;
    collected.fresh.load = part_.load;
    collected.fresh.columns = blocks.columns;
    const auto end = first + static_cast<uint32_t>(pages.size());
    for (const auto& [run, is_copy] : runs_) {
      const uint32_t from = std::max(run.page, first);
      const uint32_t to = std::min(run.page + run.count, end);
      if (from >= to) continue;
      const uint32_t rows_before = from > first ? pages[from - first - 1].row_end : 0;
      add_run({from, run.block + (from - run.page), to - from}, is_copy, pages.subspan(from - first, to - from),
              rows_before, collected);
    }
    flush(collected);
  } catch (const std::bad_alloc&) {
    // The query has its rows all the same.
  }
}

/* Of the rows of pages that are in runs; no other page is kept. */
std::vector<int64_t> SegmentFill::tids_of(uint32_t first, std::span<const DecodedPage> pages,
                                          std::span<const uint16_t> lines) const {
  std::vector<int64_t> tids(lines.size());
  const auto end = first + static_cast<uint32_t>(pages.size());
  for (const auto& [run, is_copy] : runs_)
    for (uint32_t page = std::max(run.page, first); page < std::min(run.page + run.count, end); page++) {
      const uint32_t block = run.block + (page - run.page);
      for (uint32_t row = page > first ? pages[page - first - 1].row_end : 0; row < pages[page - first].row_end; row++)
        tids[row] = TB_PACKED_TID(block, lines[row]);
    }
  return tids;
}

/* Blocks of one segment are collected as long as they come. */
void SegmentFill::add_run(const TbRun& run, bool is_copy, std::span<const DecodedPage> pages, uint32_t rows_before,
                          Collected& collected) {
  for (uint32_t i = 0; i < run.count; i++) {
    const DecodedPage& page = pages[i];
    const uint32_t first_row = std::exchange(rows_before, page.row_end);
    const uint32_t block = run.block + i;
    if (block >= part_.nblocks) continue;
    // A page may say that it is all-visible without the map, or the other way round.
    const bool good = may_keep(page, is_copy) && (!is_copy || part_.is_all_visible(block));
    const bool fresh = !good && is_copy && may_keep_fresh(page);
    if (!good && !fresh) continue;
    const uint32_t first_block = segment_first_block(segment_number(block));
    if (first_block != collected.good.first_block) flush(collected);
    collected.good.first_block = collected.fresh.first_block = first_block;
    DecodedBlocks& blocks = fresh ? collected.fresh : collected.good;
    const uint32_t place = block - first_block;
    blocks.blocks |= BlockMask{1} << place;
    blocks.page_lsn[place] = page.lsn;
    blocks.first_row[place] = first_row;
    blocks.row_count[place] = page.row_end - first_row;
    collected.page[place] = run.page + i;
    if (fresh && page.greatest != 0)
      blocks.xids[place] = {part_.snapshot->whole_xid(page.least), part_.snapshot->whole_xid(page.greatest)};
    else
      blocks.xids[place] = {};
  }
}

void SegmentFill::flush(Collected& collected) {
  for (DecodedBlocks* blocks : {&collected.good, &collected.fresh}) {
    if (blocks->blocks != 0) {
      const TakenSegment added = store_.add(*part_.table, *blocks);
      if (added.segment) kept_.push_back(added);
      for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
        if (added.segment && (added.blocks >> i & 1)) kept_pages_.push_back(collected.page[i]);
    }
    blocks->blocks = 0;
  }
}

std::shared_ptr<const SegmentMorsel> SegmentFill::kept() const {
  if (kept_.empty()) return nullptr;
  auto morsel = std::make_shared<SegmentMorsel>();
  morsel->segments = kept_;
  morsel->columns = part_.columns;
  if (part_.range_blocks > 0) morsel->range = kept_.front().segment->first_block / part_.range_blocks;
  return morsel;
}

}  // namespace turbine
