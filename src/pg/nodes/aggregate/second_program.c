/*
 * second_program.c - see second_program.h. Called by regroup.c and analyze_rows.c when all
 * keys and aggregates are in the builder.
 */
#include "postgres.h"

#include "pg/nodes/aggregate/second_program.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* Adding a row to a group: 2 cores take 20 ns. */
#define ROW_US 0.02

/* Which columns of the rows the program's source has, in their order. */
static void
set_columns(const TbBuilder *builder, TbContinuationProgram *program)
{
	List	 *columns = tb_builder_row_columns(builder);
	ListCell *lc;

	program->ncolumns = list_length(columns);
	program->columns = palloc(sizeof(uint32) * Max(program->ncolumns, 1));
	foreach(lc, columns)
		program->columns[foreach_current_index(lc)] = lfirst_int(lc) - 1 == TB_SET_COLUMN ?
			TB_NONE :
			(uint32) lfirst_int(lc) - 1;
}

TbSecondProgram *
tb_second_program_finish(TbBuilder *builder, double rows, double groups)
{
	TbSecondProgram *result = palloc0(sizeof(TbSecondProgram));
	TbProgramCost	 cost;

	result->program.program = tb_builder_finish(builder, TB_SINK_AGGREGATE, &result->params,
												&cost);
	if (result->program.program == NULL)
		return NULL;
	set_columns(builder, &result->program);
	result->program.groups = groups;
	result->cost = rows * ROW_US / TB_US_PER_UNIT;
	return result;
}
