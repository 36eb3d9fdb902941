/*
 * query_state.h - the state of one heap query, shared by the files that make
 * it up:
 *
 *   heap_query.c      the interface of heap_query.h
 *   row_chunks.c      ROWS: chunks in block order; local reading
 *   service_query.c   starts and ends the query in the daemon; its messages
 *   query_blocks.c    the blocks to read, in their order
 *   chunk_stream.c    slots: fills and sends chunks, confirms direct reads
 *   chunk_tuples.c    row ids and tuples of the current chunk
 *   feeders.c         parallel workers that fill slots; feeder_worker.c: they do
 *   aggregate_input.c drives the input of a blocking sink to its end
 *   result_batches.c   checks, keeps and hands out groups or rows
 *   table_parts.c     a partitioned table's partitions, one after the other
 *   row_query.c       the whole of a query over rows of a plan
 *   stage_connection.c         a connection that several queries share
 *
 * Failures of the service never raise: a function returns false, `failure`
 * says why, and the connection has been given back or closed (conn is NULL).
 */
#ifndef TURBINE_PG_QUERY_STATE_H
#define TURBINE_PG_QUERY_STATE_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/bridge/connection.h"
#include "pg/source/heap/buffered_read.h"
#include "pg/source/heap/direct_classify.h"
#include "pg/source/heap/heap_query.h"

typedef enum TbSlotState
{
	TB_SLOT_FREE,
	TB_SLOT_READING,			/* sent, not released: the daemon reads its runs */
	TB_SLOT_RUNNING,			/* the chunk is complete; its result is due */
	TB_SLOT_DONE,				/* `done` is its result */
	TB_SLOT_CURRENT				/* ROWS: handed to the node */
} TbSlotState;

/* A relation that is read: the table, or one of its partitions. */
typedef struct TbTablePart
{
	Relation	rel;
	uint32		layout;			/* of its tuples: of the spec's, from 1; 0: the
								 * program's own */
	BlockNumber nblocks;
	const TbBlockSet *blocks;	/* that are read; NULL: all */
	BlockNumber blocks_to_read; /* their number */
	TbBufferedReader reader;
	TbDirect   *direct;			/* NULL: everything is buffered */
	TbPartStats stats;
} TbTablePart;

typedef struct TbSlot
{
	TbSlotState state;
	TbTablePart *part;			/* PAGES: whose blocks they are */
	bool		unread;			/* READING: CHUNK_READ is due */
	bool		filling;		/* READING: feeders or the leader still copy pages */
	bool		rewritten;		/* pages of runs are not as the daemon read them */
	uint32		kind;			/* TB_CHUNK_* */
	uint32		npages;
	BlockNumber *blocks;		/* of each page; room for slot_pages */
	uint32		nruns;
	TbRun	   *runs;			/* room for slot_pages */
	XLogRecPtr *run_lsn;		/* of each run's map page, as classified */
	TbChunkDone done;
} TbSlot;

typedef struct TbGroupBatches TbGroupBatches;
typedef struct TbFeeders TbFeeders;

struct TbHeapQuery
{
	MemoryContext context;
	Relation	rel;			/* NULL: rows of a plan, see row_query.c */
	Snapshot	snapshot;
	TbHeapQuerySpec spec;
	TbTablePart *parts;			/* that the table is read as */
	uint32		nparts;
	uint32		next_part;		/* first not yet begun */
	uint64		total_blocks;	/* that are read */
	TbTablePart *part;			/* whose blocks are sent; NULL: there is none */
	BlockNumber next_block;		/* to be read, of those of the part that no chunk has */
	uint32	   *layout_numbers;	/* by the spec's number: the service's, 0: not sent */
	uint32		layouts_sent;
	TbHeapQueryStats stats;
	TbFailure	failure;		/* the last */

	/* in the daemon; conn is NULL when the query runs locally or is over */
	TbConnection *conn;
	uint64		conn_serial;
	TbReady		ready;
	char	   *slot_base;
	TbSlot	   *slots;			/* ready.nslots */
	uint64		sequence;		/* chunks sent */
	uint32		in_flight;		/* slots READING or RUNNING */
	bool	   *unmoved;		/* scratch, slot_pages */
	TbFeeders  *feeders;		/* NULL: this process copies all pages itself */

	/* ROWS: slots of undelivered chunks in block order, a ring */
	uint32		queue[TB_MAX_SLOTS];
	uint32		queue_head;
	uint32		queue_length;
	uint64		delivered;
	bool		feeders_considered;
	bool		shut_down;		/* slots are half filled */

