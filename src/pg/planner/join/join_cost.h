/*
 * join_cost.h - what a tree costs, so that shapes of one join can be compared.
 *
 * In nanoseconds of one thread, from the figures of planner/cost.c. What is the same
 * whatever the shape (stages, compilation, the sink) is left out.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_COST_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_COST_H

#include "pg/planner/join/join_tree.h"

typedef struct TbShapeCost
{
	double ns;
	double joined; /* rows that come out of joins, except the last */
} TbShapeCost;

/* Estimates the rows of the tree and of each of its joins: PostgreSQL's for the same
 * relations where it has some, else by the fractions of the joins. */
extern void tb_join_tree_estimate(PlannerInfo *root, TbJoinTree *tree);

/* Of an estimated tree. */
extern TbShapeCost tb_join_tree_cost(PlannerInfo *root, const TbJoinTree *tree);

/* Rows that keys have found and the other conditions, which leave that share of them, have
 * dropped, beside `rows` that came out. */
extern double tb_rejected_rows(double rows, double selectivity);

/* Of clauses as conditions of an inner join of these. */
extern double tb_join_selectivity(PlannerInfo *root, List *clauses, Relids outer,
								  Relids inner);

#endif
