/*
 * virtual_value.h - values of virtual columns, and conditions that leave out whole files.
 */
#ifndef TURBINE_PG_FDW_VIRTUAL_VALUE_H
#define TURBINE_PG_FDW_VIRTUAL_VALUE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/execnodes.h"

#include "pg/files/file_table.h"

/* The value of a virtual column (attnum - 1) in a file, in the current memory context.
 * Raises an error if the column's type does not take it. */
extern Datum tb_virtual_value(const TbTableFile *file, TupleDesc attributes, int attribute,
							  bool *isnull);

/* Those of the clauses that compare a virtual column with a constant or a parameter of the
 * statement, and so raise no error. */
extern List *tb_file_filters(List *clauses, Index relid, const TbFileTable *table);

/* By file: whether its rows may satisfy the filters, which are a list of clauses and their
 * state. The node's scan tuple slot is used for it. In the current memory context. */
extern bool *tb_wanted_files(const TbFileTable *table, List *filters, ExprState *state,
							 ScanState *node);

#endif
