/*
 * first_row.c - whether PostgreSQL would evaluate what a run evaluates ahead, see
 * first_row.h.
 *
 * Walks the kept plan in the order in which its nodes fetch their first rows, and asks it
 * for those rows (first_row_seek.c). One thing is not proved: a join that would be
 * expensive to ask is taken to have a row if its sides have one each.
 *
 * Called by stage_run.c, once in a node's life. A rescan that has something left to prove
 * is refused. Must not change the plan, and must evaluate nothing that PostgreSQL would
 * not evaluate by then.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "pg/stage/first_row.h"
#include "pg/stage/plan_parts.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/first_row_seek.h"

typedef struct Asker
{
	TbStageRun *run;
	EState	   *estate;
	TbRisk		risk;
	bool		sources;  /* rows that are sent may raise */
	Bitmapset  *known;	  /* plan_node_ids of which it is known whether */
	Bitmapset  *yielding; /* they have a row, and those that have */
} Asker;

static bool reaches(Asker *a, Plan *plan, bool drained);
static bool yields(Asker *a, Plan *plan);

static bool
node_is_at_risk(Asker *a, Plan *plan)
{
	return tb_risk_is_in(&a->risk, (Node *) tb_plan_clauses(plan), a->estate);
}

static bool
is_stage_table(const Asker *a, Plan *plan)
{
	Index rti;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
			rti = ((Scan *) plan)->scanrelid;
			break;
		default:
			return false;
	}
	for (int i = 0; i < a->run->nstages; i++)
	{
		if (tb_input_reads(a->run->stages[i].input, rti))
			return true;
	}
	return false;
}

static bool
has_stage_table(const Asker *a, Plan *plan)
{
	ListCell *lc;

	if (is_stage_table(a, plan))
		return true;
	foreach(lc, tb_plan_children(plan))
		if (has_stage_table(a, lfirst(lc)))
			return true;
	return false;
}

static bool
is_at_risk(Asker *a, Plan *plan)
{
	ListCell *lc;

	if (node_is_at_risk(a, plan))
		return true;
	/* Nothing but rows that are sent. */
	if (!has_stage_table(a, plan))
		return a->sources && tb_plan_may_raise(plan, a->estate);
	foreach(lc, tb_plan_children(plan))
		if (is_at_risk(a, lfirst(lc)))
			return true;
	return false;
}

static bool
join_yields(Asker *a, Plan *plan)
{
	Plan *outer = tb_plan_outer(plan);
	Plan *inner = tb_plan_inner(plan);
	bool  by_parameter = IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams != NIL;

	switch (((Join *) plan)->jointype)
	{
		case JOIN_INNER:
		case JOIN_SEMI:
			return yields(a, outer) && (by_parameter || yields(a, inner));
		case JOIN_LEFT:
		case JOIN_ANTI:
			return yields(a, outer);
		case JOIN_RIGHT:
			return yields(a, inner);
		default:
			return false;
	}
}

static bool
append_yields(Asker *a, Append *plan)
{
	ListCell *lc;

	/* Partitions might be pruned. */
	if (plan->part_prune_info != NULL)
		return false;
	foreach(lc, tb_plans_as_postgres(plan->appendplans))
		if (yields(a, lfirst(lc)))
			return true;
	return false;
}

static bool
find_row(Asker *a, Plan *plan)
{
	if (IsA(plan, SeqScan))
		return tb_seek_is_repeatable(plan) && tb_seek_row_of_table(a->estate, plan);
	/* It returns no tuples by itself. */
	if (IsA(plan, Hash))
		return yields(a, tb_plan_outer(plan));
	if (tb_seek_is_cheap(plan))
		return tb_seek_row_of_plan(a->estate, plan);
	switch (nodeTag(plan))
	{
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return join_yields(a, plan);
		case T_Append:
			return append_yields(a, (Append *) plan);
		case T_Material:
		case T_Sort:
		case T_IncrementalSort:
		case T_Unique:
		case T_Memoize:
			return yields(a, tb_plan_outer(plan));
		case T_SubqueryScan:
			return plan->qual == NIL &&
				yields(a, tb_plan_as_postgres(((SubqueryScan *) plan)->subplan));
		case T_Result:
			return plan->lefttree != NULL && ((Result *) plan)->resconstantqual == NULL &&
				plan->qual == NIL && yields(a, tb_plan_outer(plan));
		case T_Agg:
			return plan->qual == NIL && yields(a, tb_plan_outer(plan));
		default:
			return false;
	}
}

