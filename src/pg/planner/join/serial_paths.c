/*
 * serial_paths.c - see serial_paths.h.
 *
 * add_path frees the paths that lose, so the best one is copied while it is
 * there; what lies below it belongs to finished relations and stays. A Gather
 * below is replaced by the serial path of the relation that it gathers. Order
 * that is lost thereby is made again (MergePath) or no longer claimed.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "parser/parsetree.h"
#include "utils/hsearch.h"

#include "pg/compat/pg18.h"
#include "pg/planner/partitions.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/planning.h"

typedef struct NotedPath
{
	const RelOptInfo *rel; /* key */
	Path			 *path;
	TbReadPath		  read;
} NotedPath;

static NotedPath *
find_noted(const RelOptInfo *rel, HASHACTION action)
{
	TbPlanning *planning = tb_planning();
	bool		found;
	NotedPath  *entry;

	if (planning->serial_paths == NULL)
	{
		HASHCTL control = {0};

		if (action == HASH_FIND)
			return NULL;
		control.keysize = sizeof(RelOptInfo *);
		control.entrysize = sizeof(NotedPath);
		control.hcxt = CurrentMemoryContext;
		planning->serial_paths = hash_create("pg_turbine serial paths", 64, &control,
											 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	entry = hash_search(planning->serial_paths, &rel, action, &found);
	if (entry != NULL && !found)
	{
		entry->path = NULL;
		entry->read = (TbReadPath) {0};
	}
	return entry;
}

Path *
tb_serial_path_of(const RelOptInfo *joinrel)
{
	NotedPath *entry = find_noted(joinrel, HASH_FIND);

	return entry != NULL ? entry->path : NULL;
}

TbReadPath *
tb_serial_path_read(const RelOptInfo *joinrel)
{
	NotedPath *entry = find_noted(joinrel, HASH_FIND);

	return entry != NULL ? &entry->read : NULL;
}

static Path *serial(PlannerInfo *root, Path *path);

static bool all_serial(List *paths);

/* Whether nothing at or below the path is parallel. Of kinds not known here:
 * no. */
static bool
is_serial(Path *path)
{
	check_stack_depth();
	if (path == NULL)
		return true;
	if (path->parallel_aware)
		return false;
	switch (nodeTag(path))
	{
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
		case T_TidPath:
		case T_TidRangePath:
		case T_GroupResultPath:
			return true;
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return is_serial(((JoinPath *) path)->outerjoinpath) &&
				is_serial(((JoinPath *) path)->innerjoinpath);
		case T_SubqueryScanPath:
			return is_serial(((SubqueryScanPath *) path)->subpath);
		case T_ForeignPath:
			return is_serial(((ForeignPath *) path)->fdw_outerpath);
		case T_CustomPath:
			return all_serial(((CustomPath *) path)->custom_paths);
		case T_AppendPath:
			return all_serial(((AppendPath *) path)->subpaths);
		case T_MergeAppendPath:
			return all_serial(((MergeAppendPath *) path)->subpaths);
		case T_MaterialPath:
			return is_serial(((MaterialPath *) path)->subpath);
		case T_MemoizePath:
			return is_serial(((MemoizePath *) path)->subpath);
		case T_UniquePath:
			return is_serial(((UniquePath *) path)->subpath);
		case T_ProjectionPath:
			return is_serial(((ProjectionPath *) path)->subpath);
		case T_ProjectSetPath:
			return is_serial(((ProjectSetPath *) path)->subpath);
		case T_SortPath:
		case T_IncrementalSortPath:
			return is_serial(((SortPath *) path)->subpath);
		case T_GroupPath:
			return is_serial(((GroupPath *) path)->subpath);
		case T_UpperUniquePath:
			return is_serial(((UpperUniquePath *) path)->subpath);
		case T_AggPath:
			return is_serial(((AggPath *) path)->subpath);
		case T_GroupingSetsPath:
			return is_serial(((GroupingSetsPath *) path)->subpath);
		case T_WindowAggPath:
			return is_serial(((WindowAggPath *) path)->subpath);
		case T_SetOpPath:
			return all_serial(tb_setop_inputs((SetOpPath *) path));
		case T_RecursiveUnionPath:
			return is_serial(((RecursiveUnionPath *) path)->leftpath) &&
				is_serial(((RecursiveUnionPath *) path)->rightpath);
		case T_LimitPath:
			return is_serial(((LimitPath *) path)->subpath);
		case T_MinMaxAggPath: /* its plans are InitPlans */
			return true;
		default:
			return false;
	}
}

static bool
all_serial(List *paths)
{
	ListCell *lc;

	foreach(lc, paths)
		if (!is_serial(lfirst(lc)))
			return false;
	return true;
}

/* Of a partitioned table; NULL if not all of its partitions are tables. */
static Path *
append_of_tables(PlannerInfo *root, RelOptInfo *rel)
{
	TbPartitions *partitions = tb_partitions_of(root, rel);
	ListCell	 *lc;

	foreach(lc, partitions->leaves)
	{
		char kind = planner_rt_fetch(((TbLeaf *) lfirst(lc))->rel->relid, root)->relkind;

		if (kind != RELKIND_RELATION && kind != RELKIND_FOREIGN_TABLE)
			return NULL;
	}
	return tb_partitions_append(root, rel, partitions);
}

/* The cheapest without parameters; NULL: none. */
static Path *
cheapest(RelOptInfo *rel, bool (*accept)(Path *path))
{
	Path	 *best = NULL;
	ListCell *lc;

	foreach(lc, rel->pathlist)
	{
		Path *path = lfirst(lc);

		if (path->param_info == NULL && accept(path) &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	return best;
}

/*
 * Whether the path is a subquery that has its workers within itself, and is not run by
 * workers. Its plans were made when it was planned; there may be none without a Gather.
 */
static bool
is_subquery_with_workers(Path *path)
{
	return IsA(path, SubqueryScanPath) && !path->parallel_aware && !path->parallel_safe &&
		path->parallel_workers == 0;
}

Path *
tb_serial_path_of_input(PlannerInfo *root, RelOptInfo *rel)
{
	Path *best;

	if (rel->reloptkind != RELOPT_BASEREL)
		return NULL;
	best = cheapest(rel, is_serial);
	if (best == NULL && rel->rtekind == RTE_SUBQUERY)
		best = cheapest(rel, is_subquery_with_workers);
	if (best == NULL && rel->rtekind == RTE_RELATION)
	{
		RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

		if (rte->relkind == RELKIND_RELATION && !rte->inh && rte->tablesample == NULL)
			best = create_seqscan_path(root, rel, NULL, 0);
		else if (tb_is_partitioned(rel, rte) && rte->tablesample == NULL)
			best = append_of_tables(root, rel);
	}
	return best;
}

/* For a relation whose path is gathered from workers: one that is not. */
static Path *
substitute(PlannerInfo *root, RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_JOINREL ? tb_serial_path_of(rel) :
											   tb_serial_path_of_input(root, rel);
}

static Path *
copy_path(const Path *path, Size size)
{
	Path *copy = palloc(size);

	memcpy(copy, path, size);
	return copy;
}

/* `keys` if the replacement of a sorted input is not sorted by them, to be sorted
 * anew. */
static List *
lost_order(const Path *original, const Path *replacement)
{
	return pathkeys_contained_in(original->pathkeys, replacement->pathkeys) ?
		NIL :
		original->pathkeys;
}

static Path *
serial_join(PlannerInfo *root, JoinPath *path, Size size)
{
	JoinPath *copy;
	Path	 *outer = serial(root, path->outerjoinpath);
	Path	 *inner = serial(root, path->innerjoinpath);

	if (outer == NULL || inner == NULL)
		return NULL;
	if (outer == path->outerjoinpath && inner == path->innerjoinpath)
		return &path->path;
	copy = (JoinPath *) copy_path(&path->path, size);
	copy->outerjoinpath = outer;
	copy->innerjoinpath = inner;
	if (IsA(copy, MergePath))
	{
		MergePath *merge = (MergePath *) copy;

		if (merge->outersortkeys == NIL)
			merge->outersortkeys = lost_order(path->outerjoinpath, outer);
		if (merge->innersortkeys == NIL)
			merge->innersortkeys = lost_order(path->innerjoinpath, inner);
	}
	else if (lost_order(path->outerjoinpath, outer) != NIL)
		copy->path.pathkeys = NIL;
	return &copy->path;
}

/* A node with one input at `subpath`, whose order it passes on if `passes`. */
static Path *
serial_wrapper(PlannerInfo *root, Path *path, Size size, Path **subpath, bool passes)
{
	Path *original = *subpath;
	Path *below = serial(root, original);
	Size  offset = (char *) subpath - (char *) path;
	Path *copy;

	if (below == NULL || below == original)
		return below == NULL ? NULL : path;
	copy = copy_path(path, size);
	*(Path **) ((char *) copy + offset) = below;
	if (passes)
		copy->pathkeys = below->pathkeys;
	return copy;
}

/* The path, or one that does the same without workers; NULL: there is none. */
static Path *
serial(PlannerInfo *root, Path *path)
{
	check_stack_depth();
	if (path->parallel_aware)
		return NULL;
	switch (nodeTag(path))
	{
		case T_GatherPath:
		case T_GatherMergePath:
			return path->param_info == NULL ? substitute(root, path->parent) : NULL;
		case T_NestPath:
			return serial_join(root, (JoinPath *) path, sizeof(NestPath));
		case T_MergePath:
			return serial_join(root, (JoinPath *) path, sizeof(MergePath));
		case T_HashPath:
			return serial_join(root, (JoinPath *) path, sizeof(HashPath));
		case T_MaterialPath:
			return serial_wrapper(root, path, sizeof(MaterialPath),
								  &((MaterialPath *) path)->subpath, true);
		case T_MemoizePath:
			return serial_wrapper(root, path, sizeof(MemoizePath),
								  &((MemoizePath *) path)->subpath, true);
		case T_SortPath:
			return serial_wrapper(root, path, sizeof(SortPath),
								  &((SortPath *) path)->subpath, false);
		case T_UniquePath:
			if (((UniquePath *) path)->umethod == UNIQUE_PATH_NOOP)
				return is_serial(path) ? path : NULL;
			return serial_wrapper(root, path, sizeof(UniquePath),
								  &((UniquePath *) path)->subpath, false);
		case T_SubqueryScanPath:
			return is_serial(path) || is_subquery_with_workers(path) ? path : NULL;
		default:
			return is_serial(path) ? path : NULL;
	}
}

static Size
join_path_size(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_NestPath:
			return sizeof(NestPath);
		case T_MergePath:
			return sizeof(MergePath);
		case T_HashPath:
			return sizeof(HashPath);
		default:
			return 0;
	}
}

void
tb_serial_paths_note(PlannerInfo *root, RelOptInfo *joinrel)
{
	NotedPath *entry = find_noted(joinrel, HASH_ENTER);
	ListCell  *lc;

	foreach(lc, joinrel->pathlist)
	{
		Path *path = lfirst(lc);
		Size  size = join_path_size(path);
		Path *found;

		if (size == 0 || path->param_info != NULL ||
			(entry->path != NULL && entry->path->total_cost <= path->total_cost))
			continue;
		found = serial(root, path);
		if (found == NULL)
			continue;
		entry->path = found == path ? copy_path(path, size) : found;
		entry->read = (TbReadPath) {0};
	}
}
