/*
 * files_input.h - a foreign table of arrow_fdw as an input: the table that a program reads,
 * or a leaf of it.
 */
#ifndef TURBINE_PG_SOURCE_FILES_FILES_INPUT_H
#define TURBINE_PG_SOURCE_FILES_FILES_INPUT_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "pg/files/file_table.h"
#include "pg/source/input.h"
#include "pg/source/source.h"

/* A foreign table: the one that the program reads, or a leaf of it. */
typedef struct TbFilesPart
{
	const TbFileTable *table;
	TupleDesc		   desc;
	const AttrNumber
		*attnums; /* of a leaf, by the table's attnum - 1: its own; else NULL */
} TbFilesPart;

/* Entry `rti` of the range table. Its files are those that there are now: what is written
 * later, in this transaction or another one, is not read. Lives in the current memory
 * context. */
extern TbInput *tb_files_input_make(CustomScanState *css, Index rti, int eflags);

/* A leaf of the partitioned table `of`; false: it is no table of files. */
extern bool tb_files_input_leaf(const TbInput *input, TupleDesc of, TbFilesPart *part);

/* In the current memory context. What the parts point to is the caller's until the end. */
extern TbSource *tb_files_source_make(const TbFilesPart *parts, int nparts);

#endif
