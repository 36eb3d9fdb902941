/*
 * training_source.h - what a training reads: a relation or a query, and columns of it as
 * numbers.
 *
 * Only within SPI_connect() ... SPI_finish(), in whose memory everything is. All queries
 * run with the caller's rights, under the snapshot of the calling statement, so every one
 * of them sees the same rows.
 */
#ifndef TURBINE_PG_LEARNING_TRAINING_SOURCE_H
#define TURBINE_PG_LEARNING_TRAINING_SOURCE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/array.h"

/* Columns of a model: the matrix of its system is solved in the backend. */
#define TB_TRAINING_MOST_COLUMNS 100

typedef struct TbTrainingColumn
{
	char  *name;
	char  *value; /* SQL of its value as float8, NULL where the column is */
	/* tb_training_source_measure() fills these in. */
	double center; /* mean */
	double scale;  /* 1 / largest distance from it; 0: the column is constant */
	double least;
	double largest;
} TbTrainingColumn;

typedef struct TbTrainingSource
{
	char	 *from;	 /* SQL: what stands behind FROM */
	Oid		  relid; /* InvalidOid: a query */
	TupleDesc desc;

	TbTrainingColumn *columns;
	int				  ncolumns;
	TbTrainingColumn *target; /* NULL: none */

	/* tb_training_source_measure() fills these in. */
	int64 rows;		/* without a NULL in any of the columns */
	int64 left_out; /* the others */
	int64 neither;	/* of the rows: whose target is not 0 and not 1 */
} TbTrainingSource;

/* By the name of a relation, or a query. Raises an error if there is none such. */
extern TbTrainingSource *tb_training_source_open(const char *text);

/* The columns that a model has, and the one that it predicts. Raises an error if a name is
 * NULL or no column's, or a column is no number. */
extern void tb_training_source_columns(TbTrainingSource *source, ArrayType *names);
extern void tb_training_source_target(TbTrainingSource *source, const char *name);

/*
 * Counts rows, and finds the place and the extent of the columns, in one pass. Raises an
 * error if no row is left, or a column has NaN or infinite values.
 */
extern void tb_training_source_measure(TbTrainingSource *source);

/* How rows become those of a model. */
typedef enum TbTrainingForm
{
	TB_TRAINING_PLAIN,	   /* as they are */
	TB_TRAINING_CENTERED,  /* value - center */
	TB_TRAINING_NORMALIZED /* (value - center) * scale: from -1 to 1 */
} TbTrainingForm;

/*
 * A subquery of the rows without NULLs: columns x1, x2, ... in that form, and t, the target
 * as it is. Centers and scales are parameters, so that all trainings of as many columns of
 * the same types share their compiled code: $first_param and up.
 */
extern char *tb_training_source_rows(const TbTrainingSource *source, TbTrainingForm form,
									 int first_param);

/* How many parameters that has; their values. */
extern int	tb_training_source_nparams(const TbTrainingSource *source, TbTrainingForm form);
extern void tb_training_source_params(const TbTrainingSource *source, TbTrainingForm form,
									  Datum *values);

/*
 * Of linear models, whose first coefficient is the constant term: weights of normalized
 * columns as coefficients of the columns as they are; and their standard errors, from the
 * covariance matrix of the weights.
 */
extern void tb_training_unscale(const TbTrainingSource *source, const double *weights,
								double *coefficients);
extern void tb_training_unscale_errors(const TbTrainingSource *source,
									   const double *covariance, double *errors);

/* Errors of columns that linear models cannot have: a constant one, and one that depends on
 * those before it, by its place behind the constant term. */
extern void			  tb_training_refuse_constants(const TbTrainingSource *source);
extern _Noreturn void tb_training_raise_dependent(const TbTrainingSource *source,
												  int					  column);

/* ", VARIADIC ARRAY[x1, ...]": behind the model of a function that predicts. A list of
 * arguments could not be as long. */
extern char *tb_training_arguments(int ncolumns);

#endif
