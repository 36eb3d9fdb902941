/*
 * join_tree.h - a join of PostgreSQL's as a stream that probes tables.
 *
 * A tree is a relation that is read row by row, the probe side, and a list of joins
 * that its rows go through in order. The inner side of a join is a tree again,
 * whose rows are built into a table first.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_TREE_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_TREE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "turbine/program.h"

#include "pg/planner/partitions.h"

typedef struct TbJoinTree TbJoinTree;

typedef struct TbTreeJoin
{
	TbJoinKind	kind;
	bool		unique;		 /* PostgreSQL has proved: no row has two matches */
	bool		shared;		 /* probes the join table of another join, whose inner tree
							  * this is: join_filter.h */
	List	   *conditions;	 /* RestrictInfo: what makes a match */
	TbJoinTree *inner;
	Relids		outer_joins; /* since 16: relids of outer joins that are done with it */
	int			nfilters;	 /* FULL: of the tree's filters, those before it */
	double		fraction;	 /* estimate: tuples that come out for one that
							  * goes in */
	double		rows;		 /* estimate of what comes out */
} TbTreeJoin;

struct TbJoinTree
{
	RelOptInfo	 *probe_side;
	TbPartitions *partitions; /* of the probe side, where it is partitioned */
	Path		 *source;	  /* NULL: the probe side is a table that the engine
							   * reads. Else its rows come from this path */
	Relids		  relids;	  /* of the whole tree */
	List		 *filters;	  /* RestrictInfo: of the probe side, then those that hold
							   * of the joined rows */
	int			  nown;		  /* how many of them are the probe side's */
	List		 *joins;	  /* TbTreeJoin */
	double		  rows;		  /* estimate of what comes out */
};

/* Rows of the probe side, before any filter. */
extern double tb_join_tree_input_rows(const TbJoinTree *tree);

/* Whether rows come out of the join that have no match: nothing moves past it. */
extern bool tb_join_is_barrier(const TbTreeJoin *join);

/* Adds what the stream has behind the join: the relids of its inner side, and of outer
 * joins. */
extern Relids tb_tree_join_add_relids(Relids relids, const TbTreeJoin *join);

/* How many joins of the tree, from the first, are in its region: those before a LEFT or
 * FULL join, which may be done in any order. */
extern int tb_join_tree_region(const TbJoinTree *tree);

/*
 * PostgreSQL's proof for a join of the stream that has the columns of `outer` with the
 * rows of the tree. It holds of the conditions that equate something with the join
 * table; the caller must make keys of all of them.
 */
extern bool tb_join_is_unique(PlannerInfo *root, Relids outer, const TbJoinTree *inner,
							  TbJoinKind kind, List *conditions);

#endif
