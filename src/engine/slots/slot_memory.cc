/*
 * slot_memory.cc - maps, seals and registers slot memory, and pools it.
 *
 * Called by queries as they start and end, through slot_leases.cc. It must never take
 * memory from the pool that anyone has mapped for writing.
 */
#include "engine/slots/slot_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "engine/device/device.h"

namespace turbine {
namespace {

[[noreturn]] void fail(const char* what) {
  throw DeviceError(TB_FALLBACK_HOST_MEMORY, std::string("slot memory: ") + what + ": " + strerror(errno));
}

/* Reuse of slot memory much larger than needed would starve who needs it. */
int create_memory_file() { return memfd_create("turbine-slots", MFD_CLOEXEC | MFD_ALLOW_SEALING); }

/* Each has a descriptor: a small part of what the process may open. */
size_t most_idle() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return std::max<size_t>(limit.rlim_cur / 16, 1);
}

bool fits(const SlotMemory& memory, uint64_t size) { return memory.size() >= size && memory.size() / 2 <= size; }

}  // namespace

SlotMemory::SlotMemory(uint64_t id, uint64_t size, Device& device, int fd)
    : id_(id), size_(size), device_(device), fd_(fd) {
  try {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) fail("ftruncate");
    if (fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("F_ADD_SEALS");
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (base == MAP_FAILED) fail("mmap");
    base_ = static_cast<uint8_t*>(base);
  } catch (...) {
    if (base_) munmap(base_, size_);
    close(fd_);
    throw;
  }
}

void SlotMemory::prepare_for_chunks() {
  if (registered_) return;
  device_.register_slot_memory(base_, size_);
  registered_ = true;
}

void SlotMemory::prepare_for_reads(const std::function<std::shared_ptr<void>(uint8_t* base, uint64_t size)>& pin) {
  if (asked_to_pin_) return;
  asked_to_pin_ = true;
  pinned_ = pin(base_, size_);
}

SlotMemory::~SlotMemory() {
  pinned_.reset();
  if (registered_) device_.unregister_slot_memory(base_);
  munmap(base_, size_);
  // An idle backend may have it mapped still: give the memory back at once.
  if (!keep_content_) fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_));
  close(fd_);
}

std::unique_ptr<SlotMemory> SlotMemoryPool::take(uint64_t size, Device& device, uint64_t preferred) {
  uint64_t id;
  {
    std::lock_guard lock(mutex_);
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (&(*it)->device() != &device || !fits(**it, size)) continue;
      if (best == idle_.end() || (*it)->id() == preferred) best = it;
    }
    if (best != idle_.end()) {
      auto memory = std::move(*best);
      idle_.erase(best);
      idle_bytes_ -= memory->size();
      return memory;
    }
    id = next_id_++;
  }
  auto memory = std::make_unique<SlotMemory>(id, size, device, open_memory_file());
  total_bytes_ += size;
  return memory;
}

void SlotMemoryPool::give_back(std::unique_ptr<SlotMemory> memory) {
  if (!memory) return;
  // Unmapping and unpinning happen after the lock is gone.
  std::list<std::unique_ptr<SlotMemory>> dropped;
  std::lock_guard lock(mutex_);
  idle_bytes_ += memory->size();
  idle_.push_front(std::move(memory));
  while (idle_bytes_ > max_idle_bytes_ || idle_.size() > most_idle()) {
    idle_bytes_ -= idle_.back()->size();
    total_bytes_ -= idle_.back()->size();
    dropped.splice(dropped.end(), idle_, std::prev(idle_.end()));
  }
}

int SlotMemoryPool::open_memory_file() {
  int fd = create_memory_file();
  if (fd < 0 && (errno == EMFILE || errno == ENFILE) && drop_idle()) fd = create_memory_file();
  if (fd < 0) fail("memfd_create");
  return fd;
}

bool SlotMemoryPool::drop_idle() {
  std::list<std::unique_ptr<SlotMemory>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(idle_);
  total_bytes_ -= idle_bytes_;
  idle_bytes_ = 0;
  return !dropped.empty();
}

void SlotMemoryPool::abandon(std::unique_ptr<SlotMemory> memory) {
  if (!memory) return;
  memory->keep_content();
  total_bytes_ -= memory->size();
}

}  // namespace turbine
