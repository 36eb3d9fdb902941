/*
 * feeders.c - see feeders.h: the queue, the worker's side, the leader's side.
 *
 * The queue lies in dynamic shared memory, which the leader's parallel context owns. Leader
 * and feeders call it. Its mutex is held for a few instructions, and nothing may raise
 * under it.
 *
 * A worker maps the query's slot memory, which the service hands out, takes units until
 * there are none, and lets go of the slot memory. If the service does not know the query
 * any more, or cannot be reached, the feeder goes and the leader feeds alone. Its only
 * errors are PostgreSQL's over blocks that it reads, which the leader raises. It owns its
 * connection, which says to the service that the memory is still written to: the
 * connection goes last. It must never write a page that it has not taken. PostgreSQL's
 * parallel infrastructure calls it, and has set up transaction, snapshot, role and settings
 * as the leader's.
 *
 * The leader begins (parallel mode, dynamic shared memory, launch), then puts jobs into the
 * queue while it drives the query's chunks, and takes units itself when it has nothing
 * better to do; then it ends. It waits for no worker to start: until one does, it is alone,
 * and if none does, it stays so. It owns the parallel context. If an error ends the query,
 * PostgreSQL ends the workers, and waits for that, before it releases our connection and
 * locks. Called by the heap source and by heap scans.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/shm_mq.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "turbine/mutant.h"

#include "pg/bridge/failure.h"
#include "pg/bridge/request.h"
#include "pg/settings/guc.h"
#include "pg/shmem/device_list.h"
#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/source/heap/feeders/feeders.h"
#include "pg/source/heap/visibility/buffer_lookup.h"
#include "pg/source/heap/visibility/buffered_read.h"

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

/* What is in the parallel context, for the workers: keys of its table of contents. */
#define KEY_QUEUE UINT64CONST(0x7475726200000001)
#define KEY_PARTS UINT64CONST(0x7475726200000002)
#define KEY_BUFFERS UINT64CONST(0x7475726200000003)
#define KEY_WAL UINT64CONST(0x7475726200000004)
#define KEY_QUERY UINT64CONST(0x7475726200000005)

/* A relation of the query, by its number there. */
typedef struct FeederPart
{
	Oid			relid;
	BlockNumber blocks_to_read;
	bool		marks_fresh; /* TbBufferedReader */
} FeederPart;

/* How long the service may take to answer, which it does at once or never. */
#define ATTACH_TIMEOUT_MS 5000

extern PGDLLEXPORT void tb_feeder_main(dsm_segment *seg, shm_toc *toc);

typedef struct Feeder
{
	TbFeederQueue	 *queue;
	const FeederPart *parts;
	char			 *slots;
	int64			  part; /* whose relation is open; -1: none */
	TbBufferedReader  reader;
} Feeder;

/* Maps the slot memory of the reply to ATTACH. */
static bool
take_slot_memory(TbConnection *conn, const TbFeederQueue *queue, const TbIncoming *message,
				 TbFailure *why)
{
	TbAttached attached;
	int		   fd;
	bool	   mapped;

	/* Did the service refuse? */
	if (message->type == TB_MSG_REFUSED)
	{
		tb_failure_from_wire(why, message->payload, message->length);
		return false;
	}
	/* The reply comes with a descriptor. */
	fd = tb_connection_take_fd(conn);
	if (message->type != TB_MSG_ATTACHED || message->length != sizeof(attached) || fd < 0)
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL, "unexpected reply to ATTACH");
		if (fd >= 0)
			close(fd);
		return false;
	}
	memcpy(&attached, message->payload, sizeof(attached));
	mapped = tb_slot_memory_map(tb_connection_slot_memory(conn), fd, attached.memory_id,
								queue->memory_size, why);
	close(fd);
	return mapped;
}

/* A connection with the query's slot memory; NULL with *why. */
static TbConnection *
attach(const TbFeederQueue *queue, TbFailure *why)
{
	TbAttach	  request = {.generation = queue->generation, .lease = queue->lease};
	TbIncoming	  answer;
	TbConnection *conn = tb_request(TB_MSG_ATTACH, &request, sizeof(request),
									ATTACH_TIMEOUT_MS, &answer, why);

	if (conn == NULL || take_slot_memory(conn, queue, &answer, why))
		return conn;
	tb_connection_close(conn);
	return NULL;
}

