/*
 * service_query.c - see service_query.h.
 *
 * Phases: make, connect, begin (QUERY, READY), messages, end. Owns the query's hold on
 * its connection: `conn` is NULL as soon as the query has lost it or given it back.
 * Called by whatever runs a program over a source; must never raise for the service's sake.
 *
 * A connection of stages carries several queries, one after the other. Join tables go with
 * the last query, with one that fails, and with a QUERY_CLOSE between queries: a node that
 * ends early sends that, and the connection is idle again. One that ends within a query
 * never gets here with its connection: the query closes it.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "pg/bridge/failure.h"
#include "pg/conversation/service_query.h"
#include "pg/settings/guc.h"
#include "pg/settings/service_settings.h"
#include "pg/shmem/cache_advice.h"
#include "pg/shmem/device_list.h"
#include "pg/shmem/query_counters.h"

bool
tb_stage_connection_begin(TbStageConnection *shared, TbFailure *why)
{
	shared->conn = tb_connection_acquire(why);
	if (shared->conn == NULL)
		return false;
	shared->serial = tb_connection_serial(shared->conn);
	return true;
}

/* The connection, or NULL once it was lost, closed, or is idle again after the last
 * query. */
static TbConnection *
stages_connection(const TbStageConnection *shared)
{
	if (shared->conn != NULL && tb_connection_is(shared->conn, shared->serial))
		return shared->conn;
	return NULL;
}

bool
tb_program_prepare(TbConnection *conn, const TbProgram *program, uint32 device,
				   TbFailure *why)
{
	TbPrepare	 header = {0};
	struct iovec parts[2];

	header.device = device;
	header.flags = TB_QUERY_ALLOW_HOST | TB_QUERY_GPU_OK;
	header.program_size = program->total_size;
	parts[0].iov_base = &header;
	parts[0].iov_len = sizeof(header);
	parts[1].iov_base = unconstify(TbProgram *, program);
	parts[1].iov_len = program->total_size;
	return tb_connection_send(conn, TB_MSG_PREPARE, parts, 2, NULL, 0, why);
}

void
tb_stage_connection_end(TbStageConnection *shared)
{
	TbConnection *conn = stages_connection(shared);
	TbFailure	  why;

	if (conn != NULL &&
		tb_connection_send_struct(conn, TB_MSG_QUERY_CLOSE, NULL, 0, &why) &&
		tb_connection_hold(conn, false, &why))
		tb_connection_release(conn);
	shared->conn = NULL;
}

struct TbServiceQuery
{
	TbProgramSpec  spec;
	const char	  *input_name;
	TbConnection  *conn;	/* NULL before connect and after the end */
	uint64		   conn_serial;
	char		  *slots;	/* begin of the first, once READY has come */
	TbServiceStats stats;
	TbFailure	   failure; /* the last */

	/* Where most of the input is stored. */
	TbGpuPreference preference;
	uint64			preferred_blocks;
};

static uint32 padding[2]; /* zeros */

TbServiceQuery *
tb_service_query_make(const TbProgramSpec *spec, const char *input_name)
{
	TbServiceQuery *query = palloc0(sizeof(TbServiceQuery));

	query->spec = *spec;
	query->input_name = pstrdup(input_name);
	return query;
}

bool
tb_service_query_connected(TbServiceQuery *query)
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
tb_service_query_is_alone(const TbServiceQuery *query)
{
	return query->spec.connection == NULL;
}

bool
tb_service_query_connect(TbServiceQuery *query)
{
	Assert(query->conn == NULL);
	if (query->spec.connection == NULL)
		query->conn = tb_connection_acquire(&query->failure);
	else
	{
		query->conn = stages_connection(query->spec.connection);
		if (query->conn == NULL)
			tb_failure_set(&query->failure, TB_FALLBACK_NO_SERVICE,
						   "the connection to turbined was closed");
	}
	if (query->conn == NULL)
		return false;
	query->conn_serial = tb_connection_serial(query->conn);
	return true;
}

/* What the connection could not do has closed it. */
static bool
kept(TbServiceQuery *query, bool done)
{
	if (!done)
		query->conn = NULL;
	return done;
}

