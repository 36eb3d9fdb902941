/*
 * postgres_time.c - see postgres_time.h.
 *
 * Sections: expressions, scans of tables, whole plans. Of other nodes than scans
 * PostgreSQL's charge is believed, since it is work of the processor: a node's cost less
 * those of its children, at the price of a unit. If a parallel plan has more processes than
 * there are processors, they wait for each other. PostgreSQL's costs leave that out.
 *
 * Owns the figures: of values that are in a core's caches, of pages in shared buffers or in
 * the operating system's cache, and of the nodes whose charge is far from true (processor
 * time over a million rows on an Intel Xeon, beside the charge). Must evaluate nothing,
 * change no path, and not look at PostgreSQL's cost of a scan, except for how far its index
 * is in the table's order, which the path does not keep. Called where nodes and rewritten
 * queries are compared with PostgreSQL's plans.
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "pg/compat/pg18.h"
#include "pg/convert/postgis.h"
#include "pg/planner/cost.h"
#include "pg/planner/postgres/postgres_time.h"
#include "pg/planner/relation_check.h"
#include "pg/source/heap/feeders/feeder_count.h"

/* ---- Expressions: nanoseconds on one core ---- */

/* A function of procost 1 whose arguments are passed by value. */
#define FUNCTION_NS 12.0

/* Besides, each argument that is a numeric, and each that is a text. */
#define NUMERIC_NS 20.0
#define TEXT_NS 25.0

/* A pattern: each byte of the text that it is looked for in. */
#define LIKE_BYTE_NS 1.5
#define REGEX_BYTE_NS 5.0

/* To a type through a text. */
#define COERCED_NS 150.0

/* A value among the elements of an array: PostgreSQL hashes those of so many, and looks at
 * one after another of fewer. */
#define HASHED_ELEMENTS 9
#define HASHED_NS 30.0

/* An attribute of the tuple up to the last one that is needed. */
#define ATTRIBUTE_NS 2.0

/* PostGIS declares costs that keep its predicates behind all other filters. This is what
 * one takes of a point and a small shape: st_contains 1 µs, st_dwithin up to 5. */
#define POSTGIS_NS 2000.0

/* Bytes of a text that nobody has statistics of. */
#define UNKNOWN_WIDTH 32

typedef struct Evaluation
{
	PlannerInfo *root;
	double		 ns;
} Evaluation;

static double
arguments_ns(const List *arguments)
{
	double	  ns = 0;
	ListCell *lc;

	foreach(lc, arguments)
	{
		Oid type;

		if (IsA(lfirst(lc), Const))
			continue;
		type = getBaseType(exprType(lfirst(lc)));
		if (type == NUMERICOID)
			ns += NUMERIC_NS;
		else if (TypeCategory(type) == TYPCATEGORY_STRING)
			ns += TEXT_NS;
	}
	return ns;
}

static double
function_ns(const Evaluation *evaluation, Oid function, Node *call, const List *arguments)
{
	QualCost cost = {0};
	double	 ns;

	add_function_cost(evaluation->root, function, call, &cost);
	ns = cost.per_tuple / Max(cpu_operator_cost, 1e-9) * FUNCTION_NS;
	if (ns > POSTGIS_NS && tb_postgis_function(function) >= 0)
		ns = POSTGIS_NS;
	return ns + arguments_ns(arguments);
}

static int32
width_of(const PlannerInfo *root, Node *text)
{
	List *vars = pull_var_clause(text,
								 PVC_INCLUDE_PLACEHOLDERS | PVC_RECURSE_AGGREGATES |
									 PVC_RECURSE_WINDOWFUNCS);
	int32 width = 0;

	if (vars != NIL && IsA(linitial(vars), Var) &&
		!IS_SPECIAL_VARNO(((Var *) linitial(vars))->varno))
	{
		const Var			*var = linitial(vars);
		const RangeTblEntry *rte = planner_rt_fetch(var->varno, root);

		if (rte->rtekind == RTE_RELATION)
			width = get_attavgwidth(rte->relid, var->varattno);
	}
	return width > 0 ? width : UNKNOWN_WIDTH;
}

