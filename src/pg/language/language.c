/*
 * language.c - LANGUAGE turbine: its handler and its validator.
 *
 * The handler runs a function where PostgreSQL evaluates its call. Where a call is planned,
 * its body may take its place: inline_calls.h in PostgreSQL's plans, expression_routine.c
 * of the planner on devices.
 *
 * The validator compiles a new function, and notes in the catalogs what follows from its
 * body: what it calls (so that DROP FUNCTION asks first), that it may run in parallel,
 * whether it is immutable, and what it costs.
 *
 * Called by PostgreSQL. The language is trusted: bodies can do nothing but compute.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_proc.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "pg/compat/pg16.h"
#include "pg/language/interpreter.h"
#include "pg/language/routine.h"

extern PGDLLEXPORT Datum turbine_language_call_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_language_validator(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_language_call_handler);
PG_FUNCTION_INFO_V1(turbine_language_validator);

/* What CREATE FUNCTION writes of a function whose cost is not given; and how often a loop
 * is assumed to run. */
#define DEFAULT_COST 100
#define ASSUMED_LOOPS 16

Datum
turbine_language_call_handler(PG_FUNCTION_ARGS)
{
	FmgrInfo	  *function = fcinfo->flinfo;
	TbInterpreter *interpreter = function->fn_extra;
	bool		   isnull;
	Datum		   result;

	if (CALLED_AS_TRIGGER(fcinfo) || CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("functions of LANGUAGE turbine cannot be triggers")));
	if (interpreter == NULL)
	{
		interpreter = tb_interpreter_create(tb_routine_of(function->fn_oid,
														  PG_GET_COLLATION(), NULL),
											function->fn_mcxt);
		function->fn_extra = interpreter;
	}
	result = tb_interpreter_run(interpreter, fcinfo->args, &isnull);
	fcinfo->isnull = isnull;
	return result;
}

/* Of the steps: how many expressions they evaluate, as far as that can be guessed. */
static double
cost_of_steps(List *steps)
{
	double	  cost = 0;
	ListCell *lc;

	foreach(lc, steps)
	{
		const TbStep *step = lfirst(lc);
		double		  below = cost_of_steps(step->steps) + cost_of_steps(step->otherwise);

		cost += (step->kind == TB_STEP_WHILE ? ASSUMED_LOOPS : 1) * (1 + below);
	}
	return cost;
}

static void
note_labels(const TbRoutine *routine)
{
	Relation	 procs = table_open(ProcedureRelationId, RowExclusiveLock);
	HeapTuple	 tuple = SearchSysCacheCopy1(PROCOID, ObjectIdGetDatum(routine->function));
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(tuple);

	form->provolatile = routine->is_stable ? PROVOLATILE_STABLE : PROVOLATILE_IMMUTABLE;
	form->proparallel = PROPARALLEL_SAFE;
	if (form->procost == DEFAULT_COST)
		form->procost = 1 + cost_of_steps(routine->steps);
	CatalogTupleUpdate(procs, &tuple->t_self, tuple);
	table_close(procs, RowExclusiveLock);
}

static void
note_callees(const TbRoutine *routine)
{
	ObjectAddress self;
	ListCell	 *lc;

	ObjectAddressSet(self, ProcedureRelationId, routine->function);
	foreach(lc, list_concat_unique_oid(NIL, routine->calls))
	{
		ObjectAddress callee;

		ObjectAddressSet(callee, ProcedureRelationId, lfirst_oid(lc));
		recordDependencyOn(&self, &callee, DEPENDENCY_NORMAL);
	}
}

/* A dump restores functions in any order: what cannot be compiled yet may be later. */
static void
try_to_note_callees(Oid function)
{
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		note_callees(tb_routine_of(function, InvalidOid, NULL));
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		if (geterrcode() == ERRCODE_QUERY_CANCELED)
			PG_RE_THROW();
		MemoryContextSwitchTo(memory);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	CurrentResourceOwner = owner;
}

/* Everyone may call the validator, but only CREATE FUNCTION changes catalogs: for the
 * owner. */
static bool
is_owner(Oid function)
{
	return object_ownercheck(ProcedureRelationId, function, GetUserId());
}

Datum
turbine_language_validator(PG_FUNCTION_ARGS)
{
	Oid				 function = PG_GETARG_OID(0);
	const TbRoutine *routine;

	if (!CheckFunctionValidatorAccess(fcinfo->flinfo->fn_oid, function))
		PG_RETURN_VOID();
	if (!check_function_bodies)
	{
		if (is_owner(function))
			try_to_note_callees(function);
		PG_RETURN_VOID();
	}
	routine = tb_routine_of(function, InvalidOid, NULL);
	if (is_owner(function))
	{
		note_callees(routine);
		note_labels(routine);
	}
	PG_RETURN_VOID();
}
