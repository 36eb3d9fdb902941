/*
 * join_shape.c - in which shape a join runs, see join_shape.h. Called by join_read.c.
 *
 * Three shapes are compared:
 *   the chain      PostgreSQL's tree as it was read, with the probes of each stream in an
 *                  order of ours. The largest table streams through the join tables of all
 *                  others. This is right for stars, and join tables of single tables may be
 *                  kept from earlier queries. So it wins unless another shape is clearly
 *                  cheaper
 *   the search's   the cheapest tree over all connected sets of a region's items, found by
 *                  dynamic programming. The best stream of a set is the best stream of one
 *                  of its parts, which probes the join table of the rest. Joins behind LEFT
 *                  and FULL joins keep the order of the chain
 *   PostgreSQL's   as it was read. It is taken if both of ours have larger intermediate
 *                  results
 *
 * Then join tables that are finished filter later build sides of the shape
 * (join_filter.c).
 *
 * Sections: what a tree costs; regions; the search. The chain's order is join_order.c's.
 * Owns nothing.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "port/pg_bitutils.h"

#include "pg/compat/pg16.h"
#include "pg/planner/cost.h"
#include "pg/planner/join/join_filter.h"
#include "pg/planner/join/join_grid.h"
#include "pg/planner/join/join_keys.h"
#include "pg/planner/join/join_order.h"
#include "pg/planner/join/join_shape.h"
#include "pg/settings/guc.h"

/* ---- What a tree costs: rows that are read, become a table, look into one, are looked at,
 * come out ---- */

typedef struct ShapeCost
{
	double ns;
	double joined; /* rows that come out of joins, except the last */
} ShapeCost;

/* Of clauses as conditions of an inner join of these. */
static double
join_selectivity(PlannerInfo *root, List *clauses, Relids outer, Relids inner)
{
	SpecialJoinInfo sides = {.type = T_SpecialJoinInfo,
							 .min_lefthand = outer,
							 .min_righthand = inner,
							 .syn_lefthand = outer,
							 .syn_righthand = inner,
							 .jointype = JOIN_INNER};

	return clauselist_selectivity(root, clauses, 0, JOIN_INNER, &sides);
}

/* Rows that keys have found and the other conditions, which leave that share of them, have
 * dropped, beside `rows` that came out. */
static double
rows_rejected_by(double rows, double selectivity)
{
	/* Of conditions that nothing is said to pass, none is believed. */
	return rows / Max(selectivity, 0.0001) - rows;
}

/* Estimates the rows of the tree and of each of its joins: PostgreSQL's for the same
 * relations where it has some, else by the fractions of the joins. */
static void
estimate_tree(PlannerInfo *root, TbJoinTree *tree)
{
	Relids	  joined = bms_copy(tree->probe_side->relids);
	double	  rows = tree->probe_side->rows;
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		TbTreeJoin		 *join = lfirst(lc);
		const RelOptInfo *known;

		estimate_tree(root, join->inner);
		joined = tb_tree_join_add_relids(joined, join);
		known = find_join_rel(root, joined);
		rows = known != NULL ? known->rows : clamp_row_est(rows * join->fraction);
		join->rows = rows;
	}
	tree->rows = rows;
	bms_free(joined);
}

/* Whether cells of a grid are its key. */
static bool
uses_grid(PlannerInfo *root, const TbTreeJoin *join, Relids outer)
{
	TbGridClause clause;

	return join->kind != TB_JOIN_FULL &&
		tb_grid_find(root, join->conditions, outer, join->inner->relids,
					 join->kind == TB_JOIN_INNER, &clause) != NULL;
}

static int
count_keys(PlannerInfo *root, const TbTreeJoin *join, Relids outer)
{
	int		  count = 0;
	ListCell *lc;

	if (uses_grid(root, join, outer))
		return 1;

	foreach(lc, join->conditions)
		if (tb_join_key_between(lfirst(lc), outer, join->inner->relids))
			count++;
	return count;
}