/* Whether the plan has a row; what is at risk in it must have been reached. */
static bool
yields(Asker *a, Plan *plan)
{
	check_stack_depth();
	if (!bms_is_member(plan->plan_node_id, a->known))
	{
		if (find_row(a, plan))
			a->yielding = bms_add_member(a->yielding, plan->plan_node_id);
		a->known = bms_add_member(a->known, plan->plan_node_id);
	}
	return bms_is_member(plan->plan_node_id, a->yielding);
}

/* What the node computes itself of its input's rows. */
static bool
reaches_own(Asker *a, Plan *plan, Plan *input)
{
	return !node_is_at_risk(a, plan) ||
		((plan->qual == NIL || IsA(plan, Agg)) && yields(a, input));
}

/* A row that is returned has passed all filters; others may have got far enough. */
static bool
table_is_reached(Asker *a, Plan *plan)
{
	return (IsA(plan, SeqScan) || tb_seek_is_cheap(plan)) &&
		(yields(a, plan) || !node_is_at_risk(a, plan));
}

/* Parameters by which partitions are pruned are evaluated before any row. */
static void
prunes_by(Asker *a, const PartitionPruneInfo *info)
{
	ListCell *hierarchy;
	ListCell *lc;

	foreach(hierarchy, info->prune_infos)
		foreach(lc, lfirst(hierarchy))
			a->risk.initplans = bms_del_members(a->risk.initplans,
												lfirst_node(PartitionedRelPruneInfo, lc)
													->execparamids);
}

static bool
append_is_reached(Asker *a, Append *plan, bool drained)
{
	ListCell *lc;

	if (plan->part_prune_info != NULL)
		prunes_by(a, plan->part_prune_info);
	else
		foreach(lc, tb_plans_as_postgres(plan->appendplans))
		{
			/* All have the same filters. */
			if (is_at_risk(a, lfirst(lc)) && reaches(a, lfirst(lc), drained))
				return true;
		}
	return !is_at_risk(a, &plan->plan);
}

/* A hash join may look for a row of its outer side first, as nodeHashjoin.c does. */
static bool
outer_is_first(Plan *plan)
{
	JoinType jointype = ((Join *) plan)->jointype;

	if (!IsA(plan, HashJoin))
		return true;
	if (jointype == JOIN_RIGHT || jointype == JOIN_FULL)
		return false;
	return jointype == JOIN_LEFT || jointype == JOIN_ANTI ||
		plan->lefttree->startup_cost < plan->righttree->total_cost;
}

