/*
 * plan_passes.c - see plan_passes.h. Called by planner_hook.c and path_hooks.c.
 *
 * Four passes: the order in which hash joins ask their sides, inputs of nested loops,
 * window functions that EXPLAIN shows, and the numbers of partitions in plans that hold a
 * subquery twice. The plan's references are set by then, so that what is put into it must
 * have the form that setrefs.c gives: a Material's target list refers to its input.
 *
 * Owns nothing. Must change no plan's answer.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "parser/parsetree.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/hooks/plan_passes.h"
#include "pg/planner/planning.h"
#include "pg/plans/our_nodes.h"
#include "pg/plans/plan_walk.h"

/* ---- Hash joins ---- */

/* What nodes of ours add to the plan's startup cost. */
static Cost
added_startup(const Plan *plan)
{
	if (plan == NULL)
		return 0;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return tb_node_returns_table_rows(tb_node_kind(plan)) ? plan->startup_cost : 0;
		case T_HashJoin:
		case T_Material:
		case T_Memoize:
		case T_Result:
		case T_Unique:
		case T_Group:
		case T_Limit:
		case T_LockRows:
			return added_startup(plan->lefttree);
		case T_NestLoop:
		case T_MergeJoin:
			return added_startup(plan->lefttree) + added_startup(plan->righttree);
		case T_SubqueryScan:
			return added_startup(((const SubqueryScan *) plan)->subplan);
		case T_Append:
			return added_startup(linitial(((const Append *) plan)->appendplans));
		default:
			return 0; /* it starts when its input has ended, or knows none of ours */
	}
}

/*
 * The executor builds the table first if the outer side's first row seems dear, and a
 * scan of ours starts late: errors of the inner side would be raised where, without us,
 * no outer row gets there. Such outer sides lose what our scans and joins add to their
 * startup cost, kept plans included. Costs decide nothing else in the executor. Nodes come
 * before those below them, which must still say what they add above.
 */
static bool
order_join(Plan *plan, void *context)
{
	Plan *outer = plan->lefttree;
	Cost  startup;

	if (!IsA(plan, HashJoin))
		return true;
	startup = outer->startup_cost - added_startup(outer);
	if (startup < plan->righttree->total_cost &&
		outer->startup_cost >= plan->righttree->total_cost)
		outer->startup_cost = Max(startup, 0);
	return true;
}

/* ---- Nested loops ---- */

static bool
is_ours(const Plan *plan)
{
	while (plan != NULL && IsA(plan, SubqueryScan))
		plan = ((const SubqueryScan *) plan)->subplan;
	return plan != NULL && tb_node_kind(plan) != TB_NODE_NONE;
}

static List *
references_to(List *tlist)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));
		Node		*expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(OUTER_VAR, entry->resno, exprType(expr),
									   exprTypmod(expr), exprCollation(expr), 0);
		result = lappend(result, entry);
	}
	return result;
}

static Plan *
materialize(Plan *input, int id)
{
	Material *node = makeNode(Material);
	Plan	 *plan = &node->plan;

	plan->startup_cost = input->startup_cost;
	plan->total_cost = input->total_cost + cpu_operator_cost * input->plan_rows;
	plan->plan_rows = input->plan_rows;
	plan->plan_width = input->plan_width;
	plan->parallel_safe = input->parallel_safe;
	plan->plan_node_id = id;
	plan->targetlist = references_to(input->targetlist);
	plan->lefttree = input;
	plan->extParam = bms_copy(input->extParam);
	plan->allParam = bms_copy(input->allParam);
	return plan;
}

static bool
fits(const Plan *plan)
{
	return plan->plan_rows *
		(MAXALIGN(plan->plan_width) + MAXALIGN(SizeofHeapTupleHeader)) <=
		work_mem * 1024.0;
}

/*
 * Where a node of ours is the inner side of a nested loop and depends on no outer row, its
 * rows are kept by a Material node: a run of ours takes the time of a whole query, so an
 * outer side with more rows than were estimated would multiply that. Of estimates that
 * exceed work_mem PostgreSQL's choice is left alone.
 */