	/* the current chunk */
	int			current_slot;	/* -1: local pages, or none */
	TbTablePart *current_part;
	const BlockNumber *current_blocks;	/* of each page */
	uint32		current_npages;
	const char *current_pages;
	char	   *local_pages;	/* made when first needed */
	BlockNumber *local_blocks;
	uint32	   *ids;			/* row ids, then deferred ones */
	uint32		ids_capacity;
	HeapTupleData tuple;
	char	   *tuple_buffer;	/* BLCKSZ */
	char	   *reread_page;	/* see chunk_tuples.c */

	/* AGGREGATE, PROJECT */
	bool		input_done;
	TbGroupBatches *batches;
};

/* service_query.c */
extern bool tb_query_start(TbHeapQuery *query);
extern bool tb_query_connected(TbHeapQuery *query);
extern bool tb_query_send(TbHeapQuery *query, uint32 type, const void *payload,
						  uint32 length);
extern bool tb_query_hold(TbHeapQuery *query, bool hold);
extern bool tb_query_flush(TbHeapQuery *query);
extern TbReceived tb_query_receive(TbHeapQuery *query, bool wait,
								   TbIncoming *message);
extern void tb_query_wait(TbHeapQuery *query);
extern bool tb_query_protocol_error(TbHeapQuery *query, const char *what);
extern bool tb_query_give_up(TbHeapQuery *query, TbFallback reason,
							 const char *what);
extern bool tb_query_take_done(TbHeapQuery *query, const TbIncoming *message,
							   uint64 groups);
extern void tb_query_note_fallback(TbHeapQuery *query);

/* query_blocks.c */
extern void tb_blocks_begin(TbHeapQuery *query);
extern bool tb_blocks_left(const TbHeapQuery *query);
extern uint32 tb_blocks_take(TbHeapQuery *query, BlockNumber *blocks,
							 uint32 capacity);

/* chunk_stream.c */
extern void tb_chunks_begin(TbHeapQuery *query);
extern int	tb_chunks_free_slot(TbHeapQuery *query);
extern char *tb_chunks_slot(TbHeapQuery *query, int slot);
extern bool tb_chunks_issue(TbHeapQuery *query, int slot);
extern bool tb_chunks_issue_columns(TbHeapQuery *query, int slot);
extern bool tb_chunks_release_filled(TbHeapQuery *query, bool *any);
extern bool tb_chunks_message(TbHeapQuery *query, const TbIncoming *message);

/* table_parts.c */
extern void tb_parts_make(TbHeapQuery *query);
extern bool tb_part_begin(TbHeapQuery *query);
extern bool tb_part_announce_layout(TbHeapQuery *query);
extern bool tb_parts_more(TbHeapQuery *query, bool *more);
extern bool tb_parts_prepare_layouts(TbHeapQuery *query);

/* Blocks of the part that its backend must read, as far as that is known. */
extern double tb_part_buffered_blocks(const TbHeapQuery *query,
									  const TbTablePart *part);
extern const TbProgram *tb_part_layout(const TbHeapQuery *query,
									   const TbTablePart *part);
extern void tb_parts_end(TbHeapQuery *query);

/* chunk_tuples.c */
extern bool tb_tuples_take_ids(TbHeapQuery *query, const TbSlot *slot,
							   const char *base);
extern uint32 tb_tuples_list_visible(TbHeapQuery *query);
extern void tb_tuples_set_pages(TbHeapQuery *query, int slot,
								const BlockNumber *blocks, uint32 npages,
								const char *pages);

/* row_chunks.c */
extern bool tb_rows_next(TbHeapQuery *query, TbRowChunk *chunk);
extern void tb_rows_shut_down(TbHeapQuery *query);

/* aggregate_input.c */
extern bool tb_aggregate_run(TbHeapQuery *query);
extern bool tb_build_run(TbHeapQuery *query);

/* result_batches.c */
extern TbGroupBatches *tb_group_batches_make(const TbProgram *program,
											 const TbResultPlan *result);
extern bool tb_group_batches_add(TbGroupBatches *batches,
								 const TbIncoming *message, const char *slot,
								 uint64 slot_size);
extern const TbGroups *tb_group_batches_next(TbGroupBatches *batches);
extern void tb_group_batches_end(TbGroupBatches *batches);

#endif
