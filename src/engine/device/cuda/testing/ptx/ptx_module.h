/*
 * ptx_module.h - modules of PTX for a fake driver, whose kernels are interpreted.
 */
#pragma once

#include "engine/device/cuda/testing/kernel_module.h"

namespace turbine::ptx {

/* Blocks that are under way at a time, and the seed of who is next (interpreter.h). What goes wrong in a kernel, or is
 * unknown in PTX, is told. */
cuda::testing::ModuleLoader ptx_modules(uint32_t blocks_at_once, uint32_t seed);

/* A line for who runs the tests: to stderr behind "stand-in driver:", and to the file that TURBINE_STAND_IN_REPORT
 * names. The second one to that file alone. */
void tell(const std::string& line);
void tell_file(const std::string& line);

}  // namespace turbine::ptx
