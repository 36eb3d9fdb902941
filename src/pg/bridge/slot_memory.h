/*
 * slot_memory.h - the shared memory of a connection, mapped into a backend.
 *
 * The daemon makes it, the backend maps it. A segment that could shrink under
 * a reader would kill it by SIGBUS, so only one sealed against that is mapped.
 */
#ifndef TURBINE_PG_SLOT_MEMORY_H
#define TURBINE_PG_SLOT_MEMORY_H

#include "postgres.h"

#include "turbine/wire.h"

typedef struct TbSegment
{
	uint64		id;				/* turbined's; 0: none mapped */
	char	   *base;
	uint64		size;
} TbSegment;

/* Maps the memfd (and leaves closing it to the caller). */
extern bool tb_segment_map(TbSegment *segment, int fd, uint64 id, uint64 size,
						   TbFailure *why);
extern void tb_segment_unmap(TbSegment *segment);

#endif
