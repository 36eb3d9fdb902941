/*
 * stage_input.c - see stage_input.h: the one place that knows all kinds of inputs, with the
 * table of those of foreign tables (planner/foreign_inputs.c).
 *
 * Of a partitioned table, PostgreSQL prunes. One of the node's child plans is an Append of
 * the leaves, which is never initialized. What it carries is evaluated here, as
 * nodeAppend.c would. Leaves are numbered in that plan's order. Pruning by join tables goes
 * by the leaves' constraints; the run knows the tables. Leaves that are heap tables are
 * read by one source together, and those that are files by another one. The executor closes
 * relations.
 *
 * Called when the executor prepares a node's stages, then through the methods of input.h.
 * Must look at parameters in partitions_choose() only: to compute them may raise.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "turbine/mutant.h"

#include "pg/bridge/failure.h"
#include "pg/compat/pg18.h"
#include "pg/conversation/service_query.h"
#include "pg/convert/param_block.h"
#include "pg/planner/foreign_inputs.h"
#include "pg/source/files/files_input.h"
#include "pg/source/heap/heap_source.h"
#include "pg/source/heap/table_input.h"
#include "pg/source/plan_rows/plan_rows_input.h"
#include "pg/stage/plan_private.h"
#include "pg/stage/stage_input.h"

/* ---- A relation that is not partitioned ---- */

static Plan *
child_plan(const CustomScan *plan, int number)
{
	return number < 0 ? NULL : list_nth(plan->custom_plans, number);
}

static TbInput *
make_relation_input(CustomScanState *css, Index rti, Plan *index_scan, int eflags)
{
	const RangeTblEntry *rte = exec_rt_fetch(rti, css->ss.ps.state);
	TbMakeForeignInput	 make = tb_foreign_input(rte->relid, rte->relkind);

	return make != NULL ? make(css, rti, eflags) :
						  tb_table_input_make(css, rti, index_scan, eflags);
}

/*
 * ---- Which leaves have no match in a join table ----
 *
 * The proof is PostgreSQL's own, the one of constraint exclusion: it knows ranges, lists,
 * several levels and the default partition, whose constraint is that no sibling's holds,
 * and proves nothing of hash partitions. A row with a NULL key has no match either, so that
 * the conditions, which are strict, hold of every row that has one.
 */

/*
 * What holds of every row of the leaf, as a list of conditions, in the current
 * context; NIL if nothing is known. The leaf and the partitioned tables above it are
 * locked.
 */
static List *
constraint_of(Relation leaf)
{
	List *constraint = RelationGetPartitionQual(leaf);

	constraint = (List *) expression_planner((Expr *) constraint);
	return contain_mutable_functions((Node *) constraint) ? NIL : constraint;
}

/* An integer of the service's as a value of the type; false if it is none. */
static bool
value_of(Oid type, int64 number, Datum *value)
{
	switch (type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) number);
			return number >= PG_INT16_MIN && number <= PG_INT16_MAX;
		case INT4OID:
			*value = Int32GetDatum((int32) number);
			return number >= PG_INT32_MIN && number <= PG_INT32_MAX;
		case DATEOID:
			*value = DateADTGetDatum((DateADT) number);
			return number >= PG_INT32_MIN && number <= PG_INT32_MAX;
		case INT8OID:
			*value = Int64GetDatum(number);
			return true;
		case TIMESTAMPOID:
			*value = TimestampGetDatum(number);
			return true;
		case TIMESTAMPTZOID:
			*value = TimestampTzGetDatum(number);
			return true;
		default:
			return false;
	}
}

/* Column, operator of the type's own order, constant; NULL if there is no such. */
static Expr *
comparison(Var *column, StrategyNumber strategy, int64 number)
{
	const TypeCacheEntry *entry = lookup_type_cache(column->vartype,
													TYPECACHE_BTREE_OPFAMILY);
	Oid	   operator= get_opfamily_member(entry->btree_opf, column->vartype, column->vartype,
										 strategy);
	Datum  value;
	Const *constant;
	Expr  *result;

	if (!OidIsValid(operator) || !value_of(column->vartype, number, &value))
		return NULL;
	constant = makeConst(column->vartype, -1, InvalidOid, get_typlen(column->vartype),
						 value, false, get_typbyval(column->vartype));
	result = make_opclause(operator, BOOLOID, false, (Expr *) copyObject(column),
						   (Expr *) constant, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) result);
	return result;
}

