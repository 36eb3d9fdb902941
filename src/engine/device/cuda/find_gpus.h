/*
 * find_gpus.h - the GPUs of this machine. Called once, when turbined starts.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/cuda/driver/driver_api.h"
#include "engine/device/device.h"

namespace turbine {

/* Every usable GPU, in the driver's order. Never throws: with no driver, no GPU,
 * or a driver too old, the result is empty and why_none says why; a GPU that
 * cannot be used is left out. `memory_budget`: device bytes a GPU that queries
 * may use together; 0 = 85 % of what is free now. `cache_size`: of these, what columns of tables
 * are kept in. */
std::vector<std::unique_ptr<Device>> find_gpus(std::string* why_none, uint64_t memory_budget = 0,
                                               uint64_t cache_size = kUsualGpuCache) noexcept;

/* The same through a given driver, for tests. */
std::vector<std::unique_ptr<Device>> find_gpus(const cuda::DriverFunctions& table, std::string* why_none,
                                               uint64_t memory_budget, uint64_t cache_size = 0) noexcept;

}  // namespace turbine
