/*
 * idle_mappings.cc - see idle_mappings.h.
 *
 * Called by HostBuffer, and once a second by the server, which lets old ones go.
 */
#include "engine/memory/idle_mappings.h"

#include <sys/mman.h>

namespace turbine {
namespace {

/* Looking through more of them would cost what they save. */
constexpr size_t kMostIdle = 512;
/* A larger one would be one that is too large for its charge: this part of it may be spare. */
constexpr uint64_t kSparePart = 8;

}  // namespace

IdleMappings::IdleMappings(uint64_t most_bytes) : most_bytes_(most_bytes) { idle_.reserve(kMostIdle); }

IdleMappings::~IdleMappings() { drop_first(idle_.size()); }

IdleMappings::Mapping IdleMappings::take(uint64_t size) noexcept {
  std::lock_guard lock(mutex_);
  // The last one is likely to be in a cache.
  for (size_t i = idle_.size(); i-- > 0;) {
    const Mapping found = idle_[i].mapping;
    if (found.size < size || found.size - size > size / kSparePart) continue;
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    bytes_ -= found.size;
    return found;
  }
  return {};
}

void IdleMappings::give_back(Mapping mapping) noexcept {
  if (mapping.size > most_bytes_ / 2) {
    munmap(mapping.data, mapping.size);
    return;
  }
  std::lock_guard lock(mutex_);
  size_t dropped = 0;
  for (uint64_t left = bytes_; left + mapping.size > most_bytes_; dropped++) left -= idle_[dropped].mapping.size;
  if (idle_.size() - dropped == kMostIdle) dropped++;
  drop_first(dropped);
  idle_.push_back({mapping, Clock::now()});
  bytes_ += mapping.size;
}

void IdleMappings::drop_older_than(Clock::duration age) noexcept {
  const Clock::time_point now = Clock::now();
  std::lock_guard lock(mutex_);
  size_t old = 0;
  while (old < idle_.size() && now - idle_[old].since >= age) old++;
  drop_first(old);
}

uint64_t IdleMappings::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

void IdleMappings::drop_first(size_t count) {
  for (size_t i = 0; i < count; i++) {
    munmap(idle_[i].mapping.data, idle_[i].mapping.size);
    bytes_ -= idle_[i].mapping.size;
  }
  idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace turbine
