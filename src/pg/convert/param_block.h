/*
 * param_block.h - the values of a program's parameters, when a query starts.
 */
#ifndef TURBINE_PG_PARAM_BLOCK_H
#define TURBINE_PG_PARAM_BLOCK_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "turbine/params.h"
#include "turbine/program.h"

/*
 * Evaluates the expressions (ExprStates, in the order of the program's
 * parameters) and lays their values out, in the current context. NULL if a
 * value has no form that the device knows (NaN as numeric): then PostgreSQL
 * must run the query. Raises what the expressions raise.
 */
extern TbParamBlock *tb_param_block_make(const TbProgram *program, List *states,
										 ExprContext *econtext);

#endif
