/*
 * worker_pool.h - a fixed set of threads that run jobs, in the order in which they were posted,
 * except those of post_first().
 *
 * The host device has one pool for all queries. Others serve single purposes, such as reading files
 * or compiling. Jobs must not throw, and must not wait for other jobs of their pool. The destructor
 * runs what was posted.
 */
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace turbine {

class WorkerPool {
 public:
  /* A job gets the number of the thread that runs it, < size(). */
  using Job = std::function<void(unsigned worker)>;

  /* `on_idle` is called by a thread that has found nothing to do, before it waits;
   * it may post, and says whether it has. */
  WorkerPool(const char* name, unsigned nthreads, std::function<bool()> on_idle = {});
  ~WorkerPool();  // runs what was posted, then stops
  WorkerPool(const WorkerPool&) = delete;

  /* Threads that wait, or are about to and have not called on_idle yet. */
  unsigned idle() const { return idle_; }

  unsigned size() const { return static_cast<unsigned>(threads_.size()); }
  void post(Job job);
  void post_first(Job job);  // before all that waits

  /* Runs job(0) ... job(count - 1) on the pool's threads and waits for all.
   * Not from a thread of the pool. Rethrows the first exception. */
  void run_all(uint64_t count, const std::function<void(uint64_t index)>& job);

 private:
  void work(unsigned worker);

  const std::function<bool()> on_idle_;
  std::atomic<unsigned> idle_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace turbine