/* What a text is matched with a pattern for, by the operator's own word for its kind. */
static double
pattern_ns(const Evaluation *evaluation, const OpExpr *op)
{
	switch (get_oprrest(op->opno))
	{
		case F_LIKESEL:
		case F_NLIKESEL:
		case F_ICLIKESEL:
		case F_ICNLIKESEL:
			return LIKE_BYTE_NS * width_of(evaluation->root, linitial(op->args));
		case F_REGEXEQSEL:
		case F_REGEXNESEL:
		case F_ICREGEXEQSEL:
		case F_ICREGEXNESEL:
			return REGEX_BYTE_NS * width_of(evaluation->root, linitial(op->args));
		default:
			return 0;
	}
}

static double
array_ns(const Evaluation *evaluation, ScalarArrayOpExpr *op)
{
	double elements = estimate_array_length(evaluation->root, lsecond(op->args));
	double one = function_ns(evaluation, op->opfuncid, (Node *) op,
							 list_make1(linitial(op->args)));

	if (elements >= HASHED_ELEMENTS && op->useOr)
		return HASHED_NS + one;
	return Max(elements, 1) * one / 2;
}

static bool
add_time(Node *node, Evaluation *evaluation)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		{
			OpExpr *op = (OpExpr *) node;

			set_opfuncid(op);
			evaluation->ns += function_ns(evaluation, op->opfuncid, node, op->args) +
				pattern_ns(evaluation, op);
			break;
		}
		case T_FuncExpr:
			evaluation->ns += function_ns(evaluation, ((FuncExpr *) node)->funcid, node,
										  ((FuncExpr *) node)->args);
			break;
		case T_ScalarArrayOpExpr:
			set_sa_opfuncid((ScalarArrayOpExpr *) node);
			evaluation->ns += array_ns(evaluation, (ScalarArrayOpExpr *) node);
			break;
		case T_CoerceViaIO:
			evaluation->ns += COERCED_NS;
			break;
		case T_SubPlan:
			evaluation->ns += ((SubPlan *) node)->per_call_cost * TB_US_PER_UNIT * 1000.0;
			return false;
		default:
			break;
	}
	return expression_tree_walker(node, add_time, evaluation);
}

double
tb_postgres_expression_us(PlannerInfo *root, Node *expr)
{
	Evaluation evaluation = {.root = root};

	(void) add_time(expr, &evaluation);
	return evaluation.ns / 1000.0;
}

static double
clause_ns(PlannerInfo *root, const RestrictInfo *filter)
{
	return tb_postgres_expression_us(root, (Node *) filter->clause) * 1000.0;
}

static AttrNumber
last_of(const Bitmapset *attributes)
{
	AttrNumber last = 0;
	int		   member = -1;

	while ((member = bms_next_member(attributes, member)) >= 0)
		last = Max(last, member + FirstLowInvalidHeapAttributeNumber);
	return last;
}

static AttrNumber
last_attribute(const RelOptInfo *rel, List *filters)
{
	Bitmapset *attributes = NULL;
	ListCell  *lc;

	foreach(lc, filters)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid,
					   &attributes);
	return last_of(attributes);
}

/* To form what is wanted of a row of the table, beyond what its filters have looked at:
 * microseconds a row. */
static double
columns_us(PlannerInfo *root, RelOptInfo *rel)
{
	Bitmapset *attributes = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attributes);
	return Max(last_of(attributes) - last_attribute(rel, rel->baserestrictinfo), 0) *
		ATTRIBUTE_NS / 1000.0;
}

double
tb_postgres_filters_us(PlannerInfo *root, const RelOptInfo *rel, List *filters)
{
	double	  ns = last_attribute(rel, filters) * ATTRIBUTE_NS;
	double	  reaching = 1;
	ListCell *lc;

	foreach(lc, filters)
	{
		RestrictInfo *filter = lfirst_node(RestrictInfo, lc);

		ns += reaching * clause_ns(root, filter);
		reaching *= clause_selectivity(root, (Node *) filter, 0, JOIN_INNER, NULL);
	}
	return ns / 1000.0;
}

