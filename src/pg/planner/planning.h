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

/* Whether offering an accelerated path in place of one of this cost can change
 * anything: false where it costs less than ours to start, unless plans are forced,
 * or someone asks for reasons. Saves the planning of small queries. */
extern bool tb_planning_worthwhile(Cost cost);

/* Notes why a part stays with PostgreSQL, if anyone asked. */
extern void tb_planning_note(const char *part, const char *format,...) pg_attribute_printf(2, 3);

/* Notes that an accelerated path over these tables (OIDs) was offered: if the finished plan lacks it,
 * PostgreSQL's was cheaper. */
extern void tb_planning_offered(const char *part, const char *node_name,
								List *relids, Cost cost);

/* Plans a query and collects TbReasons, in the current context. */
extern List *tb_planning_reasons(Query *query, const char *query_text);

/* "scan of public.t", for notes. */
extern const char *tb_planning_part(const char *what, Oid relid);

/* Installs planner_hook and ProcessUtility_hook; called by _PG_init. */
extern void tb_planning_init(void);

#endif