/* Rows of the join table that are looked at without coming out. */
static double
rejected_rows(PlannerInfo *root, const TbTreeJoin *join, Relids outer, double rows)
{
	List	 *others = NIL;
	ListCell *lc;

	if (uses_grid(root, join, outer))
		return Max(rows, join->rows) * (TB_GRID_CANDIDATES - 1);
	foreach(lc, join->conditions)
		if (!tb_join_key_between(lfirst(lc), outer, join->inner->relids))
			others = lappend(others, lfirst(lc));
	if (list_length(others) == list_length(join->conditions))
		return Max(rows * join->inner->rows - join->rows, 0);
	if (others == NIL || join->kind != TB_JOIN_INNER)
		return 0;
	return rows_rejected_by(join->rows,
							join_selectivity(root, others, outer, join->inner->relids));
}

/* Of an estimated tree. */
static ShapeCost
tree_cost(PlannerInfo *root, const TbJoinTree *tree)
{
	ShapeCost cost = {.ns = tb_cost_scan_ns(tb_join_tree_input_rows(tree))};
	double	  rows = tree->probe_side->rows;
	Relids	  outer = bms_copy(tree->probe_side->relids);
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		const TbTreeJoin *join = lfirst(lc);
		ShapeCost		  inner = tree_cost(root, join->inner);

		cost.ns += inner.ns + tb_cost_build_ns(join->inner->rows) +
			tb_cost_probe_ns(rows, count_keys(root, join, outer),
							 rejected_rows(root, join, outer, rows), join->rows);
		cost.joined += inner.joined;
		/* Of its last join, too: they become a join table. */
		if (join->inner->joins != NIL)
			cost.joined += join->inner->rows;
		if (lnext(tree->joins, lc) != NULL)
			cost.joined += join->rows;
		outer = tb_tree_join_add_relids(outer, join);
		rows = join->rows;
	}
	bms_free(outer);
	return cost;
}

/*
 * ---- Regions ----
 *
 * PostgreSQL implies equalities of an equivalence class for each join that it considers, so
 * those of one shape are not those of another: they are asked for anew. All other
 * conditions stand at the first join that has all that they refer to.
 */

/* Sets of so many are searched. */
#define MOST_ITEMS 10

typedef struct RegionItem
{
	TbJoinTree		 *tree;		/* the input, or a filter join's inner side */
	const TbTreeJoin *filter;	/* NULL: an input */
	uint32			  required; /* by a filter join: the inputs that it refers to */
	bool			  keyless;	/* a filter join that looks at all rows */
} RegionItem;

/* What connects two sets of inputs. */
typedef struct RegionEdge
{
	uint32 one;
	uint32 other;
	int	   key; /* number of the key that finds rows; equal ones are one key */
} RegionEdge;

/* A condition that is no equality of an equivalence class. */
typedef struct RegionClause
{
	RestrictInfo *rinfo;
	uint32		  inputs;
	double		  selectivity;
	/* A grid finds rows by it: the inputs that have the points, and the shapes. Either side
	 * may be the points'. */
	uint32		  points[2];
	uint32		  shapes[2];
} RegionClause;

typedef struct Region
{
	PlannerInfo	 *root;
	int			  nitems;
	uint32		  inputs;	  /* of the items, those that are inputs */
	RegionItem	  items[MOST_ITEMS];
	List		 *conditions; /* RestrictInfo: of the joins, but for those of classes */
	RegionEdge	 *edges;
	int			  nedges;
	RegionClause *clauses;
	int			  nclauses;
} Region;

/* Whether nothing of the tree is lost if its joins are done elsewhere. */
static bool
is_region(const TbJoinTree *tree)
{
	return tb_join_tree_region(tree) == list_length(tree->joins) &&
		list_length(tree->filters) == tree->nown;
}

static bool
add_item(Region *region, TbJoinTree *tree, const TbTreeJoin *filter)
{
	RegionItem *item = &region->items[region->nitems];

	if (region->nitems == MOST_ITEMS)
		return false;
	item->tree = tree;
	item->filter = filter;
	if (filter == NULL)
		region->inputs |= (uint32) 1 << region->nitems;
	region->nitems++;
	return true;
}

