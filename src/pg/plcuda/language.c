/*
 * language.c - LANGUAGE plcuda: its handler and its validator.
 *
 * The validator compiles a new function, so that CREATE FUNCTION shows the compiler's
 * errors; where there is no compiler it says so and lets the function be. The handler
 * encodes arguments, has the function run (runner.h) and decodes its rows. What is known of
 * a function is looked up once for each expression that calls it.
 *
 * Called by PostgreSQL. The language is untrusted: only superusers create functions.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "pg/plcuda/compiler.h"
#include "pg/plcuda/function_shape.h"
#include "pg/plcuda/kept_copies.h"
#include "pg/plcuda/runner.h"

extern PGDLLEXPORT Datum turbine_plcuda_call_handler(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_plcuda_validator(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_plcuda_call_handler);
PG_FUNCTION_INFO_V1(turbine_plcuda_validator);

#define ARGUMENT_ALIGNMENT 16

/* Of a call that meets the end of its process, or finds copies or its library gone: each is
 * rare, and they may come together. */
#define MOST_TRIES 6

typedef struct PlcudaFunction
{
	TbPlcudaShape *shape;
	char		  *library;
} PlcudaFunction;

/* A call, and what its rows become. */
typedef struct PlcudaCall
{
	TbPlcudaRun		 run;
	PlcudaFunction	*function;
	Tuplestorestate *store; /* of a set */
	TupleDesc		 desc;	/* likewise */
	MemoryContext	 row;	/* likewise: values of one row */
	int				 nrows;
	Datum			 value;
	bool			 isnull;
} PlcudaCall;

Datum
turbine_plcuda_validator(PG_FUNCTION_ARGS)
{
	Oid			   function = PG_GETARG_OID(0);
	TbPlcudaShape *shape;

	if (!CheckFunctionValidatorAccess(fcinfo->flinfo->fn_oid, function))
		PG_RETURN_VOID();
	/* Types and the body may name what a dump restores later. */
	if (!check_function_bodies)
		PG_RETURN_VOID();
	shape = tb_plcuda_shape_of(function);
	if (tb_plcuda_has_compiler())
		(void) tb_plcuda_library_of(shape);
	else
		ereport(WARNING,
				(errmsg("function %s is not compiled: there is no CUDA compiler",
						shape->name),
				 errhint("%s", tb_plcuda_compiler_hint())));
	PG_RETURN_VOID();
}

/* Compiled, if it is not there. */
static void
find_library(PlcudaFunction *function, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	function->library = tb_plcuda_library_of(function->shape);
	MemoryContextSwitchTo(old);
}

static PlcudaFunction *
get_function(FmgrInfo *flinfo)
{
	PlcudaFunction *function = flinfo->fn_extra;
	MemoryContext	old;

	if (function != NULL)
		return function;
	old = MemoryContextSwitchTo(flinfo->fn_mcxt);
	function = palloc0(sizeof(*function));
	function->shape = tb_plcuda_shape_of(flinfo->fn_oid);
	MemoryContextSwitchTo(old);
	find_library(function, flinfo->fn_mcxt);
	flinfo->fn_extra = function;
	return function;
}

static void
encode_arguments(StringInfo to, const TbPlcudaShape *shape, FunctionCallInfo fcinfo)
{
	static const char zeros[ARGUMENT_ALIGNMENT] = {0};

	initStringInfo(to);
	/* The table of arguments is filled in as their places are known. */
	enlargeStringInfo(to, sizeof(TbPlcudaArgument) * shape->nargs + 1);
	to->len = sizeof(TbPlcudaArgument) * shape->nargs;
	memset(to->data, 0, to->len);
	for (int i = 0; i < shape->nargs; i++)
	{
		const TbPlcudaType *type = &shape->args[i];
		TbPlcudaArgument	argument = {.kind = type->kind, .isnull = PG_ARGISNULL(i)};
		int					excess = to->len % ARGUMENT_ALIGNMENT;

		if (excess > 0)
			appendBinaryStringInfo(to, zeros, ARGUMENT_ALIGNMENT - excess);
		if (!PG_ARGISNULL(i))
		{
			argument.offset = to->len;
			if (type->kind == TB_PLCUDA_STORE)
				tb_plcuda_encode_store(to, PG_GETARG_OID(i));
			else
				tb_plcuda_encode(to, type, PG_GETARG_DATUM(i));
			argument.length = to->len - argument.offset;
		}
		memcpy(to->data + sizeof(argument) * i, &argument, sizeof(argument));
	}
}

static _Noreturn void
raise_row(const TbPlcudaShape *shape)
{
	ereport(ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("function %s has damaged its process", shape->name),
			 errdetail("A row of its result is malformed.")));
}

