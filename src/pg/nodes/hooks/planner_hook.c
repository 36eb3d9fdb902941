/*
 * planner_hook.c - the hooks around a whole run of the planner, see planner_hook.h.
 *
 * Phases of one planning: put the outer run's state aside, plan, mend the finished plan,
 * put the state back. A query that can be written another way is planned twice, and the
 * better plan is taken (nodes/rewrite/rewritten_plan.h). The utility hook sees EXPLAIN.
 *
 * Owns planner_hook and ProcessUtility_hook. Must always call the hook that it found
 * there, and must restore the outer state if planning raises an error.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"

#include "pg/nodes/hooks/append_relations.h"
#include "pg/nodes/hooks/hash_join_order.h"
#include "pg/nodes/hooks/nest_loop_inputs.h"
#include "pg/nodes/hooks/planner_hook.h"
#include "pg/nodes/offer/compile_hints.h"
#include "pg/nodes/offer/noted_nodes.h"
#include "pg/nodes/offer/offer.h"
#include "pg/nodes/rewrite/rewritten_plan.h"
#include "pg/nodes/rewrite/rewritten_query.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/planning.h"

static planner_hook_type		previous_planner = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

/* A cursor that says nothing may be moved backward if its plan can run backward,
 * which an accelerated one cannot and PostgreSQL's may. One that says SCROLL
 * would get a Material on top, and then is no longer what WHERE CURRENT OF
 * wants. */
static bool
may_cursor_run_backward(int options)
{
	return (options & CURSOR_OPT_FAST_PLAN) != 0 && (options & CURSOR_OPT_NO_SCROLL) == 0;
}

/* One run of the planner. */
static PlannedStmt *
plan_once(Query *parse, const char *query_string, int cursor_options, ParamListInfo params,
		  TbSubqueryTime *time)
{
	TbSubqueryTime *outer_time = tb_subquery_time_watch(time);
	TbPlanningState planning = tb_planning_enter(may_cursor_run_backward(cursor_options));
	TbSerialPaths	outer = tb_serial_paths_begin();
	List		   *outer_nodes = tb_noted_nodes_begin();
	List		   *outer_levels = tb_append_relations_begin();
	List		   *outer_hints = tb_compile_hints_begin();
	PlannedStmt *volatile result = NULL;

	PG_TRY();
	{
		if (previous_planner)
			result = previous_planner(parse, query_string, cursor_options, params);
		else
			result = standard_planner(parse, query_string, cursor_options, params);
		tb_append_relations_separate(result);
		tb_compile_hints_send();
	}
	PG_FINALLY();
	{
		tb_compile_hints_end(outer_hints);
		tb_append_relations_end(outer_levels);
		tb_serial_paths_end(outer);
		tb_noted_nodes_end(outer_nodes);
		tb_planning_leave(&planning);
		(void) tb_subquery_time_watch(outer_time);
	}
	PG_END_TRY();
	return result;
}

/* The better of the plans of the query as it was written and of the rewritten one. Offers
 * are those of the plan that is taken. */
static PlannedStmt *
plan_both(Query *parse, Query *rewritten, const char *query_string, int cursor_options,
		  ParamListInfo params)
{
	TbSubqueryTime time = {0};
	List		  *outer_offers = tb_offers_begin();
	PlannedStmt	  *result = plan_once(parse, query_string, cursor_options, params, &time);
	List		  *offers = tb_offers_begin();

	if (tb_written_plan_is_slow(result, &time))
	{
		PlannedStmt *other = plan_once(rewritten, query_string, cursor_options, params,
									   NULL);
		List		*other_offers = tb_offers_begin();

		if (tb_rewritten_plan_wins(other, result, &time))
		{
			result = other;
			offers = other_offers;
		}
	}
	tb_offers_end(list_concat(outer_offers, offers));
	return result;
}

static PlannedStmt *
plan_query(Query *parse, const char *query_string, int cursor_options, ParamListInfo params)
{
	Query		*rewritten = tb_planning_is_wanted() ? tb_rewritten_query(parse) : NULL;
	PlannedStmt *result = rewritten != NULL ?
		plan_both(parse, rewritten, query_string, cursor_options, params) :
		plan_once(parse, query_string, cursor_options, params, NULL);

	if (result != NULL)
	{
		tb_hash_join_order(result);
		tb_keep_nest_loop_inputs(result);
	}
	return result;
}

/* EXPLAIN without ANALYZE. */
static bool
is_plain_explain(Node *statement)
{
	ListCell *lc;

	if (!IsA(statement, ExplainStmt))
		return false;
	foreach(lc, ((ExplainStmt *) statement)->options)
	{
		DefElem *option = lfirst(lc);

		if (strcmp(option->defname, "analyze") == 0)
			return !defGetBoolean(option);
	}
	return true;
}

static void
process_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
				DestReceiver *dest, QueryCompletion *qc)
{
	bool outer = tb_planning_enter_plain_explain(is_plain_explain(pstmt->utilityStmt));

	PG_TRY();
	{
		if (previous_utility)
			previous_utility(pstmt, query_string, read_only_tree, context, params, env,
							 dest, qc);
		else
			standard_ProcessUtility(pstmt, query_string, read_only_tree, context, params,
									env, dest, qc);
	}
	PG_FINALLY();
	{
		(void) tb_planning_enter_plain_explain(outer);
	}
	PG_END_TRY();
}

void
tb_planner_hook_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_query;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
