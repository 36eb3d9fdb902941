/*
 * sort_key.c - see sort_key.h.
 *
 * The engine knows one order of each type, that of its default btree operators; texts
 * are compared by their bytes. Called by GpuSort's planning.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "turbine/result.h"

#include "pg/nodes/sort/sort_key.h"
#include "pg/planner/expression/collation_order.h"
#include "pg/convert/type_map.h"

bool
tb_sort_key_flags(const SortGroupClause *clause, Expr *expr, uint32 *flags,
				  const char **reason)
{
	TypeCacheEntry *type = lookup_type_cache(exprType((Node *) expr),
											 TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	*flags = clause->nulls_first ? TB_SORT_NULLS_FIRST : 0;
	if (clause->sortop == type->lt_opr)
		return true;
	*flags |= TB_SORT_DESCENDING;
	if (clause->sortop == type->gt_opr)
		return true;
	*reason = "a sort operator that is not the type's usual one";
	return false;
}

static bool
check_collation(Expr *expr, const TbOutput *output, bool order, const char **reason)
{
	Oid collation = exprCollation((Node *) expr);

	if (!tb_type_is_text(output->type))
		return true;
	if (output->type == TB_TYPE_GEOMETRY)
		*reason = "a sort key of type geometry";
	else if (!OidIsValid(collation))
		*reason = "no collation is known for a sort key";
	else if (order && !tb_collation_orders_by_bytes(collation))
		*reason = "text is sorted by a collation that does not compare bytes";
	else if (!get_collation_isdeterministic(collation))
		*reason = "a sort key's collation is not deterministic";
	else
		return true;
	return false;
}

static const TbOutput *
find_output(const TbSortInput *input, Expr *expr, const char **reason)
{
	const TbOutput *output = tb_result_columns_find(&input->columns, expr);

	if (output == NULL)
		*reason =
			"a sort key is computed of what an aggregation or a window function returns";
	else if (!tb_output_is_ordered(output))
		*reason = "a sort key is an aggregate whose states have another order";
	else
		return output;
	return NULL;
}

static bool
is_key(const List *keys, uint32 column)
{
	ListCell *lc;

	foreach(lc, keys)
		if (((TbSortKey *) lfirst(lc))->column == column)
			return true;
	return false;
}

bool
tb_sort_keys_add(PlannerInfo *root, const TbSortInput *input, List *clauses, bool order,
				 List **keys, const char **reason)
{
	ListCell *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr *expr = (Expr *) get_sortgroupclause_expr(clause, root->processed_tlist);
		const TbOutput *output;
		TbSortKey	   *key;
		uint32			flags;

		if (make_pathkeys_for_sortclauses(root, list_make1(clause),
										  root->processed_tlist) == NIL)
			continue;
		output = find_output(input, expr, reason);
		if (output == NULL || !tb_sort_key_flags(clause, expr, &flags, reason) ||
			!check_collation(expr, output, order, reason))
			return false;
		if (is_key(*keys, output->first))
			continue;
		key = palloc0(sizeof(TbSortKey));
		key->column = output->first;
		key->flags = flags;
		*keys = lappend(*keys, key);
	}
	return true;
}
