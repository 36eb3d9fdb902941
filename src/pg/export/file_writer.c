/*
 * file_writer.c - see file_writer.h; include/turbine/file_writer.h has what is said to the
 * process.
 *
 * Columns. Values of rows gather column by column (row_columns.h) in blocks of BLOCK_ROWS
 * or some 256 kB. Owns the values of a block that is not sent yet.
 *
 * Process. Owns the process and both pipes. Every wait ends at an interrupt. A process that
 * has answered before the rows' end has met an error: the answer says which.
 *
 * Called by the SQL functions that write files and by the writes of arrow_fdw.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access/tupdesc.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "turbine/file_writer.h"

#include "pg/export/file_writer.h"
#include "pg/export/row_columns.h"
#include "pg/files/child_program.h"

/* Parts of a block begin at multiples of TB_WRITER_ALIGNMENT. */
static void
append_part(StringInfo block, const void *bytes, Size length)
{
	static const char padding[TB_WRITER_ALIGNMENT] = {0};
	Size			  rest = length % TB_WRITER_ALIGNMENT;

	appendBinaryStringInfo(block, bytes, length);
	if (rest != 0)
		appendBinaryStringInfo(block, padding, TB_WRITER_ALIGNMENT - rest);
}

/* Appends the column's part of a block; the column is empty afterwards. */
static void
move_column(StringInfo block, TbRowColumn *column)
{
	TbWriterPart part = {.nulls = column->nnulls, .bytes = column->values.len};

	append_part(block, &part, sizeof(part));
	if (column->width == 0)
		append_part(block, column->lengths, sizeof(int32) * column->nrows);
	else if (column->nnulls > 0)
		append_part(block, column->valid, column->nrows);
	append_part(block, column->values.data, column->values.len);
	tb_row_column_reset(column);
}

#define BLOCK_BYTES (256 * 1024)
#define BLOCK_ROWS 1024
#define PIPE_BYTES (1024 * 1024)
#define PIPES 2

struct TbFileWriter
{
	pid_t		   pid; /* 0: none */
	int			   input;
	int			   output;
	int			   nexternal; /* descriptors that fd.c counts */
	bool		   in_folder; /* whose files are the caller's to remove */
	MemoryContext  file;	  /* for the file that is made */
	MemoryContext  row;		  /* values of one row as they are sent */
	int			   ncolumns;
	TbRowColumn	  *columns;
	int			   nrows; /* of the block */
	Size		   bytes;
	StringInfoData block; /* as it is sent */
};

static void
append_number(StringInfo to, uint32 number)
{
	appendBinaryStringInfo(to, (const char *) &number, sizeof(number));
}

static void
append_text(StringInfo to, const char *text)
{
	char *utf8 = pg_server_to_any(text, strlen(text), PG_UTF8);

	append_number(to, strlen(utf8));
	appendStringInfoString(to, utf8);
}

/* Raises what the program says has happened. */
static void
raise_answer(const TbWriterAnswer *answer, const char *message)
{
	if (answer->result == TB_WRITER_BAD_COLUMN)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("the file cannot hold the rows"), errdetail("%s", message)));
	if (answer->result == TB_WRITER_BAD_VALUE)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a row does not fit the file"), errdetail("%s", message)));
	ereport(ERROR,
			(errcode(ERRCODE_IO_ERROR), errmsg("could not write the file"),
			 errdetail("%s", message)));
}

/* So many bytes of the answer; an error if the program ends before. */
static void
receive(TbFileWriter *writer, void *to, size_t size)
{
	char *place = to;

	while (size > 0)
	{
		ssize_t n = read(writer->output, place, size);

		if (n > 0)
		{
			place += n;
			size -= n;
		}
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			tb_wait_for_program(writer->output, WL_SOCKET_READABLE);
		else if (n == 0 || errno != EINTR)
			ereport(ERROR,
					(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
					 errmsg("turbine-file-writer ended unexpectedly"),
					 errhint("It, and the libraries it needs, are in "
							 "\"%s/pg_turbine\".",
							 pkglib_path)));
	}
}

static TbWriterAnswer
receive_answer(TbFileWriter *writer)
{
	TbWriterAnswer answer;
	char		  *message;

	receive(writer, &answer, sizeof(answer));
	if (answer.message_length > MaxAllocSize - 1)
		elog(ERROR, "turbine-file-writer answers out of bounds");
	message = palloc0(answer.message_length + 1);
	receive(writer, message, answer.message_length);
	if (answer.result != TB_WRITER_DONE)
		raise_answer(&answer, message);
	return answer;
}

