/*
 * gpu_preagg.h - GpuPreAgg: grouping and aggregation of a table, or of a join of
 * tables, on a device.
 *
 *   analyze.c           what of the query it computes: aggregates, outputs, estimates
 *   group_keys.c        what it groups by, and what PostgreSQL computes of that
 *   aggregate_states.c  the states of one aggregate, and its value out of them
 *   continuation.c    what the engine does over groups, or over the rows of a node below
 *   plan.c              the path, PostgreSQL's kept plan, HAVING in the engine; the plan
 *   distinct_rows.c     distinct rows for PostgreSQL's aggregates and set operations
 *   exec.c              groups out of the query; the fallback
 *   set_fold.c          groups of grouping sets, of GROUP BY with DISTINCT, and by computed
 *                       keys, out of those of all keys
 *   fold_state.c        one state of such a group
 *   explain.c           what EXPLAIN shows
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_GPU_PREAGG_H
#define TURBINE_PG_NODES_AGGREGATE_GPU_PREAGG_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "pg/convert/final_values.h"
#include "pg/nodes/aggregate/set_fold.h"
#include "pg/nodes/results/result_plan.h"
#include "pg/planner/join/join_tree.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/stage_run.h"

/* What the node is to compute, in terms of the query. */
typedef struct TbAggRequest
{
	RelOptInfo *rel;			/* the table or join */
	TbJoinTree *tree;			/* what is computed of it */
	List	   *group_clause;	/* SortGroupClause */
	List	   *sets;			/* lists of sortgrouprefs: grouping sets, or NIL */
	PathTarget *target;			/* what the node returns */
	List	   *having;
	bool		distinct_input; /* the target's distinct rows, for a node above to
								 * which it is the same how often each comes;
								 * no group_clause */
} TbAggRequest;

/* A grouping expression as the request's target has it: of one set alone, without what
 * grouping sets have changed. */
extern Expr *tb_request_key(PlannerInfo *root, const TbAggRequest *request,
							const SortGroupClause *clause);

/* How it computes that; a path's custom_private points to it. */
typedef struct TbAggAnalysis
{
	TbAggRequest request;
	List		*keys;			  /* Expr: those grouped by, then dependent columns, hidden
								   * keys, what aggregates with DISTINCT are of */
	int			 grouped_keys;	  /* how many are grouped by */
	List		*clause_keys;	  /* int, one a grouping expression: a key; -1, -2...: a
								   * computed one */
	List		*following;		  /* Expr: grouping expressions that follow from keys; what
								   * they raise is raised already, of any row */
	List		*computed;		  /* Expr: keys that PostgreSQL computes when it folds, */
	int			 narguments;	  /* the last of them arguments of aggregates, in no set */
	uint64		 hidden;		  /* bits of keys that are only there to compute others */
	List		*group_filters;	  /* Expr: filters that PostgreSQL applies to groups */
	double		 late_factor;	  /* estimated: rows and those of them that pass these */
	bool		 folds;			  /* for grouping sets or computed keys */
	List		*scan_tlist;	  /* TargetEntry: keys, then Aggrefs */
	TbOutput	*outputs;		  /* one an entry of scan_tlist */
	List		*stages;		  /* TbStage */
	TbWork		 work;			  /* of the last stage */
	double		 groups;		  /* estimated, of all keys */
	double		 result_groups;	  /* estimated, of GROUP BY: fewer with DISTINCT */
	double		 folded;		  /* estimated: how often a group is added to one of a
								   * set, or is one of it */
	bool		 too_large;		  /* for the backend; the engine may fold */
	double		 folded_bytes;	  /* estimated, of groups that the backend makes, at most at
								   * a time */
	int			 nsets;			  /* that groups are folded to */
	uint64		*sets;			  /* a bit a key; of request.sets, or the one that lacks
								   * the key of DISTINCT */
	List		*functions;		  /* int: GROUPING() in each set, function by function */
	List		*computed_states; /* TbComputedState *: of aggregates whose argument or
								   * FILTER is computed; then no distincts */
	List		*distincts;		  /* TbDistinct *: states of aggregates with DISTINCT;
								   * not NIL: the last key is theirs */
	struct TbContinuationPlan
		*continuation;			  /* over the stages' rows: how the engine folds groups with
								   * DISTINCT (continuation.h), or aggregates `below`; NULL */
	struct TbRowsBelow *below;	  /* another node, whose stages these are and whose rows are
								   * aggregated; NULL: the stages are its own */
} TbAggAnalysis;

