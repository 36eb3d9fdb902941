/*
 * distinct_branch.c - branches of UNION, INTERSECT and EXCEPT: a GpuPreAgg that returns
 * each row of the branch once, below PostgreSQL's own set operation.
 *
 * Right where it is the same to the operation how often a branch brings a row: all but
 * those with ALL; and UNION ALL below one of the others. PostgreSQL compares and counts as
 * ever, of fewer rows. Called by the upper-path hook, when a branch's last paths are made.
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/planning.h"
#include "pg/stage/plan_private.h"

/* What an Append takes a row, in cpu_tuple_cost: see PostgreSQL's
 * APPEND_CPU_COST_MULTIPLIER. */
#define APPEND_COST 0.5

/* Whether an operation between the tree's root and the branch drops equal rows, whatever
 * their number. `below`: what the branch is the argument of. */
static bool
drops_equal_rows(const Query *query, Node *below, const Query *branch, bool drops)
{
	const SetOperationStmt *operation;

	if (IsA(below, RangeTblRef))
		return drops &&
			rt_fetch(((RangeTblRef *) below)->rtindex, query->rtable)->subquery == branch;
	operation = castNode(SetOperationStmt, below);
	if (!operation->all)
		drops = true;
	else if (operation->op != SETOP_UNION)
		drops = false;
	return drops_equal_rows(query, operation->larg, branch, drops) ||
		drops_equal_rows(query, operation->rarg, branch, drops);
}

static bool
is_branch(const PlannerInfo *root)
{
	const Query *parent = root->parent_root != NULL ? root->parent_root->parse : NULL;

	return parent != NULL && parent->setOperations != NULL &&
		drops_equal_rows(parent, parent->setOperations, root->parse, false);
}

/* Rows of tables, and nothing done with them but to compute columns. */
static bool
is_plain(const Query *branch)
{
	return branch->setOperations == NULL && !branch->hasAggs && !branch->hasWindowFuncs &&
		!branch->hasTargetSRFs && !branch->hasModifyingCTE && branch->groupClause == NIL &&
		branch->groupingSets == NIL && branch->distinctClause == NIL &&
		branch->sortClause == NIL && branch->limitCount == NULL &&
		branch->limitOffset == NULL && branch->rowMarks == NIL &&
		branch->havingQual == NULL;
}

/* The target is what the branch returns, and depends on its rows. */
static bool
is_usable(const PlannerInfo *root, const RelOptInfo *rel)
{
	List	 *exprs = rel->reltarget->exprs;
	ListCell *expr;
	ListCell *entry;

	if (list_length(exprs) != list_length(root->processed_tlist) ||
		!contain_var_clause((Node *) exprs) || contain_volatile_functions((Node *) exprs))
		return false;
	forboth(expr, exprs, entry, root->processed_tlist)
		if (!equal(lfirst(expr), lfirst_node(TargetEntry, entry)->expr))
			return false;
	return true;
}

/* What the nodes above do not pay for rows that come again. */
static Cost
cost_saved(const RelOptInfo *rel, const Path *path)
{
	int columns = list_length(rel->reltarget->exprs);

	return Max(rel->rows - path->rows, 0) *
		(cpu_tuple_cost * APPEND_COST + cpu_operator_cost * columns);
}

void
tb_distinct_branch_add_path(PlannerInfo *root, RelOptInfo *input_rel,
							RelOptInfo *output_rel)
{
	TbAggRequest request = {0};
	const char	*part;
	CustomPath	*path;
	Cost		 saved;

	if ((input_rel->reloptkind != RELOPT_JOINREL &&
		 (input_rel->reloptkind != RELOPT_BASEREL || input_rel->rtekind != RTE_RELATION)) ||
		IS_DUMMY_REL(input_rel) || !is_plain(root->parse) || !is_branch(root) ||
		!is_usable(root, input_rel) ||
		!tb_planning_may_win(root, input_rel, output_rel->pathlist))
		return;
	request.rel = input_rel;
	request.target = input_rel->reltarget;
	request.distinct_input = true;
	part = tb_distinct_rows_part(root, input_rel);
	path = tb_preagg_make_path(root, output_rel, &request, part);
	if (path == NULL)
		return;
	saved = cost_saved(input_rel, &path->path);
	path->path.total_cost = Max(path->path.total_cost - saved, 0);
	path->path.startup_cost = Min(path->path.startup_cost, path->path.total_cost);
	tb_offer_path(output_rel, &path->path, part, TB_GPU_PREAGG_NAME,
				  tb_stage_relids(
					  ((TbAggAnalysis *) linitial(path->custom_private))->stages));
}
