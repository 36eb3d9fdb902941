/*
 * export_session.c - see export_session.h.
 *
 * Owns the session's connection for exports. Requests are answered in order. An error while
 * one waits, a cancel for instance, leaves its answer on its way: it is read, and what it
 * brought is released, before the next request. Called by copy_builder.c and the SQL
 * functions.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/wait_event.h"

#include "pg/bridge/connection.h"
#include "pg/bridge/failure.h"
#include "pg/bridge/request.h"
#include "pg/results/client_user.h"
#include "pg/results/export_session.h"
#include "pg/settings/service_settings.h"

#define LIST_TIMEOUT_MS 5000
#define SERVICE_PATIENCE_MS 3000
#define MEMORY_RETRIES 10
#define MEMORY_RETRY_MS 100
#define SERVICE_RETRY_MS 50

bool (*tb_export_memory_is_short)(void) = NULL;

static TbConnection *kept_conn = NULL;
static uint64		 kept_serial = 0;
static int			 nunanswered = 0;

static _Noreturn void
raise_failure(const TbFailure *why)
{
	switch (why->reason)
	{
		case TB_FALLBACK_HOST_MEMORY:
		case TB_FALLBACK_DEVICE_MEMORY:
		case TB_FALLBACK_ADMISSION:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("there is no memory for the result"),
					 errdetail("%s", why->message),
					 errhint("Release results and tokens that are not needed any more "
							 "(view turbine.exports), or raise "
							 "pg_turbine.memory_budget.")));
			break;
		case TB_FALLBACK_NO_DEVICE:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the device cannot keep the result"),
					 errdetail("%s", why->message),
					 errhint("View turbine.devices lists the devices.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("pg_turbine's service cannot keep the result"),
					 errdetail("%s", why->message)));
	}
}

static _Noreturn void
raise_unknown(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("the result does not exist"),
			 errdetail("Results belong to the session and the role that made them, and are "
					   "gone when the session or pg_turbine's service ends.")));
}

static void
close_connection(void)
{
	if (kept_conn != NULL && tb_connection_is(kept_conn, kept_serial))
		tb_connection_close(kept_conn);
	kept_conn = NULL;
	nunanswered = 0;
}

/* A copy that nobody waits for any more. False: the connection is lost. */
static bool
discard(const TbIncoming *message, TbFailure *why)
{
	TbExportInfo	info;
	TbExportRelease release = {.flags = TB_EXPORT_ANY_OWNER};

	if (message->type != TB_MSG_EXPORT_CREATED || message->length != sizeof(info))
		return true;
	memcpy(&info, message->payload, sizeof(info));
	memcpy(release.key, info.id, sizeof(info.id));
	nunanswered++;
	return tb_connection_send_struct(kept_conn, TB_MSG_EXPORT_RELEASE, &release,
									 sizeof(release), why);
}

