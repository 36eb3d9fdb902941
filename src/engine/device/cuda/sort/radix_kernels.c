/*
 * radix_kernels.c - sorts packed keys on a GPU: a radix sort from the least significant
 * digit on. Each pass reads and writes every row once.
 *
 * tb_sort_count counts the values of all digits at once. A pass is left out if its digit
 * is the same in all rows. A block of tb_sort_pass takes a tile of rows, orders it in
 * shared memory, and learns from the tiles before it where its rows go. For each value of
 * the digit, a tile first tells how many rows it has itself, then how many there are up
 * to its end. A later tile goes backwards and adds up what it reads, until it meets such
 * a sum. Tiles are taken in order, so a block waits only for blocks that run. If it waits
 * in vain, it says so, and all blocks end. Rows with equal keys keep their order.
 *
 * Compiled to PTX with the engine (embedded_kernels.cc), and for the host by
 * testing/radix_on_host.cc. Must never write outside of [0, nrows), whatever keys are.
 */
#include "engine/device/cuda/sort/radix_kernels.h"

#include "engine/device/cuda/block_sum.h"

typedef struct SortShared
{
	/* Rows of a warp by the digit's value; then where they begin in the tile's order. */
	uint32_t counts[TB_SORT_WARPS][TB_SORT_BINS];
	uint32_t exchange[TB_SORT_TILE];
	/* What is added to a row's place in the tile's order: its place among all rows. */
	uint32_t base[TB_SORT_BINS];
	uint32_t warp_sums[TB_SORT_WARPS];
	uint32_t tile;
	uint32_t failed;
} SortShared;

TB_BLOCK_MEMORY(SortShared);

static inline uint32_t
lane_of(uint32_t thread)
{
	return thread % TB_SORT_WARP;
}

static inline uint32_t
digit_of(uint32_t word, uint32_t shift)
{
	return word >> shift & (TB_SORT_BINS - 1);
}

/* Grid: any. The exchange memory holds the block's counts. */
TB_KERNEL
tb_sort_count(TbSortCount *args)
{
	const uint32_t thread = tb_thread(), lane = lane_of(thread), nrows = args->nrows;
	const uint32_t used = args->nwords * TB_SORT_WORD_DIGITS * TB_SORT_BINS;

	for (uint32_t i = thread; i < used; i += TB_SORT_THREADS)
		block_memory.exchange[i] = 0;
	tb_block_barrier();

	/* 64 bits: the last step may go beyond 32. Whole warps go round together. */
	for (uint64_t first = (uint64_t) tb_block() * TB_SORT_THREADS; first < nrows;
		 first += (uint64_t) tb_blocks() * TB_SORT_THREADS)
	{
		const uint64_t row = first + thread;
		const uint32_t alive = tb_ballot(row < nrows);

		for (uint32_t w = 0; w < args->nwords; w++)
		{
			const uint32_t word = row < nrows ? args->words[w][row] : 0;

			TB_UNROLL
			for (uint32_t d = 0; d < TB_SORT_WORD_DIGITS; d++)
			{
				const uint32_t digit = digit_of(word, d * TB_SORT_DIGIT_BITS);
				const uint32_t first_digit = tb_shuffle(digit, 0);
				uint32_t	  *bin = (uint32_t *) &block_memory
									.exchange[(w * TB_SORT_WORD_DIGITS + d) * TB_SORT_BINS];

				/* Atomics of one address wait for each other: where a warp has one value,
				 * one does. */
				if (tb_ballot(row < nrows && digit != first_digit) != 0)
				{
					if (row < nrows)
						__atomic_fetch_add(&bin[digit], 1, __ATOMIC_RELAXED);
				}
				else if (lane == 0 && alive != 0)
					__atomic_fetch_add(&bin[digit], (uint32_t) __builtin_popcount(alive),
									   __ATOMIC_RELAXED);
			}
		}
	}
	tb_block_barrier();
	for (uint32_t i = thread; i < used; i += TB_SORT_THREADS)
		if (block_memory.exchange[i] != 0)
			__atomic_fetch_add(&args->counts[0][0] + i, block_memory.exchange[i],
							   __ATOMIC_RELAXED);
}

