/*
 * device_columns.h - makes columns that other processes may open of rows that have stayed on a GPU.
 *
 * The rows lie in parts, as they came from the query's lanes. Kernels put each part where its rows belong.
 */
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/cuda/memory/device_rows.h"
#include "engine/device/exported_memory.h"
#include "engine/device/table_order.h"
#include "turbine/wire.h"

namespace turbine::cuda {

/* What making them uses; all must outlive the call. */
struct ColumnResources {
  std::shared_ptr<CudaContext> context;
  const Driver& driver;
  ExportKernels kernels;
  MemoryAccount& account;
  Stream stream;
};

/* Whether values of a column become that format on the device. */
bool becomes(const KeptColumn& column, uint32_t format);

/* Of the rows' columns those that are asked for, in memory of their own, and waits. `order`: where parts belong, each
 * the rows of a chunk; null: as they came. The context must be current. Throws DeviceError: VALUE if a value has no
 * form outside of PostgreSQL. */
std::vector<DeviceColumn> make_columns(const DeviceRows& rows, const TableOrder* order,
                                       std::span<const TbColumnLeft> asked, const ColumnResources& resources);

}  // namespace turbine::cuda
