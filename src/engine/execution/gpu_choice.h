/*
 * gpu_choice.h - which of several GPUs runs a query.
 *
 * The one with the fewest queries. Where several have as few, one that has run a query over the same table before: the
 * table's columns are there already. Then one that is near the drives of the table. So a single session stays on one
 * GPU, and sessions side by side spread over all. Thread-safe.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace turbine {

class GpuChoice {
 public:
  /* GPUs of the mask (bit 0: GPU 0), the best first; indexes of devices, from 1 on. `affinity`: 0: none. `near`: a mask
   * of those near the drives. `running`: the queries of a device with that index; UINT32_MAX: it is not usable. */
  std::vector<uint32_t> order(uint32_t gpus, uint64_t affinity, uint32_t near,
                              const std::function<uint32_t(uint32_t)>& running) const;

  /* A query of that affinity runs on the device with that index. */
  void note(uint64_t affinity, uint32_t device);

 private:
  static constexpr size_t kMostTables = 4096;  // before all are forgotten: then tables are copied once more

  mutable std::mutex mutex_;  // protects what follows
  std::unordered_map<uint64_t, uint32_t> ran_on_;  // by affinity: GPUs, a bit each
};

}  // namespace turbine
