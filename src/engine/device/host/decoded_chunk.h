/*
 * decoded_chunk.h - the columns of a chunk that was decoded ahead of its task,
 * batch by batch, and the device's store of memory for such chunks.
 *
 * Not charged to queries: there are only as many as the store allows, and a
 * batch's size follows from its program, not from data.
 */
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/device/device.h"

namespace turbine {

/* The arrays of one batch of pages lie in `memory` as the query lays them out. */
struct DecodedBatch {
  HostBuffer memory;
  uint32_t first_page, npages;
  uint32_t nrows, ndeferred;
  uint32_t errors;
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

/* Thread-safe; outlives the chunks that it lends. */
class DecodedChunkStore {
 public:
  explicit DecodedChunkStore(size_t most) : left_(most) { idle_.reserve(most); }
  /* An empty chunk, which comes back when nobody refers to it; null when all are
   * lent. The last that came back goes first: caches may still hold it. */
  std::shared_ptr<DecodedChunk> take();

 private:
  std::mutex mutex_;
  size_t left_;  // that may still be made
  std::vector<std::unique_ptr<DecodedChunk>> idle_;  // has room for all
};

}  // namespace turbine
