/*
 * computed_states.h - states of aggregates whose argument or FILTER devices do not have:
 * PostgreSQL computes it once for each group of the device, and folded groups count and add
 * it as often as the group has rows.
 */
#ifndef TURBINE_PG_NODES_AGGREGATE_COMPUTED_STATES_H
#define TURBINE_PG_NODES_AGGREGATE_COMPUTED_STATES_H

#include "postgres.h"

#include "turbine/program.h"
#include "turbine/wire.h"

#include "pg/convert/numeric_format.h"

/* Columns are those of a device's groups. In folded groups such states follow the
 * program's. */
typedef struct TbComputedState
{
	uint32 kind;	 /* TbAggKind; of a filtered state the program's own */
	uint32 type;	 /* TbType of the argument */
	uint32 computed; /* which of the computed keys: the argument, or the filter */
	uint32 column;	 /* the count of rows; of a filtered state the state */
	uint32 filtered; /* the computed key tells whether that state takes part */
	uint32 is_bool;	 /* the argument is boolean, as a number */
} TbComputedState;

/* What a group of a device adds to a state: a number at `from`, or a text of so many
 * bytes. */
typedef struct TbComputedValue
{
	tb_int128	number;
	const char *from;
	uint32		length;
} TbComputedValue;

/* Of an argument that is not NULL, in a group of so many rows. What it points to lives as
 * long as the argument and *result. False: it does not fit. */
extern bool tb_computed_value(const TbComputedState *state, Datum argument, int64 rows,
							  TbComputedValue *result);

#endif
