/*
 * bring_rows.h - rows that have stayed on a GPU come to the host after all.
 */
#pragma once

#include "engine/device/cuda/memory/device_rows.h"
#include "engine/device/cuda/memory/projected_rows.h"

namespace turbine::cuda {

/* What it uses; all must outlive the call. */
struct BringResources {
  CudaContext& context;
  const Driver& driver;
  Stream stream;
};

/* Appends all rows of `from`, which have no keys, to those of the host, and waits. Returns the bytes that have crossed
 * the bus. The context must be current. Throws DeviceError; then some rows may be there twice. */
uint64_t bring_to_host(const DeviceRows& from, ProjectedRows& to, const BringResources& resources);

}  // namespace turbine::cuda
