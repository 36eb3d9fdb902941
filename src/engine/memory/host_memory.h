/*
 * host_memory.h - a query's budget of host memory, and growing buffers that
 * are charged to it.
 *
 * Nothing that grows with the data may be allocated on the host device except
 * through here: beyond the budget it is a DeviceError (TB_FALLBACK_HOST_MEMORY)
 * of one query, never a bad_alloc or the OOM killer's business.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/memory/idle_mappings.h"

namespace turbine {

/* Thread-safe. */
class MemoryBudget {
 public:
  /* `idle`: where its buffers come from and go to, if possible; outlives it. */
  explicit MemoryBudget(uint64_t limit, IdleMappings* idle = nullptr) : limit_(limit), idle_(idle) {}

  void reserve(uint64_t bytes);  // throws DeviceError
  void release(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t free() const { return limit_ - std::min(used(), limit_); }
  IdleMappings* idle() const { return idle_; }

 private:
  const uint64_t limit_;
  IdleMappings* const idle_;
  std::atomic<uint64_t> used_{0};
};

/* What is in a buffer that nobody has written to. Anything, even of other queries, costs less. */
enum class HostContents { kZeros, kAnything };

/* Page-aligned memory of its own mapping. Move-only. */
class HostBuffer {
 public:
  HostBuffer(MemoryBudget& budget, uint64_t size, HostContents contents = HostContents::kZeros);  // throws DeviceError
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;

  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

  /* What a buffer of `size` bytes is charged. */
  static uint64_t charged(uint64_t size);

  /* Keeps the contents, adds zeros or anything; may move. Throws DeviceError, and then
   * nothing has changed. */
  void grow(uint64_t size);

  /* Gives back what lies beyond `size` bytes; does not move. */
  void shrink(uint64_t size);

  /* From now on the memory is another budget's, which must outlive it. Throws
   * DeviceError, and then nothing has changed. */
  void charge_to(MemoryBudget& budget);

 private:
  void replace_by(IdleMappings::Mapping mapping);
  void remap(uint64_t size);

  MemoryBudget* budget_;
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;  // that is charged
  uint64_t mapped_ = 0;  // at least size_
  HostContents contents_;
};

}  // namespace turbine
