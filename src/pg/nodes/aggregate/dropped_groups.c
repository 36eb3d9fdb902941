/*
 * dropped_groups.c - see dropped_groups.h. Called by the planning of GpuPreAgg and GpuSort.
 *
 * A condition without an estimate is left to PostgreSQL, if it can be evaluated for some
 * groups alone: what may raise an error, or is volatile, must see all of them. It must
 * never decide that a group passes.
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "pg/nodes/aggregate/dropped_groups.h"
#include "pg/nodes/results/estimate.h"

static TbResultColumns
columns_of(const TbAggAnalysis *analysis)
{
	TbResultColumns columns = {NIL, NIL};
	ListCell	   *lc;

	foreach(lc, analysis->scan_tlist)
		tb_result_columns_add(&columns, lfirst_node(TargetEntry, lc)->expr,
							  &analysis->outputs[foreach_current_index(lc)]);
	return columns;
}

bool
tb_dropped_groups_add(const TbAggAnalysis *analysis, TbResultBuilder *builder)
{
	TbResultColumns columns = columns_of(analysis);
	List		   *estimates = NIL;
	ListCell	   *lc;

	if (analysis->keys == NIL || analysis->folds || analysis->nsets > 0)
		return false;
	foreach(lc, tb_preagg_quals(analysis))
	{
		List *steps = tb_estimate_steps(&columns, lfirst(lc));

		if (steps != NIL)
			estimates = lappend(estimates, steps);
		else if (contain_leaked_vars(lfirst(lc)) || contain_volatile_functions(lfirst(lc)))
			return false;
	}
	foreach(lc, estimates)
		tb_result_add_estimate(builder, TB_ESTIMATE_OF_CONDITION, 0, lfirst(lc));
	return estimates != NIL;
}

TbResultPlan *
tb_dropped_groups_result(const TbAggAnalysis *analysis)
{
	const TbStage	*last = llast(analysis->stages);
	TbResultBuilder *builder = tb_result_create(last->program->keys.count +
												last->program->aggs.count);

	return tb_dropped_groups_add(analysis, builder) ? tb_result_finish(builder) : NULL;
}
