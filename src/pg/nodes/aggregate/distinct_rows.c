/*
 * distinct_rows.c - a GpuPreAgg that returns each row of its input once, below a node of
 * PostgreSQL's to which it is the same how often a row comes.
 *
 * Below aggregates: those with DISTINCT, and minima and maxima, which name a sort operator.
 * PostgreSQL computes all of them exactly as ever, of fewer rows; that is why no state of a
 * device has to be taught what DISTINCT is. Where all aggregates with DISTINCT are count,
 * sum or avg of one argument, folding (set_fold.h) returns less and leaves nothing to be
 * sorted, and is offered instead; so it is beside a plain sum or count.
 *
 * Below UNION, INTERSECT and EXCEPT: all but those with ALL; and UNION ALL below one of the
 * others. PostgreSQL compares and counts as ever, of fewer rows.
 *
 * Called by the upper-path hook: for an aggregation, and when a branch's last paths are
 * made. Must not be offered below what counts duplicates.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "pg/compat/pg16.h"
#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/postgres/rivals.h"
#include "pg/planner/planning.h"
#include "pg/stage/plan_private.h"

/* What notes call the distinct rows of a table or a join. */
static const char *
part_of_rows(PlannerInfo *root, RelOptInfo *input_rel)
{
	if (input_rel->reloptkind == RELOPT_BASEREL)
		return tb_planning_part("distinct rows of",
								planner_rt_fetch(input_rel->relid, root)->relid);
	return tb_join_part(root, "distinct rows of join of", input_rel->relids);
}

/* Minima and maxima, of booleans too. */
static bool
has_sort_operator(Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	bool	  result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
		ReleaseSysCache(tuple);
	}
	return result;
}

/* Whether some aggregate counts how often a row comes. */
static bool
counts_duplicates(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		const Aggref *aggref = (const Aggref *) node;

		return aggref->aggkind != AGGKIND_NORMAL || aggref->agglevelsup != 0 ||
			(aggref->aggdistinct == NIL && !has_sort_operator(aggref->aggfnoid));
	}
	if (IsA(node, GroupingFunc))
		return true;
	return expression_tree_walker(node, counts_duplicates, context);
}

/* Whether an expression looks into a float: equal ones, -0 and 0, may differ there. */
static bool
looks_into_floats(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->vartype == FLOAT4OID || ((Var *) node)->vartype == FLOAT8OID;
	if (IsA(node, Aggref))
	{
		ListCell *lc;

		foreach(lc, ((Aggref *) node)->args)
		{
			Node *arg = (Node *) lfirst_node(TargetEntry, lc)->expr;

			if (!IsA(arg, Var) && looks_into_floats(arg, context))
				return true;
		}
		return looks_into_floats((Node *) ((Aggref *) node)->aggfilter, context);
	}
	return expression_tree_walker(node, looks_into_floats, context);
}

static bool
any_looks_into_floats(List *exprs)
{
	ListCell *lc;

	foreach(lc, exprs)
		if (!IsA(lfirst(lc), Var) && looks_into_floats(lfirst(lc), NULL))
			return true;
	return false;
}

static bool
is_for_us(PlannerInfo *root, RelOptInfo *input_rel, const RelOptInfo *output_rel,
		  const GroupPathExtraData *extra)
{
	const Query *parse = root->parse;

	if (root->numOrderedAggs == 0 || parse->groupingSets != NIL || parse->hasTargetSRFs ||
		IS_OTHER_REL(output_rel) || IS_DUMMY_REL(input_rel) ||
		extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL ||
		!grouping_is_sortable(parse->groupClause))
		return false;
	if (input_rel->reloptkind != RELOPT_JOINREL &&
		(input_rel->reloptkind != RELOPT_BASEREL || input_rel->rtekind != RTE_RELATION))
		return false;
	return !counts_duplicates((Node *) output_rel->reltarget->exprs, NULL) &&
		!any_looks_into_floats(output_rel->reltarget->exprs) &&
		!any_looks_into_floats((List *) extra->havingQual) &&
		!counts_duplicates(extra->havingQual, NULL) &&
		!contain_volatile_functions((Node *) output_rel->reltarget->exprs) &&
		!contain_volatile_functions(extra->havingQual);
}

static Path *
aggregated(PlannerInfo *root, RelOptInfo *output_rel, const GroupPathExtraData *extra,
		   Path *path, double input_rows)
{
	Query		  *parse = root->parse;
	double		   groups = 1;
	AggClauseCosts costs;

	memset(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	if (parse->groupClause != NIL)
		groups = estimate_num_groups(root,
									 get_sortgrouplist_exprs(parse->groupClause,
															 root->processed_tlist),
									 input_rows, NULL, NULL);
	/* All keys may be constant. */
	if (root->group_pathkeys != NIL)
		path = (Path *) create_sort_path(root, output_rel, path, root->group_pathkeys,
										 -1.0);
	return (Path *) create_agg_path(root, output_rel, path, output_rel->reltarget,
									parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN,
									AGGSPLIT_SIMPLE, TB_PLANNED_GROUP_CLAUSE(root),
									(List *) extra->havingQual, &costs, groups);
}

bool
tb_distinct_input_add_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
						   GroupPathExtraData *extra)
{
	TbAggRequest request = {0};
	const char	*part;
	CustomPath	*path;
	Path		*above;
	List		*stages;

	if (!is_for_us(root, input_rel, output_rel, extra))
		return false;
	if (!tb_planning_may_win(root, input_rel, output_rel->pathlist) ||
		!tb_rivals_leave_room(root, output_rel, input_rel) ||
		tb_preagg_add_path(root, UPPERREL_GROUP_AGG, input_rel, output_rel, extra, true))
		return true;
	/* Each row once. */
	request.rel = input_rel;
	request.target = input_rel->reltarget;
	request.distinct_input = true;
	part = part_of_rows(root, input_rel);
	path = tb_preagg_make_path(root, output_rel, &request, part);
	if (path == NULL)
		return true;
	/* PostgreSQL's Agg on it. */
	above = aggregated(root, output_rel, extra, &path->path, input_rel->rows);
	stages = ((TbAggAnalysis *) linitial(path->custom_private))->stages;
	tb_rivals_bound(root, output_rel, stages, above);
	tb_offer_path(output_rel, above, part, TB_GPU_PREAGG_NAME, tb_stage_relids(stages));
	return true;
}

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
	/* Each row once. */
	request.rel = input_rel;
	request.target = input_rel->reltarget;
	request.distinct_input = true;
	part = part_of_rows(root, input_rel);
	path = tb_preagg_make_path(root, output_rel, &request, part);
	if (path == NULL)
		return;
	/* Less work above it. */
	saved = cost_saved(input_rel, &path->path);
	path->path.total_cost = Max(path->path.total_cost - saved, 0);
	path->path.startup_cost = Min(path->path.startup_cost, path->path.total_cost);
	tb_offer_path(output_rel, &path->path, part, TB_GPU_PREAGG_NAME,
				  tb_stage_relids(
					  ((TbAggAnalysis *) linitial(path->custom_private))->stages));
}
