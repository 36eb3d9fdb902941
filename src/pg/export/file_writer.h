/*
 * file_writer.h - a turbine-file-writer process, and rows on their way to it.
 *
 * A process makes one file after the other. After any error it can only be ended.
 */
#ifndef TURBINE_PG_EXPORT_FILE_WRITER_H
#define TURBINE_PG_EXPORT_FILE_WRITER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "turbine/wire.h"

typedef struct TbFileWriter TbFileWriter;

typedef struct TbFileTarget
{
	const char *path;
	const char *compression;
	bool		parquet;
	bool		statistics; /* of an Arrow file */

	/* Of an addition (file_writer.h of the contract): `path` is a name in the writer's
	 * folder.
	 */
	bool		is_addition;
	const char *like; /* another name, or NULL */
	const char *const
		  *names;	  /* of columns in the file, by attnum - 1, in UTF-8; NULL: the rows' */
	uint32 stop;	  /* for tests */
} TbFileTarget;

/* A file to be made of an older one and additions; all are names in the writer's folder. */
typedef struct TbFileMerge
{
	const char *name;
	const char *old;		/* NULL: none */
	bool		is_emptied; /* the older one's rows are left out */
	List	   *additions;	/* of char * */
	uint32		stop;
} TbFileMerge;

/* Starts a process in the current memory context, with an open folder or -1. To be ended in
 * all cases. */
extern TbFileWriter *tb_file_writer_open(int folder);

/* Begins a file of rows of this kind; attributes that are dropped are no part of them. */
extern void tb_file_writer_begin(TbFileWriter *writer, const TbFileTarget *target,
								 TupleDesc desc);

/* Makes a file of others, which is on disk afterwards; raises an error if it can not be. */
extern void tb_file_writer_merge(TbFileWriter *writer, const TbFileMerge *merge);

/* Starts a process for one file. */
extern TbFileWriter *tb_file_writer_start(const TbFileTarget *target, TupleDesc desc);

/* Raises an error if a value has no place in such a file, as far as the writer has noticed.
 */
extern void tb_file_writer_add(TbFileWriter *writer, TupleTableSlot *slot);

/* As above, `nrows` rows of a batch from number `first` on; outputs: TbOutput *, by attnum
 * - 1. */
extern void tb_file_writer_add_batch(TbFileWriter *writer, const List *outputs,
									 const TbResultBatch *batch, uint32 first,
									 uint32 nrows);

/* The rows are complete: the file is in its place afterwards. Returns their number; raises
 * an error if it can not be. */
extern int64 tb_file_writer_finish(TbFileWriter *writer);

/* Ends the process, if it is there, and what it has of an unfinished file. Raises nothing.
 */
extern void tb_file_writer_end(TbFileWriter *writer);

#endif
