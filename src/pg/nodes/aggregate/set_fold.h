/*
 * set_fold.h - the groups of several grouping sets out of those of all keys.
 *
 * A device groups by all keys of the query. States can be combined, so the groups of
 * a set with fewer keys are made of those here, in memory, under the keys' own
 * equality of PostgreSQL.
 *
 * Aggregates with DISTINCT are one more key for the device, the last: their argument.
 * The only set lacks it. A group of all keys has one of the set's distinct values, so
 * what they count and add is that key, once a group.
 *
 * Computed keys (group_keys.c) stand behind the device's keys: the caller brings
 * their values with each group of the device. Keys that a device groups by only so that
 * they can be computed are in no set.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_SET_FOLD_H
#define TURBINE_PG_NODES_AGGREGATE_SET_FOLD_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "turbine/program.h"
#include "turbine/wire.h"

#include "pg/convert/final_values.h"

/* A state of aggregates with DISTINCT; columns are those of a device's groups. In folded
 * groups such states follow those of the program. */
typedef struct TbDistinct
{
	uint32 kind;	/* TbAggKind: COUNT or a sum of the key; MAX of the
					 * display scale */
	uint32 column;	/* the key, or the scale */
	uint32 type;	/* TbType of `column` */
	uint32 counter; /* FILTER: the value takes part where this count is
					 * not 0; else TB_NONE */
} TbDistinct;

/* A state of an aggregate whose argument or FILTER devices do not have: PostgreSQL computes
 * it once for each group of the device, and folded groups count and add it as often as the
 * group has rows. Columns are those of a device's groups. In folded groups such states
 * follow the program's. */
typedef struct TbComputedState
{
	uint32 kind;	 /* TbAggKind; of a filtered state the program's own */
	uint32 type;	 /* TbType of the argument */
	uint32 computed; /* which of the computed keys: the argument, or the filter */
	uint32 column;	 /* the count of rows; of a filtered state the state */
	uint32 filtered; /* the computed key tells whether that state takes part */
	uint32 is_bool;	 /* the argument is boolean, as a number */
} TbComputedState;

/* The sets of a plan, and what GROUPING() is in each. */
typedef struct TbGroupingSets
{
	int					   nkeys;			 /* of the device */
	int					   ncomputed;		 /* keys behind them */
	int					   nsets;
	const uint64		  *sets;			 /* a bit a key, computed ones included */
	int					   nfunctions;
	const int32			  *functions;		 /* [function][set] */
	const Oid			  *operators;		 /* equality, one a key */
	int					   ndistincts;		 /* not 0: the last key is that of DISTINCT */
	const TbDistinct	  *distincts;
	int					   ncomputed_states; /* then there are no distincts */
	const TbComputedState *computed_states;
} TbGroupingSets;

typedef struct TbSetFold TbSetFold;

/* What GROUPING() is in rows of the set. */
extern void tb_grouping_values(const TbGroupingSets *sets, int set, const TbOutput *outputs,
							   int noutputs, Datum *values, bool *isnull);

/* About what a folded group takes whose rows have so many columns. */
extern Size tb_set_fold_group_bytes(int ncolumns);

/* Rows have the columns of `desc`, of which the keys come first, computed ones last among
 * them. Lives in the current context. */
extern TbSetFold *tb_set_fold_begin(PlanState *node, const TbGroupingSets *sets,
									const TbProgram *program, const TbOutput *outputs,
									int noutputs, TupleDesc desc);

/* Takes a group of all keys, whose values those are; they are not kept. False, with *why,
 * if its sets can not be computed here. */
extern bool tb_set_fold_add(TbSetFold *fold, const TbResultBatch *batch, uint32 row,
							const Datum *values, const bool *isnull, const char **why);

/* The group of all keys as a row of the first, second... set that has them all;
 * false: there is no further such set. */
extern bool tb_set_fold_whole_row(TbSetFold *fold, int number, const TbResultBatch *batch,
								  uint32 row, Datum *values, bool *isnull);

/* After the last group: rows of the other sets, one after another. False after the last one
 * of them, or, with *why, if they can not be computed here. */
extern bool tb_set_fold_next(TbSetFold *fold, Datum *values, bool *isnull,
							 const char **why);

extern void tb_set_fold_end(TbSetFold *fold);

#endif
