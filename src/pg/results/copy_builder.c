/*
 * copy_builder.c - see copy_builder.h.
 *
 * Owns the memfds until turbined has them. They are written by pwrite, not through a
 * mapping: where memory ends, that is an error and no signal. Called by the SQL functions.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#include "catalog/pg_type.h"
#include "common/int.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "turbine/file_writer.h"

#include "pg/convert/numeric_format.h"
#include "pg/export/row_columns.h"
#include "pg/results/copy_builder.h"
#include "pg/results/export_session.h"
#include "pg/settings/guc.h"
#include "pg/shmem/device_list.h"

/* A block's rows: a multiple of 8, so that its bits begin with a byte. */
#define BLOCK_ROWS 8192
#define BLOCK_BYTES (2 * 1024 * 1024)
#define RESERVE_LEAST (UINT64CONST(16) << 20)
#define RESERVE_MOST (UINT64CONST(1) << 30)

typedef struct CopyColumn
{
	TbRowColumn	   rows; /* of the block */
	TbExportColumn shape;
	Oid			   type;
	int32		   modifier;
	char		  *name;
	int			   file;
	uint64		   base; /* in the file */
} CopyColumn;

struct TbCopyBuilder
{
	TbRowSink			 sink;
	const TbCopyTerms	*terms;
	const TbLeftColumns *left;	  /* on a GPU; NULL: rows come */
	MemoryContext		 context;
	MemoryContext		 row;	  /* values of one row as they are taken */
	int					 ncolumns;
	CopyColumn			*columns; /* NULL: no row type has come */
	TbRowColumn		   **gathered;
	int					 files[TB_EXPORT_MOST_FILES];
	int					 nfiles;  /* that are open */
	uint32				 nrows;	  /* of the block */
	Size				 bytes;	  /* likewise */
	uint64				 rows;	  /* written */
	uint64				 written; /* bytes, in all */
	uint64				 reserved;
	uint8				*bits;	  /* of a block */
	int64				*offsets; /* likewise */

	bool			may_stream;	  /* a batch of a stream may come */
	TbStreamColumn *stream_columns;
	bool			is_streamed;  /* the copy is there: */
	TbExportInfo	streamed;
};

static uint32
format_of(const TbRowColumn *column, Oid type)
{
	switch (column->type)
	{
		case BOOLOID:
			return TB_EXPORT_BOOL;
		case INT2OID:
			return TB_EXPORT_INT16;
		case INT4OID:
			return TB_EXPORT_INT32;
		case INT8OID:
			return TB_EXPORT_INT64;
		case OIDOID:
			return TB_EXPORT_UINT32;
		case FLOAT4OID:
			return TB_EXPORT_FLOAT32;
		case FLOAT8OID:
			return TB_EXPORT_FLOAT64;
		case DATEOID:
			return TB_EXPORT_DATE32;
		case TIMEOID:
			return TB_EXPORT_TIME64;
		case TIMESTAMPOID:
			return TB_EXPORT_TIMESTAMP;
		case TIMESTAMPTZOID:
			return TB_EXPORT_TIMESTAMPTZ;
		case UUIDOID:
			return TB_EXPORT_UUID;
		case NUMERICOID:
			return TB_EXPORT_DECIMAL128;
		case BYTEAOID:
			return TB_EXPORT_BINARY;
		default:
			return TB_EXPORT_UTF8;
	}
}

static int
open_file(uint64 bytes)
{
	int file;

	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("too many files are open in this session"),
				 errhint("Select fewer columns, or raise max_files_per_process.")));
	file = memfd_create("pg_turbine columns", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0 || ftruncate(file, (off_t) bytes) != 0)
	{
		int error = errno;

		if (file >= 0)
			close(file);
		ReleaseExternalFD();
		errno = error;
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not make memory for a column: %m")));
	}
	return file;
}

