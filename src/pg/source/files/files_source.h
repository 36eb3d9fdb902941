/*
 * files_source.h - the files of a foreign table of arrow_fdw as a source.
 */
#ifndef TURBINE_PG_SOURCE_FILES_FILES_SOURCE_H
#define TURBINE_PG_SOURCE_FILES_FILES_SOURCE_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "pg/files/file_table.h"
#include "pg/source/source.h"

/* A foreign table: the one that the program reads, or a leaf of it. */
typedef struct TbFilesPart
{
	const TbFileTable *table;
	TupleDesc		   desc;
	const AttrNumber
		*attnums; /* of a leaf, by the table's attnum - 1: its own; else NULL */
} TbFilesPart;

/* In the current memory context. What the parts point to is the caller's until the end. */
extern TbSource *tb_files_source_make(const TbFilesPart *parts, int nparts);

#endif
