/*
 * functions_view.c - turbine.functions: the functions that devices compute.
 *
 * Called by SQL; returns a materialized set. Shows the rows of catalog/functions.def as
 * they were compiled in, and reads nothing else.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "turbine/functions.h"

extern PGDLLEXPORT Datum turbine_functions(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_functions);

static Datum
type_names(const TbFunction *f)
{
	Datum names[TB_FN_MAX_ARGS];

	for (int i = 0; i < f->nargs; i++)
		names[i] = CStringGetTextDatum(tb_type_name(f->args[i]));
	return PointerGetDatum(
		construct_array(names, f->nargs, TEXTOID, -1, false, TYPALIGN_INT));
}

Datum
turbine_functions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < TB_FUNCTION_COUNT; i++)
	{
		const TbFunction *f = &tb_functions[i];
		Datum			  values[8];
		bool			  nulls[8] = {0};

		values[0] = CStringGetTextDatum(f->name);
		values[1] = CStringGetTextDatum(f->signature);
		values[2] = CStringGetTextDatum(f->variant);
		values[3] = CStringGetTextDatum(tb_type_name(f->result));
		values[4] = type_names(f);
		values[5] = BoolGetDatum((f->flags & TB_FN_RAISES) != 0);
		values[6] = BoolGetDatum((f->flags & TB_FN_INEXACT) == 0);
		values[7] = Int32GetDatum((int32) f->cost);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
