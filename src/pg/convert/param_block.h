/*
 * param_block.h - the values of a program's parameters, when a query starts.
 */
#ifndef TURBINE_PG_CONVERT_PARAM_BLOCK_H
#define TURBINE_PG_CONVERT_PARAM_BLOCK_H

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

/* One value that is no text as its bytes, at most 16, zero-extended; numerics
 * sign-extended. False: the device knows no form for it. */
extern bool tb_param_scalar(Datum datum, const TbParamShape *shape, uint64 value[2]);

/* A text, whose bytes without header and, for bpchar, without padding are *length from
 * VARDATA_ANY on. */
extern text *tb_param_text(Datum datum, uint8 type, uint32 *length);

#endif