/* What a tile has told of a digit's value; 0 if it told nothing for too long, or another
 * block has waited in vain. */
static inline uint32_t
wait_for_tile(TbSortPass *args, uint32_t tile, uint32_t bin)
{
	const volatile uint32_t *told = &args->tiles[tile * TB_SORT_BINS + bin];

	for (uint32_t looks = 1; looks < TB_SORT_PATIENCE; looks++)
	{
		const uint32_t now = *told;

		if (now != 0)
			return now;
		if (looks % 1024 == 0 && tb_atomic_load(&args->failed))
			return 0;
		tb_wait_a_little();
	}
	return 0;
}

/* Rows with the digit's value `bin` in all tiles before `tile`. 0, and in *failed 1: one of
 * them has told nothing. */
static inline uint32_t
rows_of_tiles_before(TbSortPass *args, uint32_t tile, uint32_t bin, uint32_t *failed)
{
	uint32_t sum = 0;

	while (tile-- > 0)
	{
		const uint32_t told = wait_for_tile(args, tile, bin);

		if (told == 0)
		{
			*failed = 1;
			return 0;
		}
		sum += told & TB_SORT_COUNT;
		if (told & TB_SORT_SUM)
			break;
	}
	return sum;
}

/* The other arrays take the way of the first: from a thread's rows to their places in the
 * tile's order, and from there to their targets. */
static inline void
move_other_arrays(const TbSortPass *args, uint32_t begin, uint32_t tile_rows, uint32_t mine,
				  const uint32_t *place, const uint32_t *target)
{
	const uint32_t thread = tb_thread();

	for (uint32_t a = 1; a < args->narrays; a++)
	{
		const uint32_t *from = args->from[a];
		uint32_t	   *to = args->to[a];

		if (to == 0)
			continue;
		tb_block_barrier();
		/* To the tile's order. */
		TB_UNROLL
		for (uint32_t k = 0; k < TB_SORT_ITEMS; k++)
		{
			const uint32_t at = mine + k * TB_SORT_WARP;

			if (at < tile_rows)
				block_memory.exchange[place[k]] = a == args->numbers ? begin + at :
																	   from[begin + at];
		}
		tb_block_barrier();
		/* To their targets. */
		TB_UNROLL
		for (uint32_t k = 0; k < TB_SORT_ITEMS; k++)
		{
			const uint32_t at = k * TB_SORT_THREADS + thread;

			if (at < tile_rows)
				to[target[k]] = block_memory.exchange[at];
		}
	}
}

