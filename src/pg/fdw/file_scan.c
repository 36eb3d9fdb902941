/*
 * file_scan.c - drives a file reader through the files of a table, and forms values of its
 * answers: see file_scan.h.
 *
 * Values. Types whose bytes are their value are read here; all else goes through the type's
 * own receive or input function, so that its checks and its typmod hold. Texts come in
 * UTF-8 and are converted to the server's encoding.
 *
 * Files. While a file is read the next one's request is with the reader already, so that it
 * never waits for the backend. A file is open until its last row has come, and is looked at
 * once more then: who writes into a file that is read gets an error, not half of either.
 *
 * Called by scans and by ANALYZE. Must never trust the reader's bytes: each length is
 * checked before it is used.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "turbine/file_reader.h"
#include "pg/compat/pg16.h"
#include "pg/convert/postgis.h"
#include "pg/fdw/file_scan.h"
#include "pg/fdw/virtual_value.h"
#include "pg/files/file_reader_process.h"

/* Bytes of a frame that are not read yet. */
typedef struct ReaderBytes
{
	const char *at;
	const char *end;
} ReaderBytes;

typedef struct ValueReader ValueReader;

struct ValueReader
{
	Oid			   type; /* without domains */
	int32		   typmod;
	TbReaderTarget target;

	/* The type's own function, where its bytes are not the value. */
	FmgrInfo function;
	FmgrInfo input; /* of geometry beside it, for text */
	Oid		 io_parameter;

	Oid	  domain; /* InvalidOid: none */
	void *domain_check_data;

	/* of an array */
	ValueReader *element;
	int16		 element_length;
	bool		 element_by_value;
	char		 element_align;

	/* of a composite */
	TupleDesc	  attributes;
	ValueReader **fields;  /* NULL for dropped attributes */

	MemoryContext context; /* what the reader lives in */
};

static _Noreturn void
raise_malformed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_ERROR), errmsg("malformed answer of the file reader")));
}

static TbReaderTarget
target_of(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return TB_TARGET_BOOL;
		case INT2OID:
			return TB_TARGET_INT2;
		case INT4OID:
			return TB_TARGET_INT4;
		case INT8OID:
			return TB_TARGET_INT8;
		case FLOAT4OID:
			return TB_TARGET_FLOAT4;
		case FLOAT8OID:
			return TB_TARGET_FLOAT8;
		case NUMERICOID:
			return TB_TARGET_NUMERIC;
		case BYTEAOID:
			return TB_TARGET_BYTEA;
		case UUIDOID:
			return TB_TARGET_UUID;
		case DATEOID:
			return TB_TARGET_DATE;
		case TIMEOID:
			return TB_TARGET_TIME;
		case TIMESTAMPOID:
			return TB_TARGET_TIMESTAMP;
		case TIMESTAMPTZOID:
			return TB_TARGET_TIMESTAMPTZ;
		case INTERVALOID:
			return TB_TARGET_INTERVAL;
		case JSONOID:
		case JSONBOID:
			return TB_TARGET_JSON;
		default:
			break;
	}
	if (tb_postgis_is_geometry(type))
		return TB_TARGET_GEOMETRY;
	if (OidIsValid(get_element_type(type)))
		return TB_TARGET_ARRAY;
	if (get_typtype(type) == TYPTYPE_COMPOSITE)
		return TB_TARGET_COMPOSITE;
	return TB_TARGET_TEXT;
}

static ValueReader *make_value_reader(Oid type, int32 typmod);

static void
set_element(ValueReader *reader)
{
	Oid element = get_element_type(reader->type);

	reader->element = make_value_reader(element, reader->typmod);
	get_typlenbyvalalign(element, &reader->element_length, &reader->element_by_value,
						 &reader->element_align);
}

static void
set_fields(ValueReader *reader)
{
	reader->attributes = lookup_rowtype_tupdesc_copy(reader->type, -1);
	reader->fields = palloc0(sizeof(ValueReader *) * Max(reader->attributes->natts, 1));
	for (int i = 0; i < reader->attributes->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(reader->attributes, i);

		if (!attribute->attisdropped)
			reader->fields[i] = make_value_reader(attribute->atttypid,
												  attribute->atttypmod);
	}
}

