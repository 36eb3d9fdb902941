/*
 * slots.h - the slots of a query and the chunks in flight through them.
 *
 * A slot is a part of the slot memory. It is the backend's until its chunk is sent, and
 * again once the chunk is done. In between turbined may write to it at any time.
 *
 *   FREE --send--> READING --release--> RUNNING --CHUNK_DONE--> DONE --free--> FREE
 *
 * A chunk with runs is read by turbined, from the relation's files. Its slot is READING
 * and unread until CHUNK_READ. Then the backend confirms the runs and releases the chunk.
 * A DONE slot may be HANDED_OUT while a node returns rows from its pages.
 *
 * The source knows what a chunk holds; this file does not. turbined's side of the same:
 * src/engine/slots/slot_table.h.
 */
#ifndef TURBINE_PG_CONVERSATION_SLOTS_H
#define TURBINE_PG_CONVERSATION_SLOTS_H

#include "postgres.h"

#include "storage/block.h"

#include "turbine/wire.h"

#include "pg/conversation/service_query.h"

typedef enum TbSlotState
{
	TB_SLOT_FREE,
	TB_SLOT_READING,   /* sent, not released */
	TB_SLOT_RUNNING,   /* the chunk is complete; its result is due */
	TB_SLOT_DONE,	   /* tb_slots_done() is its result */
	TB_SLOT_HANDED_OUT /* the node still reads rows from its pages */
} TbSlotState;

typedef struct TbSlots TbSlots;

/* Of a query that has begun, in the current memory context. */
extern TbSlots *tb_slots_make(TbServiceQuery *query);

extern uint32 tb_slots_count(const TbSlots *slots);

/* Pages of a chunk at most. */
extern uint32 tb_slots_pages(const TbSlots *slots);

extern char *tb_slots_memory(const TbSlots *slots, uint32 slot);

/* A free slot, or -1. */
extern int tb_slots_find_free(const TbSlots *slots);

/* Chunks sent so far, and those that are not done. */
extern uint64 tb_slots_sent(const TbSlots *slots);
extern uint32 tb_slots_in_flight(const TbSlots *slots);

extern TbSlotState tb_slots_state(const TbSlots *slots, uint32 slot);

/* TB_CHUNK_*, of the last chunk sent. */
extern uint32 tb_slots_kind(const TbSlots *slots, uint32 slot);

/* Whether CHUNK_READ is due. */
extern bool tb_slots_is_unread(const TbSlots *slots, uint32 slot);

/* The result of a chunk that is DONE. */
extern const TbChunkDone *tb_slots_done(const TbSlots *slots, uint32 slot);

/* Whose pages a chunk has. */
typedef struct TbPagesOrigin
{
	uint32 layout;	/* of their tuples */
	uint32 part;	/* that SEGMENTS has told of; 0: none */
	uint64 map_lsn; /* as TbChunk has it */
} TbPagesOrigin;

typedef struct TbRuns
{
	uint32		 count;
	const TbRun *runs;
} TbRuns;

/* Sends CHUNK for a free slot: `npages` pages, of which turbined reads `direct`, and may
 * keep `copied`; `placed`: all others, if the program wants to know blocks. */
extern bool tb_slots_send_pages(TbSlots *slots, uint32 slot, const TbPagesOrigin *origin,
								uint32 npages, TbRuns direct, TbRuns copied, TbRuns placed);

/* The same for blocks that turbined has taken of a part, which it is told to run at once.
 */
extern bool tb_slots_send_segments(TbSlots *slots, uint32 slot, uint32 part,
								   BlockNumber first, uint32 count);

/* The same for a TbColumnsChunk that was written to the slot; it is released at once. */
extern bool tb_slots_send_columns(TbSlots *slots, uint32 slot);

/* Every page of the chunk is good: turbined may use it. `rewritten`: pages of runs are
 * no longer as it has read them. */
extern bool tb_slots_release(TbSlots *slots, uint32 slot, bool rewritten);

/* What a message about a chunk says. */
typedef struct TbSlotEvent
{
	uint32		  type;	   /* TB_MSG_CHUNK_READ or TB_MSG_CHUNK_DONE */
	uint32		  slot;
	TbReadOutcome outcome; /* CHUNK_READ */
} TbSlotEvent;

/* Checks the message and notes it. False if it is none that may come now. */
extern bool tb_slots_take(TbSlots *slots, const TbIncoming *message, TbSlotEvent *event);

/* The backend is through with a chunk that is DONE, or still needs its pages. */
extern void tb_slots_free(TbSlots *slots, uint32 slot);
extern void tb_slots_hand_out(TbSlots *slots, uint32 slot);

#endif
