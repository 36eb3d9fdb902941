/*
 * join_read.c - reads a join path of PostgreSQL's as a tree of streams and tables.
 *
 * Only the meaning of the path is taken: which relations are joined in which order, the
 * kind of each join, and its clauses. The way in which PostgreSQL would do it (sorting,
 * hashing, by index, with a cache) is looked through. A clause stands at the first join
 * that has all its relations. Clauses of parameterized paths were pushed below that join,
 * and come up again.
 *
 * Sides may change: either side of an INNER or FULL join may be the stream. In all other
 * joins it is the side whose rows come out.
 *
 * Called by the nodes' plan.c. Must decline whatever is not proved.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/compat/pg16.h"
#include "pg/planner/join/join_grid.h"
#include "pg/planner/join/join_read.h"
#include "pg/planner/join/join_shape.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/planning.h"
#include "pg/planner/relation_check.h"
#include "pg/settings/guc.h"

/* All tables of a join together, in pages. */
#define GUESSWORK_PAGES 1000

typedef struct Reader
{
	PlannerInfo *root;
	const char	*reason;
} Reader;

/* A side of a join as it is read. */
typedef struct Side
{
	TbJoinTree *tree;
	List	   *pending; /* RestrictInfo: clauses that need relations from
						  * further up */
	UniquePath *unique;	 /* its rows were made distinct */
} Side;

static bool read_path(Reader *r, Path *path, Side *side);

static bool
refuse(Reader *r, const char *reason)
{
	r->reason = reason;
	return false;
}

static bool
is_append(const Path *path)
{
	return IsA(path, AppendPath) || IsA(path, MergeAppendPath);
}

static bool
is_partitioned(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL &&
		tb_is_partitioned(rel, planner_rt_fetch(rel->relid, root));
}

/* What the paths of the partitions apply, in terms of their table: as for any path
 * with such parameters. */
static List *
clauses_of_partitions(PlannerInfo *root, const Path *path)
{
	RelOptInfo *rel = path->parent;
	Relids		outer = PATH_REQ_OUTER(path);
	Relids		joined = bms_union(rel->relids, outer);
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, rel->joininfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (join_clause_is_movable_into(rinfo, rel->relids, joined))
			result = lappend(result, rinfo);
	}
	return list_concat(result,
					   generate_join_implied_equalities(root, joined, outer, rel, NULL));
}

static List *
clauses_of_parameters(PlannerInfo *root, const Path *path)
{
	if (path->param_info == NULL)
		return NIL;
	return is_append(path) ? clauses_of_partitions(root, path) :
							 list_copy(path->param_info->ppi_clauses);
}

static TbJoinTree *
table_tree(Reader *r, RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, r->root);
	TbPartitions  *partitions = NULL;
	TbJoinTree	  *tree;
	ListCell	  *lc;

	if (IS_DUMMY_REL(rel))
	{
		refuse(r, "a table of which no row can qualify");
		return NULL;
	}
	if (tb_is_partitioned(rel, rte))
	{
		partitions = tb_partitions_of(r->root, rel);
		if (!tb_partitioned_qualifies(r->root, rel, rte, partitions, &r->reason))
			return NULL;
	}
	else if (!tb_relation_qualifies(r->root, rel, rte, &r->reason))
		return NULL;
	foreach(lc, rel->baserestrictinfo)
	{
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
		{
			refuse(r, "a filter without columns");
			return NULL;
		}
	}
	tree = palloc0(sizeof(TbJoinTree));
	tree->probe_side = rel;
	tree->partitions = partitions;
	tree->relids = rel->relids;
	tree->filters = tb_ordered_clauses(r->root, rel);
	tree->nown = list_length(tree->filters);
	tree->rows = rel->rows;
	return tree;
}

/* PostgreSQL's own plan of what is no table that the engine can read. Its filters
 * are that plan's. */
