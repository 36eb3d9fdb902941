/*
 * column_chunk.c - see column_chunk.h.
 *
 * Values gather in private memory, one array a column, and are laid out in the
 * slot when the chunk is full. Owns what it pallocs in the context it was made
 * in. Called by plan_rows_input.c, and by heap_source.c for rows
 * that devices could not read.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "turbine/point_column.h"

#include "pg/bridge/failure.h"
#include "pg/compat/pg16.h"
#include "pg/conversation/column_chunk.h"
#include "pg/convert/numeric_format.h"

#define MAX_ROWS 2048
#define SECTION_ALIGN 16
#define ALIGN_SECTION(n) TYPEALIGN(SECTION_ALIGN, (n))

typedef struct ChunkColumn
{
	const TbColumn *column;
	uint32			width;
	bool			nullable;
	char		   *values;
	uint8		   *valid;
} ChunkColumn;

struct TbColumnChunk
{
	const TbProgram *program;
	uint32			 ncolumns;
	ChunkColumn		*columns;
	uint32			 nrows;
	uint32			 max_rows;
	char			*bytes; /* text */
	Size			 bytes_used;
	Size			 bytes_capacity;
	Datum			*datums;	  /* of one tuple */
	bool			*nulls;
	int				 natts;		  /* room of both */
	MemoryContext	 row_context; /* detoasted values of one tuple */
};

static Size
header_size(uint32 ncolumns)
{
	return offsetof(TbColumnsChunk, columns) +
		ncolumns * sizeof(((TbColumnsChunk *) 0)->columns[0]);
}

static Size
fixed_size(const TbColumnChunk *rows, uint32 nrows)
{
	Size size = ALIGN_SECTION(header_size(rows->ncolumns));

	for (uint32 i = 0; i < rows->ncolumns; i++)
	{
		size += ALIGN_SECTION((Size) rows->columns[i].width * nrows);
		if (rows->columns[i].nullable)
			size += ALIGN_SECTION(nrows);
	}
	return size;
}

static const TbColumn *
columns_of(const TbProgram *program)
{
	return (const TbColumn *) ((const char *) program + program->columns.offset);
}

TbColumnChunk *
tb_column_chunk_make(const TbProgram *program, Size capacity)
{
	TbColumnChunk  *rows = palloc0(sizeof(TbColumnChunk));
	const TbColumn *columns = columns_of(program);

	rows->program = program;
	/* The source's come first; payload columns are not sent. */
	while (rows->ncolumns < program->columns.count && columns[rows->ncolumns].join == 0)
		rows->ncolumns++;
	rows->columns = palloc0(Max(rows->ncolumns, 1) * sizeof(ChunkColumn));
	for (uint32 i = 0; i < rows->ncolumns; i++)
	{
		rows->columns[i].column = &columns[i];
		rows->columns[i].width = tb_type_width(columns[i].type);
		rows->columns[i].nullable = (columns[i].flags & TB_COL_NULLABLE) != 0;
	}
	/* Half of a slot for fixed-width values at most, the rest for text. */
	rows->max_rows = Min(MAX_ROWS, capacity / TB_PAGE_SIZE * TB_MAX_TUPLES_PER_PAGE);
	while (rows->max_rows > 1 && fixed_size(rows, rows->max_rows) > capacity / 2)
		rows->max_rows /= 2;
	if (fixed_size(rows, rows->max_rows) < capacity)
		rows->bytes_capacity = capacity - fixed_size(rows, rows->max_rows);
	else
		rows->max_rows = 0; /* no row fits */

	for (uint32 i = 0; i < rows->ncolumns; i++)
	{
		rows->columns[i].values = palloc0((Size) rows->columns[i].width *
										  Max(rows->max_rows, 1));
		rows->columns[i].valid = palloc0(Max(rows->max_rows, 1));
	}
	rows->bytes = palloc(Max(rows->bytes_capacity, 1));
	rows->row_context = AllocSetContextCreate(CurrentMemoryContext,
											  "pg_turbine detoasted row",
											  ALLOCSET_DEFAULT_SIZES);
	return rows;
}

uint32
tb_column_chunk_count(const TbColumnChunk *rows)
{
	return rows->nrows;
}

