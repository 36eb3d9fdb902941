/*
 * slot_memory.h - slot memory, turbined's side: memory that backends and the daemon share. A query's
 * slots lie in one SlotMemory.
 *
 * A SlotMemory is a memfd that is sealed against shrinking and growing. So neither side can make the
 * other die of SIGBUS. It is registered with its device when its first chunk comes, and once, not per
 * query: pinning takes 60 ms per GiB and more, and all other calls of a GPU's driver wait meanwhile.
 * That is why a pool keeps idle slot memory for later queries. The pool bounds the bytes and the number
 * of idle ones; the oldest goes first.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace turbine {

class Device;

class SlotMemory {
 public:
  /* `device` outlives this; `fd` is an empty memfd, and now ours. Throws DeviceError. */
  SlotMemory(uint64_t id, uint64_t size, Device& device, int fd);
  ~SlotMemory();
  SlotMemory(const SlotMemory&) = delete;

  uint64_t id() const { return id_; }
  uint64_t size() const { return size_; }
  int fd() const { return fd_; }
  uint8_t* base() const { return base_; }
  Device& device() const { return device_; }
  /* A chunk comes: registers the memory, unless that was done. The query's thread. */
  void prepare_for_chunks();
  /* The same for reads from drives: `pin` returns a handle, which goes with the memory, or null. Asked once. */
  void prepare_for_reads(const std::function<std::shared_ptr<void>(uint8_t* base, uint64_t size)>& pin);
  /* A reader may be left: what it has mapped stays as it is when we let go. */
  void keep_content() { keep_content_ = true; }

 private:
  const uint64_t id_;
  const uint64_t size_;
  Device& device_;
  int fd_ = -1;
  uint8_t* base_ = nullptr;
  bool keep_content_ = false;
  bool registered_ = false;
  bool asked_to_pin_ = false;
  std::shared_ptr<void> pinned_;
};

/* Thread-safe. */
class SlotMemoryPool {
 public:
  explicit SlotMemoryPool(uint64_t max_idle_bytes) : max_idle_bytes_(max_idle_bytes) {}

  /* Slot memory of at least `size` bytes registered with `device`; the one with
   * id `preferred` if it is idle and fits. Throws DeviceError. */
  std::unique_ptr<SlotMemory> take(uint64_t size, Device& device, uint64_t preferred);
  void give_back(std::unique_ptr<SlotMemory> memory);
  /* The slot memory of a query whose backend does not know yet that it is over, and
   * may still be reading: nobody else gets it, and it is not emptied. */
  void abandon(std::unique_ptr<SlotMemory> memory);

  /* Gives up all that is idle, with its descriptors; whether there was some. */
  bool drop_idle();

  /* Of all slot memory, idle included. */
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  int open_memory_file();

  const uint64_t max_idle_bytes_;
  std::atomic<uint64_t> total_bytes_{0};
  std::mutex mutex_;
  std::list<std::unique_ptr<SlotMemory>> idle_;  // newest first
  uint64_t idle_bytes_ = 0;
  uint64_t next_id_ = 1;
};

}  // namespace turbine
