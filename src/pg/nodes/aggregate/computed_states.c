/*
 * computed_states.c - see computed_states.h.
 *
 * Owns nothing. Called by folded_group.c.
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/date.h"

#include "pg/nodes/aggregate/computed_states.h"
#include "turbine/mutant.h"

/* An integer, date or time as it is. */
static int64
integer_of(const TbComputedState *state, Datum argument)
{
	if (state->is_bool)
		return DatumGetBool(argument);
	switch (state->type)
	{
		case TB_TYPE_INT2:
			return DatumGetInt16(argument);
		case TB_TYPE_INT4:
		case TB_TYPE_DATE:
			return DatumGetInt32(argument);
		default:
			return DatumGetInt64(argument);
	}
}

static void
set_number(TbComputedValue *result, const void *bytes, Size size)
{
	memcpy(&result->number, bytes, size);
	result->from = (const char *) &result->number;
}

static void
set_extreme(const TbComputedState *state, Datum argument, TbComputedValue *result)
{
	int64 value;
	int32 narrow;

	if (tb_type_is_text(state->type))
	{
		struct varlena *text = PG_DETOAST_DATUM_PACKED(argument);

		result->from = VARDATA_ANY(text);
		result->length = VARSIZE_ANY_EXHDR(text);
		return;
	}
	value = integer_of(state, argument);
	narrow = (int32) value;
	if (tb_type_width(state->type) == sizeof(int16))
		set_number(result, &(int16) {(int16) value}, sizeof(int16));
	else if (tb_type_width(state->type) == sizeof(int32))
		set_number(result, &narrow, sizeof(narrow));
	else
		set_number(result, &value, sizeof(value));
}

bool
tb_computed_value(const TbComputedState *state, Datum argument, int64 rows,
				  TbComputedValue *result)
{
	tb_int128 wide;
	int64	  sum;

	if (TB_MUTANT(rows_forgotten))
		rows = 1;
	result->length = 0;
	switch (state->kind)
	{
		case TB_AGG_COUNT:
			set_number(result, &rows, sizeof(rows));
			return true;
		case TB_AGG_SUM_INT:
			if (pg_mul_s64_overflow(integer_of(state, argument), rows, &sum))
				return false;
			set_number(result, &sum, sizeof(sum));
			return true;
		case TB_AGG_SUM_WIDE:
			/* Two numbers of 64 bits. */
			wide = (tb_int128) integer_of(state, argument) * rows;
			set_number(result, &wide, sizeof(wide));
			return true;
		case TB_AGG_MIN:
		case TB_AGG_MAX:
			set_extreme(state, argument, result);
			return true;
		default:
			elog(ERROR, "unknown state %u of a computed argument", state->kind);
	}
	return false;
}
