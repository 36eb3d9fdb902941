/*
 * cache_progress.h - loads of the column cache that run now: how far each is.
 *
 * A backend has at most one. One that died leaves an entry that nobody shows and that the
 * next load takes.
 */
#ifndef TURBINE_PG_SHMEM_CACHE_PROGRESS_H
#define TURBINE_PG_SHMEM_CACHE_PROGRESS_H

#include "postgres.h"

/* A load of this backend: all loads that there is room for run already, if false. */
extern bool tb_cache_progress_begin(Oid relid, uint64 blocks);
extern void tb_cache_progress_add(uint64 blocks);
extern void tb_cache_progress_end(void);

typedef struct TbCacheLoad
{
	int	   pid; /* 0: there is none */
	Oid	   database;
	Oid	   relid;
	uint64 blocks; /* to be looked at */
	uint64 done;   /* of these */
} TbCacheLoad;

#define TB_MAX_CACHE_LOADS 32

/* Those that run now; returns how many. */
extern int tb_cache_progress_snapshot(TbCacheLoad *loads);

#endif
