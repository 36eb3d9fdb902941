/*
 * decoded_chunk.h - the columns of a chunk that was decoded ahead of its task,
 * batch by batch.
 *
 * Not charged to queries: there are only as many as the decode queue lends, and a
 * batch's size follows from its program, not from data.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/device/device.h"

namespace turbine {

/* The arrays of one batch of pages lie in `memory` as the query lays them out. */
struct DecodedBatch {
  HostBuffer memory;
  uint32_t first_page, npages;
  uint32_t nrows, ndeferred;
  uint32_t errors;
  std::vector<DecodedPage> pages;
  std::vector<uint16_t> lines;  // line pointer of each row, if somebody keeps them
};

class DecodedChunk final : public DecodedPages {
 public:
  /* The next batch, with at least `size` bytes of memory, contents undefined. */
  DecodedBatch& add(uint64_t size);
  std::span<const DecodedBatch> batches() const { return {batches_.data(), used_}; }
  void clear() { used_ = 0; }

 private:
  std::vector<DecodedBatch> batches_;
  size_t used_ = 0;
};

}  // namespace turbine
