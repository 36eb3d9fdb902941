/*
 * join_region.h - the part of a tree whose joins may be done in any order and shape.
 *
 * A region is made of inputs, all of which are inner joined, and of filter joins (SEMI and
 * ANTI), which drop rows of a stream that has the inputs they refer to. Both are items,
 * numbered from 0; a set of items is a word of bits.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_REGION_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_REGION_H

#include "pg/planner/join/join_tree.h"

/* Sets of so many are searched. */
#define TB_REGION_MOST_ITEMS 10

typedef struct TbRegionItem
{
	TbJoinTree		 *tree;		/* the input, or a filter join's inner side */
	const TbTreeJoin *filter;	/* NULL: an input */
	uint32			  required; /* by a filter join: the inputs that it refers to */
	bool			  keyless;	/* a filter join that looks at all rows */
} TbRegionItem;

/* What connects two sets of inputs. */
typedef struct TbRegionEdge
{
	uint32 one;
	uint32 other;
	int	   key; /* number of the key that finds rows; equal ones are one key */
} TbRegionEdge;

/* A condition that is no equality of an equivalence class. */
typedef struct TbRegionClause
{
	RestrictInfo *rinfo;
	uint32		  inputs;
	double		  selectivity;
} TbRegionClause;

typedef struct TbRegion
{
	PlannerInfo	   *root;
	int				nitems;
	uint32			inputs;		/* of the items, those that are inputs */
	TbRegionItem	items[TB_REGION_MOST_ITEMS];
	List		   *conditions; /* RestrictInfo: of the joins, but for those of classes */
	TbRegionEdge   *edges;
	int				nedges;
	TbRegionClause *clauses;
	int				nclauses;
} TbRegion;

/*
 * Collects the region at the tree's start: its first `njoins` joins and, of inner sides of
 * INNER joins, all that are regions as a whole. False: it has too many items, or a
 * condition that refers to something else. Trees of items are the tree's own; those with
 * joins wait for being searched themselves.
 */
extern bool tb_region_collect(PlannerInfo *root, const TbJoinTree *tree, int njoins,
							  TbRegion *region);

/* Finds what connects inputs. To be called once the trees of all items are what they shall
 * be, and estimated. */
extern void tb_region_connect(TbRegion *region);

/* How many joins of the tree, from the first, are in its region. */
extern int tb_region_length(const TbJoinTree *tree);

/* Whether a condition connects two sets of inputs; `nkeys`: of the keys by which rows are
 * found, at most 2 are counted. */
extern bool tb_region_connected(const TbRegion *region, uint32 one, uint32 other,
								int *nkeys);

/* The share of rows found by keys that the other conditions between both leave. */
extern double tb_region_selectivity(const TbRegion *region, uint32 one, uint32 other);

/* The conditions of an inner join of both. */
extern List *tb_region_conditions(const TbRegion *region, uint32 outer, uint32 inner);

/* PostgreSQL's estimate of what comes out of a set; negative: it has none. */
extern double tb_region_rows(const TbRegion *region, uint32 set);

/* Of the inputs of a set: relations whose columns can be looked at. */
extern Relids tb_region_visible(const TbRegion *region, uint32 set);

#endif