static void
begin(TbRowSink *sink, TupleDesc desc)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;
	MemoryContext  old = MemoryContextSwitchTo(builder->context);

	builder->row = AllocSetContextCreate(CurrentMemoryContext, "pg_turbine copied row",
										 ALLOCSET_DEFAULT_SIZES);
	builder->columns = palloc0(sizeof(CopyColumn) * desc->natts);
	builder->bits = palloc(BLOCK_ROWS / 8);
	builder->offsets = palloc(sizeof(int64) * BLOCK_ROWS);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		CopyColumn		 *column = &builder->columns[builder->ncolumns];

		if (att->attisdropped)
			continue;
		tb_row_column_init(&column->rows, att, TB_ROWS_MEMORY, BLOCK_ROWS);
		column->rows.attribute = i;
		column->shape.format = format_of(&column->rows, att->atttypid);
		column->shape.precision = column->rows.precision;
		column->shape.scale = column->rows.scale;
		column->type = att->atttypid;
		column->modifier = att->atttypmod;
		column->name = pstrdup(NameStr(att->attname));
		builder->ncolumns++;
	}
	if (builder->ncolumns > TB_EXPORT_MOST_COLUMNS)
		elog(ERROR, "%d columns", builder->ncolumns);
	MemoryContextSwitchTo(old);
}

/* Before the first block. */
static void
open_files(TbCopyBuilder *builder)
{
	while (builder->nfiles < (int) tb_export_files(builder->ncolumns))
	{
		int file = open_file(tb_export_file_size(builder->ncolumns));

		builder->files[builder->nfiles++] = file;
	}
	for (int i = 0; i < builder->ncolumns; i++)
	{
		builder->columns[i].file = builder->files[tb_export_file_of(i)];
		builder->columns[i].base = tb_export_base_of(i);
	}
}

static void
write_at(const CopyColumn *column, const void *from, Size size, uint64 place)
{
	const char *bytes = from;

	place += column->base;
	while (size > 0)
	{
		ssize_t n = pwrite(column->file, bytes, size, (off_t) place);

		if (n < 0 && errno == EINTR)
		{
			CHECK_FOR_INTERRUPTS();
			continue;
		}
		if (n <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("could not write a column to memory: %m")));
		bytes += n;
		place += n;
		size -= n;
	}
}

static _Noreturn void
raise_value(const CopyColumn *column, int code, const char *what)
{
	ereport(ERROR,
			(errcode(code),
			 errmsg("a value of column \"%s\" has no form outside of PostgreSQL",
					column->name),
			 errdetail("It is %s.", what),
			 errhint("Leave such rows out, or select an expression in its place, for "
					 "instance with CASE.")));
}

/* PostgreSQL counts from 2000. */
#define EPOCH_DAYS (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)
#define EPOCH_US ((int64) EPOCH_DAYS * USECS_PER_DAY)

/* What is NULL stays 0. */
static void
shift_dates(const CopyColumn *column, int32 *days, int nrows)
{
	const uint8 *valid = column->rows.nnulls > 0 ? column->rows.valid : NULL;

	for (int i = 0; i < nrows; i++)
	{
		if (valid != NULL && !valid[i])
			continue;
		if (DATE_NOT_FINITE(days[i]))
			raise_value(column, ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, "an infinite date");
		days[i] += EPOCH_DAYS;
	}
}

static void
shift_timestamps(const CopyColumn *column, int64 *times, int nrows)
{
	const uint8 *valid = column->rows.nnulls > 0 ? column->rows.valid : NULL;

	for (int i = 0; i < nrows; i++)
	{
		if (valid != NULL && !valid[i])
			continue;
		if (TIMESTAMP_NOT_FINITE(times[i]))
			raise_value(column, ERRCODE_DATETIME_VALUE_OUT_OF_RANGE,
						"an infinite timestamp");
		if (pg_add_s64_overflow(times[i], EPOCH_US, &times[i]))
			raise_value(column, ERRCODE_DATETIME_VALUE_OUT_OF_RANGE,
						"a timestamp too far in the future");
	}
}

