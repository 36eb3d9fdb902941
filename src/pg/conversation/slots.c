/*
 * slots.c - see slots.h.
 *
 * Owns the states of slots and the number of chunks in flight; must never look into a
 * slot. Called by sources, which fill slots, and by
 * service_query.c as messages about them come in.
 */
#include "postgres.h"

#include "turbine/kernel.h"

#include "pg/conversation/slots.h"
#include "turbine/mutant.h"

typedef struct Slot
{
	TbSlotState state;
	bool		unread;
	uint32		kind;
	uint32		npages;
	TbChunkDone done;
} Slot;

struct TbSlots
{
	TbServiceQuery *query;
	uint32			count;
	uint64			sent;	   /* the sequence number of the next chunk */
	uint32			in_flight; /* READING or RUNNING */
	Slot			slots[FLEXIBLE_ARRAY_MEMBER];
};

TbSlots *
tb_slots_make(TbServiceQuery *query)
{
	uint32	 count = tb_service_query_ready(query)->nslots;
	TbSlots *slots = palloc0(offsetof(TbSlots, slots) + count * sizeof(Slot));

	Assert(count >= 1 && count <= TB_MAX_SLOTS);
	slots->query = query;
	slots->count = count;
	return slots;
}

uint32
tb_slots_count(const TbSlots *slots)
{
	return slots->count;
}

uint32
tb_slots_pages(const TbSlots *slots)
{
	return tb_service_query_ready(slots->query)->slot_pages;
}

char *
tb_slots_memory(const TbSlots *slots, uint32 slot)
{
	return tb_service_query_slot(slots->query, slot);
}

int
tb_slots_find_free(const TbSlots *slots)
{
	for (uint32 i = 0; i < slots->count; i++)
		if (slots->slots[i].state == TB_SLOT_FREE)
			return (int) i;
	return -1;
}

uint64
tb_slots_sent(const TbSlots *slots)
{
	return slots->sent;
}

uint32
tb_slots_in_flight(const TbSlots *slots)
{
	return slots->in_flight;
}

TbSlotState
tb_slots_state(const TbSlots *slots, uint32 slot)
{
	Assert(slot < slots->count);
	return slots->slots[slot].state;
}

uint32
tb_slots_kind(const TbSlots *slots, uint32 slot)
{
	Assert(slot < slots->count);
	return slots->slots[slot].kind;
}

bool
tb_slots_is_unread(const TbSlots *slots, uint32 slot)
{
	Assert(slot < slots->count);
	return slots->slots[slot].unread;
}

const TbChunkDone *
tb_slots_done(const TbSlots *slots, uint32 slot)
{
	Assert(slot < slots->count && slots->slots[slot].state == TB_SLOT_DONE);
	return &slots->slots[slot].done;
}

static bool
send_chunk(TbSlots *slots, TbChunk *chunk, TbRuns runs, TbRuns copied, TbRuns placed)
{
	Slot		*slot = &slots->slots[chunk->slot];
	struct iovec parts[4];

	Assert(slot->state == TB_SLOT_FREE);
	chunk->sequence = slots->sent++;
	/* Head and runs, without a copy. */
	parts[0].iov_base = chunk;
	parts[0].iov_len = offsetof(TbChunk, runs);
	chunk->nruns = runs.count;
	chunk->ncopied = copied.count;
	parts[1].iov_base = unconstify(TbRun *, runs.runs);
	parts[1].iov_len = runs.count * sizeof(TbRun);
	parts[2].iov_base = unconstify(TbRun *, copied.runs);
	parts[2].iov_len = copied.count * sizeof(TbRun);
	chunk->nplaced = placed.count;
	parts[3].iov_base = unconstify(TbRun *, placed.runs);
	parts[3].iov_len = placed.count * sizeof(TbRun);
	if (!tb_service_query_send_parts(slots->query, TB_MSG_CHUNK, parts, 4, NULL, 0))
		return false;
	/* Now the service has the slot. */
	slot->state = TB_SLOT_READING;
	slot->kind = chunk->kind;
	slot->npages = chunk->npages;
	slot->unread = chunk->kind == TB_CHUNK_PAGES && chunk->nruns > 0;
	slots->in_flight++;
	return true;
}

bool
tb_slots_send_pages(TbSlots *slots, uint32 slot, const TbPagesOrigin *origin, uint32 npages,
					TbRuns direct, TbRuns copied, TbRuns placed)
{
	TbChunk chunk = {.slot = slot,
					 .kind = TB_CHUNK_PAGES,
					 .layout = origin->layout,
					 .part = origin->part,
					 .map_lsn = origin->map_lsn,
					 .npages = npages};

	Assert(slot < slots->count && npages <= tb_slots_pages(slots));
	return send_chunk(slots, &chunk, direct, copied, placed);
}