static TbJoinTree *
rows_tree(Reader *r, RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, r->root);
	TbJoinTree	  *tree;

	if (!tb_rows_qualify(r->root, rel, rte, &r->reason))
		return NULL;
	tree = palloc0(sizeof(TbJoinTree));
	tree->probe_side = rel;
	tree->source = tb_serial_path_of_input(r->root, rel);
	tree->relids = rel->relids;
	tree->rows = rel->rows;
	if (tree->source != NULL)
		return tree;
	refuse(r, "PostgreSQL has no plan without parallel workers for a part of the join");
	return NULL;
}

TbJoinTree *
tb_join_tree_of_table(PlannerInfo *root, RelOptInfo *rel, const char **reason)
{
	Reader		r = {.root = root};
	TbJoinTree *tree = table_tree(&r, rel);

	*reason = r.reason;
	return tree;
}

/* The path below those that only pass rows on; the UniquePath among them. */
static Path *
look_through(Path *path, UniquePath **unique)
{
	for (;;)
	{
		switch (nodeTag(path))
		{
			case T_MaterialPath:
				path = ((MaterialPath *) path)->subpath;
				break;
			case T_MemoizePath:
				path = ((MemoizePath *) path)->subpath;
				break;
			case T_SortPath:
			case T_IncrementalSortPath:
				path = ((SortPath *) path)->subpath;
				break;
			case T_GatherPath:
				path = ((GatherPath *) path)->subpath;
				break;
			case T_GatherMergePath:
				path = ((GatherMergePath *) path)->subpath;
				break;
			case T_UniquePath:
				/* NOOP: its rows are distinct as they are. */
				if (((UniquePath *) path)->umethod != UNIQUE_PATH_NOOP)
					*unique = (UniquePath *) path;
				path = ((UniquePath *) path)->subpath;
				break;
			default:
				return path;
		}
	}
}

/* Whether some condition says that the expression equals one of the other side. */
static bool
is_equated(const Expr *expr, List *conditions, Relids inner)
{
	ListCell *lc;

	foreach(lc, conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (!rinfo->can_join || rinfo->mergeopfamilies == NIL)
			continue;
		if (bms_is_subset(rinfo->right_relids, inner) &&
			!bms_overlap(rinfo->left_relids, inner) &&
			equal(get_rightop(rinfo->clause), expr))
			return true;
		if (bms_is_subset(rinfo->left_relids, inner) &&
			!bms_overlap(rinfo->right_relids, inner) &&
			equal(get_leftop(rinfo->clause), expr))
			return true;
	}
	return false;
}

/*
 * A side made distinct, then joined: a semijoin, where the conditions equate all
 * that it is distinct by, so that a row finds one match at most.
 */
static bool
is_semijoin(const UniquePath *unique, List *conditions, Relids inner)
{
	ListCell *lc;

	foreach(lc, unique->uniq_exprs)
		if (!is_equated(lfirst(lc), conditions, inner))
			return false;
	return unique->uniq_exprs != NIL;
}

/* The sides of a join with the streaming one first. */
typedef struct Sides
{
	TbJoinKind kind;
	Side	  *outer;
	Side	  *inner;
} Sides;

static void
swap_sides(Sides *sides)
{
	Side *outer = sides->outer;

	sides->outer = sides->inner;
	sides->inner = outer;
}

static bool
may_stream(const Side *side)
{
	return side->tree->source == NULL;
}

/* Of an inner or full join: the larger table streams. */
static void
choose_probe_side(Sides *sides)
{
	bool inner_streams = may_stream(sides->inner);

	if (inner_streams != may_stream(sides->outer))
	{
		if (inner_streams)
			swap_sides(sides);
	}
	else if (tb_join_tree_input_rows(sides->inner->tree) >
			 tb_join_tree_input_rows(sides->outer->tree))
		swap_sides(sides);
}

