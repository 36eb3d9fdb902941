/*
 * program_builder_state.h - what the builder's two files share; nobody else
 * includes it.
 *
 *   program_builder.c    expressions are added
 *   program_serialize.c  what is reachable becomes a program
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_PROGRAM_BUILDER_STATE_H
#define TURBINE_PG_PLANNER_PROGRAM_PROGRAM_BUILDER_STATE_H

#include "pg/planner/program/program_builder.h"

typedef struct BuilderExpr
{
	TbExpr	expr;
	uint32 *args;
} BuilderExpr;

typedef struct BuilderParam
{
	TbParamShape shape;
	Expr		*expr;
} BuilderParam;

typedef struct BuilderJoin
{
	TbJoin join; /* residual: an expression */
	List  *keys; /* int list: expressions */
} BuilderJoin;

/* A column of points, which is read as columns of their coordinates. */
typedef struct BuilderPoint
{
	AttrNumber attnum;
	TbValue	   value; /* TB_EXPR_POINT */
} BuilderPoint;

/* Fixed-capacity growth of the builder's arrays. */
typedef struct BuilderList
{
	uint32 count;
	uint32 capacity;
} BuilderList;

struct TbBuilder
{
	TupleDesc			desc;		/* NULL: the source is rows of another plan */
	const TbPartitions *partitions; /* NULL: desc is that of a plain table */
	BuilderExpr		   *exprs;
	BuilderList			expr_list;
	BuilderParam	   *params;
	BuilderList			param_list;
	TbColumn		   *columns;
	BuilderList			column_list;
	TbValue			   *column_values; /* one a column */
	TbAgg			   *aggs;
	BuilderList			agg_list;
	List			   *filters; /* int lists: expressions */
	List			   *keys;
	List			   *outputs;
	List			   *joins;			/* BuilderJoin * */
	List			   *points;			/* BuilderPoint * */
	uint32				full_joins_end; /* see tb_builder_expect_full_join */
	uint32				nlocals;
	bool				keep_null_keys;
	bool				of_files; /* see tb_builder_read_files */
};

#endif
