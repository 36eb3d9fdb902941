/*
 * brin_scan.h - asks BRIN indexes which blocks of a node's table can match.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_BRIN_SCAN_H
#define TURBINE_PG_SOURCE_HEAP_BRIN_SCAN_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/relcache.h"

#include "pg/source/heap/block_set.h"
#include "pg/source/input.h"

typedef struct TbBrinScan
{
	PlanState *index_scan; /* one of custom_ps; NULL: no index is used */
	TbIndexUse use;		   /* for EXPLAIN */
} TbBrinScan;

/* Initializes the index scan `plan`, a child of the node's; NULL: there is none. */
extern void tb_brin_scan_init(TbBrinScan *scan, CustomScanState *css, Plan *plan,
							  int eflags);

/*
 * The table's blocks that can match, in the current context; NULL: all, no index is
 * used. Evaluates the parameters of the condition, as PostgreSQL's bitmap scans do
 * at their start.
 */
extern TbBlockSet *tb_brin_scan_run(TbBrinScan *scan, Relation rel);

/* Whether a child plan is one of these; they are not rescanned like others. */
extern bool tb_is_index_scan(const PlanState *child);

/* The next run is with other parameters, or the same. */
extern void tb_brin_scan_rescan(PlanState *index_scan, Bitmapset *changed);

#endif
