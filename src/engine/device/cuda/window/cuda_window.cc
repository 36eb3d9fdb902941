/*
 * cuda_window.cc - window functions on a GPU.
 *
 * Called by result/window through device_window.h on the query's thread.
 */
#include "engine/device/cuda/window/cuda_window.h"

#include <algorithm>

#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/device/cuda/window/cuda_window_run.h"

namespace turbine::cuda {
namespace {

constexpr unsigned kRangeBlocks = 4;  // a multiprocessor

}  // namespace

bool CudaWindow::pays(uint64_t count, unsigned words, unsigned threads) const {
  return words <= kMostSortWords && count >= std::max(kLeastSortRows, kSortRowsPerThread * threads) &&
         count < TB_SORT_MOST_ROWS && code_.sort.ready() && code_.window.ready() && code_.keys.ready();
}

std::vector<WindowKeyRange> CudaWindow::key_ranges(std::span<const WindowKey> keys) {
  std::vector<WindowKeyRange> all(keys.size());
  if (keys.empty()) return all;
  context_.enter(driver_);
  const UniqueStream stream(context_.streams(), driver_);
  rows_->merge(stream.get());
  const DeviceRows::Part& rows = rows_->parts().front();
  const auto nblocks = static_cast<unsigned>(
      std::min<uint64_t>((rows.nrows + TB_KEY_THREADS - 1) / TB_KEY_THREADS,
                         uint64_t{context_.properties().multiprocessors} * kRangeBlocks));
  const uint64_t bytes = nblocks * keys.size() * sizeof(TbKeyRange);
  const Block ranges = context_.device_memory().allocate(driver_, bytes, &account_);
  const Block pinned = context_.pinned_memory().allocate(driver_, bytes, nullptr);
  const KernelArguments<TbKeyRanges> told(context_, driver_, account_, stream.get());
  const StreamWait wait(driver_, stream.get());
  TbKeyRanges& arguments = told.host();
  arguments = {};
  for (const WindowKey& key : keys) {
    const TbColumnData& data = rows.columns[key.column];
    arguments.keys[arguments.nkeys++] = {static_cast<const uint8_t*>(data.values),
                                         rows_->shape().columns[key.column].nullable ? data.valid : nullptr, key.type,
                                         0};
  }
  arguments.ranges = reinterpret_cast<TbKeyRange*>(ranges.device());
  arguments.nrows = static_cast<uint32_t>(rows.nrows);
  arguments.nblocks = nblocks;
  told.send(&arguments, sizeof arguments);
  told.launch(code_.keys.kernels(driver_).ranges, nblocks, TB_KEY_THREADS, &arguments);
  const auto* found = reinterpret_cast<const TbKeyRange*>(pinned.host());
  driver_.check(driver_.memcpy_dtoh_async(pinned.host(), ranges.device(), bytes, stream.get()));
  driver_.check(driver_.stream_synchronize(stream.get()));
  for (size_t i = 0; i < nblocks * keys.size(); i++) {
    WindowKeyRange& range = all[i % keys.size()];
    range.nulls |= found[i].nulls != 0;
    range.values |= found[i].values != 0;
    range.least = std::min(range.least, found[i].least);
    range.greatest = std::max(range.greatest, found[i].greatest);
  }
  return all;
}

std::unique_ptr<DeviceWindowRun> CudaWindow::run(const WindowInput& input, ParallelWork& work) {
  context_.enter(driver_);
  const DeviceRows::Part* rows = nullptr;
  if (input.on_device) {
    const UniqueStream stream(context_.streams(), driver_);
    rows_->merge(stream.get());
    rows = &rows_->parts().front();
  }
  const WindowRunKernels kernels{code_.sort.kernels(driver_), code_.window.kernels(driver_),
                                 code_.keys.kernels(driver_)};
  auto run = std::make_unique<CudaWindowRun>(context_, kernels, driver_, account_, rows, input, work);
  run->compute(work);
  return run;
}

}  // namespace turbine::cuda
