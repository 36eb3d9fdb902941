/*
 * pg18.h - what PostgreSQL 18 changed, for code that compiles for older ones, too.
 * See pg16.h for the rules.
 */
#ifndef TURBINE_PG_COMPAT_PG18_H
#define TURBINE_PG_COMPAT_PG18_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h" /* parts of explain.h */
#include "commands/explain_state.h"
#endif
#include "commands/vacuum.h"
#include "common/relpath.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "nodes/tidbitmap.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "partitioning/partprune.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/portal.h"

#include "pg/compat/pg17.h"

/* The path of a relation's first file, allocated. relpath returned that itself. */
static inline char *
tb_relation_path(Relation rel)
{
#if PG_VERSION_NUM >= 180000
	return pstrdup(relpath(RelationGetSmgr(rel)->smgr_rlocator, MAIN_FORKNUM).str);
#else
	return relpath(RelationGetSmgr(rel)->smgr_rlocator, MAIN_FORKNUM);
#endif
}

static inline char *
tb_file_path(Oid database, Oid tablespace, Oid number)
{
#if PG_VERSION_NUM >= 180000
	return pstrdup(
		GetRelationPath(database, tablespace, number, INVALID_PROC_NUMBER, MAIN_FORKNUM)
			.str);
#else
	return GetRelationPath(database, tablespace, number, INVALID_PROC_NUMBER, MAIN_FORKNUM);
#endif
}

/* Operators are known by what they mean to any ordered index, not to B-trees alone. */
#if PG_VERSION_NUM < 180000
#define OpIndexInterpretation OpBtreeInterpretation
#define get_op_index_interpretation get_op_btree_interpretation
#define cmptype strategy
#define COMPARE_NE ROWCOMPARE_NE
#endif

/* The executor finds out by itself that a portal runs only once, so that workers may help.
 */
#if PG_VERSION_NUM >= 180000
#define TB_PORTAL_RUNS_ONCE(portal) ((void) 0)
#else
#define TB_PORTAL_RUNS_ONCE(portal) ((portal)->run_once = true)
#endif

/* Asks whether it is called by ANALYZE. */
#if PG_VERSION_NUM < 180000
#define vacuum_delay_point(is_analyze) vacuum_delay_point()
#endif

/* What callers add to an entry lies before its tuple; it was a pointer. Here it is a
 * pointer on both sides, NULL in new entries. */
#if PG_VERSION_NUM >= 180000
#define TB_ENTRY_DATA(table, entry) (*(void **) TupleHashEntryGetAdditional(table, entry))
#define TB_BUILD_TUPLE_HASH_TABLE(node, desc, count, columns, equals, hashes, collations, \
								  buckets, memory, per_row) \
	BuildTupleHashTable(node, desc, NULL, count, columns, equals, hashes, collations, \
						buckets, sizeof(void *), memory, memory, per_row, false)
#else
#define TB_ENTRY_DATA(table, entry) ((entry)->additional)
#define TB_BUILD_TUPLE_HASH_TABLE(node, desc, count, columns, equals, hashes, collations, \
								  buckets, memory, per_row) \
	BuildTupleHashTableExt(node, desc, count, columns, equals, hashes, collations, \
						   buckets, 0, memory, memory, per_row, false)
#endif

/* More arguments: the number of disabled nodes (18), conditions of a join (17). */
#if PG_VERSION_NUM >= 180000
#define TB_CREATE_FOREIGNSCAN_PATH(root, rel, startup, total) \
	create_foreignscan_path(root, rel, NULL, (rel)->rows, 0, startup, total, NIL, \
							(rel)->lateral_relids, NULL, NIL, NIL)
#elif PG_VERSION_NUM >= 170000
#define TB_CREATE_FOREIGNSCAN_PATH(root, rel, startup, total) \
	create_foreignscan_path(root, rel, NULL, (rel)->rows, startup, total, NIL, \
							(rel)->lateral_relids, NULL, NIL, NIL)
#else
#define TB_CREATE_FOREIGNSCAN_PATH(root, rel, startup, total) \
	create_foreignscan_path(root, rel, NULL, (rel)->rows, startup, total, NIL, \
							(rel)->lateral_relids, NULL, NIL)
#endif

/* What a collation is like is in its pg_locale_t; default_locale is no longer visible. */
static inline bool
tb_collation_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return OidIsValid(collation) && pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

static inline bool
tb_ctype_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return OidIsValid(collation) && pg_newlocale_from_collation(collation)->ctype_is_c;
#else
	return lc_ctype_is_c(collation);
#endif
}

static inline char
tb_default_collation_provider(void)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(DEFAULT_COLLATION_OID)->provider;
#else
	return default_locale.provider;
