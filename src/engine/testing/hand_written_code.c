/*
 * hand_written_code.c - what the compiler would make of the programs in
 * hand_written_programs.h, so that the engine is tested without it.
 *
 * One of TB_TEST_ROWS (filter: v is even), TB_TEST_GROUPS, TB_TEST_TOTAL,
 * TB_TEST_JOIN (build, probe and projection) is defined. Some values have
 * effects: DEFERRED_VALUE is deferred, RAISING_VALUE sets a verdict, SLOW_VALUE
 * sleeps.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "turbine/kernel.h"
#include "engine/testing/hand_written_code.h"

__attribute__((visibility("default"))) void
tb_decode(TbDecodeArgs *args)
{
	int32_t *v = args->columns[0].values;

	for (uint32_t p = 0; p < args->npages; p++)
	{
		const uint8_t *page = args->pages + (uint64_t) p * TB_PAGE_SIZE;
		uint16_t	   lower;

		memcpy(&lower, page + 12, sizeof(lower));
		for (uint32_t offnum = 1; 24 + offnum * 4 <= lower; offnum++)
		{
			uint32_t lp;
			int32_t	 value;

			memcpy(&lp, page + 24 + (offnum - 1) * 4, sizeof(lp));
			if (((lp >> 15) & 3) != 1)
				continue;
			memcpy(&value, page + (lp & 0x7fff) + page[(lp & 0x7fff) + 22], sizeof(value));
			if (value == DEFERRED_VALUE)
			{
				args->deferred[args->ndeferred++] = TB_ROWID(p, offnum);
				continue;
			}
			if (args->rowids)
				args->rowids[args->nrows] = TB_ROWID(p, offnum);
			v[args->nrows++] = value;
		}
		if (args->page_ends)
			args->page_ends[p] = args->nrows;
	}
}

static int
special(int32_t value, TbPipelineArgs *args)
{
	if (value == SLOW_VALUE)
		usleep(300000);
	if (value != RAISING_VALUE)
		return 0;
	args->errors |= TB_ERR_OVERFLOW;
	return 1;
}

/* Room for `rows` and `bytes`, or the pipeline's end. */
static inline int
make_room(TbPipelineArgs *args, uint64_t rows, uint64_t bytes)
{
	if (args->make_room(args, rows, bytes))
		return 1;
	args->status = TB_PIPELINE_STOPPED;
	return 0;
}

#if defined(TB_TEST_GROUPS) || defined(TB_TEST_JOIN)
static uint64_t
hash_of(int32_t value)
{
	uint64_t hash = ((uint64_t) (uint32_t) value + 1) * 0x9fb21c651e98df25ull;

	return hash ^ hash >> 32;
}
#endif

#if defined(TB_TEST_ROWS)
static int
apply(TbPipelineArgs *args, uint32_t row, int32_t value)
{
	if (value % 2 == 0)
	{
		args->out_rowids[args->nout++] = args->rowids[row];
		args->rows_passed++;
	}
	return 1;
}
#elif defined(TB_TEST_JOIN)
/* A row of (int, int, text); a BUILD's first column is its key. */
static int
append(TbPipelineArgs *args, int32_t a, int32_t b, const char *text, uint32_t length)
{
	TbRowStore *store = args->store;
	uint64_t	row = store->nrows;
	TbTextView	view = {length, 0, 0, 0};

	if (store->capacity - row < 1 || store->arena_capacity - store->arena_used < length)
		if (!make_room(args, 1, length))
			return 0;
	((int32_t *) store->columns[0].values)[row] = a;
	((int32_t *) store->columns[1].values)[row] = b;
	store->columns[2].valid[row] = text != NULL;
	if (text != NULL)
	{
		memcpy(&view.prefix, text, length < 4 ? length : 4);
		view.offset = (uint32_t) store->arena_used;
		memcpy(store->arena + store->arena_used, text, length);
		store->arena_used += length;
	}
	((TbTextView *) store->columns[2].values)[row] = view;
	if (store->hashes != NULL)
		store->hashes[row] = hash_of(a);
	store->nrows++;
	return 1;
}

static uint32_t
rank_of(TbRankWord word, unsigned bit)
{
	if (!(word.bits >> bit & 1))
		return TB_NONE;
	return word.before + (uint32_t) __builtin_popcount(word.bits & ((1u << bit) - 1));
}