/* Of an inner join of points with shapes: the points stream, if they can. */
static void
prefer_points(Reader *r, List *clauses, Sides *sides)
{
	Relids		 outer = sides->outer->tree->relids;
	Relids		 inner = sides->inner->tree->relids;
	TbGridClause clause;

	if (may_stream(sides->inner) &&
		tb_grid_find(r->root, clauses, outer, inner, false, &clause) == NULL &&
		tb_grid_find(r->root, clauses, inner, outer, false, &clause) != NULL)
		swap_sides(sides);
}

static bool
choose_sides(Reader *r, JoinType jointype, Sides *sides)
{
	bool distinct_outer = sides->outer->unique != NULL;

	if (distinct_outer && sides->inner->unique != NULL)
		return refuse(r, "a join of two sides made distinct");
	if (jointype != JOIN_INNER && (distinct_outer || sides->inner->unique != NULL))
		return refuse(r, "an outer join of a side made distinct");
	if (tb_join_is_right(&jointype))
		swap_sides(sides);
	switch (jointype)
	{
		case JOIN_INNER:
			sides->kind = TB_JOIN_INNER;
			if (distinct_outer)
				swap_sides(sides);
			if (sides->inner->unique != NULL)
				sides->kind = TB_JOIN_SEMI;
			else
				choose_probe_side(sides);
			return true;
		case JOIN_LEFT:
			sides->kind = TB_JOIN_LEFT;
			return true;
		case JOIN_SEMI:
			sides->kind = TB_JOIN_SEMI;
			return true;
		case JOIN_ANTI:
			sides->kind = TB_JOIN_ANTI;
			return true;
		case JOIN_FULL:
			sides->kind = TB_JOIN_FULL;
			choose_probe_side(sides);
			return true;
		default:
			return refuse(r, "a join of a kind that devices do not do");
	}
}

/* One clause of a join's: a condition of it, a filter of what comes out of it, or
 * one that has to wait for other relations. */
static bool
place_clause(Reader *r, RestrictInfo *rinfo, bool pushed_below, Relids relids,
			 const Sides *sides, TbTreeJoin *join, List **filters, List **pending)
{
	bool full = sides->kind == TB_JOIN_FULL;
	bool outer_join = full || sides->kind == TB_JOIN_LEFT || sides->kind == TB_JOIN_ANTI;

	if (rinfo->pseudoconstant)
		return refuse(r, "a join condition without columns");
	if (!bms_is_subset(rinfo->clause_relids, relids))
	{
		if (sides->kind != TB_JOIN_INNER &&
			bms_overlap(rinfo->clause_relids, sides->inner->tree->relids))
			return refuse(r, "a condition that reaches into an inner side from above");
		if (full && bms_overlap(rinfo->clause_relids, sides->outer->tree->relids))
			return refuse(r, "a condition that reaches into a full join from above");
		*pending = list_append_unique_ptr(*pending, rinfo);
		return true;
	}
	if (!outer_join || !RINFO_IS_PUSHED_DOWN(rinfo, relids))
		join->conditions = list_append_unique_ptr(join->conditions, rinfo);
	else if (pushed_below)
		return refuse(r, "a filter of joined rows that is applied below the join");
	else
		*filters = list_append_unique_ptr(*filters, rinfo);
	return true;
}

static bool
place_clauses(Reader *r, List *clauses, bool pushed_below, Relids relids,
			  const Sides *sides, TbTreeJoin *join, List **filters, List **pending)
{
	ListCell *lc;

	foreach(lc, clauses)
		if (!place_clause(r, lfirst_node(RestrictInfo, lc), pushed_below, relids, sides,
						  join, filters, pending))
			return false;
	return true;
}

