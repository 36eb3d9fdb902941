/*
 * stream_pool.cc - see stream_pool.h.
 *
 * Owned by cuda_context.cc, used through stream.h.
 */
#include "engine/device/cuda/driver/stream_pool.h"

#include <new>

namespace turbine::cuda {

StreamPool::~StreamPool() {
  driver_.note(driver_.ctx_set_current(context_));
  for (const Stream stream : free_) driver_.note(driver_.stream_destroy(stream));
}

Stream StreamPool::take(const Driver& driver) {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const Stream stream = free_.back();
      free_.pop_back();
      return stream;
    }
  }
  Stream stream = nullptr;
  driver.check(driver.stream_create(&stream, kStreamNonBlocking));
  return stream;
}

void StreamPool::give_back(Stream stream) noexcept {
  try {
    std::lock_guard lock(mutex_);
    free_.push_back(stream);
  } catch (const std::bad_alloc&) {
    driver_.note(driver_.stream_destroy(stream));
  }
}

}  // namespace turbine::cuda
