/*
 * window_kernels.h - arguments of the kernels that compute window functions on a GPU; C and C++.
 *
 * Rows have numbers, and places in the order. What is known of places comes from scans,
 * each of three kernels: a tile's total, what is before each tile, and then a value a place.
 * Frames are two places, so sums are differences of sums from the first place on. All addresses
 * are of device memory.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_WINDOW_WINDOW_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_WINDOW_WINDOW_KERNELS_H

#include <stdint.h>

#include "turbine/result.h"

#define TB_SCAN_THREADS 256
#define TB_SCAN_ITEMS 8 /* places of a thread */
#define TB_SCAN_TILE (TB_SCAN_THREADS * TB_SCAN_ITEMS)
#define TB_WINDOW_MOST_CALLS 8
#define TB_WINDOW_MOST_CONDITIONS 8

/* What rows agree in, and where they lie. */
typedef struct TbWindowOrder {
  const uint32_t* rows;  /* by place; null: row i is at place i */
  const uint8_t* agree;  /* by place: keys in common with the row before; null: nkeys */
  uint32_t nrows;
  uint32_t npartition;
  uint32_t nkeys;
  uint32_t reserved; /* 0 */
} TbWindowOrder;

/* By rows' numbers. */
typedef struct TbWindowColumn {
  const uint8_t* values; /* null: there is none */
  const uint8_t* valid;  /* null: no NULLs */
  uint64_t width;
} TbWindowColumn;

/* What a scan adds up. */
typedef enum TbWindowScanKind {
  TB_SCAN_BOUNDS = 1, /* places where partitions and peers begin */
  TB_SCAN_SUM,        /* values, and how many there are */
  TB_SCAN_LEAST,      /* of a partition, so far */
  TB_SCAN_GREATEST,
  TB_SCAN_PASSING
} TbWindowScanKind;

typedef struct TbWindowTotal {
  __int128 sum;    /* BOUNDS: partitions in the upper half of 64 bits, peers in the lower; or the best value */
  uint32_t count;  /* of values */
  uint32_t begins; /* LEAST, GREATEST: a partition begins within */
  uint64_t reserved; /* 0 */
} TbWindowTotal;

typedef struct TbWindowScan {
  TbWindowOrder order;
  TbWindowColumn value;  /* SUM, LEAST, GREATEST */
  TbWindowColumn filter;
  const uint8_t* passing; /* PASSING: by place */
  TbWindowTotal* tiles;
  uint32_t kind;
  uint32_t ntiles;
        /* By place, each place itself included. BOUNDS: partitions and peers, from 0 on, in
   * the halves of 64 bits; and by their numbers where they begin, with one behind
   * the last. */
  uint64_t* bounds;
  uint32_t* partition_starts;
  uint32_t* peer_starts;
  __int128* sums;
  int64_t* best;
  uint32_t* counts; /* may be null */
} TbWindowScan;

typedef struct TbWindowFunctionCall {
  TbWindowFunction function;
  TbWindowColumn arg;
  TbWindowColumn other;
  const __int128* sums;   /* SUM */
  const int64_t* best;    /* MIN, MAX */
  const uint32_t* counts; /* of values so far; null: every row counts */
  uint8_t* values;        /* of the call, 16-byte aligned */
  uint8_t* valid;         /* null: there is always one */
  uint32_t width;
  uint32_t reserved; /* 0 */
} TbWindowFunctionCall;

typedef struct TbWindowEmit {
  TbWindowOrder order;
  TbWindowPass pass;
  const uint64_t* bounds;
  const uint32_t* partition_starts;
  const uint32_t* peer_starts;
  uint8_t* passing; /* by place, with conditions */
  uint32_t ncalls;
  uint32_t nconditions;
  uint32_t overflow; /* set: a sum does not fit its type */
  uint32_t by_place; /* values are written by place, as always with conditions; 0: by number */
  TbWindowFunctionCall calls[TB_WINDOW_MOST_CALLS];
  TbResultCondition conditions[TB_WINDOW_MOST_CONDITIONS];
} TbWindowEmit;

typedef struct TbWindowTake {
  TbWindowOrder order;
  const uint8_t* passing;
  const uint32_t* counts; /* of passing places so far */
  uint32_t* rows;         /* of those that pass, in order */
  uint32_t ncalls;
  uint32_t reserved; /* 0 */
  TbWindowColumn from[TB_WINDOW_MOST_CALLS];
  uint8_t* values[TB_WINDOW_MOST_CALLS];
  uint8_t* valid[TB_WINDOW_MOST_CALLS]; /* null: as of `from` */
} TbWindowTake;

#endif
