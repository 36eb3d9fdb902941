/*
 * first_kernels.c - drops rows that surely are not among the first rows of an order, before
 * they cross the bus.
 *
 * Compiled to PTX with the engine (embedded_kernels.cc), and for the host by
 * testing/first_on_host.cc. A row that may still be returned is never dropped: ranks are
 * those of the first sort key alone, and rows of the bound's own rank stay.
 */
#include "engine/device/cuda/sort/first_kernels.h"

#include "engine/device/cuda/gpu_threads.h"

#define WARP 32u

/* Ranks ascend as rows come. A NULL shares the first or the last rank with one integer. */
static inline int64_t
first_rank(const TbFirstRows *args, const TbColumnData *column, uint64_t row)
{
	int64_t value;

	if (column->valid != 0 && column->valid[row] == 0)
		return args->nulls_first ? INT64_MIN : INT64_MAX;
	switch (args->key_width)
	{
		case 2:
			value = ((const int16_t *) column->values)[row];
			break;
		case 4:
			value = ((const int32_t *) column->values)[row];
			break;
		default:
			value = ((const int64_t *) column->values)[row];
	}
	return args->descending ? ~value : value;
}

/* A store that was full counts nothing: its rows come again. */
TB_KERNEL
tb_first_groups(const TbFirstRows *args)
{
	const TbRowStore  *store = args->store;
	const TbColumnData column = store->columns[args->key];
	const uint32_t	   thread = tb_block() * TB_FIRST_THREADS + tb_thread();
	const uint64_t	   step = (uint64_t) tb_blocks() * TB_FIRST_THREADS;
	int64_t			  *group = &args->best[(thread + args->first_group) % args->ngroups];
	int64_t			   best = INT64_MAX;

	if (store->full)
		return;
	for (uint64_t row = thread; row < store->nrows; row += step)
	{
		const int64_t rank = first_rank(args, &column, row);

		best = rank < best ? rank : best;
	}
	/* Most threads have nothing better, and spare the atomic step. */
	if (best < *(volatile int64_t *) group)
		tb_atomic_min(group, best);
}

/* The greatest of all lanes' values. */
static inline int64_t
greatest_rank_of_warp(int64_t value)
{
	for (uint32_t by = WARP / 2; by > 0; by /= 2)
	{
		const uint32_t from = (tb_thread() % WARP) ^ by;
		const uint32_t low = tb_shuffle((uint32_t) (uint64_t) value, from);
		const uint32_t high = tb_shuffle((uint32_t) ((uint64_t) value >> 32), from);
		const int64_t  other = (int64_t) ((uint64_t) high << 32 | low);

		value = other > value ? other : value;
	}
	return value;
}

/* Each warp finds the bound by itself: it may only get better meanwhile. */
TB_KERNEL
tb_first_take(TbFirstRows *args)
{
	const TbRowStore  *store = args->store;
	const TbColumnData column = store->columns[args->key];
	const uint32_t	   lane = tb_thread() % WARP;
	const uint64_t	   step = (uint64_t) tb_blocks() * TB_FIRST_THREADS;
	const uint64_t	   nrows = store->full ? 0 : store->nrows;
	int64_t			   bound = INT64_MIN;

	for (uint32_t i = lane; i < args->ngroups; i += WARP)
		bound = args->best[i] > bound ? args->best[i] : bound;
	bound = greatest_rank_of_warp(bound);
	/* All lanes come to the ballot, with or without a row. */
	for (uint64_t first = (uint64_t) tb_block() * TB_FIRST_THREADS + tb_thread() - lane;
		 first < nrows; first += step)
	{
		const uint64_t row = first + lane;
		const uint32_t stays = row < nrows && first_rank(args, &column, row) <= bound;
		const uint32_t mask = tb_ballot(stays);
		uint32_t	   place = 0;

		if (mask == 0)
			continue;
		if (lane == 0)
			place = tb_atomic_add(&args->ntaken, (uint32_t) __builtin_popcount(mask));
		place = tb_shuffle(place, 0) +
			(uint32_t) __builtin_popcount(mask & ((1u << lane) - 1));
		if (stays && place < args->capacity)
			args->taken[place] = (uint32_t) row;
	}
}

static inline void
copy_first_value(uint8_t *to, uint32_t to_row, const uint8_t *from, uint32_t from_row,
				 uint32_t width)
{
	switch (width)
	{
		case 1:
			to[to_row] = from[from_row];
			break;
		case 2:
			((uint16_t *) to)[to_row] = ((const uint16_t *) from)[from_row];
			break;
		case 4:
			((uint32_t *) to)[to_row] = ((const uint32_t *) from)[from_row];
			break;
		case 8:
			((uint64_t *) to)[to_row] = ((const uint64_t *) from)[from_row];
			break;
		default:
			((__int128 *) to)[to_row] = ((const __int128 *) from)[from_row];
	}
}

/* Whether the rows that were taken are to be the only ones. */
static inline int
first_are_complete(const TbFirstRows *args)
{
	return !args->store->full && args->ntaken <= args->capacity;
}

TB_KERNEL
tb_first_gather(const TbFirstRows *args)
{
	const uint32_t thread = tb_block() * TB_FIRST_THREADS + tb_thread();
	const uint32_t step = tb_blocks() * TB_FIRST_THREADS;
	uint8_t		  *to = args->scratch;

	if (!first_are_complete(args))
		return;
	for (uint32_t c = 0; c < args->ncolumns; c++)
	{
		const TbColumnData column = args->store->columns[c];
		const uint32_t	   width = args->widths[c];
		uint8_t			  *valid = to + (uint64_t) args->capacity * width;

		for (uint32_t i = thread; i < args->ntaken; i += step)
		{
			copy_first_value(to, i, (const uint8_t *) column.values, args->taken[i], width);
			if (column.valid != 0)
				valid[i] = column.valid[args->taken[i]];
		}
		to = valid + args->capacity;
	}
}

TB_KERNEL
tb_first_return(TbFirstRows *args)
{
	const uint32_t thread = tb_block() * TB_FIRST_THREADS + tb_thread();
	const uint32_t step = tb_blocks() * TB_FIRST_THREADS;
	const uint8_t *from = args->scratch;

	if (!first_are_complete(args))
		return;
	for (uint32_t c = 0; c < args->ncolumns; c++)
	{
		const TbColumnData column = args->store->columns[c];
		const uint32_t	   width = args->widths[c];
		const uint8_t	  *valid = from + (uint64_t) args->capacity * width;

		for (uint32_t i = thread; i < args->ntaken; i += step)
		{
			copy_first_value((uint8_t *) column.values, i, from, i, width);
			if (column.valid != 0)
				column.valid[i] = valid[i];
		}
		from = valid + args->capacity;
	}
	if (thread == 0)
		args->store->nrows = args->ntaken;
}
