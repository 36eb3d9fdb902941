/*
 * split_choice.h - whether a query is worth several GPUs at once.
 *
 * It is in two cases. The columns that it reads do not fit the cache of one GPU: then each GPU keeps a part of them,
 * instead of one that reads them again and again. Or its kernels would take longer than starting them on several GPUs
 * and merging what they leave: a million groups take the host longer to merge than a GPU to make. Both are estimated by
 * what queries of the same program have measured; programs that have not run yet go by the widths of their columns, and
 * to one GPU.
 *
 * Thread-safe.
 */
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "engine/device/device.h"

namespace turbine {

class SplitChoice {
 public:
  enum class Reason { kNone, kColumns, kKernels };

  /* Of a query of so many rows, which make about so many groups, where a GPU's cache has so many bytes. */
  Reason worth(const Program& program, double rows, double groups, uint64_t cache_bytes) const;

  /* A query of the program has run on a GPU, or on several: sums over all of them. */
  void note(const Program& program, const DeviceQueryStats& stats);

 private:
  static constexpr size_t kMostPrograms = 4096;  // before all are forgotten: they are measured once more
  struct Measured {
    double kernel_us = 0, cached_bytes = 0;  // of a row
  };
  mutable std::mutex mutex_;  // protects what follows
  std::unordered_map<uint64_t, Measured> programs_;  // by hash
};

}  // namespace turbine
