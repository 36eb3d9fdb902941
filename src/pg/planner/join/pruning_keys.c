/*
 * pruning_keys.c - see pruning_keys.h. Called by join_program.c.
 *
 * It must name a key only if leaving out a leaf can change neither a row nor an error.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pg/planner/partitions.h"
#include "pg/planner/join/pruning_keys.h"
#include "turbine/mutant.h"

/*
 * What the row loses at an INNER or SEMI join never comes out. A FULL join before it
 * would have seen the row, which may have been the only match of an inner row there;
 * one behind it never does. What LEFT and ANTI joins before it do with the row is for
 * nobody else.
 */
bool
tb_join_prunes(const TbJoinTree *tree, const TbTreeJoin *join)
{
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		const TbTreeJoin *each = lfirst(lc);

		if (each == join)
			return join->kind == TB_JOIN_INNER || join->kind == TB_JOIN_SEMI ||
				TB_MUTANT(unmatched_pruned);
		if (each->kind == TB_JOIN_FULL)
			return false;
	}
	return false;
}

/* Types whose values are integers in a table of the engine, in the same order. */
static bool
is_stored_as_integer(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		default:
			return false;
	}
}

/*
 * Not of a table that is a partition itself: to know its leaves' constraints its
 * ancestors would have to be locked, which the query has not done, and parents are
 * locked before their partitions.
 */
bool
tb_is_pruning_key(PlannerInfo *root, const TbJoinTree *tree, const Expr *outer,
				  const Expr *inner)
{
	const Var *var = (const Var *) outer;

	if (!enable_partition_pruning || tree->partitions == NULL || !IsA(outer, Var))
		return false;
	return var->varno == tree->probe_side->relid && var->varlevelsup == 0 &&
		var->varattno > 0 && is_stored_as_integer(var->vartype) &&
		exprType((const Node *) inner) == var->vartype &&
		!get_rel_relispartition(planner_rt_fetch(tree->probe_side->relid, root)->relid) &&
		tb_is_partitioned_by(root, tree->probe_side, var->varattno);
}