/* For values of a column of this type, in the current memory context. */
static ValueReader *
make_value_reader(Oid type, int32 typmod)
{
	ValueReader *reader = palloc0(sizeof(ValueReader));
	Oid			 function;

	check_stack_depth();
	reader->context = CurrentMemoryContext;
	reader->typmod = typmod;
	/* Domains are read as their base type. */
	reader->type = getBaseTypeAndTypmod(type, &reader->typmod);
	if (reader->type != type)
		reader->domain = type;
	reader->target = target_of(reader->type);
	/* How values get their form. */
	switch (reader->target)
	{
		case TB_TARGET_ARRAY:
			set_element(reader);
			break;
		case TB_TARGET_COMPOSITE:
			set_fields(reader);
			break;
		case TB_TARGET_TEXT:
		case TB_TARGET_JSON:
			getTypeInputInfo(reader->type, &function, &reader->io_parameter);
			fmgr_info(function, &reader->function);
			break;
		case TB_TARGET_GEOMETRY:
			getTypeInputInfo(reader->type, &function, &reader->io_parameter);
			fmgr_info(function, &reader->input);
			/* FALLTHROUGH */
		default:
			getTypeBinaryInputInfo(reader->type, &function, &reader->io_parameter);
			fmgr_info(function, &reader->function);
			break;
	}
	return reader;
}

static void
append_number(StringInfo request, uint32 number)
{
	appendBinaryStringInfo(request, (const char *) &number, sizeof(number));
}

/* Appends the type to a request. */
static void
describe_type(const ValueReader *reader, StringInfo request)
{
	int nfields = 0;

	append_number(request, reader->target);
	if (reader->target == TB_TARGET_ARRAY)
		describe_type(reader->element, request);
	/* Only composites have fields. */
	if (reader->target != TB_TARGET_COMPOSITE)
		return;
	for (int i = 0; i < reader->attributes->natts; i++)
		nfields += reader->fields[i] != NULL;
	append_number(request, nfields);
	for (int i = 0; i < reader->attributes->natts; i++)
	{
		char *name = NameStr(TupleDescAttr(reader->attributes, i)->attname);

		if (reader->fields[i] == NULL)
			continue;
		/* Files have names in UTF-8. */
		name = pg_server_to_any(name, strlen(name), PG_UTF8);
		append_number(request, strlen(name));
		appendStringInfoString(request, name);
		describe_type(reader->fields[i], request);
	}
}

static uint32
take_number(ReaderBytes *bytes)
{
	uint32 number;

	if (bytes->end - bytes->at < sizeof(number))
		raise_malformed();
	memcpy(&number, bytes->at, sizeof(number));
	bytes->at += sizeof(number);
	return pg_ntoh32(number);
}

static Datum
read_text(ValueReader *reader, const char *data, int length)
{
	char *text = (char *) data;
	char *string;

	/* The file reader has checked that it is UTF-8 without NUL bytes. */
	if (GetDatabaseEncoding() != PG_UTF8)
	{
		text = pg_any_to_server(pnstrdup(data, length), length, PG_UTF8);
		length = strlen(text);
	}
	if (reader->target == TB_TARGET_TEXT &&
		(reader->type == TEXTOID || (reader->type == VARCHAROID && reader->typmod < 0)))
		return PointerGetDatum(cstring_to_text_with_len(text, length));
	string = pnstrdup(text, length);
	return InputFunctionCall(&reader->function, string, reader->io_parameter,
							 reader->typmod);
}

static Datum
receive_value(ValueReader *reader, const char *data, int length)
{
	StringInfoData buffer = {(char *) data, length, length, 0};
	Datum value = ReceiveFunctionCall(&reader->function, &buffer, reader->io_parameter,
									  reader->typmod);

	if (buffer.cursor != length)
		raise_malformed();
	return value;
}

/* Well-known binary, or text of any form. */
static Datum
read_geometry(ValueReader *reader, const char *data, int length)
{
	if (length > 0 && (data[0] == 0 || data[0] == 1))
		return receive_value(reader, data, length);
	return InputFunctionCall(&reader->input, pnstrdup(data, length), reader->io_parameter,
							 reader->typmod);
}

static Datum next_value(ValueReader *reader, ReaderBytes *bytes, bool *isnull);

