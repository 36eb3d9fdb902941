/*
 * block_index_scan.h - asks indexes which blocks of a node's table can match.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_BLOCK_INDEX_SCAN_H
#define TURBINE_PG_SOURCE_HEAP_BLOCK_INDEX_SCAN_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/relcache.h"

#include "pg/source/heap/block_set.h"
#include "pg/source/input.h"

typedef struct TbBlockIndexScan
{
	PlanState *index_scan; /* one of custom_ps; NULL: no index is used */
	TbIndexUse use;		   /* for EXPLAIN */
} TbBlockIndexScan;

/* Initializes the index scan `plan`, a child of the node's; NULL: there is none. */
extern void tb_block_index_scan_init(TbBlockIndexScan *scan, CustomScanState *css,
									 Plan *plan, int eflags);

/*
 * The table's blocks that can match, in the current context; NULL: all, no index is
 * used. Evaluates the parameters of the condition, as PostgreSQL's bitmap scans do
 * at their start.
 */
extern TbBlockSet *tb_block_index_scan_run(TbBlockIndexScan *scan, Relation rel);

/* Whether a child plan is one of these; they are not rescanned like others. */
extern bool tb_is_index_scan(const PlanState *child);

/* The next run is with other parameters, or the same. */
extern void tb_block_index_scan_rescan(PlanState *index_scan, Bitmapset *changed);

#endif
