/*
 * foreign_inputs.h - which foreign tables programs read themselves: a table of their
 * wrappers' handlers.
 */
#ifndef TURBINE_PG_PLANNER_FOREIGN_INPUTS_H
#define TURBINE_PG_PLANNER_FOREIGN_INPUTS_H

#include "postgres.h"

#include "fmgr.h"

#include "pg/source/input.h"

/* Makes the input of entry `rti` of the range table, in the current memory context. */
typedef TbInput *(*TbMakeForeignInput)(CustomScanState *css, Index rti, int eflags);

/* NULL: the relation is no such table. */
extern TbMakeForeignInput tb_foreign_input(Oid relid, char relkind);

/* Adds a kind, before the module is initialized: inputs of tests do. */
extern void tb_foreign_input_add(PGFunction handler, TbMakeForeignInput make);

#endif
