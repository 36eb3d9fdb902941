/*
 * query_rows.h - a query's rows, one after the other or as columns of results.
 *
 * The query runs as any other of the session, under its snapshot, accelerated where it can
 * be. Rows of a join, sort or filter on a device are taken as columns: the first one comes
 * through the executor, which has then started the node, the others without becoming
 * tuples.
 */
#ifndef TURBINE_PG_EXPORT_QUERY_ROWS_H
#define TURBINE_PG_EXPORT_QUERY_ROWS_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/portal.h"

#include "turbine/wire.h"

#include "pg/conversation/service_query.h"

/* Who takes rows; embedded in what else it needs. */
typedef struct TbRowSink TbRowSink;
struct TbRowSink
{
	/* The rows' type, before the first row; in the executor's memory. */
	void (*begin)(TbRowSink *sink, TupleDesc desc);
	void (*add)(TbRowSink *sink, TupleTableSlot *slot);
	/* `nrows` rows of the batch from number `first` on; outputs: TbOutput *, by attnum - 1.
	 */
	void (*add_batch)(TbRowSink *sink, const List *outputs, const TbResultBatch *batch,
					  uint32 first, uint32 nrows);
	/* Rows that the service writes where they are wanted, batch by batch; NULL: they are
	 * not wanted so. First what a batch has, by the node's outputs: *ncolumns columns, or
	 * NULL if the service can not make all of them, and the device that it moves them to,
	 * or the host. Then each batch; false if it is lost.
	 */
	const TbStreamColumn *(*stream)(TbRowSink *sink, const List *outputs, int *ncolumns,
									uint32 *device);
	bool				  (*take_streamed)(TbRowSink *sink, const TbStreamBatch *batch);
	/* Forgets all rows so far; the type stays. NULL: it cannot, and gets no batch before
	 * all have come. */
	void				  (*restart)(TbRowSink *sink);
	/* The columns that a GPU is to leave in its memory instead (turbine/wire.h), of about
	 * so many rows; palloc'd. NULL: rows are wanted, and so if this is NULL. */
	TbLeftColumns		 *(*wants_left)(TbRowSink *sink, const List *outputs, double rows);
	/* They are there: the only rows. */
	void				  (*take_left)(TbRowSink *sink, const TbLeftColumns *left);
};

#define TB_ROWS_SELECT 0x01u   /* only SELECT and the like, changing nothing */
#define TB_ROWS_SNAPSHOT 0x02u /* under the active snapshot; SELECT alone */
#define TB_ROWS_IN_ORDER 0x04u /* of one table without conditions: in its order */

/* Runs one statement to its end. `begin` is called once, or never: then it returns no rows.
 * Raises errors. */
extern void tb_query_rows(const char *query, uint32 flags, TbRowSink *sink);

/* Opens a cursor for one SELECT, whose plan returns columns where it can: tb_cursor_rows()
 * gets through it sooner than through one of DECLARE. It lasts until CLOSE or the
 * transaction's end. */
extern void tb_open_cursor(const char *name, const char *query);

/* The next rows of an open cursor, `most` at most. Returns how many there were. */
extern uint64 tb_cursor_rows(Portal portal, uint64 most, TbRowSink *sink);

#endif
