/*
 * table_kernels.h - arguments of the kernels that build a join table on a GPU; C and C++.
 *
 * The rows come in parts, each a block of columns. All kernels take one TbTableBuild, which the
 * host completes from step to step: bounds of the keys; which keys there are, where they are narrow
 * enough; then the columns at their places, and the buckets.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_BUILD_TABLE_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_BUILD_TABLE_KERNELS_H

#include "turbine/kernel.h"

#define TB_BUILD_THREADS 256
#define TB_BUILD_WARPS (TB_BUILD_THREADS / 32)
/* Rows that a block takes at a time, all of one part; and rank words. */
#define TB_BUILD_TILE 1024
#define TB_BUILD_MOST_BOUNDS 4

typedef struct TbBuildPart {
  const TbColumnData* columns; /* keys, then outputs */
  const uint64_t* hashes;  /* null: there are no keys */
  uint64_t nrows;  /* at least one */
  uint64_t first_row; /* its first row's number among all */
  uint64_t first_tile; /* its first tile's, likewise */
  uint64_t text;  /* where its text begins in the table's */
} TbBuildPart;

typedef struct TbBuildColumn {
  uint64_t values; /* offsets in the table, as TbJoinTable's; 0: not kept */
  uint64_t valid;
  uint32_t width;
  uint8_t is_text;
  uint8_t is_integer; /* key */
  uint8_t nullable;
  uint8_t reserved;
} TbBuildColumn;

typedef struct TbBuildBounds {
  int64_t min, max; /* start as the largest and the smallest value */
} TbBuildBounds;

typedef struct TbTableBuild {
  const TbBuildPart* parts;
  const TbBuildColumn* columns;
  uint64_t nparts;
  uint64_t ntiles;
  uint32_t ncolumns;
  uint32_t nkeys;
  uint32_t nbounds;    /* keys whose bounds are asked for */
  uint32_t keeps_null_keys;
        /* Which values of the one integer key there are, from key_min on. */
  int64_t key_min;
  TbRankWord* words;  /* 0 at first */
  uint32_t* tile_sums; /* one for TB_BUILD_TILE words */
  uint64_t nwords;
        /* The table, zero but for its header, and its chains. */
  TbJoinTable* table;
  uint32_t* next;
        /* out; start as 0 */
  TbBuildBounds bounds[TB_BUILD_MOST_BOUNDS];
  uint32_t null_keys;  /* some row has a NULL key */
  uint32_t duplicates; /* tb_table_mark: some rows have the same key */
  uint32_t chained; /* tb_table_buckets: likewise */
  uint32_t reserved;
        /* In the host's memory: not 0 once nobody wants the table any more. */
  const uint32_t* stop;
} TbTableBuild;

#endif
