/*
 * views.c - turbine.functions and turbine.why_not.
 *
 * SQL-callable; each returns a materialized set. turbine.why_not plans a query as it would
 * be planned, and tells what was noted meanwhile; it must never run it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "turbine/functions.h"

#include "pg/nodes/offer/offer.h"
#include "pg/planner/planning.h"
#include "pg/settings/guc.h"

extern PGDLLEXPORT Datum turbine_functions(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_why_not(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_functions);
PG_FUNCTION_INFO_V1(turbine_why_not);

static Datum
type_names(const TbFunction *f)
{
	Datum names[TB_FN_MAX_ARGS];

	for (int i = 0; i < f->nargs; i++)
		names[i] = CStringGetTextDatum(tb_type_name(f->args[i]));
	return PointerGetDatum(
		construct_array(names, f->nargs, TEXTOID, -1, false, TYPALIGN_INT));
}

Datum
turbine_functions(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < TB_FUNCTION_COUNT; i++)
	{
		const TbFunction *f = &tb_functions[i];
		Datum			  values[8];
		bool			  nulls[8] = {0};

		values[0] = CStringGetTextDatum(f->name);
		values[1] = CStringGetTextDatum(f->signature);
		values[2] = CStringGetTextDatum(f->variant);
		values[3] = CStringGetTextDatum(tb_type_name(f->result));
		values[4] = type_names(f);
		values[5] = BoolGetDatum((f->flags & TB_FN_RAISES) != 0);
		values[6] = BoolGetDatum((f->flags & TB_FN_INEXACT) == 0);
		values[7] = Int32GetDatum((int32) f->cost);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static void
put_reason(ReturnSetInfo *rsinfo, const char *part, const char *reason)
{
	Datum values[2];
	bool  nulls[2] = {0};

	values[0] = CStringGetTextDatum(part);
	values[1] = CStringGetTextDatum(reason);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Plans the query and collects TbReasons, in the current context. */
static List *
reasons_of(Query *query, const char *source)
{
	TbPlanningState planning = tb_planning_record();
	List		   *offers = tb_offers_begin();
	List		   *reasons = NIL;

	PG_TRY();
	{
		PlannedStmt *stmt = planner(query, source, CURSOR_OPT_PARALLEL_OK, NULL);

		/* As EXPLAIN does: no plan of tables that one may not read. */
		ExecCheckRTPerms(stmt->rtable, true);
		tb_offers_note_lost(stmt);
		reasons = tb_planning_reasons();
	}
	PG_FINALLY();
	{
		tb_planning_stop_recording(&planning);
		tb_offers_end(offers);
	}
	PG_END_TRY();
	return reasons;
}

/* One statement after rewriting. */
static void
explain_query(ReturnSetInfo *rsinfo, Query *query, const char *source)
{
	ListCell *lc;

	if (query->commandType == CMD_UTILITY)
	{
		put_reason(rsinfo, "statement", "it is a utility command");
		return;
	}
	foreach(lc, reasons_of(query, source))
	{
		TbReason *reason = lfirst(lc);

		put_reason(rsinfo, reason->part, reason->reason);
	}
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
