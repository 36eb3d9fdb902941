/*
 * files_source.h - the files of a foreign table of arrow_fdw as a source.
 */
#ifndef TURBINE_PG_FILES_SOURCE_H
#define TURBINE_PG_FILES_SOURCE_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "pg/files/file_table.h"
#include "pg/source/source.h"

/* In the current memory context. `table` and `desc` are the caller's until the end. */
extern TbSource *tb_files_source_make(const TbFileTable *table, TupleDesc desc);

#endif