/* The tree's probe side by itself. */
static TbJoinTree *
without_joins(const TbJoinTree *tree)
{
	TbJoinTree *alone = palloc(sizeof(TbJoinTree));

	*alone = *tree;
	alone->relids = tree->probe_side->relids;
	alone->filters = list_truncate(list_copy(tree->filters), tree->nown);
	alone->joins = NIL;
	alone->rows = tree->probe_side->rows;
	return alone;
}

static void
add_region_conditions(Region *region, const TbTreeJoin *join)
{
	ListCell *lc;

	foreach(lc, join->conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->parent_ec == NULL)
			region->conditions = list_append_unique_ptr(region->conditions, rinfo);
	}
}

static bool
add_region_joins(Region *region, const TbJoinTree *tree, int njoins)
{
	if (!add_item(region, without_joins(tree), NULL))
		return false;
	for (int i = 0; i < njoins; i++)
	{
		TbTreeJoin *join = list_nth(tree->joins, i);
		bool		done;

		if (join->kind != TB_JOIN_INNER)
			done = add_item(region, join->inner, join);
		else
		{
			add_region_conditions(region, join);
			done = is_region(join->inner) ?
				add_region_joins(region, join->inner, list_length(join->inner->joins)) :
				add_item(region, join->inner, NULL);
		}
		if (!done)
			return false;
	}
	return true;
}

/* Of a SEMI join's inner side nothing is left behind it, of an ANTI join's NULLs. */
static Relids
visible_relids(const TbJoinTree *tree)
{
	Relids	  visible = bms_copy(tree->probe_side->relids);
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		const TbTreeJoin *join = lfirst(lc);

		if (join->kind != TB_JOIN_SEMI && join->kind != TB_JOIN_ANTI)
			visible = bms_join(visible, visible_relids(join->inner));
		visible = bms_add_members(visible, join->outer_joins);
	}
	return visible;
}

/* Of the inputs of a set: relations whose columns can be looked at. */
static Relids
region_visible(const Region *region, uint32 set)
{
	Relids visible = NULL;

	for (int i = 0; i < region->nitems; i++)
		if (set & region->inputs & ((uint32) 1 << i))
			visible = bms_join(visible, visible_relids(region->items[i].tree));
	return visible;
}

/* The inputs that have the relations; 0 if some are of none, or no longer visible. */
static uint32
inputs_of(const Region *region, Relids relids)
{
	uint32 set = 0;
	Relids left = bms_copy(relids);

	for (int i = 0; i < region->nitems; i++)
	{
		Relids visible;

		if (region->items[i].filter != NULL)
			continue;
		visible = visible_relids(region->items[i].tree);
		if (bms_overlap(visible, left))
			set |= (uint32) 1 << i;
		left = bms_del_members(left, visible);
		bms_free(visible);
	}
	return bms_is_empty(left) ? set : 0;
}

/* A filter join keeps its conditions, so it must have all that these refer to. */
static bool
find_required(const Region *region, RegionItem *item)
{
	Relids		 outers = NULL;
	TbGridClause clause;
	ListCell	*lc;

	item->keyless = true;
	foreach(lc, item->filter->conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Relids		  outer = bms_difference(rinfo->clause_relids, item->tree->relids);
		uint32		  inputs = inputs_of(region, outer);

		if (inputs == 0 && !bms_is_empty(outer))
			return false;
		item->required |= inputs;
		outers = bms_add_members(outers, outer);
		if (tb_join_key_clause(rinfo))
			item->keyless = false;
	}
	if (tb_grid_find(region->root, item->filter->conditions, outers, item->tree->relids,
					 false, &clause) != NULL)
		item->keyless = false;
	return true;
}

/*
 * Collects the region at the tree's start: its first `njoins` joins and, of inner sides of
 * INNER joins, all that are regions as a whole. False: it has too many items, or a
 * condition that refers to something else. Trees of items are the tree's own; those with
 * joins wait for being searched themselves.
 */
