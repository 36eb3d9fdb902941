/*
 * scan_bounds.c - finds bounds among clauses, and evaluates them: see scan_bounds.h.
 *
 * Values are compared as the files' own bounds are, so only types are taken whose order is
 * that of the numbers or bytes in the files, and only values that raise no error and
 * have no side effect: constants, and parameters that are known.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/pg_locale.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pg/compat/pg18.h"
#include "pg/fdw/scan_bounds.h"
#include "pg/files/file_reader_process.h"

#define MAX_VALUES 1000

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/* Whether values of both types are the same numbers, or texts, to the file reader. */
static bool
are_comparable(Oid column, Oid value)
{
	if (is_integer(column))
		return is_integer(value);
	if (is_float(column))
		return is_float(value);
	if (is_text(column))
		return is_text(value) && GetDatabaseEncoding() == PG_UTF8;
	return column == value &&
		(column == NUMERICOID || column == DATEOID || column == TIMEOID ||
		 column == TIMESTAMPOID || column == TIMESTAMPTZOID);
}

/* Whether a comparison under the collation is one of bytes. */
static bool
compares_bytes(TbReaderCompare compare, Oid collation)
{
	if (!OidIsValid(collation))
		return true;
	if (compare == TB_COMPARE_EQUAL)
		return get_collation_isdeterministic(collation);
	return tb_collation_is_c(collation);
}

/* What an operator compares, with the column on its left; 0: nothing we know. */
static TbReaderCompare
compare_of(Oid operator)
{
	Oid				left, right;
	TypeCacheEntry *type;

	/* What does btree take it for? */
	op_input_types(operator, & left, &right);
	if (!OidIsValid(left))
		return 0;
	type = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY);
	if (!OidIsValid(type->btree_opf))
		return 0;
	switch (get_op_opfamily_strategy(operator, type->btree_opf))
	{
		case BTLessStrategyNumber:
			return TB_COMPARE_LESS;
		case BTLessEqualStrategyNumber:
			return TB_COMPARE_LESS_EQUAL;
		case BTEqualStrategyNumber:
			return TB_COMPARE_EQUAL;
		case BTGreaterEqualStrategyNumber:
			return TB_COMPARE_GREATER_EQUAL;
		case BTGreaterStrategyNumber:
			return TB_COMPARE_GREATER;
		default:
			return 0;
	}
}

/* The table's column that an expression is, or NULL. */
static Var *
column_of(Node *node, Index relid)
{
	Var *var;

	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	var = (Var *) node;
	if (!IsA(node, Var) || var->varno != relid || var->varattno <= 0 ||
		var->varlevelsup != 0)
		return NULL;
	return var;
}

static bool
is_known_value(Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Const) || IsA(node, Param);
}

static void
add_clause(TbBoundClauses *clauses, Var *column, Node *value, Oid operator, Oid collation,
		   bool is_array)
{
	TbReaderCompare compare = OidIsValid(operator) ? compare_of(operator) : 0;
	Oid				type = is_array ? get_element_type(exprType(value)) : exprType(value);

	if (compare == 0 || (is_array && compare != TB_COMPARE_EQUAL) ||
		!are_comparable(getBaseType(column->vartype), type) ||
		!compares_bytes(compare, collation))
		return;
	clauses->attnums = lappend_int(clauses->attnums, column->varattno);
	clauses->compares = lappend_int(clauses->compares, compare);
	clauses->values = lappend(clauses->values, value);
}

static void
add_comparison(TbBoundClauses *clauses, OpExpr *clause, Index relid)
{
	Node *left, *right;
	Var	 *column;

	if (list_length(clause->args) != 2)
		return;
	left = linitial(clause->args);
	right = lsecond(clause->args);
	column = column_of(left, relid);
	if (column != NULL && is_known_value(right))
		add_clause(clauses, column, right, clause->opno, clause->inputcollid, false);
	else if ((column = column_of(right, relid)) != NULL && is_known_value(left))
		add_clause(clauses, column, left, get_commutator(clause->opno), clause->inputcollid,
				   false);
}

TbBoundClauses
tb_bound_clauses(List *clauses, Index relid)
{
	TbBoundClauses found = {NIL, NIL, NIL};
	ListCell	  *cell;

	foreach(cell, clauses)
	{
		Node *clause = lfirst(cell);

		if (IsA(clause, OpExpr))
			add_comparison(&found, (OpExpr *) clause, relid);
		else if (IsA(clause, ScalarArrayOpExpr))
		{
			ScalarArrayOpExpr *any = (ScalarArrayOpExpr *) clause;
			Var				  *column = column_of(linitial(any->args), relid);

			if (any->useOr && column != NULL && is_known_value(lsecond(any->args)))
				add_clause(&found, column, lsecond(any->args), any->opno, any->inputcollid,
						   true);
		}
	}
	return found;
}

