/*
 * interpreter.h - runs a kernel of PTX on the host.
 *
 * A thread of the host runs a whole launch. Several blocks are under way at a time, and their warps take turns, so that
 * a block may wait for another one. Which warp is next, and for how long, follows from a seed: another seed finds other
 * races. For tests only.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/cuda/testing/ptx/program.h"
#include "engine/device/cuda/testing/ptx/warp.h"

namespace turbine::ptx {

struct Launch {
  const Program* program = nullptr;
  const Function* kernel = nullptr;
  uint32_t blocks = 1, threads = 1;  // threads of a block
  uint64_t shared_bytes = 0;         // beside the kernel's own
  const void* parameters = nullptr;  // as the kernel declares them
  std::vector<Range> memory;         // that it may access beside its module's; sorted by begin
  uint32_t blocks_at_once = 4;
  uint32_t seed = 1;
};

struct LaunchCounts {
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0;
};

/* Throws LaunchFault for what would be an error of the kernel: an access outside of memory, a trap, lanes or threads
 * that wait for each other for ever. */
LaunchCounts run_launch(const Launch& launch);

}  // namespace turbine::ptx
