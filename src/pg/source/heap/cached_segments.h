/*
 * cached_segments.h - blocks of a relation that need not be read, since turbined has kept
 * their columns.
 *
 * The first question for them goes by the visibility map alone. If the map calls a block
 * all-visible under the LSN that its segment was confirmed with, the segment has what the
 * query's snapshot sees. Changes that come later are invisible to the snapshot. If the map
 * has another LSN, a second question goes by the LSN of the block's page. So it does for
 * fresh blocks, which are not all-visible (visibility/fresh_blocks.h), unless turbined has
 * served a snapshot that sees the same.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_CACHED_SEGMENTS_H
#define TURBINE_PG_SOURCE_HEAP_CACHED_SEGMENTS_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "pg/conversation/service_query.h"
#include "pg/source/heap/block_set.h"
#include "pg/source/heap/visibility/direct_classify.h"
#include "turbine/wire.h"

/* A part's question, and turbined's answer. */
typedef struct TbCachedSegments
{
	TbSegments question;
	TbDirect  *direct;
	uint64	  *lsn;	 /* a map page */
	uint8	  *bits; /* a block: wanted and all-visible; then those that turbined takes */
	uint8 *
		fresh_bits; /* a block: wanted and not all-visible; NULL: these are not asked for */
	uint8  *doubtful_bits; /* a block: turbined has it, of another LSN of the map */
	uint64	doubtful;	   /* blocks */
	uint32 *pinned;	 /* attribute numbers that the question has; NULL: it is not pinned */
	uint32 *buffers; /* where each of them was seen lately, 0: not known; NULL: none is */
	bool	not_looked;	   /* the device takes none for the program */
	uint64	blocks;		   /* taken */
	uint64	excluded;	   /* of these, without a row that passes */
	uint64	rows;		   /* of the blocks taken */
	uint64	excluded_rows; /* of those excluded */
	uint64	segments;	   /* taken, or blocks of them */
	uint64	excluded_by_filter;
	uint64	excluded_by_join;
	bool	input_ended; /* all of the input was taken, in answer to the first question */

	/* ROWS: blocks that are taken wait to be asked for in chunks (tb_heap_parts_take_run),
	 * unless they are excluded. */
	bool   in_chunks;
	uint8 *excluded_bits;
} TbCachedSegments;

/* What is asked for of a relation, which is a part of a query's input. */
typedef struct TbCachedQuestion
{
	Relation		  rel;
	TbDirect		 *direct;
	BlockNumber		  nblocks;
	const TbBlockSet *wanted;	 /* NULL: all blocks */
	uint32			  number;	 /* of the part */
	uint32			  layout;	 /* the service's number of it */
	bool			  in_chunks; /* ROWS */
	bool			  alone;	 /* the query has no other part */
	Snapshot		  snapshot;
} TbCachedQuestion;

/*
 * Asks for the relation's blocks; NULL, and nothing sent, where none could be taken or
 * kept. *snapshot_sent: whether turbined knows the snapshot, of which it is told once a
 * query. *ok: as tb_service_query_send. In the current memory context.
 */
extern TbCachedSegments *tb_cached_segments_ask(TbServiceQuery		   *query,
												const TbCachedQuestion *question,
												bool *snapshot_sent, bool *ok);

/* Awaits the answer; answers come in the order of the questions. */
extern bool tb_cached_segments_await(TbCachedSegments *segments, TbServiceQuery *query);

/* Asks for doubtful and fresh blocks, by the files' pages or, of dirty ones, by the LSNs in
 * shared buffers, and awaits the answer. turbined has the part's files. */
extern bool tb_cached_segments_ask_again(TbCachedSegments *segments, TbServiceQuery *query);

/* The first block from this one on of which something is left to do: turbined does not
 * take it, or waits to be asked for it. */
extern BlockNumber tb_cached_segments_skip(const TbCachedSegments *segments,
										   BlockNumber			   block);

/* How many blocks from this one on, at most so many, may be asked for in one chunk of
 * segments; 0: this one may not. */
extern uint32 tb_cached_segments_run(const TbCachedSegments *segments, BlockNumber block,
									 uint32 most);

/* Whether turbined had columns of the block, whose page was not what it was any more. */
extern bool tb_cached_segments_were_doubtful(const TbCachedSegments *segments,
											 BlockNumber			 block);

/* Blocks that wait to be asked for are read like those that turbined does not have. */
extern void tb_cached_segments_give_up(TbCachedSegments *segments);

#endif
