/*
 * key_kernels.h - arguments of the kernels that pack the sort keys of rows in a GPU's memory; C and C++.
 *
 * Values are compared as unsigned integers of the same order, as the host's are (result/order/ordered_value.h,
 * key_packing.h). All addresses are of device memory.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_WINDOW_KEY_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_WINDOW_KEY_KERNELS_H

#include <stdint.h>

#include "turbine/types.h"

#define TB_KEY_THREADS 256
#define TB_KEY_MOST_KEYS 8
#define TB_KEY_MOST_FIELDS 32
#define TB_KEY_MOST_WORDS 4

typedef struct TbKeyColumn {
  const uint8_t* values;
  const uint8_t* valid; /* null: no NULLs */
  uint32_t type;        /* TbType, not of texts */
  uint32_t reserved;    /* 0 */
} TbKeyColumn;

typedef struct TbKeyRange {
  unsigned __int128 least, greatest; /* of values, if there are any */
  uint32_t nulls, values;            /* there are some */
  uint64_t reserved;                 /* 0 */
} TbKeyRange;

typedef struct TbKeyRanges {
  TbKeyColumn keys[TB_KEY_MOST_KEYS];
  TbKeyRange* ranges; /* of block b and key k at b * nkeys + k */
  uint32_t nkeys;
  uint32_t nrows;
  uint32_t nblocks; /* of the grid */
  uint32_t reserved; /* 0 */
} TbKeyRanges;

typedef enum TbKeyPart {
  TB_KEY_NOT_NULL = 1, /* a bit: 1 sorts last */
  TB_KEY_HIGH,         /* of the distance from the least value: what lies above 64 bits */
  TB_KEY_LOW
} TbKeyPart;

typedef struct TbKeyField {
  TbKeyColumn column;
  unsigned __int128 least, greatest;
  uint32_t part;        /* TbKeyPart */
  uint32_t shift;       /* of its least significant bit, in 128 */
  uint32_t descending;  /* the distance is from the greatest value */
  uint32_t nulls_first;
} TbKeyField;

typedef struct TbKeyPack {
  TbKeyField fields[TB_KEY_MOST_FIELDS];
  uint32_t* words[TB_KEY_MOST_WORDS]; /* the most significant first; null from `nwords` on */
  uint32_t nfields;
  uint32_t nwords;
  uint32_t nrows;
  uint32_t reserved; /* 0 */
} TbKeyPack;

/* A column's values in another order. */
typedef struct TbGather {
  const uint8_t* values;
  const uint8_t* valid; /* null: no NULLs */
  const uint32_t* rows;
  uint8_t* to_values;
  uint8_t* to_valid;
  uint32_t width;
  uint32_t nrows;
} TbGather;

#endif
