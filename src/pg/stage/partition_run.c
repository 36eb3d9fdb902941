/*
 * partition_run.c - see partition_run.h.
 *
 * PostgreSQL prunes. One of the node's child plans is an Append of the leaves, which is
 * never initialized. What it carries is evaluated here, as nodeAppend.c would. Leaves are
 * numbered in that plan's order. Pruning by join tables goes by the leaves' constraints
 * (leaf_exclusion.c); stage_run.c knows the tables. The executor closes relations. Called
 * by stage_run.c.
 *
 * Must look at parameters in tb_partition_run_choose only: to compute them may raise.
 */
#include "postgres.h"

#include "access/attmap.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "pg/conversation/stage_connection.h"
#include "pg/stage/leaf_exclusion.h"
#include "pg/convert/param_block.h"
#include "pg/stage/partition_run.h"
#include "pg/stage/plan_private.h"

static void
take_layouts(TbPartitionRun *run, CustomScanState *css, int stage)
{
	CustomScan *plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);

	run->leaf_layouts = tb_private_leaf_layouts(plan, stage);
	run->nlayouts = tb_private_nlayouts(plan, stage);
	run->layouts = palloc(sizeof(TbProgram *) * Max(run->nlayouts, 1));
	run->layout_params = palloc(sizeof(List *) * Max(run->nlayouts, 1));
	for (int i = 0; i < run->nlayouts; i++)
	{
		List *params;

		run->layouts[i] = tb_private_layout(plan, stage, i, &params);
		run->layout_params[i] = ExecInitExprList(params, &css->ss.ps);
	}
}

/* What the Append carries; NULL if PostgreSQL has dropped it, as it does of one
 * child. */
static PartitionPruneInfo *
prune_info(const CustomScan *plan, int index)
{
	Plan *pruner = index < 0 ? NULL : list_nth(plan->custom_plans, index);

	return pruner != NULL && IsA(pruner, Append) ? ((Append *) pruner)->part_prune_info :
												   NULL;
}

/* A node that the pruning expressions can belong to: it gets an expression context
 * of its own. */
static PlanState *
stand_in(CustomScanState *css, int index)
{
	AppendState *state = makeNode(AppendState);

	state->ps.plan = list_nth(tb_stages_plan((CustomScan *) css->ss.ps.plan)->custom_plans,
							  index);
	state->ps.state = css->ss.ps.state;
	return &state->ps;
}

static int
list_members(Bitmapset *set, int *members)
{
	int count = 0;
	int member = -1;

	while ((member = bms_next_member(set, member)) >= 0)
		members[count++] = member;
	return count;
}

static void
take_pruning_keys(TbPartitionRun *run, const CustomScan *plan, int stage)
{
	run->npruning_keys = tb_private_npruning_keys(plan, stage);
	run->pruning_keys = palloc(sizeof(TbPruningRun) * Max(run->npruning_keys, 1));
	for (int i = 0; i < run->npruning_keys; i++)
		run->pruning_keys[i].key =
			tb_private_pruning_key(plan, stage, i, &run->pruning_keys[i].leaf_attnums);
	run->constraints = palloc0(sizeof(List *) * run->nleaves);
	run->constraint_known = palloc0(sizeof(bool) * run->nleaves);
}

/* Of the leaves that are left. */
static void
init_index_scans(TbPartitionRun *run, CustomScanState *css, int stage, int eflags)
{
	int32 *plans = tb_private_leaf_brins(tb_stages_plan((CustomScan *) css->ss.ps.plan),
										 stage);

	run->blocks = palloc0(sizeof(TbBlockSet *) * run->nleaves);
	if (plans == NULL)
		return;
	run->brins = palloc0(sizeof(TbBrinScan) * run->nleaves);
	for (int i = 0; i < run->nvalid; i++)
		tb_brin_scan_init(&run->brins[run->valid[i]], css, plans[run->valid[i]], eflags);
}

