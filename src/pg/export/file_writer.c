/*
 * file_writer.c - see file_writer.h; include/turbine/file_writer.h has what is said to the
 * process.
 *
 * Columns. Values of rows gather column by column, one behind the other, in blocks of
 * BLOCK_ROWS or some 256 kB. Most types' own bytes are what the writer wants; calling their
 * send function would take many times as long as copying them. Owns the values of a block
 * that is not sent yet.
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
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
#include "utils/wait_event.h"

#include "turbine/file_writer.h"

#include "pg/convert/final_values.h"
#include "pg/convert/numeric_format.h"
#include "pg/convert/type_map.h"
#include "pg/export/file_writer.h"
#include "pg/files/child_program.h"

/* A column of rows on their way to the file: its values gather here, and go to the writer
 * as a part of a block (include/turbine/file_writer.h). */
typedef struct WrittenColumn
{
	int	  attribute; /* attnum - 1 */
	Oid	  type;		 /* whose send function; 0: texts, by the output function */
	int32 modifier;
	Oid	  element;	 /* of an array; else 0 */
	int	  width;	 /* bytes of each value; 0: it has lengths */

	bool is_decimal; /* width 16: integers in units of `scale`
						(include/turbine/file_writer.h) */
	int	 scale;
	bool is_varlena; /* a value's own bytes are sent; else what the function makes of it */
	FmgrInfo function;

	int			   nrows;
	int			   nnulls;
	uint8		  *valid;	/* of fixed width */
	int32		  *lengths; /* of others; -1: NULL */
	StringInfoData values;
} WrittenColumn;

/* Types whose binary form the program reads; all fixed object ids. */
static bool
is_sent_in_binary(Oid type, bool parquet)
{
	switch (type)
	{
		case BOOLOID:
		case BYTEAOID:
		case NAMEOID:
		case INT8OID:
		case INT2OID:
		case INT4OID:
		case TEXTOID:
		case OIDOID:
		case JSONOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case BPCHAROID:
		case VARCHAROID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case NUMERICOID:
		case UUIDOID:
		case JSONBOID:
			return true;
		case INTERVALOID: /* libparquet writes none */
			return !parquet;
		default:
			return false;
	}
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == NAMEOID ||
		type == JSONOID;
}

/* 0: its values have several. */
static int
width_of(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return 1;
		case INT2OID:
			return 2;
		case INT4OID:
		case OIDOID:
		case FLOAT4OID:
		case DATEOID:
			return 4;
		case INT8OID:
		case FLOAT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return 8;
		case UUIDOID:
			return UUID_LEN;
		default:
			return 0;
	}
}

/* Whether it is sent as an integer in units of its modifier's scale. */
static bool
is_decimal(Oid type, int32 modifier, int *scale)
{
	int precision;

	return type == NUMERICOID && tb_numeric_typmod(modifier, &precision, scale) &&
		precision <= TB_NUM128_DIGITS && *scale >= 0 && *scale <= precision;
}

/* Whether its bytes as they are stored are what is sent. */
static bool
is_sent_as_stored(Oid type)
{
	if (type == BYTEAOID)
		return true;
	return is_text(type) && type != NAMEOID && GetDatabaseEncoding() == PG_UTF8;
}

/* Room for so many rows, in the current memory context. `own_types`: the file has the
 * types that this one would choose. */
static void
init_column(WrittenColumn *column, Form_pg_attribute att, bool parquet, bool own_types,
			int most_rows)
{
	int32 modifier = att->atttypmod;
	Oid	  type = getBaseTypeAndTypmod(att->atttypid, &modifier);
	Oid	  element = get_element_type(type);
	Oid	  function;
	bool  is_varlena;

	memset(column, 0, sizeof(*column));
	column->width = width_of(type);
	column->is_decimal = own_types && is_decimal(type, modifier, &column->scale);
	if (column->is_decimal)
		column->width = sizeof(tb_int128);
	column->is_varlena = is_sent_as_stored(type);
	/* Texts inside arrays would be in the server's encoding. */
	if (OidIsValid(element) &&
		(!is_sent_in_binary(element, parquet) ||
		 (is_text(element) && GetDatabaseEncoding() != PG_UTF8)))
		element = type = InvalidOid;
	else if (!OidIsValid(element) && !is_sent_in_binary(type, parquet))
		type = InvalidOid;
	/* Texts are sent as they are, in UTF-8, which send functions do not promise. */
	if (OidIsValid(type) && !OidIsValid(element) && is_text(type))
		type = InvalidOid;
	column->type = type;
	column->modifier = OidIsValid(type) ? modifier : -1;
	column->element = element;
	if (OidIsValid(type))
		getTypeBinaryOutputInfo(att->atttypid, &function, &is_varlena);
	else
		getTypeOutputInfo(att->atttypid, &function, &is_varlena);
	fmgr_info(function, &column->function);
	if (column->width > 0)
		column->valid = palloc(most_rows);
	else
		column->lengths = palloc(sizeof(int32) * most_rows);
	initStringInfo(&column->values);
	if (column->width > 0)
		enlargeStringInfo(&column->values, column->width * most_rows);
}

