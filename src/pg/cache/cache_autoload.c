/*
 * cache_autoload.c - see cache_autoload.h.
 *
 * Owns the file `pg_turbine/cached_columns`: a line a column, of numbers, those that were
 * used most come first. It is advice: a file that cannot be read is no file, and what is in
 * it is looked up before it is used. The supervisor has no database, so that it knows
 * tables by the numbers of their files alone. Must never keep the server from starting or
 * stopping.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "common/relpath.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "pg/bridge/cache_requests.h"
#include "pg/cache/cache_autoload.h"
#include "pg/cache/cache_load.h"
#include "pg/cache/cache_policy.h"
#include "pg/cache/database_worker.h"
#include "pg/compat/pg18.h"
#include "pg/settings/service_settings.h"
#include "pg/shmem/service_address.h"

#define LIST_PATH TB_SERVICE_DIRECTORY "/cached_columns"
#define LIST_VERSION 1

/* Each takes a worker's start; the first ones in the list are loaded. */
#define MOST_DATABASES 1024

/* Between two lists: what a crash may lose. */
#define SAVE_EVERY_MS 60000

typedef struct ListedColumn
{
	Oid	   database;
	Oid	   tablespace;
	Oid	   file_number;
	uint32 attnum;
	uint64 hits;
} ListedColumn;

typedef struct ColumnList
{
	uint32		  count;
	ListedColumn *columns;
} ColumnList;

typedef enum LoadState
{
	LOAD_NOT_BEGUN,
	LOAD_DATABASES, /* one after the other */
	LOAD_DONE
} LoadState;

/* Of the supervisor. */
static LoadState state = LOAD_NOT_BEGUN;
static Oid		 databases[MOST_DATABASES]; /* `next` is the first not begun */
static int		 ndatabases;
static int		 next;
static BackgroundWorkerHandle *worker;
static TimestampTz			   saved_at;

/* In the current memory context; empty if there is none. */
static ColumnList
read_list(void)
{
	ColumnList	 list = {0};
	FILE		*file = AllocateFile(LIST_PATH, PG_BINARY_R);
	ListedColumn column;
	int			 version;

	if (file == NULL)
		return list;
	list.columns = palloc(sizeof(ListedColumn) * TB_MAX_CACHED_COLUMNS);
	if (fscanf(file, "%d\n", &version) == 1 && version == LIST_VERSION)
		while (list.count < TB_MAX_CACHED_COLUMNS &&
			   fscanf(file, "%u %u %u %u " UINT64_FORMAT "\n", &column.database,
					  &column.tablespace, &column.file_number, &column.attnum,
					  &column.hits) == 5)
			list.columns[list.count++] = column;
	FreeFile(file);
	return list;
}

static int
by_hits(const void *a, const void *b)
{
	const TbCachedColumn *first = a;
	const TbCachedColumn *second = b;

	return first->hits > second->hits ? -1 : first->hits < second->hits;
}

static void
write_list(TbCacheReported *report)
{
	FILE *file = AllocateFile(LIST_PATH ".new", PG_BINARY_W);
	bool  ok;

	if (file == NULL)
	{
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not create file \"%s\": %m", LIST_PATH ".new")));
		return;
	}
	qsort(report->columns, report->ncolumns, sizeof(TbCachedColumn), by_hits);
	ok = fprintf(file, "%d\n", LIST_VERSION) > 0;
	for (uint64 i = 0; i < report->ncolumns && ok; i++)
	{
		const TbCachedColumn *column = &report->columns[i];

		ok = fprintf(file, "%u %u %u %u " UINT64_FORMAT "\n", column->file.database,
					 column->file.tablespace, column->file.file_number, column->attnum,
					 (uint64) column->hits) > 0;
	}
	ok = FreeFile(file) == 0 && ok;
	/* After a crash of the machine an empty list does no harm. */
	if (!ok || rename(LIST_PATH ".new", LIST_PATH) != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", LIST_PATH)));
}

void
tb_cache_autoload_save(void)
{
	TbCacheReported *report;
	TbFailure		 why;

	/* Until all is loaded again the list says more than the cache. */
	if (!tb_cache_autoload || state != LOAD_DONE)
		return;
	saved_at = GetCurrentTimestamp();
	report = tb_cache_report(&why);
	if (report == NULL)
		return;
	write_list(report);
	pfree(report);
}

/* No worker is started for a database that was dropped, which would fail. */
static bool
has_file(const ListedColumn *column)
{
	char *path = tb_file_path(column->database, column->tablespace, column->file_number);
	bool  found = access(path, F_OK) == 0;

	pfree(path);
	return found;
}

