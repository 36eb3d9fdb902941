/*
 * fetched_columns.h - columns of result rows that do not come with the results: the backend
 * takes them from the heap tuple that a row names by its id.
 */
#ifndef TURBINE_PG_STAGE_FETCHED_COLUMNS_H
#define TURBINE_PG_STAGE_FETCHED_COLUMNS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "pg/convert/final_values.h"

typedef struct TbFetchedColumns TbFetchedColumns;

/* Of the outputs of a node, those that are FETCHED, from the table with this entry of the
 * range table. NULL: there are none. Lives as long as the executor's state. */
extern TbFetchedColumns *tb_fetched_columns_make(PlanState *node, Index rti,
												 const TbOutput *outputs, int noutputs);

/* Their values of row `row` into `slot`, which has a column for each output. Values may
 * point into a page that stays pinned until the next call. ERROR with
 * ERRCODE_DATA_CORRUPTED if the snapshot sees no such tuple. */
extern void tb_fetched_columns_fill(TbFetchedColumns *fetched, const TbResultBatch *rows,
									uint32 row, TupleTableSlot *slot);

/* Unpins the page; more rows may be filled later. NULL is allowed. */
extern void tb_fetched_columns_release(TbFetchedColumns *fetched);

#endif
