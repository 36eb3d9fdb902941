/*
 * join_shape.c - in which shape a join runs, see join_shape.h. Called by join_tree.c.
 *
 * Three shapes are compared:
 *   the chain      PostgreSQL's tree as it was read, with the probes of each stream in
 *                  the order of join_order.c. The largest table streams through the join
 *                  tables of all others. This is right for stars, and join tables of
 *                  single tables may be kept from earlier queries. So it wins unless
 *                  another shape is clearly cheaper
 *   the search's   the cheapest tree over all connected sets of a region's items
 *                  (join_region.h), found by dynamic programming. The best stream of a
 *                  set is the best stream of one of its parts, which probes the join
 *                  table of the rest. Joins behind LEFT and FULL joins keep the order of
 *                  the chain
 *   PostgreSQL's   as it was read. It is taken if both of ours have larger intermediate
 *                  results
 *
 * Then join tables that are finished filter later build sides of the shape
 * (join_filter.c).
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"

#include "pg/settings/guc.h"
#include "pg/planner/cost.h"
#include "pg/planner/join/join_cost.h"
#include "pg/planner/join/join_filter.h"
#include "pg/planner/join/join_order.h"
#include "pg/planner/join/join_region.h"
#include "pg/planner/join/join_shape.h"
#include "pg/planner/join/join_unique.h"

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
	TbRegion region;
	double	 item_ns[TB_REGION_MOST_ITEMS];
	Stream	*streams; /* by sets */
	bool	 crosses; /* sets without a condition between them are joined as well */
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
	const TbRegionItem *item = &search->region.items[number];
	uint32				build = (uint32) 1 << number;
	uint32				probe = set & ~build;
	Stream			   *stream = &search->streams[set];
	const Stream	   *of = &search->streams[probe];
	double				rejected;

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
	const TbRegion *region = &search->region;
	Stream		   *stream = &search->streams[probe | build];
	const Stream   *outer = &search->streams[probe];
	const Stream   *inner = &search->streams[build];
	double			rejected;
	int				nkeys;

	if (!is_found(search, probe) || !is_found(search, build) ||
		!may_stream_set(search, probe))
		return;
	if (!tb_region_connected(region, probe, build, &nkeys) && !search->crosses)
		return;
	if (stream->rows < 0)
		stream->rows = clamp_row_est(
			outer->rows * inner->rows *
			tb_join_selectivity(region->root, tb_region_conditions(region, probe, build),
								tb_region_visible(region, probe),
								tb_region_visible(region, build)));
	rejected = nkeys > 0 ?
		tb_rejected_rows(stream->rows, tb_region_selectivity(region, probe, build)) :
		Max(outer->rows * inner->rows - stream->rows, 0);
	keep_cheapest(stream,
				  outer->ns + inner->ns + tb_cost_build_ns(inner->rows) +
					  tb_cost_probe_ns(outer->rows, nkeys, rejected, stream->rows),
				  probe, build);
}

static void
search_set(Search *search, uint32 set)
{
	const TbRegion *region = &search->region;
	Stream		   *stream = &search->streams[set];

	stream->rows = tb_region_rows(region, set);
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
		const TbRegionItem *item = &search->region.items[i];

		search->item_ns[i] = tb_join_tree_cost(search->region.root, item->tree).ns;
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
	const TbRegion *region = &search->region;
	TbTreeJoin	   *join = palloc0(sizeof(TbTreeJoin));

	join->kind = TB_JOIN_INNER;
	join->conditions = tb_region_conditions(region, probe, build);
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
	const Stream	   *stream = &search->streams[set];
	const TbRegionItem *item;
	TbJoinTree		   *tree;
	TbTreeJoin		   *join;

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
	tree->relids = bms_union(tree->relids, join->inner->relids);
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

	if (njoins == 0 || !tb_region_collect(root, tree, njoins, &search->region))
		return NULL;
	for (int i = 0; i < search->region.nitems; i++)
	{
		TbRegionItem *item = &search->region.items[i];

		item->tree = search_tree(root, item->tree);
		tb_join_tree_estimate(root, item->tree);
	}
	tb_region_connect(&search->region);
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
	int			njoins = tb_region_length(tree);
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

static TbShapeCost
estimate(PlannerInfo *root, TbJoinTree *tree)
{
	tb_join_tree_estimate(root, tree);
	return tb_join_tree_cost(root, tree);
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
	TbShapeCost of_theirs = estimate(root, theirs);
	TbShapeCost of_chain = estimate(root, chain);
	TbShapeCost of_found = estimate(root, found);
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