/* ---- Scans: microseconds on one core ---- */

/* A page of a sequential scan: in shared buffers, or copied from the operating system's
 * cache to a buffer. */
#define RESIDENT_PAGE_US 0.3
#define COPIED_PAGE_US 1.0

/* A row of a sequential or bitmap scan, before its filters. */
#define ROW_US 0.035

/* A page that a bitmap or an index leads to, which is not the next one: the processor
 * waits for memory, and nobody has read ahead. */
#define RESIDENT_VISIT_US 0.5
#define COPIED_VISIT_US 1.8

/* An index: to its first entry, each level; an entry that an index scan returns; one that
 * becomes part of a bitmap. */
#define INDEX_START_US 1.5
#define INDEX_LEVEL_US 0.3
#define INDEX_ENTRY_US 0.15
#define BITMAP_ENTRY_US 0.06

/* A Gather: until workers have started, and a row that one of them sends. */
#define GATHER_START_US 4000.0
#define GATHERED_ROW_US 0.25

double
tb_postgres_processes(int workers)
{
	double leader = parallel_leader_participation ? Max(1.0 - 0.3 * workers, 0) : 0;

	return workers + leader;
}

double
tb_postgres_busy_processes(int workers)
{
	int processors = tb_cost_processors();

	return Max(Min(tb_postgres_processes(workers), processors), 1);
}

/* Index and bitmap scans keep pages in shared buffers as long as there is room. */
static double
visit_us(const RelOptInfo *rel)
{
	double resident = Min((double) NBuffers / Max(rel->pages, 1), 1);

	return RESIDENT_VISIT_US * resident + COPIED_VISIT_US * (1 - resident);
}

static double
sequential_scan_us(PlannerInfo *root, RelOptInfo *rel)
{
	double resident = tb_likely_resident(rel->pages);

	return rel->pages * (RESIDENT_PAGE_US * resident + COPIED_PAGE_US * (1 - resident)) +
		rel->tuples *
		(ROW_US + tb_postgres_filters_us(root, rel, tb_ordered_clauses(root, rel)));
}

double
tb_postgres_bitmap_pages(PlannerInfo *root, RelOptInfo *rel, Path *bitmap, double *rows)
{
	double least = *rows;
	Cost   cost;
	double pages = compute_bitmap_pages(root, rel, bitmap, 1.0, &cost, rows);

	/* The condition that a support function makes of a filter has a default selectivity,
	 * while the filter has one of its own. The formula is compute_bitmap_pages' own. */
	if (least > *rows)
	{
		*rows = least;
		pages = Max(pages, ceil(2.0 * rel->pages * least / (2.0 * rel->pages + least)));
	}
	return Min(pages, rel->pages);
}

double
tb_postgres_bitmap_us(const Path *bitmap, double rows)
{
	/* BRIN adds whole ranges of blocks, the others add rows. */
	bool adds_rows = !IsA(bitmap, IndexPath) ||
		((const IndexPath *) bitmap)->indexinfo->relam != BRIN_AM_OID;

	return INDEX_START_US + (adds_rows ? rows * BITMAP_ENTRY_US : 0);
}

static double
bitmap_scan_us(PlannerInfo *root, RelOptInfo *rel, const BitmapHeapPath *path)
{
	double rows = path->path.param_info == NULL ? rel->rows : path->path.rows;
	double pages = tb_postgres_bitmap_pages(root, rel, path->bitmapqual, &rows);

	return tb_postgres_bitmap_us(path->bitmapqual, rows) + pages * visit_us(rel) +
		rows * (ROW_US + tb_postgres_filters_us(root, rel, tb_ordered_clauses(root, rel)));
}

/* Filters that the index does not answer. */
static List *
filters_beside_index(PlannerInfo *root, RelOptInfo *rel, const IndexPath *path)
{
	List	 *filters = NIL;
	ListCell *lc;

	foreach(lc, tb_ordered_clauses(root, rel))
		if (!is_redundant_with_indexclauses(lfirst(lc), path->indexclauses))
			filters = lappend(filters, lfirst(lc));
	return filters;
}

