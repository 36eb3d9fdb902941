/*
 * slot_memory.h - slot memory, the backend's side: mapped, and part of a connection.
 *
 * The daemon makes it, the backend maps it. Memory that could shrink under
 * a reader would kill it by SIGBUS, so only one sealed against that is mapped.
 */
#ifndef TURBINE_PG_BRIDGE_SLOT_MEMORY_H
#define TURBINE_PG_BRIDGE_SLOT_MEMORY_H

#include "postgres.h"

#include "turbine/wire.h"

typedef struct TbSlotMemory
{
	uint64 id; /* turbined's; 0: none mapped */
	char  *base;
	uint64 size;
} TbSlotMemory;

/* Maps the memfd (and leaves closing it to the caller). */
extern bool tb_slot_memory_map(TbSlotMemory *memory, int fd, uint64 id, uint64 size,
							   TbFailure *why);
extern void tb_slot_memory_unmap(TbSlotMemory *memory);

#endif