bool
tb_slots_send_segments(TbSlots *slots, uint32 slot, uint32 part, BlockNumber first,
					   uint32 count)
{
	TbChunk chunk = {.slot = slot,
					 .kind = TB_CHUNK_SEGMENTS,
					 .part = part,
					 .npages = count};
	TbRun	run = {.page = 0, .block = first, .count = count};

	Assert(slot < slots->count && count <= tb_slots_pages(slots));
	return send_chunk(slots, &chunk, (TbRuns) {1, &run}, (TbRuns) {0}, (TbRuns) {0}) &&
		tb_slots_release(slots, slot, false);
}

bool
tb_slots_send_columns(TbSlots *slots, uint32 slot)
{
	TbChunk chunk = {.slot = slot, .kind = TB_CHUNK_COLUMNS};

	Assert(slot < slots->count);
	return send_chunk(slots, &chunk, (TbRuns) {0}, (TbRuns) {0}, (TbRuns) {0}) &&
		tb_slots_release(slots, slot, false);
}

bool
tb_slots_release(TbSlots *slots, uint32 slot, bool rewritten)
{
	TbChunkRelease release = {.slot = slot, .rewritten = rewritten};

	Assert(slots->slots[slot].state == TB_SLOT_READING && !slots->slots[slot].unread);
	if (TB_MUTANT(rewritten_untold))
		release.rewritten = 0;
	slots->slots[slot].state = TB_SLOT_RUNNING;
	return tb_service_query_send(slots->query, TB_MSG_CHUNK_RELEASE, &release,
								 sizeof(release));
}

/* turbined has read the runs, or failed to. */
static bool
take_read(TbSlots *slots, const TbIncoming *message, TbSlotEvent *event)
{
	TbChunkRead read;

	if (message->length != sizeof(read))
		return tb_service_query_protocol_error(slots->query, "malformed CHUNK_READ");
	memcpy(&read, message->payload, sizeof(read));
	if (read.slot >= slots->count || slots->slots[read.slot].state != TB_SLOT_READING ||
		!slots->slots[read.slot].unread)
		return tb_service_query_protocol_error(slots->query,
											   "CHUNK_READ of a slot not being read");
	if (read.outcome > TB_READ_DECODED)
		return tb_service_query_protocol_error(slots->query,
											   "CHUNK_READ with an unknown outcome");
	slots->slots[read.slot].unread = false;
	event->slot = read.slot;
	event->outcome = read.outcome;
	return true;
}

static bool
take_done(TbSlots *slots, const TbIncoming *message, TbSlotEvent *event)
{
	const TbReady *ready = tb_service_query_ready(slots->query);
	TbChunkDone	   done;
	Slot		  *slot;
	uint64		   ids;

	if (message->length != sizeof(done))
		return tb_service_query_protocol_error(slots->query, "malformed CHUNK_DONE");
	memcpy(&done, message->payload, sizeof(done));
	if (done.slot >= slots->count || slots->slots[done.slot].state != TB_SLOT_RUNNING)
		return tb_service_query_protocol_error(slots->query,
											   "CHUNK_DONE of a slot not running");
	slot = &slots->slots[done.slot];
	/* Whoever reads the row ids relies on these bounds. */
	ids = (uint64) done.nrows + done.ndeferred;
	if (ids > (ready->slot_size - ready->ids_offset) / sizeof(uint32) ||
		ids > (uint64) slot->npages * TB_MAX_TUPLES_PER_PAGE)
		return tb_service_query_protocol_error(slots->query, "more row ids than rows");
	slot->done = done;
	slot->state = TB_SLOT_DONE;
	slots->in_flight--;
	event->slot = done.slot;
	return true;
}

bool
tb_slots_take(TbSlots *slots, const TbIncoming *message, TbSlotEvent *event)
{
	event->type = message->type;
	switch (message->type)
	{
		case TB_MSG_CHUNK_READ:
			return take_read(slots, message, event);
		case TB_MSG_CHUNK_DONE:
			return take_done(slots, message, event);
		default:
			return tb_service_query_protocol_error(slots->query,
												   "unexpected message from turbined");
	}
}

void
tb_slots_free(TbSlots *slots, uint32 slot)
{
	Assert(slots->slots[slot].state == TB_SLOT_DONE ||
		   slots->slots[slot].state == TB_SLOT_HANDED_OUT);
	slots->slots[slot].state = TB_SLOT_FREE;
}

void
tb_slots_hand_out(TbSlots *slots, uint32 slot)
{
	Assert(slots->slots[slot].state == TB_SLOT_DONE);
	slots->slots[slot].state = TB_SLOT_HANDED_OUT;
}
