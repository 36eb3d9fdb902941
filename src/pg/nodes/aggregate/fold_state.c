/*
 * fold_state.c - see fold_state.h.
 *
 * Owns nothing. Sums are exact, or refused; values are compared in PostgreSQL's order,
 * texts byte by byte. Called by set_fold.c.
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/float.h"

#include "pg/convert/numeric_format.h"
#include "pg/nodes/aggregate/fold_state.h"

static bool
add_int64(char *to, const char *from)
{
	int64 a;
	int64 b;

	memcpy(&a, to, sizeof(a));
	memcpy(&b, from, sizeof(b));
	if (pg_add_s64_overflow(a, b, &a))
		return false;
	memcpy(to, &a, sizeof(a));
	return true;
}

static bool
add_int128(char *to, const char *from)
{
	tb_int128 a;
	tb_int128 b;

	memcpy(&a, to, sizeof(a));
	memcpy(&b, from, sizeof(b));
	if (__builtin_add_overflow(a, b, &a))
		return false;
	memcpy(to, &a, sizeof(a));
	return true;
}

/* Overflows of no finite values: see tb_float_sum_limit(). */
static bool
add_float8(char *to, const char *from)
{
	float8 a;
	float8 b;

	memcpy(&a, to, sizeof(a));
	memcpy(&b, from, sizeof(b));
	a += b;
	memcpy(to, &a, sizeof(a));
	return true;
}

/* In PostgreSQL's order, NaN above all. */
static bool
is_less(uint32 type, const char *left, const char *right)
{
	switch (type)
	{
		case TB_TYPE_INT2:
			return *(const int16 *) left < *(const int16 *) right;
		case TB_TYPE_INT4:
		case TB_TYPE_DATE:
			return *(const int32 *) left < *(const int32 *) right;
		case TB_TYPE_FLOAT4:
			return float4_lt(*(const float4 *) left, *(const float4 *) right);
		case TB_TYPE_FLOAT8:
			return float8_lt(*(const float8 *) left, *(const float8 *) right);
		case TB_TYPE_NUM128:
		{
			tb_int128 a;
			tb_int128 b;

			memcpy(&a, left, sizeof(a));
			memcpy(&b, right, sizeof(b));
			return a < b;
		}
		default: /* int8, timestamps, numerics of 64 bits; no text */
			return *(const int64 *) left < *(const int64 *) right;
	}
}

bool
tb_fold_value(const TbAgg *agg, char *to, const char *from)
{
	uint32 type = tb_agg_state_type(agg);

	switch (agg->kind)
	{
		case TB_AGG_COUNT:
		case TB_AGG_SUM_INT:
			return add_int64(to, from);
		case TB_AGG_SUM_WIDE:
			return add_int128(to, from);
		case TB_AGG_SUM_FLOAT:
			return add_float8(to, from);
		case TB_AGG_MIN:
			if (is_less(type, from, to))
				memcpy(to, from, tb_type_width(type));
			return true;
		case TB_AGG_MAX:
			if (is_less(type, to, from))
				memcpy(to, from, tb_type_width(type));
			return true;
		default:
			elog(ERROR, "unknown aggregate state %u", agg->kind);
	}
	return false;
}

/* Whether the text comes before the stored one, byte by byte. */
static bool
text_is_less(const char *bytes, uint32 length, const TbStoredText *text)
{
	int order = memcmp(bytes, text->bytes, Min(length, text->length));

	return order != 0 ? order < 0 : length < text->length;
}

static bool
text_is_greater(const char *bytes, uint32 length, const TbStoredText *text)
{
	int order = memcmp(bytes, text->bytes, Min(length, text->length));

	return order != 0 ? order > 0 : length > text->length;
}

void
tb_fold_text(MemoryContext context, const TbAgg *agg, char *to, bool is_first,
			 const char *bytes, uint32 length)
{
	TbStoredText text;

	memcpy(&text, to, sizeof(text));
	if (!is_first &&
		!(agg->kind == TB_AGG_MIN ? text_is_less(bytes, length, &text) :
									text_is_greater(bytes, length, &text)))
		return;
	if (length > text.capacity || text.bytes == NULL)
	{
		if (text.bytes != NULL)
			pfree(text.bytes);
		text.capacity = Max(length, 8);
		text.bytes = MemoryContextAlloc(context, text.capacity);
	}
	memcpy(text.bytes, bytes, length);
	text.length = length;
	memcpy(to, &text, sizeof(text));
}
