/*
 * numeric_statistics.c - a form for the values of an unconstrained numeric.
 *
 * The scale is the largest that the column's most common values and histogram
 * bounds print with, which holds all of them; where these differ among one
 * another, others may have more, so two digits are added. Quotients print with
 * 16 digits and more; where all of many end in zeros, those are left out. 18
 * digits are taken only if the largest value seen leaves two digits to spare.
 * Called by the program builder.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pg/convert/numeric_format.h"
#include "pg/convert/numeric_statistics.h"

/* Without statistics: products of three such columns still have a form. */
#define DEFAULT_SCALE 8

#define SPARE_SCALE 2
#define SPARE_DIGITS 2

/* So many values that end in so many zeros make it a rule. */
#define MANY_VALUES 50
#define MANY_ZEROS 8

typedef struct Shape
{
	int count; /* values seen */
	int least_scale;
	int largest_scale;
	int digits; /* after the point, without zeros at the end */
	int whole;	/* digits before the point */
} Shape;

static void
note_value(Shape *shape, Numeric value)
{
	int		  scale = tb_numeric_display_scale(value);
	tb_int128 scaled;

	if (scale < 0)
		return; /* NaN or infinite: no form holds it */
	if (shape->count++ == 0)
		shape->least_scale = scale;
	shape->least_scale = Min(shape->least_scale, scale);
	shape->largest_scale = Max(shape->largest_scale, scale);
	if (tb_numeric_to_int128(value, scale, &scaled))
		shape->whole = Max(shape->whole, tb_int128_digits(scaled) - scale);
	else
		shape->whole = TB_NUM128_DIGITS;
	while (shape->digits < scale && !tb_numeric_to_int128(value, shape->digits, &scaled))
		shape->digits++;
}

static void
note_slot(Shape *shape, HeapTuple statistics, int kind)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, statistics, kind, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	for (int i = 0; slot.valuetype == NUMERICOID && i < slot.nvalues; i++)
		note_value(shape, DatumGetNumeric(slot.values[i]));
	free_attstatsslot(&slot);
}

static TbTypeInfo
wide_info(int scale)
{
	return tb_numeric_info(TB_NUM128_DIGITS, scale);
}

/* All that PostgreSQL knows of the column's values, or of those that a partitioned
 * table's column has in its partitions. */
static void
note_statistics(Shape *shape, Oid relid, AttrNumber attnum, bool inherited)
{
	HeapTuple statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
										   Int16GetDatum(attnum), BoolGetDatum(inherited));

	if (!HeapTupleIsValid(statistics))
		return;
	note_slot(shape, statistics, STATISTIC_KIND_MCV);
	note_slot(shape, statistics, STATISTIC_KIND_HISTOGRAM);
	ReleaseSysCache(statistics);
}

static TbTypeInfo
form_of_unknown(const Shape *shape)
{
	return wide_info(Max(DEFAULT_SCALE, Min(shape->largest_scale, TB_NUM128_DIGITS / 2)));
}

static TbTypeInfo
form_of(const Shape *shape)
{
	int scale = shape->largest_scale;

	if (shape->count >= MANY_VALUES && shape->digits + MANY_ZEROS <= scale)
		scale = shape->digits + SPARE_SCALE;
	else if (shape->least_scale < shape->largest_scale &&
			 shape->whole + SPARE_DIGITS + scale + SPARE_SCALE <= TB_NUM64_DIGITS)
		scale += SPARE_SCALE;
	if (shape->whole + SPARE_DIGITS + scale <= TB_NUM64_DIGITS)
		return tb_numeric_info(shape->whole + SPARE_DIGITS + scale, scale);
	/* Zeros at the end need no digits: a smaller scale may do as well. */
	return wide_info(Max(Min(scale, TB_NUM128_DIGITS - SPARE_DIGITS - shape->whole), 0));
}

TbTypeInfo
tb_numeric_column_info(Oid relid, AttrNumber attnum, Numeric missing)
{
	Shape shape = {0};

	note_statistics(&shape, relid, attnum, false);
	if (missing != NULL)
		note_value(&shape, missing);
	return shape.count <= (missing != NULL ? 1 : 0) ? form_of_unknown(&shape) :
													  form_of(&shape);
}

/* What short tuples of the partition have. */
static int
note_missing_value(Shape *shape, Oid relid, AttrNumber attnum)
{
	Relation  relation = table_open(relid, NoLock);
	TupleDesc desc = RelationGetDescr(relation);
	bool	  isnull = true;
	Datum	  missing = 0;

	if (TupleDescAttr(desc, attnum - 1)->atthasmissing)
		missing = getmissingattr(desc, attnum, &isnull);
	if (!isnull)
		note_value(shape, DatumGetNumeric(missing));
	table_close(relation, NoLock);
	return isnull ? 0 : 1;
}

/* Partitions whose statistics are looked at: each costs some 10 us. */
#define MOST_PARTITIONS 100

TbTypeInfo
tb_numeric_leaves_info(Oid relid, AttrNumber attnum, const TbLeafColumn *leaves,
					   int nleaves)
{
	Shape shape = {0};
	int	  missing = 0;

	note_statistics(&shape, relid, attnum, true);
	for (int i = 0; i < nleaves; i++)
	{
		if (i < MOST_PARTITIONS)
			note_statistics(&shape, leaves[i].relid, leaves[i].attnum, false);
		missing += note_missing_value(&shape, leaves[i].relid, leaves[i].attnum);
	}
	return shape.count <= missing ? form_of_unknown(&shape) : form_of(&shape);
}
