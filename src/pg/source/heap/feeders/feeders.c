/*
 * feeders.c - see feeders.h.
 *
 * Phases: begin (parallel mode, dynamic shared memory, launch), then the leader puts
 * jobs into the queue while it drives the query's chunks, and takes units itself when
 * it has nothing better to do; end. The leader waits for no worker to start: until
 * one does, it is alone, and if none does, it stays so.
 *
 * Owns the parallel context. If an error ends the query, PostgreSQL ends the workers,
 * and waits for that, before it releases our connection and locks.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/shm_mq.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "pg/source/heap/visibility/buffer_lookup.h"
#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/source/heap/feeders/feeder_queue.h"
#include "pg/source/heap/feeders/feeders.h"
#include "pg/settings/guc.h"
#include "pg/shmem/device_list.h"

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
	return mul_size(parts->nparts, sizeof(TbFeederPart));
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
	TbFeederPart	*parts = insert(toc, TB_FEEDER_KEY_PARTS, parts_size(feeders->parts));

	feeders->queue = insert(toc, TB_FEEDER_KEY_QUEUE, tb_feeder_queue_size(ready));
	tb_feeder_queue_init(feeders->queue, ready,
						 tb_service_query_generation(feeders->query));
	feeders->queue->query_id = pgstat_get_my_query_id();
	for (uint32 i = 0; i < feeders->parts->nparts; i++)
	{
		parts[i].relid = RelationGetRelid(feeders->parts->parts[i].rel);
		parts[i].blocks_to_read = feeders->parts->parts[i].blocks_to_read;
	}
	feeders->buffers = insert(toc, TB_FEEDER_KEY_BUFFERS,
							  mul_size(context->nworkers, sizeof(BufferUsage)));
	feeders->wal = insert(toc, TB_FEEDER_KEY_WAL,
						  mul_size(context->nworkers, sizeof(WalUsage)));
	strcpy(insert(toc, TB_FEEDER_KEY_QUERY, strlen(query_text()) + 1), query_text());
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
	feeders = palloc0(sizeof(TbFeeders));
	feeders->parts = input->parts;
	feeders->query = input->query;
	feeders->stats = stats;
	launch(feeders, wanted);
	stats->planned = wanted;
	stats->launched = feeders->context->nworkers_launched;
	if (stats->launched == 0)
	{
		destroy(feeders);
		pfree(feeders);
		return NULL;
	}
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
	char		*pages;

	if (!feeders->leader_feeds && !all_gone(feeders))
		return false;
	if (!tb_feeder_queue_take(feeders->queue, &unit))
		return false;
	pages = tb_service_query_slot(feeders->query, unit.slot);
	for (uint32 i = 0; i < unit.count; i++)
		tb_buffered_read(&feeders->parts->parts[unit.part].reader, unit.pages[i].block,
						 pages + (Size) unit.pages[i].page * TB_PAGE_SIZE);
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
