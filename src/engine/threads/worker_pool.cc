/*
 * worker_pool.cc - a fixed set of threads that run jobs in the order posted.
 *
 * Owns the threads and the jobs that wait; the destructor runs what was posted and joins.
 * Called from any thread. A job must not wait for another of the same pool.
 */
#include "engine/threads/worker_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <string>

namespace turbine {

WorkerPool::WorkerPool(const char* name, unsigned nthreads, std::function<bool()> on_idle)
    : on_idle_(std::move(on_idle)) {
  // Signals are the main thread's business, but those that a thread's own instruction raises: where one of them is
  // blocked, the kernel ends the process without asking its handler (that of SIGBUS is in mapped_files.cc).
  sigset_t all, before;
  sigfillset(&all);
  for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (unsigned i = 0; i < std::max(nthreads, 1u); i++) {
    threads_.emplace_back([this, i] { work(i); });
    pthread_setname_np(threads_.back().native_handle(),
                       (std::string(name) + " " + std::to_string(i)).substr(0, 15).c_str());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::post(Job job) {
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void WorkerPool::post_first(Job job) {
  {
    std::lock_guard lock(mutex_);
    jobs_.push_front(std::move(job));
  }
  wake_.notify_one();
}

void WorkerPool::work(unsigned worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (jobs_.empty()) {
      idle_++;
      // Another thread may be quicker to take what was posted.
      for (bool posted = true; on_idle_ && posted && jobs_.empty() && !stopping_;) {
        lock.unlock();
        posted = on_idle_();
        lock.lock();
      }
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      idle_--;
    }
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(worker);
    job = nullptr;  // what it captured must not outlive it into the next wait
    lock.lock();
  }
}

void WorkerPool::run_all(uint64_t count, const std::function<void(uint64_t)>& job) {
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr error;
  uint64_t left = count;
  for (uint64_t i = 0; i < count; i++) {
    post([&, i](unsigned) {
      std::exception_ptr caught;
      try {
        job(i);
      } catch (...) {
        caught = std::current_exception();
      }
      std::lock_guard lock(mutex);
      if (caught && !error) error = caught;
      if (--left == 0) finished.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return left == 0; });
  if (error) std::rethrow_exception(error);
}

}  // namespace turbine
