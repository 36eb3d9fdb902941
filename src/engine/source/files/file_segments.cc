/*
 * file_segments.cc - see file_segments.h.
 *
 * Owns two numbers a batch. Called when a file becomes a part of a query, and by whoever decodes
 * a batch of it.
 */
#include "engine/source/files/file_segments.h"

#include <algorithm>

namespace turbine {
namespace {

uint32_t rows_of_segment(uint32_t number) { return segment_blocks(number) * kFileBlockRows; }

}  // namespace

FileSegments::FileSegments(const TableFile& file) {
  /* Numbers of blocks stay far from overflow. */
  constexpr uint32_t kMostSegments = UINT32_MAX / TB_SEGMENT_BLOCKS / 2;
  uint32_t segment = 0;
  for (uint32_t i = 0; i < file.batches(); i++) {
    const uint64_t rows = file.rows(i);
    if (rows > UINT32_MAX) throw FileError("batch " + std::to_string(i) + " has too many rows");
    batches_.push_back({segment, static_cast<uint32_t>(rows)});
    for (uint64_t row = 0; row < rows; row += rows_of_segment(segment++))
      if (segment >= kMostSegments) throw FileError("the file has too many rows");
  }
  blocks_ = segment_first_block(segment);
}

std::vector<FileSegments::Segment> FileSegments::of_batch(uint32_t batch) const {
  const Batch& of = batches_[batch];
  std::vector<Segment> segments;
  uint32_t number = of.first_segment;
  for (uint64_t row = 0; row < of.nrows; number++) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(rows_of_segment(number), of.nrows - row));
    segments.push_back({number, static_cast<uint32_t>(row), count});
    row += count;
  }
  return segments;
}

}  // namespace turbine
