/*
 * buffer_lookup.c - see buffer_lookup.h.
 *
 * Relies on buf_internals.h; only reads there. Called by the classification of blocks
 * and by the count of feeders. The answer is a hint that is old as soon as it is given;
 * it must pin and lock nothing.
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/source/heap/visibility/buffer_lookup.h"

/* At even distances: what is there lies in long pieces. */
#define SAMPLED_BLOCKS 16

TbBufferState
tb_buffer_lookup(Relation rel, BlockNumber block)
{
	BufferTag	  tag;
	uint32		  hash;
	LWLock		 *partition;
	int			  buffer_id;
	TbBufferState state = TB_BUFFER_ABSENT;

	INIT_BUFFERTAG(tag, RelationGetSmgr(rel)->smgr_rnode.node, MAIN_FORKNUM, block);
	hash = BufTableHashCode(&tag);
	partition = BufMappingPartitionLock(hash);
	LWLockAcquire(partition, LW_SHARED);
	buffer_id = BufTableLookup(&tag, hash);
	if (buffer_id >= 0)
	{
		BufferDesc *header = GetBufferDescriptor(buffer_id);

		state = (pg_atomic_read_u32(&header->state) & BM_DIRTY) != 0 ? TB_BUFFER_DIRTY :
																	   TB_BUFFER_CLEAN;
	}
	LWLockRelease(partition);
	return state;
}

double
tb_buffer_resident_share(Relation rel, BlockNumber nblocks)
{
	uint32 samples = Min(nblocks, SAMPLED_BLOCKS);
	uint32 found = 0;

	for (uint32 i = 0; i < samples; i++)
		found += tb_buffer_lookup(rel, (BlockNumber) ((uint64) nblocks * i / samples)) !=
			TB_BUFFER_ABSENT;
	return samples > 0 ? (double) found / samples : 0;
}
