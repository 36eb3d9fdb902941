/*
 * set_fold.h - the groups of several grouping sets out of those of all keys.
 *
 * A device groups by all keys of the query. States can be combined, so the groups of
 * a set with fewer keys are made of those here, in memory, under the keys' own
 * equality of PostgreSQL.
 */
#ifndef TURBINE_PG_AGGREGATE_SET_FOLD_H
#define TURBINE_PG_AGGREGATE_SET_FOLD_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "turbine/program.h"
#include "turbine/wire.h"

#include "pg/nodes/aggregate/final.h"

/* The sets of a plan, and what GROUPING() is in each. */
typedef struct TbGroupingSets
{
	int			nkeys;
	int			nsets;
	const uint64 *sets;				/* a bit a key */
	int			nfunctions;
	const int32 *functions;			/* [function][set] */
	const Oid  *operators;			/* equality, one a key */
} TbGroupingSets;

typedef struct TbSetFold TbSetFold;

/* About what a folded group takes whose rows have so many columns. */
extern Size tb_set_fold_group_bytes(int ncolumns);

/* Rows have the columns of `desc`, of which the keys come first. Lives in the current
 * context. */
extern TbSetFold *tb_set_fold_begin(PlanState *node, const TbGroupingSets *sets,
									const TbProgram *program,
									const TbOutput *outputs, int noutputs,
									TupleDesc desc);

/* Takes a group of all keys. False, with *why, if its sets can not be computed here. */
extern bool tb_set_fold_add(TbSetFold *fold, const TbGroups *batch, uint32 row,
							const char **why);

/* The group of all keys as a row of the first, second... set that has them all;
 * false: there is no further such set. */
extern bool tb_set_fold_whole_row(TbSetFold *fold, int number, const TbGroups *batch,
								  uint32 row, Datum *values, bool *isnull);

/* After the last group: rows of the other sets, one after another. *ambiguous: see
 * tb_final_is_unambiguous. */
extern bool tb_set_fold_next(TbSetFold *fold, Datum *values, bool *isnull,
							 bool *ambiguous);

extern void tb_set_fold_end(TbSetFold *fold);

#endif
