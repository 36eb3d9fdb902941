/*
 * typing.h - what the words of a body mean in PostgreSQL: operators, functions, types and
 * casts, found as in SQL, but in fixed schemas.
 *
 * Used by the parser only.
 */
#ifndef TURBINE_PG_LANGUAGE_TYPING_H
#define TURBINE_PG_LANGUAGE_TYPING_H

#include "postgres.h"

#include "nodes/primnodes.h"
#include "parser/parse_node.h"

#include "pg/language/routine.h"

/* Whether values of a PostgreSQL type may be arguments and variables. */
extern bool tb_routine_has_type(Oid type);

/* The type of a name of one or more words ("double precision"), InvalidOid if it is none.
 * interval is one of constants only. */
extern Oid tb_type_of_name(const char *name);

/* Operators and functions of pg_catalog. */
extern Expr *tb_make_operator(ParseState *pstate, const char *name, Expr *left, Expr *right,
							  int location);
extern Expr *tb_make_distinct(ParseState *pstate, Expr *left, Expr *right, int location);
extern Expr *tb_make_nullif(ParseState *pstate, Expr *left, Expr *right, int location);
extern Expr *tb_make_call(ParseState *pstate, const char *schema, const char *name,
						  Oid own_schema, List *args, int location);

/* NULL, of no type yet. */
extern Expr *tb_null_literal(int location);

/* CASE WHEN conditions[i] THEN values[i] ... ELSE the last value. */
extern Expr *tb_make_choice(ParseState *pstate, List *conditions, List *values,
							int location);
/* COALESCE, GREATEST, LEAST: `name` says which. */
extern Expr *tb_make_list(ParseState *pstate, const char *name, List *args, int location);

/* The type that all of them can be given; raises where there is none. */
extern Oid tb_common_type(ParseState *pstate, List *exprs);

/* As an assignment converts; `what` of an error, like "variable x". */
extern Expr *tb_coerce_assigned(ParseState *pstate, Expr *expr, Oid type, int32 typmod,
								const char *what, int location);
/* x::type */
extern Expr *tb_make_cast(ParseState *pstate, Expr *expr, Oid type, int32 typmod,
						  int location);
extern Expr *tb_make_condition(ParseState *pstate, Expr *expr, const char *construct);

/* What an expression depends on. */
typedef struct TbDependence
{
	bool stable;			/* on settings of the session, or on a function that does */
	bool session_constants; /* some constant was read under such settings */
} TbDependence;

/* Of a whole expression: collations; constants cast; and raises where it uses what is not
 * of the language. Adds to `depends`. */
extern Expr *tb_finish_expression(ParseState *pstate, Expr *expr, TbDependence *depends);

extern int tb_count_expressions(Expr *expr);

#endif
