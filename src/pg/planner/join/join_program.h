/*
 * join_program.h - the programs of a tree: one that its probe side streams through,
 * and one that builds each join table.
 */
#ifndef TURBINE_PG_PLANNER_JOIN_JOIN_PROGRAM_H
#define TURBINE_PG_PLANNER_JOIN_JOIN_PROGRAM_H

#include "postgres.h"

#include "pg/planner/cost.h"
#include "pg/planner/expression/expression.h"
#include "pg/planner/join/join_tree.h"
#include "pg/planner/program/stage.h"

typedef struct TbJoinProgram TbJoinProgram;

/*
 * Conditions that devices leave undecided for some of the rows that come out: PostgreSQL
 * must evaluate them for those. Of the rows it did not leave undecided they are true.
 */
typedef struct TbUndecided
{
	List  *conditions; /* Expr, in PostgreSQL's order */
	List  *flags;	   /* TbValue *, of the main program: whether the row is undecided */
	List  *shapes;	   /* TbUndecidedShape *: columns that are known only of such rows */
	double share;	   /* estimate: of the rows that come out */
} TbUndecided;

typedef struct TbUndecidedShape
{
	Var	   *var;
	TbValue value;
} TbUndecidedShape;

/*
 * Starts the programs of a tree, filters and joins added. NULL with *reason if
 * a device can not do some part of it. Tables are opened until tb_join_program_end.
 *
 * Filters of the probe side that devices do not have (RestrictInfo) are left to the caller
 * in *late_filters, in PostgreSQL's order; it must apply them to what comes out. NULL: it
 * can not. So are conditions that *undecided then has; NULL: what a device can not decide
 * is a verdict.
 */
extern TbJoinProgram *tb_join_program_begin(PlannerInfo *root, TbJoinTree *tree,
											List **late_filters, TbUndecided *undecided,
											const char **reason);

/* Adds to the main program; columns of every table are known. */
extern TbTranslator *tb_join_program_translator(TbJoinProgram *program);

/*
 * Serializes all: TbStages in the order in which they run, the main one last. NIL
 * with *reason if a limit is exceeded.
 */
extern List *tb_join_program_finish(TbJoinProgram *program, TbSink sink,
									const char **reason);

extern void tb_join_program_end(TbJoinProgram *program);

/* Estimated: how many rows there are before these filters for one that they let pass. */
extern double tb_late_filters_factor(PlannerInfo *root, List *late_filters);

#endif
