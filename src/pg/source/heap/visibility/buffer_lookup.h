/*
 * buffer_lookup.h - whether blocks are in shared buffers, without reading them.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_VISIBILITY_BUFFER_LOOKUP_H
#define TURBINE_PG_SOURCE_HEAP_VISIBILITY_BUFFER_LOOKUP_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"

typedef enum TbBufferState
{
	TB_BUFFER_ABSENT,
	TB_BUFFER_CLEAN,
	TB_BUFFER_DIRTY /* changes are not yet in the file */
} TbBufferState;

/* About 100 ns; may be out of date at once. */
extern TbBufferState tb_buffer_lookup(Relation rel, BlockNumber block);

/* The LSN of the block's page as it is now, 0 if it is not in shared buffers. A change that
 * is being made beside may be in the page already. `recent`: where the block was seen
 * lately, or InvalidBuffer; then where it is. */
extern XLogRecPtr tb_buffer_page_lsn(Relation rel, BlockNumber block, Buffer *recent);

/* The same if the block is in that buffer; else false. Any number may be asked for. */
extern bool tb_buffer_recent_lsn(Relation rel, BlockNumber block, Buffer recent,
								 XLogRecPtr *lsn);

/* A buffer that will be asked for soon: fetches its header, and the first lines of its
 * page. */
extern void tb_buffer_fetch_ahead(Buffer buffer);

/* The part of the relation's first `nblocks` blocks that is there, 0 to 1, judged by
 * a few of them. */
extern double tb_buffer_resident_share(Relation rel, BlockNumber nblocks);

#endif
