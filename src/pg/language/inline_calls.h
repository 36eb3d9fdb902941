/*
 * inline_calls.h - calls of LANGUAGE turbine functions in queries, replaced by their
 * bodies.
 */
#ifndef TURBINE_PG_LANGUAGE_INLINE_CALLS_H
#define TURBINE_PG_LANGUAGE_INLINE_CALLS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * The query, or a copy in which calls of functions that are one expression are that
 * expression. *functions is a list of OIDs of all functions whose bodies went into it.
 */
extern Query *tb_inline_calls(Query *query, List **functions);

/* Lets the plan be made anew when one of these functions or the user changes. */
extern void tb_plan_depends_on(PlannedStmt *plan, const List *functions);

#endif
