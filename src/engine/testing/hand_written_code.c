/*
 * hand_written_code.c - what the compiler would make of the programs in
 * program_blob.h, so that the engine is tested without it.
 *
 * One of TB_TEST_ROWS (filter: v is even), TB_TEST_GROUPS, TB_TEST_TOTAL is
 * defined. Some values have effects: DEFERRED_VALUE is deferred, RAISING_VALUE
 * sets a verdict, SLOW_VALUE sleeps.
 */
#include <string.h>
#include <unistd.h>

#include "turbine/kernel.h"
#include "engine/testing/hand_written_code.h"

__attribute__((visibility("default"))) void
tb_decode(TbDecodeArgs *args)
{
	int32_t    *v = args->columns[0].values;

	for (uint32_t p = 0; p < args->npages; p++)
	{
		const uint8_t *page = args->pages + (uint64_t) p * TB_PAGE_SIZE;
		uint16_t	lower;

		memcpy(&lower, page + 12, sizeof(lower));
		for (uint32_t offnum = 1; 24 + offnum * 4 <= lower; offnum++)
		{
			uint32_t	lp;
			int32_t		value;

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

#ifdef TB_TEST_ROWS
static void
apply(TbPipelineArgs *args, uint32_t row, int32_t value)
{
	if (value % 2 == 0)
	{
		args->out_rowids[args->nout++] = args->rowids[row];
		args->rows_passed++;
	}
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

static void
apply(TbPipelineArgs *args, uint32_t i, int32_t value)
{
	TbGroupTable *groups = args->groups;
#ifdef TB_TEST_TOTAL
	(void) i;
	add(args, groups->rows, value, 24);
#else
	uint64_t	hash = ((uint64_t) (uint32_t) value + 1) * 0x9fb21c651e98df25ull;
	uint64_t	slot;
	uint8_t    *row;

	(void) i;
	hash ^= hash >> 32;
	for (slot = hash & groups->slot_mask; groups->slots[slot] != 0; slot = (slot + 1) & groups->slot_mask)
	{
		row = groups->rows + (uint64_t) (groups->slots[slot] - 1) * groups->row_size;
		if (memcmp(row + 24, &value, 4) == 0)
		{
			add(args, row, value, 29);
			return;
		}
	}
	row = groups->rows + groups->ngroups * groups->row_size;
	groups->slots[slot] = (uint32_t) ++groups->ngroups;
	memcpy(row, &hash, 8);
	memcpy(row + 24, &value, 4);
	row[28] = 1;
	add(args, row, value, 29);
#endif
}
#endif

__attribute__((visibility("default"))) void
tb_pipeline(TbPipelineArgs *args)
{
	const int32_t *v = args->columns[0].values;

	while (args->first_row < args->nrows)
	{
		uint32_t	end = args->first_row + TB_TILE_ROWS;

#ifdef TB_TEST_GROUPS
		if (args->groups->group_capacity - args->groups->ngroups < TB_TILE_ROWS)
		{
			args->status = TB_PIPELINE_GROW;
			return;
		}
#endif
		if (end > args->nrows)
			end = args->nrows;
		for (; args->first_row < end; args->first_row++)
			if (!special(v[args->first_row], args))
				apply(args, args->first_row, v[args->first_row]);
	}
	args->status = TB_PIPELINE_DONE;
}
