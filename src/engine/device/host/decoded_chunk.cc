/*
 * decoded_chunk.cc - memory of chunks that were decoded ahead of their task.
 *
 * Called by decode_queue.cc, which decides how many there are. The memory is used again as it
 * is: what lies in it from before is never read.
 */
#include "engine/device/host/decoded_chunk.h"

namespace turbine {
namespace {

MemoryBudget& decoded_budget() {
  static MemoryBudget unlimited(UINT64_MAX);
  return unlimited;
}

}  // namespace

DecodedBatch& DecodedChunk::add(uint64_t size) {
  if (used_ == batches_.size()) batches_.push_back({HostBuffer(decoded_budget(), size), 0, 0, 0, 0, 0, {}});
  DecodedBatch& batch = batches_[used_++];
  batch.memory.grow(size);
  return batch;
}

}  // namespace turbine
