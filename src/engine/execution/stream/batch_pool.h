/*
 * batch_pool.h - memory of a stream's batches that waits to be used again: the host's (batch_memory.h) or a GPU's
 * (device_batch.h).
 *
 * Memory serves the stream's next batches once nobody has it open any more. It never serves anybody else: whoever had a
 * batch of this stream may have any other of it.
 *
 * Thread-safe.
 */
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "engine/wire/device_error.h"

namespace turbine {

/* Memory has bytes_used(), charged(), charge(bytes) and use_again(), as BatchMemory. */
template <class Memory>
class BatchPool : public std::enable_shared_from_this<BatchPool<Memory>> {
 public:
  using Make = std::function<std::unique_ptr<Memory>()>;
  BatchPool(size_t most_idle, Make make) : most_idle_(most_idle), make_(std::move(make)) {}

  /* Comes back here when its last owner lets go, whatever thread that is on. Throws DeviceError. */
  std::shared_ptr<Memory> take() {
    std::unique_ptr<Memory> memory;
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        memory = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (memory)
      memory->use_again();
    else
      memory = make_();
    return {memory.release(), [pool = this->weak_from_this()](Memory* back) {
              std::unique_ptr<Memory> own(back);
              if (const auto still_there = pool.lock()) still_there->give_back(std::move(own));
            }};
  }

  /* The stream has ended: what waits is freed, and so is what comes back. */
  void close() {
    std::vector<std::unique_ptr<Memory>> gone;
    std::lock_guard lock(mutex_);
    closed_ = true;
    gone.swap(idle_);
  }

 private:
  /* What is kept counts as the stream's again; without room for it, it goes. */
  void give_back(std::unique_ptr<Memory> memory) noexcept {
    try {
      const uint64_t bytes = memory->bytes_used();
      {
        std::lock_guard lock(mutex_);
        if (closed_ || idle_.size() >= most_idle_) return;
      }
      if (bytes > memory->charged()) memory->charge(bytes - memory->charged());
      std::lock_guard lock(mutex_);
      if (!closed_) idle_.push_back(std::move(memory));
    } catch (const DeviceError&) {
    } catch (const std::bad_alloc&) {
    }
  }

  const size_t most_idle_;
  const Make make_;
  std::mutex mutex_;  // protects what follows
  std::vector<std::unique_ptr<Memory>> idle_;
  bool closed_ = false;
};

}  // namespace turbine
