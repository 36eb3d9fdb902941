/*
 * training_result.h - arguments and results of the trainings: arrays of numbers, rows.
 */
#ifndef TURBINE_PG_LEARNING_TRAINING_RESULT_H
#define TURBINE_PG_LEARNING_TRAINING_RESULT_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/array.h"

/* float8[] of n numbers; float8[][] of n rows of m numbers. */
extern Datum tb_float8_array(const double *values, int n);
extern Datum tb_float8_matrix(const double *values, int n, int m);

/* Raises an error if the argument is NULL; `names` are those of the function's arguments.
 */
extern void tb_training_require_args(FunctionCallInfo fcinfo, int count,
									 const char *const *names);

/* 1 or more, 0 or more: else an error names the argument. */
extern int	  tb_training_positive(int value, const char *name);
extern double tb_training_not_negative(double value, const char *name);

/* The row of the function's OUT arguments. */
extern Datum tb_training_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

#endif
