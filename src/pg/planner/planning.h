/*
 * planning.h - what holds for the innermost planning under way: whether
 * accelerated plans may be made, the reasons why parts were not, and what a run of the
 * planner notes for later steps of the same run. The only state that lasts
 * for a run of the planner.
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

/* What turbine.why_not is told, in the memory that was current when recording began. */
typedef struct TbRecord
{
	List *reasons; /* TbReason */
	List *offers;  /* of nodes/offer/offer.c */
} TbRecord;

/* A plan's time, and by what share its subqueries are shorter than they are charged for. */
typedef struct TbSubqueryTime
{
	double us;	  /* of all, subqueries as they are charged */
	double share; /* the smallest among the subqueries that aggregate; 0: there is none */
} TbSubqueryTime;

/*
 * What holds while something goes on that plans, or that the planner calls: a run of the
 * planner, a utility command, turbine.why_not. Nested ones have one each. Lists lie in the
 * memory of the run and go with it.
 */
typedef struct TbPlanning
{
	struct TbPlanning *outer;

	bool	  runs;			 /* a run of the planner; else what is around one */
	bool	  may_run_backward;
	bool	  wants_columns; /* the plan's rows are taken as columns, where its last node
							  * returns such: so that is worth more. Of what is around a run,
							  * and of the run itself, not of those within */
	bool	  plain_explain; /* EXPLAIN without ANALYZE; the runs within inherit it */
	TbRecord *record;		 /* NULL: nobody asks for reasons; inherited */

	/* What a run notes, each for its own file. */
	struct HTAB	   *serial_paths;	/* join/serial_paths.c */
	List		   *compile_hints;	/* TbStage: program/compile_hints.c */
	List		   *column_hints;	/* program/column_hints.c */
	uint64			foregone_shape; /* postgres/rivals.c: the last that it looked at, */
	bool			foregone_paid;	/* and whether its columns are paid for */
	List		   *noted_nodes;	/* nodes/offer/noted_nodes.c */
	List		   *append_levels;	/* PlannerInfo: nodes/hooks/plan_passes.c */
	List		   *shape_samples;	/* join/join_grid.c */
	TbSubqueryTime *subquery_time;	/* nodes/rewrite/; NULL: nobody asks */
	MemoryContext	join_search;	/* where the search's relations stay */

	/* For tables of this query level: whether it was asked if columns of them are cached,
	 * and the answer; a bit for each index of the range table below 64. */
	const PlannerInfo *cached_of;
	uint64			   asked;
	uint64			   cached;
} TbPlanning;

/* Begins, and ends: in any case, also if an error is raised between them. */
extern void tb_planning_push(TbPlanning *planning);
extern void tb_planning_pop(TbPlanning *planning);

/* The innermost; never NULL. */
extern TbPlanning *tb_planning(void);

/* False: plan as if pg_turbine were not there. */
extern bool tb_planning_enabled(void);

/* The same of a run of the planner that is about to begin. */
extern bool tb_planning_is_wanted(void);

/* The plan may have to run backward: a cursor that does not say NO SCROLL. */
extern bool tb_planning_may_run_backward(void);

/* Whether turbine.why_not asks. */
extern bool tb_planning_is_recording(void);

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