static void
send_bytes(TbFileWriter *writer, const char *from, size_t size)
{
	while (size > 0)
	{
		ssize_t n = write(writer->input, from, size);

		if (n >= 0)
		{
			from += n;
			size -= n;
		}
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			tb_wait_for_program(writer->input, WL_SOCKET_WRITEABLE);
		else if (errno != EINTR)
		{
			/* It reads no more: it has said why. */
			(void) receive_answer(writer);
			elog(ERROR, "turbine-file-writer has stopped to read");
		}
	}
}

static void
send_block(TbFileWriter *writer)
{
	TbWriterBlock head = {.rows = writer->nrows};

	if (writer->nrows == 0)
		return;
	resetStringInfo(&writer->block);
	appendBinaryStringInfo(&writer->block, (const char *) &head, sizeof(head));
	for (int i = 0; i < writer->ncolumns; i++)
		move_column(&writer->block, &writer->columns[i]);
	head.length = writer->block.len - sizeof(head);
	memcpy(writer->block.data, &head, sizeof(head));
	send_bytes(writer, writer->block.data, writer->block.len);
	writer->nrows = 0;
	writer->bytes = 0;
}

/* As the file system has it. */
static void
append_name(StringInfo to, const char *name)
{
	append_number(to, name != NULL ? strlen(name) : 0);
	appendStringInfoString(to, name != NULL ? name : "");
}

static void
begin_request(StringInfo request, uint32 flags, uint32 stop, const char *path,
			  const char *compression)
{
	initStringInfo(request);
	append_number(request, TB_WRITER_MAGIC);
	append_number(request, flags);
	append_number(request, stop);
	append_name(request, path);
	append_text(request, compression);
}

static void
send_request(TbFileWriter *writer, const TbFileTarget *target, TupleDesc desc)
{
	StringInfoData request;
	uint32		   flags = 0;

	/* Say what is wanted */
	if (target->parquet)
		flags |= TB_WRITER_PARQUET;
	if (target->statistics)
		flags |= TB_WRITER_STATISTICS;
	if (target->is_addition)
		flags |= TB_WRITER_ADDITION;
	if (GetDatabaseEncoding() == PG_SQL_ASCII)
		flags |= TB_WRITER_SQL_ASCII;
	begin_request(&request, flags, target->stop, target->path, target->compression);
	if (target->is_addition)
		append_name(&request, target->like);
	/* Describe the columns */
	append_number(&request, writer->ncolumns);
	for (int i = 0; i < writer->ncolumns; i++)
	{
		const TbRowColumn *column = &writer->columns[i];

		if (target->names != NULL)
			append_name(&request, target->names[column->attribute]);
		else
			append_text(&request, NameStr(TupleDescAttr(desc, column->attribute)->attname));
		append_number(&request, column->type);
		append_number(&request, column->modifier);
		append_number(&request, column->element);
		append_number(&request, column->width);
	}
	send_bytes(writer, request.data, request.len);
	pfree(request.data);
}

static int
start_process(TbFileWriter *writer, int folder)
{
	static char *const arguments[] = {"turbine-file-writer", NULL};
	int				   files[TB_WRITER_FOLDER + 1];
	int				   down[2];
	int				   up[2];
	int				   error;

	if (pipe2(down, O_CLOEXEC) != 0)
		return errno;
	if (pipe2(up, O_CLOEXEC) != 0)
	{
		error = errno;
		close(down[0]);
		close(down[1]);
		return error;
	}
	files[STDIN_FILENO] = down[0];
	files[STDOUT_FILENO] = up[1];
	files[STDERR_FILENO] = -1;
	files[TB_WRITER_FOLDER] = folder;
	error = tb_spawn_program(arguments, NULL, files,
							 folder >= 0 ? TB_WRITER_FOLDER + 1 : TB_WRITER_FOLDER,
							 &writer->pid);
	close(down[0]);
	close(up[1]);
	writer->input = down[1];
	writer->output = up[0];
	fcntl(writer->input, F_SETFL, O_NONBLOCK);
	fcntl(writer->output, F_SETFL, O_NONBLOCK);
	(void) fcntl(writer->input, F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one does, too */
	return error;
}

TbFileWriter *
tb_file_writer_open(int folder)
{
	TbFileWriter *writer = palloc0(sizeof(TbFileWriter));
	int			  error = EMFILE;

	writer->input = writer->output = -1;
	writer->in_folder = folder >= 0;
	writer->file = AllocSetContextCreate(CurrentMemoryContext, "pg_turbine exported file",
										 ALLOCSET_DEFAULT_SIZES);
	writer->row = AllocSetContextCreate(CurrentMemoryContext, "pg_turbine exported row",
										ALLOCSET_DEFAULT_SIZES);
	/* Start the process */
	while (writer->nexternal < PIPES && AcquireExternalFD())
		writer->nexternal++;
	if (writer->nexternal == PIPES)
		error = start_process(writer, folder);
	if (error != 0)
	{
		tb_file_writer_end(writer);
		errno = error;
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("could not start turbine-file-writer: %m")));
	}
	return writer;
}

