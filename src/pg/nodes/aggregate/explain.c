/*
 * explain.c - GpuPreAgg: what EXPLAIN shows.
 *
 * Called by PostgreSQL's EXPLAIN through the node's methods. It must show the same with
 * and without ANALYZE, apart from figures, and run nothing.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "utils/lsyscache.h"

#include "pg/nodes/aggregate/gpu_preagg.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/node_explain.h"
#include "pg/stage/stage_explain.h"

/* Keys come first in the scan tuple. */
static List *
key_exprs(const CustomScan *plan, int begin, int end)
{
	List *keys = NIL;

	for (int i = begin; i < end; i++)
		keys = lappend(keys, list_nth_node(TargetEntry, plan->custom_scan_tlist, i)->expr);
	return keys;
}

/* A list of keys for each set, as PostgreSQL shows them. */
static void
explain_sets(const TbGroupingSets *sets, List *keys, ExplainState *es)
{
	ExplainOpenGroup("Grouping Sets", "Grouping Sets", false, es);
	for (int set = 0; set < sets->nsets; set++)
	{
		List	 *texts = NIL;
		ListCell *lc;

		foreach(lc, keys)
			if (sets->sets[set] & (UINT64CONST(1) << foreach_current_index(lc)))
				texts = lappend(texts, lfirst(lc));
		if (texts == NIL && es->format == EXPLAIN_FORMAT_TEXT)
			ExplainPropertyText("Group Key", "()", es);
		else
			ExplainPropertyListNested("Group Key", texts, es);
	}
	ExplainCloseGroup("Grouping Sets", "Grouping Sets", false, es);
}

void
tb_preagg_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	TbPreAggState *node = (TbPreAggState *) css;
	CustomScan	  *plan = (CustomScan *) css->ss.ps.plan;
	uint32		   nkeys = node->program->keys.count;

	ExplainPropertyText("Reduction", nkeys == 0 ? "NoGroup" : "Local", es);
	if (node->cursor.run->nstages > 1)
		ExplainPropertyText("Combined GpuJoin", "enabled", es);
	else
		ExplainPropertyText("Scan On", get_rel_name(linitial_oid(tb_private_relids(plan))),
							es);
	if (node->sets != NULL && node->sets->ndistincts > 0)
	{
		tb_explain_list("Group Key", key_exprs(plan, 0, nkeys - 1), &css->ss.ps, ancestors,
						es);
		tb_explain_list("Distinct Key", key_exprs(plan, nkeys - 1, nkeys), &css->ss.ps,
						ancestors, es);
	}
	else if (node->sets != NULL)
		explain_sets(node->sets,
					 tb_explain_texts(key_exprs(plan, 0, nkeys), &css->ss.ps, ancestors,
									  es),
					 es);
	else
		tb_explain_list("Group Key", key_exprs(plan, 0, nkeys), &css->ss.ps, ancestors, es);
	tb_explain_run(&node->cursor, ancestors, es);
}