static void
close_part(Feeder *feeder)
{
	if (feeder->part < 0)
		return;
	tb_buffered_end(&feeder->reader);
	table_close(feeder->reader.rel, NoLock);
	feeder->part = -1;
}

static void
open_part(Feeder *feeder, uint32 part)
{
	const FeederPart *info = &feeder->parts[part];

	if (feeder->part == part)
		return;
	close_part(feeder);
	tb_buffered_join(&feeder->reader, table_open(info->relid, AccessShareLock),
					 GetActiveSnapshot(), info->blocks_to_read);
	feeder->reader.marks_fresh = info->marks_fresh;
	feeder->part = part;
}

/* Copies the unit's pages to the slot's memory. */
static void
copy_unit(TbBufferedReader *reader, const TbFeederUnit *unit, char *slot)
{
	TbBufferedPage pages[UNIT_PAGES];
	uint32		   count = unit->count;

	Assert(count <= UNIT_PAGES);
	for (uint32 i = 0; i < count; i++)
		pages[i] = (TbBufferedPage) {.block = unit->pages[i].block,
									 .recent = InvalidBuffer,
									 .page = slot +
										 (Size) unit->pages[i].page * TB_PAGE_SIZE};
	tb_buffered_read_many(reader, pages, count);
}

static void
fill_unit(Feeder *feeder, const TbFeederUnit *unit)
{
	TbFeederUnit copied = *unit;

	open_part(feeder, unit->part);
	if (TB_MUTANT(page_not_fed))
		copied.count--;
	copy_unit(&feeder->reader, &copied,
			  feeder->slots + (Size) unit->slot * feeder->queue->slot_size);
	tb_feeder_queue_filled(feeder->queue, unit, true);
}

static void
feed(TbFeederQueue *queue, const FeederPart *parts)
{
	Feeder		  feeder = {.queue = queue, .parts = parts, .part = -1};
	TbFailure	  why;
	TbFeederUnit  unit;
	TbConnection *conn = attach(queue, &why);

	if (conn == NULL)
	{
		elog(DEBUG1, "pg_turbine: nothing to feed: %s", why.message);
		return;
	}
	feeder.slots = tb_connection_slot_memory(conn)->base + queue->first_slot_offset;
	while (tb_feeder_queue_await(queue, &unit))
		fill_unit(&feeder, &unit);
	close_part(&feeder);
	tb_connection_close(conn);
}

void
tb_feeder_main(dsm_segment *seg, shm_toc *toc)
{
	TbFeederQueue *queue = shm_toc_lookup(toc, KEY_QUEUE, false);
	BufferUsage	  *buffers = shm_toc_lookup(toc, KEY_BUFFERS, false);
	WalUsage	  *wal = shm_toc_lookup(toc, KEY_WAL, false);

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, false);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(queue->query_id, false);

	InstrStartParallelQuery();
	feed(queue, shm_toc_lookup(toc, KEY_PARTS, false));
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	tb_feeder_queue_leave(queue);
}

struct TbFeeders
{
	TbHeapParts			 *parts;
	const TbServiceQuery *query;
	TbFeederStats		 *stats;
	ParallelContext		 *context;
	TbFeederQueue		 *queue;
	BufferUsage			 *buffers; /* one a worker */
	WalUsage			 *wal;
	uint32				 *added;   /* by slot: pages of the chunk being put together */
	bool				  leader_feeds;
	bool				  closed;
};

/* Those that other queries have not taken, as far as was last heard: one of those
 * that ran then may have been of this session. */
static int
processors(void)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	int			 running = 0;

	for (int i = 0; i < count; i++)
		running += (int) devices[i].queries_running;
	return count == 0 ? 1 : (int) devices[TB_DEVICE_HOST].units - Max(running - 1, 0);
}

/* The share of the blocks that is not sent yet; ROWS are not fed from the first chunk on.
 */
static double
share_left(const TbFeederInput *input)
{
	double sent = (double) input->chunks_sent *
		tb_service_query_ready(input->query)->slot_pages;

	return 1 - Min(sent / Max(input->parts->total_blocks, 1), 1);
}

