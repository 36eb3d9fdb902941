/*
 * service_query.h - the conversation with turbined about one query: QUERY, READY, the
 * messages in between, QUERY_DONE or a failure.
 *
 * It does not know where the input comes from. It never raises an error for a failure of
 * the service: a function returns false (or TB_RECEIVED_LOST), tb_service_query_failure()
 * gives the reason, and the connection has been given back or closed. After that nothing
 * may be sent.
 */
#ifndef TURBINE_PG_CONVERSATION_SERVICE_QUERY_H
#define TURBINE_PG_CONVERSATION_SERVICE_QUERY_H

#include "postgres.h"

#include "turbine/params.h"
#include "turbine/program.h"
#include "turbine/result.h"
#include "turbine/wire.h"

#include "pg/bridge/connection.h"
#include "pg/conversation/continuation_program.h"
#include "pg/profile/profile.h"
#include "pg/topology/gpu_preference.h"

/* A connection for several queries, one after the other: those that build join tables,
 * which stay with the connection, and the one that probes them. */
typedef struct TbStageConnection
{
	TbConnection *conn;
	uint64		  serial;
} TbStageConnection;

/* Who takes result batches as they come, instead of having them kept. The query may fail
 * after some: then none of them counts. */
typedef struct TbBatchTaker TbBatchTaker;
struct TbBatchTaker
{
	void (*take)(TbBatchTaker *taker, const TbResultBatch *batch);
};

/* Columns that a GPU leaves in its memory instead of sending rows: wire.h. */
typedef struct TbLeftColumns
{
	uint32		  device; /* index */
	int			  ncolumns;
	TbColumnLeft *columns;
	TbResultLeft *result; /* room for `ncolumns`; valid once they are left */
	bool		  are_left;
} TbLeftColumns;

/* A program to run; the caller's memory stays valid until the query's end. */
typedef struct TbProgramSpec
{
	const TbProgram				*program;
	const TbParamBlock			*params;
	const TbResultPlan			*result;	   /* AGGREGATE, PROJECT: what is done with the
												* results before they come back, or NULL */
	const TbContinuationProgram *continuation; /* what is done with them after that, or
												* NULL: its rows are the results */
	const TbParamBlock			*continuation_params; /* of that */
	uint32						 device;			  /* wire.h: index or TB_ANY_DEVICE */
	uint64						 shape; /* of the program: TbProgramCost; 0: unknown */
	double						 estimated_rows; /* of the input */
	double			estimated_results;			 /* groups, or rows kept: BUILD, PROJECT */
	uint64			unread_columns;				 /* wire.h */
	uint32			join_table; /* BUILD: the number of the table that it makes */
	bool			in_order;	/* wire.h: TB_QUERY_IN_ORDER */
	TbLeftColumns  *left;		/* what becomes of the results, or NULL */
	const TbStream *stream; /* PROJECT: batches come as STREAM_BATCH, with these columns;
							 * or NULL */
	const TbStreamColumn *stream_columns;
	TbBatchTaker		 *taker; /* of all results; NULL: they are kept until they are asked
								  * for */
	TbProfile			 *profile;	  /* of the node, or NULL */
	TbStageConnection	 *connection; /* that the stages of a node share; NULL: a
									   * connection for this query alone */
} TbProgramSpec;

/* The program whose rows come back, and the plan that has been applied to them, or NULL. */
static inline const TbProgram *
tb_results_program(const TbProgramSpec *spec)
{
	return spec->continuation != NULL ? spec->continuation->program : spec->program;
}

static inline const TbResultPlan *
tb_results_plan(const TbProgramSpec *spec)
{
	return spec->continuation != NULL ? spec->continuation->result : spec->result;
}

/* What the service says of a query. */
typedef struct TbServiceStats
{
	TbReady		ready;	  /* zero until the service is ready */
	TbQueryDone done;	  /* zero until the query is done */
	char		device_name[64];
	TbFallback	fallback; /* the last reason, or NONE */
	char		fallback_message[240];
} TbServiceStats;

typedef struct TbServiceQuery TbServiceQuery;

/* Usable GPUs that pg_turbine.device leaves the choice of: a bit each, GPU 0 first. */
extern uint32 tb_allowed_gpus(void);

