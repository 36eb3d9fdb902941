/*
 * tuple_layout.h - how a table's tuples are laid out, as programs say it.
 */
#ifndef TURBINE_PG_PLANNER_PROGRAM_TUPLE_LAYOUT_H
#define TURBINE_PG_PLANNER_PROGRAM_TUPLE_LAYOUT_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "turbine/program.h"

/* Every attribute of the descriptor, dropped ones too. */
extern void tb_describe_tuple(TupleDesc desc, TbAttribute *attributes);

#endif