static void
check_decimals(const CopyColumn *column, const tb_int128 *values, int nrows)
{
	for (int i = 0; i < nrows; i++)
	{
		int64 upper = (int64) (values[i] >> 64);

		if (upper == TB_WRITER_NAN)
			raise_value(column, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "NaN");
		if (upper == TB_WRITER_NO_DECIMAL)
			raise_value(column, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
						"a numeric that is infinite or has too many digits");
	}
}

/* A bit for each byte that is not 0. */
static void
pack_bits(uint8 *bits, const uint8 *flags, int count)
{
	memset(bits, 0, (count + 7) / 8);
	for (int i = 0; i < count; i++)
		bits[i / 8] |= (flags[i] != 0) << (i % 8);
}

/* Bits for the block's rows; all rows before are there if no NULL came before. */
static void
write_validity(TbCopyBuilder *builder, CopyColumn *column, const uint8 *valid)
{
	const uint64 first = builder->rows / 8;

	if (column->shape.nulls == 0 && column->rows.nnulls > 0)
	{
		uint8 ones[1024];

		memset(ones, 0xff, sizeof(ones));
		for (uint64 done = 0; done < first; done += sizeof(ones))
			write_at(column, ones, Min(first - done, sizeof(ones)),
					 TB_EXPORT_VALIDITY_AT + done);
	}
	column->shape.nulls += column->rows.nnulls;
	if (column->shape.nulls == 0)
		return;
	pack_bits(builder->bits, valid, column->rows.nrows);
	write_at(column, builder->bits, (column->rows.nrows + 7) / 8,
			 TB_EXPORT_VALIDITY_AT + first);
}

static void
write_fixed(TbCopyBuilder *builder, CopyColumn *column)
{
	TbRowColumn *rows = &column->rows;
	void		*values = rows->values.data;

	switch (column->shape.format)
	{
		case TB_EXPORT_DATE32:
			shift_dates(column, values, rows->nrows);
			break;
		case TB_EXPORT_TIMESTAMP:
		case TB_EXPORT_TIMESTAMPTZ:
			shift_timestamps(column, values, rows->nrows);
			break;
		case TB_EXPORT_DECIMAL128:
			check_decimals(column, values, rows->nrows);
			break;
		case TB_EXPORT_BOOL:
			pack_bits(builder->bits, values, rows->nrows);
			write_at(column, builder->bits, (rows->nrows + 7) / 8,
					 TB_EXPORT_BITS_AT + builder->rows / 8);
			break;
		default:
			break;
	}
	write_at(column, values, rows->values.len, builder->rows * rows->width);
	write_validity(builder, column, rows->valid);
}

static void
write_texts(TbCopyBuilder *builder, CopyColumn *column)
{
	TbRowColumn *rows = &column->rows;
	int64		 offset = column->shape.bytes;
	uint8		*valid = rows->valid;

	if (column->shape.format == TB_EXPORT_UTF8 && GetDatabaseEncoding() == PG_SQL_ASCII)
		(void) pg_verify_mbstr(PG_UTF8, rows->values.data, rows->values.len, false);
	if (valid == NULL)
		rows->valid = valid = MemoryContextAlloc(builder->context, BLOCK_ROWS);
	for (int i = 0; i < rows->nrows; i++)
	{
		builder->offsets[i] = offset;
		valid[i] = rows->lengths[i] >= 0;
		offset += Max(rows->lengths[i], 0);
	}
	write_at(column, builder->offsets, sizeof(int64) * rows->nrows,
			 builder->rows * sizeof(int64));
	write_at(column, rows->values.data, rows->values.len,
			 TB_EXPORT_BYTES_AT + column->shape.bytes);
	column->shape.bytes = offset;
	write_validity(builder, column, valid);
}

/* So that memory is asked for before it is taken: ever larger steps. */
static void
reserve(TbCopyBuilder *builder, uint64 more)
{
	uint64 needed = builder->written + more;

	if (needed <= builder->reserved)
		return;
	builder->reserved = needed + Min(Max(needed / 4, RESERVE_LEAST), RESERVE_MOST);
	tb_export_reserve(builder->reserved);
}

