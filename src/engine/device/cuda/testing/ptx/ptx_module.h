/*
 * ptx_module.h - modules of PTX for a fake driver, whose kernels are interpreted.
 */
#pragma once

#include "engine/device/cuda/testing/kernel_module.h"

namespace turbine::ptx {

/* Blocks that are under way at a time, and the seed of who is next (interpreter.h). What goes wrong in a kernel is
 * also written to stderr, behind "stand-in driver:". */
cuda::testing::ModuleLoader ptx_modules(uint32_t blocks_at_once, uint32_t seed);

}  // namespace turbine::ptx
