/*
 * to_file.c - turbine.to_arrow and turbine.to_parquet: a query's rows become a file of the
 * server.
 *
 * The query runs as any other of the session, under its snapshot, accelerated where it can
 * be; rows go to the writer as they come, those of a join, sort or filter on a device as
 * columns: the first one comes through the executor, which has then started the node, the
 * others are taken from it without becoming tuples. As with COPY, what is written stays if
 * the transaction is rolled back, and the file is there in whole or, after any error, as it
 * was before.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/plancache.h"
#include "utils/portal.h"

#include "pg/export/file_writer.h"
#include "pg/nodes/join/gpu_join.h"

extern PGDLLEXPORT Datum turbine_to_arrow(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum turbine_to_parquet(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(turbine_to_arrow);
PG_FUNCTION_INFO_V1(turbine_to_parquet);

typedef struct FileReceiver
{
	DestReceiver  base;
	TbFileTarget  target;
	MemoryContext context; /* for as long as the function runs */
	TbFileWriter *writer;  /* once the rows' type is known */
	QueryDesc	 *query;   /* NULL: not known */
} FileReceiver;

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	FileReceiver *receiver = (FileReceiver *) self;
	MemoryContext old;

	if (receiver->writer != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query must be a single statement")));
	if (desc->natts == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query returns no columns")));
	old = MemoryContextSwitchTo(receiver->context);
	receiver->writer = tb_file_writer_start(&receiver->target, desc);
	MemoryContextSwitchTo(old);
}

/* All further rows, if the plan's last node is one that returns its results' columns. */
static void
take_columns(FileReceiver *receiver, PlanState *state)
{
	List		*outputs;
	TbRunCursor *cursor = tb_join_bare_cursor(state, &outputs);
	uint64		 rows = 0;

	if (cursor == NULL)
		return;
	/* EXPLAIN ANALYZE counts this node's rows. */
	if (state->instrument != NULL)
		InstrStartNode(state->instrument);
	tb_run_cursor_enter(cursor);
	/* Batches go to the writer whole. */
	while (tb_run_cursor_advance(cursor))
	{
		uint32				 first;
		const TbResultBatch *batch = tb_run_cursor_take_batch(cursor, &first);

		CHECK_FOR_INTERRUPTS();
		tb_file_writer_add_batch(receiver->writer, outputs, batch, first);
		rows += batch->nrows - first;
	}
	tb_run_cursor_leave(cursor);
	if (state->instrument != NULL)
		InstrStopNode(state->instrument, rows);
	state->state->es_processed += rows;
}

static bool
receiver_receive(TupleTableSlot *slot, DestReceiver *self)
{
	FileReceiver *receiver = (FileReceiver *) self;
	QueryDesc	 *query = receiver->query;

	tb_file_writer_add(receiver->writer, slot);
	receiver->query = NULL;
	if (query != NULL)
		take_columns(receiver, query->planstate);
	return true;
}

static void
receiver_nothing(DestReceiver *self)
{
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

/* Whether it is one query that changes nothing: what a portal runs step by step. */
static bool
only_selects(SPIPlanPtr plan)
{
	List		*sources = SPI_plan_get_plan_sources(plan);
	List		*queries;
	const Query *query;

	if (list_length(sources) != 1)
		return false;
	queries = ((CachedPlanSource *) linitial(sources))->query_list;
	if (list_length(queries) != 1)
		return false;
	query = linitial_node(Query, queries);
	return query->commandType == CMD_SELECT && !query->hasModifyingCTE;
}

/* In a portal, whose plan the receiver can see. */
static void
run_select(SPIPlanPtr plan, FileReceiver *receiver)
{
	Portal portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);

	receiver->query = portal->queryDesc;
	/* Otherwise, workers would stay away: it might be run in parts. */
	portal->run_once = true;
	(void) PortalRunFetch(portal, FETCH_FORWARD, FETCH_ALL, &receiver->base);
	receiver->query = NULL;
	SPI_cursor_close(portal);
}

/* Runs the query once, to its end. */
static void
run_query(const char *query, FileReceiver *receiver)
{
	SPIExecuteOptions options = {.read_only = false,
								 .must_return_tuples = true,
								 .dest = &receiver->base};
	SPIPlanPtr		  plan;
	int				  result;

	SPI_connect();
	plan = SPI_prepare_cursor(query, 0, NULL,
							  CURSOR_OPT_NO_SCROLL | CURSOR_OPT_PARALLEL_OK);
	if (plan == NULL)
		elog(ERROR, "the query could not be prepared: %s",
			 SPI_result_code_string(SPI_result));
	/* Can a portal run it stepwise? */
	if (only_selects(plan))
		run_select(plan, receiver);
	else
	{
		result = SPI_execute_plan_extended(plan, &options);
		if (result < 0)
			elog(ERROR, "the query could not be run: %s", SPI_result_code_string(result));
	}
	SPI_finish();
}

static int64
write_file(const char *query, const TbFileTarget *target)
{
	FileReceiver receiver = {
		.base = {.receiveSlot = receiver_receive,
				 .rStartup = receiver_startup,
				 .rShutdown = receiver_nothing,
				 .rDestroy = receiver_nothing,
				 .mydest = DestNone},
		.target = *target,
		.context = CurrentMemoryContext,
	};
	/* Both change after PG_TRY. */
	FileReceiver *volatile kept = &receiver;
	volatile int64 rows = 0;

	check_rights(target->path);
	check_compression(target->compression);
	PG_TRY();
	{
		run_query(query, kept);
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
