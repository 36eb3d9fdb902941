/*
 * rows_below.h - the rows of a subquery that a GpuSort or a GpuPreAgg computes, as
 * columns of the engine's results. An aggregation above runs over them as a second
 * program (wire.h: TbContinuation), so that no row leaves the engine.
 */
#ifndef TURBINE_PG_NODES_BELOW_ROWS_BELOW_H
#define TURBINE_PG_NODES_BELOW_ROWS_BELOW_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "pg/convert/final_values.h"
#include "pg/planner/expression/expression.h"

typedef struct TbRowsBelow
{
	RelOptInfo		 *rel;		  /* the subquery, as the level above has it */
	Path			 *path;		  /* of the subquery, a node of ours in it */
	const CustomPath *node;		  /* that node */
	List			 *stages;	  /* TbStage: its */
	List			 *scan_tlist; /* TargetEntry: the columns of its results */
	const TbOutput	 *outputs;	  /* the same */
	List			 *columns;	  /* Expr: the subquery's columns, made of those */
	List			 *raising;	  /* Expr: of its whole target, what may raise an error */
	List			 *having;	  /* Expr: what rows must meet, the same */
} TbRowsBelow;

/* NULL, with *reason, if the subquery has no such path, or one whose rows PostgreSQL still
 * does something to. */
extern TbRowsBelow *tb_rows_below(RelOptInfo *rel, const char **reason);

/* A translator of expressions over the subquery's columns, whose program is one over the
 * engine's rows. `below` stays in use. */
extern void tb_rows_below_translator(TbRowsBelow *below, PlannerInfo *root,
									 TbTranslator *t);

/* What the node below costs without handing its rows to PostgreSQL. */
extern Cost tb_rows_below_cost(const TbRowsBelow *below);

#endif
