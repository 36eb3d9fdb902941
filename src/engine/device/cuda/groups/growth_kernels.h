/*
 * growth_kernels.h - what the kernel that moves groups to a larger table is told.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_GROUPS_GROWTH_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_GROUPS_GROWTH_KERNELS_H

#include <stdint.h>

#define TB_GROWTH_THREADS 256 /* of a block */

/* All addresses are the device's. */
typedef struct TbGroupGrowth {
  const uint32_t* old_buckets;
  const uint8_t* old_rows;
  uint64_t old_bucket_count;
  uint64_t old_capacity; /* a bucket with a larger number is none */
  uint32_t* buckets;   /* all 0, more than twice the groups */
  uint8_t* rows;
  uint64_t bucket_mask;
  uint32_t row_size; /* a multiple of 8 */
  uint32_t ngroups;  /* out; 0 at first */
} TbGroupGrowth;

#endif
