/*
 * feeders.h - parallel workers that help a query's backend to copy pages out of
 * shared buffers.
 *
 * A feeder does what the backend does with a block that may not be read from its
 * file: pin, lock, copy to the slot, test visibility. It returns no rows and
 * evaluates nothing. Everything else is the backend's, the leader's, as without
 * feeders: which blocks, all messages of the query, what comes back, the fallback. So
 * a query with feeders needs no other plan. PostgreSQL's parallel mode lasts no longer
 * than the input is fed, within one call of the node; where rows come back meanwhile,
 * it is the planner's to say that the whole statement runs in it.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_FEEDERS_FEEDERS_H
#define TURBINE_PG_SOURCE_HEAP_FEEDERS_FEEDERS_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/condition_variable.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "turbine/wire.h"

#include "pg/source/heap/heap_parts.h"
#include "pg/source/run_stats.h"

/* The query whose pages are to be copied; it must have begun. */
typedef struct TbFeederInput
{
	TbHeapParts			 *parts;
	const TbServiceQuery *query;
	double				  engine_us;   /* of processors, that computing takes in sum */
	uint64				  chunks_sent; /* before feeders come */
} TbFeederInput;

typedef struct TbFeeders TbFeeders;

/* Starts workers if they are worth it, else NULL. They end with tb_feeders_end, or with
 * the (sub)transaction. `stats` stays valid until then. */
extern TbFeeders *tb_feeders_begin(const TbFeederInput *input, TbFeederStats *stats);

/* Leaves the page of a slot's chunk, which is to hold that block, to whoever takes it
 * first; tb_feeders_fill, after the last one, makes the pages known. */
extern void tb_feeders_add(TbFeeders *feeders, uint32 slot, uint32 page, BlockNumber block);

/* Whether there are any such pages; all are of one part. */
extern bool tb_feeders_fill(TbFeeders *feeders, uint32 slot, const TbHeapPart *part);

/* Whether every page that was left to them is there. */
extern bool tb_feeders_filled(TbFeeders *feeders, uint32 slot);

/* Fills some pages here; false if there is nothing that the leader should fill. */
extern bool tb_feeders_help(TbFeeders *feeders);

/* No further chunk has pages for them: they may go. */
extern void tb_feeders_no_more(TbFeeders *feeders);

/* Waits for the workers' end, raises what they raised, and frees. `abandon`: pages that
 * are not filled yet are of no use any more. Nothing for NULL. */
extern void tb_feeders_end(TbFeeders *feeders, bool abandon);

/*
 * The queue: pages that are to be copied out of shared buffers, shared by a query's backend
 * (the leader) and its feeders. Elsewhere only its unit test knows it.
 *
 * The leader puts in a slot's buffered pages as one job; everybody takes units of a few
 * pages off the oldest job, copies them to the slot, and says so. A job is over when all
 * its pages are; the leader, and nobody else, then deals with the slot.
 *
 * Lives in the dynamic shared memory of a parallel context. `mutex` is held for a few
 * instructions at a time, and nothing raises under it. The pages of a slot are those of
 * whoever has taken them; everything else of the service's memory is the leader's.
 */

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
