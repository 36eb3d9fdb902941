/*
 * device_table_build.h - makes a join table of rows that lie in a GPU's memory, there, and brings
 * it to the host, whose table it is.
 */
#pragma once

#include <memory>

#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/cuda/memory/device_rows.h"
#include "engine/device/cuda/memory/stop_word.h"
#include "engine/device/join_table.h"
#include "engine/threads/parallel_work.h"

namespace turbine::cuda {

struct BuiltTable {
  std::shared_ptr<const JoinTable> table;
  std::shared_ptr<const Block> copy;  // the same bytes on the device
  uint64_t bytes_copied;              // to the host
};

/* What a build uses; all must outlive it. */
struct TableBuildResources {
  CudaContext& context;
  const TableKernels kernels;
  const Driver& driver;
  MemoryAccount& account;       // the query's
  uint64_t room_for_copy;       // a copy of at most so many bytes is not the query's, and may stay
  MemoryBudget& host_memory;
  Stream stream;
  const StopWord& stop;         // set if `work` finds that the query was closed
  ParallelWork& work;
};

/* Takes the parts, whose copies may still be in flight on the same stream. The context must be current. Throws
 * DeviceError; then nothing is in flight. */
BuiltTable build_table(DeviceRows& parts, const TableBuildResources& resources);

}  // namespace turbine::cuda
