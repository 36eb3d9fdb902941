/*
 * shared_state.h - what the supervisor, backends and the SQL views share.
 *
 * One struct in PostgreSQL's shared memory, made by the postmaster and never
 * moved. Writers: the supervisor (all but the counters), every backend (the
 * counters). Nothing here is trusted for a query's correctness: it is advice
 * about the service and statistics.
 */
#ifndef TURBINE_PG_SHMEM_SHARED_STATE_H
#define TURBINE_PG_SHMEM_SHARED_STATE_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "turbine/wire.h"

#include "pg/shmem/cache_progress.h"
#include "pg/shmem/pinned_databases.h"
#include "pg/shmem/plcuda_slots.h"
#include "pg/shmem/storage_places.h"
#include "pg/shmem/training_progress.h"
#include "pg/shmem/wanted_columns.h"

#define TB_NONCE_BYTES 16

typedef enum TbCounter
{
	TB_COUNTER_QUERIES,			 /* started, whatever became of them */
	TB_COUNTER_CHUNKS_EVALUATED, /* ROWS chunks that the backend filtered */
	TB_COUNTER_ROWS_DEFERRED,	 /* rows detoasted by the backend */
	TB_COUNTER_ROWS_UNDECIDED,	 /* rows that devices leave to PostGIS */
	TB_COUNTER_BLOCKS_BUFFERED,
	TB_COUNTER_BLOCKS_DIRECT,
	TB_COUNTER_BLOCKS_MOVED,
	TB_COUNTER_BLOCKS_FED,
	TB_COUNTER_BLOCKS_CACHED,
	TB_COUNTER_SERVICE_STARTS,
	TB_COUNTER_HOST_INSTEAD, /* the host device stood in for a GPU */
	TB_COUNTER_COUNT
} TbCounter;

/* Places for what cache_advice.h keeps. */
#define TB_CODE_SHAPES 4096
#define TB_FOREGONE_SHAPES 1024
#define TB_TABLE_ADVICE 2048

typedef struct TbTableAdvice
{
	Oid	   database;
	Oid	   relid;
	uint64 generation; /* of the service that keeps the columns */
	uint64 attributes; /* TbAttributes */
	double share;	   /* of the table's blocks */
	double paid_us;	   /* tb_advice_note_paid */
} TbTableAdvice;

typedef struct TbSharedState
{
	/* immutable after startup */
	LWLock *lock;

	/* protected by lock */
	uint8		   nonce[TB_NONCE_BYTES];
	uint32		   ndevices;
	TbDeviceInfo   devices[TB_MAX_DEVICES];
	uint32		   nstorage;
	TbStoragePlace storage[TB_MAX_STORAGE_PLACES];
	TbTableAdvice  tables[TB_TABLE_ADVICE];
	TbCacheLoad	   loads[TB_MAX_CACHE_LOADS];
	TbTraining	   trainings[TB_MAX_TRAININGS];

	TbPinnedDatabase pinned_databases[TB_MAX_PINNED_DATABASES];
	TbPlcudaSlot	 plcuda[TB_PLCUDA_MOST_PROCESSES];
	TbWantedTable	 wanted[TB_MAX_WANTED];
	uint64			 wanted_taken; /* tables of `wanted` that were ever taken */
	Latch			*supervisor;   /* NULL: it does not run */

	/* atomic */
	pg_atomic_uint64 code_shapes[TB_CODE_SHAPES];  /* 0: none */
	pg_atomic_uint64 foregone[TB_FOREGONE_SHAPES]; /* cache_advice.c; 0: none */
	pg_atomic_uint64 generation;				   /* turbined's; 0 while it is down */
	pg_atomic_uint32 wanted_count; /* of `wanted`, those that wait or are being loaded */
	pg_atomic_uint64 counters[TB_COUNTER_COUNT];
	pg_atomic_uint64 fallbacks[TB_FALLBACK_COUNT];
	pg_atomic_uint64 host_instead_logged;				 /* TimestampTz, as below */
	pg_atomic_uint64 fallback_logged[TB_FALLBACK_COUNT]; /* TimestampTz of the
														  * reason's last LOG */
} TbSharedState;

/* NULL if the library was not preloaded. */
extern TbSharedState *tb_shared_state(void);

/* Called by the module's init, in the postmaster. */
extern void tb_shared_state_init(void);

#endif