static bool
region_collect(PlannerInfo *root, const TbJoinTree *tree, int njoins, Region *region)
{
	ListCell *lc;

	memset(region, 0, sizeof(*region));
	region->root = root;
	if (!add_region_joins(region, tree, njoins))
		return false;
	for (int i = 0; i < region->nitems; i++)
		if (region->items[i].filter != NULL && !find_required(region, &region->items[i]))
			return false;
	foreach(lc, region->conditions)
	{
		uint32 inputs = inputs_of(region, lfirst_node(RestrictInfo, lc)->clause_relids);

		/* No join of inputs would have it. */
		if ((inputs & (inputs - 1)) == 0)
			return false;
	}
	return true;
}

static void
add_edge(Region *region, uint32 one, uint32 other, int key)
{
	RegionEdge edge = {.one = one, .other = other, .key = key};

	if (one == 0 || other == 0 || (one & other) != 0)
		return;
	if (region->edges == NULL)
		region->edges = palloc(sizeof(edge));
	else
		region->edges = repalloc(region->edges, sizeof(edge) * (region->nedges + 1));
	region->edges[region->nedges++] = edge;
}

/* Any two members of a class may be equated. One with a constant needs no join. */
static void
add_edges_of_class(Region *region, const EquivalenceClass *ec, int key)
{
	int		  nmembers = list_length(ec->ec_members);
	uint32	 *inputs = palloc(sizeof(uint32) * nmembers);
	ListCell *lc;

	foreach(lc, ec->ec_members)
	{
		const EquivalenceMember *em = lfirst(lc);

		inputs[foreach_current_index(lc)] = em->em_is_const || em->em_is_child ?
			0 :
			inputs_of(region, em->em_relids);
	}
	for (int i = 0; i < nmembers; i++)
		for (int j = 0; j < i; j++)
			add_edge(region, inputs[i], inputs[j], key);
	pfree(inputs);
}

/* Of a clause between two relations: which of them may be the points of a grid. */
static void
find_grid_sides(const Region *region, RegionClause *clause, Relids one, Relids other)
{
	TbGridClause grid;
	bool shapes = !tb_grid_clause(region->root, clause->rinfo, one, other, false, &grid) &&
		!tb_grid_clause(region->root, clause->rinfo, other, one, false, &grid);

	clause->points[0] = clause->points[1] = 0;
	clause->shapes[0] = clause->shapes[1] = 0;
	if (tb_grid_clause(region->root, clause->rinfo, one, other, shapes, &grid))
	{
		clause->points[0] = inputs_of(region, one);
		clause->shapes[0] = inputs_of(region, other);
	}
	if (tb_grid_clause(region->root, clause->rinfo, other, one, shapes, &grid))
	{
		clause->points[1] = inputs_of(region, other);
		clause->shapes[1] = inputs_of(region, one);
	}
}

/* A clause has no selectivity of its own among those that keys find if it is a key. */
static void
add_clause(Region *region, RestrictInfo *rinfo)
{
	RegionClause *clause = &region->clauses[region->nclauses++];
	bool		  key = tb_join_key_clause(rinfo);
	Relids		  rest;
	int			  first = bms_next_member(rinfo->clause_relids, -1);

	clause->rinfo = rinfo;
	clause->inputs = inputs_of(region, rinfo->clause_relids);
	clause->selectivity = 1;
	if (key)
	{
		add_edge(region, inputs_of(region, rinfo->left_relids),
				 inputs_of(region, rinfo->right_relids), -region->nclauses);
		return;
	}
	rest = bms_del_member(bms_copy(rinfo->clause_relids), first);
	clause->selectivity = join_selectivity(region->root, list_make1(rinfo), rest,
										   bms_make_singleton(first));
	find_grid_sides(region, clause, bms_make_singleton(first), rest);
}

/* Finds what connects inputs. To be called once the trees of all items are what they shall
 * be, and estimated. */
static void
region_connect(Region *region)
{
	ListCell *lc;

	foreach(lc, region->root->eq_classes)
	{
		const EquivalenceClass *ec = lfirst(lc);

		if (!ec->ec_has_const && list_length(ec->ec_members) > 1)
			add_edges_of_class(region, ec, foreach_current_index(lc));
	}
	region->clauses = palloc(sizeof(RegionClause) *
							 Max(list_length(region->conditions), 1));
	foreach(lc, region->conditions)
		add_clause(region, lfirst(lc));
}

