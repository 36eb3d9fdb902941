/*
 * shared_segment.cc - memory that backends and the daemon share.
 */
#include "engine/storage/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "engine/device/device.h"

namespace turbine {
namespace {

[[noreturn]] void fail(const char* what) {
  throw DeviceError(TB_FALLBACK_HOST_MEMORY, std::string("shared segment: ") + what + ": " + strerror(errno));
}

/* Reuse of a segment much larger than needed would starve who needs it. */
bool fits(const SharedSegment& segment, uint64_t size) { return segment.size() >= size && segment.size() / 2 <= size; }

}  // namespace

SharedSegment::SharedSegment(uint64_t id, uint64_t size, Device& device) : id_(id), size_(size), device_(device) {
  fd_ = memfd_create("turbine-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) fail("memfd_create");
  try {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) fail("ftruncate");
    if (fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("F_ADD_SEALS");
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (base == MAP_FAILED) fail("mmap");
    base_ = static_cast<uint8_t*>(base);
    device_.register_segment(base_, size_);
  } catch (...) {
    if (base_) munmap(base_, size_);
    close(fd_);
    throw;
  }
}

SharedSegment::~SharedSegment() {
  device_.unregister_segment(base_);
  munmap(base_, size_);
  // An idle backend may have it mapped still: give the memory back at once.
  if (!keep_content_) fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_));
  close(fd_);
}

std::unique_ptr<SharedSegment> SegmentPool::take(uint64_t size, Device& device, uint64_t preferred) {
  uint64_t id;
  {
    std::lock_guard lock(mutex_);
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (&(*it)->device() != &device || !fits(**it, size)) continue;
      if (best == idle_.end() || (*it)->id() == preferred) best = it;
    }
    if (best != idle_.end()) {
      auto segment = std::move(*best);
      idle_.erase(best);
      idle_bytes_ -= segment->size();
      return segment;
    }
    id = next_id_++;
  }
  auto segment = std::make_unique<SharedSegment>(id, size, device);
  total_bytes_ += size;
  return segment;
}

void SegmentPool::give_back(std::unique_ptr<SharedSegment> segment) {
  if (!segment) return;
  // Unmapping and unpinning happen after the lock is gone.
  std::list<std::unique_ptr<SharedSegment>> dropped;
  std::lock_guard lock(mutex_);
  idle_bytes_ += segment->size();
  idle_.push_front(std::move(segment));
  while (idle_bytes_ > max_idle_bytes_) {
    idle_bytes_ -= idle_.back()->size();
    total_bytes_ -= idle_.back()->size();
    dropped.splice(dropped.end(), idle_, std::prev(idle_.end()));
  }
}

void SegmentPool::abandon(std::unique_ptr<SharedSegment> segment) {
  if (!segment) return;
  segment->keep_content();
  total_bytes_ -= segment->size();
}

uint64_t SegmentPool::idle_bytes() {
  std::lock_guard lock(mutex_);
  return idle_bytes_;
}

}  // namespace turbine
