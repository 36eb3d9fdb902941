/*
 * brin_scan.h - asks BRIN indexes which blocks of a node's table can match.
 */
#ifndef TURBINE_PG_BRIN_SCAN_H
#define TURBINE_PG_BRIN_SCAN_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "utils/relcache.h"

#include "pg/source/heap/block_set.h"

typedef struct TbBrinScan
{
	PlanState *index_scan; /* one of custom_ps; NULL: no index is used */
	bool	   ran;

	/* EXPLAIN: of the last run */
	uint64 blocks; /* of the table */
	uint64 skipped;
} TbBrinScan;

/* Initializes the node's child plan of that number; -1: there is none. */
extern void tb_brin_scan_init(TbBrinScan *scan, CustomScanState *css, int child,
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

/* "BRIN cond", and in ANALYZE "BRIN skipped"; `prefix` is put before both. */
extern void tb_brin_scan_explain(const TbBrinScan *scan, const char *prefix,
								 List *condition, PlanState *node, List *ancestors,
								 ExplainState *es);

#endif
