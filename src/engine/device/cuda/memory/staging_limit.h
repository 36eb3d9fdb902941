/*
 * staging_limit.h - how much pinned memory one query's columns take that wait for the device.
 *
 * The device fetches them faster than they are decoded, so whoever finds the limit reached waits. Not for long: its
 * thread is other queries', too. Any thread.
 */
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace turbine::cuda {

class StagingLimit {
 public:
  explicit StagingLimit(uint64_t most) : most_(most) {}

  /* False: there was no room for so many bytes in all this time, or nobody wants them any more. */
  bool take(uint64_t bytes, std::chrono::milliseconds patience) {
    if (bytes > most_) return false;
    std::unique_lock lock(mutex_);
    if (!room_.wait_for(lock, patience, [&] { return ended_ || taken_ + bytes <= most_; }) || ended_) return false;
    taken_ += bytes;
    return true;
  }
  void give_back(uint64_t bytes) {
    std::lock_guard lock(mutex_);
    taken_ -= bytes;
    room_.notify_all();
  }
  /* Nobody waits from now on. */
  void end() {
    std::lock_guard lock(mutex_);
    ended_ = true;
    room_.notify_all();
  }

 private:
  const uint64_t most_;
  std::mutex mutex_;
  std::condition_variable room_;
  uint64_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace turbine::cuda
