/*
 * projection.h - the programs that return expressions over a tree's rows.
 */
#ifndef TURBINE_PG_NODES_JOIN_PROJECTION_H
#define TURBINE_PG_NODES_JOIN_PROJECTION_H

#include "postgres.h"

#include "nodes/extensible.h"

#include "pg/convert/final_values.h"
#include "pg/planner/join/join_tree.h"

typedef struct TbProjection
{
	List	 *stages;  /* TbStage; the last one's sink is PROJECT */
	List	 *exprs;   /* Expr: what is returned */
	TbOutput *outputs; /* one an expression */
	Expr *filter; /* over them: of rows that devices left undecided; NULL: there are none */
	Expr *mark;	  /* of exprs: true in such a row */
	double marked; /* estimate: the share of such rows */
} TbProjection;

/*
 * NULL, with *reason, if a device can not compute it. `late`: Vars of the table that the
 * tree is, which become expressions behind the others: rows come with their tuple ids, and
 * the backend fetches these columns of those that are left. `has_filter`: whether
 * PostgreSQL may have a filter over the rows; else what devices can not decide is a
 * verdict.
 */
extern TbProjection *tb_projection_make(PlannerInfo *root, TbJoinTree *tree, List *exprs,
										List *late, bool has_filter, const char **reason);

/* How the plan's scan tuple calls the column that marks undecided rows. */
#define TB_UNDECIDED_COLUMN "undecided"

/* The plan of a path whose custom_private is a projection: the scan tuple has its
 * expressions. */
extern Plan *tb_projection_plan(const CustomPath *path, double rows, List *tlist,
								List *custom_plans, const CustomScanMethods *methods);

#endif