static bool
join_is_reached(Asker *a, Plan *plan, bool drained)
{
	Plan	*outer = tb_plan_outer(plan);
	Plan	*inner = tb_plan_inner(plan);
	JoinType jointype = ((Join *) plan)->jointype;
	bool	 drained_inner = drained && IsA(plan, NestLoop) &&
		(jointype == JOIN_INNER || jointype == JOIN_LEFT) && !((Join *) plan)->inner_unique;
	bool drained_outer = drained && !IsA(plan, MergeJoin);
	bool by_parameter = IsA(plan, NestLoop) && ((NestLoop *) plan)->nestParams != NIL;
	bool outer_at_risk = is_at_risk(a, outer);
	bool inner_at_risk = is_at_risk(a, inner);

	if (jointype == JOIN_FULL || (by_parameter && inner_at_risk))
		return false;
	if (outer_is_first(plan))
	{
		if (outer_at_risk && !reaches(a, outer, drained_outer))
			return false;
		if (inner_at_risk && !(yields(a, outer) && reaches(a, inner, drained_inner)))
			return false;
		/* With an inner side without rows only the first row is fetched. */
		if (outer_at_risk && a->sources && !by_parameter && jointype != JOIN_LEFT &&
			jointype != JOIN_ANTI && !yields(a, inner))
			return false;
	}
	else
	{
		if (inner_at_risk && !reaches(a, inner, drained_inner))
			return false;
		if (outer_at_risk &&
			!((jointype == JOIN_RIGHT || yields(a, inner)) &&
			  reaches(a, outer, drained_outer)))
			return false;
	}
	if (!node_is_at_risk(a, plan))
		return true;
	/* Conditions, and what is computed of joined rows. */
	return tb_seek_is_cheap(plan) &&
		(tb_seek_row_of_plan(a->estate, plan) || !node_is_at_risk(a, plan));
}

/*
 * Whether all that is at risk in the plan is evaluated once its first row is asked for;
 * if `drained`, all of its rows are.
 */
static bool
reaches(Asker *a, Plan *plan, bool drained)
{
	check_stack_depth();
	if (!is_at_risk(a, plan))
		return true;
	if (!has_stage_table(a, plan))
		return (drained || IsA(plan, Hash) || IsA(plan, Sort)) && !node_is_at_risk(a, plan);
	if (is_stage_table(a, plan))
		return table_is_reached(a, plan);
	switch (nodeTag(plan))
	{
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			return join_is_reached(a, plan, drained);
		case T_Append:
			return append_is_reached(a, (Append *) plan, drained);
		case T_Agg:
			drained = drained || ((Agg *) plan)->aggstrategy == AGG_PLAIN ||
				((Agg *) plan)->aggstrategy == AGG_HASHED;
			break;
		case T_Hash:
		case T_Sort:
			drained = true;
			break;
		case T_Limit:
		{
			Const *count = (Const *) ((Limit *) plan)->limitCount;

			if (count != NULL &&
				(!IsA(count, Const) ||
				 (!count->constisnull && DatumGetInt64(count->constvalue) <= 0)))
				return false;
			drained = false;
			break;
		}
		case T_Result:
			if (plan->lefttree == NULL || ((Result *) plan)->resconstantqual != NULL)
				return false;
			break;
		case T_Material:
		case T_Memoize:
		case T_IncrementalSort:
		case T_Unique:
		case T_Group:
		case T_WindowAgg:
			break;
		default:
			return false;
	}
	return reaches(a, tb_plan_outer(plan), drained) &&
		reaches_own(a, plan, tb_plan_outer(plan));
}

bool
tb_first_row_reaches(TbStageRun *run)
{
	CustomScanState *css = run->css;
	Asker			 a = {.run = run, .estate = css->ss.ps.state};
	CustomScan		*plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);
	MemoryContext	 old;
	bool			 result;

	for (int i = 0; i < run->nstages; i++)
	{
		TbRunStage *stage = &run->stages[i];

		if (!stage->harmless)
			tb_risk_add_params(&a.risk, list_nth(plan->custom_exprs, i), &css->ss.ps);
		/* Those of the last stage are fetched when PostgreSQL would fetch them. */
		if (stage->input->plan != NULL && i < run->nstages - 1 &&
			tb_plan_may_raise(stage->input->plan->plan, a.estate))
			a.sources = true;
	}
	if (!a.sources && !a.risk.others && bms_is_empty(a.risk.initplans))
		return true;
	if (run->asked)
		return false;
	run->asked = true;
	old = MemoryContextSwitchTo(a.estate->es_query_cxt);
	result = reaches(&a, tb_plan_as_postgres(linitial(plan->custom_plans)), false);
	MemoryContextSwitchTo(old);
	return result;
}
