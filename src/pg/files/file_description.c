/*
 * file_description.c - has files described and keeps the answers: see file_description.h.
 *
 * Owns this backend's answers, by identity of the file, as the reader sent them; each use
 * parses one anew into the caller's memory, so forgetting them is always safe. All are
 * forgotten when they become too many. A file that was changed so recently that another
 * change might leave its times as they are is not kept.
 */
#include "postgres.h"

#include <time.h>

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "pg/files/file_description.h"
#include "pg/files/file_reader_process.h"

#define MAX_KEPT_BYTES (32 * 1024 * 1024)
/* Times of files may be as coarse as a timer tick. */
#define RECENT_NS INT64CONST(50000000)

typedef struct KeptAnswer
{
	TbFileVersion identity; /* the key */
	char		 *bytes;
	uint32		  length;
} KeptAnswer;

static HTAB			*kept = NULL;
static MemoryContext kept_context = NULL;
static Size			 kept_bytes = 0;

/* What is left of an answer while it is parsed. */
typedef struct Answer
{
	const char *at;
	const char *end;
} Answer;

static void
take(Answer *answer, void *data, Size length)
{
	if (length > answer->end - answer->at)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("malformed answer of the file reader")));
	memcpy(data, answer->at, length);
	answer->at += length;
}

static uint32
take_answer_number(Answer *answer)
{
	uint32 number;

	take(answer, &number, sizeof(number));
	return number;
}

static int64
take_long(Answer *answer)
{
	int64 number;

	take(answer, &number, sizeof(number));
	return number;
}

static bool
take_bool(Answer *answer)
{
	uint8 value;

	take(answer, &value, sizeof(value));
	return value != 0;
}

static char *
take_text(Answer *answer)
{
	uint32 length = take_answer_number(answer);
	char  *text;

	if (length > answer->end - answer->at)
		length = 0; /* take() raises the error below */
	text = palloc(length + 1);
	take(answer, text, length);
	text[length] = '\0';
	return text;
}

/* A count of things that take at least so many bytes each. */
static int
take_count(Answer *answer, Size least_bytes)
{
	uint32 count = take_answer_number(answer);

	if (count > (answer->end - answer->at) / least_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("malformed answer of the file reader")));
	return (int) count;
}

static TbFileDescription *
parse_description(const char *bytes, uint32 length)
{
	TbFileDescription *description = palloc0(sizeof(TbFileDescription));
	Answer			   answer = {bytes, bytes + length};

	description->format = (TbFileFormat) take_answer_number(&answer);
	/* Columns. */
	description->ncolumns = take_count(&answer, 30);
	description->columns = palloc0(sizeof(TbFileColumn) * Max(description->ncolumns, 1));
	description->column_bytes = palloc0(sizeof(int64) * Max(description->ncolumns, 1));
	for (int i = 0; i < description->ncolumns; i++)
	{
		TbFileColumn *column = &description->columns[i];

		column->name = take_text(&answer);
		column->arrow_type = take_text(&answer);
		column->sql_type = take_text(&answer);
		if (column->sql_type[0] == '\0')
			column->sql_type = NULL;
		column->geometry = take_text(&answer);
		if (column->geometry[0] == '\0')
			column->geometry = NULL;
		column->problem = take_text(&answer);
		if (column->problem[0] == '\0')
			column->problem = NULL;
		column->nullable = take_bool(&answer);
		column->has_bounds = take_bool(&answer);
		description->column_bytes[i] = take_long(&answer);
	}
	/* Batches, and their total. */
	description->nbatches = take_count(&answer, sizeof(TbFileBatch));
	description->batches = palloc0(sizeof(TbFileBatch) * Max(description->nbatches, 1));
	for (int i = 0; i < description->nbatches; i++)
	{
		description->batches[i].nrows = take_long(&answer);
		description->batches[i].nbytes = take_long(&answer);
		description->nrows += description->batches[i].nrows;
	}
	return description;
}

static void
forget_all(void)
{
	HASHCTL control = {.keysize = sizeof(TbFileVersion), .entrysize = sizeof(KeptAnswer)};

	if (kept_context != NULL)
		MemoryContextDelete(kept_context);
	kept = NULL;
	kept_bytes = 0;
	kept_context = AllocSetContextCreate(CacheMemoryContext, "descriptions of files",
										 ALLOCSET_DEFAULT_SIZES);
	control.hcxt = kept_context;
	kept = hash_create("descriptions of files", 64, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static bool
is_recent(const TbFileVersion *identity)
{
	struct timespec now;
	int64			now_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (int64) now.tv_sec * INT64CONST(1000000000) + now.tv_nsec;
	return now_ns - Max(identity->status_changed, identity->modified) < RECENT_NS;
}

static void
keep(const TbFileVersion *identity, const char *bytes, uint32 length)
{
	KeptAnswer *entry;
	char	   *copy;
	bool		found;

	if (is_recent(identity) || length > MAX_KEPT_BYTES / 4)
		return;
	if (kept == NULL || kept_bytes + length > MAX_KEPT_BYTES)
		forget_all();
	copy = MemoryContextAlloc(kept_context, length);
	memcpy(copy, bytes, length);
	entry = hash_search(kept, identity, HASH_ENTER, &found);
	entry->bytes = copy;
	entry->length = length;
	kept_bytes += length + sizeof(KeptAnswer);
}

TbFileDescription *
tb_file_describe(const char *path, int fd, const TbFileVersion *identity)
{
	KeptAnswer		  *entry = kept ? hash_search(kept, identity, HASH_FIND, NULL) : NULL;
	TbFileDescription *description;
	TbFileReader	  *reader;
	TbReaderAnswer	   answer;
	StringInfoData	   request;

	if (entry != NULL)
		return parse_description(entry->bytes, entry->length);

	reader = tb_file_reader_start();
	tb_reader_request_begin(&request, TB_READER_DESCRIBE, path);
	tb_file_reader_send(reader, &request, fd);
	answer = tb_file_reader_receive(reader);
	if (answer.kind != TB_FRAME_DESCRIPTION)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg("malformed answer of the file reader")));
	description = parse_description(answer.data, answer.length);
	keep(identity, answer.data, answer.length);
	(void) tb_file_reader_receive(reader); /* DONE */
	tb_file_reader_release(reader);
	pfree(request.data);
	return description;
}
