/*
 * likely_groups.c - see likely_groups.h. Called by GpuSort's planning.
 *
 * PostgreSQL evaluates HAVING, sort keys and select list of every group before it drops
 * those behind the limit, and raises their errors. So whatever may raise has an estimate,
 * which keeps the groups where it might.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "pg/nodes/results/estimate.h"
#include "pg/nodes/sort/likely_groups.h"
#include "pg/nodes/sort/sort_key.h"

static bool
add_conditions(const TbSortPlan *plan, TbResultBuilder *builder, const char **reason)
{
	ListCell *lc;

	foreach(lc, tb_preagg_quals(plan->input->groups))
	{
		List *steps = tb_estimate_steps(&plan->input->columns, lfirst(lc));

		if (steps == NIL)
		{
			*reason = "HAVING or a filter of groups is more than arithmetic of aggregates";
			return false;
		}
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_CONDITION, 0, steps);
	}
	return true;
}

/* The query's sort keys, without those that others make superfluous: SortGroupClause. */
static List *
sort_clauses(PlannerInfo *root)
{
	List	 *clauses = NIL;
	ListCell *lc;

	foreach(lc, root->parse->sortClause)
		if (make_pathkeys_for_sortclauses(root, list_make1(lfirst(lc)),
										  root->processed_tlist) != NIL)
			clauses = lappend(clauses, lfirst(lc));
	return clauses;
}

/* All keys that the engine can estimate, from the first on; the one behind them may be
 * anything. *estimated: the expressions. */
static bool
add_keys(PlannerInfo *root, const TbSortPlan *plan, TbResultBuilder *builder,
		 List **estimated, const char **reason)
{
	List	 *clauses = sort_clauses(root);
	ListCell *lc;

	*estimated = NIL;
	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr  *expr = (Expr *) get_sortgroupclause_expr(clause, root->processed_tlist);
		bool   last = list_length(*estimated) == TB_MAX_ESTIMATED_KEYS - 1;
		uint32 flags = 0;
		List  *steps = NIL;

		if ((!last || lnext(clauses, lc) == NULL) &&
			tb_sort_key_flags(clause, expr, &flags, reason))
			steps = tb_estimate_steps(&plan->input->columns, expr);
		if (steps == NIL)
		{
			tb_result_add_estimate(builder, TB_ESTIMATE_OF_KEY, 0,
								   tb_estimate_of_anything());
			break;
		}
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_KEY, flags, steps);
		*estimated = lappend(*estimated, expr);
	}
	if (*estimated != NIL)
		return true;
	*reason = "the first sort key is more than arithmetic of aggregates";
	return false;
}

/* What else PostgreSQL evaluates of every group. */
static bool
add_errors(PlannerInfo *root, const TbSortPlan *plan, TbResultBuilder *builder,
		   const List *estimated, const char **reason)
{
	ListCell *lc;

	foreach(lc, root->upper_targets[UPPERREL_DISTINCT]->exprs)
	{
		Node *expr = lfirst(lc);
		List *steps;

		if (contain_volatile_functions(expr))
		{
			*reason = "a volatile function beside LIMIT";
			return false;
		}
		if (!contain_leaked_vars(expr) || list_member(estimated, expr) ||
			tb_result_columns_find(&plan->input->columns, (Expr *) expr) != NULL)
			continue;
		steps = tb_estimate_steps(&plan->input->columns, (Expr *) expr);
		if (steps == NIL)
		{
			*reason =
				"an expression over results may raise an error, and LIMIT drops groups";
			return false;
		}
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_ERRORS, 0, steps);
	}
	return true;
}

bool
tb_likely_groups_add(PlannerInfo *root, const TbSortPlan *plan, uint64 limit,
					 TbResultBuilder *builder, const char **reason)
{
	List *estimated;

	if (!add_conditions(plan, builder, reason) ||
		!add_keys(root, plan, builder, &estimated, reason) ||
		!add_errors(root, plan, builder, estimated, reason))
		return false;
	tb_result_set_limit(builder, limit, false);
	return true;
}
