/*
 * service_query.c - a heap query's dealings with the daemon as a whole: start,
 * messages, failure and end. Owns query->conn. Called by the other files of
 * the query; see query_state.h.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"

#include "pg/bridge/failure.h"
#include "pg/source/heap/query_state.h"
#include "pg/settings/guc.h"
#include "pg/shmem/device_list.h"
#include "pg/settings/service_settings.h"
#include "pg/shmem/query_counters.h"

static uint32 padding[2];		/* zeros */

/*
 * False once the connection was lost, also where an aborted subtransaction's
 * resource owner has closed it behind the query.
 */
bool
tb_query_connected(TbHeapQuery *query)
{
	if (query->conn == NULL)
		return false;
	if (tb_connection_is(query->conn, query->conn_serial))
		return true;
	query->conn = NULL;
	tb_failure_set(&query->failure, TB_FALLBACK_NO_SERVICE,
				   "the connection to turbined was closed");
	return false;
}

bool
tb_query_send(TbHeapQuery *query, uint32 type, const void *payload, uint32 length)
{
	tb_profile_message(query->spec.profile, type);
	if (tb_connection_send_struct(query->conn, type, payload, length,
								  &query->failure))
		return true;
	query->conn = NULL;
	return false;
}

/* See tb_connection_hold. */
bool
tb_query_hold(TbHeapQuery *query, bool hold)
{
	if (tb_connection_hold(query->conn, hold, &query->failure))
		return true;
	query->conn = NULL;
	return false;
}

/* What is held goes now: something long follows. */
bool
tb_query_flush(TbHeapQuery *query)
{
	if (tb_connection_flush(query->conn, &query->failure))
		return true;
	query->conn = NULL;
	return false;
}

bool
tb_query_give_up(TbHeapQuery *query, TbFallback reason, const char *what)
{
	if (query->conn != NULL)
		tb_connection_close(query->conn);
	query->conn = NULL;
	tb_failure_set(&query->failure, reason, "%s", what);
	return false;
}

bool
tb_query_protocol_error(TbHeapQuery *query, const char *what)
{
	return tb_query_give_up(query, TB_FALLBACK_PROTOCOL, what);
}

/* The daemon has given up the query, the connection is good for another. */
static void
take_failure(TbHeapQuery *query, const TbIncoming *message)
{
	TbFailure	failure;

	tb_failure_from_wire(&failure, message->payload, message->length);
	if (tb_query_hold(query, false) &&
		(message->type != TB_MSG_FAILED ||
		 tb_query_send(query, TB_MSG_QUERY_CLOSE, NULL, 0)))
		tb_connection_release(query->conn);
	query->conn = NULL;
	query->failure = failure;
}

static TbReceived
receive_timed(TbHeapQuery *query, bool wait, TbIncoming *message)
{
	TbProfile  *profile = query->spec.profile;
	TbClock		before;
	TbReceived	received;

	if (!wait)
		received = tb_connection_receive(query->conn, 0, message, &query->failure);
	else
	{
		before = tb_profile_enter(profile, TB_CLOCK_SERVICE);
		received = tb_connection_receive(query->conn, TB_WAIT_FOREVER, message,
										 &query->failure);
		(void) tb_profile_enter(profile, before);
	}
	if (received == TB_RECEIVED)
		tb_profile_message(profile, message->type);
	return received;
}

/* Nothing can be done before the service says something, or a feeder. */
void
tb_query_wait(TbHeapQuery *query)
{
	TbClock		before = tb_profile_enter(query->spec.profile, TB_CLOCK_SERVICE);

	tb_connection_wait(query->conn);
	(void) tb_profile_enter(query->spec.profile, before);
}

/* Receives one message; a TRACE is written to the trace, a FAILED is dealt with and
 * reported as a loss. */
TbReceived
tb_query_receive(TbHeapQuery *query, bool wait, TbIncoming *message)
{
	TbReceived	received = receive_timed(query, wait, message);

	while (received == TB_RECEIVED && message->type == TB_MSG_TRACE)
	{
		if (!tb_profile_take_trace(query->spec.profile, message->payload, message->length))
		{
			(void) tb_query_protocol_error(query, "a malformed trace, or one that was not asked for");
			return TB_RECEIVED_LOST;
		}
		received = receive_timed(query, wait, message);
	}
	if (received == TB_RECEIVED_LOST)
		query->conn = NULL;
	else if (received == TB_RECEIVED && message->type == TB_MSG_FAILED)
	{
		take_failure(query, message);
		return TB_RECEIVED_LOST;
	}
	return received;
}

