/*
 * final_values.c - PostgreSQL's values out of group keys and aggregate states.
 *
 * States are exact, so the results are those of PostgreSQL's own final
 * functions; divisions are PostgreSQL's numeric_div. Called once for each
 * row of results, by nodes/aggregate and by stage/stage_run.c.
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "pg/convert/final_values.h"
#include "pg/convert/numeric_format.h"

/* Of tb_numeric_with_display(): values are times this, plus the display scale. */
#define PACKED_DISPLAY (TB_MOST_PACKED_DISPLAY + 1)

static const char *
column_values(const TbResultBatch *groups, uint32 column)
{
	Assert(column < groups->ncolumns);
	return (const char *) groups + groups->columns[column].values;
}

static bool
is_valid(const TbResultBatch *groups, uint32 column, uint32 row)
{
	uint64 valid = groups->columns[column].valid;

	Assert(column < groups->ncolumns && row < groups->nrows);
	return valid == 0 || ((const char *) groups)[valid + row] != 0;
}

static int64
int64_at(const TbResultBatch *groups, uint32 column, uint32 row)
{
	int64 value;

	memcpy(&value, column_values(groups, column) + (Size) row * sizeof(value),
		   sizeof(value));
	return value;
}

static float8
float8_at(const TbResultBatch *groups, uint32 column, uint32 row)
{
	float8 value;

	memcpy(&value, column_values(groups, column) + (Size) row * sizeof(value),
		   sizeof(value));
	return value;
}

/* An INT8, NUM64 or NUM128 as 128 bits. */
static tb_int128
int128_at(const TbResultBatch *groups, uint32 column, uint32 type, uint32 row)
{
	tb_int128 value;

	if (type != TB_TYPE_NUM128)
		return int64_at(groups, column, row);
	memcpy(&value, column_values(groups, column) + (Size) row * sizeof(value),
		   sizeof(value));
	return value;
}

/* A text with blanks up to so many characters. */
static Datum
text_datum(const TbResultBatch *groups, uint32 column, uint32 row, int padding)
{
	TbTextView	view;
	const char *bytes;
	int			blanks = 0;
	text	   *result;

	memcpy(&view, column_values(groups, column) + (Size) row * sizeof(view), sizeof(view));
	bytes = (const char *) groups + groups->bytes_offset + view.offset;
	if (padding > 0)
		blanks = Max(padding - pg_mbstrlen_with_len(bytes, view.length), 0);
	result = palloc(VARHDRSZ + view.length + blanks);
	SET_VARSIZE(result, VARHDRSZ + view.length + blanks);
	memcpy(VARDATA(result), bytes, view.length);
	memset(VARDATA(result) + view.length, ' ', blanks);
	return PointerGetDatum(result);
}

/* Digits after the point that the value prints with. */
static int
display_scale(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	if (out->display == TB_NONE || !is_valid(groups, out->display, row))
		return out->scale;
	return ((const int32 *) column_values(groups, out->display))[row];
}

static Datum
value_datum(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	const char *values = column_values(groups, out->first);

	switch (out->type)
	{
		case TB_TYPE_BOOL:
			return BoolGetDatum(values[row] != 0);
		case TB_TYPE_INT2:
			return Int16GetDatum(((const int16 *) values)[row]);
		case TB_TYPE_INT4:
			return Int32GetDatum(((const int32 *) values)[row]);
		case TB_TYPE_DATE:
			return DateADTGetDatum(((const DateADT *) values)[row]);
		case TB_TYPE_INT8:
		case TB_TYPE_TIMESTAMP:
		case TB_TYPE_TIMESTAMPTZ:
			return Int64GetDatum(((const int64 *) values)[row]);
		case TB_TYPE_FLOAT4:
			return Float4GetDatum(((const float4 *) values)[row]);
		case TB_TYPE_FLOAT8:
			return Float8GetDatum(((const float8 *) values)[row]);
		case TB_TYPE_NUM64:
		case TB_TYPE_NUM128:
			return tb_numeric_from_int128(int128_at(groups, out->first, out->type, row),
										  out->scale, display_scale(out, groups, row));
		case TB_TYPE_TEXT:
		case TB_TYPE_BPCHAR:
		case TB_TYPE_GEOMETRY:
			return text_datum(groups, out->first, row, out->padding);
		default:
			elog(ERROR, "unknown type %u of a result column", out->type);
	}
	return (Datum) 0;
}

static Datum
sum_numeric(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	return tb_numeric_from_int128(int128_at(groups, out->first, out->type, row), out->scale,
								  display_scale(out, groups, row));
}

/* Splits value * PACKED_DISPLAY + display. */
static tb_int128
unpack_extreme(tb_int128 packed, int *display)
{
	tb_int128 rest = packed % PACKED_DISPLAY;

	if (rest < 0)
		rest += PACKED_DISPLAY;
	*display = (int) rest;
	return (packed - rest) / PACKED_DISPLAY;
}

static Datum
extreme_numeric(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	int		  display;
	tb_int128 value = unpack_extreme(int128_at(groups, out->first, out->type, row),
									 &display);

	return tb_numeric_from_int128(value, out->scale, display);
}

static Datum
average_numeric(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	Datum count = tb_numeric_from_int128(int64_at(groups, out->second, row), 0, 0);

	return DirectFunctionCall2(numeric_div, sum_numeric(out, groups, row), count);
}

/* Below tb_float_sum_limit() every sum is a float4. */
static Datum
sum_float4(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	return DirectFunctionCall1(dtof, Float8GetDatum(float8_at(groups, out->first, row)));
}

