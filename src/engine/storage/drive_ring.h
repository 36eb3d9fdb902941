/*
 * drive_ring.h - reads with O_DIRECT through io_uring: one ring and one thread for all queries.
 *
 * Callers of any thread hand over reads. The thread submits them, as many at a time as the ring is deep, and calls
 * `done` for each. Only the thread touches the ring: the kernel finishes a read in the name of the thread that has
 * submitted it, and would otherwise wake sessions out of their waits.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/storage/storage_calls.h"

namespace turbine {

class DriveRing {
 public:
  /* As read(2) returns it, with an errno negative. On the ring's thread: must not wait or throw. */
  using ReadEnd = std::function<void(int64_t result)>;

  struct Read {
    int fd;
    uint64_t offset;
    uint32_t size;
    uint8_t* to;
    ReadEnd done;
  };

  /* Null with `why` if the kernel refuses io_uring, as many containers do. */
  static std::shared_ptr<DriveRing> open(const StorageCalls& calls, std::string* why);
  ~DriveRing();  // after the last read
  DriveRing(const DriveRing&) = delete;

  void post(std::vector<Read> reads);

  /* Pins memory once for many reads, which then cost half of the processor's time; until the handle goes. False: the
   * process may not lock so much (RLIMIT_MEMLOCK), and reads pin their own. */
  bool pin(uint8_t* memory, uint64_t size);
  void unpin(const uint8_t* memory, uint64_t size);

 private:
  struct Pinned {
    uint64_t size;
    int index;  // of the ring's buffers
  };

  explicit DriveRing(const StorageCalls& calls) : calls_(calls) {}
  std::string make();
  void work();
  void submit_waiting();
  void complete(io_uring_cqe* completion);
  int pinned_index(const uint8_t* to, uint32_t size);
  void wake();

  const StorageCalls& calls_;
  io_uring ring_{};
  bool open_ = false;
  bool has_table_ = false;  // of pinned memory
  int wake_fd_ = -1;
  uint64_t wake_count_ = 0;
  bool wake_armed_ = false;
  std::vector<Read> in_flight_;      // by place; the thread's
  std::vector<uint32_t> free_places_;

  std::mutex mutex_;  // the fields below
  std::deque<Read> waiting_;
  bool stopping_ = false;

  std::mutex pinned_mutex_;
  std::map<const uint8_t*, Pinned> pinned_;
  std::vector<int> free_indexes_;

  std::thread thread_;
};

}  // namespace turbine