/* The session's connection, with nothing on its way. NULL with *why. */
static TbConnection *
open_connection_for_exports(TbFailure *why)
{
	TbIncoming message;

	if (kept_conn != NULL &&
		(!tb_connection_is(kept_conn, kept_serial) || !tb_connection_is_open(kept_conn)))
		close_connection();
	while (kept_conn != NULL && nunanswered > 0)
	{
		if (tb_connection_receive(kept_conn, TB_WAIT_FOREVER, &message, why) != TB_RECEIVED)
		{
			close_connection();
			break;
		}
		nunanswered--;
		if (!discard(&message, why))
			close_connection();
	}
	/* A service that has died is back within a second. */
	for (int waited = 0; kept_conn == NULL && waited < SERVICE_PATIENCE_MS;
		 waited += SERVICE_RETRY_MS)
	{
		kept_conn = tb_connection_acquire(why);
		if (kept_conn != NULL)
			break;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 SERVICE_RETRY_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	if (kept_conn == NULL || kept_serial == tb_connection_serial(kept_conn))
		return kept_conn;
	tb_connection_keep(kept_conn);
	kept_serial = tb_connection_serial(kept_conn);
	return kept_conn;
}

typedef struct Request
{
	uint32		 type;
	struct iovec parts[2];
	int			 nparts;
	const int	*files;
	int			 nfiles;
	uint32		 answer; /* its type */
} Request;

static bool
send_files(TbConnection *conn, const Request *request, TbFailure *why)
{
	for (int first = 0; first < request->nfiles; first += TB_MAX_FDS)
	{
		TbFiles		 files = {.first_file = first,
							  .count = Min(request->nfiles - first, TB_MAX_FDS)};
		struct iovec part = {&files, sizeof(files)};

		if (!tb_connection_send(conn, TB_MSG_FILES, &part, 1, request->files + first,
								files.count, why))
			return false;
	}
	return true;
}

/* False, with *why: the connection is lost. */
static bool
converse(const Request *request, TbIncoming *answer, TbFailure *why)
{
	TbConnection *conn = open_connection_for_exports(why);

	if (conn == NULL)
		return false;
	if (send_files(conn, request, why) &&
		tb_connection_send(conn, request->type, request->parts, request->nparts, NULL, 0,
						   why))
	{
		nunanswered++;
		if (tb_connection_receive(conn, TB_WAIT_FOREVER, answer, why) == TB_RECEIVED)
		{
			nunanswered--;
			return true;
		}
	}
	close_connection();
	return false;
}

static bool
is_memory(const TbFailure *why)
{
	return why->reason == TB_FALLBACK_HOST_MEMORY ||
		why->reason == TB_FALLBACK_DEVICE_MEMORY || why->reason == TB_FALLBACK_ADMISSION;
}

static void
check_answer(const Request *request, const TbIncoming *answer)
{
	TbFailure why;

	if (answer->type == TB_MSG_REFUSED)
	{
		tb_failure_from_wire(&why, answer->payload, answer->length);
		raise_failure(&why);
	}
	if (answer->type == TB_MSG_EXPORT_UNKNOWN)
		raise_unknown();
	if (answer->type != request->answer)
	{
		close_connection();
		tb_failure_set(&why, TB_FALLBACK_PROTOCOL, "malformed answer about exports");
		raise_failure(&why);
	}
}

/* The answer, valid until the next request. Raises what it refuses. A service that died
 * meanwhile has lost all copies, so that the next one is asked as if it were the first. */
static TbIncoming
ask(const Request *request)
{
	TbFailure  why = {.reason = TB_FALLBACK_NO_SERVICE};
	TbIncoming answer;
	int		   nretries = 0;

	for (;;)
	{
		if (!converse(request, &answer, &why) && !converse(request, &answer, &why))
			raise_failure(&why);
		if (answer.type != TB_MSG_REFUSED)
			break;
		tb_failure_from_wire(&why, answer.payload, answer.length);
		/* Files have gone with the request, so only what has none is asked again. */
		if (!is_memory(&why) || request->nfiles > 0 || nretries == MEMORY_RETRIES ||
			(nretries == 0 &&
			 (tb_export_memory_is_short == NULL || !tb_export_memory_is_short())))
			raise_failure(&why);
		nretries++;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 MEMORY_RETRY_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	check_answer(request, &answer);
	return answer;
}

static void
take_struct(const TbIncoming *answer, void *to, Size size)
{
	if (answer->length != size)
	{
		close_connection();
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("malformed answer of pg_turbine's service")));
	}
	memcpy(to, answer->payload, size);
}

void
tb_export_reserve(uint64 bytes)
{
	TbExportReserve asked = {.bytes = bytes};
	Request			request = {.type = TB_MSG_EXPORT_RESERVE,
							   .parts = {{&asked, sizeof(asked)}},
							   .nparts = 1,
							   .answer = TB_MSG_EXPORT_RESERVED};

	(void) ask(&request);
}

void
tb_export_create(const StringInfoData *payload, const int *files, int nfiles,
				 TbExportInfo *info)
{
	Request	   request = {.type = TB_MSG_EXPORT_CREATE,
						  .parts = {{payload->data, payload->len}},
						  .nparts = 1,
						  .files = files,
						  .nfiles = nfiles,
						  .answer = TB_MSG_EXPORT_CREATED};
	TbIncoming answer = ask(&request);

	take_struct(&answer, info, sizeof(*info));
}

bool
tb_export_streamed(const TbStreamId *id, const StringInfoData *payload, TbExportInfo *info)
{
	Request	   request = {.type = TB_MSG_EXPORT_STREAMED,
						  .parts = {{unconstify(TbStreamId *, id), sizeof(*id)},
									{payload->data, payload->len}},
						  .nparts = 2,
						  .answer = TB_MSG_EXPORT_CREATED};
	TbFailure  why;
	TbIncoming answer;

	/* A service that is back after its end has no batches of before. */
	if (!converse(&request, &answer, &why) || answer.type == TB_MSG_EXPORT_UNKNOWN)
		return false;
	check_answer(&request, &answer);
	take_struct(&answer, info, sizeof(*info));
	return true;
}