static bool
read_join(Reader *r, JoinPath *path, Side *result)
{
	Side		outer = {0};
	Side		inner = {0};
	Sides		sides = {.outer = &outer, .inner = &inner};
	Relids		relids = path->path.parent->relids;
	TbTreeJoin *join = palloc0(sizeof(TbTreeJoin));
	TbJoinTree *tree;
	List	   *filters = NIL;

	if (!bms_is_empty(path->path.parent->lateral_relids))
		return refuse(r, "a lateral reference");
	if (!read_path(r, path->outerjoinpath, &outer) ||
		!read_path(r, path->innerjoinpath, &inner) ||
		!choose_sides(r, path->jointype, &sides))
		return false;
	if (sides.kind == TB_JOIN_INNER)
		prefer_points(r,
					  list_concat_copy(list_concat_copy(path->joinrestrictinfo,
														outer.pending),
									   inner.pending),
					  &sides);
	if (!place_clauses(r, path->joinrestrictinfo, false, relids, &sides, join, &filters,
					   &result->pending) ||
		!place_clauses(r, outer.pending, true, relids, &sides, join, &filters,
					   &result->pending) ||
		!place_clauses(r, inner.pending, true, relids, &sides, join, &filters,
					   &result->pending))
		return false;
	if (!may_stream(sides.outer))
		return refuse(r,
					  sides.kind == TB_JOIN_FULL ?
						  "no side of a full join is a table" :
						  "the side that keeps its rows is not a table");
	if (sides.inner->unique != NULL &&
		!is_semijoin(sides.inner->unique, join->conditions, sides.inner->tree->relids))
		return refuse(r, "a side made distinct is joined by other columns");

	if (tb_grid_is_missed(r->root, join->conditions, sides.outer->tree->relids,
						  sides.inner->tree->relids, sides.kind == TB_JOIN_INNER))
		tb_planning_note(tb_join_part(r->root, "grid for the join of", relids),
						 "the outer side's geometries are not known to be points, or the "
						 "inner side's are no column of a table");
	join->kind = sides.kind;
	join->inner = sides.inner->tree;
	/* Sides may have changed, so PostgreSQL is asked anew. */
	join->unique = tb_join_is_unique(r->root, sides.outer->tree->relids, join->inner,
									 join->kind, join->conditions);
	join->rows = path->path.parent->rows;
	tree = sides.outer->tree;
	join->outer_joins = bms_difference(bms_difference(relids, tree->relids),
									   join->inner->relids);
	join->nfilters = list_length(tree->filters);
	join->fraction = join->rows / Max(tree->rows, 1);
	tree->joins = lappend(tree->joins, join);
	tree->filters = list_concat(tree->filters, filters);
	tree->relids = bms_copy(relids);
	tree->rows = join->rows;
	result->tree = tree;
	return true;
}

/* Whether it is known which join clauses the path applies: that of an append
 * relation leaves it to its children. */
static bool
shows_its_clauses(PlannerInfo *root, const Path *path)
{
	if (path->param_info == NULL)
		return true;
	if (is_append(path))
		return is_partitioned(root, path->parent);
	return IsA(path, Path) || IsA(path, IndexPath) || IsA(path, BitmapHeapPath) ||
		IsA(path, SubqueryScanPath);
}

static bool
read_path(Reader *r, Path *path, Side *side)
{
	check_stack_depth();
	path = look_through(path, &side->unique);
	/* Joined partition by partition: the same as the join of the whole tables. */
	if (IS_JOIN_REL(path->parent) && is_append(path) && path->param_info == NULL &&
		tb_serial_path_of(path->parent) != NULL)
		path = look_through(tb_serial_path_of(path->parent), &side->unique);
	if (IS_JOIN_REL(path->parent))
	{
		if (IsA(path, NestPath) || IsA(path, MergePath) || IsA(path, HashPath))
			return read_join(r, (JoinPath *) path, side);
		return refuse(r, "a join that PostgreSQL leaves to something else");
	}
	if (path->parent->reloptkind != RELOPT_BASEREL)
		return refuse(r, "a partition or child table is joined");
	if (!tb_statement_qualifies(r->root, &r->reason))
		return false;
	if (!shows_its_clauses(r->root, path))
		return refuse(r, "a scan of several relations by another's columns");
	side->tree = table_tree(r, path->parent);
	if (side->tree == NULL)
		side->tree = rows_tree(r, path->parent);
	side->pending = clauses_of_parameters(r->root, path);
	return side->tree != NULL;
}