/* In the current memory context; `input_name` is for messages to the user. */
extern TbServiceQuery *tb_service_query_make(const TbProgramSpec *spec,
											 const char			 *input_name);

/* First a connection; then what the input refers to may be sent. */
extern bool tb_service_query_connect(TbServiceQuery *query);

/* Whether the connection is the query's alone, so that nobody has announced its programs.
 */
extern bool tb_service_query_is_alone(const TbServiceQuery *query);

/* Before QUERY: so many blocks of the input lie where these GPUs are preferred. Of several
 * calls, the one with the most blocks counts. */
extern void tb_service_query_prefer(TbServiceQuery		  *query,
									const TbGpuPreference *preference, uint64 nblocks);

/* Sends QUERY. `nblocks`: of the input; `copied`: the backend will write most of them. */
extern bool tb_service_query_send_query(TbServiceQuery *query, uint64 nblocks, bool copied);

/* Awaits READY: there are slots then. */
extern bool tb_service_query_await_ready(TbServiceQuery *query);

/* Both. */
extern bool tb_service_query_begin(TbServiceQuery *query, uint64 nblocks, bool copied);

/* Closes the connection if the query still has one, which cancels it. */
extern void tb_service_query_end(TbServiceQuery *query);

/* False once the connection is lost, also if the resource owner of an aborted
 * subtransaction has closed it behind the query. */
extern bool tb_service_query_connected(TbServiceQuery *query);

/* After begin: shape and place of the slots. */
extern const TbReady *tb_service_query_ready(const TbServiceQuery *query);
extern char			 *tb_service_query_slot(const TbServiceQuery *query, uint32 slot);

/* Which start of turbined runs it: see tb_connection_generation. */
extern uint64 tb_service_query_generation(const TbServiceQuery *query);

extern const TbProgramSpec	*tb_service_query_spec(const TbServiceQuery *query);
extern const TbServiceStats *tb_service_query_stats(const TbServiceQuery *query);

/* One struct, or the concatenation of parts, with descriptors. */
extern bool tb_service_query_send(TbServiceQuery *query, uint32 type, const void *payload,
								  uint32 length);
extern bool tb_service_query_send_parts(TbServiceQuery *query, uint32 type,
										const struct iovec *parts, int nparts,
										const int *fds, int nfds);

/* Announces a program that chunks will want, so that it is compiled meanwhile. */
extern bool tb_service_query_prepare(TbServiceQuery *query, const TbProgram *program);

/* Messages are held until a few have gathered or the query waits; flush sends them
 * before anything that takes long. See tb_connection_hold. */
extern bool tb_service_query_hold(TbServiceQuery *query, bool hold);
extern bool tb_service_query_flush(TbServiceQuery *query);

/* One message. TRACE is written to the trace and FAILED ends the query, so neither
 * comes out. */
extern TbReceived tb_service_query_receive(TbServiceQuery *query, bool wait,
										   TbIncoming *message);

/* Until the service says something, or this process' latch is set. */
extern void tb_service_query_wait(TbServiceQuery *query);

/* The query can not go on. All return false. */
extern bool tb_service_query_protocol_error(TbServiceQuery *query, const char *what);
extern bool tb_service_query_give_up(TbServiceQuery *query, const TbFailure *why);

/* QUERY_DONE after so many result rows; the connection goes back to the pool unless
 * other stages need it. `fed`: parallel workers have read part of the input. */
extern bool tb_service_query_take_done(TbServiceQuery *query, const TbIncoming *message,
									   uint64 nresults, bool fed);

/* Awaits QUERY_DONE as the next message. */
extern bool tb_service_query_await_done(TbServiceQuery *query, bool fed);

extern const TbFailure *tb_service_query_failure(const TbServiceQuery *query);

/* Counts and logs the failure, and keeps it for EXPLAIN. */
extern void tb_service_query_note_fallback(TbServiceQuery *query);

/* False, with *why, if there is no service. */
extern bool tb_stage_connection_begin(TbStageConnection *shared, TbFailure *why);

/* Announces a program that a query will want, so that it is compiled meanwhile. */
extern bool tb_program_prepare(TbConnection *conn, const TbProgram *program, uint32 device,
							   TbFailure *why);

/* Lets go of the connection and of the tables that are with it. */
extern void tb_stage_connection_end(TbStageConnection *shared);

#endif