static int
feeders_wanted(const TbFeederInput *input)
{
	const TbHeapParts *parts = input->parts;
	TbFeederNeed	   need = {.engine_us = input->engine_us, .parallel_workers = -1};
	double			   feeding = 0;

	for (uint32 i = 0; i < parts->nparts; i++)
	{
		const TbHeapPart *part = &parts->parts[i];
		double			  buffered = tb_heap_parts_buffered_blocks(part);

		need.buffered += buffered;
		if (buffered >= 1)
			feeding += buffered *
				tb_buffered_page_us(tb_buffer_resident_share(part->rel, part->nblocks));
		need.parallel_workers = Max(need.parallel_workers,
									RelationGetParallelWorkers(part->rel, -1));
	}
	need.page_us = feeding / Max(need.buffered, 1);
	need.buffered *= share_left(input);
	need.processors = processors();
	return tb_feeder_count(&need);
}

/* Whether other processes can do what this one does with the input's blocks. */
static bool
can_be_shared(const TbHeapParts *parts)
{
	if (IsParallelWorker() || InitializingParallelWorker || !ActiveSnapshotSet() ||
		parts->snapshot->snapshot_type != SNAPSHOT_MVCC || IsolationIsSerializable())
		return false;
	for (uint32 i = 0; i < parts->nparts; i++)
		if (RelationUsesLocalBuffers(parts->parts[i].rel))
			return false;
	return true;
}

static Size
parts_size(const TbHeapParts *parts)
{
	return mul_size(parts->nparts, sizeof(FeederPart));
}

static const char *
query_text(void)
{
	return debug_query_string != NULL ? debug_query_string : "";
}

static void
estimate(ParallelContext *context, const TbFeeders *feeders)
{
	const TbReady	  *ready = tb_service_query_ready(feeders->query);
	shm_toc_estimator *estimator = &context->estimator;

	shm_toc_estimate_chunk(estimator, tb_feeder_queue_size(ready));
	shm_toc_estimate_chunk(estimator, parts_size(feeders->parts));
	shm_toc_estimate_chunk(estimator, mul_size(context->nworkers, sizeof(BufferUsage)));
	shm_toc_estimate_chunk(estimator, mul_size(context->nworkers, sizeof(WalUsage)));
	shm_toc_estimate_chunk(estimator, strlen(query_text()) + 1);
	shm_toc_estimate_keys(estimator, 5);
}

static void *
insert(shm_toc *toc, uint64 key, Size size)
{
	void *address = shm_toc_allocate(toc, size);

	memset(address, 0, size);
	shm_toc_insert(toc, key, address);
	return address;
}

/* Everything that workers look at. */
static void
fill_context(TbFeeders *feeders)
{
	const TbReady	*ready = tb_service_query_ready(feeders->query);
	ParallelContext *context = feeders->context;
	shm_toc			*toc = context->toc;
	FeederPart		*parts = insert(toc, KEY_PARTS, parts_size(feeders->parts));

	feeders->queue = insert(toc, KEY_QUEUE, tb_feeder_queue_size(ready));
	tb_feeder_queue_init(feeders->queue, ready,
						 tb_service_query_generation(feeders->query));
	feeders->queue->query_id = pgstat_get_my_query_id();
	for (uint32 i = 0; i < feeders->parts->nparts; i++)
	{
		parts[i].relid = RelationGetRelid(feeders->parts->parts[i].rel);
		parts[i].blocks_to_read = feeders->parts->parts[i].blocks_to_read;
		parts[i].marks_fresh = feeders->parts->parts[i].reader.marks_fresh;
	}
	feeders->buffers = insert(toc, KEY_BUFFERS,
							  mul_size(context->nworkers, sizeof(BufferUsage)));
	feeders->wal = insert(toc, KEY_WAL, mul_size(context->nworkers, sizeof(WalUsage)));
	strcpy(insert(toc, KEY_QUERY, strlen(query_text()) + 1), query_text());
}

/* Without shared memory there is a context all the same, of no workers. */
static void
launch(TbFeeders *feeders, int wanted)
{
	EnterParallelMode();
	feeders->context = CreateParallelContext("pg_turbine", "tb_feeder_main", wanted);
	estimate(feeders->context, feeders);
	/* The active snapshot becomes the workers'. */
	PushActiveSnapshot(feeders->parts->snapshot);
	InitializeParallelDSM(feeders->context);
	PopActiveSnapshot();
	fill_context(feeders);
	LaunchParallelWorkers(feeders->context);
}

static void
destroy(TbFeeders *feeders)
{
	DestroyParallelContext(feeders->context);
	ExitParallelMode();
}