/* What the path of a join computes, in the shape that costs least. NULL, with *reason set,
 * if it is nothing that can be proved to be such a tree. */
static TbJoinTree *
tree_of_path(PlannerInfo *root, Path *path, const char **reason)
{
	Reader r = {.root = root};
	Side   side = {0};

	*reason = "";
	if (!read_path(&r, path, &side))
	{
		*reason = r.reason;
		return NULL;
	}
	if (side.pending != NIL || side.unique != NULL)
	{
		*reason = "a join condition that refers to another query level";
		return NULL;
	}
	return tb_join_tree_shape(root, side.tree);
}

static bool
is_analyzed(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool	  known = true;

	if (HeapTupleIsValid(tuple))
	{
		known = ((Form_pg_class) GETSTRUCT(tuple))->reltuples >= 0;
		ReleaseSysCache(tuple);
	}
	return known;
}

/* Whether the table, or each of its partitions, was; adds up their pages. */
static bool
was_analyzed(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, double *pages)
{
	bool	  known = true;
	ListCell *lc;

	if (!tb_is_partitioned(rel, rte))
	{
		*pages += rel->pages;
		return is_analyzed(rte->relid);
	}
	foreach(lc, tb_partitions_of(root, rel)->leaves)
	{
		const TbLeaf *leaf = lfirst(lc);

		*pages += leaf->rel->pages;
		known = known && is_analyzed(leaf->relid);
	}
	return known;
}

/*
 * Whether costs can be compared at all. Of a few pages never analyzed PostgreSQL
 * assumes so many rows that any plan of its own looks costly.
 */
static bool
is_guesswork(PlannerInfo *root, Relids relids)
{
	double pages = 0;
	bool   known = true;
	int	   rti = -1;

	while ((rti = bms_next_member(relids, rti)) >= 0)
	{
		RangeTblEntry *rte = planner_rt_fetch(rti, root);

		if (rte->rtekind != RTE_RELATION)
			continue;
		known = was_analyzed(root, find_base_rel(root, rti), rte, &pages) && known;
	}
	return !known && pages < GUESSWORK_PAGES;
}

static TbJoinTree *
read_noted(PlannerInfo *root, RelOptInfo *joinrel, const char **reason)
{
	Path *path = tb_serial_path_of(joinrel);

	if (!tb_guc_debug_force_offload && is_guesswork(root, joinrel->relids))
		*reason = "small tables that were never analyzed";
	else if (!tb_guc_enable_join)
		*reason = "pg_turbine.enable_join is off";
	else if (path == NULL)
		*reason = "PostgreSQL has no plan for the join without parallel workers";
	else
		return tree_of_path(root, path, reason);
	return NULL;
}

TbJoinTree *
tb_join_tree_noted(PlannerInfo *root, RelOptInfo *joinrel, const char **reason)
{
	TbReadPath *read = tb_serial_path_read(joinrel);

	if (read == NULL)
		return read_noted(root, joinrel, reason);
	if (read->tree == NULL && read->reason == NULL)
	{
		read->reason = "";
		read->tree = read_noted(root, joinrel, &read->reason);
	}
	*reason = read->reason;
	return read->tree;
}

const char *
tb_join_part(PlannerInfo *root, const char *what, Relids relids)
{
	StringInfoData names;
	int			   rti = -1;
	const char	  *separator = " ";

	if (!tb_planning_is_recording())
		return NULL;
	initStringInfo(&names);
	appendStringInfoString(&names, what);
	while ((rti = bms_next_member(relids, rti)) >= 0)
	{
		RangeTblEntry *rte = planner_rt_fetch(rti, root);

		if (TB_IS_OUTER_JOIN(root, rti))
			continue;
		appendStringInfo(&names, "%s%s", separator, rte->eref->aliasname);
		separator = ", ";
	}
	return names.data;
}
