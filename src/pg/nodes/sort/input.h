/*
 * input.h - what is sorted: the results of a last stage, and which of their columns an
 * expression of the query is.
 */
#ifndef TURBINE_PG_SORT_INPUT_H
#define TURBINE_PG_SORT_INPUT_H

#include "postgres.h"

#include "pg/nodes/aggregate/gpu_preagg.h"

typedef struct TbSortInput
{
	RelOptInfo			*rel;		 /* the table or join */
	const TbAggAnalysis *groups;	 /* NULL: rows */
	List				*stages;	 /* TbStage */
	List				*scan_tlist; /* TargetEntry: columns of the node's scan tuple */
	List				*outputs;	 /* TbOutput *: one an entry */
	uint32				 ncolumns;	 /* of the sink */
	double				 rows;		 /* estimated */
	Path				*kept;		 /* PostgreSQL's plan: of rows it returns scan_tlist,
									  * of groups their target */
} TbSortInput;

/* Rows with these expressions as columns. NULL, with *reason, if a device can not
 * compute them. */
extern TbSortInput *tb_sort_input_of_rows(PlannerInfo *root, RelOptInfo *rel, List *exprs,
										  const char **reason);

/* What a GpuPreAgg returns, but for HAVING. */
extern TbSortInput *tb_sort_input_of_groups(PlannerInfo *root, const CustomPath *preagg);

/* A column of the scan tuple more. */
extern void tb_sort_input_add(TbSortInput *input, Expr *expr, const TbOutput *output);

/* The output that the expression is; NULL: none. */
extern const TbOutput *tb_sort_input_find(const TbSortInput *input, Expr *expr);

/* Whether `first` of the output is in the order of what it prints. */
extern bool tb_output_is_ordered(const TbOutput *output);

/* The expressions of a scan tuple as a target, with the references that clauses of the
 * query have to them. */
extern PathTarget *tb_target_of(PlannerInfo *root, List *scan_tlist);

#endif
