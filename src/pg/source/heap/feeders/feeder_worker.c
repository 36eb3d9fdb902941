/*
 * feeder_worker.c - what a parallel worker does as a feeder: see feeders.h.
 *
 * Phases: map the query's slot memory, which the service hands out; take units until
 * there are none; let go of the slot memory. If the service does not know the query any
 * more, or cannot be reached, the feeder goes and the leader feeds alone. Its only
 * errors are PostgreSQL's over blocks that it reads, which the leader raises.
 *
 * Owns its connection, which says to the service that the memory is still written
 * to: the connection goes last. Must never write a page that it has not taken.
 * Called by PostgreSQL's parallel infrastructure, which has set up transaction,
 * snapshot, role and settings as the leader's.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/parallel.h"
#include "access/table.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/bridge/failure.h"
#include "pg/bridge/request.h"
#include "pg/source/heap/visibility/buffered_read.h"
#include "pg/source/heap/feeders/feeder_queue.h"
#include "pg/source/heap/feeders/feeders.h"
#include "turbine/mutant.h"

/* How long the service may take to answer, which it does at once or never. */
#define ATTACH_TIMEOUT_MS 5000

extern PGDLLEXPORT void tb_feeder_main(dsm_segment *seg, shm_toc *toc);

typedef struct Feeder
{
	TbFeederQueue	   *queue;
	const TbFeederPart *parts;
	char			   *slots;
	int64				part; /* whose relation is open; -1: none */
	TbBufferedReader	reader;
} Feeder;

/* Maps the slot memory of the reply to ATTACH. */
static bool
take_slot_memory(TbConnection *conn, const TbFeederQueue *queue, const TbIncoming *message,
				 TbFailure *why)
{
	TbAttached attached;
	int		   fd;
	bool	   mapped;

	if (message->type == TB_MSG_REFUSED)
	{
		tb_failure_from_wire(why, message->payload, message->length);
		return false;
	}
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
	const TbFeederPart *info = &feeder->parts[part];

	if (feeder->part == part)
		return;
	close_part(feeder);
	tb_buffered_join(&feeder->reader, table_open(info->relid, AccessShareLock),
					 GetActiveSnapshot(), info->blocks_to_read);
	feeder->part = part;
}

static void
fill_unit(Feeder *feeder, const TbFeederUnit *unit)
{
	char *pages = feeder->slots + (Size) unit->slot * feeder->queue->slot_size;

	open_part(feeder, unit->part);
	for (uint32 i = 0; i < unit->count; i++)
		if (i + 1 < unit->count || !TB_MUTANT(page_not_fed))
			tb_buffered_read(&feeder->reader, unit->pages[i].block,
							 pages + (Size) unit->pages[i].page * TB_PAGE_SIZE);
	tb_feeder_queue_filled(feeder->queue, unit, true);
}

static void
feed(TbFeederQueue *queue, const TbFeederPart *parts)
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
	TbFeederQueue *queue = shm_toc_lookup(toc, TB_FEEDER_KEY_QUEUE, false);
	BufferUsage	  *buffers = shm_toc_lookup(toc, TB_FEEDER_KEY_BUFFERS, false);
	WalUsage	  *wal = shm_toc_lookup(toc, TB_FEEDER_KEY_WAL, false);

	debug_query_string = shm_toc_lookup(toc, TB_FEEDER_KEY_QUERY, false);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(queue->query_id, false);

	InstrStartParallelQuery();
	feed(queue, shm_toc_lookup(toc, TB_FEEDER_KEY_PARTS, false));
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	tb_feeder_queue_leave(queue);
}
