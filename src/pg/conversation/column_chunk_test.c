/*
 * column_chunk_test.c - rows as chunks of columns: they come out as they went in, and
 * nothing lies outside of the slot.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "turbine/wire.h"

#include "pg/compat/pg16.h"
#include "pg/conversation/column_chunk.h"
#include "pg/testing/unit_test.h"

#define MOST_COLUMNS 3

typedef struct Row
{
	Datum values[MOST_COLUMNS];
	bool  nulls[MOST_COLUMNS];
} Row;

/* A program of three columns: int4, int8 that may be NULL, text that may be NULL. */
static TbProgram *
make_program(void)
{
	Size			   size = sizeof(TbProgram) + MOST_COLUMNS * sizeof(TbColumn);
	TbProgram		  *program = palloc0(size);
	TbColumn		  *columns = (TbColumn *) (program + 1);
	static const uint8 types[MOST_COLUMNS] = {TB_TYPE_INT4, TB_TYPE_INT8, TB_TYPE_TEXT};

	program->total_size = size;
	program->columns.count = MOST_COLUMNS;
	program->columns.offset = sizeof(TbProgram);
	for (int i = 0; i < MOST_COLUMNS; i++)
	{
		columns[i].attnum = i + 1;
		columns[i].type = types[i];
		columns[i].flags = i > 0 ? TB_COL_NULLABLE : 0;
	}
	return program;
}

static Row
random_row(int longest)
{
	Row	  row = {0};
	int	  length = (int) tb_random_between(0, longest);
	char *text = palloc(length + 1);

	memset(text, 'a' + (int) tb_random_between(0, 25), length);
	text[length] = '\0';
	row.values[0] = Int32GetDatum((int32) tb_random_between(PG_INT32_MIN, PG_INT32_MAX));
	row.values[1] = Int64GetDatum(tb_random_between(PG_INT64_MIN, PG_INT64_MAX));
	row.values[2] = CStringGetTextDatum(text);
	row.nulls[1] = tb_random_between(0, 4) == 0;
	row.nulls[2] = tb_random_between(0, 4) == 0;
	return row;
}

static void
check_text(const char *slot, const TbColumnsChunk *chunk, uint32 i, Datum expected)
{
	TbTextView view;
	text	  *value = DatumGetTextPP(expected);

	memcpy(&view, slot + chunk->columns[2].values + i * sizeof(view), sizeof(view));
	CHECK(view.length == VARSIZE_ANY_EXHDR(value));
	CHECK((uint64) view.offset + view.length <= chunk->bytes_size);
	CHECK(memcmp(slot + chunk->bytes_offset + view.offset, VARDATA_ANY(value),
				 view.length) == 0);
}

static void
check_chunk(const char *slot, Size capacity, const Row *rows, uint32 nrows)
{
	const TbColumnsChunk *chunk = (const TbColumnsChunk *) slot;

	CHECK(chunk->nrows == nrows && chunk->ncolumns == MOST_COLUMNS);
	CHECK(chunk->columns[0].values + nrows * sizeof(int32) <= capacity);
	CHECK(chunk->columns[1].values + nrows * sizeof(int64) <= capacity);
	CHECK(chunk->columns[2].values + nrows * sizeof(TbTextView) <= capacity);
	CHECK(chunk->bytes_offset + chunk->bytes_size <= capacity);
	CHECK(chunk->columns[0].valid == 0);
	for (uint32 i = 0; i < nrows; i++)
	{
		const uint8 *valid1 = (const uint8 *) slot + chunk->columns[1].valid;
		const uint8 *valid2 = (const uint8 *) slot + chunk->columns[2].valid;

		CHECK(((const int32 *) (slot + chunk->columns[0].values))[i] ==
			  DatumGetInt32(rows[i].values[0]));
		CHECK(valid1[i] == !rows[i].nulls[1] && valid2[i] == !rows[i].nulls[2]);
		if (!rows[i].nulls[1])
			CHECK(((const int64 *) (slot + chunk->columns[1].values))[i] ==
				  DatumGetInt64(rows[i].values[1]));
		if (!rows[i].nulls[2])
			check_text(slot, chunk, i, rows[i].values[2]);
	}
}

TB_TEST(column_chunks_hold_the_rows_that_were_added)
{
	TbProgram *program = make_program();
	Row		  *rows = palloc(5000 * sizeof(Row));

	for (int round = 0; round < 30; round++)
	{
		Size		   capacity = (Size) tb_random_between(1, 64) * TB_PAGE_SIZE;
		int			   longest = round % 3 == 0 ? 0 : round % 3 == 1 ? 20 : 1000;
		TbColumnChunk *chunk = tb_column_chunk_make(program, capacity);
		char		  *slot = palloc(capacity);
		TbFailure	   why;

		/* The chunk is used again after it was written. */
		for (int fill = 0; fill < 3; fill++)
		{
			uint32 nrows = 0;

			while (nrows < 5000)
			{
				TbRowAdded added;

				rows[nrows] = random_row(longest);
				added = tb_column_chunk_add_values(chunk, rows[nrows].values,
												   rows[nrows].nulls, &why);
				CHECK(added != TB_ROW_IMPOSSIBLE);
				if (added == TB_ROW_NO_SPACE)
					break;
				nrows++;
			}
			CHECK(nrows > 0 && tb_column_chunk_count(chunk) == nrows);
			tb_column_chunk_write(chunk, slot);
			check_chunk(slot, capacity, rows, nrows);
			CHECK(tb_column_chunk_count(chunk) == 0);
		}
	}
}

TB_TEST(column_chunks_say_what_they_can_not_hold)
{
	TbColumnChunk *chunk = tb_column_chunk_make(make_program(), TB_PAGE_SIZE);
	Row			   row = random_row(10);
	char		  *text = palloc(TB_PAGE_SIZE + 1);
	TbFailure	   why;

	/* A value that is larger than the slot. */
	memset(text, 'x', TB_PAGE_SIZE);
	text[TB_PAGE_SIZE] = '\0';
	row.nulls[2] = false;
	row.values[2] = CStringGetTextDatum(text);
	CHECK(tb_column_chunk_add_values(chunk, row.values, row.nulls, &why) ==
		  TB_ROW_IMPOSSIBLE);
	CHECK(why.reason == TB_FALLBACK_VALUE);
	/* NULL in a column that has none. */
	row = random_row(10);
	row.nulls[0] = true;
	CHECK(tb_column_chunk_add_values(chunk, row.values, row.nulls, &why) ==
		  TB_ROW_IMPOSSIBLE);
	CHECK(tb_column_chunk_count(chunk) == 0);
}
