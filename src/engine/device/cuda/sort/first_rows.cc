/*
 * first_rows.cc - see first_rows.h.
 *
 * Owns the groups' ranks and a lane's scratch memory. Called by the query's worker; must never wait for the device.
 */
#include "engine/device/cuda/sort/first_rows.h"

#include <algorithm>
#include <limits>

#include "engine/device/cuda/sort/first_kernels.h"

namespace turbine::cuda {

namespace {

/* With more groups most rows of a task stay anyway. */
constexpr uint64_t kMostFirst = 4096;
/* A lane's scratch memory, and the most rows in it. */
constexpr uint64_t kScratchBytes = uint64_t{4} << 20;
constexpr uint64_t kMostTaken = uint64_t{64} << 10, kLeastTaken = 256;
constexpr unsigned kFirstBlocksPerMultiprocessor = 4;

uint32_t row_bytes(const KeptRowLayout& shape) {
  uint32_t bytes = 0;
  for (const KeptColumn& column : shape.columns) bytes += tb_type_width(column.type) + 1;
  return bytes;
}

}  // namespace

bool FirstRowsBound::suits(const FirstKey& key) {
  return key.limit > 0 && key.limit <= kMostFirst && (key.width == 2 || key.width == 4 || key.width == 8);
}

FirstRowsBound::FirstRowsBound(CudaContext& context, const Driver& driver, const FirstKey& key, MemoryAccount& account,
                               Stream stream)
    : key_(key) {
  const uint64_t bytes = key.limit * sizeof(int64_t);
  best_ = context.device_memory().allocate(driver, bytes, &account);
  none_ = context.pinned_memory().allocate(driver, bytes, nullptr);
  std::fill_n(reinterpret_cast<int64_t*>(none_.host()), key.limit, std::numeric_limits<int64_t>::max());
  driver.check(driver.memcpy_htod_async(best_.device(), none_.host(), bytes, stream));
}

uint32_t FirstRowsBound::begin_launch(uint64_t threads) {
  const uint32_t group = next_group_;
  next_group_ = static_cast<uint32_t>((group + threads) % key_.limit);
  return group;
}

FirstRows::FirstRows(CudaContext& context, const Driver& driver, const KeptRowLayout& shape, MemoryAccount& account)
    : context_(context), driver_(driver), shape_(shape) {
  const uint64_t rows = std::clamp(kScratchBytes / std::max(row_bytes(shape), 1u), kLeastTaken, kMostTaken);
  capacity_ = static_cast<uint32_t>(rows / kLeastTaken * kLeastTaken);
  arguments_ = context.device_memory().allocate(driver, sizeof(TbFirstRows), &account);
  host_arguments_ = context.pinned_memory().allocate(driver, sizeof(TbFirstRows), nullptr);
  taken_ = context.device_memory().allocate(driver, uint64_t{capacity_} * sizeof(uint32_t), &account);
  scratch_ = context.device_memory().allocate(driver, uint64_t{capacity_} * row_bytes(shape), &account);
}

void FirstRows::run(FirstRowsBound& bound, const FirstKernels& kernels, DevicePtr store, uint64_t threads,
                    Stream stream) {
  const uint64_t most = uint64_t{context_.properties().multiprocessors} * kFirstBlocksPerMultiprocessor *
                        TB_FIRST_THREADS;
  const uint64_t used = std::min(threads, most);
  const FirstKey& key = bound.key();
  // Say which rows of which columns.
  auto& arguments = *reinterpret_cast<TbFirstRows*>(host_arguments_.host());
  arguments = {};
  arguments.store = reinterpret_cast<TbRowStore*>(store);
  arguments.best = reinterpret_cast<int64_t*>(bound.best());
  arguments.ngroups = static_cast<uint32_t>(key.limit);
  arguments.first_group = bound.begin_launch(used);
  arguments.key = key.column;
  arguments.key_width = key.width;
  arguments.descending = key.descending;
  arguments.nulls_first = key.nulls_first;
  arguments.ncolumns = static_cast<uint32_t>(shape_.columns.size());
  arguments.capacity = capacity_;
  arguments.taken = reinterpret_cast<uint32_t*>(taken_.device());
  arguments.scratch = reinterpret_cast<uint8_t*>(scratch_.device());
  for (size_t i = 0; i < shape_.columns.size(); i++)
    arguments.widths[i] = static_cast<uint8_t>(tb_type_width(shape_.columns[i].type));
  driver_.check(driver_.memcpy_htod_async(arguments_.device(), &arguments, sizeof arguments, stream));
  // Find the bound and the rows, then move these to the front.
  launch(kernels.groups, used, stream);
  launch(kernels.take, used, stream);
  launch(kernels.gather, std::min<uint64_t>(used, capacity_), stream);
  launch(kernels.put_back, std::min<uint64_t>(used, capacity_), stream);
}

void FirstRows::launch(Function kernel, uint64_t threads, Stream stream) const {
  const auto blocks = static_cast<unsigned>(std::max<uint64_t>((threads + TB_FIRST_THREADS - 1) / TB_FIRST_THREADS, 1));
  DevicePtr arguments = arguments_.device();
  void* parameters[] = {&arguments};
  driver_.check(driver_.launch_kernel(kernel, blocks, 1u, 1u, static_cast<unsigned>(TB_FIRST_THREADS), 1u, 1u, 0u,
                                      stream, static_cast<void**>(parameters), static_cast<void**>(nullptr)));
}

}  // namespace turbine::cuda