TbFeeders *
tb_feeders_begin(const TbFeederInput *input, TbFeederStats *stats)
{
	TbFeeders *feeders;
	int		   wanted = can_be_shared(input->parts) ? feeders_wanted(input) : 0;

	if (wanted == 0)
		return NULL;
	/* Launch those that are worth it */
	feeders = palloc0(sizeof(TbFeeders));
	feeders->parts = input->parts;
	feeders->query = input->query;
	feeders->stats = stats;
	launch(feeders, wanted);
	stats->planned = wanted;
	stats->launched = feeders->context->nworkers_launched;
	/* None has come */
	if (stats->launched == 0)
	{
		destroy(feeders);
		pfree(feeders);
		return NULL;
	}
	/* Ready for chunks */
	feeders->added = palloc0(sizeof(uint32) * tb_service_query_ready(input->query)->nslots);
	feeders->leader_feeds = parallel_leader_participation;
	return feeders;
}

void
tb_feeders_add(TbFeeders *feeders, uint32 slot, uint32 page, BlockNumber block)
{
	TbFeederPage *entry = tb_feeder_queue_pages(feeders->queue, slot) +
		feeders->added[slot]++;

	entry->page = page;
	entry->block = block;
}

bool
tb_feeders_fill(TbFeeders *feeders, uint32 slot, const TbHeapPart *part)
{
	if (feeders->added[slot] == 0)
		return false;
	tb_feeder_queue_put(feeders->queue, slot, part - feeders->parts->parts,
						feeders->added[slot]);
	feeders->added[slot] = 0;
	return true;
}

bool
tb_feeders_filled(TbFeeders *feeders, uint32 slot)
{
	return tb_feeder_queue_is_over(feeders->queue, slot);
}

/* A worker that was launched and has gone without ever running has fed nothing. */
static bool
never_ran(const ParallelWorkerInfo *worker)
{
	pid_t pid;

	return worker->error_mqh != NULL && worker->bgwhandle != NULL &&
		GetBackgroundWorkerPid(worker->bgwhandle, &pid) == BGWH_STOPPED &&
		shm_mq_get_sender(shm_mq_get_queue(worker->error_mqh)) == NULL;
}

static uint32
count_never_ran(const ParallelContext *context)
{
	uint32 count = 0;

	for (int i = 0; i < context->nworkers_launched; i++)
		count += never_ran(&context->worker[i]);
	return count;
}

/* Whether the leader is alone, whatever was launched. */
static bool
all_gone(const TbFeeders *feeders)
{
	return tb_feeder_queue_gone(feeders->queue) + count_never_ran(feeders->context) >=
		(uint32) feeders->context->nworkers_launched;
}

bool
tb_feeders_help(TbFeeders *feeders)
{
	TbFeederUnit unit;

	if (!feeders->leader_feeds && !all_gone(feeders))
		return false;
	if (!tb_feeder_queue_take(feeders->queue, &unit))
		return false;
	copy_unit(&feeders->parts->parts[unit.part].reader, &unit,
			  tb_service_query_slot(feeders->query, unit.slot));
	tb_feeder_queue_filled(feeders->queue, &unit, false);
	return true;
}

void
tb_feeders_no_more(TbFeeders *feeders)
{
	if (feeders->closed)
		return;
	feeders->closed = true;
	tb_feeder_queue_close(feeders->queue, false);
}

/* As WaitForParallelWorkersToFinish, which raises over a worker that could not be
 * started; we have not relied on any. */
static void
wait_for_end(ParallelContext *context)
{
	for (;;)
	{
		bool finished = true;

		/* Takes in what workers have sent, and raises their errors. */
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < context->nworkers_launched; i++)
			if (context->worker[i].error_mqh != NULL && !never_ran(&context->worker[i]))
				finished = false;
		if (finished)
			break;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1,
						 WAIT_EVENT_PARALLEL_FINISH);
		ResetLatch(MyLatch);
	}
	/* Besides waiting it takes over how far WAL was written. */
	if (count_never_ran(context) == 0)
		WaitForParallelWorkersToFinish(context);
}

void
tb_feeders_end(TbFeeders *feeders, bool abandon)
{
	if (feeders == NULL)
		return;
	tb_feeder_queue_close(feeders->queue, abandon);
	wait_for_end(feeders->context);
	for (int i = 0; i < feeders->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&feeders->buffers[i], &feeders->wal[i]);
	feeders->stats->blocks = feeders->queue->fed;
	destroy(feeders);
	pfree(feeders->added);
	pfree(feeders);
}