/* How often a path that depends on other tables runs, as get_loop_count() of indxpath.c
 * has it: once for each row of the smallest of them. */
static double
loops_of(PlannerInfo *root, const IndexPath *path)
{
	const ParamPathInfo *info = path->path.param_info;
	double				 loops = 0;
	int					 relid = -1;

	while (info != NULL && (relid = bms_next_member(info->ppi_req_outer, relid)) >= 0)
	{
		const RelOptInfo *outer = root->simple_rel_array[relid];

		if (outer != NULL && outer->rows > 0 && (loops == 0 || outer->rows < loops))
			loops = outer->rows;
	}
	return Max(loops, 1);
}

/*
 * How many pages an index scan comes to, one after another. The path does not say how far
 * its index is in the table's order; its cost does, which PostgreSQL has put between those
 * of the two extremes (cost_index). A page that an earlier run of the path has read costs
 * it nothing, but is come to all the same.
 */
static double
visited_pages(PlannerInfo *root, const RelOptInfo *rel, const IndexPath *path, double rows)
{
	double loops = loops_of(root, path);
	double least = ceil(path->indexselectivity * rel->pages);
	double fetched = index_pages_fetched(rows * loops, rel->pages, path->indexinfo->pages,
										 root) /
		loops;
	double most_cost;
	double least_cost;
	double cost;
	double unordered;

	/* All-visible pages are not visited. */
	if (path->path.pathtype == T_IndexOnlyScan)
	{
		least = ceil(least * (1.0 - rel->allvisfrac));
		fetched *= 1.0 - rel->allvisfrac;
		rows *= 1.0 - rel->allvisfrac;
	}
	/* The two extremes of cost_index(). */
	most_cost = fetched * random_page_cost;
	least_cost = random_page_cost + Max(least - 1, 0) * seq_page_cost;
	if (loops > 1)
	{
		fetched = index_pages_fetched(least * loops, rel->pages, path->indexinfo->pages,
									  root) /
			loops;
		least_cost = fetched * random_page_cost;
	}
	/* Where between them is the path? */
	cost = path->path.total_cost - path->indextotalcost - rows * cpu_tuple_cost;
	unordered = most_cost > least_cost ?
		Min(Max((cost - least_cost) / (most_cost - least_cost), 0), 1) :
		0;
	return least + (rows - least) * unordered;
}

static double
index_scan_us(PlannerInfo *root, RelOptInfo *rel, const IndexPath *path)
{
	double rows = clamp_row_est(path->indexselectivity * rel->tuples);

	return INDEX_START_US + INDEX_LEVEL_US * path->indexinfo->tree_height +
		rows *
		(INDEX_ENTRY_US +
		 tb_postgres_filters_us(root, rel, filters_beside_index(root, rel, path))) +
		visited_pages(root, rel, path, rows) * visit_us(rel);
}

double
tb_postgres_scan_us(PlannerInfo *root, RelOptInfo *rel, const Path *path)
{
	double us;

	switch (path->pathtype)
	{
		case T_SeqScan:
			us = sequential_scan_us(root, rel);
			break;
		case T_BitmapHeapScan:
			us = bitmap_scan_us(root, rel, (const BitmapHeapPath *) path);
			break;
		case T_IndexScan:
		case T_IndexOnlyScan:
			us = index_scan_us(root, rel, (const IndexPath *) path);
			break;
		default:
			return -1;
	}
	return path->parallel_workers > 0 ?
		us / tb_postgres_busy_processes(path->parallel_workers) :
		us;
}

double
tb_postgres_gather_us(double rows)
{
	return GATHER_START_US + rows * GATHERED_ROW_US;
}

/* ---- Whole plans ---- */

/* Of what a Sort by one key is charged, 700 ns a row of a million: integers took 105, texts
 * 209, numerics 521. By two keys, below a window function, it took what is charged. */
#define SORT_PART 0.3

