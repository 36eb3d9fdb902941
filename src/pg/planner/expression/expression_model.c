/*
 * expression_model.c - calls of turbine.logregr_predict() and its kind as TB_EXPR_MODEL.
 *
 * The model, their first argument, must stay the same all through the query: a constant, a
 * parameter, or a subquery that runs once. It becomes an array parameter, in the layout of
 * turbine/model.h, that functions of the extension make when the query starts. They return
 * NULL for a model that does not fit the columns; then the query runs on PostgreSQL, which
 * raises the error if it ever gets to a row. Called by expression.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "turbine/model.h"

#include "pg/planner/expression/expression_internal.h"

/* Centroids that are not known yet, for the cost. */
#define CENTROIDS_GUESSED 16

static const struct
{
	const char *symbol;
	TbModelKind kind;
} model_functions[] = {
	{"turbine_linregr_predict", TB_MODEL_LINEAR},
	{"turbine_logregr_predict", TB_MODEL_LOGISTIC},
	{"turbine_logregr_variance", TB_MODEL_VARIANCE},
	{"turbine_logregr_softplus", TB_MODEL_SOFTPLUS},
	{"turbine_kmeans_predict", TB_MODEL_NEAREST},
	{"turbine_kmeans_distance", TB_MODEL_DISTANCE},
	{"turbine_product", TB_MODEL_PRODUCT},
};

/* A function in C of this library, whatever its name and schema are. */
static bool
is_of_library(HeapTuple tuple)
{
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);
	bool		 isnull;
	Datum		 library = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);

	return proc->prolang == ClanguageId && !isnull &&
		strstr(TextDatumGetCString(library), "pg_turbine") != NULL;
}

bool
tb_model_function(Oid funcid, TbModelKind *kind, Oid *namespace)
{
	HeapTuple tuple;
	bool	  found = false;

	if (funcid < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		return false;
	if (is_of_library(tuple))
	{
		bool  isnull;
		char *symbol = TextDatumGetCString(
			SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull));

		for (int i = 0; i < (int) lengthof(model_functions) && !found; i++)
		{
			found = strcmp(symbol, model_functions[i].symbol) == 0;
			*kind = model_functions[i].kind;
		}
		*namespace = ((Form_pg_proc) GETSTRUCT(tuple))->pronamespace;
	}
	ReleaseSysCache(tuple);
	return found;
}

/* The function that lays out such models for `columns` columns; NULL: the extension's
 * script is older than that. */
static Expr *
laid_out(const char *name, Oid namespace, Expr *model, int columns)
{
	Oid	   types[2] = {FLOAT8ARRAYOID, INT4OID};
	Const *count = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(columns),
							 false, true);
	Oid funcid = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
								 PointerGetDatum(buildoidvector(types, 2)),
								 ObjectIdGetDatum(namespace));

	if (!OidIsValid(funcid))
		return NULL;
	return (Expr *) makeFuncExpr(funcid, FLOAT8ARRAYOID, list_make2(model, count),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* What finding the nearest of them costs, in integer comparisons. Rounded up, so that
 * programs differ little. */
static uint32
centroid_search_cost(const Expr *model, int columns)
{
	uint32 count = CENTROIDS_GUESSED;
	uint32 rounded = TB_CENTROID_LANES;

	if (IsA(model, Const) && !((const Const *) model)->constisnull)
	{
		ArrayType *array = DatumGetArrayTypeP(((const Const *) model)->constvalue);

		if (ARR_NDIM(array) == 2)
			count = ARR_DIMS(array)[0];
	}
	while (rounded < count && rounded < 1 << 20)
		rounded *= 2;
	return rounded * columns / 2;
}

/* The parameter that is the model, for a number of columns. */
static bool
translate_array(TbTranslator *t, bool centroids, Oid namespace, Expr *model, int columns,
				TbValue *value)
{
	Expr *laid;

	if (!tb_is_constant_in_query(model))
		return tb_refuse(t, "a model that is not the same for all rows");
	if (t->conditional > 0 && !IsA(model, Const) && !tb_is_harmless_parameter(t, model))
		return tb_refuse(t, "a model that is computed for some rows only");
	laid = laid_out(centroids ? "centroid_parameter" : "coefficient_parameter", namespace,
					model, columns);
	if (laid == NULL)
		return tb_refuse(t, "a model of an older release of the extension");
	*value = tb_builder_param(t->builder, laid, tb_simple_type(TB_TYPE_FLOAT8),
							  TB_PARAM_ARRAY);
	value->constant = NULL;
	return true;
}

bool
tb_translate_model(TbTranslator *t, TbModelKind kind, Oid namespace, List *args,
				   TbValue *value)
{
	bool	   centroids = tb_model_has_centroids(kind);
	ArrayExpr *row = llast(args);
	TbTypeInfo number = tb_simple_type(TB_TYPE_FLOAT8);
	TbValue	  *values;
	int		   nvalues = 0;
	bool	   nullable = false;
	ListCell  *lc;

	if (!IsA(row, ArrayExpr) || row->multidims || row->elements == NIL)
		return tb_refuse(t, "a row of a model that is an array");
	values = palloc(sizeof(TbValue) * (1 + list_length(row->elements)));
	if (tb_model_has_array(kind) &&
		!translate_array(t, centroids, namespace, linitial(args),
						 list_length(row->elements), &values[nvalues++]))
		return false;
	foreach(lc, row->elements)
	{
		if (!tb_translate(t, lfirst(lc), &values[nvalues]))
			return false;
		if (values[nvalues].info.type != TB_TYPE_FLOAT8)
			return tb_refuse(t, "a row of a model of another type");
		nullable |= values[nvalues++].nullable;
	}
	*value = tb_builder_expr(t->builder, TB_EXPR_MODEL,
							 kind == TB_MODEL_NEAREST ? tb_simple_type(TB_TYPE_INT4) :
														number,
							 kind, nvalues, values, nullable);
	if (centroids)
		tb_builder_add_cost(t->builder, value,
							centroid_search_cost(linitial(args), nvalues - 1));
	return true;
}
