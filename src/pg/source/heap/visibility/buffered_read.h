/*
 * buffered_read.h - copies a heap page out of shared buffers with only the
 * tuples that the snapshot sees.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_VISIBILITY_BUFFERED_READ_H
#define TURBINE_PG_SOURCE_HEAP_VISIBILITY_BUFFERED_READ_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/bufmgr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct TbBufferedReader
{
	Relation			 rel;
	Snapshot			 snapshot;
	BufferAccessStrategy strategy;		  /* or NULL */
	bool				 check_conflicts; /* SERIALIZABLE: look at every tuple */
	bool				 marks_fresh;	  /* copies say whether they may be cached as fresh
										   * blocks (fresh_blocks.h) */
} TbBufferedReader;

/* Like a sequential scan's start: takes its predicate lock, counts it. */
extern void tb_buffered_begin(TbBufferedReader *reader, Relation rel, Snapshot snapshot,
							  BlockNumber nblocks);

/* The same for a process that helps one which has begun. */
extern void tb_buffered_join(TbBufferedReader *reader, Relation rel, Snapshot snapshot,
							 BlockNumber nblocks);
extern void tb_buffered_end(TbBufferedReader *reader);

/* Copies the block to `page` (BLCKSZ bytes); line pointers of tuples that the
 * snapshot does not see are unused in the copy. If the reader marks fresh blocks, fields of
 * the copy's header are not what they were. */
extern void tb_buffered_read(TbBufferedReader *reader, BlockNumber block, char *page);

/* The same of a block that was seen in that buffer lately (InvalidBuffer: in none): if it
 * still is there, nothing is looked up. */
extern void tb_buffered_read_recent(TbBufferedReader *reader, BlockNumber block,
									Buffer recent, char *page);

/* One block of many, and where its copy goes. */
typedef struct TbBufferedPage
{
	BlockNumber block;
	Buffer		recent; /* or InvalidBuffer */
	char	   *page;	/* BLCKSZ bytes */
} TbBufferedPage;

/* The same of all these blocks, in any order; those that are not in shared buffers are read
 * ahead. */
extern void tb_buffered_read_many(TbBufferedReader *reader, const TbBufferedPage *pages,
								  uint32 count);

/* How many of the relation's blocks may have rows that a snapshot sees which exists
 * already: without new pages at its end. Since PostgreSQL 16 tables grow by several pages,
 * which stay new, hence neither all-visible nor cached, until somebody fills them. */
extern BlockNumber tb_blocks_with_rows(Relation rel, BlockNumber nblocks);

#endif