static TbRowAdded
add_text(TbColumnChunk *rows, const TbColumn *column, Datum datum, char *out,
		 TbFailure *why)
{
	struct varlena *value = PG_DETOAST_DATUM_PACKED(datum);
	const char	   *data = VARDATA_ANY(value);
	Size			length = VARSIZE_ANY_EXHDR(value);
	TbTextView		view = {0};

	/* Devices compare without the padding. */
	if (column->type == TB_TYPE_BPCHAR)
		length = bpchartruelen(unconstify(char *, data), length);
	/* Is there space for it? */
	if (length > rows->bytes_capacity)
	{
		tb_failure_set(why, TB_FALLBACK_VALUE,
					   "a value of %zu bytes is larger than a buffer", length);
		return TB_ROW_IMPOSSIBLE;
	}
	if (length > rows->bytes_capacity - rows->bytes_used)
		return TB_ROW_NO_SPACE;
	/* The bytes, and a view of them. */
	view.length = length;
	view.offset = rows->bytes_used;
	memcpy(&view.prefix, data, Min(length, sizeof(view.prefix)));
	memcpy(rows->bytes + rows->bytes_used, data, length);
	rows->bytes_used += length;
	memcpy(out, &view, sizeof(view));
	return TB_ROW_ADDED;
}

static TbRowAdded
add_numeric(const TbColumn *column, Datum datum, char *out, TbFailure *why)
{
	tb_int128 scaled;
	int64	  narrow;

	if (!tb_numeric_to_int128(DatumGetNumeric(datum), column->scale, &scaled) ||
		!tb_int128_fits(scaled, column->type) ||
		(column->digits != 0 && tb_int128_digits(scaled) > (int) column->digits))
	{
		tb_failure_set(why, TB_FALLBACK_VALUE,
					   "a numeric value does not fit its column's format");
		return TB_ROW_IMPOSSIBLE;
	}
	if (column->type == TB_TYPE_NUM128)
		memcpy(out, &scaled, sizeof(scaled));
	else
	{
		narrow = (int64) scaled;
		memcpy(out, &narrow, sizeof(narrow));
	}
	return TB_ROW_ADDED;
}

static TbRowAdded
add_display_scale(Datum datum, char *out, TbFailure *why)
{
	int scale = tb_numeric_display_scale(DatumGetNumeric(datum));

	if (scale < 0 || scale > TB_MAX_DISPLAY_SCALE)
	{
		tb_failure_set(why, TB_FALLBACK_VALUE,
					   "a numeric value prints with too many digits");
		return TB_ROW_IMPOSSIBLE;
	}
	*(int32 *) out = scale;
	return TB_ROW_ADDED;
}

/* By-value types have the same bytes in a Datum's low end and in the engine. */
static TbRowAdded
add_by_value(const TbColumn *column, Datum datum, char *out)
{
	switch (tb_type_width(column->type))
	{
		case 1:
			*(uint8 *) out = DatumGetBool(datum);
			break;
		case 2:
			*(int16 *) out = DatumGetInt16(datum);
			break;
		case 4:
			*(int32 *) out = DatumGetInt32(datum);
			break;
		default:
			*(int64 *) out = DatumGetInt64(datum);
			break;
	}
	return TB_ROW_ADDED;
}

/* Of a point. */
static TbRowAdded
add_coordinate(const TbColumn *column, Datum datum, char *out, TbFailure *why)
{
	struct varlena *point = PG_DETOAST_DATUM_PACKED(datum);

	if (tb_point_read((const uint8 *) VARDATA_ANY(point), VARSIZE_ANY_EXHDR(point),
					  column->digits, (double *) out))
		return TB_ROW_ADDED;
	tb_failure_set(why, TB_FALLBACK_VALUE, "a point that is no row of coordinates");
	return TB_ROW_IMPOSSIBLE;
}

static TbRowAdded
add_value(TbColumnChunk *rows, ChunkColumn *target, int attribute, const Datum *datums,
		  const bool *nulls, TbFailure *why)
{
	const TbColumn *column = target->column;
	char		   *out = target->values + (Size) rows->nrows * target->width;

	target->valid[rows->nrows] = !nulls[attribute];
	if (nulls[attribute])
	{
		memset(out, 0, target->width);
		if (target->nullable)
			return TB_ROW_ADDED;
		tb_failure_set(why, TB_FALLBACK_VALUE, "NULL in a column declared NOT NULL");
		return TB_ROW_IMPOSSIBLE;
	}
	if (tb_type_is_text(column->type))
		return add_text(rows, column, datums[attribute], out, why);
	if (column->flags & TB_COL_COORDINATE)
		return add_coordinate(column, datums[attribute], out, why);
	if (column->flags & TB_COL_DISPLAY_SCALE)
		return add_display_scale(datums[attribute], out, why);
	if (tb_type_is_numeric(column->type))
		return add_numeric(column, datums[attribute], out, why);
	return add_by_value(column, datums[attribute], out);
}

