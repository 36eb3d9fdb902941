/*
 * alignment.h - alignment of arrays that lie one behind another in one block of memory.
 */
#pragma once

#include <cstdint>

namespace turbine {

// Arrays in host memory: a cache line, and the widest load of generated code.
constexpr uint64_t kHostAlignment = 64;
// Arrays in device memory: as the driver aligns what it allocates.
constexpr uint64_t kDeviceAlignment = 256;

// The least multiple of the alignment that is not less than `bytes`.
constexpr uint64_t host_aligned(uint64_t bytes) { return (bytes + kHostAlignment - 1) & ~(kHostAlignment - 1); }
constexpr uint64_t device_aligned(uint64_t bytes) { return (bytes + kDeviceAlignment - 1) & ~(kDeviceAlignment - 1); }

}  // namespace turbine