/* Whether the condition needs both sets, and nothing else. */
static bool
joins_sets(const RegionClause *clause, uint32 one, uint32 other)
{
	return (clause->inputs & ~(one | other)) == 0 && (clause->inputs & one) != 0 &&
		(clause->inputs & other) != 0;
}

/* Whether a grid finds rows of a set by points of another. */
static bool
finds_by_grid(const RegionClause *clause, uint32 probe, uint32 build)
{
	for (int i = 0; i < 2; i++)
		if (clause->points[i] != 0 && clause->shapes[i] != 0 &&
			(clause->points[i] & ~probe) == 0 && (clause->shapes[i] & ~build) == 0)
			return true;
	return false;
}

/* Whether a condition connects two sets of inputs; `nkeys`: of the keys by which rows are
 * found, at most 2 are counted. */
static bool
region_connected(const Region *region, uint32 one, uint32 other, int *nkeys)
{
	int key = 0;

	*nkeys = 0;
	for (int i = 0; i < region->nedges; i++)
	{
		const RegionEdge *edge = &region->edges[i];

		if (((edge->one & ~one) == 0 && (edge->other & ~other) == 0) ||
			((edge->one & ~other) == 0 && (edge->other & ~one) == 0))
		{
			if (*nkeys > 0 && edge->key != key)
			{
				*nkeys = 2;
				break;
			}
			*nkeys = 1;
			key = edge->key;
		}
	}
	if (*nkeys > 0)
		return true;
	for (int i = 0; i < region->nclauses; i++)
		if (joins_sets(&region->clauses[i], one, other))
			return true;
	return false;
}

/* The number of keys if equalities have `nkeys`, with the cells of a grid. */
static int
keys_with_grid(const Region *region, uint32 probe, uint32 build, int nkeys)
{
	for (int i = 0; nkeys == 0 && i < region->nclauses; i++)
		if (finds_by_grid(&region->clauses[i], probe, build))
			nkeys = 1;
	return nkeys;
}

/* The share of rows found by keys that the other conditions between both leave. `by_grid`:
 * cells are the key, of which a clause leaves some candidates. */
static double
region_selectivity(const Region *region, uint32 one, uint32 other, bool by_grid)
{
	double selectivity = 1;

	for (int i = 0; i < region->nclauses; i++)
		if (by_grid && finds_by_grid(&region->clauses[i], one, other))
			selectivity /= TB_GRID_CANDIDATES;
		else if (joins_sets(&region->clauses[i], one, other))
			selectivity *= region->clauses[i].selectivity;
	return selectivity;
}

/* The conditions of an inner join of both. */
static List *
region_conditions(const Region *region, uint32 outer, uint32 inner)
{
	RelOptInfo *side = makeNode(RelOptInfo);
	Relids		visible = region_visible(region, outer);
	List	   *conditions;

	/* PostgreSQL may never have considered this side: all it looks at are the relids. */
	side->reloptkind = RELOPT_JOINREL;
	side->relids = region_visible(region, inner);
	conditions = generate_join_implied_equalities(region->root,
												  bms_union(visible, side->relids), visible,
												  side, NULL);
	for (int i = 0; i < region->nclauses; i++)
		if (joins_sets(&region->clauses[i], outer & region->inputs, inner & region->inputs))
			conditions = list_append_unique_ptr(conditions, region->clauses[i].rinfo);
	return conditions;
}

/* PostgreSQL's estimate of what comes out of a set; negative: it has none. */
static double
region_rows(const Region *region, uint32 set)
{
	Relids			  relids = NULL;
	const RelOptInfo *known;

	for (int i = 0; i < region->nitems; i++)
		if (set & ((uint32) 1 << i))
			relids = bms_add_members(relids, region->items[i].tree->relids);
	known = find_join_rel(region->root, relids);
	bms_free(relids);
	return known != NULL ? known->rows : -1;
}

