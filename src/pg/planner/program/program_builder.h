/*
 * program_builder.h - makes a serialized program (turbine/program.h) out of
 * expressions that the translator adds one by one.
 *
 * Adding never fails and needs no undoing: finishing keeps only what filters,
 * keys and aggregates reach. All memory is the current context's.
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_PROGRAM_BUILDER_H
#define TURBINE_PG_PLANNER_PROGRAM_PROGRAM_BUILDER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "turbine/functions.h"
#include "turbine/program.h"

#include "pg/planner/partitions.h"
#include "pg/convert/type_map.h"

typedef struct TbBuilder TbBuilder;

/* What PostgreSQL's expression became: one of the builder's, and what is known of it. */
typedef struct TbValue
{
	uint32		 expr; /* its index */
	TbTypeInfo	 info;
	bool		 nullable;
	/*
	 * numeric: TB_NONE if every value has info.scale digits after the point
	 * when PostgreSQL prints it; else an INT4 expression that says how many
	 * (CASE WHEN b THEN 1.00 ELSE 0 END).
	 */
	uint32		 display_scale;
	int16		 display_max; /* the most that it says, if it varies */
	const Const *constant;	  /* if it is nothing but a literal */
} TbValue;

/* Limits are checked when finishing; until then the builder only counts.
 * Without `desc` the source is rows of another plan. */
extern TbBuilder *tb_builder_create(TupleDesc desc);

/* `desc` is that of a foreign table over files of columns. */
extern void tb_builder_read_files(TbBuilder *builder);

/* `desc` is that of a partitioned table: what is known of values, its partitions
 * know. */
extern void tb_builder_set_partitions(TbBuilder *builder, const TbPartitions *partitions);

/* The expression that reads an attribute; of a numeric without precision and scale the form
 * is a guess, which decoding checks, and display_scale an expression too. False if its
 * type, or the value that short tuples have, is not one of the engine's. */
extern bool tb_builder_column(TbBuilder *builder, AttrNumber attnum, TbValue *value);

/* The same of a source without `desc`: column `attnum` of the rows, of that type. */
extern bool tb_builder_row_column(TbBuilder *builder, AttrNumber attnum, Oid typid,
								  int32 typmod, TbValue *value);

/* The same of a source that is the rows of an earlier program: their column number
 * `column`, from 0. */
extern TbValue tb_builder_result_column(TbBuilder *builder, uint32 column, TbTypeInfo info,
										bool nullable);

/* The tuple ids of a heap's rows, as integers (TB_PACKED_TID). */
extern TbValue tb_builder_tid_column(TbBuilder *builder);

/* The attnums of the columns that the rows are sent with, in their order; after
 * everything has been added. */
extern List *tb_builder_row_columns(const TbBuilder *builder);

/*
 * Joins, probed in the order of their creation. A join's keys are in the order of
 * the table's; `unique` says that at most one row of the table has equal keys.
 * A payload column is output number `output` of the table's program.
 */
extern uint32  tb_builder_add_join(TbBuilder *builder, TbJoinKind kind, uint32 table);
extern void	   tb_builder_join_key(TbBuilder *builder, uint32 join, const TbValue *value);
extern void	   tb_builder_join_condition(TbBuilder *builder, uint32 join,
										 const TbValue *residual, bool unique);
extern TbValue tb_builder_payload(TbBuilder *builder, uint32 join, uint32 output,
								  TbTypeInfo info, bool stored_nullable);

/*
 * Before anything else is added: the join with this index will be a FULL one, so that
 * columns of the source and of all joins up to it may be NULL; of several, the last.
 * When the join has been added: of the filters the first `nfilters` stand before it.
 */
extern void tb_builder_expect_full_join(TbBuilder *builder, uint32 join);
extern void tb_builder_full_join(TbBuilder *builder, uint32 join, uint32 nfilters);

/* BUILD for a FULL join: rows with NULL keys are kept. */
extern void tb_builder_keep_null_keys(TbBuilder *builder);

/*
 * After everything has been added: the outputs of the join's table that are used,
 * in the order in which the finished program counts on them; and drops all but those.
 */
extern List *tb_builder_used_outputs(const TbBuilder *builder, uint32 join);
extern void	 tb_builder_keep_outputs(TbBuilder *builder, const List *numbers);

/* PROJECT, BUILD: the number of the expression as an output; an equal one is shared. */
extern uint32 tb_builder_add_output(TbBuilder *builder, uint32 expr);

/* A parameter computed from `expr` when the query starts. flags: TB_PARAM_*. */
extern TbValue tb_builder_param(TbBuilder *builder, Expr *expr, TbTypeInfo info,
								uint8 flags);

/* An operator and its operands. `index` as TbExprOp says; `nullable` of the result. */
extern TbValue tb_builder_expr(TbBuilder *builder, TbExprOp op, TbTypeInfo info,
							   uint32 index, int nargs, const TbValue *args, bool nullable);

/* Before the expression is an operand of others: what it costs besides, in integer
 * comparisons. Costs are bytes of the program, so equal ones share their code. */
extern void tb_builder_add_cost(TbBuilder *builder, const TbValue *value, uint32 cost);

/* The same: what it costs in all, where operands that are used twice would count twice. */
extern void tb_builder_set_cost(TbBuilder *builder, const TbValue *value, uint32 cost);

/* The first of so many new locals of a loop; and the expression that reads one. TB_NONE:
 * there are too many. */
extern uint32  tb_builder_add_locals(TbBuilder *builder, int count);
extern TbValue tb_builder_local(TbBuilder *builder, uint32 local, TbTypeInfo info);

/* Whether evaluating it may raise an error. */
extern bool tb_builder_may_raise(const TbBuilder *builder, const TbValue *value);

/* Expressions so far, whether the program will use them or not. */
extern uint32 tb_builder_size(const TbBuilder *builder);

extern void tb_builder_add_filter(TbBuilder *builder, const TbValue *value);
extern void tb_builder_add_key(TbBuilder *builder, const TbValue *value);

/* The index of an aggregate state; an equal one is shared. arg and filter may
 * be NULL. */
extern int tb_builder_add_agg(TbBuilder *builder, TbAggKind kind, const TbValue *arg,
							  const TbValue *filter);

/* A bound of the cost of what the program does for a row, in integer
 * comparisons, and the columns that it decodes. */
typedef struct TbProgramCost
{
	uint32 filters;
	uint32 probes;	   /* keys and conditions of joins */
	uint32 others;	   /* of the sink: keys, arguments, outputs */
	uint32 nodes;	   /* that are compiled: expressions, and what states, keys and
						* outputs add */
	int	   columns;	   /* of the tuple, that are decoded */
	int	   numerics;   /* of those */
	int	   texts;	   /* of those */
	int	   walked;	   /* attributes behind the first of variable width,
						* up to the last of those columns */
	bool   inexact;	   /* uses a TB_FN_INEXACT function */
	bool   host_only;  /* has an aggregate without GPU code */
	bool   rows;	   /* sink ROWS */
	uint64 shape;	   /* a hash of the program: code is kept by shape */
	uint64 attributes; /* of the table, that are decoded: TbAttributes of cache_advice.h */
} TbProgramCost;

/*
 * Serializes. `params` gets the expression of each parameter, in order. NULL if
 * a limit of program.h is exceeded, or there are no filters (ROWS).
 */
extern TbProgram *tb_builder_finish(TbBuilder *builder, TbSink sink, List **params,
									TbProgramCost *cost);

#endif