/* QUERY_DONE after so many groups or rows: the statistics, and the connection goes
 * back to the pool, but for one that holds a table: how many rows that has, only the
 * service knows. */
bool
tb_query_take_done(TbHeapQuery *query, const TbIncoming *message, uint64 groups)
{
	bool		built = query->spec.program->sink == TB_SINK_BUILD;

	if (message->length != sizeof(TbQueryDone))
		return tb_query_protocol_error(query, "malformed end of query");
	if (!built && ((const TbQueryDone *) message->payload)->groups != groups)
		return tb_query_protocol_error(query, "groups are missing, or came twice");
	memcpy(&query->stats.done, message->payload, sizeof(TbQueryDone));
	tb_profile_query_done(query->spec.profile, &query->stats.done,
						  query->stats.feeders_launched > 0);
	if (!built)
		tb_connection_release(query->conn);
	query->conn = NULL;
	return true;
}

/* Counts and logs `failure`, and keeps it for EXPLAIN. */
static const char *
input_name(const TbHeapQuery *query)
{
	return query->rel != NULL ? RelationGetRelationName(query->rel) : "a join's input";
}

void
tb_query_note_fallback(TbHeapQuery *query)
{
	query->stats.fallback = query->failure.reason;
	strlcpy(query->stats.fallback_message, query->failure.message,
			sizeof(query->stats.fallback_message));
	tb_stat_fallback(&query->failure, input_name(query));
}

static bool
most_is_copied(const TbHeapQuery *query)
{
	double		buffered = 0;

	for (uint32 i = 0; i < query->nparts; i++)
		buffered += tb_part_buffered_blocks(query, &query->parts[i]);
	return buffered > query->total_blocks / 2.0;
}

static bool
send_query(TbHeapQuery *query)
{
	const TbProgram *program = query->spec.program;
	const TbParamBlock *params = query->spec.params;
	TbQuery		header = {0};
	const TbResultPlan *result = query->spec.result;
	struct iovec parts[6];
	int			nparts = 4;

	header.device = query->spec.device;
	header.flags = TB_QUERY_ALLOW_HOST | TB_QUERY_GPU_OK;
	if (tb_guc_debug_full_code)
		header.flags |= TB_QUERY_FULL_CODE;
	if (DataChecksumsEnabled())
		header.flags |= TB_QUERY_CHECKSUMS;
	if (most_is_copied(query))
		header.flags |= TB_QUERY_COPIED;
	header.flags |= tb_profile_query_flags(query->spec.profile);
	header.nblocks = query->total_blocks;
	header.estimated_rows = query->spec.estimated_rows;
	header.estimated_groups = query->spec.estimated_groups;
	/* A session that holds a grant must not wait for another. */
	header.wait_ms = tb_connections_in_use() > 1 ? 0 : tb_admission_wait_ms;
	header.debug_fault = tb_guc_debug_fault();
	if (program->sink == TB_SINK_BUILD)
		header.table = query->spec.table;
	header.program_size = program->total_size;
	header.params_size = params->total_size;

	parts[0].iov_base = &header;
	parts[0].iov_len = sizeof(header);
	parts[1].iov_base = unconstify(TbProgram *, program);
	parts[1].iov_len = program->total_size;
	parts[2].iov_base = padding;
	parts[2].iov_len = TYPEALIGN(8, program->total_size) - program->total_size;
	parts[3].iov_base = unconstify(TbParamBlock *, params);
	parts[3].iov_len = params->total_size;
	if (result != NULL)
	{
		header.result_size = result->total_size;
		parts[4].iov_base = padding;
		parts[4].iov_len = TYPEALIGN(8, params->total_size) - params->total_size;
		parts[5].iov_base = unconstify(TbResultPlan *, result);
		parts[5].iov_len = result->total_size;
		nparts = 6;
	}
	tb_profile_query_begins(query->spec.profile);
	tb_profile_message(query->spec.profile, TB_MSG_QUERY);
	if (tb_connection_send(query->conn, TB_MSG_QUERY, parts, nparts, NULL, 0,
						   &query->failure))
		return true;
	query->conn = NULL;
	return false;
}

