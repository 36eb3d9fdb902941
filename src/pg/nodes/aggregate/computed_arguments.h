/*
 * computed_arguments.h - aggregates whose argument or FILTER devices do not have.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_COMPUTED_ARGUMENTS_H
#define TURBINE_PG_NODES_AGGREGATE_COMPUTED_ARGUMENTS_H

#include "postgres.h"

#include "pg/nodes/aggregate/analyzer.h"

/* Before the keys are complete: finds such aggregates, and adds what is to be computed for
 * them to a->arguments. False, with the reason, if there is one that cannot be. */
extern bool tb_computed_arguments_find(TbAnalyzer *a);

/* Whether the aggregate is one of them; then fills in how its value comes out of states
 * that only folded groups have, numbered from TB_FOLDED_COLUMNS. */
extern bool tb_computed_arguments_output(TbAnalyzer *a, const Aggref *aggref,
										 TbOutput *out);

#endif