static bool
is_listed(Oid database)
{
	for (int i = 0; i < ndatabases; i++)
		if (databases[i] == database)
			return true;
	return false;
}

static void
begin_loading(void)
{
	ColumnList list = read_list();
	uint32	   left_out = 0;

	ndatabases = next = 0;
	/* Databases that have something to load. */
	for (uint32 i = 0; i < list.count; i++)
	{
		const ListedColumn *column = &list.columns[i];

		if (is_listed(column->database) || !has_file(column))
			continue;
		if (ndatabases < MOST_DATABASES)
			databases[ndatabases++] = column->database;
		else
			left_out++;
	}
	/* Columns for which no place was left. */
	if (left_out > 0)
		ereport(LOG,
				(errmsg("%u columns were not loaded into the column cache again", left_out),
				 errdetail("They are of other databases than the first %d in the list.",
						   MOST_DATABASES)));
	if (list.columns != NULL)
		pfree(list.columns);
	state = LOAD_DATABASES;
}

bool
tb_cache_autoload_step(void)
{
	if (!tb_cache_autoload)
		return false;
	if (state == LOAD_NOT_BEGUN)
		begin_loading();
	if (state == LOAD_DATABASES && !tb_database_worker_is_at_work(&worker))
	{
		if (next == ndatabases)
			state = LOAD_DONE;
		else
		{
			worker = tb_database_worker_start("pg_turbine cache loader",
											  "tb_cache_autoload_main", databases[next]);
			if (worker != NULL)
				next++;
		}
	}
	if (state == LOAD_DONE &&
		TimestampDifferenceExceeds(saved_at, GetCurrentTimestamp(), SAVE_EVERY_MS))
		tb_cache_autoload_save();
	return state == LOAD_DATABASES;
}

/* Of one table that still has this file, the columns that are listed. */
static void
load_table(Oid relid, const Bitmapset *attnums)
{
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return; /* it is being changed */
	ereport(DEBUG1, (errmsg_internal("loading columns of relation %u", relid)));
	if (get_rel_name(relid) != NULL && tb_cache_policy_of(relid) != TB_CACHE_OFF)
		tb_cache_load(relid, attnums, "cpu");
}

static Oid
table_of(const ListedColumn *column)
{
	Oid tablespace = column->tablespace == MyDatabaseTableSpace ? InvalidOid :
																  column->tablespace;

	return RelidByRelfilenumber(tablespace, column->file_number);
}

static bool
are_of_one_file(const ListedColumn *a, const ListedColumn *b)
{
	return a->database == b->database && a->tablespace == b->tablespace &&
		a->file_number == b->file_number;
}

/* All columns of the file of the i-th; NULL if an earlier column was of the same. */
static Bitmapset *
columns_of_file(const ColumnList *list, uint32 i)
{
	Bitmapset *attnums = NULL;

	for (uint32 j = 0; j < list->count; j++)
	{
		const ListedColumn *other = &list->columns[j];

		if (!are_of_one_file(other, &list->columns[i]))
			continue;
		if (j < i)
			return NULL;
		if (other->attnum > 0 && other->attnum <= MaxHeapAttributeNumber)
			attnums = bms_add_member(attnums, (int) other->attnum);
	}
	return attnums;
}

/* The columns of one file. */
typedef struct FileColumns
{
	const ListedColumn *any; /* of them */
	const Bitmapset	   *attnums;
} FileColumns;

static void
load_listed(void *argument)
{
	const FileColumns *file = argument;
	Oid				   relid = table_of(file->any);

	if (OidIsValid(relid))
		load_table(relid, file->attnums);
}

void
tb_cache_autoload_main(Datum database)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "pg_turbine cache loader",
												  ALLOCSET_DEFAULT_SIZES);
	ColumnList	  list;

	/* As a backend's: it ends where it looks for interrupts, and nowhere else. */
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
	MemoryContextSwitchTo(context);
	list = read_list();
	for (uint32 i = 0; i < list.count; i++)
	{
		Bitmapset *attnums = NULL;

		CHECK_FOR_INTERRUPTS();
		if (list.columns[i].database == DatumGetObjectId(database))
			attnums = columns_of_file(&list, i);
		if (attnums == NULL)
			continue;
		if (!tb_cache_has_room())
			break;
		tb_in_own_transaction(load_listed, &(FileColumns) {&list.columns[i], attnums});
	}
}
