/*
 * nvtx.h - ranges for NVIDIA's profilers (Nsight Systems, Nsight Compute).
 *
 * A profiler that starts turbined names a library of its own in the environment
 * (NVTX_INJECTION64_PATH). It is loaded at the first use, once a process, and fills
 * in the functions below; without it they are never called. The interface is that of
 * NVTX version 3, declared here so that no CUDA package is needed to build.
 */
#pragma once

#include "turbine/profile.h"

namespace turbine::nvtx {

/* Is a profiler listening? */
bool enabled();

/* A range of the calling thread, from push() to pop(); they nest. Only if enabled(). */
void push(TbSpanKind kind);
void pop();

}  // namespace turbine::nvtx