/* analyze.c: NULL, with *reason set, if a device can not compute it. Filters of the probe
 * side that devices do not have are applied to groups, or, unless `late_filters`, to the
 * rows that PostgreSQL sends. */
extern TbAggAnalysis *tb_preagg_analyze(PlannerInfo *root, const TbAggRequest *request,
										bool late_filters, const char **reason);

/* plan.c: whether a path was added. Quietly: if not, no reason is noted. */
extern bool tb_preagg_add_path(PlannerInfo *root, UpperRelationKind step,
							   RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra,
							   bool quietly);
extern void tb_preagg_init(void);

/* What of the input is to be grouped or aggregated, except the tree. False: not for us at
 * all. `extra`: of the step UPPERREL_GROUP_AGG its GroupPathExtraData. */
extern bool tb_preagg_make_request(PlannerInfo *root, UpperRelationKind step,
								   RelOptInfo *input_rel, RelOptInfo *output_rel,
								   void *extra, TbAggRequest *request);

/* What notes call the step over the input; NULL if nobody asked for notes. */
extern const char *tb_preagg_part(PlannerInfo *root, UpperRelationKind step,
								  RelOptInfo *input_rel);

/* The path that computes a request; NULL, with the reason noted, if PostgreSQL must. */
extern CustomPath *tb_preagg_make_path(PlannerInfo *root, RelOptInfo *output_rel,
									   TbAggRequest *request, const char *part);

/* distinct_rows.c: whether the aggregation is one for it. */
extern bool tb_distinct_input_add_path(PlannerInfo *root, RelOptInfo *input_rel,
									   RelOptInfo *output_rel, GroupPathExtraData *extra);

/* distinct_rows.c: called with the last step's relations. */
extern void tb_distinct_branch_add_path(PlannerInfo *root, RelOptInfo *input_rel,
										RelOptInfo *output_rel);

/* Conditions that the node's rows must meet: HAVING, and filters where nothing is folded.
 */
extern List *tb_preagg_quals(const TbAggAnalysis *analysis);

/* Adds estimates of HAVING, and of filters of groups, to a result plan: groups that surely
 * do not pass need not come back from the engine. PostgreSQL looks at those that come back
 * all the same. False: nothing of these can be estimated, or groups that come back are not
 * those that they hold of. */
extern bool tb_dropped_groups_add(const TbAggAnalysis *analysis, TbResultBuilder *builder);

/* Fills in the path's costs. Per group that is returned: finish it, evaluate HAVING,
 * project. */
extern void tb_preagg_cost(PlannerInfo *root, const TbAggAnalysis *analysis,
						   double returned, Path *path);

/*
 * What PostgreSQL computes of a device's group before groups are folded: filters that
 * devices do not have, and grouping keys of such expressions. They are columns of the
 * node's scan tuple behind the device's keys (TB_OUT_COMPUTED_KEY, TB_OUT_GROUP_FILTER).
 */
typedef struct TbComputedColumns
{
	ExprContext *econtext;
	int			 nkeys;		/* of the device */
	int			 ncomputed; /* keys behind them */
	ExprState  **computed;
	ExprState	*filter;	/* NULL: none */
	int			 noutputs;
	uint64		 dropped;	/* groups, by filters, so far */
} TbComputedColumns;

typedef struct TbPreAggState
{
	CustomScanState	   css;
	TbRunCursor		   cursor;
	TbProgram		  *program;	 /* of the last stage */
	TbResultPlan	  *planned;	 /* with parameters, whose values the run's has; or NULL */
	TbProgram		  *returned; /* whose groups come back: that, or the one behind it */
	TbGroupingSets	  *sets;	 /* or NULL */
	bool			   folds;	 /* groups to those of the sets: the engine does not */
	int				   next_empty_set; /* of those that have a row even of no input */
	TbComputedColumns *computed;	   /* of what is folded; or NULL */
	Tuplestorestate	  *checked;		   /* all groups, where they are looked at before
										* the first is returned, or made of others */
	TupleTableSlot	  *checked_slot;
} TbPreAggState;

/* plan.c: NULL if there are none; what it points to is palloc'd. */
extern TbGroupingSets *tb_grouping_sets_unpack(const CustomScan *plan);

/* exec.c */
extern Node *tb_preagg_create_state(CustomScan *plan);

/* explain.c */
extern void tb_preagg_explain(CustomScanState *node, List *ancestors,
							  struct ExplainState *es);

#endif
