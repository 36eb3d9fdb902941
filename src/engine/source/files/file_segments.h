/*
 * file_segments.h - a file's rows as blocks and segments of the column store.
 *
 * The store counts in blocks of pages. A block of a file is kFileBlockRows rows of one batch; each
 * batch begins with a segment of its own, so that a batch's segments are decoded without its
 * neighbours, and the last of a batch has empty blocks at its end.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/source/files/table_file.h"
#include "engine/store/segment.h"

namespace turbine {

inline constexpr uint32_t kFileBlockRows = 256;
static_assert(kFileBlockRows <= TB_MAX_TUPLES_PER_PAGE);

class FileSegments {
 public:
  struct Segment {
    uint32_t number;    // of the store's
    uint32_t first_row; // of the batch, as far as a batch has fewer than 2^32 rows
    uint32_t nrows;
  };

  /* Throws FileError for more rows than the store can number. */
  explicit FileSegments(const TableFile& file);

  /* Of the whole file. */
  uint32_t blocks() const { return blocks_; }
  /* Of a batch, in the order of its rows. */
  std::vector<Segment> of_batch(uint32_t batch) const;

 private:
  struct Batch {
    uint32_t first_segment;
    uint32_t nrows;
  };
  std::vector<Batch> batches_;
  uint32_t blocks_ = 0;
};

}  // namespace turbine