static void
add_null(WrittenColumn *column)
{
	column->nnulls++;
	if (column->width == 0)
		column->lengths[column->nrows++] = -1;
	else
	{
		memset(column->values.data + column->values.len, 0, column->width);
		column->valid[column->nrows++] = 0;
		column->values.len += column->width;
	}
}

static void
store_decimal(char *place, Numeric numeric, int scale)
{
	tb_int128 value = 0;

	if (!tb_numeric_to_int128(numeric, scale, &value))
		value = (tb_int128) (numeric_is_nan(numeric) ? TB_WRITER_NAN :
													   TB_WRITER_NO_DECIMAL) *
			((tb_int128) 1 << 64);
	memcpy(place, &value, sizeof(value));
}

/* There is room for all rows of a block. */
static inline Size
add_fixed(WrittenColumn *column, Datum value)
{
	char *place = column->values.data + column->values.len;

	column->valid[column->nrows++] = 1;
	column->values.len += column->width;
	if (column->is_decimal)
		store_decimal(place, DatumGetNumeric(value), column->scale);
	else if (column->width == UUID_LEN)
		memcpy(place, DatumGetUUIDP(value)->data, UUID_LEN);
	else
		store_att_byval(place, value, column->width);
	return column->width;
}

static Size
add_bytes(WrittenColumn *column, const char *bytes, Size length)
{
	StringInfo values = &column->values;

	if (values->len + length >= (Size) values->maxlen)
		enlargeStringInfo(values, length);
	memcpy(values->data + values->len, bytes, length);
	values->len += length;
	column->lengths[column->nrows++] = length;
	return length + sizeof(int32);
}

static Size
add_varying(WrittenColumn *column, Datum value)
{
	if (column->is_varlena)
	{
		struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);

		return add_bytes(column, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed));
	}
	if (OidIsValid(column->type))
	{
		bytea *sent = SendFunctionCall(&column->function, value);

		return add_bytes(column, VARDATA(sent), VARSIZE(sent) - VARHDRSZ);
	}
	else
	{
		char *text = OutputFunctionCall(&column->function, value);
		char *utf8 = pg_server_to_any(text, strlen(text), PG_UTF8);

		return add_bytes(column, utf8, strlen(utf8));
	}
}

static inline Size
add_value(WrittenColumn *column, Datum value, bool isnull)
{
	if (unlikely(isnull))
	{
		add_null(column);
		return column->width + sizeof(int32);
	}
	return column->width > 0 ? add_fixed(column, value) : add_varying(column, value);
}

/* Adds a row's values, by attnum - 1. May leave memory in the current context. Returns
 * the bytes that it added. */
static Size
add_row_values(WrittenColumn *columns, int ncolumns, const Datum *values, const bool *nulls)
{
	Size bytes = 0;

	for (int i = 0; i < ncolumns; i++)
		bytes += add_value(&columns[i], values[columns[i].attribute],
						   nulls[columns[i].attribute]);
	return bytes;
}

/* Which values there are; those that are not become 0. */
static void
add_validity(WrittenColumn *column, const uint8 *valid, uint32 nrows, Size width)
{
	uint8 *to = column->valid + column->nrows;
	char  *values = column->values.data + column->values.len;

	if (valid == NULL)
	{
		memset(to, 1, nrows);
		return;
	}
	for (uint32 i = 0; i < nrows; i++)
	{
		to[i] = valid[i] != 0;
		if (to[i])
			continue;
		memset(values + i * width, 0, width);
		column->nnulls++;
	}
}

/* Values that lie in the batch as the file's column has them. */
static Size
add_stored(WrittenColumn *column, const char *values, const uint8 *valid, uint32 nrows)
{
	Size bytes = (Size) nrows * column->width;

	memcpy(column->values.data + column->values.len, values, bytes);
	add_validity(column, valid, nrows, column->width);
	column->values.len += bytes;
	column->nrows += nrows;
	return bytes;
}

/* Numerics of 64 bits as 128. */
static Size
add_widened(WrittenColumn *column, const char *values, const uint8 *valid, uint32 nrows)
{
	char *to = column->values.data + column->values.len;

	for (uint32 i = 0; i < nrows; i++)
	{
		int64	  narrow;
		tb_int128 wide;

		memcpy(&narrow, values + (Size) i * sizeof(narrow), sizeof(narrow));
		wide = narrow;
		memcpy(to + (Size) i * sizeof(wide), &wide, sizeof(wide));
	}
	add_validity(column, valid, nrows, sizeof(tb_int128));
	column->values.len += nrows * sizeof(tb_int128);
	column->nrows += nrows;
	return nrows * sizeof(tb_int128);
}

