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

#include "pg/source/heap/heap_parts.h"
#include "pg/source/run_stats.h"

/* What is in the parallel context, for the workers: keys of its table of contents. */
#define TB_FEEDER_KEY_QUEUE UINT64CONST(0x7475726200000001)
#define TB_FEEDER_KEY_PARTS UINT64CONST(0x7475726200000002)
#define TB_FEEDER_KEY_BUFFERS UINT64CONST(0x7475726200000003)
#define TB_FEEDER_KEY_WAL UINT64CONST(0x7475726200000004)
#define TB_FEEDER_KEY_QUERY UINT64CONST(0x7475726200000005)

/* A relation of the query, by its number there. */
typedef struct TbFeederPart
{
	Oid			relid;
	BlockNumber blocks_to_read;
} TbFeederPart;

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

#endif
