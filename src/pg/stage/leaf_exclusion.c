/*
 * leaf_exclusion.c - see leaf_exclusion.h.
 *
 * The proof is PostgreSQL's own, the one of constraint exclusion: it knows ranges,
 * lists, several levels and the default partition, whose constraint is that no
 * sibling's holds, and proves nothing of hash partitions. A row with a NULL key has no
 * match either, so that the conditions, which are strict, hold of every row that has
 * one. Called by partitions_input.c.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pg/stage/leaf_exclusion.h"
#include "turbine/mutant.h"

List *
tb_leaf_constraint(Relation leaf)
{
	List *constraint = RelationGetPartitionQual(leaf);

	constraint = (List *) expression_planner((Expr *) constraint);
	return contain_mutable_functions((Node *) constraint) ? NIL : constraint;
}

/* An integer of the service's as a value of the type; false if it is none. */
static bool
value_of(Oid type, int64 number, Datum *value)
{
	switch (type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) number);
			return number >= PG_INT16_MIN && number <= PG_INT16_MAX;
		case INT4OID:
			*value = Int32GetDatum((int32) number);
			return number >= PG_INT32_MIN && number <= PG_INT32_MAX;
		case DATEOID:
			*value = DateADTGetDatum((DateADT) number);
			return number >= PG_INT32_MIN && number <= PG_INT32_MAX;
		case INT8OID:
			*value = Int64GetDatum(number);
			return true;
		case TIMESTAMPOID:
			*value = TimestampGetDatum(number);
			return true;
		case TIMESTAMPTZOID:
			*value = TimestampTzGetDatum(number);
			return true;
		default:
			return false;
	}
}

/* Column, operator of the type's own order, constant; NULL if there is no such. */
static Expr *
comparison(Var *column, StrategyNumber strategy, int64 number)
{
	const TypeCacheEntry *entry = lookup_type_cache(column->vartype,
													TYPECACHE_BTREE_OPFAMILY);
	Oid	   operator= get_opfamily_member(entry->btree_opf, column->vartype, column->vartype,
										 strategy);
	Datum  value;
	Const *constant;
	Expr  *result;

	if (!OidIsValid(operator) || !value_of(column->vartype, number, &value))
		return NULL;
	constant = makeConst(column->vartype, -1, InvalidOid, get_typlen(column->vartype),
						 value, false, get_typbyval(column->vartype));
	result = make_opclause(operator, BOOLOID, false, (Expr *) copyObject(column),
						   (Expr *) constant, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) result);
	return result;
}

List *
tb_leaf_bounds(Relation leaf, AttrNumber attnum, const TbKeyBounds *bounds)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(leaf), attnum - 1);
	Var				 *column = makeVar(1, attnum, attribute->atttypid, attribute->atttypmod,
									   attribute->attcollation, 0);
	bool			  single = bounds->min == bounds->max;
	Expr			 *least;
	Expr			 *most;

	if (TB_MUTANT(only_least_key))
		single = true;
	/* Of one value more can be proved by equality: that it is in a list. */
	least = comparison(column,
					   single ? BTEqualStrategyNumber : BTGreaterEqualStrategyNumber,
					   bounds->min);
	most = single ? least : comparison(column, BTLessEqualStrategyNumber, bounds->max);
	if (bounds->min > bounds->max || least == NULL || most == NULL)
		return NIL;
	return single ? list_make1(least) : list_make2(least, most);
}

bool
tb_leaf_is_excluded(List *constraint, List *bounds)
{
	return constraint != NIL && bounds != NIL &&
		predicate_refuted_by(constraint, bounds, false);
}
