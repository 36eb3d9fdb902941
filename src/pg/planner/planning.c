/*
 * planning.c - the state of the current statement's planning.
 *
 * Owns planner_hook and ProcessUtility_hook and always calls the hook found
 * there before. planner_hook only keeps the state below, saved and restored
 * around nested planning; EXPLAIN is seen by the utility hook.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"

#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"
#include "pg/planner/cost.h"
#include "pg/nodes/hooks/hash_join_order.h"
#include "pg/nodes/offer/noted_nodes.h"
#include "pg/planner/planning.h"
#include "pg/planner/join/serial_paths.h"

/* An accelerated path that was offered to the planner. */
typedef struct Offer
{
	const char *part;
	const char *node_name;
	List	   *relids;				/* OIDs: tables that it reads */
	Cost		cost;
} Offer;

typedef struct PlanningState
{
	bool		planning;			/* a run of the planner is under way */
	bool		may_run_backward;
	bool		recording;			/* for turbine.why_not */
	List	   *reasons;			/* TbReason */
	List	   *offers;				/* Offer */
} PlanningState;

static PlanningState state;
static bool in_plain_explain = false;

static planner_hook_type previous_planner = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

bool
tb_planning_enabled(void)
{
	return tb_guc_enabled && state.planning &&
		!(in_plain_explain && tb_guc_debug_plain_explain);
}

bool
tb_planning_may_run_backward(void)
{
	return state.may_run_backward;
}

/* Nested loops are followed through so many tables. */
#define MAX_LOOP_DEPTH 6

static double runs_in_loops(const PlannerInfo *root, const Path *path, int depth);

/* Rows of the table that nested loops would fetch: all that its own filters
 * let pass, or fewer where a cheaper loop leads to it. */
static double
rows_in_loops(const PlannerInfo *root, int relid, int depth)
{
	const RelOptInfo *rel = relid < root->simple_rel_array_size ?
	root->simple_rel_array[relid] : NULL;
	ListCell   *lc;

	if (rel == NULL || rel->rows <= 0)
		return 0;
	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);
		double		runs;

		if (path->param_info == NULL || depth >= MAX_LOOP_DEPTH)
			continue;
		/* The first is the cheapest. */
		runs = runs_in_loops(root, path, depth + 1);
		return runs > 0 ? Min(rel->rows, path->rows * runs) : rel->rows;
	}
	return rel->rows;
}

/* How often the path would run: once, or for each row of the tables that it
 * depends on; 0 if that cannot be known here. */
static double
runs_in_loops(const PlannerInfo *root, const Path *path, int depth)
{
	double		runs = 1;
	int			relid = -1;

	if (path->param_info == NULL)
		return 1;
	if (!enable_nestloop)
		return 0;
	while ((relid = bms_next_member(PATH_REQ_OUTER(path), relid)) >= 0)
		runs *= rows_in_loops(root, relid, depth);
	return runs;
}

bool
tb_planning_may_win(const PlannerInfo *root, const List *paths)
{
	ListCell   *lc;

	if (tb_guc_debug_force_offload || state.recording)
		return true;
	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);
		double		runs = runs_in_loops(root, path, 0);

		if (runs > 0 && path->total_cost * runs <= tb_cost_startup())
			return false;
	}
	return true;
}

void
tb_planning_note(const char *part, const char *format,...)
{
	StringInfoData text;
	TbReason   *reason;
	ListCell   *lc;

	if (!state.recording || part == NULL)
		return;
	initStringInfo(&text);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, format);
		needed = appendStringInfoVA(&text, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	/* The planner may look at one part several times. */
	foreach(lc, state.reasons)
	{
		TbReason   *seen = lfirst(lc);

		if (strcmp(seen->part, part) == 0 && strcmp(seen->reason, text.data) == 0)
			return;
	}
	reason = palloc(sizeof(TbReason));
	reason->part = pstrdup(part);
	reason->reason = text.data;
	state.reasons = lappend(state.reasons, reason);
}

void
tb_planning_offered(const char *part, const char *node_name, List *relids, Cost cost)
{
	Offer	   *offer;

	if (!state.recording)
		return;
	offer = palloc(sizeof(Offer));
	offer->part = pstrdup(part);
	offer->node_name = node_name;
	offer->relids = list_copy(relids);
	offer->cost = cost;
	state.offers = lappend(state.offers, offer);
}

const char *
tb_planning_part(const char *what, Oid relid)
{
	char	   *schema;

	if (!state.recording)
		return NULL;
	schema = get_namespace_name(get_rel_namespace(relid));
	return psprintf("%s %s.%s", what, schema ? schema : "?", get_rel_name(relid));
}

/* A cursor that says nothing may be moved backward if its plan can run backward,
 * which an accelerated one cannot and PostgreSQL's may. One that says SCROLL
 * would get a Material on top, and then is no longer what WHERE CURRENT OF
 * wants. */
static bool
may_cursor_run_backward(int options)
{
	return (options & CURSOR_OPT_FAST_PLAN) != 0 &&
		(options & CURSOR_OPT_NO_SCROLL) == 0;
}

