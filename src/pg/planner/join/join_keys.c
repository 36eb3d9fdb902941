/*
 * join_keys.c - see join_keys.h.
 *
 * Integers are widened, float4 becomes float8, numerics get a common scale: all
 * exact, so that equality is not changed. Equalities between other types (date
 * and timestamp) are left to the residual condition.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg/planner/expression/expression_internal.h"
#include "pg/planner/join/join_keys.h"

static bool
is_equality(Oid funcid)
{
	switch (funcid)
	{
		case F_BOOLEQ:
		case F_INT2EQ:
		case F_INT4EQ:
		case F_INT8EQ:
		case F_INT24EQ:
		case F_INT42EQ:
		case F_INT28EQ:
		case F_INT82EQ:
		case F_INT48EQ:
		case F_INT84EQ:
		case F_FLOAT4EQ:
		case F_FLOAT8EQ:
		case F_FLOAT48EQ:
		case F_FLOAT84EQ:
		case F_NUMERIC_EQ:
		case F_DATE_EQ:
		case F_TIMESTAMP_EQ:
		case F_TIMESTAMPTZ_EQ:
		case F_TEXTEQ:
		case F_BPCHAREQ:
			return true;
		default:
			return false;
	}
}

bool
tb_join_key_clause(const RestrictInfo *rinfo)
{
	OpExpr *clause = (OpExpr *) rinfo->clause;

	if (!rinfo->can_join || !IsA(clause, OpExpr) || list_length(clause->args) != 2)
		return false;
	/* Of columns whose collations are in conflict PostgreSQL raises an error. */
	if (!OidIsValid(clause->inputcollid) &&
		type_is_collatable(exprType(linitial(clause->args))))
		return false;
	return is_equality(get_opcode(clause->opno)) &&
		tb_collation_is_deterministic(clause->inputcollid);
}

bool
tb_join_key_between(const RestrictInfo *rinfo, Relids outer, Relids inner)
{
	if (!tb_join_key_clause(rinfo))
		return false;
	return (bms_is_subset(rinfo->left_relids, outer) &&
			bms_is_subset(rinfo->right_relids, inner)) ||
		(bms_is_subset(rinfo->right_relids, outer) &&
		 bms_is_subset(rinfo->left_relids, inner));
}

/* The cast from one type to a wider one, or InvalidOid. */
static Oid
widening(uint8 from, uint8 to)
{
	if (from == TB_TYPE_INT2 && to == TB_TYPE_INT4)
		return F_INT4_INT2;
	if (from == TB_TYPE_INT2 && to == TB_TYPE_INT8)
		return F_INT8_INT2;
	if (from == TB_TYPE_INT4 && to == TB_TYPE_INT8)
		return F_INT8_INT4;
	if (from == TB_TYPE_FLOAT4 && to == TB_TYPE_FLOAT8)
		return F_FLOAT8_FLOAT4;
	return InvalidOid;
}

static bool
widen(TbTranslator *t, TbValue *value, uint8 to)
{
	TbValue arg = *value;
	Oid		cast = widening(value->info.type, to);

	return OidIsValid(cast) && tb_call_on_values(t, cast, InvalidOid, 1, &arg, value);
}

static bool
unify_numerics(TbTranslator *a_translator, TbValue *a, TbTranslator *b_translator,
			   TbValue *b)
{
	int	  scale = Max(a->info.scale, b->info.scale);
	int	  whole = Max(a->info.precision - a->info.scale, b->info.precision - b->info.scale);
	uint8 type = tb_numeric_type(Max(whole, 1) + scale);

	if (Max(whole, 1) + scale > TB_NUM128_DIGITS)
		return false;
	if (a->info.type == TB_TYPE_NUM128 || b->info.type == TB_TYPE_NUM128)
		type = TB_TYPE_NUM128;
	*a = tb_numeric_resize(a_translator, a, type, scale);
	*b = tb_numeric_resize(b_translator, b, type, scale);
	return true;
}

bool
tb_join_keys_unify(TbTranslator *a_translator, TbValue *a, TbTranslator *b_translator,
				   TbValue *b)
{
	if (tb_type_is_numeric(a->info.type) && tb_type_is_numeric(b->info.type))
		return unify_numerics(a_translator, a, b_translator, b);
	if (a->info.type == b->info.type)
		return true;
	return widen(a_translator, a, b->info.type) || widen(b_translator, b, a->info.type);
}

bool
tb_join_key_fit(TbTranslator *t, TbValue *value, TbTypeInfo key)
{
	if (value->info.type == key.type && value->info.scale == key.scale)
		return true;
	return !tb_type_is_numeric(key.type) && widen(t, value, key.type);
}