bool
tb_service_query_send(TbServiceQuery *query, uint32 type, const void *payload,
					  uint32 length)
{
	Assert(query->conn != NULL);
	tb_profile_message(query->spec.profile, type);
	return kept(query,
				tb_connection_send_struct(query->conn, type, payload, length,
										  &query->failure));
}

bool
tb_service_query_send_parts(TbServiceQuery *query, uint32 type, const struct iovec *parts,
							int nparts, const int *fds, int nfds)
{
	Assert(query->conn != NULL);
	tb_profile_message(query->spec.profile, type);
	return kept(query,
				tb_connection_send(query->conn, type, parts, nparts, fds, nfds,
								   &query->failure));
}

bool
tb_service_query_prepare(TbServiceQuery *query, const TbProgram *program)
{
	return kept(query,
				tb_program_prepare(query->conn, program, query->spec.device,
								   &query->failure));
}

bool
tb_service_query_hold(TbServiceQuery *query, bool hold)
{
	return kept(query, tb_connection_hold(query->conn, hold, &query->failure));
}

bool
tb_service_query_flush(TbServiceQuery *query)
{
	return kept(query, tb_connection_flush(query->conn, &query->failure));
}

bool
tb_service_query_give_up(TbServiceQuery *query, const TbFailure *why)
{
	if (tb_service_query_connected(query))
		tb_connection_close(query->conn);
	query->conn = NULL;
	query->failure = *why;
	return false;
}

bool
tb_service_query_protocol_error(TbServiceQuery *query, const char *what)
{
	TbFailure why;

	tb_failure_set(&why, TB_FALLBACK_PROTOCOL, "%s", what);
	return tb_service_query_give_up(query, &why);
}

/* The service has given up the query: the connection is good for another one. */
static void
take_failure(TbServiceQuery *query, const TbIncoming *message)
{
	TbFailure failure;

	tb_failure_from_wire(&failure, message->payload, message->length);
	if (tb_service_query_hold(query, false) &&
		(message->type != TB_MSG_FAILED ||
		 tb_service_query_send(query, TB_MSG_QUERY_CLOSE, NULL, 0)))
		tb_connection_release(query->conn);
	query->conn = NULL;
	query->failure = failure;
}

