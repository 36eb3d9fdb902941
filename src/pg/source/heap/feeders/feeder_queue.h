/*
 * feeder_queue.h - the pages that are to be copied out of shared buffers, shared by
 * a query's backend (the leader) and its feeders.
 *
 * The leader puts in a slot's buffered pages as one job; everybody takes units of a
 * few pages off the oldest job, copies them to the slot, and says so. A job is over
 * when all its pages are; the leader, and nobody else, then deals with the slot.
 *
 * Lives in the dynamic shared memory of a parallel context. `mutex` is held for a few
 * instructions at a time, and nothing raises under it. The pages of a slot are those
 * of whoever has taken them; everything else of the service's memory is the leader's.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_FEEDERS_FEEDER_QUEUE_H
#define TURBINE_PG_SOURCE_HEAP_FEEDERS_FEEDER_QUEUE_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/condition_variable.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "turbine/wire.h"

/* A page of a slot, and the block that it is to hold. */
typedef struct TbFeederPage
{
	uint32		page;
	BlockNumber block;
} TbFeederPage;

/* Protected by the queue's mutex, but for `part`, which stays until the job is over. */
typedef struct TbFeederJob
{
	uint32 part;  /* of the query: whose blocks they are */
	uint32 npages;
	uint32 taken; /* of them */
	uint32 filled;
} TbFeederJob;

typedef struct TbFeederQueue
{
	/* Immutable. */
	uint64	generation; /* of turbined */
	uint64	lease;		/* of the slot memory */
	uint64	memory_size;
	uint64	first_slot_offset;
	uint64	slot_size;
	uint32	nslots;
	uint32	slot_pages;
	PGPROC *leader;
	uint64	query_id;

	slock_t		mutex;
	/* Protected by it. */
	bool		closed;				/* no job comes any more */
	bool		abandoned;			/* nor is any that is there of use */
	uint32		gone;				/* feeders that feed no more */
	uint64		fed;				/* pages, by feeders */
	uint32		first;				/* the oldest slot of `waiting` */
	uint32		nwaiting;			/* slots whose pages are not all taken */
	uint32		waiting[TB_MAX_SLOTS];
	TbFeederJob jobs[TB_MAX_SLOTS]; /* by slot */

	ConditionVariable more;			/* a job has come, or none will */

	/* nslots * slot_pages, by slot; of a job's until it is over */
	TbFeederPage pages[FLEXIBLE_ARRAY_MEMBER];
} TbFeederQueue;

/* Some pages of a slot. */
typedef struct TbFeederUnit
{
	uint32				slot;
	uint32				part;
	uint32				count;
	const TbFeederPage *pages;
} TbFeederUnit;

extern Size tb_feeder_queue_size(const TbReady *ready);
extern void tb_feeder_queue_init(TbFeederQueue *queue, const TbReady *ready,
								 uint64 generation);

/* Where the leader writes the pages of a slot's next job. */
extern TbFeederPage *tb_feeder_queue_pages(TbFeederQueue *queue, uint32 slot);

/* The leader: so many pages of the slot are to be filled. */
extern void tb_feeder_queue_put(TbFeederQueue *queue, uint32 slot, uint32 part,
								uint32 npages);

/* Anyone; false if there is nothing to take now. */
extern bool tb_feeder_queue_take(TbFeederQueue *queue, TbFeederUnit *unit);

/* The unit's pages are filled. */
extern void tb_feeder_queue_filled(TbFeederQueue *queue, const TbFeederUnit *unit,
								   bool by_feeder);

/* The leader: whether all pages of the slot's job are. */
extern bool tb_feeder_queue_is_over(TbFeederQueue *queue, uint32 slot);

/* The leader: feeders go when there is nothing left to take, or at once. */
extern void tb_feeder_queue_close(TbFeederQueue *queue, bool at_once);

/* Feeders: waits for something to take; false if there will be nothing. */
extern bool tb_feeder_queue_await(TbFeederQueue *queue, TbFeederUnit *unit);

/* Feeders: this one takes nothing any more. */
extern void tb_feeder_queue_leave(TbFeederQueue *queue);

extern uint32 tb_feeder_queue_gone(TbFeederQueue *queue);

#endif