static uint32_t
look_up(const TbJoinTable *table, int32_t key)
{
	const uint8_t *base = (const uint8_t *) table;
	uint64_t	   place = (uint64_t) key - (uint64_t) table->key_min;
	uint64_t	   hash = hash_of(key);

	if (table->nrows == 0)
		return TB_NONE;
	switch (table->kind)
	{
		case TB_TABLE_DENSE:
			if (place >= table->key_span)
				return TB_NONE;
			return rank_of(((const TbRankWord *) (base + table->buckets))[place / 32],
						   place % 32);
		case TB_TABLE_DIRECT:
			return place < table->key_span ?
				((const uint32_t *) (base + table->buckets))[place] - 1 :
				TB_NONE;
		default:
			break;
	}
	for (uint64_t i = hash & table->bucket_mask;; i = (i + 1) & table->bucket_mask)
	{
		uint64_t bucket = ((const uint64_t *) (base + table->buckets))[i];
		uint32_t row = (uint32_t) bucket - 1;

		if (bucket == 0)
			return TB_NONE;
		if (bucket >> 32 == hash >> 32 &&
			((const int32_t *) (base + table->columns[0].values))[row] == key)
			return row;
	}
}

static int
apply(TbPipelineArgs *args, uint32_t row, int32_t value)
{
	const TbJoinTable *table;
	const uint8_t	  *base;
	char			   text[16];

	(void) row;
	args->rows_passed++;
	if (args->tables == NULL)
	{
		int length = value % 5 == 0 ? 0 : snprintf(text, sizeof(text), "v%d", value);

		return append(args, value, value, length ? text : NULL, (uint32_t) length);
	}
	table = args->tables[0];
	base = (const uint8_t *) table;
	for (uint32_t match = look_up(table, value); match != TB_NONE; match = table->next ?
			 ((const uint32_t *) (base + table->next))[match] - 1 :
			 TB_NONE)
	{
		int32_t	   payload = ((const int32_t *) (base + table->columns[1].values))[match];
		int		   valid = (base + table->columns[2].valid)[match];
		TbTextView view = ((const TbTextView *) (base + table->columns[2].values))[match];

		args->join_rows[0]++;
		if (!append(args, value, payload,
					valid ? (const char *) base + table->bytes + view.offset : NULL,
					view.length))
			return 0;
	}
	return 1;
}
#else
static void
add(TbPipelineArgs *args, uint8_t *row, int32_t value, int valid_offset)
{
	(*(int64_t *) (row + 8))++;
	*(int64_t *) (row + 16) += value;
	row[valid_offset] = 1;
	args->rows_passed++;
}

static int
apply(TbPipelineArgs *args, uint32_t i, int32_t value)
{
	TbGroupTable *groups = args->groups;
#ifdef TB_TEST_TOTAL
	(void) i;
	add(args, groups->rows, value, 24);
#else
	uint64_t hash = hash_of(value);
	uint64_t bucket;
	uint8_t *row;

	(void) i;
	for (bucket = hash & groups->bucket_mask; groups->buckets[bucket] != 0;
		 bucket = (bucket + 1) & groups->bucket_mask)
	{
		row = groups->rows + (uint64_t) (groups->buckets[bucket] - 1) * groups->row_size;
		if (memcmp(row + 24, &value, 4) == 0)
		{
			add(args, row, value, 29);
			return 1;
		}
	}
	row = groups->rows + groups->ngroups * groups->row_size;
	memset(row, 0, groups->row_size);
	groups->buckets[bucket] = (uint32_t) ++groups->ngroups;
	memcpy(row, &hash, 8);
	memcpy(row + 24, &value, 4);
	row[28] = 1;
	add(args, row, value, 29);
#endif
	return 1;
}
#endif

__attribute__((visibility("default"))) void
tb_pipeline(TbPipelineArgs *args)
{
	const int32_t *v = args->columns[0].values;

	for (uint32_t row = args->first_row; row < args->nrows; row++)
	{
#ifdef TB_TEST_GROUPS
		if (row % TB_TILE_ROWS == 0 &&
			args->groups->group_capacity - args->groups->ngroups < TB_TILE_ROWS &&
			!make_room(args, TB_TILE_ROWS, 0))
			return;
#endif
		if (!special(v[row], args) && !apply(args, row, v[row]))
			return;
	}
	args->status = TB_PIPELINE_DONE;
}
