/*
 * stream_pool.h - streams of one context that wait for their next query: making three and destroying them
 * would take a short query longer than its kernels.
 *
 * Thread-safe.
 */
#pragma once

#include <mutex>
#include <vector>

#include "engine/device/cuda/driver/driver.h"

namespace turbine::cuda {

class StreamPool {
 public:
  StreamPool(const Driver& driver, Context context) : driver_(driver), context_(context) {}
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;

  /* `driver` makes the calls (and carries the query's faults). The context must be current. Throws DeviceError. */
  Stream take(const Driver& driver);

  /* Nothing of it is in flight. */
  void give_back(Stream stream) noexcept;

 private:
  const Driver driver_;
  const Context context_;
  std::mutex mutex_;  // protects what follows
  std::vector<Stream> free_;
};

}  // namespace turbine::cuda
