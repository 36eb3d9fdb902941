/*
 * segment_fill.h - keeps what is decoded of one chunk's pages as segments.
 *
 * Made for runs that turbined has read and the backend has confirmed, or that the backend has copied. Only pages
 * are kept that say themselves that they are all-visible: on a primary a set bit of the
 * map and a clear one on the page mean that something went wrong before. Of copies those are kept as well of which
 * the backend says in the copy's header that they may be as fresh ones, and on which transactions they depend.
 *
 * Called on the thread that runs the pipeline over the rows, while they are in its caches.
 * What cannot be kept costs the query nothing but the attempt.
 */
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/store/column_store.h"
#include "turbine/kernel.h"

namespace turbine {

/* Where a part's columns are kept, and how its pages are judged. */
struct StoredPart {
  std::shared_ptr<StoredTable> table;
  /* By the program's source column; ROWS: then that of line pointers (column_key.h). */
  std::shared_ptr<const std::vector<uint32_t>> columns;
  uint32_t nblocks = 0;
  uint32_t range_blocks = 0;  // as MorselShape has it
  bool in_recovery = false;
  bool load = false;  // what is read is kept, whoever else is there
  uint32_t tid_column = TB_NONE;  // tuple ids are kept besides, as this column; TB_NONE: as the program says
  std::shared_ptr<const QuerySnapshot> snapshot = nullptr;  // null: no fresh blocks are kept
  /* With a snapshot: a bit a block that the map calls all-visible and that is wanted. */
  std::shared_ptr<const std::vector<uint8_t>> all_visible = nullptr;

  bool is_all_visible(uint32_t block) const { return !all_visible || ((*all_visible)[block / 8] >> block % 8 & 1); }
};

/* What a page and its decoding have told. */
struct DecodedPage {
  uint64_t lsn;
  uint32_t row_end;  // rows of the batch up to the page's end
  bool all_visible;  // the page says so
  bool whole;        // all its rows were decoded
  bool fresh = false;            // a copy: its rows may be kept as fresh ones
  uint32_t least = 0, greatest = 0;  // of the transactions that these depend on, the lower halves; 0: on none
};

class SegmentFill {
 public:
  /* `runs` were read from the file under `map_lsn`; the backend has copied `copied`, some of them fresh. Both by
   * page. */
  SegmentFill(ColumnStore& store, std::shared_ptr<const Program> program, StoredPart part, std::vector<TbRun> runs,
              std::vector<TbRun> copied, uint64_t map_lsn);

  /* Whether it wants to know the line pointer of each row. */
  bool wants_lines() const { return part_.tid_column != TB_NONE; }

  /* Rows of the chunk's pages from `first` on: no NULL array where the program says that
   * there is none; views count from `bytes`. ROWS: `rowids` counts pages from `first`. `lines`: of each row, where they
   * are wanted. */
  void add(uint32_t first, std::span<const DecodedPage> pages, const TbColumnData* columns, const uint8_t* bytes,
           const uint32_t* rowids, std::span<const uint16_t> lines = {});

  /* What the store has taken so far, as another device may read it; null: nothing. Throws bad_alloc. */
  std::shared_ptr<const SegmentMorsel> kept() const;
  /* Pages of the chunk whose rows these are, and no others. */
  const std::vector<uint32_t>& kept_pages() const { return kept_pages_; }

 private:
  /* What of one segment is collected: all-visible blocks, and fresh ones. */
  struct Collected {
    DecodedBlocks good, fresh;
    std::array<uint32_t, TB_SEGMENT_BLOCKS> page{};  // of the chunk
  };
  bool may_keep(const DecodedPage& page, bool is_copy) const;
  bool may_keep_fresh(const DecodedPage& page) const;
  void add_run(const TbRun& run, bool is_copy, std::span<const DecodedPage> pages, uint32_t rows_before,
               Collected& collected);
  void flush(Collected& collected);
  std::vector<int64_t> tids_of(uint32_t first, std::span<const DecodedPage> pages,
                               std::span<const uint16_t> lines) const;

  ColumnStore& store_;
  const std::shared_ptr<const Program> program_;
  const StoredPart part_;
  struct Run {
    TbRun run;
    bool is_copy;
  };
  std::vector<Run> runs_;  // by page
  std::vector<TakenSegment> kept_;
  std::vector<uint32_t> kept_pages_;
  const uint64_t map_lsn_;
};

}  // namespace turbine