static Datum
read_array(ValueReader *reader, const char *data, int length)
{
	ReaderBytes bytes = {data, data + length};
	uint32		ndim = take_number(&bytes);
	int			lengths[MAXDIM], bounds[MAXDIM];
	int			nitems;
	Datum	   *values;
	bool	   *nulls;

	if (ndim > MAXDIM)
		raise_malformed();
	if (ndim == 0)
		return PointerGetDatum(construct_empty_array(reader->element->type));
	for (uint32 i = 0; i < ndim; i++)
	{
		lengths[i] = (int) take_number(&bytes);
		bounds[i] = 1;
	}
	nitems = ArrayGetNItems(ndim, lengths);
	/* An item takes at least its length. */
	if (nitems > (bytes.end - bytes.at) / sizeof(int32))
		raise_malformed();
	values = palloc(sizeof(Datum) * Max(nitems, 1));
	nulls = palloc(sizeof(bool) * Max(nitems, 1));
	for (int i = 0; i < nitems; i++)
		values[i] = next_value(reader->element, &bytes, &nulls[i]);
	return PointerGetDatum(
		construct_md_array(values, nulls, ndim, lengths, bounds,
						   get_element_type(reader->type), reader->element_length,
						   reader->element_by_value, reader->element_align));
}

static Datum
read_composite(ValueReader *reader, const char *data, int length)
{
	ReaderBytes bytes = {data, data + length};
	int			natts = reader->attributes->natts;
	Datum	   *values = palloc0(sizeof(Datum) * Max(natts, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(natts, 1));

	for (int i = 0; i < natts; i++)
	{
		nulls[i] = true;
		if (reader->fields[i] != NULL)
			values[i] = next_value(reader->fields[i], &bytes, &nulls[i]);
	}
	return HeapTupleGetDatum(heap_form_tuple(reader->attributes, values, nulls));
}

static uint64
fixed_value(const char *data, int length, int expected)
{
	uint64 value = 0;

	if (length != expected)
		raise_malformed();
	for (int i = 0; i < length; i++)
		value = value << 8 | (unsigned char) data[i];
	return value;
}

static Datum
read_bytes(const char *data, int length)
{
	bytea *value = palloc(length + VARHDRSZ);

	SET_VARSIZE(value, length + VARHDRSZ);
	memcpy(VARDATA(value), data, length);
	return PointerGetDatum(value);
}

static Datum
read_value(ValueReader *reader, const char *data, int length)
{
	switch (reader->target)
	{
		case TB_TARGET_BOOL:
			return BoolGetDatum(fixed_value(data, length, 1) != 0);
		case TB_TARGET_INT2:
			return Int16GetDatum((int16) fixed_value(data, length, 2));
		case TB_TARGET_INT4:
		case TB_TARGET_DATE:
			return Int32GetDatum((int32) fixed_value(data, length, 4));
		case TB_TARGET_INT8:
			return Int64GetDatum((int64) fixed_value(data, length, 8));
		case TB_TARGET_TIME:
		case TB_TARGET_TIMESTAMP:
		case TB_TARGET_TIMESTAMPTZ:
			if (reader->typmod < 0)
				return Int64GetDatum((int64) fixed_value(data, length, 8));
			return receive_value(reader, data, length);
		case TB_TARGET_BYTEA:
			return read_bytes(data, length);
		case TB_TARGET_TEXT:
		case TB_TARGET_JSON:
			return read_text(reader, data, length);
		case TB_TARGET_GEOMETRY:
			return read_geometry(reader, data, length);
		case TB_TARGET_ARRAY:
			return read_array(reader, data, length);
		case TB_TARGET_COMPOSITE:
			return read_composite(reader, data, length);
		default:
			return receive_value(reader, data, length);
	}
}

/* The next value, in the current memory context. Raises an error if the bytes are not
 * what turbine/file_reader.h says, or the type does not take the value. */
static Datum
next_value(ValueReader *reader, ReaderBytes *bytes, bool *isnull)
{
	int32 length = (int32) take_number(bytes);
	Datum value = (Datum) 0;

	*isnull = length == -1;
	if (!*isnull)
	{
		if (length < 0 || length > bytes->end - bytes->at)
			raise_malformed();
		value = read_value(reader, bytes->at, length);
		bytes->at += length;
	}
	if (OidIsValid(reader->domain))
		domain_check(value, *isnull, reader->domain, &reader->domain_check_data,
					 reader->context);
	return value;
}

/* Longer requests wait until the reader has nothing else to do: it takes them from a
 * socket whose buffer must hold them meanwhile. */
#define MAX_AHEAD_BYTES (32 * 1024)
#define MAX_REQUESTS 2

typedef struct ScanColumn
{
	int			 attribute; /* attnum - 1 */
	ValueReader *reader;	/* NULL: virtual */
	Datum		 value;		/* of a virtual column in the current file */
	bool		 isnull;
} ScanColumn;

typedef struct OpenRequest
{
	const TbTableFile *file;
	int				   fd;
} OpenRequest;

struct TbFileScan
{
	const TbFileTable *table;
	const bool		  *wanted; /* by file; NULL: all */
	TupleDesc		   attributes;
	List			  *bounds; /* of TbScanBound */
	ScanColumn		  *columns;
	int				   ncolumns;
	TbFileScanCounters counters;

	TbFileReader *reader;				  /* NULL: not started */
	int			  next_file;
	OpenRequest	  requests[MAX_REQUESTS]; /* the oldest is being answered */
	int			  nrequests;
	const char	 *column;				  /* that a value is read of; NULL: none */
	ReaderBytes	  bytes;				  /* rows of a frame */
	uint32		  rows;					  /* of them, not read yet */

	MemoryContext request_context;		  /* for one request */
	MemoryContext file_context;			  /* virtual values of the current file */
};

static void
add_column(TbFileScan *scan, int attribute)
{
	Form_pg_attribute form = TupleDescAttr(scan->attributes, attribute);
	ScanColumn		 *column = &scan->columns[scan->ncolumns++];

	column->attribute = attribute;
	if (!scan->table->columns[attribute].is_virtual)
		column->reader = make_value_reader(form->atttypid, form->atttypmod);
}

TbFileScan *
tb_file_scan_begin(const TbFileTable *table, const bool *wanted, TupleDesc attributes,
				   const Bitmapset *attnums, List *bounds)
{
	TbFileScan *scan = palloc0(sizeof(TbFileScan));
	bool		all = bms_is_member(0, attnums);

	scan->table = table;
	scan->wanted = wanted;
	scan->attributes = attributes;
	scan->bounds = bounds;
	scan->columns = palloc0(sizeof(ScanColumn) * Max(attributes->natts, 1));
	for (int i = 0; i < attributes->natts; i++)
	{
		/* The table may have got columns since the file table was made. */
		if (i < table->ncolumns && !TupleDescAttr(attributes, i)->attisdropped &&
			(all || bms_is_member(i + 1, attnums)))
			add_column(scan, i);
	}
	scan->request_context = AllocSetContextCreate(CurrentMemoryContext,
												  "request to the file reader",
												  ALLOCSET_DEFAULT_SIZES);
	scan->file_context = AllocSetContextCreate(CurrentMemoryContext, "virtual columns",
											   ALLOCSET_SMALL_SIZES);
	return scan;
}

static void
make_request(TbFileScan *scan, const TbTableFile *file, StringInfo request)
{
	int *places = palloc(sizeof(int) * Max(scan->table->ncolumns, 1));
	int	 ncolumns = 0;

	tb_reader_request_begin(request, TB_READER_SCAN, file->path);
	/* Places of the columns in answers. */
	for (int i = 0; i < scan->ncolumns; i++)
	{
		places[scan->columns[i].attribute] = -1;
		if (scan->columns[i].reader != NULL)
			places[scan->columns[i].attribute] = ncolumns++;
	}
	/* Names and types to read. */
	tb_reader_request_number(request, ncolumns);
	for (int i = 0; i < scan->ncolumns; i++)
	{
		const ScanColumn *column = &scan->columns[i];

		if (column->reader == NULL)
			continue;
		tb_reader_request_text(request, scan->table->columns[column->attribute].name);
		describe_type(column->reader, request);
	}
	/* Bounds let the reader skip batches. */
	tb_scan_bounds_describe(scan->bounds, file, places, request);
}

/* Sends the next file's request, if the reader may have one more. */
static void
send_ahead(TbFileScan *scan)
{
	MemoryContext  saved;
	StringInfoData request;

	while (scan->nrequests < MAX_REQUESTS && scan->next_file < scan->table->nfiles)
	{
		const TbTableFile *file = &scan->table->files[scan->next_file];
		OpenRequest		  *open = &scan->requests[scan->nrequests];

		/* Did the filters exclude it? */
		if (scan->wanted != NULL && !scan->wanted[scan->next_file])
		{
			scan->next_file++;
			continue;
		}
		MemoryContextReset(scan->request_context);
		saved = MemoryContextSwitchTo(scan->request_context);
		make_request(scan, file, &request);
		MemoryContextSwitchTo(saved);
		/* A long request could block. */
		if (scan->nrequests > 0 && request.len > MAX_AHEAD_BYTES)
			return;
		/* Sent now, answered in order. */
		open->file = file;
		open->fd = tb_table_file_open(file);
		scan->nrequests++;
		scan->next_file++;
		tb_file_reader_send(scan->reader, &request, open->fd);
	}
}

/* The virtual columns of the file whose rows come next. */
static void
set_virtual_values(TbFileScan *scan)
{
	const TbTableFile *file = scan->requests[0].file;
	MemoryContext	   saved;

	MemoryContextReset(scan->file_context);
	saved = MemoryContextSwitchTo(scan->file_context);
	for (int i = 0; i < scan->ncolumns; i++)
	{
		ScanColumn *column = &scan->columns[i];

		if (column->reader == NULL)
			column->value = tb_virtual_value(file, scan->attributes, column->attribute,
											 &column->isnull);
	}
	MemoryContextSwitchTo(saved);
}

static void
finish_file(TbFileScan *scan, const TbReaderAnswer *answer)
{
	OpenRequest *open = &scan->requests[0];
	uint32		 counters[2];

	if (answer->length != sizeof(counters))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("malformed answer of the file reader")));
	memcpy(counters, answer->data, sizeof(counters));
	scan->counters.batches_read += counters[0];
	scan->counters.batches_skipped += counters[1];
	tb_file_check_unchanged(open->file->path, open->fd, &open->file->identity);
	tb_file_close(open->fd);
	scan->nrequests--;
	memmove(&scan->requests[0], &scan->requests[1], sizeof(OpenRequest) * scan->nrequests);
	if (scan->nrequests > 0)
		set_virtual_values(scan);
}

