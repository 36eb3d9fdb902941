/*
 * computed_columns.h - what PostgreSQL computes of a device's group before groups are
 * folded: filters that devices do not have, and grouping keys of such expressions.
 *
 * A device groups by the columns that they read, so each is evaluated once a group and not
 * once a row. They are columns of the node's scan tuple behind the device's keys
 * (TB_OUT_COMPUTED_KEY, TB_OUT_GROUP_FILTER).
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_COMPUTED_COLUMNS_H
#define TURBINE_PG_NODES_AGGREGATE_COMPUTED_COLUMNS_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"

#include "pg/convert/final_values.h"
#include "pg/planner/expression/expression.h"

/*
 * Planning: adds to *inputs what a device has to group by so that the expression can be
 * computed, unless it is among `keys`: parts of the expression that the translator's
 * program computes, or columns. False, with t->reason, if it must be evaluated row by row.
 */
extern bool tb_computed_inputs(TbTranslator *t, Expr *expr, List *keys, List **inputs);

/* How a key that is in no set stands in the scan tuple: as what no expression of the query
 * equals, since it has no value in folded groups. */
extern Expr *tb_hidden_key(Expr *expr);

/* Execution. */
typedef struct TbComputedColumns TbComputedColumns;

/* NULL if there are none. `outputs`: of the scan tuple, whose first `nkeys` are a device's
 * keys. */
extern TbComputedColumns *tb_computed_columns_begin(CustomScanState *css,
													const TbOutput *outputs, int noutputs,
													int nkeys);

/*
 * Of a group whose keys are in the scan slot, in the per-tuple memory: adds the computed
 * keys there. False if a filter drops it. Raises what PostgreSQL's functions raise.
 */
extern bool tb_computed_columns_add(TbComputedColumns *columns, TupleTableSlot *slot);

/*
 * Whether equal computed keys, from that column on, are the same bit for bit: else it
 * depends on PostgreSQL's plan which of them it shows. Keys that are not of the set are
 * NULL in both.
 */
extern bool tb_computed_keys_are_alike(TupleTableSlot *stored, TupleTableSlot *added,
									   int first);

/* Groups that filters have dropped so far. */
extern uint64 tb_computed_columns_dropped(const TbComputedColumns *columns);

#endif
