/*
 * gpu_choice.cc - see gpu_choice.h.
 *
 * Called by query_device.cc on sessions' threads. Numbers of running queries may be old by the time that a query
 * starts: two that ask at once may meet.
 */
#include "engine/execution/gpu_choice.h"

#include <algorithm>
#include <bit>

namespace turbine {

std::vector<uint32_t> GpuChoice::order(uint32_t gpus, uint64_t affinity, uint32_t near,
                                       const std::function<uint32_t(uint32_t)>& running) const {
  struct Candidate {
    uint32_t running;
    bool strange;  // has not run its like
    bool far;
    uint32_t device;
    auto operator<=>(const Candidate&) const = default;
  };
  uint32_t known = 0;
  if (affinity != 0) {
    std::lock_guard lock(mutex_);
    const auto found = ran_on_.find(affinity);
    if (found != ran_on_.end()) known = found->second;
  }
  std::vector<Candidate> candidates;
  for (; gpus != 0; gpus &= gpus - 1) {
    const auto gpu = static_cast<uint32_t>(std::countr_zero(gpus));
    const uint32_t queries = running(gpu + 1);
    if (queries != UINT32_MAX)
      candidates.push_back({queries, (known >> gpu & 1) == 0, (near >> gpu & 1) == 0, gpu + 1});
  }
  std::sort(candidates.begin(), candidates.end());
  std::vector<uint32_t> devices;
  for (const Candidate& candidate : candidates) devices.push_back(candidate.device);
  return devices;
}

void GpuChoice::note(uint64_t affinity, uint32_t device) {
  if (affinity == 0 || device == 0 || device > 32) return;
  std::lock_guard lock(mutex_);
  if (ran_on_.size() >= kMostTables && !ran_on_.contains(affinity)) ran_on_.clear();
  ran_on_[affinity] |= 1u << (device - 1);
}

}  // namespace turbine
