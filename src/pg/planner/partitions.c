/*
 * partitions.c - see partitions.h.
 *
 * The planner has expanded the table, pruned its partitions and locked those that
 * are left before any path is asked for. Called by whoever reads a relation as part
 * of a tree, and for the plans that nodes keep.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "partitioning/partprune.h"

#include "pg/compat/pg18.h"
#include "pg/planner/partitions.h"
#include "pg/planner/postgres/postgres_scan.h"

bool
tb_is_partitioned(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	return rel->reloptkind == RELOPT_BASEREL && rte->rtekind == RTE_RELATION &&
		rte->relkind == RELKIND_PARTITIONED_TABLE && rte->inh && rel->part_scheme != NULL;
}

/* The attnum that the table's column has one level further down; 0: dropped. */
static AttrNumber
attnum_below(const AppendRelInfo *appinfo, AttrNumber attnum)
{
	const Var *var = list_nth(appinfo->translated_vars, attnum - 1);

	return var == NULL ? 0 : var->varattno;
}

/* From the table down to the leaf, through partitions that are partitioned. */
static AttrNumber
attnum_in_leaf(PlannerInfo *root, const RelOptInfo *table, const RelOptInfo *leaf,
			   AttrNumber attnum)
{
	const AppendRelInfo *appinfo = root->append_rel_array[leaf->relid];

	if (appinfo->parent_relid != table->relid)
		attnum = attnum_in_leaf(root, table, find_base_rel(root, appinfo->parent_relid),
								attnum);
	return attnum == 0 ? 0 : attnum_below(appinfo, attnum);
}

static int
count_columns(PlannerInfo *root, const RelOptInfo *table, const RelOptInfo *leaf)
{
	const AppendRelInfo *appinfo = root->append_rel_array[leaf->relid];

	while (appinfo->parent_relid != table->relid)
		appinfo = root->append_rel_array[appinfo->parent_relid];
	return list_length(appinfo->translated_vars);
}

static bool
is_key_of(const RelOptInfo *rel, AttrNumber attnum)
{
	if (rel->part_scheme->strategy == PARTITION_STRATEGY_HASH)
		return false;
	for (int i = 0; i < rel->part_scheme->partnatts; i++)
	{
		ListCell *lc;

		foreach(lc, rel->partexprs[i])
			if (IsA(lfirst(lc), Var) && ((Var *) lfirst(lc))->varattno == attnum)
				return true;
	}
	return false;
}

bool
tb_is_partitioned_by(PlannerInfo *root, const RelOptInfo *rel, AttrNumber attnum)
{
	check_stack_depth();
	if (is_key_of(rel, attnum))
		return true;
	for (int i = 0; i < rel->nparts; i++)
	{
		const RelOptInfo *part = bms_is_member(i, rel->live_parts) ? rel->part_rels[i] :
																	 NULL;

		if (part != NULL && part->part_scheme != NULL &&
			tb_is_partitioned_by(root, part,
								 attnum_below(root->append_rel_array[part->relid], attnum)))
			return true;
	}
	return false;
}

static void
add_leaf(PlannerInfo *root, const RelOptInfo *table, RelOptInfo *rel,
		 TbPartitions *partitions)
{
	TbLeaf *leaf = palloc0(sizeof(TbLeaf));

	leaf->rel = rel;
	leaf->relid = planner_rt_fetch(rel->relid, root)->relid;
	leaf->nattnums = count_columns(root, table, rel);
	leaf->attnums = palloc(sizeof(AttrNumber) * Max(leaf->nattnums, 1));
	for (int i = 0; i < leaf->nattnums; i++)
		leaf->attnums[i] = attnum_in_leaf(root, table, rel, i + 1);
	partitions->leaves = lappend(partitions->leaves, leaf);
	partitions->pages += rel->pages;
	partitions->tuples += rel->tuples;
	partitions->has_files = partitions->has_files || rel->fdwroutine != NULL;
	partitions->all_visible += rel->pages * (rel->fdwroutine != NULL ? 1 : rel->allvisfrac);
}

static void
add_partitions_of(PlannerInfo *root, const RelOptInfo *table, const RelOptInfo *rel,
				  TbPartitions *partitions)
{
	check_stack_depth();
	for (int i = 0; i < rel->nparts; i++)
	{
		RelOptInfo *part = bms_is_member(i, rel->live_parts) ? rel->part_rels[i] : NULL;

		if (part == NULL || IS_DUMMY_REL(part))
			partitions->pruned++;
		else if (planner_rt_fetch(part->relid, root)->relkind == RELKIND_PARTITIONED_TABLE)
			add_partitions_of(root, table, part, partitions);
		else
			add_leaf(root, table, part, partitions);
	}
}

TbPartitions *
tb_partitions_of(PlannerInfo *root, RelOptInfo *rel)
{
	TbPartitions *partitions = palloc0(sizeof(TbPartitions));

	add_partitions_of(root, rel, rel, partitions);
	if (partitions->pages > 0)
		partitions->all_visible /= partitions->pages;
	return partitions;
}

static List *
leaf_scans(PlannerInfo *root, const TbPartitions *partitions)
{
	List	 *result = NIL;
	ListCell *lc;

	foreach(lc, partitions->leaves)
		result = lappend(result, tb_postgres_scan(root, ((TbLeaf *) lfirst(lc))->rel));
	return result;
}

Path *
tb_partitions_append(PlannerInfo *root, RelOptInfo *rel, const TbPartitions *partitions)
{
	return (Path *) create_append_path(root, rel, leaf_scans(root, partitions), NIL, NIL,
									   NULL, 0, false, -1);
}

/* The target in a leaf's own columns. */
static PathTarget *
leaf_target(PlannerInfo *root, const RelOptInfo *rel, const RelOptInfo *leaf,
			const PathTarget *target)
{
	PathTarget *result = copy_pathtarget(unconstify(PathTarget *, target));

	result->exprs = (List *)
		adjust_appendrel_attrs_multilevel(root, (Node *) target->exprs,
										  unconstify(RelOptInfo *, leaf),
										  unconstify(RelOptInfo *, rel));
	return result;
}

/* An Append does not project. */
Path *
tb_partitions_append_target(PlannerInfo *root, RelOptInfo *rel,
							const TbPartitions *partitions, PathTarget *target)
{
	List	 *scans = leaf_scans(root, partitions);
	Path	 *path;
	ListCell *lc;

	foreach(lc, scans)
	{
		Path *scan = lfirst(lc);

		lfirst(lc) = create_projection_path(root, scan->parent, scan,
											leaf_target(root, rel, scan->parent, target));
	}
	path = (Path *) create_append_path(root, rel, scans, NIL, NIL, NULL, 0, false, -1);
	path->pathtarget = target;
	return path;
}

static bool
is_parameter(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, Param) || expression_tree_walker(node, is_parameter, context);
}

/* Something whose value is not known yet. */
static bool
depends_on_execution(List *clauses)
{
	return is_parameter((Node *) clauses, NULL) ||
		contain_mutable_functions((Node *) clauses);
}

Path *
tb_partitions_pruner(PlannerInfo *root, RelOptInfo *rel, const TbPartitions *partitions)
{
	List	   *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	AppendPath *path;

	/* Of a single partition PostgreSQL drops the Append. */
	if (!enable_partition_pruning || list_length(partitions->leaves) < 2 ||
		!depends_on_execution(clauses))
		return NULL;
	path = (AppendPath *) tb_partitions_append(root, rel, partitions);
	/* As the plan of the path will do. */
	if (!tb_partitions_can_be_pruned(root, rel, path->subpaths, clauses))
		return NULL;
	return &path->path;
}