#endif
}

/* The pruning of partitions by a plan is found by its number in the statement. */
static inline bool
tb_partitions_can_be_pruned(PlannerInfo *root, RelOptInfo *rel, List *paths, List *clauses)
{
#if PG_VERSION_NUM >= 180000
	/* It is only asked whether. One that no plan names would be initialized by the
	 * executor. */
	if (make_partition_pruneinfo(root, rel, paths, clauses) < 0)
		return false;
	root->partPruneInfos = list_delete_last(root->partPruneInfos);
	return true;
#else
	return make_partition_pruneinfo(root, rel, paths, clauses) != NULL;
#endif
}

static inline bool
tb_append_prunes(const Append *plan)
{
#if PG_VERSION_NUM >= 180000
	return plan->part_prune_index >= 0;
#else
	return plan->part_prune_info != NULL;
#endif
}

/* NULL: no partitions are pruned. */
static inline const PartitionPruneInfo *
tb_append_prune_info(const Append *plan, const EState *estate)
{
#if PG_VERSION_NUM >= 180000
	return plan->part_prune_index < 0 ?
		NULL :
		list_nth_node(PartitionPruneInfo, estate->es_part_prune_infos,
					  plan->part_prune_index);
#else
	return plan->part_prune_info;
#endif
}

/* Prunes by what is known when the executor starts; for a plan that prunes. `valid` gets
 * the numbers of the children that are left. */
static inline PartitionPruneState *
tb_append_init_pruning(const Append *plan, PlanState *state, int nchildren,
					   Bitmapset **valid)
{
#if PG_VERSION_NUM >= 180000
	return ExecInitPartitionExecPruning(state, nchildren, plan->part_prune_index,
										plan->apprelids, valid);
#else
	return ExecInitPartitionPruning(state, nchildren, plan->part_prune_info, valid);
#endif
}

/* Also tells the range table entries of what is left. */
#if PG_VERSION_NUM < 180000
#define ExecFindMatchingSubPlans(state, initial, rtis) \
	ExecFindMatchingSubPlans(state, initial)
#endif

/* Results of a bitmap are copied out, and one iterator serves private and shared bitmaps.
 */
typedef struct TbBitmapBlocks
{
#if PG_VERSION_NUM >= 180000
	TBMPrivateIterator *iterator;
#else
	TBMIterator *iterator;
#endif
} TbBitmapBlocks;

static inline TbBitmapBlocks
tb_bitmap_begin(TIDBitmap *bitmap)
{
#if PG_VERSION_NUM >= 180000
	return (TbBitmapBlocks) {tbm_begin_private_iterate(bitmap)};
#else
	return (TbBitmapBlocks) {tbm_begin_iterate(bitmap)};
#endif
}

/* The next block in ascending order; InvalidBlockNumber: none is left. */
static inline BlockNumber
tb_bitmap_next(TbBitmapBlocks *blocks)
{
#if PG_VERSION_NUM >= 180000
	TBMIterateResult result;

	return tbm_private_iterate(blocks->iterator, &result) ? result.blockno :
															InvalidBlockNumber;
#else
	TBMIterateResult *result = tbm_iterate(blocks->iterator);

	return result != NULL ? result->blockno : InvalidBlockNumber;
#endif
}

static inline void
tb_bitmap_end(TbBitmapBlocks *blocks)
{
#if PG_VERSION_NUM >= 180000
	tbm_end_private_iterate(blocks->iterator);
#else
	tbm_end_iterate(blocks->iterator);
#endif
}

/* Both inputs of a set operation are paths of their own, where there was an Append of both.
 */
static inline List *
tb_setop_inputs(const SetOpPath *path)
{
#if PG_VERSION_NUM >= 180000
	return list_make2(path->leftpath, path->rightpath);
#else
	return list_make1(path->subpath);
#endif
}

/* NULL: there are two. */
static inline const Path *
tb_setop_only_input(const SetOpPath *path)
{
#if PG_VERSION_NUM >= 180000
	return NULL;
#else
	return path->subpath;
#endif
}

/* Nodes that settings disable are counted, where disable_cost was added to costs. */
static inline bool
tb_path_is_disabled(const Path *path)
{
#if PG_VERSION_NUM >= 180000
	return path->disabled_nodes > 0;
#else
	return path->total_cost >= disable_cost;
#endif
}

/* Counts what a path of ours has disabled, each with disable_cost among its costs. */
static inline void
tb_path_count_disabled(Path *path)
{
#if PG_VERSION_NUM >= 180000
	int disabled = path->startup_cost / disable_cost;

	path->disabled_nodes += disabled;
	path->startup_cost -= disabled * disable_cost;
	path->total_cost -= disabled * disable_cost;
#endif
}