void
tb_export_make_token(const pg_uuid_t *result, uint32 flags, const uint32 *columns,
					 int ncolumns, uint8 secret[TB_EXPORT_SECRET_BYTES])
{
	TbExportToken terms = {.flags = flags,
						   .lifetime_s = (flags & TB_EXPORT_KEEP) ? 0 :
																	tb_export_lifetime_s,
						   .ncolumns = ncolumns};
	Request		  request = {.type = TB_MSG_EXPORT_TOKEN,
							 .parts = {{&terms, sizeof(terms)},
									   {unconstify(uint32 *, columns),
										sizeof(uint32) * ncolumns}},
							 .nparts = ncolumns > 0 ? 2 : 1,
							 .answer = TB_MSG_EXPORT_TOKEN_MADE};
	TbIncoming	  answer;
	uid_t		  uid;

	memcpy(terms.id, result->data, sizeof(terms.id));
	/* Is it known who will open it? A client of another machine is nobody here. */
	if (tb_client_user(&uid))
		terms.uid = uid;
	else
		terms.flags |= TB_EXPORT_ONCE;
	answer = ask(&request);
	take_struct(&answer, secret, TB_EXPORT_SECRET_BYTES);
}

static bool
release(TbExportRelease *what)
{
	Request			 request = {.type = TB_MSG_EXPORT_RELEASE,
								.parts = {{what, sizeof(*what)}},
								.nparts = 1,
								.answer = TB_MSG_EXPORT_RELEASED};
	TbIncoming		 answer;
	TbExportReleased released;

	what->owner = GetUserId();
	if (superuser())
		what->flags |= TB_EXPORT_ANY_OWNER;
	answer = ask(&request);
	take_struct(&answer, &released, sizeof(released));
	return released.count > 0;
}

bool
tb_export_release_result(const pg_uuid_t *result)
{
	TbExportRelease what = {0};

	memcpy(what.key, result->data, UUID_LEN);
	return release(&what);
}

bool
tb_export_release_token(const uint8 secret[TB_EXPORT_SECRET_BYTES])
{
	TbExportRelease what = {.flags = TB_EXPORT_RELEASE_TOKEN};

	memcpy(what.key, secret, TB_EXPORT_SECRET_BYTES);
	return release(&what);
}

TbExportListed *
tb_export_list(void)
{
	TbFailure		why;
	TbIncoming		answer;
	TbExportListed *listed = NULL;
	TbExportListed	head;
	TbConnection   *conn = tb_request(TB_MSG_EXPORT_LIST, NULL, 0, LIST_TIMEOUT_MS, &answer,
									  &why);

	if (conn == NULL)
		return NULL;
	if (answer.type == TB_MSG_EXPORT_LISTED && answer.length >= sizeof(head))
	{
		memcpy(&head, answer.payload, sizeof(head));
		if (head.count <= TB_EXPORT_MOST_LISTED &&
			answer.length == sizeof(head) + head.count * sizeof(TbExportInfo))
		{
			listed = palloc(answer.length);
			memcpy(listed, answer.payload, answer.length);
		}
	}
	if (listed != NULL)
		tb_connection_release(conn);
	else
		tb_connection_close(conn);
	return listed;
}

static char *
take_name(const char **place, const char *end, uint32 length)
{
	char *name;

	if (length > (Size) (end - *place))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("malformed answer of pg_turbine's service")));
	name = pnstrdup(*place, length);
	*place += length;
	return pg_any_to_server(name, length, PG_UTF8);
}

TbResultDescription *
tb_export_describe(const pg_uuid_t *result)
{
	TbExportDescribe	 asked;
	Request				 request = {.type = TB_MSG_EXPORT_DESCRIBE,
									.parts = {{&asked, sizeof(asked)}},
									.nparts = 1,
									.answer = TB_MSG_EXPORT_DESCRIBED};
	TbResultDescription *described = palloc(sizeof(*described));
	TbIncoming			 answer;
	const char			*place;
	const char			*end;
	Size				 shapes;

	memcpy(asked.id, result->data, sizeof(asked.id));
	answer = ask(&request);
	place = answer.payload;
	end = place + answer.length;
	if (answer.length < sizeof(TbExportInfo))
		take_name(&place, place, 1);
	memcpy(&described->info, place, sizeof(TbExportInfo));
	place += sizeof(TbExportInfo);
	shapes = described->info.ncolumns * sizeof(TbExportColumn);
	if (described->info.ncolumns > TB_EXPORT_MOST_COLUMNS || shapes > (Size) (end - place))
		take_name(&place, place, 1);
	described->columns = palloc(sizeof(TbResultColumn) * Max(described->info.ncolumns, 1));
	for (uint32 i = 0; i < described->info.ncolumns; i++)
	{
		memcpy(&described->columns[i].shape, place, sizeof(TbExportColumn));
		place += sizeof(TbExportColumn);
	}
	for (uint32 i = 0; i < described->info.ncolumns; i++)
	{
		TbResultColumn *column = &described->columns[i];

		column->name = take_name(&place, end, column->shape.name_length);
		column->type = take_name(&place, end, column->shape.type_length);
	}
	/* Another role's is not there: nobody learns of it. */
	if (!has_privs_of_role(GetUserId(), described->info.owner))
		raise_unknown();
	return described;
}
