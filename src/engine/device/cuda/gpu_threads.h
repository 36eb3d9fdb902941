/*
 * gpu_threads.h - what a kernel written in C asks of the GPU: who it is, barriers, the exchange
 * of values within a warp, and atomic steps on device memory, which order nothing else.
 *
 * All lanes of a warp must come to the same exchange, and all threads of a block to the
 * same barrier. On the host these are functions of testing/block_threads.cc, which runs
 * the threads one at a time and checks just that.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_GPU_THREADS_H
#define TURBINE_ENGINE_DEVICE_CUDA_GPU_THREADS_H

#include <stdint.h>

#include "turbine/kernel.h"

#ifdef __NVPTX__

#define TB_KERNEL __attribute__((nvptx_kernel)) void
#define TB_UNROLL _Pragma("unroll")
/* Defines block_memory, which a block's threads share. */
#define TB_BLOCK_MEMORY(type) static type block_memory __attribute__((address_space(3), loader_uninitialized))

#define TB_ALL_LANES 0xffffffffu

static inline uint32_t tb_thread(void) { return __nvvm_read_ptx_sreg_tid_x(); }
static inline uint32_t tb_block(void) { return __nvvm_read_ptx_sreg_ctaid_x(); }
static inline uint32_t tb_blocks(void) { return __nvvm_read_ptx_sreg_nctaid_x(); }
static inline void tb_block_barrier(void) { __syncthreads(); }
static inline void tb_warp_barrier(void) { __nvvm_bar_warp_sync(TB_ALL_LANES); }
/* Called by who waits for another block. */
static inline void tb_wait_a_little(void) {}
/* The lanes that have the same value. */
static inline uint32_t tb_match_any(uint32_t value) { return __nvvm_match_any_sync_i32(TB_ALL_LANES, value); }
/* The lanes for which it is not 0. */
static inline uint32_t tb_ballot(uint32_t value) { return __nvvm_vote_ballot_sync(TB_ALL_LANES, value != 0); }
/* The value of the lane `by` before; its own where there is none. */
static inline uint32_t tb_shuffle_up(uint32_t value, uint32_t by) {
  return (uint32_t)__nvvm_shfl_sync_up_i32(TB_ALL_LANES, (int)value, (int)by, 0);
}
static inline uint32_t tb_shuffle(uint32_t value, uint32_t lane) {
  return (uint32_t)__nvvm_shfl_sync_idx_i32(TB_ALL_LANES, (int)value, (int)lane, 31);
}
static inline uint32_t tb_clock(void) { return (uint32_t)__nvvm_read_ptx_sreg_clock(); }
static inline void tb_atomic_min(int64_t* word, int64_t value) { __atomic_fetch_min(word, value, __ATOMIC_RELAXED); }
static inline void tb_atomic_max(int64_t* word, int64_t value) { __atomic_fetch_max(word, value, __ATOMIC_RELAXED); }

#else

#define TB_KERNEL void
#define TB_UNROLL
/* That of the block whose thread is running. */
#define TB_BLOCK_MEMORY(type)                \
  enum { kBlockMemoryBytes = sizeof(type) }; \
  static inline type* tb_typed_memory(void) { return (type*)tb_memory_of_block(); }
#define block_memory (*tb_typed_memory())

uint32_t tb_thread(void);
uint32_t tb_block(void);
uint32_t tb_blocks(void);
void tb_block_barrier(void);
void tb_warp_barrier(void);
void tb_wait_a_little(void);
uint32_t tb_match_any(uint32_t value);
uint32_t tb_ballot(uint32_t value);
uint32_t tb_shuffle_up(uint32_t value, uint32_t by);
uint32_t tb_shuffle(uint32_t value, uint32_t lane);
void* tb_memory_of_block(void);

/* Long ago. */
static inline uint32_t tb_clock(void) { return 0; }
/* Threads take turns. */
static inline void tb_atomic_min(int64_t* word, int64_t value) { *word = value < *word ? value : *word; }
static inline void tb_atomic_max(int64_t* word, int64_t value) { *word = value > *word ? value : *word; }

#endif

/* Is the query of a kernel that started at `started` (tb_clock) over? */
static inline uint32_t tb_stop_wanted(const uint32_t* stop, uint32_t started) {
#ifdef __NVPTX__
  if (tb_clock() - started < TB_STOP_PATIENCE) return 0;
#else
  (void)started;
#endif
  return stop != 0 && *(const volatile uint32_t*)stop != 0;
}

/* The value before. */
static inline uint32_t tb_atomic_or(uint32_t* word, uint32_t bits) {
  return __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}
static inline uint32_t tb_atomic_exchange(uint32_t* word, uint32_t value) {
  return __atomic_exchange_n(word, value, __ATOMIC_RELAXED);
}
static inline uint32_t tb_atomic_add(uint32_t* word, uint32_t value) {
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}
/* Only if it is `expected`. */
static inline uint32_t tb_atomic_replace_word(uint32_t* word, uint32_t expected, uint32_t value) {
  __atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
static inline uint64_t tb_atomic_replace(uint64_t* word, uint64_t expected, uint64_t value) {
  __atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
static inline uint32_t tb_atomic_load(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline uint64_t tb_atomic_load_wide(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

#endif
