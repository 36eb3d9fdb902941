/*
 * table_input.h - a heap table as an input: the table that a program reads, or a leaf of
 * it.
 */
#ifndef TURBINE_PG_SOURCE_HEAP_TABLE_INPUT_H
#define TURBINE_PG_SOURCE_HEAP_TABLE_INPUT_H

#include "postgres.h"

#include "pg/source/heap/heap_input.h"
#include "pg/source/input.h"

/* Entry `rti` of the range table; `index_scan`: a child plan of the node's that says which
 * blocks can match, or NULL. Lives in the current memory context. */
extern TbInput *tb_table_input_make(CustomScanState *css, Index rti, Plan *index_scan,
									int eflags);

/* What was chosen of a leaf; false: it is no heap table. */
extern bool tb_table_input_leaf(const TbInput *input, TbHeapLeaf *leaf);

#endif
