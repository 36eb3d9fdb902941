/*
 * memory_pool.h - blocks of device memory, and of pinned host memory, kept for
 * reuse between queries: the driver's own allocation calls cost up to
 * milliseconds and stall other queries' work.
 *
 * MemoryPool owns every block it ever took from the driver; a Block is lent and
 * goes back by its destructor. What is lent never exceeds the pool's budget.
 * A query's own limit is a MemoryAccount that its Blocks are charged to.
 *
 * Threads: MemoryPool may be used by any thread (one mutex, held across driver
 * allocations); a MemoryAccount is atomic. A Block belongs to one thread.
 * Whoever gives a Block back must have waited for the device work that uses it.
 */
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/device/cuda/driver/driver.h"
#include "engine/topology/numa_binding.h"

namespace turbine::cuda {

class MemoryPool;

/* What one query has taken, against its limit. */
class MemoryAccount {
 public:
  explicit MemoryAccount(uint64_t limit) : limit_(limit) {}
  bool charge(uint64_t bytes);
  void refund(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t available() const {
    const uint64_t used = used_.load(std::memory_order_relaxed);
    return used < limit_ ? limit_ - used : 0;
  }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

/* A block on loan. Empty if default-constructed or moved from. */
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept;
  ~Block() { reset(); }

  void reset() noexcept;
  uint64_t size() const { return size_; }
  explicit operator bool() const { return size_ != 0; }

  DevicePtr device() const { return address_; }           // of a DEVICE pool
  uint8_t* host() const { return reinterpret_cast<uint8_t*>(address_); }  // of a PINNED pool

 private:
  friend class MemoryPool;
  MemoryPool* pool_ = nullptr;
  MemoryAccount* account_ = nullptr;
  uint64_t address_ = 0;
  uint64_t size_ = 0;
};

class MemoryPool {
 public:
  enum class Kind { DEVICE, PINNED };

  /* Keeps up to `max_cached` bytes of blocks that nobody uses, of the sizes that were asked for last. */
  MemoryPool(Kind kind, const Driver& driver, Context context, uint64_t budget, uint64_t max_cached);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;

  /* At least `bytes`, charged to `account` if not null. `driver` makes the
   * calls (and carries the query's faults). Throws DeviceError: DEVICE_MEMORY
   * over budget, limit, or what the driver has. */
  Block allocate(const Driver& driver, uint64_t bytes, MemoryAccount* account);

  /* Size that a request is rounded up to; at most a quarter is wasted. */
  static uint64_t rounded(uint64_t bytes);

  /* Whether so many bytes are there now, for all that other programs have taken of the device: its budget knows nothing
   * of them. What the driver says is kept for a moment. Its context is current. */
  bool can_give(uint64_t bytes);

  /* Gives the driver what nobody uses. */
  void release_unused() noexcept;

  /* Before the first block: where memory of a PINNED pool is. */
  void prefer_node(const NumaBinding& numa) { numa_ = numa; }

  /* Percent of a device's memory that nobody else uses which queries and columns may have together. */
  static constexpr uint64_t kShareOfFree = 85;

  uint64_t budget() const { return budget_.load(std::memory_order_relaxed); }
  /* Where other programs have given memory of the device back, the budget grows to its share of what is free now. It
   * never falls: can_give() sees what others have taken since. Its context is current. */
  void raise_budget();
  uint64_t used() const;

 private:
  friend class Block;
  void give_back(uint64_t address, uint64_t size) noexcept;
  CallResult take(const Driver& driver, uint64_t size, uint64_t* address);
  void trim(uint64_t max_cached) noexcept;  // mutex_ held
  bool ask_driver();  // mutex_ held

  const Kind kind_;
  const Driver driver_;
  const Context context_;
  std::atomic<uint64_t> budget_;  // changed under mutex_
  const uint64_t max_cached_;
  NumaBinding numa_;

  mutable std::mutex mutex_;  // protects what follows
  struct FreeBlocks {
    std::vector<uint64_t> addresses;
    uint64_t last_asked = 0;  // a tick of asked_
  };
  std::map<uint64_t, FreeBlocks> free_;  // by size
  uint64_t asked_ = 0;
  uint64_t lent_ = 0;
  uint64_t cached_ = 0;
  uint64_t driver_free_ = 0;  // as it said at asked_driver_
  std::chrono::steady_clock::time_point asked_driver_{};
};

}  // namespace turbine::cuda