static PlannedStmt *
plan_query(Query *parse, const char *query_string, int cursor_options,
		   ParamListInfo params)
{
	PlanningState saved = state;
	TbSerialPaths outer = tb_serial_paths_begin();
	List	   *outer_nodes = tb_noted_nodes_begin();
	PlannedStmt *volatile result = NULL;

	state.planning = true;
	state.may_run_backward = may_cursor_run_backward(cursor_options);
	PG_TRY();
	{
		if (previous_planner)
			result = previous_planner(parse, query_string, cursor_options, params);
		else
			result = standard_planner(parse, query_string, cursor_options, params);
	}
	PG_FINALLY();
	{
		tb_serial_paths_end(outer);
		tb_noted_nodes_end(outer_nodes);
		/* What nested planning noted is kept. */
		state.planning = saved.planning;
		state.may_run_backward = saved.may_run_backward;
	}
	PG_END_TRY();
	if (result != NULL)
		tb_hash_join_order(result);
	return result;
}

/* EXPLAIN without ANALYZE. */
static bool
is_plain_explain(Node *statement)
{
	ListCell   *lc;

	if (!IsA(statement, ExplainStmt))
		return false;
	foreach(lc, ((ExplainStmt *) statement)->options)
	{
		DefElem    *option = lfirst(lc);

		if (strcmp(option->defname, "analyze") == 0)
			return !defGetBoolean(option);
	}
	return true;
}

static void
process_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	bool		saved = in_plain_explain;

	in_plain_explain = is_plain_explain(pstmt->utilityStmt);
	PG_TRY();
	{
		if (previous_utility)
			previous_utility(pstmt, query_string, read_only_tree, context,
							 params, env, dest, qc);
		else
			standard_ProcessUtility(pstmt, query_string, read_only_tree,
									context, params, env, dest, qc);
	}
	PG_FINALLY();
	{
		in_plain_explain = saved;
	}
	PG_END_TRY();
}

/* Drops the offers that the plan took. */
static void
take_offers(Plan *plan, PlannedStmt *stmt)
{
	ListCell   *lc;

	if (plan == NULL)
		return;
	check_stack_depth();
	if (IsA(plan, CustomScan))
	{
		const char *name = ((CustomScan *) plan)->methods->CustomName;

		foreach(lc, state.offers)
		{
			Offer	   *offer = lfirst(lc);

			if (strcmp(offer->node_name, name) == 0 &&
				equal(offer->relids, tb_private_relids((CustomScan *) plan)))
			{
				state.offers = foreach_delete_current(state.offers, lc);
				break;
			}
		}
		/* The first is the kept plan, the others feed it. */
		for_each_from(lc, ((CustomScan *) plan)->custom_plans, 1)
			take_offers(lfirst(lc), stmt);
	}
	take_offers(plan->lefttree, stmt);
	take_offers(plan->righttree, stmt);
	if (IsA(plan, Append))
		foreach(lc, ((Append *) plan)->appendplans)
			take_offers(lfirst(lc), stmt);
	if (IsA(plan, MergeAppend))
		foreach(lc, ((MergeAppend *) plan)->mergeplans)
			take_offers(lfirst(lc), stmt);
	if (IsA(plan, SubqueryScan))
		take_offers(((SubqueryScan *) plan)->subplan, stmt);
}

/* The table, or one that it is a partition of. */
static bool
reads_table(const Offer *offer, Oid relid)
{
	ListCell   *lc;

	if (list_member_oid(offer->relids, relid))
		return true;
	if (!get_rel_relispartition(relid))
		return false;
	foreach(lc, get_partition_ancestors(relid))
		if (list_member_oid(offer->relids, lfirst_oid(lc)))
			return true;
	return false;
}

static bool
reads_all_of(const Offer *offer, const Offer *part)
{
	ListCell   *lc;

	foreach(lc, part->relids)
		if (OidIsValid(lfirst_oid(lc)) && !reads_table(offer, lfirst_oid(lc)))
			return false;
	return true;
}

/* A join or an aggregation that was taken covers the scans and joins below it. */
static bool
is_covered(const Offer *part, List *all_offers)
{
	ListCell   *lc;

	foreach(lc, all_offers)
	{
		Offer	   *other = lfirst(lc);

		if (reads_all_of(other, part) &&
			other->node_name != part->node_name &&
			!list_member_ptr(state.offers, other))
			return true;
	}
	return false;
}

static void
note_lost_offers(PlannedStmt *stmt)
{
	List	   *all_offers = list_copy(state.offers);
	ListCell   *lc;

	take_offers(stmt->planTree, stmt);
	foreach(lc, stmt->subplans)
		take_offers(lfirst(lc), stmt);
	foreach(lc, state.offers)
	{
		Offer	   *offer = lfirst(lc);

		if (!is_covered(offer, all_offers))
			tb_planning_note(offer->part,
							 "PostgreSQL's plan is estimated to be cheaper than %s (cost %.2f)",
							 offer->node_name, offer->cost);
	}
}

List *
tb_planning_reasons(Query *query, const char *query_text)
{
	PlanningState saved = state;
	List	   *reasons = NIL;

	memset(&state, 0, sizeof(state));
	state.recording = true;
	PG_TRY();
	{
		PlannedStmt *stmt = planner(query, query_text, CURSOR_OPT_PARALLEL_OK, NULL);

		/* As EXPLAIN does: no plan of tables that one may not read. */
		ExecCheckRTPerms(stmt->rtable, true);
		note_lost_offers(stmt);
		reasons = state.reasons;
	}
	PG_FINALLY();
	{
		state = saved;
	}
	PG_END_TRY();
	return reasons;
}

void
tb_planning_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_query;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
