/*
 * pg17.h - what PostgreSQL 17 changed, for code that compiles for older ones, too.
 * See pg16.h for the rules.
 */
#ifndef TURBINE_PG_COMPAT_PG17_H
#define TURBINE_PG_COMPAT_PG17_H

#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#if PG_VERSION_NUM >= 170000
#include "common/file_utils.h" /* PG_TEMP_FILE_PREFIX moved there */
#include "storage/read_stream.h"
#else
#include "storage/fd.h"
#endif

#include "pg/compat/pg16.h"

/* "snapshot too old" was removed: no snapshot loses rows that it may see. */
#if PG_VERSION_NUM >= 170000
#define TB_SNAPSHOTS_GROW_TOO_OLD false
#define TB_TEST_FOR_OLD_SNAPSHOT(snapshot, rel, page) ((void) 0)
#else
#define TB_SNAPSHOTS_GROW_TOO_OLD (old_snapshot_threshold >= 0)
#define TB_TEST_FOR_OLD_SNAPSHOT(snapshot, rel, page) \
	TestForOldSnapshot(snapshot, rel, page)
#endif

/* A set that lives until it is freed: its owner was a memory context, and became a resource
 * owner or none. */
#if PG_VERSION_NUM >= 170000
#define TB_CREATE_WAIT_EVENT_SET(events) CreateWaitEventSet(NULL, events)
#else
#define TB_CREATE_WAIT_EVENT_SET(events) CreateWaitEventSet(TopMemoryContext, events)
#endif

/* Backends are known by the number of their process. */
#if PG_VERSION_NUM < 170000
#define INVALID_PROC_NUMBER InvalidBackendId
#endif

/* Blocks that are known beforehand are read by a stream, which reads ahead of its caller:
 * in larger pieces since 17, asynchronously since 18. Older versions read one after the
 * other. `next` returns InvalidBlockNumber after the last; it may not read, lock or
 * allocate. */
typedef struct TbBlockStream
{
	BlockNumber (*next)(void *data);
	void	   *data;
#if PG_VERSION_NUM >= 170000
	ReadStream *stream;
#else
	Relation			 rel;
	BufferAccessStrategy strategy;
#endif
} TbBlockStream;

#if PG_VERSION_NUM >= 180000
#define TB_BLOCK_STREAM_FLAGS (READ_STREAM_FULL | READ_STREAM_USE_BATCHING)
#else
#define TB_BLOCK_STREAM_FLAGS READ_STREAM_FULL
#endif

#if PG_VERSION_NUM >= 170000
static inline BlockNumber
tb_block_stream_ask(ReadStream *unused, void *data, void *of_buffer)
{
	TbBlockStream *blocks = data;

	return blocks->next(blocks->data);
}
#endif

/* `blocks` stays where it is until the stream ends. Errors end it, too. */
static inline void
tb_block_stream_begin(TbBlockStream *blocks, Relation rel, BufferAccessStrategy strategy,
					  BlockNumber (*next)(void *data), void *data)
{
	blocks->next = next;
	blocks->data = data;
#if PG_VERSION_NUM >= 170000
	blocks->stream = read_stream_begin_relation(TB_BLOCK_STREAM_FLAGS, strategy, rel,
												MAIN_FORKNUM, tb_block_stream_ask, blocks,
												0);
#else
	blocks->rel = rel;
	blocks->strategy = strategy;
#endif
}

/* The next block's buffer, pinned, and counted as ReadBuffer does; InvalidBuffer: that was
 * the last. */
static inline Buffer
tb_block_stream_next(TbBlockStream *blocks)
{
#if PG_VERSION_NUM >= 170000
	return read_stream_next_buffer(blocks->stream, NULL);
#else
	BlockNumber block = blocks->next(blocks->data);

	return block == InvalidBlockNumber ?
		InvalidBuffer :
		ReadBufferExtended(blocks->rel, MAIN_FORKNUM, block, RBM_NORMAL, blocks->strategy);
#endif
}

static inline void
tb_block_stream_end(TbBlockStream *blocks)
{
#if PG_VERSION_NUM >= 170000
	read_stream_end(blocks->stream);
#endif
}

/* Filters by which a window ends early stand in its functions, no longer in its clause, and
 * are made expressions when paths are made. `functions`: the window's WindowFuncs. */
static inline List *
tb_window_run_conditions(const WindowClause *clause, List *functions)
{
#if PG_VERSION_NUM >= 170000
	List	 *result = NIL;
	ListCell *lc;
	ListCell *of_function;

	foreach(lc, functions)
	{
		WindowFunc *function = lfirst_node(WindowFunc, lc);

		foreach(of_function, function->runCondition)
		{
			WindowFuncRunCondition *condition = lfirst_node(WindowFuncRunCondition,
															of_function);
			Expr				   *call = copyObject((Expr *) function);
			Expr				   *bound = copyObject(condition->arg);

			result = lappend(result,
							 make_opclause(condition->opno, BOOLOID, false,
										   condition->wfunc_left ? call : bound,
										   condition->wfunc_left ? bound : call, InvalidOid,
										   condition->inputcollid));
		}
	}
	return result;
#else
	return clause->runCondition;
#endif
}

#if PG_VERSION_NUM < 170000
#define create_windowagg_path(root, rel, input, target, functions, conditions, clause, \
							  quals, top) \
	create_windowagg_path(root, rel, input, target, functions, clause, quals, top)
#endif

/* Looks up statistics of expressions, so it needs the planner's state, and returns a
 * double. */
#if PG_VERSION_NUM < 170000
#define estimate_array_length(root, array) estimate_array_length(array)
#endif

#endif