static TbReceived
receive_timed(TbServiceQuery *query, bool wait, TbIncoming *message)
{
	TbProfile *profile = query->spec.profile;
	TbClock	   before;
	TbReceived received;

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

void
tb_service_query_wait(TbServiceQuery *query)
{
	TbClock before = tb_profile_enter(query->spec.profile, TB_CLOCK_SERVICE);

	tb_connection_wait(query->conn);
	(void) tb_profile_enter(query->spec.profile, before);
}

TbReceived
tb_service_query_receive(TbServiceQuery *query, bool wait, TbIncoming *message)
{
	TbReceived received = receive_timed(query, wait, message);

	while (received == TB_RECEIVED && message->type == TB_MSG_TRACE)
	{
		if (!tb_profile_take_trace(query->spec.profile, message->payload, message->length))
		{
			(void) tb_service_query_protocol_error(
				query, "a malformed trace, or one that was not asked for");
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

bool
tb_service_query_take_done(TbServiceQuery *query, const TbIncoming *message,
						   uint64 nresults, bool fed)
{
	bool built = query->spec.program->sink == TB_SINK_BUILD;

	if (message->length != sizeof(TbQueryDone))
		return tb_service_query_protocol_error(query, "malformed end of query");
	/* How many rows a join table has, only the service knows. */
	if (!built && ((const TbQueryDone *) message->payload)->groups != nresults)
		return tb_service_query_protocol_error(query, "groups are missing, or came twice");
	memcpy(&query->stats.done, message->payload, sizeof(TbQueryDone));
	tb_profile_query_done(query->spec.profile, &query->stats.done, fed);
	/* The table stays with the connection, which the next stage uses. */
	if (!built)
		tb_connection_release(query->conn);
	query->conn = NULL;
	return true;
}

bool
tb_service_query_await_done(TbServiceQuery *query, bool fed)
{
	TbIncoming message;

	if (tb_service_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type != TB_MSG_QUERY_DONE)
		return tb_service_query_protocol_error(query,
											   "unexpected message at the end of a query");
	return tb_service_query_take_done(query, &message, 0, fed);
}

void
tb_service_query_note_fallback(TbServiceQuery *query)
{
	query->stats.fallback = query->failure.reason;
	strlcpy(query->stats.fallback_message, query->failure.message,
			sizeof(query->stats.fallback_message));
	tb_stat_fallback(&query->failure, query->input_name);
}

/* The parts of a message whose sections begin at multiples of eight. */
typedef struct Sections
{
	struct iovec parts[TB_MAX_MESSAGE_PARTS];
	int			 nparts;
	Size		 bytes; /* since the header */
} Sections;

static void
add_part(Sections *sections, const void *bytes, Size size)
{
	Assert(sections->nparts < (int) lengthof(sections->parts));
	sections->parts[sections->nparts].iov_base = unconstify(void *, bytes);
	sections->parts[sections->nparts++].iov_len = size;
	sections->bytes += size;
}

static void
add_section(Sections *sections, const void *bytes, Size size)
{
	add_part(sections, padding, TYPEALIGN(8, sections->bytes) - sections->bytes);
	add_part(sections, bytes, size);
}

static void
add_continuation(Sections *sections, const TbContinuationProgram *continuation,
				 TbContinuation *header, const TbParamBlock *params)
{
	header->program_size = continuation->program->total_size;
	header->ncolumns = continuation->ncolumns;
	header->params_size = params->total_size;
	header->estimated_groups = continuation->groups;
	header->nsets = continuation->nsets;
	add_section(sections, header, sizeof(*header));
	add_section(sections, continuation->sets, sizeof(uint64) * continuation->nsets);
	add_section(sections, continuation->columns, sizeof(uint32) * continuation->ncolumns);
	add_section(sections, continuation->program, continuation->program->total_size);
	add_section(sections, params, params->total_size);
	if (continuation->result != NULL)
	{
		header->result_size = continuation->result->total_size;
		add_section(sections, continuation->result, continuation->result->total_size);
	}
}

uint32
tb_allowed_gpus(void)
{
	uint32 gpus = tb_usable_gpus();

	switch (tb_guc_device_choice())
	{
		case TB_CHOOSE_CPU:
			return 0;
		case TB_CHOOSE_GPUS:
			return gpus & tb_guc_gpus();
		default:
			return gpus;
	}
}

void
tb_service_query_prefer(TbServiceQuery *query, const TbGpuPreference *preference,
						uint64 nblocks)
{
	if (nblocks < query->preferred_blocks)
		return;
	query->preference = *preference;
	query->preferred_blocks = nblocks;
}

/* The map excludes other GPUs, unless the session has named some that are not in it. */
static void
set_gpus(const TbServiceQuery *query, TbQuery *header)
{
	header->gpus = tb_allowed_gpus();
	if (query->preference.by == TB_PREFERRED_BY_MAP &&
		(header->gpus & query->preference.gpus) != 0)
		header->gpus &= query->preference.gpus;
	if (query->preference.by == TB_PREFERRED_BY_DISTANCE)
		header->near_gpus = header->gpus & query->preference.gpus;
}

/* Queries over one table are best where its columns are. */
static uint64
affinity_of(const TbServiceQuery *query)
{
	return hash_bytes_extended((const unsigned char *) query->input_name,
							   strlen(query->input_name), MyDatabaseId);
}

bool
tb_service_query_send_query(TbServiceQuery *query, uint64 nblocks, bool copied)
{
	const TbProgram				*program = query->spec.program;
	const TbParamBlock			*params = query->spec.params;
	const TbResultPlan			*result = query->spec.result;
	const TbContinuationProgram *continuation = query->spec.continuation;
	TbContinuation				 continuation_header = {0};
	TbQuery						 header = {0};
	Sections					 sections = {0};

	header.device = query->spec.device;
	header.flags = TB_QUERY_GPU_OK;
	if (query->spec.left == NULL)
		header.flags |= TB_QUERY_ALLOW_HOST;
	if (tb_guc_debug_full_code)
		header.flags |= TB_QUERY_FULL_CODE;
	if (DataChecksumsEnabled())
		header.flags |= TB_QUERY_CHECKSUMS;
	if (copied)
		header.flags |= TB_QUERY_COPIED;
	if (query->spec.in_order)
		header.flags |= TB_QUERY_IN_ORDER;
	if (tb_guc_storage_path == TB_STORAGE_DIRECT)
		header.flags |= TB_QUERY_PAST_CACHE;
	else if (tb_guc_storage_path == TB_STORAGE_PAGE_CACHE)
		header.flags |= TB_QUERY_BY_PAGE_CACHE;
	header.direct_share = (float) tb_guc_storage_direct_share;
	header.flags |= tb_profile_query_flags(query->spec.profile);
	if (query->spec.left == NULL && header.device != TB_DEVICE_HOST)
	{
		set_gpus(query, &header);
		if (tb_guc_split_over_gpus == TB_SPLIT_ON)
			header.flags |= TB_QUERY_SPLIT;
		else if (tb_guc_split_over_gpus == TB_SPLIT_OFF)
			header.flags |= TB_QUERY_WHOLE;
		header.affinity = affinity_of(query);
	}
	header.nblocks = nblocks;
	header.estimated_rows = query->spec.estimated_rows;
	header.estimated_groups = query->spec.estimated_results;
	/* A backend that holds a grant must not wait for another. */
	header.wait_ms = tb_connections_in_use() > 1 ? 0 : tb_admission_wait_ms;
	/* A plan that is forced is to run. */
	if (!tb_guc_debug_force_offload && !tb_guc_debug_full_code)
		header.compile_wait_ms = (uint32) tb_compile_wait_ms;
	header.debug_fault = tb_guc_debug_fault();
	if (program->sink == TB_SINK_BUILD)
		header.join_table = query->spec.join_table;
	header.program_size = program->total_size;
	header.params_size = params->total_size;
	header.unread_columns = query->spec.unread_columns;

	add_part(&sections, &header, sizeof(header));
	sections.bytes = 0;
	add_section(&sections, program, program->total_size);
	add_section(&sections, params, params->total_size);
	if (result != NULL)
	{
		header.result_size = result->total_size;
		add_section(&sections, result, result->total_size);
	}
	if (continuation != NULL)
	{
		Size begin = TYPEALIGN(8, sections.bytes);

		add_continuation(&sections, continuation, &continuation_header,
						 query->spec.continuation_params);
		header.continuation_size = sections.bytes - begin;
		/* Both compile at once. */
		if (!kept(query,
				  tb_program_prepare(query->conn, continuation->program, TB_DEVICE_HOST,
									 &query->failure)))
			return false;
	}
	if (query->spec.left != NULL)
	{
		header.columns_left = query->spec.left->ncolumns;
		add_section(&sections, query->spec.left->columns,
					sizeof(TbColumnLeft) * query->spec.left->ncolumns);
	}
	if (query->spec.stream != NULL)
	{
		const TbStream *stream = query->spec.stream;
		Size			columns = sizeof(TbStreamColumn) * stream->ncolumns;

		header.stream_size = sizeof(*stream) + columns;
		add_section(&sections, stream, sizeof(*stream));
		add_section(&sections, query->spec.stream_columns, columns);
	}
	tb_profile_query_begins(query->spec.profile);
	return tb_service_query_send_parts(query, TB_MSG_QUERY, sections.parts, sections.nparts,
									   NULL, 0);
}

/* Every number of READY, before any of them is used. */
static bool
ready_is_sane(const TbReady *ready)
{
	uint64 page_bytes = (uint64) ready->slot_pages * TB_PAGE_SIZE;

	return ready->nslots >= 1 && ready->nslots <= TB_MAX_SLOTS && ready->slot_pages >= 1 &&
		ready->slot_pages <= 0xffff && ready->memory_size <= PG_INT64_MAX &&
		ready->slot_size <= ready->memory_size && ready->ids_offset >= page_bytes &&
		ready->ids_offset <= ready->slot_size && ready->ids_offset % sizeof(uint32) == 0 &&
		ready->slot_size % sizeof(uint64) == 0 &&
		ready->first_slot_offset % sizeof(uint64) == 0 &&
		ready->first_slot_offset <= ready->memory_size &&
		(ready->memory_size - ready->first_slot_offset) / ready->slot_size >=
		ready->nslots &&
		ready->gpus >> (TB_MAX_DEVICES - 1) == 0;
}

/* Maps the memory that came with READY, or takes what the connection has mapped. */
static bool
take_slot_memory(TbServiceQuery *query)
{
	const TbReady *ready = &query->stats.ready;
	TbSlotMemory  *memory = tb_connection_slot_memory(query->conn);
	int			   fd;
	bool		   mapped;

	/* The memory is mapped already */
	if (!ready->has_fd)
	{
		if (memory->base == NULL || memory->id != ready->memory_id ||
			memory->size < ready->memory_size)
			return tb_service_query_protocol_error(query, "unknown slot memory");
		return true;
	}
	/* Map new memory */
	fd = tb_connection_take_fd(query->conn);
	if (fd < 0)
		return tb_service_query_protocol_error(query,
											   "no shared memory came with the reply");
	mapped = tb_slot_memory_map(memory, fd, ready->memory_id, ready->memory_size,
								&query->failure);
	close(fd);
	if (mapped)
		return true;
	tb_connection_close(query->conn);
	query->conn = NULL;
	return false;
}

static void
note_device(TbServiceQuery *query)
{
	TbDeviceInfo   devices[TB_MAX_DEVICES];
	int			   count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	const TbReady *ready = &query->stats.ready;

	if (ready->device < (uint32) count)
	{
		const char *name = devices[ready->device].name;

		if (ready->gpus != 0)
			snprintf(query->stats.device_name, sizeof(query->stats.device_name), "%d x %s",
					 pg_popcount32(ready->gpus), name);
		else
			strlcpy(query->stats.device_name, name, sizeof(query->stats.device_name));
	}
	if (ready->host_because != TB_FALLBACK_NONE)
		tb_stat_host_instead(ready->host_because, query->input_name);
}

bool
tb_service_query_await_ready(TbServiceQuery *query)
{
	TbIncoming message;
	TbReady	   ready;

	/* Await the reply */
	if (tb_service_query_receive(query, true, &message) != TB_RECEIVED)
		return false;
	if (message.type == TB_MSG_REFUSED)
	{
		take_failure(query, &message);
		return false;
	}
	if (message.type != TB_MSG_READY || message.length != sizeof(TbReady))
		return tb_service_query_protocol_error(query, "unexpected reply to a query");
	/* Check a copy of it */
	memcpy(&ready, message.payload, sizeof(TbReady));
	tb_profile_ready(query->spec.profile, &ready);
	if (!ready_is_sane(&ready))
		return tb_service_query_protocol_error(query, "slots outside of their memory");
	query->stats.ready = ready;
	/* Take the slots */
	if (!take_slot_memory(query))
		return false;
	query->slots = tb_connection_slot_memory(query->conn)->base + ready.first_slot_offset;
	note_device(query);
	tb_advice_note_code(query->spec.shape);
	return true;
}

bool
tb_service_query_begin(TbServiceQuery *query, uint64 nblocks, bool copied)
{
	return tb_service_query_send_query(query, nblocks, copied) &&
		tb_service_query_await_ready(query);
}

void
tb_service_query_end(TbServiceQuery *query)
{
	if (tb_service_query_connected(query))
		tb_connection_close(query->conn);
	query->conn = NULL;
}

const TbReady *
tb_service_query_ready(const TbServiceQuery *query)
{
	return &query->stats.ready;
}

char *
tb_service_query_slot(const TbServiceQuery *query, uint32 slot)
{
	Assert(query->slots != NULL && slot < query->stats.ready.nslots);
	return query->slots + (Size) slot * query->stats.ready.slot_size;
}

uint64
tb_service_query_generation(const TbServiceQuery *query)
{
	return tb_connection_generation(query->conn);
}

const TbProgramSpec *
tb_service_query_spec(const TbServiceQuery *query)
{
	return &query->spec;
}

const TbServiceStats *
tb_service_query_stats(const TbServiceQuery *query)
{
	return &query->stats;
}

const TbFailure *
tb_service_query_failure(const TbServiceQuery *query)
{
	return &query->failure;
}
