/*
 * heap_query.h - one program run over one heap relation: the only door from
 * plan nodes to the engine.
 *
 * The query drives blocks through slots of shared memory (see wire.h),
 * classifying each as direct or buffered under the visibility protocol, and
 * hands the node what comes back. It never raises for a device's sake: what
 * the engine can not do comes back as something for the node to evaluate
 * itself (ROWS) or as a fallback (the other sinks). PostgreSQL's own errors (cancel,
 * I/O, serialization failures) are raised as ever, and everything held is
 * released by the resource owner.
 */
#ifndef TURBINE_PG_HEAP_QUERY_H
#define TURBINE_PG_HEAP_QUERY_H

#include "postgres.h"

#include "access/htup.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "turbine/params.h"
#include "turbine/program.h"
#include "turbine/result.h"
#include "turbine/wire.h"

#include "pg/source/heap/block_set.h"
#include "pg/source/service/stage_connection.h"
#include "pg/profile/profile.h"

typedef struct TbHeapQuery TbHeapQuery;

/* One of the relations that a partitioned table is read as. */
typedef struct TbHeapPart
{
	Relation	rel;
	uint32		layout;				/* 0: the program's own; else 1 + index into the
									 * spec's layouts */
	const TbBlockSet *blocks;		/* all that is read of it; NULL: all */
} TbHeapPart;

/* The program's columns as they lie in other tuples; see LAYOUT in wire.h. */
typedef struct TbHeapLayout
{
	const TbProgram *program;
	const TbParamBlock *params;
} TbHeapLayout;

/* What to run; the caller's memory stays valid until tb_heap_query_end. */
typedef struct TbHeapQuerySpec
{
	const TbProgram *program;
	const TbParamBlock *params;
	const TbResultPlan *result;		/* AGGREGATE, PROJECT: what is done with the
									 * results before they come back, or NULL */
	bool		in_parallel_mode;	/* all of the statement: else ROWS are not fed by
									 * parallel workers */
	uint32		device;				/* wire.h: index or TB_ANY_DEVICE */
	double		estimated_rows;
	double		engine_us;			/* of processors, that computing takes in sum */
	double		estimated_groups;	/* or rows kept: BUILD, PROJECT */
	TbProfile  *profile;			/* of the node, or NULL */
	TbSession  *session;			/* several queries on one connection; NULL: a
									 * connection for this query alone */
	uint32		table;				/* BUILD: the table's number */
	const TbBlockSet *blocks;		/* of the table: all that is read; NULL: all of it */
	const TbHeapPart *parts;		/* of a partitioned table, not for ROWS: what is
									 * read in its place. NULL: the table itself */
	int			nparts;
	const TbHeapLayout *layouts;
	int			nlayouts;
	/* AGGREGATE: fills the program's columns of a row that the engine deferred
	 * is done by the query itself from the tuple, detoasting. */
} TbHeapQuerySpec;

/*
 * Starts the query. ROWS: always returns a query; where the service can not
 * run it, chunks come back with `evaluate` set. Other sinks: returns NULL and
 * fills *why if it can not start.
 */
extern TbHeapQuery *tb_heap_query_begin(Relation rel, Snapshot snapshot,
										const TbHeapQuerySpec *spec,
										TbFailure *why);

/*
 * ROWS: the next chunk of visible tuples. Chunks come in block order.
 * Row ids refer to the chunk's pages; `evaluate` says that the engine did not
 * filter this chunk: `rowids` then lists EVERY visible tuple and the node
 * evaluates the device's quals itself. Else `rowids` are those that passed,
 * and `deferred` those that the node must evaluate.
 */
typedef struct TbRowChunk
{
	bool		evaluate;
	uint32		verdict;			/* TB_ERR_*, why; 0 with evaluate: no service */
	uint32		nrows;
	const uint32 *rowids;
	uint32		ndeferred;
	const uint32 *deferred;
	uint64		rows_in;
} TbRowChunk;
extern bool tb_heap_query_next_chunk(TbHeapQuery *query, TbRowChunk *chunk);

/* ROWS: no further chunk will be asked for. Parallel workers end; the current chunk
 * stays. */
extern void tb_heap_query_shut_down(TbHeapQuery *query);

/* The tuple of a row id of the current chunk, copied (palloc'd in `tuple`'s
 * buffer, reused by the next call); t_self and t_tableOid are set. */
extern HeapTuple tb_heap_query_tuple(TbHeapQuery *query, uint32 rowid);

/* BUILD: runs the input to its end; the table is with the session then. False,
 * with *why, if it could not be built. */
extern bool tb_heap_query_build(TbHeapQuery *query, TbFailure *why);

/*
 * AGGREGATE, PROJECT: runs the input to its end on the first call, then returns
 * batches of groups or rows, valid until the next call. Offsets in `groups` have been
 * bounds-checked, text views too.
 */
typedef enum TbGroupsResult
{
	TB_GROUPS_BATCH,				/* *groups is a batch */
	TB_GROUPS_END,
	TB_GROUPS_FALLBACK				/* nothing was returned yet: run PostgreSQL's
									 * plan; *why says why */
} TbGroupsResult;
extern TbGroupsResult tb_heap_query_next_groups(TbHeapQuery *query,
												const TbGroups **groups,
												TbFailure *why);

/* For EXPLAIN; valid until end. */
typedef struct TbHeapQueryStats
{
	TbReady		ready;				/* device, compile time, ...; zero if local */
	TbQueryDone done;				/* zero until the query is done */
	char		device_name[64];
	uint64		blocks_buffered;
	uint64		blocks_direct;
	uint64		blocks_moved;		/* direct, then read again: they or others of their
								 * chunk had moved */
	uint64		blocks_fed;			/* of the buffered ones, by feeders */
	uint32		feeders_planned;
	uint32		feeders_launched;
	uint64		rows_deferred;
	uint64		chunks_evaluated;	/* ROWS: by the node */
	TbFallback	fallback;			/* last reason, or NONE */
	char		fallback_message[240];
} TbHeapQueryStats;
extern const TbHeapQueryStats *tb_heap_query_stats(TbHeapQuery *query);

/* Of the spec's parts, or of the table as the only one; valid until end. */
typedef struct TbPartStats
{
	uint64		blocks_buffered;
	uint64		blocks_direct;
	uint64		rows;				/* read */
} TbPartStats;
extern TbPartStats tb_heap_query_part_stats(TbHeapQuery *query, int part);

/* Rescan from the first block with other parameters (or the same). */
extern void tb_heap_query_end(TbHeapQuery *query);

#endif