TbPartitionRun *
tb_partition_run_make(CustomScanState *css, int stage, int eflags)
{
	CustomScan		   *plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);
	TbStageInfo			info = tb_private_stage(plan, stage);
	List			   *rtis = tb_private_notes(plan, stage).leaves;
	PartitionPruneInfo *pruning = prune_info(plan, info.pruner);
	TbPartitionRun	   *run = palloc0(sizeof(TbPartitionRun));
	Bitmapset		   *valid = NULL;
	ListCell		   *lc;

	run->estate = css->ss.ps.state;
	run->rtis = palloc(sizeof(Index) * list_length(rtis));
	foreach(lc, rtis)
		run->rtis[run->nleaves++] = lfirst_int(lc);
	run->valid = palloc(sizeof(int) * run->nleaves);
	run->read = palloc(sizeof(int) * run->nleaves);
	run->stats = palloc0(sizeof(TbPartStats) * run->nleaves);
	run->files = palloc0(sizeof(TbFileTable *) * run->nleaves);
	take_layouts(run, css, stage);
	take_pruning_keys(run, plan, stage);
	if (pruning != NULL)
		run->prune = ExecInitPartitionPruning(stand_in(css, info.pruner), run->nleaves,
											  pruning, &valid);
	else
		valid = bms_add_range(NULL, 0, run->nleaves - 1);
	run->nvalid = list_members(valid, run->valid);
	init_index_scans(run, css, stage, eflags);
	return run;
}

static Relation
leaf_relation(const TbPartitionRun *run, int leaf)
{
	Assert(leaf >= 0 && leaf < run->nleaves);
	return ExecGetRangeTableRelation(run->estate, run->rtis[leaf]);
}

void
tb_partition_run_list_files(TbPartitionRun *run)
{
	for (int i = 0; i < run->nvalid; i++)
	{
		Relation rel = leaf_relation(run, run->valid[i]);

		if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
			run->files[run->valid[i]] = tb_file_table_to_read(RelationGetRelid(rel));
	}
}

static uint64
leaf_blocks(const TbPartitionRun *run, int leaf)
{
	if (run->files[leaf] != NULL)
		return (uint64) run->files[leaf]->nrows;
	return RelationGetNumberOfBlocks(leaf_relation(run, leaf));
}

static uint64
count_blocks(const TbPartitionRun *run, const int *leaves, int count)
{
	uint64 blocks = 0;

	for (int i = 0; i < count; i++)
		blocks += leaf_blocks(run, leaves[i]);
	return blocks;
}

uint64
tb_partition_run_blocks(const TbPartitionRun *run)
{
	return count_blocks(run, run->valid, run->nvalid);
}

uint64
tb_partition_run_chosen_blocks(const TbPartitionRun *run)
{
	uint64 blocks = 0;

	for (int i = 0; i < run->nread; i++)
	{
		int leaf = run->read[i];

		blocks += run->blocks[leaf] != NULL ? tb_block_set_count(run->blocks[leaf]) :
											  leaf_blocks(run, leaf);
	}
	return blocks;
}

static void
choose_blocks(TbPartitionRun *run)
{
	memset(run->blocks, 0, sizeof(TbBlockSet *) * run->nleaves);
	for (int i = 0; i < run->nread && run->brins != NULL; i++)
	{
		int		 leaf = run->read[i];
		Relation rel = leaf_relation(run, leaf);

		/* Where nothing is read, parameters are not looked at. */
		if (run->files[leaf] == NULL && RelationGetNumberOfBlocks(rel) > 0)
			run->blocks[leaf] = tb_brin_scan_run(&run->brins[leaf], rel);
	}
}

TbBrinScan
tb_partition_run_brin(const TbPartitionRun *run)
{
	TbBrinScan sum = {0};

	for (int i = 0; i < run->nvalid && run->brins != NULL; i++)
		if (run->brins[run->valid[i]].index_scan != NULL)
			sum.index_scan = run->brins[run->valid[i]].index_scan;
	for (int i = 0; i < run->nread && run->brins != NULL; i++)
	{
		const TbBrinScan *scan = &run->brins[run->read[i]];

		sum.ran = sum.ran || scan->ran;
		sum.blocks += scan->index_scan != NULL ? scan->blocks :
												 leaf_blocks(run, run->read[i]);
		sum.skipped += scan->skipped;
	}
	return sum;
}

void
tb_partition_run_choose(TbPartitionRun *run)
{
	run->removed_by_join = 0;
	run->nread = run->nvalid;
	memcpy(run->read, run->valid, sizeof(int) * run->nvalid);
	memset(run->stats, 0, sizeof(TbPartStats) * run->nleaves);
	if (run->prune != NULL && run->prune->do_exec_prune)
	{
		/* Numbers are those among the leaves that were left at the start. */
		run->nread = list_members(ExecFindMatchingSubPlans(run->prune, false), run->read);
		for (int i = 0; i < run->nread; i++)
			run->read[i] = run->valid[run->read[i]];
	}
	Assert(run->nread <= run->nvalid);
	choose_blocks(run);
}

