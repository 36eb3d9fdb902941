/*
 * output_column.h - how a value of a program is returned as it is.
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_OUTPUT_COLUMN_H
#define TURBINE_PG_PLANNER_PROGRAM_OUTPUT_COLUMN_H

#include "postgres.h"

#include "pg/convert/final_values.h"
#include "pg/planner/program/program_builder.h"

/* bpchar is padded again when it is returned, so its length must be known. */
extern bool tb_output_padding(Expr *expr, const TbValue *value, int32 *padding,
							  const char **reason);

/* All but the column's number. False, with *reason, if it can not be returned. */
extern bool tb_output_column(TbOutput *output, Expr *expr, const TbValue *value,
							 const char **reason);

#endif
