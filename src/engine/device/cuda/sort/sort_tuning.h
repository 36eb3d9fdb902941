/*
 * sort_tuning.h - when and how results are sorted on a GPU: numbers that were measured, or
 * are still to be, and what they depend on.
 */
#pragma once

#include <cstdint>

namespace turbine::cuda {

/* The host sorts some 10 million rows a second and thread (157 million bigints on 16 threads:
 * turbine_sort_bench). A GPU's sort (one H100, 16 threads) takes 0.5 to 0.7 ms for 32 K rows and 1.0 for 100 K, where
 * the host takes 1.2 to 1.5 and 2.5, and 1.7 ns a row from there on, a quarter of the host's time. */
inline constexpr uint64_t kSortRowsPerThread = 4 << 10;
/* Below that many not even one thread is slower. */
inline constexpr uint64_t kLeastSortRows = 64 << 10;

/* Blocks of threads for each multiprocessor, in kernels whose grid may be any. */
inline constexpr unsigned kCountBlocks = 8;
inline constexpr unsigned kAgreeBlocks = 8;

/* Registers of a thread: with 80, three blocks of a pass fit a multiprocessor of sm_90 (ptxas:
 * 124 if it may, then two; 40 bytes are spilled). */
inline constexpr unsigned kSortRegisters = 80;

}  // namespace turbine::cuda
