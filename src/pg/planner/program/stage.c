/*
 * stage.c - see stage.h.
 *
 * Called by the planning of all nodes that run stages. Lists child plans in one order,
 * which custom_private's numbers rely on.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "pg/planner/postgres/postgres_time.h"
#include "pg/planner/program/stage.h"
#include "pg/settings/guc.h"
#include "pg/source/heap/feeders/feeder_count.h"
#include "turbine/wire.h"

static Cost
cost_of_leaf_indexes(const TbStage *stage)
{
	Cost	  cost = 0;
	ListCell *lc;

	foreach(lc, stage->leaf_indexes)
		if (lfirst(lc) != NULL)
			cost += ((TbBlockIndex *) lfirst(lc))->cost;
	return cost;
}

Cost
tb_cost_stages(List *stages)
{
	Cost	  cost = 0;
	ListCell *lc;

	foreach(lc, stages)
	{
		const TbStage *stage = lfirst(lc);

		if (stage->source != NULL)
			cost += stage->source->total_cost +
				stage->source->rows * tb_cost_returned_row();
		if (stage->block_index != NULL)
			cost += stage->block_index->cost;
		cost += cost_of_leaf_indexes(stage);
		cost += lnext(stages, lc) != NULL ? tb_cost_build(&stage->info.work) :
											tb_cost_run(&stage->info.work);
	}
	return cost;
}

static Cost
cost_of_program(const TbWork *work, bool is_last)
{
	return is_last ? tb_cost_run(work) : tb_cost_build(work);
}

uint32
tb_stage_device(const TbStageInfo *info, bool sent, bool builds)
{
	const char *reason;
	uint32		device = TB_DEVICE_HOST;

	/* Rows that are sent lie in the host's memory. */
	if (sent)
		return TB_DEVICE_HOST;
	if (builds)
		return tb_build_device(&info->work);
	(void) tb_choose_device(&info->work, &device, &reason);
	return device;
}

double
tb_stage_overcharged_us(const TbWork *work, bool is_last, bool later)
{
	double us = tb_cost_kept_compilation_us(work, !is_last, later);
	TbWork cached = *work;

	if (!later || !tb_guc_enable_cache)
		return us;
	cached.cached = cached.cacheable;
	return us +
		(cost_of_program(work, is_last) - cost_of_program(&cached, is_last)) *
		TB_US_PER_UNIT;
}

double
tb_stages_us(PlannerInfo *root, List *stages, Cost cost, bool later)
{
	double	  us = (cost - tb_cost_disabled(stages)) * TB_US_PER_UNIT;
	ListCell *lc;

	foreach(lc, stages)
	{
		const TbStage *stage = lfirst(lc);

		if (stage->source != NULL)
			us += tb_postgres_plan_us(root, stage->source) -
				stage->source->total_cost * TB_US_PER_UNIT;
		us -= tb_stage_overcharged_us(&stage->info.work, lnext(stages, lc) == NULL, later);
	}
	return us;
}

bool
tb_stages_stay_in_memory(List *stages)
{
	double	  pages = 0;
	ListCell *lc;

	foreach(lc, stages)
		pages += ((const TbStage *) lfirst(lc))->info.work.pages;
	return pages <= effective_cache_size;
}

bool
tb_stages_stay_cached(List *stages)
{
	ListCell *lc;

	foreach(lc, stages)
		if (!((const TbStage *) lfirst(lc))->info.work.stays_cached)
			return false;
	return true;
}

List *
tb_stage_sources(List *stages)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, stages)
	{
		TbStage	 *stage = lfirst(lc);
		ListCell *leaf;

		if (stage->source != NULL)
			result = lappend(result, stage->source);
		if (stage->block_index != NULL)
			result = lappend(result, stage->block_index->path);
		foreach(leaf, stage->leaf_indexes)
			if (lfirst(leaf) != NULL)
				result = lappend(result, ((TbBlockIndex *) lfirst(leaf))->path);
		if (stage->pruner != NULL)
			result = lappend(result, stage->pruner);
	}
	return result;
}

/* Of partitions the first one's condition is shown. */
static void
keep_index_plan(TbStage *stage, List *plans, int number)
{
	ListCell *child = list_nth_cell(plans, number);
	List	 *condition;

	lfirst(child) = tb_block_index_plan(lfirst(child), &condition);
	if (stage->index_condition == NIL)
		stage->index_condition = condition;
}

List *
tb_stage_plans(List *stages, List *plans)
{
	List	 *result = list_copy(plans);
	ListCell *lc;

	foreach(lc, stages)
	{
		TbStage	 *stage = lfirst(lc);
		ListCell *leaf;

		if (stage->block_index != NULL)
			keep_index_plan(stage, result, stage->info.index_plan);
		foreach(leaf, stage->leaf_index_plans)
			if (lfirst_int(leaf) >= 0)
				keep_index_plan(stage, result, lfirst_int(leaf));
	}
	return result;
}

Cost
tb_cost_disabled(List *stages)
{
	Cost	  cost = 0;
	ListCell *lc;

	foreach(lc, stages)
	{
		const TbStage *stage = lfirst(lc);
		ListCell	  *join;

		if (!enable_seqscan && stage->source == NULL && stage->block_index == NULL &&
			stage->leaf_indexes == NIL)
			cost += disable_cost;
		foreach(join, stage->joins)
		{
			bool hashes = ((TbStageJoin *) lfirst(join))->keys != NIL;

			if (!(hashes ? enable_hashjoin : enable_nestloop))
				cost += disable_cost;
		}
	}
	return cost;
}
