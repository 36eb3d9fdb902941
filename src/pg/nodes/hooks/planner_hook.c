/*
 * planner_hook.c - the hooks around a whole run of the planner, see planner_hook.h.
 *
 * Phases of one planning: push its state (planner/planning.h), plan, mend the finished
 * plan, pop the state. A query that can be written another way is planned twice, and the
 * better plan is taken (nodes/rewrite/rewritten_plan.h). The utility hook sees EXPLAIN.
 *
 * Owns planner_hook and ProcessUtility_hook. Must always call the hook that it found
 * there, and must pop the state if planning raises an error.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"

#include "pg/nodes/hooks/plan_passes.h"
#include "pg/nodes/hooks/planner_hook.h"
#include "pg/language/inline_calls.h"
#include "pg/nodes/rewrite/rewritten_plan.h"
#include "pg/nodes/rewrite/rewritten_query.h"
#include "pg/planner/planning.h"
#include "pg/planner/program/column_hints.h"
#include "pg/planner/program/compile_hints.h"

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

/* Whether rows are nothing but columns of tables, in some order: only then nodes of ours
 * can hand them out as they have them. */
static bool
returns_columns_of_tables(const Query *parse)
{
	ListCell *lc;

	if (parse->commandType != CMD_SELECT || parse->hasAggs || parse->hasWindowFuncs ||
		parse->hasTargetSRFs || parse->groupClause != NIL || parse->groupingSets != NIL ||
		parse->distinctClause != NIL || parse->setOperations != NULL ||
		parse->rowMarks != NIL)
		return false;
	foreach(lc, parse->targetList)
	{
		const TargetEntry *entry = lfirst(lc);

		if (!entry->resjunk && !IsA(entry->expr, Var))
			return false;
	}
	return true;
}

/* One run of the planner; how long its plan takes, to *time, if that is not NULL. */
static PlannedStmt *
plan_once(Query *parse, const char *query_string, int cursor_options, ParamListInfo params,
		  TbSubqueryTime *time)
{
	TbPlanning planning = {.runs = true,
						   .may_run_backward = may_cursor_run_backward(cursor_options),
						   .subquery_time = time};
	PlannedStmt *volatile result = NULL;

	tb_planning_push(&planning);
	planning.wants_columns = planning.wants_columns && returns_columns_of_tables(parse);
	PG_TRY();
	{
		if (previous_planner)
			result = previous_planner(parse, query_string, cursor_options, params);
		else
			result = standard_planner(parse, query_string, cursor_options, params);
		tb_append_relations_separate(result);
		tb_column_hints_send(result);
		tb_compile_hints_send();
	}
	PG_FINALLY();
	{
		tb_planning_pop(&planning);
	}
	PG_END_TRY();
	return result;
}

/* Takes the offers that were recorded so far, if anybody records. */
static List *
take_offers(TbRecord *record)
{
	List *offers = record != NULL ? record->offers : NIL;

	if (record != NULL)
		record->offers = NIL;
	return offers;
}

/* The better of the plans of the query as it was written and of the rewritten one. Offers
 * are those of the plan that is taken. */
static PlannedStmt *
plan_both(Query *parse, Query *rewritten, const char *query_string, int cursor_options,
		  ParamListInfo params)
{
	TbRecord	  *record = tb_planning()->record;
	List		  *outer_offers = take_offers(record);
	TbSubqueryTime time = {0};
	PlannedStmt	  *result = plan_once(parse, query_string, cursor_options, params, &time);
	List		  *offers = take_offers(record);

	if (tb_written_plan_is_slow(result, &time))
	{
		PlannedStmt *other = plan_once(rewritten, query_string, cursor_options, params,
									   NULL);
		List		*other_offers = take_offers(record);

		if (tb_rewritten_plan_wins(other, result, &time))
		{
			result = other;
			offers = other_offers;
		}
	}
	if (record != NULL)
		record->offers = list_concat(outer_offers, offers);
	return result;
}

static PlannedStmt *
plan_query(Query *parse, const char *query_string, int cursor_options, ParamListInfo params)
{
	List		*inlined;
	Query		*rewritten;
	PlannedStmt *result;

	parse = tb_inline_calls(parse, &inlined);
	rewritten = tb_planning_is_wanted() ? tb_rewritten_query(parse) : NULL;
	result = rewritten != NULL ?
		plan_both(parse, rewritten, query_string, cursor_options, params) :
		plan_once(parse, query_string, cursor_options, params, NULL);
	if (result != NULL)
	{
		tb_plan_depends_on(result, inlined);
		tb_mend_plan(result);
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
	TbPlanning planning = {.plain_explain = is_plain_explain(pstmt->utilityStmt)};

	tb_planning_push(&planning);
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
		tb_planning_pop(&planning);
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