/* A value as the file reader wants it; NULL: it cannot be compared so. */
static char *
value_text(Datum value, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return psprintf("%d", DatumGetInt16(value));
		case INT4OID:
		case DATEOID:
			return psprintf("%d", DatumGetInt32(value));
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return psprintf(INT64_FORMAT, DatumGetInt64(value));
		case FLOAT4OID:
			return isnan(DatumGetFloat4(value)) ?
				NULL :
				psprintf("%.17g", (double) DatumGetFloat4(value));
		case FLOAT8OID:
			return isnan(DatumGetFloat8(value)) ? NULL :
												  psprintf("%.17g", DatumGetFloat8(value));
		case NUMERICOID:
			return DatumGetCString(DirectFunctionCall1(numeric_out, value));
		default:
			return TextDatumGetCString(value);
	}
}

/* The texts of a value, or of an array's elements; NIL: no bound. */
static List *
value_texts(Datum value, Oid type)
{
	Oid	   element = get_element_type(type);
	List  *texts = NIL;
	Datum *values;
	bool  *nulls;
	int	   nvalues;
	int16  length;
	bool   by_value;
	char   align;

	/* A single value. */
	if (!OidIsValid(element))
	{
		char *text = value_text(value, type);

		return text != NULL ? list_make1(text) : NIL;
	}
	/* An array of IN or ANY. */
	get_typlenbyvalalign(element, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(value), element, length, by_value, align, &values,
					  &nulls, &nvalues);
	if (nvalues > MAX_VALUES)
		return NIL;
	for (int i = 0; i < nvalues; i++)
	{
		char *text = nulls[i] ? NULL : value_text(values[i], element);

		/* NULL equals nothing. */
		if (nulls[i])
			continue;
		if (text == NULL)
			return NIL;
		texts = lappend(texts, text);
	}
	return texts;
}

/* A parameter of an InitPlan that has not run yet is left alone: PostgreSQL may never
 * need it, and it may raise an error. */
static bool
is_ready(Expr *value, ExprContext *econtext)
{
	Param *param;

	while (IsA(value, RelabelType))
		value = ((RelabelType *) value)->arg;
	param = (Param *) value;
	if (!IsA(value, Param) || param->paramkind != PARAM_EXEC)
		return true;
	return econtext->ecxt_param_exec_vals[param->paramid].execPlan == NULL;
}

List *
tb_scan_bounds(const TbBoundClauses *clauses, List *expressions, ExprContext *econtext,
			   TupleDesc attributes)
{
	List	 *bounds = NIL;
	ListCell *attnum, *compare, *expression;

	forthree(attnum, clauses->attnums, compare, clauses->compares, expression, expressions)
	{
		ExprState	*state = lfirst(expression);
		TbScanBound *bound;
		List		*values;
		Datum		 value;
		bool		 isnull;

		/* Is its value known already? */
		if (!is_ready(state->expr, econtext))
			continue;
		value = ExecEvalExpr(state, econtext, &isnull);
		if (isnull)
			continue;
		/* Can the reader compare with it? */
		values = value_texts(value, exprType((Node *) state->expr));
		if (values == NIL)
			continue;
		/* Compared in the column's type. */
		bound = palloc(sizeof(TbScanBound));
		bound->attnum = lfirst_int(attnum);
		bound->compare = lfirst_int(compare);
		bound->typmod = TupleDescAttr(attributes, bound->attnum - 1)->atttypmod;
		getBaseTypeAndTypmod(TupleDescAttr(attributes, bound->attnum - 1)->atttypid,
							 &bound->typmod);
		bound->values = values;
		bounds = lappend(bounds, bound);
	}
	return bounds;
}

/* Whether the column's typmod leaves every value of the file as it is. */
static bool
keeps_values(const TbScanBound *bound, const TbTableFile *file)
{
	int			column = file->file_columns[bound->attnum - 1];
	const char *type, *comma;

	if (bound->typmod < 0)
		return true;
	/* Only decimals and integers come with a scale to compare with. */
	type = file->description->columns[column].arrow_type;
	comma = strncmp(type, "decimal", strlen("decimal")) == 0 ? strchr(type, ',') : NULL;
	return comma != NULL && atoi(comma + 1) >= 0 &&
		atoi(comma + 1) <= ((bound->typmod - VARHDRSZ) & 0x7ff) &&
		((bound->typmod - VARHDRSZ) & 0x400) == 0;
}

void
tb_scan_bounds_describe(List *bounds, const TbTableFile *file, const int *places,
						StringInfo request)
{
	int		  place_of_count = request->len;
	uint32	  count = 0;
	ListCell *cell, *value;

	tb_reader_request_number(request, 0);
	foreach(cell, bounds)
	{
		const TbScanBound *bound = lfirst(cell);
		int				   place = places[bound->attnum - 1];

		if (place < 0 || !keeps_values(bound, file))
			continue;
		count++;
		tb_reader_request_number(request, place);
		tb_reader_request_number(request, bound->compare);
		tb_reader_request_number(request, list_length(bound->values));
		foreach(value, bound->values)
			tb_reader_request_text(request, lfirst(value));
	}
	memcpy(request->data + place_of_count, &count, sizeof(count));
}