static void
write_block(TbCopyBuilder *builder)
{
	uint64 bytes = 0;

	CHECK_FOR_INTERRUPTS();
	if (builder->nfiles == 0)
		open_files(builder);
	/* Values or texts, offsets, bits. */
	for (int i = 0; i < builder->ncolumns; i++)
	{
		const TbRowColumn *rows = &builder->columns[i].rows;

		bytes += rows->values.len + (rows->width > 0 ? 0 : sizeof(int64) * builder->nrows) +
			builder->nrows / 4;
	}
	reserve(builder, bytes);
	for (int i = 0; i < builder->ncolumns; i++)
	{
		CopyColumn *column = &builder->columns[i];

		if (column->rows.width > 0)
			write_fixed(builder, column);
		else
			write_texts(builder, column);
		tb_row_column_reset(&column->rows);
	}
	builder->written += bytes;
	builder->rows += builder->nrows;
	builder->nrows = 0;
	builder->bytes = 0;
}

/* Blocks but the last have a multiple of 8 rows. */
static bool
block_is_full(const TbCopyBuilder *builder)
{
	return builder->nrows == BLOCK_ROWS ||
		(builder->bytes >= BLOCK_BYTES && builder->nrows % 8 == 0);
}

static void
add(TbRowSink *sink, TupleTableSlot *slot)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;
	MemoryContext  old = MemoryContextSwitchTo(builder->row);

	slot_getallattrs(slot);
	for (int i = 0; i < builder->ncolumns; i++)
		builder->bytes += tb_row_columns_add(&builder->columns[i].rows, 1, slot->tts_values,
											 slot->tts_isnull);
	MemoryContextSwitchTo(old);
	MemoryContextReset(builder->row);
	builder->nrows++;
	if (block_is_full(builder))
		write_block(builder);
}

static void
add_batch(TbRowSink *sink, const List *outputs, const TbResultBatch *batch, uint32 first,
		  uint32 nrows)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;
	MemoryContext  old = MemoryContextSwitchTo(builder->row);

	while (nrows > 0)
	{
		/* Long texts fill blocks of fewer rows. */
		uint32 now = Min(nrows, Min(BLOCK_ROWS - builder->nrows, 1024));

		for (int i = 0; i < builder->ncolumns; i++)
		{
			TbRowColumn *column = &builder->columns[i].rows;

			builder->bytes += tb_row_column_add_batch(column,
													  list_nth(outputs, column->attribute),
													  batch, first, now);
		}
		MemoryContextReset(builder->row);
		first += now;
		nrows -= now;
		builder->nrows += now;
		if (block_is_full(builder))
			write_block(builder);
	}
	MemoryContextSwitchTo(old);
}

/* What has been written is written over: bits are stored by the byte, and the rows' number
 * tells which. */
static void
restart(TbRowSink *sink)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;

	for (int i = 0; i < builder->ncolumns; i++)
	{
		tb_row_column_reset(&builder->columns[i].rows);
		builder->columns[i].shape.nulls = 0;
		builder->columns[i].shape.bytes = 0;
	}
	builder->nrows = 0;
	builder->bytes = 0;
	builder->rows = 0;
	builder->written = 0; /* what has been reserved stays */
}

static void
append_utf8(StringInfo to, const char *text, uint32 *length)
{
	char *utf8 = pg_server_to_any(text, strlen(text), PG_UTF8);

	*length = strlen(utf8);
	appendBinaryStringInfo(to, utf8, *length);
}

