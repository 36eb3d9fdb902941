/*
 * radix_kernels.h - arguments of the kernels that sort packed keys on a GPU; C and C++.
 *
 * A row's key is up to TB_SORT_MOST_WORDS words of 32 bits, word 0 the most
 * significant. Each word has an array of its own in device memory, as have the rows'
 * numbers. Counted in tb_sort_count, moved pass by pass in tb_sort_pass, compared in
 * tb_sort_agree.
 */
#ifndef TURBINE_ENGINE_DEVICE_CUDA_SORT_RADIX_KERNELS_H
#define TURBINE_ENGINE_DEVICE_CUDA_SORT_RADIX_KERNELS_H

#include <stdint.h>

#define TB_SORT_MOST_WORDS 4
#define TB_SORT_DIGIT_BITS 8
#define TB_SORT_BINS 256 /* values of a digit; also threads of a block */
#define TB_SORT_WORD_DIGITS 4
#define TB_SORT_MOST_DIGITS (TB_SORT_MOST_WORDS * TB_SORT_WORD_DIGITS)
#define TB_SORT_THREADS 256
#define TB_SORT_WARP 32
#define TB_SORT_WARPS (TB_SORT_THREADS / TB_SORT_WARP)
#define TB_SORT_ITEMS 16 /* rows of a thread */
#define TB_SORT_TILE (TB_SORT_THREADS * TB_SORT_ITEMS)
#define TB_SORT_MOST_ROWS (1u << 30)

/* What a tile has told of a digit's value: how many rows it has itself, or how many
 * it and all tiles before it have. 0: nothing yet. */
#define TB_SORT_OWN (1u << 30)
#define TB_SORT_SUM (1u << 31)
#define TB_SORT_COUNT (TB_SORT_OWN - 1)

/* Looks at an earlier tile that has told nothing yet, which is a matter of microseconds: these take seconds. */
#ifndef TB_SORT_PATIENCE /* tests have less */
#define TB_SORT_PATIENCE (1u << 22)
#endif

typedef struct TbSortCount {
  const uint32_t* words[TB_SORT_MOST_WORDS];
  uint32_t nrows;
  uint32_t nwords;
        /* Rows by digit and its value. Digit d is bits 8 * (d % 4) of word d / 4. 0 at first. */
  uint32_t counts[TB_SORT_MOST_DIGITS][TB_SORT_BINS];
} TbSortCount;

typedef struct TbSortPass {
        /* Arrays that are moved; the first is the word that has the digit. */
  const uint32_t* from[TB_SORT_MOST_WORDS + 1];
  uint32_t* to[TB_SORT_MOST_WORDS + 1]; /* null: need not be kept */
  uint32_t* tiles;      /* TB_SORT_BINS a tile, 0 at first */
  uint32_t nrows;
  uint32_t narrays;
  uint32_t shift;      /* of the digit in its word */
  uint32_t numbers; /* the array that has the rows' numbers, if these are their places yet */
  uint32_t next_tile;     /* 0 at first */
  uint32_t failed;     /* out; starts as 0: a tile has waited in vain, and the order means nothing */
  uint32_t starts[TB_SORT_BINS];  /* where rows with a value begin */
} TbSortPass;

typedef struct TbSortAgree {
  const uint32_t* words[TB_SORT_MOST_WORDS];
  uint8_t* agree;   /* a byte a row; of row 0 it is 0 */
  uint32_t nrows;
  uint32_t nwords;
  uint32_t nkeys;   /* what rows with equal words agree in */
  uint32_t reserved;  /* 0 */
  uint8_t key_of_bit[TB_SORT_MOST_WORDS * 32]; /* from the most significant on */
} TbSortAgree;

#endif
