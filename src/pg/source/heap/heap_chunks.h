/*
 * heap_chunks.h - chunks of pages: filled from the parts' blocks, sent, confirmed,
 * released.
 *
 * A chunk is the next blocks that are to be read, at most as many as a slot has pages.
 * They ascend, and leave gaps where blocks are skipped. turbined reads runs of direct
 * blocks from the files; all other blocks are copied from shared buffers. For ROWS a chunk
 * may be blocks that turbined has columns of instead: then it has no pages.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_HEAP_CHUNKS_H
#define TURBINE_PG_SOURCE_HEAP_HEAP_CHUNKS_H

#include "postgres.h"

#include "pg/source/heap/feeders/feeders.h"
#include "pg/source/heap/heap_parts.h"
#include "pg/source/run_stats.h"
#include "pg/conversation/slots.h"

typedef struct TbHeapChunks TbHeapChunks;

/* In the current memory context; once READY has told how many slots there are. */
extern TbHeapChunks *tb_heap_chunks_make(TbServiceQuery *query, TbSlots *slots,
										 TbHeapParts *parts);

/* From now on feeders copy pages; NULL: this process copies them all. */
extern void tb_heap_chunks_set_feeders(TbHeapChunks *chunks, TbFeeders *feeders);

/* Sends the next blocks of the current part, of which some must be left, in a free slot. */
extern bool tb_heap_chunks_send(TbHeapChunks *chunks, uint32 slot);

/* turbined has read the chunk's runs, or failed to. */
extern bool tb_heap_chunks_read(TbHeapChunks *chunks, uint32 slot, TbReadOutcome outcome);

/* The chunk is done: its rows are counted. */
extern void tb_heap_chunks_done(TbHeapChunks *chunks, uint32 slot);

/* Releases the chunks that feeders have filled; *any: there were some. */
extern bool tb_heap_chunks_release_filled(TbHeapChunks *chunks, bool *any);

/* Whether the slot's chunk has no pages: its tuples are in shared buffers. */
extern bool tb_heap_chunks_is_cached(const TbHeapChunks *chunks, uint32 slot);

/* Gives such a chunk, which is DONE, its pages after all. */
extern void tb_heap_chunks_read_pages(TbHeapChunks *chunks, uint32 slot);

/* What a slot's pages hold: the part, and the block of each page. */
extern TbHeapPart		 *tb_heap_chunks_part(const TbHeapChunks *chunks, uint32 slot);
extern const BlockNumber *tb_heap_chunks_blocks(const TbHeapChunks *chunks, uint32 slot,
												uint32 *npages);

extern const TbBlockStats *tb_heap_chunks_stats(const TbHeapChunks *chunks);

#endif
