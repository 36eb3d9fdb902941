/*
 * stage_order.c - see stage_order.h.
 *
 * Small tables come first: if one of them has no row that passes, the others are not read.
 * Called by join_program.c, once the programs of all sides are stages.
 */
#include "postgres.h"

#include "optimizer/cost.h"

#include "pg/planner/join/stage_order.h"
#include "pg/planner/program/stage.h"

/* Whether all tables that the stage probes are among those that are built by then. */
static bool
can_run(const TbStage *stage, const Bitmapset *built)
{
	const TbJoin *joins = (const TbJoin *) ((const char *) stage->program +
											stage->program->joins.offset);

	for (uint32 i = 0; i < stage->program->joins.count; i++)
		if (joins[i].kind != TB_JOIN_SERIES && !bms_is_member(joins[i].join_table, built))
			return false;
	return true;
}

/* What building its table takes, roughly: in rows of a table. */
static double
effort(const TbStage *stage)
{
	return stage->source != NULL ? stage->source->total_cost / Max(cpu_tuple_cost, 1e-6) :
								   stage->info.work.rows;
}

List *
tb_order_stages(List *stages)
{
	List	  *left = list_copy_head(stages, list_length(stages) - 1);
	List	  *result = NIL;
	Bitmapset *built = NULL;

	while (left != NIL)
	{
		TbStage	 *least = NULL;
		ListCell *lc;

		foreach(lc, left)
		{
			TbStage *stage = lfirst(lc);

			if (can_run(stage, built) && (least == NULL || effort(stage) < effort(least)))
				least = stage;
		}
		Assert(least != NULL);
		left = list_delete_ptr(left, least);
		built = bms_add_member(built, least->info.join_table);
		result = lappend(result, least);
	}
	bms_free(built);
	return lappend(result, llast(stages));
}

void
tb_number_sources(List *stages)
{
	int		  next = 1;
	ListCell *lc;

	foreach(lc, stages)
	{
		TbStage	 *stage = lfirst(lc);
		ListCell *leaf;

		if (stage->source != NULL)
			stage->info.source_plan = next++;
		if (stage->block_index != NULL)
			stage->info.index_plan = next++;
		foreach(leaf, stage->leaf_indexes)
			stage->leaf_index_plans = lappend_int(stage->leaf_index_plans,
												  lfirst(leaf) != NULL ? next++ : -1);
		if (stage->pruner != NULL)
			stage->info.pruner = next++;
	}
}
