/*
 * slot_leases.cc - who has which slot memory, queries and their feeders.
 *
 * Called by queries as they start and end, and by the sessions of feeders. It must never
 * give memory to the pool while a feeder may still write to it.
 */
#include "engine/slots/slot_leases.h"

#include <utility>

namespace turbine {

SlotLeases::Attachment::Attachment(Attachment&& other) noexcept
    : leases_(std::exchange(other.leases_, nullptr)), lease_(other.lease_), memory_(other.memory_) {}

SlotLeases::Attachment::~Attachment() {
  if (leases_) leases_->detach(lease_);
}

uint64_t SlotLeases::begin(const SlotMemory& memory) {
  std::lock_guard lock(mutex_);
  const uint64_t lease = next_lease_++;
  leases_[lease].memory = &memory;
  return lease;
}

void SlotLeases::end(uint64_t lease, std::unique_ptr<SlotMemory> memory) { finish(lease, std::move(memory), true); }

void SlotLeases::abandon(uint64_t lease, std::unique_ptr<SlotMemory> memory) {
  finish(lease, std::move(memory), false);
}

void SlotLeases::finish(uint64_t lease, std::unique_ptr<SlotMemory> memory, bool reusable) {
  {
    std::lock_guard lock(mutex_);
    const auto found = leases_.find(lease);
    if (found != leases_.end() && found->second.feeders > 0) {
      found->second.over = true;
      found->second.reusable = reusable;
      found->second.waiting = std::move(memory);
      return;
    }
    if (found != leases_.end()) leases_.erase(found);
  }
  let_go(std::move(memory), reusable);
}

std::optional<SlotLeases::Attachment> SlotLeases::attach(uint64_t lease) {
  std::lock_guard lock(mutex_);
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.over) return std::nullopt;
  found->second.feeders++;
  return Attachment(*this, lease, *found->second.memory);
}

void SlotLeases::detach(uint64_t lease) {
  std::unique_ptr<SlotMemory> memory;
  bool reusable;
  {
    std::lock_guard lock(mutex_);
    const auto found = leases_.find(lease);
    if (--found->second.feeders > 0 || !found->second.over) return;
    memory = std::move(found->second.waiting);
    reusable = found->second.reusable;
    leases_.erase(found);
  }
  let_go(std::move(memory), reusable);
}

void SlotLeases::let_go(std::unique_ptr<SlotMemory> memory, bool reusable) {
  if (reusable)
    pool_.give_back(std::move(memory));
  else
    pool_.abandon(std::move(memory));
}

}  // namespace turbine
