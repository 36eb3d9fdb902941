/*
 * slot_memory.c - see slot_memory.h.
 *
 * Owns the mapping, which lives as long as its connection. Called when READY or ATTACHED
 * brings a memfd; nothing is mapped that is not sealed against shrinking.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_GET_SEALS */
#endif
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "pg/bridge/failure.h"
#include "pg/bridge/slot_memory.h"

bool
tb_slot_memory_map(TbSlotMemory *memory, int fd, uint64 id, uint64 size, TbFailure *why)
{
	struct stat st;
	int			seals = fcntl(fd, F_GET_SEALS);
	void	   *base;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL,
					   "shared memory is not sealed against shrinking");
		return false;
	}
	if (fstat(fd, &st) != 0 || st.st_size < 0 || (uint64) st.st_size < size || size == 0)
	{
		tb_failure_set(why, TB_FALLBACK_PROTOCOL,
					   "shared memory is smaller than announced");
		return false;
	}
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
	{
		tb_failure_set(why, TB_FALLBACK_HOST_MEMORY, "could not map shared memory: %s",
					   strerror(errno));
		return false;
	}
	tb_slot_memory_unmap(memory);
	memory->id = id;
	memory->base = base;
	memory->size = size;
	return true;
}

void
tb_slot_memory_unmap(TbSlotMemory *memory)
{
	if (memory->base != NULL)
		munmap(memory->base, memory->size);
	memset(memory, 0, sizeof(*memory));
}
