/*
 * streamed_batches.h - batches that streams have made and that nobody has taken yet, by their random names.
 *
 * A query posts a batch's name to its backend, which takes the batch on its connection for exports. What is not taken
 * goes with its query. Thread-safe.
 */
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/execution/stream/device_batch.h"
#include "engine/execution/stream/stream_columns.h"

namespace turbine {

struct StreamedBatch {
  uint64_t rows = 0;
  std::vector<TbExportColumn> shapes;  // but for names and types
  // One of both:
  std::shared_ptr<BatchMemory> memory;
  std::shared_ptr<DeviceBatch> on_device;
};

class StreamedBatches {
 public:
  void add(const StreamId& id, StreamedBatch batch) {
    std::lock_guard lock(mutex_);
    batches_.emplace(id, std::move(batch));
  }
  /* Without memory: there is none of that name. */
  StreamedBatch take(const StreamId& id) {
    std::lock_guard lock(mutex_);
    const auto found = batches_.find(id);
    if (found == batches_.end()) return {};
    StreamedBatch batch = std::move(found->second);
    batches_.erase(found);
    return batch;
  }

 private:
  std::mutex mutex_;  // protects what follows
  std::map<StreamId, StreamedBatch> batches_;
};

}  // namespace turbine