/* What EXPORT_CREATE says of the rows that there are. */
static void
describe_copy(const TbCopyBuilder *builder, StringInfo payload)
{
	const TbCopyTerms *terms = builder->terms;
	TbExportCreate	   create = {.device = terms->device,
								 .flags = terms->flags,
								 .rows = builder->rows,
								 .ncolumns = builder->ncolumns,
								 .owner = GetUserId(),
								 .database = MyDatabaseId,
								 .relation = terms->relation};
	StringInfoData	   texts;
	Datum			   revision;

	if (builder->left != NULL)
	{
		create.flags |= TB_EXPORT_LEFT;
		memcpy(create.left, builder->left->result->id, sizeof(create.left));
	}
	initStringInfo(&texts);
	append_utf8(&texts, terms->source != NULL ? terms->source : "", &create.source_length);
	/* Which transactions' rows it has */
	revision = OidFunctionCall0(F_PG_CURRENT_SNAPSHOT);
	append_utf8(&texts, DatumGetCString(OidFunctionCall1(F_PG_SNAPSHOT_OUT, revision)),
				&create.revision_length);
	for (int i = 0; i < builder->ncolumns; i++)
	{
		CopyColumn *column = &builder->columns[i];

		append_utf8(&texts, column->name, &column->shape.name_length);
		append_utf8(&texts, format_type_with_typemod(column->type, column->modifier),
					&column->shape.type_length);
	}
	initStringInfo(payload);
	appendBinaryStringInfo(payload, (const char *) &create, sizeof(create));
	for (int i = 0; i < builder->ncolumns; i++)
		appendBinaryStringInfo(payload, (const char *) &builder->columns[i].shape,
							   sizeof(TbExportColumn));
	appendBinaryStringInfo(payload, texts.data, texts.len);
}

/* The device that the copy will be on, if it is a GPU that this session's queries may use;
 * else the host. */
static uint32
gpu_of(const TbCopyTerms *terms)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	uint32		 best = TB_DEVICE_HOST;

	if (terms->device == TB_DEVICE_HOST || tb_guc_device_choice() == TB_CHOOSE_CPU)
		return TB_DEVICE_HOST;
	for (int i = 1; i < count; i++)
		if (devices[i].usable &&
			(terms->device == (uint32) i ||
			 (terms->device == TB_EXPORT_ANY_DEVICE &&
			  (best == TB_DEVICE_HOST ||
			   devices[i].queries_running < devices[best].queries_running))))
			best = i;
	return best;
}

/* Formats that a GPU makes of the values of its own types. */
static bool
gpu_makes(const CopyColumn *column)
{
	switch (column->shape.format)
	{
		case TB_EXPORT_BOOL:
		case TB_EXPORT_INT16:
		case TB_EXPORT_INT32:
		case TB_EXPORT_INT64:
		case TB_EXPORT_FLOAT32:
		case TB_EXPORT_FLOAT64:
		case TB_EXPORT_DATE32:
		case TB_EXPORT_TIMESTAMP:
		case TB_EXPORT_TIMESTAMPTZ:
		case TB_EXPORT_DECIMAL128:
			return true;
		default:
			return false;
	}
}

/* Below this, rows are there sooner than code for a GPU might be. */
#define LEAST_LEFT_BYTES (1024.0 * 1024)

static TbLeftColumns *
wants_left(TbRowSink *sink, const List *outputs, double rows)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;
	uint32		   device = gpu_of(builder->terms);
	TbLeftColumns *left;
	double		   width = 0;

	if (device == TB_DEVICE_HOST)
		return NULL;
	left = MemoryContextAllocZero(builder->context, sizeof(TbLeftColumns));
	left->device = device;
	left->ncolumns = builder->ncolumns;
	left->columns = MemoryContextAlloc(builder->context,
									   sizeof(TbColumnLeft) * builder->ncolumns);
	left->result = MemoryContextAlloc(builder->context,
									  offsetof(TbResultLeft, nulls) +
										  sizeof(uint64) * builder->ncolumns);
	for (int i = 0; i < builder->ncolumns; i++)
	{
		const CopyColumn *column = &builder->columns[i];
		const TbOutput	 *output = list_nth(outputs, column->rows.attribute);

		if (!gpu_makes(column) || !tb_row_column_is_output(&column->rows, output))
			return NULL;
		left->columns[i].column = output->first;
		left->columns[i].format = column->shape.format;
		width += tb_export_width(column->shape.format);
	}
	return rows * width >= LEAST_LEFT_BYTES ? left : NULL;
}

static void
take_left(TbRowSink *sink, const TbLeftColumns *left)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;

	builder->left = left;
	builder->rows = left->result->rows;
	for (int i = 0; i < builder->ncolumns; i++)
		builder->columns[i].shape.nulls = left->result->nulls[i];
}

