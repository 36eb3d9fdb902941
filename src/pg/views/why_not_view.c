/*
 * why_not_view.c - turbine.why_not: why parts of a query stay with PostgreSQL.
 *
 * Called by SQL; returns a materialized set. Plans the query as it would be planned, and
 * tells what was noted meanwhile (planner/planning.h, nodes/offer/offer.h); it must never
 * run it.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "pg/compat/pg16.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"
#include "pg/views/visibility_hint.h"

extern PGDLLEXPORT Datum turbine_why_not(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_why_not);

static void
put_reason(ReturnSetInfo *rsinfo, const char *part, const char *reason)
{
	Datum values[2];
	bool  nulls[2] = {0};

	values[0] = CStringGetTextDatum(part);
	values[1] = CStringGetTextDatum(reason);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* What makes a table's blocks slow to read, of all tables of a plan that has none of our
 * reasons to be slow. */
static void
put_hints(ReturnSetInfo *rsinfo, const PlannedStmt *stmt)
{
	List	 *seen = NIL;
	ListCell *lc;

	foreach(lc, stmt->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		char				*hint;

		if (rte->rtekind != RTE_RELATION || rte->inh || list_member_oid(seen, rte->relid))
			continue;
		seen = lappend_oid(seen, rte->relid);
		hint = tb_visibility_hint(rte->relid);
		if (hint != NULL)
			put_reason(rsinfo, psprintf("blocks of %s", get_rel_name(rte->relid)), hint);
	}
}

/* Plans the query and collects TbReasons, in the current context. */
static List *
reasons_of(Query *query, const char *source, PlannedStmt **plan)
{
	TbRecord   record = {0};
	TbPlanning planning = {.record = &record};

	tb_planning_push(&planning);
	PG_TRY();
	{
		PlannedStmt *stmt = planner(query, source, CURSOR_OPT_PARALLEL_OK, NULL);

		/* As EXPLAIN does: no plan of tables that one may not read. */
		TB_CHECK_RIGHTS(stmt);
		tb_offers_note_lost(stmt);
		*plan = stmt;
	}
	PG_FINALLY();
	{
		tb_planning_pop(&planning);
	}
	PG_END_TRY();
	return record.reasons;
}

/* One statement after rewriting. */
static void
explain_query(ReturnSetInfo *rsinfo, Query *query, const char *source)
{
	PlannedStmt *stmt = NULL;
	ListCell	*lc;

	if (query->commandType == CMD_UTILITY)
	{
		put_reason(rsinfo, "statement", "it is a utility command");
		return;
	}
	foreach(lc, reasons_of(query, source, &stmt))
	{
		TbReason *reason = lfirst(lc);

		put_reason(rsinfo, reason->part, reason->reason);
	}
	put_hints(rsinfo, stmt);
}

Datum
turbine_why_not(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char		  *source = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ListCell	  *lc;

	InitMaterializedSRF(fcinfo, 0);
	if (!tb_guc_enabled)
	{
		put_reason(rsinfo, "statement", "pg_turbine.enabled is off");
		return (Datum) 0;
	}
	foreach(lc, pg_parse_query(source))
	{
		List *queries = pg_analyze_and_rewrite_fixedparams(lfirst_node(RawStmt, lc), source,
														   NULL, 0, NULL);
		ListCell *query;

		foreach(query, queries)
			explain_query(rsinfo, lfirst_node(Query, query), source);
	}
	return (Datum) 0;
}
