/*
 * second_program.h - the program of a GpuPreAgg over rows that an earlier program has made
 * (wire.h: TbContinuation), planned.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_SECOND_PROGRAM_H
#define TURBINE_PG_NODES_AGGREGATE_SECOND_PROGRAM_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "pg/conversation/continuation_program.h"
#include "pg/convert/final_values.h"
#include "pg/planner/program/program_builder.h"

typedef struct TbSecondProgram
{
	TbContinuationProgram program;
	List				 *params; /* Expr: the program's */
	TbOutput *outputs;			  /* of its groups, one an entry of scan_tlist; the caller's
								   * to set */
	Cost	  cost;				  /* of all rows */
} TbSecondProgram;

/* The column of the rows that has the number of their set, where these come once a set. */
#define TB_SET_COLUMN (TB_MAX_COLUMNS * 2)

/* What the builder holds. `rows` go in, `groups` come out, estimated; where rows come once
 * a set, all of them count. NULL if a limit is exceeded. */
extern TbSecondProgram *tb_second_program_finish(TbBuilder *builder, double rows,
												 double groups);

#endif
