/*
 * file_writer.h - a turbine-file-writer process, and rows on their way to it.
 */
#ifndef TURBINE_PG_FILE_WRITER_H
#define TURBINE_PG_FILE_WRITER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"

typedef struct TbFileWriter TbFileWriter;

typedef struct TbFileTarget
{
	const char *path;
	const char *compression;
	bool		parquet;
	bool		statistics; /* of an Arrow file */
} TbFileTarget;

/* Starts the process, in the current memory context; its file is made of rows of this kind.
 * To be ended in all cases. */
extern TbFileWriter *tb_file_writer_start(const TbFileTarget *target, TupleDesc desc);

/* Raises an error if a value has no place in such a file, as far as the writer has noticed.
 */
extern void tb_file_writer_add(TbFileWriter *writer, TupleTableSlot *slot);

/* The rows are complete: the file is in its place afterwards. Returns their number; raises
 * an error if it can not be. */
extern int64 tb_file_writer_finish(TbFileWriter *writer);

/* Ends the process, if it is there, and what it has of an unfinished file. Raises nothing.
 */
extern void tb_file_writer_end(TbFileWriter *writer);

#endif
