/*
 * cache_requests.c - see cache_requests.h. Called by the functions of views/. Must never
 * raise for turbined's sake: its failures are in *why.
 */
#include "postgres.h"

#include "pg/bridge/cache_requests.h"
#include "pg/bridge/failure.h"
#include "pg/bridge/request.h"
#include "pg/compat/pg16.h"

#define TIMEOUT_MS 5000

/* Ends the request on a connection that has answered well, or not. */
static void
finish(TbConnection *conn, bool well_formed, TbFailure *why)
{
	if (well_formed)
		tb_connection_release(conn);
	else
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL, "malformed answer of the column cache");
		tb_connection_close(conn);
	}
}

static bool
is_report(const TbIncoming *message)
{
	TbCacheReported head;

	if (message->type != TB_MSG_CACHE_REPORTED || message->length < sizeof(head))
		return false;
	memcpy(&head, message->payload, sizeof(head));
	return head.ncolumns <= TB_MAX_CACHED_COLUMNS &&
		message->length == sizeof(head) + head.ncolumns * sizeof(TbCachedColumn);
}

TbCacheReported *
tb_cache_report(TbFailure *why)
{
	TbIncoming		 message;
	TbConnection	*conn = tb_request(TB_MSG_CACHE_REPORT, NULL, 0, TIMEOUT_MS, &message,
									   why);
	TbCacheReported *report = NULL;

	if (conn == NULL)
		return NULL;
	if (is_report(&message))
	{
		report = palloc(message.length);
		memcpy(report, message.payload, message.length);
	}
	finish(conn, report != NULL, why);
	return report;
}

static bool
drop(const TbFileIdentity *file, uint64 *bytes, TbFailure *why)
{
	TbIncoming	  message;
	TbConnection *conn;
	bool		  ok;

	conn = tb_request(TB_MSG_CACHE_DROP, file, sizeof(*file), TIMEOUT_MS, &message, why);
	if (conn == NULL)
		return false;
	ok = message.type == TB_MSG_CACHE_DROPPED && message.length == sizeof(TbCacheDropped);
	if (ok)
	{
		TbCacheDropped dropped;

		memcpy(&dropped, message.payload, sizeof(dropped));
		*bytes = dropped.bytes;
	}
	finish(conn, ok, why);
	return ok;
}

bool
tb_cache_drop(const RelFileLocator *node, uint64 *bytes, TbFailure *why)
{
	TbFileIdentity file = {.tablespace = TB_LOCATOR_TABLESPACE(*node),
						   .database = TB_LOCATOR_DATABASE(*node),
						   .file_number = TB_LOCATOR_NUMBER(*node)};

	return drop(&file, bytes, why);
}

bool
tb_cache_drop_file(uint64 device, uint64 inode, uint64 *bytes, TbFailure *why)
{
	TbFileIdentity file = {.file_number = (uint32) device, .inode = inode};

	return drop(&file, bytes, why);
}