/* A row that is grouped by hashing, beside 18 ns that are charged: it took 59 by an integer
 * of 1,000 values, 84 by a text, 297 by an integer of 100,000. */
#define GROUPED_ROW_US 0.04

/* A row that a hash join finds in a table beyond the second-level cache, beside 116 ns that
 * are charged: it took 340 with 100,000 rows in the table, 700 with 500,000, and 74 with
 * 1,000. Bytes a row of a table, besides its width. */
#define MISSED_ROW_US 0.15
#define NEAR_BYTES 2e6
#define HASHED_ROW_BYTES 40

/* `crowd`: processes that do the same at a time, for each processor; at least 1. */
typedef struct Timing
{
	PlannerInfo *root;
	double		 crowd;
} Timing;

static double plan_us(const Timing *timing, const Path *path);

/* What a node does itself. */
static double
own_us(const Timing *timing, const Path *path, Cost children)
{
	return Max(path->total_cost - children, 0) * TB_US_PER_UNIT * timing->crowd;
}

static double
above_us(const Timing *timing, const Path *path, const Path *child)
{
	return own_us(timing, path, child->total_cost) + plan_us(timing, child);
}

/* A partial path's time is that of all its processes already. */
static double
scan_us(const Timing *timing, const Path *path)
{
	double us = -1;

	if (path->parent != NULL && path->parent->rtekind == RTE_RELATION)
		us = tb_postgres_scan_us(timing->root, path->parent, path);
	if (us < 0)
		return own_us(timing, path, 0);
	if (path->parallel_workers == 0)
		us *= timing->crowd;
	if (path->pathtype == T_IndexOnlyScan)
		return us;
	return us + path->rows * timing->crowd * columns_us(timing->root, path->parent);
}

/* Rows that a hash join finds far away. */
static double
missed_us(const Timing *timing, const Path *join, const Path *inner)
{
	double bytes = inner->rows * (inner->pathtarget->width + HASHED_ROW_BYTES);

	return bytes > NEAR_BYTES ? join->rows * MISSED_ROW_US * timing->crowd : 0;
}

static double
sort_us(const Timing *timing, const Path *path, const Path *child)
{
	double part = list_length(path->pathkeys) == 1 ? SORT_PART : 1;

	return own_us(timing, path, child->total_cost) * part + plan_us(timing, child);
}

static double
aggregate_us(const Timing *timing, const AggPath *path)
{
	const Path *child = path->subpath;
	double		grouped = path->aggstrategy == AGG_HASHED ? child->rows * timing->crowd : 0;

	return above_us(timing, &path->path, child) + grouped * GROUPED_ROW_US;
}

/* Of a subquery's path, which has a planner's state of its own. */
static double
subquery_us(const Timing *timing, const SubqueryScanPath *path)
{
	Timing inner = {.root = path->path.parent->subroot, .crowd = timing->crowd};

	return own_us(timing, &path->path, path->subpath->total_cost) +
		plan_us(&inner, path->subpath);
}

static double
append_us(const Timing *timing, const Path *path, const List *children)
{
	double	  us = 0;
	Cost	  cost = 0;
	ListCell *lc;

	foreach(lc, children)
	{
		us += plan_us(timing, lfirst(lc));
		cost += ((const Path *) lfirst(lc))->total_cost;
	}
	return us + own_us(timing, path, cost);
}

/* The inner side of a nested loop. It runs for each outer row if it depends on that, and
 * once a value if Memoize keeps what it returned. What it is charged for, to `cost`. */
static double
inner_us(const Timing *timing, const Path *inner, double outer_rows, Cost *cost)
{
	double runs = inner->param_info != NULL ? Max(outer_rows, 1) : 1;

	*cost = inner->total_cost * runs;
	if (IsA(inner, MemoizePath))
	{
		const MemoizePath *memoize = (const MemoizePath *) inner;
		double misses = memoize->est_entries > 0 ? Min(memoize->est_entries, runs) : runs;

		*cost = misses * memoize->subpath->total_cost;
		return misses * plan_us(timing, memoize->subpath);
	}
	return runs * plan_us(timing, inner);
}

