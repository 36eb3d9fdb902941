/*
 * aggregate_states.h - the states that a device keeps for an aggregate, and how its value
 * comes out of them.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_AGGREGATE_STATES_H
#define TURBINE_PG_NODES_AGGREGATE_AGGREGATE_STATES_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "pg/convert/final_values.h"
#include "pg/planner/expression/expression.h"

typedef struct TbAggStates
{
	TbTranslator *translator; /* of the program that gets the states */
	int			  nkeys;	  /* columns before the first state */
	const char	 *reason;	  /* why there is no output */
} TbAggStates;

/* The column that counts the argument's values, or rows if it is NULL. */
extern uint32 tb_agg_count_column(TbAggStates *states, const TbValue *arg,
								  const TbValue *filter);

/* The column of the largest display scale among the values (or the smallest, for
 * MIN); TB_NONE if all have the same. A NULL value's scale does not count. */
extern uint32 tb_agg_display_column(TbAggStates *states, TbAggKind kind, const TbValue *arg,
									const TbValue *filter);

/* Fills in how the aggregate's value comes out of states, which are added. False, with
 * the reason, if devices can not compute it. */
extern bool tb_agg_choose_output(TbAggStates *states, const Aggref *aggref,
								 const TbValue *arg, const TbValue *filter, TbOutput *out);

#endif
