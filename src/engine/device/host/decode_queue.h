/*
 * decode_queue.h - chunks that wait to be decoded ahead of their task, and the memory
 * that they are decoded to.
 *
 * A chunk that has been decoded lies in the processor's caches until its task has run,
 * which is after the backend's confirmation. The more of them there are at once, the
 * less the caches help. So only a usual number is lent, and what comes beyond it
 * waits, in order, for one to come back: however many queries there are, the threads
 * finish what they have begun before they begin more.
 *
 * A backend need not confirm soon: a cursor keeps its chunks while nobody fetches from
 * it. So when a thread would have nothing to do while chunks wait, one more is lent, up
 * to a limit beyond which chunks are refused: nothing waits while a thread sleeps. And
 * where other work keeps the threads from that, what has waited too long is started.
 *
 * Locks: mutex_ is taken with a query's lock held, and never held while the pool is
 * called. Thread-safe.
 */
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/device/host/decoded_chunk.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class DecodeQueue {
 public:
  /* The chunk is empty, and null for a job that was dropped or refused. */
  using Job = std::function<void(unsigned worker, std::shared_ptr<DecodedChunk> chunk)>;

  /* `pool` is used once start_waiting() or post() is called. Outlives what it lends. */
  DecodeQueue(WorkerPool& pool, size_t usual, size_t most) : pool_(pool), usual_(usual), most_(most) {
    idle_.reserve(usual);
  }

  /* Runs the job on a thread of the pool when there is a chunk for it, or without one
   * if too many are lent then. False: not at all, since too many are lent now. */
  bool post(const void* owner, Job job);

  /* Runs the owner's waiting jobs without a chunk, here and now. */
  void drop(const void* owner);

  /* For the pool: a thread has nothing to do. Whether something was started. */
  bool start_waiting();

  /* To be called every now and then: starts what has waited for kOverdue. */
  void start_overdue();
  static constexpr std::chrono::milliseconds kOverdue{50};

  size_t lent() const;
  size_t waiting(const void* owner) const;

 private:
  struct Waiting {
    const void* owner;
    Job job;
    std::chrono::steady_clock::time_point since;
  };
  std::shared_ptr<DecodedChunk> lend(std::unique_ptr<DecodedChunk> chunk);
  std::unique_ptr<DecodedChunk> take_locked();
  void run(Job job, std::unique_ptr<DecodedChunk> chunk);
  void take_back(DecodedChunk* chunk);

  WorkerPool& pool_;
  const size_t usual_, most_;
  mutable std::mutex mutex_;  // all below
  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<DecodedChunk>> idle_;  // the last that came back goes first
  size_t lent_ = 0;
};

}  // namespace turbine