/* The bounds as conditions on a column of the leaf; NIL if they are none of its
 * type's. */
static List *
leaf_bounds(Relation leaf, AttrNumber attnum, const TbKeyBounds *bounds)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(leaf), attnum - 1);
	Var				 *column = makeVar(1, attnum, attribute->atttypid, attribute->atttypmod,
									   attribute->attcollation, 0);
	bool			  single = bounds->min == bounds->max;
	Expr			 *least;
	Expr			 *most;

	if (TB_MUTANT(only_least_key))
		single = true;
	/* Of one value more can be proved by equality: that it is in a list. */
	least = comparison(column,
					   single ? BTEqualStrategyNumber : BTGreaterEqualStrategyNumber,
					   bounds->min);
	most = single ? least : comparison(column, BTLessEqualStrategyNumber, bounds->max);
	if (bounds->min > bounds->max || least == NULL || most == NULL)
		return NIL;
	return single ? list_make1(least) : list_make2(least, most);
}

/* Whether no row satisfies both: proved, not guessed. */
static bool
leaf_is_excluded(List *constraint, List *bounds)
{
	return constraint != NIL && bounds != NIL &&
		predicate_refuted_by(constraint, bounds, false);
}

/* ---- A partitioned table ---- */

/* A key of a join that prunes leaves. */
typedef struct PruningRun
{
	TbPruningKey key;
	AttrNumber	*leaf_attnums; /* one a leaf */
} PruningRun;

typedef struct PartitionsInput
{
	TbInput				 base;
	EState				*estate;
	int					 nleaves; /* that were planned */
	Index				*rtis;	  /* of the leaves */
	TbInput			   **leaves;  /* NULL: was pruned when the executor started */
	int32				*leaf_layouts;
	int					 nlayouts;
	TbProgram		   **layouts;
	List			   **layout_params; /* lists of ExprState */
	PartitionPruneState *prune;			/* NULL: nothing to prune by */
	int					 npruning_keys;
	PruningRun			*pruning_keys;
	List			   **constraints; /* of each leaf; valid where known is set */
	bool				*constraint_known;
	int					 nvalid;	  /* left when the executor started */
	int					*valid;		  /* indexes of leaves */

	/* Of the last run. */
	int			 removed_by_join; /* of those that values of parameters had left */
	int			 nread;
	int			*read;			  /* indexes of leaves */
	bool		*has_rows;		  /* one a leaf: something of it is to be read */
	TbPartStats *stats;			  /* one a leaf */
	TbSource	*heap; /* that reads those that are heap tables; NULL: there is none */
} PartitionsInput;

static void
take_layouts(PartitionsInput *run, CustomScanState *css, int stage)
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

/* The Append that prunes partitions; NULL if PostgreSQL has dropped it, as it does of one
 * child, or if nothing is pruned. */
static const Append *
pruning_append(const CustomScan *plan, int index)
{
	Plan *pruner = index < 0 ? NULL : list_nth(plan->custom_plans, index);

	return pruner != NULL && IsA(pruner, Append) && tb_append_prunes((Append *) pruner) ?
		(Append *) pruner :
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
take_pruning_keys(PartitionsInput *run, const CustomScan *plan, int stage)
{
	run->npruning_keys = tb_private_npruning_keys(plan, stage);
	run->pruning_keys = palloc(sizeof(PruningRun) * Max(run->npruning_keys, 1));
	for (int i = 0; i < run->npruning_keys; i++)
		run->pruning_keys[i].key =
			tb_private_pruning_key(plan, stage, i, &run->pruning_keys[i].leaf_attnums);
	run->constraints = palloc0(sizeof(List *) * run->nleaves);
	run->constraint_known = palloc0(sizeof(bool) * run->nleaves);
}

/* Of the leaves that are left. */
static void
make_leaves(PartitionsInput *run, CustomScanState *css, int stage, int eflags)
{
	CustomScan *plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);
	int32	   *index_scans = tb_private_leaf_indexes(plan, stage);

	run->leaves = palloc0(sizeof(TbInput *) * run->nleaves);
	for (int i = 0; i < run->nvalid; i++)
	{
		int leaf = run->valid[i];
		int child = index_scans == NULL ? -1 : index_scans[leaf];

		run->leaves[leaf] = make_relation_input(css, run->rtis[leaf],
												child < 0 ?
													NULL :
													list_nth(plan->custom_plans, child),
												eflags);
	}
}

