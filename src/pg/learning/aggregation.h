/*
 * aggregation.h - one pass of a training over its rows: sums as a vector of numbers, for
 * parameters that change from pass to pass.
 *
 * Only within SPI_connect() ... SPI_finish(), in whose memory everything is.
 */
#ifndef TURBINE_PG_LEARNING_AGGREGATION_H
#define TURBINE_PG_LEARNING_AGGREGATION_H

#include "postgres.h"

#include "executor/spi.h"

typedef struct TbAggregation TbAggregation;

/* Over the rows of a subquery, which may use $1 ... $nparams of those types. */
extern TbAggregation *tb_aggregation_create(const char *rows, int nparams,
											const Oid *types);

/* An aggregate over the rows' columns, an expression of SQL; its place among the results.
 */
extern int tb_aggregation_add(TbAggregation *aggregation, const char *aggregate);

/* The results, 0 for NULL, valid until the next run. */
extern const double *tb_aggregation_run(TbAggregation *aggregation, const Datum *params);

/* A statement that is planned once, whatever its parameters are; and one run of it, which
 * leaves its rows in SPI_tuptable. */
extern SPIPlanPtr tb_training_prepare(const char *sql, int nparams, const Oid *types);
extern void		  tb_training_execute(SPIPlanPtr plan, const Datum *params);

#endif