static const TbStreamColumn *
stream(TbRowSink *sink, const List *outputs, int *ncolumns, uint32 *device)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;

	if (!builder->may_stream)
		return NULL;
	builder->stream_columns = MemoryContextAlloc(builder->context,
												 sizeof(TbStreamColumn) *
													 builder->ncolumns);
	for (int i = 0; i < builder->ncolumns; i++)
	{
		const CopyColumn *column = &builder->columns[i];
		const TbOutput	 *output = list_nth(outputs, column->rows.attribute);

		if (!tb_row_column_is_output(&column->rows, output))
			return NULL;
		builder->stream_columns[i] = (TbStreamColumn) {.output = output->first,
													   .format = column->shape.format};
	}
	*ncolumns = builder->ncolumns;
	*device = gpu_of(builder->terms);
	return builder->stream_columns;
}

static bool
take_streamed(TbRowSink *sink, const TbStreamBatch *batch)
{
	TbCopyBuilder *builder = (TbCopyBuilder *) sink;
	MemoryContext  old = MemoryContextSwitchTo(builder->context);
	StringInfoData payload;

	builder->rows = batch->rows;
	for (int i = 0; i < builder->ncolumns; i++)
	{
		builder->columns[i].shape.nulls = batch->columns[i].nulls;
		builder->columns[i].shape.bytes = batch->columns[i].bytes;
	}
	describe_copy(builder, &payload);
	builder->is_streamed = tb_export_streamed(&batch->id, &payload, &builder->streamed);
	if (!builder->is_streamed)
		restart(sink);
	MemoryContextSwitchTo(old);
	return builder->is_streamed;
}

TbCopyBuilder *
tb_copy_builder_start(const TbCopyTerms *terms)
{
	TbCopyBuilder *builder = palloc0(sizeof(TbCopyBuilder));

	builder->sink.begin = begin;
	builder->sink.add = add;
	builder->sink.add_batch = add_batch;
	builder->sink.restart = restart;
	builder->sink.wants_left = wants_left;
	builder->sink.take_left = take_left;
	builder->terms = terms;
	builder->sink.stream = stream;
	builder->sink.take_streamed = take_streamed;
	builder->context = CurrentMemoryContext;
	return builder;
}

void
tb_copy_builder_accept_stream(TbCopyBuilder *builder)
{
	builder->may_stream = true;
}

TbRowSink *
tb_copy_builder_sink(TbCopyBuilder *builder)
{
	return &builder->sink;
}

bool
tb_copy_builder_has_begun(const TbCopyBuilder *builder)
{
	return builder->columns != NULL;
}

/* No more writes by anybody. */
static void
seal(int file)
{
	if (fcntl(file, F_ADD_SEALS,
			  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("could not seal the memory of a column: %m"),
				 errhint("Linux 5.1 or later is needed.")));
}

void
tb_copy_builder_finish(TbCopyBuilder *builder, TbExportInfo *info)
{
	StringInfoData payload;

	if (builder->is_streamed)
	{
		*info = builder->streamed;
		return;
	}
	if (builder->left == NULL)
		write_block(builder);
	/* Texts end where the last one does. */
	for (int i = 0; i < builder->ncolumns; i++)
	{
		CopyColumn *column = &builder->columns[i];
		int64		end = column->shape.bytes;

		if (column->rows.width == 0 && builder->left == NULL)
			write_at(column, &end, sizeof(end), builder->rows * sizeof(int64));
	}
	/* What the files hold is not read where a GPU has the columns. */
	for (int i = 0; i < builder->nfiles && builder->left == NULL; i++)
		seal(builder->files[i]);
	describe_copy(builder, &payload);
	tb_export_create(&payload, builder->files, builder->left == NULL ? builder->nfiles : 0,
					 info);
}

void
tb_copy_builder_end(TbCopyBuilder *builder)
{
	for (int i = 0; i < builder->nfiles; i++)
	{
		close(builder->files[i]);
		ReleaseExternalFD();
	}
	builder->nfiles = 0;
}
