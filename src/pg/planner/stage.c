/*
 * stage.c - see stage.h.
 */
#include "postgres.h"

#include "optimizer/cost.h"

#include "pg/planner/stage.h"

Cost
tb_cost_stages(List *stages)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, stages)
	{
		const TbStage *stage = lfirst(lc);

		if (stage->source != NULL)
			cost += stage->source->total_cost +
				stage->source->rows * tb_cost_returned_row();
		if (stage->brin != NULL)
			cost += stage->brin->cost;
		cost += lnext(stages, lc) != NULL ? tb_cost_build(&stage->info.work) :
			tb_cost_run(&stage->info.work);
	}
	return cost;
}

List *
tb_stage_sources(List *stages)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, stages)
	{
		TbStage    *stage = lfirst(lc);

		if (stage->source != NULL)
			result = lappend(result, stage->source);
		if (stage->brin != NULL)
			result = lappend(result, stage->brin->path);
		if (stage->pruner != NULL)
			result = lappend(result, stage->pruner);
	}
	return result;
}

List *
tb_stage_plans(List *stages, List *plans)
{
	List	   *result = list_copy(plans);
	ListCell   *lc;

	foreach(lc, stages)
	{
		TbStage    *stage = lfirst(lc);
		ListCell   *child;

		if (stage->brin == NULL)
			continue;
		child = list_nth_cell(result, stage->info.brin_plan);
		lfirst(child) = tb_brin_index_plan(lfirst(child), &stage->brin_condition);
	}
	return result;
}

Cost
tb_cost_disabled(List *stages)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, stages)
	{
		const TbStage *stage = lfirst(lc);
		ListCell   *join;

		if (!enable_seqscan && stage->source == NULL && stage->brin == NULL)
			cost += disable_cost;
		foreach(join, stage->joins)
		{
			bool		hashes = ((TbStageJoin *) lfirst(join))->keys != NIL;

			if (!(hashes ? enable_hashjoin : enable_nestloop))
				cost += disable_cost;
		}
	}
	return cost;
}