/* The columns of a row that its bytes have; those that are dropped are NULL. */
static void
decode_row(const TbPlcudaShape *shape, const char *bytes, uint32 length, Datum *values,
		   bool *nulls)
{
	const char *end = bytes + length;

	for (int i = 0; i < shape->ncolumns; i++)
	{
		int	  at = shape->row != NULL ? shape->attributes[i] : 0;
		int32 size;

		if (end - bytes < (ptrdiff_t) sizeof(size))
			raise_row(shape);
		memcpy(&size, bytes, sizeof(size));
		bytes += sizeof(size);
		if (size < -1 || (size > 0 && size > end - bytes))
			raise_row(shape);
		values[at] = tb_plcuda_decode(&shape->columns[i], bytes, size, &nulls[at]);
		bytes += Max(size, 0);
	}
	if (bytes != end)
		raise_row(shape);
}

static void
take_row(TbPlcudaRun *run, const char *bytes, uint32 length)
{
	PlcudaCall	  *call = run->context;
	TbPlcudaShape *shape = call->function->shape;
	int			   natts = shape->row != NULL ? shape->row->natts : 1;
	Datum		  *values;
	bool		  *nulls;
	MemoryContext  old = CurrentMemoryContext;

	call->nrows++;
	if (call->store != NULL)
		MemoryContextSwitchTo(call->row);
	else if (call->nrows > 1)
		raise_row(shape);
	values = palloc0(sizeof(Datum) * natts);
	nulls = palloc(sizeof(bool) * natts);
	memset(nulls, true, sizeof(bool) * natts);
	/* No values at all: the row is NULL. */
	call->isnull = shape->row != NULL && shape->ncolumns > 0 && length == 0;
	if (!call->isnull)
		decode_row(shape, bytes, length, values, nulls);
	if (call->store != NULL)
	{
		tuplestore_putvalues(call->store, call->desc, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(call->row);
	}
	else if (!call->isnull && shape->row != NULL)
		call->value = HeapTupleGetDatum(heap_form_tuple(shape->row, values, nulls));
	else if (!call->isnull)
	{
		call->value = values[0];
		call->isnull = nulls[0];
	}
}

/* Arguments depend on the process, which may have to be replaced, and on what it keeps. */
static TbPlcudaOutcome
try_call(PlcudaCall *call, FunctionCallInfo fcinfo)
{
	PlcudaFunction *function = call->function;
	StringInfoData	arguments;
	TbPlcudaOutcome outcome;

	tb_plcuda_begin(function->shape->name);
	PG_TRY();
	{
		encode_arguments(&arguments, function->shape, fcinfo);
	}
	PG_CATCH();
	{
		tb_plcuda_abandon();
		PG_RE_THROW();
	}
	PG_END_TRY();
	call->run = (TbPlcudaRun) {.name = function->shape->name,
							   .library = function->library,
							   .arguments = &arguments,
							   .nargs = function->shape->nargs,
							   .row = take_row,
							   .context = call};
	outcome = tb_plcuda_run(&call->run);
	pfree(arguments.data);
	return outcome;
}

static void
call_function(PlcudaCall *call, FunctionCallInfo fcinfo)
{
	for (int i = 0; i < MOST_TRIES; i++)
	{
		TbPlcudaOutcome outcome = try_call(call, fcinfo);

		if (outcome == TB_PLCUDA_RAN)
			return;
		if (outcome == TB_PLCUDA_COMPILE_AGAIN)
			find_library(call->function, fcinfo->flinfo->fn_mcxt);
	}
	ereport(ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("function %s could not be called", call->function->shape->name),
			 errdetail("Its process or its library was replaced %d times.", MOST_TRIES)));
}

Datum
turbine_plcuda_call_handler(PG_FUNCTION_ARGS)
{
	PlcudaFunction *function;
	PlcudaCall		call = {.isnull = true};

	if (CALLED_AS_TRIGGER(fcinfo) || CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("functions of LANGUAGE plcuda cannot be triggers")));
	function = get_function(fcinfo->flinfo);
	call.function = function;
	if (function->shape->row != NULL)
		BlessTupleDesc(function->shape->row);
	if (function->shape->returns_set)
	{
		ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

		InitMaterializedSRF(fcinfo,
							function->shape->row == NULL ? MAT_SRF_USE_EXPECTED_DESC : 0);
		call.store = rsinfo->setResult;
		call.desc = rsinfo->setDesc;
		call.row = AllocSetContextCreate(CurrentMemoryContext, "pg_turbine plcuda row",
										 ALLOCSET_DEFAULT_SIZES);
	}
	call_function(&call, fcinfo);
	if (function->shape->returns_set || function->shape->returns_void)
	{
		fcinfo->isnull = function->shape->returns_set;
		return (Datum) 0;
	}
	if (call.nrows != 1)
		raise_row(function->shape);
	fcinfo->isnull = call.isnull;
	return call.value;
}