/* ---- The search ---- */

/* Another shape than the chain must cost less than this share of it. */
#define CLEARLY_CHEAPER 0.9

/* Estimates are rounded to whole rows on the way. */
#define SAME_ROWS 1.01

/* The cheapest stream of a set of items. */
typedef struct Stream
{
	double ns;	  /* infinite: none was found */
	double rows;
	uint32 probe; /* the set that streams; 0: an input by itself */
	uint32 build; /* the rest, or one filter join */
} Stream;

typedef struct Search
{
	Region	region;
	double	item_ns[MOST_ITEMS];
	Stream *streams; /* by sets */
	bool	crosses; /* sets without a condition between them are joined as well */
} Search;

static TbJoinTree *search_tree(PlannerInfo *root, const TbJoinTree *tree);

static TbTreeJoin *
copy_join(const TbTreeJoin *join, TbJoinTree *inner)
{
	TbTreeJoin *copy = palloc(sizeof(TbTreeJoin));

	*copy = *join;
	copy->inner = inner;
	return copy;
}

/* The tree's own, and its own list of joins. */
static TbJoinTree *
copy_tree(const TbJoinTree *tree)
{
	TbJoinTree *copy = palloc(sizeof(TbJoinTree));

	*copy = *tree;
	copy->joins = list_copy(tree->joins);
	copy->filters = list_copy(tree->filters);
	return copy;
}

/* A copy with copies of all inner sides, in PostgreSQL's order or in the chain's. */
static TbJoinTree *
copy_shape(const TbJoinTree *tree, bool chain)
{
	TbJoinTree *copy = copy_tree(tree);
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, copy->joins)
	{
		TbTreeJoin *join = lfirst(lc);

		lfirst(lc) = copy_join(join, copy_shape(join->inner, chain));
	}
	if (chain)
		copy->joins = tb_joins_in_order(copy->joins, tree->probe_side->relids);
	return copy;
}

/* Whether the rows of the set's stream can go through joins: rows of a plan can not. */
static bool
may_stream_set(const Search *search, uint32 set)
{
	if ((set & (set - 1)) != 0)
		return true;
	return search->region.items[pg_rightmost_one_pos32(set)].tree->source == NULL;
}

static bool
is_found(const Search *search, uint32 set)
{
	return !isinf(search->streams[set].ns);
}

static void
keep_cheapest(Stream *stream, double ns, uint32 probe, uint32 build)
{
	if (ns >= stream->ns)
		return;
	stream->ns = ns;
	stream->probe = probe;
	stream->build = build;
}

static void
start_input(Search *search, int number)
{
	Stream *stream = &search->streams[(uint32) 1 << number];

	stream->ns = search->item_ns[number];
	stream->rows = search->region.items[number].tree->rows;
}

/* A filter join as the last of the set's. */
static void
consider_filter(Search *search, uint32 set, int number)
{
	const RegionItem *item = &search->region.items[number];
	uint32			  build = (uint32) 1 << number;
	uint32			  probe = set & ~build;
	Stream			 *stream = &search->streams[set];
	const Stream	 *of = &search->streams[probe];
	double			  rejected;

	if (!is_found(search, probe) || !may_stream_set(search, probe) ||
		(item->required & ~probe) != 0)
		return;
	if (stream->rows < 0)
		stream->rows = clamp_row_est(of->rows * item->filter->fraction);
	rejected = item->keyless ? Max(of->rows * item->tree->rows - stream->rows, 0) : 0;
	keep_cheapest(stream,
				  of->ns + search->item_ns[number] + tb_cost_build_ns(item->tree->rows) +
					  tb_cost_probe_ns(of->rows, 1, rejected, stream->rows),
				  probe, build);
}