static Datum
compute(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	switch (out->kind)
	{
		case TB_OUT_SUM_NUMERIC:
			return sum_numeric(out, groups, row);
		case TB_OUT_SUM_FLOAT4:
			return sum_float4(out, groups, row);
		case TB_OUT_SUM_FLOAT8:
			return Float8GetDatum(float8_at(groups, out->first, row));
		case TB_OUT_AVG_NUMERIC:
			return average_numeric(out, groups, row);
		case TB_OUT_AVG_FLOAT8:
			/* As float8_avg divides: a result that underflows is 0, not an error. Its sum
			 * begins with 0, so that of values that are all -0 it is 0. */
			return Float8GetDatum((float8_at(groups, out->first, row) + 0.0) /
								  (float8) int64_at(groups, out->second, row));
		case TB_OUT_EXTREME_NUMERIC:
			return extreme_numeric(out, groups, row);
		case TB_OUT_BOOL:
			return BoolGetDatum(((const int32 *) column_values(groups, out->first))[row] !=
								0);
		default:
			return value_datum(out, groups, row);
	}
}

/* Whether it is one of several equal values that print differently. */
static bool
is_one_of_equals(const TbOutput *out)
{
	return out->kind == TB_OUT_EXTREME_NUMERIC ||
		(out->kind == TB_OUT_KEY && out->display != TB_NONE);
}

bool
tb_final_may_be_ambiguous(const TbOutput *outputs, int noutputs)
{
	for (int i = 0; i < noutputs; i++)
	{
		if (is_one_of_equals(&outputs[i]))
			return true;
	}
	return false;
}

/* The extreme value with the smallest and with the largest display scale. */
static bool
extreme_is_unambiguous(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	tb_int128 above = int128_at(groups, out->first, out->type, row);
	tb_int128 below = int128_at(groups, out->second, out->type, row);
	int		  display;

	(void) unpack_extreme(above, &display);
	return below == above - 2 * display;
}

static bool
key_is_unambiguous(const TbOutput *out, const TbResultBatch *groups, uint32 row)
{
	const int32 *least = (const int32 *) column_values(groups, out->least_display);
	const int32 *most = (const int32 *) column_values(groups, out->display);

	return least[row] == most[row];
}

bool
tb_final_is_unambiguous(const TbOutput *outputs, int noutputs, const TbResultBatch *groups,
						uint32 row)
{
	for (int i = 0; i < noutputs; i++)
	{
		const TbOutput *out = &outputs[i];

		/* Some columns only folded groups have. */
		if (!is_one_of_equals(out) || out->first >= groups->ncolumns ||
			!is_valid(groups, out->first, row))
			continue;
		if (!(out->kind == TB_OUT_KEY ? key_is_unambiguous(out, groups, row) :
										extreme_is_unambiguous(out, groups, row)))
			return false;
	}
	return true;
}

/* Columns of the scan tuple that come out of no column of results. */
static bool
is_made_elsewhere(const TbOutput *out)
{
	return (out->kind == TB_OUT_GROUPING && out->first == TB_NONE) ||
		out->kind == TB_OUT_COMPUTED_KEY || out->kind == TB_OUT_GROUP_FILTER ||
		out->kind == TB_OUT_UNREAD;
}

static uint64
column_bit(uint32 column)
{
	return column < 64 ? UINT64CONST(1) << column : 0;
}

uint64
tb_output_columns(const TbOutput *output)
{
	uint64 columns = 0;

	if (is_made_elsewhere(output))
		return 0;
	columns = column_bit(output->first);
	if (output->kind == TB_OUT_AVG_NUMERIC || output->kind == TB_OUT_AVG_FLOAT8 ||
		output->kind == TB_OUT_EXTREME_NUMERIC)
		columns |= column_bit(output->second);
	if (output->display != TB_NONE)
		columns |= column_bit(output->display);
	if (output->display != TB_NONE && output->kind == TB_OUT_KEY)
		columns |= column_bit(output->least_display);
	return columns;
}

Datum
tb_final_value(const TbOutput *output, const TbResultBatch *groups, uint32 row,
			   bool *isnull)
{
	*isnull = is_made_elsewhere(output) || !is_valid(groups, output->first, row);
	if (!*isnull)
		return compute(output, groups, row);
	if (output->kind == TB_OUT_COUNT)
	{
		*isnull = false;
		return Int64GetDatum(0);
	}
	return (Datum) 0;
}

bool
tb_final_is_column(const TbOutput *output)
{
	switch (output->kind)
	{
		case TB_OUT_SUM_FLOAT8:
			return true;
		case TB_OUT_KEY:
		case TB_OUT_VALUE:
			return !tb_type_is_text(output->type) && output->type != TB_TYPE_NUM64 &&
				output->type != TB_TYPE_NUM128;
		default:
			return false;
	}
}

void
tb_final_row(const TbOutput *outputs, int noutputs, const TbResultBatch *groups, uint32 row,
			 Datum *values, bool *isnull)
{
	for (int i = 0; i < noutputs; i++)
		values[i] = tb_final_value(&outputs[i], groups, row, &isnull[i]);
}

void
tb_final_empty(const TbOutput *outputs, int noutputs, const TbProgram *program,
			   Datum *values, bool *isnull)
{
	const TbAgg *aggs = (const TbAgg *) ((const char *) program + program->aggs.offset);
	uint32		 nkeys = program->keys.count;

	for (int i = 0; i < noutputs; i++)
	{
		const TbOutput *out = &outputs[i];

		isnull[i] = is_made_elsewhere(out) || out->first < nkeys ||
			(aggs[out->first - nkeys].kind != TB_AGG_COUNT && out->kind != TB_OUT_COUNT);
		values[i] = Int64GetDatum(0);
	}
}
