/*
 * parallel_work.cc - steps of work that all threads share, which end early when the
 * query is closed.
 *
 * Called by the session's thread, which waits. It must never return while a job still
 * runs.
 */
#include "engine/threads/parallel_work.h"

#include <condition_variable>
#include <mutex>

#include "engine/wire/device_error.h"

namespace turbine {
namespace {

constexpr std::chrono::milliseconds kAskEvery{50};

/* What a step's jobs share with the thread that waits for them. */
struct Step {
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  uint64_t left;
};

}  // namespace

ParallelWork::ParallelWork(WorkerPool& pool, std::function<bool()> cancelled)
    : pool_(pool), cancelled_(std::move(cancelled)) {}

void ParallelWork::ask() {
  asked_ = std::chrono::steady_clock::now();
  if (cancelled_ && cancelled_()) closed_ = true;
}

void ParallelWork::check() {
  if (std::this_thread::get_id() == caller_ && std::chrono::steady_clock::now() - asked_ >= kAskEvery) ask();
  if (closed_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
}

void ParallelWork::each(uint64_t count, const std::function<void(uint64_t)>& job) {
  check();
  if (count <= 1) {
    if (count == 1) job(0);
    return;
  }
  Step step;
  step.left = count;
  auto run = [&](uint64_t i) {
    std::exception_ptr error;
    try {
      if (!step.failed && !closed_) job(i);
    } catch (...) {
      error = std::current_exception();
      step.failed = true;
    }
    std::lock_guard lock(step.mutex);
    if (error && !step.error) step.error = error;
    if (--step.left == 0) step.finished.notify_one();
  };
  for (uint64_t i = 0; i < count; i++) {
    try {
      pool_.post([&run, i](unsigned) { run(i); });
    } catch (...) {
      // Those that were posted must still be waited for.
      std::lock_guard lock(step.mutex);
      step.failed = true;
      if (!step.error) step.error = std::current_exception();
      step.left -= count - i;
      break;
    }
  }
  std::unique_lock lock(step.mutex);
  while (!step.finished.wait_for(lock, kAskEvery, [&] { return step.left == 0; })) {
    lock.unlock();
    ask();
    lock.lock();
  }
  lock.unlock();
  if (step.error) std::rethrow_exception(step.error);
  check();
}

}  // namespace turbine