/* Every number of READY, before any of them is used. */
static bool
ready_is_sane(const TbReady *ready)
{
	uint64		page_bytes = (uint64) ready->slot_pages * TB_PAGE_SIZE;

	return ready->nslots >= 1 && ready->nslots <= TB_MAX_SLOTS &&
		ready->slot_pages >= 1 && ready->slot_pages <= 0xffff &&
		ready->segment_size <= PG_INT64_MAX &&
		ready->slot_size <= ready->segment_size &&
		ready->ids_offset >= page_bytes &&
		ready->ids_offset <= ready->slot_size &&
		ready->ids_offset % sizeof(uint32) == 0 &&
		ready->slot_size % sizeof(uint64) == 0 &&
		ready->first_slot_offset % sizeof(uint64) == 0 &&
		ready->first_slot_offset <= ready->segment_size &&
		(ready->segment_size - ready->first_slot_offset) / ready->slot_size >=
		ready->nslots;
}

/* Maps the segment that came with READY, or takes the connection's last. */
static bool
take_segment(TbHeapQuery *query)
{
	const TbReady *ready = &query->ready;
	TbSegment  *segment = tb_connection_segment(query->conn);
	int			fd;
	bool		mapped;

	if (!ready->has_fd)
	{
		if (segment->base == NULL || segment->id != ready->segment_id ||
			segment->size < ready->segment_size)
			return tb_query_protocol_error(query, "unknown shared memory segment");
		return true;
	}
	fd = tb_connection_take_fd(query->conn);
	if (fd < 0)
		return tb_query_protocol_error(query, "no shared memory came with the reply");
	mapped = tb_segment_map(segment, fd, ready->segment_id, ready->segment_size,
							&query->failure);
	close(fd);
	if (mapped)
		return true;
	tb_connection_close(query->conn);
	query->conn = NULL;
	return false;
}

static void
note_device(TbHeapQuery *query)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			count = tb_devices_snapshot(devices, TB_MAX_DEVICES);

	query->stats.ready = query->ready;
	if (query->ready.device < (uint32) count)
		strlcpy(query->stats.device_name, devices[query->ready.device].name,
				sizeof(query->stats.device_name));
	if (query->ready.host_because != TB_FALLBACK_NONE)
		tb_stat_host_instead(query->ready.host_because, input_name(query));
}

static bool
await_ready(TbHeapQuery *query)
{
	TbIncoming	message;

	if (tb_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type == TB_MSG_REFUSED)
	{
		take_failure(query, &message);
		return false;
	}
	if (message.type != TB_MSG_READY || message.length != sizeof(TbReady))
		return tb_query_protocol_error(query, "unexpected reply to a query");
	memcpy(&query->ready, message.payload, sizeof(TbReady));
	tb_profile_ready(query->spec.profile, &query->ready);
	if (!ready_is_sane(&query->ready))
		return tb_query_protocol_error(query, "slots outside of their segment");
	if (!take_segment(query))
		return false;
	query->slot_base = tb_connection_segment(query->conn)->base +
		query->ready.first_slot_offset;
	note_device(query);
	return true;
}

static bool
take_connection(TbHeapQuery *query)
{
	if (query->spec.session == NULL)
		query->conn = tb_connection_acquire(&query->failure);
	else
	{
		query->conn = tb_session_connection(query->spec.session);
		if (query->conn == NULL)
			tb_failure_set(&query->failure, TB_FALLBACK_NO_SERVICE,
						   "the connection to turbined was closed");
	}
	return query->conn != NULL;
}

/* Brings the query to where chunks can be sent. */
bool
tb_query_start(TbHeapQuery *query)
{
	if (!take_connection(query))
		return false;
	query->conn_serial = tb_connection_serial(query->conn);
	/* Those of a session's queries have been announced. */
	if (query->spec.session == NULL && !tb_parts_prepare_layouts(query))
		return false;
	if (tb_blocks_left(query) && !tb_part_begin(query))
		return false;
	if (!send_query(query) || !await_ready(query))
		return false;
	tb_chunks_begin(query);
	return tb_part_announce_layout(query);
}