/* An inner join of two sets as the last of their union's. */
static void
consider_join(Search *search, uint32 probe, uint32 build)
{
	const Region *region = &search->region;
	Stream		 *stream = &search->streams[probe | build];
	const Stream *outer = &search->streams[probe];
	const Stream *inner = &search->streams[build];
	double		  rejected;
	int			  nequal;
	int			  nkeys;

	if (!is_found(search, probe) || !is_found(search, build) ||
		!may_stream_set(search, probe))
		return;
	if (!region_connected(region, probe, build, &nequal) && !search->crosses)
		return;
	nkeys = keys_with_grid(region, probe, build, nequal);
	if (stream->rows < 0)
		stream->rows = clamp_row_est(
			outer->rows * inner->rows *
			join_selectivity(region->root, region_conditions(region, probe, build),
							 region_visible(region, probe), region_visible(region, build)));
	rejected = nkeys > 0 ?
		rows_rejected_by(stream->rows,
						 region_selectivity(region, probe, build, nequal == 0)) :
		Max(outer->rows * inner->rows - stream->rows, 0);
	keep_cheapest(stream,
				  outer->ns + inner->ns + tb_cost_build_ns(inner->rows) +
					  tb_cost_probe_ns(outer->rows, nkeys, rejected, stream->rows),
				  probe, build);
}

static void
search_set(Search *search, uint32 set)
{
	const Region *region = &search->region;
	Stream		 *stream = &search->streams[set];

	stream->rows = region_rows(region, set);
	for (int i = 0; i < region->nitems; i++)
		if ((set & ((uint32) 1 << i)) != 0 && region->items[i].filter != NULL)
			consider_filter(search, set, i);
	for (uint32 probe = (set - 1) & set; probe != 0; probe = (probe - 1) & set)
		consider_join(search, probe, set & ~probe);
}

/* Sets before those that contain them. */
static void
search_sets(Search *search, uint32 all)
{
	for (uint32 set = 0; set <= all; set++)
		search->streams[set] = (Stream) {.ns = INFINITY};
	for (int i = 0; i < search->region.nitems; i++)
	{
		const RegionItem *item = &search->region.items[i];

		search->item_ns[i] = tree_cost(search->region.root, item->tree).ns;
		if (item->filter == NULL)
			start_input(search, i);
	}
	for (uint32 set = 1; set <= all; set++)
		if ((set & (set - 1)) != 0)
			search_set(search, set);
}

static TbTreeJoin *
make_join(const Search *search, uint32 probe, uint32 build, TbJoinTree *outer,
		  TbJoinTree *inner)
{
	const Region *region = &search->region;
	TbTreeJoin	 *join = palloc0(sizeof(TbTreeJoin));

	join->kind = TB_JOIN_INNER;
	join->conditions = region_conditions(region, probe, build);
	join->inner = inner;
	join->unique = tb_join_is_unique(region->root, outer->relids, inner, TB_JOIN_INNER,
									 join->conditions);
	join->rows = search->streams[probe | build].rows;
	join->fraction = join->rows / Max(search->streams[probe].rows, 1);
	return join;
}

/* The tree of the cheapest stream. */
static TbJoinTree *
make_stream(const Search *search, uint32 set)
{
	const Stream	 *stream = &search->streams[set];
	const RegionItem *item;
	TbJoinTree		 *tree;
	TbTreeJoin		 *join;

	check_stack_depth();
	if (stream->probe == 0)
		return copy_tree(search->region.items[pg_rightmost_one_pos32(set)].tree);
	tree = make_stream(search, stream->probe);
	item = &search->region.items[pg_rightmost_one_pos32(stream->build)];
	if (item->filter != NULL && (stream->build & (stream->build - 1)) == 0)
		join = copy_join(item->filter, item->tree);
	else
		join = make_join(search, stream->probe, stream->build, tree,
						 make_stream(search, stream->build));
	tree->joins = lappend(tree->joins, join);
	tree->relids = tb_tree_join_add_relids(bms_copy(tree->relids), join);
	tree->rows = stream->rows;
	return tree;
}

/* The cheapest tree of the first `njoins` joins. NULL: they are none that can be searched.
 */
