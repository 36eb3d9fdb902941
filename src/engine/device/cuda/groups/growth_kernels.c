/*
 * growth_kernels.c - moves the groups of a table to a larger one, on a GPU.
 *
 *   tb_group_grow   each group that a bucket names: a number, its row, a bucket
 *
 * What no bucket names stays behind (groups/group_table.h). Compiled to PTX with the engine
 * (embedded_kernels.cc), and for the host by testing/growth_on_host.cc. Must never write
 * outside of the new table, whatever the old one holds.
 */
#include "engine/device/cuda/groups/growth_kernels.h"

#include "engine/device/cuda/gpu_threads.h"
#include "turbine/kernel.h"

/* Numbers for the lanes that want one; called by all lanes of a warp. */
static inline uint32_t
take_number(TbGroupGrowth *growth, uint32_t wanted)
{
	const uint32_t lanes = tb_ballot(wanted), lane = tb_thread() % 32;
	uint32_t	   first = 0;

	if (lane == 0 && lanes != 0)
		first = tb_atomic_add(&growth->ngroups, (uint32_t) __builtin_popcount(lanes));
	first = tb_shuffle(first, 0);
	return first + (uint32_t) __builtin_popcount(lanes & ((1u << lane) - 1));
}

static inline void
move_group(const TbGroupGrowth *growth, uint32_t from, uint32_t to)
{
	const uint32_t	words = growth->row_size / sizeof(uint64_t);
	const uint64_t *old_row = (const uint64_t *) (growth->old_rows +
												  (uint64_t) from * growth->row_size);
	uint64_t	   *row = (uint64_t *) (growth->rows + (uint64_t) to * growth->row_size);
	uint64_t		bucket = old_row[0] & growth->bucket_mask; /* the hash comes first */

	for (uint32_t word = 0; word < words; word++)
		row[word] = old_row[word];
	while (tb_atomic_replace_word(&growth->buckets[bucket], 0, to + 1) != 0)
		bucket = (bucket + 1) & growth->bucket_mask;
}

/* Grid: any. */
TB_KERNEL
tb_group_grow(TbGroupGrowth *growth)
{
	const uint64_t step = (uint64_t) tb_blocks() * TB_GROWTH_THREADS;
	const uint64_t warp = (uint64_t) tb_block() * TB_GROWTH_THREADS + tb_thread() / 32 * 32;

	for (uint64_t first = warp; first < growth->old_bucket_count; first += step)
	{
		const uint64_t place = first + tb_thread() % 32;
		const uint32_t entry = place < growth->old_bucket_count ?
			growth->old_buckets[place] :
			0;
		const uint32_t named = entry != 0 && entry - 1 < growth->old_capacity;
		const uint32_t number = take_number(growth, named);

		if (named)
			move_group(growth, entry - 1, number);
	}
}
