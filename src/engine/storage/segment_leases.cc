/*
 * segment_leases.cc - which query has which shared segment.
 */
#include "engine/storage/segment_leases.h"

#include <utility>

namespace turbine {

SegmentLeases::Attachment::Attachment(Attachment&& other) noexcept
    : leases_(std::exchange(other.leases_, nullptr)), lease_(other.lease_), segment_(other.segment_) {}

SegmentLeases::Attachment::~Attachment() {
  if (leases_) leases_->detach(lease_);
}

uint64_t SegmentLeases::begin(const SharedSegment& segment) {
  std::lock_guard lock(mutex_);
  const uint64_t lease = next_lease_++;
  leases_[lease].segment = &segment;
  return lease;
}

void SegmentLeases::end(uint64_t lease, std::unique_ptr<SharedSegment> segment) {
  finish(lease, std::move(segment), true);
}

void SegmentLeases::abandon(uint64_t lease, std::unique_ptr<SharedSegment> segment) {
  finish(lease, std::move(segment), false);
}

void SegmentLeases::finish(uint64_t lease, std::unique_ptr<SharedSegment> segment, bool reusable) {
  {
    std::lock_guard lock(mutex_);
    const auto found = leases_.find(lease);
    if (found != leases_.end() && found->second.feeders > 0) {
      found->second.over = true;
      found->second.reusable = reusable;
      found->second.waiting = std::move(segment);
      return;
    }
    if (found != leases_.end()) leases_.erase(found);
  }
  let_go(std::move(segment), reusable);
}

std::optional<SegmentLeases::Attachment> SegmentLeases::attach(uint64_t lease) {
  std::lock_guard lock(mutex_);
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.over) return std::nullopt;
  found->second.feeders++;
  return Attachment(*this, lease, *found->second.segment);
}

void SegmentLeases::detach(uint64_t lease) {
  std::unique_ptr<SharedSegment> segment;
  bool reusable;
  {
    std::lock_guard lock(mutex_);
    const auto found = leases_.find(lease);
    if (--found->second.feeders > 0 || !found->second.over) return;
    segment = std::move(found->second.waiting);
    reusable = found->second.reusable;
    leases_.erase(found);
  }
  let_go(std::move(segment), reusable);
}

void SegmentLeases::let_go(std::unique_ptr<SharedSegment> segment, bool reusable) {
  if (reusable)
    pool_.give_back(std::move(segment));
  else
    pool_.abandon(std::move(segment));
}

}  // namespace turbine
