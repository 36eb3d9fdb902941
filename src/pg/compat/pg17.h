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
