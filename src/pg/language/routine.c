/*
 * routine.c - see routine.h: looks functions up, has their bodies parsed, and keeps the
 * result.
 *
 * A routine is kept until any function or schema of the database changes. Names in a body
 * mean what the catalogs say when it is parsed, in fixed schemas, so nothing else matters
 * to it, unless it has a constant like '1/2/2024', which is read anew each time.
 *
 * Called by everyone who runs, plans or checks functions of the language. Must never return
 * a routine that calls itself: bodies that do so are refused here.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/proclang.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "parser/parse_node.h"
#include "parser/parse_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "pg/compat/pg16.h"
#include "pg/language/lexer.h"
#include "pg/language/parser.h"
#include "pg/language/routine.h"
#include "pg/language/typing.h"

/* Calls within calls; and expressions of a function with all that it calls. */
#define MAX_CALL_DEPTH 16
#define MAX_SIZE 20000

struct TbCompilation
{
	TbCompilation *outer;
	Oid			   function;
	const char	  *name;
	const char	  *source;
	bool		   busy_within; /* another compilation reports its own errors */
};

typedef struct RoutineKey
{
	Oid function;
	Oid collation;
} RoutineKey;

typedef struct RoutineEntry
{
	RoutineKey	  key;
	uint64		  generation; /* of the catalogs */
	MemoryContext memory;	  /* NULL: no routine */
	TbRoutine	 *routine;
} RoutineEntry;

static HTAB	 *routines = NULL;
static uint64 generation = 1;
static Oid	  language = InvalidOid; /* while known */

static void
forget_routines(Datum arg, int cache, uint32 hash)
{
	generation++;
}

static void
forget_language(Datum arg, int cache, uint32 hash)
{
	generation++;
	language = InvalidOid;
}

static void
begin_keeping(void)
{
	HASHCTL control = {.keysize = sizeof(RoutineKey),
					   .entrysize = sizeof(RoutineEntry),
					   .hcxt = CacheMemoryContext};

	if (routines != NULL)
		return;
	routines = hash_create("pg_turbine routines", 64, &control,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterSyscacheCallback(PROCOID, forget_routines, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_routines, (Datum) 0);
	CacheRegisterSyscacheCallback(LANGOID, forget_language, (Datum) 0);
}

bool
tb_is_routine(Oid function)
{
	HeapTuple tuple;
	bool	  result;

	/* Most functions are built in. */
	if (function < FirstNormalObjectId)
		return false;
	begin_keeping();
	if (!OidIsValid(language))
		language = get_language_oid("turbine", true);
	if (!OidIsValid(language))
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == language;
	ReleaseSysCache(tuple);
	return result;
}

/* ---- Compilation ---- */

/* Adds the place of an error, and lets it be shown in the statement or in the body. */
static void
add_place(void *arg)
{
	const TbCompilation *compilation = arg;
	int					 at = geterrposition();
	int					 line = 0;
	int					 column = 0;

	if (compilation->busy_within)
		return;
	if (at > 0)
		tb_lexer_position(compilation->source,
						  pg_mbcharcliplen(compilation->source, strlen(compilation->source),
										   at - 1),
						  &line, &column);
	(void) function_parse_error_transpose(compilation->source);
	if (at > 0)
		errcontext("LANGUAGE turbine function \"%s\", line %d, column %d",
				   compilation->name, line, column);
	else
		errcontext("compilation of LANGUAGE turbine function \"%s\"", compilation->name);
}

static _Noreturn void
refuse_shape(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
			 errmsg("functions of LANGUAGE turbine cannot %s", what)));
}

static void
check_type(Oid type, const char *what)
{
	if (tb_routine_has_type(type))
		return;
	if (IsPolymorphicType(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("functions of LANGUAGE turbine cannot %s polymorphic type %s", what,
						format_type_be(type)),
				 errhint("Write one function for each type.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
			 errmsg("functions of LANGUAGE turbine cannot %s type %s", what,
					format_type_be(type)),
			 errhint(
				 "Types are boolean, smallint, integer, bigint, real, double precision, "
				 "numeric, date, timestamp, timestamptz and text.")));
}

/* What the function is apart from its body. */
static void
check_shape(HeapTuple tuple, Form_pg_proc form)
{
	bool isnull;

	if (form->prokind != PROKIND_FUNCTION)
		refuse_shape("be procedures or window functions");
	if (form->proretset)
		refuse_shape("return sets");
	if (OidIsValid(form->provariadic))
		refuse_shape("be variadic");
	(void) SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proallargtypes, &isnull);
	if (!isnull)
		refuse_shape("have OUT or INOUT arguments");
	check_type(form->prorettype, "return");
	for (int i = 0; i < form->pronargs; i++)
		check_type(form->proargtypes.values[i], "take");
}

static void
read_arguments(TbRoutine *routine, HeapTuple tuple, Form_pg_proc form, Oid collation)
{
	Oid	  *types;
	char **names;
	char  *modes;

	(void) get_func_arg_info(tuple, &types, &names, &modes);
	routine->nargs = routine->nregisters = form->pronargs;
	routine->registers = palloc0(sizeof(TbRegister) * Max(routine->nargs, 1));
	for (int i = 0; i < routine->nargs; i++)
	{
		TbRegister *reg = &routine->registers[i];

		reg->name = names != NULL ? names[i] : NULL;
		reg->type = types[i];
		reg->typmod = -1;
		reg->collation = get_typcollation(types[i]);
		if (OidIsValid(reg->collation) && OidIsValid(collation))
			reg->collation = collation;
		get_typlenbyval(types[i], &reg->length, &reg->byval);
	}
}

