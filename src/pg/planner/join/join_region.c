/*
 * join_region.c - see join_region.h. Called by join_shape.c.
 *
 * PostgreSQL implies equalities of an equivalence class for each join that it considers,
 * so those of one shape are not those of another: they are asked for anew. All other
 * conditions stand at the first join that has all that they refer to.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "pg/planner/join/join_cost.h"
#include "pg/planner/join/join_keys.h"
#include "pg/planner/join/join_region.h"

int
tb_region_length(const TbJoinTree *tree)
{
	int		  length = 0;
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		if (tb_join_is_barrier(lfirst(lc)))
			break;
		length++;
	}
	return length;
}

/* Whether nothing of the tree is lost if its joins are done elsewhere. */
static bool
is_region(const TbJoinTree *tree)
{
	return tb_region_length(tree) == list_length(tree->joins) &&
		list_length(tree->filters) == tree->nown;
}

static bool
add_item(TbRegion *region, TbJoinTree *tree, const TbTreeJoin *filter)
{
	TbRegionItem *item = &region->items[region->nitems];

	if (region->nitems == TB_REGION_MOST_ITEMS)
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
add_region_conditions(TbRegion *region, const TbTreeJoin *join)
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
add_region_joins(TbRegion *region, const TbJoinTree *tree, int njoins)
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
	}
	return visible;
}

Relids
tb_region_visible(const TbRegion *region, uint32 set)
{
	Relids visible = NULL;

	for (int i = 0; i < region->nitems; i++)
		if (set & region->inputs & ((uint32) 1 << i))
			visible = bms_join(visible, visible_relids(region->items[i].tree));
	return visible;
}

/* The inputs that have the relations; 0 if some are of none, or no longer visible. */
static uint32
inputs_of(const TbRegion *region, Relids relids)
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
find_required(const TbRegion *region, TbRegionItem *item)
{
	ListCell *lc;

	item->keyless = true;
	foreach(lc, item->filter->conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Relids		  outer = bms_difference(rinfo->clause_relids, item->tree->relids);
		uint32		  inputs = inputs_of(region, outer);

		if (inputs == 0 && !bms_is_empty(outer))
			return false;
		item->required |= inputs;
		if (tb_join_key_clause(rinfo))
			item->keyless = false;
	}
	return true;
}

bool
tb_region_collect(PlannerInfo *root, const TbJoinTree *tree, int njoins, TbRegion *region)
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
add_edge(TbRegion *region, uint32 one, uint32 other, int key)
{
	TbRegionEdge edge = {.one = one, .other = other, .key = key};

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
add_edges_of_class(TbRegion *region, const EquivalenceClass *ec, int key)
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

/* A clause has no selectivity of its own among those that keys find if it is a key. */
static void
add_clause(TbRegion *region, RestrictInfo *rinfo)
{
	TbRegionClause *clause = &region->clauses[region->nclauses++];
	bool			key = tb_join_key_clause(rinfo);
	Relids			rest;
	int				first = bms_next_member(rinfo->clause_relids, -1);

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
	clause->selectivity = tb_join_selectivity(region->root, list_make1(rinfo), rest,
											  bms_make_singleton(first));
}

void
tb_region_connect(TbRegion *region)
{
	ListCell *lc;

	foreach(lc, region->root->eq_classes)
	{
		const EquivalenceClass *ec = lfirst(lc);

		if (!ec->ec_has_const && list_length(ec->ec_members) > 1)
			add_edges_of_class(region, ec, foreach_current_index(lc));
	}
	region->clauses = palloc(sizeof(TbRegionClause) *
							 Max(list_length(region->conditions), 1));
	foreach(lc, region->conditions)
		add_clause(region, lfirst(lc));
}

/* Whether the condition needs both sets, and nothing else. */
static bool
joins_sets(const TbRegionClause *clause, uint32 one, uint32 other)
{
	return (clause->inputs & ~(one | other)) == 0 && (clause->inputs & one) != 0 &&
		(clause->inputs & other) != 0;
}

bool
tb_region_connected(const TbRegion *region, uint32 one, uint32 other, int *nkeys)
{
	int key = 0;

	*nkeys = 0;
	for (int i = 0; i < region->nedges; i++)
	{
		const TbRegionEdge *edge = &region->edges[i];

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

double
tb_region_selectivity(const TbRegion *region, uint32 one, uint32 other)
{
	double selectivity = 1;

	for (int i = 0; i < region->nclauses; i++)
		if (joins_sets(&region->clauses[i], one, other))
			selectivity *= region->clauses[i].selectivity;
	return selectivity;
}

List *
tb_region_conditions(const TbRegion *region, uint32 outer, uint32 inner)
{
	RelOptInfo *side = makeNode(RelOptInfo);
	Relids		visible = tb_region_visible(region, outer);
	List	   *conditions;

	/* PostgreSQL may never have considered this side: all it looks at are the relids. */
	side->reloptkind = RELOPT_JOINREL;
	side->relids = tb_region_visible(region, inner);
	conditions = generate_join_implied_equalities(region->root,
												  bms_union(visible, side->relids), visible,
												  side);
	for (int i = 0; i < region->nclauses; i++)
		if (joins_sets(&region->clauses[i], outer & region->inputs, inner & region->inputs))
			conditions = list_append_unique_ptr(conditions, region->clauses[i].rinfo);
	return conditions;
}

double
tb_region_rows(const TbRegion *region, uint32 set)
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
