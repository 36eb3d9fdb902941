/* sandbox.h - what a process with user code in it may not do: take all memory, start others. */
#pragma once

#include <cstdint>

namespace turbine {

void offer_to_oom_killer();

/* Private memory that it can write to. Reserved addresses, of which CUDA takes many, do not count. */
void limit_memory(uint64_t megabytes);

/*
 * Limits memory, and has the kernel end this process by SIGSYS when it starts another one. CUDA's driver is made ready
 * before that: it may start a program that makes device files.
 */
void enter_sandbox(uint64_t megabytes);

}  // namespace turbine
