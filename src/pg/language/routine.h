/*
 * routine.h - functions of LANGUAGE turbine, compiled: typed expressions of PostgreSQL and
 * the steps between them.
 *
 * The meaning of a routine, which all who run it share:
 *   - Its registers hold values: first the arguments, then variables. Expressions read
 * register s as Var (TB_ROUTINE_VARNO, s + 1).
 *   - Steps are run in order. Then `result` is the function's value.
 *   - An argument is evaluated once, before the first step, whether or not the body reads
 * it.
 */
#ifndef TURBINE_PG_LANGUAGE_ROUTINE_H
#define TURBINE_PG_LANGUAGE_ROUTINE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#define TB_ROUTINE_VARNO 1

typedef enum TbStepKind
{
	TB_STEP_SET,  /* register = expr */
	TB_STEP_IF,	  /* if expr is true: steps; else: otherwise */
	TB_STEP_WHILE /* while expr is true: steps */
} TbStepKind;

typedef struct TbStep
{
	TbStepKind kind;
	int		   reg;
	Expr	  *expr;	  /* of the register's type; or a boolean */
	List	  *steps;	  /* TbStep */
	List	  *otherwise; /* TbStep */
} TbStep;

typedef struct TbRegister
{
	const char *name; /* NULL: it has none */
	Oid			type;
	int32		typmod;
	Oid			collation;
	int16		length;
	bool		byval;
} TbRegister;

typedef struct TbRoutine
{
	Oid			function;
	const char *name;
	bool		strict;		/* NULL if an argument is NULL */
	bool		has_rights; /* SECURITY DEFINER or SET: it runs as it was defined only */
	bool		has_loops;	/* it, or what it calls */
	bool		is_stable;	/* depends on the session's settings; else it is immutable */
	bool		has_session_constants; /* whose meaning depends on them: '1/2/2024' */
	int			nargs;
	int			nregisters;
	TbRegister *registers;
	List	   *steps;	 /* TbStep */
	Expr	   *result;
	List	   *calls;	 /* OIDs of functions of the language, one for each call */
	List	   *callees; /* OIDs of all that it calls, and that these call, once each */
	int			size;	 /* expressions, with those of each call */
	int			depth;	 /* 1, or more than that of any function that it calls */
} TbRoutine;

/* A compilation under way, for those within it. */
typedef struct TbCompilation TbCompilation;

/* Whether a function is of LANGUAGE turbine. */
extern bool tb_is_routine(Oid function);

/*
 * The routine of a function that is called with this collation. Raises what CREATE FUNCTION
 * would: bodies are looked at when they are called. The result is kept, and valid until
 * the next question for the same function. `within`: NULL, or who asks.
 */
extern const TbRoutine *tb_routine_of(Oid function, Oid collation, TbCompilation *within);

/* Puts a call's arguments in their order, with those that it leaves to DEFAULT; later the
 * planner does so. */
extern void tb_complete_arguments(FuncExpr *call);

/* Whether the current user may execute the function and all that it calls, and nothing of
 * it depends on a hook or a setting: then its body may stand for its call. */
extern bool tb_routine_may_be_inlined(const TbRoutine *routine);

#endif