/* Grid: a block a tile. */
TB_KERNEL
tb_sort_pass(TbSortPass *args)
{
	const uint32_t thread = tb_thread(), lane = lane_of(thread),
				   warp = thread / TB_SORT_WARP;
	const uint32_t	   nrows = args->nrows, shift = args->shift;
	volatile uint32_t *tiles = args->tiles;
	uint32_t		   word[TB_SORT_ITEMS], place[TB_SORT_ITEMS];

	if (thread == 0)
	{
		block_memory.tile = __atomic_fetch_add(&args->next_tile, 1, __ATOMIC_RELAXED);
		block_memory.failed = 0;
	}
	for (uint32_t i = thread; i < TB_SORT_WARPS * TB_SORT_BINS; i += TB_SORT_THREADS)
		block_memory.counts[i / TB_SORT_BINS][i % TB_SORT_BINS] = 0;
	tb_block_barrier();

	const uint32_t tile = block_memory.tile, begin = tile * TB_SORT_TILE;
	const uint32_t tile_rows = nrows - begin < TB_SORT_TILE ? nrows - begin : TB_SORT_TILE;
	/* A thread's rows are a warp apart, a warp's are together: so its first lane has the
	 * first of them. */
	const uint32_t mine = warp * TB_SORT_WARP * TB_SORT_ITEMS + lane;

	/* Behind the last row are more with the greatest digit, which so stay the last. */
	TB_UNROLL
	for (uint32_t k = 0; k < TB_SORT_ITEMS; k++)
	{
		const uint32_t at = mine + k * TB_SORT_WARP;

		word[k] = at < tile_rows ? args->from[0][begin + at] : ~0u;
	}

	/* A row's place among its warp's rows of the same digit. */
	TB_UNROLL
	for (uint32_t k = 0; k < TB_SORT_ITEMS; k++)
	{
		const uint32_t digit = digit_of(word[k], shift);
		const uint32_t same = tb_match_any(digit);
		const uint32_t before = (uint32_t) __builtin_popcount(same & ((1u << lane) - 1));
		const uint32_t count = block_memory.counts[warp][digit];

		tb_warp_barrier();
		if (before == 0)
			block_memory.counts[warp][digit] = count + (uint32_t) __builtin_popcount(same);
		tb_warp_barrier();
		place[k] = count + before;
	}
	tb_block_barrier();

	/* From here on a thread has the digit's value of its own number. */
	uint32_t total = 0;

	TB_UNROLL
	for (uint32_t w = 0; w < TB_SORT_WARPS; w++)
	{
		const uint32_t count = block_memory.counts[w][thread];

		block_memory.counts[w][thread] = total;
		total += count;
	}

	const uint32_t own = thread == TB_SORT_BINS - 1 ? total - (TB_SORT_TILE - tile_rows) :
													  total;

	tiles[tile * TB_SORT_BINS + thread] = own | (tile == 0 ? TB_SORT_SUM : TB_SORT_OWN);

	uint32_t	   all;
	const uint32_t start = tb_sum_of_threads_before((uint32_t *) block_memory.warp_sums,
													TB_SORT_WARPS, total, &all);

	TB_UNROLL
	for (uint32_t w = 0; w < TB_SORT_WARPS; w++)
		block_memory.counts[w][thread] += start;
	if (tile == 0)
		block_memory.base[thread] = args->starts[thread] - start;
	else
	{
		uint32_t	   failed = 0;
		const uint32_t before = rows_of_tiles_before(args, tile, thread, &failed);

		if (failed)
		{
			tb_atomic_or(&args->failed, 1);
			block_memory.failed = 1;
		}
		else
		{
			tiles[tile * TB_SORT_BINS + thread] = (before + own) | TB_SORT_SUM;
			block_memory.base[thread] = args->starts[thread] + before - start;
		}
	}
	tb_block_barrier();
	/* Places that are not known would lie anywhere. */
	if (block_memory.failed)
		return;

	/* Through shared memory, so that what is written together lies together. */
	TB_UNROLL
	for (uint32_t k = 0; k < TB_SORT_ITEMS; k++)
	{
		place[k] += block_memory.counts[warp][digit_of(word[k], shift)];
		block_memory.exchange[place[k]] = word[k];
	}
	tb_block_barrier();

	uint32_t target[TB_SORT_ITEMS];

	TB_UNROLL
	for (uint32_t k = 0; k < TB_SORT_ITEMS; k++)
	{
		const uint32_t at = k * TB_SORT_THREADS + thread, value = block_memory.exchange[at];

		target[k] = block_memory.base[digit_of(value, shift)] + at;
		if (at < tile_rows && args->to[0] != 0)
			args->to[0][target[k]] = value;
	}
	move_other_arrays(args, begin, tile_rows, mine, place, target);
}

/* Of the keys, from the first on, how many a row has in common with the one before. Grid:
 * any. */
TB_KERNEL
tb_sort_agree(TbSortAgree *args)
{
	for (uint64_t row = (uint64_t) tb_block() * TB_SORT_THREADS + tb_thread();
		 row < args->nrows; row += (uint64_t) tb_blocks() * TB_SORT_THREADS)
	{
		uint32_t agree = row == 0 ? 0 : args->nkeys;

		for (uint32_t w = args->nwords; w-- > 0 && row > 0;)
		{
			const uint32_t differ = args->words[w][row] ^ args->words[w][row - 1];

			if (differ != 0)
				agree = args->key_of_bit[w * 32 + (uint32_t) __builtin_clz(differ)];
		}
		args->agree[row] = (uint8_t) agree;
	}
}
