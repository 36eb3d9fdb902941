/*
 * block_sum.h - sums over the threads of a block, for kernels written in C.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_BLOCK_SUM_H
#define TURBINE_ENGINE_DEVICE_CUDA_BLOCK_SUM_H

#include "engine/device/cuda/gpu_threads.h"

/* The sum of the values of the threads before, and of all in *total. Two barriers; warp_sums is a word a warp
 * of the block's memory, of this alone. */
static inline uint32_t tb_sum_of_threads_before(uint32_t* warp_sums, uint32_t warps, uint32_t value, uint32_t* total) {
  const uint32_t lane = tb_thread() % 32, warp = tb_thread() / 32;
  uint32_t sum = value, before = 0, all = 0;

  TB_UNROLL
  for (uint32_t by = 1; by < 32; by *= 2) {
    const uint32_t other = tb_shuffle_up(sum, by);
    sum += lane >= by ? other : 0;
  }
  if (lane == 31) warp_sums[warp] = sum;
  tb_block_barrier();
  TB_UNROLL
  for (uint32_t w = 0; w < warps; w++) {
    before += w < warp ? warp_sums[w] : 0;
    all += warp_sums[w];
  }
  tb_block_barrier();
  *total = all;
  return before + sum - value;
}

#endif