static Relation
leaf_relation(const PartitionsInput *run, int leaf)
{
	Assert(leaf >= 0 && leaf < run->nleaves);
	return ExecGetRangeTableRelation(run->estate, run->rtis[leaf], false);
}

static bool
partitions_is_empty(const TbInput *input)
{
	const PartitionsInput *run = (const PartitionsInput *) input;

	for (int i = 0; i < run->nvalid; i++)
	{
		TbInput *leaf = run->leaves[run->valid[i]];

		if (!leaf->methods->is_empty(leaf))
			return false;
	}
	return true;
}

static bool
has_rows_to_read(const PartitionsInput *run)
{
	for (int i = 0; i < run->nread; i++)
		if (run->has_rows[run->read[i]])
			return true;
	return false;
}

/* Of those read, together. */
static TbIndexUse
partitions_index_use(const TbInput *input)
{
	const PartitionsInput *run = (const PartitionsInput *) input;
	TbIndexUse			   sum = {.of_brin = true};

	for (int i = 0; i < run->nvalid; i++)
	{
		const TbInput *leaf = run->leaves[run->valid[i]];
		TbIndexUse	   use = {0};

		if (leaf->methods->index_use != NULL)
			use = leaf->methods->index_use(leaf);
		sum.used = sum.used || use.used;
		sum.of_brin = sum.of_brin && (!use.used || use.of_brin);
	}
	for (int i = 0; i < run->nread && sum.used; i++)
	{
		const TbInput *leaf = run->leaves[run->read[i]];
		TbIndexUse	   use;

		if (leaf->methods->index_use == NULL)
			continue;
		use = leaf->methods->index_use(leaf);
		sum.ran = sum.ran || use.ran;
		sum.blocks += use.used ?
			use.blocks :
			RelationGetNumberOfBlocks(leaf_relation(run, run->read[i]));
		sum.skipped += use.skipped;
	}
	return sum;
}

static bool
partitions_choose(TbInput *input)
{
	PartitionsInput *run = (PartitionsInput *) input;

	run->removed_by_join = 0;
	run->nread = run->nvalid;
	memcpy(run->read, run->valid, sizeof(int) * run->nvalid);
	memset(run->stats, 0, sizeof(TbPartStats) * run->nleaves);
	/* Values of parameters prune. */
	if (run->prune != NULL && run->prune->do_exec_prune)
	{
		/* Numbers are those among the leaves that were left at the start. */
		run->nread = list_members(ExecFindMatchingSubPlans(run->prune, false, NULL),
								  run->read);
		for (int i = 0; i < run->nread; i++)
			run->read[i] = run->valid[run->read[i]];
	}
	Assert(run->nread <= run->nvalid);
	/* What of each leaf? */
	for (int i = 0; i < run->nread; i++)
	{
		TbInput *leaf = run->leaves[run->read[i]];

		run->has_rows[run->read[i]] = leaf->methods->choose(leaf);
	}
	return has_rows_to_read(run);
}

/* Kept for further runs: as long as the leaf is locked it stays the same. */
static List *
leaf_constraint(PartitionsInput *run, int leaf)
{
	MemoryContext old;

	if (run->constraint_known[leaf])
		return run->constraints[leaf];
	old = MemoryContextSwitchTo(run->estate->es_query_cxt);
	run->constraints[leaf] = constraint_of(leaf_relation(run, leaf));
	run->constraint_known[leaf] = true;
	MemoryContextSwitchTo(old);
	return run->constraints[leaf];
}

static bool
can_match(PartitionsInput *run, int leaf, const PruningRun *key, uint64 rows,
		  const TbKeyBounds *bounds)
{
	if (rows == 0)
		return false;
	return !bounds->known ||
		!leaf_is_excluded(leaf_constraint(run, leaf),
						  leaf_bounds(leaf_relation(run, leaf), key->leaf_attnums[leaf],
									  bounds));
}

