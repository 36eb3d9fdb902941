/*
 * table_kernels.c - builds a join table on a GPU from rows that a program's kernels have
 * kept.
 *
 *   tb_table_bounds   smallest and largest value of the first keys
 *   tb_table_mark     a bit for each value of one narrow integer key, and whether any
 *                     value comes twice
 *   tb_table_sums, tb_table_scan, tb_table_ranks
 *                     how many keys come before those of each rank word: sums of tiles
 *                     of words, what comes before each tile, then before each word
 *   tb_table_place    columns to their places, in the order of the keys or of the rows
 *   tb_table_buckets  rows into buckets, equal keys into chains
 *
 * The table has the layout that the host would make (device/host/join_table_build.cc),
 * and look-ups find the same rows in it. Compiled to PTX with the engine
 * (embedded_kernels.cc), and for the host by testing/table_kernels_on_host.cc. Must never
 * write outside of the table, whatever keys are.
 */
#include "engine/device/cuda/build/table_kernels.h"

#include "engine/device/cuda/block_sum.h"

typedef struct BuildShared
{
	uint32_t warp_sums[TB_BUILD_WARPS];
} BuildShared;

TB_BLOCK_MEMORY(BuildShared);

/* The part that has a tile. */
static inline const TbBuildPart *
part_of(const TbTableBuild *build, uint64_t tile)
{
	uint64_t low = 0, high = build->nparts;

	while (high - low > 1)
	{
		const uint64_t middle = low + (high - low) / 2;

		if (build->parts[middle].first_tile <= tile)
			low = middle;
		else
			high = middle;
	}
	return &build->parts[low];
}

/* No look-up may find such a row. */
static inline uint32_t
null_key(const TbTableBuild *build, const TbBuildPart *part, uint64_t i)
{
	if (!build->keeps_null_keys)
		return 0;
	for (uint32_t key = 0; key < build->nkeys; key++)
		if (part->columns[key].valid != 0 && !part->columns[key].valid[i])
			return 1;
	return 0;
}

static inline int64_t
integer_key(const TbTableBuild *build, const TbBuildPart *part, uint32_t key, uint64_t i)
{
	const void *values = part->columns[key].values;

	switch (build->columns[key].width)
	{
		case 2:
			return ((const int16_t *) values)[i];
		case 4:
			return ((const int32_t *) values)[i];
		default:
			return ((const int64_t *) values)[i];
	}
}

static inline uint64_t
place_of(const TbTableBuild *build, int64_t key)
{
	return (uint64_t) key - (uint64_t) build->key_min;
}

static inline int64_t
shuffle_wide(int64_t value, uint32_t lane)
{
	const uint32_t low = tb_shuffle((uint32_t) value, lane);
	const uint32_t high = tb_shuffle((uint32_t) ((uint64_t) value >> 32), lane);

	return (int64_t) ((uint64_t) high << 32 | low);
}

static inline uint32_t
sum_of_threads_before(uint32_t value, uint32_t *total)
{
	return tb_sum_of_threads_before((uint32_t *) block_memory.warp_sums, TB_BUILD_WARPS,
									value, total);
}

/* Grid: any. */
TB_KERNEL
tb_table_bounds(TbTableBuild *build)
{
	const uint32_t thread = tb_thread();
	int64_t		   min[TB_BUILD_MOST_BOUNDS], max[TB_BUILD_MOST_BOUNDS];
	uint32_t	   nulls = 0;

	TB_UNROLL
	for (uint32_t key = 0; key < TB_BUILD_MOST_BOUNDS; key++)
	{
		min[key] = INT64_MAX;
		max[key] = INT64_MIN;
	}
	/* Bounds of this thread's rows. */
	for (uint64_t tile = tb_block(); tile < build->ntiles; tile += tb_blocks())
	{
		const TbBuildPart *part = part_of(build, tile);
		const uint64_t	   first = (tile - part->first_tile) * TB_BUILD_TILE;

		for (uint64_t i = first + thread; i < first + TB_BUILD_TILE && i < part->nrows;
			 i += TB_BUILD_THREADS)
		{
			if (null_key(build, part, i))
			{
				nulls = 1;
				continue;
			}
			TB_UNROLL
			for (uint32_t key = 0; key < TB_BUILD_MOST_BOUNDS; key++)
				if (key < build->nbounds && build->columns[key].is_integer)
				{
					const int64_t value = integer_key(build, part, key, i);

					min[key] = value < min[key] ? value : min[key];
					max[key] = value > max[key] ? value : max[key];
				}
		}
	}
	/* Tell of NULL keys. */
	if (nulls)
		tb_atomic_or(&build->null_keys, 1);
	TB_UNROLL
	for (uint32_t key = 0; key < TB_BUILD_MOST_BOUNDS; key++)
	{
		/* Then of the warp. */
		TB_UNROLL
		for (uint32_t by = 16; by > 0; by /= 2)
		{
			const int64_t other_min = shuffle_wide(min[key], thread % 32 ^ by);
			const int64_t other_max = shuffle_wide(max[key], thread % 32 ^ by);

			min[key] = other_min < min[key] ? other_min : min[key];
			max[key] = other_max > max[key] ? other_max : max[key];
		}
		/* Then of the table. */
		if (thread % 32 == 0 && key < build->nbounds && min[key] <= max[key])
		{
			tb_atomic_min(&build->bounds[key].min, min[key]);
			tb_atomic_max(&build->bounds[key].max, max[key]);
		}
	}
}

