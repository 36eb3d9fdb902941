/*
 * row_places.h - how a kernel finds the rows of a task and their values, in plain C; for tests only.
 *
 * The generated kernels do the same, a block for each run (compiler/codegen/gpu_kernel.cc). Shared by
 * fake_kernels.h and gpu_kernels.c.
 */
#pragma once

#include "turbine/kernel.h"

/* The number of row i of the task. */
static inline uint32_t tb_test_row_number(const TbPipelineArgs* args, uint32_t i) {
  uint64_t low = 0, high = args->nruns;

  if (!args->runs) return i;
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;

    if (args->runs[middle].to <= i)
      low = middle;
    else
      high = middle;
  }
  return args->runs[low].stretch << TB_STRETCH_SHIFT | (args->runs[low].first + i - args->runs[low].to);
}

/* The element of a row of the stretch, of at most 8 bytes, read as TbColumnPlace says. */
static inline uint64_t tb_test_element(const TbColumnPlace* place, uint32_t row) {
  uint64_t offset = (uint64_t)row << place->codes.shift;
  uint64_t word = *(const uint64_t*)((const uint8_t*)place->data.values + (offset & ~(uint64_t)7));

  return ((word >> 8 * (offset & 7)) & place->codes.mask) + (uint64_t)place->codes.base;
}

/* The value of column 0, the only one, by the row's number. */
static inline int32_t tb_test_int4(const TbPipelineArgs* args, uint32_t number) {
  return (int32_t)tb_test_element(&args->places[number >> TB_STRETCH_SHIFT], number & (TB_STRETCH_ROWS - 1));
}

/* Is that value there, in a nullable column? */
static inline int tb_test_valid(const TbPipelineArgs* args, uint32_t number) {
  const TbColumnPlace* place = &args->places[number >> TB_STRETCH_SHIFT];

  return place->data.valid[number & (TB_STRETCH_ROWS - 1) & place->codes.valid_mask] != 0;
}
