/*
 * segment_fill.h - keeps what is decoded of one chunk's pages as segments.
 *
 * Made for runs that turbined has read and the backend has confirmed, or that the backend has copied. Only pages
 * are kept that say themselves that they are all-visible: on a primary a set bit of the
 * map and a clear one on the page mean that something went wrong before.
 *
 * Called on the thread that runs the pipeline over the rows, while they are in its caches.
 * What cannot be kept costs the query nothing but the attempt.
 */
#pragma once

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
  bool in_recovery = false;
  bool load = false;  // what is read is kept, whoever else is there
};

/* What a page and its decoding have told. */
struct DecodedPage {
  uint64_t lsn;
  uint32_t row_end;  // rows of the batch up to the page's end
  bool all_visible;  // the page says so
  bool whole;        // all its rows were decoded
};

class SegmentFill {
 public:
  SegmentFill(ColumnStore& store, std::shared_ptr<const Program> program, StoredPart part, std::vector<TbRun> runs,
              uint64_t map_lsn);

  /* Rows of the chunk's pages from `first` on: no NULL array where the program says that
   * there is none; views count from `bytes`. ROWS: `rowids` counts pages from `first`. */
  void add(uint32_t first, std::span<const DecodedPage> pages, const TbColumnData* columns, const uint8_t* bytes,
           const uint32_t* rowids);

 private:
  bool may_keep(const DecodedPage& page) const;
  void add_run(const TbRun& run, std::span<const DecodedPage> pages, uint32_t rows_before, DecodedBlocks& blocks);
  void flush(DecodedBlocks& blocks);

  ColumnStore& store_;
  const std::shared_ptr<const Program> program_;
  const StoredPart part_;
  const std::vector<TbRun> runs_;
  const uint64_t map_lsn_;
};

}  // namespace turbine
