/*
 * final_values.h - PostgreSQL's values out of group keys and aggregate states.
 */
#ifndef TURBINE_PG_CONVERT_FINAL_VALUES_H
#define TURBINE_PG_CONVERT_FINAL_VALUES_H

#include "postgres.h"

#include "turbine/program.h"
#include "turbine/wire.h"

typedef enum TbOutputKind
{
	TB_OUT_KEY,			/* first: key */
	TB_OUT_VALUE,		/* MIN, MAX, COUNT, SUM of a narrow integer */
	TB_OUT_COUNT,		/* SUM of counts: 0 where there is none */
	TB_OUT_SUM_NUMERIC, /* of int8 and numeric */
	TB_OUT_SUM_FLOAT4,
	TB_OUT_SUM_FLOAT8,
	TB_OUT_AVG_NUMERIC,		/* of integers and numeric: sum / count */
	TB_OUT_AVG_FLOAT8,
	TB_OUT_EXTREME_NUMERIC, /* MIN, MAX of a numeric whose values print with
							 * different scales: both states of
							 * tb_numeric_with_display(), second: below */
	TB_OUT_BOOL,			/* of an integer: is it not 0? */
	TB_OUT_GROUPING,		/* GROUPING(), number `second`: see set_fold.h. first: the
							 * set's number, which the caller replaces; or TB_NONE */
	TB_OUT_COMPUTED_KEY,	/* of columns before it: nodes/aggregate/exec.c */
	TB_OUT_GROUP_FILTER,	/* the same; of no interest to anybody else */
	TB_OUT_UNREAD,			/* nobody reads it, and it has no columns */
	TB_OUT_FETCHED			/* attribute `second` of the heap tuple whose id `first` has:
							 * pg/stage/fetched_columns.c */
} TbOutputKind;

/* A column of the node's scan tuple. Columns count keys, then states; in folded groups then
 * those of DISTINCT (set_fold.h). */
typedef struct TbOutput
{
	uint32 kind;		  /* TbOutputKind */
	uint32 type;		  /* TbType of `first` */
	uint32 first;		  /* column of key, value or sum */
	uint32 second;		  /* AVG: column of the count */
	uint32 display;		  /* KEY, SUM and AVG of a numeric whose values
						   * print with different scales: column of the
						   * largest of these; else TB_NONE */
	uint32 least_display; /* KEY: column of the smallest */
	int32  scale;		  /* numeric */
	int32  padding;		  /* bpchar: characters, with blanks; else 0 */
} TbOutput;

/* A bit for each of the first 64 columns that the output's value is made of. */
extern uint64 tb_output_columns(const TbOutput *output);

/* One output's value in a row of the batch, as of all of them below. */
extern Datum tb_final_value(const TbOutput *output, const TbResultBatch *groups, uint32 row,
							bool *isnull);

/* Of a FETCHED one: the tuple's id in that row. */
extern int64 tb_final_tid(const TbOutput *output, const TbResultBatch *rows, uint32 row);

/* Whether the output's values are those of its column, of fixed width, as they lie there.
 */
extern bool tb_final_is_column(const TbOutput *output);

/*
 * Row `row` of the batch. What is passed by reference is allocated in the
 * current context. Raises where PostgreSQL's final functions do.
 */
extern void tb_final_row(const TbOutput *outputs, int noutputs, const TbResultBatch *groups,
						 uint32 row, Datum *values, bool *isnull);

/*
 * Equal numerics may print differently (1.0, 1.00), and one of them stands for
 * the group: in PostgreSQL the one that it meets first or last. Whether any
 * output could show that, and whether no output of row `row` depends on it.
 */
extern bool tb_final_may_be_ambiguous(const TbOutput *outputs, int noutputs);
extern bool tb_final_is_unambiguous(const TbOutput *outputs, int noutputs,
									const TbResultBatch *groups, uint32 row);
#define TB_SCALES_DIFFER "equal numerics print with different scales"

/* What an aggregation without keys over no rows returns, and a grouping set without keys.
 */
extern void tb_final_empty(const TbOutput *outputs, int noutputs, const TbProgram *program,
						   Datum *values, bool *isnull);

#endif