/* Adds what its callees are, and raises where they are too many, or it is one of them. */
static void
follow_callees(TbRoutine *routine, TbCompilation *compilation)
{
	ListCell *lc;

	routine->depth = 1;
	foreach(lc, routine->calls)
	{
		const TbRoutine *callee;

		compilation->busy_within = true;
		callee = tb_routine_of(lfirst_oid(lc), InvalidOid, compilation);
		compilation->busy_within = false;
		routine->depth = Max(routine->depth, callee->depth + 1);
		routine->size += callee->size;
		routine->has_loops |= callee->has_loops;
		routine->is_stable |= callee->is_stable;
		routine->has_session_constants |= callee->has_session_constants;
		routine->callees = list_concat_unique_oid(list_append_unique_oid(routine->callees,
																		 callee->function),
												  callee->callees);
		if (routine->depth > MAX_CALL_DEPTH)
			ereport(ERROR,
					(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
					 errmsg("calls of functions are nested too deeply"),
					 errdetail("The limit is %d levels.", MAX_CALL_DEPTH)));
		if (routine->size > MAX_SIZE)
			ereport(ERROR,
					(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
					 errmsg("function \"%s\" is too long with the functions that it calls",
							routine->name),
					 errdetail("The limit is %d expressions.", MAX_SIZE)));
	}
}

static TbRoutine *
compile(HeapTuple tuple, Oid collation, TbCompilation *outer)
{
	Form_pg_proc  form = (Form_pg_proc) GETSTRUCT(tuple);
	TbRoutine	 *routine = palloc0(sizeof(TbRoutine));
	bool		  isnull;
	Datum		  source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	TbCompilation compilation = {.outer = outer, .function = form->oid};
	ErrorContextCallback callback = {.callback = add_place, .arg = &compilation};

	routine->function = form->oid;
	routine->name = compilation.name = pstrdup(NameStr(form->proname));
	compilation.source = TextDatumGetCString(source);
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	/* Does it call itself? */
	for (const TbCompilation *c = outer; c != NULL; c = c->outer)
		if (c->function == form->oid)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_RECURSION),
					 errmsg("function \"%s\" calls itself", routine->name),
					 errdetail("Functions of LANGUAGE turbine cannot be recursive."),
					 errhint("Use a while loop.")));
	check_shape(tuple, form);
	routine->strict = form->proisstrict;
	(void) SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proconfig, &isnull);
	routine->has_rights = form->prosecdef || !isnull;
	read_arguments(routine, tuple, form, collation);
	tb_parse_body(routine, compilation.source, form->pronamespace, form->prorettype,
				  &compilation);
	follow_callees(routine, &compilation);
	error_context_stack = callback.previous;
	return routine;
}

const TbRoutine *
tb_routine_of(Oid function, Oid collation, TbCompilation *within)
{
	RoutineKey	  key = {.function = function, .collation = collation};
	RoutineEntry *entry;
	HeapTuple	  tuple;
	MemoryContext memory;
	MemoryContext old;
	TbRoutine	 *routine;
	uint64		  compiled;
	bool		  found;

	/* Is it known? */
	begin_keeping();
	check_stack_depth();
	entry = hash_search(routines, &key, HASH_FIND, NULL);
	if (entry != NULL && entry->memory != NULL && entry->generation == generation &&
		!entry->routine->has_session_constants)
		return entry->routine;

	/* Compile it, in memory that an error frees. */
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	memory = AllocSetContextCreate(CurrentMemoryContext, "pg_turbine routine",
								   ALLOCSET_SMALL_SIZES);
	compiled = generation;
	old = MemoryContextSwitchTo(memory);
	routine = compile(tuple, collation, within);
	MemoryContextSwitchTo(old);
	ReleaseSysCache(tuple);

	/* Keep it. */
	entry = hash_search(routines, &key, HASH_ENTER, &found);
	if (found && entry->memory != NULL)
		MemoryContextDelete(entry->memory);
	entry->memory = NULL;
	MemoryContextSetParent(memory, CacheMemoryContext);
	entry->memory = memory;
	entry->routine = routine;
	entry->generation = compiled;
	return routine;
}

void
tb_complete_arguments(FuncExpr *call)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", call->funcid);
	call->args = expand_function_arguments(call->args, false, call->funcresulttype, tuple);
	ReleaseSysCache(tuple);
}

static bool
may_execute(Oid function)
{
	return object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE) ==
		ACLCHECK_OK;
}

/* SECURITY DEFINER and SET of a callee hold for its body alone. */
static bool
has_rights(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool	  isnull;
	bool	  result;

	if (!HeapTupleIsValid(tuple))
		return true;
	(void) SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proconfig, &isnull);
	result = ((Form_pg_proc) GETSTRUCT(tuple))->prosecdef || !isnull;
	ReleaseSysCache(tuple);
	return result;
}

bool
tb_routine_may_be_inlined(const TbRoutine *routine)
{
	ListCell *lc;

	if (routine->has_rights || routine->has_session_constants ||
		FmgrHookIsNeeded(routine->function) || !may_execute(routine->function))
		return false;
	foreach(lc, routine->callees)
		if (has_rights(lfirst_oid(lc)) || FmgrHookIsNeeded(lfirst_oid(lc)) ||
			!may_execute(lfirst_oid(lc)))
			return false;
	return true;
}
