/*
 * source.h - what feeds a program in one run: the interface of all sources. Inputs open
 * them (input.h).
 *
 * A source puts chunks into slots: pages of a heap relation, or columns. program_run.c
 * drives it. The source decides what goes into the next chunk, and sends it.
 *
 * To add a source, make a folder beside heap/ and plan_rows/, embed TbSource as the first
 * member of the source's struct, and fill in the methods. If the service has to read the
 * input, the source's other half is a folder in src/engine/source. GpuScan alone does not
 * come through here (heap/heap_scan.h), because its rows are tuples that the backend
 * holds.
 *
 * A method that returns bool returns false only after the service was lost, or was given
 * up with tb_service_query_give_up(). Nothing is sent then. Methods raise PostgreSQL's
 * own errors only.
 */
#ifndef TURBINE_PG_SOURCE_SOURCE_H
#define TURBINE_PG_SOURCE_SOURCE_H

#include "postgres.h"

#include "pg/source/run_stats.h"
#include "pg/conversation/service_query.h"
#include "pg/conversation/slots.h"

typedef struct TbSource TbSource;

/* How much input there is, for the service to plan its slots. */
typedef struct TbInputSize
{
	uint64 nblocks; /* 0: not blocks */
	bool   copied;	/* the backend writes most of them itself */
} TbInputSize;

typedef enum TbSourceFill
{
	TB_FILL_SENT,	 /* a chunk was sent */
	TB_FILL_NOTHING, /* nothing can be sent now; the end of the input, if
					  * nothing is in flight */
	TB_FILL_LOST	 /* as the others' false */
} TbSourceFill;

typedef enum TbSourceHelp
{
	TB_HELP_DONE,	/* did some work that was left to other processes */
	TB_HELP_THEIRS, /* other processes are at work: poll() tells */
	TB_HELP_NONE	/* there are no other processes */
} TbSourceHelp;

typedef struct TbSourceMethods
{
	/* Before QUERY, on the open connection: sends what the input refers to. */
	bool (*announce)(TbSource *source, TbServiceQuery *query, TbInputSize *size);

	/* Right behind QUERY: sends what needs no slots. May be NULL. */
	bool (*ask)(TbSource *source, TbServiceQuery *query);

	/* READY has come: there are slots. */
	bool (*begin)(TbSource *source, TbServiceQuery *query, TbSlots *slots);

	/* The input begins and ends, within one call of the node. Parallel workers live no
	 * longer than that. `abandon`: what is not filled yet is of no use any more. Both may
	 * be NULL. */
	void (*begin_input)(TbSource *source);
	void (*end_input)(TbSource *source, bool abandon);

	/* Whether the service knows that the input has ended, once it has. May be NULL: no. */
	bool (*ended)(const TbSource *source);

	/* Sends the next chunk in this free slot; -1: none is free, so that only what needs
	 * none can be done. */
	TbSourceFill (*fill)(TbSource *source, int slot);

	/* turbined has read the runs of the slot's chunk. NULL: sends none. */
	bool (*chunk_read)(TbSource *source, uint32 slot, TbReadOutcome outcome);

	/* The chunk is DONE; the source takes what it needs and frees the slot. */
	bool (*chunk_done)(TbSource *source, uint32 slot);

	/* Takes in what other processes have done; *any: there was something. NULL: there
	 * are none. */
	bool (*poll)(TbSource *source, bool *any);

	/* Nothing can be sent: helps other processes. NULL: there are none. */
	TbSourceHelp (*help)(TbSource *source);

	/* Its part of the run's statistics, which are zero before. May be NULL. */
	void (*report)(const TbSource *source, TbRunStats *stats);

	/* The input was read to its end: PostgreSQL's statistics are told. May be NULL. */
	void (*count_rows)(TbSource *source);

	/* Lets go of everything. May be NULL. */
	void (*end)(TbSource *source);
} TbSourceMethods;

struct TbSource
{
	const TbSourceMethods *methods;
};

#endif
