/*
 * file_scan.c - drives a file reader through the files of a table: see file_scan.h.
 *
 * While a file is read the next one's request is with the reader already, so that it never
 * waits for the backend. A file is open until its last row has come, and is looked at once
 * more then: who writes into a file that is read gets an error, not half of either.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "pg/fdw/file_scan.h"
#include "pg/fdw/value_reader.h"
#include "pg/fdw/virtual_value.h"
#include "pg/files/file_reader_process.h"

/* Longer requests wait until the reader has nothing else to do: it takes them from a
 * socket whose buffer must hold them meanwhile. */
#define MAX_AHEAD_BYTES (32 * 1024)
#define MAX_REQUESTS 2

typedef struct ScanColumn
{
	int			   attribute; /* attnum - 1 */
	TbValueReader *reader;	  /* NULL: virtual */
	Datum		   value;	  /* of a virtual column in the current file */
	bool		   isnull;
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
	TbReaderBytes bytes;				  /* rows of a frame */
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
		column->reader = tb_value_reader(form->atttypid, form->atttypmod);
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
	for (int i = 0; i < scan->ncolumns; i++)
	{
		places[scan->columns[i].attribute] = -1;
		if (scan->columns[i].reader != NULL)
			places[scan->columns[i].attribute] = ncolumns++;
	}
	tb_reader_request_number(request, ncolumns);
	for (int i = 0; i < scan->ncolumns; i++)
	{
		const ScanColumn *column = &scan->columns[i];

		if (column->reader == NULL)
			continue;
		tb_reader_request_text(request, scan->table->columns[column->attribute].name);
		tb_value_reader_describe(column->reader, request);
	}
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

		if (scan->wanted != NULL && !scan->wanted[scan->next_file])
		{
			scan->next_file++;
			continue;
		}
		MemoryContextReset(scan->request_context);
		saved = MemoryContextSwitchTo(scan->request_context);
		make_request(scan, file, &request);
		MemoryContextSwitchTo(saved);
		if (scan->nrequests > 0 && request.len > MAX_AHEAD_BYTES)
			return;
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

		send_ahead(scan);
		if (scan->nrequests == 0)
			return false;
		if (was_idle)
			set_virtual_values(scan);
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
	error_context_stack = &context;
	for (int i = 0; i < scan->ncolumns; i++)
	{
		ScanColumn *column = &scan->columns[i];

		if (column->reader != NULL)
		{
			scan->column = scan->table->columns[column->attribute].name;
			values[column->attribute] = tb_value_read(column->reader, &scan->bytes,
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
