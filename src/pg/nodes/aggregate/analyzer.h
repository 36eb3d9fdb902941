/*
 * analyzer.h - what the files of GpuPreAgg's analysis share; nobody else includes it.
 *
 *   analyze.c         aggregates, outputs, sets, estimates
 *   group_keys.c      what the device groups by, and what PostgreSQL computes of it
 *   continuation.c  the same of the rows of a node below
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_ANALYZER_H
#define TURBINE_PG_NODES_AGGREGATE_ANALYZER_H

#include "postgres.h"

#include "optimizer/tlist.h"

#include "pg/nodes/aggregate/aggregate_states.h"
#include "pg/nodes/aggregate/gpu_preagg.h"

typedef struct TbAnalyzer
{
	PlannerInfo	  *root;
	TbTranslator  *t;					/* of the main program */
	TbAggAnalysis *result;
	List		  *late_filters;		/* RestrictInfo: those that the program lacks */
	List		  *outputs;				/* TbOutput * */
	List		  *key_values;			/* TbValue * */
	Expr		  *distinct;			/* argument of aggregates with DISTINCT, or NULL */
	bool		   distinct_is_added;	/* by one of them; else it is only counted */
	Expr		  *distinct_filter;		/* FILTER of the first of them, or NULL */
	bool		   filters_differ;		/* not all of them have that */
	bool		   some_unfiltered;		/* one of them has none */
	List		  *arguments;			/* Expr: what PostgreSQL computes for aggregates */
	List		  *computed_aggregates; /* of group_keys.c */
	const char	  *reason;
} TbAnalyzer;

/* Columns of states that only folded groups have count from here until those of the
 * program, which come before them, are known. */
#define TB_FOLDED_COLUMNS 0x10000

/* Notes why not; returns false. */
static inline bool
tb_analyzer_refuse(TbAnalyzer *a, const char *reason)
{
	a->reason = reason;
	return false;
}

/* Whether it is a column of the scan tuple. */
static inline bool
tb_analyzer_has_output(const TbAnalyzer *a, Node *node)
{
	return tlist_member((Expr *) node, a->result->scan_tlist) != NULL;
}

/* Whether all aggregates with DISTINCT have the same FILTER. */
static inline bool
tb_analyzer_has_common_filter(const TbAnalyzer *a)
{
	return a->distinct_filter != NULL && !a->filters_differ;
}

/* States follow the keys, which are complete as soon as there is one. */
static inline TbAggStates
tb_analyzer_states(TbAnalyzer *a)
{
	TbAggStates states = {.translator = a->t, .nkeys = list_length(a->result->keys)};

	return states;
}

/* analyze.c: a column of the scan tuple more. */
extern void tb_analyzer_add_output(TbAnalyzer *a, const TbOutput *output, Expr *expr,
								   Index sortgroupref);

/* analyze.c: keys, aggregates and outputs into the translator's program. False, with the
 * reason. */
extern bool tb_analyzer_build(TbAnalyzer *a, const TbAggRequest *request);

/* analyze.c: fills in groups and result_groups. */
extern void tb_analyzer_estimate_groups(PlannerInfo *root, TbAggAnalysis *result);

/*
 * group_keys.c: all keys of the request, those of DISTINCT and computed ones too, as the
 * first columns of the scan tuple. False, with the reason, if there is one that can not be
 * computed.
 */
extern bool tb_analyzer_add_keys(TbAnalyzer *a);

/* group_keys.c: whether PostgreSQL computes the aggregate's argument or FILTER; then fills
 * in how its value comes out of states that only folded groups have, numbered from
 * TB_FOLDED_COLUMNS. a->reason: why that cannot be; NULL: it is none of them. */
extern bool tb_computed_arguments_output(TbAnalyzer *a, const Aggref *aggref,
										 TbOutput *out);

#endif
