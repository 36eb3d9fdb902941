/*
 * join_stages.c - see join_program.h.
 *
 * Serializes the programs of all sides, those that are probed before those that probe them,
 * and says of each stage what it reads and what work that is. Called by the nodes' plan.c.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "turbine/wire.h"

#include "pg/errors/may_raise.h"
#include "pg/planner/join/join_program_internal.h"
#include "pg/planner/join/late_filters.h"
#include "pg/planner/join/pruning_keys.h"
#include "pg/planner/program/layout_program.h"
#include "pg/shmem/cache_advice.h"

/* Any column will do: it tells which table it is after the planner has
 * renumbered them. */
static Var *
reference_to(const TbJoinSide *side)
{
	return makeVar(side->tree->probe_side->relid, TableOidAttributeNumber, OIDOID, -1,
				   InvalidOid, 0);
}

static void
describe_joins(TbStage *stage, const TbJoinSide *side, double rows)
{
	ListCell *lc;

	foreach(lc, side->joins)
	{
		const TbSideJoin *join = lfirst(lc);

		stage->joins = lappend(stage->joins, join->shown);
		stage->info.work.probes += rows;
		if (join->shown->keys == NIL)
			stage->info.work.candidates += rows * join->join->inner->rows;
		stage->info.work.matches += join->join->rows;
		rows = join->join->rows;
	}
}

/* Where the plan below returns what the program reads. */
static bool
find_source_columns(TbJoinProgram *program, const TbJoinSide *side, TbStage *stage)
{
	ListCell *attnum;

	foreach(attnum, tb_builder_row_columns(side->t.builder))
	{
		int		  found = -1;
		ListCell *lc;

		foreach(lc, stage->source->pathtarget->exprs)
		{
			Var *var = lfirst(lc);

			if (IsA(var, Var) && var->varattno == lfirst_int(attnum))
				found = foreach_current_index(lc);
		}
		if (found < 0)
			return tb_join_program_refuse(
				program, "a column that PostgreSQL's plan does not return");
		stage->source_columns = lappend_int(stage->source_columns, found);
	}
	stage->info.nsource_columns = list_length(stage->source_columns);
	return true;
}

/* Of all leaves. */
static double
cached_share(const TbPartitions *partitions, const TbProgramCost *program)
{
	double	  pages = 0;
	ListCell *lc;

	foreach(lc, partitions->leaves)
	{
		const TbLeaf *leaf = lfirst(lc);

		pages += leaf->rel->pages * tb_cost_cached(leaf->relid, program);
	}
	return pages / Max(partitions->pages, 1);
}

static bool
all_stay(const TbPartitions *partitions, const TbProgramCost *program)
{
	ListCell *lc;

	foreach(lc, partitions->leaves)
		if (!tb_advice_stays(((const TbLeaf *) lfirst(lc))->relid, program->attributes))
			return false;
	return true;
}

/* What reading the partitions takes instead of the table. */
static bool
describe_partitions(TbJoinProgram *program, const TbJoinSide *side, TbStage *stage)
{
	const TbPartitions *partitions = side->tree->partitions;
	TbWork			   *work = &stage->info.work;

	if (partitions == NULL || side->source != NULL)
		return true;
	if (!tb_layout_programs(stage->program, partitions, &stage->layouts,
							&stage->leaf_layouts, &program->reason))
		return false;
	stage->partitions = partitions;
	stage->pruner = tb_partitions_pruner(program->root, side->tree->probe_side, partitions);
	/* PostgreSQL's plan would meet rows that raise. */
	if (!tb_program_raises_before_output(stage->program))
		stage->pruning_keys = side->pruning_keys;
	stage->info.nleaves = list_length(partitions->leaves);
	stage->info.pruned = partitions->pruned;
	work->partitions = stage->info.nleaves;
	work->pages = partitions->pages;
	work->all_visible = partitions->all_visible;
	work->rows = partitions->tuples;
	work->passing = Min(side->tree->probe_side->rows, partitions->tuples);
	work->cached = cached_share(partitions, &work->program);
	work->stays_cached = all_stay(partitions, &work->program);
	return true;
}

/* What BRIN indexes of the partitions leave of them. */
static void
choose_leaf_indexes(PlannerInfo *root, TbStage *stage)
{
	TbWork	 *work = &stage->info.work;
	double	  pages = 0;
	double	  rows = 0;
	bool	  found = false;
	ListCell *lc;

	foreach(lc, stage->partitions->leaves)
	{
		RelOptInfo *leaf = ((TbLeaf *) lfirst(lc))->rel;
		TbWork leaf_work = tb_cost_work(((TbLeaf *) lfirst(lc))->relid, leaf, leaf->rows,
										&work->program);
		TbBrinPath *brin = tb_brin_path_choose(root, leaf, &leaf_work);

		stage->leaf_brins = lappend(stage->leaf_brins, brin);
		found = found || brin != NULL;
		pages += leaf_work.pages;
		rows += leaf_work.rows;
	}
	if (!found)
	{
		stage->leaf_brins = NIL;
		return;
	}
	work->pages = pages;
	work->rows = rows;
	work->passing = Min(work->passing, rows);
}

