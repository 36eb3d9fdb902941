/*
 * feeder_queue.c - see feeder_queue.h.
 *
 * Lives in dynamic shared memory, which the leader's parallel context owns. Called by
 * the leader and its feeders; the mutex is held for a few instructions, and nothing may
 * raise under it.
 */
#include "postgres.h"

#include "storage/latch.h"
#include "utils/wait_event.h"

#include "pg/source/heap/feeders/feeder_queue.h"

/* Pages of a unit: 50 us of work, long against taking it, short against what the
 * leader has to answer meanwhile. */
#define UNIT_PAGES 32

Size
tb_feeder_queue_size(const TbReady *ready)
{
	return add_size(offsetof(TbFeederQueue, pages),
					mul_size((Size) ready->nslots * ready->slot_pages,
							 sizeof(TbFeederPage)));
}

void
tb_feeder_queue_init(TbFeederQueue *queue, const TbReady *ready, uint64 generation)
{
	memset(queue, 0, offsetof(TbFeederQueue, pages));
	queue->generation = generation;
	queue->lease = ready->lease;
	queue->memory_size = ready->memory_size;
	queue->first_slot_offset = ready->first_slot_offset;
	queue->slot_size = ready->slot_size;
	queue->nslots = ready->nslots;
	queue->slot_pages = ready->slot_pages;
	queue->leader = MyProc;
	SpinLockInit(&queue->mutex);
	ConditionVariableInit(&queue->more);
}

TbFeederPage *
tb_feeder_queue_pages(TbFeederQueue *queue, uint32 slot)
{
	return queue->pages + (Size) slot * queue->slot_pages;
}

void
tb_feeder_queue_put(TbFeederQueue *queue, uint32 slot, uint32 part, uint32 npages)
{
	TbFeederJob *job = &queue->jobs[slot];

	SpinLockAcquire(&queue->mutex);
	job->part = part;
	job->npages = npages;
	job->taken = 0;
	job->filled = 0;
	queue->waiting[(queue->first + queue->nwaiting++) % TB_MAX_SLOTS] = slot;
	SpinLockRelease(&queue->mutex);
	ConditionVariableBroadcast(&queue->more);
}

static bool
take_locked(TbFeederQueue *queue, TbFeederUnit *unit)
{
	TbFeederJob *job;

	if (queue->abandoned || queue->nwaiting == 0)
		return false;
	unit->slot = queue->waiting[queue->first];
	job = &queue->jobs[unit->slot];
	unit->part = job->part;
	unit->count = Min(UNIT_PAGES, job->npages - job->taken);
	unit->pages = tb_feeder_queue_pages(queue, unit->slot) + job->taken;
	job->taken += unit->count;
	if (job->taken == job->npages)
	{
		queue->first = (queue->first + 1) % TB_MAX_SLOTS;
		queue->nwaiting--;
	}
	return true;
}

bool
tb_feeder_queue_take(TbFeederQueue *queue, TbFeederUnit *unit)
{
	bool taken;

	SpinLockAcquire(&queue->mutex);
	taken = take_locked(queue, unit);
	SpinLockRelease(&queue->mutex);
	return taken;
}

void
tb_feeder_queue_filled(TbFeederQueue *queue, const TbFeederUnit *unit, bool by_feeder)
{
	TbFeederJob *job = &queue->jobs[unit->slot];
	bool		 over;

	SpinLockAcquire(&queue->mutex);
	job->filled += unit->count;
	over = job->filled == job->npages;
	if (by_feeder)
		queue->fed += unit->count;
	SpinLockRelease(&queue->mutex);
	if (over && by_feeder)
		SetLatch(&queue->leader->procLatch);
}

bool
tb_feeder_queue_is_over(TbFeederQueue *queue, uint32 slot)
{
	const TbFeederJob *job = &queue->jobs[slot];
	bool			   over;

	SpinLockAcquire(&queue->mutex);
	over = job->filled == job->npages;
	SpinLockRelease(&queue->mutex);
	return over;
}

void
tb_feeder_queue_close(TbFeederQueue *queue, bool at_once)
{
	SpinLockAcquire(&queue->mutex);
	queue->closed = true;
	queue->abandoned |= at_once;
	SpinLockRelease(&queue->mutex);
	ConditionVariableBroadcast(&queue->more);
}

bool
tb_feeder_queue_await(TbFeederQueue *queue, TbFeederUnit *unit)
{
	bool taken;

	ConditionVariablePrepareToSleep(&queue->more);
	for (;;)
	{
		bool over;

		SpinLockAcquire(&queue->mutex);
		taken = take_locked(queue, unit);
		over = queue->closed;
		SpinLockRelease(&queue->mutex);
		if (taken || over)
			break;
		ConditionVariableSleep(&queue->more, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return taken;
}

void
tb_feeder_queue_leave(TbFeederQueue *queue)
{
	SpinLockAcquire(&queue->mutex);
	queue->gone++;
	SpinLockRelease(&queue->mutex);
	SetLatch(&queue->leader->procLatch);
}

uint32
tb_feeder_queue_gone(TbFeederQueue *queue)
{
	uint32 gone;

	SpinLockAcquire(&queue->mutex);
	gone = queue->gone;
	SpinLockRelease(&queue->mutex);
	return gone;
}
