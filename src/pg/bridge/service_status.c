/*
 * service_status.c - see service_status.h. Called by the supervisor's polling and by
 * turbine.devices; holds a connection only for the call.
 *
 * It must never start a query.
 */
#include "postgres.h"

#include "pg/bridge/failure.h"
#include "pg/bridge/request.h"
#include "pg/bridge/service_status.h"

#define STATUS_TIMEOUT_MS 2000

static TbStatusReply *
copy_reply(const TbIncoming *message, TbFailure *why)
{
	TbStatusReply *reply;

	if (message->type == TB_MSG_STATUS_REPLY && message->length >= sizeof(TbStatusReply))
	{
		reply = palloc(message->length);
		memcpy(reply, message->payload, message->length);
		/* Check the copy */
		if (reply->ndevices >= 1 && reply->ndevices <= TB_MAX_DEVICES &&
			reply->generation != 0 &&
			message->length ==
				sizeof(TbStatusReply) + reply->ndevices * sizeof(TbDeviceInfo))
		{
			/* Texts may hold anything */
			for (uint32 i = 0; i < reply->ndevices; i++)
			{
				TbDeviceInfo *device = &reply->devices[i];

				tb_clean_text(device->name, sizeof(device->name));
				tb_clean_text(device->target, sizeof(device->target));
				tb_clean_text(device->pci_address, sizeof(device->pci_address));
				tb_clean_text(device->message, sizeof(device->message));
			}
			return reply;
		}
		pfree(reply);
	}
	tb_failure_set(why, TB_FALLBACK_PROTOCOL, "malformed status from turbined");
	return NULL;
}

TbStatusReply *
tb_service_status(TbFailure *why)
{
	TbIncoming	   message;
	TbConnection  *conn = tb_request(TB_MSG_STATUS, NULL, 0, STATUS_TIMEOUT_MS, &message,
									 why);
	TbStatusReply *reply;

	if (conn == NULL)
		return NULL;
	reply = copy_reply(&message, why);
	if (reply != NULL)
		tb_connection_release(conn);
	else
		tb_connection_close(conn);
	return reply;
}
