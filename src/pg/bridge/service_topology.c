/*
 * service_topology.c - see service_topology.h. Called by the supervisor, once for each
 * start of turbined, and by turbine.topology; holds a connection only for the call.
 *
 * It must never start a query.
 */
#include "postgres.h"

#include "pg/bridge/failure.h"
#include "pg/bridge/request.h"
#include "pg/bridge/service_topology.h"

#define TOPOLOGY_TIMEOUT_MS 2000

static bool
is_device(TbTopologyDevice *device)
{
	if (device->kind >= TB_TOPOLOGY_KIND_COUNT)
		return false;
	for (int gpu = 0; gpu < TB_MAX_DEVICES - 1; gpu++)
		if (device->to_gpus[gpu].route >= TB_ROUTE_COUNT)
			return false;
	/* Texts may hold anything */
	tb_clean_text(device->name, sizeof(device->name));
	tb_clean_text(device->model, sizeof(device->model));
	tb_clean_text(device->pci_path, sizeof(device->pci_path));
	tb_clean_text(device->members, sizeof(device->members));
	return true;
}

static TbTopologyReply *
checked_copy(const TbIncoming *message)
{
	TbTopologyReply *reply;

	if (message->type != TB_MSG_TOPOLOGY_REPLY || message->length < sizeof(TbTopologyReply))
		return NULL;
	reply = palloc(message->length);
	memcpy(reply, message->payload, message->length);
	/* Check the copy */
	if (reply->ngpus < TB_MAX_DEVICES && reply->ndevices <= TB_MAX_TOPOLOGY_DEVICES &&
		message->length ==
			sizeof(TbTopologyReply) + reply->ndevices * sizeof(TbTopologyDevice))
	{
		uint32 sound = 0;

		while (sound < reply->ndevices && is_device(&reply->devices[sound]))
			sound++;
		if (sound == reply->ndevices)
			return reply;
	}
	pfree(reply);
	return NULL;
}

TbTopologyReply *
tb_service_topology(TbFailure *why)
{
	TbIncoming	  message;
	TbConnection *conn = tb_request(TB_MSG_TOPOLOGY, NULL, 0, TOPOLOGY_TIMEOUT_MS, &message,
									why);
	TbTopologyReply *reply;

	if (conn == NULL)
		return NULL;
	reply = checked_copy(&message);
	if (reply != NULL)
		tb_connection_release(conn);
	else
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL, "malformed topology from turbined");
		tb_connection_close(conn);
	}
	return reply;
}
