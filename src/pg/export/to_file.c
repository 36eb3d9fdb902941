/*
 * to_file.c - turbine.to_arrow and turbine.to_parquet: a query's rows become a file of the
 * server.
 *
 * Rows go to the writer as they come (query_rows.h). As with COPY, what is written stays if
 * the transaction is rolled back, and the file is there in whole or, after any error, as it
 * was before.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "pg/export/file_writer.h"
#include "pg/export/query_rows.h"

extern PGDLLEXPORT Datum turbine_to_arrow(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_to_parquet(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_to_arrow);
PG_FUNCTION_INFO_V1(turbine_to_parquet);

typedef struct FileSink
{
	TbRowSink	  base;
	TbFileTarget  target;
	MemoryContext context; /* for as long as the function runs */
	TbFileWriter *writer;  /* once the rows' type is known */
} FileSink;

static void
file_begin(TbRowSink *sink, TupleDesc desc)
{
	FileSink	 *file = (FileSink *) sink;
	MemoryContext old = MemoryContextSwitchTo(file->context);

	file->writer = tb_file_writer_start(&file->target, desc);
	MemoryContextSwitchTo(old);
}

static void
file_add(TbRowSink *sink, TupleTableSlot *slot)
{
	tb_file_writer_add(((FileSink *) sink)->writer, slot);
}

static void
file_add_batch(TbRowSink *sink, const List *outputs, const TbResultBatch *batch,
			   uint32 first, uint32 nrows)
{
	tb_file_writer_add_batch(((FileSink *) sink)->writer, outputs, batch, first, nrows);
}

static void
check_rights(const char *path)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_WRITE_SERVER_FILES))
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to write server files"),
			 errdetail(
				 "Only roles with privileges of the \"%s\" role may write files of the server.",
				 "pg_write_server_files"),
			 errhint("Use pg2arrow to write files on the client.")));
	if (!is_absolute_path(path))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("path \"%s\" is not absolute", path)));
}

static void
check_compression(const char *compression)
{
	if (strcmp(compression, "none") != 0 && strcmp(compression, "lz4") != 0 &&
		strcmp(compression, "zstd") != 0 && strcmp(compression, "snappy") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized compression \"%s\"", compression),
				 errhint(
					 "Valid values are \"none\", \"lz4\", \"zstd\" and, for Parquet files, "
					 "\"snappy\".")));
}

static int64
write_file(const char *query, const TbFileTarget *target)
{
	FileSink sink = {
		.base = {.begin = file_begin, .add = file_add, .add_batch = file_add_batch},
		.target = *target,
		.context = CurrentMemoryContext,
	};
	/* Both change after PG_TRY. */
	FileSink *volatile kept = &sink;
	volatile int64 rows = 0;

	check_rights(target->path);
	check_compression(target->compression);
	PG_TRY();
	{
		tb_query_rows(query, 0, &kept->base);
		if (kept->writer == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the query does not return rows")));
		rows = tb_file_writer_finish(kept->writer);
	}
	PG_FINALLY();
	{
		if (kept->writer != NULL)
			tb_file_writer_end(kept->writer);
	}
	PG_END_TRY();
	return rows;
}

Datum
turbine_to_arrow(PG_FUNCTION_ARGS)
{
	TbFileTarget target = {.path = text_to_cstring(PG_GETARG_TEXT_PP(1)),
						   .compression = text_to_cstring(PG_GETARG_TEXT_PP(2)),
						   .statistics = PG_GETARG_BOOL(3)};

	if (strcmp(target.compression, "snappy") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("compression \"snappy\" is not supported for Arrow files"),
				 errhint("Valid values are \"none\", \"lz4\" and \"zstd\".")));
	PG_RETURN_INT64(write_file(text_to_cstring(PG_GETARG_TEXT_PP(0)), &target));
}

Datum
turbine_to_parquet(PG_FUNCTION_ARGS)
{
	TbFileTarget target = {.path = text_to_cstring(PG_GETARG_TEXT_PP(1)),
						   .compression = text_to_cstring(PG_GETARG_TEXT_PP(2)),
						   .parquet = true};

	PG_RETURN_INT64(write_file(text_to_cstring(PG_GETARG_TEXT_PP(0)), &target));
}
