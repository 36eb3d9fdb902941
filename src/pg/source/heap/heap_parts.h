/*
 * heap_parts.h - the relations that a heap source reads, and which of their blocks are
 * left to be read.
 *
 * A part is the table, or one leaf of a partitioned table. Chunks take blocks of one
 * part; the parts come one after the other. Each has its own reader, its own
 * classification of blocks and its own files, which are sent when its turn comes. Chunks
 * of earlier parts may still be under way then, and point to theirs.
 *
 * Some blocks need not be read, since turbined has kept their columns (cached_segments.h).
 */
#ifndef TURBINE_PG_SOURCE_HEAP_HEAP_PARTS_H
#define TURBINE_PG_SOURCE_HEAP_HEAP_PARTS_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "pg/conversation/service_query.h"
#include "pg/source/heap/block_set.h"
#include "pg/source/heap/cached_segments.h"
#include "pg/source/heap/heap_input.h"
#include "pg/source/heap/visibility/buffered_read.h"
#include "pg/source/heap/visibility/direct_classify.h"
#include "pg/source/run_stats.h"

typedef struct TbHeapPart
{
	Relation		  rel;
	uint32			  layout;		  /* of its tuples: of the input's, from 1; 0: the
									   * program's own */
	BlockNumber		  nblocks;
	const TbBlockSet *blocks;		  /* those that are read; NULL: all */
	BlockNumber		  blocks_to_read; /* their number */
	TbBufferedReader  reader;
	TbDirect		 *direct;		  /* NULL: everything is buffered */
	TbCachedSegments *cached;		  /* blocks that turbined has; NULL: none */
	TbPartStats		  stats;
} TbHeapPart;

/* Immutable, except for the cursor and what parts note of themselves. */
typedef struct TbHeapParts
{
	Snapshot			snapshot;
	const TbHeapLayout *layouts;
	int					nlayouts;
	TbHeapPart		   *parts;
	uint32				nparts;
	uint64				total_blocks;	/* that are read, of all parts */
	uint64				attributes;		/* that are decoded: TbAttributes */
	bool				created_before; /* of the input */
	bool				beside_others;	/* of the input */
	bool				rows; /* ROWS: what turbined has taken is asked for in chunks */

	/* The cursor. */
	uint32		next_part;	/* first part not yet begun */
	TbHeapPart *current;	/* whose blocks are taken; NULL: there is none */
	BlockNumber next_block; /* of those of the current part that no chunk has */

	bool	snapshot_sent;	/* of the query under way: fresh blocks may be asked for */
	uint32 *layout_numbers; /* by the input's number: the service's, 0: not sent */
	uint32	layouts_sent;
} TbHeapParts;

/* At the first block; in the current memory context. Raises PostgreSQL's errors. */
extern TbHeapParts *tb_heap_parts_make(const TbHeapInput *input);

/* Blocks left in the current part: false if a further part must begin, or none is left. */
extern bool tb_heap_parts_blocks_left(const TbHeapParts *parts);

/* The next blocks of the current part; returns how many. */
extern uint32 tb_heap_parts_take(TbHeapParts *parts, BlockNumber *blocks, uint32 capacity);

/* ROWS: the same of blocks that lie together and that turbined has taken; 0: the next one
 * is not such. */
extern uint32 tb_heap_parts_take_run(TbHeapParts *parts, BlockNumber *blocks,
									 uint32 capacity);

/* Blocks from this one on are read again. */
extern void tb_heap_parts_go_back(TbHeapParts *parts, BlockNumber block);

/* Compiles the layouts that parts need ahead; before QUERY. */
extern bool tb_heap_parts_prepare_layouts(TbHeapParts *parts, TbServiceQuery *query);

/* Decides which blocks of each part may be read directly; before QUERY. */
extern void tb_heap_parts_classify(TbHeapParts *parts);

/* Asks turbined for the columns that it has kept, of all parts at once. After QUERY. */
extern bool tb_heap_parts_ask_for_cached(TbHeapParts *parts, TbServiceQuery *query);

/* Awaits what it answers: blocks that it has are not left any more, of ROWS those that are
 * excluded. After READY, before the first chunk. */
extern bool tb_heap_parts_take_cached(TbHeapParts *parts, TbServiceQuery *query);

/* Whether turbined has all of the input, and takes it to have ended. */
extern bool tb_heap_parts_end_by_themselves(const TbHeapParts *parts);

/* Sends the files of the current part, if it may be read directly and has blocks left. */
extern bool tb_heap_parts_send_files(TbHeapParts *parts, TbServiceQuery *query);

/* Tells the service the current part's layout once; after READY. */
extern bool tb_heap_parts_announce_layout(TbHeapParts *parts, TbServiceQuery *query);

/* Goes on to a part with blocks left, and begins it; *more: there is one. */
extern bool tb_heap_parts_more(TbHeapParts *parts, TbServiceQuery *query, bool *more);

/* The service's number for the layout of a part's chunks. */
extern uint32 tb_heap_parts_layout_number(const TbHeapParts *parts, const TbHeapPart *part);

/* The program that says how the part's tuples are laid out. */
extern const TbProgram *tb_heap_parts_layout(const TbHeapParts *parts,
											 const TbHeapPart  *part,
											 const TbProgram   *program);

/* Adds the blocks and segments of all parts that turbined has columns of. */
extern void tb_heap_parts_count_cached(const TbHeapParts *parts, TbRunStats *stats);

/* Tells costs to come how much of the tables is cached, once the input has been read on the
 * host. */
extern void tb_heap_parts_note_cached(const TbHeapParts *parts);

/* Blocks of the part that a backend must read, judged by the visibility map. */
extern double tb_heap_parts_buffered_blocks(const TbHeapPart *part);

/* Whether most of all blocks are such. */
extern bool tb_heap_parts_most_is_buffered(const TbHeapParts *parts);

/* Before QUERY: GPUs near the drives of most blocks. */
extern void tb_heap_parts_prefer_gpus(const TbHeapParts *parts, TbServiceQuery *query);

extern void tb_heap_parts_end(TbHeapParts *parts);

#endif
