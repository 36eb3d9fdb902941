/*
 * planning.h - what holds for the planning of the current statement: whether
 * accelerated plans may be made, and the reasons why parts were not.
 */
#ifndef TURBINE_PG_PLANNING_H
#define TURBINE_PG_PLANNING_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* One row of turbine.why_not. */
typedef struct TbReason
{
	const char *part;
	const char *reason;
} TbReason;

/* False: plan as if pg_turbine were not there. */
extern bool tb_planning_enabled(void);

/* The plan may have to run backward: a cursor that does not say NO SCROLL. */
extern bool tb_planning_may_run_backward(void);

/*
 * Whether an accelerated path may be worth anything beside these. Not where one
 * of them is done before ours would have started; one that depends on other
 * tables, as an index scan inside a nested loop does, once for each of their
 * rows. Asked before anything else is looked at, since this is where the queries
 * of a busy server end. Always where paths are forced or reasons are recorded.
 */
extern bool tb_planning_may_win(const PlannerInfo *root, const List *paths);

/* Notes why a part stays with PostgreSQL, if anyone asked; NULL: of no part. */
extern void tb_planning_note(const char *part, const char *format,...) pg_attribute_printf(2, 3);

/* Notes that an accelerated path over these tables (OIDs) was offered: if the finished plan lacks it,
 * PostgreSQL's was cheaper. */
extern void tb_planning_offered(const char *part, const char *node_name,
								List *relids, Cost cost);

/* Plans a query and collects TbReasons, in the current context. */
extern List *tb_planning_reasons(Query *query, const char *query_text);

/* "scan of public.t", for notes; NULL if nobody asked for notes. */
extern const char *tb_planning_part(const char *what, Oid relid);

/* Installs planner_hook and ProcessUtility_hook; called by _PG_init. */
extern void tb_planning_init(void);

#endif
