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
#ifndef TURBINE_PG_FEEDERS_H
#define TURBINE_PG_FEEDERS_H

#include "postgres.h"

#include "pg/source/heap/query_state.h"

/* What is in the parallel context, for the workers: keys of its table of contents. */
#define TB_FEEDER_KEY_QUEUE		UINT64CONST(0x7475726200000001)
#define TB_FEEDER_KEY_PARTS		UINT64CONST(0x7475726200000002)
#define TB_FEEDER_KEY_BUFFERS	UINT64CONST(0x7475726200000003)
#define TB_FEEDER_KEY_WAL		UINT64CONST(0x7475726200000004)
#define TB_FEEDER_KEY_QUERY		UINT64CONST(0x7475726200000005)

/* A relation of the query, by its number there. */
typedef struct TbFeederPart
{
	Oid			relid;
	BlockNumber blocks_to_read;
} TbFeederPart;

/* Starts workers for the started query if they are worth it; query->feeders is NULL
 * if not. They end with tb_feeders_end, or with the (sub)transaction. */
extern void tb_feeders_begin(TbHeapQuery *query);

/* Leaves the page of a slot's chunk to whoever is first to take it; tb_feeders_fill,
 * after the last one, makes them known. */
extern void tb_feeders_add(TbHeapQuery *query, int slot, uint32 page);
extern void tb_feeders_fill(TbHeapQuery *query, int slot);

/* Whether every page that was left to them is there. */
extern bool tb_feeders_filled(TbHeapQuery *query, int slot);

/* Fills some pages here; false if there is nothing that the leader should fill. */
extern bool tb_feeders_help(TbHeapQuery *query);

/* No further chunk has pages for them: they may go. */
extern void tb_feeders_no_more(TbHeapQuery *query);

/* Waits for the workers' end, and raises what they raised. `abandon`: what they have
 * not filled yet is of no use any more. Nothing without feeders. */
extern void tb_feeders_end(TbHeapQuery *query, bool abandon);

#endif
