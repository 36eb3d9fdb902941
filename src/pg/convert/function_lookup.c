/*
 * function_lookup.c - PostgreSQL functions as rows of the catalogue.
 *
 * Variants are rows that hold for some constant arguments only; the translator
 * recognizes them, drops or replaces those arguments, and asks by name:
 *
 *   like:contains, like:prefix, like:suffix, like:exact
 *                   LIKE '%x%', 'x%', '%x', 'x'; the parameter is x, unescaped
 *   like:general    any other pattern, as it is
 *   notlike:...     the same of NOT LIKE
 *   field:<name>    extract, date_part, date_trunc of that field; the field
 *                   argument is dropped. Of a timestamptz with the zone, see
 *                   below
 *   division        numeric_div: both operands with one scale, then their display
 *                   scales
 *   division scale  the display scale of that
 *   typmod          numeric(x, typmod) of an x that has the scale: the precision
 *                   in place of the typmod
 *   zone            a last argument is added: the SQL session's time zone
 *   zone:name       AT TIME ZONE: the zone goes last
 *   interval:months, interval:days, interval:microseconds
 *                   x + interval: an integer in place of the interval; then the
 *                   zone, if x is a timestamptz and it matters
 */
#include "postgres.h"

#include "access/transam.h"
#include "utils/fmgroids.h"

#include "pg/convert/function_lookup.h"
#include "pg/convert/postgis.h"

typedef struct OidRow
{
	Oid funcid;
	int row;
} OidRow;

static OidRow rows_by_oid[] = {
#define TB_FUNCTION(id, symbol, result, args, flags, cost, variant, pg_oid, signature) \
	{pg_oid, TB_FN_##id},
#include "../../../catalog/functions.def"
#undef TB_FUNCTION
};

static bool sorted = false;

static int
compare_rows(const void *a, const void *b)
{
	const OidRow *x = a;
	const OidRow *y = b;

	if (x->funcid != y->funcid)
		return x->funcid < y->funcid ? -1 : 1;
	return x->row - y->row;
}

/* The first row of the function, or the end of the table. */
static int
first_row(Oid funcid)
{
	int low = 0;
	int high = lengthof(rows_by_oid);

	if (!sorted)
	{
		qsort(rows_by_oid, lengthof(rows_by_oid), sizeof(OidRow), compare_rows);
		sorted = true;
	}
	while (low < high)
	{
		int middle = (low + high) / 2;

		if (rows_by_oid[middle].funcid < funcid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_row_of(int index, Oid funcid)
{
	return OidIsValid(funcid) && index < (int) lengthof(rows_by_oid) &&
		rows_by_oid[index].funcid == funcid;
}

int
tb_function_find(Oid funcid, const char *variant, int nargs, const uint8 *argtypes)
{
	if (funcid >= FirstNormalObjectId)
		return tb_postgis_function(funcid);
	for (int i = first_row(funcid); is_row_of(i, funcid); i++)
	{
		const TbFunction *f = &tb_functions[rows_by_oid[i].row];

		if (f->nargs == nargs && strcmp(f->variant, variant) == 0 &&
			memcmp(f->args, argtypes, nargs) == 0)
			return rows_by_oid[i].row;
	}
	return -1;
}

bool
tb_function_is_known(Oid funcid)
{
	if (funcid >= FirstNormalObjectId)
		return tb_postgis_function(funcid) >= 0;
	return is_row_of(first_row(funcid), funcid);
}

static bool
is_listed_as_harmless(Oid funcid)
{
	static const Oid listed[] = {
#define TB_NEVER_RAISES(pg_oid) pg_oid,
#include "../../../catalog/never_raises.def"
#undef TB_NEVER_RAISES
	};

	for (int i = 0; i < lengthof(listed); i++)
		if (listed[i] == funcid)
			return true;
	return false;
}

bool
tb_function_never_raises(Oid funcid)
{
	int first;

	if (funcid >= FirstNormalObjectId)
	{
		int row = tb_postgis_function(funcid);

		return row >= 0 && (tb_functions[row].flags & TB_FN_RAISES) == 0;
	}
	first = first_row(funcid);
	if (is_listed_as_harmless(funcid))
		return true;
	for (int i = first; is_row_of(i, funcid); i++)
		if (tb_functions[rows_by_oid[i].row].flags & TB_FN_RAISES)
			return false;
	return is_row_of(first, funcid);
}

bool
tb_function_has_variants(Oid funcid, const char *prefix)
{
	for (int i = first_row(funcid); is_row_of(i, funcid); i++)
	{
		if (strncmp(tb_functions[rows_by_oid[i].row].variant, prefix, strlen(prefix)) == 0)
			return true;
	}
	return false;
}