static double
join_us(const Timing *timing, const JoinPath *join)
{
	const Path *outer = join->outerjoinpath;
	const Path *inner = join->innerjoinpath;
	Cost		inner_cost = inner->total_cost;
	double		us = plan_us(timing, outer);

	if (IsA(join, NestPath))
		us += inner_us(timing, inner, outer->rows, &inner_cost);
	else
		us += plan_us(timing, inner);
	if (IsA(join, HashPath))
		us += missed_us(timing, &join->path, inner);
	return us + own_us(timing, &join->path, outer->total_cost + inner_cost);
}

/* Workers begin anew below it. */
static double
gather_us(const Timing *timing, const Path *path, const Path *child)
{
	Timing below = *timing;

	if (child->parallel_workers > 0)
		below.crowd = Max(tb_postgres_processes(child->parallel_workers) /
							  tb_postgres_busy_processes(child->parallel_workers),
						  1);
	return plan_us(&below, child) + tb_postgres_gather_us(path->rows);
}

/* Of the path below as much as it is charged for. */
static double
limit_us(const Timing *timing, const LimitPath *path)
{
	const Path *child = path->subpath;
	double		part = child->total_cost > 0 ?
			 Min(path->path.total_cost / child->total_cost, 1) :
			 1;

	return plan_us(timing, child) * part;
}

/* What the node reads, if that is one path and nothing else is to be said of it. */
static const Path *
only_child(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_MaterialPath:
			return ((const MaterialPath *) path)->subpath;
		case T_MemoizePath:
			return ((const MemoizePath *) path)->subpath;
		case T_UniquePath:
			return ((const UniquePath *) path)->subpath;
		case T_ProjectionPath:
			return ((const ProjectionPath *) path)->subpath;
		case T_ProjectSetPath:
			return ((const ProjectSetPath *) path)->subpath;
		case T_GroupPath:
			return ((const GroupPath *) path)->subpath;
		case T_UpperUniquePath:
			return ((const UpperUniquePath *) path)->subpath;
		case T_GroupingSetsPath:
			return ((const GroupingSetsPath *) path)->subpath;
		case T_WindowAggPath:
			return ((const WindowAggPath *) path)->subpath;
		case T_SetOpPath:
			return tb_setop_only_input((const SetOpPath *) path);
		default:
			return NULL;
	}
}

static double
plan_us(const Timing *timing, const Path *path)
{
	const Path *child;

	check_stack_depth();
	switch (nodeTag(path))
	{
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
			return scan_us(timing, path);
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return join_us(timing, (const JoinPath *) path);
		case T_GatherPath:
			return gather_us(timing, path, ((const GatherPath *) path)->subpath);
		case T_GatherMergePath:
			return gather_us(timing, path, ((const GatherMergePath *) path)->subpath);
		case T_AppendPath:
			return append_us(timing, path, ((const AppendPath *) path)->subpaths);
		case T_MergeAppendPath:
			return append_us(timing, path, ((const MergeAppendPath *) path)->subpaths);
		case T_SubqueryScanPath:
			return subquery_us(timing, (const SubqueryScanPath *) path);
		case T_LimitPath:
			return limit_us(timing, (const LimitPath *) path);
		case T_SortPath:
		case T_IncrementalSortPath:
			return sort_us(timing, path, ((const SortPath *) path)->subpath);
		case T_AggPath:
			return aggregate_us(timing, (const AggPath *) path);
		default:
			break;
	}
	child = only_child(path);
	/* Of nodes of ours, whose costs are times, and of what is not known here. */
	return child != NULL ? above_us(timing, path, child) : own_us(timing, path, 0);
}

double
tb_postgres_plan_us(PlannerInfo *root, const Path *path)
{
	Timing timing = {.root = root, .crowd = 1};

	if (path->parallel_workers > 0)
		timing.crowd = Max(tb_postgres_processes(path->parallel_workers) /
							   tb_postgres_busy_processes(path->parallel_workers),
						   1);
	return plan_us(&timing, path);
}
