/*
 * first_kernels.h - arguments of the kernels that drop rows of a PROJECT which surely are not among the first rows of
 * an order; C and C++. All addresses are of device memory.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_SORT_FIRST_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_SORT_FIRST_KERNELS_H

#include <stdint.h>

#include "turbine/kernel.h"

#define TB_FIRST_THREADS 256

/* The rows that one launch of tb_project has left in a store. Four kernels, one after the other:
 *   tb_first_groups   each thread's rows belong to one of `ngroups` groups; best[] learns of them
 *   tb_first_take     lists the rows that do not come after the bound, the worst of best[]
 *   tb_first_gather   copies them to `scratch`, if there are no more than `capacity`
 *   tb_first_return   and from there to the front of the store's columns, which then has no others
 * Groups have no row in common. So there are as many rows as groups which do not come after the bound. */
typedef struct TbFirstRows {
  TbRowStore* store;
  int64_t* best; /* of each group: the least rank that any launch has seen; INT64_MAX: none */
  uint32_t ngroups;     /* rows that are wanted */
  uint32_t first_group; /* of the first thread */
  uint32_t key;         /* column of the store: an integer of 2, 4 or 8 bytes */
  uint32_t key_width;
  uint32_t descending;
  uint32_t nulls_first;
  uint32_t ncolumns; /* of the store */
  uint32_t capacity; /* a multiple of 16 */
  uint32_t* taken;   /* numbers of rows: capacity */
  uint8_t* scratch;  /* for each column capacity * (width + 1) bytes */
  uint32_t ntaken;   /* starts as 0 */
  uint32_t reserved;
  uint8_t widths[TB_MAX_OUTPUTS]; /* of the columns' values */
} TbFirstRows;

#endif