/* The tuple's own place, which no attribute has. */
static TbRowAdded
add_tid(TbColumnChunk *rows, ChunkColumn *target, ItemPointer tid)
{
	int64 packed = TB_PACKED_TID(ItemPointerGetBlockNumber(tid),
								 ItemPointerGetOffsetNumber(tid));

	target->valid[rows->nrows] = true;
	memcpy(target->values + (Size) rows->nrows * target->width, &packed, sizeof(packed));
	return TB_ROW_ADDED;
}

/* `tid`: NULL of rows that are no tuples. */
static TbRowAdded
add_row(TbColumnChunk *rows, const TbColumn *columns, const Datum *datums,
		const bool *nulls, ItemPointer tid, TbFailure *why)
{
	Size		  bytes_before = rows->bytes_used;
	TbRowAdded	  result = TB_ROW_ADDED;
	MemoryContext old;

	if (rows->max_rows == 0)
	{
		tb_failure_set(why, TB_FALLBACK_VALUE, "a row is larger than a buffer");
		return TB_ROW_IMPOSSIBLE;
	}
	if (rows->nrows == rows->max_rows)
		return TB_ROW_NO_SPACE;

	old = MemoryContextSwitchTo(rows->row_context);
	for (uint32 i = 0; i < rows->ncolumns && result == TB_ROW_ADDED; i++)
		result = (columns[i].flags & TB_COL_TID) != 0 ?
			add_tid(rows, &rows->columns[i], tid) :
			add_value(rows, &rows->columns[i], columns[i].attnum - 1, datums, nulls, why);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->row_context);

	if (result == TB_ROW_ADDED)
		rows->nrows++;
	else
		rows->bytes_used = bytes_before;
	/* Several values that fit alone, but not together in an empty chunk. */
	if (result == TB_ROW_NO_SPACE && rows->nrows == 0)
	{
		tb_failure_set(why, TB_FALLBACK_VALUE, "a row is larger than a buffer");
		return TB_ROW_IMPOSSIBLE;
	}
	return result;
}

TbRowAdded
tb_column_chunk_add(TbColumnChunk *rows, HeapTuple tuple, TupleDesc desc,
					const TbProgram *layout, TbFailure *why)
{
	if (rows->natts < desc->natts)
	{
		MemoryContext context = GetMemoryChunkContext(rows);

		rows->datums = MemoryContextAlloc(context, desc->natts * sizeof(Datum));
		rows->nulls = MemoryContextAlloc(context, desc->natts * sizeof(bool));
		rows->natts = desc->natts;
	}
	/* Fills in the attributes' missing values for short tuples, too. */
	heap_deform_tuple(tuple, desc, rows->datums, rows->nulls);
	return add_row(rows, columns_of(layout), rows->datums, rows->nulls, &tuple->t_self,
				   why);
}

TbRowAdded
tb_column_chunk_add_values(TbColumnChunk *rows, const Datum *datums, const bool *nulls,
						   TbFailure *why)
{
	return add_row(rows, columns_of(rows->program), datums, nulls, NULL, why);
}

void
tb_column_chunk_write(TbColumnChunk *rows, char *slot)
{
	TbColumnsChunk *chunk = (TbColumnsChunk *) slot;
	Size			offset = ALIGN_SECTION(header_size(rows->ncolumns));

	chunk->nrows = rows->nrows;
	chunk->ncolumns = rows->ncolumns;
	/* Values and validity of each column. */
	for (uint32 i = 0; i < rows->ncolumns; i++)
	{
		ChunkColumn *column = &rows->columns[i];

		chunk->columns[i].values = offset;
		memcpy(slot + offset, column->values, (Size) column->width * rows->nrows);
		offset += ALIGN_SECTION((Size) column->width * rows->nrows);
		chunk->columns[i].valid = 0;
		if (!column->nullable)
			continue;
		chunk->columns[i].valid = offset;
		memcpy(slot + offset, column->valid, rows->nrows);
		offset += ALIGN_SECTION(rows->nrows);
	}
	/* Bytes of all texts. */
	chunk->bytes_offset = offset;
	chunk->bytes_size = rows->bytes_used;
	memcpy(slot + offset, rows->bytes, rows->bytes_used);
	/* Ready for the next chunk. */
	rows->nrows = 0;
	rows->bytes_used = 0;
}