static TbJoinTree *
search_region(PlannerInfo *root, const TbJoinTree *tree, int njoins)
{
	Search *search = palloc0(sizeof(Search));
	uint32	all;

	if (njoins == 0 || !region_collect(root, tree, njoins, &search->region))
		return NULL;
	for (int i = 0; i < search->region.nitems; i++)
	{
		RegionItem *item = &search->region.items[i];

		item->tree = search_tree(root, item->tree);
		estimate_tree(root, item->tree);
	}
	region_connect(&search->region);
	all = ((uint32) 1 << search->region.nitems) - 1;
	search->streams = palloc0(sizeof(Stream) * (all + 1));
	search_sets(search, all);
	if (!is_found(search, all))
	{
		search->crosses = true;
		search_sets(search, all);
	}
	return is_found(search, all) ? make_stream(search, all) : NULL;
}

/* The joins from number `first` on, their inner sides searched. */
static List *
search_inner_sides(PlannerInfo *root, const TbJoinTree *tree, int first, int added_filters)
{
	List	 *joins = NIL;
	ListCell *lc;

	for_each_from(lc, tree->joins, first)
	{
		const TbTreeJoin *join = lfirst(lc);
		TbTreeJoin		 *copy = copy_join(join, search_tree(root, join->inner));

		copy->nfilters += added_filters;
		joins = lappend(joins, copy);
	}
	return joins;
}

static TbJoinTree *
search_tree(PlannerInfo *root, const TbJoinTree *tree)
{
	int			njoins = tb_join_tree_region(tree);
	TbJoinTree *found;
	int			nfilters;
	List	   *behind;

	check_stack_depth();
	found = search_region(root, tree, njoins);
	if (found == NULL)
	{
		found = copy_tree(tree);
		found->joins = tb_joins_in_order(search_inner_sides(root, tree, 0, 0),
										 tree->probe_side->relids);
		return found;
	}
	/* What holds of the joined rows, behind the filters of the stream that there is now. */
	nfilters = list_length(found->filters);
	found->filters = list_concat(found->filters, list_copy_tail(tree->filters, tree->nown));
	behind = search_inner_sides(root, tree, njoins, nfilters - tree->nown);
	found->joins = list_concat(found->joins, tb_joins_in_order(behind, found->relids));
	found->relids = tree->relids;
	return found;
}

static ShapeCost
estimate(PlannerInfo *root, TbJoinTree *tree)
{
	estimate_tree(root, tree);
	return tree_cost(root, tree);
}

/* What was asked for, or NULL. */
static TbJoinTree *
forced_shape(TbJoinTree *theirs, TbJoinTree *chain, TbJoinTree *found)
{
	switch ((TbShapeChoice) tb_guc_debug_join_shape)
	{
		case TB_SHAPE_CHAIN:
		case TB_SHAPE_FILTERED:
			return chain;
		case TB_SHAPE_SEARCHED:
			return found;
		case TB_SHAPE_POSTGRESQL:
			return theirs;
		case TB_SHAPE_AUTO:
			break;
	}
	return NULL;
}

static TbJoinTree *
choose_shape(PlannerInfo *root, const TbJoinTree *read)
{
	TbJoinTree *theirs = copy_shape(read, false);
	TbJoinTree *chain = copy_shape(read, true);
	TbJoinTree *found = search_tree(root, read);
	ShapeCost	of_theirs = estimate(root, theirs);
	ShapeCost	of_chain = estimate(root, chain);
	ShapeCost	of_found = estimate(root, found);
	double		most = of_theirs.joined * SAME_ROWS;
	TbJoinTree *forced = forced_shape(theirs, chain, found);

	if (forced != NULL)
		return forced;
	if (of_found.joined <= most &&
		(of_chain.joined > most || of_found.ns < of_chain.ns * CLEARLY_CHEAPER))
		return found;
	return of_chain.joined <= most ? chain : theirs;
}

TbJoinTree *
tb_join_tree_shape(PlannerInfo *root, const TbJoinTree *read)
{
	TbJoinTree *tree = choose_shape(root, read);

	if (tb_guc_debug_join_shape == TB_SHAPE_AUTO ||
		tb_guc_debug_join_shape == TB_SHAPE_FILTERED)
		tb_join_tree_add_filters(root, tree);
	return tree;
}