/* Grid: any. Of keys without NULLs. */
TB_KERNEL
tb_table_mark(TbTableBuild *build)
{
	uint32_t twice = 0;

	for (uint64_t tile = tb_block(); tile < build->ntiles; tile += tb_blocks())
	{
		const TbBuildPart *part = part_of(build, tile);
		const uint64_t	   first = (tile - part->first_tile) * TB_BUILD_TILE;

		if (twice || tb_atomic_load(&build->duplicates))
			break;
		for (uint64_t i = first + tb_thread(); i < first + TB_BUILD_TILE && i < part->nrows;
			 i += TB_BUILD_THREADS)
		{
			const uint64_t place = place_of(build, integer_key(build, part, 0, i));
			const uint32_t bit = 1u << (place % 32);

			twice |= tb_atomic_or(&build->words[place / 32].bits, bit) & bit;
		}
	}
	if (twice)
		tb_atomic_or(&build->duplicates, 1);
}

/* Keys of the words that a thread has of a tile: a few that follow each other. */
#define WORDS_OF_THREAD (TB_BUILD_TILE / TB_BUILD_THREADS)

static inline uint32_t
keys_of_thread(const TbTableBuild *build, uint64_t first)
{
	uint32_t sum = 0;

	for (uint64_t w = first; w < first + WORDS_OF_THREAD && w < build->nwords; w++)
		sum += (uint32_t) __builtin_popcount(build->words[w].bits);
	return sum;
}

/* Grid: a block a tile of words. */
TB_KERNEL
tb_table_sums(TbTableBuild *build)
{
	const uint64_t first = (uint64_t) tb_block() * TB_BUILD_TILE +
		tb_thread() * WORDS_OF_THREAD;
	uint32_t total;

	(void) sum_of_threads_before(keys_of_thread(build, first), &total);
	if (tb_thread() == 0)
		build->tile_sums[tb_block()] = total;
}

/* Grid: one block. */
TB_KERNEL
tb_table_scan(TbTableBuild *build)
{
	const uint64_t ntiles = (build->nwords + TB_BUILD_TILE - 1) / TB_BUILD_TILE;
	uint32_t	   carried = 0;

	for (uint64_t first = 0; first < ntiles; first += TB_BUILD_THREADS)
	{
		const uint64_t tile = first + tb_thread();
		uint32_t	   total;
		const uint32_t before = sum_of_threads_before(tile < ntiles ?
														  build->tile_sums[tile] :
														  0,
													  &total);

		if (tile < ntiles)
			build->tile_sums[tile] = carried + before;
		carried += total;
	}
}

/* Grid: a block a tile of words. */
TB_KERNEL
tb_table_ranks(TbTableBuild *build)
{
	const uint64_t first = (uint64_t) tb_block() * TB_BUILD_TILE +
		tb_thread() * WORDS_OF_THREAD;
	uint32_t total;
	uint32_t before = build->tile_sums[tb_block()] +
		sum_of_threads_before(keys_of_thread(build, first), &total);

	for (uint64_t w = first; w < first + WORDS_OF_THREAD && w < build->nwords; w++)
	{
		build->words[w].before = before;
		before += (uint32_t) __builtin_popcount(build->words[w].bits);
	}
}

/* A row of a table whose rows are in the order of their keys. */
static inline uint64_t
rank_of(const TbTableBuild *build, uint64_t place)
{
	const TbRankWord word = build->words[place / 32];

	return word.before +
		(uint32_t) __builtin_popcount(word.bits & ((1u << (place % 32)) - 1));
}

typedef struct SixteenBytes
{
	uint64_t low, high;
} SixteenBytes;

/* A value's view moves with its text's bytes. */
static inline void
copy_value(const TbBuildColumn *column, const TbBuildPart *part, const void *from,
		   uint64_t i, uint8_t *to, uint64_t at)
{
	switch (column->width)
	{
		case 1:
			to[at] = ((const uint8_t *) from)[i];
			break;
		case 2:
			((uint16_t *) to)[at] = ((const uint16_t *) from)[i];
			break;
		case 4:
			((uint32_t *) to)[at] = ((const uint32_t *) from)[i];
			break;
		case 8:
			((uint64_t *) to)[at] = ((const uint64_t *) from)[i];
			break;
		default:
			if (column->is_text)
			{
				TbTextView view = ((const TbTextView *) from)[i];

				view.offset += (uint32_t) part->text;
				((TbTextView *) to)[at] = view;
			}
			else
				((SixteenBytes *) to)[at] = ((const SixteenBytes *) from)[i];
	}
}

