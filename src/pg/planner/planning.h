/*
 * planning.h - what holds for the planning of the current statement: whether
 * accelerated plans may be made, and the reasons why parts were not.
 */
#ifndef TURBINE_PG_PLANNER_PLANNING_H
#define TURBINE_PG_PLANNER_PLANNING_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* One row of turbine.why_not. */
typedef struct TbReason
{
	const char *part;
	const char *reason;
} TbReason;

typedef struct TbPlanningState
{
	bool  planning;	 /* a run of the planner is under way */
	bool  may_run_backward;
	bool  recording; /* for turbine.why_not */
	List *reasons;	 /* TbReason */

	/* Of which of a query level's tables it was asked whether columns are cached, and of
	 * which they are: a bit for each index of the range table below 64. */
	const PlannerInfo *cached_of;
	uint64			   asked;
	uint64			   cached;
} TbPlanningState;

/* Around each run of the planner, nested ones too. What a nested run has noted is kept. */
extern TbPlanningState tb_planning_enter(bool may_run_backward);
extern void			   tb_planning_leave(const TbPlanningState *outer);

/* From now on reasons are recorded, in the current memory context, until the end. */
extern TbPlanningState tb_planning_record(void);
extern void			   tb_planning_stop_recording(const TbPlanningState *outer);
extern bool			   tb_planning_is_recording(void);
extern List			  *tb_planning_reasons(void);

/* EXPLAIN without ANALYZE begins, or something else does; returns what it was before. */
extern bool tb_planning_enter_plain_explain(bool plain);

/* False: plan as if pg_turbine were not there. */
extern bool tb_planning_enabled(void);

/* The same of a run of the planner that is about to begin. */
extern bool tb_planning_is_wanted(void);

/* The plan may have to run backward: a cursor that does not say NO SCROLL. */
extern bool tb_planning_may_run_backward(void);

/*
 * Whether an accelerated path over `rel` may be worth anything beside these. Not where one
 * of them is done before ours would have started; one that depends on other
 * tables, as an index scan inside a nested loop does, once for each of their
 * rows. Asked before anything else is looked at, since this is where the queries
 * of a busy server end. Always where paths are forced or reasons are recorded.
 */
extern bool tb_planning_may_win(const PlannerInfo *root, const RelOptInfo *rel,
								const List *paths);

/* How often nested loops would run the path: once for each row of the tables that it
 * depends on; 1 if it depends on none, 0 if that cannot be known. */
extern double tb_planning_runs_in_loops(const PlannerInfo *root, const Path *path);

/* Notes why a part stays with PostgreSQL, if anyone asked; NULL: of no part. */
extern void tb_planning_note(const char *part, const char *format, ...)
	pg_attribute_printf(2, 3);

/* "scan of public.t", for notes; NULL if nobody asked for notes. */
extern const char *tb_planning_part(const char *what, Oid relid);

#endif