static bool
keep_input(Plan *plan, void *next_id)
{
	if (IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams == NIL &&
		is_ours(plan->righttree) && fits(plan->righttree))
		plan->righttree = materialize(plan->righttree, (*(int *) next_id)++);
	return true;
}

/* Beyond the numbers that PostgreSQL gives to nodes. */
#define FIRST_ID 1000000

/* ---- Window functions ---- */

/* The call without its window: nobody evaluates it, and EXPLAIN shows it. */
static Node *
without_window(Node *node, void *context)
{
	WindowFunc *call = (WindowFunc *) node;

	if (node == NULL || !IsA(node, WindowFunc))
		return expression_tree_mutator(node, without_window, context);
	return (Node *) makeFuncExpr(call->winfnoid, call->wintype, call->args, call->wincollid,
								 call->inputcollid, COERCE_EXPLICIT_CALL);
}

/* Of a node of ours, which computes windows without a WindowAgg. */
static bool
show_calls(Plan *plan, void *context)
{
	CustomScan *node = (CustomScan *) plan;

	if (IsA(plan, CustomScan) && tb_node_kind(plan) != TB_NODE_NONE)
		node->custom_scan_tlist = (List *) without_window((Node *) node->custom_scan_tlist,
														  context);
	return true;
}

/* ---- Partitions of subqueries that stand twice ---- */

void
tb_append_relations_note(PlannerInfo *root)
{
	if (root->append_rel_list != NIL && root->append_rel_array != NULL)
		tb_planning()->append_levels = lappend(tb_planning()->append_levels, root);
}

static int
count_of(const List *relations, const AppendRelInfo *relation)
{
	int		  count = 0;
	ListCell *lc;

	foreach(lc, relations)
		if (lfirst(lc) == relation)
			count++;
	return count;
}

/* Adds a copy of the relation, which was the level's `child`, for each copy of the child.
 */
static List *
add_separate(List *result, const PlannerInfo *level, Index child,
			 const AppendRelInfo *relation, const List *range_table)
{
	const Alias *name = level->simple_rte_array[child]->eref;
	Index		 parent = relation->parent_relid - (relation->child_relid - child);
	ListCell	*lc;

	foreach(lc, range_table)
	{
		AppendRelInfo *copy;
		Index		   offset = foreach_current_index(lc) + 1 - child;

		if (lfirst_node(RangeTblEntry, lc)->eref != name)
			continue;
		copy = makeNode(AppendRelInfo);
		*copy = *relation;
		copy->child_relid = child + offset;
		copy->parent_relid = parent + offset;
		result = lappend(result, copy);
	}
	return result;
}

/* In place of those of the level that the plan has several times. */
static List *
separate_level(List *relations, const PlannerInfo *level, const List *range_table)
{
	for (int child = 1; child < level->simple_rel_array_size; child++)
	{
		AppendRelInfo *relation = level->append_rel_array[child];
		int			   count = relation == NULL ? 0 : count_of(relations, relation);

		if (count < 2)
			continue;
		for (int i = 0; i < count; i++)
			relations = list_delete_ptr(relations, relation);
		relations = add_separate(relations, level, child, relation, range_table);
	}
	return relations;
}

void
tb_append_relations_separate(PlannedStmt *stmt)
{
	ListCell *lc;

	foreach(lc, tb_planning()->append_levels)
		stmt->appendRelations = separate_level(stmt->appendRelations, lfirst(lc),
											   stmt->rtable);
}

/* ---- All ---- */

void
tb_mend_plan(PlannedStmt *stmt)
{
	int next_id = FIRST_ID;

	tb_walk_statement(stmt, order_join, NULL);
	tb_walk_statement(stmt, keep_input, &next_id);
	if (TB_EXPLAIN_NEEDS_WINDOW_AGG)
		tb_walk_statement(stmt, show_calls, NULL);
}