/* Grid: any. */
TB_KERNEL
tb_table_place(TbTableBuild *build)
{
	uint8_t		  *block = (uint8_t *) build->table;
	const uint32_t ordered = build->table->kind == TB_TABLE_DENSE;

	for (uint64_t tile = tb_block(); tile < build->ntiles; tile += tb_blocks())
	{
		const TbBuildPart *part = part_of(build, tile);
		const uint64_t	   first = (tile - part->first_tile) * TB_BUILD_TILE;

		for (uint64_t i = first + tb_thread(); i < first + TB_BUILD_TILE && i < part->nrows;
			 i += TB_BUILD_THREADS)
		{
			const uint64_t at = ordered ?
				rank_of(build, place_of(build, integer_key(build, part, 0, i))) :
				part->first_row + i;

			for (uint32_t c = 0; c < build->ncolumns; c++)
			{
				const TbBuildColumn *column = &build->columns[c];

				if (column->values == 0)
					continue;
				if (column->nullable)
				{
					/* What a NULL's value is, whoever wrote the row did not say. */
					if (!part->columns[c].valid[i])
						continue;
					block[column->valid + at] = 1;
				}
				copy_value(column, part, part->columns[c].values, i, block + column->values,
						   at);
			}
		}
	}
}

static inline uint32_t
same_text(const TbTableBuild *build, const TbTextView *a, const TbTextView *b)
{
	const uint8_t *bytes = (const uint8_t *) build->table + build->table->bytes;

	if (a->length != b->length || a->prefix != b->prefix)
		return 0;
	for (uint32_t i = sizeof a->prefix; i < a->length; i++)
		if (bytes[a->offset + i] != bytes[b->offset + i])
			return 0;
	return 1;
}

/* Have two rows of the table equal keys? Canonical ones are if their bytes are. */
static inline uint32_t
same_keys(const TbTableBuild *build, uint32_t a, uint32_t b)
{
	for (uint32_t key = 0; key < build->nkeys; key++)
	{
		const TbBuildColumn *column = &build->columns[key];
		const uint8_t		*values = (const uint8_t *) build->table + column->values;
		const uint8_t		*x = values + (uint64_t) a * column->width;
		const uint8_t		*y = values + (uint64_t) b * column->width;

		if (column->is_text)
		{
			if (!same_text(build, (const TbTextView *) x, (const TbTextView *) y))
				return 0;
			continue;
		}
		for (uint32_t i = 0; i < column->width; i++)
			if (x[i] != y[i])
				return 0;
	}
	return 1;
}

/* The first row of a chain never changes, only what follows it. Returns whether there was
 * one. */
static inline uint32_t
add_hashed(TbTableBuild *build, uint64_t hash, uint32_t row)
{
	uint64_t *buckets = (uint64_t *) ((uint8_t *) build->table + build->table->buckets);
	const uint64_t mask = build->table->bucket_mask, tag = hash >> 32 << 32;

	for (uint64_t i = hash & mask;; i = (i + 1) & mask)
	{
		uint64_t there = tb_atomic_load_wide(&buckets[i]);
		uint32_t head;

		if (there == 0)
		{
			there = tb_atomic_replace(&buckets[i], 0, tag | (row + 1));
			if (there == 0)
				return 0;
		}
		if (there >> 32 << 32 != tag)
			continue;
		head = (uint32_t) there - 1;
		if (!same_keys(build, head, row))
			continue;
		build->next[row] = tb_atomic_exchange(&build->next[head], row + 1);
		return 1;
	}
}

static inline uint32_t
add_at_place(TbTableBuild *build, uint64_t place, uint32_t row)
{
	uint32_t *buckets = (uint32_t *) ((uint8_t *) build->table + build->table->buckets);
	const uint32_t before = tb_atomic_exchange(&buckets[place], row + 1);

	if (before != 0)
		build->next[row] = before;
	return before != 0;
}

/* Grid: any. Of HASH and DIRECT. Rows of one key wait for each other, so it may take long
 * and looks whether somebody still wants the table. */
TB_KERNEL
tb_table_buckets(TbTableBuild *build)
{
	const uint32_t hashed = build->table->kind == TB_TABLE_HASH;
	const uint32_t started = tb_clock();
	uint32_t	   chained = 0;

	for (uint64_t tile = tb_block(); tile < build->ntiles; tile += tb_blocks())
	{
		const TbBuildPart *part = part_of(build, tile);
		const uint64_t	   first = (tile - part->first_tile) * TB_BUILD_TILE;

		if (tb_stop_wanted(build->stop, started))
			break;
		for (uint64_t i = first + tb_thread(); i < first + TB_BUILD_TILE && i < part->nrows;
			 i += TB_BUILD_THREADS)
		{
			const uint32_t row = (uint32_t) (part->first_row + i);

			if (null_key(build, part, i))
				continue;
			chained |= hashed ?
				add_hashed(build, part->hashes[i], row) :
				add_at_place(build, place_of(build, integer_key(build, part, 0, i)), row);
		}
	}
	if (chained)
		tb_atomic_or(&build->chained, 1);
}
