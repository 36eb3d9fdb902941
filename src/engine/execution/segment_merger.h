/*
 * segment_merger.h - merges what queries have left as deltas of segments, when the machine has time for it.
 *
 * One thread of the lowest priority, so that queries that come meanwhile hardly notice. They need not wait for it:
 * a segment is right with its delta as it is without.
 */
#pragma once

#include <atomic>

#include "engine/store/column_store.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class SegmentMerger {
 public:
  explicit SegmentMerger(ColumnStore& store) : store_(store), thread_("merger", 1) {}
  ~SegmentMerger() { stopping_ = true; }

  /* After a query: merges whatever is waiting. Any thread. */
  void wake();

 private:
  void run();

  ColumnStore& store_;
  std::atomic<bool> stopping_{false}, awake_{false};
  WorkerPool thread_;  // goes first
};

}  // namespace turbine
