/*
 * stage_run.h - runs the stages of a node: join tables in order, then the program that
 * probes them, all under one snapshot and on one connection; and a cursor over the rows
 * that they deliver, with the switch to PostgreSQL's kept plan where they can not.
 *
 * A cursor is embedded in the state of every node that runs stages (GpuFileScan, GpuJoin,
 * GpuPreAgg, GpuSort). A run is started by its first fetch; then rows come in batches. It
 * falls back when it starts or between batches, never after a row has been returned as a
 * tuple. Rows that went as batches of a stream are passed over. What
 * the kept plan's rows become is the node's business.
 */
#ifndef TURBINE_PG_STAGE_STAGE_RUN_H
#define TURBINE_PG_STAGE_STAGE_RUN_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "pg/convert/final_values.h"
#include "pg/source/program_run.h"
#include "pg/conversation/service_query.h"
#include "pg/planner/program/stage.h"
#include "pg/source/input.h"
#include "pg/stage/fetched_columns.h"

/* A stage, prepared. */
typedef struct TbRunStage
{
	TbStageInfo info;
	TbProgram  *program;
	List	   *params;	  /* ExprState */
	bool		harmless; /* params are literals and the like */
	TbInput	   *input;
	bool		ran;	  /* in this run: its join table is built */

	/* EXPLAIN: of the last run */
	TbRunStats stats;
	bool	   have_stats;
} TbRunStage;

typedef struct TbStageRun
{
	CustomScanState		  *css;
	double				   groups;		   /* estimate for the last stage */
	uint64				   unread_columns; /* of its results: wire.h */
	TbBatchTaker		  *taker;		   /* of its results; NULL: none */
	bool				   in_order;	   /* the table's: on the host, or */
	TbLeftColumns		  *left; /* on the GPU where they are left; NULL: rows come back */
	const TbStream		  *stream;				/* how results come; NULL: as batches */
	const TbStreamColumn  *stream_columns;
	TbResultPlan		  *result;				/* of the last stage; NULL: none */
	TbContinuationProgram *continuation;		/* behind that; NULL: none */
	List				  *continuation_params; /* ExprState */
	int					   nstages;
	TbRunStage			  *stages;
	MemoryContext		   context; /* of one run: parameters */
	PlanState			  *kept;	/* NULL until it is needed */

	TbStageConnection connection;
	TbProgramRun	 *program; /* the one under way */
	int				  current; /* its stage */
	bool			  asked;   /* PostgreSQL's plan was looked at: TbAhead */
	TbProfile		 *profile; /* NULL: nobody asks */
} TbStageRun;

/* Of the last stage's table, for messages. */
extern const char *tb_stage_run_table_name(const TbStageRun *run);

/* NULL if the stage has not run. */
extern const TbRunStats *tb_stage_run_stats(TbStageRun *run, int stage);

typedef struct TbRunCursor
{
	TbStageRun		 *run;
	TbOutput		 *outputs; /* one a column of the scan slot, but the last */
	int				  noutputs;
	TbFetchedColumns *fetched; /* columns that come from the heap; NULL: none */

	/* The current run. */
	const TbResultBatch *batch;
	uint32				 next_row; /* of the batch */
	bool				 started;
	bool				 finished;
	bool				 returned_row; /* set by the node: no way back */
	bool				 falling_back; /* the kept plan runs */

	/* Rows that went as batches of a stream. */
	bool			streams; /* the current run's do */
	bool			pauses;	 /* the node is called for their sake, and returns no row */
	TbStream		stream;
	TbStreamColumn *stream_columns;
	uint64			streamed;	/* rows that have been taken so */
	uint64			to_skip;	/* of the kept plan's */

	char fallback_message[240]; /* EXPLAIN */
} TbRunCursor;

/* Prepares expressions and child plans only. */
extern void tb_run_cursor_open(TbRunCursor *cursor, CustomScanState *css, int eflags);

/* What the node's target list and conditions do not read does not come back. Not for a node
 * that makes rows of others. */
extern void tb_run_cursor_leave_unread(TbRunCursor *cursor);

/* The node is called, and returns: its profile's clock goes in between. */
extern void tb_run_cursor_enter(TbRunCursor *cursor);
extern void tb_run_cursor_leave(TbRunCursor *cursor);

/* The kept plan's next tuple. */
extern TupleTableSlot *tb_run_cursor_kept_tuple(TbRunCursor *cursor);

/* Starts the run, unless it has been: it is under way, finished or falls back then. */
extern void tb_run_cursor_start(TbRunCursor *cursor);

/* Whether there is a row to be stored; moves to the next batch if need be. False at the
 * end, or if the run falls back. */
extern bool tb_run_cursor_advance(TbRunCursor *cursor);

/* The row that there is into the scan slot, its values in the per-tuple memory
 * context; the cursor is behind it then. */
extern TupleTableSlot *tb_run_cursor_store(TbRunCursor *cursor, TupleTableSlot *slot);

/* Hands out rows that are left of the current batch, `most` at most: *nrows from number
 * *first on, instead of storing them; the cursor is behind them then. Valid until it
 * advances. */
extern const TbResultBatch *tb_run_cursor_take_rows(TbRunCursor *cursor, uint64 most,
													uint32 *first, uint32 *nrows);

/* Before its first row: runs it to its end, and the taker gets all batches; `in_order`: in
 * the order of the table, whose scan the node is. False: it falls back, whatever batches
 * there were, and the kept plan's tuples are to be fetched. */
extern bool tb_run_cursor_deliver(TbRunCursor *cursor, TbBatchTaker *taker, bool in_order);

/* The same, but a GPU leaves columns in its memory instead. False: it cannot, and the
 * cursor is as it was before. */
extern bool tb_run_cursor_leave_columns(TbRunCursor *cursor, TbLeftColumns *left,
										bool in_order);

/*
 * The next batch of a stream of so many rows a batch, from the node's columns; valid until
 * the next call. TB_RESULTS_FALLBACK: there is none, and the next rows come from the node
 * as tuples, because it can not stream, has returned tuples before, or has given up. Rows
 * that were taken before do not come again: a scan's kept plan finds them in the same
 * order, and passes over them.
 */
extern TbResultsNext tb_run_cursor_stream(TbRunCursor *cursor, uint64 rows,
										  const TbStreamColumn *columns, int ncolumns,
										  uint32 device, const TbStreamBatch **batch);

/* Its rows have been taken; or are lost, and come from the node as tuples. */
extern void tb_run_cursor_took_streamed(TbRunCursor *cursor, uint64 rows);
extern void tb_run_cursor_lost_streamed(TbRunCursor *cursor, const char *why);

/* Whoever runs the node wants tuples of it: those behind the stream's. */
extern void tb_run_cursor_leave_stream(TbRunCursor *cursor);

/* Ends the run, if one is under way, and goes on with the kept plan. */
extern void tb_run_cursor_fall_back(TbRunCursor *cursor, const char *why);

/* For ReScanCustomScan; the kept plan, once made, is used again if it is needed again. */
extern void tb_run_cursor_rescan(TbRunCursor *cursor);

/* For EndCustomScan. */
extern void tb_run_cursor_close(TbRunCursor *cursor);

#endif
