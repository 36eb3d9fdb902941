/*
 * attribute_numbers.c - attnum_of() and attnums_of(): numbers of columns by their names.
 *
 * Called by SQL. Must find what PostgreSQL finds by these names: system columns have
 * numbers below 0, and columns that were dropped have no names.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/cache/cache_policy.h"

extern PGDLLEXPORT Datum turbine_attnum_of(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_attnums_of(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_attnum_of);
PG_FUNCTION_INFO_V1(turbine_attnums_of);

static AttrNumber
number_of_column(Oid relid, const char *name)
{
	AttrNumber attnum = get_attnum(relid, name);

	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name,
						get_rel_name(relid))));
	return attnum;
}

Datum
turbine_attnum_of(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);

	tb_cache_require_relation(relid);
	PG_RETURN_INT16(number_of_column(relid, text_to_cstring(PG_GETARG_TEXT_PP(1))));
}

Datum
turbine_attnums_of(PG_FUNCTION_ARGS)
{
	Oid	   relid = PG_GETARG_OID(0);
	Datum *names;
	bool  *nulls;
	int	   count;

	tb_cache_require_relation(relid);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &names,
					  &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column names must not be null")));
		names[i] = Int16GetDatum(number_of_column(relid, TextDatumGetCString(names[i])));
	}
	PG_RETURN_ARRAYTYPE_P(
		construct_array(names, count, INT2OID, sizeof(int16), true, TYPALIGN_SHORT));
}