static void
prune_by_key(PartitionsInput *run, const PruningRun *key, uint64 rows,
			 const TbKeyBounds *bounds)
{
	int kept = 0;

	for (int i = 0; i < run->nread; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (can_match(run, run->read[i], key, rows, bounds))
			run->read[kept++] = run->read[i];
	}
	run->removed_by_join += run->nread - kept;
	run->nread = kept;
}

static bool
partitions_prune(TbInput *input, TbTableBuilt table_built, const void *of)
{
	PartitionsInput *run = (PartitionsInput *) input;

	if (run->npruning_keys == 0)
		return true;
	for (int i = 0; i < run->npruning_keys; i++)
	{
		const PruningRun  *key = &run->pruning_keys[i];
		const TbQueryDone *built = table_built(of, key->key.join_table);

		prune_by_key(run, key, built->groups, &built->key_bounds[key->key.key]);
	}
	return has_rows_to_read(run);
}

static bool
compute_layouts(const PartitionsInput *run, ExprContext *econtext, TbHeapLayout *layouts)
{
	for (int i = 0; i < run->nlayouts; i++)
	{
		layouts[i].program = run->layouts[i];
		layouts[i].params = tb_param_block_make(run->layouts[i], run->layout_params[i],
												econtext);
		if (layouts[i].params == NULL)
			return false;
	}
	return true;
}

static bool
partitions_open(TbInput *input, const TbInputUse *use, List **sources, TbFailure *why)
{
	PartitionsInput *run = (PartitionsInput *) input;
	Relation		 table = ExecGetRangeTableRelation(run->estate, run->base.rti, false);
	TbHeapLeaf		*leaves = palloc0(sizeof(TbHeapLeaf) * Max(run->nread, 1));
	TbFilesPart		*files = palloc0(sizeof(TbFilesPart) * Max(run->nread, 1));
	TbHeapLayout	*layouts = palloc(sizeof(TbHeapLayout) * Max(run->nlayouts, 1));
	int				 nleaves = 0;
	int				 nfiles = 0;

	/* What is read of each kind? */
	for (int i = 0; i < run->nread; i++)
	{
		const TbInput *leaf = run->leaves[run->read[i]];

		if (tb_files_input_leaf(leaf, RelationGetDescr(table), &files[nfiles]))
			nfiles++;
		else if (tb_table_input_leaf(leaf, &leaves[nleaves]))
		{
			/* 0: the stage's own program. */
			Assert(run->leaf_layouts[run->read[i]] <= run->nlayouts);
			leaves[nleaves++].layout = run->leaf_layouts[run->read[i]];
		}
		else
			elog(ERROR, "unexpected kind of partition");
	}
	if (!compute_layouts(run, use->econtext, layouts))
	{
		tb_failure_set(why, TB_FALLBACK_VALUE,
					   "a parameter's value has no form that devices know");
		return false;
	}
	/* Files first: the service is at work on them meanwhile. */
	if (nfiles > 0)
		*sources = lappend(*sources, tb_files_source_make(files, nfiles));
	if (nfiles == 0 || nleaves > 0)
	{
		TbHeapInput heap = {.rel = table,
							.snapshot = use->snapshot,
							.attributes = use->attributes,
							.parts = leaves,
							.nparts = nleaves,
							.beside_others = nfiles > 0,
							.layouts = layouts,
							.nlayouts = run->nlayouts,
							.engine_us = use->engine_us};

		run->heap = tb_heap_source_make(&heap);
		*sources = lappend(*sources, run->heap);
	}
	return true;
}

static bool
is_in_use(const PartitionsInput *run, int32 layout)
{
	for (int i = 0; i < run->nvalid; i++)
		if (run->leaf_layouts[run->valid[i]] == layout)
			return true;
	return false;
}

/* The layouts that a query may want. */
static bool
partitions_prepare(TbInput *input, TbConnection *conn, uint32 device, TbFailure *why)
{
	const PartitionsInput *run = (const PartitionsInput *) input;

	for (int i = 0; i < run->nlayouts; i++)
		if (is_in_use(run, i + 1) &&
			!tb_program_prepare(conn, run->layouts[i], device, why))
			return false;
	return true;
}

static void
partitions_note(TbInput *input)
{
	PartitionsInput *run = (PartitionsInput *) input;
	TbHeapLeaf		 leaf;
	int				 part = 0;

	for (int i = 0; i < run->nread && run->heap != NULL; i++)
		if (tb_table_input_leaf(run->leaves[run->read[i]], &leaf))
			run->stats[run->read[i]] = tb_heap_source_part_stats(run->heap, part++);
}

