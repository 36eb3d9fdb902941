/*
 * split_choice.cc - see split_choice.h.
 *
 * Asked by query_device.cc as a query starts, and told as it ends, on sessions' threads. It must know nothing of which
 * GPUs there are.
 */
#include "engine/execution/split_choice.h"

#include <functional>
#include <string_view>

namespace turbine {
namespace {

/* Kernels that take less than this on one GPU are over before others have started and their results are merged. */
constexpr double kWorthSplittingUs = 3000;
/* To fetch a group of each GPU and to fold it: 1 M groups of two NVIDIA H200 took 240 ms on 32 cores. */
constexpr double kMergeUsOfGroup = 0.24;
/* Queries of fewer rows tell more of their launches than of their rows. */
constexpr uint64_t kTellingRows = 1 << 20;

uint64_t hash_of(const Program& program) {
  const auto blob = program.blob();
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(blob.data()), blob.size()});
}

/* As they are decoded: what is cached is no larger. */
double row_width(const Program& program) {
  double bytes = 0;
  for (const TbColumn& column : program.columns().first(program.source_columns())) bytes += tb_type_width(column.type);
  return bytes;
}

}  // namespace

SplitChoice::Reason SplitChoice::worth(const Program& program, double rows, double groups, uint64_t cache_bytes) const {
  Measured measured{0, row_width(program)};
  {
    std::lock_guard lock(mutex_);
    const auto found = programs_.find(hash_of(program));
    if (found != programs_.end()) measured = found->second;
  }
  if (rows * measured.cached_bytes > static_cast<double>(cache_bytes)) return Reason::kColumns;
  // Two GPUs save half of what one takes, more of them little more.
  const double kernels_us = rows * measured.kernel_us;
  const double merge_us = program.grouped() ? groups * kMergeUsOfGroup : 0;
  return kernels_us > kWorthSplittingUs && kernels_us / 2 > merge_us ? Reason::kKernels : Reason::kNone;
}

void SplitChoice::note(const Program& program, const DeviceQueryStats& stats) {
  if (stats.rows_in < kTellingRows) return;
  const auto rows = static_cast<double>(stats.rows_in);
  Measured measured{static_cast<double>(stats.decode_us + stats.compute_us) / rows,
                    static_cast<double>(stats.cached_bytes) / rows};
  if (measured.cached_bytes == 0) measured.cached_bytes = row_width(program);  // its rows came as pages
  const uint64_t hash = hash_of(program);
  std::lock_guard lock(mutex_);
  if (programs_.size() >= kMostPrograms && !programs_.contains(hash)) programs_.clear();
  programs_[hash] = measured;
}

}  // namespace turbine