/* Columns that are computed when they are read (attgenerated is 'v'): tuples have NULL
 * there, even of one that is NOT NULL. The planner replaces their Vars by the expressions.
 */
static inline bool
tb_attribute_is_virtual(Form_pg_attribute attribute)
{
#if PG_VERSION_NUM >= 180000
	return attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL;
#else
	return false;
#endif
}

/* Whether no tuple has NULL there. A constraint that is NOT VALID sets attnotnull, too. The
 * descriptor is a relation's; attributes count from 0. */
static inline bool
tb_attribute_is_never_null(TupleDesc desc, int attribute)
{
#if PG_VERSION_NUM >= 180000
	return TupleDescCompactAttr(desc, attribute)->attnullability == ATTNULLABLE_VALID &&
		!tb_attribute_is_virtual(TupleDescAttr(desc, attribute));
#else
	return TupleDescAttr(desc, attribute)->attnotnull;
#endif
}

/* Whether no query sees NULL there, of a table without descriptor. */
static inline bool
tb_column_is_never_null(Oid relid, Form_pg_attribute attribute)
{
#if PG_VERSION_NUM >= 180000
	HeapTuple constraint;
	bool	  result;

	if (!attribute->attnotnull)
		return false;
	constraint = findNotNullConstraintAttnum(relid, attribute->attnum);
	result = HeapTupleIsValid(constraint) &&
		((Form_pg_constraint) GETSTRUCT(constraint))->convalidated;
	if (HeapTupleIsValid(constraint))
		heap_freetuple(constraint);
	return result;
#else
	return attribute->attnotnull;
#endif
}

/* Expressions of GROUP BY are those of a range table entry (RTE_GROUP), whose index is
 * among their nulling relids above grouping sets; not below, where rows are sorted. */
static inline List *
tb_group_pathkeys(PlannerInfo *root, List *clauses)
{
#if PG_VERSION_NUM >= 180000
	List *sorted = list_copy(clauses);
	bool  sortable;

	return make_pathkeys_for_sortclauses_extended(root, &sorted, root->processed_tlist,
												  false, root->parse->hasGroupRTE,
												  &sortable, false);
#else
	return make_pathkeys_for_sortclauses(root, clauses, root->processed_tlist);
#endif
}

/* A key of grouping sets, as the sets return it, in the form that it has in the rows below
 * them: without the entry of GROUP BY among its nulling relids. */
static inline Expr *
tb_key_below_sets(const PlannerInfo *root, Expr *key)
{
#if PG_VERSION_NUM >= 180000
	if (root->parse->hasGroupRTE && root->parse->groupingSets != NIL)
		return (Expr *) remove_nulling_relids((Node *) key,
											  bms_make_singleton(root->group_rtindex),
											  NULL);
#endif
	return key;
}

/* Puts the expressions of GROUP BY back in the places of their columns, so that the query
 * has the form of older versions, which the planner takes, too. Not with grouping sets,
 * whose keys may be NULL by them. */
static inline void
tb_flatten_groups(Query *query)
{
#if PG_VERSION_NUM >= 180000
	ListCell *lc;

	if (!query->hasGroupRTE || query->groupingSets != NIL)
		return;
	query->targetList = (List *) flatten_group_exprs(NULL, query,
													 (Node *) query->targetList);
	query->havingQual = flatten_group_exprs(NULL, query, query->havingQual);
	query->hasGroupRTE = false;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		/* Other entries keep their numbers. */
		if (entry->rtekind == RTE_GROUP)
		{
			entry->rtekind = RTE_RESULT;
			entry->groupexprs = NIL;
		}
	}
#endif
}

/* Tables of the statement; the entry of GROUP BY is none. */
#if PG_VERSION_NUM >= 180000
#define TB_EXPLAINED_TABLES(es) ((es)->rtable_size)
#else
#define TB_EXPLAINED_TABLES(es) list_length((es)->rtable)
#endif

/* EXPLAIN fails at a window function whose WindowAgg it does not find at the node. */
#if PG_VERSION_NUM >= 180000
#define TB_EXPLAIN_NEEDS_WINDOW_AGG true
#else
#define TB_EXPLAIN_NEEDS_WINDOW_AGG false
#endif

/* Opens a relation of the range table; 18 asks whether it is one that the statement
 * changes. */
#if PG_VERSION_NUM < 180000
#define ExecGetRangeTableRelation(estate, rti, is_result) \
	ExecGetRangeTableRelation(estate, rti)
#endif

#endif
