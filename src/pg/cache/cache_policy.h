/*
 * cache_policy.h - what a table's owner wants of the column cache.
 *
 * A policy is a security label of the provider "pg_turbine": so PostgreSQL keeps it with
 * the table, drops it with the table, and pg_dump saves it. A partition without a label of
 * its own has that of the nearest table above it that has one.
 *
 * The provider is registered only once a session names it: SECURITY LABEL without a
 * provider means what it meant before, as long as nobody else's provider is there, or one.
 */
#ifndef TURBINE_PG_CACHE_CACHE_POLICY_H
#define TURBINE_PG_CACHE_CACHE_POLICY_H

#include "postgres.h"

typedef enum TbCachePolicy
{
	TB_CACHE_AUTO,	/* kept as long as there is room */
	TB_CACHE_OFF,	/* neither kept nor taken */
	TB_CACHE_PINNED /* gives way only to what is pinned, too */
} TbCachePolicy;

/* Called by the module's init. */
extern void tb_cache_policy_init(void);

/* Of a table that is open. Raises PostgreSQL's errors. */
extern TbCachePolicy tb_cache_policy_of(Oid relid);

#endif
