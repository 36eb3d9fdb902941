/*
 * drive_ring.cc - see drive_ring.h.
 *
 * Owns the ring, its thread and the table of pinned memory. Called by storage_reader.cc. A read may only be given up
 * with the ring: the kernel writes to its memory until it completes.
 */
#include "engine/storage/drive_ring.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace turbine {
namespace {

/* Reads in flight. docs/decisions/direct-reads.md has the table. */
constexpr uint32_t kDepth = 32;

/* Pieces of memory that are pinned at a time, each of at most what the kernel takes. */
constexpr int kMostPinned = 64;
constexpr uint64_t kMostPinnedBytes = 1u << 30;

/* Completions that are no read's: the eventfd's. */
constexpr uint64_t kWakeTag = UINT64_MAX;

}  // namespace

std::shared_ptr<DriveRing> DriveRing::open(const StorageCalls& calls, std::string* why) {
  std::shared_ptr<DriveRing> ring(new DriveRing(calls));
  *why = ring->make();
  return why->empty() ? ring : nullptr;
}

/* Empty, or why not. */
std::string DriveRing::make() {
  const int error = calls_.ring_open(kDepth + 1, &ring_);  // and the wake-up
  if (error != 0) return strerror(-error);
  open_ = true;
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) return strerror(errno);

  // A kernel before 5.19 has no table that is filled later: reads pin their own memory then.
  has_table_ = io_uring_register_buffers_sparse(&ring_, kMostPinned) == 0;
  for (int i = 0; has_table_ && i < kMostPinned; i++) free_indexes_.push_back(i);

  in_flight_.resize(kDepth);
  for (uint32_t i = 0; i < kDepth; i++) free_places_.push_back(i);
  thread_ = std::thread([this] { work(); });
  pthread_setname_np(thread_.native_handle(), "drive");
  return "";
}

DriveRing::~DriveRing() {
  if (thread_.joinable()) {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
  }
  if (open_) io_uring_queue_exit(&ring_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

void DriveRing::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_fd_, &one, sizeof one);
}

void DriveRing::post(std::vector<Read> reads) {
  bool was_empty;
  {
    std::lock_guard lock(mutex_);
    was_empty = waiting_.empty();
    for (Read& read : reads) waiting_.push_back(std::move(read));
  }
  if (was_empty) wake();  // else somebody else has
}

/* Fills the ring with what waits, and keeps a read of the eventfd in it. */
void DriveRing::submit_waiting() {
  if (!wake_armed_) {
    if (io_uring_sqe* entry = io_uring_get_sqe(&ring_)) {
      io_uring_prep_read(entry, wake_fd_, &wake_count_, sizeof wake_count_, 0);
      io_uring_sqe_set_data64(entry, kWakeTag);
      wake_armed_ = true;
    }
  }
  std::lock_guard lock(mutex_);
  while (!waiting_.empty() && !free_places_.empty()) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (!entry) break;
    const uint32_t place = free_places_.back();
    free_places_.pop_back();
    Read& read = in_flight_[place] = std::move(waiting_.front());
    waiting_.pop_front();
    const int index = pinned_index(read.to, read.size);
    if (index >= 0)
      io_uring_prep_read_fixed(entry, read.fd, read.to, read.size, read.offset, index);
    else
      io_uring_prep_read(entry, read.fd, read.to, read.size, read.offset);
    io_uring_sqe_set_data64(entry, place);
  }
}

void DriveRing::complete(io_uring_cqe* completion) {
  const uint64_t tag = io_uring_cqe_get_data64(completion);
  const int64_t result = completion->res;
  io_uring_cqe_seen(&ring_, completion);
  if (tag == kWakeTag) {
    wake_armed_ = false;
    return;
  }
  const Read read = std::move(in_flight_[tag]);
  free_places_.push_back(static_cast<uint32_t>(tag));
  read.done(result);
}

void DriveRing::work() {
  for (;;) {
    submit_waiting();
    const int submitted = calls_.ring_submit(&ring_);
    {
      std::lock_guard lock(mutex_);
      if (stopping_ && waiting_.empty() && free_places_.size() == kDepth) return;
    }
    // The kernel lacks memory for the moment: nothing may be in flight that would end a wait.
    if (submitted < 0 && submitted != -EBUSY && io_uring_cq_ready(&ring_) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    io_uring_cqe* completion = nullptr;
    if (calls_.ring_wait(&ring_, &completion) != 0) continue;
    complete(completion);
    while (io_uring_cq_ready(&ring_) > 0) {
      if (calls_.ring_wait(&ring_, &completion) != 0) break;
      complete(completion);
    }
  }
}

int DriveRing::pinned_index(const uint8_t* to, uint32_t size) {
  std::lock_guard lock(pinned_mutex_);
  auto it = pinned_.upper_bound(to);
  if (it == pinned_.begin()) return -1;
  --it;
  return to + size <= it->first + it->second.size ? it->second.index : -1;
}

bool DriveRing::pin(uint8_t* memory, uint64_t size) {
  if (!has_table_ || size == 0) return false;
  std::lock_guard lock(pinned_mutex_);
  for (uint64_t at = 0; at < size; at += kMostPinnedBytes) {
    if (free_indexes_.empty()) break;
    const iovec part{memory + at, std::min(kMostPinnedBytes, size - at)};
    const int index = free_indexes_.back();
    if (io_uring_register_buffers_update_tag(&ring_, static_cast<unsigned>(index), &part, nullptr, 1) != 1) break;
    free_indexes_.pop_back();
    pinned_[memory + at] = {part.iov_len, index};
  }
  return pinned_.count(memory) > 0;
}

/* Reads under way keep their pages until they end. */
void DriveRing::unpin(const uint8_t* memory, uint64_t size) {
  std::lock_guard lock(pinned_mutex_);
  for (auto it = pinned_.lower_bound(memory); it != pinned_.end() && it->first < memory + size;) {
    const iovec none{nullptr, 0};
    io_uring_register_buffers_update_tag(&ring_, static_cast<unsigned>(it->second.index), &none, nullptr, 1);
    free_indexes_.push_back(it->second.index);
    it = pinned_.erase(it);
  }
}

}  // namespace turbine