void
tb_file_writer_begin(TbFileWriter *writer, const TbFileTarget *target, TupleDesc desc)
{
	TbRowTarget	  rows_are_for = target->is_addition ? TB_ROWS_ADDITION :
		  target->parquet							 ? TB_ROWS_PARQUET_FILE :
													   TB_ROWS_ARROW_FILE;
	MemoryContext old;

	/* Nothing remains of the last file. */
	MemoryContextReset(writer->file);
	old = MemoryContextSwitchTo(writer->file);
	writer->ncolumns = 0;
	writer->columns = palloc0(sizeof(TbRowColumn) * Max(desc->natts, 1));
	/* Dropped columns are not written. */
	for (int i = 0; i < desc->natts; i++)
	{
		TbRowColumn *column = &writer->columns[writer->ncolumns];

		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		tb_row_column_init(column, TupleDescAttr(desc, i), rows_are_for, BLOCK_ROWS);
		column->attribute = i;
		writer->ncolumns++;
	}
	/* An empty block, the first request. */
	writer->nrows = 0;
	writer->bytes = 0;
	initStringInfo(&writer->block);
	send_request(writer, target, desc);
	MemoryContextSwitchTo(old);
}

void
tb_file_writer_merge(TbFileWriter *writer, const TbFileMerge *merge)
{
	StringInfoData request;
	ListCell	  *cell;

	begin_request(&request, TB_WRITER_MERGE | (merge->is_emptied ? TB_WRITER_EMPTIED : 0),
				  merge->stop, merge->name, "none");
	append_name(&request, merge->old);
	append_number(&request, list_length(merge->additions));
	foreach(cell, merge->additions)
		append_name(&request, lfirst(cell));
	send_bytes(writer, request.data, request.len);
	pfree(request.data);
	(void) receive_answer(writer);
}

TbFileWriter *
tb_file_writer_start(const TbFileTarget *target, TupleDesc desc)
{
	TbFileWriter *writer = tb_file_writer_open(-1);

	PG_TRY();
	{
		tb_file_writer_begin(writer, target, desc);
	}
	PG_CATCH();
	{
		tb_file_writer_end(writer);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return writer;
}

void
tb_file_writer_add(TbFileWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(writer->row);

	slot_getallattrs(slot);
	writer->bytes += tb_row_columns_add(writer->columns, writer->ncolumns, slot->tts_values,
										slot->tts_isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->row);
	if (++writer->nrows == BLOCK_ROWS || writer->bytes >= BLOCK_BYTES)
		send_block(writer);
}

void
tb_file_writer_add_batch(TbFileWriter *writer, const List *outputs,
						 const TbResultBatch *batch, uint32 first, uint32 nrows)
{
	MemoryContext old = MemoryContextSwitchTo(writer->row);

	while (nrows > 0)
	{
		uint32 now = Min(nrows, BLOCK_ROWS - writer->nrows);

		for (int i = 0; i < writer->ncolumns; i++)
		{
			TbRowColumn *column = &writer->columns[i];

			writer->bytes += tb_row_column_add_batch(column,
													 list_nth(outputs, column->attribute),
													 batch, first, now);
		}
		MemoryContextReset(writer->row);
		first += now;
		nrows -= now;
		writer->nrows += now;
		if (writer->nrows == BLOCK_ROWS || writer->bytes >= BLOCK_BYTES)
			send_block(writer);
	}
	MemoryContextSwitchTo(old);
}

int64
tb_file_writer_finish(TbFileWriter *writer)
{
	static const TbWriterBlock end = {0};

	send_block(writer);
	send_bytes(writer, (const char *) &end, sizeof(end));
	return receive_answer(writer).rows;
}

void
tb_file_writer_end(TbFileWriter *writer)
{
	if (writer->input >= 0)
		close(writer->input);
	if (writer->output >= 0)
		close(writer->output);
	writer->input = writer->output = -1;
	while (writer->nexternal > 0)
	{
		ReleaseExternalFD();
		writer->nexternal--;
	}
	if (writer->pid > 0)
	{
		/* Its handler removes an unfinished file, except in a folder of ours. */
		(void) kill(writer->pid, writer->in_folder ? SIGKILL : SIGTERM);
		while (waitpid(writer->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	writer->pid = 0;
}
