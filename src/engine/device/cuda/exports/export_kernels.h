/*
 * export_kernels.h - arguments of the kernels that make columns for other processes of rows that a query has left on a
 * GPU; C and C++. All addresses are of device memory.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_EXPORTS_EXPORT_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_EXPORTS_EXPORT_KERNELS_H

#include <stdint.h>

#include "turbine/kernel.h"

#define TB_EXPORT_THREADS 256

/* Every row of a task is a tuple, in the order of its rows: instead of tb_probe, which appends them as they come. */
typedef struct TbExportOrder {
  TbPipelineArgs* pipeline; /* its tuples are written, and how many they are */
  const TbRowRun* runs;
  uint32_t nruns;
  uint32_t nrows; /* of all runs */
} TbExportOrder;

/* What a stored value becomes. */
typedef enum TbExportStep {
  TB_EXPORT_COPY = 1,
  TB_EXPORT_WIDEN,    /* an integer of 8 bytes to one of 16 */
  TB_EXPORT_DATE,     /* days since 2000 to days since 1970; infinite ones are an error */
  TB_EXPORT_TIME_POINT /* likewise of microseconds; so are those that do not fit */
} TbExportStep;

/* A column's values in one range of rows. */
typedef struct TbExportValues {
  const uint8_t* from;
  const uint8_t* valid; /* null: no NULLs; NULL becomes 0 */
  uint8_t* to;
  uint64_t nrows;
  uint32_t step;
  uint32_t width; /* of a value in `from`: 1, 2, 4, 8, 16 */
  uint32_t error; /* |= 1 */
  uint32_t reserved;
} TbExportValues;

/* A bit for each byte of a range that is not 0, from bit `first` on. The bits are 0 before, and whole words are there.
 */
typedef struct TbExportBits {
  const uint8_t* flags;
  uint32_t* bits;
  uint64_t first;
  uint64_t nrows;
  uint64_t zeros; /* bytes that are 0; += */
} TbExportBits;

#endif