static void
partitions_close(TbInput *input)
{
	PartitionsInput *run = (PartitionsInput *) input;

	run->heap = NULL;
	for (int i = 0; i < run->nvalid; i++)
	{
		TbInput *leaf = run->leaves[run->valid[i]];

		if (leaf->methods->close != NULL)
			leaf->methods->close(leaf);
	}
}

static bool
partitions_reads(const TbInput *input, Index rti)
{
	const PartitionsInput *run = (const PartitionsInput *) input;

	for (int leaf = 0; leaf < run->nleaves; leaf++)
		if (run->rtis[leaf] == rti)
			return true;
	return false;
}

static const TbInputMethods partitions_methods = {
	.is_empty = partitions_is_empty,
	.choose = partitions_choose,
	.prune = partitions_prune,
	.prepare = partitions_prepare,
	.open = partitions_open,
	.note = partitions_note,
	.close = partitions_close,
	.reads = partitions_reads,
	.index_use = partitions_index_use,
};

/* Of the node's stage of that number. Prunes by what is known when the executor starts.
 * Lives in the current memory context. */
static TbInput *
make_partitions_input(CustomScanState *css, int stage, int eflags)
{
	CustomScan		*plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);
	TbStageInfo		 info = tb_private_stage(plan, stage);
	TbStageNotes	 notes = tb_private_notes(plan, stage);
	const Append	*pruning = pruning_append(plan, info.pruner);
	PartitionsInput *run = palloc0(sizeof(PartitionsInput));
	Bitmapset		*valid = NULL;
	ListCell		*lc;

	run->base.methods = &partitions_methods;
	run->base.name = get_rel_name(exec_rt_fetch(notes.rti, css->ss.ps.state)->relid);
	run->estate = css->ss.ps.state;
	run->base.rti = notes.rti;
	run->rtis = palloc(sizeof(Index) * list_length(notes.leaves));
	foreach(lc, notes.leaves)
		run->rtis[run->nleaves++] = lfirst_int(lc);
	run->valid = palloc(sizeof(int) * run->nleaves);
	run->read = palloc(sizeof(int) * run->nleaves);
	run->stats = palloc0(sizeof(TbPartStats) * run->nleaves);
	run->has_rows = palloc0(sizeof(bool) * run->nleaves);
	take_layouts(run, css, stage);
	take_pruning_keys(run, plan, stage);
	if (pruning != NULL)
		run->prune = tb_append_init_pruning(pruning, stand_in(css, info.pruner),
											run->nleaves, &valid);
	else
		valid = bms_add_range(NULL, 0, run->nleaves - 1);
	run->nvalid = list_members(valid, run->valid);
	make_leaves(run, css, stage, eflags);
	return &run->base;
}

bool
tb_partitions_input_shown(const TbInput *input, TbPartitionsShown *shown)
{
	const PartitionsInput *run = (const PartitionsInput *) input;

	if (input->methods != &partitions_methods)
		return false;
	shown->nvalid = run->nvalid;
	shown->nread = run->nread;
	shown->removed_by_join = run->removed_by_join;
	shown->prunes_by_joins = run->npruning_keys > 0;
	shown->read = run->read;
	shown->rtis = run->rtis;
	shown->stats = run->stats;
	return true;
}

/* ---- Any stage ---- */

TbInput *
tb_stage_input_make(CustomScanState *css, int stage, int eflags)
{
	CustomScan *plan = tb_stages_plan((CustomScan *) css->ss.ps.plan);
	TbStageInfo info = tb_private_stage(plan, stage);
	Index		rti = tb_private_notes(plan, stage).rti;

	if (info.source_plan >= 0)
		return tb_plan_rows_input_make(css, child_plan(plan, info.source_plan),
									   tb_private_source_columns(plan, stage),
									   info.nsource_columns, eflags);
	(void) ExecOpenScanRelation(css->ss.ps.state, rti, eflags);
	if (info.nleaves > 0)
		return make_partitions_input(css, stage, eflags);
	return make_relation_input(css, rti, child_plan(plan, info.index_plan), eflags);
}