/* Waits for rows; false: there are none. */
static bool
next_frame(TbFileScan *scan)
{
	/* The first frame starts the reader. */
	if (scan->reader == NULL)
	{
		if (scan->table->nfiles == 0)
			return false;
		scan->reader = tb_file_reader_start();
	}
	for (;;)
	{
		bool		   was_idle = scan->nrequests == 0;
		TbReaderAnswer answer;

		/* Is another file left? */
		send_ahead(scan);
		if (scan->nrequests == 0)
			return false;
		if (was_idle)
			set_virtual_values(scan);
		/* Rows, or the file's end? */
		answer = tb_file_reader_receive(scan->reader);
		if (answer.kind == TB_FRAME_DONE)
		{
			finish_file(scan, &answer);
			continue;
		}
		if (answer.kind != TB_FRAME_ROWS || answer.length < sizeof(scan->rows))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_ERROR),
					 errmsg("malformed answer of the file reader")));
		/* Batches without rows are passed over. */
		memcpy(&scan->rows, answer.data, sizeof(scan->rows));
		scan->bytes.at = answer.data + sizeof(scan->rows);
		scan->bytes.end = answer.data + answer.length;
		if (scan->rows > 0)
			return true;
	}
}

/* The file reader's errors say it themselves; those of a type's own function do not. */
static void
name_value(void *argument)
{
	const TbFileScan *scan = argument;

	if (scan->column != NULL)
		errcontext("column \"%s\" of file \"%s\"", scan->column,
				   scan->requests[0].file->path);
}