static Size
add_texts(WrittenColumn *column, const TbTextView *views, const uint8 *valid, uint32 nrows,
		  const char *bytes)
{
	Size added = 0;

	for (uint32 i = 0; i < nrows; i++)
	{
		if (valid != NULL && valid[i] == 0)
		{
			add_null(column);
			added += sizeof(int32);
		}
		else
			added += add_bytes(column, bytes + views[i].offset, views[i].length);
	}
	return added;
}

/* Adds the output's values in `nrows` rows of a batch, from row `first` on; there is
 * room for them. As above. */
static Size
add_batch_rows(WrittenColumn *column, const TbOutput *output, const TbResultBatch *batch,
			   uint32 first, uint32 nrows)
{
	const char	*base = (const char *) batch;
	const char	*values;
	const uint8 *valid = NULL;
	bool		 is_key = output->kind == TB_OUT_KEY && output->display == TB_NONE;
	Size		 bytes = 0;

	if (is_key || tb_final_is_column(output))
	{
		values = base + batch->columns[output->first].values +
			(Size) first * tb_type_width(output->type);
		if (batch->columns[output->first].valid != 0)
			valid = (const uint8 *) base + batch->columns[output->first].valid + first;
		/* Can whole columns be copied? */
		if (tb_final_is_column(output) && !column->is_decimal &&
			column->width == tb_type_width(output->type))
			return add_stored(column, values, valid, nrows);
		if (column->is_decimal && output->scale == column->scale)
		{
			if (output->type == TB_TYPE_NUM128)
				return add_stored(column, values, valid, nrows);
			if (output->type == TB_TYPE_NUM64)
				return add_widened(column, values, valid, nrows);
		}
		if (tb_type_is_text(output->type) && output->padding == 0 && column->is_varlena)
			return add_texts(column, (const TbTextView *) values, valid, nrows,
							 base + batch->bytes_offset);
	}
	/* Otherwise value by value. */
	for (uint32 row = first; row < first + nrows; row++)
	{
		bool  isnull;
		Datum value = tb_final_value(output, batch, row, &isnull);

		bytes += add_value(column, value, isnull);
	}
	return bytes;
}

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
move_column(StringInfo block, WrittenColumn *column)
{
	TbWriterPart part = {.nulls = column->nnulls, .bytes = column->values.len};

	append_part(block, &part, sizeof(part));
	if (column->width == 0)
		append_part(block, column->lengths, sizeof(int32) * column->nrows);
	else if (column->nnulls > 0)
		append_part(block, column->valid, column->nrows);
	append_part(block, column->values.data, column->values.len);
	column->nrows = column->nnulls = 0;
	resetStringInfo(&column->values);
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
	WrittenColumn *columns;
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
		const WrittenColumn *column = &writer->columns[i];

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
	static char *const no_arguments[] = {NULL};
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
	error = tb_spawn_program("turbine-file-writer", no_arguments, down[0], up[1], folder,
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
	MemoryContext old;

	/* Nothing remains of the last file. */
	MemoryContextReset(writer->file);
	old = MemoryContextSwitchTo(writer->file);
	writer->ncolumns = 0;
	writer->columns = palloc0(sizeof(WrittenColumn) * Max(desc->natts, 1));
	/* Dropped columns are not written. */
	for (int i = 0; i < desc->natts; i++)
	{
		WrittenColumn *column = &writer->columns[writer->ncolumns];

		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		init_column(column, TupleDescAttr(desc, i), target->parquet, !target->is_addition,
					BLOCK_ROWS);
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
	writer->bytes += add_row_values(writer->columns, writer->ncolumns, slot->tts_values,
									slot->tts_isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->row);
	if (++writer->nrows == BLOCK_ROWS || writer->bytes >= BLOCK_BYTES)
		send_block(writer);
}

void
tb_file_writer_add_batch(TbFileWriter *writer, const List *outputs,
						 const TbResultBatch *batch, uint32 first)
{
	MemoryContext old = MemoryContextSwitchTo(writer->row);

	while (first < batch->nrows)
	{
		uint32 nrows = Min(batch->nrows - first, BLOCK_ROWS - writer->nrows);

		for (int i = 0; i < writer->ncolumns; i++)
		{
			WrittenColumn *column = &writer->columns[i];

			writer->bytes += add_batch_rows(column, list_nth(outputs, column->attribute),
											batch, first, nrows);
		}
		MemoryContextReset(writer->row);
		first += nrows;
		writer->nrows += nrows;
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
