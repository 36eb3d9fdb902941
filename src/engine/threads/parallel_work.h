/*
 * parallel_work.h - steps of one query's work on results, on the host's worker
 * threads, which end early when the query is closed.
 *
 * The session's thread starts a step and waits for it; while it waits it looks
 * whether its peer is gone. Jobs that take long ask check() now and then.
 */
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "engine/threads/worker_pool.h"

namespace turbine {

class ParallelWork {
 public:
  /* `cancelled` (may be empty) is asked by the thread that makes this. */
  ParallelWork(WorkerPool& pool, std::function<bool()> cancelled);

  unsigned threads() const { return pool_.size(); }

  /* Runs job(0) ... job(count - 1), a single one here, and waits for all.
   * Rethrows the first exception. Throws DeviceError if the query was closed. */
  void each(uint64_t count, const std::function<void(uint64_t)>& job);

  /* Throws DeviceError if the query was closed. Cheap on worker threads. */
  void check();

 private:
  void ask();

  WorkerPool& pool_;
  const std::function<bool()> cancelled_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  std::atomic<bool> closed_{false};
};

}  // namespace turbine
