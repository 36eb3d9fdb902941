/*
 * result_columns.h - what expressions of the query the columns of a node's scan tuple are,
 * and how their values come out of a last stage's results.
 */
#ifndef TURBINE_PG_NODES_RESULTS_RESULT_COLUMNS_H
#define TURBINE_PG_NODES_RESULTS_RESULT_COLUMNS_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "pg/convert/final_values.h"

typedef struct TbResultColumns
{
	List *scan_tlist; /* TargetEntry */
	List *outputs;	  /* TbOutput *: one an entry */
} TbResultColumns;

/* A column more; the output is copied. */
extern void tb_result_columns_add(TbResultColumns *columns, Expr *expr,
								  const TbOutput *output);

/* The output that the expression is; NULL: none. */
extern const TbOutput *tb_result_columns_find(const TbResultColumns *columns,
											  const Expr			*expr);

/* Whether `first` of the output is in the order of what it prints. */
extern bool tb_output_is_ordered(const TbOutput *output);

#endif