/* Kept for further runs: as long as the leaf is locked it stays the same. */
static List *
leaf_constraint(TbPartitionRun *run, int leaf)
{
	MemoryContext old;

	if (run->constraint_known[leaf])
		return run->constraints[leaf];
	old = MemoryContextSwitchTo(run->estate->es_query_cxt);
	run->constraints[leaf] = tb_leaf_constraint(leaf_relation(run, leaf));
	run->constraint_known[leaf] = true;
	MemoryContextSwitchTo(old);
	return run->constraints[leaf];
}

static bool
can_match(TbPartitionRun *run, int leaf, const TbPruningRun *key, uint64 rows,
		  const TbKeyBounds *bounds)
{
	if (rows == 0)
		return false;
	return !bounds->known ||
		!tb_leaf_is_excluded(leaf_constraint(run, leaf),
							 tb_leaf_bounds(leaf_relation(run, leaf),
											key->leaf_attnums[leaf], bounds));
}

void
tb_partition_run_prune(TbPartitionRun *run, const TbPruningRun *key, uint64 rows,
					   const TbKeyBounds *bounds)
{
	int kept = 0;

	/* tb_partition_run_choose has chosen, and nothing is read yet. */
	Assert(run->npruning_keys > 0 && run->nread <= run->nvalid);
	for (int i = 0; i < run->nread; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (can_match(run, run->read[i], key, rows, bounds))
			run->read[kept++] = run->read[i];
	}
	run->removed_by_join += run->nread - kept;
	run->nread = kept;
}

bool
tb_partition_run_specify(const TbPartitionRun *run, ExprContext *econtext,
						 TbHeapInput *input)
{
	TbHeapLeaf	 *parts = palloc(sizeof(TbHeapLeaf) * Max(run->nread, 1));
	TbHeapLayout *layouts = palloc(sizeof(TbHeapLayout) * Max(run->nlayouts, 1));

	int nparts = 0;

	for (int i = 0; i < run->nread; i++)
	{
		TbHeapLeaf *part = &parts[nparts];

		if (run->files[run->read[i]] != NULL)
			continue;
		part->rel = leaf_relation(run, run->read[i]);
		part->layout = run->leaf_layouts[run->read[i]];
		/* 0: the stage's own program. */
		Assert(part->layout <= run->nlayouts);
		part->blocks = run->blocks[run->read[i]];
		nparts++;
	}
	for (int i = 0; i < run->nlayouts; i++)
	{
		layouts[i].program = run->layouts[i];
		layouts[i].params = tb_param_block_make(run->layouts[i], run->layout_params[i],
												econtext);
		if (layouts[i].params == NULL)
			return false;
	}
	input->parts = parts;
	input->nparts = nparts;
	input->beside_others = nparts < run->nread;
	input->layouts = layouts;
	input->nlayouts = run->nlayouts;
	return true;
}

int
tb_partition_run_file_parts(const TbPartitionRun *run, Relation table, TbFilesPart **parts)
{
	int count = 0;

	*parts = palloc(sizeof(TbFilesPart) * Max(run->nread, 1));
	for (int i = 0; i < run->nread; i++)
	{
		TbFilesPart *part = &(*parts)[count];
		Relation	 rel;

		if (run->files[run->read[i]] == NULL)
			continue;
		rel = leaf_relation(run, run->read[i]);
		part->table = run->files[run->read[i]];
		part->desc = RelationGetDescr(rel);
		part->attnums =
			build_attrmap_by_name(RelationGetDescr(rel), RelationGetDescr(table))->attnums;
		count++;
	}
	return count;
}

static bool
is_in_use(const TbPartitionRun *run, int32 layout)
{
	for (int i = 0; i < run->nvalid; i++)
		if (run->leaf_layouts[run->valid[i]] == layout)
			return true;
	return false;
}

bool
tb_partition_run_prepare(const TbPartitionRun *run, TbConnection *conn, uint32 device,
						 TbFailure *why)
{
	for (int i = 0; i < run->nlayouts; i++)
		if (is_in_use(run, i + 1) &&
			!tb_program_prepare(conn, run->layouts[i], device, why))
			return false;
	return true;
}

void
tb_partition_run_note(TbPartitionRun *run, const TbSource *source)
{
	int part = 0;

	for (int i = 0; i < run->nread && source != NULL; i++)
		if (run->files[run->read[i]] == NULL)
			run->stats[run->read[i]] = tb_heap_source_part_stats(source, part++);
}