bool
tb_file_scan_next(TbFileScan *scan, Datum *values, bool *nulls)
{
	ErrorContextCallback context = {error_context_stack, name_value, scan};

	if (scan->rows == 0 && !next_frame(scan))
		return false;
	memset(nulls, true, sizeof(bool) * scan->attributes->natts);
	/* Errors name the column. */
	error_context_stack = &context;
	/* From the file, or from its path. */
	for (int i = 0; i < scan->ncolumns; i++)
	{
		ScanColumn *column = &scan->columns[i];

		if (column->reader != NULL)
		{
			scan->column = scan->table->columns[column->attribute].name;
			values[column->attribute] = next_value(column->reader, &scan->bytes,
												   &nulls[column->attribute]);
		}
		else
		{
			values[column->attribute] = column->value;
			nulls[column->attribute] = column->isnull;
		}
	}
	scan->column = NULL;
	error_context_stack = context.previous;
	scan->rows--;
	return true;
}

static void
stop_scan(TbFileScan *scan)
{
	if (scan->reader != NULL)
		tb_file_reader_release(scan->reader);
	scan->reader = NULL;
	for (int i = 0; i < scan->nrequests; i++)
		tb_file_close(scan->requests[i].fd);
	scan->nrequests = 0;
	scan->rows = 0;
}

void
tb_file_scan_restart(TbFileScan *scan, List *bounds)
{
	stop_scan(scan);
	scan->bounds = bounds;
	scan->next_file = 0;
}

TbFileScanCounters
tb_file_scan_counters(const TbFileScan *scan)
{
	return scan->counters;
}

void
tb_file_scan_end(TbFileScan *scan)
{
	stop_scan(scan);
	MemoryContextDelete(scan->request_context);
	MemoryContextDelete(scan->file_context);
}