static bool
finish_side(TbJoinProgram *program, TbJoinSide *side, TbSink sink, List **stages)
{
	TbStage		 *stage = palloc0(sizeof(TbStage));
	RelOptInfo	 *rel = side->tree->probe_side;
	TbProgramCost cost;
	List  *late = side->is_main && program->late_filters != NULL ? *program->late_filters :
																   NIL;
	double factor = tb_late_filters_factor(program->root, late);
	ListCell *lc;

	/* First, for it says which outputs the tables must have. */
	stage->program = tb_builder_finish(side->t.builder, sink, &stage->params, &cost);
	if (stage->program == NULL)
		return tb_join_program_refuse(program, "joins, keys or expressions are too many");
	stage->info.relid = side->relation ? RelationGetRelid(side->relation) : InvalidOid;
	stage->info.join_table = side->join_table;
	stage->info.source_plan = -1;
	stage->info.brin_plan = -1;
	stage->info.needed = side->needed && side->last_full < 0;
	stage->info.pruner = -1;
	stage->info.late_filters = late != NIL;
	stage->info.work = tb_cost_work(stage->info.relid, rel, rel->rows * factor, &cost);
	stage->info.work.may_be_fed = side->source == NULL && rel->fdwroutine == NULL;
	if (side->source != NULL)
	{
		stage->info.work.pages = 0;
		stage->info.work.rows = side->source->rows;
		stage->info.work.passing = side->source->rows;
	}
	if (!describe_partitions(program, side, stage))
		return false;
	if (stage->partitions != NULL)
		choose_leaf_indexes(program->root, stage);
	else if (side->source == NULL)
		stage->brin = tb_brin_path_choose(program->root, rel, &stage->info.work);
	stage->info.work.reaching = side->joins != NIL ? side->tree->rows * factor :
													 stage->info.work.passing;
	if (sink == TB_SINK_BUILD)
		stage->info.work.built = side->tree->rows;
	if (sink == TB_SINK_PROJECT)
		stage->info.work.projected = side->tree->rows;
	stage->source = side->source;
	if (stage->source != NULL && !find_source_columns(program, side, stage))
		return false;
	stage->reference = reference_to(side);
	stage->filters = get_actual_clauses(side->filters);
	describe_joins(stage, side, rel->rows * factor);
	foreach(lc, side->joins)
	{
		TbSideJoin *join = lfirst(lc);

		if (join->join->shared)
			continue;
		tb_builder_keep_outputs(join->inner->t.builder,
								tb_builder_used_outputs(side->t.builder, join->index));
		if (!finish_side(program, join->inner, TB_SINK_BUILD, stages))
			return false;
	}
	*stages = lappend(*stages, stage);
	return true;
}

/* Whether all tables that the stage probes are among those that are built by then. */
static bool
can_run(const TbStage *stage, const Bitmapset *built)
{
	const TbJoin *joins = (const TbJoin *) ((const char *) stage->program +
											stage->program->joins.offset);

	for (uint32 i = 0; i < stage->program->joins.count; i++)
		if (!bms_is_member(joins[i].join_table, built))
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

/* Small tables first: if one of them has no row that passes, the others are not read. The
 * last stage stays the last. */
static List *
order_stages(List *stages)
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

/* A node's first child plan is the kept one. */
static void
number_sources(List *stages)
{
	int		  next = 1;
	ListCell *lc;

	foreach(lc, stages)
	{
		TbStage	 *stage = lfirst(lc);
		ListCell *leaf;

		if (stage->source != NULL)
			stage->info.source_plan = next++;
		if (stage->brin != NULL)
			stage->info.brin_plan = next++;
		foreach(leaf, stage->leaf_brins)
			stage->leaf_brin_plans = lappend_int(stage->leaf_brin_plans,
												 lfirst(leaf) != NULL ? next++ : -1);
		if (stage->pruner != NULL)
			stage->info.pruner = next++;
	}
}

List *
tb_join_program_finish(TbJoinProgram *program, TbSink sink, const char **reason)
{
	List *stages = NIL;

	if (program->ntables > TB_MAX_JOIN_TABLES)
		program->reason = "joins are too many";
	else if (finish_side(program, program->main, sink, &stages))
	{
		stages = order_stages(stages);
		number_sources(stages);
		return stages;
	}
	*reason = program->reason;
	return NIL;
}
