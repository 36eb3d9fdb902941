/*
 * result_columns.c - see result_columns.h. Called by the planning of GpuPreAgg and GpuSort.
 *
 * Owns its copies of the outputs. It must never change an expression.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"

#include "pg/nodes/results/result_columns.h"

void
tb_result_columns_add(TbResultColumns *columns, Expr *expr, const TbOutput *output)
{
	AttrNumber number = list_length(columns->scan_tlist) + 1;

	columns->scan_tlist = lappend(columns->scan_tlist,
								  makeTargetEntry(expr, number, NULL, false));
	columns->outputs = lappend(columns->outputs,
							   memcpy(palloc(sizeof(*output)), output, sizeof(*output)));
}

const TbOutput *
tb_result_columns_find(const TbResultColumns *columns, const Expr *expr)
{
	ListCell *entry;
	ListCell *output;

	forboth(entry, columns->scan_tlist, output, columns->outputs)
		if (equal(lfirst_node(TargetEntry, entry)->expr, expr))
			return lfirst(output);
	return NULL;
}

bool
tb_output_is_ordered(const TbOutput *output)
{
	switch (output->kind)
	{
		case TB_OUT_KEY:
		case TB_OUT_VALUE:
		case TB_OUT_SUM_NUMERIC:
		case TB_OUT_SUM_FLOAT8:
		case TB_OUT_BOOL:
			return true;
		default:
			return false;
	}
}
