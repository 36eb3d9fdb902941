/*
 * input.h - what is sorted: the results of a last stage, and which of their columns an
 * expression of the query is.
 */
#ifndef TURBINE_PG_NODES_SORT_INPUT_H
#define TURBINE_PG_NODES_SORT_INPUT_H

#include "postgres.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/nodes/results/result_columns.h"

typedef struct TbSortInput
{
	RelOptInfo			*rel;	   /* the table or join */
	const TbAggAnalysis *groups;   /* NULL: rows */
	List				*stages;   /* TbStage */
	TbResultColumns		 columns;
	uint32				 ncolumns; /* of the sink */
	double				 rows;	   /* estimated */
	Path				*kept;	   /* PostgreSQL's plan: of rows it returns scan_tlist,
									* of groups their target */
} TbSortInput;

/* Rows with these expressions as columns. NULL, with *reason, if a device can not
 * compute them. */
extern TbSortInput *tb_sort_input_of_rows(PlannerInfo *root, RelOptInfo *rel, List *exprs,
										  const char **reason);

/* What a GpuPreAgg returns, but for HAVING. */
extern TbSortInput *tb_sort_input_of_groups(PlannerInfo *root, const CustomPath *preagg);

/* The expressions of a scan tuple as a target, with the references that clauses of the
 * query have to them. */
extern PathTarget *tb_target_of(PlannerInfo *root, List *scan_tlist);

#endif
